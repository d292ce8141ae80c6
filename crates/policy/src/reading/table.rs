//! The table of commands that only read: their options and operands.

use std::sync::LazyLock;

use crate::programs::entries;

static TABLE: LazyLock<Vec<ReadingEntry>> = LazyLock::new(|| {
    entries(include_str!("../data/reading.txt"))
        .map(|line| ReadingEntry::parse(line).expect("a test reads every line"))
        .collect()
});

/// What is known about a program, or one of its sub-commands.
#[derive(Debug)]
pub(super) struct ReadingEntry {
    program: &'static str,
    scope: EntryScope,
    options: Vec<ReadingOption>,
    pub(super) operands: Vec<Operand>,
    /// True if it may show the contents of files that it does not name.
    pub(super) shows_contents: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum EntryScope {
    Program,
    /// The options before a sub-command.
    BeforeSubcommand,
    /// One of these, each of one word or two.
    Subcommands(Vec<Vec<&'static str>>),
}

/// An option that is known to be harmless.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReadingOption {
    /// The name with its dashes; of letters that stand together, one.
    name: OptionName,
    pub(super) value: OptionValue,
    /// True if it gives the pattern that would be the first operand.
    pub(super) gives_pattern: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OptionName {
    Letter(char),
    Long(&'static str),
    /// `-20`
    Number,
}

/// The value of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionValue {
    None,
    Number,
    Text,
    /// A text that is attached or missing.
    Attached,
}

/// The kind of one operand or, if it is the last in the list, of all that are left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    Text,
    /// A text, even one with a dash.
    Word,
    Pattern,
    /// The lines that `sed` prints.
    Lines,
    File,
    Path,
    Revision,
    /// A path, a bracket or `!` of `find`.
    Expression,
}

impl ReadingEntry {
    /// The entry of a program without sub-commands.
    pub(super) fn of_program(program: &str) -> Option<&'static Self> {
        TABLE.iter().find(|entry| entry.program == program && entry.scope == EntryScope::Program)
    }

    /// The options before a program's sub-command, if it has some.
    pub(super) fn before_subcommand(program: &str) -> Option<&'static Self> {
        TABLE.iter().find(|entry| entry.program == program && entry.scope == EntryScope::BeforeSubcommand)
    }

    /// The entry of the sub-command that these words begin with, and the number of its words.
    pub(super) fn of_subcommand(program: &str, words: &[&str]) -> Option<(&'static Self, usize)> {
        let named = |entry: &'static Self| match &entry.scope {
            EntryScope::Subcommands(names) => {
                let name = names.iter().find(|name| words.starts_with(name))?;
                Some((entry, name.len()))
            }
            EntryScope::Program | EntryScope::BeforeSubcommand => None,
        };
        TABLE.iter().filter(|entry| entry.program == program).find_map(named)
    }

    /// True if it reads the folder that it runs in, where no operand names another.
    pub(super) fn reads_its_folder(&self) -> bool {
        self.operands.iter().any(|operand| matches!(operand, Operand::Path | Operand::Expression))
    }

    /// True if options are whole words behind one dash, as those of `find`.
    pub(super) fn has_tests(&self) -> bool {
        self.operands.contains(&Operand::Expression)
    }

    pub(super) fn long(&self, name: &str) -> Option<ReadingOption> {
        self.option(|known| matches!(known, OptionName::Long(long) if long == name))
    }

    pub(super) fn letter(&self, letter: char) -> Option<ReadingOption> {
        self.option(|known| known == OptionName::Letter(letter))
    }

    pub(super) fn takes_number(&self) -> bool {
        self.option(|known| known == OptionName::Number).is_some()
    }

    fn option(&self, is_meant: impl Fn(OptionName) -> bool) -> Option<ReadingOption> {
        self.options.iter().copied().find(|option| is_meant(option.name))
    }

    fn parse(line: &'static str) -> Option<Self> {
        let (place, items) = line.split_once(':')?;
        let (program, scope) = match place.split_once(' ') {
            None => (place, EntryScope::Program),
            Some((program, "-")) => (program, EntryScope::BeforeSubcommand),
            Some((program, names)) => {
                let names = names.split(',').map(|name| name.split(' ').collect()).collect();
                (program, EntryScope::Subcommands(names))
            }
        };
        let mut entry =
            Self { program, scope, options: Vec::new(), operands: Vec::new(), shows_contents: false };
        let has_tests = items.ends_with(" EXPRESSION");
        for item in items.split_whitespace() {
            match item {
                "CONTENTS" => entry.shows_contents = true,
                item if item.starts_with('-') => entry.options.extend(parse_option(item, has_tests)?),
                item => entry.operands.push(Operand::parse(item)?),
            }
        }
        Some(entry)
    }
}

