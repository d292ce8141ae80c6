//! Counts characters the way the reference does, at the speed of memory.

/// The UTF-16 code units of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Those that are ASCII.
    pub ascii: usize,
    /// All of them.
    pub all: usize,
}

/// So many bytes are told to be ASCII at once, which is several times faster than counting.
const PLAIN_BLOCK: usize = 256;
/// So many are counted where they are not.
const COUNTED_BLOCK: usize = 32 * LANES;

const LANES: usize = 32;

/// Counts the UTF-16 code units of a text.
pub fn count_units(text: &str) -> Units {
    let mut rest = text.as_bytes();
    if rest.is_ascii() {
        return Units { ascii: rest.len(), all: rest.len() };
    }
    let mut units = Units::default();
    while !rest.is_empty() {
        let (plain, behind) = rest.split_at(rest.len().min(PLAIN_BLOCK));
        if plain.is_ascii() {
            units.ascii += plain.len();
            units.all += plain.len();
            rest = behind;
        } else {
            let (block, behind) = rest.split_at(rest.len().min(COUNTED_BLOCK));
            count_block(block, &mut units);
            rest = behind;
        }
    }
    units
}

/// Counts the units of some bytes, which may begin or end within a character.
///
/// Each lane adds up its own bytes in eight bits, which the compiler turns into vector instructions; there are too few of them
/// to overflow.
fn count_block(block: &[u8], units: &mut Units) {
    let mut ascii = [0u8; LANES];
    let mut starts = [0u8; LANES];
    let mut fours = [0u8; LANES];
    let (chunks, rest) = block.as_chunks::<LANES>();
    for chunk in chunks {
        for lane in 0..LANES {
            let byte = chunk[lane];
            // Every character has one byte that does not continue another; one of four bytes counts twice in UTF-16.
            ascii[lane] += u8::from(byte < 0x80);
            starts[lane] += u8::from(byte & 0xC0 != 0x80);
            fours[lane] += u8::from(byte >= 0xF0);
        }
    }
    let sum = |lanes: [u8; LANES]| lanes.iter().map(|lane| usize::from(*lane)).sum::<usize>();
    units.ascii += sum(ascii);
    units.all += sum(starts) + sum(fours);
    for byte in rest {
        units.ascii += usize::from(*byte < 0x80);
        units.all += usize::from(byte & 0xC0 != 0x80) + usize::from(*byte >= 0xF0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_lanes_agree_with_the_plain_count(text in "(\\PC|[a-z]{0,40}|日本語|😀){0,200}", times in 1usize..40) {
            let text = text.repeat(times);
            let plain = Units {
                ascii: text.bytes().filter(u8::is_ascii).count(),
                all: text.encode_utf16().count(),
            };
            prop_assert_eq!(count_units(&text), plain);
        }
    }

    #[test]
    fn long_texts_do_not_overflow_the_lanes() {
        let text = "a日😀".repeat(10_000);
        assert_eq!(count_units(&text), Units { ascii: 10_000, all: 40_000 });
    }
}
