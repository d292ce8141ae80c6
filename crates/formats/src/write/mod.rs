//! Writes whole sessions: in their own format where that can be written, otherwise in the neutral form.

mod claude;
mod codex;
pub(crate) mod gemini_cli;
mod neutral;
mod opencode;
mod session;
#[cfg(test)]
mod session_laws;
mod shared;

pub use codex::encode_compaction;
pub use gemini_cli::encode_answered;
pub use opencode::new_opencode_session_id;
pub use session::{WrittenSession, write_session};
