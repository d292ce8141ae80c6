//! Tells of each byte of a line, by one bit, whether it can stand in a name and whether it is more than a plain word has.
//!
//! Sixty-four bytes are told at once, so that most words of most lines are passed over without being looked at.

use std::ops::Range;

use super::tokens::{BACKTICK, CLASS, INSIDE, NAMING};

/// The bits of one line. It can be drawn again for another.
#[derive(Default)]
pub(crate) struct Chart {
    /// Bytes that can stand in a name.
    inside: Vec<u64>,
    /// Bytes that no plain word has, nor what stands between words: those that make a name, and that which opens a
    /// quotation.
    telling: Vec<u64>,
}

const BLOCK: usize = 64;

impl Chart {
    /// Draws the chart of the line that stands at `place` in a text.
    pub(crate) fn draw(&mut self, text: &str, place: Range<usize>) {
        self.inside.clear();
        self.telling.clear();
        let (blocks, rest) = text.as_bytes()[place].as_chunks::<BLOCK>();
        // What stands behind the end is neither.
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        for block in blocks.iter().chain((!rest.is_empty()).then_some(&last)) {
            let (inside, telling) = tell_apart(block);
            self.inside.push(inside);
            self.telling.push(telling);
        }
    }

    /// The first telling byte from `from` on.
    #[inline]
    pub(crate) fn next_telling(&self, from: usize) -> Option<usize> {
        let mut block = from / BLOCK;
        let mut bits = self.telling.get(block)? & u64::MAX << (from % BLOCK);
        while bits == 0 {
            block += 1;
            bits = *self.telling.get(block)?;
        }
        Some(block * BLOCK + bits.trailing_zeros() as usize)
    }

    /// The bytes around `mark` that can stand in a name with it, as it can itself.
    #[inline]
    pub(crate) fn run_around(&self, mark: usize) -> Range<usize> {
        let from_mark = u64::MAX << (mark % BLOCK);
        let mut block = mark / BLOCK;
        let mut gaps = !self.inside[block] & !from_mark;
        while gaps == 0 && block > 0 {
            block -= 1;
            gaps = !self.inside[block];
        }
        let start = (block + 1) * BLOCK - gaps.leading_zeros() as usize;
        block = mark / BLOCK;
        gaps = !self.inside[block] & from_mark;
        while gaps == 0 && block + 1 < self.inside.len() {
            block += 1;
            gaps = !self.inside[block];
        }
        start..block * BLOCK + gaps.trailing_zeros() as usize
    }
}

/// The bits of sixty-four bytes, the first one lowest.
fn tell_apart(block: &[u8; BLOCK]) -> (u64, u64) {
    let (first, second) = block.split_at(BLOCK / 2);
    let bits = |half: &[u8]| half.iter().rev().fold(0, |bits, byte| bits << 1 | BITS[*byte as usize]);
    let (first, second): (u64, u64) = (bits(first), bits(second));
    let low = u64::from(u32::MAX);
    (first & low | second << 32, first >> 32 | second & !low)
}

/// The bits of each byte, so that one step adds both to those of thirty-two bytes: the lowest if it can stand in a name, the
/// lowest of the upper half if it is telling.
static BITS: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let is_inside = CLASS[byte] & INSIDE != 0;
        let is_telling = CLASS[byte] & (NAMING | BACKTICK) != 0;
        table[byte] = is_inside as u64 | (is_telling as u64) << 32;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn is_inside(byte: u8) -> bool {
        byte.is_ascii_alphanumeric() || b"_/.~@$-:+".contains(&byte)
    }

    fn is_telling(byte: u8) -> bool {
        is_inside(byte) && !byte.is_ascii_lowercase() || byte == b'`'
    }

    fn chart(text: &str, place: Range<usize>) -> Chart {
        let mut chart = Chart::default();
        chart.draw(text, place);
        chart
    }

    #[test]
    fn every_byte_is_told_in_every_place() {
        for byte in 0..128u8 {
            for place in [0, 1, 7, 8, 62, 63, 64, 65, 127, 128, 140] {
                let mut text = "a".repeat(150);
                text.replace_range(place..=place, char::from(byte).encode_utf8(&mut [0; 4]));
                let chart = chart(&text, 0..text.len());
                assert_eq!(chart.next_telling(0), is_telling(byte).then_some(place), "{byte} at {place}");
                assert_eq!(chart.next_telling(place + 1), None);
                if is_inside(byte) {
                    assert_eq!(chart.run_around(place), 0..text.len(), "{byte} at {place}");
                }
            }
        }
        assert_eq!(chart("日本語 é", 0.."日本語 é".len()).next_telling(0), None);
    }

    proptest! {
        #[test]
        fn runs_end_where_they_end(text in "([a-c]{1,40}|[A_./ `é]){0,16}", from in 0usize..40, length in 0usize..300) {
            let place = text.floor_char_boundary(from)..text.floor_char_boundary(from + length);
            let line = &text.as_bytes()[place.clone()];
            let chart = chart(&text, place);
            for at in 0..=line.len() {
                let next = (at..line.len()).find(|at| is_telling(line[*at]));
                prop_assert_eq!(chart.next_telling(at), next);
            }
            for at in (0..line.len()).filter(|at| is_inside(line[*at])) {
                let start = (0..at).rfind(|at| !is_inside(line[*at])).map_or(0, |gap| gap + 1);
                let end = (at..line.len()).find(|at| !is_inside(line[*at])).unwrap_or(line.len());
                prop_assert_eq!(chart.run_around(at), start..end);
            }
        }
    }
}
