//! What follows from keys and messages, without a terminal.

mod screens;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_agent::{AlwaysOffer, Approval, ApprovalRequest, Event, ToolEnd, TurnEnd, UserQuestion};
use longhaul_conversation::{FinishReason, MessageId, TokenCount, ToolCall, ToolStatus};
use longhaul_engine::{Event as Compaction, Spend};
use longhaul_policy::{AllowedCalls, AlwaysAllow, ApprovalMode, Reach};
use longhaul_tools::{Preview, Shown};
use serde_json::json;

use super::{Arrival, Effect, Input, update};
use crate::command::{AskId, Command, Message, Notice, Reply, SessionChoice, Standing, Topic, TurnChoice};
use crate::guard::QUIET;
use crate::services::Ended;
use crate::state::{Size, State};
use crate::style::Line;
use crate::view;

/// A screen with somebody at the keys.
pub(super) struct Desk {
    pub(super) state: State,
    pub(super) printed: Vec<String>,
    pub(super) sent: Vec<Command>,
    pub(super) others: Vec<Effect>,
}

impl Desk {
    pub(super) fn new() -> Self {
        let size = Size { width: 61, height: 24 };
        let mut state = State { size, quiet: QUIET, is_apart: true, ..State::default() };
        state.standing = Standing { model: "some-model".into(), is_trusted: true, ..Standing::default() };
        Self { state, printed: Vec::new(), sent: Vec::new(), others: Vec::new() }
    }

    pub(super) fn take(&mut self, input: Input) {
        for effect in update(&mut self.state, input) {
            match effect {
                Effect::Print(lines) => self.printed.extend(lines.iter().map(Line::text)),
                Effect::Send(command) => self.sent.push(command),
                other => self.others.push(other),
            }
        }
    }

    pub(super) fn press(&mut self, code: KeyCode) -> &mut Self {
        self.take(Input::Key(KeyEvent::new(code, KeyModifiers::NONE), Arrival::Alone));
        self
    }

    pub(super) fn control(&mut self, letter: char) -> &mut Self {
        self.take(Input::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL), Arrival::Alone));
        self
    }

    pub(super) fn type_text(&mut self, text: &str) -> &mut Self {
        text.chars().for_each(|letter| {
            self.press(KeyCode::Char(letter));
        });
        self
    }

    pub(super) fn enter(&mut self, text: &str) -> &mut Self {
        self.type_text(text).press(KeyCode::Enter)
    }

    pub(super) fn hear(&mut self, message: Message) -> &mut Self {
        self.take(Input::Message(message));
        self
    }

    fn happens(&mut self, event: Event) -> &mut Self {
        self.hear(Message::Happened(event))
    }

    pub(super) fn wait(&mut self, seconds: u64) -> &mut Self {
        self.state.now += Duration::from_secs(seconds);
        self.take(Input::Frame);
        self
    }

    /// What is asked is drawn, and nothing is typed for a moment.
    pub(super) fn look(&mut self) -> &mut Self {
        self.wait(0).wait(1)
    }

    /// The rows of the block below, without those at its end that are always there.
    pub(super) fn block(&self) -> Vec<String> {
        view::frame(&self.state).lines.iter().map(Line::text).collect()
    }

    #[track_caller]
    pub(super) fn check_printed(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.printed), expected);
        self
    }

    #[track_caller]
    pub(super) fn check_sent(&mut self, expected: &[Command]) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.sent), expected);
        self
    }

    #[track_caller]
    pub(super) fn check_block_has(&mut self, text: &str) -> &mut Self {
        let block = self.block();
        assert!(block.iter().any(|row| row.contains(text)), "no {text:?} in {block:#?}");
        self
    }
}

fn submit(text: &str) -> Command {
    Command::Submit(text.to_string())
}

