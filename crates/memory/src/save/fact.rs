//! One remembered thing, on one line.

use std::fmt;

use longhaul_redact::has_secret;

use crate::error::MemoryError;

/// A fact as it can be written down: one line, not blank, no list mark before it, and no secret in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact(String);

impl Fact {
    /// Makes one line of a text: line ends become spaces, and dashes at its beginning go, as the list has its own.
    ///
    /// # Errors
    /// [`MemoryError::BlankFact`] if nothing is left, [`MemoryError::Secret`] if a secret is in it.
    pub fn parse(text: &str) -> Result<Self, MemoryError> {
        // A heading or a comment on a line of its own would change what the rest of the file means.
        let line: String = text
            .chars()
            .map(|letter| if letter.is_control() || is_line_end(letter) { ' ' } else { letter })
            .collect();
        let line =
            line.trim().trim_start_matches(|letter: char| letter == '-' || letter.is_whitespace()).trim();
        // Our own comment is added behind it, and another one would hide what follows.
        let line = line.replace("<!--", "<! --").replace("-->", "-- >");
        if line.is_empty() {
            return Err(MemoryError::BlankFact);
        }
        match has_secret(text).or_else(|| has_secret(&line)) {
            Some(kind) => Err(MemoryError::Secret { kind }),
            None => Ok(Self(line)),
        }
    }

    /// The fact as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_line_end(letter: char) -> bool {
    matches!(letter, '\u{85}' | '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(Fact::parse(text).expect("a fact").as_str(), expected);
    }

    #[test]
    fn facts_are_one_line_without_a_list_mark() {
        check("I like tabs", "I like tabs");
        check("  - likes tabs  ", "likes tabs");
        check("-- - --- x - y", "x - y");
        check("a\nb\r\nc", "a b  c");
        check("a\u{2028}## b", "a ## b");
        check("x <!-- y -->", "x <! -- y -- >");
    }

    #[test]
    fn nothing_is_no_fact() {
        for text in ["", " \n", "---", "- - -"] {
            assert!(matches!(Fact::parse(text), Err(MemoryError::BlankFact)), "{text:?}");
        }
        assert_eq!(MemoryError::BlankFact.to_string(), "Parameter \"fact\" must be a non-empty string.");
    }

    #[test]
    fn secrets_are_refused_and_their_kind_is_named() {
        let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let error = Fact::parse(&format!("my token is {token}")).expect_err("a secret");
        assert_eq!(error.to_string(), "the fact holds a secret (github), and secrets are not remembered");
        assert!(!format!("{error:?}").contains(&token));
    }

    proptest! {
        #[test]
        fn a_fact_is_a_fact_again(text in "\\PC{0,40}|[-\n\r a<!>]{0,20}") {
            if let Ok(fact) = Fact::parse(&text) {
                prop_assert_eq!(Fact::parse(fact.as_str()).ok(), Some(fact.clone()));
                prop_assert!(!fact.as_str().contains(['\n', '\r']));
            }
        }
    }
}
