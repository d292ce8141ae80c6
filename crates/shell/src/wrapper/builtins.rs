//! Builtins of the shell that evaluate some of their words: a subscript in a name can hold commands.

use crate::{ShellWord, SimpleCommand};

/// Variables whose value the shell, or another one, runs or reads its options from.
const EVALUATED: &[&str] =
    &["PS4", "PS0", "PROMPT_COMMAND", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_XTRACEFD"];

/// True if a builtin of this name may run commands that its words hold.
pub(super) fn evaluates_words(name: &str, command: &SimpleCommand) -> bool {
    let words = &command.bare()[1..];
    match name {
        "let" => words
            .iter()
            .any(|word| !word.is_literal() || word.text.contains(['[', '$', '`']) || !is_sum(&word.text)),
        "test" | "[" => {
            let may_be_name = |word: &ShellWord| word.kind == crate::WordKind::Split;
            has_option(words, 'v', may_be_name)
                && words.iter().any(|word| !word.is_literal() || has_subscript(word))
        }
        "printf" => {
            let first = words.first();
            let is_name = first.is_some_and(|word| !word.is_literal() || word.text.starts_with("-v"));
            is_name && words.iter().take(2).any(|word| has_subscript(word) || is_filled_name(word, words))
        }
        "unset" | "getopts" | "wait" | "declare" | "typeset" | "local" | "export" | "readonly" => {
            words.iter().any(|word| has_subscript(word) || is_filled(name_of(&word.text)))
        }
        "read" => words.iter().enumerate().any(|(index, word)| {
            let before = index.checked_sub(1).map_or("", |before| words[before].text.as_str());
            let is_value = before.starts_with('-') && before.ends_with(['p', 'd', 't', 'n', 'N', 'u', 'i']);
            has_subscript(word) || (!is_value && !word.is_literal())
        }),
        "mapfile" | "readarray" => {
            words.iter().any(|word| !word.is_literal() || has_subscript(word) || word.text.starts_with("-C"))
        }
        "compgen" | "complete" => words.iter().any(|word| {
            !word.is_literal() || (word.text.starts_with('-') && word.text.contains(['C', 'F', 'W']))
        }),
        _ => false,
    }
}

/// True if a command sets a variable whose value is run.
pub(super) fn sets_evaluated(command: &SimpleCommand) -> bool {
    let is_evaluated = |word: &ShellWord| EVALUATED.contains(&name_of(&word.text));
    let is_declaration = matches!(
        command.program_name(),
        Some("export" | "declare" | "typeset" | "local" | "readonly" | "read" | "printf" | "env")
    );
    command.words[..command.assignments].iter().any(is_evaluated)
        || is_declaration && command.bare()[1..].iter().any(is_evaluated)
}

/// The name in `NAME=value` and `NAME+=value`, or the whole text.
fn name_of(text: &str) -> &str {
    let name = text.split('=').next().unwrap_or(text);
    name.strip_suffix('+').unwrap_or(name)
}

/// True if a name has a subscript that is more than a number or a plain word.
fn has_subscript(word: &ShellWord) -> bool {
    name_of(&word.text).split_once('[').is_some_and(|(_, index)| index.contains(['$', '`', '[', '(']))
}

fn is_filled(name: &str) -> bool {
    name.contains(['$', '`'])
}

/// True if the name behind `-v` is only known when the line runs.
fn is_filled_name(word: &ShellWord, words: &[ShellWord]) -> bool {
    words.first().is_some_and(|first| first.text.starts_with("-v")) && is_filled(&word.text)
}

/// True if an option of this letter is there, or a word that may become one.
fn has_option(words: &[ShellWord], letter: char, may_be: impl Fn(&ShellWord) -> bool) -> bool {
    let is_option = |text: &str| text.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter]));
    words.iter().any(|word| is_option(&word.text) || may_be(word))
}

/// True if arithmetic has numbers only.
fn is_sum(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || " +-*/%".contains(c))
}
