//! Facts of messages that decide where a conversation may be cut: who speaks, which calls are made and answered, what must
//! stay with its surroundings. Read from the raw messages of each family.

use std::borrow::Cow;

use longhaul_wire::{RawField, raw_fields, raw_items};

use crate::body::{RequestBody, read_text};
use crate::family::Family;

/// The side that an item stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The person and the tools.
    User,
    /// The model.
    Model,
    /// Instructions among the messages.
    System,
}

/// Facts of one item of a history.
#[derive(Clone, Debug)]
pub(crate) struct ItemFacts<'a> {
    pub(crate) side: Side,
    /// The ids of the calls in it; Gemini's without an id go by name.
    pub(crate) calls: Vec<Cow<'a, str>>,
    /// The ids of the calls that it answers.
    pub(crate) results: Vec<Cow<'a, str>>,
    /// True if it says something that later messages rest on and that no snapshot can stand for.
    pub(crate) is_barrier: bool,
    /// True if it cites documents by their number.
    pub(crate) cites: bool,
    /// True if it brings documents that may be cited.
    pub(crate) has_documents: bool,
    /// The first cache marker in it, as it stands.
    pub(crate) marker: Option<&'a str>,
    /// Its size in bytes, media at what they cost in tokens.
    pub(crate) weight: usize,
}

/// The size at which an image or a document counts, in bytes of text: vendors reckon some 1,500 tokens.
const MEDIA_WEIGHT: usize = 5_000;

/// Blocks that change what the model has at hand from there on, or that already stand for what precedes them.
const BARRIERS: &[&str] = &[
    "compaction",
    "compaction_trigger",
    "tool_addition",
    "tool_removal",
    "tool_reference",
    "container_upload",
    "mcp_listing",
    "fallback",
    "item_reference",
    "configuration_update",
];

impl<'a> ItemFacts<'a> {
    fn new(side: Side, weight: usize) -> Self {
        Self {
            side,
            calls: Vec::new(),
            results: Vec::new(),
            is_barrier: false,
            cites: false,
            has_documents: false,
            marker: None,
            weight,
        }
    }

    /// True if a person may have said it: it stands on the user's side and answers no call.
    pub(crate) fn is_prompt(&self) -> bool {
        self.side == Side::User && self.results.is_empty()
    }
}

/// The facts of all items; none if one of them cannot be understood.
pub(crate) fn facts_of<'a>(body: &RequestBody<'a>) -> Option<Vec<ItemFacts<'a>>> {
    body.items.iter().map(|item| facts(body.family, item)).collect()
}

fn facts(family: Family, item: &str) -> Option<ItemFacts<'_>> {
    let fields = raw_fields(item)?;
    match family {
        Family::Anthropic => anthropic(item, &fields),
        Family::Chat => chat(item, &fields),
        Family::Responses => responses(item, &fields),
        Family::Gemini => gemini(item, &fields),
    }
}

fn value<'a>(fields: &[RawField<'a>], key: &str) -> Option<&'a str> {
    fields.iter().rev().find(|field| field.key == key).map(|field| field.value)
}

fn text<'a>(fields: &[RawField<'a>], key: &str) -> Option<Cow<'a, str>> {
    read_text(value(fields, key)?)
}

fn anthropic<'a>(item: &'a str, fields: &[RawField<'a>]) -> Option<ItemFacts<'a>> {
    let side = match &*text(fields, "role")? {
        "user" => Side::User,
        "assistant" => Side::Model,
        "system" => Side::System,
        _ => return None,
    };
    let mut facts = ItemFacts::new(side, item.len());
    let content = value(fields, "content")?;
    if !content.starts_with('"') {
        for block in raw_items(content)? {
            anthropic_block(block, &mut facts)?;
        }
    }
    Some(facts)
}

fn anthropic_block<'a>(block: &'a str, facts: &mut ItemFacts<'a>) -> Option<()> {
    let fields = raw_fields(block)?;
    let kind = text(&fields, "type")?;
    facts.is_barrier |= BARRIERS.contains(&&*kind);
    facts.marker =
        facts.marker.or_else(|| value(&fields, "cache_control").filter(|marker| *marker != "null"));
    match &*kind {
        "text" => {
            facts.cites |= value(&fields, "citations").is_some_and(|list| !matches!(list, "null" | "[]"));
        }
        "image" | "document" => {
            facts.has_documents |= kind == "document";
            facts.weight = facts.weight - block.len() + block.len().min(MEDIA_WEIGHT);
        }
        "search_result" => facts.has_documents = true,
        // A call of any kind has an id, and its answer names it.
        _ if kind.ends_with("tool_use") => facts.calls.push(text(&fields, "id")?),
        _ if kind.ends_with("tool_result") => {
            facts.results.push(text(&fields, "tool_use_id")?);
            for inner in value(&fields, "content").and_then(raw_items).unwrap_or_default() {
                let inner_fields = raw_fields(inner)?;
                let inner_kind = text(&inner_fields, "type").unwrap_or_default();
                facts.is_barrier |= BARRIERS.contains(&&*inner_kind);
                facts.has_documents |= matches!(&*inner_kind, "document" | "search_result");
                if matches!(&*inner_kind, "image" | "document") {
                    facts.weight = facts.weight - inner.len() + inner.len().min(MEDIA_WEIGHT);
                }
            }
        }
        _ => {}
    }
    Some(())
}

