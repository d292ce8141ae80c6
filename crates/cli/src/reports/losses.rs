//! Losses: what a format cannot hold, by kind.

use std::collections::BTreeMap;

use longhaul_wire::{Loss, LossKind};
use serde_json::{Value, json};

use crate::output::{Screen, fit, plural, thousands, visible};

/// The most places that are named for each kind.
const EXAMPLES: usize = 5;

/// One line for each kind, with its count and first places; empty if nothing is lost.
pub(crate) fn text(lost: &[Loss], screen: &Screen) -> String {
    if lost.is_empty() {
        return String::new();
    }
    let mut kinds: BTreeMap<LossKind, Vec<&Loss>> = BTreeMap::new();
    for loss in lost {
        kinds.entry(loss.kind).or_default().push(loss);
    }
    let heading = format!("{} this format cannot hold:", plural(lost.len(), "item", "items"));
    let mut text = format!("{}\n", screen.strong(&heading));
    for (kind, losses) in kinds {
        let (names, places) = (names(kind, &losses), places(&losses));
        let line = format!("  {} × {}{names}{places}", thousands(losses.len() as u64), kind.describe());
        text.push_str(&screen.warning(&fit(&line, screen.width)));
        text.push('\n');
    }
    text
}

/// The names of lost fields, most frequent first; other kinds say enough.
fn names(kind: LossKind, losses: &[&Loss]) -> String {
    if kind != LossKind::Fields {
        return String::new();
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in losses.iter().flat_map(|loss| loss.detail.split(", ")).filter(|name| !name.is_empty()) {
        *counts.entry(name).or_default() += 1;
    }
    let mut names: Vec<(&str, usize)> = counts.into_iter().collect();
    names.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = if names.len() > EXAMPLES { ", …" } else { "" };
    let shown: Vec<String> = names.iter().take(EXAMPLES).map(|(name, _)| visible(name)).collect();
    if shown.is_empty() { String::new() } else { format!(" ({}{more})", shown.join(", ")) }
}

/// The first messages affected, each once.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(detail: &str) -> Loss {
        Loss { message: None, ordinal: None, kind: LossKind::Fields, detail: detail.into() }
    }

    #[track_caller]
    fn check(details: &[&str], expected: &str) {
        let lost: Vec<Loss> = details.iter().map(|detail| fields(detail)).collect();
        assert_eq!(names(LossKind::Fields, &lost.iter().collect::<Vec<_>>()), expected);
    }

    #[test]
    fn fields_are_named_the_most_frequent_first() {
        check(&[], "");
        check(&[""], "");
        check(&["a, b", "b", "b, c"], " (b, a, c)");
        check(&["a, b, c, d, e, f", "f"], " (f, a, b, c, d, …)");
        check(&["\u{1b}[2J"], &format!(" ({})", visible("\u{1b}[2J")));
    }

    #[test]
    fn other_kinds_need_no_names() {
        let status = Loss { kind: LossKind::Status, ..fields("call-1") };
        assert_eq!(names(LossKind::Status, &[&status]), "");
    }
}
