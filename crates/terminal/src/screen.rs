//! Inline drawing: finished lines are printed above, and a block of rows below them is redrawn.
//!
//! Finished lines belong to the terminal's own scrollback, so the program never takes over the whole screen. Each frame
//! is one write, and only the rows that differ are written.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;
use longhaul_display::{Palette, StyledLine};

use crate::preferences::Notification;
use crate::view::Frame;

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Clears from the cursor to the end of the screen.
///
/// Not from the very first cell: tmux takes that for the end of a page and keeps the old rows in its scrollback.
const CLEAR_BELOW: &str = "\r\x1b[K\x1b[C\x1b[J\r";
/// Puts the terminal's title on its stack, and takes it back.
const SAVE_TITLE: &str = "\x1b[22;2t";
const RESTORE_TITLE: &str = "\x1b[23;2t";
/// Turns on bracketed paste.
const PASTE_ON: &str = "\x1b[?2004h";
/// Restores the terminal's defaults: no bracketed paste, no synchronised output, a visible cursor, plain text.
const RESET: &str = "\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

/// An inline screen: printed lines, and a block of rows below them that is redrawn.
#[derive(Debug)]
pub(crate) struct InlineScreen<W> {
    out: W,
    /// The colours; none for plain text.
    palette: Option<Palette>,
    /// The title that was set, if any.
    title: Option<String>,
    /// The rows of the block as written, with their widths in columns.
    rows: Vec<(String, usize)>,
    /// The row of the block that holds the cursor.
    row: usize,
    /// The column of the cursor.
    column: usize,
}

impl<W: Write> InlineScreen<W> {
    pub(crate) fn new(out: W, palette: Option<Palette>) -> Self {
        Self { out, palette, title: None, rows: Vec::new(), row: 0, column: 0 }
    }

    /// Draws in these colours from now on.
    pub(crate) fn set_palette(&mut self, palette: Option<Palette>) {
        if self.palette != palette {
            // Rows that stay the same are written again.
            self.rows.iter_mut().for_each(|(row, _)| row.push('\0'));
            self.palette = palette;
        }
    }

    /// Prints lines and draws the block below them.
    pub(crate) fn draw(&mut self, printed: &[StyledLine], frame: &Frame) -> io::Result<()> {
        let rows: Vec<(String, usize)> =
            frame.lines.iter().map(|line| (line.render(self.palette.as_ref()), line.columns())).collect();
        let mut text = String::from(BEGIN);
        if printed.is_empty() {
            self.redraw(&rows, &mut text);
        } else {
            self.go_to(0, &mut text);
            text.push_str(CLEAR_BELOW);
            for line in printed {
                text.push_str(&line.render(self.palette.as_ref()));
                text.push_str("\r\n");
            }
            let block: Vec<&str> = rows.iter().map(|(row, _)| row.as_str()).collect();
            text.push_str(&block.join("\r\n"));
            self.row = rows.len().saturating_sub(1);
        }
        self.column = rows.get(self.row).map_or(0, |(_, columns)| *columns);
        self.rows = rows;
        if let Some((row, column)) = frame.cursor {
            self.go_to(row, &mut text);
            text.push('\r');
            if column > 0 {
                text.push_str(&format!("\x1b[{column}C"));
            }
            self.column = column;
            text.push_str(SHOW_CURSOR);
        }
        text.push_str(END);
        self.write(&text)
    }

    /// Writes the rows that differ.
    fn redraw(&mut self, rows: &[(String, usize)], text: &mut String) {
        for (number, row) in rows.iter().enumerate() {
            match self.rows.get(number) {
                Some(shown) if shown == row => {}
                Some(_) => {
                    self.go_to(number, text);
                    text.push_str(&format!("\r{}\x1b[K", row.0));
                }
                None if number == 0 => text.push_str(&row.0),
                None => {
                    self.go_to(number - 1, text);
                    text.push_str(&format!("\r\n{}", row.0));
                    self.row = number;
                }
            }
        }
        if rows.len() < self.rows.len() && !rows.is_empty() {
            self.go_to(rows.len(), text);
            text.push_str(CLEAR_BELOW);
        }
    }

    /// Moves the cursor to a row of the block.
    fn go_to(&mut self, row: usize, text: &mut String) {
        if row < self.row {
            text.push_str(&format!("\x1b[{}A", self.row - row));
        } else if row > self.row {
            text.push_str(&format!("\x1b[{}B", row - self.row));
        }
        self.row = row;
    }

