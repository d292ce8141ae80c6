//! Finds the programs that a line comes down to, once wrappers are replaced by what they run.

use crate::wrapper::is_wrapper;
use crate::{CommandOrigin, ShellScript, SimpleCommand};

impl ShellScript {
    /// For each command, the indices of those that it runs. Scripts in files are not among them: they are programs.
    pub fn wrapped(&self) -> Vec<Vec<usize>> {
        let mut wrapped = vec![Vec::new(); self.commands.len()];
        for (index, command) in self.commands.iter().enumerate() {
            if let CommandOrigin::Wrapped { by, .. } = command.origin {
                wrapped[by].push(index);
            }
        }
        wrapped
    }

    /// The programs that the line runs, in order: wrappers are replaced by what they run, and commands in substitutions are
    /// left out.
    pub fn programs(&self) -> Vec<&SimpleCommand> {
        let wrapped = self.wrapped();
        let runs_file = |index: usize| {
            self.commands
                .iter()
                .any(|command| matches!(command.origin, CommandOrigin::ScriptFile { by, .. } if by == index))
        };
        let is_own = |index: &usize| self.commands[*index].origin == CommandOrigin::Line;
        let mut waiting: Vec<usize> = (0..self.commands.len()).filter(is_own).rev().collect();
        let mut programs = Vec::new();
        while let Some(index) = waiting.pop() {
            let command = &self.commands[index];
            waiting.extend(wrapped[index].iter().rev());
            // A wrapper of which all that it runs is known, as of `command -v`, is no program itself.
            let is_known = || !wrapped[index].is_empty() || command.unread.is_none() && !runs_file(index);
            let is_replaced = command.program_name().is_some_and(is_wrapper) && is_known();
            if !is_replaced && command.program().is_some() {
                programs.push(command);
            }
        }
        programs
    }
}

#[cfg(test)]
mod tests {
    use crate::parse_script;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let script = parse_script(line);
        let programs: Vec<String> = script
            .programs()
            .iter()
            .map(|command| command.bare().iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("|"))
            .collect();
        assert_eq!(programs, expected, "{line}");
    }

    #[test]
    fn wrappers_are_replaced_by_what_they_run() {
        check("cd a && cargo test", &["cd|a", "cargo|test"]);
        check("A=1 sudo -u www timeout -k 5 60s npm test; ls", &["npm|test", "ls"]);
        check("bash -lc 'cd a && sh -c \"ls -l\"' && pwd", &["cd|a", "ls|-l", "pwd"]);
        check("find . -exec rm {} \\; | sort", &["find|.|-exec|rm|{}|;", "rm|{}", "sort"]);
        check("ls | xargs -n 1 wc -l", &["ls", "wc|-l"]);
        check("env --strange ls", &["env|--strange|ls"]);
        check("bash run.sh", &["bash|run.sh"]);
        check("command -v cargo && ls", &["ls"]);
        check("echo $(date) <(cat x)", &["echo|$(date)|<(cat x)"]);
        check("> file", &[]);
    }
}
