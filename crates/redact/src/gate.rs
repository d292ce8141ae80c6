//! Tells a secret from what only stands for one: placeholders, words, paths, hashes, code.

use std::sync::LazyLock;

use crate::alphabet::Alphabet;
use crate::{MARK, data};

/// The texts by which a value is known to stand for a secret; the data file says more of each.
struct Placeholders {
    fillers: Vec<&'static str>,
    openings: Vec<&'static str>,
    within: Vec<&'static str>,
    stems: Vec<&'static str>,
    test_words: Vec<&'static str>,
}

static PLACEHOLDERS: LazyLock<Placeholders> = LazyLock::new(|| {
    let of = |role| data::texts(include_str!("../data/placeholders.txt"), role);
    Placeholders {
        fillers: of("filler"),
        openings: of("opening"),
        within: of("within"),
        stems: of("stem"),
        test_words: of("test"),
    }
});

/// True if the body of a token is only there to fill its place: `xxxx…`, `0000…`, `…EXAMPLE`.
pub(crate) fn is_filler(body: &str) -> bool {
    let mut seen = 0u128;
    let head = &body.as_bytes()[..body.len().min(256)];
    for byte in head {
        seen |= 1 << (byte & 127);
    }
    let enough = if body.len() < 16 { 4 } else { 6 };
    seen.count_ones() < enough || contains_any(head, &PLACEHOLDERS.fillers)
}

/// True if a value stands for a secret that is kept elsewhere, or for none.
pub(crate) fn is_placeholder(value: &str) -> bool {
    let bytes = &value.as_bytes()[..value.len().min(256)];
    value.contains(MARK)
        || PLACEHOLDERS.openings.iter().any(|opening| value.starts_with(opening))
        || contains_any(bytes, &PLACEHOLDERS.within)
        || is_variable(value)
        || has_few_characters(bytes)
        || names_nothing_secret(value)
}

/// `$NAME`, `%NAME%`, `@name`-like references, and `%s`.
fn is_variable(value: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'0'..=b'9'))
    };
    value.strip_prefix('$').is_some_and(|name| is_name(name) || is_words(name))
        || value.strip_prefix('%').and_then(|name| name.strip_suffix('%')).is_some_and(is_name)
        || matches!(value, "%s" | "%d" | "%v" | "?")
}

fn has_few_characters(bytes: &[u8]) -> bool {
    let mut seen = bytes.iter().map(u8::to_ascii_lowercase).collect::<Vec<_>>();
    seen.sort_unstable();
    seen.dedup();
    seen.len() < 4
}

/// True if a word of the value says that it is for tests, or the whole is a password only in name: `test-token-1`,
/// `password123`, `Admin123!`.
fn names_nothing_secret(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit() || "!@#$*?._-".contains(c));
    stem.is_empty()
        || PLACEHOLDERS.stems.contains(&stem)
        || PLACEHOLDERS.stems.contains(&lower.as_str())
        || lower
            .split(|c: char| !c.is_ascii_alphanumeric())
            .any(|word| PLACEHOLDERS.test_words.contains(&word.trim_matches(|c: char| c.is_ascii_digit())))
}

fn contains_any(text: &[u8], lower_words: &[&str]) -> bool {
    lower_words
        .iter()
        .any(|word| text.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes())))
}

/// True if letters, digits and cases alternate as they do in random text and not in words, at enough length
/// and with enough different characters.
pub(crate) fn looks_random(value: &str) -> bool {
    let bytes = &value.as_bytes()[..value.len().min(256)];
    let has_digit = bytes.iter().any(u8::is_ascii_digit);
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    let capitals = bytes.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    // Without digits only the cases can tell: names in camel case have few capitals.
    let has_both_cases = bytes.len() >= 24 && (letters..3 * letters).contains(&(4 * capitals));
    let is_mixed = letters > 0 && (has_digit || has_both_cases);
    is_mixed && switches(bytes) * 100 >= 15 * (bytes.len() - 1) && entropy(bytes) >= 2.8
}

/// True if letters, digits and signs stand in no order, as generators of keys mix them: `9w!x&x+h(no6tbf^seho%7zy`.
pub(crate) fn looks_scrambled(value: &str) -> bool {
    let bytes = &value.as_bytes()[..value.len().min(256)];
    let signs =
        bytes.iter().filter(|byte| byte.is_ascii_punctuation() && !b"_-./:'\"`,".contains(byte)).count();
    let letters = bytes.iter().filter(|byte| byte.is_ascii_alphabetic()).count();
    bytes.len() >= 20
        && bytes.iter().all(u8::is_ascii_graphic)
        && signs * 10 >= bytes.len()
        && letters * 4 >= bytes.len()
        && bytes.iter().any(u8::is_ascii_digit)
        && entropy(bytes) >= 3.8
}

