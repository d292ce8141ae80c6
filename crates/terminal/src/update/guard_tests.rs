//! Tests of the guard: nothing meant for the draft answers a prompt, and no typed character is lost.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_agent::{Approval, UserQuestion};
use proptest::prelude::*;

use super::tests::{Harness, always, request};
use super::{Arrival, UiInput};
use crate::guard::QUIET_PERIOD;
use crate::inbox::{InboxItem, InboxKind};
use crate::protocol::{DriverCommand, DriverMessage, PromptId, UserReply};

/// A sentence that would allow everything for good if its letters were answers.
const SENTENCE: &str = "and please also add a test for that, and a changelog entry as always";

/// A harness with a running turn and an empty queue.
fn working() -> Harness {
    let mut harness = Harness::new();
    harness.enter("hi").sent.clear();
    harness
}

/// The same with an approval request that has not been drawn yet.
fn asked() -> Harness {
    let mut harness = working();
    harness.receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
    harness
}

fn after(harness: &mut Harness, milliseconds: u64) -> &mut Harness {
    harness.state.now += Duration::from_millis(milliseconds);
    harness.handle(UiInput::Frame);
    harness
}

/// Types at normal speed, with a frame after each key.
fn type_slowly<'d>(harness: &'d mut Harness, text: &str) -> &'d mut Harness {
    for letter in text.chars() {
        after(harness.press(KeyCode::Char(letter)), 120);
    }
    harness
}

fn once(id: u64) -> DriverCommand {
    DriverCommand::Answer(PromptId(id), UserReply::Approval(Approval::Once))
}

#[track_caller]
fn check_draft(harness: &mut Harness, expected: &str) {
    harness.check_sent(&[]);
    assert_eq!(harness.state.editor.text(), expected);
    assert_eq!(harness.state.dialogs.len(), 1, "it is still asked");
}

#[test]
fn a_sentence_goes_on_where_it_was_begun() {
    // The question may come up anywhere in it, after a pause of any length.
    for at in [1, 4, 11, SENTENCE.len()] {
        for pause in [0, 900, 5_000] {
            let mut harness = working();
            type_slowly(&mut harness, &SENTENCE[..at])
                .receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
            type_slowly(after(&mut harness, pause), &SENTENCE[at..]);
            check_draft(&mut harness, SENTENCE);
            harness.check_block_has("Tab to answer");
        }
    }
}

#[test]
fn a_sentence_begun_beside_the_question_is_a_message() {
    // Before it is drawn, in the quiet period, and later: then the first letter opens a second stage and returns from
    // it.
    for pause in [0, 300, 999, 1_000, 4_000] {
        for sentence in [SENTENCE, "even better would be a table", "I see, go on", "Yes and no"] {
            let mut harness = asked();
            if pause > 0 {
                after(after(&mut harness, 0), pause);
            }
            type_slowly(&mut harness, sentence);
            check_draft(&mut harness, sentence);
            harness.check_block_has("Allow run_shell_command?");
        }
    }
}

#[test]
fn enter_alone_allows_nothing() {
    let mut harness = asked();
    for pause in [0, 0, 300, 1_500, 5_000] {
        after(harness.press(KeyCode::Enter), pause).check_sent(&[]);
    }
    check_draft(&mut harness, "");
    // An arrow pressed before the question could be read does not count either.
    let mut harness = asked();
    after(&mut harness, 0).press(KeyCode::Down);
    after(&mut harness, 2_000).press(KeyCode::Enter);
    check_draft(&mut harness, "");
}

#[test]
fn every_key_in_the_quiet_moment_starts_it_again() {
    let mut harness = asked();
    after(&mut harness, 0);
    for _ in 0..5 {
        after(&mut harness, 900).press(KeyCode::Enter);
    }
    after(&mut harness, 900).press(KeyCode::Char('y'));
    check_draft(&mut harness, "y");
    after(harness.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(1)]);
}

