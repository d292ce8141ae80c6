//! Screens in every state, as people see them: `screens.txt` holds them all, for review and comparison. `BLESS=1 cargo
//! test -p longhaul-terminal screens` rewrites it.

use std::fmt::Write as _;
use std::path::Path;

use longhaul_agent::LimitOf;
use longhaul_compaction::{NameCount, Report, Status, Trigger};
use longhaul_conversation::ModelError;
use longhaul_engine::SummariserKind;
use longhaul_tools::{TodoItem, TodoStatus};

use super::*;
use crate::protocol::PastMessage;
use crate::status_line::{ContextMeter, Segment};

const SEEN: &str = include_str!("screens.txt");

/// The screens so far.
#[derive(Default)]
struct Album(String);

impl Album {
    /// Adds the lines printed since the last screen, and the block.
    fn keep(&mut self, name: &str, harness: &mut Harness) -> &mut Self {
        let width = harness.state.size.width;
        let rows: Vec<String> =
            std::mem::take(&mut harness.printed).into_iter().chain(harness.block()).collect();
        let widest = rows.iter().map(|row| longhaul_display::text::columns(row)).max().unwrap_or(0);
        assert!(widest < width, "{name}: {widest} columns of {width}");
        writeln!(self.0, "== {name} ({width} columns)").expect("a string grows");
        for row in rows {
            writeln!(self.0, "{}", row.trim_end()).expect("a string grows");
        }
        self
    }
}

/// A harness in the middle of a session.
fn harness(width: usize) -> Harness {
    let mut harness = Harness::new();
    harness.state.size = TerminalSize { width, height: 30 };
    let parts = [
        (Segment::System, 9_000),
        (Segment::Memory, 4_000),
        (Segment::History, 8_000),
        (Segment::Tools, 19_000),
    ];
    harness.state.status = StatusLine {
        model: "some-model".into(),
        folder: "~/code/app".into(),
        branch: Some("main".into()),
        is_trusted: true,
        memory_files: 2,
        rules: 1,
        cost: Some(0.0213),
        meter: ContextMeter {
            used: TokenCount(40_000),
            room: TokenCount(100_000),
            threshold: Some(TokenCount(50_000)),
            is_counted: true,
            parts: parts.map(|(segment, tokens)| (segment, TokenCount(tokens))).into(),
        },
        ..StatusLine::default()
    };
    harness
}

fn change() -> ApprovalRequest {
    let diff =
        "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,2 +1,2 @@\n fn a() {}\n-fn b() {}\n+fn b() { a() }\n";
    ApprovalRequest {
        call: ToolCall::new("c2", "replace").with_args(json!({"file_path": "src/lib.rs"})),
        preview: Preview::Change { path: "src/lib.rs".into(), diff: diff.into() },
        reason: Some("A rule of yours says to ask about src/.".into()),
        always: None,
        proposal: None,
    }
}

fn of_prompt(album: &mut Album, width: usize) {
    album.keep("the prompt", &mut harness(width));
    let mut typing = harness(width);
    typing.type_text("first line").control('j').type_text("second line with 日本語 and 😀");
    album.keep("several lines", &mut typing);
    let mut completing = harness(width);
    completing.type_text("/com");
    album.keep("commands are completed", &mut completing);
    let mut naming = harness(width);
    naming.type_text("see @s");
    naming.handle(UiInput::Files(vec!["src/main.rs".into(), "docs/some notes.md".into()]));
    album.keep("files are completed", &mut naming);
    let mut pasting = harness(width);
    pasting.handle(UiInput::Paste("line\n".repeat(40)));
    album.keep("a long paste", &mut pasting);
    let mut showing = harness(width);
    showing.type_text("What is wrong here? ");
    let image = PastedImage { mime: "image/png", bytes: vec![0; 34_500] };
    showing.handle(UiInput::Image(Ok(image), String::new()));
    album.keep("an image is attached", &mut showing);
    let mut commanding = harness(width);
    commanding.state.preferences.is_vim = true;
    commanding.type_text("Fix it").press(KeyCode::Esc);
    album.keep("vim keys in normal mode", &mut commanding);
    let mut searching = harness(width);
    searching.state.history.add("cargo test");
    searching.control('r').type_text("car");
    album.keep("history is searched", &mut searching);
    let mut leaving = harness(width);
    leaving.control('c');
    album.keep("about to leave", &mut leaving);
    let mut free = harness(width);
    (free.state.status.mode, free.state.status.meter.used) = (ApprovalMode::Yolo, TokenCount(97_000));
    album.keep("yolo mode, and a full window", &mut free);
    let mut untrusted = harness(width);
    (untrusted.state.status.mode, untrusted.state.status.is_trusted) = (ApprovalMode::Plan, false);
    untrusted.state.status.meter.is_counted = false;
    album.keep("plan mode, without trust, not counted", &mut untrusted);
}

