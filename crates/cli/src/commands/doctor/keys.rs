//! Checks API keys: set or not. Their values are never shown.

use longhaul_providers::known_providers;

use super::Diagnosis;

/// Reports which keys are set.
pub(super) fn examine(diagnosis: &mut Diagnosis) {
    let value = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let mut missing = Vec::new();
    let keys: Vec<&str> = known_providers().iter().flat_map(|known| known.key_variables.clone()).collect();
    for name in keys.iter().copied() {
        match value(name).filter(|value| !value.trim().is_empty()) {
            None => missing.push(name),
            Some(value) if value.contains(char::is_whitespace) || value.starts_with(['"', '\'']) => {
                diagnosis.note(format!("{name} contains blanks or quotes"), "set it to the bare key");
            }
            Some(_) => diagnosis.ok(format!("{name} is set")),
        }
    }
    if missing.len() == keys.len() {
        diagnosis.ok(format!("none set; offline work needs none ({})", missing.join(", ")));
    } else if !missing.is_empty() {
        diagnosis.ok(format!("not set: {}", missing.join(", ")));
    }
}