#[test]
fn who_wants_to_answer_beside_a_draft_turns_to_the_question() {
    let mut harness = working();
    harness
        .type_text("and add")
        .receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())))
        .look();
    harness.press(KeyCode::Tab).check_block_has("one moment");
    // Continued typing shows that it was not meant.
    harness.type_text(" y").press(KeyCode::Tab).press(KeyCode::Enter);
    check_draft(&mut harness, "and add y");
    harness.look().check_block_has("Tab to return to your message");
    harness.press(KeyCode::Tab).look().type_text("es");
    check_draft(&mut harness, "and add yes");
    harness.press(KeyCode::Tab).look().press(KeyCode::Char('y')).check_sent(&[once(1)]);
    assert_eq!(harness.state.editor.text(), "and add yes");
}

#[test]
fn a_message_is_queued_while_something_is_asked() {
    let mut harness = asked();
    type_slowly(after(&mut harness, 0), "yes, and a test").press(KeyCode::Enter).check_sent(&[]);
    harness.check_block_has("next: yes, and a test");
    harness.press(KeyCode::Char('y'));
    check_draft(&mut harness, "y");
    after(harness.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(1)]);
    assert_eq!(harness.state.queue, ["yes, and a test"]);
}

#[test]
fn a_paste_never_answers() {
    for pause in [0, 500, 5_000] {
        let mut harness = asked();
        after(&mut harness, pause).handle(UiInput::Paste("y".into()));
        check_draft(&mut harness, "y");
        after(harness.press(KeyCode::Backspace), 2_000).press(KeyCode::Char('a'));
        after(&mut harness, pause).handle(UiInput::Paste("e".into()));
        check_draft(&mut harness, "ae");
    }
    // The text to edit is a draft.
    let mut harness = asked();
    harness.look().press(KeyCode::Char('e')).look().handle(UiInput::Paste(" --all".into()));
    check_draft(&mut harness, "");
    harness.check_block_has("cargo test --all");
}

/// Keys that arrive together.
fn burst(harness: &mut Harness, text: &str) {
    for letter in text.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        harness.handle(UiInput::Key(KeyEvent::new(code, KeyModifiers::NONE), Arrival::InBurst));
    }
}

#[test]
fn keys_that_arrive_together_are_no_answer() {
    let mut harness = asked();
    burst(harness.look(), "yes please");
    check_draft(&mut harness, "yes please");
    let mut harness = asked();
    burst(harness.look().press(KeyCode::Down), "\n");
    check_draft(&mut harness, "");
    // In a field they are text and do not submit it.
    let mut harness = asked();
    burst(harness.look().press(KeyCode::Char('e')).look(), " -q\n");
    check_draft(&mut harness, "");
    harness.check_block_has("cargo test -q");
}

#[test]
fn each_question_has_its_own_moment() {
    let mut harness = asked();
    harness.receive(DriverMessage::ApprovalRequested(PromptId(2), request(None))).look();
    harness.press(KeyCode::Char('y')).check_sent(&[once(1)]);
    after(&mut harness, 0).press(KeyCode::Char('y'));
    check_draft(&mut harness, "y");
    after(harness.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(2)]);
}

#[test]
fn a_second_step_has_its_own_moment() {
    for letters in ["as", "ap", "ae", "e\n"] {
        let mut harness = asked();
        harness.look();
        for letter in letters.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            after(&mut harness, 0).press(code);
        }
        harness.check_sent(&[]);
        assert_eq!(harness.state.dialogs.len(), 1, "{letters}");
    }
}

#[test]
fn what_is_typed_ahead_does_not_answer_the_model_either() {
    let question = || UserQuestion { text: "Push to main?".into(), options: vec!["Yes".into(), "No".into()] };
    let mut harness = working();
    harness.type_text("and then").receive(DriverMessage::QuestionAsked(PromptId(1), question()));
    type_slowly(after(&mut harness, 0), " stop").press(KeyCode::Enter).check_sent(&[]);
    assert_eq!(harness.state.queue, ["and then stop"]);
    harness.press(KeyCode::Enter).check_sent(&[]);
    after(&mut harness, 1_000).press(KeyCode::Enter).check_sent(&[]);
    after(&mut harness, 1_000).press(KeyCode::Down).press(KeyCode::Down).press(KeyCode::Enter);
    harness.check_sent(&[DriverCommand::Answer(PromptId(1), UserReply::Answer(Some("No".into())))]);
}

