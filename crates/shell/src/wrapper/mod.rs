//! Follows commands that run others: `env`, `sh -c`, `eval`, `xargs`, `find -exec` and their like.

mod builtins;
mod code;
mod prefixes;
mod shells;

use crate::lex::{MAX_DEPTH, lex};
use crate::{CommandOrigin, RedirectOperator, ShellScript, ShellWord, SimpleCommand, Unclear, WordKind};

/// The number of wrappers that may stand inside each other.
const MAX_WRAPPERS: usize = 8;

/// Shells that read what is read here, without version.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "ash", "hush", "zsh", "ksh", "lksh", "mksh", "oksh", "pdksh", "posh", "rbash",
    "rksh", "rzsh", "yash",
];

/// The commands that a command runs, as far as its words tell.
#[derive(Default)]
struct WrappedCommands {
    inner: Vec<WrappedCommand>,
    unread: Option<Unclear>,
}

/// Something that a command runs, with the word that names it.
enum WrappedCommand {
    /// The words from `word` on, without those behind the end.
    Words { word: usize, end: usize, is_open_ended: bool, placeholder: Option<String> },
    /// A script.
    Script { word: usize, text: String },
    /// A file that is read as a script.
    File { word: usize },
}

impl WrappedCommands {
    fn words(word: usize, command: &SimpleCommand) -> Self {
        let end = command.words.len();
        if word >= end {
            return Self { unread: command.is_open_ended.then_some(Unclear::Input), ..Self::default() };
        }
        let is_open_ended = command.is_open_ended;
        Self {
            inner: vec![WrappedCommand::Words { word, end, is_open_ended, placeholder: None }],
            unread: None,
        }
    }

    /// A script that is put together of these words.
    fn joined(word: usize, words: &[ShellWord], command: &SimpleCommand) -> Self {
        if words.is_empty() {
            return Self { unread: command.is_open_ended.then_some(Unclear::Input), ..Self::default() };
        }
        let is_literal = !command.is_open_ended && words.iter().all(ShellWord::is_literal);
        Self {
            inner: vec![WrappedCommand::Script { word, text: join(words) }],
            unread: (!is_literal).then_some(Unclear::Argument),
        }
    }

    fn unread(reason: Unclear) -> Self {
        Self { inner: Vec::new(), unread: Some(reason) }
    }
}

/// Puts what the commands run behind them, and notes what cannot be read.
pub(crate) fn expand(script: &mut ShellScript) {
    let mut index = 0;
    while index < script.commands.len() {
        let command = &script.commands[index];
        if changes_shell(command) {
            script.unclear.get_or_insert(Unclear::ShellOption);
        }
        let WrappedCommands { inner, unread } = runs(command);
        let depth = command.depth + 1;
        let is_too_deep = depth > MAX_WRAPPERS && !inner.is_empty();
        for inner in inner.into_iter().filter(|_| !is_too_deep) {
            let outer = &script.commands[index];
            let (origin, mut found) = match inner {
                WrappedCommand::Words { word, end, is_open_ended, placeholder } => {
                    let mut command = command_of(&outer.words[word..end], placeholder.as_deref());
                    command.is_open_ended = is_open_ended;
                    command.redirects = input_of(outer);
                    (CommandOrigin::Wrapped { by: index, word }, vec![command])
                }
                WrappedCommand::File { word } => {
                    let command = command_of(&outer.words[word..], None);
                    (CommandOrigin::ScriptFile { by: index, word }, vec![command])
                }
                WrappedCommand::Script { word, text } => {
                    let inner = lex(&text, depth.min(MAX_DEPTH));
                    if let Some(reason) = inner.unclear {
                        script.unclear.get_or_insert(reason);
                    }
                    (CommandOrigin::Wrapped { by: index, word }, inner.commands)
                }
            };
            for command in &mut found {
                command.origin = origin;
                command.span = None;
                command.depth = depth;
            }
            script.commands.append(&mut found);
        }
        script.commands[index].unread = if is_too_deep { Some(Unclear::Depth) } else { unread };
        index += 1;
    }
}

