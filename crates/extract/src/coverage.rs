//! Measures what of the compacted messages is still there: by anchors, not by asking whoever wrote the summary.

use longhaul_conversation::{Message, Ordinal, each_text};

use crate::pool::Pool;
use crate::{AnchorKind, USUAL_BUDGET, weigh_anchors};

/// The share of what later work may need that is still in the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Coverage {
    /// The weighted share of the anchors that are still there, from 0 to 1.
    pub share: f64,
    /// The number of anchors that are still there.
    pub kept: usize,
    /// The number of anchors that there were.
    pub of: usize,
    /// The heaviest that are missing, heaviest first.
    pub missing: Vec<MissingAnchor>,
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
    let mut whole = 0.0;
    let mut kept_weight = 0.0;
    let (mut kept, mut of) = (0, 0);
    let mut missing: Vec<(f32, usize)> = Vec::new();
    for (place, _) in anchors.iter().enumerate().filter(|(_, anchor)| anchor.first < before) {
        let weight = weights[place];
        whole += f64::from(weight);
        of += 1;
        if present[place] {
            kept += 1;
            kept_weight += f64::from(weight);
        } else {
            missing.push((weight, place));
        }
    }
    missing.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let missing = missing.into_iter().take(NAMED).map(|(_, place)| MissingAnchor {
        text: anchors[place].text.to_string(),
        kind: anchors[place].kind,
        message: anchors[place].last,
    });
    let share = if whole > 0.0 { kept_weight / whole } else { 1.0 };
    Coverage { share, kept, of, missing: missing.collect() }
}
