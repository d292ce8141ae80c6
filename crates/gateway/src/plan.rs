//! Decides about a request: pass what is known, or cut the history at a place, and why.

use std::fmt;
use std::time::Duration;

use crate::economics::{CacheRates, RewriteSizes};
use crate::facts::{Cuts, ItemFacts};

/// The reason for a compaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Occasion {
    /// The request would not fit in the window.
    Hard,
    /// The tokens saved by later requests are worth more than the cache that is lost.
    Pays,
    /// Nothing of the conversation is in the provider's cache any more.
    Cold,
}

impl Occasion {
    /// The stable word for it in the store, metrics and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Pays => "pays",
            Self::Cold => "cold",
        }
    }
}

impl fmt::Display for Occasion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Decision about a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Plan {
    /// Sends what is known.
    Keep,
    /// The history before this item gives way to a snapshot.
    Compact {
        /// The item that the tail begins with.
        cut: usize,
        /// The reason.
        occasion: Occasion,
    },
    /// It is too long, and no legal cut makes it fit.
    DoesNotFit,
}

/// The facts of a decision. Sizes are in tokens, by estimate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    pub(crate) facts: &'a [ItemFacts<'a>],
    pub(crate) cuts: &'a Cuts,
    /// Tokens of a byte.
    pub(crate) rate: f64,
    /// Bytes beside the history.
    pub(crate) fixed_bytes: usize,
    /// The anchor that is in force: its place, and the bytes of its snapshot.
    pub(crate) anchor: Option<(usize, usize)>,
    /// The most tokens that a request may have.
    pub(crate) limit: f64,
    /// The usual budget of a snapshot, in tokens.
    pub(crate) snapshot: f64,
    pub(crate) rates: CacheRates,
    /// Requests that are expected to follow.
    pub(crate) further_requests: f64,
    /// The time since the last request of the conversation, if there was one.
    pub(crate) idle: Option<Duration>,
    pub(crate) settings: PlanSettings,
}

/// Settings of decisions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanSettings {
    /// The largest tail, in tokens.
    pub tail: f64,
    /// A history that is shorter, in tokens, gives way only where the request would not fit.
    pub least_history: f64,
}

impl Default for PlanSettings {
    fn default() -> Self {
        Self { tail: 20_000.0, least_history: 30_000.0 }
    }
}

/// The share of the room for messages that a tail may take: what is left must hold some further turns.
const TAIL_SHARE: f64 = 0.4;

impl Situation<'_> {
    /// Tokens of the items from one to another.
    fn items(&self, from: usize, to: usize) -> f64 {
        let bytes: usize = self.facts[from..to].iter().map(|item| item.weight).sum();
        bytes as f64 * self.rate
    }

    fn fixed(&self) -> f64 {
        self.fixed_bytes as f64 * self.rate + self.items(0, self.cuts.head)
    }

    /// Tokens of the request with what is known.
    pub(crate) fn size(&self) -> f64 {
        let (from, snapshot) = self.anchor.unwrap_or((self.cuts.head, 0));
        self.fixed() + snapshot as f64 * self.rate + self.items(from, self.facts.len())
    }

    /// The budget of a snapshot, in tokens: less than usual where instructions and tools leave little room.
    pub(crate) fn snapshot_budget(&self) -> f64 {
        const LEAST: f64 = 300.0;
        const SHARE: f64 = 0.3;
        let room = self.limit - self.fixed();
        self.snapshot.min(room * SHARE).max(LEAST)
    }

    /// The history behind the head that would give way now, in tokens.
    fn history(&self, cut: usize) -> f64 {
        let (from, snapshot) = self.anchor.unwrap_or((self.cuts.head, 0));
        snapshot as f64 * self.rate + self.items(from.min(cut), cut)
    }

    /// The cut that leaves the largest tail within its share: before the newest words of a person where that is possible.
    fn choose_cut(&self) -> Option<usize> {
        let known = self.anchor.map_or(0, |(from, _)| from);
        let room = self.limit - self.fixed() - self.snapshot_budget();
        let most = self.settings.tail.min(room * TAIL_SHARE);
        let tail = |cut: usize| self.items(cut, self.facts.len());
        let later = || self.cuts.legal.iter().copied().filter(|cut| *cut > known);
        let newest_words = self.facts.iter().rposition(ItemFacts::is_prompt).unwrap_or(0);
        let within = |cut: &usize| tail(*cut) <= most;
        let before_words = later().filter(|cut| *cut <= newest_words).find(within);
        before_words
            .or_else(|| later().find(within))
            .or_else(|| later().next_back().filter(|cut| tail(*cut) <= room))
    }
}

