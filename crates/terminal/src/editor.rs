//! A text field: cursor, words, lines, a kill buffer and folded pastes.

use longhaul_display::text::char_width;

/// The most lines of a paste that is inserted as it is; a longer one becomes a placeholder.
const MAX_PASTED_LINES: usize = 8;
/// The most characters of a paste that is inserted as it is.
const MAX_PASTED_CHARACTERS: usize = 1_000;
/// The columns of a tab.
const TAB: usize = 4;

/// A text field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Editor {
    text: String,
    /// The cursor, as a byte offset.
    cursor: usize,
    /// The text that was cut last.
    cut: String,
    /// The placeholders with the pastes they stand for.
    pastes: Vec<(String, String)>,
    /// The number of placeholders ever made, so that none is reused.
    pasted: usize,
}

/// A text laid out in rows of a fixed width.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// The byte range of each row.
    pub(crate) rows: Vec<(usize, usize)>,
    /// The cursor's row.
    pub(crate) row: usize,
    /// The cursor's column.
    pub(crate) column: usize,
}

/// A cursor movement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CursorMove {
    Left,
    Right,
    WordLeft,
    WordRight,
    LineStart,
    LineEnd,
    Start,
    End,
}

impl Editor {
    /// The text, with placeholders.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The cursor, as a byte offset.
    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Takes the text with all placeholders expanded, and clears the field.
    pub(crate) fn take(&mut self) -> String {
        let text = self.expanded();
        self.set("");
        self.pastes.clear();
        text
    }

    /// The text with all placeholders expanded.
    pub(crate) fn expanded(&self) -> String {
        self.pastes.iter().fold(self.text.clone(), |text, (name, pasted)| text.replace(name, pasted))
    }

    /// Replaces the text.
    pub(crate) fn set(&mut self, text: &str) {
        self.text = clean(text);
        self.cursor = self.text.len();
    }

    /// Moves the cursor to a byte offset.
    pub(crate) fn place(&mut self, place: usize) {
        debug_assert!(self.text.is_char_boundary(place), "{place} is inside a character");
        self.cursor = place;
    }

    /// Inserts the placeholder of something that is sent along; it is deleted as a whole.
    pub(crate) fn insert_placeholder(&mut self, name: &str) {
        self.insert(name);
        self.pastes.push((name.to_string(), name.to_string()));
    }

    /// Inserts text at the cursor.
    pub(crate) fn insert(&mut self, text: &str) {
        let text = clean(text);
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Inserts pasted text, as a placeholder if it is long.
    pub(crate) fn paste(&mut self, text: &str) {
        let text = clean(text);
        let lines = text.lines().count();
        if lines <= MAX_PASTED_LINES && text.chars().count() <= MAX_PASTED_CHARACTERS {
            return self.insert(&text);
        }
        self.pasted += 1;
        let size = match lines {
            0 | 1 => format!("{} characters", text.chars().count()),
            lines => format!("{lines} lines"),
        };
        let name = format!("[paste {}: {size}]", self.pasted);
        self.insert(&name);
        self.pastes.push((name, text));
    }

    /// Replaces a range.
    pub(crate) fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.text.replace_range(range.clone(), text);
        self.cursor = range.start + text.len();
    }

    pub(crate) fn backspace(&mut self) {
        // A placeholder is deleted as a whole; a part of one would expand to nothing.
        let before = &self.text[..self.cursor];
        let name = self.pastes.iter().map(|(name, _)| name).find(|name| before.ends_with(name.as_str()));
        let from = name.map_or_else(|| self.target(CursorMove::Left), |name| self.cursor - name.len());
        self.remove(from, self.cursor);
    }

    pub(crate) fn delete(&mut self) {
        self.remove(self.cursor, self.target(CursorMove::Right));
    }

    /// Cuts the text between the cursor and the target of a movement.
    pub(crate) fn cut(&mut self, to: CursorMove) {
        let place = self.target(to);
        let (from, to) = (place.min(self.cursor), place.max(self.cursor));
        if from < to {
            self.cut = self.text[from..to].to_string();
            self.remove(from, to);
        }
    }

    /// Inserts the text that was cut last.
    pub(crate) fn yank(&mut self) {
        let cut = self.cut.clone();
        self.insert(&cut);
    }

    pub(crate) fn move_to(&mut self, to: CursorMove) {
        self.cursor = self.target(to);
    }

    /// Moves one row up or down in rows of this width; returns false if there is none.
    pub(crate) fn move_row(&mut self, down: bool, width: usize) -> bool {
        let layout = self.layout(width);
        let row = if down { layout.row.checked_add(1) } else { layout.row.checked_sub(1) };
        let Some(&(start, end)) = row.and_then(|row| layout.rows.get(row)) else { return false };
        let mut column = 0;
        let mut place = start;
        for (at, character) in self.text[start..end].char_indices() {
            if column >= layout.column {
                break;
            }
            column += shown_columns(character);
            place = start + at + character.len_utf8();
        }
        self.cursor = place;
        true
    }

    fn remove(&mut self, from: usize, to: usize) {
        self.text.replace_range(from..to, "");
        self.cursor = from;
    }

