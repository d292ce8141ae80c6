//! `longhaul compress FILE`: a shorter session that an agent can continue from.

mod by_model;
mod in_place;
mod json;
mod report;
mod save;

use std::path::PathBuf;
use std::time::Instant;

use anyhow::anyhow;
use clap::Args;
use longhaul_app::compression::{LoadedSession, PassRequest, plan_options};
use longhaul_app::failure::hinted;
use longhaul_app::models::ContextWindow;
use longhaul_app::sessions::Redaction;
use longhaul_app::settings::{Provenance, Settings};
use longhaul_compaction::{
    CountedSize, Input, InvalidThreshold, Outcome, Rung, Threshold, Tracker, Trigger, compact_offline,
    prepare,
};
use longhaul_conversation::TokenCount;
use longhaul_engine::{CompactionDeps, State, compact as run_compaction};
use longhaul_formats::{Session, WrittenSession, write_session};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::destination::{Destination, Existing};
use crate::input::{self, display_name};
use crate::options::ModelOptions;
use crate::options::{Summariser, parse_share, parse_tokens};
use crate::output::{Color, with_progress};
use crate::reports::repairs::drop_own_answers;
use crate::reports::written::{print, print_json, screen};

#[derive(Debug, Args)]
pub(crate) struct CompressOptions {
    /// Session file (format detected automatically), - for standard input, or a session of this folder, of any agent: latest, its
    /// number in `sessions list`, or its id [default: latest].
    #[arg(value_name = "SESSION", default_value = longhaul_app::found::UNNAMED, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Context window in tokens, such as 200000, 200k or 1m [default: the model's].
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    window: Option<TokenCount>,
    /// Window usage that triggers compaction: a share (0.5 or 50%), tokens (200k) or off [default: 0.5].
    #[arg(long, value_name = "F|N|off", value_parser = check_threshold)]
    threshold: Option<String>,
    /// Largest share of the conversation to keep verbatim [default: 0.3].
    #[arg(long, value_name = "F", value_parser = parse_share)]
    keep: Option<f64>,
    /// Maximum tokens to add to the verbatim part [default: 4k, at most 15% of the window].
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    snapshot_budget: Option<TokenCount>,
    /// Compact even below the threshold.
    #[arg(long)]
    force: bool,
    /// Snapshot writer.
    #[arg(long, value_name = "WRITER", default_value = "offline")]
    summariser: Summariser,
    #[command(flatten)]
    model: ModelOptions,
    /// Topic to keep more about.
    #[arg(long, value_name = "TEXT")]
    focus: Option<String>,
    /// Redact secrets first: keys, tokens and passwords become REDACTED in all output.
    #[arg(long)]
    redact: bool,
    /// Print the plan without writing anything.
    #[arg(long)]
    dry_run: bool,
    /// Compact a session of Longhaul's itself: recorded, and `sessions undo` takes it back.
    #[arg(long, conflicts_with_all = ["out", "redact", "dry_run"])]
    in_place: bool,
    /// Replace OUT if it exists; the input is never replaced.
    #[arg(long, requires = "out")]
    overwrite: bool,
    /// Output file, or - for standard output.
    #[arg(short, long = "output", value_name = "OUT")]
    out: Option<PathBuf>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

impl CompressOptions {
    /// Returns true if a model writes the snapshot.
    pub(crate) fn asks_models(&self) -> bool {
        self.summariser == Summariser::Model
    }