/// Decides about a request.
pub(crate) fn plan_request(situation: &Situation<'_>) -> Plan {
    let is_too_long = situation.size() > situation.limit;
    let Some(cut) = situation.choose_cut() else {
        return if is_too_long { Plan::DoesNotFit } else { Plan::Keep };
    };
    let history = situation.history(cut);
    if is_too_long {
        return Plan::Compact { cut, occasion: Occasion::Hard };
    }
    if history < situation.settings.least_history || history < 2.0 * situation.snapshot_budget() {
        return Plan::Keep;
    }
    if situation.idle.is_some_and(|idle| situation.rates.is_cold(idle)) {
        return Plan::Compact { cut, occasion: Occasion::Cold };
    }
    let tail = situation.items(cut, situation.facts.len());
    let sizes = RewriteSizes { history, snapshot: situation.snapshot_budget(), tail };
    match situation.rates.repaid_after(sizes) {
        Some(after) if situation.further_requests > after => Plan::Compact { cut, occasion: Occasion::Pays },
        _ => Plan::Keep,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::Side;
    use crate::family::Family;

    fn item(side: Side, weight: usize) -> ItemFacts<'static> {
        ItemFacts {
            side,
            calls: Vec::new(),
            results: Vec::new(),
            is_barrier: false,
            cites: false,
            has_documents: false,
            marker: None,
            weight,
        }
    }

    /// A prompt of `head` bytes, then pairs of answer and prompt of these bytes each.
    fn talk(head: usize, pairs: &[usize]) -> Vec<ItemFacts<'static>> {
        let pairs =
            pairs.iter().flat_map(|bytes| [item(Side::Model, bytes / 2), item(Side::User, bytes / 2)]);
        std::iter::once(item(Side::User, head)).chain(pairs).collect()
    }

    fn situation<'a>(facts: &'a [ItemFacts<'a>], cuts: &'a Cuts, limit: f64) -> Situation<'a> {
        Situation {
            facts,
            cuts,
            rate: 1.0,
            fixed_bytes: 100,
            anchor: None,
            limit,
            snapshot: 400.0,
            rates: CacheRates::of(Family::Anthropic, "claude-opus-5", false),
            further_requests: 10.0,
            idle: None,
            settings: PlanSettings { tail: 2_000.0, least_history: 3_000.0 },
        }
    }

    #[track_caller]
    fn check(pairs: &[usize], limit: f64, change: impl Fn(&mut Situation<'_>), expected: Plan) {
        let facts = talk(100, pairs);
        let cuts = crate::facts::find_cuts(Family::Anthropic, &facts).expect("a head");
        let mut situation = situation(&facts, &cuts, limit);
        change(&mut situation);
        assert_eq!(plan_request(&situation), expected);
    }

    #[test]
    fn what_fits_and_does_not_pay_is_kept() {
        check(&[400; 5], 10_000.0, |_| {}, Plan::Keep);
        check(&[1_000; 9], 10_000.0, |at| at.further_requests = 0.5, Plan::Keep);
    }

    #[test]
    fn a_request_must_fit() {
        let hard = |cut| Plan::Compact { cut, occasion: Occasion::Hard };
        check(&[400; 20], 5_000.0, |at| at.further_requests = 0.0, hard(33));
        // One answer is larger than the tail should be: it stays, as it must.
        check(&[400, 400, 4_000], 4_700.0, |_| {}, hard(5));
        check(&[400, 4_000, 400, 4_000], 5_000.0, |_| {}, hard(7));
        check(&[400, 8_000], 5_000.0, |_| {}, Plan::DoesNotFit);
    }

    #[test]
    fn a_long_history_gives_way_where_it_pays_or_is_cold() {
        let of = |occasion| Plan::Compact { cut: 17, occasion };
        check(&[1_000; 10], 50_000.0, |at| at.further_requests = 30.0, of(Occasion::Pays));
        check(&[1_000; 10], 50_000.0, |at| at.idle = Some(Duration::from_secs(600)), of(Occasion::Cold));
        check(
            &[1_000; 10],
            50_000.0,
            |at| {
                at.idle = Some(Duration::from_secs(60));
                at.further_requests = 1.0;
            },
            Plan::Keep,
        );
    }

    #[test]
    fn behind_an_anchor_only_the_rest_counts() {
        let anchored = |at: &mut Situation<'_>| at.anchor = Some((33, 400));
        check(&[400; 20], 5_000.0, anchored, Plan::Keep);
    }

    proptest! {
        /// A cut is legal, lies behind the anchor, and what it leaves fits.
        #[test]
        fn a_cut_makes_it_fit(
            pairs in prop::collection::vec(10usize..2_000, 2..60),
            limit in 1_000f64..20_000.0,
            further in 0f64..40.0,
            anchor in prop::option::of(1usize..40),
        ) {
            let facts = talk(100, &pairs);
            let cuts = crate::facts::find_cuts(Family::Anthropic, &facts).expect("a head");
            let mut situation = situation(&facts, &cuts, limit);
            situation.further_requests = further;
            situation.anchor = anchor.map(|at| at * 2 + 1).filter(|at| cuts.legal.contains(at)).map(|at| (at, 300));
            match plan_request(&situation) {
                Plan::Compact { cut, .. } => {
                    prop_assert!(cuts.legal.contains(&cut));
                    prop_assert!(situation.anchor.is_none_or(|(known, _)| cut > known));
                    let after = situation.fixed() + situation.snapshot_budget() + situation.items(cut, facts.len());
                    prop_assert!(after <= limit + 1e-6, "{} > {}", after, limit);
                }
                Plan::Keep => prop_assert!(situation.size() <= limit),
                Plan::DoesNotFit => prop_assert!(situation.size() > limit),
            }
        }
    }
}
