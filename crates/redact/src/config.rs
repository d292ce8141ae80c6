//! Secrets known by their place in a file: lines of `.pgpass`, members of a JSON Web Key, `_auth` of `.npmrc`, blocks of
//! PuTTY's key files.

use std::ops::Range;

use memchr::memmem;

use crate::alphabet::Alphabet;
use crate::gate;

/// The parts of lines of `.pgpass` that are seldom elsewhere: usual ports, and any of all.
pub(crate) const PGPASS: &[&str] = &[":5432:", ":5433:", ":5434:", ":6432:", ":6543:", ":*:"];
/// Behind the file's name any port will do.
pub(crate) const PGPASS_NAME: &str = "pgpass";

/// Longer than any line of such a file.
const MOST_LINE: usize = 512;

/// The password of the line of `.pgpass` at `at`: `host:port:database:user:password`.
pub(crate) fn find_pgpass(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`".contains(byte);
    let before = &bytes[at.saturating_sub(MOST_LINE)..at];
    let start = at - before.iter().rev().take_while(|byte| !is_end(byte)).count();
    let length = bytes[start..].iter().take(MOST_LINE).take_while(|byte| !is_end(byte)).count();
    // The password is the last of its line.
    let after = bytes[start + length..].iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    if after.is_some_and(|byte| !b"\r\n\"'`".contains(byte)) {
        return None;
    }
    // In a string of JSON the line ends with an escape.
    let line = text.get(start..start + length)?;
    let line = &line[..line.find("\\n").unwrap_or(line.len())];
    let start = start + line.rfind("\\n").map_or(0, |at| at + 2);
    let fields: Vec<Range<usize>> = fields(line).collect();
    let [host, port, database, user, password] = fields.as_slice() else { return None };
    let is_name = |field: &Range<usize>| {
        let field = &line[field.clone()];
        field == "*"
            || (field.bytes().any(|byte| !byte.is_ascii_digit())
                && field.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-/@".contains(&byte)))
    };
    let port = &line[port.clone()];
    let is_port =
        port == "*" || (2..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit());
    let value = &line[password.clone()];
    let is_secret = value.len() >= 4
        && !gate::is_placeholder(value)
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    (is_port && [host, database, user].into_iter().all(is_name) && is_secret)
        .then(|| start + password.start..start + password.end)
}

/// The lines behind the name of the file that ends at `at`.
pub(crate) fn find_pgpass_below(text: &str, at: usize, mut add: impl FnMut(Range<usize>)) {
    let reach = text.floor_char_boundary(at + MOST_LINE * 2);
    let mut from = at;
    for line in text[at..reach].split('\n').take(12) {
        if let Some(colon) = line.find(':')
            && let Some(range) = find_pgpass(text, from + colon)
        {
            add(range);
        }
        from += line.len() + 1;
    }
}

/// The fields of a line, which a backslash before a colon does not part.
fn fields(line: &str) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let mut is_escaped = false;
    let mut ends = line.char_indices().filter_map(move |(at, c)| {
        let is_end = c == ':' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end.then_some(at)
    });
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let end = ends.next().unwrap_or_else(|| {
            is_over = true;
            line.len()
        });
        let field = start..end;
        start = end + 1;
        Some(field)
    })
}

/// The private members of a JSON Web Key.
pub(crate) const JWK: &[&str] = &["\"d\"", "\"p\"", "\"q\"", "\"dp\"", "\"dq\"", "\"qi\"", "\"k\""];

/// The value of the private member of a JSON Web Key whose name ends at `at`.
pub(crate) fn find_jwk(text: &str, at: usize) -> Option<Range<usize>> {
    const AROUND: usize = 2048;
    let bytes = text.as_bytes();
    let colon = at + Alphabet::of(b" \t\n").run(&bytes[at..], 8);
    let quote = colon + 1 + Alphabet::of(b" \t\n").run(bytes.get(colon + 1..)?, 8);
    if bytes.get(colon) != Some(&b':') || bytes.get(quote) != Some(&b'"') {
        return None;
    }
    let start = quote + 1;
    let length = Alphabet::URL.run(&bytes[start..], 2 * AROUND);
    let is_key = length >= 40 && bytes.get(start + length) == Some(&b'"') && {
        let around = &bytes[at.saturating_sub(AROUND)..bytes.len().min(start + length + AROUND)];
        memmem::find(around, b"\"kty\"").is_some()
    };
    is_key.then_some(start..start + length)
}