/// The number of times a lower case letter is followed by an upper case one, or a letter by a digit or the other way.
/// Random text does so at almost every second character, words in camel case at every sixth.
pub(crate) fn switches(bytes: &[u8]) -> usize {
    bytes
        .windows(2)
        .filter(|pair| {
            let [a, b] = [pair[0], pair[1]];
            (a.is_ascii_lowercase() && b.is_ascii_uppercase())
                || (a.is_ascii_alphabetic() && b.is_ascii_digit())
                || (a.is_ascii_digit() && b.is_ascii_alphabetic())
        })
        .count()
}

/// Shannon entropy in bits for each byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let total = bytes.len() as f64;
    counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / total;
            -share * share.log2()
        })
        .sum()
}

/// True if this is made of words alone, as names in code and dotted paths are: `user_token`, `config.auth.token2`.
pub(crate) fn is_words(value: &str) -> bool {
    value.split(['.', '_', '-', '/', ':', '\\', '@']).all(|word| {
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        word.bytes().all(|byte| byte.is_ascii_alphabetic()) && switches(word.as_bytes()) * 4 <= word.len()
    })
}

/// True if this names a file or a page.
pub(crate) fn is_path(value: &str) -> bool {
    let has_root = value.starts_with("./")
        || value.starts_with("../")
        || value.starts_with("~/")
        || value.starts_with("/")
        || value.contains("://")
        || matches!(value.as_bytes(), [drive, b':', b'\\' | b'/', ..] if drive.is_ascii_alphabetic());
    let has_extension = value.rsplit_once('.').is_some_and(|(stem, extension)| {
        (1..=5).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_lowercase())
            && !looks_random(stem)
    });
    // A slash at the start alone is also one character of base64 in sixty-four.
    (has_root && !(value.starts_with('/') && value.matches('/').count() == 1 && looks_random(value)))
        || has_extension
}

/// `8-4-4-4-12` hexadecimal digits.
pub(crate) fn is_uuid(value: &str) -> bool {
    value.len() == 36
        && value.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

/// A whole number of bytes in hexadecimal, as long as a common hash.
pub(crate) fn is_hash(value: &str) -> bool {
    matches!(value.len(), 32 | 40 | 56 | 64 | 96 | 128) && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// True if all characters are of base64 or base64url.
pub(crate) fn is_base64(value: &str) -> bool {
    value.bytes().all(|byte| Alphabet::BASE64.has(byte) || Alphabet::URL.has(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders() {
        for value in [
            "changeme",
            "<your-key>",
            "${VAR}",
            "$DB_PASSWORD",
            "%TOKEN%",
            "process.env.X",
            "xxxxxxxx",
            "****",
            "aaaa",
            "your-api-key-here",
            "my_example_key_1",
            "[REDACTED]",
            "password123",
            "Admin123!",
            "test-token-1",
            "{{ token }}",
            "sha512-abc",
            "fake_secret_2",
            "%s",
            "",
        ] {
            assert!(is_placeholder(value), "{value}");
        }
        for value in ["hunter2x7", "S3cr3t!pA", "9f8Kq2mZx71L", "Testosteron9!", "$ecr3t!x", "p4$$w0rdZ"] {
            assert!(!is_placeholder(value), "{value}");
        }
    }

    #[test]
    fn random_text() {
        for value in ["9f8Kq2mZx71Lp3", "3f2a9c1e8b7d6a5f4c3e2d1b", "aBkDqFzHiRkLwNoPxRsTvVqX"] {
            assert!(looks_random(value), "{value}");
        }
        for value in
            ["", "a", "getUserPasswordFromDatabase", "my-secret-token-123", "sk-cube-grid", "1234567890"]
        {
            assert!(!looks_random(value), "{value}");
        }
    }

    #[test]
    fn scrambled_text() {
        assert!(looks_scrambled("9w!x&x+h(no6tbf^seho%7zy9q7$vu2t40@y1d*-tylka!s_-m"));
        for value in [
            "if (a && b) { return c[0]; }",
            "getUserPasswordFromDatabase2()",
            "a=1&b=2&c=3&d=4&e=5",
            "$2",
            "====================!1a",
        ] {
            assert!(!looks_scrambled(value), "{value}");
        }
    }

    #[test]
    fn words_and_paths() {
        for value in ["user_token", "config.auth.token2", "getToken", "Token::Kind"] {
            assert!(is_words(value), "{value}");
        }
        assert!(!is_words("9f8Kq2mZx71Lp3"));
        for value in [
            "/etc/secrets/db1",
            "./a1b2",
            "~/.ssh/id_ed25519",
            "C:\\keys\\a1",
            "secrets/prod1.key",
            "https://a1",
        ] {
            assert!(is_path(value), "{value}");
        }
        assert!(!is_path("/9f8Kq2mZx71Lp3+aQ9"));
    }

    #[test]
    fn hashes_and_uuids() {
        assert!(is_uuid("123e4567-e89b-12d3-a456-426614174000"));
        assert!(!is_uuid("123e4567-e89b-12d3-a456-42661417400g"));
        assert!(is_hash("da39a3ee5e6b4b0d3255bfef95601890afd80709"));
        assert!(!is_hash("da39a3ee5e6b4b0d3255bfef95601890afd8070"));
    }
}
