//! The last resort: gives up more, in a fixed order, where an ordinary compaction does not make a request fit.
//!
//! The snapshot shrinks first (extract, older words, detail of the record of work, as its budget does), then the groups of
//! the tail but for the last go, then the middle of outputs, then the middle of messages on the user's side. The user's
//! standing instructions are never given up.

use longhaul_conversation::{Message, Ordinal, TokenCount};
use longhaul_snapshot::{Snapshot, any_snapshot};

use crate::analysis::Analysis;
use crate::budget::{DoesNotFit, Floor};
use crate::cut::CutReason;
use crate::groups::complete_groups;
use crate::ordinary::plan_ordinary;
use crate::plan::{Compaction, Plan, Rung, shortened_tail};
use crate::replace::Replacement;
use crate::required::{NewestWords, SHORTEST_WORDS, minimal_snapshot, newest_words};
use crate::shorten::{Shortening, plan_shortenings};

/// Plans to give up more where an ordinary compaction turned out too large. Reason and size stay those of `ordinary`.
pub(crate) fn plan_last_resort(analysis: &Analysis<'_>, ordinary: &Plan) -> Plan {
    let before = ordinary.before;
    match check_minimum(analysis) {
        Ok(()) => {
            let rung = Rung::LastResort(plan_least_loss(analysis));
            Plan { rung, reason: ordinary.reason.clone(), before }
        }
        Err(refusal) => Plan { rung: Rung::DoesNotFit(refusal), reason: refusal.to_string(), before },
    }
}

/// Checks that the smallest possible request fits in the window; if not, names its largest part.
pub(crate) fn check_minimum(analysis: &Analysis<'_>) -> Result<(), DoesNotFit> {
    let window = analysis.window();
    let (floor, total) = measure_minimum(analysis);
    if total <= window {
        return Ok(());
    }
    let refusal = floor.check(TokenCount::ZERO).expect_err("what exceeds a window is not nothing");
    Err(DoesNotFit { floor: total, window, ..refusal })
}

/// Measures the request that is left when everything is given up that can be, by its parts and as a whole.
fn measure_minimum(analysis: &Analysis<'_>) -> (Floor, TokenCount) {
    let options = analysis.options();
    let cut = shortened(analysis, last_group(analysis), TokenCount::ZERO, SHORTEST_WORDS);
    let tail = cut.tail(analysis.messages());
    let newest = newest_words(analysis.messages(), &analysis.ordinals);
    let rules = minimal_snapshot(analysis.tracker(), through(analysis, cut.start), &tail, None);
    let whole = minimal_snapshot_before(analysis, cut.start, &tail);
    let size_of = |snapshot: &Snapshot| snapshot.estimate(&options.estimator);
    let (rules, whole) = (size_of(&rules), size_of(&whole));
    let in_tail = newest.and_then(|newest| tail.get(newest.index.checked_sub(cut.start)?));
    let newest_size = match in_tail {
        Some(message) => options.estimator.message(message).tokens(),
        None => whole.tokens() - rules.tokens(),
    };
    let tail_size = analysis.size(&tail);
    let in_group = if in_tail.is_some() { newest_size } else { TokenCount::ZERO };
    let acknowledgement = analysis.acknowledgement(cut.start);
    let fixed = options.fixed;
    let floor = Floor {
        system: fixed.system,
        tools: fixed.tools,
        memory: analysis.fixed.tokens() - fixed.system - fixed.tools,
        rules: (rules + acknowledgement).tokens(),
        newest_user_message: newest_size,
        last_group: tail_size.tokens() - in_group,
    };
    (floor, (analysis.fixed + whole + acknowledgement + tail_size).tokens())
}

/// Plans a tail that gives up as little as necessary. It fits in the window if the minimum does.
pub(crate) fn plan_least_loss(analysis: &Analysis<'_>) -> Compaction {
    let (ShortenedTail { start, replacements, shortenings }, cut) = choose(analysis);
    let tail = shortened_tail(analysis.messages(), start, &replacements, &shortenings);
    let size = analysis.size(&tail);
    let left = room(analysis) - size.as_f64() - analysis.acknowledgement(start).as_f64();
    // What the estimate of a snapshot rounds down must fit as well.
    let budget = TokenCount((left.max(0.0) as u64).saturating_sub(1)).min(analysis.options().budget.snapshot);
    Compaction {
        tail_from: start,
        cut,
        snapshot_budget: budget,
        tail: size.tokens(),
        replacements,
        shortenings,
    }
}

