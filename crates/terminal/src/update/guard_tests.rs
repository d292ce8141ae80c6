//! Nothing that was meant for something else answers a question that grants something, and nothing typed is lost.

use std::time::Duration;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use longhaul_agent::{Approval, UserQuestion};
use proptest::prelude::*;

use super::tests::{Desk, always, request};
use super::{Arrival, Input};
use crate::command::{AskId, Command, Message, Reply};
use crate::guard::QUIET;
use crate::review::{Inbox, InboxItem};

/// A sentence that would allow everything for good, if its letters were answers.
const SENTENCE: &str = "and please also add a test for that, and a changelog entry as always";

/// A desk at which the model works, and nothing was typed ahead.
fn working() -> Desk {
    let mut desk = Desk::new();
    desk.enter("hi").sent.clear();
    desk
}

/// The same, where a call is asked about that nobody has seen yet.
fn asked() -> Desk {
    let mut desk = working();
    desk.hear(Message::Asked(AskId(1), request(always())));
    desk
}

fn after(desk: &mut Desk, milliseconds: u64) -> &mut Desk {
    desk.state.now += Duration::from_millis(milliseconds);
    desk.take(Input::Frame);
    desk
}

/// Types at the usual pace, the screen being drawn after every key.
fn type_slowly<'d>(desk: &'d mut Desk, text: &str) -> &'d mut Desk {
    for letter in text.chars() {
        after(desk.press(KeyCode::Char(letter)), 120);
    }
    desk
}

fn once(id: u64) -> Command {
    Command::Answer(AskId(id), Reply::Approval(Approval::Once))
}

#[track_caller]
fn check_draft(desk: &mut Desk, expected: &str) {
    desk.check_sent(&[]);
    assert_eq!(desk.state.editor.text(), expected);
    assert_eq!(desk.state.dialogs.len(), 1, "it is still asked");
}

#[test]
fn a_sentence_goes_on_where_it_was_begun() {
    // Wherever the question comes up in it, and however long the pause is there.
    for at in [1, 4, 11, SENTENCE.len()] {
        for pause in [0, 900, 5_000] {
            let mut desk = working();
            type_slowly(&mut desk, &SENTENCE[..at]).hear(Message::Asked(AskId(1), request(always())));
            type_slowly(after(&mut desk, pause), &SENTENCE[at..]);
            check_draft(&mut desk, SENTENCE);
            desk.check_block_has("Tab answers this");
        }
    }
}

#[test]
fn a_sentence_begun_beside_the_question_is_a_message() {
    // Before it is drawn, in the moment after, and later: then its first letter leads to a second step, and comes back.
    for pause in [0, 300, 999, 1_000, 4_000] {
        for sentence in [SENTENCE, "even better would be a table", "I see, go on", "Yes and no"] {
            let mut desk = asked();
            if pause > 0 {
                after(after(&mut desk, 0), pause);
            }
            type_slowly(&mut desk, sentence);
            check_draft(&mut desk, sentence);
            desk.check_block_has("Allow run_shell_command?");
        }
    }
}

#[test]
fn enter_alone_allows_nothing() {
    let mut desk = asked();
    for pause in [0, 0, 300, 1_500, 5_000] {
        after(desk.press(KeyCode::Enter), pause).check_sent(&[]);
    }
    check_draft(&mut desk, "");
    // Nor does an arrow that was pressed before the question could be read.
    let mut desk = asked();
    after(&mut desk, 0).press(KeyCode::Down);
    after(&mut desk, 2_000).press(KeyCode::Enter);
    check_draft(&mut desk, "");
}

#[test]
fn every_key_in_the_quiet_moment_starts_it_again() {
    let mut desk = asked();
    after(&mut desk, 0);
    for _ in 0..5 {
        after(&mut desk, 900).press(KeyCode::Enter);
    }
    after(&mut desk, 900).press(KeyCode::Char('y'));
    check_draft(&mut desk, "y");
    after(desk.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(1)]);
}

