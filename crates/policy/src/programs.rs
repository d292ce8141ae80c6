//! Programs of which more is known than their name: those that run others, and options that write or run something.

use std::collections::HashSet;
use std::sync::LazyLock;

use longhaul_shell::{ShellWord, SimpleCommand, WordKind};

/// Programs, and sub-commands, that run whatever their arguments say.
static RUNNERS: LazyLock<HashSet<&str>> =
    LazyLock::new(|| entries(include_str!("data/runners.txt")).collect());

static OPTIONS: LazyLock<Vec<ProgramOptions>> = LazyLock::new(|| {
    entries(include_str!("data/options.txt"))
        .map(|line| ProgramOptions::parse(line).expect("a test reads every line"))
        .collect()
});

pub(crate) fn entries(data: &'static str) -> impl Iterator<Item = &'static str> {
    data.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// True if a command's program runs others, with this sub-command if it has some.
pub(crate) fn is_runner(command: &SimpleCommand) -> bool {
    let Some(name) = command.program_name() else { return false };
    let is_known = |name: &str| {
        let with = |word: &ShellWord| RUNNERS.contains(format!("{name} {}", word.text).as_str());
        RUNNERS.contains(name)
            || command.bare()[1..].iter().find(|word| !word.text.starts_with('-')).is_some_and(with)
    };
    is_known(name) || is_known(without_version(name))
}

/// `python3.11` is `python`, `gcc-13` is `gcc`.
pub(crate) fn without_version(name: &str) -> &str {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
    if base.is_empty() { name } else { base }
}

/// The effect of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionEffect {
    /// It writes a file.
    Writes,
    /// It runs another program.
    Runs,
}

/// An option of a command that does more than its program's name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RiskyOption {
    /// The option as the table has it. `None` for a word that is only known when the line runs, and may be one.
    pub(crate) name: Option<&'static str>,
    pub(crate) effect: OptionEffect,
    /// The index of the word among the command's words.
    pub(crate) word: usize,
}

/// The options of a command that write or run something.
pub(crate) fn risky_options(command: &SimpleCommand) -> Vec<RiskyOption> {
    let Some(name) = command.program_name() else { return Vec::new() };
    let base = without_version(name);
    let words = &command.bare()[1..];
    let first = words.iter().position(|word| !word.text.starts_with('-')).unwrap_or(words.len());
    let mut found = Vec::new();
    for entry in OPTIONS.iter().filter(|entry| entry.program == name || entry.program == base) {
        let range = match entry.scope {
            OptionScope::Program | OptionScope::AnySubcommand => 0..words.len(),
            OptionScope::BeforeSubcommand => 0..first,
            OptionScope::Subcommand(sub) if words.iter().any(|word| word.text == sub) => 0..words.len(),
            OptionScope::Subcommand(_) => continue,
        };
        let end = words[range.clone()].iter().position(|word| word.text == "--").unwrap_or(range.end);
        let mut arguments = 0;
        for (index, word) in words[range.start..end].iter().enumerate() {
            arguments += usize::from(!word.text.starts_with('-') || word.text == "-");
            let risk = entry.options.iter().find(|option| option.is_met(word, arguments));
            let word_index = command.assignments + 1 + index;
            if let Some(option) = risk {
                found.push(RiskyOption { name: Some(option.text), effect: option.effect, word: word_index });
            } else if may_be_option(word) {
                found.push(RiskyOption { name: None, effect: OptionEffect::Runs, word: word_index });
            }
        }
    }
    found
}

/// True if a word may become an option when the line runs. Names of files that match a pattern are not thought of.
fn may_be_option(word: &ShellWord) -> bool {
    match word.kind {
        WordKind::Literal | WordKind::Pattern => false,
        WordKind::Filled => word.text.starts_with(['$', '`', '-']),
        WordKind::Split => true,
    }
}

