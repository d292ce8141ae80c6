//! The pairing check.

use super::analysis::Analysis;
use super::fault::PairingFault;
use super::shape::MessageShape;
use super::sound::is_sound;
use crate::Message;

/// Checks messages against the rules of all providers; an empty list means that each would accept them.
pub fn find_faults(messages: &[Message]) -> Vec<PairingFault> {
    if is_sound(messages) {
        return Vec::new();
    }
    let shapes: Vec<MessageShape> = messages.iter().map(MessageShape::of).collect();
    find_faults_in(&shapes)
}

/// Like [`find_faults`], for messages of which only the shapes were kept.
pub fn find_faults_in<'a>(shapes: impl IntoIterator<Item = &'a MessageShape>) -> Vec<PairingFault> {
    let shapes: Vec<&MessageShape> = shapes.into_iter().collect();
    Analysis::of(&shapes).into_faults()
}