fn of_turn(album: &mut Album, width: usize) {
    let mut turn = harness(width);
    turn.enter("Why does it fail?").receive_event(Event::ThoughtDelta("The parser may be at fault.".into()));
    turn.wait(12);
    album.keep("thinking", &mut turn);
    turn.receive_event(Event::TextDelta(
        "It **stops** at\n\n```rust\nlet x = 1; // here\n```\n\nand th".into(),
    ))
    .wait(1);
    turn.enter("And then?");
    album.keep("answering, with something typed ahead", &mut turn);
    for (id, command) in [("c1", "cargo test"), ("c3", "cargo clippy --all-targets")] {
        let call = ToolCall::new(id, "run_shell_command");
        let preview =
            Preview::Command { command: command.into(), directory: "/app".into(), is_background: false };
        turn.receive_event(Event::ToolBegan { call, preview });
    }
    turn.receive_event(Event::ToolProgress {
        call: "c1".into(),
        text: "running 3 tests\ntest a ... ok\n".into(),
    });
    turn.wait(70);
    album.keep("tools run", &mut turn);
    let failed = ToolEnd {
        call: ToolCall::new("c1", "run_shell_command"),
        status: ToolStatus::Failed,
        text: (1..9).map(|number| format!("line {number}\n")).collect::<String>() + "Exit code: 1",
        took: Duration::from_secs(70),
        saved_as: Some("out/1.txt".into()),
        ..end("", ToolDisplay::Text)
    };
    turn.receive_event(Event::ToolEnded(failed));
    let todo = |text: &str, status| TodoItem { text: text.into(), status };
    let todos = vec![
        todo("look", TodoStatus::Completed),
        todo("mend", TodoStatus::InProgress),
        todo("test", TodoStatus::Pending),
        todo("rewrite", TodoStatus::Cancelled),
    ];
    turn.receive_event(Event::ToolEnded(ToolEnd {
        call: ToolCall::new("c3", "write_todos"),
        ..end("", ToolDisplay::Todos(todos))
    }));
    album.keep("tools have answered", &mut turn);
    turn.press(KeyCode::Esc);
    album.keep("stopping", &mut turn);
}