#[derive(Debug)]
struct ProgramOptions {
    program: &'static str,
    scope: OptionScope,
    options: Vec<TableOption>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionScope {
    Program,
    BeforeSubcommand,
    AnySubcommand,
    Subcommand(&'static str),
}

#[derive(Debug)]
struct TableOption {
    text: &'static str,
    effect: OptionEffect,
}

impl ProgramOptions {
    fn parse(line: &'static str) -> Option<Self> {
        let (place, options) = line.split_once(": ")?;
        let (program, scope) = match place.split_once(' ') {
            None => (place, OptionScope::Program),
            Some((program, "-")) => (program, OptionScope::BeforeSubcommand),
            Some((program, "*")) => (program, OptionScope::AnySubcommand),
            Some((program, sub)) => (program, OptionScope::Subcommand(sub)),
        };
        let options: Option<Vec<_>> = options.split_whitespace().map(TableOption::parse).collect();
        Some(Self { program, scope, options: options.filter(|options| !options.is_empty())? })
    }
}

impl TableOption {
    fn parse(text: &'static str) -> Option<Self> {
        let effect = match text.as_bytes().first()? {
            b'>' => OptionEffect::Writes,
            b'!' => OptionEffect::Runs,
            _ => return None,
        };
        Some(Self { text: &text[1..], effect }).filter(|option| option.text.len() > 1)
    }

    /// True if a word, with as many arguments up to it, is this option.
    fn is_met(&self, word: &ShellWord, arguments: usize) -> bool {
        let text = word.text.as_str();
        if let Some(number) = self.text.strip_prefix('#') {
            let is_argument = !text.starts_with('-') || text == "-";
            return is_argument && number.parse().is_ok_and(|number: usize| arguments >= number);
        }
        if let Some(long) = self.text.strip_prefix("--") {
            let given = text.strip_prefix("--").map(|given| given.split('=').next().unwrap_or(given));
            return given.is_some_and(|given| !given.is_empty() && long.starts_with(given));
        }
        match self.text.strip_prefix('-') {
            Some(letter) if letter.chars().count() == 1 => text
                .strip_prefix('-')
                .is_some_and(|letters| !letters.starts_with('-') && letters.contains(letter)),
            Some(_) => text == self.text || text.split_once('=').is_some_and(|(name, _)| name == self.text),
            None => text.starts_with(self.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use longhaul_shell::parse_script;

    use super::*;

    #[test]
    fn the_tables_are_well_formed() {
        for line in entries(include_str!("data/options.txt")) {
            assert!(ProgramOptions::parse(line).is_some(), "{line}");
        }
        let mut seen = HashSet::new();
        for line in entries(include_str!("data/runners.txt")) {
            assert!(line.split(' ').count() <= 2 && seen.insert(line), "{line}");
        }
    }

    #[test]
    fn versions_do_not_count() {
        for (name, expected) in
            [("python3.11", "python"), ("gcc-13", "gcc"), ("clang++-17", "clang++"), ("7", "7"), ("sh", "sh")]
        {
            assert_eq!(without_version(name), expected);
        }
    }

    #[test]
    fn runners_are_known_by_program_and_sub_command() {
        let check = |line: &str, expected: bool| {
            assert_eq!(is_runner(&parse_script(line).commands[0]), expected, "{line}");
        };
        for line in ["python3.11 x", "/usr/bin/gawk x", "uvx ruff", "git config x", "git --no-pager config x"]
        {
            check(line, true);
        }
        for line in ["pip3 list", "git add config", "mycat"] {
            check(line, false);
        }
        check("git status", false);
        check("ls", false);
    }

    #[track_caller]
    fn check_options(line: &str, expected: &[&str]) {
        let script = parse_script(line);
        let found = risky_options(&script.commands[0]);
        let found: Vec<_> = found.iter().map(|option| option.name.unwrap_or("?")).collect();
        assert_eq!(found, expected, "{line}");
    }

    #[test]
    fn options_are_found_however_they_are_written() {
        for line in ["git log --output=x", "git log --output x", "git log --outp=x", "git -C . log --ou x"] {
            check_options(line, &["--output"]);
        }
        for line in ["sort -o x y", "sort -ro x", "sort -ox y", "sort y -o x"] {
            check_options(line, &["-o"]);
        }
        check_options("git log --oneline -5", &[]);
        check_options("git log -- --output", &[]);
        check_options("git -c a=b log -c", &["-c"]);
        check_options("find . -delete", &["-delete"]);
        check_options("find . -name '*delete'", &[]);
        check_options("uniq a b", &["#2"]);
        check_options("uniq -c a", &[]);
        check_options("make SHELL=rm", &["SHELL="]);
        check_options("rg --pre=x y", &["--pre"]);
        check_options("rg --pre-glob x y", &[]);
        check_options("git log $x \"$y\" a\"$z\" {a,b}", &["?", "?", "?"]);
        check_options("ls $x", &[]);
    }
}
