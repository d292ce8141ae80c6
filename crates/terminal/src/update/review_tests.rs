//! Tests of the inbox review: keys and screens.

use crossterm::event::KeyCode;

use super::tests::Harness;
use super::{UiEffect, UiInput};
use crate::inbox::{AcceptScope, InboxItem, InboxKind, ReviewDecision, SkillChoice};
use crate::notice::Notice;
use crate::page::{Page, Row};
use crate::protocol::{DriverCommand, DriverMessage, Topic};
use crate::services::Surface;
use crate::state::TerminalSize;

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
fn harness() -> Harness {
    let mut harness = Harness::new();
    harness.enter("/skills inbox").check_sent(&[DriverCommand::OpenInbox(InboxKind::Skills)]);
    let items = vec![item("release", true), item("tides.patch", false)];
    harness.receive(DriverMessage::Inbox(InboxKind::Skills, items)).receive(DriverMessage::Done).look();
    harness.printed.clear();
    harness
}

fn accept(name: &str, scope: AcceptScope) -> DriverCommand {
    DriverCommand::Review(InboxKind::Skills, ReviewDecision::Accept { name: name.into(), scope })
}

/// The rows of the dialog.
fn dialog(harness: &Harness) -> Vec<String> {
    let rows = harness.block().into_iter().skip_while(|row| !row.starts_with('─')).skip(1);
    rows.take_while(|row| !row.starts_with('─')).map(|row| row.trim_end().to_string()).collect()
}

#[test]
fn what_waits_is_listed_with_what_can_be_done() {
    let mut harness = harness();
    let expected = [
        "2 proposed skills and changes",
        "▸ release  new skill, 2026-01-02 03:04",
        "  tides.patch  new skill, 2026-01-02 03:04",
        "    Runs the tests, then releases. Use when asked about a",
        "    release or a version.",
        "  Enter to show · p to accept for the project",
        "  a for all of yours · e to edit first · d to dismiss",
        "  u to undo the last · Esc to close",
    ];
    assert_eq!(dialog(&harness), expected);
    harness.press(KeyCode::Down);
    let expected = [
        "  Enter to show · a to apply · e to edit first",
        "  d to dismiss · u to undo the last · Esc to close",
    ];
    assert_eq!(dialog(&harness)[5..], expected);
    harness.press(KeyCode::Char('d'));
    assert_eq!(
        dialog(&harness)[5..],
        ["Dismiss tides.patch for good? Press d to confirm, any other", "key to cancel."]
    );
    harness.press(KeyCode::Esc).press(KeyCode::Esc);
    assert!(harness.state.dialogs.is_empty());
}

#[test]
fn a_problem_is_shown_instead() {
    let mut harness = Harness::new();
    let broken = InboxItem { problem: Some("it does not fit".into()), ..item("tides", false) };
    harness.receive(DriverMessage::Inbox(InboxKind::Memory, vec![broken]));
    assert_eq!(
        dialog(&harness)[..3],
        ["1 proposed change to memory", "▸ tides  new skill, 2026-01-02 03:04", "    it does not fit"]
    );
}

#[test]
fn enter_shows_everything_above() {
    let mut harness = harness();
    harness.press(KeyCode::Enter).check_printed(&[
        "",
        "release, all of it",
        "  -old",
        "  +new",
        "  session s1, m2",
    ]);
    assert_eq!(harness.state.dialogs.len(), 1, "the list stays");
}

#[track_caller]
fn check(keys: &str, expected: &[DriverCommand]) {
    let mut harness = harness();
    harness.type_text(keys).check_sent(expected);
}

#[test]
fn keys_settle_what_is_chosen() {
    check("a", &[accept("release", AcceptScope::User)]);
    check("p", &[accept("release", AcceptScope::Project)]);
    check("ja", &[accept("tides.patch", AcceptScope::User)]);
    check("jjjka", &[accept("release", AcceptScope::User)]);
    // A change already belongs to a skill, and so to a scope.
    check("jp", &[]);
    check("e", &[DriverCommand::EditWaiting(InboxKind::Skills, "release".into())]);
    check(
        "dd",
        &[DriverCommand::Review(InboxKind::Skills, ReviewDecision::Dismiss { name: "release".into() })],
    );
    check(
        "dy",
        &[DriverCommand::Review(InboxKind::Skills, ReviewDecision::Dismiss { name: "release".into() })],
    );
    check("dx", &[]);
    check("dna", &[accept("release", AcceptScope::User)]);
    check("u", &[DriverCommand::Review(InboxKind::Skills, ReviewDecision::Undo)]);
    // One decision at a time.
    check("aadd", &[accept("release", AcceptScope::User)]);
    check("xyz", &[]);
}

