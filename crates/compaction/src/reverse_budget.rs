//! Gives all tool outputs one budget, spent from the newest to the oldest; what exceeds it is shortened to what is left.

use longhaul_conversation::{Estimator, Message, Part, TokenCount, grouped};

use crate::replace::{Replacement, Subject, plan_replacement, results_from_newest};
use crate::{FullOutput, OutputLimits, TruncateMode, truncate_output};

/// Budget of all tool outputs together.
#[derive(Clone, Debug, PartialEq)]
pub struct ReverseBudget {
    /// All outputs together.
    pub budget: TokenCount,
    /// One output that has to be shortened, in characters.
    pub characters: usize,
    /// Names the folder for the whole outputs.
    pub session: String,
    /// Measures the outputs.
    pub estimator: Estimator,
}

impl ReverseBudget {
    /// The usual budget for a session.
    pub fn new(session: impl Into<String>, limits: &OutputLimits) -> Self {
        Self {
            budget: limits.protected,
            characters: limits.characters,
            session: session.into(),
            estimator: Estimator::default(),
        }
    }
}

/// Plans which outputs are shortened, newest first. An output that fits in what is left is kept, also behind one that did
/// not; where nothing is left only a pointer remains.
pub fn plan_shrinking(messages: &[Message], settings: &ReverseBudget) -> Vec<Replacement> {
    let mut used = TokenCount::ZERO;
    let mut replacements = Vec::new();
    for subject in results_from_newest(messages) {
        let tokens = settings.estimator.text(&subject.text).tokens();
        let planned = (used + tokens > settings.budget)
            .then(|| shrink(&subject, settings.budget - used, settings))
            .flatten();
        match planned {
            Some(replacement) => {
                used += settings.estimator.text(&replacement.text).tokens();
                replacements.push(replacement);
            }
            None => used += tokens,
        }
    }
    replacements
}

fn shrink(subject: &Subject<'_>, room: TokenCount, settings: &ReverseBudget) -> Option<Replacement> {
    let file = subject.file(&settings.session);
    let text = text_within(&subject.text, room, &file, settings);
    let estimate = |part: &Part| settings.estimator.part(part).tokens();
    plan_replacement(subject, file, text, estimate(subject.part), estimate)
}

/// The longest of a few shortened forms that takes at most `room`; a bare pointer if none does.
fn text_within(text: &str, room: TokenCount, file: &str, settings: &ReverseBudget) -> String {
    const CHARACTERS_PER_TOKEN: u64 = 4;
    let most = usize::try_from(room.0.saturating_mul(CHARACTERS_PER_TOKEN)).unwrap_or(usize::MAX);
    let mut max = settings.characters.min(most);
    while max > 0 {
        let shorter = truncate_output(text, max, TruncateMode::Characters, FullOutput::SavedAs(file));
        if let Some(shorter) = shorter
            && settings.estimator.text(&shorter.text).tokens() <= room
        {
            return shorter.text;
        }
        // The explanation takes room too, and not all text is as light as ASCII.
        max = max / 8 * 7 + max % 8 / 2;
    }
    format!(
        "Output left out to save room ({} characters). Full output: {file}",
        grouped(text.chars().count())
    )
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Output, ToolResult, find_faults};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::apply_replacements;
    use crate::replace::output_text;
    use crate::shapes::{any_conversation, conversation};

    fn settings() -> ReverseBudget {
        ReverseBudget::new("s1", &OutputLimits::default())
    }

    fn calls(replacements: &[Replacement]) -> Vec<&str> {
        replacements.iter().map(|replacement| replacement.call.as_str()).collect()
    }

    #[track_caller]
    fn check(shape: &str, expected: &[&str]) {
        assert_eq!(calls(&plan_shrinking(&conversation(shape), &settings())), expected);
    }

    #[test]
    fn the_newest_outputs_are_kept_and_older_ones_shortened() {
        check("call result*170000 call result*10000", &[]);
        check("call result*170000 call result*170000", &["c1"]);
        check("call result*40000 call result*40000 call result*190000", &["c2", "c1"]);
        // An old output that still fits is kept.
        check("call result*20000 call result*190000 call result*100000", &["c2"]);
    }

    #[test]
    fn a_single_output_over_the_budget_is_shortened_to_the_limit() {
        for output in [json!({"output": "x".repeat(250_000)}), json!({"content": "x".repeat(250_000)})] {
            let mut messages = conversation("call result");
            let result = ToolResult { output: Output::Structured(output), ..ToolResult::text("c1", "") };
            messages[1].parts = vec![Part::result(result.with_name("grep"))];
            let plan = plan_shrinking(&messages, &settings());
            assert!(
                plan[0].text.contains("the first 8,000 and the last 32,000 characters"),
                "{}",
                plan[0].text
            );
            assert!(plan[0].file.starts_with("tool-outputs/session-s1/grep_c1_"));
            apply_replacements(&mut messages, &plan);
            let output = &messages[1].results().next().expect("a result").output;
            assert_eq!(*output, Output::Structured(json!({"output": plan[0].text})));
        }
    }

    #[test]
    fn a_medium_output_is_shortened_to_what_is_left() {
        let messages = conversation("call result*39000 call result*180000");
        let plan = plan_shrinking(&messages, &settings());
        assert_eq!(calls(&plan), ["c1"]);
        // 50,000 less 45,000 tokens are left.
        let tokens = Estimator::default().text(&plan[0].text).tokens();
        assert!((TokenCount(4_000)..=TokenCount(5_000)).contains(&tokens), "{tokens}");
    }

    #[test]
    fn heavy_text_fits_as_well() {
        let mut messages = conversation("call result");
        messages[1].parts = vec![Part::result(ToolResult::text("c1", "漢".repeat(90_000)))];
        let plan = plan_shrinking(&messages, &ReverseBudget { budget: TokenCount(1_000), ..settings() });
        assert!(Estimator::default().text(&plan[0].text).tokens() <= TokenCount(1_000));
        assert!(plan[0].text.ends_with('漢'));
    }

    #[test]
    fn where_nothing_is_left_a_pointer_remains() {
        let messages = conversation("call result*4000 call result call result*200000");
        let plan = plan_shrinking(&messages, &settings());
        assert_eq!(calls(&plan), ["c1"], "the short output is shorter than a pointer");
        assert!(plan[0].text.starts_with("Output left out to save room (4,000 characters)"));
    }

    proptest! {
        #[test]
        fn outputs_fit_but_for_pointers(messages in any_conversation(), budget in 0u64..5_000) {
            let settings = ReverseBudget { budget: TokenCount(budget), ..settings() };
            let plan = plan_shrinking(&messages, &settings);
            let mut shrunk = messages.clone();
            prop_assert_eq!(apply_replacements(&mut shrunk, &plan), plan.len());
            prop_assert_eq!(find_faults(&shrunk).len(), find_faults(&messages).len());
            let results: Vec<_> = shrunk.iter().flat_map(Message::results).collect();
            let taken = results.iter().map(|result| settings.estimator.text(&output_text(result)).tokens());
            // No pointer, and nothing that is shorter than one, takes more than this.
            let pointers = 60 * results.len() as u64;
            prop_assert!(taken.sum::<TokenCount>() <= TokenCount(budget + pointers));
        }
    }
}
