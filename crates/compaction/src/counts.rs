//! Brings estimates and a provider's counts together: one yardstick for a recorded conversation.

use std::collections::HashSet;

use longhaul_conversation::{Change, Estimate, Message, MessageId, TokenCount};

/// A message as it is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredMessage {
    /// Its size by estimate.
    pub size: Estimate,
    /// The tokens that the provider counted for the request which it answers.
    pub counted: Option<TokenCount>,
}

/// The size of a conversation whose provider counted some of its requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CountedSize {
    /// The whole conversation: the newest count, and what came since.
    pub total: TokenCount,
    /// The newest count; none since the transcript was last compacted or written anew.
    pub counted: Option<TokenCount>,
    /// The largest count of a request of this conversation: its window holds at least that.
    pub highest: TokenCount,
    /// Tokens that nothing in the record explains: system prompt, tools, and what else the record leaves out.
    pub unrecorded: TokenCount,
    /// Counted tokens for each estimated one.
    pub scale: f64,
}

/// The counts of a conversation that its agent compacts: those made before that no longer hold, but what they taught does.
#[derive(Clone, Debug, Default)]
pub struct CountHistory {
    stale: HashSet<MessageId>,
    /// The size before the newest compaction.
    before: Option<CountedSize>,
}

/// The estimated tokens by which a conversation must have grown between counts to tell how its provider counts.
const ENOUGH: f64 = 2_000.0;
/// The least and the most that a provider's count differs from an estimate; beyond that the record is not what was sent.
const SCALES: (f64, f64) = (0.5, 2.0);

impl CountHistory {
    /// Follows a change before it is applied; `messages` are those of the transcript until then.
    pub fn observe<I>(&mut self, change: &Change, messages: impl FnOnce(&Self) -> I)
    where
        I: IntoIterator<Item = (MessageId, MeasuredMessage)>,
    {
        if matches!(change, Change::Restart) {
            let (ids, measured): (Vec<_>, Vec<_>) = messages(self).into_iter().unzip();
            self.before = self.size(&measured, Estimate::ZERO);
            self.stale.extend(ids);
        }
    }

    /// The count of a message, unless it no longer holds.
    pub fn count_of(&self, message: &Message) -> Option<TokenCount> {
        let counted = message.usage.as_ref()?.input?;
        (counted > TokenCount::ZERO && !self.stale.contains(&message.id)).then_some(counted)
    }

    /// The size of the messages of the transcript now, beside a recorded system prompt and recorded tools. Where the provider
    /// counted nothing since a compaction, it is the estimate in the measure of the counts before.
    pub fn size(&self, messages: &[MeasuredMessage], recorded: Estimate) -> Option<CountedSize> {
        CountedSize::of(messages, recorded).or_else(|| {
            let before = self.before.as_ref()?;
            let own: f64 = messages.iter().map(|message| message.size.as_f64()).sum();
            let unrecorded = (before.unrecorded.0 as f64 - before.scale * recorded.as_f64()).max(0.0);
            let total = unrecorded + before.scale * (own + recorded.as_f64());
            Some(CountedSize {
                total: TokenCount(total.round() as u64),
                counted: None,
                unrecorded: TokenCount(unrecorded.round() as u64),
                ..*before
            })
        })
    }
}

impl CountedSize {
    /// The size of these messages beside a recorded system prompt and recorded tools; `None` if the provider counted nothing.
    ///
    /// ```
    /// use longhaul_compaction::{CountedSize, MeasuredMessage};
    /// use longhaul_conversation::{Estimate, TokenCount};
    /// let message = |size, counted: Option<u64>| MeasuredMessage {
    ///     size: Estimate::from(TokenCount(size)),
    ///     counted: counted.map(TokenCount),
    /// };
    /// // A request of 100 estimated tokens was counted as 9,100: the record lacks 9,000. The answer adds 20.
    /// let size = CountedSize::of(&[message(100, None), message(20, Some(9_100))], Estimate::ZERO).unwrap();
    /// assert_eq!((size.total.0, size.unrecorded.0), (9_120, 9_000));
    /// ```
    pub fn of(messages: &[MeasuredMessage], recorded: Estimate) -> Option<Self> {
        let mut before = recorded.as_f64();
        let (mut grown, mut counted_growth) = (0.0, 0.0);
        let mut last: Option<(f64, f64)> = None;
        let mut highest = TokenCount::ZERO;
        for message in messages {
            if let Some(counted) = message.counted {
                highest = highest.max(counted);
                let seen = (before, counted.0 as f64);
                // A smaller count than the one before says that something was left out, and nothing about the yardstick.
                if let Some(earlier) = last.filter(|earlier| seen.1 >= earlier.1 && seen.0 > earlier.0) {
                    grown += seen.0 - earlier.0;
                    counted_growth += seen.1 - earlier.1;
                }
                last = Some(seen);
            }
            before += message.size.as_f64();
        }
        let (base, counted) = last?;
        let learned = if grown >= ENOUGH { (counted_growth / grown).clamp(SCALES.0, SCALES.1) } else { 1.0 };
        // More than was counted cannot have been sent.
        let scale = if learned * base > counted { counted / base } else { learned };
        let total = counted + scale * (before - base);
        Some(Self {
            total: TokenCount(total.round() as u64),
            counted: Some(TokenCount(counted as u64)),
            highest,
            unrecorded: TokenCount((counted - scale * base).max(0.0).round() as u64),
            scale,
        })
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Role, Usage};
    use proptest::prelude::*;

