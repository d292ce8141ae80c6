//! The parts of a command line.

use std::ops::Range;

use crate::Unclear;

/// A command line, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellScript {
    /// Every simple command: those of a substitution before the command that it stands in, those that a command runs
    /// behind all of the line's own.
    pub commands: Vec<SimpleCommand>,
    /// The reason why there may be others, if that cannot be ruled out. For what single commands may run besides, see
    /// [`SimpleCommand::unread`].
    pub unclear: Option<Unclear>,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The text as it stands in the line; the words with spaces between them where it stands nowhere as a whole.
    pub text: String,
    /// The place of the text in the line. `None` inside backticks and for commands that others run.
    pub span: Option<Range<usize>>,
    /// The words, those that set variables first.
    pub words: Vec<ShellWord>,
    /// The number of words at the beginning that set variables.
    pub assignments: usize,
    /// The redirections, in their order.
    pub redirects: Vec<Redirect>,
    /// The operator behind it, or behind the group that it ends.
    pub separator: Separator,
    /// The line, the substitution or the other command that it is part of.
    pub origin: CommandOrigin,
    /// True if words are added that the line does not show, as `xargs` does.
    pub is_open_ended: bool,
    /// The reason why the list may lack commands that this one runs. A script in a file is a program: it is not read.
    pub unread: Option<Unclear>,
    pub(crate) depth: usize,
}

impl SimpleCommand {
    /// The words from the program on.
    pub fn bare(&self) -> &[ShellWord] {
        &self.words[self.assignments..]
    }

    /// The word that names the program.
    pub fn program(&self) -> Option<&ShellWord> {
        self.bare().first()
    }

    /// The program's name without its folder, as it is written if it is not literal.
    pub fn program_name(&self) -> Option<&str> {
        self.program().map(ShellWord::file_name)
    }

    /// True if output goes to a file, or input comes from a device or the network.
    pub fn has_file_redirect(&self) -> bool {
        self.redirects.iter().any(Redirect::reaches_out)
    }
}

/// The operator between two commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Separator {
    /// `&&`
    And,
    /// `||`
    Or,
    /// `|`, `|&`
    Pipe,
    /// `&`
    Background,
    /// `;`, a line end, a bracket, or the end of the line.
    #[default]
    Sequence,
}

/// The line, the substitution or the other command that a command is part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommandOrigin {
    /// The line itself.
    #[default]
    Line,
    /// A substitution, or a document in which the shell replaces some.
    Substitution,
    /// Another command that runs this one.
    Wrapped {
        /// That command's place in [`ShellScript::commands`].
        by: usize,
        /// The word of it that names this command's program, or holds the script that it is of. Behind the last word if
        /// it comes from the input.
        word: usize,
    },
    /// A shell that reads this command's program as its script, as in `sh PROGRAM`.
    ScriptFile {
        /// That command's place in [`ShellScript::commands`].
        by: usize,
        /// The word of it that names the file.
        word: usize,
    },
}

impl CommandOrigin {
    /// The command that runs this one, and the word of it that names it.
    pub fn wrapper(self) -> Option<(usize, usize)> {
        match self {
            Self::Line | Self::Substitution => None,
            Self::Wrapped { by, word } | Self::ScriptFile { by, word } => Some((by, word)),
        }
    }
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellWord {
    /// The text without quotes; expansions as they are written.
    pub text: String,
    /// The place of the word in [`SimpleCommand::text`].
    pub span: Range<usize>,
    /// True if any of it was quoted.
    pub is_quoted: bool,
    /// The expansion that it goes through.
    pub kind: WordKind,
}

impl ShellWord {
    /// True if the program gets exactly this text.
    pub fn is_literal(&self) -> bool {
        self.kind == WordKind::Literal
    }

    /// The text behind the last slash.
    pub fn file_name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or(&self.text)
    }
}

/// The expansion that a word goes through when the line runs. Later ones leave more open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WordKind {
    /// It stands for itself.
    Literal,
    /// One word, part of which is filled in: an expansion in double quotes.
    Filled,
    /// File names, where there are some that match.
    Pattern,
    /// Any number of words: an expansion without quotes, or alternatives in braces.
    Split,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Its operator.
    pub operator: RedirectOperator,
    /// The number before the operator, as in `2>`.
    pub descriptor: Option<u32>,
    /// The file, the descriptor, the text of `<<<`, or the delimiter of a document.
    pub target: ShellWord,
    /// The document, for [`RedirectOperator::Document`].
    pub document: Option<HereDocument>,
}

/// Targets to which output may go without anything being written.
const HARMLESS: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr"];

impl Redirect {
    /// True if it writes to a file, or reads from a device or the network.
    pub fn reaches_out(&self) -> bool {
        let Self { operator, target, .. } = self;
        let is_descriptor =
            || target.is_literal() && target.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        match operator {
            RedirectOperator::Document | RedirectOperator::HereString => false,
            RedirectOperator::Read => target.text.starts_with("/dev/") && target.text != "/dev/null",
            RedirectOperator::Duplicate if is_descriptor() => false,
            RedirectOperator::Duplicate | RedirectOperator::Write | RedirectOperator::Append => {
                !(target.is_literal() && HARMLESS.contains(&target.text.as_str()))
            }
        }
    }
}

/// The operator of a redirection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedirectOperator {
    /// `<`
    Read,
    /// `>`, `>|`, `<>`, `&>`
    Write,
    /// `>>`, `&>>`
    Append,
    /// `>&`, `<&`: another descriptor, or a file.
    Duplicate,
    /// `<<`, `<<-`
    Document,
    /// `<<<`
    HereString,
}

/// A here-document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HereDocument {
    /// Its lines, with tabs removed for `<<-`.
    pub body: String,
    /// True if the shell leaves it as it is.
    pub is_literal: bool,
}
