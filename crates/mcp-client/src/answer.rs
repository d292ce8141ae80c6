//! The result of a call as the agent takes it: text, and pictures beside it.

use longhaul_conversation::{Body, Media, MediaData, Origin, Part};
use longhaul_tools::{ToolAnswer, ToolOutcome};
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

/// The most pictures and sounds that are taken, and their size together in base64.
const MOST_MEDIA: usize = 8;
const LARGEST_MEDIA: usize = 8 << 20;

/// An answer of a result. Whatever the text says, it is the output of a tool.
pub(crate) fn answer(result: CallToolResult) -> ToolAnswer {
    let structured = result.content.is_empty().then_some(result.structured_content).flatten();
    let answer = match structured {
        Some(structured) => ToolAnswer::succeeded(structured.to_string()),
        None => answer_of(result.content),
    };
    match result.is_error {
        Some(true) => {
            ToolAnswer { outcome: ToolOutcome::Failed(answer.outcome.text().to_string()), ..answer }
        }
        _ => answer,
    }
}

/// The text of some content, with pictures and sounds beside it.
pub(crate) fn answer_of(content: Vec<ContentBlock>) -> ToolAnswer {
    let mut texts: Vec<String> = Vec::new();
    let mut media: Vec<Part> = Vec::new();
    let mut room = LARGEST_MEDIA;
    let mut attach = |mime: String, data: String, texts: &mut Vec<String>| {
        if media.len() == MOST_MEDIA || data.len() > room {
            texts.push(format!("[{mime} of {} bytes was left out]", data.len() / 4 * 3));
            return;
        }
        room -= data.len();
        let body = Body::Media(Box::new(Media { mime, data: MediaData::Base64(data) }));
        media.push(Part::new(Origin::Tool, body));
    };
    for block in content {
        match block {
            ContentBlock::Text(text) => texts.push(text.text),
            ContentBlock::Image(image) => attach(image.mime_type, image.data, &mut texts),
            ContentBlock::Audio(audio) => attach(audio.mime_type, audio.data, &mut texts),
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    texts.push(format!("[{uri}]\n{text}"));
                }
                ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                    texts.push(format!("[{uri}]"));
                    attach(mime_type.unwrap_or_else(|| "application/octet-stream".into()), blob, &mut texts);
                }
                _ => texts.push("[a resource of an unknown kind]".into()),
            },
            ContentBlock::ResourceLink(link) => texts.push(format!("[{}: {}]", link.name, link.uri)),
            _ => texts.push("[content of an unknown kind]".into()),
        }
    }
    let text = match texts.is_empty() {
        true if media.is_empty() => "(no output)".to_string(),
        _ => texts.join("\n"),
    };
    ToolAnswer { media, ..ToolAnswer::succeeded(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(value: serde_json::Value) -> ToolAnswer {
        answer(serde_json::from_value(value).expect("a result"))
    }

    #[test]
    fn every_kind_of_content_is_taken() {
        let answer = of(json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "image", "mimeType": "image/png", "data": "aGk="},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two"}},
            {"type": "resource_link", "uri": "file:///b", "name": "b"},
        ]}));
        assert_eq!(answer.outcome, ToolOutcome::Succeeded("one\n[file:///a]\ntwo\n[b: file:///b]".into()));
        assert_eq!(answer.media.len(), 1);
        assert!(answer.media.iter().all(|part| part.origin == Origin::Tool));
    }

    #[test]
    fn errors_structures_and_nothing_are_told() {
        assert_eq!(
            of(json!({"content": [{"type": "text", "text": "no"}], "isError": true})).outcome,
            ToolOutcome::Failed("no".into())
        );
        assert_eq!(
            of(json!({"content": [], "structuredContent": {"a": 1}})).outcome,
            ToolOutcome::Succeeded("{\"a\":1}".into())
        );
        assert_eq!(of(json!({"content": []})).outcome, ToolOutcome::Succeeded("(no output)".into()));
    }

    #[test]
    fn pictures_have_a_limit() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": "A".repeat(3 << 20)});
        let answer = of(json!({"content": [image, image, image]}));
        assert_eq!(answer.media.len(), 2);
        assert!(answer.outcome.text().contains("was left out"));
    }
}
