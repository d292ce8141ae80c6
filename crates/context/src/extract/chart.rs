//! Tells of each byte of a line, by one bit, whether it can stand in a name and whether it is more than a plain word has.
//!
//! Sixty-four bytes are told at once, so that most words of most lines are passed over without being looked at.

use std::ops::Range;

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
        for at in place.clone().step_by(BLOCK) {
            let rest = &text.as_bytes()[at..];
            let (inside, telling) = match rest.first_chunk() {
                Some(block) => tell_apart(block),
                None => tell_apart(&padded(rest)),
            };
            // What stands behind the line is no part of it.
            let own = u64::MAX >> BLOCK.saturating_sub(place.end - at);
            self.inside.push(inside & own);
            self.telling.push(telling & own);
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

/// The kinds of bytes, as bits of one.
const INSIDE: u32 = 0;
const TELLING: u32 = 1;

/// Which of sixty-four bytes can stand in a name, and which are telling.
fn tell_apart(block: &[u8; BLOCK]) -> (u64, u64) {
    let mut kinds = [0; BLOCK];
    tell_kinds(block, &mut kinds);
    (squeeze(&kinds, INSIDE), squeeze(&kinds, TELLING))
}

/// The kinds of each byte. There are no branches, and nothing else is done along with it, so that many are told at once.
#[inline(never)]
fn tell_kinds(block: &[u8; BLOCK], kinds: &mut [u8; BLOCK]) {
    for (kind, byte) in kinds.iter_mut().zip(block) {
        let is_in = |from: u8, to: u8| byte.wrapping_sub(from) <= to - from;
        let is = |other: u8| *byte == other;
        let naming = is_in(b'-', b':') | is_in(b'@', b'Z') | is(b'_') | is(b'$') | is(b'+') | is(b'~');
        let inside = naming | is_in(b'a', b'z');
        let telling = naming | is(b'`');
        *kind = u8::from(inside) << INSIDE | u8::from(telling) << TELLING;
    }
}

/// A block that ends with zeros.
fn padded(bytes: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    block[..bytes.len()].copy_from_slice(bytes);
    block
}

/// One bit of each of sixty-four bytes, the first one lowest.
fn squeeze(bytes: &[u8; BLOCK], bit: u32) -> u64 {
    const ONES: u64 = u64::MAX / 255;
    let (words, _) = bytes.as_chunks::<8>();
    let squeezed = words.iter().map(|eight| {
        // Each bit is moved to another place of the highest byte.
        ((u64::from_le_bytes(*eight) >> bit & ONES).wrapping_mul(0x0102_0408_1020_4080)) >> 56
    });
    squeezed.zip(0..).fold(0, |bits, (eight, nth)| bits | eight << (8 * nth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
