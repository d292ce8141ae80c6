//! What is given up when an ordinary compaction does not make a request fit, in a fixed order, and what never is.
//!
//! The snapshot shrinks first (extract, older words, detail of the record of work, as its budget does), then the groups of
//! the tail but for the last go, then the middle of outputs, then the middle of messages on the user's side. The user's
//! standing instructions are never given up.

use longhaul_conversation::{Message, Ordinal, TokenCount};
use longhaul_snapshot::{Snapshot, any_snapshot};

use crate::cut::CutReason;
use crate::groups::complete_groups;
use crate::plan::{Compaction, Kept, Plan, Planner, Rung};
use crate::shorten::plan_shortenings;
use crate::standing::{LEAST_WORDS, NewestWords, least_snapshot, newest_words};
use crate::{DoesNotFit, Floor};

/// The least that can be left of a conversation.
pub(crate) struct Bottom {
    floor: Floor,
    total: TokenCount,
}

impl Bottom {
    /// Gives up everything that can be given up, and measures the rest.
    pub(crate) fn of(planner: &Planner<'_>) -> Self {
        let kept = shortened(planner, last_group(planner), TokenCount::ZERO, LEAST_WORDS);
        let tail = kept.tail(planner.messages);
        let newest = newest_words(planner.messages, &planner.ordinals);
        let pins = least_snapshot(planner.tracker, through(planner, kept.tail_from), &tail, None);
        let whole = least(planner, kept.tail_from, &tail);
        let size_of = |snapshot: &Snapshot| snapshot.estimate(&planner.options.estimator);
        let (pins, whole) = (size_of(&pins), size_of(&whole));
        let in_tail = newest.and_then(|newest| tail.get(newest.place.checked_sub(kept.tail_from)?));
        let newest_size = match in_tail {
            Some(message) => planner.options.estimator.message(message).tokens(),
            None => whole.tokens() - pins.tokens(),
        };
        let tail_size = planner.size(&tail);
        let in_group = if in_tail.is_some() { newest_size } else { TokenCount::ZERO };
        let acknowledgement = planner.acknowledgement(kept.tail_from);
        let fixed = planner.options.fixed;
        let floor = Floor {
            system: fixed.system,
            tools: fixed.tools,
            memory: planner.fixed.tokens() - fixed.system - fixed.tools,
            pins: (pins + acknowledgement).tokens(),
            newest_user_message: newest_size,
            last_group: tail_size.tokens() - in_group,
        };
        Self { floor, total: (planner.fixed + whole + acknowledgement + tail_size).tokens() }
    }

    /// Whether the least fits in the window; if not, names the largest part.
    pub(crate) fn check(&self, planner: &Planner<'_>) -> Result<(), DoesNotFit> {
        let window = planner.options.budget.window;
        if self.total <= window {
            return Ok(());
        }
        let refusal = self.floor.check(TokenCount::ZERO).expect_err("what exceeds a window is not nothing");
        Err(DoesNotFit { floor: self.total, window, ..refusal })
    }
}

impl Planner<'_> {
    /// Decides what to give up where an ordinary compaction, planned for this reason, turns out too large.
    pub fn plan_last_resort(&self, why: String) -> Plan {
        let rung = match Bottom::of(self).check(self) {
            Ok(()) => Rung::LastResort(plan_last_resort(self)),
            Err(refusal) => {
                let reason = refusal.to_string();
                return Plan { rung: Rung::DoesNotFit(refusal), reason, before: self.before };
            }
        };
        Plan { rung, reason: why, before: self.before }
    }

    /// Decides which outputs to shorten where no snapshot may be written; nothing is left out but the middle of outputs.
    pub fn plan_truncation(&self) -> Plan {
        let outputs = self.shrink_outputs(0, self.options.budget.outputs.protected);
        let rung = if outputs.is_empty() { Rung::Noop } else { Rung::Mask(outputs) };
        Plan { rung, reason: "only tool outputs may be shortened".into(), before: self.before }
    }
}

/// Plans what stays when as little as necessary is given up. It fits in the window if the [`Bottom`] does.
pub(crate) fn plan_last_resort(planner: &Planner<'_>) -> Compaction {
    let (kept, cut) = choose(planner);
    let tail = kept.tail(planner.messages);
    let size = planner.size(&tail);
    let left = room(planner) - size.as_f64() - planner.acknowledgement(kept.tail_from).as_f64();
    // What the estimate of a snapshot rounds down must fit as well.
    let budget = TokenCount((left.max(0.0) as u64).saturating_sub(1)).min(planner.options.budget.snapshot);
    planner.compaction(kept, cut, budget, size.tokens())
}

