//! A session with all that was said in it, also what its agent compacted away or its user took back.

use std::collections::HashMap;
use std::io::Read;

use longhaul_conversation::{Change, Estimator, Message, MessageId, Part, TokenCount, Transcript};

use crate::detect::find_format;
use crate::lines::Lines;
use crate::out::Memory;
use crate::read::{Collector, read_found};
use crate::{Event, ReadError, Session};

/// A session and the steps that led to its transcript.
#[derive(Clone, Debug)]
pub struct SessionHistory {
    /// The session as it stood at the end.
    pub session: Session,
    /// The steps, oldest first.
    pub steps: Vec<HistoryStep>,
}

/// One step of a session.
#[derive(Clone, Debug, PartialEq)]
pub enum HistoryStep {
    /// Something was said. What was added to a message later is in it.
    Said(Box<Message>),
    /// This message and everything after it were taken back.
    TakenBack(MessageId),
    /// The agent compacted the transcript.
    Compacted {
        /// The estimated size of the transcript before.
        before: TokenCount,
        /// The messages after it. Those that were said before have their ids.
        messages: Vec<Message>,
    },
}

/// Reads a session of any known format with its steps.
///
/// # Errors
/// If the input cannot be read, or is no session of a known format.
pub fn read_history(input: impl Read) -> Result<SessionHistory, ReadError> {
    let mut collector = Collector::default();
    let mut steps = Steps::default();
    let mut sink = |event| {
        steps.take(&event, &collector.transcript);
        collector.take(event);
    };
    let info =
        find_format(Lines::of(input), |found, rest| read_found(found, rest, Memory::Whole, &mut sink))?;
    steps.end_compaction(&collector.transcript);
    Ok(SessionHistory { session: collector.finish(info), steps: steps.steps })
}

impl SessionHistory {
    /// The messages that were said, in order, each once.
    pub fn messages(&self) -> impl Iterator<Item = &Message> {
        self.steps.iter().filter_map(|step| match step {
            HistoryStep::Said(message) => Some(&**message),
            _ => None,
        })
    }
}

/// Puts steps together.
#[derive(Debug, Default)]
struct Steps {
    steps: Vec<HistoryStep>,
    /// The steps that said what was not taken back.
    places: HashMap<MessageId, usize>,
    /// The size of the transcript before the compaction that is read now.
    compacting: Option<TokenCount>,
}

impl Steps {
    /// Takes an event that is about to change the transcript.
    fn take(&mut self, event: &Event, transcript: &Transcript) {
        match event {
            Event::CompactionStart => {
                self.compacting = Some(Estimator::default().messages(transcript.messages()));
            }
            Event::CompactionEnd => self.end_compaction(transcript),
            // What a compaction brings was not said.
            Event::Change(change) if self.compacting.is_none() => self.change(change),
            Event::Change(_) | Event::Side { .. } | Event::Call(_) | Event::Warning(_) => {}
        }
    }

