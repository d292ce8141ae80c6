//! Tests of the inbox review: keys and screens.

use crossterm::event::KeyCode;

use super::tests::Desk;
use super::{Effect, Input};
use crate::command::{Command, Message, Notice, Topic};
use crate::page::{Page, Row};
use crate::review::{Inbox, InboxItem, Review, SkillChoice, Whose};
use crate::services::Surface;
use crate::state::Size;

fn item(name: &str, has_scope: bool) -> InboxItem {
    let mut page = Page::new(format!("{name}, all of it"));
    page.rows.push(Row::Diff("-old\n+new\n".into()));
    page.aside("session s1, m2");
    InboxItem {
        name: name.into(),
        kind: "new skill, 2026-01-02 03:04".into(),
        about: "Runs the tests, then releases. Use when asked about a release or a version.".into(),
        problem: None,
        page,
        files: vec![format!("/inbox/{name}").into()],
        has_scope,
    }
}

/// A harness with two skills under review.
fn desk() -> Desk {
    let mut desk = Desk::new();
    desk.enter("/skills inbox").check_sent(&[Command::OpenInbox(Inbox::Skills)]);
    let items = vec![item("release", true), item("tides.patch", false)];
    desk.hear(Message::Inbox(Inbox::Skills, items)).hear(Message::Done).look();
    desk.printed.clear();
    desk
}

fn accept(name: &str, whose: Whose) -> Command {
    Command::Review(Inbox::Skills, Review::Accept { name: name.into(), whose })
}

/// The rows of the dialog.
fn dialog(desk: &Desk) -> Vec<String> {
    let rows = desk.block().into_iter().skip_while(|row| !row.starts_with('─')).skip(1);
    rows.take_while(|row| !row.starts_with('─')).map(|row| row.trim_end().to_string()).collect()
}

#[test]
fn what_waits_is_listed_with_what_can_be_done() {
    let mut desk = desk();
    let expected = [
        "2 skills and changes wait",
        "▸ release  new skill, 2026-01-02 03:04",
        "  tides.patch  new skill, 2026-01-02 03:04",
        "    Runs the tests, then releases. Use when asked about a",
        "    release or a version.",
        "  Enter shows it · a makes it yours · p the project's",
        "  e edits first · d dismisses · u undoes the last",
        "  Esc leaves",
    ];
    assert_eq!(dialog(&desk), expected);
    desk.press(KeyCode::Down);
    let expected =
        ["  Enter shows it · a applies it · e edits first", "  d dismisses · u undoes the last · Esc leaves"];
    assert_eq!(dialog(&desk)[5..], expected);
    desk.press(KeyCode::Char('d'));
    assert_eq!(dialog(&desk)[5..], ["Dismiss tides.patch for good? d does it, any other key does", "not."]);
    desk.press(KeyCode::Esc).press(KeyCode::Esc);
    assert!(desk.state.dialogs.is_empty());
}

#[test]
fn a_problem_is_shown_instead() {
    let mut desk = Desk::new();
    let broken = InboxItem { problem: Some("it does not fit".into()), ..item("tides", false) };
    desk.hear(Message::Inbox(Inbox::Memory, vec![broken]));
    assert_eq!(
        dialog(&desk)[..3],
        ["1 change to memory waits", "▸ tides  new skill, 2026-01-02 03:04", "    it does not fit"]
    );
}

#[test]
fn enter_shows_everything_above() {
    let mut desk = desk();
    desk.press(KeyCode::Enter).check_printed(&[
        "",
        "release, all of it",
        "  -old",
        "  +new",
        "  session s1, m2",
    ]);
    assert_eq!(desk.state.dialogs.len(), 1, "the list stays");
}

#[track_caller]
fn check(keys: &str, expected: &[Command]) {
    let mut desk = desk();
    desk.type_text(keys).check_sent(expected);
}

#[test]
fn keys_settle_what_is_chosen() {
    check("a", &[accept("release", Whose::Users)]);
    check("p", &[accept("release", Whose::Projects)]);
    check("ja", &[accept("tides.patch", Whose::Users)]);
    check("jjjka", &[accept("release", Whose::Users)]);
    // A change already belongs to a skill, and so to a scope.
    check("jp", &[]);
    check("e", &[Command::EditWaiting(Inbox::Skills, "release".into())]);
    check("dd", &[Command::Review(Inbox::Skills, Review::Dismiss { name: "release".into() })]);
    check("dy", &[Command::Review(Inbox::Skills, Review::Dismiss { name: "release".into() })]);
    check("dx", &[]);
    check("dna", &[accept("release", Whose::Users)]);
    check("u", &[Command::Review(Inbox::Skills, Review::Undo)]);
    // One decision at a time.
    check("aadd", &[accept("release", Whose::Users)]);
    check("xyz", &[]);
}

