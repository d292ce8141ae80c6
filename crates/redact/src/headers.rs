//! Credentials in HTTP headers: `Authorization`, bare `Bearer` and `Basic` credentials, cookies.

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::alphabet::{Alphabet, MeasuredRuns, starts_word};
use crate::gate;

/// The characters of a credential (`token68` of RFC 9110, with a few that occur in practice).
const CREDENTIAL: Alphabet = Alphabet::of(b"A-Za-z0-9._~+/=:-");
/// The same with what cookies escape.
const COOKIE: Alphabet = Alphabet::of(b"A-Za-z0-9._~+/=:%!$&*|-");
/// Longer than most credentials; longer ones are tokens with a structure of their own.
const MOST: usize = 2048;

/// The credential that follows the scheme `Bearer ` whose end is `at`.
pub(crate) fn find_bearer(
    text: &str,
    start: usize,
    at: usize,
    runs: &mut MeasuredRuns,
) -> Option<Range<usize>> {
    let range = credential(text, start, at, runs)?;
    let value = &text[range.clone()];
    let is_secret = value.len() >= 16 && gate::looks_random(value) && !gate::is_placeholder(value);
    (is_secret && !gate::is_path(value)).then_some(range)
}

/// The credential that follows the scheme `Basic ` whose end is `at`: a user and a password in base64.
pub(crate) fn find_basic(
    text: &str,
    start: usize,
    at: usize,
    runs: &mut MeasuredRuns,
) -> Option<Range<usize>> {
    let range = credential(text, start, at, runs)?;
    is_user_and_password(&text[range.clone()]).then_some(range)
}

/// True if this is a user and a password in base64.
pub(crate) fn is_user_and_password(encoded: &str) -> bool {
    let decoded = BASE64_STANDARD.decode(encoded).ok().and_then(|decoded| String::from_utf8(decoded).ok());
    decoded.is_some_and(|decoded| {
        let is_plain = !decoded.chars().any(char::is_control);
        let is_secret = |(user, password): (&str, &str)| user != password && !gate::is_placeholder(password);
        is_plain && decoded.split_once(':').is_some_and(is_secret)
    })
}

/// The name of the credentials of a container registry in Docker's settings.
pub(crate) const AUTH: &str = "\"auth";

/// The user and password in base64 of a member `"auth"` whose name ends at `at`.
pub(crate) fn find_auth(text: &str, at: usize, runs: &mut MeasuredRuns) -> Option<Range<usize>> {
    const QUOTE: Alphabet = Alphabet::of(b"\\\"");
    let bytes = text.as_bytes();
    let mut from = at + QUOTE.run(&bytes[at..], 4);
    from += Alphabet::of(b": \t").run(&bytes[from..], 8);
    let quotes = QUOTE.run(&bytes[from..], 4);
    (from > at && quotes > 0).then(|| find_basic(text, from + quotes, from + quotes, runs))?
}

/// The credential of an `Authorization` header whose name ends at `at`, when its scheme is neither of the above.
pub(crate) fn find_authorization(text: &str, at: usize, runs: &mut MeasuredRuns) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let mut from = at + Alphabet::of(b"\"'\\] \t").run(&bytes[at..], 8);
    if !matches!(bytes.get(from), Some(b':' | b'=')) {
        return None;
    }
    from += 1;
    from += Alphabet::of(b"\"'`\\ \t").run(&bytes[from..], 8);
    let scheme = Alphabet::of(b"A-Za-z0-9-").run(&bytes[from..], 24);
    let after = from + scheme;
    let start = if scheme > 0 && bytes.get(after) == Some(&b' ') { after + 1 } else { from };
    find_bearer(text, from, start, runs)
}

fn credential(text: &str, start: usize, at: usize, runs: &mut MeasuredRuns) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let from = at + Alphabet::of(b" ").run(&bytes[at..], 8);
    let length = runs.measure(CREDENTIAL, bytes, from);
    let length =
        length - bytes[from..from + length].iter().rev().take_while(|byte| b".:".contains(byte)).count();
    let is_over = bytes.get(from + length).is_none_or(|byte| !b"({[$<".contains(byte));
    (starts_word(bytes, start) && is_over && (6..MOST).contains(&length)).then_some(from..from + length)
}

/// The values of the cookies after `Cookie` or `Set-Cookie`, whose name ends at `at`, that look like secrets, and where
/// the header ends.
pub(crate) fn find_cookies(text: &str, at: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let mut from = at + Alphabet::of(b"\"'\\").run(&bytes[at..], 3);
    if bytes.get(from) != Some(&b':') {
        return (Vec::new(), at);
    }
    from += 1;
    from += Alphabet::of(b"\"'`\\ \t").run(&bytes[from..], 8);
    cookies(text, from)
}

