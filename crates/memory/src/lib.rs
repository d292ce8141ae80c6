//! Memory: the standing instructions that users and projects keep in files such as `GEMINI.md`.
//!
//! - [`load_memory`] finds the files of every [`MemoryTier`] and reads each once, with its [imports](Import);
//! - [`render_system`] and [`render_first_message`] lay them out for a model, within budgets, and say what was left out;
//! - [`JustInTime`] brings in the files of a folder when a tool touches something in it;
//! - [`save_fact`] adds a fact, unless it is there already or a secret; [`remove_fact`] and [`edit_fact`] change one;
//! - [`explain`] says which files apply to a path, and why others do not.
//!
//! Nothing here reads the environment, asks for the time or prints: [`Places`] and [`MemorySettings`] say all.
//!
//! ```
//! use longhaul_memory::{MemorySettings, Places, WorkFolder, flatten, load_memory};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("GEMINI.md"), "Use tabs.\n@./style.md\n")?;
//! std::fs::write(folder.path().join("style.md"), "Lines are short.")?;
//! let workspace = WorkFolder { path: folder.path().to_path_buf(), is_trusted: true };
//! let places = Places { folders: vec![workspace], ..Places::default() };
//!
//! let memory = load_memory(&places, &MemorySettings::default());
//! let text = flatten(&memory, None, &MemorySettings::default());
//! assert!(text.starts_with("--- Project ---\n--- Context from: "));
//! assert!(text.contains("<!-- Imported from: ./style.md -->\nLines are short.\n<!-- End of import from: ./style.md -->"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bounds;
mod budget;
mod discover;
mod duplicates;
mod entries;
mod error;
mod estimate;
mod event;
mod explain;
mod extensions;
mod identity;
mod imports;
mod jit;
mod load;
mod loaded;
mod neutralise;
mod places;
mod read;
mod render;
mod rules;
mod save;
mod scan;
mod settings;
mod tier;
mod told;

pub use budget::LeftOut;
pub use duplicates::Remembered;
pub use error::MemoryError;
pub use estimate::estimate_tokens;
pub use event::MemoryEvent;
pub use explain::{AppliedFile, MemoryExplanation, NotImported, When, explain};
pub use extensions::{Extensions, find_extensions};
pub use imports::{Import, ImportOutcome, Imported, load_with_imports};
pub use jit::{Discovered, JustInTime};
pub use load::load_memory;
pub use loaded::{Memory, MemoryFile, SearchNotice, SkipReason, SkippedFile};
pub use places::{ExtensionContext, Instructions, Places, WorkFolder};
pub use read::SourceFile;
pub use render::{
    RenderOptions, Rendered, SAVE_GUIDANCE, Update, flatten, is_put_back, render_first_message,
    render_system, render_update,
};
pub use save::{
    Fact, FactChange, FactEdit, FactPreview, FactScope, KnownMemory, Proposal, ProposedScope, RememberedFact,
    SAVE_TOOL, SaveCall, SavedFact, edit_fact, find_facts, parse_save_call, pick_facts, preview_edit,
    preview_removal, propose_scope, remove_fact, save_fact, save_failure, save_in_folder, save_schema,
    save_target,
};
pub use settings::{
    Budgets, ContextNames, Discovery, ImportFormat, ImportRules, IncludedFolders, Labels, MemorySettings,
};
pub use tier::MemoryTier;
pub use told::{Told, ToldFiles};

/// The program of the README, which must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
