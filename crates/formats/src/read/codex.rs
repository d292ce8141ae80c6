//! Reads Codex rollouts: the bare items of August 2025, and the wrapped records since.
//!
//! The conversation is in the response items. Most events only repeat it for display; a few say more: what was
//! consumed, and that the user took turns back. A compaction replaces the history, where it is written down by one
//! that tells again what the user had said.

use std::collections::HashMap;

use longhaul_conversation::{
    Extra, Fingerprint, Message, MessageId, Origin, Part, Role, Timestamp, TokenCount, Usage, Vendor,
    fingerprint_message,
};
use longhaul_wire::responses::{Items, read_block};
use serde_json::Value;

use super::{Known, Reader};
use longhaul_wire::{Json, Object, OriginRules, close_references, split_user_text};

use crate::out::Out;
use crate::{CountedCall, Format};

pub(super) const KNOWN: Known = Known {
    format: Format::Codex,
    is_record,
    is_document: |document| document.as_object().is_some_and(is_record),
    open: || Box::new(Codex::default()),
    unread: &[],
};

/// Text that Codex alone puts into user messages.
pub(crate) const ORIGINS: OriginRules = OriginRules {
    tags: &[
        ("hook_prompt", Origin::Hook),
        ("goal_context", Origin::Hook),
        ("codex_internal_context", Origin::Hook),
        ("collaboration_mode", Origin::Hook),
        ("model_switch", Origin::Hook),
        ("personality_spec", Origin::Hook),
        ("realtime_conversation", Origin::Hook),
        ("skills_instructions", Origin::Memory),
        ("apps_instructions", Origin::Memory),
        ("plugins_instructions", Origin::Memory),
    ],
    typed: &[],
    starts: &[
        ("Warning: The maximum number of unified exec processes", Origin::Hook),
        ("Warning: apply_patch was requested via ", Origin::Hook),
        ("Warning: Your account was flagged for", Origin::Hook),
    ],
};

/// Editors put what is open and selected before this line, and what the user typed behind it.
const REQUEST_LINE: &str = "## My request for Codex:";

fn is_record(record: &Object<'_>) -> bool {
    let is_wrapped = record.get("payload").is_some_and(|payload| payload.as_object().is_some());
    match record.str("type") {
        Some("session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted") => is_wrapped,
        Some(_) => false,
        None => {
            let is_header = record.str("id").is_some()
                && record.str("timestamp").is_some()
                && (record.has("instructions") || record.has("git"));
            is_header || record.str("record_type") == Some("state")
        }
    }
}

#[derive(Default)]
struct Codex {
    items: Items,
    /// The messages in the transcript that a person typed, in order.
    turns: Vec<MessageId>,
    /// Every message of the user's side by what it says, so that one that is told again keeps its id and time.
    said: HashMap<Fingerprint, Vec<(MessageId, Option<Timestamp>)>>,
    /// The user's instructions as the header has them.
    instructions: Option<String>,
    /// True if a message brought such instructions into the conversation itself.
    has_memory: bool,
    /// The sum of all calls, as it was told last.
    total: Option<Usage>,
}

impl Reader for Codex {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a record, found {}; skipped", record.kind()));
        };
        let at = record.time("timestamp");
        out.note(at, None, None);
        let Some(kind) = record.str("type").map(str::to_string) else {
            match record.str("record_type").map(str::to_string) {
                Some(kind) => out.skip(&kind),
                None if is_record(&record) => self.header(record, out),
                None => out.warn("record without a type; skipped"),
            }
            return;
        };
        match (kind.as_str(), record.take_object("payload")) {
            ("session_meta", Some(payload)) => self.header(payload, out),
            ("turn_context", Some(payload)) => self.turn_context(payload, out),
            ("response_item", Some(payload)) => self.item(payload, at, out),
            ("compacted", Some(payload)) => self.compacted(payload, at, out),
            ("event_msg", Some(payload)) => self.event(&payload, at, out),
            ("session_meta" | "turn_context" | "response_item" | "compacted" | "event_msg", None) => {
                out.warn(format!("{kind} without a payload; skipped"));
            }
            (_, Some(_)) => out.skip(&kind),
            // Not wrapped: an item of the older shape.
            (_, None) => self.item(record, at, out),
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        if let Some(text) = self.instructions.take().filter(|_| !self.has_memory) {
            out.info.system.push(Part::text(Origin::Memory, text));
        }
        if out.info.models.is_empty() {
            out.note(None, self.items.model.as_deref(), None);
        }
    }
}