/// The values of the cookies from `from` on that look like secrets, and where they end.
pub(crate) fn cookies(text: &str, mut from: usize) -> (Vec<Range<usize>>, usize) {
    let bytes = text.as_bytes();
    let line = &bytes[from..bytes.len().min(from + MOST)];
    let length = line
        .iter()
        .position(|byte| matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\' | b'`'))
        .unwrap_or(line.len());
    let end = from + length;
    let mut found = Vec::new();
    for pair in bytes[from..end].split(|byte| *byte == b';') {
        let pair_start = from;
        from += pair.len() + 1;
        let Some(equals) = memchr::memchr(b'=', pair) else { continue };
        let start = pair_start + equals + 1;
        let range = start..start + COOKIE.run(&bytes[start..], pair.len() - equals - 1);
        let value = &text[range.clone()];
        if value.len() >= 16 && gate::looks_random(value) && !gate::is_placeholder(value) {
            found.push(range);
        }
    }
    (found, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "9f8Kq2mZx71Lp3Ty5Vb0";

    #[track_caller]
    fn check_bearer(text: &str, expected: Option<&str>) {
        let start = text.find("Bearer ").expect("the case has the scheme");
        assert_eq!(
            find_bearer(text, start, start + 7, &mut MeasuredRuns::default()).map(|range| &text[range]),
            expected,
            "{text}"
        );
    }

    #[test]
    fn bearer() {
        check_bearer(&format!("Authorization: Bearer {TOKEN}"), Some(TOKEN));
        check_bearer(&format!("-H 'Authorization: Bearer {TOKEN}'"), Some(TOKEN));
        check_bearer("Authorization: Bearer ${TOKEN}", None);
        check_bearer("Authorization: Bearer [REDACTED]", None);
        check_bearer("Bearer authentication is used", None);
        check_bearer("Bearer your-token-goes-here-123", None);
    }

    #[track_caller]
    fn check_basic(text: &str, expected: Option<&str>) {
        let start = text.find("Basic ").expect("the case has the scheme");
        assert_eq!(
            find_basic(text, start, start + 6, &mut MeasuredRuns::default()).map(|range| &text[range]),
            expected,
            "{text}"
        );
    }

    #[test]
    fn basic() {
        let encoded = BASE64_STANDARD.encode("ann:open sesame");
        check_basic(&format!("Authorization: Basic {encoded}"), Some(&encoded));
        check_basic(&format!("Basic {}", BASE64_STANDARD.encode("user:password")), None);
        check_basic("Basic understanding of types", None);
    }

    #[test]
    fn auth_of_a_registry() {
        let encoded = BASE64_STANDARD.encode("ann:open sesame");
        let check = |text: &str, expected: Option<&str>| {
            let at = text.find(AUTH).expect("the case has the name") + AUTH.len();
            assert_eq!(
                find_auth(text, at, &mut MeasuredRuns::default()).map(|range| &text[range]),
                expected,
                "{text}"
            );
        };
        check(
            &format!(r#"{{"auths": {{"r.io": {{"auth": "{encoded}"}}}}}}"#).replace("auths", "x"),
            Some(&encoded),
        );
        check(&format!(r#"{{\"auth\":\"{encoded}\"}}"#), Some(&encoded));
        check(r#"{"auth": "basic"}"#, None);
        check(r#"{"authors": ["x"]}"#, None);
        check(r#"{"auth"#, None);
    }

    #[track_caller]
    fn check_authorization(text: &str, expected: Option<&str>) {
        let at = text.find("Authorization").expect("the case has the header") + 13;
        assert_eq!(
            find_authorization(text, at, &mut MeasuredRuns::default()).map(|range| &text[range]),
            expected,
            "{text}"
        );
    }

    #[test]
    fn authorization() {
        check_authorization(&format!("Authorization: token {TOKEN}"), Some(TOKEN));
        check_authorization(&format!("Authorization: {TOKEN}"), Some(TOKEN));
        check_authorization(&format!(r#""Authorization": "Bot {TOKEN}""#), Some(TOKEN));
        check_authorization("Authorization: request.headers.get('x')", None);
        check_authorization("Authorization: none", None);
        check_authorization("Authorization", None);
    }

    #[track_caller]
    fn check_cookies(text: &str, expected: &[&str]) {
        let at = text.find("ookie").expect("the case has the header") + 5;
        let found: Vec<_> = find_cookies(text, at).0.into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn cookies() {
        check_cookies(&format!("Cookie: theme=dark; sid={TOKEN}; lang=de\nX: 1"), &[TOKEN]);
        check_cookies(&format!("Set-Cookie: sid={TOKEN}; Path=/; HttpOnly"), &[TOKEN]);
        check_cookies("Cookie: sid=[REDACTED]; a=b", &[]);
        check_cookies("cookie=3", &[]);
    }
}
