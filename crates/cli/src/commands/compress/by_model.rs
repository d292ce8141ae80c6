//! Has a model write the snapshot. Until the result is written, nothing is.

use std::time::Instant;

use longhaul_app::models::{Models, SessionModels, compaction_model, priced};
use longhaul_app::settings::Settings;
use longhaul_compaction::{Outcome, Status};
use longhaul_engine::{CompactionDeps, Event, Files, PassOutcome};
use longhaul_workspace::WorkspaceError;
use tokio_util::sync::CancellationToken;

use crate::options::ModelOptions;
use crate::output::{Color, Screen, plural, print_aside, tell_notes, thousands, visible};
use crate::running::{Interrupted, until_interrupted};

/// Compacts with a model, as `run` does it; reports progress and cost on standard error. `own` is the session's model.
pub(super) fn compact(
    own: Option<&str>,
    files: &dyn Files,
    options: &ModelOptions,
    settings: &Settings,
    color: Color,
    run: impl AsyncFnOnce(&CompactionDeps<'_>, &CancellationToken) -> anyhow::Result<PassOutcome>,
) -> anyhow::Result<Outcome> {
    let screen = Screen::of_stderr(color);
    let tell = |label: String, text: &str| print_aside(&format!("{label} {}\n", visible(text)));
    let warn = |text: &str| tell(screen.warning("warning:"), text);
    let note = |text: &str| tell(screen.faint("note:"), text);
    let models = Models::load(settings, options.ca_file.as_deref(), tell_notes(color), warn)?;
    let own = SessionModels { chosen: None, last: own.map(str::to_string) };
    let mut chosen = compaction_model(&models, options.model.as_deref(), &own)?;
    models.ask_window(&mut chosen);
    let summariser = priced(&chosen);
    let started = Instant::now();
    let deps = CompactionDeps {
        summariser: &summariser,
        files,
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
    let outcome = until_interrupted(async |cancel| run(&deps, cancel).await)??;
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
pub(super) struct UnsavedFiles;

impl Files for UnsavedFiles {
    fn save(&self, _: &str, _: &str) -> Result<bool, WorkspaceError> {
        Ok(true)
    }

    fn remove(&self, _: &str) {}
}