impl Codex {
    /// A session that was forked repeats the headers of those it came from; the first is its own.
    fn header(&mut self, mut payload: Object<'_>, out: &mut Out<'_>) {
        if out.info.session_id.is_some() {
            return out.skip("session_meta");
        }
        out.info.session_id = payload.take_string("id");
        out.info.directory = payload.take_string("cwd").or(out.info.directory.take());
        self.instructions = payload.take_string("instructions");
        let base = payload.take_object("base_instructions").and_then(|mut base| base.take_string("text"));
        out.info.system.extend(base.map(|text| Part::text(Origin::Hook, text)));
    }

    fn turn_context(&mut self, mut payload: Object<'_>, out: &mut Out<'_>) {
        self.items.model = payload.take_string("model").or(self.items.model.take());
        if out.info.directory.is_none() {
            out.info.directory = payload.take_string("cwd");
        }
        out.skip("turn_context");
    }

    fn event(&mut self, payload: &Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        let kind = payload.str("type").unwrap_or("?");
        let window = |of: Option<&Json<'_>>| of.and_then(Json::as_u64).map(TokenCount);
        match kind {
            "token_count" => {
                let info = payload.get("info");
                let usage = info.and_then(|info| info.get("last_token_usage")).and_then(read_usage);
                usage.iter().for_each(|usage| out.count_conversation(*usage));
                // The program tells the same figures again when limits change: only a new total is a new call.
                let total = info.and_then(|info| info.get("total_token_usage")).and_then(read_usage);
                let is_new = total.is_none() || total != self.total;
                match usage.filter(|_| is_new) {
                    Some(usage) => {
                        let model = self.items.model.clone();
                        out.call(CountedCall { message: None, at, model, usage });
                    }
                    None => out.note(None, None, usage.as_ref()),
                }
                self.total = total.or(self.total);
                let told = window(info.and_then(|info| info.get("model_context_window")));
                out.info.window = told.or(out.info.window);
            }
            "task_started" | "turn_started" => {
                out.info.window = window(payload.get("model_context_window")).or(out.info.window);
            }
            "thread_name_updated" => {
                out.info.title = payload.str("thread_name").map(str::to_string).or(out.info.title.take());
            }
            "thread_rolled_back" => self.roll_back(payload, out),
            _ => {}
        }
        out.skip(&format!("event_msg:{kind}"));
    }

    /// The user took back the last turns.
    fn roll_back(&mut self, payload: &Object<'_>, out: &mut Out<'_>) {
        let count = payload.get("num_turns").and_then(Json::as_u64).unwrap_or(0);
        let kept = self.turns.len().saturating_sub(usize::try_from(count).unwrap_or(usize::MAX));
        if let Some(first) = self.turns.get(kept) {
            out.rewind_to(first.clone());
            self.turns.truncate(kept);
            self.items.end_turn();
        }
    }

    fn item(&mut self, item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        match (item.str("type"), item.str("role")) {
            (Some("message"), Some("user")) => {
                if let Some(message) = read_user(item, at, out) {
                    self.put_user(message, out);
                }
            }
            (Some("compaction" | "compaction_summary" | "context_compaction"), _) => {
                self.summary(opaque_summary(item), at, out);
            }
            // A mark in the project's history, for undoing changes to files.
            (Some(kind @ ("ghost_snapshot" | "compaction_trigger")), _) => {
                out.skip(&format!("response_item:{kind}"));
            }
            _ => self.items.item(item, at, out),
        }
    }

