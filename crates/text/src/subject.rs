//! Tells what a text is about, and whether two texts are about the same.

use std::collections::{BTreeSet, HashSet};

use crate::data::data_lines;
use crate::hash::hash_text;
use crate::word_set;
use crate::words::{WordSet, Words};

/// The subject of a text: its content words, and its Han in pairs.
#[derive(Clone, Debug, Default)]
pub struct Subject {
    /// Hashes of the stems, sorted, each once.
    words: Vec<u64>,
    /// Verbs and nouns of any work; they tell a subject only where it has few words of its own.
    common: Vec<u64>,
    pairs: Vec<[char; 2]>,
}

/// Words that tell no subject, beside those of one letter.
static EMPTY: WordSet = WordSet::new(|| data_lines(include_str!("../data/stop-words.txt")).collect());

#[rustfmt::skip]
static COMMON: WordSet = word_set![
    "add", "change", "code", "do", "file", "files", "fix", "get", "go", "keep", "make", "need", "put",
    "rule", "rules", "run", "set", "stop", "test", "tests", "update", "use", "using", "work", "write",
    "anything", "nothing", "way", "time",
];

/// A character has at most so many bytes.
const MOST_BYTES: usize = 4;

/// Han that carry grammar rather than content.
const EMPTY_HAN: &str = "的了在是我你他她它们这那请用不要再都也就和与或把被会能可以时每次后前必须应该现所有没很还先吗呢吧为对从到给让做使";

impl Subject {
    /// The subject of a text.
    pub fn of(text: &str) -> Self {
        Self::of_words(text, &Words::of(text))
    }

    /// The subject of a text whose words are known already.
    pub fn of_words(text: &str, words: &Words) -> Self {
        let mut subject = Self::default();
        for word in words.texts() {
            if word.len() <= MOST_BYTES && word.chars().nth(1).is_none() || EMPTY.has(word) {
                continue;
            }
            let set = if COMMON.has(word) { &mut subject.common } else { &mut subject.words };
            set.push(hash_text(stem(word)));
        }
        if words.has_wide() {
            subject.add_wide(text);
        }
        for set in [&mut subject.words, &mut subject.common] {
            set.sort_unstable();
            set.dedup();
        }
        subject
    }

    /// Adds words in katakana and pairs of Han.
    fn add_wide(&mut self, text: &str) {
        let mut katakana = String::new();
        let mut last: Option<char> = None;
        for c in text.chars().chain(std::iter::once(' ')) {
            if matches!(c, '\u{30a1}'..='\u{30ff}') {
                katakana.push(c);
            } else {
                if katakana.chars().nth(1).is_some() {
                    self.words.push(hash_text(&katakana));
                }
                katakana.clear();
            }
            let is_han = matches!(c, '\u{3400}'..='\u{9fff}') && !EMPTY_HAN.contains(c);
            if is_han && let Some(before) = last {
                self.pairs.push([before, c]);
            }
            last = is_han.then_some(c);
        }
    }

    /// The number of content words that two texts share. Pairs of Han count once for each stretch of two.
    pub fn shared(&self, other: &Self) -> usize {
        let own = count_shared(&self.words, &other.words);
        let few = self.words.len() < 2 || other.words.len() < 2;
        let common = if few { count_shared(&self.common, &other.common) } else { 0 };
        own + common + self.shared_pairs(other)
    }

    /// Returns true if two texts are evidently about the same thing: they share two content words, and these are at least
    /// half of the words that the shorter one has.
    pub fn is_same(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        shared >= 2 && shared * 2 >= self.size().min(other.size())
    }

    /// Returns true if at least half of what this text is about stands in the other one.
    pub fn stands_in(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        shared >= 1 && shared * 2 >= self.size()
    }

    /// Returns true if two texts say nearly the same.
    pub fn restates(&self, other: &Self) -> bool {
        let shared = self.shared(other);
        shared >= 3 && shared * 10 >= self.size().max(other.size()) * 7
    }

    /// The keys under which a text on this subject is found. Two texts of which [`Self::is_same`] holds share two of these:
    /// under which the one is sought the other is found.
    pub fn found_under(&self) -> Vec<u64> {
        let is_few = self.words.len() < 2;
        let always = self.common.iter().map(|word| under(COMMON_WORD, *word));
        let if_few = self.common.iter().filter(|_| is_few).map(|word| under(OF_FEW, *word));
        self.keys().chain(always).chain(if_few).collect()
    }

    /// The keys under which texts on the same subject are sought.
    pub fn sought_under(&self) -> Vec<u64> {
        // Common words are compared where either text has few others.
        let kind = if self.words.len() < 2 { COMMON_WORD } else { OF_FEW };
        self.keys().chain(self.common.iter().map(|word| under(kind, *word))).collect()
    }

