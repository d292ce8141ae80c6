//! A request as pages see it: its path in pieces, its parameters decoded.

use hyper::Method;

/// The longest body that is read: a memory fact or a form, never more.
pub(crate) const LONGEST_BODY: usize = 256 * 1024;

/// A request whose sender was checked.
#[derive(Debug)]
pub(crate) struct PageRequest {
    pub(crate) method: Method,
    /// The pieces of the path, decoded.
    pub(crate) path: Vec<String>,
    pub(crate) query: Parameters,
    /// The fields that a form sent.
    pub(crate) form: Parameters,
}

/// Decoded parameters in their order.
#[derive(Debug, Default)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl PageRequest {
    pub(crate) fn new(method: Method, path: &str, query: Option<&str>, body: &[u8]) -> Self {
        let path = path.split('/').filter(|piece| !piece.is_empty()).map(decode).collect();
        let form = Parameters::parse(&String::from_utf8_lossy(body));
        Self { method, path, query: Parameters::parse(query.unwrap_or_default()), form }
    }
}

impl Parameters {
    pub(crate) fn parse(text: &str) -> Self {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        Self(
            pairs
                .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
                .map(|(k, v)| (plus(k), plus(v)))
                .collect(),
        )
    }

    /// The first value of a name, unless it is empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.as_str())
    }

    /// The values of a name that are not empty.
    pub(crate) fn all<'p>(&'p self, name: &'p str) -> impl Iterator<Item = &'p str> {
        self.0
            .iter()
            .filter(move |(key, value)| key == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }
}

fn plus(text: &str) -> String {
    decode(&text.replace('+', " "))
}

/// Undoes percent-encoding; what is none stays as it is.
fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = after.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        match hex.filter(|_| *first == b'%').and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encodes a text as one piece of a path, or as a parameter.
pub(crate) fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_parameters_are_decoded() {
        let request = PageRequest::new(
            Method::GET,
            "/s/a%2Fb%20c//x",
            Some("q=a+b%26c&kind=user&kind=model&n="),
            b"t=%C3%A9%",
        );
        assert_eq!(request.path, ["s", "a/b c", "x"]);
        assert_eq!(request.query.get("q"), Some("a b&c"));
        assert_eq!(request.query.all("kind").collect::<Vec<_>>(), ["user", "model"]);
        assert_eq!((request.query.get("n"), request.query.get("none")), (None, None));
        assert_eq!(request.form.get("t"), Some("é%"));
    }

    #[test]
    fn what_is_encoded_reads_back() {
        for text in ["", "plain-1_2.3~4", "a/b?c#d&e=f%g h+i", "日本\u{1f980}\"<>'"] {
            assert_eq!(decode(&encode(text)), text);
            assert_eq!(plus(&encode(text)), text);
        }
    }
}