#[test]
fn what_is_typed_is_sent_and_kept() {
    let mut desk = Desk::new();
    desk.enter("hello").check_sent(&[submit("hello")]).check_printed(&["❯ hello"]);
    assert_eq!(desk.others, [Effect::Remember("hello".into())]);
    assert!(desk.state.is_busy());
    desk.check_block_has("waiting for some-model");
    desk.hear(Message::Done);
    assert!(!desk.state.is_busy());
    desk.press(KeyCode::Up);
    assert_eq!(desk.state.editor.text(), "hello");
}

#[test]
fn nothing_is_not_sent() {
    let mut desk = Desk::new();
    desk.press(KeyCode::Enter).enter("   ").check_sent(&[]);
}

#[test]
fn lines_are_added_in_several_ways() {
    let mut desk = Desk::new();
    desk.type_text("a\\").press(KeyCode::Enter).type_text("b").control('j').type_text("c");
    desk.take(Input::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT), Arrival::Alone));
    desk.enter("d").check_sent(&[submit("a\nb\nc\nd")]);
}

#[test]
fn an_answer_is_shown_while_it_arrives() {
    let mut desk = Desk::new();
    desk.enter("hi").happens(Event::StepBegan { step: 1 }).happens(Event::TextDelta("One.\n\nTw".into()));
    desk.printed.clear();
    desk.wait(0).check_printed(&["", "One."]).check_block_has("Tw");
    desk.happens(Event::TextDelta("o.".into())).wait(0).check_printed(&[]);
    desk.happens(Event::Ended(TurnEnd::Finished(FinishReason::Stop))).check_printed(&["", "Two."]);
    desk.hear(Message::Done);
    assert_eq!(desk.state.last_answer, "One.\n\nTwo.");
}

#[test]
fn what_is_typed_ahead_waits_its_turn() {
    let mut desk = Desk::new();
    desk.enter("first").enter("second").enter("/stats").check_sent(&[submit("first")]);
    desk.check_block_has("next: second").check_block_has("next: /stats");
    desk.hear(Message::Done).check_sent(&[submit("second")]);
    desk.hear(Message::Done).check_sent(&[Command::Show(Topic::Statistics)]);
    desk.hear(Message::Done).check_sent(&[]);
}

#[test]
fn what_was_typed_ahead_can_be_changed() {
    let mut desk = Desk::new();
    desk.enter("first").enter("second").press(KeyCode::Up);
    assert_eq!(desk.state.editor.text(), "second");
    assert!(desk.state.queue.is_empty());
    let mut desk = Desk::new();
    desk.enter("first").enter("second").press(KeyCode::Esc);
    assert_eq!((desk.state.editor.text(), desk.state.queue.len()), ("second", 0));
}

#[test]
fn escape_stops_the_current_thing() {
    let mut desk = Desk::new();
    desk.enter("hi").press(KeyCode::Esc).check_sent(&[submit("hi"), Command::Cancel]);
    desk.check_block_has("stopping");
    desk.printed.clear();
    desk.happens(Event::Ended(TurnEnd::Cancelled))
        .check_printed(&["", "! Stopped. What had arrived is kept."]);
    desk.hear(Message::Done).type_text("words").press(KeyCode::Esc).check_sent(&[]);
    assert!(desk.state.editor.is_empty());
    desk.control('y');
    assert_eq!(desk.state.editor.text(), "words");
}

#[test]
fn ctrl_c_leaves_when_it_is_pressed_twice() {
    let mut desk = Desk::new();
    desk.type_text("words").control('c').check_sent(&[]);
    assert!(desk.state.editor.is_empty());
    desk.control('c').check_sent(&[]).check_block_has("Press Ctrl-C again");
    desk.wait(3).control('c').check_sent(&[]);
    desk.control('c').check_sent(&[Command::Leave]);
    desk.hear(Message::Left);
    assert_eq!(desk.others.last(), Some(&Effect::Leave(Ended::Left)));
}

