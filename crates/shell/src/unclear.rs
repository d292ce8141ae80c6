//! Reasons why a command line, or what a command runs, cannot be told.

use std::fmt;

/// The reason why not everything that would run is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unclear {
    /// A quote, a bracket or a here-document has no end.
    Unclosed,
    /// A closing bracket has no opening one.
    StrayBracket,
    /// `case`, `select`, `function`, `coproc` or `[[`.
    Keyword,
    /// `for` in a form other than `for NAME in WORD…`, or one that sets a variable of the system.
    Loop,
    /// A bracket behind a word: a function, an array or an extended pattern.
    Function,
    /// Arithmetic with more than numbers: a name in it can hold commands, and `<<` in it is no here-document.
    Arithmetic,
    /// `$$`, `$[` or `$"`, which shells read differently.
    Dollar,
    /// `${…}` in a form other than the plain ones, or with quotes in it.
    Parameter,
    /// A backslash in backticks whose meaning depends on what is around them.
    Backticks,
    /// A here-document whose delimiter or end shells may see differently.
    Document,
    /// A line end behind a backslash within an operator or an expansion.
    Continuation,
    /// A redirection without a target, or one that shells read differently.
    Redirection,
    /// `$'…'` that ends elsewhere in other shells, or holds what cannot be decoded.
    Escapes,
    /// A subscript that may hold anything.
    Subscript,
    /// A control character, or a blank that is none to the shell.
    Character,
    /// Substitutions or wrappers nested too deeply.
    Depth,
    /// A command that changes how the shell reads what follows: `alias`, `shopt`, `set -k`.
    ShellOption,
    /// The program's name is known only at run time: `$x`, `r[m]`, `{rm,-r}`.
    Program,
    /// A script that is built at run time: `sh -c "$x"`, `eval $x`.
    Argument,
    /// A shell that runs its input.
    Input,
    /// An option of a wrapper that is not known, so that the command behind it cannot be told.
    Option,
    /// A script in a language that is not analysed.
    Code,
}

/// A clause that can follow "because".
impl fmt::Display for Unclear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unclosed => "a quote, bracket or here-document is not closed",
            Self::StrayBracket => "a closing bracket has no opening bracket",
            Self::Keyword => "case, select, function, coproc and [[ are not analysed",
            Self::Loop => "only loops of the form \"for NAME in WORDS\" are analysed",
            Self::Function => "functions, arrays and extended patterns are not analysed",
            Self::Arithmetic => "arithmetic beyond plain numbers is not analysed",
            Self::Dollar => "$$, $[ and $\" differ between shells",
            Self::Parameter => "only plain forms of ${…} are analysed",
            Self::Backticks => "backslashes in backticks differ between shells",
            Self::Document => "the end of a here-document is ambiguous",
            Self::Continuation => "a line continuation splits an operator or an expansion",
            Self::Redirection => "a redirection has no target, or one that differs between shells",
            Self::Escapes => "$'…' differs between shells",
            Self::Subscript => "a subscript may contain anything",
            Self::Character => "it contains control characters or unusual blanks",
            Self::Depth => "it is nested too deeply",
            Self::ShellOption => "it changes how the shell reads the rest",
            Self::Program => "the program is known only at run time",
            Self::Argument => "a script is built at run time",
            Self::Input => "a shell would run its input",
            Self::Option => "the program that wraps the command has an unknown option",
            Self::Code => "it contains code that is not analysed",
        })
    }
}