#[test]
fn what_is_typed_ahead_accepts_nothing_that_waits() {
    let item = InboxItem {
        name: "release".into(),
        kind: "new skill".into(),
        about: "Releases.".into(),
        problem: None,
        page: crate::page::Page::new("release"),
        files: Vec::new(),
        has_scope: true,
    };
    for (typed, sentence) in [("", SENTENCE), ("a", "nd please"), ("x", "apu")] {
        let mut harness = Harness::new();
        harness.type_text(typed).receive(DriverMessage::Inbox(InboxKind::Skills, vec![item.clone()]));
        type_slowly(after(&mut harness, 0), sentence);
        check_draft(&mut harness, &format!("{typed}{sentence}"));
    }
    // Moving in the list changes nothing.
    let mut harness = Harness::new();
    harness.receive(DriverMessage::Inbox(InboxKind::Skills, vec![item.clone(), item]));
    after(&mut harness, 0).press(KeyCode::Down);
    check_draft(&mut harness, "");
    harness.look().press(KeyCode::Char('a'));
    assert_eq!(harness.sent.len(), 1);
}

#[test]
fn escape_stops_the_turn_at_any_time() {
    for pause in [None, Some(0), Some(5_000)] {
        for draft in ["", "and add"] {
            let mut harness = working();
            harness
                .type_text(draft)
                .receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
            pause.into_iter().for_each(|pause| _ = after(&mut harness, pause));
            harness.press(KeyCode::Esc).check_sent(&[DriverCommand::Cancel]);
            assert_eq!((harness.state.dialogs.len(), harness.state.editor.text()), (0, draft));
        }
    }
}

/// An action of the user, with the pause before it.
#[derive(Clone, Debug)]
enum UserAction {
    Letter(char),
    Paste(String),
    Enter,
    /// Draws a frame.
    Draw,
}

fn user_action() -> impl Strategy<Value = (u64, UserAction)> {
    let letters = prop::sample::select("yaenspbYAN1234 xkqud".chars().collect::<Vec<_>>());
    let user_action = prop_oneof![
        6 => letters.prop_map(UserAction::Letter),
        1 => "[yaen ]{1,6}".prop_map(UserAction::Paste),
        2 => Just(UserAction::Enter),
        3 => Just(UserAction::Draw),
    ];
    let pause = prop_oneof![4 => 0..400_u64, 2 => 900..1_100_u64, 1 => 1_100..3_000_u64];
    (pause, user_action)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    /// For any typing, pasting and submitting around the moment a question appears: nothing that arrives within a
    /// second of it, or continues a draft, answers it; and every character ends up in the draft or the queue.
    #[test]
    fn only_a_key_after_a_quiet_moment_answers(
        before in prop::collection::vec(user_action(), 0..8),
        behind in prop::collection::vec(user_action(), 1..24),
    ) {
        let mut harness = working();
        let mut typed = String::new();
        // The time of the last key, or of the question's first frame; none until then.
        let mut last: Option<Duration> = None;
        let count = before.len();
        for (place, (pause, user_action)) in before.into_iter().chain(behind).enumerate() {
            if place == count {
                harness.receive(DriverMessage::ApprovalRequested(PromptId(1), request(always())));
            }
            let is_asked = place >= count;
            harness.state.now += Duration::from_millis(pause);
            let now = harness.state.now;
            let may_answer = is_asked
                && harness.state.editor.is_empty()
                && last.is_some_and(|last| now.saturating_sub(last) >= QUIET_PERIOD);
            match user_action {
                // From here on the answer is intended.
                UserAction::Letter(letter) if may_answer && "yaen1234".contains(letter) => break,
                UserAction::Letter(letter) => {
                    harness.press(KeyCode::Char(letter));
                    typed.push(letter);
                }
                UserAction::Paste(text) => {
                    harness.handle(UiInput::Paste(text.clone()));
                    typed.push_str(&text);
                }
                UserAction::Enter => _ = harness.press(KeyCode::Enter),
                UserAction::Draw => {
                    harness.handle(UiInput::Frame);
                    last = last.or(is_asked.then_some(now));
                    continue;
                }
            }
            last = last.map(|_| now);
            harness.check_sent(&[]);
            prop_assert_eq!(harness.state.dialogs.len(), usize::from(is_asked));
            let kept: String = harness.state.queue.iter().cloned().chain([harness.state.editor.expanded()]).collect();
            prop_assert_eq!(kept, typed.clone());
        }
    }
}
