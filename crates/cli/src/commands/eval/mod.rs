//! `longhaul eval FILE...`: measures what a compaction keeps of what each session needed later, next to baselines.

mod by_model;
mod find;
mod report;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::anyhow;
use clap::Args;
use longhaul_app::failure::hinted;
use longhaul_conversation::TokenCount;
use longhaul_eval::{
    Class, EvalSession, Method, SessionReport, Settings, baselines, evaluate, offline, to_json,
};
use longhaul_formats::read_session;
use serde_json::{Value, json};

use self::by_model::ModelUnderTest;
use crate::input;
use crate::options::ModelOptions;
use crate::options::{Summariser, parse_tokens};
use crate::output::{Color, Screen, print, print_json, thousands, with_progress};

#[derive(Debug, Args)]
pub(crate) struct EvalOptions {
    /// Session files (format detected automatically), folders to search, or - for standard input.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Tokens a compaction may add; comma-separated [default: 1k,2k,4k,8k].
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = parse_tokens)]
    budget: Vec<TokenCount>,
    /// Snapshot writer; a model is measured next to Longhaul itself, by default with --budget 4k.
    #[arg(long, value_name = "WRITER", default_value = "offline")]
    summariser: Summariser,
    #[command(flatten)]
    model: ModelOptions,
    /// Evaluate only Longhaul's own compaction, without baselines.
    #[arg(long)]
    only: bool,
    /// Include sessions under 8,000 tokens.
    #[arg(long)]
    small: bool,
    /// Show the figures of each session.
    #[arg(long)]
    sessions: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

impl EvalOptions {
    /// Returns true if a model writes the snapshot.
    pub(crate) fn asks_models(&self) -> bool {
        self.summariser == Summariser::Model
    }

    /// Returns true if a model is named but not used.
    pub(crate) fn names_idle_model(&self) -> bool {
        self.summariser == Summariser::Offline && !self.model.is_empty()
    }
}

/// The results of all files.
#[derive(Default)]
struct Evaluation {
    budgets: Vec<TokenCount>,
    reports: Vec<SessionReport>,
    skipped: Vec<Skipped>,
}

/// A file that was not evaluated.
struct Skipped {
    file: String,
    reason: String,
}

/// Evaluates the sessions and prints what was measured.
pub(crate) fn run(
    options: &EvalOptions,
    load_settings: impl FnOnce() -> anyhow::Result<longhaul_app::settings::Settings>,
    color: Color,
) -> anyhow::Result<()> {
    let asked = match options.summariser {
        Summariser::Offline => None,
        Summariser::Model => Some(ModelUnderTest::new(&options.model, &load_settings()?, color)?),
    };
    let evaluation = evaluate_all(options, asked.as_ref());
    if let Some(asked) = &asked {
        asked.conclude()?;
    }
    let screen = &Screen::of_stdout(color);
    if evaluation.reports.is_empty() {
        return Err(nothing_evaluated(&evaluation.skipped));
    }
    match options.json {
        true => print_json(&object(&evaluation)),
        false => print(&report::text(&evaluation, options.sessions, screen)),
    }
}

fn evaluate_all(options: &EvalOptions, asked: Option<&ModelUnderTest>) -> Evaluation {
    let mut settings = Settings::default();
    if asked.is_some() {
        // Each budget costs dozens of calls.
        settings.budgets = vec![TokenCount(4_000)];
    }
    if !options.budget.is_empty() {
        settings.budgets.clone_from(&options.budget);
        settings.budgets.sort();
        settings.budgets.dedup();
    }
    let mut methods = vec![offline()];
    methods.extend(asked.map(ModelUnderTest::method));
    if !options.only {
        methods.extend(baselines());
    }
    let mut evaluation = Evaluation { budgets: settings.budgets.clone(), ..Evaluation::default() };
    let (files, unreadable) = find::session_files(&options.files);
    evaluation.skipped.extend(unreadable.iter().map(|(path, error)| Skipped::new(path, error)));
    let done = AtomicUsize::new(0);
    let line = || {
        let spent = asked.map(|asked| format!(", {}", asked.spent())).unwrap_or_default();
        format!("evaluating: {} of {} sessions done{spent}", done.load(Ordering::Relaxed), files.len())
    };
    with_progress(line, || {
        for file in files.iter().take_while(|_| asked.is_none_or(|asked| !asked.is_cancelled())) {
            match evaluate_file(file, &methods, &settings, options.small) {
                Ok(report) => evaluation.reports.push(report),
                Err(error) => evaluation.skipped.push(Skipped::new(file, &error)),
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    evaluation
}

fn evaluate_file(
    file: &Path,
    methods: &[Method],
    settings: &Settings,
    small: bool,
) -> anyhow::Result<SessionReport> {
    let session = read_session(input::open(file)?)?;
    let subject = EvalSession::new(input::display_name(file), &session);
    if subject.class() == Class::Small && !small {
        let tokens = thousands(subject.tokens.0);
        return Err(anyhow!("only {tokens} tokens; pass --small to include it"));
    }
    Ok(evaluate(&subject, methods, settings))
}

impl Skipped {
    fn new(file: &Path, error: &anyhow::Error) -> Self {
        Self { file: input::display_name(file), reason: format!("{error:#}") }
    }
}

/// The error when nothing was evaluated, with the reasons as its cause.
fn nothing_evaluated(skipped: &[Skipped]) -> anyhow::Error {
    const NAMED: usize = 5;
    let mut reasons: Vec<String> =
        skipped.iter().take(NAMED).map(|skipped| format!("{}: {}", skipped.file, skipped.reason)).collect();
    if skipped.len() > NAMED {
        reasons.push(format!("and {} more", skipped.len() - NAMED));
    }
    if reasons.is_empty() {
        reasons.push("no session files found".into());
    }
    let error = anyhow!(reasons.join("; ")).context("no session could be evaluated");
    hinted(error, "pass session files, or folders that contain some")
}

fn object(evaluation: &Evaluation) -> Value {
    let Evaluation { budgets, reports, skipped } = evaluation;
    let mut figures = to_json(reports);
    json!({
        "schema": 1,
        "budgets": budgets,
        "real": figures["real"].take(),
        "scripted": figures["scripted"].take(),
        "small": figures["small"].take(),
        "sessions": figures["sessions"].take(),
        "skipped": skipped.iter().map(|skipped| json!({
            "file": skipped.file,
            "reason": skipped.reason,
        })).collect::<Vec<_>>(),
    })
}
