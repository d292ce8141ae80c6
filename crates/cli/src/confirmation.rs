//! Asks before something is done that cannot be taken back, or that grants rights.

use std::io::IsTerminal;

use anyhow::anyhow;
use longhaul_app::failure::hinted;

use crate::output::is_confirmed;

/// Asks whether to go on, unless `--yes` says so. Without a terminal nothing is confirmed, and nothing is done.
pub(crate) fn confirm(question: &str, yes: bool, act: &str) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() {
        let error = anyhow!("not confirmed: there is no terminal to ask at");
        return Err(hinted(error, format!("--yes {act} without asking")));
    }
    is_confirmed(question)
}
