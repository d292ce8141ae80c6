//! Reads recordings of a model's responses, which Gemini CLI's tests play back. They are no conversations: nobody
//! asks anything in them.

use longhaul_conversation::{Body, Message, Part, Role};
use longhaul_wire::{CallIds, Json, Object, gemini_usage};

use super::{Known, Reader};
use longhaul_wire::gemini::read_part;

use crate::Format;
use crate::out::Out;

pub(super) const KNOWN: Known = Known {
    format: Format::RecordedResponses,
    is_record,
    is_document: |document| document.as_object().is_some_and(is_record),
    open: || Box::new(Recording::default()),
    unread: &[],
};

fn is_record(record: &Object<'_>) -> bool {
    let methods = ["generateContent", "generateContentStream", "countTokens", "embedContent"];
    record.str("method").is_some_and(|method| methods.contains(&method)) && record.has("response")
}

#[derive(Default)]
struct Recording {
    ids: CallIds,
}

impl Reader for Recording {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Some(mut record) = record.into_object().filter(is_record) else {
            return out.warn("line is not a recorded response; skipped");
        };
        let method = record.take_string("method").unwrap_or_default();
        let chunks = match record.take("response") {
            Some(Json::Array(chunks)) => chunks,
            response => response.into_iter().collect(),
        };
        let mut message = Message::new(out.made_up_id(), Role::Model, Vec::new());
        for mut chunk in chunks.into_iter().filter_map(Json::into_object) {
            let usage = chunk.get("usageMetadata").and_then(gemini_usage);
            message.usage = usage.map(Box::new).or(message.usage);
            message.model = chunk.take_string("modelVersion").or(message.model);
            for part in take_parts(&mut chunk) {
                for part in read_part(part, Role::Model, &mut self.ids) {
                    append(&mut message.parts, part);
                }
            }
        }
        if message.parts.is_empty() { out.skip(&method) } else { out.put(message) }
    }
}

/// The parts of the first candidate.
fn take_parts<'a>(chunk: &mut Object<'a>) -> Vec<Json<'a>> {
    let candidates = chunk.take_array("candidates").unwrap_or_default();
    let first = candidates.into_iter().next().and_then(Json::into_object);
    let content = first.and_then(|mut candidate| candidate.take_object("content"));
    content.and_then(|mut content| content.take_array("parts")).unwrap_or_default()
}

/// Adds a part of a stream; text goes on where text stood last.
fn append(parts: &mut Vec<Part>, part: Part) {
    match (parts.last_mut(), &part) {
        (_, part) if part.is_empty() && part.extra.is_none() => {}
        (
            Some(Part { body: Body::Text(text), extra: None, .. }),
            Part { body: Body::Text(more), extra: None, .. },
        ) => text.push_str(more),
        _ => parts.push(part),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Format, ReadError, read_session};
    use longhaul_conversation::{Origin, TokenCount};

    #[test]
    fn the_chunks_of_a_stream_are_one_message() {
        let file = concat!(
            r#"{"method":"countTokens","response":{"totalTokens":7}}"#,
            "\n",
            r#"{"method":"generateContentStream","response":["#,
            r#"{"candidates":[{"content":{"parts":[{"text":"Plan","thought":true}],"role":"model"}}]},"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"BAN"}],"role":"model"}}]},"#,
            r#"{"candidates":[{"content":{"parts":[{"text":"ANA"},{"functionCall":{"name":"ls","args":{}}}]}}],"#,
            r#""usageMetadata":{"promptTokenCount":9}},{"candidates":[{"finishReason":"STOP"}]}]}"#,
            "\n",
            r#"{"method":"generateContent","response":{"candidates":[{"content":{"parts":[{"text":"0"}]}}]}}"#,
        );
        let session = read_session(file.as_bytes()).expect("it is a recording");
        assert_eq!(session.info.format, Format::RecordedResponses);
        let [streamed, whole] = session.transcript.messages() else { panic!("two responses") };
        assert_eq!(streamed.parts.len(), 3);
        assert_eq!(streamed.parts[1].as_text(), Some("BANANA"));
        assert_eq!(streamed.calls().next().map(|call| call.name.as_str()), Some("ls"));
        assert_eq!(streamed.usage.as_ref().and_then(|usage| usage.input), Some(TokenCount(9)));
        assert_eq!(whole.parts[0].as_text(), Some("0"));
        assert!(whole.parts.iter().all(|part| part.origin == Origin::Model));
        assert_eq!(session.info.skipped.iter().collect::<Vec<_>>(), [("countTokens", 1)]);
    }

    #[test]
    fn an_empty_recording_is_empty() {
        assert!(matches!(read_session("".as_bytes()), Err(ReadError::Empty)));
    }
}
