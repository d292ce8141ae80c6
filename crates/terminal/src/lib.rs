//! The interactive agent: an inline screen for people, and plain lines where there is none.
//!
//! [`run`] keeps the agent on a thread of its own, which receives commands and reports everything that happens; the screen
//! lives on the calling thread and never waits for it. The screen's state is one value. A pure function changes it with
//! each key and message and returns effects to carry out; another one draws it.
//!
//! ```text
//! keys, messages -> update(UiState, UiInput) -> UiEffects       pure
//! UiState        -> view::frame              -> StyledLines     pure
//! UiEffects      -> InlineScreen, DriverCommand                 effect
//! DriverCommand  -> Driver (Agent)           -> DriverMessage   effect
//! ```
//!
//! Finished lines are printed into the terminal's own scrollback, and only the block below them is redrawn: the whole
//! conversation can be scrolled, selected and copied as in any other program. Everything that a model or a tool writes
//! reaches the terminal through [`longhaul_display::StyledLine`], which makes control characters visible.
//!
//! ```
//! use longhaul_terminal::Page;
//!
//! let mut page = Page::new("Skills");
//! page.fact("release", "enabled");
//! let lines: Vec<String> = page.lines(40).iter().map(|line| line.text()).collect();
//! assert_eq!(lines, ["Skills", "  release  enabled"]);
//! ```

mod demo;
mod driver;
mod editor;
mod editor_program;
mod files;
mod guard;
mod history;
mod image;
mod inbox;
mod line_loop;
mod memory;
mod notice;
mod offers;
mod page;
mod preferences;
mod protocol;
mod run;
mod screen;
mod screen_loop;
mod services;
mod signals;
mod slash;
mod spoken;
mod state;
mod status_line;
mod update;
mod view;
mod vim;

pub use demo::{DemoScript, DemoStep, Pace};
pub use inbox::{AcceptScope, InboxItem, InboxKind, ReviewDecision, SkillChoice};
pub use memory::{MemoryReply, MemoryRequest};
pub use notice::{Level, Notice};
pub use offers::{CustomCommand, Offers};
pub use page::{Page, Row};
pub use preferences::{Notification, Preferences};
pub use protocol::SessionChoice;
pub use run::{play, run};
pub use services::{
    ChangedSetting, ExitReason, NoticeSender, OpenedSession, Options, Services, Spender, Surface,
};