#[test]
fn the_list_is_what_is_there_now() {
    let mut harness = harness();
    harness.press(KeyCode::Down).type_text("a");
    harness.receive(DriverMessage::InboxChanged(InboxKind::Skills, vec![item("release", true)]));
    harness.receive(DriverMessage::Notice(Notice::good("it counts now"))).receive(DriverMessage::Done);
    assert_eq!(
        dialog(&harness)[..2],
        ["1 proposed skill or change", "▸ release  new skill, 2026-01-02 03:04"]
    );
    harness
        .type_text("a")
        .receive(DriverMessage::InboxChanged(InboxKind::Skills, Vec::new()))
        .receive(DriverMessage::Done);
    assert_eq!(dialog(&harness), ["The inbox is empty", "  u to undo the last · Esc to close"]);
    harness.sent.clear();
    harness.type_text("aped").press(KeyCode::Enter).check_sent(&[]);
    harness.type_text("u").check_sent(&[DriverCommand::Review(InboxKind::Skills, ReviewDecision::Undo)]);
    // Another inbox has its own list.
    harness.receive(DriverMessage::InboxChanged(InboxKind::Memory, vec![item("private", false)]));
    assert_eq!(dialog(&harness)[0], "The inbox is empty");
}

#[test]
fn an_empty_inbox_is_told() {
    let mut harness = Harness::new();
    harness.receive(DriverMessage::Inbox(InboxKind::Memory, Vec::new()));
    harness.check_printed(&[
        "· The inbox is empty.",
        "  Type /memory inbox undo to undo the last accepted change.",
    ]);
    assert!(harness.state.dialogs.is_empty());
}

#[test]
fn without_a_screen_the_list_is_printed() {
    let mut harness = Harness::new();
    harness.state.surface = Surface::Lines;
    harness.receive(DriverMessage::Inbox(InboxKind::Skills, vec![item("release", true)]));
    assert!(harness.state.dialogs.is_empty());
    harness.check_printed(&[
        "1 proposed skill or change",
        "",
        "release (new skill, 2026-01-02 03:04)",
        "  Runs the tests, then releases. Use when asked about a",
        "  release or a version.",
        "",
        "Commands",
        "  /skills inbox show NAME: show a proposal with its evidence",
        "  /skills inbox accept NAME, edit NAME or dismiss NAME:",
        "  decide about it",
        "  /skills inbox accept NAME user: accept it for every",
        "  project",
        "  /skills inbox undo: undo the last accepted change",
    ]);
}

#[test]
fn what_is_edited_is_accepted_then() {
    let mut harness = harness();
    let then =
        DriverCommand::Review(InboxKind::Skills, ReviewDecision::AcceptEdited { name: "release".into() });
    let files = vec!["/inbox/release".into()];
    harness.others.clear();
    harness.receive(DriverMessage::Edit { files, then: then.clone() }).receive(DriverMessage::Done);
    assert_eq!(harness.others, [UiEffect::EditFiles(vec!["/inbox/release".into()], then.clone())]);
    harness.handle(UiInput::EditedFiles(then.clone()));
    harness.check_sent(&[then]);
}

#[test]
fn skills_are_commands_with_what_they_are_for() {
    let mut harness = Harness::new();
    let skill = |name: &str, is_enabled| SkillChoice {
        name: name.into(),
        description: "Reads tide tables.".into(),
        is_enabled,
        is_builtin: false,
    };
    harness.receive(DriverMessage::Skills(vec![skill("Tide tables", true), skill("tidy", false)]));
    harness.type_text("/tid").check_block_has("▸ /tide-tables  Reads tide tables.");
    harness.press(KeyCode::Tab);
    assert_eq!(harness.state.editor.text(), "/tide-tables ");
    let used = |words: &str| DriverCommand::UseSkill { skill: "Tide tables".into(), words: words.into() };
    harness.enter("of today").check_sent(&[used("of today")]).check_printed(&["❯ /tide-tables of today"]);
    harness.receive(DriverMessage::Done).enter("/tide-tables").check_sent(&[used("")]);
    harness.receive(DriverMessage::Done).enter("/skills").check_sent(&[DriverCommand::Show(Topic::Skills)]);
    harness
        .receive(DriverMessage::Done)
        .type_text("/skills en")
        .press(KeyCode::Tab)
        .check_block_has("/skills enable tidy");
    harness.press(KeyCode::Enter).check_sent(&[DriverCommand::EnableSkill("tidy".into())]);
    harness.printed.clear();
    harness.receive(DriverMessage::Done).enter("/help");
    assert!(harness.printed.iter().any(|line| line.contains("/tide-tables")), "{:?}", harness.printed);
}

#[test]
fn the_list_fits_every_size() {
    let mut harness = harness();
    for width in [40, 57, 80, 132, 200] {
        for height in [6, 10, 24, 60] {
            harness.handle(UiInput::Resize(TerminalSize { width, height }));
            let frame = crate::view::frame(&harness.state);
            assert!(frame.lines.len() < height, "{width}x{height}");
            assert!(frame.lines.iter().all(|line| line.columns() < width), "{width}x{height}");
        }
    }
}
