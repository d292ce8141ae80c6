//! JSON Web Tokens: base64url parts joined by dots, the first of which is a JSON object.

use std::ops::Range;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use crate::alphabet::{Alphabet, ends_word, starts_word};

/// The beginning of the header of every token: `{"` in base64.
pub(crate) const ANCHOR: &str = "eyJ";

/// Longer than any header.
const MOST_HEADER: usize = 4 * 1024;

/// The token that begins at `at`.
pub(crate) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    // Inside a run of base64url a hyphen is no boundary.
    if !starts_word(bytes, at) || bytes[..at].ends_with(b"-") {
        return None;
    }
    let mut parts = Vec::with_capacity(5);
    let mut end = at;
    loop {
        let run = Alphabet::URL.run(&bytes[end..], usize::MAX);
        parts.push(end..end + run);
        end += run;
        if parts.len() == 5 || bytes.get(end) != Some(&b'.') {
            break;
        }
        end += 1;
    }
    // A full stop after a signed token ends a sentence; an encrypted token has five parts.
    if parts.len() != 5 || parts[4].is_empty() {
        parts.truncate(3);
    }
    let [header, .., last] = parts.as_slice() else { return None };
    let is_whole = parts.len() >= 3 && last.end - header.end >= 16 && !last.is_empty();
    (is_whole && ends_word(bytes, last.end) && is_header(&text[header.clone()])).then_some(at..last.end)
}

/// True if this decodes to the header of a token: a JSON object that names its algorithm.
fn is_header(encoded: &str) -> bool {
    encoded.len() <= MOST_HEADER
        && BASE64_URL_SAFE_NO_PAD
            .decode(encoded)
            .ok()
            .and_then(|json| serde_json::from_slice::<serde_json::Value>(&json).ok())
            .is_some_and(|header| header.get("alg").is_some() || header.get("typ").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encode(text: &str) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(text)
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let at = text.find(ANCHOR).expect("the case has a header");
        assert_eq!(find(text, at).map(|range| &text[range]), expected, "{text}");
    }

    #[test]
    fn tokens() {
        let header = encode(r#"{"alg":"HS256","typ":"JWT"}"#);
        let claims = encode(r#"{"sub":"1234567890","name":"Ann"}"#);
        let signed = format!("{header}.{claims}.c2lnbmF0dXJlLW9mLXRoZS10b2tlbg");
        let encrypted = format!("{header}..aXYtb2YtdG9rZW4.Y2lwaGVydGV4dC10ZXh0.dGFnLXRhZw");
        check(&signed, Some(&signed));
        check(&format!("the token is {signed}."), Some(&signed));
        check(&format!("{{\"jwt\":\"{signed}\"}}"), Some(&signed));
        check(&encrypted, Some(&encrypted));
        check(&format!("{header}.{claims}"), None);
        check(&format!("x{signed}"), None);
        check(&header, None);
    }

    #[test]
    fn other_base64() {
        check(&format!("{}.aaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbb", encode(r#"{"version":3}"#)), None);
        check("eyJub3QganNvbg.aaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbb", None);
        check("eyJ.eyJ.eyJ.eyJ", None);
        check("eyJ", None);
    }
}
