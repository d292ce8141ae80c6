//! Secrets known by the name they are assigned to: `password = …`, `API_KEY=…`, `"client_secret": …`.

use std::ops::Range;

use crate::alphabet::{Alphabet, Runs};
use crate::{Kind, MARK, gate};

/// What the names of secrets end with. Each is looked for in lower case, in upper case and capitalised.
pub(crate) const KEYWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pass",
    "secret",
    "token",
    "key",
    "credential",
    "credentials",
    "twilio",
    "heroku",
];

/// Longer than any name, and than any value that is not a token with a structure of its own.
const MOST_NAME: usize = 64;
const MOST_VALUE: usize = 512;

const NAME: Alphabet = Alphabet::of(b"A-Za-z0-9_.-");
/// What a value without quotes is written in: anything but controls, blanks, quotes, brackets and separators.
const BARE: Alphabet = Alphabet::of(b"A-Za-z0-9!#$%*+./:=?@^_~-");
const BLANK: Alphabet = Alphabet::of(b" \t");

/// What a name says about the value it is given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    /// Chosen by a person, perhaps short.
    Password,
    /// Says that the value is secret: even a hash or a UUID is then a key.
    Secret,
    /// `token`: often secret, but also a word of parsers, pages and models.
    Token,
    /// `SOMETHING_KEY` of an environment file.
    Key,
}

/// How a value is written.
struct Value {
    range: Range<usize>,
    is_quoted: bool,
}

/// The secret that is assigned to the name in which a keyword stands at `keyword`.
pub(crate) fn find(text: &str, keyword: &Range<usize>, runs: &mut Runs) -> Option<(Kind, Range<usize>)> {
    let bytes = text.as_bytes();
    // Most places end here: the keyword is part of another word, or nothing is assigned.
    let name_end = keyword.end + Alphabet::of(b"A-Z0-9_").run(&bytes[keyword.end..], MOST_NAME);
    let tail = &text[keyword.end..name_end];
    if !tail.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_') && !is_issuer(&text[keyword.clone()]) {
        return None;
    }
    if bytes.get(name_end).is_some_and(u8::is_ascii_alphanumeric) || continues_with_word(&bytes[name_end..]) {
        return None;
    }
    let name_start = keyword.start - NAME.run_back(&bytes[..keyword.start], MOST_NAME);
    let name = &text[name_start..name_end];
    let value_start = value_start(bytes, name_start, name_end)?;
    let what = classify(name)?;

    let mut value = read_value(bytes, value_start, runs)?;
    // A person may choose any letter for a password; what a machine made ends where ASCII does.
    if !value.is_quoted && what != Name::Password {
        let length = bytes[value.range.clone()].iter().take_while(|byte| byte.is_ascii()).count();
        value.range.end = value.range.start + length;
    }
    let written = &text[value.range.clone()];
    let is_setting = name.starts_with("--") || is_environment_name(name);
    if !is_secret(written, what, value.is_quoted, is_setting) {
        return None;
    }
    Some((kind_of(name, what, written), value.range))
}

fn continues_with_word(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-' | b'.', next, ..] if next.is_ascii_alphanumeric() || *next == b'_')
}

fn is_issuer(keyword: &str) -> bool {
    keyword.eq_ignore_ascii_case("twilio") || keyword.eq_ignore_ascii_case("heroku")
}

/// `SOMETHING_TOKEN`: upper case with at least one underscore.
fn is_environment_name(name: &str) -> bool {
    name.contains('_') && !name.bytes().any(|byte| byte.is_ascii_lowercase() || byte == b'.' || byte == b'-')
}