    fn put_user(&mut self, message: Message, out: &mut Out<'_>) {
        self.items.end_turn();
        self.has_memory |= message.parts.iter().any(|part| part.origin == Origin::Memory);
        if message.parts.iter().any(|part| part.origin == Origin::User) {
            self.turns.push(message.id.clone());
        }
        if !out.knows(&message.id) {
            let said = self.said.entry(fingerprint_message(&message)).or_default();
            said.push((message.id.clone(), message.at));
        }
        out.put(message);
    }

    fn summary(&mut self, part: Part, at: Option<Timestamp>, out: &mut Out<'_>) {
        self.items.end_turn();
        let mut message = Message::new(out.made_up_id(), Role::User, vec![part]);
        message.at = at;
        out.put(message);
    }

    /// The conversation starts over from a summary, or from a history that was written in its place.
    fn compacted(&mut self, mut payload: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) {
        self.items.end_turn();
        self.turns.clear();
        out.restart();
        let summary = payload.take_string("message").filter(|text| !text.is_empty());
        let history = payload.take_array("replacement_history").unwrap_or_default();
        let is_told = summary.as_ref().is_some_and(|summary| {
            history.iter().flat_map(texts_of).any(|text| text.contains(summary.as_str()))
        });
        let mut told = HashMap::new();
        for item in history {
            match item {
                Json::Object(item) => self.tell_again(item, at, &mut told, out),
                other => out.warn(format!("expected a history item, found {}; skipped", other.kind())),
            }
        }
        if let Some(text) = summary.filter(|_| !is_told) {
            self.summary(Part::text(Origin::Summary, text), at, out);
        }
        out.end_compaction();
    }

    /// An item of a history that replaces the one before: what the user said earlier is the same message.
    fn tell_again(
        &mut self,
        item: Object<'_>,
        at: Option<Timestamp>,
        told: &mut HashMap<Fingerprint, usize>,
        out: &mut Out<'_>,
    ) {
        if (item.str("type"), item.str("role")) != (Some("message"), Some("user")) {
            return self.item(item, at, out);
        }
        let Some(mut message) = read_user(item, at, out) else { return };
        // The same words may have been said several times, and are told again as often.
        let fingerprint = fingerprint_message(&message);
        let nth = told.entry(fingerprint).or_insert(0);
        if let Some((id, said_at)) = self.said.get(&fingerprint).and_then(|said| said.get(*nth)) {
            message.id = id.clone();
            message.at = *said_at;
        }
        *nth += 1;
        self.put_user(message, out);
    }
}

/// A message on the user's side; those of others are read as in any list of items.
fn read_user(mut item: Object<'_>, at: Option<Timestamp>, out: &mut Out<'_>) -> Option<Message> {
    let parts = match item.take("content") {
        Some(Json::String(text)) => user_text(text.into_owned()),
        Some(Json::Array(blocks)) => {
            let mut parts: Vec<Part> = blocks.into_iter().flat_map(user_block).collect();
            close_references(&mut parts);
            parts
        }
        other => {
            let kind = other.as_ref().map_or("missing", Json::kind);
            out.warn(format!("user message content is {kind}; skipped"));
            return None;
        }
    };
    item.take("type");
    item.take("role");
    let id = match item.take("id") {
        Some(Json::String(id)) => Some(MessageId::from(id.as_ref())),
        _ => None,
    };
    let mut message = Message::new(out.unused_id(id), Role::User, parts);
    message.at = at;
    message.extra = Extra::boxed(Vendor::OpenAiResponses, item.into_map());
    Some(message)
}

fn user_block(block: Json<'_>) -> Vec<Part> {
    match block {
        Json::Object(mut block) if block.str("type") == Some("input_text") && block.str("text").is_some() => {
            user_text(block.take_string("text").unwrap_or_default())
        }
        block => read_block(block, Role::User),
    }
}

