//! Decides where a conversation is cut: what comes before is summarised, the tail behind stays as it is.

use std::fmt;

use longhaul_conversation::{Estimate, Estimator, Message, Role, TokenCount, message_size};

use crate::groups::complete_groups;

/// Settings of a cut: how much of a conversation stays behind it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CutSettings {
    /// The largest share of the conversation's size that stays.
    pub keep: f64,
    /// A smaller tail is given earlier groups, as far as the limits allow.
    pub min_tail: TokenCount,
    /// The largest tail that leaves the result under its target, if there is one.
    pub max_tail: Option<TokenCount>,
    /// The most that the groups given to a small tail may take, as they share the snapshot's budget.
    pub max_added: Option<TokenCount>,
    /// Measures the tail, and media wherever it stands.
    pub estimator: Estimator,
}

/// The cut of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The first message that stays; 0 where nothing can be cut off.
    pub tail_from: usize,
    /// The reason.
    pub reason: CutReason,
    /// Size of what was given to a tail that would have been too small.
    pub added: TokenCount,
}

/// The reason why a conversation is cut where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CutReason {
    /// A turn begins there, or behind the groups that were added.
    UserMessage,
    /// No turn begins late enough; the piece before is complete there.
    GroupBoundary,
    /// The last group is larger than the tail should be, and stays whole.
    LastGroup,
    /// The conversation is empty, or a single piece.
    NothingToCut,
}

impl Default for CutSettings {
    fn default() -> Self {
        Self {
            keep: 0.3,
            min_tail: TokenCount(1_000),
            max_tail: None,
            max_added: None,
            estimator: Estimator::default(),
        }
    }
}

impl CutReason {
    /// The reason in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserMessage => "cut before a user message",
            Self::GroupBoundary => "cut between tool calls",
            Self::LastGroup => "kept only the last group",
            Self::NothingToCut => "nothing to cut",
        }
    }
}

impl fmt::Display for CutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Chooses where to cut `messages`. The tail holds at least the last complete group of calls and results, whatever its size, and
/// begins where a group begins.
pub fn plan_cut(messages: &[Message], settings: &CutSettings) -> Cut {
    let (group_starts, size) = measure(messages, &settings.estimator);
    let Some(last) = group_starts.len().checked_sub(1).filter(|last| *last > 0) else {
        return Cut { tail_from: 0, reason: CutReason::NothingToCut, added: TokenCount::ZERO };
    };
    let mark = size as f64 * (1.0 - sane_share(settings.keep));
    let fits = |group: &GroupStart| {
        group.before as f64 >= mark && settings.max_tail.is_none_or(|max| group.tail <= max)
    };
    let Some(first) = (1..=last).find(|&index| fits(&group_starts[index])) else {
        return Cut {
            tail_from: group_starts[last].start,
            reason: CutReason::LastGroup,
            added: TokenCount::ZERO,
        };
    };
    let turn = (first..=last).find(|&index| is_turn_start(&messages[group_starts[index].start]));
    let (chosen, reason) = match turn {
        Some(turn) => (turn, CutReason::UserMessage),
        None => (first, CutReason::GroupBoundary),
    };
    let added = |index: usize| group_starts[index].tail - group_starts[chosen].tail;
    let mut from = chosen;
    while from > first
        && group_starts[from].tail < settings.min_tail
        && settings.max_added.is_none_or(|max| added(from - 1) <= max)
    {
        from -= 1;
    }
    Cut { tail_from: group_starts[from].start, reason, added: added(from) }
}

/// The cut at a place that was chosen before, if a group begins there and the tail is not too long.
pub(crate) fn cut_at(messages: &[Message], tail_from: usize, settings: &CutSettings) -> Option<Cut> {
    let (group_starts, _) = measure(messages, &settings.estimator);
    let group = group_starts.iter().skip(1).find(|group| group.start == tail_from)?;
    let reason = match is_turn_start(&messages[tail_from]) {
        true => CutReason::UserMessage,
        false => CutReason::GroupBoundary,
    };
    let cut = Cut { tail_from, reason, added: TokenCount::ZERO };
    settings.max_tail.is_none_or(|max| group.tail <= max).then_some(cut)
}

/// The start of a group.
struct GroupStart {
    start: usize,
    /// The size of what comes before.
    before: usize,
    /// The tokens from here to the end.
    tail: TokenCount,
}

/// Starts of all groups, and the size of all messages.
fn measure(messages: &[Message], estimator: &Estimator) -> (Vec<GroupStart>, usize) {
    let mut before = 0;
    let mut group_starts: Vec<(GroupStart, Estimate)> = complete_groups(messages)
        .into_iter()
        .map(|group| {
            let messages = &messages[group.clone()];
            let group_start = GroupStart { start: group.start, before, tail: TokenCount::ZERO };
            before += messages.iter().map(|message| message_size(message, estimator)).sum::<usize>();
            (group_start, estimate_messages(messages, estimator))
        })
        .collect();
    // Fractions of tokens are added up before they are cut off, as they are where the tail is measured whole.
    let mut tail = Estimate::ZERO;
    for (group_start, size) in group_starts.iter_mut().rev() {
        tail += *size;
        group_start.tail = tail.tokens();
    }
    (group_starts.into_iter().map(|(group_start, _)| group_start).collect(), before)
}

