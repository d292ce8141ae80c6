//! Addresses of pages: which are accepted, and where a link or a redirect leads.

use hyper::Uri;

/// The longest address.
const LONGEST: usize = 2_000;

/// Reads an address that a page may be fetched from.
pub(crate) fn parse_address(text: &str) -> Result<Uri, String> {
    let text = text.trim();
    let shown: String = text.chars().take(100).collect();
    if text.len() > LONGEST {
        return Err(format!("The address {shown:?}… is longer than {LONGEST} characters."));
    }
    let whole = text.split('#').next().unwrap_or(text);
    let uri: Uri = whole.parse().map_err(|_| format!("{shown:?} is not a URL."))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(format!("{shown:?} must begin with https:// or http://."));
    }
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(format!("{shown:?} holds a user name; leave it out."));
    }
    Ok(uri)
}

/// The address that a reference on a page leads to; none if it leads to no page.
pub(crate) fn resolve(base: &Uri, reference: &str) -> Option<String> {
    let reference = reference.trim().split('#').next().unwrap_or_default();
    if reference.is_empty() || reference.chars().any(|c| c.is_control() || c == ' ') {
        return None;
    }
    let (scheme, authority) = (base.scheme_str()?, base.authority()?.as_str());
    let lower = reference.to_ascii_lowercase();
    if lower.starts_with("http://") || lower.starts_with("https://") {
        return Some(reference.to_string());
    }
    if let Some(rest) = reference.strip_prefix("//") {
        return Some(format!("{scheme}://{rest}"));
    }
    // Another scheme, such as `mailto:`.
    let head = reference.split(['/', '?']).next().unwrap_or_default();
    if head.contains(':') {
        return None;
    }
    let path = base.path();
    let joined = match reference.as_bytes()[0] {
        b'/' => reference.to_string(),
        b'?' => format!("{path}{reference}"),
        _ => format!("{}{reference}", &path[..=path.rfind('/').unwrap_or(0)]),
    };
    let (path, query) = match joined.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (joined.as_str(), None),
    };
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{scheme}://{authority}{}{query}", without_dots(path)))
}

/// A path without `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let pieces: Vec<&str> = path.split('/').skip(1).collect();
    for (index, piece) in pieces.iter().enumerate() {
        let is_last = index + 1 == pieces.len();
        match *piece {
            "." | ".." => {
                if *piece == ".." {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            piece => kept.push(piece),
        }
    }
    format!("/{}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pages_of_the_web_are_accepted() {
        for good in [
            "https://example.org",
            "http://127.0.0.1:80/x?y#z",
            " https://example.org/a b".trim_end_matches(" b"),
        ] {
            assert!(parse_address(good).is_ok(), "{good}");
        }
        for bad in [
            "file:///etc/passwd",
            "ftp://x/y",
            "example.org",
            "",
            "https://",
            "https://u:p@example.org/",
            "https://exa mple.org",
        ] {
            assert!(parse_address(bad).is_err(), "{bad}");
        }
        assert!(parse_address(&format!("https://example.org/{}", "x".repeat(3_000))).is_err());
    }

    #[track_caller]
    fn check(reference: &str, expected: Option<&str>) {
        let base: Uri = "https://example.org:8443/docs/guide/a.html?x=1".parse().expect("a URL");
        assert_eq!(resolve(&base, reference).as_deref(), expected, "{reference}");
    }

    #[test]
    fn references_are_resolved() {
        check("b.html", Some("https://example.org:8443/docs/guide/b.html"));
        check("./b.html#top", Some("https://example.org:8443/docs/guide/b.html"));
        check("../b/?q=1", Some("https://example.org:8443/docs/b/?q=1"));
        check("../../../..", Some("https://example.org:8443/"));
        check("/b", Some("https://example.org:8443/b"));
        check("?q=2", Some("https://example.org:8443/docs/guide/a.html?q=2"));
        check("//other.org/x", Some("https://other.org/x"));
        check("HTTP://other.org/x", Some("HTTP://other.org/x"));
        check("#top", None);
        check("mailto:me@example.org", None);
        check("javascript:alert(1)", None);
        check("a b", None);
    }
}
