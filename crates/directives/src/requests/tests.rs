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
        RequestState::Open { reason: None } => format!("open: {}", request.text),
        RequestState::Open { reason: Some(reason) } => format!("left {}: {}", reason.message, request.text),
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
fn a_request_is_open_while_the_model_works_and_done_when_it_answers() {
    check(&["u Fix the bug"], &["open: Fix the bug"]);
    check(&["u Fix the bug", "c ls", "r a.rs"], &["open: Fix the bug"]);
    check(&["u Fix the bug", "c ls", "r a.rs", "a Here you are."], &["done m4: Fix the bug"]);
    check(&["u Fix the bug", "a I've fixed it."], &["done m2: Fix the bug"]);
    check(
        &["u Fix the bug", "a I've fixed it.", "u now add docs"],
        &["done m2: Fix the bug", "open: now add docs"],
    );
    check(&["u Fix the bug", "a Fixed.", "u thanks!"], &["done m2: Fix the bug"]);
    check(&["u why is it slow?", "a Because of the loop."], &["done m2: why is it slow?"]);
    check(&["u 修复这个错误", "a 已修复。", "u 推送"], &["done m2: 修复这个错误", "open: 推送"]);
}

#[test]
fn work_goes_on_behind_an_announcement_and_behind_new_calls() {
    check(&["u Fix the bug", "a Let me look at the parser."], &["open: Fix the bug"]);
    check(&["u Fix the bug", "a Here are the files:"], &["open: Fix the bug"]);
    check(&["u Fix the bug", "a Fixed.", "c cargo test"], &["open: Fix the bug"]);
    // Who announces and does nothing has stopped, once the user speaks.
    check(
        &[
            "u Fix the bug in the parser",
            "a Let me look.",
            "u Write about seven llamas climbing snowy Andes mountains",
        ],
        &[
            "left m2: Fix the bug in the parser",
            "open: Write about seven llamas climbing snowy Andes mountains",
        ],
    );
}

#[test]
fn an_end_can_leave_work_undone() {
    check(&["u Fix the bug", "a I could not fix it: the server is down."], &["left m2: Fix the bug"]);
    check(&["u Fix the bug", "a Which of the two parsers do you mean?"], &["left m2: Fix the bug"]);
    check(&["u Fix the bug", "a I fixed it. Should I also add a test?"], &["done m2: Fix the bug"]);
    check(&["u Fix the bug", "a API Error: 529 overloaded"], &["left m2: Fix the bug"]);
    check(&["u 修复这个错误", "a 无法完成：没有权限。"], &["left m2: 修复这个错误"]);
    check(&["u corrige el error", "a No pude encontrar el archivo."], &["left m2: corrige el error"]);
    // Part of it is done, and this is not.
    check(
        &[
            "u remove the old files and push the branch",
            "a Removed the files. I did not push the branch: it is protected.",
        ],
        &["left m2: remove the old files and push the branch"],
    );
}

#[test]
fn a_failed_check_at_the_end_leaves_work_undone() {
    check(
        &["u Fix the bug", "c cargo test", "r 5 passed; 0 failed", "a Here you are."],
        &["done m3: Fix the bug"],
    );
    check(
        &["u Fix the bug", "c cargo test", "r 4 passed; 1 failed", "a Here you are."],
        &["left m3: Fix the bug"],
    );
    check(&["u Fix the bug", "c cargo test", "f boom", "a Here you are."], &["left m3: Fix the bug"]);
    check(&["u Fix the bug", "c cargo test", "f boom", "a I fixed the bug."], &["done m4: Fix the bug"]);
}

#[test]
fn a_message_in_the_middle_of_the_work_joins_it() {
    let both = ["u Fix the bug", "c ls", "r a.rs", "u also add a test"];
    check(&both, &["open: Fix the bug", "open: also add a test"]);
    check(
        &[both[0], both[1], both[2], both[3], "a Both done."],
        &["done m5: Fix the bug", "done m5: also add a test"],
    );
    // What is only told is for the work.
    check(&["u Fix the bug", "c ls", "r a.rs", "u the parser is in the src folder"], &["open: Fix the bug"]);
    check(
        &["u Fix the bug", "a Which parser do you mean?", "u the one in the src folder"],
        &["open: Fix the bug"],
    );
}

