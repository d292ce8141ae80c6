//! Tells a password in running text from the words around it: there it has no quotes, and no name in code.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::gate;
use crate::words::{WORDS, WordRole};

/// Longer than any password that somebody tells somebody else.
pub(crate) const MOST: usize = 128;

/// The degree to which a word looks like a password that a person chose. Each includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Looks {
    /// Like a word, a number, a name in code, a path, a placeholder.
    Ordinary,
    /// Letters with a digit or a sign among them: enough behind *the password is*.
    Mixed,
    /// Three sorts of characters: `Lagarto29`, `tide-pool-lamp-4`.
    Strong,
    /// Neither a name in code nor that of a product: `mossy-Falcon82`, `Pl0ver#3`, `x7Kq2mZp`.
    Chosen,
}

/// Judges a word, or some words that stand in quotes.
pub(crate) fn looks(value: &str) -> Looks {
    if !(6..=MOST).contains(&value.len()) || is_reference(value) {
        return Looks::Ordinary;
    }
    let count = |is: fn(char) -> bool| value.chars().filter(|c| is(*c)).count();
    let (digits, upper, lower) =
        (count(|c| c.is_ascii_digit()), count(char::is_uppercase), count(char::is_lowercase));
    let signs = count(|c| "!@#$%^&*+?~=".contains(c));
    let parts: Vec<&str> =
        value.split(|c: char| "-_. ".contains(c)).filter(|part| !part.is_empty()).collect();
    if upper + lower == 0 {
        return Looks::Ordinary;
    }
    let is_phrase = parts.len() >= 4
        && !value.contains('.')
        && signs == 0
        && parts.iter().all(|part| is_plain_word(part));
    if digits + signs == 0 {
        return if is_phrase { Looks::Mixed } else { Looks::Ordinary };
    }
    let is_cased = upper > 0 && lower > 0;
    let is_long_phrase = parts.len() >= 3
        && digits > 0
        && parts.iter().filter(|part| is_plain_word(part)).count() + 1 >= parts.len();
    let is_strong = value.len() >= 8
        && ((digits > 0 && (is_cased || signs > 0)) || (signs > 0 && is_cased) || is_long_phrase);
    if !is_strong {
        return Looks::Mixed;
    }
    let ends_in_number = value.len() - value.trim_end_matches(|c: char| c.is_ascii_digit()).len() >= 2;
    let is_joined = parts.len() >= 2 && ends_in_number && !value.contains(['.', ' ']);
    let is_chosen = signs > 0 || is_joined || gate::switches(value.as_bytes()) >= 3 || !value.is_ascii();
    if is_chosen { Looks::Chosen } else { Looks::Strong }
}

/// Some words in quotes that are no sentence: `orbit salad 7 Whisper!`.
pub(crate) fn is_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split(' ').collect();
    let is_written = (2..=12).contains(&words.len())
        && words.iter().all(|word| !word.is_empty() && !word.ends_with([',', ':', '.']))
        && !value.contains(|c: char| "<>{}[]()|\\=;/\"`".contains(c) || c.is_control());
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_sign = value.trim_end_matches(['?', '!', '…']).contains(|c: char| "!@#$%^&*+?~".contains(c));
    let has_end = value.ends_with('!');
    is_written
        && (has_sign || (has_digit && (has_end || words.len() >= 3)))
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && !words.iter().any(|word| is_word_of_sentences(word))
        && !is_reference(value)
}

/// Three words or more that are no sentence, where a name says that a passphrase must follow.
pub(crate) fn is_plain_phrase(value: &str) -> bool {
    let words: Vec<&str> = value.split([' ', '-']).collect();
    (4..=12).contains(&words.len())
        && words.iter().all(|word| is_plain_word(word) && word.len() >= 2 && !is_word_of_sentences(word))
        && !is_reference(value)
}

fn is_plain_word(word: &str) -> bool {
    word.len() >= 2
        && word.chars().skip(1).all(|c| c.is_alphabetic() && c.is_lowercase())
        && word.chars().next().is_some_and(char::is_alphabetic)
        && !is_word_of_sentences(word)
}

fn is_word_of_sentences(word: &str) -> bool {
    static FUNCTION: LazyLock<HashSet<&str>> = LazyLock::new(|| WORDS.of(WordRole::Function).collect());
    FUNCTION.contains(word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase().as_str())
}

/// True if a value tells of a secret, or points to one, or is no word at all: a path, an address, a version, code.
fn is_reference(value: &str) -> bool {
    let is_code = ["::", "->", "=>", "==", "({", "$(", "${", "//"].iter().any(|code| value.contains(code))
        || value.contains(|c: char| "(){}<>[]|\\\"`,;".contains(c));
    let is_address = value.split_once('@').is_some_and(|(name, host)| {
        !name.is_empty()
            && host.split_once('.').is_some_and(|(first, last)| !first.is_empty() && !last.is_empty())
    });
    let is_ratio = value.split_once('/').is_some_and(|(first, _)| gate::is_words(first));
    let starts_with_count = {
        let rest = value.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < value.len()
            && rest.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| c.is_alphabetic() || c == '-'))
    };
    let is_operand = value.starts_with(['&', '-', '.', '=', '/', ':']);
    is_code
        || is_operand
        || is_address
        || is_ratio
        || starts_with_count
        || is_version_or_time(value)
        || gate::is_uuid(value)
        || gate::is_path(value)
        || gate::is_placeholder(value)
        || is_constant(value)
        // Names in code have no such signs.
        || (!value.contains(['!', '#', '$', '%', '^', '&', '~']) && describes(value))
}