#[test]
fn who_wants_to_answer_beside_a_draft_turns_to_the_question() {
    let mut desk = working();
    desk.type_text("and add").hear(Message::Asked(AskId(1), request(always()))).look();
    desk.press(KeyCode::Tab).check_block_has("one moment");
    // Who goes on typing did not mean it.
    desk.type_text(" y").press(KeyCode::Tab).press(KeyCode::Enter);
    check_draft(&mut desk, "and add y");
    desk.look().check_block_has("Tab goes back to your message");
    desk.press(KeyCode::Tab).look().type_text("es");
    check_draft(&mut desk, "and add yes");
    desk.press(KeyCode::Tab).look().press(KeyCode::Char('y')).check_sent(&[once(1)]);
    assert_eq!(desk.state.editor.text(), "and add yes");
}

#[test]
fn a_message_is_queued_while_something_is_asked() {
    let mut desk = asked();
    type_slowly(after(&mut desk, 0), "yes, and a test").press(KeyCode::Enter).check_sent(&[]);
    desk.check_block_has("next: yes, and a test");
    desk.press(KeyCode::Char('y'));
    check_draft(&mut desk, "y");
    after(desk.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(1)]);
    assert_eq!(desk.state.queue, ["yes, and a test"]);
}

#[test]
fn a_paste_never_answers() {
    for pause in [0, 500, 5_000] {
        let mut desk = asked();
        after(&mut desk, pause).take(Input::Paste("y".into()));
        check_draft(&mut desk, "y");
        after(desk.press(KeyCode::Backspace), 2_000).press(KeyCode::Char('a'));
        after(&mut desk, pause).take(Input::Paste("e".into()));
        check_draft(&mut desk, "ae");
    }
    // What is to be changed is text.
    let mut desk = asked();
    desk.look().press(KeyCode::Char('e')).look().take(Input::Paste(" --all".into()));
    check_draft(&mut desk, "");
    desk.check_block_has("cargo test --all");
}

/// Keys that arrive together.
fn burst(desk: &mut Desk, text: &str) {
    for letter in text.chars() {
        let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
        desk.take(Input::Key(KeyEvent::new(code, KeyModifiers::NONE), Arrival::InBurst));
    }
}

#[test]
fn keys_that_arrive_together_are_no_answer() {
    let mut desk = asked();
    burst(desk.look(), "yes please");
    check_draft(&mut desk, "yes please");
    let mut desk = asked();
    burst(desk.look().press(KeyCode::Down), "\n");
    check_draft(&mut desk, "");
    // In a field they are text, and end no field.
    let mut desk = asked();
    burst(desk.look().press(KeyCode::Char('e')).look(), " -q\n");
    check_draft(&mut desk, "");
    desk.check_block_has("cargo test -q");
}

#[test]
fn each_question_has_its_own_moment() {
    let mut desk = asked();
    desk.hear(Message::Asked(AskId(2), request(None))).look();
    desk.press(KeyCode::Char('y')).check_sent(&[once(1)]);
    after(&mut desk, 0).press(KeyCode::Char('y'));
    check_draft(&mut desk, "y");
    after(desk.press(KeyCode::Backspace), 1_000).press(KeyCode::Char('y')).check_sent(&[once(2)]);
}

#[test]
fn a_second_step_has_its_own_moment() {
    for letters in ["as", "ap", "ae", "e\n"] {
        let mut desk = asked();
        desk.look();
        for letter in letters.chars() {
            let code = if letter == '\n' { KeyCode::Enter } else { KeyCode::Char(letter) };
            after(&mut desk, 0).press(code);
        }
        desk.check_sent(&[]);
        assert_eq!(desk.state.dialogs.len(), 1, "{letters}");
    }
}