#[test]
fn commands_are_completed_and_carried_out() {
    let mut desk = Desk::new();
    desk.type_text("/com").check_block_has("▸ /compress");
    desk.press(KeyCode::Enter).check_sent(&[Command::Compact { focus: None }]);
    desk.hear(Message::Done).type_text("/comp").press(KeyCode::Tab);
    assert_eq!(desk.state.editor.text(), "/compress ");
    desk.type_text("un").press(KeyCode::Enter).check_sent(&[Command::UndoCompaction]);
    desk.hear(Message::Done).type_text("/me").press(KeyCode::Down).press(KeyCode::Esc);
    assert!(desk.state.completion.is_none());
}

#[test]
fn an_unknown_command_is_told_with_the_nearest() {
    let mut desk = Desk::new();
    desk.enter("/compesr").check_sent(&[]);
    assert!(desk.printed.iter().any(|line| line.contains("did you mean /compress?")), "{:?}", desk.printed);
}

#[test]
fn a_path_is_no_command() {
    let mut desk = Desk::new();
    desk.enter("/etc/hosts is odd").check_sent(&[submit("/etc/hosts is odd")]);
}

#[test]
fn a_second_compaction_is_refused_in_words() {
    let mut desk = Desk::new();
    let started = Compaction::Started {
        trigger: longhaul_compaction::Trigger::Forced,
        before: TokenCount(60_000),
        messages: 9,
    };
    desk.enter("/compress").happens(Event::Compaction(started)).enter("/compress");
    desk.check_sent(&[Command::Compact { focus: None }]).check_block_has("making room");
    assert!(desk.printed.iter().any(|line| line.contains("running already")), "{:?}", desk.printed);
}

#[test]
fn a_compaction_of_its_own_leaves_a_card() {
    let mut desk = Desk::new();
    let started = Compaction::Started {
        trigger: longhaul_compaction::Trigger::Automatic,
        before: TokenCount(60_000),
        messages: 9,
    };
    let applied = Compaction::Applied {
        status: longhaul_compaction::Status::Compressed,
        before: TokenCount(60_000),
        after: TokenCount(12_000),
        messages: 4,
        duration: Duration::from_millis(40),
        spend: Spend::default(),
        report: Box::new(crate::view::report()),
    };
    desk.enter("hi").happens(Event::Compaction(started)).check_block_has("looking at the conversation");
    desk.printed.clear();
    desk.happens(Event::Compaction(applied)).check_printed(&[
        "",
        "◆ Compacted: 60,000 → 12,000 tokens, 80 % less",
        "  40 ms",
        "  /compress undo takes it back · /context shows what is",
        "  there now",
    ]);
    assert!(desk.state.compaction.is_none());
}

pub(super) fn request(always: Option<AlwaysOffer>) -> ApprovalRequest {
    let command = "cargo test";
    ApprovalRequest {
        call: ToolCall::new("c1", "run_shell_command").with_args(json!({"command": command})),
        preview: Preview::Command { command: command.into(), directory: "/app".into(), is_background: false },
        reason: None,
        always,
    }
}

pub(super) fn always() -> Option<AlwaysOffer> {
    let calls = AllowedCalls::Commands(vec!["cargo test".into()]);
    let allow = AlwaysAllow { tool: "run_shell_command".into(), server: None, calls };
    Some(AlwaysOffer { allow, reaches: Reach::ALL.into() })
}

#[track_caller]
fn check_approval(answer: impl FnOnce(&mut Desk), expected: Approval) {
    let mut desk = Desk::new();
    desk.enter("hi").hear(Message::Asked(AskId(7), request(always())));
    assert!(desk.printed.contains(&"  cargo test".to_string()), "{:?}", desk.printed);
    desk.look().check_block_has("  y  yes, once").check_block_has("always: commands like `cargo test …`");
    desk.sent.clear();
    answer(&mut desk);
    desk.check_sent(&[Command::Answer(AskId(7), Reply::Approval(expected))]);
    assert!(desk.state.dialogs.is_empty());
}

