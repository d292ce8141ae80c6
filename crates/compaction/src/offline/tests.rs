use longhaul_conversation::{Message, Ordinal, Origin, Part, Role, TokenCount, find_faults};

use super::laws::{compact, track};
use super::*;
use crate::shapes::conversation;
use crate::{
    Budget, BudgetSettings, Fixed, PlanOptions, Status, Threshold, Tracker, Trigger, continue_numbering,
};

fn options(window: u64) -> PlanOptions {
    PlanOptions::new(TokenCount(window))
}

fn forced(window: u64) -> PlanOptions {
    PlanOptions { trigger: Trigger::Forced, ..options(window) }
}

fn compact_shape(shape: &str, options: &PlanOptions) -> Outcome {
    let messages = conversation(shape);
    compact(&track(&messages), &messages, options)
}

#[track_caller]
fn check(shape: &str, options: &PlanOptions, status: Status, reason: &str) {
    let outcome = compact_shape(shape, options);
    assert_eq!(outcome.status, status, "{}", outcome.reason);
    assert!(outcome.reason.contains(reason), "{}", outcome.reason);
}

#[test]
fn below_the_threshold_nothing_happens() {
    check(
        "user*4000 reply*4000",
        &options(10_000),
        Status::Noop,
        "2,000 tokens are below the threshold of 5,000",
    );
    check("", &options(10_000), Status::Noop, "no messages to compact");
    check("", &forced(10_000), Status::Noop, "no messages to compact");
    let budget = |threshold| {
        Budget::new(TokenCount(10_000), &BudgetSettings { threshold: Some(threshold), ..Default::default() })
    };
    let off = PlanOptions { budget: budget(Threshold::Off), ..options(10_000) };
    check("user*30000 reply*4000", &off, Status::Noop, "automatic compaction is off");
    check(
        "user*30000 reply*30000",
        &off,
        Status::Compressed,
        "Compacted to fit the window of 10,000: 15,000 → ",
    );
}

#[test]
fn a_tiny_history_has_nothing_to_gain() {
    check("user", &forced(10_000), Status::Noop, "nothing to gain");
    check("user reply user reply", &forced(10_000), Status::Noop, "nothing to gain");
    // However long it is, a single exchange has nothing but the newest message to give.
    for shape in ["user*100 reply*20", "user*400 reply*400", "user*8000 reply*20", "user*2000 reply*2000"] {
        check(shape, &forced(10_000), Status::Noop, "nothing to gain");
    }
}

#[test]
fn at_the_threshold_the_older_messages_give_way() {
    let shape = "user*9000 reply*9000 user*900 reply*900 user*900 reply*900";
    check(shape, &options(10_000), Status::Compressed, "Compacted at the threshold of 5,000: 5,400 → ");
    let outcome = compact_shape(shape, &options(10_000));
    assert_eq!(outcome.split_index, Some(2));
    let messages = outcome.messages.expect("compressed");
    let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
    assert_eq!(roles[..3], [Role::User, Role::Model, Role::User]);
    assert_eq!(messages[0].parts[0].origin, Origin::Summary);
    assert_eq!(messages[1].parts[0].as_text(), Some("Understood; I will go on from this state."));
    assert_eq!(messages[2].id.as_str(), "m2");
    assert!(messages[0].id.is_made_up() && messages[0].ordinal.is_none());
}

#[test]
fn a_tail_that_starts_with_the_model_needs_no_acknowledgement() {
    let outcome = compact_shape("user*9000 call*9000 result*9000 call result call result", &options(10_000));
    let messages = outcome.messages.expect("compressed");
    assert_eq!(messages.len(), 1 + 4);
    assert_eq!(messages[1].calls().count(), 1);
}

#[test]
fn masking_is_tried_first() {
    let shape = "user call result*24000 call result*4000 call result*4000 call result*4000 reply";
    let limited = |window| PlanOptions { session: "s1".into(), ..options(window) };
    check(shape, &limited(16_000), Status::Masked, "masking old tool outputs leaves at most");
    let outcome = compact_shape(shape, &limited(16_000));
    assert_eq!((outcome.files.len(), outcome.split_index), (1, None));
    assert_eq!(outcome.files[0].text.len(), 24_000);
    assert!(outcome.files[0].file.starts_with("tool-outputs/session-s1/tool_c1_"));
}

