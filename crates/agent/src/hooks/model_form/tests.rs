use super::*;
use longhaul_conversation::{ToolCall, ToolDeclaration, ToolResult};

/// A user asks, the model calls a tool, the tool answers, the model answers, the user asks again.
fn request() -> Request {
    let call = Part::call(ToolCall::new("c", "ls"));
    let result = Part::result(ToolResult::text("c", "files"));
    let messages = vec![
        Message::new("1", Role::User, vec![Part::user_text("List."), Part::user_text("Please.")]),
        Message::new("2", Role::Model, vec![Part::model_text("Looking."), call]),
        Message::new("3", Role::User, vec![result]),
        Message::new("4", Role::Model, vec![Part::model_text("Files.")]),
        Message::new("5", Role::User, vec![Part::user_text("Thanks.")]),
    ];
    let tool = |name: &str| ToolDeclaration {
        name: name.into(),
        description: String::new(),
        parameters: Value::Null,
    };
    Request { model: "m".into(), messages, tools: vec![tool("ls"), tool("cat")], ..Request::default() }
}

/// `role: words`, with `+` for a call and `=` for a result.
fn shape(request: &Request) -> Vec<String> {
    let line = |message: &Message| {
        let calls = "+".repeat(message.calls().count());
        let results = "=".repeat(message.results().count());
        format!("{}: {}{calls}{results}", message.role.as_str(), text_of(message))
    };
    request.messages.iter().map(line).collect()
}

fn apply(over: &Value) -> Result<Request, String> {
    apply_request(request(), over.as_object().expect("an object"))
}

fn say(role: &str, content: &str) -> Value {
    json!({"role": role, "content": content})
}

#[track_caller]
fn check_messages(messages: &Value, expected: &[&str]) {
    let changed = apply(&json!({"messages": messages})).expect("it can be taken");
    assert_eq!(shape(&changed), expected);
}

#[test]
fn hooks_are_told_who_said_what() {
    let mut request = request();
    request.sampling.temperature = Some(0.5);
    let expected = json!({
        "model": "m",
        "messages": [
            say("user", "List.\nPlease."), say("model", "Looking."), say("model", "Files."), say("user", "Thanks.")
        ],
        "config": {"temperature": 0.5},
        "toolConfig": {"mode": "AUTO", "allowedFunctionNames": ["ls", "cat"]},
    });
    assert_eq!(encode_request(&request), expected);
    // What a hook gives back unchanged changes nothing.
    let same = apply_request(request.clone(), expected.as_object().expect("an object"));
    assert_eq!(same, Ok(request));
}

#[test]
fn words_are_replaced_where_they_stand() {
    let messages = json!([
        say("user", "Show."),
        say("model", "Looking."),
        say("model", "None."),
        say("user", "Thanks.")
    ]);
    let expected = ["user: Show.", "model: Looking.+", "user: =", "model: None.", "user: Thanks."];
    check_messages(&messages, &expected);
}

#[test]
fn messages_may_be_added_and_taken_away() {
    let first = say("user", "List.\nPlease.");
    let (looking, files, thanks) = (say("model", "Looking."), say("model", "Files."), say("user", "Thanks."));
    check_messages(
        &json!([say("system", "Be kind."), first, looking, files, thanks]),
        &[
            "user: Be kind.",
            "user: List.Please.",
            "model: Looking.+",
            "user: =",
            "model: Files.",
            "user: Thanks.",
        ],
    );
    check_messages(
        &json!([first, looking, files, thanks, say("user", "Be brief.")]),
        &[
            "user: List.Please.",
            "model: Looking.+",
            "user: =",
            "model: Files.",
            "user: Thanks.",
            "user: Be brief.",
        ],
    );
    check_messages(
        &json!([first, looking, thanks]),
        &["user: List.Please.", "model: Looking.+", "user: =", "user: Thanks."],
    );
    // Calls and results stay, whatever becomes of the words.
    check_messages(
        &json!([{"role": "user", "content": [{"type": "text", "text": "Only "}, "this."]}]),
        &["user: Only this.", "model: +", "user: ="],
    );
}

#[track_caller]
fn check_refused(over: &Value, expected: &str) {
    let refused = apply(over).expect_err("it cannot be taken");
    assert!(refused.contains(expected), "{refused}");
}

