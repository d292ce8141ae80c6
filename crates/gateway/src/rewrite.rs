//! Writes a request with a snapshot in place of older messages. Everything outside the replaced range is equal to the byte.

use longhaul_wire::{Edit, RawField, apply_edits, range_in, raw_fields, raw_items};

use crate::body::RequestBody;
use crate::family::Family;

/// The text in place of older messages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Replacement<'a> {
    /// The item whose content the snapshot is put into.
    pub(crate) host: usize,
    /// The first item that gives way.
    pub(crate) from: usize,
    /// The first item that stays behind them.
    pub(crate) to: usize,
    /// The text in their place.
    pub(crate) snapshot: &'a str,
    /// A cache marker for the snapshot, as the client writes its own.
    pub(crate) marker: Option<&'a str>,
}

/// The edits that put a snapshot in place of messages; none if the host's content has another form than it should.
pub(crate) fn replacement_edits(body: &RequestBody<'_>, replacement: &Replacement<'_>) -> Option<Vec<Edit>> {
    let Replacement { host, from, to, .. } = *replacement;
    if !(host < from && from < to && to < body.items.len()) {
        return None;
    }
    let place = |index: usize| range_in(body.text, body.items[index]);
    let gone = Edit::delete(place(from).start..place(to).start);
    Some(vec![insertion(body, replacement)?, gone])
}

/// The body with a snapshot in place of messages.
pub(crate) fn rewrite(body: &RequestBody<'_>, replacement: &Replacement<'_>) -> Option<String> {
    Some(apply_edits(body.text, &replacement_edits(body, replacement)?))
}

fn insertion(body: &RequestBody<'_>, replacement: &Replacement<'_>) -> Option<Edit> {
    let fields = raw_fields(body.items[replacement.host])?;
    let key = if body.family == Family::Gemini { "parts" } else { "content" };
    let mut contents = fields.iter().filter(|field| field.key == key);
    let (Some(RawField { value, .. }), None) = (contents.next(), contents.next()) else { return None };
    let place = range_in(body.text, value);
    let text = json_string(replacement.snapshot);
    if value.starts_with('"') {
        return Some(match body.family {
            // Servers that follow OpenAI do not all take a list.
            Family::Chat => {
                let inner = &text[1..text.len() - 1];
                Edit::insert(place.end - 1, format!("\\n\\n{inner}"))
            }
            _ => {
                let kind = text_kind(body.family);
                let block = block(body.family, &text, replacement.marker);
                let with = format!("[{{\"type\":\"{kind}\",\"text\":{value}}},{block}]");
                Edit { range: place, with }
            }
        });
    }
    let block = block(body.family, &text, replacement.marker);
    let items = raw_items(value)?;
    Some(match items.last() {
        Some(last) => Edit::insert(range_in(body.text, last).end, format!(",{block}")),
        None => Edit::insert(place.start + 1, block),
    })
}

fn text_kind(family: Family) -> &'static str {
    if family == Family::Responses { "input_text" } else { "text" }
}

fn block(family: Family, text: &str, marker: Option<&str>) -> String {
    match (family, marker) {
        (Family::Gemini, _) => format!("{{\"text\":{text}}}"),
        (Family::Anthropic, Some(marker)) => {
            format!("{{\"type\":\"text\",\"text\":{text},\"cache_control\":{marker}}}")
        }
        _ => format!("{{\"type\":\"{}\",\"text\":{text}}}", text_kind(family)),
    }
}

/// A text as a JSON string.
pub(crate) fn json_string(text: &str) -> String {
    serde_json::to_string(text).unwrap_or_else(|_| String::from("\"\""))
}

/// The most cache markers that Anthropic takes in a request.
const MOST_MARKERS: usize = 4;

/// The marker for a snapshot: the client's own for its newest block, if one is still free. The count errs on the side of too
/// many.
pub(crate) fn free_marker<'a>(
    body: &RequestBody<'_>,
    kept: impl Iterator<Item = Option<&'a str>>,
    gone: &[&str],
) -> Option<&'a str> {
    if body.family != Family::Anthropic {
        return None;
    }
    let count = |text: &str| memchr::memmem::find_iter(text.as_bytes(), "\"cache_control\"").count();
    let used = count(body.text) - gone.iter().map(|item| count(item)).sum::<usize>();
    let marker = kept.flatten().next()?;
    (used < MOST_MARKERS).then_some(marker)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(family: Family, body: &str, marker: Option<&str>, expected: &str) {
        let split = RequestBody::split(family, body.as_bytes()).expect("a request");
        let replacement = Replacement { host: 0, from: 1, to: 3, snapshot: "S\n\"", marker };
        assert_eq!(rewrite(&split, &replacement).as_deref(), Some(expected));
    }

    #[test]
    fn only_the_range_changes() {
        check(
            Family::Anthropic,
            "{\"n\": 1.0, \"messages\" : [ {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"} ]} ,\n{\"b\":1}, {\"c\":2} , {\"d\":3.50} ] , \"x\":1e5}",
            Some("{\"type\":\"ephemeral\"}"),
            "{\"n\": 1.0, \"messages\" : [ {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"text\",\"text\":\"S\\n\\\"\",\"cache_control\":{\"type\":\"ephemeral\"}} ]} ,\n{\"d\":3.50} ] , \"x\":1e5}",
        );
    }

    #[test]
    fn a_string_becomes_a_list_or_grows() {
        check(
            Family::Anthropic,
            r#"{"messages":[{"content":"\u00e9"},1,2,3]}"#,
            None,
            r#"{"messages":[{"content":[{"type":"text","text":"\u00e9"},{"type":"text","text":"S\n\""}]},3]}"#,
        );
        check(
            Family::Chat,
            r#"{"messages":[{"content":"a"},1,2,3]}"#,
            None,
            r#"{"messages":[{"content":"a\n\nS\n\""},3]}"#,
        );
        check(
            Family::Responses,
            r#"{"input":[{"content":[]},1,2,3]}"#,
            None,
            r#"{"input":[{"content":[{"type":"input_text","text":"S\n\""}]},3]}"#,
        );
        check(
            Family::Gemini,
            r#"{"contents":[{"parts":[{"text":"a"}]},1,2,3]}"#,
            None,
            r#"{"contents":[{"parts":[{"text":"a"},{"text":"S\n\""}]},3]}"#,
        );
    }

    #[test]
    fn what_has_no_place_for_a_snapshot_is_not_rewritten() {
        for body in [
            r#"{"messages":[{"content":1},1,2,3]}"#,
            r#"{"messages":[{},1,2,3]}"#,
            r#"{"messages":[{"content":"a","content":"b"},1,2,3]}"#,
            r#"{"messages":[{"content":"a"},1,2]}"#,
        ] {
            let split = RequestBody::split(Family::Anthropic, body.as_bytes()).expect("a request");
            let replacement = Replacement { host: 0, from: 1, to: 3, snapshot: "S", marker: None };
            assert_eq!(rewrite(&split, &replacement), None, "{body}");
        }
    }

    #[test]
    fn the_fourth_marker_is_ours_and_the_fifth_nobodys() {
        let marker = Some("{\"type\":\"ephemeral\"}");
        let free = |markers: usize| {
            let marked = vec!["{\"cache_control\":{}}"; markers].join(",");
            let body = format!("{{\"system\":[{marked}],\"messages\":[]}}");
            let split = RequestBody::split(Family::Anthropic, body.as_bytes()).expect("a request");
            free_marker(&split, [None, marker].into_iter(), &[])
        };
        assert_eq!((free(3), free(4)), (marker, None));
    }
}
