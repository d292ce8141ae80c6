//! Compactions of the gateway: listed, shown, undone.

use anyhow::anyhow;
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_conversation::Timestamp;
use longhaul_gateway::{AnchorRecord, Store};

use crate::output::{ago, print, thousands, visible};

/// So many are listed.
const LISTED: usize = 50;

pub(super) fn open() -> anyhow::Result<Store> {
    Ok(Store::open(&longhaul_app::gateway::folder()?)?)
}

/// Lists compactions.
pub(super) fn list() -> anyhow::Result<()> {
    let compactions = open()?.compactions(LISTED)?;
    if compactions.is_empty() {
        return print("No compactions yet. Start a client with `longhaul gateway -- claude`.\n");
    }
    let lines: String = compactions.iter().map(line).collect();
    print(&lines)
}

pub(super) fn line(record: &AnchorRecord) -> String {
    let AnchorRecord { id, at, occasion, messages, before, after, model, session, .. } = record;
    let when = ago(Timestamp::from_millis(*at), now());
    let session =
        session.as_deref().map(|id| format!("  session {}", &id[..id.len().min(8)])).unwrap_or_default();
    format!(
        "{id:>4}  {when:<14}  {messages} messages, {} → {} tokens ({occasion})  {}{}\n",
        thousands(*before as usize),
        thousands(*after as usize),
        visible(model),
        visible(&session)
    )
}

/// Shows a snapshot.
pub(super) fn preview(number: i64) -> anyhow::Result<()> {
    let found = open()?.compactions(usize::MAX >> 1)?.into_iter().find(|record| record.id == number);
    let record = found.ok_or_else(|| unknown(number))?;
    print(&format!("{}\n{}\n", line(&record).trim(), record.snapshot))
}

/// Undoes a compaction.
pub(super) fn undo(number: i64) -> anyhow::Result<()> {
    if !open()?.undo(number)? {
        return Err(unknown(number));
    }
    print(&format!("Undid compaction {number}: its messages are sent again with the next request.\n"))
}

fn unknown(number: i64) -> anyhow::Error {
    hinted(anyhow!("no compaction {number}"), "run `longhaul gateway list` to see them")
}