#[test]
fn broken_requests_are_refused() {
    check_refused(&json!({"model": " "}), "is not a name");
    check_refused(&json!({"model": 3}), "is not a name");
    check_refused(&json!({"messages": "hello"}), "is not a list");
    check_refused(&json!({"messages": [say("user", " ")]}), "message 0 is empty");
    check_refused(&json!({"messages": [{"role": "tool", "content": "x"}]}), "message 0 has no role");
    check_refused(&json!({"messages": [{"role": "user", "content": {"a": 1}}]}), "is empty");
    check_refused(&json!({"config": []}), "is not an object");
    check_refused(&json!({"config": {"temperature": "hot"}}), "temperature");
    check_refused(&json!({"config": {"topP": 2}}), "topP");
    check_refused(&json!({"config": {"maxOutputTokens": 0}}), "maxOutputTokens");
    check_refused(&json!({"config": {"stopSequences": [1]}}), "stopSequences");
    check_refused(&json!({"toolConfig": {"mode": "SOME"}}), "unknown mode");
    check_refused(&json!({"toolConfig": {"allowedFunctionNames": ["rm"]}}), "unknown tools: rm");
    let lone = Message::new("1", Role::Model, vec![Part::model_text("Hello.")]);
    let request = Request { messages: vec![lone], ..Request::default() };
    let over = json!({"messages": [say("model", "Hello!")]});
    let refused = apply_request(request, over.as_object().expect("an object"));
    assert_eq!(refused.expect_err("it cannot be taken"), "no user message would be left");
}

#[test]
fn nothing_comes_between_a_call_and_its_result() {
    let mut request = request();
    request.messages[2].parts.push(Part::text(Origin::Hook, "That was all."));
    let mut longer: Vec<Value> = encode_request(&request)["messages"].as_array().expect("a list").clone();
    longer.insert(2, say("user", "Wait."));
    let over = json!({"messages": longer});
    let refused = apply_request(request, over.as_object().expect("an object"));
    assert!(refused.is_err_and(|reason| reason.contains("separated from their results")));
}

#[test]
fn settings_of_the_answer_are_taken() {
    let config = json!({
        "temperature": 0, "topP": 0.5, "topK": 4, "maxOutputTokens": 100, "stopSequences": ["END"], "candidateCount": 1
    });
    let expected = Sampling {
        temperature: Some(0.0),
        top_p: Some(0.5),
        top_k: Some(4),
        max_output: Some(TokenCount(100)),
        stop: vec!["END".into()],
    };
    let changed = apply(&json!({"config": config, "model": "other"})).expect("it can be taken");
    assert_eq!((changed.sampling, changed.model.as_str()), (expected, "other"));
}

#[track_caller]
fn check_tools(mode: Option<&str>, allowed: &[&str], names: &[&str], choice: ToolChoice) {
    let chosen = choose_tools(request(), mode, allowed).expect("it can be taken");
    let found: Vec<&str> = chosen.tools.iter().map(|tool| tool.name.as_str()).collect();
    assert_eq!((found.as_slice(), chosen.tool_choice), (names, choice));
}

#[test]
fn tools_are_chosen() {
    check_tools(None, &[], &["ls", "cat"], ToolChoice::Free);
    check_tools(Some("any"), &["cat", "rm"], &["cat"], ToolChoice::Required);
    check_tools(Some("AUTO"), &["ls"], &["ls"], ToolChoice::Free);
    // The declarations stay: calls in the conversation need them.
    check_tools(Some("NONE"), &["ls"], &["ls", "cat"], ToolChoice::Forbidden);
}

#[track_caller]
fn check_response(response: &Value, expected: Option<(&str, FinishReason)>) {
    let decoded = decode_response(response.as_object().expect("an object")).ok();
    let found = decoded.map(|answer| {
        let finish = answer.finish.clone().expect("it is whole");
        (text_of(&answer.into_message("a")), finish)
    });
    assert_eq!(found, expected.map(|(text, finish)| (text.to_string(), finish)));
}

#[test]
fn answers_are_read_in_every_form() {
    use FinishReason::{Filtered, Length, Stop};
    check_response(&json!({"text": "Hi."}), Some(("Hi.", Stop)));
    let candidate = |parts: Value, finish: &str| json!({"candidates": [{"content": {"parts": parts}, "finishReason": finish}]});
    check_response(&candidate(json!(["Hi", "."]), "STOP"), Some(("Hi.", Stop)));
    check_response(&candidate(json!([{"text": "Hi."}]), "MAX_TOKENS"), Some(("Hi.", Length)));
    check_response(&candidate(json!([]), "SAFETY"), Some(("", Filtered)));
    check_response(&json!({"candidates": []}), None);
    check_response(&json!({}), None);
    let reply = Message::new("a", Role::Model, vec![Part::model_text("Hi.")]);
    let told = encode_response(&reply, Some(&Length));
    check_response(&told, Some(("Hi.", Length)));
}
