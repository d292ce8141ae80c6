//! The keys of model vendors: set or not. Their values are nobody's business.

use longhaul_providers::known_providers;

use super::Diagnosis;

/// Tells which keys are set.
pub(super) fn examine(diagnosis: &mut Diagnosis) {
    let value = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    let mut missing = Vec::new();
    let keys: Vec<&str> = known_providers().iter().flat_map(|known| known.key_variables.clone()).collect();
    for name in keys.iter().copied() {
        match value(name).filter(|value| !value.trim().is_empty()) {
            None => missing.push(name),
            Some(value) if value.contains(char::is_whitespace) || value.starts_with(['"', '\'']) => {
                diagnosis.note(
                    format!("{name} is set, but with blanks or quotes in it"),
                    "set it to the key alone",
                );
            }
            Some(_) => diagnosis.ok(format!("{name} is set")),
        }
    }
    if missing.len() == keys.len() {
        diagnosis.ok(format!("none is set, and offline work needs none ({})", missing.join(", ")));
    } else if !missing.is_empty() {
        diagnosis.ok(format!("not set: {}", missing.join(", ")));
    }
}
