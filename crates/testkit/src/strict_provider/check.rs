//! The rules of a request, one after the other.

use std::collections::HashSet;

use serde_json::Value;

/// The signature that belongs to a thought: another one, or another text under it, is refused.
pub fn sign(thought: &str) -> String {
    let hash = thought.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("sig-{hash:016x}")
}

/// The tokens of a request, at four bytes each.
pub fn count_tokens(request: &Value) -> usize {
    let of = |key: &str| request.get(key).map_or(0, |value| value.to_string().len());
    ["messages", "system", "tools"].iter().map(|key| of(key)).sum::<usize>() / 4
}

/// Checks a request as the API does.
///
/// # Errors
/// The reason of the refusal.
pub fn check_request(request: &Value, window: usize) -> Result<(), String> {
    require(request["model"].as_str().is_some_and(|model| !model.is_empty()), "model: Field required")?;
    let messages = request["messages"].as_array().ok_or("messages: Input should be a valid list")?;
    require(!messages.is_empty(), "messages: at least one message is required")?;
    check_tools(request)?;
    check_roles(messages)?;
    for (index, message) in messages.iter().enumerate() {
        check_content(index, message)?;
    }
    check_pairs(messages)?;
    check_thinking(request, messages)?;
    check_markers(request)?;
    check_citations(messages)?;
    let size = count_tokens(request);
    require(size <= window, &format!("prompt is too long: {size} tokens > {window} maximum"))
}

fn require(holds: bool, reason: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(reason.to_string()) }
}

fn check_tools(request: &Value) -> Result<(), String> {
    let mut names = HashSet::new();
    for tool in request["tools"].as_array().into_iter().flatten() {
        let name = tool["name"].as_str().ok_or("tools: name: Field required")?;
        require(names.insert(name), "tools: Tool names must be unique.")?;
    }
    Ok(())
}

fn role(message: &Value) -> &str {
    message["role"].as_str().unwrap_or_default()
}

