//! Secrets known by the name they are assigned to: `password = …`, `API_KEY=…`, `"client_secret": …`.

use std::ops::Range;

use crate::alphabet::{Alphabet, MeasuredRuns};
use crate::credential::{self, Looks};
use crate::names::{NameKind, classify, is_environment_name, is_issued_token, is_issuer, names_phrase};
use crate::{MARK, SecretKind, gate, headers};

/// Longer than any name, and than any value that is not a token with a structure of its own.
const MOST_NAME: usize = 64;
const MOST_VALUE: usize = 512;

const NAME: Alphabet = Alphabet::of(b"A-Za-z0-9_.-");
/// The characters of a value without quotes: anything but controls, blanks, quotes, brackets and separators.
const BARE: Alphabet = Alphabet::of(b"A-Za-z0-9!#$%*+./:=?@^_~-");
const BLANK: Alphabet = Alphabet::of(b" \t");

/// The place of a value, and its quoting.
struct AssignedValue {
    range: Range<usize>,
    is_quoted: bool,
}

/// The secret that is assigned to the name in which a keyword stands at `keyword`.
pub(crate) fn find(
    text: &str,
    keyword: &Range<usize>,
    runs: &mut MeasuredRuns,
) -> Option<(SecretKind, Range<usize>)> {
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

    if let Some(range) = rest_of_line(text, name_start, value_start, what) {
        return Some((kind_of(name, what, &text[range.clone()]), range));
    }
    let mut value = read_value(bytes, value_start, runs)?;
    // A person may choose any letter for a password; what a machine made ends where ASCII does.
    if !value.is_quoted && what != NameKind::Password {
        let length = bytes[value.range.clone()].iter().take_while(|byte| byte.is_ascii()).count();
        value.range.end = value.range.start + length;
    }
    let written = &text[value.range.clone()];
    let is_setting = name.starts_with("--") || is_environment_name(name);
    let is_phrase = || value.is_quoted && names_phrase(name) && credential::is_plain_phrase(written);
    if !is_secret(written, what, value.is_quoted, is_setting) && !is_phrase() {
        // Many issuers' tokens are UUIDs, but where a name says no more than *token* so are other things.
        let is_issued = what == NameKind::Token && gate::is_uuid(written) && is_issued_token(name);
        is_issued.then_some(())?;
    }
    Some((kind_of(name, what, written), value.range))
}

/// The value of a setting that is a line by itself, with signs that elsewhere end a value: `DB_PASSWORD=j}N4&k(2`.
fn rest_of_line(text: &str, name_start: usize, at: usize, what: NameKind) -> Option<Range<usize>> {
    const SIGNS: &str = "!#$%^&*~|;{}()[]<>,";
    const CODE: &[&str] = &[
        "->", "=>", "::", "&&", "||", "$(", "${", "()", "<<", "{{", "<%", "/>", "</", "&amp;", "&quot;",
        "&lt;", "&gt;",
    ];
    if !matches!(what, NameKind::Password | NameKind::Secret | NameKind::Key) {
        return None;
    }
    let before = &text.as_bytes()[..name_start];
    let line = &before[memchr::memrchr(b'\n', &before[before.len().saturating_sub(64)..])
        .map_or(before.len().saturating_sub(64), |at| before.len().saturating_sub(64) + at + 1)..];
    let line = line.trim_ascii();
    let is_first = line.is_empty() || [&b"export"[..], b"set", b"ENV", b"-", b"+", b">"].contains(&line);
    let rest = &text[at..];
    let end = rest
        .bytes()
        .take(MOST_VALUE + 1)
        .position(|byte| byte.is_ascii_whitespace())
        .unwrap_or(rest.len().min(MOST_VALUE + 1));
    let value = rest.get(..end)?;
    // Only a few blanks are looked at: the rest of a line may be long.
    let after = rest.as_bytes()[end..].iter().take(16).find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
    let is_whole = end <= MOST_VALUE && after.is_none_or(|byte| *byte == b'\n');
    if !is_first
        || !is_whole
        || value.contains(['"', '\'', '`', '\\'])
        || value.ends_with([')', ';', ',', '{', '(', '[', ']', '}', '>'])
    {
        return None;
    }
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let is_mixed = has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && value.contains(|c: char| SIGNS.contains(c));
    let is_long = value.len() >= if what == NameKind::Password { 8 } else { 20 };
    let is_secret = is_mixed && is_long && (what == NameKind::Password || gate::looks_scrambled(value));
    let is_list = what == NameKind::Password
        && value.contains([';', '&', ','])
        && value.trim_end_matches('=').contains('=');
    let stands_for_one = is_list
        || CODE.iter().any(|code| value.contains(code))
        || gate::is_placeholder(value)
        || gate::is_path(value);
    (is_secret && !stands_for_one).then(|| at..at + value.len())
}

