//! Checks API keys: set or not. Their values are never shown.

use longhaul_app::settings::Settings;
use longhaul_app::variables::VariableSource;
use longhaul_providers::known_providers;

use super::Diagnosis;

/// Reports which keys are set, in the environment or in a `.env` file.
pub(super) fn examine(diagnosis: &mut Diagnosis, settings: &Settings) {
    let mut missing = Vec::new();
    let keys: Vec<&str> = known_providers().iter().flat_map(|known| known.key_variables.clone()).collect();
    for name in keys.iter().copied() {
        match settings.variable_with_source(name).filter(|(value, _)| !value.trim().is_empty()) {
            None => missing.push(name),
            Some((value, _)) if value.contains(char::is_whitespace) || value.starts_with(['"', '\'']) => {
                diagnosis.note(format!("{name} contains blanks or quotes"), "set it to the bare key");
            }
            Some((_, VariableSource::Process)) => diagnosis.ok(format!("{name} is set")),
            Some((_, VariableSource::UserFile(file) | VariableSource::ProjectFile(file))) => {
                diagnosis.ok(format!("{name} is set in {}", file.display()));
            }
        }
    }
    if missing.len() == keys.len() {
        diagnosis.ok(format!("none set; offline work needs none ({})", missing.join(", ")));
    } else if !missing.is_empty() {
        diagnosis.ok(format!("not set: {}", missing.join(", ")));
    }
}