fn chat<'a>(item: &'a str, fields: &[RawField<'a>]) -> Option<ItemFacts<'a>> {
    let role = text(fields, "role")?;
    let side = match &*role {
        "user" | "tool" | "function" => Side::User,
        "assistant" => Side::Model,
        "system" | "developer" => Side::System,
        _ => return None,
    };
    let mut facts = ItemFacts::new(side, item.len());
    facts.marker = value(fields, "cache_control").filter(|marker| *marker != "null");
    // Old functions answer by name, to the call right before.
    facts.is_barrier =
        role == "function" || value(fields, "function_call").is_some_and(|call| call != "null");
    for call in value(fields, "tool_calls").and_then(raw_items).unwrap_or_default() {
        facts.calls.push(text(&raw_fields(call)?, "id")?);
    }
    if role == "tool" {
        facts.results.push(text(fields, "tool_call_id")?);
    }
    for part in value(fields, "content").and_then(raw_items).unwrap_or_default() {
        if matches!(text(&raw_fields(part)?, "type").as_deref(), Some("image_url" | "input_audio" | "file")) {
            facts.weight = facts.weight - part.len() + part.len().min(MEDIA_WEIGHT);
        }
    }
    Some(facts)
}

fn responses<'a>(item: &'a str, fields: &[RawField<'a>]) -> Option<ItemFacts<'a>> {
    let kind = text(fields, "type").unwrap_or(Cow::Borrowed("message"));
    let side = match (&*kind, text(fields, "role").as_deref()) {
        ("message", Some("user")) => Side::User,
        ("message", Some("developer" | "system")) => Side::System,
        ("message", Some("assistant")) => Side::Model,
        ("message", _) => return None,
        (kind, _) if kind.ends_with("_output") => Side::User,
        _ => Side::Model,
    };
    let mut facts = ItemFacts::new(side, item.len());
    facts.is_barrier = BARRIERS.contains(&&*kind);
    if let Some(id) = text(fields, "call_id") {
        match side {
            Side::User => facts.results.push(id),
            _ => facts.calls.push(id),
        }
    } else if side == Side::User && kind != "message" {
        return None;
    }
    for part in value(fields, "content").and_then(raw_items).unwrap_or_default() {
        let part_fields = raw_fields(part)?;
        if matches!(text(&part_fields, "type").as_deref(), Some("input_image" | "input_file")) {
            facts.weight = facts.weight - part.len() + part.len().min(MEDIA_WEIGHT);
        }
        facts.cites |= value(&part_fields, "annotations").is_some_and(|list| !matches!(list, "null" | "[]"));
    }
    // Sealed reasoning is long and counts as what it unseals to, about a third.
    if kind == "reasoning" {
        facts.weight = facts.weight / 3 + 1;
    }
    Some(facts)
}

fn gemini<'a>(item: &'a str, fields: &[RawField<'a>]) -> Option<ItemFacts<'a>> {
    let side = match text(fields, "role").as_deref() {
        Some("model") => Side::Model,
        Some("user" | "function") | None => Side::User,
        Some("system") => Side::System,
        Some(_) => return None,
    };
    let mut facts = ItemFacts::new(side, item.len());
    for part in raw_items(value(fields, "parts")?)? {
        for field in raw_fields(part)? {
            let inner = || raw_fields(field.value);
            let id = |fields: &[RawField<'a>]| text(fields, "id").or_else(|| text(fields, "name"));
            match &*field.key {
                "functionCall" | "toolCall" => facts.calls.push(id(&inner()?)?),
                "functionResponse" | "toolResponse" => facts.results.push(id(&inner()?)?),
                "inlineData" | "fileData" => {
                    facts.weight = facts.weight - part.len() + part.len().min(MEDIA_WEIGHT);
                }
                _ => {}
            }
        }
    }
    Some(facts)
}

/// The places where a history may be cut, and what stays before the cut whatever happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cuts {
    /// The number of items at the start that stay.
    pub(crate) head: usize,
    /// The item of the head that the snapshot is put into.
    pub(crate) host: usize,
    /// The items that a tail may begin with, in order.
    pub(crate) legal: Vec<usize>,
}

/// Finds where a history may be cut: before an answer of the model, with all calls before it answered before it, nothing
/// behind it that rests on what goes, and nothing gone that must stay. None if there is no head to put a snapshot into.
pub(crate) fn find_cuts(family: Family, facts: &[ItemFacts<'_>]) -> Option<Cuts> {
    let head = facts.iter().position(|item| item.side == Side::Model)?;
    let host = facts[..head].iter().rposition(ItemFacts::is_prompt)?;
    if facts[..head].iter().any(|item| item.is_barrier) {
        return None;
    }
    let mut legal = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut answered: Vec<&str> = Vec::new();
    let cites_from = facts.iter().rposition(|item| item.cites);
    let mut documents_gone = false;
    for (index, item) in facts.iter().enumerate() {
        let begins_answer = item.side == Side::Model && index > head && facts[index - 1].side != Side::Model;
        let rests_on_documents = documents_gone && cites_from.is_some_and(|last| last >= index);
        if begins_answer && open.is_empty() && !rests_on_documents && index + 1 < facts.len() {
            legal.push(index);
        }
        if index >= head {
            if item.is_barrier {
                // Cuts before it would put a snapshot before what stands for the past; cuts behind it would take it away.
                return Some(Cuts { head, host, legal: Vec::new() });
            }
            documents_gone |= item.has_documents;
        }
        for call in &item.calls {
            open.push(call);
        }
        for result in &item.results {
            match open.iter().position(|call| *call == result) {
                Some(place) => answered.push(open.swap_remove(place)),
                // Gemini's calls by name may be answered out of order; an answer to nothing is a fault of the client's, and to
                // a call that was answered before it ties both places together.
                None => return Some(Cuts { head, host, legal: before_first(&legal, facts, result, family) }),
            }
        }
    }
    Some(Cuts { head, host, legal })
}

/// The cuts up to the call that is answered again far behind.
fn before_first(legal: &[usize], facts: &[ItemFacts<'_>], id: &str, family: Family) -> Vec<usize> {
    let call = facts.iter().position(|item| item.calls.iter().any(|call| call == id));
    match call {
        Some(call) if family != Family::Gemini => legal.iter().copied().filter(|cut| *cut <= call).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(family: Family, items: &[&str]) -> Option<Cuts> {
        let body = format!("{{\"{}\":[{}]}}", family.list(), items.join(","));
        let body = RequestBody::split(family, body.as_bytes()).expect("a request");
        find_cuts(family, &facts_of(&body).expect("items that are understood"))
    }

    /// A conversation in Anthropic's form: `u` a prompt, `s` a system message, `a` an answer, `c1` a call, `r1` its result,
    /// `t1` a call behind reasoning, `d` a document, `q` an answer that cites, `x` a compaction block.
    fn conversation(shape: &str) -> Vec<String> {
        let item = |word: &str| {
            let (kind, id) = word.split_at(1);
            let content = match kind {
                "u" | "a" => "{\"type\":\"text\",\"text\":\"x\"}".to_string(),
                "s" => return "{\"role\":\"system\",\"content\":\"x\"}".to_string(),
                "c" => format!("{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"B\",\"input\":{{}}}}"),
                "t" => format!(
                    "{{\"type\":\"thinking\",\"thinking\":\"x\",\"signature\":\"s\"}},{{\"type\":\"tool_use\",\"id\":\"{id}\",\"name\":\"B\",\"input\":{{}}}}"
                ),
                "r" => format!("{{\"type\":\"tool_result\",\"tool_use_id\":\"{id}\",\"content\":\"x\"}}"),
                "d" => "{\"type\":\"document\",\"source\":{}}".to_string(),
                "q" => {
                    "{\"type\":\"text\",\"text\":\"x\",\"citations\":[{\"document_index\":0}]}".to_string()
                }
                "x" => "{\"type\":\"compaction\",\"content\":\"x\"}".to_string(),
                other => panic!("unknown word {other}"),
            };
            let role = if matches!(kind, "u" | "r" | "d") { "user" } else { "assistant" };
            format!("{{\"role\":\"{role}\",\"content\":[{content}]}}")
        };
        shape.split(' ').map(item).collect()
    }

    #[track_caller]
    fn check(shape: &str, expected: Option<(usize, usize, &[usize])>) {
        let items = conversation(shape);
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let found = cuts(Family::Anthropic, &items);
        let expected = expected.map(|(head, host, legal)| Cuts { head, host, legal: legal.to_vec() });
        assert_eq!(found, expected, "{shape}");
    }

    #[test]
    fn a_tail_begins_with_an_answer() {
        check("u a u a u", Some((1, 0, &[3])));
        check("u s a u a u", Some((2, 0, &[4])));
        check("u a u a", Some((1, 0, &[])));
        check("u", None);
        check("a u a u", None);
    }

    #[test]
    fn calls_stay_with_their_results() {
        check("u c1 r1 t2 r2 a u a u", Some((1, 0, &[3, 5, 7])));
        // A result that comes late ties everything between.
        check("u c1 u a r1 a u", Some((1, 0, &[5])));
        // One that comes twice, and one to nothing.
        check("u a u c1 r1 a u a r1 a u", Some((1, 0, &[3])));
        check("u a u a r9 a u", Some((1, 0, &[])));
    }

    #[test]
    fn what_later_messages_rest_on_stays() {
        check("u a d a u q u", Some((1, 0, &[])));
        check("u a d q u a u", Some((1, 0, &[5])));
        check("u a u x u a u", Some((1, 0, &[])));
        check("d a u q u", Some((1, 0, &[3])));
    }

    #[test]
    fn items_of_responses_keep_with_their_turn() {
        let say = |role: &str| format!(r#"{{"type":"message","role":"{role}","content":[]}}"#);
        let (dev, user, reply) = (say("developer"), say("user"), say("assistant"));
        let reasoning = r#"{"type":"reasoning","encrypted_content":"x","summary":[]}"#;
        let call = |id: &str| {
            format!(r#"{{"type":"function_call","call_id":"{id}","name":"x","arguments":"{{}}"}}"#)
        };
        let output = |id: &str| format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"x"}}"#);
        let items = [
            dev,
            user.clone(),
            reasoning.into(),
            call("1"),
            output("1"),
            reasoning.into(),
            call("2"),
            output("2"),
            reply,
            user,
            reasoning.into(),
            call("3"),
            output("3"),
        ];
        let items: Vec<&str> = items.iter().map(String::as_str).collect();
        let expected = Cuts { head: 2, host: 1, legal: vec![5, 8, 10] };
        assert_eq!(cuts(Family::Responses, &items), Some(expected));
    }

    #[test]
    fn chat_and_gemini_pair_their_calls() {
        let chat = [
            r#"{"role":"system","content":"x"}"#,
            r#"{"role":"user","content":"x"}"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"1"},{"id":"2"}]}"#,
            r#"{"role":"tool","tool_call_id":"1","content":"x"}"#,
            r#"{"role":"tool","tool_call_id":"2","content":"x"}"#,
            r#"{"role":"assistant","content":"x"}"#,
            r#"{"role":"user","content":"x"}"#,
        ];
        assert_eq!(cuts(Family::Chat, &chat), Some(Cuts { head: 2, host: 1, legal: vec![5] }));
        let gemini = [
            r#"{"role":"user","parts":[{"text":"x"}]}"#,
            r#"{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"f","args":{}}}]}"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"f"}},{"functionResponse":{"name":"f"}}]}"#,
            r#"{"role":"model","parts":[{"text":"x"}]}"#,
            r#"{"role":"user","parts":[{"text":"x"}]}"#,
        ];
        assert_eq!(cuts(Family::Gemini, &gemini), Some(Cuts { head: 1, host: 0, legal: vec![3] }));
    }

    #[test]
    fn media_count_as_what_they_cost() {
        let image = format!(
            r#"{{"role":"user","content":[{{"type":"image","source":{{"type":"base64","data":"{}"}}}}]}}"#,
            "A".repeat(400_000)
        );
        let fields = facts(Family::Anthropic, &image).expect("a message");
        assert!(fields.weight < 6_000, "{}", fields.weight);
    }
}
