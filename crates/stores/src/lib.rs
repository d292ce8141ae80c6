//! Finds the sessions of coding agents on this machine, and reads those that lie in databases.
//!
//! [`Places`] knows where each agent keeps its sessions, per platform and by the environment's variables, which the caller
//! passes in. [`find_sessions`] lists what lies there with a [`Head`] each, from an index where nothing has changed.
//! Nothing of an agent's is ever written, locked for long or copied; what cannot be read becomes a [`Notice`].
//!
//! A session in a database has a path, too: the database's, `#` and the session's id. [`read_session_document`] makes of it
//! the document that the agent itself would export, which `longhaul-formats` reads.
//!
//! ```
//! use longhaul_stores::{Places, Platform, find_sessions};
//!
//! let home = tempfile::tempdir()?;
//! let folder = home.path().join(".claude/projects/-home-dev");
//! std::fs::create_dir_all(&folder)?;
//! let line = r#"{"type":"user","sessionId":"s-1","cwd":"/home/dev","message":{"role":"user","content":"Fix the cart"}}"#;
//! std::fs::write(folder.join("s-1.jsonl"), line)?;
//!
//! let places = Places::new(Platform::Linux, Some(home.path()), |_| None);
//! let found = find_sessions(&places, None);
//! assert_eq!(found.sessions[0].head.title.as_deref(), Some("Fix the cart"));
//! # Ok::<(), std::io::Error>(())
//! ```

mod agent;
mod db;
mod error;
mod find;
mod head;
mod index;
mod marks;
mod notice;
mod peek;
mod places;
mod retention;
mod walk;

pub use agent::Agent;
pub use db::{list_database, read_session_document, split_session_path};
pub use error::StoreReadError;
pub use find::{FoundSession, FoundSessions, find_sessions};
pub use head::{Head, TokenFigure};
pub use notice::Notice;
pub use places::{Places, Platform};
pub use retention::Retention;
