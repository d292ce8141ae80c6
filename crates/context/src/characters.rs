//! Counts characters the way the reference does, at the speed of memory.

/// How many UTF-16 code units a text has, and how many of them are ASCII.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Units {
    pub(crate) ascii: usize,
    pub(crate) all: usize,
}

const LANES: usize = 32;

/// Counts the UTF-16 code units of a text.
///
/// Each lane adds up its own bytes in eight bits, which the compiler turns into vector instructions; the lanes are
/// emptied before they can overflow.
pub(crate) fn count_units(text: &str) -> Units {
    let bytes = text.as_bytes();
    if bytes.is_ascii() {
        return Units { ascii: bytes.len(), all: bytes.len() };
    }
    let mut units = Units::default();
    // Every character has one byte that does not continue another; one of four bytes counts twice in UTF-16.
    for block in bytes.chunks(LANES * 255) {
        let mut ascii = [0u8; LANES];
        let mut starts = [0u8; LANES];
        let mut fours = [0u8; LANES];
        let mut chunks = block.chunks_exact(LANES);
        for chunk in &mut chunks {
            for lane in 0..LANES {
                let byte = chunk[lane];
                ascii[lane] += u8::from(byte < 0x80);
                starts[lane] += u8::from(byte & 0xC0 != 0x80);
                fours[lane] += u8::from(byte >= 0xF0);
            }
        }
        let sum = |lanes: [u8; LANES]| lanes.iter().map(|lane| usize::from(*lane)).sum::<usize>();
        units.ascii += sum(ascii);
        units.all += sum(starts) + sum(fours);
        for byte in chunks.remainder() {
            units.ascii += usize::from(*byte < 0x80);
            units.all += usize::from(byte & 0xC0 != 0x80) + usize::from(*byte >= 0xF0);
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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