#[test]
fn what_is_typed_ahead_does_not_answer_the_model_either() {
    let question = || UserQuestion { text: "Push to main?".into(), options: vec!["Yes".into(), "No".into()] };
    let mut desk = working();
    desk.type_text("and then").hear(Message::Questioned(AskId(1), question()));
    type_slowly(after(&mut desk, 0), " stop").press(KeyCode::Enter).check_sent(&[]);
    assert_eq!(desk.state.queue, ["and then stop"]);
    desk.press(KeyCode::Enter).check_sent(&[]);
    after(&mut desk, 1_000).press(KeyCode::Enter).check_sent(&[]);
    after(&mut desk, 1_000).press(KeyCode::Down).press(KeyCode::Down).press(KeyCode::Enter);
    desk.check_sent(&[Command::Answer(AskId(1), Reply::Answer(Some("No".into())))]);
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
        let mut desk = Desk::new();
        desk.type_text(typed).hear(Message::Inbox(Inbox::Skills, vec![item.clone()]));
        type_slowly(after(&mut desk, 0), sentence);
        check_draft(&mut desk, &format!("{typed}{sentence}"));
    }
    // Who looks through the list changes nothing.
    let mut desk = Desk::new();
    desk.hear(Message::Inbox(Inbox::Skills, vec![item.clone(), item]));
    after(&mut desk, 0).press(KeyCode::Down);
    check_draft(&mut desk, "");
    desk.look().press(KeyCode::Char('a'));
    assert_eq!(desk.sent.len(), 1);
}

#[test]
fn escape_stops_the_turn_at_any_time() {
    for pause in [None, Some(0), Some(5_000)] {
        for draft in ["", "and add"] {
            let mut desk = working();
            desk.type_text(draft).hear(Message::Asked(AskId(1), request(always())));
            pause.into_iter().for_each(|pause| _ = after(&mut desk, pause));
            desk.press(KeyCode::Esc).check_sent(&[Command::Cancel]);
            assert_eq!((desk.state.dialogs.len(), desk.state.editor.text()), (0, draft));
        }
    }
}

/// Something that somebody does, and how long after the last thing.
#[derive(Clone, Debug)]
enum Deed {
    Letter(char),
    Paste(String),
    Enter,
    /// The screen is drawn.
    Draw,
}

fn deed() -> impl Strategy<Value = (u64, Deed)> {
    let letters = prop::sample::select("yaenspbYAN1234 xkqud".chars().collect::<Vec<_>>());
    let deed = prop_oneof![
        6 => letters.prop_map(Deed::Letter),
        1 => "[yaen ]{1,6}".prop_map(Deed::Paste),
        2 => Just(Deed::Enter),
        3 => Just(Deed::Draw),
    ];
    let pause = prop_oneof![4 => 0..400_u64, 2 => 900..1_100_u64, 1 => 1_100..3_000_u64];
    (pause, deed)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_024))]

    /// Whatever is typed, pasted and entered around the moment in which a question appears: nothing that arrives within a
    /// second of it, or goes on with a draft, answers it; and every character stands in the draft or the queue afterwards.
    #[test]
    fn only_a_key_after_a_quiet_moment_answers(
        before in prop::collection::vec(deed(), 0..8),
        behind in prop::collection::vec(deed(), 1..24),
    ) {
        let mut desk = working();
        let mut typed = String::new();
        // The last time something was typed, or the question appeared; nothing while it was not drawn.
        let mut last: Option<Duration> = None;
        let count = before.len();
        for (place, (pause, deed)) in before.into_iter().chain(behind).enumerate() {
            if place == count {
                desk.hear(Message::Asked(AskId(1), request(always())));
            }
            let is_asked = place >= count;
            desk.state.now += Duration::from_millis(pause);
            let now = desk.state.now;
            let may_answer = is_asked
                && desk.state.editor.is_empty()
                && last.is_some_and(|last| now.saturating_sub(last) >= QUIET);
            match deed {
                // From here on the question is answered, which is as it should be.
                Deed::Letter(letter) if may_answer && "yaen1234".contains(letter) => break,
                Deed::Letter(letter) => {
                    desk.press(KeyCode::Char(letter));
                    typed.push(letter);
                }
                Deed::Paste(text) => {
                    desk.take(Input::Paste(text.clone()));
                    typed.push_str(&text);
                }
                Deed::Enter => _ = desk.press(KeyCode::Enter),
                Deed::Draw => {
                    desk.take(Input::Frame);
                    last = last.or(is_asked.then_some(now));
                    continue;
                }
            }
            last = last.map(|_| now);
            desk.check_sent(&[]);
            prop_assert_eq!(desk.state.dialogs.len(), usize::from(is_asked));
            let kept: String = desk.state.queue.iter().cloned().chain([desk.state.editor.whole()]).collect();
            prop_assert_eq!(kept, typed.clone());
        }
    }
}