/// The text before the private part of a PuTTY key.
pub(crate) const PUTTY: &str = "Private-Lines: ";

/// The private part of the PuTTY key, whose count of lines follows at `at`.
pub(crate) fn find_putty(text: &str, at: usize) -> Option<Range<usize>> {
    const BODY: Alphabet = Alphabet::of(b"A-Za-z0-9+/=");
    let bytes = text.as_bytes();
    let digits = Alphabet::DIGIT.run(&bytes[at..], 4);
    let count: usize = text[at..at + digits].parse().ok()?;
    let line_end = |at: usize| match &bytes[at..] {
        [b'\r', b'\n', ..] | [b'\\', b'n', ..] => 2,
        [b'\\', b'r', b'\\', b'n', ..] => 4,
        [b'\n', ..] => 1,
        _ => 0,
    };
    let start = at + digits + line_end(at + digits);
    let mut end = start;
    for line in 0..count {
        let length = BODY.run(&bytes[end..], 128);
        if length == 0 {
            break;
        }
        end += length;
        if line + 1 < count {
            end += line_end(end);
        }
    }
    // A text that was cut off may end with a line's end.
    while end > start && !BODY.has(bytes[end - 1]) {
        end -= 1;
    }
    (end >= start + 20).then_some(start..end)
}

#[cfg(test)]
mod tests {
    use crate::{SecretKind, find_secrets};

    #[track_caller]
    fn check(text: &str, kind: SecretKind, expected: &[&str]) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        let expected: Vec<_> = expected.iter().map(|value| (kind, *value)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn pgpass() {
        check("db.internal:5432:orders:app:tr0utVellum\n", SecretKind::Password, &["tr0utVellum"]);
        check("*:*:*:app:kestrel-brine\n", SecretKind::Password, &["kestrel-brine"]);
        check(
            "$ cat ~/.pgpass\nlocalhost:15432:x:ann:open\\:sesame\nb:5439:x:bob:kestrelBrine",
            SecretKind::Password,
            &["open\\:sesame", "kestrelBrine"],
        );
        check("{\"content\":\"h:5432:d:u:kestrelBrine\\n\"}", SecretKind::Password, &["kestrelBrine"]);
        for text in [
            "host:5432:db:user:password",
            "10.0.0.1:5432: connection refused",
            "listening on 0.0.0.0:5432:tcp",
            "see ~/.pgpass: host:port:db:user:pass",
            "a:5432:b:c:${PW}",
            "src/db.rs:5432:17:error:unused variable",
            "x:*:19621:0:99999:7:::",
            ":5432:",
        ] {
            check(text, SecretKind::Password, &[]);
        }
    }

    #[test]
    fn json_web_keys() {
        let value = "Zq3-7LmX_0pRk9TyBw".repeat(3)[..43].to_owned();
        check(
            &format!("{{\"kty\":\"EC\",\"crv\":\"P-256\",\"d\": \"{value}\",\"x\":\"{value}\"}}"),
            SecretKind::PrivateKey,
            &[&value],
        );
        check(&format!("{{\"d\":\"{value}\"}}"), SecretKind::PrivateKey, &[]);
        check("{\"kty\":\"EC\",\"d\":\"M12 2C6.48 2 2 6.48\"}", SecretKind::PrivateKey, &[]);
        check("{\"kty\":\"RSA\",\"d\"", SecretKind::PrivateKey, &[]);
    }

    #[test]
    fn putty_keys() {
        let line = "Zq3+7LmX/0pRk9TyBwZq3+7LmX/0pRk9TyBwZq3+7LmX/0pRk9TyBwZq3+7LmX/0";
        for end in ["\n", "\r\n", "\\n"] {
            let body = [line, end, line, end, "9TyBwZq3+7LmX/0=="].concat();
            let text =
                format!("Public-Lines: 1{end}{line}{end}Private-Lines: 3{end}{body}{end}Private-MAC: 0f1e");
            check(&text, SecretKind::PrivateKey, &[&body]);
        }
        check(
            &format!("Private-Lines: 14\n{line}\n{line}\n"),
            SecretKind::PrivateKey,
            &[&format!("{line}\n{line}")],
        );
        check("Private-Lines: 8 in the header\n", SecretKind::PrivateKey, &[]);
        check("Private-Lines: ", SecretKind::PrivateKey, &[]);
    }
}