/// The text of a user's message, split by who produced it.
fn user_text(text: String) -> Vec<Part> {
    let is_image_mark = text == "</image>" || text.starts_with("<image") && text.ends_with('>');
    if is_image_mark && !text.contains('\n') {
        return vec![Part::text(Origin::Hook, text)];
    }
    let Some(before) = request_start(&text) else { return split_user_text(text, &ORIGINS) };
    let mut parts = vec![Part::text(Origin::Hook, &text[..before])];
    parts.extend(split_user_text(text[before..].to_string(), &ORIGINS));
    parts
}

/// The start of the user's own words in a text that an editor has put together.
fn request_start(text: &str) -> Option<usize> {
    let line = if text.starts_with(REQUEST_LINE) { 0 } else { text.find(&format!("\n{REQUEST_LINE}"))? + 1 };
    let behind = &text[line + REQUEST_LINE.len()..];
    Some(text.len() - behind.trim_start().len())
}

fn texts_of<'j>(item: &'j Json<'_>) -> impl Iterator<Item = &'j str> {
    let blocks = item.get("content").and_then(Json::as_array).unwrap_or_default();
    blocks.iter().filter_map(|block| block.get("text")?.as_str())
}

/// A summary that only its vendor can read.
fn opaque_summary(item: Object<'_>) -> Part {
    Part::opaque(Origin::Summary, Vendor::OpenAiResponses, Value::Object(item.into_map()))
}

