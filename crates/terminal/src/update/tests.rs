//! Tests of the update function, without a terminal.

mod screens;

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_agent::{AlwaysOffer, Approval, ApprovalRequest, Event, ToolEnd, TurnEnd, UserQuestion};
use longhaul_conversation::{FinishReason, MessageId, TokenCount, ToolCall, ToolStatus};
use longhaul_display::StyledLine;
use longhaul_engine::{Event as Compaction, Spend};
use longhaul_policy::{AllowedCalls, AlwaysAllow, ApprovalMode, Reach};
use longhaul_tools::{Preview, Proposal, ToolDisplay};
use serde_json::json;

use super::{Arrival, UiEffect, UiInput, update};
use crate::guard::QUIET_PERIOD;
use crate::image::PastedImage;
use crate::notice::Notice;
use crate::offers::Offers;
use crate::preferences::{Notification, Preferences};
use crate::protocol::{DriverCommand, DriverMessage, PromptId, SessionChoice, Topic, TurnChoice, UserReply};
use crate::services::ExitReason;
use crate::state::{TerminalSize, UiState};
use crate::status_line::StatusLine;
use crate::view;

/// A screen state with a simulated keyboard.
pub(super) struct Harness {
    pub(super) state: UiState,
    pub(super) printed: Vec<String>,
    pub(super) sent: Vec<DriverCommand>,
    pub(super) others: Vec<UiEffect>,
}

impl Harness {
    pub(super) fn new() -> Self {
        let size = TerminalSize { width: 61, height: 24 };
        let mut state =
            UiState { size, quiet_period: QUIET_PERIOD, is_after_blank: true, ..UiState::default() };
        state.status = StatusLine { model: "some-model".into(), is_trusted: true, ..StatusLine::default() };
        Self { state, printed: Vec::new(), sent: Vec::new(), others: Vec::new() }
    }

    pub(super) fn handle(&mut self, input: UiInput) {
        for effect in update(&mut self.state, input) {
            match effect {
                UiEffect::Print(lines) => self.printed.extend(lines.iter().map(StyledLine::text)),
                UiEffect::Send(command) => self.sent.push(command),
                other => self.others.push(other),
            }
        }
    }

    pub(super) fn press(&mut self, code: KeyCode) -> &mut Self {
        self.handle(UiInput::Key(KeyEvent::new(code, KeyModifiers::NONE), Arrival::Alone));
        self
    }

    pub(super) fn control(&mut self, letter: char) -> &mut Self {
        self.handle(UiInput::Key(
            KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL),
            Arrival::Alone,
        ));
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

    pub(super) fn receive(&mut self, message: DriverMessage) -> &mut Self {
        self.handle(UiInput::Message(message));
        self
    }

    fn receive_event(&mut self, event: Event) -> &mut Self {
        self.receive(DriverMessage::Event(event))
    }

    pub(super) fn wait(&mut self, seconds: u64) -> &mut Self {
        self.state.now += Duration::from_secs(seconds);
        self.handle(UiInput::Frame);
        self
    }

    /// Draws a frame and waits for the quiet period.
    pub(super) fn look(&mut self) -> &mut Self {
        self.wait(0).wait(1)
    }

    /// The rows of the block, without the last ones that never change.
    pub(super) fn block(&self) -> Vec<String> {
        view::frame(&self.state).lines.iter().map(StyledLine::text).collect()
    }

    #[track_caller]
    pub(super) fn check_printed(&mut self, expected: &[&str]) -> &mut Self {
        assert_eq!(std::mem::take(&mut self.printed), expected);
        self
    }

