//! Sessions for front ends: found by name, read from any format, begun, resumed and imported; and secrets taken out of them.

mod import;
mod input;
mod open;
mod redaction;

use std::path::Path;

use anyhow::Context;
use longhaul_formats::{Session, read_session};

use crate::project::session_file;

pub use import::{ImportedSession, RecordedSession, already_here, bring_in, new_id, read};
pub use input::{Input, ProgressReader, display_name, is_stdin, open, without_progress};
pub use longhaul_formats::SeenParts;
pub use open::{FoundSession, OpenSession, begin, find};
pub use redaction::Redaction;

/// Reads a whole session: a file, or a session of this project. `watch` follows how far it was read.
pub fn load(given: &Path, watch: ProgressReader<'_>) -> anyhow::Result<Session> {
    let file = session_file(given)?;
    let name = input::display_name(&file);
    read_session(watch(input::open(&file)?)).with_context(|| format!("could not read {name}"))
}
