//! Patterns of lines: text, `{n}` for a number, `{name}` for a name, `*` at the end for anything.

use crate::numbers::leading_digits;

/// A pattern of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LinePattern {
    pieces: Vec<Piece>,
    /// True if the line may go on behind the last piece.
    is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece {
    Text(&'static str),
    /// A number, with blanks before it.
    Number,
    /// A name, up to the text behind it.
    Name,
}

/// A line that a pattern fits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fit<'l> {
    /// The text in the place of `{name}`.
    pub(super) name: &'l str,
}

impl LinePattern {
    /// A pattern of a whole line.
    pub(super) fn whole(pattern: &'static str) -> Self {
        let (pattern, is_open) = pattern.strip_suffix('*').map_or((pattern, false), |start| (start, true));
        let mut pieces = Vec::new();
        let mut rest = pattern;
        while !rest.is_empty() {
            let found = [("{n}", Piece::Number), ("{name}", Piece::Name)]
                .into_iter()
                .filter_map(|(sign, piece)| Some((rest.find(sign)?, sign, piece)))
                .min_by_key(|(start, ..)| *start);
            let (start, sign, piece) = found.map_or((rest.len(), "", None), |(s, g, p)| (s, g, Some(p)));
            pieces.extend((start > 0).then_some(Piece::Text(&rest[..start])));
            pieces.extend(piece);
            rest = &rest[start + sign.len()..];
        }
        Self { pieces, is_open }
    }

    /// A pattern of a line's beginning.
    pub(super) fn beginning(pattern: &'static str) -> Self {
        Self { is_open: true, ..Self::whole(pattern) }
    }

    /// The first bytes that a line can have which fits. `None` if that can be any.
    pub(super) fn first_bytes(&self) -> Option<Vec<u8>> {
        match self.pieces.first()? {
            Piece::Text(text) => Some(vec![text.as_bytes()[0]]),
            Piece::Number => Some((b'0'..=b'9').collect()),
            Piece::Name => None,
        }
    }

    /// A text that stands in every line that fits.
    pub(super) fn text(&self) -> Option<&'static str> {
        self.pieces.iter().find_map(|piece| if let Piece::Text(text) = piece { Some(*text) } else { None })
    }

    pub(super) fn has_name(&self) -> bool {
        self.pieces.contains(&Piece::Name)
    }

    pub(super) fn fit<'l>(&self, line: &'l str) -> Option<Fit<'l>> {
        let mut rest = line;
        let mut name = "";
        let mut pieces = self.pieces.iter().peekable();
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(text) => rest = rest.strip_prefix(text)?,
                Piece::Number => {
                    let number = rest.trim_start_matches([' ', '\t']);
                    let digits = leading_digits(number);
                    rest = number.get(digits.len()..).filter(|_| !digits.is_empty())?;
                }
                Piece::Name => {
                    let end = match pieces.peek() {
                        Some(Piece::Text(text)) if self.is_open => rest.find(text)?,
                        Some(Piece::Text(text)) => rest.strip_suffix(text)?.len(),
                        _ => rest.len(),
                    };
                    (name, rest) = rest.split_at(end);
                }
            }
        }
        (self.is_open || rest.is_empty()).then_some(Fit { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &'static str, line: &str, expected: Option<&str>) {
        assert_eq!(LinePattern::whole(pattern).fit(line).map(|fit| fit.name), expected, "{pattern} {line}");
    }

    #[test]
    fn patterns_fit_lines() {
        check("test {name} ... FAILED", "test a::b ... FAILED", Some("a::b"));
        check("test {name} ... FAILED", "test a::b ... ok", None);
        check("FAILED {name} - *", "FAILED a.py::b - x - y", Some("a.py::b"));
        check("FAILED {name} - *", "FAILED a.py::b", None);
        check("not ok {n} - {name}", "not ok 12 - a - b", Some("a - b"));
        check("not ok {n} - {name}", "not ok - a", None);
        check("{n} pending", "2 pending", Some(""));
        check("{n} pending", "2 pending tests", None);
        check("Tests: {n}*", "Tests:    12 passed", Some(""));
        check("{name} FAILED", "A > b FAILED", Some("A > b"));
    }
}
