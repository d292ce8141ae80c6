//! Lists in data files: one item a line, comments behind `#`.

/// The items of a data file.
pub fn data_lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'))
}
