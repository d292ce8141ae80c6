//! Requests and answers in the form in which hooks know them: text only, the same for every provider.
//!
//! Changes of hooks are put back into the real request, in which calls, results and media stay as they are. A change that
//! would leave a broken request behind is refused as a whole.

use longhaul_conversation::{
    FinishReason, Message, MessageId, Origin, Part, Request, ResponseBuilder, ResponseEvent, Role, Sampling,
    TokenCount, ToolChoice, find_faults,
};
use serde_json::{Map, Value, json};

use crate::tools::OwnTool;

/// A message as hooks see it: role and text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HookText {
    role: Role,
    content: String,
}

/// The request as hooks see it.
pub(crate) fn encode_request(request: &Request) -> Value {
    let messages: Vec<Value> = texts_of(&request.messages)
        .into_iter()
        .map(|(_, HookText { role, content })| json!({"role": role.as_str(), "content": content}))
        .collect();
    let sampling = &request.sampling;
    let mut config = Map::new();
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            config.insert(name.into(), value);
        }
    };
    set("temperature", sampling.temperature.map(Value::from));
    set("topP", sampling.top_p.map(Value::from));
    set("topK", sampling.top_k.map(Value::from));
    set("maxOutputTokens", sampling.max_output.map(|most| most.0.into()));
    set("stopSequences", (!sampling.stop.is_empty()).then(|| sampling.stop.clone().into()));
    let names: Vec<&str> = request.tools.iter().map(|tool| tool.name.as_str()).collect();
    let mode = match request.tool_choice {
        ToolChoice::Free => "AUTO",
        ToolChoice::Required => "ANY",
        ToolChoice::Forbidden => "NONE",
    };
    json!({
        "model": request.model,
        "messages": messages,
        "config": config,
        "toolConfig": {"mode": mode, "allowedFunctionNames": names},
    })
}

/// The request with the fields that a hook replaces, or why they cannot be taken.
pub(crate) fn apply_request(mut request: Request, over: &Map<String, Value>) -> Result<Request, String> {
    if let Some(model) = over.get("model") {
        let name = model.as_str().map(str::trim).filter(|name| !name.is_empty());
        request.model = name.ok_or("\"model\" is not a name")?.to_string();
    }
    if let Some(messages) = over.get("messages") {
        let new = decode_messages(messages)?;
        request.messages = replace_words(request.messages, &new);
        if !request.messages.iter().any(|message| message.role == Role::User && !message.is_empty()) {
            return Err("no user message would be left".into());
        }
        if !find_faults(&request.messages).is_empty() {
            return Err("tool calls would be separated from their results".into());
        }
    }
    if let Some(config) = over.get("config") {
        let config = config.as_object().ok_or("\"config\" is not an object")?;
        request.sampling = decode_sampling(request.sampling, config)?;
    }
    if let Some(Value::Object(config)) = over.get("toolConfig") {
        let mode = config.get("mode").and_then(Value::as_str);
        let names = config.get("allowedFunctionNames").and_then(Value::as_array);
        let names: Vec<&str> = names.into_iter().flatten().filter_map(Value::as_str).collect();
        request = choose_tools(request, mode, &names)?;
    }
    Ok(request)
}

/// The request with fewer tools, or with another way to use them.
pub(crate) fn choose_tools(
    mut request: Request,
    mode: Option<&str>,
    allowed: &[&str],
) -> Result<Request, String> {
    request.tool_choice = match mode.map(str::to_ascii_uppercase).as_deref() {
        None => request.tool_choice,
        Some("AUTO" | "MODE_UNSPECIFIED") => ToolChoice::Free,
        Some("ANY") => ToolChoice::Required,
        Some("NONE") => ToolChoice::Forbidden,
        Some(_) => return Err(format!("unknown mode {:?}", mode.unwrap_or_default())),
    };
    if !allowed.is_empty() && request.tool_choice != ToolChoice::Forbidden {
        let is_allowed = |name: &str| allowed.contains(&name);
        if !request.tools.iter().any(|tool| is_allowed(&tool.name)) {
            return Err(format!("unknown tools: {}", allowed.join(", ")));
        }
        // Who may not say that it is done could never end.
        request.tools.retain(|tool| is_allowed(&tool.name) || tool.name == OwnTool::CompleteTask.name());
    }
    Ok(request)
}

/// The texts of messages, each with the index of its message.
fn texts_of(messages: &[Message]) -> Vec<(usize, HookText)> {
    let text_of = |(index, message): (usize, &Message)| {
        let texts: Vec<&str> = message.parts.iter().filter_map(Part::as_text).collect();
        let content = texts.join("\n");
        (!content.trim().is_empty()).then_some((index, HookText { role: message.role, content }))
    };
    messages.iter().enumerate().filter_map(text_of).collect()
}

fn decode_messages(value: &Value) -> Result<Vec<HookText>, String> {
    let messages = value.as_array().ok_or("\"messages\" is not a list")?;
    let decode = |(index, message): (usize, &Value)| {
        let role = match message.get("role").and_then(Value::as_str) {
            Some("user" | "system") => Role::User,
            Some("model" | "assistant") => Role::Model,
            _ => return Err(format!("message {index} has no role")),
        };
        let content = message.get("content").and_then(words).filter(|content| !content.trim().is_empty());
        let content = content.ok_or_else(|| format!("message {index} is empty"))?;
        Ok(HookText { role, content })
    };
    messages.iter().enumerate().map(decode).collect()
}