    /// Returns true if a model is named but not used.
    pub(crate) fn names_idle_model(&self) -> bool {
        self.summariser == Summariser::Offline && !self.model.is_empty()
    }
}

/// Everything that is reported about a compaction, as text or JSON.
struct Compression {
    name: String,
    /// The session as it is now.
    session: Session,
    tracker: Tracker,
    window: ContextWindow,
    /// The size before, if the provider counted any of it.
    counted: Option<CountedSize>,
    outcome: Outcome,
    /// Values that are not at their default, each with the place it was set.
    set_by: Vec<(&'static str, String)>,
    /// The secrets taken out first, if that was asked for.
    redaction: Option<Redaction>,
    /// The session as a file.
    written: WrittenSession,
    destination: Destination,
    /// The files of whole texts that the result only points to.
    saved: Vec<PathBuf>,
    is_dry_run: bool,
}

/// Reads a session, compacts it, writes the result and prints the report.
pub(crate) fn run(options: &CompressOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let out = options.out.as_deref().filter(|_| !options.dry_run);
    let existing = match options.overwrite {
        true => Existing::Replaced,
        false => Existing::Kept { unless: "--overwrite" },
    };
    let destination = match options.in_place {
        true => Destination::Recorded(in_place::own_session(&options.file)?),
        false => Destination::plan(out, &options.file, existing)?,
    };
    let settings = with_flags(settings.clone(), options)?;
    let started = Instant::now();
    let mut compression = compress(options, &settings, destination, color)?;
    compression.outcome.report.duration = Some(started.elapsed());
    save::write(&mut compression, &options.file)?;
    let destination = &compression.destination;
    if options.json {
        print_json(&json::Object(&compression), destination)?;
    } else {
        let text = report::text(&compression, &screen(destination, color));
        print(&text, destination)?;
    }
    failure(&compression.outcome).map_or(Ok(()), Err)
}

/// The settings with what the flags set.
fn with_flags(settings: Settings, options: &CompressOptions) -> anyhow::Result<Settings> {
    let flags = [
        (THRESHOLD, "--threshold", options.threshold.as_ref().map(|text| json!(text))),
        (KEEP, "--keep", options.keep.map(|share| json!(share))),
        (SNAPSHOT_BUDGET, "--snapshot-budget", options.snapshot_budget.map(|tokens| json!(tokens.0))),
    ];
    let mut settings = settings;
    for (key, flag, value) in flags {
        if let Some(value) = value {
            settings = settings.with_flag(key, flag, value)?;
        }
    }
    Ok(settings)
}

const THRESHOLD: &str = "longhaul.compaction.threshold";
const KEEP: &str = "longhaul.compaction.keep";
const SNAPSHOT_BUDGET: &str = "longhaul.compaction.snapshotBudget";
const TARGET: &str = "longhaul.compaction.target";

fn compress(
    options: &CompressOptions,
    settings: &Settings,
    destination: Destination,
    color: Color,
) -> anyhow::Result<Compression> {
    let mut redaction = options.redact.then(Redaction::default);
    let loaded = LoadedSession::read(
        &options.file,
        input::open(&options.file)?,
        &settings.estimator(),
        redaction.as_mut(),
    )?;
    let counted = loaded.counted_size(&settings.estimator());
    let LoadedSession { mut session, tracker, .. } = loaded;
    let window =
        ContextWindow::find(options.window, settings, &session.info, counted.map(|size| size.highest));
    let request = PassRequest {
        trigger: if options.force { Trigger::Forced } else { Trigger::Automatic },
        focus: options.focus.clone(),
        name: name_of(options),
    };
    let plan_options = plan_options(request, settings, &session, window, counted);
    let set_by = set_by(settings, session.info.model());
    if let Destination::Recorded(path) = &destination {
        // What the log holds counts, not what was read of it: it may have grown, and it is locked now.
        let (outcome, messages) = in_place::compact(path, &plan_options, options, settings, color)?;
        let destination = if outcome.status.is_change() { destination } else { Destination::Nowhere };
        session.transcript = std::mem::take(&mut session.transcript).with_messages(messages);
        let written = WrittenSession { format: session.info.format, text: String::new(), lost: Vec::new() };
        return Ok(Compression {
            name: display_name(&options.file),
            session,
            tracker,
            window,
            counted,
            outcome,
            set_by,
            redaction,
            written,
            destination,
            saved: Vec::new(),
            is_dry_run: false,
        });
    }
    // A dry run costs nothing.
    let by_model = match options.summariser {
        Summariser::Model if !options.dry_run => {
            let prepared = prepare(session.transcript.messages(), plan_options.empty);
            let input = Input::new(&tracker, &prepared, &plan_options);
            let run = async |deps: &CompactionDeps<'_>, cancel: &CancellationToken| {
                Ok(run_compaction(&input, &settings.engine(), &State::default(), deps, cancel).await)
            };
            // What belongs in files is written with the result.
            let files = by_model::UnsavedFiles;
            Some(by_model::compact(session.info.model(), &files, &options.model, settings, color, run)?)
        }
        _ => None,
    };
    // From here on the messages are not needed as they were, and a large session is not held twice.
    let prepared = prepare(session.transcript.take_messages(), plan_options.empty);
    let mut outcome = by_model.unwrap_or_else(|| {
        with_progress(
            || "compacting".to_string(),
            || compact_offline(&Input::new(&tracker, &prepared, &plan_options)),
        )
    });
    let mut messages = outcome.messages.take().unwrap_or_else(|| prepared.messages.into_owned());
    if outcome.status.is_change() {
        // Counts of the longer session would say that the shorter one is full.
        messages.iter_mut().for_each(|message| message.usage = None);
    }
    session.transcript = std::mem::take(&mut session.transcript).with_messages(messages);
    // Only the JSON report shows the messages once more.
    let shown = if options.json { session.transcript.messages().to_vec() } else { Vec::new() };
    let mut written = write_session(session.info.format, &mut session);
    session.transcript = std::mem::take(&mut session.transcript).with_messages(shown);
    drop_own_answers(&mut written.lost, &outcome.repairs);
    Ok(Compression {
        name: display_name(&options.file),
        session,
        tracker,
        window,
        outcome,
        set_by,
        redaction,
        counted,
        written,
        destination,
        saved: Vec::new(),
        is_dry_run: options.dry_run,
    })
}

/// A name for a session that has none of its own.
fn name_of(options: &CompressOptions) -> String {
    options.file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// The values that are not at their default, each with where it was set.
fn set_by(settings: &Settings, model: Option<&str>) -> Vec<(&'static str, String)> {
    let threshold = settings.threshold(model).map(|(_, provenance)| ("threshold", provenance));
    let others = [("keep", KEEP), ("snapshot_budget", SNAPSHOT_BUDGET), ("target", TARGET)];
    let others = others.map(|(name, key)| (name, settings.provenance(key)));
    let set = threshold.into_iter().chain(others).filter(|(_, set)| *set != Provenance::Default);
    set.map(|(name, provenance)| (name, provenance.to_string())).collect()
}

/// The failure that an outcome is, if it is one.
fn failure(outcome: &Outcome) -> Option<anyhow::Error> {
    let Outcome { status, reason, plan, .. } = outcome;
    let error = anyhow!(reason.clone()).context("could not shorten the session enough");
    match &plan.rung {
        Rung::DoesNotFit(refusal) => Some(hinted(error, refusal.part.remedy())),
        _ if status.is_failure() => Some(error),
        _ => None,
    }
}

fn check_threshold(text: &str) -> Result<String, InvalidThreshold> {
    Threshold::parse(text).map(|_| text.to_string())
}
