//! Text on a terminal: styled lines, colour themes, column widths, Markdown and diffs.
//!
//! A [`StyledLine`] is a list of spans, independent of any terminal. Control characters in its text are made visible, so that
//! nothing a model or a tool writes can act on the terminal; [`text`] does the same for plain strings and JSON.
//! [`markdown`] renders whole texts and texts that are still arriving, with syntax highlighting; [`diff`] styles unified
//! diffs. Nothing here reads or writes: lines are rendered to strings.
//!
//! ```
//! use longhaul_display::{Style, StyledLine, markdown};
//!
//! let line = StyledLine::new("tool: ", Style::BOLD).with("\u{1b}[2J", Style::PLAIN);
//! assert_eq!(line.text(), "tool: ␛[2J");
//! let lines = markdown::render("- one\n- `two`", 40);
//! assert_eq!(lines.iter().map(StyledLine::text).collect::<Vec<_>>(), ["• one", "• two"]);
//! ```

pub mod diff;
pub mod markdown;
mod palette;
mod style;
pub mod text;

pub use palette::{Colour, Palette, THEMES};
pub use style::{Span, Style, StyledLine, Tone, paragraphs};
