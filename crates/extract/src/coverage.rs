//! Measures what of the compacted messages is still there: by names, not by asking whoever wrote the summary.

use std::collections::BTreeMap;

use longhaul_conversation::{Message, Ordinal, each_text};
use serde::Serialize;

use crate::names::Anchor;
use crate::pool::Pool;
use crate::{AnchorKind, USUAL_BUDGET, weigh_anchors};

/// The names that mattered and are still in the conversation: counts, because no share of them tells what later work will
/// use (`bench/coverage` measures how far off one is).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// All names that mattered.
    pub names: NameCount,
    /// The same by kind; kinds without names are left out.
    pub kinds: Vec<(AnchorKind, NameCount)>,
    /// The heaviest that are missing, heaviest first.
    pub missing: Vec<MissingAnchor>,
    /// The share of all names, each by how likely later work is to need it, from 0 to 1. It is no forecast and for
    /// measurements only.
    pub by_weight: f64,
}

/// A number of names, and how many of them are still there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameCount {
    /// The names that are still there.
    pub kept: usize,
    /// The names that there were.
    pub of: usize,
}

/// An anchor that the new conversation does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAnchor {
    /// The anchor.
    pub text: String,
    /// Its kind.
    pub kind: AnchorKind,
    /// The last message that had it.
    pub message: Ordinal,
}

/// The most missing anchors that are named.
const NAMED: usize = 20;

impl NameCount {
    fn add(&mut self, is_kept: bool) {
        self.of += 1;
        self.kept += usize::from(is_kept);
    }
}

/// Measures a summary of everything before `before`, beside the messages that stay.
pub fn measure_coverage(pool: &Pool, summary: &str, tail: &[Message], before: Ordinal) -> Coverage {
    let anchors = pool.anchors();
    let weights = weigh_anchors(pool, before, USUAL_BUDGET);
    let mut present = vec![false; anchors.len()];
    pool.known_anchors(summary, &mut |number| present[number as usize] = true);
    for message in tail {
        each_text(message, &mut |text| {
            pool.known_anchors(text, &mut |number| present[number as usize] = true);
        });
    }
    let (mut whole, mut kept_weight) = (0.0, 0.0);
    let mut names = NameCount::default();
    let mut kinds: BTreeMap<AnchorKind, NameCount> = BTreeMap::new();
    let mut missing: Vec<(f32, usize)> = Vec::new();
    for (place, anchor) in anchors.iter().enumerate().filter(|(_, anchor)| anchor.first < before) {
        let (weight, is_kept) = (weights[place], present[place]);
        whole += f64::from(weight);
        kept_weight += if is_kept { f64::from(weight) } else { 0.0 };
        if has_mattered(anchor) {
            names.add(is_kept);
            kinds.entry(anchor.kind).or_default().add(is_kept);
            if !is_kept {
                missing.push((weight, place));
            }
        }
    }
    missing.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let missing = missing.into_iter().take(NAMED).map(|(_, place)| MissingAnchor {
        text: anchors[place].text.to_string(),
        kind: anchors[place].kind,
        message: anchors[place].last,
    });
    let by_weight = if whole > 0.0 { kept_weight / whole } else { 1.0 };
    Coverage { names, kinds: kinds.into_iter().collect(), missing: missing.collect(), by_weight }
}

/// Tells whether the user or the model made use of a name: said it in prose, or worked with the file, command or address.
/// What was only printed or written into a file did not matter by itself, and there is too much of it for a count to say
/// anything.
fn has_mattered(anchor: &Anchor) -> bool {
    let is_worked_with = matches!(anchor.kind, AnchorKind::Path | AnchorKind::Command | AnchorKind::Url);
    anchor.typed > 0 || anchor.in_prose || anchor.used > 0 && is_worked_with
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Part, Role, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;

    fn talk() -> Pool {
        let call = ToolCall::new("c", "Read").with_args(json!({"file_path": "src/upload.rs"}));
        let output = ToolResult::text("c", "fn only_printed() {} // from src/other.rs");
        let messages = [
            Message::new("1", Role::User, vec![Part::user_text("Why is retryCount ignored?")]),
            Message::new("2", Role::Model, vec![Part::call(call)]),
            Message::new("3", Role::User, vec![Part::result(output)]),
            Message::new("4", Role::Model, vec![Part::model_text("parse_config drops it.")]),
        ];
        let mut pool = Pool::default();
        messages.iter().zip(1..).for_each(|(message, at)| pool.observe(message, Ordinal(at)));
        pool
    }

    #[track_caller]
    fn check(summary: &str, kept: usize, missing: &[&str]) {
        let coverage = measure_coverage(&talk(), summary, &[], Ordinal(9));
        assert_eq!(coverage.names.kept, kept, "{summary}: {coverage:?}");
        let mut named: Vec<&str> = coverage.missing.iter().map(|missing| missing.text.as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, missing);
        assert_eq!(coverage.names.of, kept + missing.len());
        let of: usize = coverage.kinds.iter().map(|(_, count)| count.of).sum();
        assert_eq!(of, coverage.names.of, "the kinds are all of it");
        assert!((0.0..=1.0).contains(&coverage.by_weight));
    }

    #[test]
    fn names_count_that_somebody_used() {
        check("", 0, &["parse_config", "retryCount", "src/upload.rs", "upload.rs"]);
        check("retryCount and only_printed", 1, &["parse_config", "src/upload.rs", "upload.rs"]);
        check("retryCount, parse_config in src/upload.rs", 4, &[]);
    }

    #[test]
    fn what_was_only_printed_does_not_count() {
        let coverage = measure_coverage(&talk(), "", &[], Ordinal(9));
        assert!(coverage.missing.iter().all(|missing| !missing.text.contains("print")), "{coverage:?}");
        let kinds: Vec<AnchorKind> = coverage.kinds.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [AnchorKind::Path, AnchorKind::Identifier]);
    }

    #[test]
    fn nothing_is_missing_of_nothing() {
        let coverage = measure_coverage(&Pool::default(), "", &[], Ordinal(1));
        assert_eq!(coverage, Coverage { by_weight: 1.0, ..Coverage::default() });
    }
}
