//! `longhaul skills extract`: learns from past sessions, with a model if there is one.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::anyhow;
use clap::Args;
use longhaul_agent::ExtractorEnd;
use longhaul_app::extraction::{
    Extraction, ExtractionMode, ExtractionReport, ExtractorRun, SessionSelection, claim,
};
use longhaul_app::failure::hinted;
use longhaul_app::models::{ChosenModel, Models, SessionModels};
use longhaul_app::project::{self, Project};
use longhaul_app::skills::{SkillLibrary, failure};
use longhaul_memory::{FactScope, save_target};
use longhaul_sessions::StoreError;
use longhaul_skills::{ExtractionLock, candidate_json};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::output::{
    Color, Page, Screen, path_json, plural, print, print_aside, print_json, tell_notes, visible,
    visible_text, with_progress, wrapped,
};
use crate::running::{Interrupted, until_interrupted};

/// The most findings printed.
const MOST_SHOWN: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct ExtractOptions {
    /// Session files of any supported format to read instead of this folder's sessions.
    files: Vec<PathBuf>,
    /// Include sessions that are short, recent or already read.
    #[arg(long)]
    all: bool,
    /// Draft skills from the findings without a model.
    #[arg(long, conflicts_with_all = ["model", "ca_file"])]
    offline: bool,
    /// Model that learns, by name or provider/name [default: from settings].
    #[arg(short, long, value_name = "MODEL")]
    model: Option<String>,
    /// PEM file of certificates to trust besides the system's.
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Print what is found without a model, and write nothing.
    #[arg(long, conflicts_with_all = ["model", "ca_file"])]
    dry_run: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The learner.
enum Learner {
    Model(Box<ChosenModel>),
    /// No model, with the reason unless the user chose so.
    Nobody(Option<String>),
}

pub(super) fn run(options: &ExtractOptions, library: &SkillLibrary, color: Color) -> anyhow::Result<()> {
    let project = match (Project::find()?, options.files.is_empty() || options.dry_run) {
        (Some(project), _) => Some(project),
        (None, true) => None,
        (None, false) => Some(Project::find_or_begin()?.0),
    };
    if project.is_none() && options.files.is_empty() {
        return Err(project::failure(StoreError::NoSessions));
    }
    let learner = learner(options, library, color)?;
    let mut lock = match &project {
        Some(project) if !options.dry_run => match claim(project).map_err(failure)? {
            Some(lock) => Some(lock),
            None => return leave_quietly(options),
        },
        _ => None,
    };
    let doing = Mutex::new(String::new());
    let say = |text: String| *doing.lock().unwrap_or_else(PoisonError::into_inner) = text;
    let extraction = Extraction {
        project: project.as_ref(),
        files: &options.files,
        selection: if options.all { SessionSelection::All } else { SessionSelection::Worthwhile },
        mode: if options.dry_run { ExtractionMode::DryRun } else { ExtractionMode::Propose },
        skills: library.skills(),
        global_memory: save_target(FactScope::Global, &library.context.places, &library.context.settings)?,
        is_own_model: None,
        progress: &say,
    };
    let line = || visible(&doing.lock().unwrap_or_else(PoisonError::into_inner));
    let extracted = with_progress(line, || extract(&extraction, &learner, &mut lock))?;
    if let Some(ExtractorRun { name, end: ExtractorEnd::Failed(reason), .. }) = &extracted.by_model {
        let hint = match extracted.news.is_empty() {
            true => "try again later, or pass --offline to draft without a model",
            false => "what it wrote before is in the inbox; try again later for the rest",
        };
        let error = anyhow!("{reason}").context(format!("{name} could not learn from the sessions"));
        return Err(hinted(error, hint));
    }
    let why_nobody = match &learner {
        Learner::Nobody(reason) => reason.as_deref(),
        Learner::Model(_) => None,
    };
    if options.json {
        return print_json(&to_json(&extracted, options, why_nobody));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    tell(&mut page, &extracted, options, why_nobody);
    print(&page.into_text())
}

/// The model that learns, if there is one.
fn learner(options: &ExtractOptions, library: &SkillLibrary, color: Color) -> anyhow::Result<Learner> {
    if options.offline || options.dry_run {
        return Ok(Learner::Nobody(None));
    }
    let warn = |text: &str| {
        let label = Screen::of_stderr(color).warning("warning:");
        print_aside(&format!("{label} {}\n", visible(text)));
    };
    let models = Models::load(&library.settings, options.ca_file.as_deref(), tell_notes(color), warn)?;
    match models.choose_for_talk(options.model.as_deref(), &SessionModels::default()) {
        Ok(chosen) => Ok(Learner::Model(Box::new(chosen))),
        // Whoever names a model wants that one.
        Err(error) if options.model.is_some() => Err(error),
        Err(error) => Ok(Learner::Nobody(Some(format!("{error:#}")))),
    }
}

fn extract(
    extraction: &Extraction<'_>,
    learner: &Learner,
    lock: &mut Option<ExtractionLock>,
) -> anyhow::Result<ExtractionReport> {
    // Until a model is asked, Ctrl-C ends the program at once: whatever is written is whole.
    let Some(material) = extraction.gather(lock, &CancellationToken::new())? else {
        return Ok(ExtractionReport::default());
    };
    if material.is_empty() && !extraction.files.is_empty() {
        let error = anyhow!("{}", material.unread().join("; ")).context("no session could be read");
        return Err(hinted(error, "pass session files; `longhaul inspect FILE` shows what a file is"));
    }
    let Learner::Model(chosen) = learner else { return extraction.draft(material) };
    // Without anything to read there is nothing to ask for.
    if material.is_empty() {
        return extraction.draft(material);
    }
    let extracted = until_interrupted(async |cancel| {
        extraction.learn(material, (&chosen.http, chosen.profile()), lock, cancel).await
    })??;
    match &extracted.by_model {
        Some(ExtractorRun { end: ExtractorEnd::Cancelled, .. }) => Err(Interrupted.into()),
        _ => Ok(extracted),
    }
}

fn leave_quietly(options: &ExtractOptions) -> anyhow::Result<()> {
    if options.json {
        return print_json(&json!({"schema": 1, "busy": true}));
    }
    print("Skill extraction is already running.\n")
}

fn tell(page: &mut Page, extracted: &ExtractionReport, options: &ExtractOptions, why_nobody: Option<&str>) {
    let ExtractionReport { sessions, unread, found, drafts, facts, news, by_model } = extracted;
    if *sessions == 0 && unread.is_empty() {
        page.line(
            "No new sessions to learn from; pass --all to include short, recent and already read ones.",
        );
        return;
    }
    let counts = format!(
        "{} read, {} found.",
        plural(*sessions, "session", "sessions"),
        plural(found.len(), "habit", "habits")
    );
    page.line(&counts);
    for unread in unread {
        page.line(&page.screen.warning(&visible(&format!("could not read {unread}"))));
    }
    if !found.is_empty() {
        page.gap();
    }
    for candidate in found.iter().take(MOST_SHOWN) {
        let seen = format!(
            "{} in {}",
            times(candidate.times()),
            plural(candidate.sessions(), "session", "sessions")
        );
        let line = visible(&format!("{}, {seen}: {}", candidate.finding.kind(), candidate.finding.title()));
        let mut lines = wrapped(&line, page.screen.width).into_iter();
        lines.next().iter().for_each(|line| page.line(line));
        lines.for_each(|line| page.line(&format!("  {line}")));
    }
    if found.len() > MOST_SHOWN {
        page.line(&page.screen.faint(&format!("and {} more; --json has all", found.len() - MOST_SHOWN)));
    }
    page.gap();
    match by_model {
        Some(model) => tell_model(page, model),
        None => {
            if let Some(reason) = why_nobody {
                page.line(&page.screen.faint(&visible(&format!("No model was asked: {reason}."))));
            }
        }
    }
    match (drafts.is_empty(), options.dry_run) {
        (true, _) if news.skills.is_empty() && news.updates.is_empty() => {
            page.line("No new skills found.");
        }
        (false, true) => {
            for (_, draft) in drafts {
                draft.text.lines().for_each(|line| page.line(&visible(line)));
                page.gap();
            }
            page.line("Nothing written.");
        }
        (_, _) => {
            let what = if by_model.is_some() { "Skill" } else { "Draft" };
            for name in &news.skills {
                page.line(&format!("{what}: {}", page.screen.strong(&visible(name))));
            }
            for name in &news.updates {
                page.line(&format!("Change to skill {}", page.screen.strong(&visible(name))));
            }
            page.line(
                "Show one with `longhaul skills inbox show NAME`, then use `accept NAME` or `dismiss NAME`.",
            );
        }
    }
    if *facts > 0 {
        let facts = plural(*facts, "fact", "facts");
        page.line(&format!("{facts} to remember: review with `longhaul memory inbox`."));
    }
}

/// The sessions a model read, and its closing words.
fn tell_model(page: &mut Page, ExtractorRun { name, turns, end, read }: &ExtractorRun) {
    let (steps, sessions) =
        (plural(*turns as usize, "step", "steps"), plural(read.len(), "session", "sessions"));
    let ended = match end {
        ExtractorEnd::OutOfTurns => ", and ran out of steps",
        ExtractorEnd::OutOfTime => ", and ran out of time",
        ExtractorEnd::Silent => ", and stopped without an answer",
        _ => "",
    };
    page.line(&visible(&format!("{name} read {sessions} in {steps}{ended}.")));
    if let ExtractorEnd::Done(said) = end {
        for line in visible_text(said.trim()).lines() {
            wrapped(line, page.screen.width.saturating_sub(2))
                .iter()
                .for_each(|line| page.line(&page.screen.faint(&format!("  {line}"))));
        }
    }
    page.gap();
}

fn times(number: usize) -> String {
    if number == 1 { "once".into() } else { format!("{number} times") }
}

fn to_json(extracted: &ExtractionReport, options: &ExtractOptions, why_nobody: Option<&str>) -> Value {
    let drafts = extracted.drafts.iter().map(|(name, draft)| {
        json!({
            "name": name,
            "text": draft.text,
            "evidence": draft.sources.iter().map(candidate_json).collect::<Vec<_>>(),
        })
    });
    json!({
        "schema": 1,
        "busy": false,
        "written": !options.dry_run,
        "files": options.files.iter().map(|file| path_json(file)).collect::<Vec<_>>(),
        "sessions": extracted.sessions,
        "unread": extracted.unread,
        "found": extracted.found.iter().map(candidate_json).collect::<Vec<_>>(),
        "drafts": drafts.collect::<Vec<_>>(),
        "facts": extracted.facts,
        "skills": extracted.news.skills,
        "updates": extracted.news.updates,
        "memory": extracted.news.memory,
        "model": extracted.by_model.as_ref().map(model_json),
        "no_model_because": why_nobody,
    })
}

fn model_json(ExtractorRun { name, turns, end, read }: &ExtractorRun) -> Value {
    let said = match end {
        ExtractorEnd::Done(said) => Some(said),
        _ => None,
    };
    json!({"name": name, "requests": turns, "end": end.as_str(), "read": read, "said": said})
}
