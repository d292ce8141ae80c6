//! JSON on standard output: objects written piece by piece, and paths in them.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use longhaul_display::text::EscapeJson;
use serde::Serialize;
use serde_json::Value;

/// Prints an object on lines of its own on standard output.
pub(crate) fn print_json(object: &impl Serialize) -> anyhow::Result<()> {
    write_json(object, std::io::stdout().lock())
}

/// Writes an object piece by piece: what a long session has to tell is long.
pub(crate) fn write_json(object: &impl Serialize, to: impl Write) -> anyhow::Result<()> {
    let mut to = BufWriter::new(to);
    let written = serde_json::to_writer_pretty(EscapeJson(&mut to), object).map_err(io::Error::from);
    written.and_then(|()| writeln!(to)).and_then(|()| to.flush()).context("could not write the output")
}

/// A path as JSON; names that are not Unicode are converted lossily.
pub(crate) fn path_json(path: &Path) -> Value {
    path.to_string_lossy().into()
}
