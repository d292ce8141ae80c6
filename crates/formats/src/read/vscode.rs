//! Reads chats of VS Code (Copilot Chat): one document, or a log of changes to it.
//!
//! A request holds what a person asked and all that was answered. What the model and its tools really exchanged stands in
//! the request's metadata, where the extension wrote it; else what was shown counts. The form is taken from its
//! documentation: no file of the real program was at hand.

use longhaul_conversation::{
    CallId, Message, MessageId, Part, Role, Thought, Timestamp, TokenCount, ToolCall, ToolResult, ToolStatus,
    Usage,
};
use longhaul_wire::{Json, Object, each_object, read_arguments, text_parts};
use serde_json::Value;

use super::{Known, Reader};
use crate::out::Out;
use crate::{CountedCall, Format};

pub(super) const KNOWN: Known = Known {
    format: Format::VsCodeChat,
    // The first line of a log: the whole chat as it was then.
    is_record: |record| {
        record.get("kind").and_then(Json::as_u64) == Some(0) && record.get("v").is_some_and(is_chat)
    },
    is_document: is_chat,
    open: || Box::new(Chat::default()),
    unread: &[],
};

fn is_chat(document: &Json<'_>) -> bool {
    document.get("requests").is_some_and(|requests| requests.as_array().is_some())
        && ["requesterUsername", "responderUsername", "creationDate", "sessionId"]
            .iter()
            .filter(|key| document.get(key).is_some())
            .count()
            >= 2
}

#[derive(Default)]
struct Chat {
    /// The chat as a log's lines have made it so far.
    logged: Option<Value>,
}

