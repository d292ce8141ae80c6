//! The words of nine languages by which running text gives a secret away: the data file `sentences.txt`, read once.

use std::sync::LazyLock;

use crate::data;

/// The role of a word in a sentence. The data file says more of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WordRole {
    Password,
    Token,
    Pin,
    Login,
    Seed,
    Is,
    To,
    Type,
    With,
    As,
    Article,
    Describes,
    Function,
}

const ROLES: &[(&str, WordRole)] = &[
    ("password", WordRole::Password),
    ("token", WordRole::Token),
    ("pin", WordRole::Pin),
    ("login", WordRole::Login),
    ("seed", WordRole::Seed),
    ("is", WordRole::Is),
    ("to", WordRole::To),
    ("type", WordRole::Type),
    ("with", WordRole::With),
    ("as", WordRole::As),
    ("article", WordRole::Article),
    ("describes", WordRole::Describes),
    ("function", WordRole::Function),
];

/// The roles of what a secret is called.
pub(crate) const NOUNS: &[WordRole] =
    &[WordRole::Password, WordRole::Token, WordRole::Pin, WordRole::Login, WordRole::Seed];

/// All words, each with its role.
pub(crate) struct SentenceWords {
    all: Vec<(WordRole, &'static str)>,
    /// The words that end with each byte, the longest first: what ends a text is asked for often.
    by_end: Vec<Vec<(WordRole, &'static str)>>,
    /// The same for nouns alone.
    nouns_by_end: Vec<Vec<(WordRole, &'static str)>>,
}

pub(crate) static WORDS: LazyLock<SentenceWords> = LazyLock::new(|| {
    let items = data::items(include_str!("../data/sentences.txt")).map(|(name, word)| {
        let role = ROLES.iter().find(|(known, _)| *known == name);
        (role.expect("a line begins with a role, as a test holds").1, word)
    });
    let all: Vec<_> = items.collect();
    let by_end = |is_wanted: fn(WordRole) -> bool| {
        let mut by_end = vec![Vec::new(); 256];
        for item @ (_, word) in all.iter().filter(|(role, _)| is_wanted(*role)) {
            by_end[usize::from(word.as_bytes()[word.len() - 1])].push(*item);
        }
        by_end.iter_mut().for_each(|words| words.sort_by_key(|(_, word)| std::cmp::Reverse(word.len())));
        by_end
    };
    let (others, nouns) = (by_end(|role| !NOUNS.contains(&role)), by_end(|role| NOUNS.contains(&role)));
    SentenceWords { all, by_end: others, nouns_by_end: nouns }
});

impl SentenceWords {
    /// The words of a role.
    pub(crate) fn of(&self, role: WordRole) -> impl Iterator<Item = &'static str> + Clone {
        self.all.iter().filter(move |(known, _)| *known == role).map(|(_, word)| *word)
    }

    /// The nouns that `text` ends with, also in the middle of another word, the longest first.
    pub(crate) fn nouns_ending<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = (WordRole, &'static str)> + 't {
        let last = text.as_bytes().last().map_or(0, u8::to_ascii_lowercase);
        let upper = last.to_ascii_uppercase();
        // A noun in capitals, as PIN, is one only so.
        let exact = if upper == last { &[][..] } else { &self.nouns_by_end[usize::from(upper)][..] };
        let words = self.nouns_by_end[usize::from(last)].iter().chain(exact);
        words.copied().filter(move |(_, word)| ends_alike(text, word))
    }

    /// The text before a word of the role, where `text` ends with one.
    pub(crate) fn strip_end<'t>(&self, role: WordRole, text: &'t str) -> Option<&'t str> {
        let last = text.as_bytes().last()?.to_ascii_lowercase();
        let words = self.by_end[usize::from(last)].iter().filter(|(known, _)| *known == role);
        let (_, word) = words.into_iter().find(|(_, word)| ends_with(text, word))?;
        Some(&text[..text.len() - word.len()])
    }
}

/// True if `text` ends with `word` and not in the middle of another word. Scripts without blanks have no middle.
fn ends_with(text: &str, word: &str) -> bool {
    let is_letter = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    let continues = || word.starts_with(is_letter) && text[..text.len() - word.len()].ends_with(is_letter);
    ends_alike(text, word) && !continues()
}

/// True if `text` ends with `word` in either case; a word that is written with capitals ends it only so.
fn ends_alike(text: &str, word: &str) -> bool {
    let Some(end) = text.len().checked_sub(word.len()).and_then(|start| text.get(start..)) else {
        return false;
    };
    end == word
        || if word.is_ascii() {
            end.eq_ignore_ascii_case(word) && !word.bytes().any(|byte| byte.is_ascii_uppercase())
        } else {
            end.to_lowercase() == word
        }
}

/// True if this is a letter of a script that writes words without blanks, or with particles behind them.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{2E80}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_is_read() {
        assert!(WORDS.all.len() > 800);
        for (_, role) in ROLES {
            assert!(WORDS.of(*role).count() > 0, "{role:?}");
        }
    }

    #[test]
    fn no_line_is_there_twice() {
        let mut lines: Vec<_> = WORDS.all.iter().map(|(role, word)| format!("{role:?} {word}")).collect();
        lines.sort_unstable();
        let all = lines.len();
        lines.dedup();
        assert_eq!(lines.len(), all);
    }

    #[track_caller]
    fn check(text: &str, role: WordRole, expected: Option<&str>) {
        assert_eq!(WORDS.strip_end(role, text), expected, "{text}");
    }

    #[test]
    fn a_word_ends_a_text_whole() {
        check("the password is", WordRole::Is, Some("the password "));
        check("das Passwort lautet", WordRole::Is, Some("das Passwort "));
        check("das Passwort IST", WordRole::Is, Some("das Passwort "));
        check("this", WordRole::Is, None);
        check("密码是", WordRole::Is, Some("密码"));
        check("a senha é", WordRole::Is, Some("a senha "));
        check("password:", WordRole::To, Some("password"));
        check("", WordRole::Is, None);
    }
}
