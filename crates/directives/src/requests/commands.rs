//! Tells orders to the program and to a shell from what is said to the model.

use longhaul_text::{Unit, WordSet, Words, word_set};

use super::replies::Reply;
use crate::typed::Said;

/// Commands whose argument is said to the model.
const TALKING: [&str; 6] = ["ask", "code", "architect", "plan", "btw", "goal"];

/// Commands to the program; what stands behind them is for it, too.
#[rustfmt::skip]
const LOCAL: [&str; 56] = [
    "add", "agents", "bug", "chat", "clear", "commit", "compact", "compress", "config", "context", "copy", "cost", "diff",
    "directory", "doctor", "drop", "editor", "ex", "exit", "export", "git", "help", "hooks", "ide", "lint", "load", "login",
    "logout", "ls", "map", "mcp", "memory", "model", "models", "multiline-mode", "new", "paste", "permissions", "quit",
    "read-only", "rename", "report", "reset", "resume", "rewind", "run", "save", "settings", "stats", "status", "test", "theme",
    "tokens", "tools", "undo", "vim",
];

/// A unit without the command that it begins with; nothing if that is all it has: an order to the program, not to the model.
pub(super) fn without_command<'t>(said: &Said<'t>) -> Option<Said<'t>> {
    let text = said.unit.text;
    let Some(rest) = text.strip_prefix('/') else { return Some(said.clone()) };
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if name.is_empty()
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b':')
    {
        return Some(said.clone());
    }
    let argument = argument.trim_start();
    if argument.is_empty() || is_local_command(name) {
        return None;
    }
    let start = said.unit.start + (text.len() - argument.len());
    let (text, start) = if TALKING.contains(&name) { (argument, start) } else { (text, said.unit.start) };
    Some(Said {
        unit: Unit { text, start, ..said.unit },
        words: Words::of(text),
        voice: said.voice,
        is_inside: said.is_inside,
    })
}

/// Returns true if the arguments of a command are for the program.
pub(super) fn is_local_command(name: &str) -> bool {
    LOCAL.contains(&name)
}

/// Returns true if a text has a command that begins the conversation anew.
pub(super) fn clears(text: &str) -> bool {
    text.lines().any(|line| matches!(line.trim(), "/clear" | "/new" | "/reset"))
}

/// Returns true for a line that was meant for a shell: `ls`, `!git status`.
pub(super) fn is_shell_line(Said { unit, words, .. }: &Said<'_>) -> bool {
    static ALONE: WordSet = word_set!["ls", "pwd", "cd", "exit", "quit", "clear", "whoami", "ll", "q"];
    unit.text.starts_with('!') && unit.text.len() > 1
        || words.len() <= 2 && words.get(0).is_some_and(|word| ALONE.has(word))
}

pub(super) fn reply_of_command(text: &str) -> Reply {
    let takes_back = |line: &str| matches!(line.trim(), "/undo" | "/rewind" | "/revert");
    if text.lines().any(takes_back) { Reply::Withdraws } else { Reply::Silent }
}