    /// The byte offset a movement leads to.
    fn target(&self, to: CursorMove) -> usize {
        let (before, behind) = self.text.split_at(self.cursor);
        match to {
            CursorMove::Left => {
                let mut place = self.cursor;
                for (at, character) in before.char_indices().rev() {
                    place = at;
                    let is_joined = before[..at].ends_with('\u{200d}');
                    if (char_width(character) > 0 || character == '\n' || character == '\t') && !is_joined {
                        break;
                    }
                }
                place
            }
            CursorMove::Right => {
                let mut place = self.cursor;
                let mut is_joined = true;
                for character in behind.chars() {
                    let joins = char_width(character) == 0 && character != '\n' && character != '\t';
                    if !is_joined && !joins && character != '\u{fe0f}' {
                        break;
                    }
                    place += character.len_utf8();
                    is_joined = character == '\u{200d}';
                }
                place
            }
            CursorMove::WordLeft => {
                let trimmed = before.trim_end_matches(|c: char| !c.is_alphanumeric());
                trimmed.trim_end_matches(char::is_alphanumeric).len()
            }
            CursorMove::WordRight => {
                let rest = behind.trim_start_matches(|c: char| !c.is_alphanumeric());
                self.text.len() - rest.trim_start_matches(char::is_alphanumeric).len()
            }
            CursorMove::LineStart => before.rfind('\n').map_or(0, |end| end + 1),
            CursorMove::LineEnd => self.cursor + behind.find('\n').unwrap_or(behind.len()),
            CursorMove::Start => 0,
            CursorMove::End => self.text.len(),
        }
    }

    /// Lays the text out in rows of this width.
    pub(crate) fn layout(&self, width: usize) -> Layout {
        let width = width.max(2);
        let mut rows = Vec::new();
        let (mut start, mut used) = (0, 0);
        let (mut row, mut column) = (0, 0);
        for (at, character) in self.text.char_indices() {
            let columns = shown_columns(character);
            if character != '\n' && used + columns > width {
                rows.push((start, at));
                (start, used) = (at, 0);
            }
            if at == self.cursor {
                (row, column) = (rows.len(), used);
            }
            if character == '\n' {
                rows.push((start, at));
                (start, used) = (at + 1, 0);
            } else {
                used += columns;
            }
        }
        if self.cursor == self.text.len() {
            if used >= width {
                // The cursor gets a row of its own if the last row is full.
                rows.push((start, self.text.len()));
                (start, used) = (self.text.len(), 0);
            }
            (row, column) = (rows.len(), used);
        }
        rows.push((start, self.text.len()));
        Layout { rows, row, column }
    }
}

fn shown_columns(character: char) -> usize {
    if character == '\t' { TAB } else { char_width(character) }
}

/// Normalises line ends and removes control characters.
fn clean(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with this text and its cursor at `|`.
    fn editor(text: &str) -> Editor {
        let mut editor = Editor::default();
        let (before, behind) = text.split_once('|').expect("a cursor");
        editor.insert(before);
        editor.text.push_str(behind);
        editor
    }

    fn shown(editor: &Editor) -> String {
        let (before, behind) = editor.text.split_at(editor.cursor);
        format!("{before}|{behind}")
    }

    #[track_caller]
    fn check(text: &str, act: impl FnOnce(&mut Editor), expected: &str) {
        let mut editor = editor(text);
        act(&mut editor);
        assert_eq!(shown(&editor), expected);
    }

    #[test]
    fn the_cursor_moves() {
        check("ab|", |e| e.move_to(CursorMove::Left), "a|b");
        check("|ab", |e| e.move_to(CursorMove::Left), "|ab");
        check("|", |e| e.move_to(CursorMove::Right), "|");
        check("one two|", |e| e.move_to(CursorMove::WordLeft), "one |two");
        check("|one two", |e| e.move_to(CursorMove::WordRight), "one| two");
        check("a\nbc|d", |e| e.move_to(CursorMove::LineStart), "a\n|bcd");
        check("a|\nbcd", |e| e.move_to(CursorMove::LineEnd), "a|\nbcd");
        check("👨\u{200d}👩x|", |e| e.move_to(CursorMove::Left), "👨\u{200d}👩|x");
        check("👨\u{200d}👩|x", |e| e.move_to(CursorMove::Left), "|👨\u{200d}👩x");
        check("|e\u{301}x", |e| e.move_to(CursorMove::Right), "e\u{301}|x");
    }

    #[test]
    fn text_is_cut_and_put_back() {
        check("one two|", |e| e.cut(CursorMove::WordLeft), "one |");
        check("one| two", |e| e.cut(CursorMove::LineEnd), "one|");
        check(
            "one two|",
            |e| {
                e.cut(CursorMove::LineStart);
                e.yank();
                e.yank();
            },
            "one twoone two|",
        );
        check("ab|c", Editor::backspace, "a|c");
        check("ab|c", Editor::delete, "ab|");
        check("日本|", Editor::backspace, "日|");
    }

    #[test]
    fn rows_are_gone_through() {
        check("abc\nde|f", |e| assert!(e.move_row(false, 80)), "ab|c\ndef");
        check("abcdef|", |e| assert!(e.move_row(false, 3)), "abc|def");
        check("ab|c", |e| assert!(!e.move_row(true, 80)), "ab|c");
        check("abc|\nd", |e| assert!(e.move_row(true, 80)), "abc\nd|");
    }

    #[test]
    fn text_stands_in_rows() {
        let layout = editor("abc\n日本語|").layout(4);
        assert_eq!(layout, Layout { rows: vec![(0, 3), (4, 10), (10, 13)], row: 2, column: 2 });
        let full = editor("abcd|").layout(4);
        assert_eq!((full.row, full.column, full.rows.len()), (1, 0, 2));
        assert_eq!(Editor::default().layout(10).rows, [(0, 0)]);
    }

    #[test]
    fn long_pastes_are_folded() {
        let mut editor = Editor::default();
        editor.insert("see ");
        let long = "line\n".repeat(20);
        editor.paste(&long);
        assert_eq!(editor.text(), "see [paste 1: 20 lines]");
        assert_eq!(editor.expanded(), format!("see {long}"));
        editor.backspace();
        assert_eq!(editor.text(), "see ");
        editor.paste("short\r\none\x1b[2J");
        assert_eq!(editor.take(), "see short\none[2J");
        assert!(editor.is_empty());
    }
}