#[test]
fn the_surroundings_stay_in_front() {
    let mut messages = conversation("hook user*9000 reply*9000 user*900 reply*900 user*900 reply*900");
    messages[0].parts = vec![Part::text(Origin::Hook, "<session_context>\nLinux\n</session_context>")];
    let after = compact(&track(&messages), &messages, &options(10_000)).messages.expect("compressed");
    assert_eq!(after[0], messages[0]);
    assert_eq!(after[1].parts[0].origin, Origin::Summary);
    // Also if they share the first message with the user's words.
    let typed = messages.remove(1);
    messages[0].parts.extend(typed.parts);
    let after = compact(&track(&messages), &messages, &options(10_000)).messages.expect("compressed");
    assert_eq!(after[0].parts.len(), 1);
    assert_eq!(after[0].parts[0], messages[0].parts[0]);
    assert_eq!(after[1].parts[0].origin, Origin::Summary);
}

#[test]
fn outputs_in_the_tail_are_shortened_and_saved() {
    let outcome = compact_shape("user*9000 reply*9000 user call result*30000", &options(20_000));
    assert_eq!(outcome.status, Status::Compressed, "{}", outcome.reason);
    assert_eq!(outcome.files.len(), 1);
    assert_eq!(outcome.files[0].text, "x".repeat(30_000));
    let last = outcome.messages.expect("compressed").pop().expect("a tail");
    let text = last.results().next().expect("the result").readable().into_owned();
    assert!(text.contains(&outcome.files[0].file), "{text}");
}

#[test]
fn the_last_resort_gives_up_groups_then_outputs_then_messages() {
    let small = options(2_000);
    // The groups before the last one, where the target allows for more than fits.
    let settings = BudgetSettings {
        target: Some(TokenCount(9_000)),
        threshold: Some(Threshold::Tokens(TokenCount(20_000))),
        ..Default::default()
    };
    let greedy =
        PlanOptions { budget: Budget::new(TokenCount(2_000), &settings), keep: 0.6, ..options(2_000) };
    let outcome = compact_shape("user*9000 reply*9000 user*6000 reply*6000", &greedy);
    assert_eq!(outcome.status, Status::LastResort, "{}", outcome.reason);
    assert_eq!(outcome.split_index, Some(3));
    assert!(outcome.files.is_empty());
    // The middle of an output. Arguments are never touched.
    let outcome = compact_shape("user*9000 call*6000 result*6000", &small);
    assert_eq!(outcome.files.iter().map(|file| file.text.len()).collect::<Vec<_>>(), [6_000]);
    // The middle of the user's message.
    let outcome = compact_shape("reply*900 user*20000", &small);
    assert_eq!(outcome.status, Status::LastResort, "{}", outcome.reason);
    assert_eq!(outcome.files.iter().map(|file| file.text.len()).collect::<Vec<_>>(), [20_000]);
    assert!(outcome.after > TokenCount(1_000), "no more is left out than necessary: {}", outcome.after);
    assert!(outcome.warnings.iter().any(|warning| warning.contains("moved the middle of")));
}

#[test]
fn a_single_message_is_shortened_without_a_snapshot() {
    let outcome = compact_shape("user*20000", &options(2_000));
    assert_eq!(outcome.status, Status::LastResort);
    assert_eq!(outcome.messages.map(|messages| messages.len()), Some(1));
}

#[test]
fn rules_survive_the_shortening_of_their_message() {
    let rule = "Never push to main without asking me first.";
    let words = |times| "Then the words go on and on. ".repeat(times);
    let text = format!("{}\n\n{rule}\n\n{}", words(65), words(195));
    let messages = vec![Message::new("u", Role::User, vec![Part::user_text(text)])];
    let outcome = compact(&track(&messages), &messages, &options(1_500));
    assert_eq!((outcome.report.rules_kept, outcome.report.rules), (1, 1));
    let snapshot = outcome.snapshot.expect("it says the rule").render();
    assert!(snapshot.contains(rule), "{snapshot}");
}

