//! What a format could not hold, by kind.

use std::collections::BTreeMap;

use longhaul_session::{Loss, LossKind};
use serde_json::{Value, json};

use crate::output::{Screen, fit, plural, thousands, visible};

/// How many places are named for each kind.
const EXAMPLES: usize = 5;

/// One line for each kind, with how often and where first; nothing if all could be written.
pub(crate) fn text(lost: &[Loss], screen: &Screen) -> String {
    if lost.is_empty() {
        return String::new();
    }
    let mut kinds: BTreeMap<LossKind, Vec<&Loss>> = BTreeMap::new();
    for loss in lost {
        kinds.entry(loss.kind).or_default().push(loss);
    }
    let heading = format!("{} this format cannot hold:", plural(lost.len(), "thing", "things"));
    let mut text = format!("{}\n", screen.strong(&heading));
    for (kind, losses) in kinds {
        let places = places(&losses);
        let line = format!("  {} × {}{places}", thousands(losses.len() as u64), kind.describe());
        text.push_str(&screen.warning(&fit(&line, screen.width)));
        text.push('\n');
    }
    text
}

/// The first messages concerned, each once.
fn places(losses: &[&Loss]) -> String {
    let mut marks: Vec<String> = losses.iter().filter_map(|loss| mark(loss)).collect();
    marks.dedup();
    let more = if marks.len() > EXAMPLES { ", …" } else { "" };
    marks.truncate(EXAMPLES);
    if marks.is_empty() { String::new() } else { format!(": {}{more}", marks.join(", ")) }
}

fn mark(loss: &Loss) -> Option<String> {
    let id = || loss.message.as_ref().map(|id| visible(id.as_str()));
    loss.ordinal.map(|ordinal| ordinal.to_string()).or_else(id)
}

/// Each loss on its own.
pub(crate) fn json(lost: &[Loss]) -> Value {
    let list = lost.iter().map(|loss| {
        json!({
            "kind": loss.kind.as_str(),
            "message": loss.ordinal.map(|ordinal| ordinal.to_string()),
            "id": loss.message.as_ref().map(|id| id.as_str()),
            "detail": loss.detail,
        })
    });
    list.collect()
}
