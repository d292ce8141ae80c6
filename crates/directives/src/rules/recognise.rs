//! Decides whether a sentence is a standing instruction, and whether it lifts or changes one.

use longhaul_text::{Unit, UnitKind, Words, is_wide};

use super::cues;

/// Longer sentences were hardly typed as a rule.
const LONGEST: usize = 400;

/// The longest sentence that takes a rule back; longer ones that share words with a rule are about something else.
const LONGEST_EFFECT: usize = 180;

/// Returns true if a sentence of a person's own is a standing instruction; `words` are those of `text`.
pub(crate) fn is_rule(text: &str, words: &Words) -> bool {
    text.len() <= LONGEST && (is_rule_in_words(text, words) || words.has_wide() && is_wide_rule(text))
}

/// Returns true if a list item below a heading of rules can be one.
pub(super) fn can_be_listed_rule(text: &str, words: &Words) -> bool {
    let long_enough = words.len() >= 3 || text.chars().filter(|c| is_wide(*c)).count() >= 4;
    text.len() <= LONGEST && long_enough && !is_question(text, words)
}

/// Returns true if the list items that follow are rules: "Rules:", "## Conventions", "请遵守以下规则：".
pub(super) fn introduces_rules(unit: &Unit<'_>, words: &Words) -> bool {
    let is_lead = unit.kind == UnitKind::Heading || unit.text.ends_with([':', '：']);
    let names_rules = || {
        words.texts().any(|word| cues::RULE_NOUNS.has(word))
            || words.has_wide() && contains_any(unit.text, &cues::WIDE_RULE_NOUNS)
    };
    is_lead && unit.text.len() < 120 && words.len() <= 10 && names_rules() && !is_question(unit.text, words)
}

fn is_rule_in_words(text: &str, words: &Words) -> bool {
    if words.len() < 2 {
        return false;
    }
    if is_question(text, words) {
        return cues::STANDING.fit(words) && cues::ASKS_FOR.fit(words);
    }
    let names_a_rule = || {
        text.find(':').is_some_and(|at| {
            words.texts().any(|word| cues::RULE_LABELS.has(word))
                && !text[at + 1..].trim().is_empty()
                && Words::of(&text[..at]).texts().next_back().is_some_and(|word| cues::RULE_LABELS.has(word))
        })
    };
    // Nearly every sentence ends here: it has none of the words that rules have.
    let sounds_like_one = names_a_rule()
        || forbids_a_thing(words)
        || cues::RULES.fit(words)
        || cues::STANDING.fit(words) && is_order(words);
    sounds_like_one && !cues::NOT_RULES.fit(words)
}

/// Returns true if somebody is told to do something.
fn is_order(words: &Words) -> bool {
    words.orders().next().is_some() || cues::OBLIGES.fit(words)
}

/// "no mocks in tests", "no console logs!": a noun that nobody wants to see.
fn forbids_a_thing(words: &Words) -> bool {
    words.begin_with_no()
        && (2..=9).contains(&words.len())
        && words.get(1).is_some_and(|noun| !cues::NO_REPORTS.has(noun))
        && !words.texts().any(|word| cues::REPORTS.has(word))
}

/// Returns true if a sentence asks a question, with or without its sign; `words` are those of `text`.
pub(crate) fn is_question(text: &str, words: &Words) -> bool {
    ends_as_question(text) || opens_as_question(words)
}

/// Returns true if a text asks a question, as [`is_question`] has it.
pub(crate) fn asks_a_question(text: &str) -> bool {
    ends_as_question(text) || opens_as_question(&Words::of(text))
}

fn ends_as_question(text: &str) -> bool {
    let is_closer = |c: char| c.is_whitespace() || matches!(c, '"' | ')' | '”' | '*' | '`' | '）');
    text.trim_end_matches(is_closer).ends_with(['?', '？'])
}

fn opens_as_question(words: &Words) -> bool {
    let Some(first) = words.openers().next() else { return false };
    words.get(first).is_some_and(|word| cues::QUESTIONS.has(word)) || cues::ASKING.fit_at(words, first)
}

fn is_wide_rule(text: &str) -> bool {
    if text.chars().filter(|c| is_wide(*c)).count() < 3 {
        return false;
    }
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    let requests = text.trim_end().ends_with(['?', '？'])
        || cues::WIDE_QUESTION_ENDS.iter().any(|ending| end.ends_with(ending));
    !requests
        && !contains_any(text, &cues::WIDE_NOT_RULES)
        && cues::WIDE_RULES.iter().any(|cue| fits_wide(text, cue))
}

fn fits_wide(text: &str, cue: &str) -> bool {
    if let Some((head, tail)) = cue.split_once('~') {
        return text.split_once(head).is_some_and(|(_, rest)| rest.contains(tail));
    }
    let Some(cue) = cue.strip_prefix('^') else { return text.contains(cue) };
    text.match_indices(cue).any(|(at, _)| {
        let before = text[..at].trim_end();
        let before = before.strip_suffix(['请', '也', '并', '但', '都', '就']).unwrap_or(before);
        before.is_empty()
            || before.ends_with(['，', ',', '。', '；', ';', '：', ':', '、', '（', '(', '—', '！', '!'])
    })
}

fn contains_any(text: &str, cues: &[&str]) -> bool {
    cues.iter().any(|cue| text.contains(cue))
}

/// The effect of a sentence on earlier instructions that it shares a subject with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It takes them back.
    Lifts,
    /// It puts itself in their place.
    Changes,
    /// Nothing.
    None,
}

/// Tells whether a sentence lifts or changes earlier instructions. Only a rule can change a rule: otherwise the old
/// one would go and nothing take its place.
pub(super) fn effect_of(text: &str, words: &Words, is_rule: bool) -> Effect {
    if text.len() > LONGEST_EFFECT || is_question(text, words) {
        return Effect::None;
    }
    let has = |wide: &[&str]| words.has_wide() && contains_any(text, wide);
    let lifts_widely =
        || has(&cues::WIDE_RELIEFS) || has(&cues::WIDE_LIFTS) || words.has_wide() && ends_need(text);
    if cues::LIFTS.fit(words) || lifts_widely() {
        Effect::Lifts
    } else if is_rule && (cues::CHANGES.fit(words) || has(&cues::WIDE_CHANGES)) {
        Effect::Changes
    } else {
        Effect::None
    }
}

/// Japanese もう … なくて with anything between.
fn ends_need(text: &str) -> bool {
    text.split_once("もう").is_some_and(|(_, rest)| {
        rest.contains("なくて") || rest.contains("不要") || rest.contains("必要ない")
    })
}
