//! Where readers put what they find.

use std::cell::Cell;
use std::collections::HashMap;

use longhaul_conversation::{Change, Message, MessageId, Ordinal, Part, Timestamp, Usage};

use crate::{Event, Format, SessionInfo, Warning};

/// Past this many, warnings are only counted: a broken file of any size stays readable.
const WARNINGS_SHOWN: usize = 1000;

/// Hands events on and keeps what the session says about itself.
pub(crate) struct Out<'s> {
    pub(crate) info: SessionInfo,
    sink: &'s mut dyn FnMut(Event),
    line: Option<usize>,
    ordinals: HashMap<MessageId, Ordinal>,
    /// The number in the last id that was made up.
    made_up: Cell<usize>,
}

impl<'s> Out<'s> {
    pub(crate) fn new(format: Format, sink: &'s mut dyn FnMut(Event)) -> Self {
        Self {
            info: SessionInfo::new(format),
            sink,
            line: None,
            ordinals: HashMap::new(),
            made_up: Cell::new(0),
        }
    }

    /// From now on warnings concern this line.
    pub(crate) fn at_line(&mut self, line: Option<usize>) {
        self.line = line;
    }

    /// Adds a message, or replaces the one with its id.
    pub(crate) fn put(&mut self, message: Message) {
        let message = self.marked(message);
        self.note(message.at, message.model.as_deref(), message.usage);
        (self.sink)(Event::Change(Change::Put(message)));
    }

    /// Gives a message its mark: the one it had, or the next.
    fn marked(&mut self, message: Message) -> Message {
        let next = Ordinal(self.ordinals.len() as u32 + 1);
        let ordinal = *self.ordinals.entry(message.id.clone()).or_insert(next);
        Message { ordinal: Some(ordinal), ..message }
    }

    /// Adds a message behind the one with the id `after`, or replaces the one with its id.
    pub(crate) fn put_after(&mut self, after: MessageId, message: Message) {
        let message = self.marked(message);
        (self.sink)(Event::Change(Change::PutAfter { after, message }));
    }

    /// A message that was put earlier goes on.
    pub(crate) fn extend(&mut self, id: MessageId, parts: Vec<Part>) {
        (self.sink)(Event::Change(Change::Extend { id, parts }));
    }

    /// Whether a message with this id was put before.
    pub(crate) fn knows(&self, id: &MessageId) -> bool {
        self.ordinals.contains_key(id)
    }

    /// Whether any message was put yet; system messages that stand before the first one are the instruction.
    pub(crate) fn has_messages(&self) -> bool {
        !self.ordinals.is_empty()
    }

    /// Takes back this message and all after it.
    pub(crate) fn rewind_to(&mut self, id: MessageId) {
        (self.sink)(Event::Change(Change::RewindTo(id)));
    }

    /// The transcript starts over; the agent compacted it.
    pub(crate) fn restart(&mut self) {
        self.info.compactions += 1;
        (self.sink)(Event::Change(Change::Restart));
    }

    /// The agent compacted the transcript from this message on, if there is one.
    pub(crate) fn compact(&mut self, from: Option<MessageId>) {
        self.info.compactions += 1;
        if let Some(id) = from {
            self.rewind_to(id);
        }
    }

    /// A message of a sub-agent's.
    pub(crate) fn side(&mut self, chain: &str, message: Message) {
        (self.sink)(Event::Side { chain: chain.to_string(), message });
    }

    /// Counts a record that holds no conversation.
    pub(crate) fn skip(&mut self, kind: &str) {
        self.info.skipped.count(kind);
    }

    /// Reports what is wrong with the current line.
    pub(crate) fn warn(&mut self, reason: impl Into<String>) {
        self.info.warnings += 1;
        if self.info.warnings <= WARNINGS_SHOWN {
            (self.sink)(Event::Warning(Warning { line: self.line, reason: reason.into() }));
        }
    }

    /// An id for a message whose source has none: no other message has it, also none that was not put yet.
    pub(crate) fn made_up_id(&self) -> MessageId {
        loop {
            let number = self.made_up.get().max(self.ordinals.len()) + 1;
            self.made_up.set(number);
            let id = MessageId::made_up(format_args!("m{number}"));
            if !self.knows(&id) {
                return id;
            }
        }
    }

    /// A message's own id, or a made-up one if it has none or another message has the same.
    pub(crate) fn unused_id(&self, own: Option<MessageId>) -> MessageId {
        own.filter(|id| !self.knows(id)).unwrap_or_else(|| self.made_up_id())
    }

    /// Remembers a time, a model and a usage that a record states.
    pub(crate) fn note(&mut self, at: Option<Timestamp>, model: Option<&str>, usage: Option<Usage>) {
        if let Some(at) = at {
            self.info.started = Some(self.info.started.map_or(at, |started| started.min(at)));
            self.info.ended = Some(self.info.ended.map_or(at, |ended| ended.max(at)));
        }
        if let Some(model) = model.filter(|model| !model.is_empty()) {
            // The last model stands last, so that it decides about the window.
            if self.info.model() != Some(model) {
                self.info.models.retain(|known| known != model);
                self.info.models.push(model.to_string());
            }
        }
        if let Some(usage) = usage.filter(|usage| !usage.is_empty()) {
            self.info.last_usage = Some(usage);
        }
    }
}
