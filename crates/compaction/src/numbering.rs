//! Keeps the marks of messages in step with earlier snapshots: a mark is never used twice.

use longhaul_conversation::{Message, Ordinal};

/// Lets the numbering of a conversation whose messages were counted from 1 go on behind earlier snapshots.
///
/// One that was compacted before begins with a snapshot of, say, 214 messages. The first message behind the snapshot becomes
/// the 215th, so that marks in the snapshot and marks of messages do not meet; readers of sessions number messages like that.
/// Messages that are numbered higher already keep their marks, and those without a mark stay without.
pub fn continue_numbering(messages: &mut [Message]) {
    let mut shift = 0;
    for message in messages {
        if let Some(ordinal) = &mut message.ordinal {
            ordinal.0 = ordinal.0.saturating_add(shift);
        }
        if let (Some(Ordinal(own)), Some(Ordinal(through))) = (message.ordinal, message.snapshot_through()) {
            shift += through.saturating_sub(own);
        }
    }
}

/// The mark of each message, as a tracker that sees them in this order counts them.
pub(crate) fn ordinals(messages: &[Message]) -> Vec<Ordinal> {
    let mut last: u32 = 0;
    messages
        .iter()
        .map(|message| {
            let at = message.ordinal.unwrap_or(Ordinal(last.saturating_add(1)));
            last = last.max(at.0).max(message.snapshot_through().map_or(0, |through| through.0));
            at
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Origin, Part};

    use super::*;
    use crate::shapes::conversation;

    fn snapshot(through: u32) -> Part {
        Part::text(
            Origin::Summary,
            format!(
                "<state_snapshot through=\"m{through}\">\n<task_state>\nx\n</task_state>\n</state_snapshot>"
            ),
        )
    }

    #[track_caller]
    fn check(through: u32, own: [Option<u32>; 3], continued: [Option<u32>; 3], counted: [u32; 3]) {
        let mut messages = conversation("user reply user");
        messages[0].parts = vec![snapshot(through)];
        for (message, own) in messages.iter_mut().zip(own) {
            message.ordinal = own.map(Ordinal);
        }
        continue_numbering(&mut messages);
        let marks: Vec<_> = messages.iter().map(|message| message.ordinal.map(|ordinal| ordinal.0)).collect();
        assert_eq!(marks, continued);
        assert_eq!(ordinals(&messages), counted.map(Ordinal));
    }

    #[test]
    fn numbering_goes_on_behind_a_snapshot() {
        check(214, [Some(1), Some(2), Some(3)], [Some(1), Some(215), Some(216)], [1, 215, 216]);
        check(0, [Some(1), Some(2), Some(3)], [Some(1), Some(2), Some(3)], [1, 2, 3]);
    }

    #[test]
    fn higher_marks_and_missing_ones_stay() {
        check(5, [None, Some(6), Some(7)], [None, Some(6), Some(7)], [1, 6, 7]);
        check(5, [None, None, None], [None, None, None], [1, 6, 7]);
    }
}