/// Finds what a command runs.
fn runs(command: &SimpleCommand) -> WrappedCommands {
    let Some(program) = command.program() else { return WrappedCommands::default() };
    if !program.is_literal() && !has_plain_name(program) {
        return WrappedCommands::unread(Unclear::Program);
    }
    let next = command.assignments + 1;
    match WrapperKind::of(program.file_name()) {
        Some(WrapperKind::Shell) => shells::shell(command),
        Some(WrapperKind::Eval) => WrappedCommands::joined(next, &command.words[next..], command),
        Some(WrapperKind::Input) => shells::script_in_input(command),
        Some(WrapperKind::Trap) => shells::trap(command),
        Some(WrapperKind::Source) => shells::source(command),
        Some(WrapperKind::ScriptOption) => shells::with_script_option(command),
        Some(WrapperKind::Find) => find(command),
        Some(WrapperKind::Fd) => fd(command),
        // A name may stand before its program; such a line is unclear anyway.
        Some(WrapperKind::Coprocess) => WrappedCommands::words(next, command),
        Some(WrapperKind::Jobs) => {
            let words = &command.words[next..];
            match words.iter().position(|word| word.text.starts_with('-') && word.text.contains('x')) {
                Some(at) => WrappedCommands::words(next + at + 1, command),
                None if words.iter().all(ShellWord::is_literal) => WrappedCommands::default(),
                None => WrappedCommands::unread(Unclear::Argument),
            }
        }
        Some(WrapperKind::Prefix(prefix)) => prefix.runs(command),
        Some(WrapperKind::Interpreter(interpreter)) => {
            let holds_code = interpreter.holds_code(command);
            WrappedCommands { inner: Vec::new(), unread: holds_code.then_some(Unclear::Code) }
        }
        None if builtins::evaluates_words(program.file_name(), command) => {
            WrappedCommands::unread(Unclear::Argument)
        }
        None => WrappedCommands::default(),
    }
}

/// True if only the folder of a program is filled in: `~/bin/x`, `"$HOME/bin/x"`.
fn has_plain_name(program: &ShellWord) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
    let name = program.file_name();
    program.kind == WordKind::Filled
        && name.len() < program.text.len()
        && !name.is_empty()
        && name.chars().all(is_plain)
}

/// True if it is known how a program of this name, without its folder, runs others: all that it runs is then listed, or
/// [`SimpleCommand::unread`] tells why not.
pub fn is_followed(program: &str) -> bool {
    WrapperKind::of(program).is_some()
}

/// True if a program of this name, without its folder, does nothing but run others. `find` searches, too.
pub fn is_wrapper(program: &str) -> bool {
    !matches!(
        WrapperKind::of(program),
        None | Some(WrapperKind::Find | WrapperKind::Fd | WrapperKind::Interpreter(_))
    )
}

/// The ways in which programs run others.
enum WrapperKind {
    Shell,
    Eval,
    Trap,
    Source,
    ScriptOption,
    Find,
    Fd,
    Coprocess,
    Jobs,
    /// A program that runs its input.
    Input,
    Prefix(&'static prefixes::Prefix),
    Interpreter(code::Interpreter),
}

impl WrapperKind {
    fn of(program: &str) -> Option<Self> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-'));
        if SHELLS.contains(&base) {
            return Some(Self::Shell);
        }
        Some(match program {
            "eval" => Self::Eval,
            "trap" => Self::Trap,
            "source" | "." => Self::Source,
            "su" | "runuser" | "script" => Self::ScriptOption,
            "find" | "gfind" => Self::Find,
            "fd" | "fdfind" => Self::Fd,
            "coproc" => Self::Coprocess,
            "at" | "batch" | "parallel" => Self::Input,
            "jobs" => Self::Jobs,
            _ => match prefixes::find(program) {
                Some(prefix) => Self::Prefix(prefix),
                None => Self::Interpreter(code::Interpreter::of(program)?),
            },
        })
    }
}

/// True if a command changes how the shell reads those behind it.
fn changes_shell(command: &SimpleCommand) -> bool {
    match command.program_name() {
        Some("alias" | "unalias" | "shopt" | "enable" | "hash") => command.bare().len() > 1,
        Some("set") => !is_plain_set(&command.bare()[1..]),
        _ => builtins::sets_evaluated(command),
    }
}

