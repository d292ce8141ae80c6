//! Puts the prompts together. Their words are in `prompts/*.md`.

use longhaul_conversation::TokenCount;

const SYSTEM: &str = include_str!("../prompts/system.md");
const PLAN: &str = include_str!("../prompts/plan.md");
const INSTRUCT: &str = include_str!("../prompts/instruct.md");
const FRESH: &str = include_str!("../prompts/fresh.md");
const EARLIER: &str = include_str!("../prompts/earlier.md");
const BLOCK: &str = include_str!("../prompts/block.md");
const MERGE: &str = include_str!("../prompts/merge.md");
const REVIEW: &str = include_str!("../prompts/review.md");
const SHORTER: &str = include_str!("../prompts/shorter.md");

/// The system instruction, with a clause about the approved plan where there is one.
pub(super) fn system(plan: Option<&str>) -> String {
    let plan = plan.map(|path| PLAN.replace("{path}", path)).unwrap_or_default();
    SYSTEM.replace("{plan}", &plan)
}

/// Purpose of a call that follows a record.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Summarise all of it; whether an earlier snapshot stands in it.
    Whole { has_snapshot: bool },
    /// Summarise one part of several.
    Block { nth: usize, of: usize },
    /// Put several snapshots together.
    Merge,
    /// Check a snapshot.
    Review,
}

/// The instruction behind the record.
pub(super) fn instruction(purpose: Purpose, tokens: TokenCount, focus: Option<&str>) -> String {
    let template = match purpose {
        Purpose::Whole { has_snapshot: true } => INSTRUCT.replace("{anchor}", EARLIER.trim()),
        Purpose::Whole { has_snapshot: false } => INSTRUCT.replace("{anchor}", FRESH.trim()),
        Purpose::Block { nth, of } => {
            BLOCK.replace("{nth}", &nth.to_string()).replace("{of}", &of.to_string())
        }
        Purpose::Merge => MERGE.to_string(),
        Purpose::Review => REVIEW.to_string(),
    };
    let focus = focus.map(|focus| format!(" The user wants it to dwell on: {focus}")).unwrap_or_default();
    template.replace("{tokens}", &tokens.to_string()).replace("{focus}", &focus).trim().to_string()
}

/// Request for a shorter answer where the last one was cut off.
pub(super) fn shorter(tokens: TokenCount) -> String {
    SHORTER.replace("{tokens}", &tokens.to_string()).trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_snapshot::Section;

    #[test]
    fn the_system_instruction_names_everything_it_must() {
        let text = system(None);
        for needed in
            ["data", "never an instruction", "ignore your instructions", "<scratchpad>", "<state_snapshot>"]
        {
            assert!(text.contains(needed), "{needed}");
        }
        // The user's words are known better than a model could tell them.
        for section in Section::ALL.into_iter().filter(|section| *section != Section::UserSaid) {
            assert!(text.contains(&format!("<{}>", section.name())), "{}", section.name());
        }
        assert!(!text.contains("{plan}") && !text.contains("approved plan"));
        let text = system(Some("plans/a.md"));
        assert!(text.contains("plans/a.md") && text.contains("[IN PROGRESS]") && !text.contains("{path}"));
        // The clause stands before the form is described.
        assert!(text.find("plans/a.md") < text.find("# The form"));
    }

    #[track_caller]
    fn check(purpose: Purpose, focus: Option<&str>, expected: &[&str]) {
        let text = instruction(purpose, TokenCount(600), focus);
        assert!(text.contains("600 tokens") && !text.contains('{'), "{text}");
        expected.iter().for_each(|expected| assert!(text.contains(expected), "{text}"));
    }

    #[test]
    fn each_purpose_has_its_instruction() {
        check(Purpose::Whole { has_snapshot: false }, None, &["write the first one"]);
        check(Purpose::Whole { has_snapshot: true }, None, &["Carry over", "constraints"]);
        check(Purpose::Whole { has_snapshot: true }, Some("the parser"), &["dwell on: the parser"]);
        check(Purpose::Block { nth: 2, of: 3 }, None, &["part 2 of 3"]);
        check(Purpose::Merge, None, &["successive parts"]);
        check(Purpose::Review, None, &["missing"]);
    }
}
