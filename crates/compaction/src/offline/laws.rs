//! Laws that hold for every conversation, window and setting.

use longhaul_conversation::{Message, Ordinal, Origin, Part, Role, TokenCount, find_faults};
use proptest::prelude::*;

use super::*;
use crate::shapes::{any_conversation, conversation};
use crate::{
    Budget, BudgetSettings, Fixed, Input, PlanOptions, PreparedMessages, Rung, Status, Threshold, Tracker,
    Trigger, continue_numbering, plan, prepare,
};

const RULES: &[&str] = &[
    "Never push to main without asking me first.",
    "Always write the tests before the code.",
    "Please don't use regular expressions anywhere in this project.",
];

pub(super) fn track(messages: &[Message]) -> Tracker {
    let mut tracker = Tracker::default();
    messages.iter().for_each(|message| tracker.observe(message));
    tracker
}

/// Compacts messages that a tracker has observed.
pub(super) fn compact(tracker: &Tracker, messages: &[Message], options: &PlanOptions) -> Outcome {
    compact_offline(&Input::new(tracker, &prepare(messages, options.empty), options))
}

/// A turn of many tool calls, as agents make them.
fn tool_work() -> impl Strategy<Value = Vec<Message>> {
    let step =
        (prop::sample::select(&["call result", "call call result result", "reply user"][..]), 0usize..9_000);
    prop::collection::vec(step, 1..12).prop_map(|steps| {
        let steps = steps.into_iter().map(|(step, len)| step.replace("result", &format!("result*{len}")));
        conversation(&format!("user {}", steps.collect::<Vec<_>>().join(" ")))
    })
}

/// A conversation in which the user sometimes lays down a rule.
fn any_talk() -> impl Strategy<Value = Vec<Message>> {
    let rules = prop::collection::vec((any::<prop::sample::Index>(), 0..RULES.len()), 0..4);
    (prop_oneof![any_conversation(), tool_work()], rules, any::<bool>()).prop_map(
        |(mut messages, rules, has_surroundings)| {
            for (index, rule) in rules {
                if !messages.is_empty() {
                    let message = index.get(&messages).clone();
                    if message.role == Role::User {
                        let at = messages.iter().position(|own| own.id == message.id).unwrap_or(0);
                        messages[at].parts.push(Part::user_text(RULES[rule]));
                    }
                }
            }
            if has_surroundings {
                let text = Part::text(Origin::Hook, "<session_context>\nLinux\n</session_context>");
                messages.insert(0, Message::new("env", Role::User, vec![text]));
            }
            messages
        },
    )
}

fn any_options() -> impl Strategy<Value = PlanOptions> {
    let threshold = prop_oneof![
        (0.05..1.0).prop_map(Threshold::Share),
        (10u64..40_000).prop_map(|tokens| Threshold::Tokens(TokenCount(tokens))),
        Just(Threshold::Off),
    ];
    let limit = |most| prop::option::of((0..most).prop_map(TokenCount));
    (2_000u64..20_000, threshold, limit(6_000u64), limit(9_000), 0.0..1.0, 0u64..1_500, any::<bool>())
        .prop_map(|(window, threshold, snapshot, target, keep, system, forced)| {
            let settings =
                BudgetSettings { threshold: Some(threshold), snapshot, target, ..Default::default() };
            PlanOptions {
                budget: Budget::new(TokenCount(window), &settings),
                keep,
                fixed: Fixed { system: TokenCount(system), ..Fixed::default() },
                trigger: if forced { Trigger::Forced } else { Trigger::Automatic },
                ..PlanOptions::new(TokenCount(window))
            }
        })
}

fn check_outcome(
    messages: &[Message],
    options: &PlanOptions,
    outcome: &Outcome,
) -> Result<(), TestCaseError> {
    let window = options.budget.window;
    prop_assert!(!outcome.reason.is_empty());
    prop_assert_eq!(outcome.status.is_change(), outcome.messages.is_some());
    let Some(after) = &outcome.messages else {
        prop_assert!(matches!(outcome.status, Status::Noop | Status::DoesNotFit), "{:?}", outcome.status);
        prop_assert_eq!(outcome.before, outcome.after);
        let fits = outcome.before <= window;
        prop_assert_eq!(fits, outcome.status == Status::Noop, "{}", outcome.reason);
        return Ok(());
    };
    prop_assert!(outcome.after < outcome.before && outcome.after <= window, "{}", outcome.reason);
    let (tracker, now) = (Tracker::default(), PreparedMessages::as_given(after));
    prop_assert_eq!(Input::new(&tracker, &now, options).size(), outcome.after);
    prop_assert!(find_faults(after).is_empty());
    prop_assert_eq!(outcome.report.rules_kept, outcome.report.rules);
    // A frame, a few words of the user's and the standing instructions are always there.
    let allowed = options.budget.snapshot.max(TokenCount(100));
    prop_assert!(outcome.added <= allowed || outcome.rules_exceed_budget, "{} over {allowed}", outcome.added);
    let prepared = prepare(messages, options.empty);
    check_tail(&prepared.messages, after, outcome)
}

