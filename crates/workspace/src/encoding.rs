//! File encodings: byte order marks, decoding and encoding.

/// The encoding of a text file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// UTF-8 without a BOM.
    #[default]
    Utf8,
    /// UTF-8 with a BOM.
    Utf8WithMark,
    /// UTF-16, little-endian, with a BOM.
    Utf16Le,
    /// UTF-16, big-endian, with a BOM.
    Utf16Be,
    /// UTF-32, little-endian, with a BOM.
    Utf32Le,
    /// UTF-32, big-endian, with a BOM.
    Utf32Be,
}

/// The decoded text of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The text, without the BOM.
    pub text: String,
    /// Its encoding.
    pub encoding: Encoding,
    /// True if it encodes back to the same bytes. False means that some bytes were invalid in this encoding.
    pub is_exact: bool,
}

/// The BOM of UTF-32 starts like that of UTF-16 and so comes first.
const MARKS: [(Encoding, &[u8]); 5] = [
    (Encoding::Utf8WithMark, &[0xEF, 0xBB, 0xBF]),
    (Encoding::Utf32Le, &[0xFF, 0xFE, 0, 0]),
    (Encoding::Utf32Be, &[0, 0, 0xFE, 0xFF]),
    (Encoding::Utf16Le, &[0xFF, 0xFE]),
    (Encoding::Utf16Be, &[0xFE, 0xFF]),
];

impl Encoding {
    /// Detects the encoding by its BOM, if there is one.
    pub fn by_mark(bytes: &[u8]) -> Option<Self> {
        MARKS.iter().find(|(_, mark)| bytes.starts_with(mark)).map(|(encoding, _)| *encoding)
    }

    fn mark(self) -> &'static [u8] {
        MARKS.iter().find(|(encoding, _)| *encoding == self).map_or(&[], |(_, mark)| mark)
    }
}

/// Decodes the bytes of a file. Invalid bytes become U+FFFD.
pub fn decode_text(bytes: &[u8]) -> Decoded {
    let encoding = Encoding::by_mark(bytes).unwrap_or_default();
    let body = &bytes[encoding.mark().len()..];
    let (text, is_exact) = match encoding {
        Encoding::Utf8 | Encoding::Utf8WithMark => match String::from_utf8_lossy(body) {
            std::borrow::Cow::Borrowed(text) => (text.to_string(), true),
            std::borrow::Cow::Owned(text) => (text, false),
        },
        Encoding::Utf16Le => decode_16(body, u16::from_le_bytes),
        Encoding::Utf16Be => decode_16(body, u16::from_be_bytes),
        Encoding::Utf32Le => decode_32(body, u32::from_le_bytes),
        Encoding::Utf32Be => decode_32(body, u32::from_be_bytes),
    };
    Decoded { text, encoding, is_exact }
}

fn decode_16(body: &[u8], unit: fn([u8; 2]) -> u16) -> (String, bool) {
    let (pairs, rest) = body.as_chunks::<2>();
    let mut is_exact = rest.is_empty();
    let characters = char::decode_utf16(pairs.iter().copied().map(unit));
    let text = characters.map(|character| character.unwrap_or_else(|_| replacement(&mut is_exact))).collect();
    (text, is_exact)
}

fn decode_32(body: &[u8], unit: fn([u8; 4]) -> u32) -> (String, bool) {
    let (fours, rest) = body.as_chunks::<4>();
    let mut is_exact = rest.is_empty();
    let characters = fours.iter().copied().map(unit).map(char::from_u32);
    let text = characters.map(|character| character.unwrap_or_else(|| replacement(&mut is_exact))).collect();
    (text, is_exact)
}

fn replacement(is_exact: &mut bool) -> char {
    *is_exact = false;
    char::REPLACEMENT_CHARACTER
}

