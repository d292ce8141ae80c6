//! What a session remembers of its compactions outlasts the process: failures, and what was spent.

use std::fs;

use longhaul_testkit::fake_provider::{FakeProvider, Reply, gemini, openai};
use serde_json::{Value, json};

use crate::support::{Sandbox, text, words};

const SNAPSHOT: &str = "<state_snapshot><overall_goal>Talk about word0001.</overall_goal></state_snapshot>";

/// A sandbox where a model of its own, at a provider of its own, writes the snapshots.
fn sandbox(summary: &FakeProvider, compaction: &str) -> Sandbox {
    let answers = (0..40).map(|turn| gemini::text(&format!("Answer {turn}. {}", words(300))));
    let mut sandbox = Sandbox::gemini(answers);
    sandbox.set("OPENAI_BASE_URL", &format!("{}/v1", summary.url()));
    sandbox.settings(&format!(
        r#"{{"skills": {{"enabled": false}}, "longhaul": {{"windows": {{"gemini-2.5-flash": 6000}}, "compaction": {{"model": "gpt-4o"{compaction}}}}}}}"#
    ));
    sandbox.answer(&["-p", "Recite."]);
    sandbox
}

/// Goes on in so many processes; tells how often the model for snapshots was asked in each.
fn go_on(sandbox: &Sandbox, summary: &FakeProvider, turns: usize) -> Vec<usize> {
    let mut asked = Vec::new();
    for _ in 0..turns {
        let before = summary.requests().len();
        sandbox.answer(&["-p", &words(300), "--resume"]);
        asked.push(summary.requests().len() - before);
    }
    asked
}

fn show(sandbox: &Sandbox) -> Value {
    let shown = sandbox.run(&["sessions", "show", "latest", "--json"]);
    serde_json::from_slice(&shown.stdout).unwrap_or_else(|_| panic!("{}", text(&shown.stderr)))
}

#[test]
fn a_model_that_says_nothing_is_asked_once_more_and_each_request_counts() {
    let summary = FakeProvider::start(vec![Reply::events::<String>([]); 40]);
    let sandbox = sandbox(&summary, "");
    let asked = go_on(&sandbox, &summary, 14);
    assert!(asked.iter().all(|requests| [0, 2].contains(requests)), "{asked:?}");
    assert_eq!(summary.requests().len(), 6, "three failures open the breaker: {asked:?}");
    let shown = show(&sandbox);
    let state = &shown["state"];
    assert_eq!((&state["breaker"], &state["spend"]["calls"]), (&json!("open"), &json!(6)), "{state}");
    assert_eq!(state["spend"]["tokens"], state["spend"]["estimated"], "nobody reported anything: {state}");
    assert!(state["spend"]["tokens"].as_u64().is_some_and(|tokens| tokens > 6_000), "{state}");
}

#[test]
fn a_model_that_failed_three_times_is_not_asked_again() {
    let summary = FakeProvider::start((0..60).map(|_| openai::error(400, "invalid", "invalid", "No.")));
    let sandbox = sandbox(&summary, "");
    let asked = go_on(&sandbox, &summary, 14);
    assert_eq!(asked.iter().filter(|calls| **calls > 0).count(), 3, "{asked:?}");
    let shown = show(&sandbox);
    let state = &shown["state"];
    assert_eq!((&state["breaker"], &state["failures"]), (&json!("open"), &json!(3)), "{state}");
    assert_eq!(state["spend"]["calls"], summary.requests().len(), "{state}");
    let told = text(&sandbox.run(&["sessions", "show", "latest"]).stdout);
    assert!(told.contains("models no longer write snapshots"), "{told}");

    // A copy remembers it; a reset gives the model another chance.
    sandbox.answer(&["-p", "Go on.", "--resume", "--fork"]);
    assert_eq!(show(&sandbox)["state"]["breaker"], "open");
    let reset = text(&sandbox.run(&["sessions", "reset", "latest"]).stdout);
    assert!(reset.starts_with("Reset: models may write snapshots again."), "{reset}");
    let state = &show(&sandbox)["state"];
    assert_eq!(
        (&state["breaker"], &state["failures"], &state["latch"]),
        (&json!("closed"), &json!(0), &json!("clear"))
    );
    assert_eq!(state["spend"]["calls"], summary.requests().len(), "what was spent stays spent");
    assert!(go_on(&sandbox, &summary, 3).iter().any(|calls| *calls > 0));
}

#[test]
fn what_may_be_spent_is_spent_once_however_many_processes_there_are() {
    // Without figures of the provider's, estimates count.
    let chunks = [(json!({"content": SNAPSHOT}), None), (json!({}), Some("stop"))];
    let answer =
        || Reply::events(chunks.iter().map(|(delta, end)| openai::event(&openai::chunk(delta, *end))));
    let replies = || (0..40).map(|_| answer());
    let summary = FakeProvider::start(replies());
    let free = sandbox(&summary, "");
    let asked = go_on(&free, &summary, 10);
    assert!(asked.iter().sum::<usize>() > 2, "{asked:?}");
    let spent = show(&free)["state"]["spend"]["tokens"].as_u64().expect("a number");

    let summary = FakeProvider::start(replies());
    let capped = sandbox(&summary, &format!(r#", "maxTokens": {}"#, spent / 2));
    let asked_with_cap = go_on(&capped, &summary, 10);
    let total: usize = asked_with_cap.iter().sum();
    assert!(total > 0 && total < asked.iter().sum(), "{asked_with_cap:?} of {asked:?}");
    let spent_with_cap = show(&capped)["state"]["spend"]["tokens"].as_u64().expect("a number");
    assert!(spent_with_cap <= spent / 2, "{spent_with_cap} of {spent}");

    let reset = capped.run(&["sessions", "reset", "latest", "--spend", "--json"]);
    let reset: Value = serde_json::from_slice(&reset.stdout).expect("one object");
    assert_eq!((&reset["reset"], &reset["state"]["spend"]["tokens"]), (&json!(true), &json!(0)));
    assert!(go_on(&capped, &summary, 4).iter().sum::<usize>() > 0);
}

#[test]
fn resetting_what_is_as_it_was_changes_nothing() {
    let sandbox = Sandbox::gemini([gemini::text("Hello.")] as [Reply; 1]);
    sandbox.answer(&["-p", "hi"]);
    let before = sandbox.session();
    let reset = sandbox.run(&["sessions", "reset", "latest"]);
    assert!(text(&reset.stdout).starts_with("Nothing to reset"), "{}", text(&reset.stderr));
    assert_eq!(sandbox.session(), before);
    fs::write(sandbox.path("work/other.json"), r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#)
        .expect("written");
    let refused = text(&sandbox.run(&["sessions", "reset", "other.json"]).stderr);
    assert!(refused.contains("cannot be continued") && refused.contains("hint:"), "{refused}");
}
