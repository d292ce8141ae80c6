//! Writes whole sessions: in their own format where that can be written, otherwise in the neutral form.

mod claude;
pub(crate) mod gemini_cli;
mod neutral;
pub(crate) mod session;
#[cfg(test)]
mod session_laws;

pub use gemini_cli::response_id;
pub use session::{WrittenSession, write_session, write_session_taking};
