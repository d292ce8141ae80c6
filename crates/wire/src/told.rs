//! Tells by tags who produced a text on the user's side, for no wire format has a place for that.

use longhaul_conversation::{Extra, Message, Part, Role, Vendor};

use crate::format::WireFormat;
use crate::origins::PLAIN;
use crate::pieces::{Piece, pieces};

/// The message with texts that tell by themselves who produced them.
pub(crate) fn with_told_origins(format: WireFormat, message: &Message) -> Message {
    let has_role =
        || Extra::for_vendor(&message.extra, Vendor::OpenAiChat).is_some_and(|f| f.contains_key("role"));
    if message.role == Role::Model || format == WireFormat::OpenAi && has_role() {
        return message.clone();
    }
    let parts = pieces(&message.parts, &PLAIN).into_iter().map(|piece| match piece {
        Piece::Other(part) => part.clone(),
        piece @ Piece::Text { origin, extra, .. } => {
            Part { extra: extra.clone(), ..Part::text(origin, piece.told_text()) }
        }
    });
    Message { parts: parts.collect(), ..message.clone() }
}