fn read_usage(usage: &Json<'_>) -> Option<Usage> {
    let count = |key: &str| usage.get(key).and_then(Json::as_u64).map(TokenCount);
    let usage = Usage {
        input: count("input_tokens"),
        output: count("output_tokens"),
        cached: count("cached_input_tokens"),
        thoughts: count("reasoning_output_tokens"),
        total: count("total_tokens"),
        ..Usage::default()
    }
    .with_thoughts_apart();
    (!usage.is_empty()).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use crate::Session;

    /// Wraps payloads into records: `kind payload`.
    fn rollout(records: &[(&str, &str)]) -> Session {
        let wrap = |(kind, payload): &(&str, &str)| {
            format!(r#"{{"timestamp":"2025-10-02T03:04:05.678Z","type":"{kind}","payload":{payload}}}"#)
        };
        let lines: Vec<String> = records.iter().map(wrap).collect();
        read_text(&lines.join("\n"))
    }

    fn said(role: &str, text: &str) -> String {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        let text = serde_json::to_string(text).unwrap_or_default();
        format!(r#"{{"type":"message","role":"{role}","content":[{{"type":"{kind}","text":{text}}}]}}"#)
    }

    #[track_caller]
    fn check(records: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(outline(rollout(records).transcript.messages()), expected);
    }

    #[test]
    fn a_rollout_is_read_with_what_it_says_about_itself() {
        let session = rollout(&[
            (
                "session_meta",
                r#"{"id":"s1","cwd":"/work","instructions":"Use tabs","base_instructions":{"text":"You are"}}"#,
            ),
            ("session_meta", r#"{"id":"parent","cwd":"/other"}"#),
            ("turn_context", r#"{"cwd":"/elsewhere","model":"gpt-5"}"#),
            ("response_item", &said("user", "fix it")),
            ("event_msg", r#"{"type":"user_message","message":"fix it"}"#),
            (
                "response_item",
                r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"look"}],"encrypted_content":"e"}"#,
            ),
            (
                "response_item",
                r#"{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}"#,
            ),
            (
                "event_msg",
                r#"{"type":"token_count","info":{"last_token_usage":{"input_tokens":20,"cached_input_tokens":5,"output_tokens":15,"reasoning_output_tokens":4,"total_tokens":35},"model_context_window":16000}}"#,
            ),
            (
                "response_item",
                r#"{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a\",\"metadata\":{\"exit_code\":1}}"}"#,
            ),
            ("response_item", &said("assistant", "Done.")),
            ("response_item", r#"{"type":"ghost_snapshot","ghost_commit":{}}"#),
            ("event_msg", r#"{"type":"token_count","info":null}"#),
            ("new_kind", r#"{"x":1}"#),
        ]);
        assert_eq!(
            outline(session.transcript.messages()),
            [
                r#"user: user "fix it""#,
                r#"model: thought "look" signed e item rs_1, call c1 shell {"command":["ls"]} after rs_1"#,
                r#"user: result c1 failed "a""#,
                r#"model: model "Done.""#,
            ]
        );
        let info = session.info;
        assert_eq!(info.format, Format::Codex);
        assert_eq!((info.session_id.as_deref(), info.directory.as_deref()), (Some("s1"), Some("/work")));
        assert_eq!(info.models, ["gpt-5"]);
        assert_eq!(info.window, Some(TokenCount(16000)));
        let usage = info.last_usage.expect("usage");
        assert_eq!((usage.input, usage.cached), (Some(TokenCount(20)), Some(TokenCount(5))));
        let system: Vec<_> =
            info.system.iter().map(|part| (part.origin, part.as_text().unwrap_or(""))).collect();
        assert_eq!(system, [(Origin::Hook, "You are"), (Origin::Memory, "Use tabs")]);
        let skipped: Vec<&str> = info.skipped.iter().map(|(kind, _)| kind).collect();
        assert_eq!(
            skipped,
            [
                "event_msg:token_count",
                "event_msg:user_message",
                "new_kind",
                "response_item:ghost_snapshot",
                "session_meta",
                "turn_context",
            ]
        );
        assert_eq!(info.warnings, 0);
    }

    #[test]
    fn the_older_shape_has_bare_items() {
        let session = read_text(&[
            r#"{"id":"s1","timestamp":"2025-08-06T18:02:11.653Z","instructions":"Use tabs","git":{}}"#,
            r#"{"record_type":"state"}"#,
            r#"{"type":"message","id":null,"role":"user","content":[{"type":"input_text","text":"fix it"}]}"#,
            r#"{"type":"function_call","id":"fc_1","name":"shell","arguments":"not json","call_id":"c1"}"#,
            r#"{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"\",\"metadata\":{\"exit_code\":0}}"}"#,
        ].join("\n"));
        assert_eq!(
            outline(session.transcript.messages()),
            [
                r#"user: user "fix it""#,
                r#"model: call c1 shell "not json""#,
                r#"user: result c1 succeeded """#
            ]
        );
        assert_eq!(session.info.format, Format::Codex);
        assert_eq!(session.info.session_id.as_deref(), Some("s1"));
        assert!(session.info.started.is_some());
        assert_eq!(session.info.system.len(), 1);
        assert_eq!(session.info.warnings, 0);
    }

    #[test]
    fn instructions_that_stand_in_the_conversation_are_not_repeated() {
        let session = rollout(&[
            ("session_meta", r#"{"id":"s1","instructions":"Use tabs"}"#),
            ("response_item", &said("user", "<user_instructions>\n\nUse tabs\n\n</user_instructions>")),
        ]);
        assert!(session.info.system.is_empty());
    }

    #[track_caller]
    fn check_origins(text: &str, expected: &[(Origin, &str)]) {
        let parts = user_text(text.to_string());
        let seen: Vec<_> =
            parts.iter().map(|part| (part.origin, part.as_text().unwrap_or_default())).collect();
        assert_eq!(seen, expected);
        assert_eq!(seen.iter().map(|(_, text)| *text).collect::<String>(), text);
    }

    #[test]
    fn what_codex_adds_is_not_the_users() {
        for (text, origin) in [
            ("<environment_context>\n  <cwd>/x</cwd>\n</environment_context>", Origin::Hook),
            ("<turn_aborted>\nstopped\n</turn_aborted>", Origin::Hook),
            ("<user_instructions>\nUse tabs\n</user_instructions>", Origin::Memory),
            ("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>\nUse tabs\n</INSTRUCTIONS>", Origin::Memory),
            ("<skill>\n<name>a</name>\n</skill>", Origin::Memory),
            ("<user_shell_command>\n<command>ls</command>\n</user_shell_command>", Origin::Tool),
            (
                "Another language model started to solve this problem and produced a summary: x",
                Origin::Summary,
            ),
            ("<image name=[Image #1]>", Origin::Hook),
            ("</image>", Origin::Hook),
            ("Warning: this looks wrong to me", Origin::User),
            ("<b>fix</b> the <image> tag", Origin::User),
        ] {
            check_origins(text, &[(origin, text)]);
        }
    }

    #[test]
    fn an_editors_context_ends_where_the_request_starts() {
        check_origins(
            "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\nfix it\n",
            &[
                (
                    Origin::Hook,
                    "# Context from my IDE setup:\n\n## Open tabs:\n- a.rs\n\n## My request for Codex:\n",
                ),
                (Origin::User, "fix it\n"),
            ],
        );
        check_origins("say ## My request for Codex: x", &[(Origin::User, "say ## My request for Codex: x")]);
    }

    #[test]
    fn a_developer_is_a_program() {
        check(
            &[("response_item", &said("user", "hi")), ("response_item", &said("developer", "be brief"))],
            &[r#"user: user "hi""#, r#"user: hook "be brief""#],
        );
    }

    #[test]
    fn a_compaction_starts_over() {
        let records =
            [("response_item", said("user", "one")), ("compacted", r#"{"message":"so far"}"#.into())];
        let records: Vec<_> = records.iter().map(|(kind, payload)| (*kind, payload.as_str())).collect();
        check(&records, &[r#"user: summary "so far""#]);
        assert_eq!(rollout(&records).info.compactions, 1);
    }

    #[test]
    fn a_replaced_history_keeps_the_ids_of_what_it_tells_again() {
        let (one, two, again) = (said("user", "one"), said("user", "two"), said("user", "one"));
        let summary = said(
            "user",
            "Another language model started to solve this problem and produced a summary\nso far",
        );
        let compacted = format!(
            r#"{{"message":"so far","replacement_history":[{one},{one},{two},{summary},{{"type":"compaction","encrypted_content":"x"}}]}}"#
        );
        let before = [("response_item", one.as_str()), ("response_item", &two), ("response_item", &again)];
        let ids = |session: &Session| {
            session.transcript.messages().iter().map(|message| message.id.clone()).collect::<Vec<_>>()
        };
        let earlier = ids(&rollout(&before));
        let after = rollout(&[&before[..], &[("compacted", compacted.as_str())]].concat());
        assert_eq!(
            outline(after.transcript.messages()),
            [
                r#"user: user "one""#.to_string(),
                r#"user: user "one""#.to_string(),
                r#"user: user "two""#.to_string(),
                format!(
                    "user: summary {:?}",
                    "Another language model started to solve this problem and produced a summary\nso far"
                ),
                r#"user: opaque {"type":"compaction","encrypted_content":"x"}"#.to_string(),
            ]
        );
        assert_eq!(ids(&after)[..3], [earlier[0].clone(), earlier[2].clone(), earlier[1].clone()]);
    }

    #[test]
    fn turns_can_be_taken_back() {
        let (one, two, three) = (said("user", "one"), said("user", "two"), said("user", "three"));
        let (answer, context) =
            (said("assistant", "ok"), said("user", "<environment_context>x</environment_context>"));
        let back = r#"{"type":"thread_rolled_back","num_turns":2}"#;
        check(
            &[
                ("response_item", &context),
                ("response_item", &one),
                ("response_item", &answer),
                ("response_item", &two),
                ("response_item", &answer),
                ("event_msg", back),
                ("response_item", &three),
                ("response_item", &answer),
            ],
            &[
                r#"user: hook "<environment_context>x</environment_context>""#,
                r#"user: user "three""#,
                r#"model: model "ok""#,
            ],
        );
    }

    #[test]
    fn what_is_broken_is_told() {
        let lines = [
            r#"{"type":"session_meta","payload":{"id":"s"}}"#,
            r#"{"type":"response_item","payload":3}"#,
            r#"{"type":"response_item","payload":{"type":"message","role":"user"}}"#,
            r#"{"nothing":1}"#,
            "7",
        ];
        let session = read_text(&lines.join("\n"));
        assert_eq!(session.warnings.len(), 4);
        assert!(session.transcript.messages().is_empty());
    }
}
