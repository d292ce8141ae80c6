//! A word index: finds phrases at word boundaries, and the words around them.

use crate::text::Rendering;

/// The distance around an occurrence in which neighbours are searched, in characters; counted in bytes, which is the
/// same for most text and never asks for more.
const NEIGHBOURHOOD: usize = 100;

/// A text with a sorted word index, so that a phrase is found without reading the text again.
#[derive(Debug, Default)]
pub(crate) struct TextIndex {
    text: String,
    words: Vec<IndexedWord>,
    /// The words by hash, then by position.
    sorted: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct IndexedWord {
    start: u32,
    end: u32,
    hash: u64,
    /// True if it counts as a neighbour: a plain word, not a name or a part of one. A bare list of names has none.
    is_plain_word: bool,
}

/// The neighbours of one occurrence of a phrase, without the words of the phrase; sorted, without duplicates.
pub(crate) type Neighbours = Vec<u64>;

/// True if `c` belongs to a word. Unspaced scripts have boundaries everywhere.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || (!c.is_ascii() && c.is_alphanumeric() && !is_unspaced(c))
}

/// True if `c` is of a script that writes words without spaces: Chinese, Japanese.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

impl TextIndex {
    pub(crate) fn new(rendering: Rendering) -> Self {
        let text = rendering.text;
        let words: Vec<IndexedWord> = words_of(&text).collect();
        let mut sorted: Vec<(u64, u32)> = words.iter().zip(0..).map(|(word, nth)| (word.hash, nth)).collect();
        sorted.sort_unstable();
        Self { text, words, sorted }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// True if `phrase` occurs at word boundaries.
    pub(crate) fn contains(&self, phrase: &str) -> bool {
        self.occurrences(phrase).next().is_some()
    }

    /// The positions of `phrase` at word boundaries, in any order.
    pub(crate) fn occurrences<'a>(&'a self, phrase: &'a str) -> impl Iterator<Item = usize> + 'a {
        // Only positions of the phrase's rarest word are examined.
        let rarest = words_of(phrase)
            .map(|word| (self.places_of(word.hash), word.start as usize))
            .min_by_key(|(places, _)| places.len());
        let by_word = rarest.map(|(places, offset)| {
            places.iter().filter_map(move |(_, nth)| {
                let start = (self.words[*nth as usize].start as usize).checked_sub(offset)?;
                self.stands_at(phrase, start).then_some(start)
            })
        });
        let by_text = rarest.is_none().then(|| self.text.match_indices(phrase).map(|(start, _)| start));
        by_word.into_iter().flatten().chain(by_text.into_iter().flatten())
    }

    /// The neighbours of the occurrence of a phrase of `length` bytes at `start`.
    pub(crate) fn neighbours(&self, start: usize, length: usize) -> Neighbours {
        let (low, high) = (start.saturating_sub(NEIGHBOURHOOD), start + length + NEIGHBOURHOOD);
        let from = self.words.partition_point(|word| (word.start as usize) < low);
        let to = self.words.partition_point(|word| (word.end as usize) <= high);
        let around = &self.words[from.min(to)..to];
        let own: Vec<u64> = words_of(&self.text[start..start + length]).map(|word| word.hash).collect();
        let mut hashes: Vec<u64> = around
            .iter()
            .filter(|word| word.is_plain_word && !own.contains(&word.hash))
            .map(|word| word.hash)
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    fn places_of(&self, hash: u64) -> &[(u64, u32)] {
        let from = self.sorted.partition_point(|(other, _)| *other < hash);
        let count = self.sorted[from..].partition_point(|(other, _)| *other == hash);
        &self.sorted[from..from + count]
    }

    fn stands_at(&self, phrase: &str, start: usize) -> bool {
        let end = start + phrase.len();
        if self.text.as_bytes().get(start..end) != Some(phrase.as_bytes()) {
            return false;
        }
        let joins = |inner: Option<char>, outer: Option<char>| {
            inner.is_some_and(is_word) && outer.is_some_and(is_word)
        };
        !joins(phrase.chars().next(), self.text[..start].chars().next_back())
            && !joins(phrase.chars().next_back(), self.text[end..].chars().next())
    }
}

/// The number of words that two neighbourhoods share.
pub(crate) fn shared(one: &Neighbours, other: &Neighbours) -> usize {
    let (mut left, mut right, mut count) = (0, 0, 0);
    while let (Some(a), Some(b)) = (one.get(left), other.get(right)) {
        match a.cmp(b) {
            std::cmp::Ordering::Less => left += 1,
            std::cmp::Ordering::Greater => right += 1,
            std::cmp::Ordering::Equal => {
                count += 1;
                left += 1;
                right += 1;
            }
        }
    }
    count
}

/// The words of a text; each character of an unspaced script is one.
fn words_of(text: &str) -> impl Iterator<Item = IndexedWord> + '_ {
    let mut from = 0;
    std::iter::from_fn(move || {
        let start = from + text[from..].find(|c| is_word(c) || is_unspaced(c))?;
        let first = text[start..].chars().next()?;
        let end = if is_unspaced(first) {
            start + first.len_utf8()
        } else {
            text[start..].find(|c| !is_word(c)).map_or(text.len(), |length| start + length)
        };
        from = end;
        let word = &text[start..end];
        Some(IndexedWord {
            start: start as u32,
            end: end as u32,
            hash: hash(word.as_bytes()),
            is_plain_word: is_plain(word) && !is_joined(&text[..start], &text[end..]),
        })
    })
}

fn is_plain(word: &str) -> bool {
    let is_camel = || {
        word.as_bytes().windows(2).any(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
    };
    word.len() >= 2 && word.chars().all(char::is_alphabetic) && !is_camel()
}

/// True if a word is joined to another: `src/main`, `os.path`.
fn is_joined(before: &str, behind: &str) -> bool {
    let joins = |c: &char| matches!(c, '.' | '/' | '\\' | ':');
    let mut before = before.chars().rev();
    let mut behind = behind.chars();
    before.next().filter(joins).is_some() && before.next().is_some_and(is_word)
        || behind.next().filter(joins).is_some() && behind.next().is_some_and(is_word)
}

/// FNV-1a: the same on every machine, and good enough to distinguish words.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Message, Part, Role};

    fn index(text: &str) -> TextIndex {
        let message = Message::new("m", Role::User, vec![Part::user_text(text)]);
        TextIndex::new(Rendering::of([&message]))
    }

    #[track_caller]
    fn check(text: &str, phrase: &str, expected: &[usize]) {
        let index = index(text);
        let mut found: Vec<usize> = index.occurrences(phrase).collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{phrase:?} in {text:?}");
        assert_eq!(index.contains(phrase), !expected.is_empty());
    }

    #[test]
    fn phrases_are_found_at_word_boundaries() {
        check("open src/app.ts and /x/src/app.ts", "src/app.ts", &[5, 23]);
        check("src/app.tsx", "src/app.ts", &[]);
        check("mysrc/app.ts", "src/app.ts", &[]);
        check("foo_bar foo_bars", "foo_bar", &[0]);
        check("run  npm   test now", "npm test", &[4]);
        check("ls -la", "ls -la", &[0]);
        check("a --all b", "--all", &[2]);
        check("", "x", &[]);
    }

    #[test]
    fn scripts_without_spaces_have_boundaries_everywhere() {
        check("修改config.json文件", "config.json", &[6]);
        check("修改文件", "文件", &[6]);
        check("naïve", "na", &[]);
    }

    #[test]
    fn neighbours_are_near_and_not_the_phrase_itself() {
        let near = "alpha beta target gamma 42 x delta";
        let index = index(&format!("{near} {}", "far ".repeat(60)));
        let at = index.occurrences("target").next().expect("it stands there");
        let words = |list: &[&str]| {
            let mut hashes: Neighbours = list.iter().map(|word| hash(word.as_bytes())).collect();
            hashes.sort_unstable();
            hashes
        };
        let around = index.neighbours(at, "target".len());
        assert_eq!(around, words(&["alpha", "beta", "gamma", "delta", "far"]));
        assert_eq!(shared(&around, &words(&["beta", "target", "far", "other"])), 2);
    }
}