impl Reader for Chat {
    fn record(&mut self, record: Json<'_>, out: &mut Out<'_>) {
        let Json::Object(mut record) = record else {
            return out.warn(format!("expected a chat, found {}; skipped", record.kind()));
        };
        match record.get("kind").and_then(Json::as_u64) {
            None => read_chat(record, out),
            Some(0) => self.logged = record.take("v").map(Json::into_value),
            Some(kind) => {
                let change = Change::of(kind, &mut record);
                let done = change.zip(self.logged.as_mut()).map(|(change, chat)| change.apply(chat));
                if done != Some(true) {
                    out.warn("change to a place that is not there; skipped");
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Out<'_>) {
        if let Some(chat) = self.logged.take() {
            let text = chat.to_string();
            if let Ok(Json::Object(chat)) = Json::parse(&text) {
                out.at_line(None);
                read_chat(chat, out);
            }
        }
    }
}

/// One line of a log behind the first.
enum Change {
    Set {
        path: Vec<Value>,
        value: Value,
    },
    /// Cuts a list to a length, if one is given, and adds to it.
    Push {
        path: Vec<Value>,
        items: Vec<Value>,
        keep: Option<usize>,
    },
    Delete {
        path: Vec<Value>,
    },
}

impl Change {
    fn of(kind: u64, record: &mut Object<'_>) -> Option<Self> {
        let path = record.take_array("k")?.into_iter().map(Json::into_value).collect();
        let value = record.take("v").map(Json::into_value);
        let keep = record.get("i").and_then(Json::as_u64).and_then(|keep| usize::try_from(keep).ok());
        match (kind, value) {
            (1, value) => Some(Self::Set { path, value: value.unwrap_or(Value::Null) }),
            (2, Some(Value::Array(items))) => Some(Self::Push { path, items, keep }),
            (2, None) => Some(Self::Push { path, items: Vec::new(), keep }),
            (3, _) => Some(Self::Delete { path }),
            _ => None,
        }
    }

    /// True if the place was there.
    fn apply(self, chat: &mut Value) -> bool {
        match self {
            Self::Set { path, value } => put(chat, &path, Some(value)),
            Self::Delete { path } => put(chat, &path, None),
            Self::Push { path, items, keep } => {
                let place = path.iter().try_fold(chat, |at, key| step(at, key));
                let Some(Value::Array(list)) = place else { return false };
                list.truncate(keep.unwrap_or(usize::MAX));
                list.extend(items);
                true
            }
        }
    }
}

fn step<'v>(at: &'v mut Value, key: &Value) -> Option<&'v mut Value> {
    match key {
        Value::String(key) => at.as_object_mut()?.get_mut(key),
        key => at.as_array_mut()?.get_mut(usize::try_from(key.as_u64()?).ok()?),
    }
}

fn put(chat: &mut Value, path: &[Value], value: Option<Value>) -> bool {
    let Some((last, path)) = path.split_last() else { return false };
    match (path.iter().try_fold(chat, |at, key| step(at, key)), last) {
        (Some(Value::Object(fields)), Value::String(key)) => {
            match value {
                Some(value) => fields.insert(key.clone(), value),
                None => fields.shift_remove(key),
            };
            true
        }
        (Some(Value::Array(items)), key) => {
            let place = key.as_u64().and_then(|place| usize::try_from(place).ok());
            match (place, value) {
                (Some(place), Some(value)) if place < items.len() => items[place] = value,
                (Some(place), Some(value)) if place == items.len() => items.push(value),
                (Some(place), None) if place < items.len() => drop(items.remove(place)),
                _ => return false,
            }
            true
        }
        _ => false,
    }
}

fn read_chat(mut chat: Object<'_>, out: &mut Out<'_>) {
    out.info.session_id = chat.take_string("sessionId");
    out.info.title = chat.take_string("customTitle").filter(|title| !title.is_empty());
    for key in ["creationDate", "lastMessageDate"] {
        out.note(chat.time(key), None, None);
    }
    let requests = chat.take_list("requests").unwrap_or_default();
    each_object(requests, "requests", out, |request, _, out| read_request(request, out));
}

fn read_request(mut request: Object<'_>, out: &mut Out<'_>) {
    let at = request.time("timestamp");
    let typed = match request.take("message") {
        Some(Json::String(text)) => text.into_owned(),
        Some(Json::Object(mut message)) => message.take_string("text").unwrap_or_default(),
        _ => String::new(),
    };
    let id = out.unused_id(request.take_string("requestId").map(MessageId::new));
    put_message(id, Role::User, text_parts(typed, Role::User), at, None, out);
    let model =
        request.take_string("modelId").map(|id| id.rsplit('/').next().unwrap_or_default().to_string());
    let mut metadata = request
        .take_object("result")
        .and_then(|mut result| result.take_object("metadata"))
        .unwrap_or_default();
    let rounds = metadata.take_list("toolCallRounds").filter(|rounds| !rounds.is_empty());
    let shown = request.take_list("response").unwrap_or_default();
    match rounds {
        Some(rounds) => {
            let mut results = metadata.take_object("toolCallResults").unwrap_or_default();
            each_object(rounds, "toolCallRounds", out, |round, _, out| {
                read_round(round, &mut results, at, model.as_deref(), out);
            });
        }
        None => {
            let mut shown_parts = Shown { parts: Vec::new(), at, model: model.as_deref() };
            each_object(shown, "response", out, |item, _, out| shown_parts.item(item, out));
            shown_parts.flush(out);
        }
    }
    let count = |keys: [&str; 2]| {
        keys.iter().find_map(|key| metadata.get(key)).and_then(Json::as_u64).map(TokenCount)
    };
    let usage = Usage {
        input: count(["promptTokens", "inputTokens"]),
        output: count(["outputTokens", "completionTokens"]),
        ..Usage::default()
    };
    out.call(CountedCall { message: None, at, model, usage });
}

/// One call of the model: what it said, its calls, and their results.
fn read_round(
    mut round: Object<'_>,
    results: &mut Object<'_>,
    at: Option<Timestamp>,
    model: Option<&str>,
    out: &mut Out<'_>,
) {
    let mut parts = Vec::new();
    if let Some(thinking) =
        round.get("thinking").and_then(|thinking| thinking.get("text")).and_then(Json::as_str)
    {
        parts.push(Part::thought(Thought { text: thinking.to_string(), signature: None, item: None }));
    }
    if let Some(text) = round.take_string("response").filter(|text| !text.is_empty()) {
        parts.push(Part::model_text(text));
    }
    let mut answers = Vec::new();
    let calls = round.take_list("toolCalls").unwrap_or_default();
    each_object(calls, "toolCalls", out, |mut call, _, out| {
        let own = call.take_string("id").filter(|id| !id.is_empty());
        let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
        let name = call.take_string("name").unwrap_or_default();
        parts.push(Part::call(
            ToolCall::new(id.clone(), name.clone()).with_args(read_arguments(call.take("arguments"))),
        ));
        if let Some(result) = results.take(id.as_str()) {
            answers.push(Part::result(ToolResult::text(id, text_of(&result)).with_name(name)));
        }
    });
    if !parts.is_empty() {
        put_message(out.made_up_id(), Role::Model, parts, at, model, out);
    }
    if !answers.is_empty() {
        put_message(out.made_up_id(), Role::User, answers, at, None, out);
    }
}

/// The texts of a tool's answer, which may stand in nodes of what was rendered.
fn text_of(result: &Json<'_>) -> String {
    let items = result.get("content").and_then(Json::as_array).unwrap_or_default();
    let mut text = String::new();
    for item in items {
        collect_texts(item.get("value").unwrap_or(item), 0, &mut text);
    }
    text
}

/// No tree of a tool's answer is deeper.
const DEEPEST: usize = 64;

fn collect_texts(node: &Json<'_>, depth: usize, text: &mut String) {
    if depth > DEEPEST {
        return;
    }
    match node {
        Json::String(own) => text.push_str(own),
        Json::Array(nodes) => nodes.iter().for_each(|node| collect_texts(node, depth + 1, text)),
        Json::Object(fields) => {
            if let Some(own) = fields.str("text") {
                text.push_str(own);
                if fields.is_true("lineBreakBefore") {
                    text.push('\n');
                }
            }
            for key in ["node", "children"] {
                if let Some(inner) = fields.get(key) {
                    collect_texts(inner, depth + 1, text);
                }
            }
        }
        _ => {}
    }
}

/// What was shown of an answer, until a tool's result comes between.
struct Shown<'m> {
    parts: Vec<Part>,
    at: Option<Timestamp>,
    model: Option<&'m str>,
}

