//! Custom commands as slash commands, renamed if the name is taken.

use super::find;
use crate::offers::CustomCommand;

/// A custom command as a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedCommand {
    /// The command's name as typed.
    pub(crate) name: String,
    /// The name of the custom command.
    pub(crate) command: String,
    pub(crate) takes: String,
    pub(crate) does: String,
}

/// The slash commands of custom commands. One with the name of a command of our own gets the prefix `custom.`.
pub(crate) fn offered(commands: &[CustomCommand]) -> Vec<OfferedCommand> {
    let offered = commands.iter().map(|custom| OfferedCommand {
        name: match find(&custom.name) {
            Some(_) => format!("custom.{}", custom.name),
            None => custom.name.clone(),
        },
        command: custom.name.clone(),
        takes: custom.takes.clone(),
        does: custom.does.clone(),
    });
    offered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_our_own_are_kept() {
        let named = |name: &str| CustomCommand { name: name.into(), ..CustomCommand::default() };
        let names: Vec<String> =
            offered(&[named("git:commit"), named("help")]).into_iter().map(|command| command.name).collect();
        assert_eq!(names, ["git:commit", "custom.help"]);
    }
}
