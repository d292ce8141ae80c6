//! Commands that only read: which they are, and the paths that they read.
//!
//! This says what a line would read, by its text alone. [`LineReading::check`] lets the caller look at the disk: whether
//! the paths are inside the workspace, and neither hidden nor ignored.

mod arguments;
mod table;

use std::fmt;

use longhaul_shell::{CommandOrigin, RedirectOperator, Separator, SimpleCommand, Unclear, parse_script};

use table::ReadingEntry;

/// The reason why a command needs approval although commands of this kind may only read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReading {
    /// The folder is not trusted, or nobody looked at the disk.
    Untrusted,
    /// It is not certain what the line would run.
    Unclear(Unclear),
    /// The program, or its sub-command, is not known to only read.
    Program(String),
    /// The option is not known to be harmless.
    Option(String),
    /// The word is known only at run time.
    Word(String),
    /// The word is not of the form that the program reads.
    Argument(String),
    /// It reads from a file or writes to one.
    Redirection,
    /// Another command runs it, or it stands in a substitution.
    Wrapped,
    /// It reads files beside commands that may change them.
    Beside,
    /// What is on the disk forbids it: a clause such as `"x" is ignored`.
    Path(String),
}

/// A clause that can follow "because".
impl fmt::Display for NotReading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untrusted => f.write_str("the folder is not trusted"),
            Self::Unclear(unclear) => write!(f, "cannot tell everything it would run: {unclear}"),
            Self::Program(program) => write!(f, "{program:?} is not known to only read"),
            Self::Option(option) => write!(f, "option {option:?} is not known to only read"),
            Self::Word(word) => write!(f, "{word:?} is known only at run time"),
            Self::Argument(word) => write!(f, "argument {word:?} is not known to only read"),
            Self::Redirection => f.write_str("it is redirected from or to a file"),
            Self::Wrapped => f.write_str("another command or a substitution runs it"),
            Self::Beside => f.write_str("it reads files, and other commands of the line may change them"),
            Self::Path(clause) => f.write_str(clause),
        }
    }
}

/// The readings of the commands of a line, in the order of the line.
#[derive(Clone, Debug)]
pub struct LineReading {
    /// The folder that a leading `cd` enters, as it is written.
    pub folder: Option<String>,
    commands: Vec<Result<CommandReading, NotReading>>,
}

/// The reading of one command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandReading {
    /// The program.
    pub program: String,
    /// The paths that it names.
    pub paths: Vec<ReadPath>,
    /// The files that it reads.
    pub source: ReadSource,
    /// True if it may show the contents of files that it does not name.
    pub shows_contents: bool,
}

/// The files that a command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSource {
    /// None: its input at most.
    Input,
    /// Those that it names, and those in its folder.
    Files,
    /// A repository of git, which has configuration of its own.
    Repository,
}

/// A path that a command reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadPath {
    /// The path as it is written.
    pub text: String,
    /// The place that it belongs to.
    pub kind: ReadPathKind,
}

/// The place that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPathKind {
    /// A file; folders are not read.
    File,
    /// A file or a folder, which is read with all that is in it.
    Any,
    /// A file in some revision, relative to the top of the repository.
    InRepository,
}

/// The results for the commands of a line: reading, or the reason why not.
#[derive(Clone, Debug)]
pub struct ReadingVerdicts(Vec<Result<(), NotReading>>);

impl ReadingVerdicts {
    /// The verdict about a command, by its place in the line's script.
    pub(crate) fn get(&self, index: usize) -> Result<(), &NotReading> {
        match self.0.get(index) {
            Some(Ok(())) => Ok(()),
            Some(Err(reason)) => Err(reason),
            None => Err(&NotReading::Untrusted),
        }
    }

    /// True if the line has commands, and all of them only read.
    pub fn are_all_reading(&self) -> bool {
        !self.0.is_empty() && self.0.iter().all(Result::is_ok)
    }
}

