//! Styled text: lines of spans, independent of any terminal.

use crate::palette::Palette;
use crate::text::{char_width, columns};

/// The tone of a text; a [`Palette`] has its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// The default colour.
    #[default]
    Plain,
    /// Errors and removals.
    Red,
    /// Success and additions.
    Green,
    /// Warnings.
    Yellow,
    /// Paths.
    Blue,
    /// Summaries.
    Magenta,
    /// Interactive elements.
    Cyan,
}

/// The style of a span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Its colour.
    pub tone: Tone,
    /// Bold.
    pub bold: bool,
    /// Faint.
    pub faint: bool,
    /// Italic.
    pub italic: bool,
    /// Struck through.
    pub struck: bool,
}

impl Style {
    /// Plain text.
    pub const PLAIN: Self =
        Self { tone: Tone::Plain, bold: false, faint: false, italic: false, struck: false };
    /// Faint text.
    pub const FAINT: Self = Self { faint: true, ..Self::PLAIN };
    /// Bold text.
    pub const BOLD: Self = Self { bold: true, ..Self::PLAIN };
    /// Errors and removals.
    pub const RED: Self = Self::of(Tone::Red);
    /// Success and additions.
    pub const GREEN: Self = Self::of(Tone::Green);
    /// Warnings.
    pub const YELLOW: Self = Self::of(Tone::Yellow);
    /// Interactive elements.
    pub const CYAN: Self = Self::of(Tone::Cyan);
    /// Paths.
    pub const BLUE: Self = Self::of(Tone::Blue);
    /// Summaries.
    pub const MAGENTA: Self = Self::of(Tone::Magenta);

    const fn of(tone: Tone) -> Self {
        Self { tone, ..Self::PLAIN }
    }

    /// Appends the escape sequence that selects this style.
    fn push_to(self, palette: &Palette, out: &mut String) {
        let faint = palette.faint.filter(|_| self.faint);
        out.push_str("\x1b[0");
        let is_dimmed = self.faint && faint.is_none();
        let flags = [(self.bold, ";1"), (is_dimmed, ";2"), (self.italic, ";3"), (self.struck, ";9")];
        flags.iter().filter(|(is_set, _)| *is_set).for_each(|(_, code)| out.push_str(code));
        if let Some(colour) = palette.colour(self.tone).or(faint) {
            colour.push_to(out);
        }
        out.push('m');
    }
}

/// A piece of text in one style. The text contains no control characters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The text.
    pub text: String,
    /// The style.
    pub style: Style,
}

/// A line of text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyledLine {
    /// The spans.
    pub spans: Vec<Span>,
}

impl StyledLine {
    /// A line in one style.
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        Self::default().with(text, style)
    }

    /// A line in plain style.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::new(text, Style::PLAIN)
    }

    /// Adds a span.
    #[must_use]
    pub fn with(mut self, text: impl Into<String>, style: Style) -> Self {
        self.push(&text.into(), style);
        self
    }

    /// Appends a span. Control characters are made visible.
    pub fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        let text = crate::text::visible_text(text).replace('\n', " ").replace('\t', "    ");
        match self.spans.last_mut() {
            Some(last) if last.style == style => last.text.push_str(&text),
            _ => self.spans.push(Span { text, style }),
        }
    }

    /// The width in columns.
    pub fn columns(&self) -> usize {
        self.spans.iter().map(|span| columns(&span.text)).sum()
    }

    /// The text without styles.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Renders the line for a terminal, in the colours of a palette; without one, as plain text.
    pub fn render(&self, palette: Option<&Palette>) -> String {
        let Some(palette) = palette else { return self.text() };
        let mut out = String::new();
        let mut style = Style::PLAIN;
        for span in &self.spans {
            if span.style != style {
                span.style.push_to(palette, &mut out);
                style = span.style;
            }
            out.push_str(&span.text);
        }
        if style != Style::PLAIN {
            out.push_str("\x1b[0m");
        }
        out
    }

    /// Puts a prefix before the line.
    #[must_use]
    pub fn prefixed(self, text: &str, style: Style) -> Self {
        let mut line = Self::new(text, style);
        line.spans.extend(self.spans);
        line
    }

    /// Truncates the line to a width, with a `…` at the end.
    #[must_use]
    pub fn fit(self, width: usize) -> Self {
        if self.columns() <= width {
            return self;
        }
        let mut cut = Self::default();
        let mut used = 0;
        for span in self.spans {
            let mut kept = String::new();
            for character in span.text.chars() {
                if used + char_width(character) + 1 > width {
                    kept.push('…');
                    cut.spans.push(Span { text: kept, style: span.style });
                    return cut;
                }
                used += char_width(character);
                kept.push(character);
            }
            cut.spans.push(Span { text: kept, style: span.style });
        }
        cut
    }

    /// Wraps the line at `width` columns, between words if possible; continuation lines are indented by `indent`.
    pub fn wrap(&self, width: usize, indent: usize) -> Vec<Self> {
        let width = width.max(2);
        if self.columns() <= width {
            return vec![self.clone()];
        }
        let indent = indent.min(width / 2);
        let characters: Vec<(char, Style)> =
            self.spans.iter().flat_map(|span| span.text.chars().map(|c| (c, span.style))).collect();
        let mut lines = Vec::new();
        let mut start = 0;
        while start < characters.len() {
            let lead = if lines.is_empty() { 0 } else { indent };
            let end = line_end(&characters, start, width - lead);
            let mut line = Self::default();
            line.push(&" ".repeat(lead), Style::PLAIN);
            for (character, style) in &characters[start..end] {
                match line.spans.last_mut() {
                    Some(span) if span.style == *style => span.text.push(*character),
                    _ => line.spans.push(Span { text: character.to_string(), style: *style }),
                }
            }
            lines.push(line);
            start = end;
            // The space at a line break is dropped.
            while characters.get(start).is_some_and(|(character, _)| *character == ' ') {
                start += 1;
            }
        }
        lines
    }
}

