//! Addresses of OAuth: which may be used, and how they are written.

use hyper::Uri;
use std::fmt::Write;

/// An address that secrets may be sent to: over TLS, or on this machine.
pub(crate) fn checked(url: &str) -> Result<Uri, String> {
    let uri: Uri = url.parse().map_err(|_| format!("{url:?} is not an address"))?;
    let host = uri.host().unwrap_or_default();
    let is_local = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
    match uri.scheme_str() {
        Some("https") if !host.is_empty() => Ok(uri),
        Some("http") if is_local => Ok(uri),
        _ => Err(format!("{url:?} must begin with https://")),
    }
}

/// Scheme, host and port.
pub(crate) fn origin(uri: &Uri) -> String {
    let authority = uri.authority().map(hyper::http::uri::Authority::as_str).unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    format!("{}://{authority}", uri.scheme_str().unwrap_or_default())
}

/// The path without a slash at its end.
pub(crate) fn path(uri: &Uri) -> &str {
    uri.path().trim_end_matches('/')
}

/// Fields as they stand in a query or a form.
pub(crate) fn form(fields: &[(&str, &str)]) -> String {
    let field = |(name, value): &(&str, &str)| format!("{}={}", encoded(name), encoded(value));
    fields.iter().map(field).collect::<Vec<_>>().join("&")
}

fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                encoded.push(char::from(byte));
            }
            byte => write!(encoded, "%{byte:02X}").expect("a string takes everything"),
        }
    }
    encoded
}

/// A field of a query.
pub(crate) fn field(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(known, _)| *known == name).map(|(_, value)| decoded(value))
}

fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut index = 0;
    while index < bytes.len() {
        let hex = bytes.get(index + 1..index + 3).and_then(|hex| std::str::from_utf8(hex).ok());
        match (bytes[index], hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                index += 3;
                continue;
            }
            (b'+', _) => decoded.push(b' '),
            (byte, _) => decoded.push(byte),
        }
        index += 1;
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_nowhere_in_the_open() {
        for url in [
            "https://auth.example.org/token",
            "http://127.0.0.1:9/t",
            "http://localhost/t",
            "http://[::1]:7/",
        ] {
            assert!(checked(url).is_ok(), "{url}");
        }
        for url in [
            "http://auth.example.org/token",
            "http://127.0.0.1.example.org/",
            "file:///etc",
            "https:///x",
            "x y",
        ] {
            assert!(checked(url).is_err(), "{url}");
        }
        let uri = checked("https://me@example.org:8443/mcp/").expect("an address");
        assert_eq!((origin(&uri).as_str(), path(&uri)), ("https://example.org:8443", "/mcp"));
    }

    #[test]
    fn fields_survive_a_query() {
        let value = "a b&c=d/ü%+";
        assert_eq!(field(&form(&[("x", "1"), ("code", value)]), "code").as_deref(), Some(value));
        assert_eq!(field("code=a+b%2", "code").as_deref(), Some("a b%2"));
        assert_eq!(field("state=1", "code"), None);
    }
}
