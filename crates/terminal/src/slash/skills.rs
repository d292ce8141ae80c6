//! Skills as slash commands, renamed if the name is taken.

use super::{OfferedCommand, find};
use crate::inbox::SkillChoice;

/// A skill as a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillCommand {
    /// The command's name.
    pub(crate) name: String,
    /// The skill's name.
    pub(crate) skill: String,
    /// The skill's description.
    pub(crate) does: String,
}

/// The commands of the enabled skills that are not built in. Spaces become dashes. A name that is taken, also by a custom
/// command, gets the prefix `skill.`, and then a number.
pub(crate) fn commands_of(skills: &[SkillChoice], custom: &[OfferedCommand]) -> Vec<SkillCommand> {
    let mut commands: Vec<SkillCommand> = Vec::new();
    for skill in skills.iter().filter(|skill| skill.is_enabled && !skill.is_builtin) {
        let plain: String = skill.name.split_whitespace().collect::<Vec<_>>().join("-").to_lowercase();
        let apart = format!("skill.{plain}");
        let numbered = (2..).map(|number| format!("skill.{plain}-{number}"));
        let mut names = [plain.clone(), apart].into_iter().chain(numbered);
        let is_free = |name: &String| {
            find(name).is_none()
                && custom.iter().all(|known| known.name != *name)
                && commands.iter().all(|known| known.name != *name)
        };
        let name = names.find(is_free).expect("numbers do not end");
        commands.push(SkillCommand { name, skill: skill.name.clone(), does: skill.description.clone() });
    }
    commands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(name: &str) -> SkillChoice {
        let (name, description) = (name.to_string(), String::new());
        SkillChoice { name, description, is_enabled: true, is_builtin: false }
    }

    #[track_caller]
    fn check(names: &[&str], expected: &[&str]) {
        let skills: Vec<SkillChoice> = names.iter().map(|name| skill(name)).collect();
        let commands: Vec<String> =
            commands_of(&skills, &[]).into_iter().map(|command| command.name).collect();
        assert_eq!(commands, expected);
    }

    #[test]
    fn names_that_are_taken_are_changed() {
        check(&["release", "Tide tables"], &["release", "tide-tables"]);
        check(&["compress", "exit", "skills"], &["skill.compress", "skill.exit", "skill.skills"]);
        check(&["a b", "a-b", "A  B"], &["a-b", "skill.a-b", "skill.a-b-2"]);
    }

    #[test]
    fn what_is_off_or_built_in_is_no_command() {
        let off = SkillChoice { is_enabled: false, ..skill("a") };
        let builtin = SkillChoice { is_builtin: true, ..skill("b") };
        assert_eq!(commands_of(&[off, builtin], &[]), []);
    }
}