/// What a name says about its value; `None` if nothing.
fn classify(name: &str) -> Option<Name> {
    const PASSWORDS: &[&str] = &["password", "passwd", "passphrase", "passcode", "pwd"];
    const SECRETS: &[&str] = &[
        "secret",
        "apikey",
        "secretkey",
        "privatekey",
        "accesskey",
        "authkey",
        "encryptionkey",
        "signingkey",
        "accountkey",
        "masterkey",
        "servicekey",
        "credential",
        "credentials",
    ];
    /// Tokens and keys that are no secrets.
    const HARMLESS: &[&str] = &[
        "public",
        "max",
        "next",
        "page",
        "cancel",
        "cache",
        "primary",
        "foreign",
        "sort",
        "partition",
        "idempotency",
        "continuation",
        "sync",
        "stop",
        "start",
        "end",
        "eos",
        "bos",
        "pad",
        "mask",
        "sep",
        "cls",
        "unk",
        "shortcut",
        "hot",
        "host",
        "object",
        "publishable",
    ];
    let squeezed: String =
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let squeezed = squeezed.trim_end_matches(|c: char| c.is_ascii_digit());
    let ends_with = |endings: &[&str]| endings.iter().any(|ending| squeezed.ends_with(ending));
    let is_harmless =
        || name.split(['_', '-', '.']).any(|word| HARMLESS.contains(&word.to_ascii_lowercase().as_str()));
    if ends_with(PASSWORDS) || name.ends_with("_pass") || name.ends_with("_PASS") || name == "PASS" {
        Some(Name::Password)
    } else if squeezed.ends_with("token") {
        (!is_harmless()).then_some(Name::Token)
    } else if ends_with(SECRETS) || is_issuer_name(squeezed) {
        (!is_harmless()).then_some(Name::Secret)
    } else if squeezed.ends_with("key") && is_environment_name(name) {
        (!is_harmless()).then_some(Name::Key)
    } else {
        None
    }
}

/// `TWILIO_AUTH`, `TWILIO_API_SID`, `HEROKU_KEY`; the SID of an account is none of these.
fn is_issuer_name(squeezed: &str) -> bool {
    let starts = squeezed.starts_with("twilio") || squeezed.starts_with("heroku");
    starts && (squeezed.ends_with("key") || squeezed.ends_with("auth") || squeezed.ends_with("apisid"))
}

/// Where the value begins, if something is assigned to the name: `=`, `:`, `:=`, `=>`, a flag's blank, an element's `>`.
fn value_start(bytes: &[u8], name_start: usize, name_end: usize) -> Option<usize> {
    const CLOSING: Alphabet = Alphabet::of(b"\"'`]\\*?");
    let mut at = name_end + CLOSING.run(&bytes[name_end..], 6);
    let gap = BLANK.run(&bytes[at..], 40);
    let is_flag = bytes[name_start..].starts_with(b"--") && at == name_end && gap > 0;
    at += gap;
    let operator = match &bytes[at..] {
        [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>' | b'=', ..] => 2,
        [b'=' | b':', ..] => 1,
        bytes if bytes.starts_with("：".as_bytes()) => "：".len(),
        // In running text: the password is …
        [b'i', b's', b' ' | b':', ..] if gap > 0 && is_password_name(&bytes[name_start..name_end]) => 3,
        [b'>', ..] if name_start > 0 && bytes[name_start - 1] == b'<' => 1,
        _ if is_flag => 0,
        _ => return None,
    };
    at += operator;
    at += Alphabet::of(b" \t*").run(&bytes[at..], 40);
    Some(if operator == 1 { skip_type(bytes, at) } else { at })
}

/// Whether this is the very word, as running text has it.
fn is_password_name(name: &[u8]) -> bool {
    ["password", "passphrase", "passcode"].iter().any(|word| name.eq_ignore_ascii_case(word.as_bytes()))
}

/// Skips a type between a name and its value: `password: &str = "…"`.
fn skip_type(bytes: &[u8], at: usize) -> usize {
    const TYPE: Alphabet = Alphabet::of(b"A-Za-z0-9_&'<>[]|.: ");
    if !bytes.get(at).is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'&') {
        return at;
    }
    let end = at + TYPE.run(&bytes[at..], 48);
    let after = end + 1 + BLANK.run(bytes.get(end + 1..).unwrap_or_default(), 8);
    let is_typed = bytes[..end].ends_with(b" ")
        && bytes.get(end) == Some(&b'=')
        && matches!(bytes.get(after), Some(b'"' | b'\'' | b'`'));
    if is_typed { after } else { at }
}

