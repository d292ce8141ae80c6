//! Vim keys in the input: modes, motions, operators, counts, one register and undo. Keys in, changes of the editor out.

mod motion;

use std::ops::Range;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use self::motion::{Motion, Reach};
use crate::editor::Editor;

/// The most changes that can be undone.
const MAX_UNDO: usize = 200;
/// The largest count; more would only take time.
const MAX_COUNT: usize = 9_999;

/// The state of the vim keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vim {
    mode: VimMode,
    /// The keys of a command so far.
    pending: Pending,
    register: Register,
    /// The texts before each change with their cursors, the newest last.
    undo: Vec<(String, usize)>,
}

/// The mode of the input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum VimMode {
    /// Keys are text.
    #[default]
    Insert,
    /// Keys are commands.
    Normal,
}

/// A command that is not complete yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    /// The count before the operator.
    count: Option<usize>,
    operator: Option<Operator>,
    /// The count behind the operator.
    inner: Option<usize>,
    /// True after the first `g` of `gg`.
    is_after_g: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Delete,
    Change,
    Yank,
}

/// The text deleted or yanked last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Register {
    text: String,
    /// True for whole lines, which are put on lines of their own.
    is_lines: bool,
}

/// The result of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VimKey {
    /// The key was taken.
    Taken,
    /// The key is handled as without vim keys.
    Passed,
    /// The cursor is to move this many rows up (negative) or down.
    Rows(isize),
}

impl Vim {
    pub(crate) fn mode(&self) -> VimMode {
        self.mode
    }

    /// Returns to the insert mode, for a new message.
    pub(crate) fn reset(&mut self) {
        self.mode = VimMode::Insert;
        self.pending = Pending::default();
        self.undo.clear();
    }