fn of_questions(album: &mut Album, width: usize) {
    let mut asked = harness(width);
    asked.enter("Do it.").receive(DriverMessage::ApprovalRequested(PromptId(1), request(always()))).wait(0);
    album.keep("a command is asked about", &mut asked);
    asked.look();
    album.keep("keys answer", &mut asked);
    asked.press(KeyCode::Char('a')).look().press(KeyCode::Down);
    album.keep("how far always reaches", &mut asked);
    asked.press(KeyCode::Esc).look().press(KeyCode::Char('n')).type_text("use make");
    album.keep("why not", &mut asked);
    let mut drafting = harness(width);
    drafting
        .enter("Do it.")
        .type_text("and add a test")
        .receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
    drafting.look();
    album.keep("a question while a message is typed", &mut drafting);
    drafting.press(KeyCode::Tab).look();
    album.keep("the question before the message", &mut drafting);
    let mut changed = harness(width);
    changed.enter("Do it.").receive(DriverMessage::ApprovalRequested(PromptId(2), change())).look();
    album.keep("a change is asked about", &mut changed);
    changed.press(KeyCode::Char('e')).look().type_text(" {").press(KeyCode::Enter);
    album.keep("arguments that are no JSON", &mut changed);
    let mut proposed = harness(width);
    let proposal = Proposal { path: "/app/src/lib.rs".into(), text: "fn a() {}\nfn b() { a() }\n".into() };
    let request = ApprovalRequest { proposal: Some(proposal), ..change() };
    proposed.enter("Do it.").receive(DriverMessage::ApprovalRequested(PromptId(4), request)).look();
    album.keep("a file is proposed", &mut proposed);
    proposed.handle(UiInput::EditedProposal(PromptId(4), Ok("fn a() {}\nfn b() {}\n".into())));
    album.keep("the file was edited", &mut proposed);
    let mut questioned = harness(width);
    let question =
        UserQuestion { text: "Which database?".into(), options: vec!["SQLite".into(), "Postgres".into()] };
    questioned
        .enter("Go.")
        .receive(DriverMessage::QuestionAsked(PromptId(3), question))
        .look()
        .press(KeyCode::Down);
    album.keep("the model asks", &mut questioned);
    let session = |id: &str, title: &str| SessionChoice {
        id: id.into(),
        title: title.into(),
        detail: "3 h ago, 24 messages".into(),
    };
    let mut resuming = harness(width);
    resuming.enter("/resume");
    let sessions = vec![
        session("1", "Mend the parser"),
        session("2", "日本語 in the lexer"),
        session("3", "Parse dates"),
    ];
    resuming.receive(DriverMessage::Sessions(sessions)).receive(DriverMessage::Done).type_text("pars");
    album.keep("which session", &mut resuming);
    let mut rewinding = harness(width);
    let turn = TurnChoice {
        id: MessageId::from("m9"),
        text: "do it\nnow".into(),
        detail: "2026-03-02 12:00".into(),
    };
    rewinding.enter("/rewind").receive(DriverMessage::Turns(vec![turn])).receive(DriverMessage::Done);
    album.keep("which message", &mut rewinding);
}

fn of_compactions(album: &mut Album, width: usize) {
    let started = || {
        let mut harness = harness(width);
        harness.state.status.meter.count(TokenCount(60_000));
        let (trigger, before) = (Trigger::Automatic, TokenCount(60_000));
        harness.enter("Go on.").receive_event(Event::Compaction(Compaction::Started {
            trigger,
            before,
            messages: 9,
        }));
        harness
    };
    let mut running = started();
    running.receive_event(Event::Compaction(Compaction::Summarising { by: SummariserKind::Model })).wait(9);
    album.keep("a compaction runs", &mut running);
    running.enter("/compress");
    album.keep("a second one is refused", &mut running);
    let (before, after, duration) = (TokenCount(60_000), TokenCount(15_000), Duration::from_millis(1_500));
    let spend = Spend { calls: 1, tokens: TokenCount(9_000), money: 0.02, ..Spend::default() };
    for status in [Status::Compressed, Status::ContentTruncated, Status::LastResort] {
        let mut report = Report {
            names: Some(NameCount { kept: 83, of: 100 }),
            rules_kept: 2,
            rules: 2,
            ..view::report()
        };
        (report.ledger.files, report.requests.open) = (7, 1);
        let report = Box::new(report);
        let applied = Compaction::Applied { status, before, after, messages: 7, duration, spend, report };
        album.keep(&format!("compacted: {status}"), started().receive_event(Event::Compaction(applied)));
    }
    let masked = Compaction::Masked { outputs: 3, before, after, duration };
    album.keep("compacted: masked", started().receive_event(Event::Compaction(masked)));
    for (status, reason) in [
        (Status::FailedInflated, "the snapshot would take 70,000 tokens"),
        (Status::FailedEmptySummary, "the model said nothing"),
        (Status::FailedTokenCount, "the provider could not count"),
        (Status::DoesNotFit, "memory takes 90,000 tokens: shorten the memory files"),
        (Status::Noop, "there is nothing to gain"),
    ] {
        let refused =
            Compaction::Refused { status, reason: reason.into(), duration, spend: Spend::default() };
        album.keep(&format!("not compacted: {status}"), started().receive_event(Event::Compaction(refused)));
    }
    let cancelled = Compaction::Cancelled { duration, spend: Default::default() };
    album.keep("not compacted: cancelled", started().receive_event(Event::Compaction(cancelled)));
}

