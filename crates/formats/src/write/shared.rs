//! Shared by the writers of sessions: ids, times, lines, and the losses of what belongs to a session as a whole.

use longhaul_conversation::{Fingerprint, Message, Part, Role, Timestamp, fingerprint_message};
use longhaul_wire::{LossKind, Losses, lose_fields};
use serde_json::Value;

use crate::Session;

/// Adds a value as a line of its own.
pub(super) fn push_line(text: &mut String, value: &Value) {
    text.push_str(&value.to_string());
    text.push('\n');
}

/// Reports the instruction and the tools, which a log of messages has no place for.
pub(super) fn lose_setup(session: &Session, losses: &mut Losses) {
    losses.at_session();
    if !session.transcript.system.is_empty() {
        losses.add(LossKind::System, "");
    }
    if !session.transcript.tools.is_empty() {
        losses.add(LossKind::Tools, session.transcript.tools.len().to_string());
    }
    lose_request_fields(session, losses);
}

/// Reports the fields of the request that a session was read from.
pub(super) fn lose_request_fields(session: &Session, losses: &mut Losses) {
    losses.at_session();
    lose_fields(&session.info.request_fields, losses);
}

/// Reports the conversations of sub-agents.
pub(super) fn lose_side_chains(session: &Session, losses: &mut Losses) {
    losses.at_session();
    for chain in &session.side_chains {
        losses.add(LossKind::SideChain, &chain.id);
    }
}

/// The time to write for a message: its own, or the last one that was known.
#[derive(Default)]
pub(super) struct Clock(Option<Timestamp>);

impl Clock {
    /// Starts when the session did.
    pub(super) fn of(session: &Session) -> Self {
        let times = session.transcript.messages().iter().filter_map(|message| message.at);
        Self(session.info.started.or_else(|| times.min()))
    }

    pub(super) fn at(&mut self, message: &Message) -> Option<Timestamp> {
        self.0 = message.at.or(self.0);
        self.0
    }
}

/// The session's id, or one made from what was said.
pub(super) fn session_id(session: &Session) -> String {
    session.info.session_id.clone().unwrap_or_else(|| {
        let messages = session.transcript.messages();
        let prints: Vec<String> = messages.iter().map(|m| fingerprint_message(m).to_string()).collect();
        derived_uuid(&prints.concat())
    })
}

/// A UUID that is always the same for the same seed.
pub(super) fn derived_uuid(seed: &str) -> String {
    let digits = hash(seed).to_string();
    // Version 8 is for values of one's own making.
    format!("{}-{}-8{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

/// A hash of a text.
pub(super) fn hash(text: &str) -> Fingerprint {
    fingerprint_message(&Message::new("", Role::User, vec![Part::user_text(text)]))
}
