//! `longhaul eval FILE...`: measures what a compaction keeps of what each session needed later, next to baselines.

mod by_model;
mod columns;
mod find;
mod report;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, anyhow};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use longhaul_app::failure::hinted;
use longhaul_conversation::TokenCount;
use longhaul_eval::{
    Class, EvalSession, Half, SessionReport, Settings, Split, baselines, evaluate, offline, to_json,
};
use longhaul_formats::read_session;
use serde_json::{Value, json};

use self::by_model::ModelUnderTest;
use crate::input;
use crate::options::ModelOptions;
use crate::options::{Summariser, parse_tokens};
use crate::output::{Color, Screen, plural, print, print_json, thousands, visible, with_progress};

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
    /// Evaluate only half of the projects: fit weights on one half, report figures of the other.
    #[arg(long, value_name = "HALF", value_parser = half_parser())]
    half: Option<Half>,
    /// List of the projects in each half; others are assigned by a hash of their folder.
    #[arg(long, value_name = "FILE", requires = "half")]
    split: Option<PathBuf>,
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

fn half_parser() -> impl TypedValueParser<Value = Half> {
    PossibleValuesParser::new([Half::Fit, Half::Check].map(Half::as_str))
        .map(|word| word.parse().expect("only these words are accepted"))
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
    /// The half that was asked for.
    half: Option<Half>,
    /// The number of sessions in the other half.
    other_half: usize,
    reports: Vec<SessionReport>,
    skipped: Vec<Skipped>,
}

/// The half to evaluate, and the division it is a half of.
struct WantedHalf {
    half: Half,
    split: Split,
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
    let wanted = options.half.map(|half| WantedHalf::load(half, options.split.as_deref())).transpose()?;
    let asked = match options.summariser {
        Summariser::Offline => None,
        Summariser::Model => Some(ModelUnderTest::new(&options.model, &load_settings()?, color)?),
    };
    let evaluation = evaluate_all(options, wanted.as_ref(), asked.as_ref());
    if let Some(asked) = &asked {
        asked.conclude()?;
    }
    let screen = &Screen::of_stdout(color);
    if evaluation.reports.is_empty() {
        return Err(nothing_evaluated(&evaluation));
    }
    match options.json {
        true => print_json(&object(&evaluation)),
        false => print(&report::text(&evaluation, options.sessions, screen)),
    }
}

fn evaluate_all(
    options: &EvalOptions,
    wanted: Option<&WantedHalf>,
    asked: Option<&ModelUnderTest>,
) -> Evaluation {
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
    let budgets = settings.budgets.clone();
    let mut evaluation = Evaluation { budgets, half: options.half, ..Evaluation::default() };
    let (files, unreadable) = find::session_files(&options.files);
    evaluation.skipped.extend(unreadable.iter().map(|(path, error)| Skipped::new(path, error)));
    let done = AtomicUsize::new(0);
    let line = || {
        let spent = asked.map(|asked| format!(", {}", asked.spent())).unwrap_or_default();
        format!("evaluating: {} of {} sessions done{spent}", done.load(Ordering::Relaxed), files.len())
    };
    with_progress(line, || {
        for file in files.iter().take_while(|_| asked.is_none_or(|asked| !asked.is_cancelled())) {
            match load_session(file, wanted, options.small) {
                Ok(Some(session)) => evaluation.reports.push(evaluate(&session, &methods, &settings)),
                Ok(None) => evaluation.other_half += 1,
                Err(error) => evaluation.skipped.push(Skipped::new(file, &error)),
            }
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    evaluation
}

/// Loads a session to evaluate; none if it is in the other half.
fn load_session(
    file: &Path,
    wanted: Option<&WantedHalf>,
    small: bool,
) -> anyhow::Result<Option<EvalSession>> {
    let session = read_session(input::open(file)?)?;
    let session = EvalSession::new(input::display_name(file), &session);
    if let Some(WantedHalf { half, split }) = wanted {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let found = split.half_of(&name, session.directory.as_deref());
        match found.ok_or_else(|| {
            anyhow!("unknown project: the session names no folder and --split does not list it")
        })? {
            found if found == *half => {}
            _ => return Ok(None),
        }
    }
    if session.class() == Class::Small && !small {
        anyhow::bail!("only {} tokens; pass --small to include it", thousands(session.tokens.0));
    }
    Ok(Some(session))
}

impl WantedHalf {
    fn load(half: Half, list: Option<&Path>) -> anyhow::Result<Self> {
        let Some(list) = list else { return Ok(Self { half, split: Split::default() }) };
        let failed = || format!("could not read the list of halves {}", visible(&list.display().to_string()));
        let text = std::fs::read_to_string(list).with_context(failed)?;
        let split = Split::parse(&text).with_context(failed).map_err(|error| {
            hinted(error, "a line is: fit or check, a tab, the project, a tab, patterns of its sessions")
        })?;
        Ok(Self { half, split })
    }
}

impl Skipped {
    fn new(file: &Path, error: &anyhow::Error) -> Self {
        Self { file: input::display_name(file), reason: format!("{error:#}") }
    }
}

/// The error when nothing was evaluated, with the reasons as its cause.
fn nothing_evaluated(evaluation: &Evaluation) -> anyhow::Error {
    const NAMED: usize = 5;
    let skipped = &evaluation.skipped;
    let mut reasons: Vec<String> =
        skipped.iter().take(NAMED).map(|skipped| format!("{}: {}", skipped.file, skipped.reason)).collect();
    if skipped.len() > NAMED {
        reasons.push(format!("and {} more", skipped.len() - NAMED));
    }
    if evaluation.other_half > 0 {
        let sessions = plural(evaluation.other_half, "session is", "sessions are");
        reasons.push(format!("{sessions} in the other half"));
    }
    if reasons.is_empty() {
        reasons.push("no session files found".into());
    }
    let error = anyhow!(reasons.join("; ")).context("no session could be evaluated");
    hinted(error, "pass session files, or folders that contain some")
}

fn object(evaluation: &Evaluation) -> Value {
    let Evaluation { budgets, half, other_half, reports, skipped } = evaluation;
    let mut figures = to_json(reports);
    json!({
        "schema": 1,
        "budgets": budgets,
        "half": half.map(Half::as_str),
        "other_half": other_half,
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