#[test]
fn the_part_that_does_not_fit_is_named() {
    let small = options(2_000);
    let does_not_fit = |shape: &str, part: &str| check(shape, &small, Status::DoesNotFit, part);
    does_not_fit("user reply*90000", "last message or tool call with its result");
    does_not_fit("user call*90000 result", "last message or tool call with its result");
    let system =
        PlanOptions { fixed: Fixed { system: TokenCount(2_000), ..Fixed::default() }, ..options(2_000) };
    check("user reply", &system, Status::DoesNotFit, "system instruction (2,000 tokens)");
    let messages: Vec<Message> = (0..130)
        .map(|n| {
            let text = format!(
                "Never touch the file number{n} of the module{n} in the folder{n} or anything below it."
            );
            Message::new(format!("u{n}"), Role::User, vec![Part::user_text(text)])
        })
        .collect();
    let outcome = compact(&track(&messages), &messages, &small);
    assert_eq!(outcome.status, Status::DoesNotFit, "{}", outcome.reason);
    assert!(outcome.reason.contains("largest part: rules"), "{}", outcome.reason);
    assert!(outcome.plan.to_string().contains("hint: remove rules"), "{}", outcome.plan);
    assert!(outcome.messages.is_none());
}

#[test]
fn broken_conversations_are_repaired_and_counted_as_curated() {
    let outcome =
        compact_shape("user*9000 call reply*9000 call user*900 reply*900 user*900", &options(10_000));
    assert_eq!(outcome.status, Status::Compressed);
    assert_eq!(outcome.repairs.len(), 2);
    assert!(find_faults(&outcome.messages.expect("compressed")).is_empty());
    // The user's next words now stand beside the missing answer, so the tail begins behind them.
    assert_eq!(outcome.split_index, Some(5));
}

#[test]
fn a_plan_can_be_printed() {
    let outcome = compact_shape("user*9000 reply*9000 user call result*30000", &options(20_000));
    let text = outcome.plan.to_string();
    for words in
        ["compact: 12", "keep messages from 4 on", "snapshot of at most", "shorten the output of c1 from 7"]
    {
        assert!(text.contains(words), "{text}");
    }
}

/// Goes on with a compacted conversation, five times, and checks that every rule is still there.
#[track_caller]
fn check_chain(from_files: bool) {
    let rules = [
        "Never push to main without asking me first.",
        "Always write the tests before the code.",
        "Please don't use regular expressions anywhere in this project.",
        "You must keep the public interface of the parser stable.",
        "From now on, answer in English only.",
    ];
    let mut tracker = Tracker::default();
    let mut messages: Vec<Message> = Vec::new();
    let mut count = 0;
    for round in 0..5 {
        for mut message in conversation("user reply*9000 call*4000 result*3000 user*400 reply*4000") {
            count += 1;
            message.id = format!("n{count}").into();
            message.ordinal = Some(Ordinal(count));
            if count % 6 == 1 {
                message.parts.push(Part::user_text(rules[round]));
            }
            tracker.observe(&message);
            messages.push(message);
        }
        if from_files {
            for (index, message) in messages.iter_mut().enumerate() {
                message.ordinal = Some(Ordinal(index as u32 + 1));
            }
            continue_numbering(&mut messages);
            tracker = track(&messages);
        }
        let outcome = compact(&tracker, &messages, &options(8_000));
        assert_eq!(outcome.status, Status::Compressed, "{}", outcome.reason);
        assert_eq!((outcome.report.rules, outcome.report.rules_kept), (round + 1, round + 1));
        messages = outcome.messages.expect("compressed");
        let text = format!("{messages:?}");
        assert!(rules[..=round].iter().all(|rule| text.contains(rule)), "{text}");
    }
}

#[test]
fn five_compactions_keep_every_rule() {
    check_chain(false);
    check_chain(true);
}
