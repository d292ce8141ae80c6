//! Results of calls: one for each call, the newest of all that were recorded, behind the message that called.

use std::collections::HashMap;

use longhaul_conversation::{
    Body, CallId, Change, Message, MessageId, Origin, Output, Part, Role, ToolResult, ToolStatus,
    fingerprint_content,
};

use super::Gemini;
use crate::out::Out;

/// A further result of a call that another message answers.
#[derive(Debug)]
pub(super) struct LaterResult {
    /// The message that answers the call.
    pub(super) message: MessageId,
    pub(super) part: Part,
}

impl Gemini {
    /// The other message that answers `call` already; if there is none, `message` does from now on.
    pub(super) fn answered_elsewhere(&mut self, call: &CallId, message: &MessageId) -> Option<MessageId> {
        let known = self.answered.entry(call.clone()).or_insert_with(|| message.clone());
        (known != message).then(|| known.clone())
    }

    /// A message calls under this id. Some servers number the calls of each answer anew, so that an id which was answered
    /// before waits for a result again.
    pub(super) fn reopen(&mut self, call: &CallId, message: &MessageId) {
        if self.owners.insert(call.clone(), message.clone()).as_ref() != Some(message) {
            self.answered.remove(call);
        }
    }

    /// The parts of a message without results of calls that other messages answer, and those.
    pub(super) fn split_later(
        &mut self,
        parts: Vec<Part>,
        message: &MessageId,
    ) -> (Vec<Part>, Vec<LaterResult>) {
        let mut later = Vec::new();
        let mut own = Vec::with_capacity(parts.len());
        for part in parts {
            let elsewhere =
                part.as_result().and_then(|result| self.answered_elsewhere(&result.call, message));
            match elsewhere {
                Some(message) => later.push(LaterResult { message, part }),
                None => own.push(part),
            }
        }
        (own, later)
    }

    /// Lets a later result count in the place of the one that is known.
    pub(super) fn renew(&mut self, later: LaterResult, out: &mut Out<'_>) {
        let known = self.branch.get(&later.message);
        if let Some(renewed) = known.and_then(|known| with_result(known, later.part)) {
            self.change(Change::Put(renewed), out);
        }
    }
}

/// The message with this result in the place of another of the same call; `None` if that says the same.
pub(super) fn with_result(message: &Message, part: Part) -> Option<Message> {
    let newer = part.as_result()?;
    let of_same_call = |part: &Part| part.as_result().is_some_and(|result| result.call == newer.call);
    let place = message.parts.iter().position(of_same_call)?;
    let older = message.parts[place].as_result()?;
    if has_same_output(older, newer) {
        return None;
    }
    let stated = if newer.status == ToolStatus::Unstated { older.status } else { newer.status };
    let name = newer.name.clone().or_else(|| older.name.clone());
    let result = ToolResult { name, status: stated, ..newer.clone() };
    let mut renewed = message.clone();
    renewed.parts[place] = Part { body: Body::Result(Box::new(result)), ..part };
    Some(renewed)
}

fn has_same_output(one: &ToolResult, other: &ToolResult) -> bool {
    let print = |result: &ToolResult| {
        let result = ToolResult { status: ToolStatus::Unstated, name: None, ..result.clone() };
        fingerprint_content(&Message::new("", Role::User, vec![Part::result(result)]))
    };
    one.readable() == other.readable() && one.nested.len() == other.nested.len() || print(one) == print(other)
}

/// Keeps one result for each call: of two in one message, the newer in the place of the older.
pub(super) fn keep_newest_results(parts: &mut Vec<Part>) {
    let mut places: HashMap<CallId, usize> = HashMap::new();
    let mut kept: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts.drain(..) {
        match part.as_result().map(|result| result.call.clone()) {
            Some(call) => match places.get(&call) {
                Some(place) => kept[*place] = part,
                None => {
                    places.insert(call, kept.len());
                    kept.push(part);
                }
            },
            None => kept.push(part),
        }
    }
    *parts = kept;
}

/// The parts of a recorded result as the answer to one call. Texts without a response around them are the answer.
pub(super) fn as_response(parts: Vec<Part>, id: &CallId, name: &str, status: ToolStatus) -> Vec<Part> {
    let has_response = parts.iter().any(|part| part.as_result().is_some());
    let mut response: Vec<Part> =
        parts.into_iter().map(|part| Part { origin: Origin::Tool, ..part }).collect();
    if !has_response {
        let answer = ToolResult {
            output: Output::Empty,
            nested: response,
            ..ToolResult::text(id.clone(), "").with_name(name).with_status(status)
        };
        return vec![Part::result(answer)];
    }
    for part in &mut response {
        if let Body::Result(result) = &mut part.body {
            result.call = id.clone();
            result.name.get_or_insert_with(|| name.to_string());
            if status != ToolStatus::Unstated {
                result.status = status;
            }
        }
    }
    response
}
