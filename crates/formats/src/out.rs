//! The output of readers.

use std::cell::Cell;

use longhaul_conversation::{
    Change, Extra, Message, MessageId, Ordinal, Part, Sequence, Timestamp, TokenCount, ToolDeclaration, Usage,
};
use longhaul_wire::Intake;

use crate::{CountedCall, Event, Format, SessionInfo, Warning};

/// Past this many, warnings are only counted: a broken file of any size stays readable.
const WARNINGS_SHOWN: usize = 1000;

/// Hands events on and keeps what the session says about itself.
pub(crate) struct Out<'s> {
    pub(crate) info: SessionInfo,
    sink: &'s mut dyn FnMut(Event),
    line: Option<usize>,
    ordinals: Sequence<Ordinal>,
    /// The last mark that was given, or that a snapshot stands for.
    last: u32,
    /// The number in the last id that was made up.
    made_up: Cell<usize>,
    wants_changes: bool,
    memory: Memory,
    is_compacting: bool,
}

/// The amount that a reader may keep of what it has handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Memory {
    /// Everything: whoever listens keeps it too.
    Whole,
    /// A bounded part, so that sessions of any size can be read.
    Bounded,
}

/// The state that outlives an [`Out`], so that an interrupted reading can continue.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) info: SessionInfo,
    ordinals: Sequence<Ordinal>,
    last: u32,
    made_up: usize,
}

impl Kept {
    pub(crate) fn new(format: Format) -> Self {
        Self { info: SessionInfo::new(format), ordinals: Sequence::default(), last: 0, made_up: 0 }
    }
}

impl<'s> Out<'s> {
    pub(crate) fn new(format: Format, sink: &'s mut dyn FnMut(Event)) -> Self {
        Self { wants_changes: true, ..Self::resume(Kept::new(format), sink) }
    }

    /// The same for a reader that may keep so much.
    pub(crate) fn with_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// True if a reader may keep only a part of what it has handed over.
    pub(crate) fn is_bounded(&self) -> bool {
        self.memory == Memory::Bounded
    }

    /// Goes on where another left off. The reader itself keeps the messages; `sink` is told of warnings only.
    pub(crate) fn resume(kept: Kept, sink: &'s mut dyn FnMut(Event)) -> Self {
        let Kept { info, ordinals, last, made_up } = kept;
        Self {
            info,
            sink,
            line: None,
            ordinals,
            last,
            made_up: Cell::new(made_up),
            wants_changes: false,
            memory: Memory::Whole,
            is_compacting: false,
        }
    }

    /// Puts the reading aside.
    pub(crate) fn into_kept(self) -> Kept {
        Kept { info: self.info, ordinals: self.ordinals, last: self.last, made_up: self.made_up.get() }
    }

    /// True if anybody listens to changes.
    pub(crate) fn wants_changes(&self) -> bool {
        self.wants_changes
    }

    /// From now on warnings concern this line.
    pub(crate) fn at_line(&mut self, line: Option<usize>) {
        self.line = line;
    }

    /// Adds a message, or replaces the one with its id.
    pub(crate) fn put(&mut self, message: Message) {
        let message = self.marked(message);
        self.note(message.at, message.model.as_deref(), message.usage.as_deref());
        self.count(&message);
        (self.sink)(Event::Change(Change::Put(message)));
    }

    /// Tells the figures of the call that made a message, if it has any.
    pub(crate) fn count(&mut self, message: &Message) {
        if let Some(usage) = message.usage.as_deref() {
            let Message { id, at, model, .. } = message;
            let (message, model) = (Some(id.clone()), model.clone());
            self.call(CountedCall { message, at: *at, model, usage: *usage });
        }
    }

    /// As [`Self::count`], for a call that says nothing about the size of the conversation.
    fn count_aside(&mut self, message: &Message) {
        let last = self.info.last_usage;
        self.count(message);
        self.info.last_usage = last;
    }

    /// Tells and remembers the figures of a call.
    pub(crate) fn call(&mut self, call: CountedCall) {
        self.note(call.at, call.model.as_deref(), Some(&call.usage));
        if !call.usage.is_empty() {
            (self.sink)(Event::Call(Box::new(call)));
        }
    }

    /// Hands on a change to messages that have their marks.
    pub(crate) fn change(&mut self, change: Change) {
        (self.sink)(Event::Change(change));
    }

    /// Gives a message its mark: the one it had, or the next.
    ///
    /// A file that was compacted before begins with a snapshot of, say, 214 messages; the first one behind it is the 215th,
    /// so that marks in the snapshot and marks of messages do not meet.
    pub(crate) fn marked(&mut self, mut message: Message) -> Message {
        // There may be very many of them, and few ever grow.
        message.parts.shrink_to_fit();
        let next = Ordinal(self.last + 1);
        let known = self.ordinals.put(message.id.clone(), next);
        if let Some(known) = known {
            self.ordinals.put(message.id.clone(), known);
        }
        let ordinal = known.unwrap_or(next);
        let through = message.snapshot_through().map_or(0, |through| through.0);
        self.last = self.last.max(ordinal.0).max(through);
        Message { ordinal: Some(ordinal), ..message }
    }