#[test]
fn calls_are_answered() {
    use KeyCode::{Char, Down, Enter, Esc, Up};
    check_approval(|desk| _ = desk.press(Char('y')), Approval::Once);
    check_approval(|desk| _ = desk.press(Char('1')), Approval::Once);
    check_approval(|desk| _ = desk.press(Down).press(Enter), Approval::Once);
    check_approval(
        |desk| _ = desk.press(Char('n')).enter("not now"),
        Approval::Denied { reason: Some("not now".into()) },
    );
    check_approval(|desk| _ = desk.press(Up).press(Enter).press(Enter), Approval::Denied { reason: None });
    check_approval(
        |desk| _ = desk.press(Char('e')).look().enter(" --all"),
        Approval::Edited(json!({"command": "cargo test --all"})),
    );
    // Who moves about in the command has seen it.
    check_approval(
        |desk| _ = desk.press(Char('e')).look().control('u').enter("ls"),
        Approval::Edited(json!({"command": "ls"})),
    );
    // Who goes back has not answered yet.
    check_approval(|desk| _ = desk.press(Char('n')).press(Esc).look().press(Char('y')), Approval::Once);
}

#[test]
fn always_is_a_second_step() {
    use KeyCode::{Char, Down, Enter, Esc};
    let step = |desk: &mut Desk| {
        desk.press(Char('a')).check_sent(&[]).look();
        desk.check_block_has("Always allow commands like `cargo test …`?");
        desk.check_block_has("  s  in this session").check_block_has("  p  in this project");
        desk.check_block_has("  e  everywhere, in every project").check_block_has("  b  back");
    };
    for (letter, reach) in [('s', Reach::Session), ('p', Reach::Project), ('e', Reach::Everywhere)] {
        let answer = |desk: &mut Desk| {
            step(desk);
            desk.press(Enter).check_sent(&[]).look().press(Char(letter));
            assert!(desk.printed.last().is_some_and(|line| line.contains("…`")), "{:?}", desk.printed);
        };
        check_approval(answer, Approval::Always(reach));
    }
    let arrows = |desk: &mut Desk| {
        desk.press(Down).press(Down).press(Enter).look();
        desk.press(Enter).check_sent(&[]).look().press(Down).press(Down).press(Enter);
    };
    check_approval(arrows, Approval::Always(Reach::Project));
    for back in [Char('b'), Esc] {
        let answer = |desk: &mut Desk| {
            step(desk);
            desk.press(back).check_block_has("Allow run_shell_command?").look().press(Char('y'));
        };
        check_approval(answer, Approval::Once);
    }
}

#[test]
fn only_reaches_that_count_are_offered() {
    let mut asked = request(always());
    asked.always.as_mut().expect("an offer").reaches = vec![Reach::Session];
    let mut desk = Desk::new();
    desk.enter("hi").hear(Message::Asked(AskId(1), asked)).look();
    desk.sent.clear();
    desk.press(KeyCode::Char('a')).look().check_block_has("  s  in this session");
    assert!(!desk.block().iter().any(|row| row.contains("everywhere")));
    desk.press(KeyCode::Char('e')).check_sent(&[]);
}

#[test]
fn always_is_offered_only_where_there_is_a_rule() {
    let mut desk = Desk::new();
    desk.enter("hi").hear(Message::Asked(AskId(1), request(None))).look();
    desk.sent.clear();
    desk.press(KeyCode::Char('a')).check_sent(&[]);
    assert!(!desk.block().iter().any(|row| row.contains("always")));
}

#[test]
fn escape_in_an_approval_stops_the_turn() {
    let mut desk = Desk::new();
    desk.enter("hi").hear(Message::Asked(AskId(1), request(None)));
    desk.sent.clear();
    desk.press(KeyCode::Esc).check_sent(&[Command::Cancel]);
    assert!(desk.state.dialogs.is_empty());
}

