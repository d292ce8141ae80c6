//! Numbers hashes in the order in which they come, and finds the numbers again.

use crate::eight::load_short;

/// Hashes by number, and numbers by hash: open addressing.
///
/// Texts with the same 64 bits are taken for the same, which spares the look at a text that is seldom in the cache.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    /// Each hash with a mark, beside each other in memory: who looks for the one looks at the other.
    hashes: Vec<(u64, u32)>,
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

/// The [`hash_text`] of a text of fewer than eight bytes, which stand in one number.
pub(crate) fn hash_short(eight: u64, length: usize) -> u64 {
    mix(seed(length), eight)
}

fn seed(length: usize) -> u64 {
    (length as u64 + 1).wrapping_mul(0xd6e8_feb8_6659_fd93)
}

fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product as u64) ^ ((product >> 64) as u64)
}

impl Table {
    /// The number of a hash.
    pub(crate) fn find(&self, hash: u64) -> Option<u32> {
        let last = self.slots.len().checked_sub(1)?;
        let mut place = hash as usize & last;
        loop {
            match self.slots[place] {
                FREE => return None,
                number if self.hashes[number as usize].0 == hash => return Some(number),
                _ => place = (place + 1) & last,
            }
        }
    }

    /// Gives a hash that is not there yet the next number.
    pub(crate) fn add(&mut self, hash: u64) {
        let number = self.hashes.len() as u32;
        self.hashes.push((hash, 0));
        if self.hashes.len() * 2 > self.slots.len() {
            self.fill((self.slots.len() * 2).max(FEWEST_SLOTS));
        } else {
            put(&mut self.slots, hash, number);
        }
    }

    /// Marks the hash with this number; returns the mark that it had, 0 at first.
    pub(crate) fn mark(&mut self, number: u32, mark: u32) -> u32 {
        std::mem::replace(&mut self.hashes[number as usize].1, mark)
    }

    /// Forgets the hashes for whose numbers `keep` does not hold; the others move up.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let mut number = 0;
        self.hashes.retain(|_| {
            number += 1;
            keep(number - 1)
        });
        self.fill(self.slots.len());
    }

    fn fill(&mut self, size: usize) {
        self.slots.clear();
        self.slots.resize(size, FREE);
        for ((hash, _), number) in self.hashes.iter().zip(0..) {
            put(&mut self.slots, *hash, number);
        }
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
        let mut table = Table::default();
        assert_eq!(table.find(7), None);
        // Every third begins to look at the same place.
        let hash = |number: u64| if number.is_multiple_of(3) { number << 32 } else { number };
        (0..1_000).for_each(|number| table.add(hash(number)));
        for number in 0..1_000 {
            assert_eq!(table.find(hash(number)), Some(number as u32));
        }
        assert_eq!(table.find(1_001), None);
        table.retain(|number| number % 2 == 0);
        for number in 0..1_000 {
            assert_eq!(table.find(hash(number)), (number % 2 == 0).then_some(number as u32 / 2));
        }
    }

    #[test]
    fn short_texts_have_one_hash() {
        for text in ["", "a", "fix", "abcdefg"] {
            assert_eq!(hash_short(load_short(text.as_bytes()), text.len()), hash_text(text), "{text}");
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
