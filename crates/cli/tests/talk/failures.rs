//! Each failure is one sentence with a hint, whatever the provider does.

use std::net::TcpListener;

use longhaul_testkit::fake_provider::{Reply, Step, anthropic, gemini, openai};
use serde_json::{Value, json};

use crate::support::{KEY, Sandbox, Wire, lines, text};

#[test]
fn without_a_key_the_variables_are_named() {
    for (wire, variables) in [
        (Wire::Gemini, "set GEMINI_API_KEY or GOOGLE_API_KEY"),
        (Wire::OpenAi, "set OPENAI_API_KEY"),
        (Wire::Anthropic, "set ANTHROPIC_API_KEY"),
    ] {
        let mut sandbox = Sandbox::new(wire, []);
        for name in [
            "GEMINI_API_KEY",
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "GOOGLE_GEMINI_BASE_URL",
            "OPENAI_BASE_URL",
            "ANTHROPIC_BASE_URL",
        ] {
            sandbox.set(name, "");
        }
        sandbox.check_fails(&["-p", "hi"], &["no API key", variables]);
        assert!(sandbox.sessions().is_empty(), "nothing is begun that cannot go on");
    }
}

#[test]
fn any_one_key_is_enough() {
    let mut sandbox = Sandbox::new(Wire::Anthropic, [anthropic::texts(&["hello"])]);
    sandbox.set("GEMINI_API_KEY", "");
    sandbox.set("OPENAI_API_KEY", "");
    sandbox.unset("OPENAI_BASE_URL");
    assert_eq!(text(&sandbox.run(&["-p", "hi"]).stdout), "hello\n");
    assert_eq!(sandbox.server.requests()[0].body["model"], "claude-sonnet-5-5");
}

#[test]
fn a_server_of_ones_own_says_what_it_has() {
    let list = || Reply::json(200, &json!({"data": [{"id": "own-model", "max_model_len": 9_000}]}));
    let mut sandbox = Sandbox::new(Wire::OpenAi, [list(), list(), openai::text("hello")]);
    for name in ["GEMINI_API_KEY", "OPENAI_API_KEY", "ANTHROPIC_API_KEY"] {
        sandbox.set(name, "");
    }
    let output = sandbox.run(&["say hi"]);
    // Its window is no guess, so nothing is said of one.
    assert_eq!((text(&output.stdout).as_str(), text(&output.stderr).as_str()), ("hello\n", ""));
    assert_eq!(sandbox.server.requests()[2].body["model"], "own-model");
}

#[test]
fn refusals_are_explained() {
    let refused = |reply: Reply| Sandbox::gemini([reply]);
    let message = format!("Incorrect API key provided: {KEY}");
    let sandbox = Sandbox::new(Wire::OpenAi, [openai::error(401, "x", "invalid_api_key", &message)]);
    sandbox.check_fails(&["-p", "hi"], &["openai rejected the API key", "check that the key is complete"]);
    let missing = gemini::error(404, "NOT_FOUND", "models/gemini-2.5-flsh is not found", &json!([]));
    let sandbox = refused(missing);
    let output = sandbox.run(&["-m", "gemini-2.5-flsh", "-p", "hi"]);
    let said = text(&output.stderr);
    assert!(
        said.contains("unknown model \"gemini-2.5-flsh\"") && said.contains("did you mean gemini-2.5-flash"),
        "{said}"
    );
    refused(Reply::html(200, "Please sign in"))
        .check_fails(&["-p", "hi"], &["returned a web page", "Please sign in", "check the endpoint address"]);
    refused(Reply::new(200, "text/plain", "hello"))
        .check_fails(&["-p", "hi"], &["returned something other than an event stream"]);
    let quota = openai::error(429, "insufficient_quota", "insufficient_quota", "You exceeded your quota");
    Sandbox::new(Wire::OpenAi, [quota]).check_fails(&["-p", "hi"], &["quota exceeded"]);
    let odd = anthropic::error(400, "invalid_request_error", "messages: odd");
    Sandbox::new(Wire::Anthropic, [odd]).check_fails(&["-p", "hi"], &["rejected the request: messages: odd"]);
}

#[test]
fn an_unknown_model_is_not_asked_for() {
    let mut sandbox = Sandbox::gemini([]);
    sandbox.set("OPENAI_BASE_URL", "");
    let output = sandbox.run(&["-m", "zzz", "-p", "hi"]);
    assert!(text(&output.stderr).contains("unknown model \"zzz\""), "{}", text(&output.stderr));
    assert!(sandbox.sessions().is_empty());
    for arguments in [
        &["-p", "hi", "-m", "llama3"][..],
        &["eval", "nothing.json", "--summariser", "model", "-m", "llama3"],
    ] {
        let said = text(&sandbox.run(arguments).stderr);
        assert!(said.contains("OPENAI_BASE_URL") && said.contains("longhaul.providers"), "{said}");
    }
}

