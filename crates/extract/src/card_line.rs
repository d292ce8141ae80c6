//! The line of a file card: its path, then its names.

/// Parts the path from the names.
pub(crate) const BEHIND_PATH: &str = ": ";
/// Parts the names.
pub(crate) const BETWEEN: &str = ", ";

/// The path and the names of a card that was written on one line.
pub(crate) fn parse_card(line: &str) -> Option<(&str, &str)> {
    let (path, names) = line.split_once(BEHIND_PATH)?;
    let is_word = |word: &str| !word.is_empty() && !word.contains(char::is_whitespace);
    let is_card = is_word(path) && path.contains(['.', '/']) && names.split(BETWEEN).all(is_word);
    is_card.then_some((path, names))
}
