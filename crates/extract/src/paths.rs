//! Finds the files that lines of searches and patches name.

/// The file that a line of a patch or a diff names.
pub(crate) fn patched_file(line: &str) -> Option<&str> {
    let path = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"]
        .iter()
        .find_map(|lead| line.strip_prefix(lead))?;
    is_path(path).then_some(path)
}

/// The file of a line that a search found, `src/a.rs:12: text`, and the rest of it.
pub(crate) fn found_in_file(line: &str) -> Option<(&str, &str)> {
    let (path, rest) = line.split_once(':')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let behind = &rest[digits..];
    let is_found = (1..=6).contains(&digits) && behind.starts_with([':', '-']) && is_path(path);
    is_found.then(|| (path, behind[1..].trim_start()))
}

fn is_path(text: &str) -> bool {
    let name = text.rsplit('/').next().unwrap_or(text);
    (3..=200).contains(&text.len())
        && !text.contains(|sign: char| sign.is_whitespace() || "\"'`<>|*?()".contains(sign))
        && name.contains('.')
        && name.bytes().any(|byte| byte.is_ascii_alphabetic())
}
