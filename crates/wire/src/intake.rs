//! The receiver of what decoders find in a request, piece by piece, so that a long one need not be held whole.

use longhaul_conversation::{Extra, Message, MessageId, Part, Timestamp, ToolDeclaration, Usage};

/// Receives what a decoder finds.
pub trait Intake {
    /// Adds a message, or replaces the one with its id.
    fn put(&mut self, message: Message);

    /// Adds parts to a message that was put earlier.
    fn extend(&mut self, id: MessageId, parts: Vec<Part>);

    /// Adds to the system instruction.
    fn add_system(&mut self, parts: Vec<Part>);

    /// Adds a declared tool.
    fn add_tool(&mut self, tool: ToolDeclaration);

    /// Keeps the fields of the request that are not modelled, for their vendor.
    fn keep_fields(&mut self, fields: Option<Box<Extra>>);

    /// Takes note of a time, a model and a usage that are stated beside the messages.
    fn note(&mut self, at: Option<Timestamp>, model: Option<&str>, usage: Option<&Usage>);

    /// Counts something that is left out on purpose.
    fn skip(&mut self, kind: &str);

    /// Reports what cannot be read as it should.
    fn warn(&mut self, reason: String);

    /// True if any message was put yet; system messages that stand before the first one are the instruction.
    fn has_messages(&self) -> bool;

    /// A message's own id, or a made-up one if it has none or another message has the same.
    fn unused_id(&self, own: Option<MessageId>) -> MessageId;
}