impl Shown<'_> {
    fn item(&mut self, mut item: Object<'_>, out: &mut Out<'_>) {
        let kind = item.str("kind").map(str::to_string);
        match kind.as_deref() {
            None | Some("markdownContent") => {
                let text =
                    item.take("content").or_else(|| item.take("value")).map(shown_text).unwrap_or_default();
                if !text.is_empty() {
                    self.parts.push(Part::model_text(text));
                }
            }
            Some("thinking") => {
                let text = item.take("value").map(shown_text).unwrap_or_default();
                self.parts.push(Part::thought(Thought { text, signature: None, item: None }));
            }
            Some("toolInvocationSerialized") => self.tool(item, out),
            Some(kind) => out.skip(&format!("response:{kind}")),
        }
    }

    /// A tool of which only a line for the user was kept.
    fn tool(&mut self, mut item: Object<'_>, out: &mut Out<'_>) {
        let own = item.take_string("toolCallId").filter(|id| !id.is_empty());
        let id = own.map_or_else(|| CallId::made_up(out.made_up_id()), CallId::new);
        let name = item.take_string("toolId").unwrap_or_default();
        let told = item.take("pastTenseMessage").or_else(|| item.take("invocationMessage")).map(shown_text);
        let status = if item.is_true("isComplete") { ToolStatus::Succeeded } else { ToolStatus::Unstated };
        let result = ToolResult::text(id.clone(), told.unwrap_or_default());
        self.parts.push(Part::call(ToolCall::new(id, name.clone())));
        self.flush(out);
        let answer = vec![Part::result(result.with_name(name).with_status(status))];
        put_message(out.made_up_id(), Role::User, answer, self.at, None, out);
    }

    fn flush(&mut self, out: &mut Out<'_>) {
        if !self.parts.is_empty() {
            let parts = std::mem::take(&mut self.parts);
            put_message(out.made_up_id(), Role::Model, parts, self.at, self.model, out);
        }
    }
}

/// A text, or Markdown with its text under `value`.
fn shown_text(value: Json<'_>) -> String {
    match value {
        Json::String(text) => text.into_owned(),
        Json::Object(mut markdown) => markdown.take_string("value").unwrap_or_default(),
        Json::Array(texts) => texts.into_iter().filter_map(Json::into_string).collect(),
        _ => String::new(),
    }
}