/// `v2.1.0-rc1`, `2025-03-12T08:14:55Z`, `10.0.4.12:5432`.
fn is_version_or_time(value: &str) -> bool {
    let digits = value.trim_start_matches(['v', 'V']);
    let is_date = matches!(digits.as_bytes(), [a, b, c, d, b'-', e, f, b'-', ..] if [a, b, c, d, e, f].iter().all(|byte| byte.is_ascii_digit()));
    let numbers = digits.split(['.', '-', '+', ':', '_']).take(2);
    is_date
        || (digits.contains('.')
            && numbers.clone().count() == 2
            && numbers
                .into_iter()
                .all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit())))
}

/// `DB_PASSWORD_2`, `RS256`, `NIST-800-63B`: capitals, digits and what joins them, with a digit at most at the end of a part.
fn is_constant(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || b"_-.".contains(&byte))
        && gate::switches(value.as_bytes()) < 3
}

/// True if a part of the value names a secret, or says of which sort it is.
fn describes(value: &str) -> bool {
    static TELLING: LazyLock<HashSet<String>> = LazyLock::new(|| {
        let nouns = [WordRole::Password, WordRole::Token, WordRole::Login]
            .into_iter()
            .flat_map(|role| WORDS.of(role));
        WORDS.of(WordRole::Describes).chain(nouns).map(str::to_lowercase).collect()
    });
    parts(value).any(|part| TELLING.contains(part.to_lowercase().as_str()))
}

/// The words of a name: `sha256-hashedPassword` has *sha*, *hashed* and *Password*.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(|c: char| !c.is_alphabetic()).flat_map(|run| {
        let mut rest = run;
        std::iter::from_fn(move || {
            let mut was_lower = false;
            let end = rest.char_indices().find_map(|(at, c)| {
                let is_cut = was_lower && c.is_uppercase();
                was_lower = c.is_lowercase();
                is_cut.then_some(at)
            });
            let (part, more) = rest.split_at(end.unwrap_or(rest.len()));
            rest = more;
            (!part.is_empty()).then_some(part)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expected: Looks, values: &[&str]) {
        for value in values {
            assert_eq!(looks(value), expected, "{value}");
        }
    }

    #[test]
    fn chosen() {
        check(
            Looks::Chosen,
            &[
                "mossy-Falcon82",
                "Pl0ver#Nest",
                "x7Kq2mZp",
                "Kupfer7Dachs!Nord",
                "Zw1ebel-Turm44",
                "Zima&Kot92",
                "Grün7Dächer",
            ],
        );
    }

    #[test]
    fn strong() {
        check(Looks::Strong, &["Lagarto29", "Zeppelin7", "tide-pool-lamp-4x"]);
    }

    #[test]
    fn mixed() {
        check(Looks::Mixed, &["hunter2x", "k9$mmQ", "otter77", "quiet-heron-wading-north"]);
    }

    #[test]
    fn ordinary() {
        check(
            Looks::Ordinary,
            &[
                "wrong",
                "required",
                "12345678",
                "sha256-hashed",
                "base64",
                "AES256Encrypted",
                "8-character",
                "v2.1.0-rc1",
                "10.0.4.12",
                "2025-03-12T08:14:55Z",
                "DB_PASSWORD_2",
                "RS256",
                "ann@host.org",
                "/etc/passwd2",
                "config/prod1.yaml",
                "UserPassword2",
                "OAuth2Client",
                "newPassword1",
                "$DB_PASS",
                "${X9}",
                "never-stored-in-plain",
                "utf-8-encoded",
                "DEIN_PASSWORT_HIER2",
                "id_rsa2",
                "123e4567-e89b-12d3-a456-426614174000",
                "call2Me()",
                "1Password8",
                "x",
                "",
            ],
        );
    }

    #[test]
    fn phrases() {
        for value in
            ["orbit salad 7 Whisper!", "tide pool 9 Lamp", "S3cr3t 9xQ pool", "blue#whale under3 ice"]
        {
            assert!(is_phrase(value), "{value}");
        }
        for value in [
            "must have 8 characters",
            "Password must be 8 letters!",
            "Passwort vergessen?",
            "the quick brown fox 12345",
            "Enter 2 words!",
            "foo",
            "a, b1, c2!",
            "wrong password!",
        ] {
            assert!(!is_phrase(value), "{value}");
        }
        assert!(is_plain_phrase("four quiet herons wading"));
        assert!(!is_plain_phrase("this is the passphrase") && !is_plain_phrase("two words"));
    }
}