fn estimate_messages(messages: &[Message], estimator: &Estimator) -> Estimate {
    messages.iter().map(|message| estimator.message(message)).sum()
}

/// A share that makes no sense keeps as little as possible, or everything there is to keep.
fn sane_share(share: f64) -> f64 {
    if share.is_nan() { 0.0 } else { share.clamp(0.0, 1.0) }
}

/// Tells whether a turn begins with this message: it stands on the user's side and answers no call.
pub(crate) fn is_turn_start(message: &Message) -> bool {
    message.role == Role::User && message.results().next().is_none()
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Body, FileReference, Media, MediaData, Origin, Part};
    use proptest::prelude::*;

    use super::*;
    use crate::reference_cut::{InvalidFraction, reference_split};
    use crate::shapes::{any_conversation, conversation};

    #[track_caller]
    fn check_reference(shape: &str, fraction: f64, expected: usize) {
        assert_eq!(reference_split(&conversation(shape), fraction), Ok(expected), "{shape} at {fraction}");
    }

    #[test]
    fn the_reference_takes_the_first_turn_behind_the_mark() {
        let five = "user*500 reply*500 user*500 reply*500 user*500";
        check_reference(five, 0.5, 4);
        check_reference(five, 0.9, 4);
        check_reference("user reply user reply", 0.8, 4);
        check_reference("user reply user call", 0.99, 2);
        check_reference("user", 0.5, 0);
        check_reference("", 0.5, 0);
    }

    #[test]
    fn the_reference_is_not_disturbed_by_files_and_empty_messages() {
        let mut messages = conversation("user*20 reply user*20");
        let file = FileReference { mime: Some("image/png".into()), uri: "gs://bucket/picture.png".into() };
        messages[1].parts = vec![Part::new(Origin::Model, Body::File(Box::new(file)))];
        assert_eq!(reference_split(&messages, 0.5), Ok(2));
        check_reference("user*500 reply empty", 0.5, 2);
    }

    #[test]
    fn the_reference_takes_no_answer_for_a_turn() {
        check_reference("user call*500 mixed*500 call", 0.5, 0);
        check_reference("user call*500 result*500 call", 0.5, 0);
        check_reference("user call*500 result*500 reply", 0.5, 4);
    }

    #[test]
    fn the_reference_refuses_senseless_fractions() {
        for fraction in [0.0, 1.0, -0.5, 7.0, f64::INFINITY] {
            for shape in ["", "user reply"] {
                assert_eq!(reference_split(&conversation(shape), fraction), Err(InvalidFraction(fraction)));
            }
        }
        assert!(reference_split(&[], f64::NAN).is_err());
    }

    #[track_caller]
    fn check_with(shape: &str, settings: CutSettings, tail_from: usize, reason: CutReason) {
        let cut = plan_cut(&conversation(shape), &settings);
        assert_eq!((cut.tail_from, cut.reason), (tail_from, reason), "{shape}");
    }

    /// Checks where a conversation is cut if a small tail may stay small.
    #[track_caller]
    fn check(shape: &str, tail_from: usize, reason: CutReason) {
        check_with(shape, bare(), tail_from, reason);
    }

    fn bare() -> CutSettings {
        CutSettings { min_tail: TokenCount::ZERO, ..CutSettings::default() }
    }

    use CutReason::{GroupBoundary, LastGroup, NothingToCut, UserMessage};

    #[test]
    fn the_first_turn_behind_the_mark_is_taken() {
        check("user*1700 reply user*90 reply user*90 reply", 2, UserMessage);
        check("user*1500 reply user*1400 reply user*90 reply", 4, UserMessage);
        check("user*1700 call result call result hook*90 reply", 5, UserMessage);
        check("user*1700 reply empty reply", 2, UserMessage);
    }

    #[test]
    fn without_a_turn_the_first_boundary_behind_the_mark_is_taken() {
        // The reference gives up on the first and keeps nothing of the second.
        check("user call*900 result*900 call result call result", 3, GroupBoundary);
        check("user call*900 result*900 call result reply", 3, GroupBoundary);
        check("user call*900 result*900 call mixed", 3, GroupBoundary);
        check("user signed*900 call*900 result*900 signed call result reply", 4, GroupBoundary);
    }

    #[test]
    fn a_last_group_across_the_mark_stays_whole() {
        check("user*100 call*900 result*900", 1, LastGroup);
        check("user call result call*900 result*900", 3, LastGroup);
        check("user reply*900", 1, LastGroup);
        check("user reply call*900", 2, LastGroup);
    }

    #[test]
    fn a_single_piece_is_not_cut() {
        check("", 0, NothingToCut);
        check("user", 0, NothingToCut);
        check("call result", 0, NothingToCut);
        check("result", 0, NothingToCut);
    }

    #[test]
    fn a_small_tail_is_given_earlier_groups_behind_the_mark() {
        let shape = "user*40000 reply*2000 call*2000 result*2000 reply*2000 user";
        check(shape, 5, UserMessage);
        // 500 tokens of reply are too few, a call with its result more than enough.
        let cut = plan_cut(&conversation(shape), &CutSettings::default());
        assert_eq!((cut.tail_from, cut.reason), (2, UserMessage));
        assert!(cut.added >= TokenCount(1_500) && cut.added < TokenCount(1_600), "{}", cut.added);
    }

    #[test]
    fn what_is_given_stays_within_the_limits() {
        let shape = "user*40000 reply*2000 call*2000 result*2000 reply*2000 user";
        let settings = CutSettings::default();
        let with_max_added = |max| CutSettings { max_added: Some(TokenCount(max)), ..settings };
        check_with(shape, with_max_added(600), 4, UserMessage);
        check_with(shape, with_max_added(100), 5, UserMessage);
        let with_max_tail = |max| CutSettings { max_tail: Some(TokenCount(max)), ..settings };
        check_with(shape, with_max_tail(600), 4, UserMessage);
        // What stands before the mark is never given: the tail would be more than its share.
        check("user*400 reply*400 user*8", 2, UserMessage);
        check_with("user*400 reply*400 user*8", settings, 2, UserMessage);
    }

    #[test]
    fn a_tail_too_large_for_the_target_begins_later() {
        let shape = "user*40000 user*4000 reply*4000 user*2000 reply*2000 reply*400";
        let with_max_tail = |max| CutSettings { max_tail: Some(TokenCount(max)), ..bare() };
        check_with(shape, with_max_tail(10_000), 1, UserMessage);
        check_with(shape, with_max_tail(2_000), 3, UserMessage);
        check_with(shape, with_max_tail(700), 4, GroupBoundary);
        check_with(shape, with_max_tail(100), 5, GroupBoundary);
        check_with(shape, with_max_tail(99), 5, LastGroup);
    }

    #[test]
    fn a_screenshot_does_not_move_the_mark() {
        let mut messages = conversation("user*20000 reply*40000 user*9000 reply user*9000 reply");
        let media = Media { mime: "image/png".into(), data: MediaData::Base64("A".repeat(2_000_000)) };
        messages[4].parts.push(Part::new(Origin::User, Body::Media(Box::new(media))));
        assert_eq!(plan_cut(&messages, &bare()).tail_from, 4);
        assert_eq!(reference_split(&messages, 0.7), Ok(6));
    }

    #[test]
    fn senseless_shares_still_give_a_cut() {
        for (keep, tail_from) in [(f64::NAN, 3), (-1.0, 3), (0.0, 3), (1.0, 2), (9.0, 2), (f64::INFINITY, 2)]
        {
            let cut = plan_cut(&conversation("call result user reply"), &CutSettings { keep, ..bare() });
            assert_eq!(cut.tail_from, tail_from, "{keep}");
        }
    }

    fn any_settings() -> impl Strategy<Value = CutSettings> {
        let limit = || prop::option::of((0u64..4_000).prop_map(TokenCount));
        (0.05..0.95, 0u64..3_000, limit(), limit()).prop_map(|(keep, least, max_tail, max_added)| {
            CutSettings { keep, min_tail: TokenCount(least), max_tail, max_added, ..CutSettings::default() }
        })
    }

    proptest! {
        #[test]
        fn any_conversation_has_a_cut_that_keeps_groups(messages in any_conversation(), settings in any_settings()) {
            let groups = complete_groups(&messages);
            let cut = plan_cut(&messages, &settings);
            prop_assert!(cut.tail_from == 0 || groups.iter().any(|group| group.start == cut.tail_from));
            prop_assert!(groups.last().is_none_or(|last| cut.tail_from <= last.start));
            prop_assert_eq!(cut.reason == NothingToCut, groups.len() < 2);
            prop_assert!(cut.tail_from > 0 || cut.reason == NothingToCut);
        }

        #[test]
        fn a_tail_keeps_to_its_limits_unless_it_is_the_last_group(
            messages in any_conversation(),
            settings in any_settings(),
        ) {
            let cut = plan_cut(&messages, &settings);
            if matches!(cut.reason, UserMessage | GroupBoundary) {
                let tail = &messages[cut.tail_from..];
                let sizes = |messages: &[Message]| -> Vec<usize> {
                    messages.iter().map(|message| message_size(message, &settings.estimator)).collect()
                };
                let size = |messages: &[Message]| sizes(messages).into_iter().sum::<usize>() as f64;
                prop_assert!(size(tail) <= size(&messages) * settings.keep + 1e-6);
                let tokens = estimate_messages(tail, &settings.estimator).tokens();
                prop_assert!(settings.max_tail.is_none_or(|max| tokens <= max));
                prop_assert!(settings.max_added.is_none_or(|max| cut.added <= max));
            }
        }
    }
}
