use longhaul_conversation::{Origin, Part, Role, ToolCall, ToolResult, ToolStatus};
use proptest::prelude::*;
use serde_json::json;

use super::*;

/// Builds a session from lines: `u` is typed by the user, `a` said by the model, `c` a command it runs, `r` its
/// output, `f` its failure.
fn session(lines: &[&str]) -> Vec<Message> {
    let mut calls = 0;
    let message = |(place, line): (usize, &&str)| {
        let (kind, text) = line.split_once(' ').unwrap_or((line, ""));
        let (role, part) = match kind {
            "u" => (Role::User, Part::user_text(text)),
            "a" => (Role::Model, Part::model_text(text)),
            "c" => {
                calls += 1;
                let call = ToolCall::new(format!("c{calls}"), "bash").with_args(json!({ "command": text }));
                (Role::Model, Part::call(call))
            }
            "r" => (Role::User, Part::result(ToolResult::text(format!("c{calls}"), text))),
            "f" => {
                let result = ToolResult::text(format!("c{calls}"), text).with_status(ToolStatus::Failed);
                (Role::User, Part::result(result))
            }
            _ => panic!("a line starts with u, a, c, r or f"),
        };
        Message::new(format!("{place}"), role, vec![part])
    };
    lines.iter().enumerate().map(message).collect()
}

fn requests_of(lines: &[&str]) -> UserRequests {
    let mut requests = UserRequests::default();
    session(lines).iter().for_each(|message| requests.observe(message));
    requests
}

fn shown(requests: &UserRequests) -> Vec<String> {
    let show = |request: &UserRequest| match &request.state {
        RequestState::Open { claim: None } => format!("open: {}", request.text),
        RequestState::Open { claim: Some(claim) } => format!("claimed {}: {}", claim.message, request.text),
        RequestState::Done(evidence) => format!("done {}: {}", evidence.message, request.text),
        RequestState::Replaced { by } => format!("replaced {by}: {}", request.text),
    };
    requests.all().iter().map(show).collect()
}

#[track_caller]
fn check(lines: &[&str], expected: &[&str]) {
    assert_eq!(shown(&requests_of(lines)), expected);
}

#[test]
fn an_ask_is_open_until_the_model_says_done_and_the_user_moves_on() {
    check(&["u Fix the bug"], &["open: Fix the bug"]);
    check(&["u Fix the bug", "a I've fixed it."], &["claimed m2: Fix the bug"]);
    check(
        &["u Fix the bug", "a I've fixed it.", "u now add docs"],
        &["done m2: Fix the bug", "open: now add docs"],
    );
    check(&["u Fix the bug", "a Fixed.", "u thanks!"], &["done m2: Fix the bug"]);
    check(&["u Check part 1", "a Part 1 done.", "u go home"], &["done m2: Check part 1", "open: go home"]);
    check(&["u 修复这个错误", "a 已修复。", "u 推送"], &["done m2: 修复这个错误", "open: 推送"]);
}

#[test]
fn words_of_intent_or_failure_are_no_evidence() {
    check(&["u Fix the bug", "a I will look.", "u add docs"], &["open: Fix the bug", "open: add docs"]);
    check(
        &["u Fix the bug", "a I could not get it fixed.", "u add docs"],
        &["open: Fix the bug", "open: add docs"],
    );
    check(&["u Fix the bug", "a Should I say it is fixed?"], &["open: Fix the bug"]);
}

#[test]
fn work_that_is_still_running_is_not_done() {
    check(&["u Fix the bug", "a Fixed.", "c ls", "u add docs"], &["open: Fix the bug", "open: add docs"]);
    check(&["u Fix the bug", "c ls", "r a.rs", "a Fixed."], &["claimed m4: Fix the bug"]);
}

#[test]
fn a_passed_check_is_evidence_and_a_failed_one_is_not() {
    check(
        &["u Fix the bug", "c cargo test", "r 5 passed; 0 failed", "a Here you are."],
        &["claimed m3: Fix the bug"],
    );
    check(
        &["u Fix the bug", "c cargo test", "r 4 passed; 1 failed", "a Here you are."],
        &["open: Fix the bug"],
    );
    check(&["u Fix the bug", "c cargo test", "f boom", "a Here you are."], &["open: Fix the bug"]);
    check(&["u Fix the bug", "c ls", "r a.rs", "a Here you are."], &["open: Fix the bug"]);
}

#[test]
fn a_question_is_done_when_answered() {
    check(
        &["u why is it slow?", "a Because of the loop.", "u add docs"],
        &["done m2: why is it slow?", "open: add docs"],
    );
}