fn of_ends(album: &mut Album, width: usize) {
    let overflow = |remaining| longhaul_agent::Overflow {
        request: TokenCount(90_000),
        remaining: TokenCount(remaining),
        window: TokenCount(100_000),
        fixed: Default::default(),
        cause: Default::default(),
    };
    let fixed = longhaul_compaction::Fixed { tools: TokenCount(96_000), ..Default::default() };
    let full = longhaul_agent::Overflow { fixed, ..overflow(4_000) };
    let reason = "not on Fridays".to_string();
    let unreachable =
        ModelError::Unreachable { host: "localhost".into(), reason: "connection refused".into() };
    for (name, turn_end) in [
        ("cut off", TurnEnd::Finished(FinishReason::Length)),
        ("withheld", TurnEnd::Finished(FinishReason::Filtered)),
        ("too long, with much there already", TurnEnd::Overflow(overflow(40_000))),
        ("too long by itself", TurnEnd::Overflow(overflow(80_000))),
        ("full before anything is said", TurnEnd::Overflow(full)),
        ("unreachable", TurnEnd::Failed(unreachable)),
        ("stopped", TurnEnd::Cancelled),
        ("stopped by a hook", TurnEnd::Stopped { reason: reason.clone() }),
        ("blocked by a hook", TurnEnd::Blocked { reason }),
        (
            "stuck in a loop",
            TurnEnd::Looped { detail: "read_file was called 5 times with the same arguments".into() },
        ),
        ("at the limit", TurnEnd::LimitReached { limit: 100, of: LimitOf::Turn }),
    ] {
        let mut ended = harness(width);
        ended.enter("Go.");
        if matches!(turn_end, TurnEnd::Overflow(_) | TurnEnd::Failed(ModelError::TooLong)) {
            ended.receive_event(Event::PromptTakenBack);
        }
        ended.receive_event(Event::Ended(turn_end)).receive(DriverMessage::Done);
        album.keep(name, &mut ended);
    }
    let mut opened = harness(width);
    let last = vec![
        PastMessage { is_users: true, text: "Look at it.".into() },
        PastMessage { is_users: false, text: "It is **fine**.".into() },
    ];
    opened.receive(DriverMessage::Opened { title: "Resumed: 4 turns".into(), last });
    album.keep("a session goes on", &mut opened);
    let mut noticed = harness(width);
    for notice in [
        Notice::info("an info"),
        Notice::good("good news"),
        Notice::warning("a warning"),
        Notice::error("an error"),
    ] {
        noticed.receive(DriverMessage::Notice(notice.with_hint("what to do about it")));
    }
    album.keep("notices", &mut noticed);
    album.keep("help", harness(width).enter("/help"));
}

#[test]
fn screens_are_as_they_were_seen() {
    let mut album = Album::default();
    for width in [64, 40] {
        of_prompt(&mut album, width);
        of_turn(&mut album, width);
        of_questions(&mut album, width);
        of_compactions(&mut album, width);
        of_ends(&mut album, width);
    }
    of_prompt(&mut album, 130);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/update/tests/screens.txt");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(file, &album.0).expect("written");
        return;
    }
    for (number, (now, seen)) in album.0.lines().zip(SEEN.lines()).enumerate() {
        assert_eq!(now, seen, "line {} of screens.txt", number + 1);
    }
    assert_eq!(album.0.lines().count(), SEEN.lines().count());
}
