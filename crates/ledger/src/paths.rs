//! Makes paths comparable that tools and shells write in different ways.

use std::borrow::Cow;

/// The path in what a tool or a shell was given: without quotes, a line number or a `file://` before it. Nothing if it
/// names no file: an address, a pattern, an option, a device, or text that an expansion would change.
pub(super) fn file_name(written: &str) -> Option<&str> {
    let trimmed = written.trim().trim_matches(['"', '\'', '`']);
    let path = without_lines(trimmed.strip_prefix("file://").unwrap_or(trimmed));
    let is_address = path.contains(':') && path.contains("://");
    let is_file = !path.is_empty()
        && path.len() <= 512
        && !is_address
        && !path.starts_with('-')
        && !path.starts_with("/dev/")
        && !path.bytes().any(|byte| {
            matches!(byte, b'*' | b'?' | b'$' | b'`' | b'\n' | b'<' | b'>' | b'|' | b'\0' | b'{')
        })
        && path.chars().any(char::is_alphanumeric);
    is_file.then_some(path)
}

/// The last piece of a path.
pub(super) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Without the `:12`, `:12:3` or `:240-251` behind it.
fn without_lines(path: &str) -> &str {
    let mut path = path;
    while let Some((before, after)) = path.rsplit_once(':') {
        let is_place = !after.is_empty() && after.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        if !is_place || before.len() < 2 {
            break;
        }
        path = before;
    }
    path
}

/// True if a path is absolute.
pub(super) fn is_absolute(path: &str) -> bool {
    path.starts_with(['/', '~']) || path.as_bytes().get(1) == Some(&b':')
}

/// The path as seen from where `directory` is seen from; an empty directory is the project itself.
pub(super) fn join(directory: &str, path: &str) -> String {
    if directory.is_empty() || is_absolute(path) {
        normalise(path).into_owned()
    } else {
        normalise(&format!("{directory}/{path}")).into_owned()
    }
}

/// Without `.`, `..`, doubled and trailing slashes; backslashes of Windows paths become slashes.
pub(super) fn normalise(path: &str) -> Cow<'_, str> {
    if is_normal(path) { Cow::Borrowed(path) } else { Cow::Owned(normalised(path)) }
}

/// True if a path is certainly normal.
fn is_normal(path: &str) -> bool {
    let bytes = path.as_bytes();
    let may_stay = |next: &u8| !matches!(next, b'/' | b'.');
    let is_kept = |at: usize| bytes[at] == b'/' && bytes.get(at + 1).is_some_and(may_stay);
    bytes.first().is_some_and(|first| *first != b'.')
        && path.match_indices(['/', '\\']).all(|(at, _)| is_kept(at))
}

fn normalised(path: &str) -> String {
    let is_windows = path.as_bytes().get(1) == Some(&b':') || path.contains('\\') && !path.contains('/');
    let path = if is_windows { path.replace('\\', "/") } else { path.to_string() };
    let mut pieces: Vec<&str> = Vec::new();
    for piece in path.split('/') {
        match piece {
            "" | "." => {}
            ".." if pieces.last().is_some_and(|last| *last != "..") => {
                pieces.pop();
            }
            ".." if path.starts_with('/') => {}
            piece => pieces.push(piece),
        }
    }
    let joined = pieces.join("/");
    if path.starts_with('/') { format!("/{joined}") } else { joined }
}

/// The path without the project's folder before it, so that absolute and relative spellings agree.
pub(super) fn comparable(root: Option<&str>, path: &str) -> String {
    let path = normalise(path);
    let Some(inside) = root.and_then(|root| path.strip_prefix(root)) else { return path.into_owned() };
    match inside.strip_prefix('/') {
        Some(inside) => inside.to_string(),
        None if inside.is_empty() => ".".to_string(),
        // Another folder whose name begins like the project's.
        None => path.into_owned(),
    }
}

/// The folder that holds a path; empty for a path without one.
pub(super) fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// True if a path is scratch space rather than part of the work.
pub(super) fn is_scratch(path: &str) -> bool {
    ["/tmp/", "/private/tmp/", "/var/", "/private/var/"].iter().any(|start| path.starts_with(start))
        || path == "/tmp"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_name(written: &str, expected: Option<&str>) {
        assert_eq!(file_name(written), expected, "{written}");
    }

    #[test]
    fn file_names_are_told_from_other_words() {
        check_name("src/main.rs", Some("src/main.rs"));
        check_name("\"src/main.rs\"", Some("src/main.rs"));
        check_name("src/main.rs:12", Some("src/main.rs"));
        check_name("src/main.rs:12:3", Some("src/main.rs"));
        check_name("src/side.tsx:240-251", Some("src/side.tsx"));
        check_name("file:///etc/hosts", Some("/etc/hosts"));
        check_name("C:\\work\\a.txt", Some("C:\\work\\a.txt"));
        check_name("C:12", Some("C:12"));
        for other in ["", "-n", "https://a.b/c", "*.rs", "$HOME/x", "/dev/null", "a\nb", "--", ".", "{}"] {
            check_name(other, None);
        }
    }

    #[track_caller]
    fn check_comparable(root: Option<&str>, directory: &str, path: &str, expected: &str) {
        assert_eq!(comparable(root, &join(directory, path)), expected);
    }

    #[test]
    fn spellings_of_one_path_agree() {
        check_comparable(Some("/w/app"), "", "/w/app/src/a.rs", "src/a.rs");
        check_comparable(Some("/w/app"), "", "./src/a.rs", "src/a.rs");
        check_comparable(Some("/w/app"), "src", "a.rs", "src/a.rs");
        check_comparable(Some("/w/app"), "src/api", "../a.rs", "src/a.rs");
        check_comparable(Some("/w/app"), "/w/app/src", "a.rs", "src/a.rs");
        check_comparable(Some("/w/app"), "", "/w/apple/a.rs", "/w/apple/a.rs");
        check_comparable(Some("/w/app"), "", "/w/app", ".");
        check_comparable(None, "", "../x//y/", "../x/y");
        check_comparable(None, "", "/../x", "/x");
    }

    proptest::proptest! {
        #[test]
        fn normal_paths_stay(path in "[a./\\\\:~]{0,10}") {
            proptest::prop_assert_eq!(&*normalise(&path), normalised(&path));
        }
    }
}
