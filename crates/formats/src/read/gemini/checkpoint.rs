//! Checkpoints, by which Gemini CLI writes the whole transcript anew.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{
    CallId, Change, Message, MessageId, Origin, Part, Role, ToolResult, fingerprint_content,
};
use longhaul_wire::List;

use super::results::{LaterResult, with_result};
use super::{Gemini, MOST_HELD, size_of_part};
use crate::out::Out;
use crate::records::CheckpointEffect;

impl Gemini {
    /// The transcript as Gemini CLI wrote it anew: after a compression or a masking, and whenever a session is resumed.
    pub(super) fn checkpoint(&mut self, records: List<'_>, out: &mut Out<'_>) {
        self.answered.clear();
        self.owners.clear();
        let mut messages: Vec<Message> = Vec::new();
        let mut responses: HashSet<MessageId> = HashSet::new();
        self.each_message(records, out, |_, placed, _| {
            for LaterResult { message, part } in placed.later {
                if let Some(known) = messages.iter_mut().rfind(|known| known.id == message)
                    && let Some(renewed) = with_result(known, part)
                {
                    *known = renewed;
                }
            }
            messages.extend(placed.message);
            responses.extend(placed.response.as_ref().map(|response| response.id.clone()));
            messages.extend(placed.response);
        });
        mark_summaries(&mut messages);
        self.keep_known_responses(&mut messages, &responses);
        match self.branch.take_checkpoint(&messages) {
            CheckpointEffect::Repeats => {}
            // What was dropped was not announced, so that nothing has to come back.
            CheckpointEffect::Restores => (self.is_unannounced, self.is_compaction) = (false, false),
            CheckpointEffect::Replaces => {
                let known: Vec<&Message> = self.branch.history();
                let is_new = |summary: &Message| !known.iter().any(|known| has_same_content(known, summary));
                if messages.iter().any(|message| is_summary(message) && is_new(message)) {
                    out.info.compactions += 1;
                    self.is_compaction = true;
                }
                self.is_unannounced = true;
                let size: usize = messages.iter().flat_map(|message| &message.parts).map(size_of_part).sum();
                if out.is_bounded() && size > MOST_HELD / 2 {
                    // There would be no room to keep them until they are announced.
                    self.is_unannounced = false;
                    out.change(Change::Restart);
                }
            }
        }
        let open = self.branch.begin_checkpoint();
        let mut last: Option<MessageId> = None;
        for message in messages {
            let id = message.id.clone();
            match self.branch.get(&id).filter(|_| !self.held.forgotten.contains(&id)) {
                Some(known) if self.repeats(known, &message) => {}
                Some(known) => {
                    let former = known.clone();
                    self.branch.keep_former(former);
                    let message = self.marked(message, out);
                    self.carry_out(Change::Put(message), out);
                }
                None => {
                    // What was read before knows more of the same message: times, figures, the exact form of calls.
                    let former = self.branch.former(&id).filter(|former| self.repeats(former, &message));
                    let message = former.cloned().unwrap_or(message);
                    let message = self.marked(message, out);
                    match last.take() {
                        Some(after) => self.carry_out(Change::PutAfter { after, message }, out),
                        None => self.carry_out(Change::Put(message), out),
                    }
                }
            }
            last = Some(id);
        }
        self.branch.end_checkpoint(open);
    }

    /// Returns true if a message of a checkpoint says what is known of it, in that form or in the one that Gemini CLI reads.
    fn repeats(&self, known: &Message, message: &Message) -> bool {
        let print = fingerprint_content(message);
        fingerprint_content(known) == print || self.plain_forms.get(&message.id) == Some(&print)
    }

    /// Keeps the messages that answer calls as they are known. Gemini CLI puts a copy of each result into the message that
    /// called, and only that copy is read: a message of its own which holds the same would be there twice.
    fn keep_known_responses(&self, messages: &mut [Message], responses: &HashSet<MessageId>) {
        let ids: HashSet<MessageId> = messages.iter().map(|message| message.id.clone()).collect();
        let mut known: HashMap<Vec<(CallId, String)>, Vec<&Message>> = HashMap::new();
        for message in self.branch.messages().iter().filter(|message| !ids.contains(&message.id)) {
            if let Some(results) = only_results(message) {
                known.entry(results).or_default().push(message);
            }
        }
        // From the end, as a transcript that was shortened keeps its end.
        for message in messages.iter_mut().rev().filter(|message| responses.contains(&message.id)) {
            if self.branch.get(&message.id).is_some() {
                continue;
            }
            let same = only_results(message).and_then(|results| known.get_mut(&results)?.pop());
            if let Some(same) = same {
                *message = same.clone();
            }
        }
    }
}

/// The results of a message that holds nothing else, as a reader sees them.
fn only_results(message: &Message) -> Option<Vec<(CallId, String)>> {
    let read = |result: &ToolResult| (result.call.clone(), result.readable().into_owned());
    let results: Option<Vec<_>> = message.parts.iter().map(|part| part.as_result().map(read)).collect();
    results.filter(|results| !results.is_empty())
}

fn has_same_content(one: &Message, other: &Message) -> bool {
    fingerprint_content(one) == fingerprint_content(other)
}

/// The model's answer with which Gemini CLI lets a summary begin the transcript.
const ACKNOWLEDGEMENT: &str = "Got it. Thanks for the additional context!";

/// Makes summaries of texts that stand before [`ACKNOWLEDGEMENT`]: a model wrote them, whatever their form.
fn mark_summaries(messages: &mut [Message]) {
    for place in 1..messages.len() {
        let (head, tail) = messages.split_at_mut(place);
        let (Some(summary), Some(answer)) = (head.last_mut(), tail.first()) else { continue };
        let is_answer =
            answer.role == Role::Model && answer.parts.iter().filter_map(Part::as_text).eq([ACKNOWLEDGEMENT]);
        if is_answer && summary.role == Role::User {
            let texts = summary.parts.iter_mut().filter(|part| part.as_text().is_some());
            texts.for_each(|part| part.origin = Origin::Summary);
        }
    }
}

fn is_summary(message: &Message) -> bool {
    message.role == Role::User && message.parts.iter().any(|part| part.origin == Origin::Summary)
}
