//! An agent's settings, from the user's settings and its options.

use std::path::PathBuf;

use longhaul_agent::{SessionContext, Settings as AgentSettings, StepLimits, folder_tree};
use longhaul_compaction::BudgetSettings;
use longhaul_conversation::Estimator;
use longhaul_engine::CalibrationFile;

use super::{AgentOptions, Toolkit};
use crate::clock::now;
use crate::models::{ChosenModel, Models, SessionModels, SnapshotWriter, compaction_model};
use crate::project::Project;
use crate::settings::Settings;

/// The settings of an agent.
pub(super) fn agent_settings(
    options: &AgentOptions,
    settings: &Settings,
    toolkit: &Toolkit,
    chosen: &ChosenModel,
    calibration: &CalibrationFile,
    system: String,
    surroundings: SessionContext,
) -> AgentSettings {
    AgentSettings {
        system,
        budget: budget(settings, chosen),
        keep: settings.keep(),
        compaction: settings.engine(),
        estimator: estimator(settings, calibration, chosen),
        permissions: toolkit.permissions.clone(),
        outputs: settings.outputs(),
        limits: StepLimits {
            turn: options.max_turns.unwrap_or(StepLimits::default().turn),
            ..settings.limits()
        },
        watches_loops: settings.watches_loops(),
        asks_before_compaction: settings.asks_before_compaction(),
        shell_summary: settings.shell_summary(),
        ..AgentSettings::new(chosen.profile(), surroundings)
    }
}

/// The compaction budget for this model, where the user set one.
pub(super) fn budget(settings: &Settings, chosen: &ChosenModel) -> BudgetSettings {
    BudgetSettings {
        threshold: settings.threshold(Some(&chosen.full_name)).map(|(threshold, _)| threshold),
        target: settings.target(),
        snapshot: settings.snapshot_budget(),
        outputs: settings.output_limits(),
        ..BudgetSettings::default()
    }
}

/// The writer of snapshots.
pub(super) fn snapshots(
    models: &Models<'_>,
    settings: &Settings,
    chosen: &ChosenModel,
    warn: impl Fn(&str),
) -> SnapshotWriter {
    if !settings.is_compacted_by_model() {
        return SnapshotWriter(None);
    }
    let own = SessionModels { chosen: Some(chosen.full_name.clone()), last: None };
    match compaction_model(models, None, &own) {
        Ok(compressor) => SnapshotWriter(Some(compressor)),
        Err(error) => {
            warn(&format!("snapshots are written offline: {error:#}"));
            SnapshotWriter(None)
        }
    }
}

/// The estimator that was learned for the model, else that of the settings.
pub(super) fn estimator(
    settings: &Settings,
    calibration: &CalibrationFile,
    chosen: &ChosenModel,
) -> Estimator {
    match calibration.load() {
        Ok(known) if known.knows(&chosen.name) => known.estimator(&chosen.name),
        _ => settings.estimator(),
    }
}

/// The surroundings of a session.
pub(super) fn surroundings(project: &Project, folders: &[PathBuf], settings: &Settings) -> SessionContext {
    let directory = std::env::current_dir().unwrap_or_else(|_| project.folder.clone());
    SessionContext {
        at: now(),
        system: format!("{} ({})", std::env::consts::OS, std::env::consts::ARCH),
        workspace: std::iter::once(&project.folder).chain(folders.iter().skip(1)).cloned().collect(),
        tree: settings.shows_tree().then(|| folder_tree(&project.folder)),
        directory,
    }
}