    /// Handles a key in the input.
    pub(crate) fn press(&mut self, editor: &mut Editor, key: KeyEvent) -> VimKey {
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return VimKey::Passed;
        }
        match self.mode {
            VimMode::Insert if key.code == KeyCode::Esc => {
                self.mode = VimMode::Normal;
                let place = motion::before(editor.text(), editor.cursor(), 1);
                editor.place(place);
                self.drop_unchanged(editor);
                VimKey::Taken
            }
            VimMode::Insert => VimKey::Passed,
            VimMode::Normal => self.command(editor, key.code),
        }
    }

    /// Forgets a state to return to that is the present one.
    fn drop_unchanged(&mut self, editor: &Editor) {
        if self.undo.last().is_some_and(|(text, _)| text == editor.text()) {
            self.undo.pop();
        }
    }

    fn command(&mut self, editor: &mut Editor, code: KeyCode) -> VimKey {
        let letter = match code {
            KeyCode::Char(letter) => letter,
            KeyCode::Esc if self.pending != Pending::default() => {
                self.pending = Pending::default();
                return VimKey::Taken;
            }
            KeyCode::Left => 'h',
            KeyCode::Right => 'l',
            KeyCode::Home => '0',
            KeyCode::End => '$',
            KeyCode::Backspace => 'h',
            KeyCode::Delete => 'x',
            _ => {
                self.pending = Pending::default();
                return VimKey::Passed;
            }
        };
        if self.counts(letter) {
            return VimKey::Taken;
        }
        let pending = std::mem::take(&mut self.pending);
        if letter == 'g' && !pending.is_after_g {
            self.pending = Pending { is_after_g: true, ..pending };
            return VimKey::Taken;
        }
        if pending.is_after_g && letter != 'g' {
            return VimKey::Taken;
        }
        let count = pending.count.unwrap_or(1).saturating_mul(pending.inner.unwrap_or(1)).min(MAX_COUNT);
        let is_counted = pending.count.or(pending.inner).is_some();
        match pending.operator {
            Some(operator) => self.operate(editor, operator, letter, count, is_counted),
            None => return self.act(editor, letter, count, is_counted),
        }
        VimKey::Taken
    }

    /// Takes a digit of a count; a leading 0 is a motion.
    fn counts(&mut self, letter: char) -> bool {
        let pending = &mut self.pending;
        let slot = if pending.operator.is_some() { &mut pending.inner } else { &mut pending.count };
        let Some(digit) = letter.to_digit(10).filter(|digit| *digit > 0 || slot.is_some()) else {
            return false;
        };
        *slot = Some((slot.unwrap_or(0) * 10 + digit as usize).min(MAX_COUNT));
        true
    }

    /// Carries out an operator on the text that a motion covers, or on whole lines if its letter is doubled.
    fn operate(
        &mut self,
        editor: &mut Editor,
        operator: Operator,
        letter: char,
        count: usize,
        is_counted: bool,
    ) {
        let text = editor.text();
        let cursor = editor.cursor();
        let is_doubled = letter == operator.letter();
        let is_blank = text[cursor..].chars().next().is_none_or(char::is_whitespace);
        let motion = match (operator, letter) {
            _ if is_doubled => Motion::Lines { count: count - 1 },
            // Changing a word leaves the space behind it.
            (Operator::Change, 'w') if !is_blank => Motion::WordEnd { count, from_end: true },
            _ => match Motion::of(letter, count, is_counted) {
                Some(motion) => motion,
                None => return,
            },
        };
        let Some(covered) = motion.covers(text, cursor) else { return };
        let is_lines = motion.reach() == Reach::Lines;
        self.register = Register { text: text[covered.clone()].to_string(), is_lines };
        match operator {
            Operator::Yank => {
                let to = if is_lines { cursor.min(covered.end) } else { covered.start };
                editor.place(if is_doubled { cursor } else { to });
            }
            Operator::Delete if is_lines => {
                self.remember(editor);
                delete_lines(editor, covered);
            }
            Operator::Delete => {
                self.remember(editor);
                editor.replace(covered, "");
                rest_on_character(editor);
            }
            Operator::Change => {
                self.remember(editor);
                editor.replace(covered, "");
                self.mode = VimMode::Insert;
            }
        }
    }

    /// Carries out a command without an operator.
    fn act(&mut self, editor: &mut Editor, letter: char, count: usize, is_counted: bool) -> VimKey {
        let rows = isize::try_from(count).unwrap_or(isize::MAX);
        let shorthand = |vim: &mut Self, editor: &mut Editor, operator, letter| {
            vim.operate(editor, operator, letter, count, is_counted);
        };
        match letter {
            'j' => return VimKey::Rows(rows),
            'k' => return VimKey::Rows(-rows),
            'd' | 'c' | 'y' => {
                let operator = Operator::of(letter);
                self.pending = Pending { count: is_counted.then_some(count), operator, ..Pending::default() };
            }
            'x' => shorthand(self, editor, Operator::Delete, 'l'),
            'D' => shorthand(self, editor, Operator::Delete, '$'),
            'C' => shorthand(self, editor, Operator::Change, '$'),
            's' => shorthand(self, editor, Operator::Change, 'l'),
            'S' => shorthand(self, editor, Operator::Change, 'c'),
            'Y' => shorthand(self, editor, Operator::Yank, 'y'),
            'p' | 'P' => self.put(editor, letter == 'p', count),
            'u' => self.undo(editor, count),
            'i' => self.insert_at(editor, editor.cursor()),
            'a' => self.insert_at(editor, motion::after(editor.text(), editor.cursor(), 1)),
            'I' => self.insert_at(editor, motion::first_character(editor.text(), editor.cursor())),
            'A' => self.insert_at(editor, motion::line_end(editor.text(), editor.cursor())),
            'o' | 'O' => self.open_line(editor, letter == 'o'),
            _ => {
                if let Some(motion) = Motion::of(letter, count, is_counted) {
                    editor.place(motion.target(editor.text(), editor.cursor()));
                    rest_on_character(editor);
                }
            }
        }
        VimKey::Taken
    }

    fn insert_at(&mut self, editor: &mut Editor, place: usize) {
        self.remember(editor);
        editor.place(place);
        self.mode = VimMode::Insert;
    }

    fn open_line(&mut self, editor: &mut Editor, is_below: bool) {
        self.remember(editor);
        let (text, cursor) = (editor.text(), editor.cursor());
        let place = if is_below { motion::line_end(text, cursor) } else { motion::line_start(text, cursor) };
        editor.replace(place..place, "\n");
        editor.place(if is_below { place + 1 } else { place });
        self.mode = VimMode::Insert;
    }

    /// Puts the register behind or before the cursor, or on lines of its own.
    fn put(&mut self, editor: &mut Editor, is_behind: bool, count: usize) {
        let Register { text, is_lines } = self.register.clone();
        if text.is_empty() && !is_lines {
            return;
        }
        self.remember(editor);
        let (old, cursor) = (editor.text(), editor.cursor());
        let count = count.min(MAX_COUNT / text.len().max(1) + 1);
        if is_lines {
            let lines = vec![text.as_str(); count].join("\n");
            let (place, new, first) = match is_behind {
                true => {
                    let end = motion::line_end(old, cursor);
                    (end, format!("\n{lines}"), end + 1)
                }
                false => {
                    let start = motion::line_start(old, cursor);
                    (start, format!("{lines}\n"), start)
                }
            };
            editor.replace(place..place, &new);
            editor.place(motion::first_character(editor.text(), first));
            return;
        }
        let place = if is_behind { motion::after(old, cursor, 1) } else { cursor };
        let new = text.repeat(count);
        editor.replace(place..place, &new);
        editor.place(motion::before(editor.text(), place + new.len(), 1));
    }

    fn undo(&mut self, editor: &mut Editor, count: usize) {
        for _ in 0..count {
            let Some((text, cursor)) = self.undo.pop() else { return };
            let end = editor.text().len();
            editor.replace(0..end, &text);
            editor.place(cursor);
            rest_on_character(editor);
        }
    }

    /// Keeps the text before a change.
    fn remember(&mut self, editor: &Editor) {
        self.drop_unchanged(editor);
        self.undo.push((editor.text().to_string(), editor.cursor()));
        if self.undo.len() > MAX_UNDO {
            self.undo.remove(0);
        }
    }
}