/// The options that an item of the table stands for.
fn parse_option(item: &'static str, has_tests: bool) -> Option<Vec<ReadingOption>> {
    let (item, gives_pattern) = item.strip_suffix('!').map_or((item, false), |item| (item, true));
    let number = ReadingOption { name: OptionName::Number, value: OptionValue::None, gives_pattern: false };
    if item == "-#" {
        return Some(vec![number]);
    }
    let (name, value) = match item.char_indices().last()? {
        (end, '#') => (&item[..end], OptionValue::Number),
        (end, '~') => (&item[..end], OptionValue::Text),
        (end, '?') => (&item[..end], OptionValue::Attached),
        _ => (item, OptionValue::None),
    };
    let option = |name| ReadingOption { name, value, gives_pattern };
    if has_tests || name.starts_with("--") {
        let is_named = name.len() > if has_tests { 1 } else { 2 };
        return is_named.then(|| vec![option(OptionName::Long(name))]);
    }
    let letters = name.strip_prefix('-').filter(|letters| !letters.is_empty())?;
    let is_one = letters.chars().nth(1).is_none();
    (value == OptionValue::None || is_one)
        .then(|| letters.chars().map(|letter| option(OptionName::Letter(letter))).collect())
}

impl Operand {
    fn parse(item: &str) -> Option<Self> {
        Some(match item {
            "TEXT" => Self::Text,
            "WORDS" => Self::Word,
            "PATTERN" => Self::Pattern,
            "LINES" => Self::Lines,
            "FILES" => Self::File,
            "PATHS" => Self::Path,
            "REVISIONS" => Self::Revision,
            "EXPRESSION" => Self::Expression,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_table_is_well_formed() {
        let mut places = HashSet::new();
        for line in entries(include_str!("../data/reading.txt")) {
            let entry = ReadingEntry::parse(line).unwrap_or_else(|| panic!("{line}"));
            assert!(places.insert(line.split(':').next()), "twice: {line}");
            let mut options = HashSet::new();
            for option in &entry.options {
                assert!(options.insert(format!("{:?}", option.name)), "{line}: {:?} twice", option.name);
            }
        }
    }

    #[test]
    fn no_option_that_writes_or_runs_something_is_listed() {
        // The other table knows these; `-b`, `-n` and the like are letters of other sub-commands there.
        for (program, options) in [
            ("git log", &["output", "ext-diff", "textconv", "show-signature", "no-index"][..]),
            ("git grep", &["open-files-in-pager", "textconv", "no-index", "recurse-submodules"]),
            (
                "find",
                &["-exec", "-execdir", "-ok", "-delete", "-fprint", "-fls", "-L", "-follow", "-files0-from"],
            ),
            ("rg", &["pre", "hidden", "no-ignore", "follow", "search-zip", "glob", "unrestricted", "type"]),
            ("sort", &["output", "compress-program", "temporary-directory", "files0-from"]),
        ] {
            let words: Vec<&str> = program.split(' ').collect();
            let entry = match words[..] {
                [program] => ReadingEntry::of_program(program),
                _ => ReadingEntry::of_subcommand(words[0], &words[1..]).map(|(entry, _)| entry),
            };
            let entry = entry.unwrap_or_else(|| panic!("{program}"));
            for name in options {
                let name = if name.starts_with('-') { (*name).to_owned() } else { format!("--{name}") };
                assert_eq!(entry.long(&name), None, "{program} {name}");
            }
        }
        for (program, letters) in [
            ("rg", "LzugtTf."),
            ("sort", "oTS"),
            ("grep", "rRfdDzZ"),
            ("ls", "LHI"),
            ("tail", "fF"),
            ("tree", "olRH"),
        ] {
            let entry = ReadingEntry::of_program(program).expect("listed");
            assert!(letters.chars().all(|letter| entry.letter(letter).is_none()), "{program} {letters}");
        }
    }
}
