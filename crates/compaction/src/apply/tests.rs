use longhaul_conversation::{Message, Part, Trigger};
use longhaul_snapshot::{Entry, Section, parse_snapshot};

use super::*;
use crate::compose::Repairing;
use crate::shapes::conversation;
use crate::{PlanOptions, PreparedMessages, Rungs, Tracker, plan, preview, summarise};

/// A conversation whose older half is compacted in a window of 10,000 tokens.
const LONG: &str = "user*9000 reply*9000 user*900 reply*900 user*900 reply*900";
/// A conversation whose outputs are masked in a window of 16,000 tokens.
const OUTPUTS: &str = "user call result*24000 call result*4000 call result*4000 call result*4000 reply";

/// A sentence of the first message, which a summary may tell.
const FACT: &str = "The reader in src/upload.rs drops retry_count whenever the remote server is busy.";

/// Checks what follows from an input.
fn with_input(shape: &str, window: u64, trigger: Trigger, rungs: Rungs, check: impl Fn(&Input<'_>)) {
    let mut messages: Vec<Message> = conversation(shape);
    messages[0].parts.push(Part::user_text(FACT));
    let mut tracker = Tracker::default();
    messages.iter().for_each(|message| tracker.observe(message));
    let options = PlanOptions { trigger, ..PlanOptions::new(TokenCount(window)) };
    let prepared = PreparedMessages::as_given(&messages);
    check(&Input { rungs, ..Input::new(&tracker, &prepared, &options) });
}

fn from_model(summary: &str) -> Draft {
    let summary = parse_snapshot(summary).unwrap_or_default();
    Draft::FromModel { summary, repairing: Repairing::Missing }
}

fn summary(knowledge: &str) -> String {
    format!("<state_snapshot><key_knowledge>\n{knowledge}\n</key_knowledge></state_snapshot>")
}

fn counted(tokens: u64) -> Feedback {
    Feedback { counted: Some(TokenCount(tokens)), ..Feedback::default() }
}

#[test]
fn a_models_summary_is_checked_and_noted() {
    with_input(LONG, 10_000, Trigger::Automatic, Rungs::All, |input| {
        let plan = plan(input);
        let draft = from_model(&summary(&format!("- nothing is known\n- {FACT}")));
        let outcome = apply(input, &plan, &draft, &Feedback::default());
        assert_eq!((outcome.status, outcome.report.summariser), (Status::Compressed, "model"));
        assert_eq!(outcome.notes.map(|notes| notes.kept), Some(2));
        let snapshot = outcome.snapshot.expect("compressed");
        let known = snapshot.entries(Section::KeyKnowledge).iter().flat_map(Entry::lines);
        assert!(known.into_iter().any(|line| line == "- nothing is known"));
        assert_eq!(outcome.report.unsupported, 1);
        assert!(outcome.draft.is_some_and(|draft| draft.unsupported == 1 && draft.tokens > TokenCount::ZERO));
    });
}

#[test]
fn a_summary_of_no_use_is_refused() {
    with_input(LONG, 10_000, Trigger::Automatic, Rungs::All, |input| {
        let plan = plan(input);
        let nothing = apply(input, &plan, &from_model(""), &Feedback::default());
        assert_eq!((nothing.status, nothing.messages), (Status::FailedEmptySummary, None));
        assert_eq!(preview(input, &plan, &from_model("")).unwrap_err().to_string(), nothing.reason);
        let empty =
            apply(input, &plan, &from_model(&summary("We made some progress.")), &Feedback::default());
        assert_eq!((empty.status, empty.messages), (Status::FailedEmptySummary, None));
        assert!(empty.reason.contains("hardly anything about this conversation"), "{}", empty.reason);
        let larger = apply(input, &plan, &from_model(&summary(FACT)), &counted(plan.before.0 + 1));
        assert_eq!((larger.status, larger.draft), (Status::FailedInflated, None));
        let sizes = format!("{} → {} tokens", plan.before, TokenCount(plan.before.0 + 1));
        assert!(larger.reason.contains(&sizes), "{}", larger.reason);
        // What was written offline cannot be refused, but it can be in vain.
        let offline = apply(input, &plan, &summarise(input, &plan), &counted(plan.before.0 + 1));
        assert_eq!((offline.status, offline.is_vain), (Status::Noop, true));
    });
}

#[test]
fn a_count_that_does_not_fit_gives_up_more_without_the_model() {
    with_input(LONG, 5_000, Trigger::Automatic, Rungs::All, |input| {
        let plan = plan(input);
        assert!(matches!(plan.rung, Rung::Compact(_)), "{plan}");
        let outcome = apply(input, &plan, &from_model(&summary(FACT)), &counted(5_001));
        assert_eq!((outcome.status, outcome.report.summariser), (Status::LastResort, "offline"));
        assert_eq!(outcome.notes, None);
        assert!(outcome.after <= TokenCount(5_000), "{}", outcome.after);
    });
}

#[test]
fn masks_that_cannot_be_saved_are_too_few() {
    with_input(OUTPUTS, 16_000, Trigger::Automatic, Rungs::All, |input| {
        let planned = plan(input);
        let masked = apply(input, &planned, &Draft::NotNeeded, &Feedback::default());
        assert_eq!((masked.status, masked.files.len()), (Status::Masked, 1));
        let unsaved = masked.files.into_iter().map(|file| file.file).collect();
        let feedback = Feedback { unsaved, ..Feedback::default() };
        let kept = apply(input, &planned, &Draft::NotNeeded, &feedback);
        assert_eq!((kept.status, kept.messages), (Status::Noop, None));
        let next = plan(&Input { rungs: Rungs::WithoutMasks, ..*input });
        assert!(matches!(next.rung, Rung::Compact(_)), "{next}");
    });
}

#[test]
fn where_nothing_else_may_be_done_outputs_are_shortened() {
    with_input(OUTPUTS, 16_000, Trigger::Automatic, Rungs::OutputsOnly, |input| {
        let plan = plan(input);
        assert_eq!(plan.rung.as_str(), "mask");
        let outcome = apply(input, &plan, &Draft::NotNeeded, &Feedback::default());
        assert_eq!((outcome.status, outcome.snapshot), (Status::ContentTruncated, None));
        assert!(outcome.after < outcome.before && !outcome.files.is_empty());
        let unsaved = outcome.files.into_iter().map(|file| file.file).collect();
        let outcome = apply(input, &plan, &Draft::NotNeeded, &Feedback { unsaved, ..Feedback::default() });
        assert_eq!((outcome.status, outcome.messages), (Status::Noop, None));
    });
}

#[test]
fn a_forced_pass_that_gains_little_says_so_and_why() {
    with_input(
        "user*9000 reply*9000 user*900 reply*300000",
        1_000_000,
        Trigger::Forced,
        Rungs::All,
        |input| {
            let plan = plan(input);
            let outcome = apply(input, &plan, &summarise(input, &plan), &Feedback::default());
            assert!(outcome.is_vain, "{}", outcome.reason);
            assert!(
                outcome.reason.contains("only 5 %: one message (m4, model message) takes"),
                "{}",
                outcome.reason
            );
            assert!(outcome.reason.ends_with("tokens and is kept whole"), "{}", outcome.reason);
            assert!(outcome.report.is_vain);
        },
    );
}

#[test]
fn of_several_messages_that_stay_the_largest_is_named() {
    with_input(
        "user*9000 reply*9000 user*200000 reply*190000 user*180000 reply*900",
        1_000_000,
        Trigger::Forced,
        Rungs::All,
        |input| {
            let plan = plan(input);
            let outcome = apply(input, &plan, &summarise(input, &plan), &Feedback::default());
            let reason = &outcome.reason;
            assert!(!outcome.is_vain || reason.contains("kept, the largest (m3, user message)"), "{reason}");
        },
    );
}