#[test]
fn the_same_step_again_of_something_else_has_the_last_one_done() {
    check(
        &["u List the files of part 1", "c ls", "r a.rs", "u List the files of part 2"],
        &["done m4: List the files of part 1", "open: List the files of part 2"],
    );
}

#[test]
fn handing_in_ends_the_turn() {
    let mut requests = requests_of(&["u Fix the bug"]);
    let call = ToolCall::new("f", "attempt_completion").with_args(json!({ "result": "The bug is fixed." }));
    requests.observe(&Message::new("1", Role::Model, vec![Part::call(call)]));
    assert_eq!(shown(&requests), ["done m2: Fix the bug"]);
    check(
        &["u Fix the bug", "c echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git diff", "r diff"],
        &["done m2: Fix the bug"],
    );
}

#[test]
fn an_interruption_leaves_it_open() {
    let mut requests = requests_of(&["u Fix the bug", "c ls", "r a.rs", "a I found it."]);
    let notice = Part::text(Origin::Hook, "[Request interrupted by user]");
    requests.observe(&Message::new("4", Role::User, vec![notice]));
    assert_eq!(shown(&requests), ["left m5: Fix the bug"]);
}

#[test]
fn aiders_failures_go_back_to_the_model() {
    let report = |text: &str| Message::new("t", Role::User, vec![Part::text(Origin::Tool, text)]);
    let mut requests = requests_of(&["u Fix the bug", "a Here is the change."]);
    requests.observe(&report("[tool output]\nTokens: 2k sent.\nApplied edit to a.py"));
    assert_eq!(shown(&requests), ["done m2: Fix the bug"]);
    requests.observe(&report("[tool output]\nApplied edit to a.py\nAttempt to fix test errors? yes"));
    requests.observe(&session(&["a Here is another change."])[0]);
    assert_eq!(shown(&requests), ["left m4: Fix the bug"]);
    requests.observe(&report("[tool output]\nApplied edit to a.py"));
    assert_eq!(shown(&requests), ["done m5: Fix the bug"]);
}

#[test]
fn output_in_text_keeps_the_turn_going() {
    let mut requests = requests_of(&["u Fix the bug", "a I list the files."]);
    let output = Part::text(Origin::Tool, "<returncode>0</returncode>\n<output>a.rs</output>");
    requests.observe(&Message::new("t", Role::User, vec![output]));
    assert_eq!(shown(&requests), ["open: Fix the bug"]);
}

#[test]
fn a_short_complaint_reopens_and_a_telling_one_is_a_request() {
    let lines = ["u Fix the bug", "a Fixed.", "u still broken!"];
    check(&lines, &["open: Fix the bug"]);
    assert_eq!(requests_of(&lines).all()[0].messages, [Ordinal(1), Ordinal(3)]);
    check(
        &["u Fix the bug", "a Fixed.", "u i don't see the button on the first page"],
        &["done m2: Fix the bug", "open: i don't see the button on the first page"],
    );
    check(&["u Fix the bug", "a Fixed.", "u /undo"], &["replaced m3: Fix the bug"]);
}

#[test]
fn a_nod_takes_up_what_the_model_proposed() {
    check(
        &["u Fix the bug", "a I fixed it. Shall I commit?", "u yes"],
        &["done m2: Fix the bug", "open: Shall I commit? yes"],
    );
    check(
        &["u Fix the bug", "a Which of the two parsers is it?", "u yes", "a Fixed."],
        &["done m4: Fix the bug"],
    );
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
}

#[test]
fn what_is_put_off_stays_open_until_it_is_asked_for() {
    let lines =
        ["u Fix the login. We'll write the upload docs later.", "a Fixed.", "u now write the upload docs"];
    check(&lines[..2], &["left m1: We'll write the upload docs later.", "done m2: Fix the login."]);
    check(
        &lines,
        &[
            "replaced m3: We'll write the upload docs later.",
            "done m2: Fix the login.",
            "open: now write the upload docs",
        ],
    );
}

#[test]
fn the_same_words_are_the_same_request() {
    let lines = ["u Fix the bug", "a Fixed.", "u add docs", "a Added.", "u fix the bug!"];
    let requests = requests_of(&lines);
    let current = requests.current().expect("something was asked");
    assert_eq!(
        (current.text.as_str(), &current.messages[..]),
        ("fix the bug!", &[Ordinal(1), Ordinal(5)][..])
    );
    check(&lines, &["done m4: add docs", "open: fix the bug!"]);
    let lines = ["u fix the bug in the parser", "a Fixed."].repeat(100);
    assert_eq!(requests_of(&lines).all()[0].messages.len(), 100);
    check(&lines, &["done m200: fix the bug in the parser"]);
}

