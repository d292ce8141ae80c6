//! The record of work: files, commands, test runs, errors, plans and jobs.
//!
//! It is built from tool calls and their results, never from what a model says about them; where an agent has no calls, from
//! the edits in its text that the agent then reports as applied. [`Ledger::observe`] takes one
//! message at a time and never looks back; of calls that wait for a result it keeps only what the result will decide.
//!
//! ```
//! use longhaul_conversation::{Message, Part, Role, TokenCount, ToolCall, ToolResult};
//! use longhaul_ledger::Ledger;
//!
//! let call = ToolCall::new("1", "run_shell_command").with_args(serde_json::json!({"command": "cargo test"}));
//! let result = ToolResult::text("1", "test result: FAILED. 12 passed; 1 failed; 0 ignored");
//! let mut ledger = Ledger::default();
//! ledger.observe(&Message::new("a", Role::Model, vec![Part::call(call)]));
//! ledger.observe(&Message::new("b", Role::User, vec![Part::result(result)]));
//! assert_eq!((ledger.runs()[0].passed, ledger.runs()[0].failed), (Some(12), Some(1)));
//! ```
//!
//! # To add a test runner
//!
//! Programs, tools and phrases are data, in `crates/ledger/data`; the top of each file explains its lines.
//!
//! 1. `runners.txt`: a line such as `test    deno test` makes a command a test run, a build or a check. A runner that others
//!    start (`npx`, `uv run`) needs nothing more; a launcher of its own is a line `launches`.
//! 2. `summaries.txt`: an entry with the line that the runner prints at its end, where the counts stand in it, and an `example`
//!    with what it must be read as. Another entry with `failing` finds the names of failing tests.
//! 3. `cargo test -p longhaul-ledger` reads every file and every example; an error names the file and the line.
//!
//! In the same way `tools.txt` and `fields.txt` take the tools of another agent, `programs.txt` takes what a program does to files,
//! `task-names.txt` what tasks of projects are called, `definitions.txt` the words of another language, `errors.txt` and
//! `answers.txt` what programs and agents say of errors.

mod actions;
mod arguments;
mod calls;
mod changes;
mod chat_edits;
mod colours;
mod commands;
mod content;
mod data;
mod effect;
mod entries;
mod errors;
mod excerpts;
mod fields;
mod files;
mod history;
mod jobs;
mod ledger;
mod numbers;
mod outcome;
mod patch;
mod paths;
mod plan_state;
mod proposed;
mod render;
mod restore;
mod results;
mod roots;
mod shell;
mod summary;
mod symbols;
mod tools;

pub use changes::{TextChange, block_changes, patch_changes, text_changes};
pub use content::{CallContent, content_of};
pub use entries::{
    CommandEntry, CommandPurpose, CommitEntry, ErrorEntry, FileChange, FileEntry, FileRead, FileState,
    FileStep, JobEntry, JobKind, LineRange, RunEntry, StepStatus, TaskList, TaskStep, WorkOutcome,
};
pub use ledger::Ledger;
pub use render::{LedgerLine, LedgerSection};
pub use summary::{FileSummary, LedgerSummary, StateSummary};
pub use symbols::symbol_in;