/// Reads a literal in quotes, also in quotes of a string inside a string, or up to where a bare word ends: at a
/// blank, at punctuation that seldom is part of a secret, at a character of a script without blanks.
fn read_value(bytes: &[u8], mut at: usize, runs: &mut Runs) -> Option<Value> {
    if let [b'b' | b'r' | b'f' | b'u' | b'L' | b'@', b'"' | b'\'', ..] = &bytes[at..] {
        at += 1;
    }
    let slashes = Alphabet::of(b"\\").run(&bytes[at..], 8);
    if let Some(quote @ (b'"' | b'\'' | b'`')) = bytes.get(at + slashes).copied() {
        let start = at + slashes + 1;
        let reach = &bytes[start..bytes.len().min(start + MOST_VALUE)];
        let length = memchr::memchr_iter(quote, reach).find_map(|found| {
            let before = Alphabet::of(b"\\").run_back(&reach[..found], 8);
            (before <= slashes).then_some(found - before)
        })?;
        let is_one_line = memchr::memchr2(b'\n', b'\r', &reach[..length]).is_none();
        return is_one_line.then_some(Value { range: start..start + length, is_quoted: true });
    }

    let mut length = runs.measure(BARE, bytes, at);
    // Letters beyond ASCII belong to a word too, but not those of scripts without blanks.
    while length <= MOST_VALUE && bytes.get(at + length).is_some_and(|byte| (0x80..0xE2).contains(byte)) {
        length += 1;
        length += BARE.run(&bytes[at + length..], MOST_VALUE);
    }
    if length > MOST_VALUE {
        return None;
    }
    // Calls, subscripts and generics are code, not a value.
    if matches!(bytes.get(at + length), Some(b'(' | b'[' | b'{'))
        && !bytes[at + length..].starts_with(MARK.as_bytes())
    {
        return None;
    }
    let trailing = bytes[at..at + length].iter().rev().take_while(|byte| b".:!?*".contains(byte)).count();
    Some(Value { range: at..at + length - trailing, is_quoted: false })
}

/// Whether a value looks like a secret rather than a word, a placeholder, a path, a hash or code.
fn is_secret(value: &str, what: Name, is_quoted: bool, is_setting: bool) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let looks_secret = match what {
        Name::Password => {
            let has_sign =
                value.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:()<>=".contains(&byte));
            let is_mixed = has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has_sign);
            (6..=256).contains(&value.len()) && is_mixed && !is_code(value, is_quoted, is_setting)
        }
        Name::Secret => value.len() >= 12 && is_token(value),
        Name::Token => value.len() >= 16 && is_token(value) && !gate::is_uuid(value),
        Name::Key => value.len() >= 16 && is_token(value) && !gate::is_uuid(value) && !gate::is_hash(value),
    };
    looks_secret && !has(u8::is_ascii_whitespace) && !gate::is_placeholder(value) && !gate::is_path(value)
}

/// Whether this looks like a password where a place says that one must be.
pub(crate) fn is_password(value: &str) -> bool {
    is_secret(value, Name::Password, true, true)
}

/// Whether a password is rather a part of a program: a template, a name, an expression.
fn is_code(value: &str, is_quoted: bool, is_setting: bool) -> bool {
    if is_quoted {
        return value.contains("{}") || value.contains('<');
    }
    let is_name = value.bytes().all(|byte| NAME.has(byte)) && gate::switches(value.as_bytes()) < 2;
    value.contains("->") || value.contains("=>") || (!is_setting && (is_name || gate::is_words(value)))
}

fn is_token(value: &str) -> bool {
    let is_written_as_one =
        value.bytes().all(|byte| byte.is_ascii_graphic() && !b"(){}<>\"'`".contains(&byte));
    is_written_as_one && (gate::looks_random(value) || gate::is_uuid(value)) && !gate::is_words(value)
}