    /// A message that was put earlier goes on.
    pub(crate) fn extend(&mut self, id: MessageId, parts: Vec<Part>) {
        (self.sink)(Event::Change(Change::Extend { id, parts }));
    }

    /// True if a message with this id was put before.
    pub(crate) fn knows(&self, id: &MessageId) -> bool {
        self.ordinals.position(id).is_some()
    }

    /// True if any message was put yet; system messages that stand before the first one are the instruction.
    pub(crate) fn has_messages(&self) -> bool {
        !self.ordinals.as_slice().is_empty()
    }

    /// Takes back this message and all after it.
    pub(crate) fn rewind_to(&mut self, id: MessageId) {
        (self.sink)(Event::Change(Change::RewindTo(id)));
    }

    /// The transcript starts over; the agent compacted it. What is put before [`Self::end_compaction`] stands in its place.
    pub(crate) fn restart(&mut self) {
        self.begin_compaction();
        (self.sink)(Event::Change(Change::Restart));
    }

    /// The agent compacted the transcript from this message on, if there is one. What is put before
    /// [`Self::end_compaction`] stands in its place.
    pub(crate) fn compact(&mut self, from: Option<MessageId>) {
        self.begin_compaction();
        if let Some(id) = from {
            self.rewind_to(id);
        }
    }

    fn begin_compaction(&mut self) {
        self.info.compactions += 1;
        self.show_compaction();
    }

    /// As [`Self::compact`], for a compaction that was counted already.
    pub(crate) fn show_compaction(&mut self) {
        self.end_compaction();
        self.is_compacting = true;
        (self.sink)(Event::CompactionStart);
    }

    /// The transcript is as the agent's compaction left it.
    pub(crate) fn end_compaction(&mut self) {
        if std::mem::take(&mut self.is_compacting) {
            (self.sink)(Event::CompactionEnd);
        }
    }

    /// A message of a sub-agent's.
    pub(crate) fn side(&mut self, chain: &str, message: Message) {
        self.count_aside(&message);
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
            let number = self.made_up.get().max(self.ordinals.as_slice().len()) + 1;
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

    /// Takes in a count that stands in a record of its own, behind the answer.
    pub(crate) fn count_conversation(&mut self, usage: Usage) {
        self.note(None, None, Some(&usage));
        if !usage.is_empty() {
            (self.sink)(Event::Change(Change::Counted(usage)));
        }
    }

    /// Remembers a time, a model and a usage that a record states.
    pub(crate) fn note(&mut self, at: Option<Timestamp>, model: Option<&str>, usage: Option<&Usage>) {
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
        // A notice that an agent wrote in the model's place counted nothing.
        let is_count = |usage: &&Usage| !usage.is_empty() && usage.input != Some(TokenCount::ZERO);
        if let Some(usage) = usage.filter(is_count) {
            self.info.last_usage = Some(*usage);
        }
    }
}

impl Intake for Out<'_> {
    fn put(&mut self, message: Message) {
        self.put(message);
    }

    fn extend(&mut self, id: MessageId, parts: Vec<Part>) {
        self.extend(id, parts);
    }

    fn add_system(&mut self, parts: Vec<Part>) {
        self.info.system.extend(parts);
    }

    fn add_tool(&mut self, tool: ToolDeclaration) {
        self.info.tools.push(tool);
    }

    fn keep_fields(&mut self, fields: Option<Box<Extra>>) {
        if fields.is_some() {
            self.info.request_fields = fields;
        }
    }

    fn note(&mut self, at: Option<Timestamp>, model: Option<&str>, usage: Option<&Usage>) {
        self.note(at, model, usage);
    }

    fn skip(&mut self, kind: &str) {
        self.skip(kind);
    }

    fn warn(&mut self, reason: String) {
        self.warn(reason);
    }

    fn has_messages(&self) -> bool {
        self.has_messages()
    }

    fn unused_id(&self, own: Option<MessageId>) -> MessageId {
        self.unused_id(own)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Origin, Role};

    #[test]
    fn numbering_goes_on_behind_a_snapshot() {
        let snapshot = "<state_snapshot through=\"m214\">\n<task_state>\nx\n</task_state>\n</state_snapshot>";
        let mut marks = Vec::new();
        let mut sink = |event: Event| {
            if let Event::Change(Change::Put(message)) = event {
                marks.push(message.ordinal.map_or(0, |ordinal| ordinal.0));
            }
        };
        let mut out = Out::new(Format::GeminiJsonl, &mut sink);
        for (id, part) in [
            ("environment", Part::text(Origin::Hook, "It is Monday.")),
            ("snapshot", Part::text(Origin::Summary, snapshot)),
            ("answer", Part::model_text("Understood.")),
            ("more", Part::user_text(snapshot)),
            ("snapshot", Part::text(Origin::Summary, snapshot)),
            ("last", Part::user_text("Go on.")),
        ] {
            out.put(Message::new(id, Role::User, vec![part]));
        }
        assert_eq!(marks, [1, 2, 215, 216, 2, 217]);
    }
}
