//! Inline drawing: finished lines are printed above, and a block of rows below them is redrawn.
//!
//! Finished lines belong to the terminal's own scrollback, so the program never takes over the whole screen. Each frame
//! is one write, and only the rows that differ are written.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;
use longhaul_display::StyledLine;

use crate::view::Frame;

const BEGIN: &str = "\x1b[?2026h\x1b[?25l";
const END: &str = "\x1b[?2026l";
const SHOW_CURSOR: &str = "\x1b[?25h";
/// Clears from the cursor to the end of the screen.
///
/// Not from the very first cell: tmux takes that for the end of a page and keeps the old rows in its scrollback.
const CLEAR_BELOW: &str = "\r\x1b[K\x1b[C\x1b[J\r";
/// Turns on bracketed paste.
const PASTE_ON: &str = "\x1b[?2004h";
/// Restores the terminal's defaults: no bracketed paste, no synchronised output, a visible cursor, plain text.
const RESET: &str = "\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";

/// An inline screen: printed lines, and a block of rows below them that is redrawn.
#[derive(Debug)]
pub(crate) struct InlineScreen<W> {
    out: W,
    is_coloured: bool,
    /// The rows of the block as written, with their widths in columns.
    rows: Vec<(String, usize)>,
    /// The row of the block that holds the cursor.
    row: usize,
}

impl<W: Write> InlineScreen<W> {
    pub(crate) fn new(out: W, is_coloured: bool) -> Self {
        Self { out, is_coloured, rows: Vec::new(), row: 0 }
    }

    /// Prints lines and draws the block below them.
    pub(crate) fn draw(&mut self, printed: &[StyledLine], frame: &Frame) -> io::Result<()> {
        let rows: Vec<(String, usize)> =
            frame.lines.iter().map(|line| (line.render(self.is_coloured), line.columns())).collect();
        let mut text = String::from(BEGIN);
        if printed.is_empty() {
            self.redraw(&rows, &mut text);
        } else {
            self.go_to(0, &mut text);
            text.push_str(CLEAR_BELOW);
            for line in printed {
                text.push_str(&line.render(self.is_coloured));
                text.push_str("\r\n");
            }
            let block: Vec<&str> = rows.iter().map(|(row, _)| row.as_str()).collect();
            text.push_str(&block.join("\r\n"));
            self.row = rows.len().saturating_sub(1);
        }
        self.rows = rows;
        if let Some((row, column)) = frame.cursor {
            self.go_to(row, &mut text);
            text.push('\r');
            if column > 0 {
                text.push_str(&format!("\x1b[{column}C"));
            }
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

    /// Handles a new terminal width: the terminal has wrapped the rows that were wider.
    pub(crate) fn resize(&mut self, width: usize) -> io::Result<()> {
        let width = width.max(1);
        let wrapped = |columns: usize| columns.max(1).div_ceil(width);
        let above: usize = self.rows.iter().take(self.row).map(|(_, columns)| wrapped(*columns)).sum();
        let mut text = String::new();
        if above > 0 {
            text.push_str(&format!("\x1b[{above}A"));
        }
        text.push_str(CLEAR_BELOW);
        (self.rows, self.row) = (Vec::new(), 0);
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
        let mut screen = InlineScreen::new(Vec::new(), false);
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
        let mut screen = InlineScreen::new(Vec::new(), false);
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

    #[test]
    fn the_block_goes_without_a_trace() {
        let (rows, cursor) = seen(20, |screen| {
            screen.draw(&[StyledLine::plain("one")], &frame(&["> ", "status"], Some((0, 2)))).expect("drawn");
            screen.clear_block().expect("cleared");
        });
        assert_eq!((rows, cursor), (vec!["one".to_string()], (1, 0)));
    }
}
