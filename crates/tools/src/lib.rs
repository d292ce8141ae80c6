//! The tools that a model works with: reading and changing files, searching, running commands.
//!
//! A [`Tool`] declares itself to a model, previews what a call would do for whoever has to allow it, and runs it. A tool that
//! fails has still answered: its [`Answer`] says how it went, and nothing here returns an error of the program.
//!
//! All paths are taken through [`Roots`]: whatever a model writes, nothing outside the workspace is read or changed. The crate
//! decides nothing about permission, records nothing and shortens nothing; that is the agent's.
//!
//! ```
//! use longhaul_tools::{Preview, Roots, Tool, WriteFile};
//! use serde_json::json;
//!
//! let folder = tempfile::tempdir()?;
//! let roots = Roots::new(folder.path(), &[])?;
//! let tool = WriteFile::new(roots);
//!
//! let preview = tool.preview(&json!({"file_path": "notes.md", "content": "# Notes\n"}));
//! assert!(matches!(preview, Ok(Preview::Change { diff, .. }) if diff.ends_with("+# Notes\n")));
//! let outside = tool.preview(&json!({"file_path": "../notes.md", "content": ""}));
//! assert!(outside.is_err_and(|why| why.contains("outside of the workspace")));
//! # Ok::<(), std::io::Error>(())
//! ```

mod arguments;
mod blocking;
mod change;
mod diff;
mod folder;
mod glob;
mod grep;
mod ignoring;
mod list;
mod read;
mod replace;
mod replacing;
mod roots;
mod shell;
mod text;
mod todos;
mod tool;
mod walk;
mod write;

/// Older names of tools, with those they have now.
pub const ALIASES: &[(&str, &str)] = &[("search_file_content", "grep_search")];

pub use arguments::{parse_arguments, schema_of};
pub use glob::Glob;
pub use grep::GrepSearch;
pub use ignoring::{IgnoreFiles, Reason};
pub use list::ListDirectory;
pub use read::{
    Content, FileKind, LineRange, Loaded, MOST_BYTES, MOST_CHARACTERS, MOST_LINES, ReadError, ReadFile,
    ReadManyFiles, Slice, detect_kind, load_file, looks_binary, slice_lines,
};
pub use replace::Replace;
pub use replacing::{Expected, Mismatch, Replaced, replace_text};
pub use roots::{OnlyFiles, Refusal, Roots};
pub use shell::{Jobs, ReadJobOutput, RunShellCommand, RunningJob, ShellSettings, StopJob};
pub use text::{Decoded, Encoding, decode_text, encode_text};
pub use todos::WriteTodos;
pub use tool::{Answer, BoxFuture, Call, Outcome, Preview, Shown, TodoItem, TodoStatus, Tool};
pub use write::WriteFile;
