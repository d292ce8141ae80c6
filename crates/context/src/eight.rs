//! Looks at eight bytes at once: which of them are letters, and how far a word goes.
//!
//! Eight bytes stand in one number, the first one lowest. What is asked of them is answered by the highest bit of each.

const ONES: u64 = u64::MAX / 255;
const HIGH: u64 = ONES << 7;

/// The eight bytes from `at` on; behind the end there are zeros.
pub(crate) fn load(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or_default();
    rest.first_chunk().map_or_else(|| load_short(rest), |eight| u64::from_le_bytes(*eight))
}

/// Up to seven bytes; zeros stand for the others.
pub(crate) fn load_short(bytes: &[u8]) -> u64 {
    // Two halves that overlap say the same as one byte after the other, without a loop.
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let behind = 8 * (bytes.len() - 4);
        u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << behind
    } else if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let behind = 8 * (bytes.len() - 2);
        u64::from(u16::from_le_bytes(*first)) | u64::from(u16::from_le_bytes(*last)) << behind
    } else {
        bytes.first().map_or(0, |byte| u64::from(*byte))
    }
}

/// Which bytes are letters of ASCII.
pub(crate) fn letters(eight: u64) -> u64 {
    // This makes letters of nothing else.
    between(small(eight), b'a', b'z')
}

/// Which bytes are letters or digits, if all of them are ASCII.
pub(crate) fn alphanumerics_of_ascii(eight: u64) -> u64 {
    let small = small(eight);
    // No sum carries over into the next byte.
    let letters = (small + ONES * (0x80 - 0x61)) & !(small + ONES * (0x7f - 0x7a));
    let digits = (eight + ONES * (0x80 - 0x30)) & !(eight + ONES * (0x7f - 0x39));
    (letters | digits) & HIGH
}

/// Which bytes are digits of ASCII.
pub(crate) fn digits(eight: u64) -> u64 {
    between(eight, b'0', b'9')
}

/// Letters and digits of ASCII in small letters; other bytes become something else.
pub(crate) fn small(eight: u64) -> u64 {
    eight | (ONES * 0x20)
}

/// The byte at `place`, which is one of eight.
pub(crate) fn get(eight: u64, place: usize) -> u8 {
    (eight >> (8 * place)) as u8
}

/// Where the first digit of ASCII stands from `at` on.
pub(crate) fn find_digit(bytes: &[u8], mut at: usize) -> Option<usize> {
    while at < bytes.len() {
        let answers = digits(load(bytes, at));
        if answers != 0 {
            return Some(at + gap(answers));
        }
        at += 8;
    }
    None
}

/// Which of the `letters` are capitals behind a small letter.
pub(crate) fn humps(eight: u64, letters: u64) -> u64 {
    // The bit that small letters have and capitals have not, moved to the highest place.
    let is_small = eight << 2;
    (letters & is_small) << 8 & letters & !is_small
}

/// The first `count` bytes, up to seven; zeros stand for the others.
pub(crate) fn first(eight: u64, count: usize) -> u64 {
    eight & ((1 << (8 * count)) - 1)
}

/// How many bytes there are before the first one of which this is not true.
pub(crate) fn run(answers: u64) -> usize {
    (!answers & HIGH).trailing_zeros() as usize / 8
}

/// How many bytes there are behind the last one of which this is not true.
pub(crate) fn run_at_end(answers: u64) -> usize {
    (!answers & HIGH).leading_zeros() as usize / 8
}

/// How many bytes there are before the first one of which this is true.
pub(crate) fn gap(answers: u64) -> usize {
    answers.trailing_zeros() as usize / 8
}

/// Which bytes lie between two bytes of ASCII, these included.
fn between(eight: u64, from: u8, to: u8) -> u64 {
    any_between(eight, &[(from, to)])
}

/// Which bytes lie between one of these pairs of bytes of ASCII, these included.
#[inline]
pub(crate) fn any_between<const PAIRS: usize>(eight: u64, pairs: &[(u8, u8); PAIRS]) -> u64 {
    let low = eight & !HIGH;
    let any = pairs.iter().fold(0, |any, (from, to)| {
        // Neither sum carries over into the next byte.
        let reach = low + ONES * u64::from(0x80 - from);
        let exceed = low + ONES * u64::from(0x7f - to);
        any | reach & !exceed
    });
    any & !eight & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_told_in_every_place() {
        let told = |answers: u64, place: usize| answers >> (8 * place + 7) & 1 == 1;
        for byte in 0..=u8::MAX {
            for place in 0..8 {
                for other in [0u8, b'a', b'Z', b'7', 0xff] {
                    let mut bytes = [other; 8];
                    bytes[place] = byte;
                    let eight = load(&bytes, 0);
                    assert_eq!(told(letters(eight), place), byte.is_ascii_alphabetic(), "{byte}");
                    assert_eq!(told(digits(eight), place), byte.is_ascii_digit(), "{byte}");
                    if bytes.is_ascii() {
                        let answers = alphanumerics_of_ascii(eight);
                        assert_eq!(told(answers, place), byte.is_ascii_alphanumeric(), "{byte}");
                    }
                    if byte.is_ascii_alphanumeric() {
                        assert_eq!(get(small(eight), place), byte.to_ascii_lowercase());
                    }
                    let humped = place > 0 && other == b'a' && byte.is_ascii_uppercase();
                    assert_eq!(told(humps(eight, letters(eight)), place), humped, "{byte}");
                }
            }
        }
    }

    #[test]
    fn what_is_short_is_filled_with_zeros() {
        let bytes = b"abcdefghi";
        for length in 0..=bytes.len() {
            for at in 0..=length {
                let mut eight = [0; 8];
                let rest = &bytes[at..length.min(at + 8)];
                eight[..rest.len()].copy_from_slice(rest);
                assert_eq!(load(&bytes[..length], at), u64::from_le_bytes(eight));
            }
        }
        assert_eq!(load(bytes, 99), 0);
    }

    #[track_caller]
    fn check(text: &str, letters_first: usize, others_first: usize) {
        let answers = letters(load(text.as_bytes(), 0));
        assert_eq!((run(answers), gap(answers)), (letters_first, others_first), "{text}");
    }

    #[test]
    fn digits_are_found() {
        let text = "ab:/ 1 cdefghijklmnopq 23é4";
        for at in 0..text.len() + 9 {
            let expected = text.bytes().enumerate().skip(at).find(|(_, byte)| byte.is_ascii_digit());
            assert_eq!(find_digit(text.as_bytes(), at), expected.map(|(place, _)| place), "{at}");
        }
    }

    #[test]
    fn runs_and_gaps_are_measured() {
        check("", 0, 8);
        check("ab c", 2, 0);
        check("  Ab c", 0, 2);
        check("abcdefgh", 8, 0);
        check("12345678", 0, 8);
        for (text, expected) in [(b"ab cdefg", 5), (b"abcdefgh", 8), (b"abcdefg ", 0), (b" bcdefgh", 7)] {
            assert_eq!(run_at_end(letters(load(text, 0))), expected);
        }
        assert_eq!(first(load(b"abcdefgh", 0), 3), load(b"abc", 0));
        assert_eq!(first(load(b"abcdefgh", 0), 0), 0);
    }
}