    /// Keys of its content words and its pairs of Han, in order and each once.
    pub fn keys(&self) -> impl Iterator<Item = u64> {
        let pairs: BTreeSet<&[char; 2]> = self.pairs.iter().collect();
        let pairs =
            pairs.into_iter().map(|[one, other]| u64::from(*one as u32) << 32 | u64::from(*other as u32));
        self.words.iter().copied().chain(pairs.map(|pair| under(PAIR, pair)))
    }

    /// The number of its content words; two pairs of Han count as one.
    pub fn size(&self) -> usize {
        self.words.len() + self.pairs.len().div_ceil(2)
    }

    fn shared_pairs(&self, other: &Self) -> usize {
        if self.pairs.is_empty() || other.pairs.is_empty() {
            return 0;
        }
        let theirs: HashSet<_> = other.pairs.iter().collect();
        let mut counted = HashSet::new();
        let mut last: Option<&[char; 2]> = None;
        for pair in self.pairs.iter().filter(|pair| theirs.contains(pair)) {
            let overlaps = last.is_some_and(|before| before[1] == pair[0]);
            last = (!overlaps && counted.insert(pair)).then_some(pair);
        }
        counted.len()
    }
}

/// Kinds of what a text is found under, beside its own words.
const COMMON_WORD: u64 = 1;
const OF_FEW: u64 = 2;
const PAIR: u64 = 3;

/// A number for a word of a kind that no word of another kind is likely to have.
fn under(kind: u64, word: u64) -> u64 {
    word.wrapping_add(kind.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// The number of hashes that two sorted lists share.
fn count_shared(one: &[u64], other: &[u64]) -> usize {
    let (mut one, mut other, mut count) = (one.iter(), other.iter(), 0);
    let (mut left, mut right) = (one.next(), other.next());
    while let (Some(own), Some(theirs)) = (left, right) {
        count += usize::from(own == theirs);
        if own <= theirs {
            left = one.next();
        }
        if theirs <= own {
            right = other.next();
        }
    }
    count
}

/// Takes the commonest endings off, so that `commits`, `committed` and `committing` are one word.
fn stem(word: &str) -> &str {
    let cut = |ending: &str| word.strip_suffix(ending).filter(|stem| stem.len() > 2);
    let stem = cut("ing")
        .or_else(|| cut("ed"))
        .or_else(|| cut("s").filter(|stem| !stem.ends_with('s')))
        .unwrap_or(word);
    let mut chars = stem.chars().rev();
    match (chars.next(), chars.next()) {
        (Some('e'), _) if stem.len() > 2 => &stem[..stem.len() - 1],
        (Some(last), Some(before))
            if last == before && last.is_ascii() && stem.len() < word.len() && stem.len() > 3 =>
        {
            &stem[..stem.len() - 1]
        }
        _ => stem,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_shared(one: &str, other: &str, expected: usize) {
        assert_eq!(Subject::of(one).shared(&Subject::of(other)), expected, "{one} / {other}");
        assert_eq!(Subject::of(other).shared(&Subject::of(one)), expected, "{other} / {one}");
    }

    #[test]
    fn subjects() {
        check_shared("Always use snake_case for variable names", "camelCase variable names are fine", 2);
        check_shared("Always use snake_case", "drop the snake_case rule", 2);
        check_shared("Never use emojis", "you may now use emojis", 2);
        check_shared("Always use snake_case for variables", "use the staging server", 0);
        check_shared("never commit secrets", "committing a secret", 2);
        check_shared("提交信息必须用英文", "提交信息不用再写英文", 3);
        check_shared("变量名必须小写", "变量名", 1);
        check_shared("コメントは日本語", "コメントの日本", 2);
    }

    proptest! {
        #[test]
        fn the_same_subject_is_found_under_two_words(
            one in texts(),
            other in texts(),
        ) {
            let (one, other) = (Subject::of(&one), Subject::of(&other));
            let found: HashSet<u64> = other.found_under().into_iter().collect();
            let sought: HashSet<u64> = one.sought_under().into_iter().collect();
            prop_assert!(!one.is_same(&other) || sought.intersection(&found).count() >= 2);
        }
    }

    fn texts() -> impl Strategy<Value = String> {
        let words = [
            "use",
            "tests",
            "run",
            "parser",
            "cache",
            "names",
            "提交",
            "信息",
            "变量名",
            "テスト",
            "コード",
            "the",
        ];
        prop::collection::vec(prop::sample::select(words.to_vec()), 0..6).prop_map(|words| words.join(" "))
    }

    #[test]
    fn stems() {
        let stems = ["commits", "committed", "committing", "commit"].map(stem);
        assert_eq!(stems, ["commit"; 4]);
        assert_eq!(["class", "is", "used", "äss"].map(stem), ["class", "is", "used", "äss"]);
    }
}
