//! Interpreters of other languages. Their scripts in files are programs like any other; code among the words, or in the
//! input, is part of the line and is not read here.

use super::shells::is_input;
use crate::{ShellWord, SimpleCommand};

/// Interpreters, each with the letters of the options behind which code stands.
const INTERPRETERS: &[(&str, &str)] = &[
    ("python", "c"),
    ("pypy", "c"),
    ("ipython", "c"),
    ("perl", "eE"),
    ("ruby", "e"),
    ("irb", "e"),
    ("node", "ep"),
    ("nodejs", "ep"),
    ("bun", "ep"),
    ("php", "rBRE"),
    ("lua", "e"),
    ("luajit", "e"),
    ("Rscript", "e"),
    ("osascript", "e"),
    ("julia", "eE"),
    ("groovy", "e"),
    ("scala", "e"),
    ("elixir", "e"),
    ("tclsh", ""),
    ("expect", "c"),
    ("fish", "c"),
    ("csh", "c"),
    ("tcsh", "c"),
    ("nu", "c"),
    ("xonsh", "c"),
    ("pwsh", "ce"),
    ("powershell", "ce"),
];

/// An interpreter of another language.
pub(super) enum Interpreter {
    Awk,
    Sed,
    /// One that takes code behind options of these letters.
    Options(&'static str),
}

impl Interpreter {
    pub(super) fn of(program: &str) -> Option<Self> {
        let base = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
        match base {
            "awk" | "gawk" | "mawk" | "nawk" | "original-awk" => Some(Self::Awk),
            "sed" | "gsed" => Some(Self::Sed),
            _ => {
                let interpreter = INTERPRETERS.iter().find(|(interpreter, _)| *interpreter == base);
                interpreter.map(|(_, letters)| Self::Options(letters))
            }
        }
    }

    /// True if code that could run other programs stands among the words of a command, or comes as its input.
    pub(super) fn holds_code(&self, command: &SimpleCommand) -> bool {
        let words = &command.bare()[1..];
        let holds_code = match self {
            Self::Awk => !is_plain_awk(words),
            Self::Sed => !is_plain_sed(words),
            Self::Options(letters) => has_code_option(words, letters),
        };
        holds_code || command.is_open_ended
    }
}

/// True if an option holds code, or no file is named, so that code comes as input.
fn has_code_option(words: &[ShellWord], letters: &str) -> bool {
    for word in words {
        let text = word.text.as_str();
        if !word.is_literal() || is_input(text) {
            return true;
        }
        let Some(option) = text.strip_prefix('-') else { return false };
        let is_code = match option.strip_prefix('-') {
            Some(long) => ["eval", "print", "exec", "command", "code", "run"]
                .iter()
                .any(|code| long.split('=').next().is_some_and(|long| long.starts_with(code))),
            None => option
                .chars()
                .any(|letter| letters.contains(letter.to_ascii_lowercase()) || letters.contains(letter)),
        };
        if is_code {
            return true;
        }
        // A module, or what only tells something.
        if text.starts_with("-m") || matches!(text, "--version" | "-V" | "-v" | "--help" | "-h") {
            return false;
        }
    }
    true
}

/// True if the program text is there and can start no other program.
fn is_plain_awk(words: &[ShellWord]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match text {
            "--" => {}
            "--version" | "--help" => return true,
            // Its value does not matter, a file of code is a program.
            "-F" | "-v" => drop(words.next()),
            "-f" => return words.next().is_some_and(|file| file.is_literal() && !is_input(&file.text)),
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with('-') => return false,
            _ => return word.is_literal() && !text.contains(['|', '@']) && !text.contains("system"),
        }
    }
    false
}

/// True if every script among the words consists of commands that start no other program and write no file.
fn is_plain_sed(words: &[ShellWord]) -> bool {
    let mut has_script = false;
    let mut words = words.iter().peekable();
    let mut first_file = None;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        let Some(option) = text.strip_prefix('-').filter(|option| !option.is_empty()) else {
            first_file = first_file.or(Some(word));
            continue;
        };
        let script = match option {
            "e" | "-expression" => words.next().map(|word| (word.text.as_str(), word.is_literal())),
            "f" | "-file" if words.next().is_some_and(|file| !is_input(&file.text)) => {
                has_script = true;
                continue;
            }
            "f" | "-file" => return false,
            "-version" | "-help" => return true,
            _ => match option.strip_prefix("-expression=").or_else(|| option.strip_prefix('e')) {
                Some(script) => Some((script, word.is_literal())),
                None if option.starts_with('-') => continue,
                // `-ne SCRIPT`
                None if option.ends_with('e') && !option.contains('i') => {
                    words.next().map(|word| (word.text.as_str(), word.is_literal()))
                }
                None if option.contains(['e', 'f']) && !option.starts_with('i') => return false,
                None => continue,
            },
        };
        let Some((script, true)) = script else { return false };
        has_script = true;
        if !is_plain_sed_script(script) {
            return false;
        }
    }
    has_script || first_file.is_some_and(|script| script.is_literal() && is_plain_sed_script(&script.text))
}

fn is_plain_sed_script(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        let Some(behind) = behind_address(rest) else { return false };
        let Some(command) = behind.chars().next() else { return behind.len() == rest.len() };
        rest = &behind[command.len_utf8()..];
        rest = match command {
            'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'l' | 'z' | 'q' | 'Q' => {
                rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' ')
            }
            's' | 'y' => {
                let Some(delimiter) =
                    rest.chars().next().filter(|c| !c.is_alphanumeric() && !"\\\n".contains(*c))
                else {
                    return false;
                };
                let behind = behind_delimiter(&rest[delimiter.len_utf8()..], delimiter)
                    .and_then(|rest| behind_delimiter(rest, delimiter));
                let Some(behind) = behind else { return false };
                behind.trim_start_matches(|c: char| "gpiImM ".contains(c) || c.is_ascii_digit())
            }
            'b' | 't' | 'T' | ':' => {
                rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || " _".contains(c))
            }
            // What is added, up to the end of its line.
            'a' | 'i' | 'c' if !rest.contains("\\\n") => rest.find('\n').map_or("", |end| &rest[end..]),
            _ => return false,
        };
        if !(rest.is_empty() || rest.starts_with([';', '\n', '}'])) {
            return false;
        }
    }
}

/// The script behind the lines that its first command is about.
fn behind_address(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || "$,~+! ".contains(c));
        rest = match rest.strip_prefix('/') {
            Some(pattern) => behind_delimiter(pattern, '/')?.trim_start_matches(['I', 'M']),
            None => return Some(rest),
        };
    }
}

fn behind_delimiter(text: &str, delimiter: char) -> Option<&str> {
    let mut is_escaped = false;
    let (at, _) = text.char_indices().find(|(_, c)| {
        let is_end = *c == delimiter && !is_escaped;
        is_escaped = *c == '\\' && !is_escaped;
        is_end
    })?;
    Some(&text[at + delimiter.len_utf8()..])
}
