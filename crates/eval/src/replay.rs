//! Cut points of a session, single and in a chain.

use std::collections::HashSet;

use longhaul_compaction::{CutSettings, plan_cut};
use longhaul_conversation::{CallId, Message, TokenCount};

use crate::text::count_characters;

/// One compaction in the replay of a session: it happens when the session is `at` messages long, and the messages from
/// `tail_from` on stay unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompactionStep {
    pub(crate) at: usize,
    pub(crate) tail_from: usize,
}

/// The cut points of a session: the first boundary after each share of its tokens that separates no call from its
/// result and has something on both sides. Shares with the same boundary give one step.
pub(crate) fn cut_points(messages: &[Message], shares: &[f64]) -> Vec<CompactionStep> {
    let sizes = Sizes::of(messages);
    let mut steps: Vec<CompactionStep> = shares
        .iter()
        .filter_map(|share| sizes.first_boundary_after(*share))
        .filter(|at| *at < messages.len())
        .map(|at| CompactionStep { at, tail_from: tail_start(&messages[..at]) })
        .filter(|step| step.tail_from > 0)
        .collect();
    steps.dedup();
    steps
}

/// A chain of `count` compactions, evenly spread, the last one at the end of `messages`. A compaction with nothing to
/// cut off is left out.
pub(crate) fn chain(messages: &[Message], count: usize) -> Vec<CompactionStep> {
    let sizes = Sizes::of(messages);
    let mut tail_from = 0;
    let places = (1..=count).map(|nth| {
        let share = nth as f64 / count as f64;
        sizes.first_boundary_after(share).filter(|_| nth < count).unwrap_or(messages.len())
    });
    let steps = places.filter_map(|at| {
        // Evicted messages do not return into the tail.
        tail_from = tail_start(&messages[..at]).max(tail_from);
        (tail_from > 0).then_some(CompactionStep { at, tail_from })
    });
    steps.collect()
}

/// The start of the kept tail, the same for every method. A method that wants a longer tail pays for it.
pub(crate) fn tail_start(messages: &[Message]) -> usize {
    plan_cut(messages, &CutSettings { min_tail: TokenCount::ZERO, ..CutSettings::default() }).tail_from
}

/// The boundaries between messages that separate no call from its result; the end is one, the start is not.
pub(crate) fn boundaries(messages: &[Message]) -> Vec<usize> {
    let answered: HashSet<&CallId> =
        messages.iter().flat_map(Message::results).map(|result| &result.call).collect();
    let mut open: HashSet<&CallId> = HashSet::new();
    let mut places = Vec::new();
    for (place, message) in messages.iter().enumerate() {
        for result in message.results() {
            open.remove(&result.call);
        }
        open.extend(message.calls().map(|call| &call.id).filter(|id| answered.contains(id)));
        if open.is_empty() {
            places.push(place + 1);
        }
    }
    places
}

/// The number of characters before each boundary.
struct Sizes {
    boundaries: Vec<(usize, u64)>,
    total: u64,
}

impl Sizes {
    fn of(messages: &[Message]) -> Self {
        let mut so_far = 0;
        let before: Vec<u64> = messages
            .iter()
            .map(|message| {
                so_far += count_characters(std::slice::from_ref(message));
                so_far
            })
            .collect();
        let boundaries = boundaries(messages).into_iter().map(|place| (place, before[place - 1])).collect();
        Self { boundaries, total: so_far }
    }

    fn first_boundary_after(&self, share: f64) -> Option<usize> {
        let wanted = self.total as f64 * share;
        self.boundaries.iter().find(|(_, before)| *before as f64 >= wanted).map(|(place, _)| *place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolCall, ToolResult};

    /// A session of equally large messages: `u` asks, `m` answers, `c` calls, `r` is the result.
    fn session(shape: &str) -> Vec<Message> {
        let text = "word ".repeat(80);
        let message = |(place, kind): (usize, char)| {
            let (role, part) = match kind {
                'u' => (Role::User, Part::user_text(&text)),
                'm' => (Role::Model, Part::model_text(&text)),
                'c' => (Role::Model, Part::call(ToolCall::new(place.to_string(), text.as_str()))),
                'r' => (Role::User, Part::result(ToolResult::text((place - 1).to_string(), &text))),
                other => panic!("unknown kind {other}"),
            };
            Message::new(format!("m{place}"), role, vec![part])
        };
        shape.chars().enumerate().map(message).collect()
    }

    #[track_caller]
    fn check_boundaries(shape: &str, expected: &[usize]) {
        assert_eq!(boundaries(&session(shape)), expected, "{shape}");
    }

    #[test]
    fn no_boundary_parts_a_call_from_its_result() {
        check_boundaries("", &[]);
        check_boundaries("ucrm", &[1, 3, 4]);
        check_boundaries("uc", &[1, 2]);
        check_boundaries("ucrcrum", &[1, 3, 5, 6, 7]);
    }

    #[track_caller]
    fn check_points(shape: &str, expected: &[usize]) {
        let points: Vec<usize> =
            cut_points(&session(shape), &[0.4, 0.6, 0.8]).iter().map(|step| step.at).collect();
        assert_eq!(points, expected, "{shape}");
    }

    #[test]
    fn sessions_are_cut_at_their_shares() {
        check_points("", &[]);
        check_points("u", &[]);
        check_points("umumumumum", &[4, 6, 8]);
        check_points("ucrcrcrcrc", &[5, 7, 9]);
        check_points("ucrm", &[3]);
    }

    #[test]
    fn chains_end_at_the_end_and_their_tails_only_move_forward() {
        let messages = session(&"umcr".repeat(10));
        let steps = chain(&messages, 5);
        assert_eq!(steps.last().map(|step| step.at), Some(40));
        assert!(
            steps.windows(2).all(|pair| pair[0].at <= pair[1].at && pair[0].tail_from <= pair[1].tail_from)
        );
        assert!(steps.iter().all(|step| 0 < step.tail_from && step.tail_from < step.at));
        assert_eq!(steps.last().map(|step| step.tail_from), Some(tail_start(&messages)));
        assert_eq!(chain(&[], 5), []);
    }
}
