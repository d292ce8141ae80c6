//! A command line as rules see it.

use longhaul_shell::{CommandOrigin, ShellScript, ShellWord, SimpleCommand, Unclear, parse_script};

/// A command line in its commands.
#[derive(Clone, Debug)]
pub(crate) struct ParsedLine {
    script: ShellScript,
    /// True if only the text as a whole, behind all commands, can be decided about.
    is_empty: bool,
}

impl ParsedLine {
    pub(crate) fn parse(text: &str) -> Self {
        let mut script = parse_script(text);
        // There is always something to decide about.
        let is_empty = !script.commands.iter().any(is_decided);
        if is_empty {
            let mut whole = SimpleCommand::default();
            text.trim().clone_into(&mut whole.text);
            script.commands.push(whole);
        }
        Self { script, is_empty }
    }

    /// The reason why its commands may not be all that would run.
    pub(crate) fn unclear(&self) -> Option<Unclear> {
        self.script.unclear
    }

    /// The commands about which something is decided, at least one.
    pub(crate) fn commands(&self) -> impl Iterator<Item = &SimpleCommand> {
        let count = self.script.commands.len();
        let is_only = move |index: usize| index + 1 == count && self.is_empty;
        self.script
            .commands
            .iter()
            .enumerate()
            .filter(move |(index, command)| is_only(*index) || is_decided(command))
            .map(|(_, command)| command)
    }

    /// The place of one of its commands in the script.
    pub(crate) fn index_of(&self, command: &SimpleCommand) -> Option<usize> {
        self.script.commands.iter().position(|own| std::ptr::eq(own, command))
    }

    pub(crate) fn has_several(&self) -> bool {
        self.commands().nth(1).is_some()
    }

    /// The commands that run this one, innermost first, each with the index of the word that names it.
    pub(crate) fn wrappers_of(&self, command: &SimpleCommand) -> Vec<(&SimpleCommand, usize)> {
        let mut wrappers = Vec::new();
        let (mut origin, mut behind) = (command.origin, 0);
        while let Some((by, word)) = origin.wrapper() {
            // Who may run a shell may let it read a file.
            behind = if matches!(origin, CommandOrigin::ScriptFile { .. }) { 0 } else { word + behind };
            let wrapper = &self.script.commands[by];
            wrappers.push((wrapper, behind));
            origin = wrapper.origin;
        }
        wrappers
    }
}

/// True if a command runs or writes something: `done < file` does neither.
fn is_decided(command: &SimpleCommand) -> bool {
    !command.words.is_empty() || command.has_file_redirect()
}

/// The words at the beginning of a command that a rule names, or the reason why they name none.
pub(crate) fn parse_prefix(prefix: &str) -> Result<Vec<ShellWord>, &'static str> {
    let script = parse_script(prefix);
    let is_own = |command: &&SimpleCommand| command.origin.wrapper().is_none();
    let own: Vec<_> = script.commands.iter().filter(is_own).collect();
    match own.as_slice() {
        [] => Err("the prefix is empty"),
        [command] if command.words.is_empty() => Err("the prefix is empty"),
        [command] if script.unclear.is_none() && command.redirects.is_empty() => Ok(command.words.clone()),
        _ => Err("the prefix must be the start of a single command"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_the_beginning_of_one_command() {
        let words = |prefix: &str| {
            parse_prefix(prefix).map(|words| words.into_iter().map(|word| word.text).collect::<Vec<_>>())
        };
        assert_eq!(words("git log").expect("good"), ["git", "log"]);
        assert_eq!(words(" npm  run 'my test' ").expect("good"), ["npm", "run", "my test"]);
        assert_eq!(words("env A=1 cargo test").expect("good"), ["env", "A=1", "cargo", "test"]);
        assert_eq!(words("xargs").expect("good"), ["xargs"]);
        for bad in ["", "  ", "a; b", "a > b", "echo 'x", "a && b", "$(x) y", "case", "# a"] {
            assert!(parse_prefix(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn there_is_always_a_command() {
        for line in ["", " ", "# x", "if", "done < x", "'", "for x in a"] {
            assert!(ParsedLine::parse(line).commands().count() > 0, "{line:?}");
        }
        let texts: Vec<_> = ParsedLine::parse("while read x; do y; done < z")
            .commands()
            .map(|command| command.text.clone())
            .collect();
        assert_eq!(texts, ["read x", "y"]);
    }

    #[test]
    fn wrappers_are_told_with_their_words() {
        let line = ParsedLine::parse("sudo env A=1 cargo test");
        let inner = line.commands().last().expect("a command");
        let wrappers: Vec<_> = line
            .wrappers_of(inner)
            .into_iter()
            .map(|(wrapper, word)| (wrapper.text.as_str(), word))
            .collect();
        assert_eq!(wrappers, [("env A=1 cargo test", 2), ("sudo env A=1 cargo test", 3)]);
    }
}