fn put_message(
    id: MessageId,
    role: Role,
    parts: Vec<Part>,
    at: Option<Timestamp>,
    model: Option<&str>,
    out: &mut Out<'_>,
) {
    let mut message = Message::new(id, role, parts);
    (message.at, message.model) = (at, model.map(str::to_string));
    out.put(message);
}

#[cfg(test)]
mod tests {
    use super::super::outline::{outline, read_text};
    use super::*;
    use serde_json::json;

    fn chat(requests: &Value) -> Value {
        json!({"version": 3, "requesterUsername": "dev", "responderUsername": "GitHub Copilot", "sessionId": "s",
            "creationDate": 1_795_032_572_311_u64, "customTitle": "Tidy", "requests": requests})
    }

    const ANSWER: &[&str] = &[
        "user: user \"list\"",
        "model: model \"Looking.\", call c run_in_terminal {\"command\":\"ls\"}",
        "user: result c run_in_terminal \"one\\ntwo\"",
        "model: model \"Done.\"",
    ];

    fn request() -> Value {
        let node = json!({"node": {"children": [{"text": "one", "lineBreakBefore": true}, {"text": "two"}]}});
        json!({"requestId": "r", "message": {"text": "list", "parts": []}, "modelId": "copilot/gpt-5",
            "timestamp": 1_795_032_572_619_u64, "response": [{"value": "Done."}],
            "result": {"metadata": {"promptTokens": 120, "outputTokens": 7, "toolCallRounds": [
                {"response": "Looking.", "toolCalls": [{"id": "c", "name": "run_in_terminal", "arguments": "{\"command\":\"ls\"}"}]},
                {"response": "Done.", "toolCalls": []}],
                "toolCallResults": {"c": {"content": [{"value": node}]}}}}})
    }

    #[test]
    fn what_was_really_exchanged_counts() {
        let session = read_text(&chat(&json!([request()])).to_string());
        assert_eq!(session.info.format, Format::VsCodeChat);
        assert_eq!(outline(session.transcript.messages()), ANSWER);
        assert_eq!(session.info.model(), Some("gpt-5"));
        assert_eq!(session.info.last_usage.and_then(|usage| usage.input), Some(TokenCount(120)));
    }

    #[test]
    fn without_it_what_was_shown_counts() {
        let request = json!({"requestId": "r", "message": {"text": "list"}, "response": [
            {"kind": "progressTask"}, {"value": "Looking."},
            {"kind": "toolInvocationSerialized", "toolId": "ls", "toolCallId": "c", "isComplete": true,
                "pastTenseMessage": {"value": "Listed files"}},
            {"kind": "markdownContent", "content": {"value": "Done."}}]});
        let session = read_text(&chat(&json!([request])).to_string());
        assert_eq!(
            outline(session.transcript.messages()),
            [
                "user: user \"list\"",
                "model: model \"Looking.\", call c ls {}",
                "user: result c ls succeeded \"Listed files\"",
                "model: model \"Done.\"",
            ]
        );
    }

    #[test]
    fn a_log_of_changes_is_put_together() {
        let mut begun = request();
        begun["result"] = json!({});
        let lines = [
            json!({"kind": 0, "v": chat(&json!([]))}),
            json!({"kind": 2, "k": ["requests"], "v": [begun]}),
            json!({"kind": 1, "k": ["requests", 0, "result"], "v": request()["result"]}),
            json!({"kind": 1, "k": ["customTitle"], "v": "Renamed"}),
            json!({"kind": 3, "k": ["responderUsername"]}),
        ];
        let log: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let session = read_text(&log);
        assert_eq!(session.info.format, Format::VsCodeChat);
        assert_eq!(outline(session.transcript.messages()), ANSWER);
        assert_eq!(session.info.title.as_deref(), Some("Renamed"));
        let torn = format!("{log}{}\n", json!({"kind": 1, "k": ["requests", 7, "x"], "v": 1}));
        assert_eq!(read_text(&torn).warnings.len(), 1);
    }
}
