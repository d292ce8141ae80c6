//! Reads sessions of Factory Droid: a header, then messages as Anthropic has them, one a line.
//!
//! Token figures lie in a file beside the session and are not read. The form is taken from descriptions by others: no file
//! of the real program was at hand.

use longhaul_conversation::{Message, MessageId, Origin, Part, Role};
use longhaul_wire::anthropic::{read_block, user_text};
use longhaul_wire::{Json, Object, close_references};

use super::{Known, Reader};
use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known =
    Known { format: Format::Droid, is_record, is_document: |_| false, open: || Box::new(Droid), unread: &[] };

fn is_record(record: &Object<'_>) -> bool {
    record.str("type") == Some("session_start")
        && ["id", "sessionId", "session_id"].iter().any(|key| record.str(key).is_some())
}

struct Droid;

impl Reader for Droid {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a record, found {}; skipped", record.kind()));
        };
        out.note(record.time("timestamp"), None, None);
        match record.take_string("type").as_deref() {
            Some("session_start") => head(&mut record, out),
            Some("message") => message(record, out),
            Some("compaction_state") => {
                let summary = ["summaryText", "summary"].iter().find_map(|key| record.take_string(key));
                let Some(summary) = summary else { return out.skip("compaction_state") };
                let id = out.unused_id(record.take_string("id").map(MessageId::new));
                out.restart();
                out.put(Message::new(id, Role::User, vec![Part::text(Origin::Summary, summary)]));
                out.end_compaction();
            }
            Some(kind) => out.skip(kind),
            None => out.warn("record without a type; skipped"),
        }
    }
}

fn head(record: &mut Object<'_>, out: &mut Out<'_>) {
    let id = ["id", "sessionId", "session_id"].iter().find_map(|key| record.take_string(key));
    out.info.session_id = id;
    let title = ["sessionTitle", "title"].iter().find_map(|key| record.take_string(key));
    out.info.title = title.filter(|title| !title.is_empty());
    out.info.directory = record.take_string("cwd");
}

fn message(mut record: Object<'_>, out: &mut Out<'_>) {
    // Older lines have role and content beside the type.
    let mut message = record.take_object("message").unwrap_or_else(|| std::mem::take(&mut record));
    let role = match message.str("role") {
        Some("assistant") => Role::Model,
        Some("user") => Role::User,
        other => {
            out.warn(format!("unknown role {:?}; read as user", other.unwrap_or_default()));
            Role::User
        }
    };
    let mut parts = Vec::new();
    match message.take("content") {
        Some(Json::String(text)) if role == Role::Model => parts.push(Part::model_text(text)),
        Some(Json::String(text)) => parts.extend(user_text(text.into_owned(), None)),
        Some(Json::Array(blocks)) => {
            parts.extend(blocks.into_iter().flat_map(|block| read_block(block, role, None)));
            close_references(&mut parts);
        }
        _ => out.warn("message without content"),
    }
    let id = record.take_string("id").or_else(|| message.take_string("id"));
    let mut read = Message::new(out.unused_id(id.map(MessageId::new)), role, parts);
    read.at = record.time("timestamp").or_else(|| message.time("timestamp"));
    read.model = message.take_string("model").or_else(|| record.take_string("modelId"));
    out.put(read);
}

#[cfg(test)]
mod tests {
    use super::super::outline::check_outline;
    use super::*;

    #[test]
    fn a_session_is_read() {
        let file = concat!(
            r#"{"type":"session_start","id":"s","title":"Tidy","cwd":"/w"}"#,
            "\n",
            r#"{"type":"message","id":"a","timestamp":"2026-07-21T12:00:00Z","message":{"role":"user","content":[{"type":"text","text":"<system-reminder>now</system-reminder>"},{"type":"text","text":"list"}]}}"#,
            "\n",
            r#"{"type":"message","id":"b","message":{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"LS","input":{}}]}}"#,
            "\n",
            r#"{"type":"message","id":"c","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"one"}]}}"#,
            "\n",
            r#"{"type":"todo_state","id":"d"}"#,
            "\n",
            r#"{"type":"message","id":"e","role":"assistant","content":"Done."}"#,
            "\n",
        );
        check_outline(
            file,
            Format::Droid,
            &[
                "hook: <system-reminder>now</system-reminder>",
                "user: list",
                "call t LS {}",
                "result t Unstated one",
                "model: Done.",
            ],
        );
    }
}