    use super::*;

    fn measured(messages: &[(u64, u64)]) -> Vec<MeasuredMessage> {
        let message = |&(size, counted): &(u64, u64)| MeasuredMessage {
            size: Estimate::from(TokenCount(size)),
            counted: (counted > 0).then_some(TokenCount(counted)),
        };
        messages.iter().map(message).collect()
    }

    #[track_caller]
    fn check(messages: &[(u64, u64)], recorded: u64, expected: (u64, u64, f64)) {
        let size =
            CountedSize::of(&measured(messages), Estimate::from(TokenCount(recorded))).expect("counted");
        assert_eq!((size.total.0, size.unrecorded.0), (expected.0, expected.1));
        assert!((size.scale - expected.2).abs() < 1e-9, "{}", size.scale);
    }

    #[test]
    fn without_a_count_there_is_no_size() {
        assert_eq!(CountedSize::of(&measured(&[(5, 0), (6, 0)]), Estimate::ZERO), None);
        assert_eq!(CountedSize::of(&[], Estimate::ZERO), None);
    }

    #[test]
    fn what_the_record_lacks_is_named() {
        check(&[(100, 0), (20, 9_100)], 0, (9_120, 9_000, 1.0));
        check(&[(100, 0), (20, 9_100)], 4_000, (9_120, 5_000, 1.0));
        // What came after the newest count is estimated.
        check(&[(100, 0), (20, 9_100), (500, 0)], 0, (9_620, 9_000, 1.0));
    }

    #[test]
    fn growth_tells_how_the_provider_counts() {
        // 2,000 estimated tokens were counted as 3,000; the rest was 10,000 from the beginning.
        check(&[(1_000, 0), (1_000, 11_500), (1_000, 0), (1_000, 14_500)], 0, (16_000, 10_000, 1.5));
        // Little growth says little.
        check(&[(100, 0), (100, 10_100), (100, 10_500)], 0, (10_600, 10_300, 1.0));
    }

    #[test]
    fn an_agent_that_sent_less_than_it_recorded_makes_the_estimate_smaller() {
        check(&[(10_000, 0), (1_000, 4_000)], 0, (4_400, 0, 0.4));
        // Outputs cleared in between say nothing about the yardstick.
        check(&[(5_000, 0), (5_000, 15_000), (2_500, 9_000), (100, 12_500)], 0, (12_600, 0, 1.0));
    }

    #[test]
    fn counts_before_a_compaction_are_stale_but_their_measure_holds() {
        let usage = Usage { input: Some(TokenCount(9)), ..Usage::default() };
        let message =
            |id: &str| Message { usage: Some(Box::new(usage)), ..Message::new(id, Role::Model, vec![]) };
        let mut history = CountHistory::default();
        // 100 estimated tokens in a request that was counted as 9,100, and a reply of 20.
        let before: Vec<_> = measured(&[(100, 0), (20, 9_100)]);
        let before: Vec<_> = ["u", "a"].map(MessageId::new).into_iter().zip(before).collect();
        history.observe(&Change::Counted(usage), |_| before.clone());
        assert_eq!(history.count_of(&message("a")), Some(TokenCount(9)));
        history.observe(&Change::Restart, |_| before.clone());
        assert_eq!(
            [history.count_of(&message("a")), history.count_of(&message("b"))],
            [None, Some(TokenCount(9))]
        );
        let after = history.size(&measured(&[(30, 0)]), Estimate::ZERO).expect("known from before");
        assert_eq!((after.total.0, after.unrecorded.0, after.counted), (9_030, 9_000, None));
        let nothing = Message { usage: Some(Box::default()), ..Message::new("c", Role::Model, vec![]) };
        assert_eq!(history.count_of(&nothing), None);
    }

    proptest! {
        #[test]
        fn parts_add_up_to_the_total(
            messages in proptest::collection::vec((0u64..50_000, 0u64..400_000), 1..30),
            recorded in 0u64..30_000,
        ) {
            if let Some(size) = CountedSize::of(&measured(&messages), Estimate::from(TokenCount(recorded))) {
                let estimated: u64 = messages.iter().map(|(size, _)| size).sum::<u64>() + recorded;
                let parts = size.unrecorded.0 as f64 + size.scale * estimated as f64;
                prop_assert!((parts - size.total.0 as f64).abs() <= 1.5, "{parts} {}", size.total);
                prop_assert!(Some(size.total) >= size.counted && Some(size.highest) >= size.counted);
            }
        }
    }
}
