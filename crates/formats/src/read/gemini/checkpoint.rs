//! Checkpoints, by which Gemini CLI writes the whole transcript anew.

use longhaul_conversation::{Change, Message, MessageId, Origin, Part, Role, fingerprint_content};
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
        self.each_message(records, out, |_, placed, _| {
            for LaterResult { message, part } in placed.later {
                if let Some(known) = messages.iter_mut().rfind(|known| known.id == message)
                    && let Some(renewed) = with_result(known, part)
                {
                    *known = renewed;
                }
            }
            messages.extend(placed.message);
            messages.extend(placed.response);
        });
        mark_summaries(&mut messages);
        match self.branch.take_checkpoint(&messages) {
            CheckpointEffect::Repeats => {}
            // What was dropped was not announced, so that nothing has to come back.
            CheckpointEffect::Restores => self.is_unannounced = false,
            CheckpointEffect::Replaces => {
                let known: Vec<&Message> = self.branch.history();
                let is_new = |summary: &Message| !known.iter().any(|known| has_same_content(known, summary));
                if messages.iter().any(|message| is_summary(message) && is_new(message)) {
                    out.info.compactions += 1;
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
        let before = self.branch.begin_checkpoint();
        let mut last: Option<MessageId> = None;
        for message in messages {
            let id = message.id.clone();
            match self.branch.get(&id).filter(|_| !self.held.forgotten.contains(&id)) {
                Some(known) if has_same_content(known, &message) => {}
                Some(_) if self.plain_forms.get(&id) == Some(&fingerprint_content(&message)) => {}
                Some(known) => {
                    let former = known.clone();
                    self.branch.keep_former(former);
                    let message = self.marked(message, out);
                    self.carry_out(Change::Put(message), out);
                }
                None => {
                    // What was read before knows more of the same message: times, figures, the exact form of calls.
                    let former = self.branch.former(&id).filter(|former| has_same_content(former, &message));
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
        self.branch.end_checkpoint(before);
    }
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