fn continues_with_word(bytes: &[u8]) -> bool {
    matches!(bytes, [b'-' | b'.', next, ..] if next.is_ascii_alphanumeric() || *next == b'_')
}

/// The start of the value, if something is assigned to the name: `=`, `:`, `:=`, `=>`, a flag's blank, an element's `>`,
/// the next argument of a call, a `value` that follows.
fn value_start(bytes: &[u8], name_start: usize, name_end: usize) -> Option<usize> {
    const CLOSING: Alphabet = Alphabet::of(b"\"'`]\\*?");
    let closing = CLOSING.run(&bytes[name_end..], 6);
    let mut at = name_end + closing;
    // HTML writes quotes and brackets as entities.
    at += entity(&bytes[at..], QUOTES);
    let gap = BLANK.run(&bytes[at..], 40);
    let is_flag = bytes[name_start..].starts_with(b"--") && at == name_end && gap > 0;
    let is_quoted = closing > 0 && matches!(bytes[..name_start].last(), Some(b'"' | b'\''));
    at += gap;
    let operator = match &bytes[at..] {
        [b':', b':', ..] => return None,
        [b':', b'=', ..] | [b'=', b'>' | b'=', ..] => 2,
        [b'=' | b':', ..] => 1,
        bytes if bytes.starts_with("：".as_bytes()) => "：".len(),
        [b'>', ..] if name_start > 0 && bytes[name_start - 1] == b'<' => 1,
        rest if rest.starts_with(b"&gt;") && bytes[..name_start].ends_with(b"&lt;") => 4,
        [b'>', ..] if is_quoted && is_attribute(&bytes[..name_start - 1]) => 1,
        [b',', ..] if is_quoted && is_first_argument(&bytes[..name_start - 1]) => 1,
        _ if is_flag => 0,
        _ => return named_value(bytes, at),
    };
    at += operator;
    at += Alphabet::of(b" \t*").run(&bytes[at..], 40);
    Some(if operator == 1 { skip_type(bytes, at) } else { at })
}

const QUOTES: &[&[u8]] = &[b"&quot;", b"&#34;", b"&#x22;", b"&apos;", b"&#39;", b"&#x27;"];

/// The length of the entity at the start of `bytes`, if it is one of these.
fn entity(bytes: &[u8], entities: &[&[u8]]) -> usize {
    entities.iter().find(|entity| bytes.starts_with(entity)).map_or(0, |entity| entity.len())
}

/// `key="` or `name="` of an element, up to the quote.
fn is_attribute(before: &[u8]) -> bool {
    before.ends_with(b"key=") || before.ends_with(b"name=")
}

/// The bracket of a call, up to the quote: `define('DB_PASSWORD', '…')`.
fn is_first_argument(before: &[u8]) -> bool {
    before.trim_ascii_end().ends_with(b"(")
}