#[test]
fn arguments_that_are_no_json_are_refused() {
    let mut desk = Desk::new();
    let mut asked = request(None);
    asked.call.args = json!({"path": "a"});
    desk.enter("hi").hear(Message::Asked(AskId(1), asked)).look();
    desk.sent.clear();
    desk.press(KeyCode::Char('e')).look().enter("x").check_sent(&[]).check_block_has("this is no JSON");
}

#[test]
fn questions_are_answered() {
    let question = UserQuestion { text: "Which one?".into(), options: vec!["red".into(), "blue".into()] };
    let mut desk = Desk::new();
    desk.hear(Message::Questioned(AskId(2), question.clone())).look().check_block_has("  red");
    // Enter alone chooses nothing.
    desk.press(KeyCode::Enter).check_sent(&[]).look();
    desk.press(KeyCode::Down).check_block_has("▸ red").press(KeyCode::Down).press(KeyCode::Enter);
    desk.check_sent(&[Command::Answer(AskId(2), Reply::Answer(Some("blue".into())))]);
    desk.hear(Message::Questioned(AskId(3), question.clone())).look().enter("green");
    desk.check_sent(&[Command::Answer(AskId(3), Reply::Answer(Some("green".into())))]);
    desk.hear(Message::Questioned(AskId(4), question)).look().press(KeyCode::Esc);
    desk.check_sent(&[Command::Answer(AskId(4), Reply::Answer(None))]);
}

fn end(text: &str, shown: Shown) -> ToolEnd {
    ToolEnd {
        call: ToolCall::new("c1", "grep_search"),
        status: ToolStatus::Succeeded,
        text: text.into(),
        shown,
        took: Duration::from_millis(30),
        saved_as: None,
        left_out: 0,
    }
}

#[test]
fn tools_are_one_line_with_the_beginning_of_what_they_say() {
    let mut desk = Desk::new();
    desk.enter("hi");
    let call = ToolCall::new("c1", "grep_search");
    desk.happens(Event::ToolBegan { call, preview: Preview::Look("\"x\" in src".into()) });
    desk.check_block_has("grep_search  \"x\" in src");
    desk.happens(Event::ToolProgress { call: "c1".into(), text: "one\n\x1b[2Jtwo\n".into() });
    desk.check_block_has("  │ ␛[2Jtwo");
    desk.printed.clear();
    desk.happens(Event::ToolEnded(end("a\nb\nc\nd\ne\nf", Shown::Text))).check_printed(&[
        "",
        "● grep_search  \"x\" in src  30 ms · 6 lines",
        "  │ a",
        "  │ b",
        "  │ c",
        "  │ d",
        "  └ 2 lines more (Ctrl-O)",
    ]);
    desk.control('o').check_printed(&[
        "",
        "grep_search \"x\" in src",
        "│ a",
        "│ b",
        "│ c",
        "│ d",
        "│ e",
        "│ f",
    ]);
    desk.control('o').check_printed(&["", "· Nothing more is folded."]);
}

#[test]
fn a_change_is_shown_once() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    let shown = Shown::Diff { path: "x".into(), diff: diff.into() };
    let mut desk = Desk::new();
    desk.enter("hi").happens(Event::ToolEnded(end("done", shown.clone())));
    assert!(desk.printed.contains(&"  │ +new".to_string()), "{:?}", desk.printed);
    let mut asked = request(None);
    asked.preview = Preview::Change { path: "x".into(), diff: diff.into() };
    desk.hear(Message::Asked(AskId(1), asked)).look().press(KeyCode::Char('y'));
    desk.printed.clear();
    desk.happens(Event::ToolEnded(end("done", shown)));
    desk.check_printed(&["", "● grep_search  30 ms · +1 −1"]);
}

