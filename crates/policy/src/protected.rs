//! The protected files among those that a call would change.

use std::borrow::Cow;
use std::path::Path;

use longhaul_shell::{RedirectOperator, ShellWord, SimpleCommand, WordKind};
use longhaul_workspace::{ProtectedFile, ProtectedFiles, ProtectedKind};

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

/// Verbs of git that change no file that their arguments name.
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
    let target = targets.find_map(|redirect| protected(&with_unknowns(&redirect.target)));
    if target.is_some() || is_reader(command) {
        return target;
    }
    // A word may be known only as it is written.
    let mut words = command.words.iter();
    words
        .find_map(|word| protected(&with_unknowns(word)))
        .or_else(|| protected(&command.text))
        .or_else(|| configured_git(command))
        .or_else(|| copied_home(command))
}

/// Git's own configuration, which tells git what to run, where a command sets it.
fn configured_git(command: &SimpleCommand) -> Option<ProtectedFile> {
    const LOOKS: &[&str] =
        &["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "-l", "list", "get"];
    let arguments = command.bare().get(1..).filter(|_| command.program_name() == Some("git"))?;
    let act = arguments.iter().position(|word| word.text == "config")?;
    let values = &arguments[act + 1..];
    let sets = values.iter().filter(|word| !word.text.starts_with('-')).count() > 1;
    let looks = values.iter().any(|word| LOOKS.contains(&word.text.as_str()));
    (sets && !looks).then(|| ProtectedFile { path: ".git/config".into(), kind: ProtectedKind::Git })
}

/// The user's folder as the place that a program copies to: what it brings may lie in a home of ours.
fn copied_home(command: &SimpleCommand) -> Option<ProtectedFile> {
    const COPIERS: &[&str] = &["7z", "bsdtar", "cp", "cpio", "install", "ln", "mv", "rsync", "tar", "unzip"];
    const HOMES: &[&str] = &["~", "$HOME", "${HOME}"];
    command.program_name().filter(|program| COPIERS.contains(program))?;
    let is_home = |word: &ShellWord| {
        let text = word.text.trim_end_matches(['/', '.']);
        // What is appended to it may be anything.
        let rest = HOMES.iter().find_map(|home| text.strip_prefix(home));
        word.kind != WordKind::Literal
            && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("/$") || rest.starts_with("/`"))
    };
    let home = command.bare().iter().skip(1).find(|word| is_home(word))?;
    Some(ProtectedFile { path: home.text.clone().into(), kind: ProtectedKind::Home })
}

/// Stands for text that is only known when a line runs.
const UNKNOWN: char = '\u{1}';

/// A word with [`UNKNOWN`] in the place of its expansions, and `?` in that of sets of characters.
fn with_unknowns(word: &ShellWord) -> Cow<'_, str> {
    if word.kind == WordKind::Literal {
        return Cow::Borrowed(&word.text);
    }
    let mut known = String::with_capacity(word.text.len());
    let mut rest = word.text.as_str();
    while let Some(next) = rest.chars().next() {
        let (length, stand_in) = match next {
            '$' => (expansion_length(rest), UNKNOWN),
            '`' => (rest[1..].find('`').map_or(rest.len(), |end| end + 2), UNKNOWN),
            '{' => (rest.find('}').map_or(1, |end| end + 1), UNKNOWN),
            '[' => (rest.find(']').map_or(1, |end| end + 1), '?'),
            other => (other.len_utf8(), other),
        };
        known.push(stand_in);
        rest = &rest[length..];
    }
    Cow::Owned(known)
}

/// The length of what begins with `$`.
fn expansion_length(text: &str) -> usize {
    let (open, close) = match text[1..].chars().next() {
        Some('(') => ('(', ')'),
        Some('{') => ('{', '}'),
        _ => {
            let name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            return text.len() - text[1..].trim_start_matches(name).len();
        }
    };
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth -= 1;
            if depth == 0 {
                return at + letter.len_utf8();
            }
        }
    }
    text.len()
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
        let is_unknown = |first: &str| first == "~" || first.contains(['$', UNKNOWN]);
        let (_, rest) = piece.split_once('/').filter(|(first, _)| is_unknown(first))?;
        files.find(Path::new(rest))
    })
}

/// Possible paths in a piece of a command line: quotes are taken away, and whatever cannot stand in a path divides.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let plain: String = text.chars().filter(|letter| !matches!(letter, '"' | '\'' | '\\')).collect();
    let divides = |letter: char| letter.is_whitespace() || "<>|&;(),=`[]{}".contains(letter);
    let found: Vec<String> =
        plain.split(divides).filter(|piece| !piece.is_empty()).map(str::to_owned).collect();
    found.into_iter()
}

/// The path that a pattern of the shell may stand for, where one of these names does.
fn expand(piece: &str) -> Cow<'_, str> {
    const NAMES: &[&str] = &[
        ".gemini",
        ".git",
        ".agents",
        ".claude",
        ".mcp.json",
        ".gitignore",
        ".geminiignore",
        "GEMINI.md",
        "AGENTS.md",
        "CLAUDE.md",
    ];
    if !piece.contains(['*', '?', UNKNOWN]) {
        return Cow::Borrowed(piece);
    }
    let steps = piece.split('/').map(|step| {
        let is_pattern = step.contains(['*', '?', UNKNOWN]) && step.chars().any(char::is_alphanumeric);
        let meant = NAMES.iter().find(|name| {
            // A shell's `*` stands for no dot at the beginning.
            is_pattern
                && (name.starts_with('.') == step.starts_with('.') || step.starts_with(UNKNOWN))
                && matches(step.as_bytes(), name.as_bytes())
        });
        meant.map_or(step, |name| *name)
    });
    Cow::Owned(steps.collect::<Vec<_>>().join("/"))
}

/// True if a pattern of `*`, `?` and [`UNKNOWN`] stands for a name.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    match (pattern, name) {
        ([], []) => true,
        ([b'*' | 1, rest @ ..], _) => {
            matches(rest, name) || name.split_first().is_some_and(|(_, left)| matches(pattern, left))
        }
        ([b'?', rest @ ..], [_, left @ ..]) => matches(rest, left),
        ([one, rest @ ..], [other, left @ ..]) => one.eq_ignore_ascii_case(other) && matches(rest, left),
        _ => false,
    }
}