/// `set -euo pipefail` and its like, or `set -- words`.
fn is_plain_set(words: &[ShellWord]) -> bool {
    const NAMES: &[&str] = &["errexit", "nounset", "pipefail", "verbose", "xtrace"];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word.text == "--" {
            return true;
        }
        let Some(letters) = word.text.strip_prefix(['-', '+']).filter(|_| word.is_literal()) else {
            return false;
        };
        let (letters, takes_name) = letters.strip_suffix('o').map_or((letters, false), |rest| (rest, true));
        if !letters.chars().all(|letter| "euvx".contains(letter)) {
            return false;
        }
        if takes_name && !words.next().is_some_and(|name| NAMES.contains(&name.text.as_str())) {
            return false;
        }
    }
    true
}

/// `find … -exec COMMAND ;`
fn find(command: &SimpleCommand) -> WrappedCommands {
    let mut runs = WrappedCommands::default();
    let mut index = command.assignments + 1;
    while let Some(word) = command.words.get(index) {
        index += 1;
        let is_last =
            command.words.get(index).is_none_or(|next| next.is_literal() && next.text.starts_with('-'));
        let may_run = match word.kind {
            WordKind::Literal | WordKind::Pattern => false,
            // It may be `-exec`, if what follows could be a program.
            WordKind::Filled => word.text.starts_with('-') || (word.text.starts_with(['$', '`']) && !is_last),
            WordKind::Split => true,
        };
        if may_run {
            runs.unread = Some(Unclear::Argument);
        }
        if !matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir") {
            continue;
        }
        let start = index;
        let is_end = |at: usize| {
            let text = command.words[at].text.as_str();
            text == ";" || (text == "+" && command.words[at - 1].text == "{}")
        };
        let end = (start..command.words.len()).find(|at| is_end(*at)).unwrap_or(command.words.len());
        index = end + 1;
        if start < end {
            let placeholder = Some("{}".to_owned());
            runs.inner.push(WrappedCommand::Words { word: start, end, is_open_ended: false, placeholder });
        }
    }
    runs.unread = runs.unread.or(command.is_open_ended.then_some(Unclear::Input));
    runs
}

/// `fd … -x COMMAND`
fn fd(command: &SimpleCommand) -> WrappedCommands {
    let is_option = |word: &ShellWord| matches!(word.text.as_str(), "-x" | "--exec" | "-X" | "--exec-batch");
    let has_other = |word: &ShellWord| word.kind == WordKind::Split || word.text.starts_with("--exec");
    match command.words.iter().position(is_option) {
        Some(at) if at + 1 < command.words.len() => {
            let (word, end) = (at + 1, command.words.len());
            let inner =
                WrappedCommand::Words { word, end, is_open_ended: true, placeholder: Some("{".to_owned()) };
            WrappedCommands { inner: vec![inner], unread: None }
        }
        None if command.words.iter().any(has_other) => WrappedCommands::unread(Unclear::Argument),
        _ => WrappedCommands { inner: Vec::new(), unread: command.is_open_ended.then_some(Unclear::Input) },
    }
}

/// A command of these words, in which a placeholder stands for others.
fn command_of(words: &[ShellWord], placeholder: Option<&str>) -> SimpleCommand {
    let mut text = String::new();
    let mut own = Vec::with_capacity(words.len());
    for word in words {
        if !text.is_empty() {
            text.push(' ');
        }
        let start = text.len();
        text.push_str(&word.text);
        let is_filled = placeholder.is_some_and(|placeholder| word.text.contains(placeholder));
        let kind = if is_filled { word.kind.max(WordKind::Filled) } else { word.kind };
        own.push(ShellWord { span: start..text.len(), kind, ..word.clone() });
    }
    SimpleCommand { text, words: own, ..SimpleCommand::default() }
}

/// The redirections through which a command that is run by this one gets its input.
fn input_of(command: &SimpleCommand) -> Vec<crate::Redirect> {
    let is_input = |operator| {
        matches!(operator, RedirectOperator::Document | RedirectOperator::HereString | RedirectOperator::Read)
    };
    let redirects = command.redirects.iter().filter(|redirect| is_input(redirect.operator));
    redirects.filter(|redirect| !redirect.reaches_out()).cloned().collect()
}

fn join(words: &[ShellWord]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
