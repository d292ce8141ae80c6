//! Classes of words, found word by word: what a sentence talks about, to whom, and how strictly.

use std::collections::HashMap;

use longhaul_text::Words;

use crate::languages::words;

/// Words and beginnings of words with the classes they belong to, one bit each.
pub(super) struct WordClasses {
    words: HashMap<&'static str, u64>,
    stems: HashMap<&'static str, u64>,
    /// The shortest and the longest beginning, in bytes.
    shortest: usize,
    longest: usize,
}

impl WordClasses {
    /// Makes the lists ready; the bit of a list is its place plus `first`.
    pub(super) fn new(lists: &[&'static str], first: u32) -> Self {
        let mut classes =
            Self { words: HashMap::new(), stems: HashMap::new(), shortest: usize::MAX, longest: 0 };
        for (list, bit) in lists.iter().zip(first..) {
            for word in words(list) {
                match word.strip_suffix('*') {
                    Some(stem) => {
                        *classes.stems.entry(stem).or_default() |= 1 << bit;
                        classes.shortest = classes.shortest.min(stem.len());
                        classes.longest = classes.longest.max(stem.len());
                    }
                    None => *classes.words.entry(word).or_default() |= 1 << bit,
                }
            }
        }
        classes
    }

    /// The classes of which a sentence has words, but for what it quotes.
    pub(super) fn of(&self, words: &Words) -> u64 {
        let mut found = 0;
        for (word, _) in words.texts().zip(words.all()).filter(|(_, word)| !word.is_quoted()) {
            // "l'interface" belongs to the classes of both of its pieces.
            match word.split_once('\'') {
                Some((article, noun)) => {
                    found |= self.of_word(word) | self.of_word(article) | self.of_word(noun)
                }
                None => found |= self.of_word(word),
            }
        }
        found
    }

    /// The classes of one word.
    pub(super) fn of_word(&self, word: &str) -> u64 {
        let mut found = self.words.get(word).copied().unwrap_or(0);
        for end in self.shortest..=self.longest.min(word.len()) {
            if word.is_char_boundary(end) {
                found |= self.stems.get(&word[..end]).copied().unwrap_or(0);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stems_and_elided_articles() {
        let classes = WordClasses::new(&["work-nouns", "me-words"], 3);
        let of = |text: &str| classes.of(&Words::of(text));
        assert_eq!(of("the weather"), 0);
        assert_eq!(of("both commits") & (1 << 3), 1 << 3);
        assert_eq!(of("ask me") & (1 << 4), 1 << 4);
        assert_eq!(of("he said \"commits\""), 0);
        assert_eq!(of("l'interface") & (1 << 3), of("interface") & (1 << 3));
    }
}