/// A text, or the texts of a list.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let text = |part: &Value| {
                part.as_str().or_else(|| part.get("text")?.as_str()).unwrap_or_default().to_string()
            };
            Some(parts.iter().map(text).collect())
        }
        _ => None,
    }
}

/// The messages with these words in place of what they say. Whatever else is in them stays.
fn replace_words(mut messages: Vec<Message>, new: &[HookText]) -> Vec<Message> {
    let old = texts_of(&messages);
    let same = |(one, other): &(&(usize, HookText), &HookText)| one.1 == **other;
    let before = old.iter().zip(new).take_while(same).count();
    let most_after = old.len().min(new.len()) - before;
    let after = old.iter().rev().zip(new.iter().rev()).take_while(same).count().min(most_after);
    let (gone, come) = (&old[before..old.len() - after], &new[before..new.len() - after]);
    let fits =
        gone.len() == come.len() && gone.iter().zip(come).all(|((_, gone), come)| gone.role == come.role);
    if fits {
        for ((index, _), text) in gone.iter().zip(come) {
            rewrite(&mut messages[*index], Some(&text.content));
        }
        return messages;
    }
    let start = match old.get(before) {
        Some((index, _)) => *index,
        None => messages.len(),
    };
    gone.iter().for_each(|(index, _)| rewrite(&mut messages[*index], None));
    let added = come.iter().enumerate().map(|(number, text)| {
        let id = MessageId::made_up(format_args!("hook-{number}"));
        Message::new(id, text.role, vec![Part::text(Origin::Hook, text.content.clone())])
    });
    messages.splice(start..start, added);
    messages.retain(|message| !message.parts.is_empty());
    messages
}

/// Replaces the text of a message, or removes it; calls, results and media stay.
pub(crate) fn rewrite(message: &mut Message, words: Option<&str>) {
    let first = message.parts.iter().position(|part| part.as_text().is_some());
    let origin = if message.role == Role::Model { Origin::Model } else { Origin::Hook };
    message.parts.retain(|part| part.as_text().is_none());
    if let Some(words) = words {
        let index = first.unwrap_or(message.parts.len()).min(message.parts.len());
        message.parts.insert(index, Part::text(origin, words));
    }
}

fn decode_sampling(mut sampling: Sampling, config: &Map<String, Value>) -> Result<Sampling, String> {
    let number = |name: &str, least: f64, most: f64| -> Result<Option<f64>, String> {
        let Some(value) = config.get(name) else { return Ok(None) };
        let number = value.as_f64().filter(|number| (least..=most).contains(number));
        number.map(Some).ok_or_else(|| format!("{value} is not a valid {name:?}"))
    };
    sampling.temperature = number("temperature", 0.0, 2.0)?.or(sampling.temperature);
    sampling.top_p = number("topP", 0.0, 1.0)?.or(sampling.top_p);
    sampling.top_k = number("topK", 1.0, 1e6)?.map(|number| number as u64).or(sampling.top_k);
    let most = number("maxOutputTokens", 1.0, 1e9)?.map(|number| TokenCount(number as u64));
    sampling.max_output = most.or(sampling.max_output);
    if let Some(stop) = config.get("stopSequences") {
        let texts = stop.as_array().map(|texts| texts.iter().map(|text| text.as_str().map(str::to_string)));
        sampling.stop =
            texts.and_then(Iterator::collect).ok_or("\"stopSequences\" is not a list of strings")?;
    }
    Ok(sampling)
}

/// An answer as hooks see it.
pub(crate) fn encode_response(reply: &Message, finish: Option<&FinishReason>) -> Value {
    let text = text_of(reply);
    let finish = match finish {
        Some(FinishReason::Length) => "MAX_TOKENS",
        Some(FinishReason::Filtered) => "SAFETY",
        Some(FinishReason::Other(_)) => "OTHER",
        Some(FinishReason::Stop | FinishReason::ToolCalls) | None => "STOP",
    };
    let mut response = json!({
        "text": text,
        "candidates": [{"content": {"role": "model", "parts": [text]}, "finishReason": finish, "index": 0}],
    });
    if let Some(usage) = &reply.usage {
        response["usageMetadata"] = json!({
            "promptTokenCount": usage.input,
            "candidatesTokenCount": usage.output,
            "totalTokenCount": usage.total,
        });
    }
    response
}

/// The text of a message.
pub(crate) fn text_of(message: &Message) -> String {
    message.parts.iter().filter_map(Part::as_text).collect()
}

/// The answer that a hook gives in a model's place, or the reason why it is none.
pub(crate) fn decode_response(response: &Map<String, Value>) -> Result<ResponseBuilder, String> {
    let candidate = response.get("candidates").and_then(|candidates| candidates.get(0));
    let parts = candidate.and_then(|candidate| words(candidate.get("content")?.get("parts")?));
    let text = parts.or_else(|| response.get("text")?.as_str().map(str::to_string));
    let text = text.ok_or("the response has no text")?;
    let finish = match candidate.and_then(|candidate| candidate.get("finishReason")?.as_str()) {
        Some("MAX_TOKENS") => FinishReason::Length,
        Some("SAFETY") => FinishReason::Filtered,
        _ => FinishReason::Stop,
    };
    let mut answer = ResponseBuilder::default();
    answer.add(ResponseEvent::TextDelta(text));
    answer.add(ResponseEvent::Finished(finish));
    Ok(answer)
}

#[cfg(test)]
mod tests;