#[test]
fn thoughts_are_shown_or_only_told() {
    let mut desk = Desk::new();
    desk.enter("hi").happens(Event::ThoughtDelta("Let me see.".into())).check_block_has("Let me see.");
    desk.printed.clear();
    desk.wait(5).happens(Event::TextDelta("Yes.".into())).check_printed(&["", "· thought for 5.0 s"]);
    desk.control('t').happens(Event::ThoughtDelta("Hm.".into()));
    desk.printed.clear();
    desk.happens(Event::StepBegan { step: 2 }).check_printed(&["", "│ Hm.", "", "Yes."]);
}

#[test]
fn what_a_subagent_consumes_is_not_in_the_window() {
    let usage = longhaul_conversation::Usage { input: Some(TokenCount(90_000)), ..Default::default() };
    let mut desk = Desk::new();
    desk.enter("hi")
        .happens(Event::Usage(longhaul_conversation::Usage { input: Some(TokenCount(7_000)), ..usage }));
    let (name, event) = ("reviewer".to_string(), Box::new(Event::Usage(usage)));
    desk.happens(Event::Subagent { name, call: "c1".into(), event });
    assert_eq!(desk.state.standing.meter.used, TokenCount(7_000));
}

#[test]
fn what_does_not_fit_is_typed_again() {
    let overflow = longhaul_agent::Overflow {
        request: TokenCount(9_000),
        remaining: TokenCount(4_000),
        window: TokenCount(32_000),
        fixed: Default::default(),
    };
    let mut desk = Desk::new();
    desk.enter("too long").happens(Event::Ended(TurnEnd::Overflow(overflow)));
    desk.hear(Message::Restore("too long".into())).hear(Message::Done);
    assert_eq!(desk.state.editor.text(), "too long");
    let said = desk.printed.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("9,000 tokens, and 4,000 of 32,000") && said.contains("/compress"), "{said}");
}

#[test]
fn sessions_are_searched_and_chosen() {
    let session = |id: &str, title: &str| SessionChoice {
        id: id.into(),
        title: title.into(),
        detail: "1 h ago, 4 messages".into(),
    };
    let mut desk = Desk::new();
    desk.enter("/resume").check_sent(&[Command::ListSessions]);
    desk.hear(Message::Sessions(vec![session("s1", "Parser"), session("s2", "Lexer")])).hear(Message::Done);
    desk.check_block_has("▸ Parser").check_block_has("2 of 2");
    desk.type_text("lex").check_block_has("▸ Lexer").press(KeyCode::Enter);
    desk.check_sent(&[Command::Resume("s2".into())]);
    desk.hear(Message::Done).hear(Message::Sessions(vec![session("s1", "Parser")])).press(KeyCode::Esc);
    assert!(desk.state.dialogs.is_empty());
}

#[test]
fn one_goes_back_and_says_it_in_other_words() {
    let turn = TurnChoice { id: MessageId::from("m9"), text: "do it\nnow".into(), detail: "12:00".into() };
    let mut desk = Desk::new();
    desk.enter("/rewind").check_sent(&[Command::ListTurns]);
    desk.hear(Message::Turns(vec![turn])).hear(Message::Done).check_block_has("▸ do it now");
    desk.press(KeyCode::Enter).check_sent(&[Command::RewindTo(MessageId::from("m9"))]);
    assert_eq!(desk.state.editor.text(), "do it\nnow");
}

#[test]
fn history_is_searched() {
    let mut desk = Desk::new();
    for text in ["cargo build", "cargo test", "ls"] {
        desk.state.history.add(text);
    }
    desk.control('r').type_text("cargo").check_block_has("cargo test");
    desk.control('r').check_block_has("cargo build").press(KeyCode::Enter);
    assert_eq!(desk.state.editor.text(), "cargo build");
    desk.control('r').type_text("zzz").check_block_has("nothing").press(KeyCode::Esc);
    assert_eq!(desk.state.editor.text(), "cargo build");
}

