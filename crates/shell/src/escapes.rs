//! Decodes `$'…'`.

use std::iter::Peekable;
use std::str::Chars;

/// The text of `$'…'` for what stands between the quotes. `None` if it has a NUL, a control escape, or bytes that are no
/// text.
pub(crate) fn decode_escapes(written: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(written.len());
    let mut characters = written.chars().peekable();
    while let Some(character) = characters.next() {
        if character != '\\' {
            push(&mut bytes, character);
            continue;
        }
        let value = match characters.next()? {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            first @ '0'..='7' => {
                let first = first.to_digit(8)?;
                u8::try_from(
                    digits(&mut characters, 8, 2)
                        .map_or(first, |(more, count)| first * 8_u32.pow(count) + more)
                        & 0xff,
                )
                .ok()?
            }
            'x' => u8::try_from(digits(&mut characters, 16, 2)?.0).ok()?,
            letter @ ('u' | 'U') => {
                let most = if letter == 'u' { 4 } else { 8 };
                let (value, _) = digits(&mut characters, 16, most)?;
                push(&mut bytes, char::from_u32(value).filter(|c| *c != '\0')?);
                continue;
            }
            'c' => return None,
            escaped @ ('\\' | '\'' | '"' | '?') => {
                push(&mut bytes, escaped);
                continue;
            }
            other => {
                push(&mut bytes, '\\');
                push(&mut bytes, other);
                continue;
            }
        };
        if value == 0 {
            return None;
        }
        bytes.push(value);
    }
    String::from_utf8(bytes).ok()
}

fn push(bytes: &mut Vec<u8>, character: char) {
    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
}

/// The number that begins here, with that of its digits.
fn digits(characters: &mut Peekable<Chars<'_>>, radix: u32, most: u32) -> Option<(u32, u32)> {
    let (mut value, mut count) = (0_u32, 0);
    while count < most
        && let Some(digit) = characters.peek().and_then(|digit| digit.to_digit(radix))
    {
        value = value.wrapping_mul(radix).wrapping_add(digit);
        count += 1;
        characters.next();
    }
    (count > 0).then_some((value, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_decoded_as_bash_does() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(decode_escapes(written).as_deref(), expected, "{written}");
        };
        check("rm", Some("rm"));
        check(r"\x72\155", Some("rm"));
        check(r"\u0072m\U0000006d", Some("rmm"));
        check(r"a\tb\n\\\'\?\q", Some("a\tb\n\\'?\\q"));
        check(r"\1551", Some("m1"));
        check(r"\x6dd", Some("md"));
        check(r"\xc3\xa9", Some("é"));
        for undecodable in [r"\0", r"\x00", r"\ca", r"\xff", r"\xg", "a\\"] {
            check(undecodable, None);
        }
    }
}