    fn end_compaction(&mut self, transcript: &Transcript) {
        if let Some(before) = self.compacting.take() {
            let messages = transcript.messages().to_vec();
            self.steps.push(HistoryStep::Compacted { before, messages });
        }
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Put(message) | Change::PutAfter { message, .. } => match self.said(&message.id) {
                Some(said) => *said = message.clone(),
                None => {
                    self.places.insert(message.id.clone(), self.steps.len());
                    self.steps.push(HistoryStep::Said(Box::new(message.clone())));
                }
            },
            Change::Extend { id, parts } => self.extend(id, parts),
            Change::RewindTo(id) => {
                if let Some(first) = self.places.get(id).copied() {
                    self.places.retain(|_, place| *place < first);
                    self.steps.push(HistoryStep::TakenBack(id.clone()));
                }
            }
            Change::Restart | Change::Counted(_) => {}
        }
    }

    fn extend(&mut self, id: &MessageId, parts: &[Part]) {
        if let Some(said) = self.said(id) {
            said.parts.extend_from_slice(parts);
        }
    }

    fn said(&mut self, id: &MessageId) -> Option<&mut Message> {
        match self.steps.get_mut(*self.places.get(id)?)? {
            HistoryStep::Said(message) => Some(message),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Each step in a word: what was said by its text, `-id` taken back, `[ids]` after a compaction.
    #[track_caller]
    fn check(lines: &[Value], expected: &str) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let history = read_history(text.as_bytes()).expect("a session");
        let texts =
            |message: &Message| -> String { message.parts.iter().filter_map(Part::as_text).collect() };
        let steps = history.steps.iter().map(|step| match step {
            HistoryStep::Said(message) => texts(message),
            HistoryStep::TakenBack(id) => format!("-{id}"),
            HistoryStep::Compacted { messages, .. } => {
                format!("[{}]", messages.iter().map(texts).collect::<Vec<_>>().join(" "))
            }
        });
        assert_eq!(steps.collect::<Vec<_>>().join(" "), expected);
    }

    fn claude(kind: &str, id: &str, more: &Value) -> Value {
        let role = if kind == "user" { "user" } else { "assistant" };
        let mut record =
            json!({"type": kind, "uuid": id, "sessionId": "s", "message": {"role": role, "content": id}});
        let fields = more.as_object().cloned().unwrap_or_default();
        record.as_object_mut().expect("an object").extend(fields);
        record
    }

    #[test]
    fn what_claude_code_compacted_away_was_said() {
        let boundary = json!({"type": "system", "subtype": "compact_boundary", "sessionId": "s"});
        let summary = claude("user", "sum", &json!({"isCompactSummary": true}));
        check(
            &[
                claude("user", "a", &json!({})),
                claude("assistant", "b", &json!({})),
                boundary.clone(),
                summary,
                claude("user", "c", &json!({})),
                boundary,
                claude("user", "d", &json!({})),
            ],
            "a b [sum] c [] d",
        );
    }

    #[test]
    fn what_gemini_cli_compacted_away_was_said() {
        let user = |id: &str| json!({"id": id, "type": "user", "content": [{"text": id}]});
        let model = |id: &str, text: &str| json!({"id": id, "type": "gemini", "content": text});
        let checkpoint = |messages: &[Value]| json!({"$set": {"messages": messages}});
        let answer = "Got it. Thanks for the additional context!";
        let compacted = checkpoint(&[user("sum"), model("x", answer)]);
        let resumed = checkpoint(&[user("context"), user("sum"), model("x", answer), user("c")]);
        check(
            &[
                json!({"sessionId": "s", "projectHash": "p", "kind": "main"}),
                user("a"),
                model("b", "b"),
                compacted,
                user("c"),
                // Resuming writes a pair, which compacts nothing.
                checkpoint(&[user("context")]),
                resumed,
                user("d"),
            ],
            &format!("a b [sum {answer}] c context d"),
        );
    }

    #[test]
    fn what_codex_tells_again_is_not_said_again() {
        let item = |role: &str, text: &str| {
            let kind = if role == "user" { "input_text" } else { "output_text" };
            json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]})
        };
        let line = |kind: &str, payload: Value| json!({"timestamp": "2026-01-02T03:04:05Z", "type": kind, "payload": payload});
        check(
            &[
                line("session_meta", json!({"id": "s", "cwd": "/w", "timestamp": "2026-01-02T03:04:05Z"})),
                line("response_item", item("user", "a")),
                line("response_item", item("assistant", "b")),
                line(
                    "compacted",
                    json!({"message": "", "replacement_history": [item("user", "new"), item("user", "a"), item("user", "sum")]}),
                ),
                line("response_item", item("user", "c")),
                line("event_msg", json!({"type": "thread_rolled_back", "num_turns": 1})),
                line("response_item", item("user", "d")),
            ],
            "a b [new a sum] c -lh-m6 d",
        );
    }
}