/// The tail is as it was, but for what the plan names.
fn check_tail(messages: &[Message], after: &[Message], outcome: &Outcome) -> Result<(), TestCaseError> {
    let from = outcome.plan.tail_from().unwrap_or(0);
    let tail = &messages[from..];
    let kept = &after[after.len() - tail.len()..];
    let mut files: Vec<&str> = outcome.files.iter().map(|file| file.file.as_str()).collect();
    for (before, after) in tail.iter().zip(kept) {
        prop_assert_eq!((&before.id, before.ordinal, before.role), (&after.id, after.ordinal, after.role));
        prop_assert_eq!(before.parts.len(), after.parts.len());
        for (before, after) in before.parts.iter().zip(&after.parts).filter(|(before, after)| before != after)
        {
            let text = after.as_result().map(|result| result.readable().into_owned());
            let text = text.or_else(|| after.as_text().map(str::to_string)).unwrap_or_default();
            prop_assert!(outcome.files.iter().any(|file| text.contains(&file.file)), "{before:?} {text}");
            files.retain(|file| !text.contains(file));
        }
    }
    prop_assert!(files.is_empty(), "not mentioned: {files:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_result_is_smaller_and_fits(messages in any_talk(), options in any_options()) {
        let tracker = track(&messages);
        let outcome = compact(&tracker, &messages, &options);
        check_outcome(&messages, &options, &outcome)?;
        let again = compact(&tracker, &messages, &options);
        prop_assert_eq!(&again.messages, &outcome.messages);
        prop_assert_eq!(again.reason, outcome.reason);
    }

    #[test]
    fn no_pass_calls_for_another(messages in any_talk(), options in any_options()) {
        let tracker = track(&messages);
        let Some(after) = compact(&tracker, &messages, &options).messages else { return Ok(()) };
        let options = PlanOptions { trigger: Trigger::Automatic, ..options };
        for tracker in [tracker, track(&after)] {
            let prepared = PreparedMessages::as_given(&after);
            let next = plan(&Input::new(&tracker, &prepared, &options));
            prop_assert!(matches!(next.rung, Rung::Wait | Rung::Noop), "{next}");
        }
    }

    #[test]
    fn what_does_not_fit_names_the_part(messages in any_talk(), options in any_options(), part in 0..3) {
        // The largest part is named, so it must be larger than any last message.
        let big = options.budget.window + TokenCount(100_000);
        let fixed = match part {
            0 => Fixed { system: big, ..Fixed::default() },
            1 => Fixed { tools: big, ..Fixed::default() },
            _ => Fixed { memory: big, ..Fixed::default() },
        };
        let expected = ["system instruction", "tool declarations", "memory files"][part as usize];
        let outcome = compact(&track(&messages), &messages, &PlanOptions { fixed, ..options });
        let has_messages = messages.iter().any(|message| !message.is_empty());
        if has_messages && outcome.status != Status::Noop {
            prop_assert_eq!(outcome.status, Status::DoesNotFit);
            prop_assert!(outcome.reason.contains(expected), "{}", outcome.reason);
        }
    }

    #[test]
    fn a_growing_conversation_keeps_every_rule(
        rounds in prop::collection::vec(any_talk(), 5),
        options in any_options(),
        from_files in any::<bool>(),
    ) {
        let mut tracker = Tracker::default();
        let mut messages: Vec<Message> = Vec::new();
        for (round, more) in rounds.into_iter().enumerate() {
            for mut message in more.into_iter().filter(|message| message.id.as_str() != "env") {
                message.id = format!("{round}-{}", message.id).into();
                message.ordinal = Some(Ordinal(tracker.last().0 + 1));
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
            let rules: Vec<String> = tracker.rules().active().map(|rule| rule.text.clone()).collect();
            let outcome = compact(&tracker, &messages, &options);
            check_outcome(&messages, &options, &outcome)?;
            messages = outcome.messages.unwrap_or(messages);
            let texts: Vec<&str> = messages.iter().flat_map(|m| &m.parts).filter_map(Part::as_text).collect();
            for rule in rules {
                prop_assert!(texts.iter().any(|text| text.contains(&rule)), "{rule} is gone in round {round}");
            }
        }
    }
}
