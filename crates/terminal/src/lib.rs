//! The interactive agent: an inline screen for people, and plain lines where there is none.
//!
//! [`run`] holds the agent on a thread of its own, which receives commands and tells everything that happens; the screen
//! lives on the calling thread and never waits for it. What the screen shows is one value. A pure function changes it, with
//! the keys and messages that come in, and says what is to be done; another one draws it.
//!
//! ```text
//! keys, messages -> update(State, Input) -> Effects      pure
//! State          -> view::frame          -> Lines        pure
//! Effects, Lines -> Screen, Command                      effect
//! Command        -> Driver (Agent)       -> Message      effect
//! ```
//!
//! Finished lines are printed into the terminal's own scrollback, and only the block below them is drawn again and again:
//! everything said can be scrolled to, selected and copied as in any other program. Whatever a model or a tool writes
//! reaches the terminal through [`style::Line`], which makes control characters visible.
//!
//! ```
//! use longhaul_terminal::style::{Line, Style};
//!
//! let line = Line::new("tool: ", Style::BOLD).with("\u{1b}[2J", Style::PLAIN);
//! assert_eq!(line.text(), "tool: ␛[2J");
//! ```

mod command;
mod diff;
mod driver;
mod editor;
mod editor_program;
mod files;
mod guard;
mod history;
mod markdown;
mod page;
mod plain;
mod review;
mod run;
mod screen;
mod screen_loop;
mod script;
mod services;
mod signals;
mod slash;
mod spoken;
mod state;
pub mod style;
pub mod text;
mod update;
mod view;

pub use command::{Level, Notice, SessionChoice};
pub use page::{Page, Row};
pub use review::{Inbox, InboxItem, Review, SkillChoice, Whose};
pub use run::{play, run};
pub use script::{Act, Pace, Script};
pub use services::{Ended, Opened, Options, Services, Spender, Surface, Voice};
