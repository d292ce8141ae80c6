//! Acknowledgements: messages that only nod, and say nothing that a snapshot should repeat.

use std::sync::LazyLock;

use longhaul_text::{WordSet, Words, is_wide};

use crate::languages::{substrings, words};

/// Words that only nod or wonder, beside those of the languages' lists.
const EXCLAMATIONS: &[&str] = &[
    "wow",
    "hmm",
    "hm",
    "ah",
    "oh",
    "aha",
    "lol",
    "haha",
    "huh",
    "whoa",
    "yay",
    "ty",
    "np",
    "amazing",
    "brilliant",
    "super",
    "again",
    "resume",
    "next",
    "carry",
    "got",
    "see",
    "i",
    "makes",
    "sense",
];

static NODS: WordSet = WordSet::new(|| {
    let lists = ["accepts", "goes-on", "greetings"].into_iter().flat_map(words);
    lists.chain(EXCLAMATIONS.iter().copied()).collect()
});

static WIDE_NODS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| ["accepts", "goes-on", "greetings"].into_iter().flat_map(substrings).collect());

/// The most words of an acknowledgement.
const MOST_WORDS: usize = 6;

/// Returns true if a message only accepts, thanks, greets or lets the work go on.
pub(super) fn is_acknowledgement(text: &str) -> bool {
    let text = text.trim();
    if !text.contains(char::is_alphanumeric) || is_bare_command(text) {
        return true;
    }
    // A longer text says more; there may be a book in it.
    if text.len() > 120 {
        return false;
    }
    let mut pieces = text.split(|c: char| !c.is_alphanumeric()).filter(|piece| !piece.is_empty());
    if text.contains(is_wide) {
        return pieces.all(|piece| WIDE_NODS.contains(&piece));
    }
    let words = Words::of(text);
    (1..=MOST_WORDS).contains(&words.len()) && words.texts().all(|word| NODS.has(word))
}

/// Returns true for a command of an agent's without arguments: `/clear`.
fn is_bare_command(text: &str) -> bool {
    let name = text.strip_prefix('/');
    name.is_some_and(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nods_are_told_from_words_that_say_something() {
        for nod in [
            "yes",
            "Yes!",
            "go on",
            "wow",
            "ok, thanks!",
            "looks good",
            "👍",
            "/clear",
            "好的，谢谢",
            "danke",
            "Merci !",
        ] {
            assert!(is_acknowledgement(nod), "{nod}");
        }
        for said in [
            "use tabs",
            "yes, but rename it",
            "2",
            "no",
            "stop",
            "src/a.rs",
            "好的，改成蓝色",
            "/model gpt",
            "go to main",
        ] {
            assert!(!is_acknowledgement(said), "{said}");
        }
    }
}
