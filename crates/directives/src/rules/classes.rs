//! Classes of words, found word by word: what a sentence talks about, to whom, and how strictly.

use std::collections::HashMap;

use longhaul_text::Words;

use crate::languages::words;

/// Words and beginnings of words with the classes they belong to, one bit each.
pub(super) struct WordClasses {
    words: HashMap<&'static str, u64>,
    /// Beginnings, by their first bytes: most words have none, and one look tells.
    stems: HashMap<[u8; SHORTEST_STEM], Vec<(&'static str, u64)>>,
}

/// The shortest beginning of a word, in bytes.
const SHORTEST_STEM: usize = 2;

impl WordClasses {
    /// Makes the lists ready; the bit of a list is its place plus `first`.
    pub(super) fn new(lists: &[&'static str], first: u32) -> Self {
        let mut classes = Self { words: HashMap::new(), stems: HashMap::new() };
        for (list, bit) in lists.iter().zip(first..) {
            for word in words(list) {
                match word.strip_suffix('*') {
                    Some(stem) => {
                        let start = *stem.as_bytes().first_chunk().expect("a beginning has two letters");
                        classes.stems.entry(start).or_default().push((stem, 1 << bit));
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
            found |= self.of_word(word);
            // "l'interface" belongs to the classes of both of its pieces.
            if let Some((article, noun)) = word.split_once('\'') {
                found |= self.of_word(article) | self.of_word(noun);
            }
        }
        found
    }

    /// The classes of one word.
    pub(super) fn of_word(&self, word: &str) -> u64 {
        let exact = self.words.get(word).copied().unwrap_or(0);
        let stems = word.as_bytes().first_chunk().and_then(|start| self.stems.get(start));
        let fitting = stems.into_iter().flatten().filter(|(stem, _)| word.starts_with(stem));
        fitting.fold(exact, |found, (_, class)| found | class)
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
