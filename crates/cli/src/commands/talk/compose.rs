//! What an agent is made of, as settings and arguments have it.

use longhaul_agent::{Limits, Settings as AgentSettings, Surroundings};
use longhaul_compaction::BudgetSettings;
use longhaul_conversation::Estimator;
use longhaul_engine::CalibrationFile;

use crate::equipment::Equipment;
use crate::models::{Chosen, Models, Snapshots, compaction_model};
use crate::options::WorkOptions;
use crate::settings::Settings;

/// How the agent works.
pub(crate) fn agent_settings(
    options: &WorkOptions,
    settings: &Settings,
    equipment: &Equipment,
    chosen: &Chosen,
    calibration: &CalibrationFile,
    system: String,
    surroundings: Surroundings,
) -> AgentSettings {
    AgentSettings {
        system,
        budget: budget(settings, chosen),
        keep: settings.keep(),
        compaction: settings.engine(),
        estimator: estimator(settings, calibration, chosen),
        permissions: equipment.permissions.clone(),
        outputs: settings.outputs(),
        limits: Limits { turn: options.max_turns().unwrap_or(Limits::default().turn), ..settings.limits() },
        watches_loops: settings.watches_loops(),
        shell_summary: settings.shell_summary(),
        ..AgentSettings::new(chosen.profile(), surroundings)
    }
}

/// What the user set of the budget for compactions with this model.
pub(crate) fn budget(settings: &Settings, chosen: &Chosen) -> BudgetSettings {
    BudgetSettings {
        threshold: settings.threshold(Some(&chosen.full_name)).map(|(threshold, _)| threshold),
        target: settings.target(),
        snapshot: settings.snapshot_budget(),
        ..BudgetSettings::default()
    }
}

/// Who writes snapshots.
pub(crate) fn snapshots(
    models: &Models<'_>,
    settings: &Settings,
    chosen: &Chosen,
    warn: impl Fn(&str),
) -> Snapshots {
    if !settings.is_compacted_by_model() {
        return Snapshots(None);
    }
    match compaction_model(models, None, Some(&chosen.full_name)) {
        Ok(compressor) => Snapshots(Some(compressor)),
        Err(error) => {
            warn(&format!("snapshots are written offline: {error:#}"));
            Snapshots(None)
        }
    }
}

/// What was learned about the model, else what the settings say.
pub(crate) fn estimator(settings: &Settings, calibration: &CalibrationFile, chosen: &Chosen) -> Estimator {
    match calibration.load() {
        Ok(known) if known.knows(&chosen.name) => known.estimator(&chosen.name),
        _ => settings.estimator(),
    }
}
