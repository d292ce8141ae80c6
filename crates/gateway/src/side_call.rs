//! Recognises requests that are not a turn of the conversation: compactions of the client's own.

use hyper::header::HeaderMap;
use longhaul_wire::{raw_fields, raw_items};

use crate::body::{RequestBody, read_text};
use crate::family::Family;

/// Beginnings of the texts with which clients ask for a summary of their own.
const BEGINNINGS: &[&str] = &[
    "CRITICAL: Respond with TEXT ONLY",
    "Your task is to create a detailed summary",
    "You are performing a CONTEXT CHECKPOINT COMPACTION",
    "Here is the conversation so far: <conversation>",
];

/// True if the client asks for a summary: it passes with what is known, and nothing new is compacted on its account.
pub(crate) fn is_client_compaction(body: &RequestBody<'_>, headers: &HeaderMap) -> bool {
    let turn = headers.get("x-codex-turn-metadata").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if turn.contains("\"request_kind\":\"compaction\"") {
        return true;
    }
    let Some(last) = body.items.last().and_then(|item| raw_fields(item)) else { return false };
    let value = |key: &str| last.iter().find(|field| field.key == key).map(|field| field.value);
    if body.family == Family::Responses && value("type") == Some("\"compaction_trigger\"") {
        return true;
    }
    let Some(content) = value(if body.family == Family::Gemini { "parts" } else { "content" }) else {
        return false;
    };
    let newest = match raw_items(content) {
        Some(blocks) => blocks.iter().rev().find_map(|block| {
            let fields = raw_fields(block)?;
            read_text(fields.iter().find(|field| field.key == "text")?.value).map(|text| text.into_owned())
        }),
        None => read_text(content).map(|text| text.into_owned()),
    };
    newest.is_some_and(|text| BEGINNINGS.iter().any(|beginning| text.trim_start().starts_with(beginning)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(family: Family, last: &str, header: Option<&str>, expected: bool) {
        let body = format!("{{\"{}\":[{{}},{last}]}}", family.list());
        let body = RequestBody::split(family, body.as_bytes()).expect("a request");
        let headers = header
            .map(|value| ("x-codex-turn-metadata".parse().expect("a name"), value.parse().expect("a value")));
        assert_eq!(is_client_compaction(&body, &headers.into_iter().collect()), expected, "{last}");
    }

    #[test]
    fn compactions_of_clients_are_known() {
        let claude = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"},{"type":"text","text":"CRITICAL: Respond with TEXT ONLY. Do NOT call tools."}]}"#;
        check(Family::Anthropic, claude, None, true);
        check(
            Family::Anthropic,
            r#"{"role":"user","content":"Please be CRITICAL: Respond with TEXT ONLY"}"#,
            None,
            false,
        );
        check(
            Family::Chat,
            r#"{"role":"user","content":"Here is the conversation so far: <conversation>x"}"#,
            None,
            true,
        );
        check(Family::Responses, r#"{"type":"compaction_trigger"}"#, None, true);
        check(
            Family::Responses,
            r#"{"role":"user","content":"go on"}"#,
            Some(r#"{"request_kind":"compaction"}"#),
            true,
        );
        check(
            Family::Responses,
            r#"{"role":"user","content":"go on"}"#,
            Some(r#"{"request_kind":"turn"}"#),
            false,
        );
    }
}