impl Operator {
    fn of(letter: char) -> Option<Self> {
        [Self::Delete, Self::Change, Self::Yank].into_iter().find(|operator| operator.letter() == letter)
    }

    fn letter(self) -> char {
        match self {
            Self::Delete => 'd',
            Self::Change => 'c',
            Self::Yank => 'y',
        }
    }
}

/// Deletes whole lines with one of the line ends around them.
fn delete_lines(editor: &mut Editor, Range { start, end }: Range<usize>) {
    let text = editor.text();
    let range = match (text[end..].starts_with('\n'), start > 0) {
        (true, _) => start..end + 1,
        (false, true) => start - 1..end,
        (false, false) => start..end,
    };
    editor.replace(range, "");
    editor.place(motion::first_character(editor.text(), start.min(editor.text().len())));
    rest_on_character(editor);
}

/// Moves the cursor from the end of a line onto its last character.
fn rest_on_character(editor: &mut Editor) {
    let (text, cursor) = (editor.text(), editor.cursor());
    if cursor == motion::line_end(text, cursor) {
        editor.place(motion::before(text, cursor, 1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A field with this text and its cursor at `|`.
    fn editor(text: &str) -> Editor {
        let (before, behind) = text.split_once('|').expect("a cursor");
        let mut editor = Editor::default();
        editor.set(&format!("{before}{behind}"));
        editor.place(before.len());
        editor
    }

    fn shown(editor: &Editor) -> String {
        let (before, behind) = editor.text().split_at(editor.cursor());
        format!("{before}|{behind}")
    }

    /// Types keys in normal mode; `␛` is Esc, and what is typed in insert mode is inserted.
    #[track_caller]
    fn check(text: &str, keys: &str, expected: &str) {
        let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
        let mut editor = editor(text);
        for key in keys.chars() {
            let code = if key == '␛' { KeyCode::Esc } else { KeyCode::Char(key) };
            match vim.press(&mut editor, KeyEvent::new(code, KeyModifiers::NONE)) {
                VimKey::Taken => {}
                VimKey::Passed if vim.mode == VimMode::Insert => editor.insert(&key.to_string()),
                VimKey::Passed => {}
                VimKey::Rows(rows) => {
                    (0..rows.unsigned_abs()).for_each(|_| {
                        editor.move_row(rows > 0, 80);
                    });
                    rest_on_character(&mut editor);
                }
            }
        }
        assert_eq!(shown(&editor), expected, "{text:?} {keys}");
    }

    #[test]
    fn motions_move_the_cursor() {
        for (text, keys, expected) in [
            ("ab|c", "h", "a|bc"),
            ("|abc", "h", "|abc"),
            ("|abc", "l", "a|bc"),
            ("ab|c", "l", "ab|c"),
            ("|abcdef", "3l", "abc|def"),
            ("a|b\ncd", "j", "ab\nc|d"),
            ("ab\nc|d", "k", "a|b\ncd"),
            ("|one two", "w", "one |two"),
            ("|one.two", "w", "one|.two"),
            ("one |two", "w", "one tw|o"),
            ("|one\n\ntwo", "w", "one\n|\ntwo"),
            ("|a b c d", "2w", "a b |c d"),
            ("one tw|o", "b", "one |two"),
            ("one |two", "b", "|one two"),
            ("|one two", "e", "on|e two"),
            ("on|e two", "e", "one tw|o"),
            ("|a bc de", "2e", "a bc d|e"),
            ("one t|wo", "0", "|one two"),
            ("  on|e", "^", "  |one"),
            ("|one\ntwo", "$", "on|e\ntwo"),
            ("a\nb\n|c", "gg", "|a\nb\nc"),
            ("|a\nb\n  c", "G", "a\nb\n  |c"),
            ("|a\nb\nc", "2G", "a\n|b\nc"),
            ("|日本 語", "l", "日|本 語"),
            ("|日本 語", "w", "日本 |語"),
            ("|", "w", "|"),
            ("|", "$", "|"),
        ] {
            check(text, keys, expected);
        }
    }

    #[test]
    fn operators_cover_what_a_motion_passes() {
        for (text, keys, expected) in [
            ("a|bc", "x", "a|c"),
            ("ab|c", "x", "a|b"),
            ("|abcd", "3x", "|d"),
            ("|abc", "9x", "|"),
            ("|", "x", "|"),
            ("|one two", "dw", "|two"),
            ("one |two", "dw", "one| "),
            ("one |two\nthree", "dw", "one| \nthree"),
            ("|a b c d", "2dw", "|c d"),
            ("|a b c d", "d2w", "|c d"),
            ("|one two", "de", "| two"),
            ("one two|", "db", "one| "),
            ("one |two", "d0", "|two"),
            ("o|ne two", "D", "|o"),
            ("o|ne two\nx", "d$", "|o\nx"),
            ("a\n|b\nc", "dd", "a\n|c"),
            ("a\nb\n|c", "dd", "a\n|b"),
            ("|a", "dd", "|"),
            ("|a\nb\nc", "2dd", "|c"),
            ("a\n|b\nc", "dj", "|a"),
            ("a\nb\n|c", "dk", "|a"),
            ("a\n|b\nc", "dG", "|a"),
            ("a\n|b\nc", "dgg", "|c"),
            ("|one two", "cwsix␛", "si|x two"),
            ("|one two", "c2wsix␛", "si|x"),
            ("a\n|b\nc", "ccnew␛", "a\nne|w\nc"),
            ("o|ne two", "Cx␛", "o|x"),
            ("|ab", "sx␛", "|xb"),
            ("a\nb|c\nd", "Sx␛", "a\n|x\nd"),
        ] {
            check(text, keys, expected);
        }
    }

    #[test]
    fn what_was_taken_is_put_back() {
        for (text, keys, expected) in [
            ("|one two", "dwp", "tone| wo"),
            ("|one two", "dwP", "one| two"),
            ("|one two", "ywwP", "one one| two"),
            ("a|b", "yyp", "ab\n|ab"),
            ("|a\nb", "ddp", "b\n|a"),
            ("a\n|b", "ddP", "|b\na"),
            ("|a\nb", "2yyGp", "a\nb\n|a\nb"),
            ("|ab", "x3p", "baa|a"),
            ("|ab", "p", "|ab"),
            ("|one two", "cw␛p", " on|etwo"),
        ] {
            check(text, keys, expected);
        }
    }

    #[test]
    fn text_is_inserted_where_a_key_says() {
        for (text, keys, expected) in [
            ("a|b", "ix␛", "a|xb"),
            ("a|b", "ax␛", "ab|x"),
            ("  a|b", "Ix␛", "  |xab"),
            ("|ab\ncd", "Ax␛", "ab|x\ncd"),
            ("|ab\ncd", "ox␛", "ab\n|x\ncd"),
            ("ab\n|cd", "Ox␛", "ab\n|x\ncd"),
            ("|", "ix␛", "|x"),
            ("|", "ax␛", "|x"),
        ] {
            check(text, keys, expected);
        }
    }

    #[test]
    fn changes_are_undone_one_by_one() {
        for (text, keys, expected) in [
            ("|abc", "xxu", "|bc"),
            ("|abc", "xxuu", "|abc"),
            ("|abc", "xx2u", "|abc"),
            ("|abc", "xuuu", "|abc"),
            ("|one", "Axyz␛u", "|one"),
            ("|one two", "cwsix␛u", "|one two"),
            ("|a\nb", "ddu", "|a\nb"),
            ("|abc", "i␛xu", "|abc"),
        ] {
            check(text, keys, expected);
        }
    }

    #[test]
    fn escape_ends_what_was_begun() {
        check("|one two", "d␛w", "one |two");
        check("|one two three", "2␛w", "one |two three");
        check("|one two", "dz", "|one two");
        check("|one two", "gx", "|one two");
        check("|one", "yz", "|one");
    }

    #[test]
    fn only_plain_keys_are_commands() {
        let mut vim = Vim { mode: VimMode::Normal, ..Vim::default() };
        let mut editor = editor("a|b");
        let control = KeyEvent::new(KeyCode::Char('a'), KeyModifiers::CONTROL);
        assert_eq!(vim.press(&mut editor, control), VimKey::Passed);
        let enter = KeyEvent::new(KeyCode::Enter, KeyModifiers::NONE);
        assert_eq!(vim.press(&mut editor, enter), VimKey::Passed);
        // With nothing begun, Esc stops the turn as it does without vim keys.
        let escape = KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE);
        assert_eq!(vim.press(&mut editor, escape), VimKey::Passed);
    }

    proptest::proptest! {
        #[test]
        fn no_keys_panic(text in "[a日 \n.é]{0,12}", keys in "[hjklwbe0$^gGxdcypPuiaIAoODCsSY2 \u{1b}日]{0,24}") {
            let mut vim = Vim::default();
            let mut editor = Editor::default();
            editor.set(&text);
            for key in keys.chars() {
                let code = if key == '\u{1b}' { KeyCode::Esc } else { KeyCode::Char(key) };
                match vim.press(&mut editor, KeyEvent::new(code, KeyModifiers::NONE)) {
                    VimKey::Passed if vim.mode == VimMode::Insert => editor.insert(&key.to_string()),
                    VimKey::Rows(rows) => {
                        editor.move_row(rows > 0, 80);
                    }
                    VimKey::Passed | VimKey::Taken => {}
                }
                proptest::prop_assert!(editor.text().is_char_boundary(editor.cursor()));
            }
        }
    }
}