fn check_roles(messages: &[Value]) -> Result<(), String> {
    require(role(&messages[0]) == "user", "messages: first message must use the \"user\" role")?;
    for (index, message) in messages.iter().enumerate() {
        match role(message) {
            "user" | "assistant" => {}
            "system" => {
                let follows_user = index > 0 && role(&messages[index - 1]) == "user";
                let precedes_answer = messages.get(index + 1).is_none_or(|next| role(next) == "assistant");
                require(follows_user, &format!("messages.{index}: role 'system' must follow a user turn"))?;
                require(
                    precedes_answer,
                    &format!("messages.{index}: role 'system' must precede an assistant turn"),
                )?;
            }
            other => return Err(format!("messages.{index}.role: unexpected value {other:?}")),
        }
    }
    Ok(())
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

fn kind(block: &Value) -> &str {
    block["type"].as_str().unwrap_or_default()
}

fn check_content(index: usize, message: &Value) -> Result<(), String> {
    match &message["content"] {
        Value::String(text) => {
            require(!text.is_empty(), &format!("messages.{index}: content must be non-empty"))
        }
        Value::Array(list) => {
            require(!list.is_empty(), &format!("messages.{index}: content must be non-empty"))?;
            for (place, block) in list.iter().enumerate() {
                let at = format!("messages.{index}.content.{place}");
                check_block(block, role(message), &at)?;
            }
            Ok(())
        }
        _ => Err(format!("messages.{index}.content: Field required")),
    }
}

fn check_block(block: &Value, role: &str, at: &str) -> Result<(), String> {
    let has = |key: &str| block[key].as_str().is_some_and(|text| !text.is_empty());
    let is_model = role == "assistant";
    match kind(block) {
        "text" => require(has("text"), &format!("{at}: text content blocks must be non-empty")),
        "tool_use" | "server_tool_use" => {
            require(is_model, &format!("{at}: tool_use blocks can only be in assistant messages"))?;
            require(
                has("id") && has("name") && block["input"].is_object(),
                &format!("{at}: tool_use: Field required"),
            )
        }
        "tool_result" => {
            require(role == "user", &format!("{at}: tool_result blocks can only be in user messages"))?;
            require(has("tool_use_id"), &format!("{at}: tool_use_id: Field required"))
        }
        "thinking" => {
            require(is_model, &format!("{at}: thinking blocks can only be in assistant messages"))?;
            let thought = block["thinking"].as_str().unwrap_or_default();
            let is_sound = block["signature"].as_str() == Some(&sign(thought)) && !thought.is_empty();
            require(is_sound, &format!("{at}: Invalid `signature` in `thinking` block"))?;
            require(
                block.get("cache_control").is_none(),
                &format!("{at}: cache_control is not allowed on thinking"),
            )
        }
        "redacted_thinking" => {
            require(is_model && has("data"), &format!("{at}: redacted_thinking: Field required"))
        }
        "image" | "document" => {
            require(block["source"].is_object(), &format!("{at}: source: Field required"))
        }
        "web_search_tool_result" | "compaction" | "search_result" => Ok(()),
        other => Err(format!("{at}: unexpected block type {other:?}")),
    }
}

/// Calls are answered in the next message, results first, each once, and nothing else is.
fn check_pairs(messages: &[Value]) -> Result<(), String> {
    let mut seen = HashSet::new();
    for (index, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = blocks(message)
            .iter()
            .filter(|block| kind(block) == "tool_use")
            .filter_map(|block| block["id"].as_str())
            .collect();
        for call in &calls {
            require(seen.insert(*call), &format!("messages.{index}: `tool_use` ids must be unique"))?;
        }
        let results = |message: &Value| -> Vec<String> {
            let results = blocks(message).iter().filter(|block| kind(block) == "tool_result");
            results.filter_map(|block| block["tool_use_id"].as_str().map(str::to_string)).collect()
        };
        if !calls.is_empty() && index + 1 < messages.len() {
            let answers = results(&messages[index + 1]);
            let missing = calls.iter().find(|call| !answers.iter().any(|answer| answer == *call));
            if let Some(missing) = missing {
                return Err(format!(
                    "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {missing}"
                ));
            }
        }
        require(
            calls.is_empty() || index + 1 < messages.len(),
            &format!(
                "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after"
            ),
        )?;
        let before = index.checked_sub(1).map(|before| &messages[before]);
        let asked = |id: &str| {
            before.is_some_and(|before| {
                blocks(before).iter().any(|block| kind(block) == "tool_use" && block["id"] == id)
            })
        };
        let mut answered = HashSet::new();
        for result in results(message) {
            require(
                asked(&result),
                &format!(
                    "messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: {result}"
                ),
            )?;
            require(
                answered.insert(result),
                &format!("messages.{index}: each tool_use must have a single result"),
            )?;
        }
        let first_other = blocks(message).iter().position(|block| kind(block) != "tool_result");
        let last_result = blocks(message).iter().rposition(|block| kind(block) == "tool_result");
        if let (Some(other), Some(last)) = (first_other, last_result) {
            require(last < other, &format!("messages.{index}: `tool_result` blocks must come first"))?;
        }
        for (place, block) in
            blocks(message).iter().enumerate().filter(|(_, block)| kind(block) == "server_tool_use")
        {
            let answered = blocks(message)[place..]
                .iter()
                .any(|later| kind(later).ends_with("_tool_result") && later["tool_use_id"] == block["id"]);
            require(
                answered || index + 1 == messages.len(),
                &format!("messages.{index}: server_tool_use without its result"),
            )?;
        }
    }
    Ok(())
}

/// With reasoning on, an answer whose calls are being answered begins with a thought.
fn check_thinking(request: &Value, messages: &[Value]) -> Result<(), String> {
    let is_on = request["thinking"]["type"].as_str().is_some_and(|kind| kind != "disabled");
    let Some(last) = messages.iter().rposition(|message| role(message) == "assistant") else { return Ok(()) };
    let answers_follow = messages[last..]
        .iter()
        .any(|message| blocks(message).iter().any(|block| kind(block) == "tool_result"));
    let begins = blocks(&messages[last]).first().is_some_and(|block| kind(block).ends_with("thinking"));
    require(
        !is_on || !answers_follow || begins,
        &format!("messages.{last}: a final `assistant` message must start with a thinking block"),
    )
}

/// At most four markers, those for an hour before those for minutes.
fn check_markers(request: &Value) -> Result<(), String> {
    let mut markers = Vec::new();
    for key in ["tools", "system"] {
        markers.extend(
            request[key].as_array().into_iter().flatten().filter_map(|block| block.get("cache_control")),
        );
    }
    for message in request["messages"].as_array().into_iter().flatten() {
        markers.extend(blocks(message).iter().filter_map(|block| block.get("cache_control")));
    }
    require(markers.len() <= 4, "A maximum of 4 blocks with cache_control may be provided.")?;
    let mut has_minutes = false;
    for marker in markers {
        require(marker["type"] == "ephemeral", "cache_control.type: must be ephemeral")?;
        let is_hour = marker["ttl"] == "1h";
        require(
            !(is_hour && has_minutes),
            "a ttl='1h' cache_control block must not come after a ttl='5m' one",
        )?;
        has_minutes |= !is_hour;
    }
    Ok(())
}

/// Citations name documents by their number among those that came before.
fn check_citations(messages: &[Value]) -> Result<(), String> {
    let mut documents = 0;
    for (index, message) in messages.iter().enumerate() {
        for block in blocks(message) {
            documents += u64::from(kind(block) == "document");
            for citation in block["citations"].as_array().into_iter().flatten() {
                let is_known = citation["document_index"].as_u64().is_some_and(|number| number < documents);
                require(is_known, &format!("messages.{index}: citation of a document that is not there"))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A sound request with everything that can be broken.
    fn sound() -> Value {
        let thought = |text: &str| json!({"type": "thinking", "thinking": text, "signature": sign(text)});
        let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "Bash", "input": {}});
        let result = |id: &str| json!({"type": "tool_result", "tool_use_id": id, "content": "x"});
        json!({
            "model": "claude", "max_tokens": 100, "thinking": {"type": "adaptive"},
            "tools": [{"name": "Bash"}, {"name": "Read"}],
            "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral", "ttl": "1h"}}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "go"}, {"type": "document", "source": {}}]},
                {"role": "system", "content": "mode"},
                {"role": "assistant", "content": [thought("a"), call("1"), call("2")]},
                {"role": "user", "content": [result("1"), result("2"), {"type": "text", "text": "note", "cache_control": {"type": "ephemeral"}}]},
                {"role": "assistant", "content": [{"type": "text", "text": "cited", "citations": [{"document_index": 0}]}]},
                {"role": "user", "content": "more"},
                {"role": "assistant", "content": [thought("b"), call("3")]},
                {"role": "user", "content": [result("3")]},
            ],
        })
    }

    #[test]
    fn a_sound_request_is_taken() {
        assert_eq!(check_request(&sound(), 100_000), Ok(()));
    }

    /// Requests broken on purpose, one by one: a check that lets any of them pass would prove nothing.
    #[test]
    fn thirty_broken_requests_are_refused() {
        type Break = (&'static str, fn(&mut Value));
        fn messages(request: &mut Value) -> &mut Vec<Value> {
            request["messages"].as_array_mut().expect("messages")
        }
        fn content(request: &mut Value, index: usize) -> &mut Vec<Value> {
            request["messages"][index]["content"].as_array_mut().expect("blocks")
        }
        let broken: [Break; 32] = [
            ("no model", |request| request["model"] = json!("")),
            ("no messages", |request| request["messages"] = json!([])),
            ("messages are no list", |request| request["messages"] = json!("x")),
            ("an answer first", |request| drop(messages(request).drain(..2))),
            ("an unknown role", |request| request["messages"][5]["role"] = json!("tool")),
            ("a system message behind an answer", |request| {
                messages(request).insert(5, json!({"role": "system", "content": "x"}));
            }),
            ("two system messages", |request| {
                messages(request).insert(2, json!({"role": "system", "content": "x"}));
            }),
            ("a system message before a user's", |request| drop(messages(request).drain(2..5))),
            ("an empty text", |request| content(request, 0)[0]["text"] = json!("")),
            ("an empty string", |request| request["messages"][5]["content"] = json!("")),
            ("no blocks", |request| request["messages"][4]["content"] = json!([])),
            ("no content", |request| request["messages"][4]["content"] = Value::Null),
            ("a call of the user's", |request| request["messages"][6]["role"] = json!("user")),
            ("a result of the model's", |request| request["messages"][7]["role"] = json!("assistant")),
            ("a call without a result", |request| drop(content(request, 3).remove(1))),
            ("a result without a call", |request| drop(content(request, 2).remove(2))),
            ("a result for another call", |request| content(request, 7)[0]["tool_use_id"] = json!("1")),
            ("a result twice", |request| {
                let again = content(request, 3)[0].clone();
                content(request, 3).insert(0, again);
            }),
            ("results behind text", |request| content(request, 3).rotate_right(1)),
            ("results a message late", |request| {
                messages(request).insert(7, json!({"role": "user", "content": "wait"}));
            }),
            ("calls at the end", |request| drop(messages(request).pop())),
            ("the same id twice", |request| {
                content(request, 6)[1]["id"] = json!("1");
                content(request, 7)[0]["tool_use_id"] = json!("1");
            }),
            ("a changed thought", |request| content(request, 2)[0]["thinking"] = json!("other")),
            ("a changed signature", |request| content(request, 6)[0]["signature"] = json!("sig-0")),
            ("an emptied thought", |request| content(request, 2)[0]["thinking"] = json!("")),
            ("calls without their thought", |request| drop(content(request, 6).remove(0))),
            ("a thought of the user's", |request| {
                let thought = content(request, 6)[0].clone();
                content(request, 0).push(thought);
            }),
            ("five markers", |request| {
                for _ in 0..3 {
                    content(request, 0)
                        .push(json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}));
                }
            }),
            ("an hour behind minutes", |request| {
                content(request, 0)[0]["cache_control"] = json!({"type": "ephemeral"});
                content(request, 3)[2]["cache_control"] = json!({"type": "ephemeral", "ttl": "1h"});
            }),
            ("a cited document gone", |request| drop(content(request, 0).pop())),
            ("two tools of a name", |request| request["tools"][1]["name"] = json!("Bash")),
            ("an unknown block", |request| content(request, 4)[0]["type"] = json!("input_text")),
        ];
        for (name, change) in broken {
            let mut request = sound();
            change(&mut request);
            assert!(check_request(&request, 100_000).is_err(), "{name}");
        }
        assert!(check_request(&sound(), 100).is_err_and(|reason| reason.starts_with("prompt is too long")));
    }
}