#[test]
fn a_host_that_is_not_there_is_named() {
    let mut sandbox = Sandbox::gemini([]);
    let port = TcpListener::bind(("127.0.0.1", 0)).and_then(|free| free.local_addr()).expect("a port").port();
    sandbox.set("GOOGLE_GEMINI_BASE_URL", &format!("http://127.0.0.1:{port}"));
    let host = format!("could not reach 127.0.0.1:{port}");
    sandbox.check_fails(&["-p", "hi"], &[&host, "check your network"]);
    // What was typed is not lost.
    assert!(sandbox.session().contains("\"hi\""), "{}", sandbox.session());
    sandbox.set("GOOGLE_GEMINI_BASE_URL", "localhost:1234");
    sandbox.check_fails(&["-p", "hi"], &["GOOGLE_GEMINI_BASE_URL", "must start with https://"]);
}

#[test]
fn an_answer_that_breaks_off_is_kept() {
    let cut = gemini::texts(&["Hel", "lo."]).only(1, Step::Cut);
    let refused = gemini::error(400, "INVALID_ARGUMENT", "no", &json!([]));
    let sandbox = Sandbox::gemini([cut, refused]);
    let output = sandbox.say(&["-p", "hi"]);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), "Hel\n".to_string()));
    let said = text(&output.stderr);
    assert!(
        said.contains("the response was interrupted") && said.contains("is kept in the session"),
        "{said}"
    );
    assert!(sandbox.session().contains("Hel"));
    let output = sandbox.say(&["-p", "hi", "--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(result["error"]["hint"].as_str().is_some_and(|hint| !hint.contains("kept")), "{result}");
}

#[test]
fn a_stream_that_stalls_is_not_waited_for_forever() {
    let stalls = gemini::texts(&["Hel", "lo."]).only(1, Step::Stall);
    let sandbox = Sandbox::gemini([stalls]);
    sandbox.settings(r#"{"longhaul": {"providers": {"gemini": {"idleSeconds": 1}}}}"#);
    sandbox.check_fails(&["-p", "hi"], &["the response was interrupted: no data for 1 s", "is kept"]);
}

#[test]
fn a_key_in_the_wrong_place_is_not_repeated() {
    let mut sandbox = Sandbox::gemini([]);
    for wrong in [
        r#""gemini": "KEY""#,
        r#""gemini": {"format": "KEY"}"#,
        r#""gemini": {"endpoint": "KEY"}"#,
        r#""gemini": {"keyVariable": "KEY"}"#,
        r#""gemini": {"idleSeconds": "KEY"}"#,
        r#""gemini": {"models": {"flash": {"window": "KEY"}}}"#,
    ] {
        let providers = wrong.replace("KEY", "my-homemade-secret");
        sandbox.set("GOOGLE_GEMINI_BASE_URL", "");
        sandbox.settings(&format!(r#"{{"longhaul": {{"providers": {{{providers}}}}}}}"#));
        let output = sandbox.run(&["-p", "hi"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{wrong}: {said}");
        assert!(said.contains("longhaul") || said.contains("settings.json"), "{wrong}: {said}");
        assert!(!said.contains("homemade"), "{wrong}: {said}");
    }
}

#[test]
fn failures_are_told_in_json_too() {
    let reply = || gemini::error(401, "UNAUTHENTICATED", "no", &json!([]));
    let sandbox = Sandbox::gemini([reply(), reply()]);
    let output = sandbox.say(&["-p", "hi", "--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!((output.status.code(), &result["status"]), (Some(1), &json!("failed")));
    assert!(result["error"]["message"].as_str().is_some_and(|text| text.contains("rejected the API key")));
    let stream = lines(&text(&sandbox.say(&["-p", "hi", "--output-format", "stream-json"]).stdout));
    assert_eq!(stream.last().expect("a result")["status"], "failed");
    // Also what fails before anything begins.
    let output =
        sandbox.run(&["-p", "hi", "-m", "nobody/knows", "--resume", "77", "--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert_eq!(
        (&result["status"], &result["session_id"].is_string()),
        (&json!("failed"), &false),
        "{result}"
    );
}

#[test]
fn a_withheld_answer_is_a_failure_and_a_short_one_a_warning() {
    let finish =
        |reason: &str| Reply::events([gemini::event(&gemini::chunk(&json!([{"text": "So"}]), Some(reason)))]);
    let sandbox = Sandbox::gemini([finish("SAFETY"), finish("MAX_TOKENS")]);
    sandbox.check_fails(&["-p", "hi"], &["withheld the answer"]);
    let output = sandbox.say(&["-p", "hi"]);
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("cut off at the model's output limit"), "{}", text(&output.stderr));
}
