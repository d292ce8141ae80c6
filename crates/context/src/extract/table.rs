//! Finds the number of a hash among hashes that were numbered in the order in which they came.

use crate::eight::{first, load_short, small};

/// Numbers by hash: open addressing. The hashes themselves stand where all else stands that is known of a number, so that
/// both are fetched from memory at once.
///
/// The hash only leads to a number: hashes can be made to meet, so whoever looks compares what the number stands for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// A power of two of them, at most half of them taken; [`FREE`] where nothing stands.
    slots: Vec<u32>,
}

const FREE: u32 = u32::MAX;
const FEWEST_SLOTS: usize = 64;

/// A fast hash for short texts: eight bytes at a time, multiplied and folded.
pub(crate) fn hash_text(text: &str) -> u64 {
    let (words, rest) = text.as_bytes().as_chunks::<8>();
    let hash = words.iter().fold(seed(text.len()), |hash, word| mix(hash, u64::from_le_bytes(*word)));
    mix(hash, load_short(rest))
}

/// The [`hash_text`] of a word in small letters; it consists of letters and digits of ASCII, and apostrophes.
pub(crate) fn hash_word(word: &str) -> u64 {
    let (pieces, rest) = word.as_bytes().as_chunks::<8>();
    let hash =
        pieces.iter().fold(seed(word.len()), |hash, piece| mix(hash, small(u64::from_le_bytes(*piece))));
    mix(hash, first(small(load_short(rest)), rest.len()))
}

/// The [`hash_text`] of a text of fewer than eight bytes, which stand in one number.
pub(crate) fn hash_short(eight: u64, length: usize) -> u64 {
    mix(seed(length), eight)
}

fn seed(length: usize) -> u64 {
    (length as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// A hash of what has this hash with eight more bytes behind it.
pub(crate) fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ ((product >> 64) as u64)
}

impl Table {
    /// The number with this hash that `is_meant`.
    pub(crate) fn find(&self, hash: u64, is_meant: impl Fn(usize) -> bool) -> Option<u32> {
        let last = self.slots.len().checked_sub(1)?;
        let mut place = hash as usize & last;
        loop {
            match self.slots[place] {
                FREE => return None,
                number if is_meant(number as usize) => return Some(number),
                _ => place = (place + 1) & last,
            }
        }
    }

    /// Takes in the last of `count` numbers, which is not there yet; `hash_of` tells the hash of a number.
    pub(crate) fn add_last(&mut self, count: usize, hash_of: impl Fn(usize) -> u64) {
        if count * 2 > self.slots.len() {
            self.fill(count, hash_of);
        } else {
            put(&mut self.slots, hash_of(count - 1), count as u32 - 1);
        }
    }

    /// Forgets what it knew and takes in `count` numbers.
    pub(crate) fn fill(&mut self, count: usize, hash_of: impl Fn(usize) -> u64) {
        let size = (count * 2).next_power_of_two().max(FEWEST_SLOTS);
        self.slots.clear();
        self.slots.resize(size, FREE);
        (0..count).for_each(|number| put(&mut self.slots, hash_of(number), number as u32));
    }
}

fn put(slots: &mut [u32], hash: u64, number: u32) {
    let last = slots.len() - 1;
    let mut place = hash as usize & last;
    while slots[place] != FREE {
        place = (place + 1) & last;
    }
    slots[place] = number;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_is_found() {
        // Every third begins to look at the same place.
        let hash = |number: usize| (if number.is_multiple_of(3) { number << 32 } else { number }) as u64;
        let mut table = Table::default();
        let find = |table: &Table, sought: u64| table.find(sought, |number| hash(number) == sought);
        assert_eq!(find(&table, 7), None);
        (1..=1_000).for_each(|count| table.add_last(count, hash));
        for number in 0..1_000 {
            assert_eq!(find(&table, hash(number)), Some(number as u32));
        }
        assert_eq!(find(&table, 1_001), None);
        let even = |number: usize| hash(number * 2);
        table.fill(500, even);
        for number in 0..1_000 {
            let found = table.find(hash(number), |other| even(other) == hash(number));
            assert_eq!(found, (number % 2 == 0).then_some(number as u32 / 2));
        }
    }

    #[test]
    fn short_texts_have_one_hash() {
        for text in ["", "a", "fix", "abcdefg"] {
            assert_eq!(hash_short(load_short(text.as_bytes()), text.len()), hash_text(text), "{text}");
        }
    }

    #[test]
    fn words_have_the_hash_of_their_small_letters() {
        for word in ["", "I", "Don't", "Yesterday", "ABCDEFGH", "somebody's", "X2345678Y012345Z", "somewhere"]
        {
            assert_eq!(hash_word(word), hash_text(&word.to_ascii_lowercase()), "{word}");
        }
    }

    #[test]
    fn texts_that_differ_have_other_hashes() {
        let texts = ["", "a", "\0", "ab", "ba", "src/main", "src/main.rs", "src/main\0", "src/main\0\0"];
        for (nth, text) in texts.iter().enumerate() {
            assert!(texts[..nth].iter().all(|other| hash_text(other) != hash_text(text)), "{text:?}");
        }
    }
}
