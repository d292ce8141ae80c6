//! Settings of skills.

use longhaul_skills::SkillSettings;
use serde_json::Value;

use super::document::Content;
use super::layers::Settings;

impl Settings {
    /// The skills in use: one that any file disables is off.
    pub fn skills(&self) -> SkillSettings {
        let is_on = |steps: &[&str]| self.value(steps).and_then(Value::as_bool) != Some(false);
        SkillSettings {
            is_enabled: is_on(&["skills", "enabled"]) && is_on(&["admin", "skills", "enabled"]),
            disabled: self.disabled_skills(),
        }
    }

    /// Returns true if past sessions are learned from in the background.
    pub(crate) fn learns_in_background(&self) -> bool {
        ["memoryManager", "autoMemory"]
            .iter()
            .any(|key| self.value(&["experimental", key]).and_then(Value::as_bool) == Some(true))
    }

    /// The skills that any file disables.
    pub(crate) fn disabled_skills(&self) -> Vec<String> {
        let lists = self.layers.iter().filter_map(|layer| layer.root.get("skills")?.get("disabled"));
        let names = lists.flat_map(|node| match &node.content {
            Content::Plain(Value::Array(names)) => names.as_slice(),
            _ => &[],
        });
        names.filter_map(Value::as_str).map(str::to_string).collect()
    }
}
