//! Lists that stand in files of their own, a line an item.

/// The lines of such a file, without blank ones and comments.
pub(crate) fn entries(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The lines of a file of pairs, each a name and what it stands for.
pub(crate) fn pairs(text: &'static str) -> Vec<(&'static str, &'static str)> {
    let pair = |line: &'static str| {
        let (name, meaning) =
            line.split_once(' ').unwrap_or_else(|| panic!("expected a name and its target, found {line:?}"));
        (name, meaning.trim())
    };
    entries(text).map(pair).collect()
}
