//! The files that grant rights, among those that a call would change.

use std::borrow::Cow;
use std::path::Path;

use longhaul_shell::{RedirectOperator, ShellWord, SimpleCommand};
use longhaul_workspace::{ProtectedFile, ProtectedFiles};

use crate::matching::Call;

/// Tools that change the file that their arguments name.
const WRITERS: &[&str] = &["write_file", "replace"];

/// The arguments that name it.
const PATHS: &[&str] = &["file_path", "absolute_path", "path"];

/// Programs that only look at what their arguments name.
const READERS: &[&str] = &[
    "[",
    "basename",
    "bat",
    "cat",
    "cksum",
    "cmp",
    "cut",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "fgrep",
    "file",
    "grep",
    "head",
    "jq",
    "ls",
    "md5sum",
    "nl",
    "od",
    "printf",
    "pwd",
    "readlink",
    "realpath",
    "rg",
    "sha1sum",
    "sha256sum",
    "stat",
    "tail",
    "test",
    "wc",
];

/// What git does without changing a file that its arguments name.
const GIT_READERS: &[&str] = &[
    "add",
    "blame",
    "branch",
    "commit",
    "diff",
    "fetch",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "push",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// The protected file that a call would change, as far as its arguments show it.
pub(crate) fn changed_by(
    files: &ProtectedFiles,
    call: &Call<'_>,
    command: Option<&SimpleCommand>,
) -> Option<ProtectedFile> {
    if let Some(command) = command {
        return named_in(files, command);
    }
    let named = || {
        let args = call.args.filter(|_| WRITERS.contains(&call.tool))?;
        PATHS.iter().find_map(|name| args.get(name)?.as_str()).map(Path::new)
    };
    files.find(call.writes.or_else(named)?)
}

/// The protected file that a command names as something to change: any word of it, or where its output goes. Of a program
/// that only looks, only the latter counts.
fn named_in(files: &ProtectedFiles, command: &SimpleCommand) -> Option<ProtectedFile> {
    let protected = |text: &str| pieces(text).find_map(|piece| protected(files, &piece));
    let is_input = |operator| {
        matches!(operator, RedirectOperator::Read | RedirectOperator::HereString | RedirectOperator::Document)
    };
    let mut targets = command.redirects.iter().filter(|redirect| !is_input(redirect.operator));
    let target = targets.find_map(|redirect| protected(&redirect.target.text));
    if target.is_some() || is_reader(command) {
        return target;
    }
    // A word may be known only as it is written.
    command.words.iter().find_map(|word| protected(&word.text)).or_else(|| protected(&command.text))
}

fn is_reader(command: &SimpleCommand) -> bool {
    let words = command.bare();
    // Even those can be told to write.
    let writes = |word: &ShellWord| word.text.starts_with("--output") || word.text.starts_with("-O");
    match command.program_name() {
        Some("git") => {
            words.get(1).is_some_and(|act| GIT_READERS.contains(&act.text.as_str()))
                && !words.iter().any(writes)
        }
        Some(program) => READERS.contains(&program) && command.unread.is_none(),
        None => false,
    }
}

fn protected(files: &ProtectedFiles, piece: &str) -> Option<ProtectedFile> {
    let piece = expand(piece);
    let piece = piece.as_ref();
    files.find(Path::new(piece)).or_else(|| {
        // A home in the shell's own words, of which the rest says enough.
        let rest = piece.strip_prefix("~/").or_else(|| piece.split_once("}/").map(|(_, rest)| rest));
        files.find(Path::new(rest?))
    })
}

/// What may be a path in a piece of a command line: quotes are taken away, and whatever cannot stand in a path divides.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect();
    let divides = |letter: char| letter.is_whitespace() || "<>|&;(),=`[]".contains(letter);
    let found: Vec<String> =
        plain.split(divides).filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
    found.into_iter()
}

/// The path that a pattern of the shell may stand for, where one of these names does.
fn expand(piece: &str) -> Cow<'_, str> {
    const NAMES: &[&str] =
        &[".gemini", ".git", ".agents", ".mcp.json", ".gitignore", ".geminiignore", "GEMINI.md"];
    if !piece.contains(['*', '?']) {
        return Cow::Borrowed(piece);
    }
    let steps = piece.split('/').map(|step| {
        let is_pattern = step.contains(['*', '?']) && step.chars().any(char::is_alphanumeric);
        let meant = NAMES.iter().find(|name| {
            // A shell's `*` stands for no dot at the beginning.
            is_pattern
                && name.starts_with('.') == step.starts_with('.')
                && matches(step.as_bytes(), name.as_bytes())
        });
        meant.map_or(step, |name| *name)
    });
    Cow::Owned(steps.collect::<Vec<_>>().join("/"))
}

/// Whether a pattern of `*` and `?` stands for a name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*', rest @ ..], _) => {
            matches(rest, name) || name.split_first().is_some_and(|(_, left)| matches(pattern, left))
        }
        ([b'?', rest @ ..], [_, left @ ..]) => matches(rest, left),
        ([one, rest @ ..], [other, left @ ..]) => one.eq_ignore_ascii_case(other) && matches(rest, left),
        _ => false,
    }
}