/// A tail and the texts in it that are shortened, before it is known how large a snapshot may stand before it.
#[derive(Clone, Debug, Default)]
struct ShortenedTail {
    start: usize,
    replacements: Vec<Replacement>,
    shortenings: Vec<Shortening>,
}

impl ShortenedTail {
    fn tail(&self, messages: &[Message]) -> Vec<Message> {
        shortened_tail(messages, self.start, &self.replacements, &self.shortenings)
    }
}

/// Gives up groups, then outputs, then messages, until the rest fits.
fn choose(analysis: &Analysis<'_>) -> (ShortenedTail, CutReason) {
    let last = last_group(analysis);
    let protected = analysis.options().budget.outputs.protected;
    if let Some(usual) = plan_ordinary(analysis) {
        let starts = complete_groups(&analysis.messages()[analysis.environment.len..]);
        let starts = starts.into_iter().map(|group| group.start + analysis.environment.len);
        for from in starts.filter(|from| (usual.tail_from..last).contains(from)) {
            // Outputs are shortened from the newest to the oldest, so a shorter tail needs a part of the same.
            let replacements = usual.replacements.iter().filter(|r| r.message >= from).cloned().collect();
            let cut = ShortenedTail { start: from, replacements, shortenings: Vec::new() };
            if fits(analysis, &cut) {
                return (cut, CutReason::GroupBoundary);
            }
        }
    }
    let outputs = steps(protected.0).map(|budget| (TokenCount(budget), usize::MAX));
    let messages = steps(room(analysis).max(0.0) as u64 * 4).take_while(|most| *most > SHORTEST_WORDS as u64);
    let messages = messages.map(|most| (TokenCount::ZERO, usize::try_from(most).unwrap_or(usize::MAX)));
    for (budget, characters) in outputs.chain(messages) {
        let cut = shortened(analysis, last, budget, characters);
        if fits(analysis, &cut) {
            return (cut, CutReason::LastGroup);
        }
    }
    (shortened(analysis, last, TokenCount::ZERO, SHORTEST_WORDS), CutReason::LastGroup)
}

/// Ever smaller numbers, down to 0.
fn steps(from: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(from), |step| (*step > 0).then(|| step / 8 * 7 + step % 8 / 2))
}

/// The tail from `from` on with all outputs in `budget`, and no text of the user's side longer than `characters`.
fn shortened(analysis: &Analysis<'_>, from: usize, budget: TokenCount, characters: usize) -> ShortenedTail {
    let options = analysis.options();
    let shortenings = plan_shortenings(
        analysis.messages(),
        from,
        characters,
        &options.session,
        &analysis.ordinals,
        &options.estimator,
    );
    ShortenedTail { start: from, replacements: analysis.shrink_outputs(from, budget), shortenings }
}

/// Index of the first message of the last group. A snapshot by itself is not cut: another is made from it.
fn last_group(analysis: &Analysis<'_>) -> usize {
    let from = analysis.environment.len;
    let groups = complete_groups(&analysis.messages()[from..]);
    let last = groups.last().map_or(analysis.messages().len(), |group| from + group.start);
    match &analysis.messages()[last..] {
        [only] if any_snapshot(only).is_some() => last + 1,
        _ => last,
    }
}

fn fits(analysis: &Analysis<'_>, cut: &ShortenedTail) -> bool {
    let tail = cut.tail(analysis.messages());
    let snapshot = minimal_snapshot_before(analysis, cut.start, &tail);
    analysis.total(cut.start, &tail, &snapshot) <= analysis.options().budget.window
}

/// The smallest snapshot that may stand before this tail.
pub(crate) fn minimal_snapshot_before(
    analysis: &Analysis<'_>,
    tail_from: usize,
    tail: &[Message],
) -> Snapshot {
    minimal_snapshot(
        analysis.tracker(),
        through(analysis, tail_from),
        tail,
        words_before(analysis, tail_from),
    )
}

/// The newest words, if the tail does not hold them.
fn words_before<'p>(analysis: &'p Analysis<'_>, tail_from: usize) -> Option<NewestWords<'p>> {
    newest_words(analysis.messages(), &analysis.ordinals).filter(|newest| newest.index < tail_from)
}

/// The last message that a snapshot before this tail stands for.
fn through(analysis: &Analysis<'_>, tail_from: usize) -> Option<Ordinal> {
    let first = analysis.ordinals.get(tail_from).map_or(analysis.tracker().last().0 + 1, |first| first.0);
    Some(Ordinal(first.saturating_sub(1)))
}

/// Room for the messages, less the surroundings.
fn room(analysis: &Analysis<'_>) -> f64 {
    analysis.options().budget.window.0 as f64 - analysis.fixed.as_f64()
}
