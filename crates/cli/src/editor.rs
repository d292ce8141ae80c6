//! The user's editor.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, anyhow};
use longhaul_app::failure::hinted;

/// The user's editor, with its arguments.
pub(crate) fn editor() -> Option<String> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    named("VISUAL").or_else(|| named("EDITOR"))
}

/// Opens files in the user's editor and waits until it is closed.
pub(crate) fn edit(files: &[PathBuf]) -> anyhow::Result<()> {
    let editor =
        editor().ok_or_else(|| hinted(anyhow!("no editor is set"), "set EDITOR, such as EDITOR=vi"))?;
    // An editor may come with arguments.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program).args(words).args(files).status();
    let status = status.with_context(|| format!("could not run {editor:?}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(anyhow!("the editor exited with {status}; nothing was accepted")),
    }
}
