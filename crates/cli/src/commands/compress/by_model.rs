//! Has a model write the snapshot. Until the result is written, nothing is.

use std::time::Instant;

use longhaul_app::models::{Models, compaction_model, priced};
use longhaul_app::settings::Settings;
use longhaul_compaction::{Input, Outcome, PlanOptions, Status, Tracker, prepare};
use longhaul_engine::{CompactionDeps, Event, Files, State, compact as run_compaction};
use longhaul_formats::Session;
use longhaul_workspace::WorkspaceError;

use crate::options::ModelOptions;
use crate::output::{Color, Screen, plural, print_aside, tell_notes, thousands, visible};
use crate::running::{Interrupted, until_interrupted};

/// A session that is to be compacted.
#[derive(Clone, Copy)]
pub(super) struct CompactionInput<'a> {
    pub(super) session: &'a Session,
    pub(super) tracker: &'a Tracker,
    pub(super) options: &'a PlanOptions,
}

/// Compacts with a model; reports progress and cost on standard error.
pub(super) fn compact(
    input: CompactionInput<'_>,
    options: &ModelOptions,
    settings: &Settings,
    color: Color,
) -> anyhow::Result<Outcome> {
    let screen = Screen::of_stderr(color);
    let tell = |label: String, text: &str| print_aside(&format!("{label} {}\n", visible(text)));
    let warn = |text: &str| tell(screen.warning("warning:"), text);
    let note = |text: &str| tell(screen.faint("note:"), text);
    let models = Models::load(settings, options.ca_file.as_deref(), tell_notes(color), warn)?;
    let own = input.session.info.model();
    let chosen = compaction_model(&models, options.model.as_deref(), own)?;
    let summariser = priced(&chosen);
    let started = Instant::now();
    let deps = CompactionDeps {
        summariser: &summariser,
        files: &UnsavedFiles,
        counter: None,
        pre_compress: None,
        // What the model did not do is among the warnings of the report.
        events: &|event| {
            if matches!(event, Event::Summarising { by } if by.as_str() == "model") {
                note(&format!("asking {}", chosen.full_name));
            }
        },
        clock: &|| started.elapsed(),
    };
    let prepared = prepare(input.session.transcript.messages(), input.options.empty);
    let input = Input::new(input.tracker, &prepared, input.options);
    let outcome = until_interrupted(async |cancel| {
        run_compaction(&input, &settings.engine(), &State::default(), &deps, cancel).await
    })?;
    let spend = outcome.account.spend;
    if spend.calls > 0 {
        let calls = plural(spend.calls as usize, "call", "calls");
        let money = match chosen.prices {
            Some(_) => format!("${:.4}", spend.money),
            None => "price unknown".into(),
        };
        note(&format!("{}: {calls}, {} tokens, {money}", chosen.full_name, thousands(spend.tokens.0)));
    }
    match outcome.result.status {
        Status::Cancelled => Err(Interrupted.into()),
        _ => Ok(outcome.result),
    }
}

/// Nothing is saved yet: what belongs in files is written with the result.
struct UnsavedFiles;

impl Files for UnsavedFiles {
    fn save(&self, _: &str, _: &str) -> Result<bool, WorkspaceError> {
        Ok(true)
    }

    fn remove(&self, _: &str) {}
}
