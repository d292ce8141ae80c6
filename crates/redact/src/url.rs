//! Passwords in URLs: `scheme://user:password@host`.

use std::ops::Range;

use crate::gate;

/// The separator between the scheme and the authority of a URL.
pub(crate) const ANCHOR: &str = "://";

/// Longer than any user and password together.
const MOST: usize = 512;

/// The password of the URL whose `://` is at `at`.
pub(crate) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    if !bytes[..at].last().is_some_and(u8::is_ascii_alphanumeric) {
        return None;
    }
    let start = at + ANCHOR.len();
    let authority = &bytes[start..bytes.len().min(start + MOST)];
    let length = authority
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || b"/?#\"'<>`\\,|".contains(byte))
        .unwrap_or(authority.len());
    let authority = &authority[..length];
    // A password may hold an at sign that should have been escaped: the last one counts.
    let host = memchr::memrchr(b'@', authority)?;
    let colon = memchr::memchr(b':', &authority[..host])?;
    let user = &text[start..start + colon];
    let password = start + colon + 1..start + host;
    let value = &text[password.clone()];
    let stands_for_one = value.is_empty()
        || value == user
        || value == "x-oauth-basic"
        || value.bytes().all(|byte| byte == b'*' || byte == b'.')
        || gate::is_placeholder(value)
        || user.starts_with(['$', '<', '{'])
        || (value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < 6);
    (!stands_for_one).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let at = text.find(ANCHOR).expect("the case has a URL");
        assert_eq!(find(text, at).map(|range| &text[range]), expected, "{text}");
    }

    #[test]
    fn passwords() {
        check("postgres://app:s3cr3tzz@db:5432/x", Some("s3cr3tzz"));
        check("redis://:kLm09QwE@cache", Some("kLm09QwE"));
        check("https://bob:open-sesame@host.org/a?b=c@d", Some("open-sesame"));
        check("amqp://u:a@b:c1@mq", Some("a@b:c1"));
        check("见 ftp://甲:密码很长@主机/", Some("密码很长"));
    }

    #[test]
    fn no_passwords() {
        check("https://host:8080/path@x", None);
        check("https://user@host", None);
        check("postgres://user:password@localhost/db", None);
        check("postgres://postgres:postgres@localhost/db", None);
        check("mysql://root:${DB_PASSWORD}@db", None);
        check("https://user:[REDACTED]@host", None);
        check("https://user:****@host", None);
        check("see ://a:b@c", None);
        check("https://", None);
    }
}