    /// Handles a new terminal width: the terminal has wrapped the rows that were wider, also that of the cursor.
    pub(crate) fn resize(&mut self, width: usize) -> io::Result<()> {
        let width = width.max(1);
        let wrapped = |columns: usize| columns.max(1).div_ceil(width);
        let rows: usize = self.rows.iter().take(self.row).map(|(_, columns)| wrapped(*columns)).sum();
        // A cursor behind a full row waits at its end.
        let last = self.rows.get(self.row).map_or(0, |(_, columns)| wrapped(*columns) - 1);
        let own = (self.column / width).min(last);
        let above = rows + own;
        let mut text = String::new();
        if above > 0 {
            text.push_str(&format!("\x1b[{above}A"));
        }
        text.push_str(CLEAR_BELOW);
        (self.rows, self.row, self.column) = (Vec::new(), 0, 0);
        self.write(&text)
    }

    /// Removes the block; the cursor moves to its first row.
    pub(crate) fn clear_block(&mut self) -> io::Result<()> {
        let mut text = String::new();
        self.go_to(0, &mut text);
        text.push_str(CLEAR_BELOW);
        self.rows.clear();
        self.write(&text)
    }

    /// Clears the visible screen; the scrollback stays.
    pub(crate) fn clear_all(&mut self) -> io::Result<()> {
        (self.rows, self.row) = (Vec::new(), 0);
        self.write("\x1b[2J\x1b[H")
    }

    /// Copies a text to the clipboard, if the terminal supports it.
    pub(crate) fn copy(&mut self, text: &str) -> io::Result<()> {
        use base64::Engine;
        let text = base64::engine::general_purpose::STANDARD.encode(text);
        self.write(&format!("\x1b]52;c;{text}\x07"))
    }

    /// Sets the terminal's title; the one before is kept by terminals that can.
    pub(crate) fn set_title(&mut self, title: &str) -> io::Result<()> {
        if self.title.as_deref() == Some(title) {
            return Ok(());
        }
        let save = if self.title.is_none() { SAVE_TITLE } else { "" };
        let shown: String = title.chars().filter(|character| !character.is_control()).collect();
        self.title = Some(title.to_string());
        self.write(&format!("{save}\x1b]2;{shown}\x07"))
    }

    /// Gives the title back.
    pub(crate) fn restore_title(&mut self) -> io::Result<()> {
        match self.title.take() {
            Some(_) => self.write(&format!("\x1b]2;\x07{RESTORE_TITLE}")),
            None => Ok(()),
        }
    }

    /// Shows a message in the way that the user prefers.
    pub(crate) fn notify(&mut self, how: Notification, text: &str) -> io::Result<()> {
        self.write(&how.bytes(text))
    }

    /// Rings the bell.
    pub(crate) fn ring(&mut self) -> io::Result<()> {
        self.write("\x07")
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())?;
        self.out.flush()
    }
}

/// The terminal in raw mode, restored on drop.
#[derive(Debug)]
pub(crate) struct RawMode(());

impl RawMode {
    pub(crate) fn enter() -> io::Result<Self> {
        terminal::enable_raw_mode()?;
        let entered = Self(());
        let mut out = io::stdout();
        out.write_all(PASTE_ON.as_bytes())?;
        out.flush()?;
        Ok(entered)
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal.
pub(crate) fn restore() {
    // If the terminal is gone, there is nothing to restore.
    let mut out = io::stdout();
    out.write_all(RESET.as_bytes()).and_then(|()| out.flush()).ok();
    terminal::disable_raw_mode().ok();
}

/// Set once a panic was printed, which must not be drawn over.
static IS_PANICKING: AtomicBool = AtomicBool::new(false);

/// Installs a panic hook that restores the terminal before the panic of any thread is printed.
pub(crate) fn restore_on_panic() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            {
                // The lock lets a running draw finish, and the flag prevents further ones.
                let mut out = io::stdout().lock();
                IS_PANICKING.store(true, Ordering::SeqCst);
                restore();
                out.write_all(format!("\r\n{CLEAR_BELOW}").as_bytes()).and_then(|()| out.flush()).ok();
            }
            usual(panic);
        }));
    });
}