/// Who issued it, where name and look together say so.
fn kind_of(name: &str, what: Name, value: &str) -> Kind {
    let name = name.to_ascii_lowercase();
    let is_base64 = gate::is_base64(value);
    if name.contains("heroku") && (gate::is_uuid(value) || value.starts_with("HRKU")) {
        Kind::Heroku
    } else if name.contains("twilio") {
        Kind::Twilio
    } else if value.len() == 40
        && is_base64
        && (name.contains("aws") || name.contains("secret_access_key") || name.contains("secretaccesskey"))
    {
        Kind::Aws
    } else if value.len() == 88 && is_base64 && name.ends_with("accountkey") {
        Kind::Azure
    } else if what == Name::Password {
        Kind::Password
    } else {
        Kind::Secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every assignment found in `text`, by looking at every keyword as a scan does.
    fn values(text: &str) -> Vec<(Kind, &str)> {
        crate::find_secrets(text).into_iter().map(|finding| (finding.kind, &text[finding.range])).collect()
    }

    #[track_caller]
    fn check(text: &str, kind: Kind, value: &str) {
        assert_eq!(values(text), [(kind, value)], "{text}");
    }

    #[track_caller]
    fn check_none(text: &str) {
        assert_eq!(values(text), [], "{text}");
    }

    const TOKEN: &str = "9f8Kq2mZx71Lp3Ty5Vb0";

    #[test]
    fn the_ways_to_assign() {
        for (before, after) in [
            ("api_key = \"", "\""),
            ("apiKey: '", "',"),
            ("API_KEY=", "\n"),
            ("\"api-key\": \"", "\"}"),
            ("X-Api-Key: ", "\r\n"),
            ("--api-key ", " --verbose"),
            ("--api-key=", ""),
            ("<apiKey>", "</apiKey>"),
            ("apikey := `", "`"),
            (":api_key => '", "'"),
            ("const apiKey: string = \"", "\";"),
            ("let api_key: &'static str = \"", "\";"),
            ("env[\"API_KEY\"] = \"", "\""),
            ("?api_key=", "&x=1"),
            (r#"{\"api_key\": \""#, r#"\"}"#),
            (r#"{\\\"api_key\\\":\\\""#, r#"\\\"}"#),
            ("**API_KEY:** ", "."),
            ("密钥 api_key：", "。"),
            ("令牌token=", "是密钥"),
            ("export STRIPE_WEBHOOK_SECRET=", ""),
            ("client_secret2: ", ""),
            (r"line\nAPI_KEY=", r"\nB=1"),
            ("SENTRY_KEY=", ""),
            ("access_token=b'", "'"),
        ] {
            check(&format!("{before}{TOKEN}{after}"), Kind::Secret, TOKEN);
        }
    }

    #[test]
    fn passwords() {
        check("password = \"hunter2!x\"", Kind::Password, "hunter2!x");
        check("DB_PASSWORD=Zeppelin7", Kind::Password, "Zeppelin7");
        check("\"passwd\":\"k9$mmQ\"", Kind::Password, "k9$mmQ");
        check("Pwd=Aq12!xyz;Database=x", Kind::Password, "Aq12!xyz");
        check("SMTP_PASS: abc9!def", Kind::Password, "abc9!def");
        check("<password>n0tAw0rd</password>", Kind::Password, "n0tAw0rd");
        check("My password is S3cr3t9xQ.", Kind::Password, "S3cr3t9xQ");
        check("the password is: \"k9$mmQ\"", Kind::Password, "k9$mmQ");
    }

    #[test]
    fn issuers_by_name() {
        let secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYzzQ8LKEYabcd";
        check(&format!("AWS_SECRET_ACCESS_KEY={secret}"), Kind::Aws, secret);
        check(&format!("\"SecretAccessKey\": \"{secret}\""), Kind::Aws, secret);
        let uuid = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";
        check(&format!("HEROKU_API_KEY={uuid}"), Kind::Heroku, uuid);
        let hex = "0f1e2d3c4b5a49788695a4b3c2d1e0f9";
        check(&format!("TWILIO_AUTH_TOKEN={hex}"), Kind::Twilio, hex);
        let azure = format!("{}==", "Zq3+7LmX/0pRk9TyBw".repeat(5)[..86].to_owned());
        check(&format!("AccountName=x;AccountKey={azure};E=y"), Kind::Azure, &azure);
    }

    #[test]
    fn code_words_and_placeholders() {
        for text in [
            "password = get_password()",
            "password = self.config.password2",
            "token = tokens[0]",
            "let token: Token = next();",
            "password: string",
            "password: String64,",
            "if password == other:",
            "The password is required.",
            "the password is sha256-hashed, the passphrase is base64 encoded",
            "password isnt9!x",
            "your password is 12 characters long",
            "the password is user's2 own",
            "api_key = os.environ[\"API_KEY\"]",
            "apiKey: process.env.API_KEY",
            "API_KEY=${API_KEY}",
            "API_KEY=$API_KEY_2",
            "API_KEY=<your-api-key-1>",
            "API_KEY=your-api-key-1",
            "password=changeme1",
            "password: \"********\"",
            "password=[REDACTED]",
            "token_count = 123456789012345678",
            "max_tokens: 4096",
            "tokenizer = \"cl100k_base_v2x9\"",
            "public_key = \"9f8Kq2mZx71Lp3Ty5Vb0\"",
            "cache_key: \"9f8Kq2mZx71Lp3Ty5Vb0\"",
            "key: 9f8Kq2mZx71Lp3Ty5Vb0",
            "secret: /run/secrets/db1",
            "private_key = ~/.ssh/id_ed25519",
            "password.length >= 8",
            "token::Kind::A1b2C3d4E5f6G7h8",
            "The password: must have 8 characters",
            "token: 123e4567-e89b-12d3-a456-426614174000",
            "CACHE_KEY=da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "\"secret\": \"\"",
            "password=",
            "password",
            "secret:",
            "secret = \"the quick brown fox 12345\"",
            "password = f\"{user}{1}\"",
            "test_secret = 'test-secret-12345'",
            "password='password123'",
            "key_password = hash256",
        ] {
            check_none(text);
        }
    }
}
