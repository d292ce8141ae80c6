//! Starting a session sends nothing of another one to anybody.

use longhaul_testkit::fake_provider::{FakeProvider, gemini, openai};

use crate::support::Sandbox;

const SECRET: &str = "Which port does the zebra server use?";

/// A sandbox on which a conversation with Gemini was led, long enough to be worth a title.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(["It is 4711.", "Yes.", "Good day."].map(gemini::text));
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter(SECRET).wait_for("It is 4711.").wait_for("ask, or");
    terminal.enter("Sure?").wait_for("Yes.").wait_for("ask, or").enter("/quit");
    assert_eq!(terminal.end(), 0);
    assert_eq!(sandbox.server.requests().len(), 2);
    sandbox
}

#[test]
fn another_provider_hears_nothing_of_the_session_before() {
    let other = FakeProvider::start([openai::text("Hello to you.")]);
    let sandbox =
        sandbox().set("OPENAI_API_KEY", "b-key").set("OPENAI_BASE_URL", &format!("{}/v1", other.url()));
    let mut terminal = sandbox.start_with(80, 30, &["-m", "gpt-4o"]);
    terminal.wait_for("ask, or").enter("hi").wait_for("Hello to you.").wait_for("ask, or").enter("/quit");
    assert_eq!(terminal.end(), 0);
    let requests = other.requests();
    assert_eq!(requests.len(), 1, "the prompt, and nothing else");
    assert!(!requests[0].body.to_string().contains("zebra"), "{}", requests[0].body);
    assert_eq!(sandbox.server.requests().len(), 2, "nor is the first one asked");
    assert!(sandbox.sessions().contains("memoryScratchpad"), "notes need no model");
}

#[test]
fn nothing_is_sent_before_the_first_prompt() {
    let sandbox = sandbox();
    let mut terminal = sandbox.start();
    terminal.wait_for("ask, or").enter("/resume").wait_for("zebra").send("\u{1b}").wait_for("ask, or");
    assert_eq!(sandbox.server.requests().len(), 2);
    terminal.enter("hi").wait_for("Good day.").wait_for("ask, or").enter("/quit");
    assert_eq!(terminal.end(), 0);
    let requests = sandbox.server.requests();
    assert_eq!(requests.len(), 3, "the prompt, and nothing else");
    assert!(!requests[2].body.to_string().contains("zebra"));
}