#[test]
fn files_are_completed() {
    let mut desk = Desk::new();
    desk.type_text("see @mai");
    assert_eq!(desk.others, [Effect::FindFiles]);
    desk.take(Input::Files(vec!["src/main.rs".into(), "src/my file.rs".into()]));
    desk.check_block_has("▸ @src/main.rs").press(KeyCode::Tab);
    assert_eq!(desk.state.editor.text(), "see @src/main.rs ");
    desk.type_text("@myf").press(KeyCode::Enter).check_sent(&[]);
    assert_eq!(desk.state.editor.text(), "see @src/main.rs @src/my\\ file.rs ");
    // What was made in the meantime is found, too.
    desk.press(KeyCode::Enter).hear(Message::Done).type_text("@n");
    assert_eq!(desk.others.iter().filter(|effect| **effect == Effect::FindFiles).count(), 2);
}

#[test]
fn long_pastes_are_folded_and_sent_in_whole() {
    let long = "line\n".repeat(30);
    let mut desk = Desk::new();
    desk.type_text("look: ");
    desk.take(Input::Paste(long.clone()));
    desk.check_block_has("[paste 1: 30 lines]").press(KeyCode::Enter);
    desk.check_sent(&[submit(&format!("look: {long}"))]);
}

#[test]
fn own_commands_are_run() {
    let mut desk = Desk::new();
    desk.enter("!ls -l").check_sent(&[Command::Run("ls -l".into())]);
    desk.printed.clear();
    desk.hear(Message::Ran { command: "ls -l".into(), output: "a\nb".into() });
    desk.check_printed(&["", "$ ls -l", "  │ a", "  │ b"]);
}

#[test]
fn modes_are_gone_through() {
    let mut desk = Desk::new();
    desk.press(KeyCode::BackTab).check_sent(&[Command::SetMode(ApprovalMode::AutoEdit)]);
    desk.hear(Message::Done);
    desk.state.standing.mode = ApprovalMode::AutoEdit;
    desk.check_block_has("edits are free");
    desk.state.standing.is_trusted = false;
    desk.state.standing.mode = ApprovalMode::Default;
    desk.press(KeyCode::BackTab).check_sent(&[Command::SetMode(ApprovalMode::Plan)]);
}

#[test]
fn a_failure_to_begin_is_told() {
    let mut desk = Desk::new();
    desk.hear(Message::Failed(Notice::error("no").with_hint("do this")));
    desk.check_printed(&["✗ no", "  do this"]);
    assert_eq!(desk.others, [Effect::Leave(Ended::Failed)]);
}

#[test]
fn the_block_fits_every_size() {
    let mut desk = Desk::new();
    desk.state.standing = Standing {
        model: "some-model-with-a-long-name".into(),
        folder: "~/code/日本語/project".into(),
        branch: Some("feature/very-long-branch-name".into()),
        memory_files: 3,
        pins: 2,
        cost: Some(1.25),
        ..Standing::default()
    };
    desk.state.standing.meter.room = TokenCount(200_000);
    desk.state.standing.meter.used = TokenCount(90_000);
    desk.enter("hi")
        .happens(Event::TextDelta("日本語 ".repeat(400)))
        .type_text("日本語😀 typed ahead ".repeat(9).as_str());
    let check = |desk: &mut Desk| {
        for width in [20, 40, 61, 80, 120, 200] {
            for height in [6, 10, 24, 60] {
                desk.take(Input::Resize(Size { width, height }));
                let frame = view::frame(&desk.state);
                assert!(frame.lines.len() < height, "{width}x{height}: {}", frame.lines.len());
                let widest = frame.lines.iter().map(Line::columns).max().unwrap_or(0);
                assert!(widest < width, "{width}x{height}: {widest}");
                if let Some((row, column)) = frame.cursor {
                    assert!(row < frame.lines.len() && column < width, "{width}x{height}: {row} {column}");
                }
            }
        }
    };
    check(&mut desk);
    desk.hear(Message::Asked(AskId(1), request(always())));
    check(&mut desk);
}