#[track_caller]
fn check_goal(lines: &[&str], expected: &[&str]) {
    let requests = requests_of(lines);
    let goal: Vec<String> =
        requests.goal().iter().map(|request| format!("{} {}", request.messages[0], request.text)).collect();
    assert_eq!(goal, expected);
}

#[test]
fn a_follow_up_leaves_the_goal_and_a_new_topic_takes_its_place() {
    let first = "u Build a parser for invoices that reads totals, dates and vendors";
    let done = "a I built the invoice parser; it reads totals, dates and vendors.";
    let backup = "u Set up a nightly backup job for the staging database in Frankfurt";
    let (first_goal, backup_goal) = (format!("m1 {}", &first[2..]), format!("m3 {}", &backup[2..]));
    check_goal(&[first], &[&first_goal]);
    check_goal(&[first, done, "u commit and push"], &[&first_goal, "m3 commit and push"]);
    check_goal(&[first, done, "u commit and push", "a Pushed."], &[&first_goal]);
    check_goal(&[first, done, backup], &[&backup_goal]);
    // What an end left undone still stands.
    check_goal(
        &[first, "a I could not finish it: samples are missing.", backup],
        &[&first_goal, &backup_goal],
    );
    check_goal(
        &["u 给报表页面增加导出按钮，支持三种格式", "a 已完成。", "u 提交并推送", "a 已推送。"],
        &["m1 给报表页面增加导出按钮，支持三种格式"],
    );
    check_goal(
        &[first, done, "u /clear\n\nwhite login page shown after signing out, please mend it"],
        &["m3 white login page shown after signing out, please mend it"],
    );
}

#[test]
fn a_summary_of_another_program_states_the_goal_where_nothing_else_does() {
    let summary = "This session is being continued from a previous conversation.\n\n1. Primary Request and Intent:\n   The user \
                   wants the importer to accept CSV files.\n\n2. Files:\n   - a.rs";
    let message = Message::new("s", Role::User, vec![Part::text(Origin::Summary, summary)]);
    let mut requests = UserRequests::default();
    requests.observe(&message);
    assert_eq!(shown(&requests), ["open: The user wants the importer to accept CSV files."]);
    let mut known = requests_of(&["u Fix the bug"]);
    known.observe(&message);
    assert_eq!(shown(&known), ["open: Fix the bug"]);
}

#[test]
fn commands_of_claude_code_count_by_what_they_are_for() {
    let command = |name: &str, arguments: &str| {
        vec![
            Part::text(Origin::Hook, format!("<command-name>/{name}</command-name>\n<command-args>")),
            Part::user_text(arguments),
            Part::text(Origin::Hook, "</command-args>"),
        ]
    };
    let mut requests = UserRequests::default();
    requests.observe(&Message::new("u", Role::User, command("compact", "keep the names of the tables")));
    assert!(requests.all().is_empty());
    let mut parts = command("review", "pull request 12");
    parts.push(Part::user_text("Review the change with care. Look for leaks first. Then write a report."));
    requests.observe(&Message::new("u", Role::User, parts));
    let expected = "open: /review pull request 12 — Review the change with care. Look for leaks first.";
    assert_eq!(shown(&requests), [expected]);
    // The definition of a command is nobody's words, and says all the same what it is for.
    let name = "<command-message>init</command-message>\n<command-name>/init</command-name>";
    let definition = Part::text(
        Origin::Memory,
        "Please describe this code base in a file. Add how to build it. Be brief.",
    );
    let mut requests = UserRequests::default();
    requests.observe(&Message::new("u", Role::User, vec![Part::text(Origin::Hook, name), definition]));
    assert_eq!(shown(&requests), ["open: /init — Please describe this code base in a file."]);
}

#[test]
fn a_long_text_beside_a_short_one_is_what_that_is_about() {
    let hook = format!("# Workflow\n\n{}", "Run the checklist before you say done. ".repeat(150));
    let parts = vec![Part::user_text(hook), Part::user_text("rename the module to uploads")];
    let mut requests = UserRequests::default();
    requests.observe(&Message::new("u", Role::User, parts));
    assert_eq!(shown(&requests), ["open: rename the module to uploads"]);
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