impl LineReading {
    /// Reads a command line.
    pub fn parse(line: &str) -> Self {
        let script = parse_script(line);
        let commands = script.commands.as_slice();
        let refuse = |reason: NotReading| Self { folder: None, commands: vec![Err(reason); commands.len()] };
        if let Some(unclear) = script.unclear {
            return refuse(NotReading::Unclear(unclear));
        }
        if commands.iter().any(is_redirected) {
            return refuse(NotReading::Redirection);
        }
        let folder = commands.first().and_then(|first| entered(line, first));
        let entering = CommandReading {
            program: "cd".to_owned(),
            paths: Vec::new(),
            source: ReadSource::Files,
            shows_contents: false,
        };
        let read = |(index, command)| match index {
            0 if folder.is_some() => Ok(entering.clone()),
            _ => read_command(command),
        };
        let commands = commands.iter().enumerate().map(read).collect();
        Self { folder, commands }
    }

    /// Checks the commands that read more than their input, with what the caller knows of the disk. Where any command may
    /// do something else, only those that read no files are certain: a command may change what the next one reads.
    pub fn check(self, look: impl Fn(&CommandReading) -> Result<(), NotReading>) -> ReadingVerdicts {
        let is_alone = self.commands.iter().all(Result::is_ok);
        let check = |command: Result<CommandReading, NotReading>| match command? {
            command if command.source == ReadSource::Input || is_alone => look(&command),
            _ => Err(NotReading::Beside),
        };
        let verdicts: Vec<_> = self.commands.into_iter().map(check).collect();
        ReadingVerdicts(verdicts)
    }
}

/// True if a command reads from a file or writes to one. Text in the line itself is neither.
fn is_redirected(command: &SimpleCommand) -> bool {
    command.redirects.iter().any(|redirect| {
        let reads = redirect.operator == RedirectOperator::Read && redirect.target.text != "/dev/null";
        reads || redirect.reaches_out()
    })
}

/// The folder that the rest of a line runs in, if its first command is `cd FOLDER &&`, not in a group.
fn entered(line: &str, first: &SimpleCommand) -> Option<String> {
    let blanks = line.len() - line.trim_start().len();
    let is_first = first.span.as_ref().is_some_and(|span| span.start == blanks);
    let [program, folder] = first.words.as_slice() else { return None };
    let is_plain = program.is_literal() && program.text == "cd" && folder.is_literal();
    // "-" is the folder before.
    let is_folder = !folder.text.is_empty() && !folder.text.starts_with('-');
    (is_first && first.redirects.is_empty() && first.separator == Separator::And && is_plain && is_folder)
        .then(|| folder.text.clone())
}

/// The reading of a command, by its words.
fn read_command(command: &SimpleCommand) -> Result<CommandReading, NotReading> {
    if command.origin != CommandOrigin::Line {
        return Err(NotReading::Wrapped);
    }
    if let Some(unread) = command.unread {
        return Err(NotReading::Unclear(unread));
    }
    if let Some(word) = command.words.iter().find(|word| !word.is_literal()) {
        return Err(NotReading::Word(word.text.clone()));
    }
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    let Some((&program, words)) = words.split_first() else {
        return Err(NotReading::Program(String::new()));
    };
    if command.assignments > 0 {
        return Err(NotReading::Argument(program.to_owned()));
    }
    let (entry, words) = entry_of(program, words)?;
    let (paths, names_some) = arguments::read(entry, words)?;
    let source = match program {
        "git" => ReadSource::Repository,
        _ if names_some || entry.reads_its_folder() => ReadSource::Files,
        _ => ReadSource::Input,
    };
    Ok(CommandReading { program: program.to_owned(), paths, source, shows_contents: entry.shows_contents })
}

/// The entry of a command, and its words behind the sub-command.
fn entry_of<'w>(
    program: &str,
    words: &'w [&'w str],
) -> Result<(&'static ReadingEntry, &'w [&'w str]), NotReading> {
    if let Some(entry) = ReadingEntry::of_program(program) {
        return Ok((entry, words));
    }
    let unknown = |name: String| NotReading::Program(name);
    let before = ReadingEntry::before_subcommand(program).ok_or_else(|| unknown(program.to_owned()))?;
    let start = words.iter().position(|word| !word.starts_with('-')).unwrap_or(words.len());
    arguments::read(before, &words[..start])?;
    let words = &words[start..];
    let named = || unknown(format!("{program} {}", words.first().copied().unwrap_or_default()).trim().into());
    let (entry, length) = ReadingEntry::of_subcommand(program, words).ok_or_else(named)?;
    Ok((entry, &words[length..]))
}

#[cfg(test)]
mod tests;
