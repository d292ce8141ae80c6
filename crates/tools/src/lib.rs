//! The tools that a model works with: reading and changing files, searching, running commands.
//!
//! A [`Tool`] declares itself to a model, previews the effect of a call for approval, and runs it. A tool that fails has
//! still answered: its [`ToolAnswer`] holds the outcome, and nothing here returns an error of the program.
//!
//! All paths go through [`Roots`]: whatever a model writes, nothing outside the workspace is read or changed. Permission,
//! recording and truncation are the agent's responsibility.
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
mod checkpoints;
mod diff;
mod folder;
mod glob;
mod grep;
mod ignore_files;
mod line_endings;
mod list;
mod read;
mod readable;
mod replace;
mod replace_text;
mod roots;
mod shell;
mod todos;
mod tool;
mod walk;
mod write;

/// Old tool names with their current names.
pub const ALIASES: &[(&str, &str)] = &[("search_file_content", "grep_search")];

pub use arguments::{parse_arguments, schema_of};
pub use checkpoints::{Checkpoints, FileRestoration, Restoration, RestorationKind, RestoredFiles};
pub use glob::Glob;
pub use grep::GrepSearch;
pub use ignore_files::{IgnoreFiles, IgnoreReason};
pub use list::ListDirectory;
pub use read::{
    FileContent, FileReadError, LoadedFile, ReadFile, ReadManyFiles, ReadRange, Slice, load_file,
};
pub use replace::Replace;
pub use replace_text::{ExpectedCount, ReplaceMismatch, TextReplacement, replace_text};
pub use roots::{AllowedFiles, PathRefusal, Roots};
pub use shell::{Jobs, ReadJobOutput, RunShellCommand, RunningJob, ShellSettings, StopJob};
pub use todos::WriteTodos;
pub use tool::{
    BoxFuture, OfferedPrompt, PermittedEffects, Preview, PromptArgument, Proposal, TodoItem, TodoStatus,
    Tool, ToolAnswer, ToolDisplay, ToolInvocation, ToolOutcome, ToolSource,
};
pub use write::WriteFile;