/// Gives up groups, then outputs, then messages, until the rest fits.
fn choose(planner: &Planner<'_>) -> (Kept, CutReason) {
    let last = last_group(planner);
    let protected = planner.options.budget.outputs.protected;
    if let Some(usual) = planner.plan_compaction() {
        let starts = complete_groups(&planner.messages[planner.environment.len..]);
        let starts = starts.into_iter().map(|group| group.start + planner.environment.len);
        for from in starts.filter(|from| (usual.tail_from..last).contains(from)) {
            // Outputs are shortened from the newest to the oldest, so a shorter tail needs a part of the same.
            let replacements = usual.replacements.iter().filter(|r| r.message >= from).cloned().collect();
            let kept = Kept { tail_from: from, replacements, shortenings: Vec::new() };
            if fits(planner, &kept) {
                return (kept, CutReason::GroupBoundary);
            }
        }
    }
    let outputs = steps(protected.0).map(|budget| (TokenCount(budget), usize::MAX));
    let messages = steps(room(planner).max(0.0) as u64 * 4).take_while(|most| *most > LEAST_WORDS as u64);
    let messages = messages.map(|most| (TokenCount::ZERO, usize::try_from(most).unwrap_or(usize::MAX)));
    for (budget, characters) in outputs.chain(messages) {
        let kept = shortened(planner, last, budget, characters);
        if fits(planner, &kept) {
            return (kept, CutReason::LastGroup);
        }
    }
    (shortened(planner, last, TokenCount::ZERO, LEAST_WORDS), CutReason::LastGroup)
}

/// Ever smaller numbers, down to 0.
fn steps(from: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |step| (*step > 0).then(|| step / 8 * 7 + step % 8 / 2))
}

/// The tail from `from` on with all outputs in `budget`, and no text of the user's side longer than `characters`.
fn shortened(planner: &Planner<'_>, from: usize, budget: TokenCount, characters: usize) -> Kept {
    let options = planner.options;
    let shortenings = plan_shortenings(
        planner.messages,
        from,
        characters,
        &options.session,
        &planner.ordinals,
        &options.estimator,
    );
    Kept { tail_from: from, replacements: planner.shrink_outputs(from, budget), shortenings }
}

/// Where the last group begins. A snapshot by itself is not kept: another is made from it.
fn last_group(planner: &Planner<'_>) -> usize {
    let from = planner.environment.len;
    let groups = complete_groups(&planner.messages[from..]);
    let last = groups.last().map_or(planner.messages.len(), |group| from + group.start);
    match &planner.messages[last..] {
        [only] if any_snapshot(only).is_some() => last + 1,
        _ => last,
    }
}

fn fits(planner: &Planner<'_>, kept: &Kept) -> bool {
    let tail = kept.tail(planner.messages);
    let snapshot = least(planner, kept.tail_from, &tail);
    planner.total(kept.tail_from, &tail, &snapshot) <= planner.options.budget.window
}

/// The smallest snapshot that may stand before this tail.
pub(crate) fn least(planner: &Planner<'_>, tail_from: usize, tail: &[Message]) -> Snapshot {
    least_snapshot(planner.tracker, through(planner, tail_from), tail, words_before(planner, tail_from))
}

/// The newest words, if the tail does not hold them.
fn words_before<'p>(planner: &'p Planner<'_>, tail_from: usize) -> Option<NewestWords<'p>> {
    newest_words(planner.messages, &planner.ordinals).filter(|newest| newest.place < tail_from)
}

/// The last message that a snapshot before this tail stands for.
fn through(planner: &Planner<'_>, tail_from: usize) -> Option<Ordinal> {
    let first = planner.ordinals.get(tail_from).map_or(planner.tracker.last().0 + 1, |first| first.0);
    Some(Ordinal(first.saturating_sub(1)))
}

/// What the messages may take, less the surroundings.
fn room(planner: &Planner<'_>) -> f64 {
    planner.options.budget.window.0 as f64 - planner.fixed.as_f64()
}