/// The start of the value of a member `value` behind the one that holds the name, as in `name: DB_PASSWORD` and
/// `value: …` of a container's environment.
fn named_value(bytes: &[u8], at: usize) -> Option<usize> {
    const BETWEEN: Alphabet = Alphabet::of(b" \t\r\n,\"'\\");
    let start = at + BETWEEN.run(&bytes[at..], 60);
    // In a string of JSON a line's end is written as an escape.
    let start = if bytes[..start].ends_with(b"\\") && bytes[start..].starts_with(b"n") {
        start + 1 + BETWEEN.run(&bytes[start + 1..], 60)
    } else {
        start
    };
    let rest = &bytes[start..];
    if start == at || !(rest.starts_with(b"value") || rest.starts_with(b"Value")) {
        return None;
    }
    let name_end = start + 5;
    let operator = name_end + Alphabet::of(b"\"'\\ \t").run(&bytes[name_end..], 6);
    matches!(bytes.get(operator), Some(b':' | b'='))
        .then(|| operator + 1 + BLANK.run(&bytes[operator + 1..], 40))
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
fn read_value(bytes: &[u8], mut at: usize, runs: &mut MeasuredRuns) -> Option<AssignedValue> {
    at += entity(&bytes[at..], QUOTES);
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
        return is_one_line.then_some(AssignedValue { range: start..start + length, is_quoted: true });
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
    Some(AssignedValue { range: at..at + length - trailing, is_quoted: false })
}

/// True if a value looks like a secret rather than a word, a placeholder, a path, a hash or code.
fn is_secret(value: &str, what: NameKind, is_quoted: bool, is_setting: bool) -> bool {
    let has = |is: fn(&u8) -> bool| value.bytes().any(|byte| is(&byte));
    let looks_secret = match what {
        NameKind::Password if has(u8::is_ascii_whitespace) => {
            return is_quoted && credential::is_phrase(value);
        }
        NameKind::Password => {
            let has_sign =
                value.bytes().any(|byte| byte.is_ascii_punctuation() && !b"_-./:()<>=".contains(&byte));
            let is_mixed = has(u8::is_ascii_alphabetic) && (has(u8::is_ascii_digit) || has_sign);
            (6..=256).contains(&value.len()) && is_mixed && !is_code(value, is_quoted, is_setting)
        }
        NameKind::Secret => {
            value.len() >= 12 && (is_token(value) || (is_quoted && gate::looks_scrambled(value)))
        }
        NameKind::Token => value.len() >= 16 && is_token(value) && !gate::is_uuid(value),
        NameKind::Key => {
            let is_random = is_token(value) || (is_quoted && gate::looks_scrambled(value));
            value.len() >= 16 && is_random && !gate::is_uuid(value) && !gate::is_hash(value)
        }
        NameKind::Auth => headers::is_user_and_password(value) || (value.len() >= 16 && is_token(value)),
    };
    looks_secret && !has(u8::is_ascii_whitespace) && !gate::is_placeholder(value) && !gate::is_path(value)
}

/// True if this looks like a password where a place says that one must be.
pub(crate) fn is_password(value: &str) -> bool {
    is_secret(value, NameKind::Password, true, true)
}

/// True if a password is rather a part of a program: a template, a name, an expression.
fn is_code(value: &str, is_quoted: bool, is_setting: bool) -> bool {
    if is_quoted {
        return value.contains("{}") || value.contains('<');
    }
    let is_name = value.bytes().all(|byte| NAME.has(byte)) && gate::switches(value.as_bytes()) < 2;
    let is_chosen = || credential::looks(value) >= Looks::Chosen;
    value.contains("->")
        || value.contains("=>")
        || (!is_setting && (is_name || gate::is_words(value)) && !is_chosen())
}

fn is_token(value: &str) -> bool {
    let is_written_as_one =
        value.bytes().all(|byte| byte.is_ascii_graphic() && !b"(){}<>\"'`".contains(&byte));
    is_written_as_one && (gate::looks_random(value) || gate::is_uuid(value)) && !gate::is_words(value)
}

/// The issuer, where name and look together tell it; else password or secret.
fn kind_of(name: &str, what: NameKind, value: &str) -> SecretKind {
    let name = name.to_ascii_lowercase();
    let is_base64 = gate::is_base64(value);
    if name.contains("heroku") && (gate::is_uuid(value) || value.starts_with("HRKU")) {
        SecretKind::Heroku
    } else if name.contains("twilio") {
        SecretKind::Twilio
    } else if value.len() == 40
        && is_base64
        && (name.contains("aws") || name.contains("secret_access_key") || name.contains("secretaccesskey"))
    {
        SecretKind::Aws
    } else if value.len() == 88 && is_base64 && name.ends_with("accountkey") {
        SecretKind::Azure
    } else if what == NameKind::Password {
        SecretKind::Password
    } else {
        SecretKind::Secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every assignment found in `text`, by looking at every keyword as a scan does.
    fn values(text: &str) -> Vec<(SecretKind, &str)> {
        crate::find_secrets(text).into_iter().map(|finding| (finding.kind, &text[finding.range])).collect()
    }

    #[track_caller]
    fn check(text: &str, kind: SecretKind, value: &str) {
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
            check(&format!("{before}{TOKEN}{after}"), SecretKind::Secret, TOKEN);
        }
    }

    #[test]
    fn passwords() {
        check("password = \"hunter2!x\"", SecretKind::Password, "hunter2!x");
        check("DB_PASSWORD=Zeppelin7", SecretKind::Password, "Zeppelin7");
        check("\"passwd\":\"k9$mmQ\"", SecretKind::Password, "k9$mmQ");
        check("Pwd=Aq12!xyz;Database=x", SecretKind::Password, "Aq12!xyz");
        check("SMTP_PASS: abc9!def", SecretKind::Password, "abc9!def");
        check("<password>n0tAw0rd</password>", SecretKind::Password, "n0tAw0rd");
        check("My password is S3cr3t9xQ.", SecretKind::Password, "S3cr3t9xQ");
        check("the password is: \"k9$mmQ\"", SecretKind::Password, "k9$mmQ");
    }

    #[test]
    fn passwords_as_files_write_them() {
        check("define( 'DB_PASSWORD', 'j}N4:k@2vR~pTz' );", SecretKind::Password, "j}N4:k@2vR~pTz");
        check("DB_PASSWORD=j}N4&k@2vR~p|Tz\n", SecretKind::Password, "j}N4&k@2vR~p|Tz");
        check("  password: k(9x;2Vm\n  user: a", SecretKind::Password, "k(9x;2Vm");
        check("- name: DB_PASSWORD\n  value: \"tr0utVellum\"", SecretKind::Password, "tr0utVellum");
        check("{\"name\": \"DB_PASSWORD\", \"value\": \"tr0utVellum\"}", SecretKind::Password, "tr0utVellum");
        check("<add key=\"DbPassword\" value=\"tr0utVellum\"/>", SecretKind::Password, "tr0utVellum");
        check("<entry key=\"db.password\">tr0utVellum</entry>", SecretKind::Password, "tr0utVellum");
        check("DB_PASSWORD=\"tide pool 9 Lamp\"", SecretKind::Password, "tide pool 9 Lamp");
        check("passphrase: 'four quiet herons wading'", SecretKind::Password, "four quiet herons wading");
        check("password: mossy-Falcon82", SecretKind::Password, "mossy-Falcon82");
        check("    psk=\"tr0utVellum\"", SecretKind::Password, "tr0utVellum");
        check("password=&quot;tr0ut!Vellum&quot;", SecretKind::Password, "tr0ut!Vellum");
        check("&quot;password&quot;: &quot;tr0ut!Vellum&quot;", SecretKind::Password, "tr0ut!Vellum");
        check("&lt;password&gt;tr0ut!Vellum&lt;/password&gt;", SecretKind::Password, "tr0ut!Vellum");
        check("storePass = 'tr0utVellum'", SecretKind::Password, "tr0utVellum");
        check("//r.io/:_password=dHIwdXRWZWxsdW0=", SecretKind::Password, "dHIwdXRWZWxsdW0=");
    }

    #[test]
    fn keys_of_frameworks_and_registries() {
        let django = "9w!x&x+h(no6tbf^seho%7zy9q7$vu2t40@y1d*-tylka!s_-m";
        check(&format!("SECRET_KEY = '{django}'"), SecretKind::Secret, django);
        check(
            &format!("SECRET_KEY='django-insecure-{django}'"),
            SecretKind::Secret,
            &format!("django-insecure-{django}"),
        );
        check(&format!("DJANGO_SECRET_KEY={django}\n"), SecretKind::Secret, django);
        let hex = "0f1e2d3c4b5a49788695a4b3c2d1e0f9".repeat(4);
        check(&format!("  secret_key_base: {hex}\n"), SecretKind::Secret, &hex);
        check(&format!("SECRET_KEY_BASE={hex}"), SecretKind::Secret, &hex);
        check("_auth=YW5uOm9wZW4gc2VzYW1lIDk=", SecretKind::Secret, "YW5uOm9wZW4gc2VzYW1lIDk=");
        check("//r.io/:_auth = YW5uOm9wZW4gc2VzYW1lIDk=", SecretKind::Secret, "YW5uOm9wZW4gc2VzYW1lIDk=");
        let uuid = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";
        check(&format!("//r.io/:_authToken={uuid}"), SecretKind::Secret, uuid);
        check(&format!("CODECOV_TOKEN={uuid}"), SecretKind::Secret, uuid);
        check(
            "define('AUTH_SALT', 'x9|K2m-Zq+7Lp$3Ty&5Vb@0;w');",
            SecretKind::Secret,
            "x9|K2m-Zq+7Lp$3Ty&5Vb@0;w",
        );
    }

    #[test]
    fn issuers_by_name() {
        let secret = "wJalrXUtnFEMIK7MDENGbPxRfiCYzzQ8LKEYabcd";
        check(&format!("AWS_SECRET_ACCESS_KEY={secret}"), SecretKind::Aws, secret);
        check(&format!("\"SecretAccessKey\": \"{secret}\""), SecretKind::Aws, secret);
        let uuid = "0f1e2d3c-4b5a-4978-8695-a4b3c2d1e0f9";
        check(&format!("HEROKU_API_KEY={uuid}"), SecretKind::Heroku, uuid);
        let hex = "0f1e2d3c4b5a49788695a4b3c2d1e0f9";
        check(&format!("TWILIO_AUTH_TOKEN={hex}"), SecretKind::Twilio, hex);
        let azure = format!("{}==", "Zq3+7LmX/0pRk9TyBw".repeat(5)[..86].to_owned());
        check(&format!("AccountName=x;AccountKey={azure};E=y"), SecretKind::Azure, &azure);
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
            "define('DB_PASSWORD', getenv('DB_PASSWORD'));",
            "assertEquals(\"password\", \"passwordField\")",
            "[\"password\", \"tr0ut-Vellum_2291\"]",
            "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef: x",
            "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)",
            "<input name=\"password\" value=\"\">",
            "password = hash(secret, 2)&1",
            "DB_PASSWORD=$(cat /run/secret1)",
            "PASSWORD=abc;def",
            "password: Option2",
            "\"password\": \"Must have 8 characters!\"",
            "\"password\": \"Passwort vergessen?\"",
            "SECRET_KEY = 'django-insecure-example-key-for-the-docs'",
            "bypass: S3cr3t9xQ1",
            "http_auth: basic9Xq2",
            "PASSWORD_SALT_ROUNDS=12",
            "salt: 9f8Kq2mZx71Lp3Ty5Vb0",
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
