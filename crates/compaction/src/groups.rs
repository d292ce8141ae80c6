//! Finds the pieces that a conversation may be cut into: a tool call stays with its result, reasoning with its call.

use std::collections::HashMap;
use std::ops::Range;

use longhaul_conversation::{Body, CallId, Message, Part, Role};

/// The smallest pieces that may stand without each other, in order and without gaps.
///
/// A message that has nothing to do with tools is a piece of its own. A piece never begins with a tool result, not even
/// in a broken conversation, but where the conversation itself does. A call that waits for its answer at the end belongs
/// to the last piece.
pub(crate) fn complete_groups(messages: &[Message]) -> Vec<Range<usize>> {
    let reach = find_reach(messages);
    let mut groups = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (index, furthest) in reach.into_iter().enumerate() {
        end = end.max(furthest);
        if end == index {
            groups.push(start..index + 1);
            start = index + 1;
        }
        end = end.max(start);
    }
    groups
}

/// For each message the last one that must stay with it, itself if there is none.
fn find_reach(messages: &[Message]) -> Vec<usize> {
    let mut reach: Vec<usize> = (0..messages.len()).collect();
    let mut link = |from: usize, to: usize| reach[from] = reach[from].max(to);
    let mut open = Open::default();
    let mut items: HashMap<&str, usize> = HashMap::new();
    let mut reasoning = None;
    for (index, message) in messages.iter().enumerate() {
        if message.role == Role::User {
            reasoning = None;
        }
        for part in &message.parts {
            match &part.body {
                Body::Thought(thought) => {
                    if let Some(item) = &thought.item {
                        items.insert(item, index);
                    }
                    if is_bound(part) {
                        reasoning = reasoning.or(Some(index));
                    }
                }
                Body::Call(call) => {
                    open.push(&call.id, index);
                    if let Some(from) = reasoning.take() {
                        link(from, index);
                    }
                    if let Some(from) = call.reasoning.as_deref().and_then(|item| items.get(item)) {
                        link(*from, index);
                    }
                }
                Body::Result(result) => {
                    if let Some(from) = open.take(&result.call) {
                        link(from, index);
                    }
                    if index > 0 {
                        link(index - 1, index);
                    }
                }
                Body::Text(_) | Body::Media(_) | Body::File(_) | Body::Opaque(_) => {}
            }
        }
        // A vendor refuses a reasoning item that nothing follows, so one on its own stays with what it led to.
        let next_is_model = messages.get(index + 1).is_some_and(|next| next.role == Role::Model);
        if next_is_model && message.parts.last().is_some_and(is_bound) {
            link(index, index + 1);
        }
    }
    reach
}

/// Calls that nothing has answered, with their places. Some models count their ids from the start in every turn: a result
/// answers the newest open call of its id.
#[derive(Default)]
struct Open<'m> {
    /// The newest ones, among which the next answer nearly always finds its call.
    newest: Vec<(&'m CallId, usize)>,
    older: HashMap<&'m CallId, Vec<usize>>,
}

/// So many are looked through one by one.
const NEWEST: usize = 8;

impl<'m> Open<'m> {
    fn push(&mut self, id: &'m CallId, index: usize) {
        if self.newest.len() == NEWEST {
            let (id, index) = self.newest.remove(0);
            self.older.entry(id).or_default().push(index);
        }
        self.newest.push((id, index));
    }

    fn take(&mut self, id: &CallId) -> Option<usize> {
        match self.newest.iter().rposition(|(open, _)| *open == id) {
            Some(nth) => Some(self.newest.remove(nth).1),
            None => self.older.get_mut(id)?.pop(),
        }
    }
}

/// Tells whether a part is reasoning that its vendor ties to what follows.
fn is_bound(part: &Part) -> bool {
    matches!(&part.body, Body::Thought(thought) if thought.signature.is_some() || thought.item.is_some())
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Thought, ToolCall, ToolResult};
    use proptest::prelude::*;

    use super::*;
    use crate::shapes::{any_conversation, conversation};

    /// Checks where groups begin.
    #[track_caller]
    fn check(messages: &[Message], expected: &[usize]) {
        let groups = complete_groups(messages);
        let starts: Vec<usize> = groups.iter().map(|group| group.start).collect();
        assert_eq!(starts, expected);
    }

    #[track_caller]
    fn check_shape(shape: &str, expected: &[usize]) {
        check(&conversation(shape), expected);
    }

    #[test]
    fn plain_messages_stand_alone() {
        check_shape("", &[]);
        check_shape("user", &[0]);
        check_shape("user reply user reply", &[0, 1, 2, 3]);
    }

    #[test]
    fn a_call_stays_with_its_result() {
        check_shape("user call result reply", &[0, 1, 3]);
        check_shape("user call call result result reply", &[0, 1, 5]);
        check_shape("user call user result reply", &[0, 1, 4]);
        check_shape("call result call result", &[0, 2]);
    }

    #[test]
    fn broken_conversations_have_groups_too() {
        check_shape("result reply", &[0, 1]);
        check_shape("user result result reply", &[0, 3]);
        check_shape("user call user reply", &[0, 1, 2, 3]);
        check_shape("user call", &[0, 1]);
    }

    #[test]
    fn a_reused_id_does_not_tie_turns_together() {
        let call = || Message::new("m", Role::Model, vec![Part::call(ToolCall::new("call_0", "ls"))]);
        let result = || Message::new("m", Role::User, vec![Part::result(ToolResult::text("call_0", ""))]);
        check(&[call(), result(), call(), result()], &[0, 2]);
        let many: Vec<Message> = (0..20).map(|_| call()).chain((0..20).map(|_| result())).collect();
        check(&many, &[0]);
        // The first call was never answered; the second one is.
        check(&[call(), conversation("user").remove(0), call(), result()], &[0, 1, 2]);
    }

    #[test]
    fn reasoning_stays_with_its_call() {
        check_shape("user signed call result reply", &[0, 1, 4]);
        check_shape("user signed reply call result", &[0, 1]);
        check_shape("user signed reply user", &[0, 1, 3]);
        check_shape("user signed user call result", &[0, 1, 2, 3]);
        check_shape("user thought call result", &[0, 1, 2]);
    }

    #[test]
    fn a_named_reasoning_item_is_found_again() {
        let thought = Thought { item: Some("rs_1".into()), ..Thought::default() };
        let call = ToolCall { reasoning: Some("rs_1".into()), ..ToolCall::new("c", "ls") };
        let model = |part| Message::new("m", Role::Model, vec![part]);
        let mut messages = vec![model(Part::thought(thought))];
        messages.extend(conversation("user"));
        messages.push(model(Part::call(call)));
        check(&messages, &[0]);
    }

    proptest! {
        #[test]
        fn groups_follow_each_other_and_keep_pairs(messages in any_conversation()) {
            let groups = complete_groups(&messages);
            let joined: Vec<usize> = groups.iter().cloned().flatten().collect();
            prop_assert_eq!(joined, (0..messages.len()).collect::<Vec<_>>());
            for group in &groups {
                prop_assert!(group.start < group.end);
                prop_assert!(group.start == 0 || messages[group.start].results().next().is_none());
            }
            let group_of = |index: usize| groups.iter().position(|group| group.contains(&index));
            for (index, message) in messages.iter().enumerate() {
                for call in message.calls() {
                    let answer = messages.iter().position(|m| m.results().any(|r| r.call == call.id));
                    if let Some(answer) = answer.filter(|answer| *answer > index) {
                        prop_assert_eq!(group_of(index), group_of(answer));
                    }
                }
            }
        }
    }
}