/// Encodes text, with the BOM of the encoding.
pub fn encode_text(text: &str, encoding: Encoding) -> Vec<u8> {
    let mut bytes = encoding.mark().to_vec();
    match encoding {
        Encoding::Utf8 | Encoding::Utf8WithMark => bytes.extend_from_slice(text.as_bytes()),
        Encoding::Utf16Le => bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes)),
        Encoding::Utf16Be => bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes)),
        Encoding::Utf32Le => {
            bytes.extend(text.chars().flat_map(|character| u32::from(character).to_le_bytes()));
        }
        Encoding::Utf32Be => {
            bytes.extend(text.chars().flat_map(|character| u32::from(character).to_be_bytes()));
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Encoding; 6] = [
        Encoding::Utf8,
        Encoding::Utf8WithMark,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
    ];

    #[track_caller]
    fn check(bytes: &[u8], text: &str, encoding: Encoding, is_exact: bool) {
        assert_eq!(decode_text(bytes), Decoded { text: text.into(), encoding, is_exact });
    }

    #[test]
    fn marks_tell_the_encoding_and_are_no_text() {
        check(b"", "", Encoding::Utf8, true);
        check("a\u{e9}\u{4e2d}".as_bytes(), "a\u{e9}\u{4e2d}", Encoding::Utf8, true);
        check(b"\xEF\xBB\xBFhi", "hi", Encoding::Utf8WithMark, true);
        check(b"\xFF\xFEh\0i\0", "hi", Encoding::Utf16Le, true);
        check(b"\xFE\xFF\0h\0i", "hi", Encoding::Utf16Be, true);
        check(b"\xFF\xFE\0\0h\0\0\0", "h", Encoding::Utf32Le, true);
        check(b"\0\0\xFE\xFF\0\0\0h", "h", Encoding::Utf32Be, true);
        check(b"\xFF\xFE\x3D\xD8\x00\xDE", "\u{1F600}", Encoding::Utf16Le, true);
    }

    #[test]
    fn half_a_mark_is_none() {
        check(b"\xEF\xBB", "\u{FFFD}", Encoding::Utf8, false);
        check(b"\xFF", "\u{FFFD}", Encoding::Utf8, false);
    }

    #[test]
    fn what_is_no_text_is_replaced_and_told() {
        check(b"caf\xE9", "caf\u{FFFD}", Encoding::Utf8, false);
        check("\u{FFFD}".as_bytes(), "\u{FFFD}", Encoding::Utf8, true);
        check(b"\xFF\xFEh\0i", "h", Encoding::Utf16Le, false);
        check(b"\xFF\xFE\x00\xD8h\0", "\u{FFFD}h", Encoding::Utf16Le, false);
        check(b"\xFF\xFE\0\0h\0\0\0i\0", "h", Encoding::Utf32Le, false);
        check(b"\0\0\xFE\xFF\0\x11\0\0\0\0\0h", "\u{FFFD}h", Encoding::Utf32Be, false);
    }

    proptest! {
        #[test]
        fn any_text_comes_back(text in any::<String>(), which in 0..ALL.len()) {
            let encoding = ALL[which];
            // In an encoding without a BOM, a leading U+FEFF would be read as one.
            prop_assume!(encoding != Encoding::Utf8 || !text.starts_with('\u{FEFF}'));
            // The BOM of UTF-16 followed by a NUL is that of UTF-32.
            prop_assume!(encoding != Encoding::Utf16Le || !text.starts_with('\0'));
            let bytes = encode_text(&text, encoding);
            prop_assert_eq!(decode_text(&bytes), Decoded { text, encoding, is_exact: true });
        }

        #[test]
        fn bytes_that_decode_exactly_come_back(bytes in any::<Vec<u8>>(), mark in 0..6_usize) {
            let bytes = [MARKS.get(mark).map_or(&[][..], |(_, mark)| mark), &bytes].concat();
            let decoded = decode_text(&bytes);
            if decoded.is_exact {
                prop_assert_eq!(encode_text(&decoded.text, decoded.encoding), bytes);
            }
        }
    }
}