    #[track_caller]
    pub(super) fn check_sent(&mut self, expected: &[DriverCommand]) -> &mut Self {
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

fn submit(text: &str) -> DriverCommand {
    DriverCommand::Submit(text.to_string())
}

#[test]
fn what_is_typed_is_sent_and_kept() {
    let mut harness = Harness::new();
    harness.enter("hello").check_sent(&[submit("hello")]).check_printed(&["❯ hello"]);
    assert_eq!(harness.others, [UiEffect::Remember("hello".into())]);
    assert!(harness.state.is_busy());
    harness.check_block_has("waiting for some-model");
    harness.receive(DriverMessage::Done);
    assert!(!harness.state.is_busy());
    harness.press(KeyCode::Up);
    assert_eq!(harness.state.editor.text(), "hello");
}

#[test]
fn nothing_is_not_sent() {
    let mut harness = Harness::new();
    harness.press(KeyCode::Enter).enter("   ").check_sent(&[]);
}

#[test]
fn lines_are_added_in_several_ways() {
    let mut harness = Harness::new();
    harness.type_text("a\\").press(KeyCode::Enter).type_text("b").control('j').type_text("c");
    harness.handle(UiInput::Key(KeyEvent::new(KeyCode::Enter, KeyModifiers::ALT), Arrival::Alone));
    harness.enter("d").check_sent(&[submit("a\nb\nc\nd")]);
}

#[test]
fn an_answer_is_shown_while_it_arrives() {
    let mut harness = Harness::new();
    harness
        .enter("hi")
        .receive_event(Event::StepBegan { step: 1 })
        .receive_event(Event::TextDelta("One.\n\nTw".into()));
    harness.printed.clear();
    harness.wait(0).check_printed(&["", "One."]).check_block_has("Tw");
    harness.receive_event(Event::TextDelta("o.".into())).wait(0).check_printed(&[]);
    harness.receive_event(Event::Ended(TurnEnd::Finished(FinishReason::Stop))).check_printed(&["", "Two."]);
    harness.receive(DriverMessage::Done);
    assert_eq!(harness.state.last_answer, "One.\n\nTwo.");
}

#[test]
fn what_is_typed_ahead_waits_its_turn() {
    let mut harness = Harness::new();
    harness.enter("first").enter("second").enter("/stats").check_sent(&[submit("first")]);
    harness.check_block_has("next: second").check_block_has("next: /stats");
    harness.receive(DriverMessage::Done).check_sent(&[submit("second")]);
    harness.receive(DriverMessage::Done).check_sent(&[DriverCommand::Show(Topic::Statistics)]);
    harness.receive(DriverMessage::Done).check_sent(&[]);
}

#[test]
fn what_was_typed_ahead_can_be_changed() {
    let mut harness = Harness::new();
    harness.enter("first").enter("second").press(KeyCode::Up);
    assert_eq!(harness.state.editor.text(), "second");
    assert!(harness.state.queue.is_empty());
    let mut harness = Harness::new();
    harness.enter("first").enter("second").press(KeyCode::Esc);
    assert_eq!((harness.state.editor.text(), harness.state.queue.len()), ("second", 0));
}

#[test]
fn escape_stops_the_current_thing() {
    let mut harness = Harness::new();
    harness.enter("hi").press(KeyCode::Esc).check_sent(&[submit("hi"), DriverCommand::Cancel]);
    harness.check_block_has("stopping");
    harness.printed.clear();
    harness
        .receive_event(Event::Ended(TurnEnd::Cancelled))
        .check_printed(&["", "! Stopped. The partial answer is kept."]);
    harness.receive(DriverMessage::Done).type_text("words").press(KeyCode::Esc).check_sent(&[]);
    assert!(harness.state.editor.is_empty());
    harness.control('y');
    assert_eq!(harness.state.editor.text(), "words");
}

#[test]
fn ctrl_c_leaves_when_it_is_pressed_twice() {
    let mut harness = Harness::new();
    harness.type_text("words").control('c').check_sent(&[]);
    assert!(harness.state.editor.is_empty());
    harness.control('c').check_sent(&[]).check_block_has("Press Ctrl-C again");
    harness.wait(3).control('c').check_sent(&[]);
    harness.control('c').check_sent(&[DriverCommand::Leave]);
    harness.receive(DriverMessage::Left);
    assert_eq!(harness.others.last(), Some(&UiEffect::Leave(ExitReason::Left)));
}

#[test]
fn commands_are_completed_and_carried_out() {
    let mut harness = Harness::new();
    harness.type_text("/com").check_block_has("▸ /compress");
    harness.press(KeyCode::Enter).check_sent(&[DriverCommand::Compact { focus: None }]);
    harness.receive(DriverMessage::Done).type_text("/comp").press(KeyCode::Tab);
    assert_eq!(harness.state.editor.text(), "/compress ");
    harness.type_text("un").press(KeyCode::Enter).check_sent(&[DriverCommand::UndoCompaction]);
    harness.receive(DriverMessage::Done).type_text("/me").press(KeyCode::Down).press(KeyCode::Esc);
    assert!(harness.state.completion.is_none());
}

#[test]
fn an_unknown_command_is_told_with_the_nearest() {
    let mut harness = Harness::new();
    harness.enter("/compesr").check_sent(&[]);
    assert!(
        harness.printed.iter().any(|line| line.contains("Did you mean /compress?")),
        "{:?}",
        harness.printed
    );
}

#[test]
fn a_path_is_no_command() {
    let mut harness = Harness::new();
    harness.enter("/etc/hosts is odd").check_sent(&[submit("/etc/hosts is odd")]);
}

#[test]
fn a_second_compaction_is_refused_in_words() {
    let mut harness = Harness::new();
    let started = Compaction::Started {
        trigger: longhaul_compaction::Trigger::Forced,
        before: TokenCount(60_000),
        messages: 9,
    };
    harness.enter("/compress").receive_event(Event::Compaction(started)).enter("/compress");
    harness.check_sent(&[DriverCommand::Compact { focus: None }]).check_block_has("compacting");
    assert!(harness.printed.iter().any(|line| line.contains("already running")), "{:?}", harness.printed);
}

#[test]
fn a_compaction_of_its_own_leaves_a_card() {
    let mut harness = Harness::new();
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
    harness.enter("hi").receive_event(Event::Compaction(started)).check_block_has("reading the conversation");
    harness.printed.clear();
    harness.receive_event(Event::Compaction(applied)).check_printed(&[
        "",
        "◆ Compacted 60,000 → 12,000 tokens (80 % less)",
        "  40 ms",
        "  /compress undo to revert · /context to see what is left",
    ]);
    assert!(harness.state.compaction.is_none());
}

pub(super) fn request(always: Option<AlwaysOffer>) -> ApprovalRequest {
    let command = "cargo test";
    ApprovalRequest {
        call: ToolCall::new("c1", "run_shell_command").with_args(json!({"command": command})),
        preview: Preview::Command { command: command.into(), directory: "/app".into(), is_background: false },
        reason: None,
        always,
        proposal: None,
    }
}

pub(super) fn always() -> Option<AlwaysOffer> {
    let calls = AllowedCalls::Commands(vec!["cargo test".into()]);
    let allow = AlwaysAllow { tool: "run_shell_command".into(), server: None, calls };
    Some(AlwaysOffer { allow, reaches: Reach::ALL.into() })
}

#[track_caller]
fn check_approval(answer: impl FnOnce(&mut Harness), expected: Approval) {
    let mut harness = Harness::new();
    harness.enter("hi").receive(DriverMessage::ApprovalRequested(PromptId(7), request(always())));
    assert!(harness.printed.contains(&"  cargo test".to_string()), "{:?}", harness.printed);
    harness.look().check_block_has("  y  yes, once").check_block_has("always: commands like `cargo test …`");
    harness.sent.clear();
    answer(&mut harness);
    harness.check_sent(&[DriverCommand::Answer(PromptId(7), UserReply::Approval(expected))]);
    assert!(harness.state.dialogs.is_empty());
}

#[test]
fn calls_are_answered() {
    use KeyCode::{Char, Down, Enter, Esc, Up};
    check_approval(|harness| _ = harness.press(Char('y')), Approval::Once);
    check_approval(|harness| _ = harness.press(Char('1')), Approval::Once);
    check_approval(|harness| _ = harness.press(Down).press(Enter), Approval::Once);
    check_approval(
        |harness| _ = harness.press(Char('n')).enter("not now"),
        Approval::Denied { reason: Some("not now".into()) },
    );
    check_approval(
        |harness| _ = harness.press(Up).press(Enter).press(Enter),
        Approval::Denied { reason: None },
    );
    check_approval(
        |harness| _ = harness.press(Char('e')).look().enter(" --all"),
        Approval::Edited(json!({"command": "cargo test --all"})),
    );
    // Moving the cursor in the command shows that it was seen.
    check_approval(
        |harness| _ = harness.press(Char('e')).look().control('u').enter("ls"),
        Approval::Edited(json!({"command": "ls"})),
    );
    // Going back is not an answer.
    check_approval(|harness| _ = harness.press(Char('n')).press(Esc).look().press(Char('y')), Approval::Once);
}

#[test]
fn always_is_a_second_step() {
    use KeyCode::{Char, Down, Enter, Esc};
    let step = |harness: &mut Harness| {
        harness.press(Char('a')).check_sent(&[]).look();
        harness.check_block_has("Always allow commands like `cargo test …`?");
        harness.check_block_has("  s  in this session").check_block_has("  p  in this project");
        harness.check_block_has("  e  everywhere, in every project").check_block_has("  b  back");
    };
    for (letter, reach) in [('s', Reach::Session), ('p', Reach::Project), ('e', Reach::Everywhere)] {
        let answer = |harness: &mut Harness| {
            step(harness);
            harness.press(Enter).check_sent(&[]).look().press(Char(letter));
            assert!(harness.printed.last().is_some_and(|line| line.contains("…`")), "{:?}", harness.printed);
        };
        check_approval(answer, Approval::Always(reach));
    }
    let arrows = |harness: &mut Harness| {
        harness.press(Down).press(Down).press(Enter).look();
        harness.press(Enter).check_sent(&[]).look().press(Down).press(Down).press(Enter);
    };
    check_approval(arrows, Approval::Always(Reach::Project));
    for back in [Char('b'), Esc] {
        let answer = |harness: &mut Harness| {
            step(harness);
            harness.press(back).check_block_has("Allow run_shell_command?").look().press(Char('y'));
        };
        check_approval(answer, Approval::Once);
    }
}

#[test]
fn only_reaches_that_count_are_offered() {
    let mut asked = request(always());
    asked.always.as_mut().expect("an offer").reaches = vec![Reach::Session];
    let mut harness = Harness::new();
    harness.enter("hi").receive(DriverMessage::ApprovalRequested(PromptId(1), asked)).look();
    harness.sent.clear();
    harness.press(KeyCode::Char('a')).look().check_block_has("  s  in this session");
    assert!(!harness.block().iter().any(|row| row.contains("everywhere")));
    harness.press(KeyCode::Char('e')).check_sent(&[]);
}

#[test]
fn always_is_offered_only_where_there_is_a_rule() {
    let mut harness = Harness::new();
    harness.enter("hi").receive(DriverMessage::ApprovalRequested(PromptId(1), request(None))).look();
    harness.sent.clear();
    harness.press(KeyCode::Char('a')).check_sent(&[]);
    assert!(!harness.block().iter().any(|row| row.contains("always")));
}

#[test]
fn escape_in_an_approval_stops_the_turn() {
    let mut harness = Harness::new();
    harness.enter("hi").receive(DriverMessage::ApprovalRequested(PromptId(1), request(None)));
    harness.sent.clear();
    harness.press(KeyCode::Esc).check_sent(&[DriverCommand::Cancel]);
    assert!(harness.state.dialogs.is_empty());
}

#[test]
fn arguments_that_are_no_json_are_refused() {
    let mut harness = Harness::new();
    let mut asked = request(None);
    asked.call.args = json!({"path": "a"});
    harness.enter("hi").receive(DriverMessage::ApprovalRequested(PromptId(1), asked)).look();
    harness.sent.clear();
    harness.press(KeyCode::Char('e')).look().enter("x").check_sent(&[]).check_block_has("invalid JSON");
}

#[test]
fn questions_are_answered() {
    let question = UserQuestion { text: "Which one?".into(), options: vec!["red".into(), "blue".into()] };
    let mut harness = Harness::new();
    harness
        .receive(DriverMessage::QuestionAsked(PromptId(2), question.clone()))
        .look()
        .check_block_has("  red");
    // Enter alone selects nothing.
    harness.press(KeyCode::Enter).check_sent(&[]).look();
    harness.press(KeyCode::Down).check_block_has("▸ red").press(KeyCode::Down).press(KeyCode::Enter);
    harness.check_sent(&[DriverCommand::Answer(PromptId(2), UserReply::Answer(Some("blue".into())))]);
    harness.receive(DriverMessage::QuestionAsked(PromptId(3), question.clone())).look().enter("green");
    harness.check_sent(&[DriverCommand::Answer(PromptId(3), UserReply::Answer(Some("green".into())))]);
    harness.receive(DriverMessage::QuestionAsked(PromptId(4), question)).look().press(KeyCode::Esc);
    harness.check_sent(&[DriverCommand::Answer(PromptId(4), UserReply::Answer(None))]);
}

fn end(text: &str, shown: ToolDisplay) -> ToolEnd {
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
    let mut harness = Harness::new();
    harness.enter("hi");
    let call = ToolCall::new("c1", "grep_search");
    harness.receive_event(Event::ToolBegan { call, preview: Preview::Look("\"x\" in src".into()) });
    harness.check_block_has("grep_search  \"x\" in src");
    harness.receive_event(Event::ToolProgress { call: "c1".into(), text: "one\n\x1b[2Jtwo\n".into() });
    harness.check_block_has("  │ ␛[2Jtwo");
    harness.printed.clear();
    harness.receive_event(Event::ToolEnded(end("a\nb\nc\nd\ne\nf", ToolDisplay::Text))).check_printed(&[
        "",
        "● grep_search  \"x\" in src  30 ms · 6 lines",
        "  │ a",
        "  │ b",
        "  │ c",
        "  │ d",
        "  └ 2 more lines (Ctrl-O)",
    ]);
    harness.control('o').check_printed(&[
        "",
        "grep_search \"x\" in src",
        "│ a",
        "│ b",
        "│ c",
        "│ d",
        "│ e",
        "│ f",
    ]);
    harness.control('o').check_printed(&["", "· Nothing more to unfold."]);
}

#[test]
fn a_change_is_shown_once() {
    let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n";
    let shown = ToolDisplay::Diff { path: "x".into(), diff: diff.into() };
    let mut harness = Harness::new();
    harness.enter("hi").receive_event(Event::ToolEnded(end("done", shown.clone())));
    assert!(harness.printed.contains(&"  │ +new".to_string()), "{:?}", harness.printed);
    let mut asked = request(None);
    asked.preview = Preview::Change { path: "x".into(), diff: diff.into() };
    harness.receive(DriverMessage::ApprovalRequested(PromptId(1), asked)).look().press(KeyCode::Char('y'));
    harness.printed.clear();
    harness.receive_event(Event::ToolEnded(end("done", shown)));
    harness.check_printed(&["", "● grep_search  30 ms · +1 −1"]);
}

#[test]
fn thoughts_are_shown_or_only_told() {
    let mut harness = Harness::new();
    harness
        .enter("hi")
        .receive_event(Event::ThoughtDelta("Let me see.".into()))
        .check_block_has("Let me see.");
    harness.printed.clear();
    harness
        .wait(5)
        .receive_event(Event::TextDelta("Yes.".into()))
        .check_printed(&["", "· thought for 5.0 s"]);
    harness.control('t').receive_event(Event::ThoughtDelta("Hm.".into()));
    harness.printed.clear();
    harness.receive_event(Event::StepBegan { step: 2 }).check_printed(&["", "│ Hm.", "", "Yes."]);
}

#[test]
fn what_a_subagent_consumes_is_not_in_the_window() {
    let usage = longhaul_conversation::Usage { input: Some(TokenCount(90_000)), ..Default::default() };
    let mut harness = Harness::new();
    harness.enter("hi").receive_event(Event::Usage(longhaul_conversation::Usage {
        input: Some(TokenCount(7_000)),
        ..usage
    }));
    let (name, event) = ("reviewer".to_string(), Box::new(Event::Usage(usage)));
    harness.receive_event(Event::Subagent { name, call: "c1".into(), event });
    assert_eq!(harness.state.status.meter.used, TokenCount(7_000));
}

#[test]
fn what_does_not_fit_is_typed_again() {
    let overflow = longhaul_agent::Overflow {
        request: TokenCount(9_000),
        remaining: TokenCount(4_000),
        window: TokenCount(32_000),
        fixed: Default::default(),
        cause: Default::default(),
    };
    let mut harness = Harness::new();
    harness.enter("too long").receive_event(Event::PromptTakenBack);
    harness.receive_event(Event::Ended(TurnEnd::Overflow(overflow)));
    harness.receive(DriverMessage::Restore("too long".into())).receive(DriverMessage::Done);
    assert_eq!(harness.state.editor.text(), "too long");
    let said = harness.printed.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("9,000 tokens, but only 4,000 of 32,000") && said.contains("/compress"), "{said}");
}

#[test]
fn sessions_are_searched_and_chosen() {
    let session = |id: &str, title: &str| SessionChoice {
        id: id.into(),
        title: title.into(),
        detail: "1 h ago, 4 messages".into(),
    };
    let mut harness = Harness::new();
    harness.enter("/resume").check_sent(&[DriverCommand::ListSessions]);
    harness
        .receive(DriverMessage::Sessions(vec![session("s1", "Parser"), session("s2", "Lexer")]))
        .receive(DriverMessage::Done);
    harness.check_block_has("▸ Parser").check_block_has("2 of 2");
    harness.type_text("lex").check_block_has("▸ Lexer").press(KeyCode::Enter);
    harness.check_sent(&[DriverCommand::Resume("s2".into())]);
    harness
        .receive(DriverMessage::Done)
        .receive(DriverMessage::Sessions(vec![session("s1", "Parser")]))
        .press(KeyCode::Esc);
    assert!(harness.state.dialogs.is_empty());
}

#[test]
fn one_goes_back_and_says_it_in_other_words() {
    let turn = TurnChoice { id: MessageId::from("m9"), text: "do it\nnow".into(), detail: "12:00".into() };
    let mut harness = Harness::new();
    harness.enter("/rewind").check_sent(&[DriverCommand::ListTurns]);
    harness
        .receive(DriverMessage::Turns(vec![turn]))
        .receive(DriverMessage::Done)
        .check_block_has("▸ do it now");
    harness.press(KeyCode::Enter).check_sent(&[DriverCommand::RewindTo(MessageId::from("m9"))]);
    assert_eq!(harness.state.editor.text(), "do it\nnow");
}

#[test]
fn history_is_searched() {
    let mut harness = Harness::new();
    for text in ["cargo build", "cargo test", "ls"] {
        harness.state.history.add(text);
    }
    harness.control('r').type_text("cargo").check_block_has("cargo test");
    harness.control('r').check_block_has("cargo build").press(KeyCode::Enter);
    assert_eq!(harness.state.editor.text(), "cargo build");
    harness.control('r').type_text("zzz").check_block_has("no match").press(KeyCode::Esc);
    assert_eq!(harness.state.editor.text(), "cargo build");
}

#[test]
fn files_are_completed() {
    let mut harness = Harness::new();
    harness.type_text("see @mai");
    assert_eq!(harness.others, [UiEffect::FindFiles]);
    harness.handle(UiInput::Files(vec!["src/main.rs".into(), "src/my file.rs".into()]));
    harness.check_block_has("▸ @src/main.rs").press(KeyCode::Tab);
    assert_eq!(harness.state.editor.text(), "see @src/main.rs ");
    harness.type_text("@myf").press(KeyCode::Enter).check_sent(&[]);
    assert_eq!(harness.state.editor.text(), "see @src/main.rs @src/my\\ file.rs ");
    // Files created in the meantime are found.
    harness.press(KeyCode::Enter).receive(DriverMessage::Done).type_text("@n");
    assert_eq!(harness.others.iter().filter(|effect| **effect == UiEffect::FindFiles).count(), 2);
}

#[test]
fn long_pastes_are_folded_and_sent_in_whole() {
    let long = "line\n".repeat(30);
    let mut harness = Harness::new();
    harness.type_text("look: ");
    harness.handle(UiInput::Paste(long.clone()));
    harness.check_block_has("[paste 1: 30 lines]").press(KeyCode::Enter);
    harness.check_sent(&[submit(&format!("look: {long}"))]);
}

#[test]
fn own_commands_are_run() {
    let mut harness = Harness::new();
    harness.enter("!ls -l").check_sent(&[DriverCommand::Run("ls -l".into())]);
    harness.printed.clear();
    harness.receive(DriverMessage::CommandOutput { command: "ls -l".into(), output: "a\nb".into() });
    harness.check_printed(&["", "$ ls -l", "  │ a", "  │ b"]);
}

#[test]
fn modes_are_gone_through() {
    let mut harness = Harness::new();
    harness.press(KeyCode::BackTab).check_sent(&[DriverCommand::SetMode(ApprovalMode::AutoEdit)]);
    harness.receive(DriverMessage::Done);
    harness.state.status.mode = ApprovalMode::AutoEdit;
    harness.check_block_has("· auto-edit");
    harness.state.status.is_trusted = false;
    harness.state.status.mode = ApprovalMode::Default;
    harness.press(KeyCode::BackTab).check_sent(&[DriverCommand::SetMode(ApprovalMode::Plan)]);
}

#[test]
fn a_failure_to_begin_is_told() {
    let mut harness = Harness::new();
    harness.receive(DriverMessage::Failed(Notice::error("no").with_hint("do this")));
    harness.check_printed(&["✗ no", "  do this"]);
    assert_eq!(harness.others, [UiEffect::Leave(ExitReason::Failed)]);
}

#[test]
fn the_block_fits_every_size() {
    let mut harness = Harness::new();
    harness.state.status = StatusLine {
        model: "some-model-with-a-long-name".into(),
        folder: "~/code/日本語/project".into(),
        branch: Some("feature/very-long-branch-name".into()),
        memory_files: 3,
        rules: 2,
        cost: Some(1.25),
        ..StatusLine::default()
    };
    harness.state.status.meter.room = TokenCount(200_000);
    harness.state.status.meter.used = TokenCount(90_000);
    harness
        .enter("hi")
        .receive_event(Event::TextDelta("日本語 ".repeat(400)))
        .type_text("日本語😀 typed ahead ".repeat(9).as_str());
    let check = |harness: &mut Harness| {
        for width in [20, 40, 61, 80, 120, 200] {
            for height in [6, 10, 24, 60] {
                harness.handle(UiInput::Resize(TerminalSize { width, height }));
                let frame = view::frame(&harness.state);
                assert!(frame.lines.len() < height, "{width}x{height}: {}", frame.lines.len());
                let widest = frame.lines.iter().map(StyledLine::columns).max().unwrap_or(0);
                assert!(widest < width, "{width}x{height}: {widest}");
                if let Some((row, column)) = frame.cursor {
                    assert!(row < frame.lines.len() && column < width, "{width}x{height}: {row} {column}");
                }
            }
        }
    };
    check(&mut harness);
    harness.receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
    check(&mut harness);
}

#[test]
fn pages_are_shown_while_a_turn_runs() {
    let mut harness = Harness::new();
    harness.enter("Go.").check_sent(&[submit("Go.")]);
    harness.receive_event(Event::TextDelta("First.\n\nSecond".into())).wait(1);
    harness.printed.clear();
    harness.enter("/context").check_sent(&[DriverCommand::Show(Topic::Context)]);
    assert!(harness.state.queue.is_empty());
    let mut page = crate::page::Page::new("Context");
    page.text("half");
    harness.receive(DriverMessage::Page(page)).receive(DriverMessage::Done);
    harness.check_printed(&["", "❯ /context", "", "Context", "  half"]);
    // The turn goes on where it was, apart from the page.
    assert!(harness.state.is_busy());
    harness.check_block_has("Second");
    harness.receive_event(Event::TextDelta(" part.\n\nThird".into())).wait(1);
    harness.check_printed(&["", "Second part."]);
    harness.receive(DriverMessage::Done);
    assert!(!harness.state.is_busy());
}

#[test]
fn commands_that_change_something_wait_for_the_turn() {
    let mut harness = Harness::new();
    harness.enter("Go.").check_sent(&[submit("Go.")]);
    harness.enter("/rules add Never push.").check_sent(&[]);
    // What comes behind them waits, too, so that the order stays.
    harness.enter("/rules").check_sent(&[]);
    assert_eq!(harness.state.queue.len(), 2);
}

#[test]
fn vim_keys_edit_the_input_and_leave_the_rest_alone() {
    let mut harness = Harness::new();
    harness.state.preferences.is_vim = true;
    harness.check_block_has("INSERT");
    harness.type_text("fix the bug").press(KeyCode::Esc).check_block_has("NORMAL");
    harness.type_text("bcwerror").press(KeyCode::Esc).type_text("0dwx");
    assert_eq!(harness.state.editor.text(), "he error");
    harness.press(KeyCode::Enter).check_sent(&[submit("he error")]);
    // A new message begins in insert mode; Esc leaves it, and the next one stops the turn.
    harness.type_text("x").press(KeyCode::Esc).check_sent(&[]);
    harness.press(KeyCode::Esc).check_sent(&[DriverCommand::Cancel]);
    harness.receive(DriverMessage::Done);
    harness.press(KeyCode::Esc);
    assert_eq!(harness.state.editor.text(), "x");
    // History is browsed as with the arrows.
    harness.type_text("kk");
    assert_eq!(harness.state.editor.text(), "he error");
}

#[test]
fn vim_keys_are_switched() {
    let mut harness = Harness::new();
    let switch = |value: &str| DriverCommand::ChangeSetting {
        key: "general.vimMode".into(),
        value: Some(value.into()),
    };
    harness.enter("/vim").check_sent(&[switch("true")]);
    let preferences = Preferences { is_vim: true, ..Preferences::default() };
    harness.receive(DriverMessage::Preferences(preferences)).receive(DriverMessage::Done);
    harness.check_block_has("INSERT");
    harness.enter("/vim").check_sent(&[switch("false")]);
}

#[test]
fn themes_are_chosen_from_a_list() {
    let mut harness = Harness::new();
    let themes = vec![("dark".to_string(), "Soft".to_string()), ("light".to_string(), "Deep".to_string())];
    harness.receive(DriverMessage::Offers(Offers { themes, ..Offers::default() }));
    harness.enter("/theme").press(KeyCode::Down).press(KeyCode::Enter);
    harness
        .check_sent(&[DriverCommand::ChangeSetting { key: "ui.theme".into(), value: Some("light".into()) }]);
}

#[test]
fn images_are_sent_with_the_message_that_names_them() {
    let image = PastedImage { mime: "image/png", bytes: b"\x89PNG".to_vec() };
    let mut harness = Harness::new();
    harness.control('v');
    assert_eq!(harness.others, [UiEffect::PasteImage]);
    harness.type_text("see ");
    harness.handle(UiInput::Image(Ok(image.clone()), String::new()));
    assert_eq!(harness.state.editor.text(), "see [image 1: PNG, 4 bytes]");
    harness.press(KeyCode::Enter);
    harness.check_sent(&[DriverCommand::AttachImage(image.clone()), submit("see [image 1: PNG, 4 bytes]")]);
    harness.receive(DriverMessage::Done).receive(DriverMessage::Done);
    // A placeholder goes as a whole, and with it the image.
    harness.handle(UiInput::Image(Ok(image), String::new()));
    harness.press(KeyCode::Backspace);
    harness.enter("none").check_sent(&[submit("none")]);
}

#[test]
fn the_pasted_path_of_an_image_is_loaded() {
    let mut harness = Harness::new();
    harness.handle(UiInput::Paste("/tmp/shot.png".into()));
    assert_eq!(harness.others, [UiEffect::LoadImage("/tmp/shot.png".into(), "/tmp/shot.png".into())]);
    assert!(harness.state.editor.is_empty());
    let notice = Notice::warning("Could not attach it.");
    harness.handle(UiInput::Image(Err(notice), "/tmp/shot.png".into()));
    harness.check_printed(&["! Could not attach it."]);
    assert_eq!(harness.state.editor.text(), "/tmp/shot.png");
}

#[test]
fn folders_are_completed_and_gone_into() {
    let mut harness = Harness::new();
    harness.type_text("see @sr");
    harness.handle(UiInput::Files(vec!["src/".into(), "src/a.rs".into(), "src/deep/".into()]));
    harness.press(KeyCode::Tab);
    assert_eq!(harness.state.editor.text(), "see @src/");
    harness.check_block_has("@src/a.rs");
    harness.press(KeyCode::Esc).press(KeyCode::Enter).check_sent(&[submit("see @src/")]);
}

#[test]
fn a_proposed_file_is_edited_before_it_is_written() {
    let proposal = Proposal { path: "/app/a.rs".into(), text: "one\n".into() };
    let request = ApprovalRequest { proposal: Some(proposal.clone()), ..request(None) };
    let mut harness = Harness::new();
    harness.enter("Go.").receive(DriverMessage::ApprovalRequested(PromptId(1), request)).look();
    harness.check_block_has("edit the file in your editor first");
    harness.sent.clear();
    harness.others.clear();
    harness.press(KeyCode::Char('e'));
    assert_eq!(harness.others, [UiEffect::EditProposal(PromptId(1), proposal)]);
    // What is left as it was is not allowed by that.
    harness.handle(UiInput::EditedProposal(PromptId(1), Ok("one\n".into())));
    harness.check_sent(&[]).check_block_has("Allow run_shell_command?");
    harness.printed.clear();
    harness.handle(UiInput::EditedProposal(PromptId(1), Ok("two\n".into())));
    let answer = UserReply::Approval(Approval::Rewritten("two\n".into()));
    harness.check_sent(&[DriverCommand::Answer(PromptId(1), answer)]);
    assert!(harness.printed.iter().any(|line| line == "  +two"), "{:?}", harness.printed);
    assert!(harness.printed.iter().any(|line| line.contains("allowed with your edits")));
}

#[test]
fn the_end_of_long_work_is_told() {
    let told = |seconds: u64, how: Notification| {
        let mut harness = Harness::new();
        harness.state.preferences.notification = how;
        harness.enter("Fix the bug.").wait(seconds);
        harness.others.clear();
        harness.receive(DriverMessage::Done);
        harness.others.iter().any(|effect| *effect == UiEffect::Notify("Done: Fix the bug.".into()))
    };
    assert!(told(12, Notification::Bell) && told(12, Notification::Osc9));
    assert!(!told(3, Notification::Osc9) && !told(12, Notification::Off));
}