/// Draws, unless a panic was printed.
pub(crate) fn unless_panicking(draw: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
    let _alone = io::stdout().lock();
    if IS_PANICKING.load(Ordering::SeqCst) { Ok(()) } else { draw() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(rows: &[&str], cursor: Option<(usize, usize)>) -> Frame {
        Frame { lines: rows.iter().map(|row| StyledLine::plain(*row)).collect(), cursor }
    }

    /// The screen of a terminal with this width and ten rows after everything was drawn.
    fn seen(width: u16, act: impl FnOnce(&mut InlineScreen<Vec<u8>>)) -> (Vec<String>, (u16, u16)) {
        let mut screen = InlineScreen::new(Vec::new(), None);
        act(&mut screen);
        let mut terminal = vt100::Parser::new(10, width, 100);
        terminal.process(&screen.out);
        let shown = terminal.screen();
        let mut rows: Vec<String> = shown.rows(0, width).map(|row| row.trim_end().to_string()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        (rows, shown.cursor_position())
    }

    #[test]
    fn the_block_stays_below_what_is_printed() {
        let (rows, cursor) = seen(20, |screen| {
            screen.draw(&[], &frame(&["> ", "status"], Some((0, 2)))).expect("drawn");
            screen
                .draw(&[StyledLine::plain("one")], &frame(&["> a", "status"], Some((0, 3))))
                .expect("drawn");
            screen
                .draw(&[StyledLine::plain("two")], &frame(&["> ab", "status"], Some((0, 4))))
                .expect("drawn");
        });
        assert_eq!(rows, ["one", "two", "> ab", "status"]);
        assert_eq!(cursor, (2, 4));
    }

    #[test]
    fn the_block_grows_and_shrinks() {
        let (rows, _) = seen(20, |screen| {
            screen.draw(&[], &frame(&["a", "b", "c"], Some((1, 0)))).expect("drawn");
            screen.draw(&[], &frame(&["a", "c"], Some((1, 0)))).expect("drawn");
            screen.draw(&[], &frame(&["a", "c", "d", "e"], Some((3, 0)))).expect("drawn");
            screen.draw(&[], &frame(&["x"], None)).expect("drawn");
            screen.draw(&[], &frame(&["x", "y"], None)).expect("drawn");
        });
        assert_eq!(rows, ["x", "y"]);
    }

    #[test]
    fn only_what_differs_is_written() {
        let mut screen = InlineScreen::new(Vec::new(), None);
        screen.draw(&[], &frame(&["long line of text", "b"], Some((1, 0)))).expect("drawn");
        screen.out.clear();
        screen.draw(&[], &frame(&["long line of text", "c"], Some((1, 0)))).expect("drawn");
        let written = String::from_utf8(screen.out).expect("text");
        assert!(!written.contains("long"), "{written:?}");
    }

    #[test]
    fn what_is_printed_scrolls() {
        let (rows, _) = seen(20, |screen| {
            for number in 0..30 {
                let printed = [StyledLine::plain(format!("line {number}"))];
                screen.draw(&printed, &frame(&["> ", "status"], Some((0, 2)))).expect("drawn");
            }
        });
        assert_eq!(rows.len(), 10);
        assert_eq!(rows[7..], ["line 29", ">", "status"]);
    }

    /// A terminal that wraps its lines anew when its width changes, as most do: vt100 alone only cuts them.
    struct ReflowingTerminal {
        parser: vt100::Parser,
        height: u16,
    }

    impl ReflowingTerminal {
        fn new(height: u16, width: u16) -> Self {
            Self { parser: vt100::Parser::new(height, width, 10_000), height }
        }

        /// Every line from the start of the scrollback, unwrapped, and the cursor's line and column.
        fn lines(&mut self) -> (Vec<String>, (usize, usize)) {
            let (_, width) = self.parser.screen().size();
            let (cursor_row, cursor_column) = self.parser.screen().cursor_position();
            self.parser.screen_mut().set_scrollback(usize::MAX);
            let above = self.parser.screen().scrollback();
            let mut rows = Vec::new();
            for offset in (1..=above).rev() {
                self.parser.screen_mut().set_scrollback(offset);
                let screen = self.parser.screen();
                rows.push((screen.rows(0, width).next().unwrap_or_default(), screen.row_wrapped(0)));
            }
            self.parser.screen_mut().set_scrollback(0);
            let screen = self.parser.screen();
            let visible = screen.rows(0, width).enumerate();
            rows.extend(visible.map(|(at, row)| (row, screen.row_wrapped(at as u16))));
            let cursor_row = above + usize::from(cursor_row);
            let (mut lines, mut is_continued, mut cursor) = (Vec::<String>::new(), false, (0, 0));
            for (at, (row, is_wrapped)) in rows.into_iter().enumerate() {
                if !is_continued {
                    lines.push(String::new());
                }
                let number = lines.len() - 1;
                if at == cursor_row {
                    let before = longhaul_display::text::columns(&lines[number]);
                    cursor = (number, before + usize::from(cursor_column));
                }
                let room = if is_wrapped { usize::from(width) } else { 0 };
                let missing = room.saturating_sub(longhaul_display::text::columns(&row));
                lines[number].push_str(&(row + &" ".repeat(missing)));
                is_continued = is_wrapped;
            }
            while lines.len() > cursor.0 + 1 && lines.last().is_some_and(|line| line.trim().is_empty()) {
                lines.pop();
            }
            (lines, cursor)
        }

        fn resize(&mut self, width: u16) {
            let (lines, (line, column)) = self.lines();
            let mut parser = vt100::Parser::new(self.height, width, 10_000);
            let width = usize::from(width);
            let columns = |line: &str| longhaul_display::text::columns(line);
            parser.process(lines.join("\r\n").as_bytes());
            // From the last row back to that of the cursor.
            let heights: Vec<usize> = lines.iter().map(|line| columns(line).max(1).div_ceil(width)).collect();
            let below: usize = heights[line + 1..].iter().sum();
            let within = column / width;
            let up = below + (heights[line] - 1).saturating_sub(within);
            let (row, _) = parser.screen().cursor_position();
            let row = usize::from(row).saturating_sub(up);
            parser.process(format!("\x1b[{};{}H", row + 1, column % width + 1).as_bytes());
            self.parser = parser;
        }
    }

    /// Streams lines into a terminal whose width changes, and compares all of it with what was printed.
    #[track_caller]
    fn check_resizes(widths: &[u16], draft: usize) {
        let mut terminal = ReflowingTerminal::new(20, widths[0]);
        let mut screen = InlineScreen::new(Vec::new(), None);
        let mut printed = Vec::new();
        let mut last = Vec::new();
        for (turn, width) in widths.iter().enumerate() {
            if turn > 0 {
                terminal.resize(*width);
                screen.resize(usize::from(*width)).expect("resized");
            }
            for step in 0..4 {
                let inner = usize::from(*width) - 1;
                let line = format!("{turn}.{step} ");
                let line = line.clone() + &"x".repeat(inner - line.len());
                let rule = "─".repeat(inner);
                let typed = "d".repeat(draft.min(inner - 2));
                let status = format!("status {turn}.{step} of some-model in ~/code");
                let block = [rule.clone(), format!("> {typed}"), rule, status];
                let block = block.map(|row| StyledLine::plain(row).fit(inner));
                let frame = Frame { lines: block.to_vec(), cursor: Some((1, 2 + typed.len())) };
                screen.draw(&[StyledLine::plain(line.as_str())], &frame).expect("drawn");
                terminal.parser.process(&std::mem::take(&mut screen.out));
                printed.push(line);
                last = frame.lines.iter().map(|line| line.text().trim_end().to_string()).collect();
            }
        }
        let expected: Vec<String> = printed.into_iter().chain(last).collect();
        let (lines, _) = terminal.lines();
        let shown: Vec<String> = lines.iter().map(|line| line.trim_end().to_string()).collect();
        assert_eq!(shown, expected, "{widths:?}");
    }

    #[test]
    fn resizes_leave_nothing_behind() {
        check_resizes(&[80, 50], 0);
        check_resizes(&[80, 40, 80], 0);
        check_resizes(&[80, 60, 40, 30, 25, 60, 100], 0);
        check_resizes(&[80, 30, 80, 30], 70);
        check_resizes(&[61, 30, 20, 61], 58);
        check_resizes(&[100, 21, 100, 21, 50], 30);
    }

    #[test]
    fn titles_are_set_once_and_given_back() {
        let mut screen = InlineScreen::new(Vec::new(), None);
        for title in ["a", "a", "b\x07"] {
            screen.set_title(title).expect("set");
        }
        screen.restore_title().expect("restored");
        screen.restore_title().expect("restored");
        let written = String::from_utf8(screen.out).expect("text");
        assert_eq!(written, "\x1b[22;2t\x1b]2;a\x07\x1b]2;b\x07\x1b]2;\x07\x1b[23;2t");
    }

    #[test]
    fn another_theme_is_drawn_at_once() {
        let mut screen = InlineScreen::new(Vec::new(), Palette::named("terminal"));
        let shown = Frame { lines: vec![StyledLine::new("a", longhaul_display::Style::RED)], cursor: None };
        screen.draw(&[], &shown).expect("drawn");
        screen.set_palette(Palette::named("contrast"));
        screen.draw(&[], &shown).expect("drawn");
        let written = String::from_utf8(screen.out).expect("text");
        assert!(written.contains("\x1b[0;31ma") && written.contains("\x1b[0;91ma"), "{written:?}");
    }

    #[test]
    fn the_block_goes_without_a_trace() {
        let (rows, cursor) = seen(20, |screen| {
            screen.draw(&[StyledLine::plain("one")], &frame(&["> ", "status"], Some((0, 2)))).expect("drawn");
            screen.clear_block().expect("cleared");
        });
        assert_eq!((rows, cursor), (vec!["one".to_string()], (1, 0)));
    }
}
