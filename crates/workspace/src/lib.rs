//! Home layout, project identity, trust, locks and safe writes.
//!
//! - [`Home`] knows the place of every file, from an [`Environment`] that the program passes in;
//! - [`Projects`] gives every project a short [`ProjectId`] that survives lost registries and races;
//! - [`TrustedFolders`] answers whether a workspace's own files may count, with the rule that says so;
//! - [`TrustedContents`] remembers what a folder held when it was trusted, so that a change can be shown;
//! - [`ProtectedFiles`] knows the files that grant rights, which nobody but a person changes;
//! - [`IgnoreRules`] say what `.gitignore`, `.geminiignore` and their like hide, and which line does;
//! - [`Lock`] lets one process at a time work on a file, and [`write_private_atomically`] replaces one so that a
//!   reader finds the old or the new contents and never half of them;
//! - [`FrontMatter`] reads the head of a Markdown file, where skills and sub-agents are described;
//! - [`JsoncDocument`] edits JSON with comments so that the comments stay, and [`parse_jsonc`] reads it with lines;
//! - [`unified_diff`] shows what a change to a file would be before it is made;
//! - [`CommandLine`] starts a shell as a [`Process`], which leads a group of its own and is ended together with it.
//!
//! The layout is Gemini CLI's: both programs can share a home.
//!
//! ```
//! use longhaul_workspace::{Environment, Home, LockTimeout, Projects, Trust, TrustLevel, TrustQuery, TrustedFolders};
//!
//! let folder = tempfile::tempdir()?;
//! let work = folder.path().join("My App");
//! std::fs::create_dir(&work)?;
//! let environment = Environment { longhaul_home: Some(folder.path().join("home")), ..Environment::default() };
//! let home = Home::resolve(&environment)?;
//!
//! let identity = Projects::of(&home).identify(&work, LockTimeout::default())?;
//! assert_eq!(identity.id.as_str(), "my-app");
//! assert!(home.project(&identity.id).chats().ends_with("tmp/my-app/chats"));
//!
//! let rules = TrustedFolders::at(home.trusted_folders());
//! assert_eq!(rules.decide(&TrustQuery::about(&work))?, Trust::Undecided);
//! rules.set(folder.path(), TrustLevel::TrustFolder, LockTimeout::default())?;
//! assert!(rules.decide(&TrustQuery::about(&work))?.is_trusted());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod diff;
mod encoding;
mod error;
mod front_matter;
mod holder;
mod home;
mod ignore_rules;
mod jsonc;
mod limits;
mod lock;
mod locks_held;
mod name;
mod open;
mod paths;
mod process;
mod project_id;
mod protected;
mod sandbox;
mod shared_lock;
mod staged;
mod trust;
mod worktree;
mod write;
mod written_folders;

pub use diff::{Diff, unified_diff};
pub use encoding::{Decoded, Encoding, decode_text, encode_text};
pub use error::WorkspaceError;
pub use front_matter::{FrontMatter, FrontMatterError, FrontMatterField, FrontMatterValue, MalformedValue};
pub use holder::Holder;
pub use home::{Environment, Home, ProjectHome, WorkspaceFolder, canonical_workspace, system_folder};
pub use ignore_rules::{GitChain, HiddenBy, IgnoreRules, Ignoring};
pub use jsonc::{
    JsoncContent, JsoncDocument, JsoncError, JsoncFault, JsoncNode, NewKey, Unclosed, blank_comments,
    parse_jsonc,
};
pub use limits::{check_descriptors, check_threads, is_out_of_descriptors};
pub use lock::{Lock, LockTimeout};
pub use locks_held::{HeldLock, LockedBy, held_locks};
pub use name::SafeName;
pub use open::open_without_links;
pub use process::{CommandLine, Process, ProcessEnd};
pub use project_id::{IdOrigin, LookUp, Note, ProjectId, ProjectIdentity, Projects, project_hash};
pub use protected::{ProtectedFile, ProtectedFiles, ProtectedKind};
pub use sandbox::{NetworkAccess, Sandbox};
pub use staged::{
    STAGED_PREFIX, StagedFolder, find_strays, is_abandoned, is_staged_name, remove_strays, staged_file,
};
pub use trust::{
    ContentChange, Contents, Decider, Fingerprint, Trust, TrustLevel, TrustQuery, TrustRule, TrustedContents,
    TrustedFolders, changes_between,
};
pub use worktree::main_worktree;
pub use write::{
    Creation, check_replaceable, create_private_atomically, create_private_folder, keep_permissions,
    may_write_in, write_private_atomically, write_private_cache,
};
pub use written_folders::{FolderRecorder, find_noted_strays, remove_noted_strays};