/// The end of a line that starts at `start` and takes at most `width` columns: between words, unless that leaves a
/// large gap that a part of a long name, such as a path, could fill.
fn line_end(characters: &[(char, Style)], start: usize, width: usize) -> usize {
    let mut used = 0;
    // The last space with its column, and the last break inside the word after it.
    let (mut between_words, mut inside) = (None, None);
    for (place, (character, _)) in characters.iter().enumerate().skip(start) {
        if used + char_width(*character) > width {
            let broken = match (*character, between_words, inside) {
                (' ', ..) => place,
                (_, Some((_, column)), Some(inside)) if (width - column) * 3 > width => inside,
                (_, Some((space, _)), _) => space,
                (_, None, inside) => inside.unwrap_or(place),
            };
            // If not even one character fits, it is taken anyway, or the loop would never end.
            return broken.max(start + 1);
        }
        match character {
            ' ' if place > start => (between_words, inside) = (Some((place, used)), None),
            '/' | '-' | '_' | ',' | ';' if may_break(characters, start, place) => inside = Some(place + 1),
            _ => {}
        }
        used += char_width(*character);
    }
    characters.len()
}

/// True if a name may be broken after this index: not after its first character, and not inside a number.
fn may_break(characters: &[(char, Style)], start: usize, place: usize) -> bool {
    let before = place.checked_sub(1).filter(|before| *before >= start).map(|before| characters[before].0);
    let behind = characters.get(place + 1).map(|(character, _)| *character);
    before.is_some_and(|before| before != ' ') && !behind.is_some_and(|behind| behind.is_ascii_digit())
}

/// Wraps a text of several lines in one style.
pub fn paragraphs(text: &str, style: Style, width: usize) -> Vec<StyledLine> {
    text.lines().flat_map(|line| StyledLine::new(line, style).wrap(width, 0)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_wrap(text: &str, width: usize, indent: usize, expected: &[&str]) {
        let lines: Vec<String> =
            StyledLine::plain(text).wrap(width, indent).iter().map(|line| line.text()).collect();
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| columns(line) <= width.max(2)), "{lines:?}");
    }

    #[test]
    fn lines_are_broken_between_words() {
        check_wrap("one two three", 7, 0, &["one two", "three"]);
        check_wrap("one two three", 8, 2, &["one two", "  three"]);
        check_wrap("", 7, 0, &[""]);
        check_wrap("abcdefghij", 4, 0, &["abcd", "efgh", "ij"]);
        check_wrap("日本語です", 4, 0, &["日本", "語で", "す"]);
        check_wrap("src/terminal/src/lib.rs", 14, 0, &["src/terminal/", "src/lib.rs"]);
        check_wrap("see src/terminal/src/lib.rs", 18, 0, &["see src/terminal/", "src/lib.rs"]);
        check_wrap("now it calls read_file", 18, 0, &["now it calls", "read_file"]);
        check_wrap("it takes 15,000 tokens", 13, 0, &["it takes", "15,000 tokens"]);
        check_wrap("use the /compress", 12, 0, &["use the", "/compress"]);
    }

    #[test]
    fn styles_survive_breaks() {
        let line = StyledLine::plain("one ").with("two three", Style::BOLD);
        let lines = line.wrap(7, 0);
        assert_eq!(lines[0].spans.len(), 2);
        assert_eq!(lines[1], StyledLine::new("three", Style::BOLD));
    }

    #[test]
    fn lines_are_cut() {
        let line = StyledLine::plain("one ").with("two", Style::RED);
        assert_eq!(line.clone().fit(7).text(), "one two");
        assert_eq!(line.clone().fit(6).text(), "one t…");
        assert_eq!(line.fit(3).text(), "on…");
    }

    #[test]
    fn colours_are_left_out_where_nobody_wants_them() {
        let line = StyledLine::plain("a ").with("b", Style { bold: true, ..Style::RED });
        assert_eq!(line.render(None), "a b");
        assert_eq!(line.render(Some(&Palette::TERMINAL)), "a \x1b[0;1;31mb\x1b[0m");
    }

    #[test]
    fn nothing_in_a_line_acts_on_the_terminal() {
        let line = StyledLine::plain("a\x1b[2Jb\r\nc\td\u{202e}");
        assert_eq!(line.text(), "a␛[2Jb␍ c    d<U+202E>");
    }
}