#[test]
fn the_list_is_what_is_there_now() {
    let mut desk = desk();
    desk.press(KeyCode::Down).type_text("a");
    desk.hear(Message::InboxChanged(Inbox::Skills, vec![item("release", true)]));
    desk.hear(Message::Notice(Notice::good("it counts now"))).hear(Message::Done);
    assert_eq!(dialog(&desk)[..2], ["1 skill or change waits", "▸ release  new skill, 2026-01-02 03:04"]);
    desk.type_text("a").hear(Message::InboxChanged(Inbox::Skills, Vec::new())).hear(Message::Done);
    assert_eq!(dialog(&desk), ["Nothing more waits", "  u undoes the last · Esc leaves"]);
    desk.sent.clear();
    desk.type_text("aped").press(KeyCode::Enter).check_sent(&[]);
    desk.type_text("u").check_sent(&[Command::Review(Inbox::Skills, Review::Undo)]);
    // Another inbox has its own list.
    desk.hear(Message::InboxChanged(Inbox::Memory, vec![item("private", false)]));
    assert_eq!(dialog(&desk)[0], "Nothing more waits");
}

#[test]
fn an_empty_inbox_is_told() {
    let mut desk = Desk::new();
    desk.hear(Message::Inbox(Inbox::Memory, Vec::new()));
    desk.check_printed(&["· Nothing waits.", "  /memory inbox undo takes back what was accepted last."]);
    assert!(desk.state.dialogs.is_empty());
}

#[test]
fn without_a_screen_the_list_is_printed() {
    let mut desk = Desk::new();
    desk.state.surface = Surface::Lines;
    desk.hear(Message::Inbox(Inbox::Skills, vec![item("release", true)]));
    assert!(desk.state.dialogs.is_empty());
    desk.check_printed(&[
        "1 skill or change waits",
        "",
        "release (new skill, 2026-01-02 03:04)",
        "  Runs the tests, then releases. Use when asked about a",
        "  release or a version.",
        "",
        "What to do about it",
        "  /skills inbox show NAME shows one of them with its",
        "  evidence.",
        "  /skills inbox accept NAME, edit NAME and dismiss NAME",
        "  settle it.",
        "  /skills inbox accept NAME project makes it the project's.",
        "  /skills inbox undo takes back what was accepted last.",
    ]);
}

#[test]
fn what_is_edited_is_accepted_then() {
    let mut desk = desk();
    let then = Command::Review(Inbox::Skills, Review::AcceptEdited { name: "release".into() });
    let files = vec!["/inbox/release".into()];
    desk.others.clear();
    desk.hear(Message::Edit { files, then: then.clone() }).hear(Message::Done);
    assert_eq!(desk.others, [Effect::EditFiles(vec!["/inbox/release".into()], then.clone())]);
    desk.take(Input::EditedFiles(then.clone()));
    desk.check_sent(&[then]);
}

#[test]
fn skills_are_commands_with_what_they_are_for() {
    let mut desk = Desk::new();
    let skill = |name: &str, is_enabled| SkillChoice {
        name: name.into(),
        description: "Reads tide tables.".into(),
        is_enabled,
        is_builtin: false,
    };
    desk.hear(Message::Skills(vec![skill("Tide tables", true), skill("tidy", false)]));
    desk.type_text("/tid").check_block_has("▸ /tide-tables  Reads tide tables.");
    desk.press(KeyCode::Tab);
    assert_eq!(desk.state.editor.text(), "/tide-tables ");
    let used = |words: &str| Command::UseSkill { skill: "Tide tables".into(), words: words.into() };
    desk.enter("of today").check_sent(&[used("of today")]).check_printed(&["❯ /tide-tables of today"]);
    desk.hear(Message::Done).enter("/tide-tables").check_sent(&[used("")]);
    desk.hear(Message::Done).enter("/skills").check_sent(&[Command::Show(Topic::Skills)]);
    desk.hear(Message::Done)
        .type_text("/skills en")
        .press(KeyCode::Tab)
        .check_block_has("/skills enable tidy");
    desk.press(KeyCode::Enter).check_sent(&[Command::EnableSkill("tidy".into())]);
    desk.printed.clear();
    desk.hear(Message::Done).enter("/help");
    assert!(desk.printed.iter().any(|line| line.contains("/tide-tables")), "{:?}", desk.printed);
}

#[test]
fn the_list_fits_every_size() {
    let mut desk = desk();
    for width in [40, 57, 80, 132, 200] {
        for height in [6, 10, 24, 60] {
            desk.take(Input::Resize(Size { width, height }));
            let frame = crate::view::frame(&desk.state);
            assert!(frame.lines.len() < height, "{width}x{height}");
            assert!(frame.lines.iter().all(|line| line.columns() < width), "{width}x{height}");
        }
    }
}
