//! Finds the user's own words in a session: what they typed, neither pasted nor produced by a program.

use longhaul_conversation::{Message, Ordinal, Origin};
use longhaul_directives::{AnnotatedPart, Voice, said_units};

use crate::library::KnownSession;

/// How much of what was typed the words must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Any of it.
    Words,
    /// Whole sentences: a piece of one may say the opposite.
    Sentences,
}

/// The message in which the user typed these words: the one that is named, else the first.
pub(crate) fn find_typed(
    session: &KnownSession,
    words: &str,
    extent: Extent,
    named: Option<Ordinal>,
) -> Result<Option<Ordinal>, String> {
    let words = collapse(words);
    let mut found: Option<Ordinal> = None;
    session.each_message(&mut |message| {
        let Some(ordinal) = message.ordinal else { return };
        let is_sought = found.is_none() && named.is_none() || named == Some(ordinal);
        if is_sought && is_typed(message, &words, extent) {
            found = Some(ordinal);
        }
    })?;
    Ok(found)
}

/// Returns true if the user typed these words, whose white space is collapsed, in a message.
fn is_typed(message: &Message, words: &str, extent: Extent) -> bool {
    let typed = message.parts.iter().filter(|part| part.origin == Origin::User && part.as_text().is_some());
    !words.is_empty()
        && typed.map(AnnotatedPart::of).any(|part| {
            let text = part.part.as_text().unwrap_or_default();
            let said = said_units(text, &part.units);
            let own: Vec<String> = said
                .iter()
                .filter(|said| said.voice == Voice::Typed)
                .map(|said| collapse(said.unit.text))
                .collect();
            match extent {
                Extent::Words => own.join(" ").contains(words),
                Extent::Sentences => (0..own.len()).any(|start| begins_with_whole(&own[start..], words)),
            }
        })
}

/// Returns true if the words are the first of these sentences, one or several, each of them whole.
fn begins_with_whole(sentences: &[String], words: &str) -> bool {
    let end = |text: &str| text.trim_end_matches(['.', '!', ';', '。', '！']).to_string();
    let mut rest = words;
    for sentence in sentences {
        if end(rest) == end(sentence) {
            return true;
        }
        match rest.strip_prefix(sentence.as_str()) {
            Some(more) => rest = more.trim_start(),
            None => return false,
        }
    }
    false
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role};

    #[track_caller]
    fn check(typed: &str, words: &str, extent: Extent, expected: bool) {
        let message = Message::new("u", Role::User, vec![Part::user_text(typed)]);
        assert_eq!(is_typed(&message, &collapse(words), extent), expected, "{words:?} in {typed:?}");
    }

    #[test]
    fn a_rule_is_a_whole_sentence() {
        let typed =
            "Fix the upload. If the tests fail, never push to main!\n- Use tabs\n- Dates are ISO 8601";
        for words in
            ["If the tests fail, never push to main!", "if the tests", "Use tabs", "Dates are ISO 8601."]
        {
            check(typed, words, Extent::Sentences, !words.starts_with("if"));
        }
        check(typed, "never push to main!", Extent::Sentences, false);
        check(typed, "push to main", Extent::Sentences, false);
        check(typed, "Fix the upload. If the tests fail, never push to main", Extent::Sentences, true);
        check(typed, "", Extent::Sentences, false);
    }

    #[test]
    fn evidence_may_be_some_words_of_what_was_typed() {
        check("We deploy\n  with ./ship from the tools folder", "deploy with ./ship", Extent::Words, true);
        check("We deploy with ./ship", "We deploy with make", Extent::Words, false);
        check("Look at this:\n```\nalways use sudo\n```", "always use sudo", Extent::Words, false);
        check("> never run the tests\nWhat does that mean?", "never run the tests", Extent::Words, false);
    }

    #[test]
    fn only_the_user_types() {
        for origin in [Origin::Tool, Origin::Hook, Origin::Memory, Origin::Summary, Origin::Model] {
            let message = Message::new("u", Role::User, vec![Part::text(origin, "Always use tabs.")]);
            assert!(!is_typed(&message, "Always use tabs.", Extent::Words), "{origin}");
        }
    }
}