#[test]
fn a_complaint_keeps_an_ask_open() {
    let lines = ["u Fix the bug", "a Fixed.", "u still broken!"];
    check(&lines, &["open: Fix the bug"]);
    assert_eq!(requests_of(&lines).all()[0].messages, [Ordinal(1), Ordinal(3)]);
    check(&["u Fix the bug", "a Fixed.", "u /undo", "u add docs"], &["open: Fix the bug", "open: add docs"]);
}

#[test]
fn going_on_opens_and_closes_nothing() {
    check(&["u Fix the bug", "a I've found it. Go on?", "u yes", "a Fixed."], &["claimed m4: Fix the bug"]);
}

#[test]
fn replaced_requests() {
    check(
        &["u Draw a line chart", "u draw a bar chart instead"],
        &["replaced m2: Draw a line chart", "open: draw a bar chart instead"],
    );
    check(&["u Draw a chart", "u never mind"], &["replaced m2: Draw a chart"]);
    check(
        &["u Draw a chart", "a Done.", "u no, the chart must show percents, fix that"],
        &["replaced m3: Draw a chart", "open: no, the chart must show percents, fix that"],
    );
    check(
        &["u 1. draw the chart\n2. write the docs", "u actually, write the docs in French"],
        &["open: draw the chart", "replaced m2: write the docs", "open: actually, write the docs in French"],
    );
}

#[test]
fn the_same_words_are_the_same_ask() {
    let requests = requests_of(&["u Fix the bug", "a Fixed.", "u add docs", "u fix the bug!"]);
    let current = requests.current().expect("something was asked");
    assert_eq!(
        (current.text.as_str(), &current.messages[..]),
        ("fix the bug!", &[Ordinal(1), Ordinal(4)][..])
    );
    check(
        &["u Fix the bug", "a Fixed.", "u add docs", "u fix the bug!"],
        &["open: add docs", "open: fix the bug!"],
    );
    check(
        &["u Read the log file part 1", "u Read the log file part 2"],
        &["open: Read the log file part 1", "open: Read the log file part 2"],
    );
}

#[test]
fn what_is_asked_again_and_again_stays_one_ask() {
    let lines = ["u 1. fix the bug\n2. add docs", "a Fixed."].repeat(100);
    let requests = requests_of(&lines);
    let shown: Vec<_> =
        requests.all().iter().map(|request| (request.text.as_str(), request.messages.len())).collect();
    assert_eq!(shown, [("fix the bug", 100), ("add docs", 100)]);
    check(&lines, &["claimed m200: fix the bug", "claimed m200: add docs"]);
}

#[test]
fn only_what_a_person_typed_asks() {
    let mut requests = UserRequests::default();
    requests.observe(&Message::new("u", Role::User, vec![Part::text(Origin::Hook, "Fix the bug")]));
    assert!(requests.all().is_empty() && requests.current().is_none());
}

const LINES: &[&str] = &[
    "u Fix the bug",
    "u add docs",
    "u yes",
    "u never mind",
    "u still broken",
    "u 1. a test\n2. a fix",
    "u thanks",
    "a Fixed.",
    "a Why?",
    "c cargo test",
    "r 1 passed",
    "f no",
    "u fix the bug instead",
    "u /undo",
];

proptest! {
    #[test]
    fn any_text_is_heard_without_panic(text in any::<String>(), more in "[a-z不要。?*`\\-0-9 \n:./]{0,80}") {
        for text in [text, more] {
            let mut requests = UserRequests::default();
            for role in [Role::User, Role::Model, Role::User] {
                let origin = if role == Role::User { Origin::User } else { Origin::Model };
                requests.observe(&Message::new("m", role, vec![Part::text(origin, text.clone())]));
            }
        }
    }

    #[test]
    fn resuming_from_disk_changes_nothing(picks in proptest::collection::vec(0..LINES.len(), 1..20), at in 0usize..20) {
        let lines: Vec<_> = picks.iter().map(|pick| LINES[*pick]).collect();
        let messages = session(&lines);
        let at = at.min(messages.len());
        let mut resumed = UserRequests::default();
        messages[..at].iter().for_each(|message| resumed.observe(message));
        let json = serde_json::to_string(&resumed).expect("plain data");
        let mut resumed: UserRequests = serde_json::from_str(&json).expect("what was written");
        messages[at..].iter().for_each(|message| resumed.observe(message));
        prop_assert_eq!(resumed, requests_of(&lines));
    }

    #[test]
    fn what_is_done_has_evidence_from_before_the_user_moved_on(picks in proptest::collection::vec(0..LINES.len(), 1..20)) {
        let lines: Vec<_> = picks.iter().map(|pick| LINES[*pick]).collect();
        for request in requests_of(&lines).all() {
            if let RequestState::Done(evidence) = &request.state {
                prop_assert!(evidence.message > request.messages[0] && (evidence.message.0 as usize) <= lines.len());
            }
        }
    }
}
