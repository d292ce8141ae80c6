//! Decides whether a sentence is a standing instruction.

use longhaul_text::{Unit, UnitKind, Words};

use super::cues::{self, Cue, Cues};
use super::features::{Features, Place};

/// Longer sentences were hardly typed as a rule, in characters.
const LONGEST: usize = 400;

/// A sentence with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Sentence<'s> {
    pub(super) text: &'s str,
    pub(super) words: &'s Words,
    pub(super) cues: Cues,
}

/// Returns true if a sentence of a person's own is a standing instruction where it stands alone; `words` are those of `text`.
pub(crate) fn is_rule(text: &str, words: &Words) -> bool {
    let alone = Place { is_short: true, is_first: true, is_last: true, ..Place::default() };
    Sentence::of(text, words).features(alone).is_some_and(|features| features.score() > 0.0)
}

impl<'s> Sentence<'s> {
    pub(super) fn of(text: &'s str, words: &'s Words) -> Self {
        Self { text, words, cues: Cues::of(text, words) }
    }

    /// What speaks for and against its being a standing instruction in this place; none where it can be none.
    pub(super) fn features(&self, place: Place<'_>) -> Option<Features> {
        let is_empty = self.words.is_empty() && !self.has_pieces();
        let says_so = self.cues.has(Cue::Standing) || self.cues.has(Cue::Strong);
        // "Can you always …" orders; what else is asked is for the moment, also behind a report.
        let asks = self.asks() && !(says_so && cues::ASKS_FOR.fit(self.words));
        // What stands below "Tasks" is for once, unless it says otherwise.
        let is_task = place.listed == Some(Listed::Tasks) && !self.cues.has(Cue::Strong);
        (!is_empty && !asks && !is_task && !self.is_too_long()).then(|| Features::of(self, place))
    }

    /// Returns true if it asks something, or asks for something.
    pub(super) fn asks(&self) -> bool {
        self.is_question() || cues::ASKS_FOR.fit(self.words)
    }

    /// An order for whenever something happens: "When a download fails twice, stop and tell me".
    pub(super) fn is_conditional(&self) -> bool {
        self.cues.has(Cue::Condition) && !self.cues.has(Cue::MomentCondition) && self.is_order()
    }

    /// Returns true if it begins with a word for something of the moment: "this", "it".
    pub(super) fn is_of_the_moment(&self) -> bool {
        self.first_word().is_some_and(|word| cues::MOMENT_SUBJECTS.has(word))
    }

    /// Returns true if it allows no exception: "every", "never", "in no log".
    pub(super) fn is_universal(&self) -> bool {
        self.cues.has(Cue::Universal)
            || self.first_word().is_some_and(|word| cues::UNIVERSAL_SUBJECTS.has(word))
    }

    /// Returns true if it begins by telling somebody what to do or not to do: "Never …", "You must …".
    pub(super) fn is_told(&self) -> bool {
        self.first_word().is_some_and(|word| cues::TELLING.has(word))
    }

    pub(super) fn first_word(&self) -> Option<&str> {
        self.words.openers().next().and_then(|place| self.words.get(place))
    }

    /// Returns true if it asks a question, with or without its sign. "…, ok?" does not.
    pub(super) fn is_question(&self) -> bool {
        (is_question(self.text, self.words) || asks_in_pieces(self.text, self.words)) && !self.ends_with_tag()
    }

    fn ends_with_tag(&self) -> bool {
        let tag = self.text.trim_end_matches(['?', '？', ' ', '!']).rsplit([',', '，']).next();
        let is_short = tag.is_some_and(|tag| tag.len() < self.text.len() / 2);
        is_short && tag.is_some_and(|tag| cues::QUESTION_TAGS.has(tag.trim().to_lowercase().as_str()))
    }

    pub(super) fn is_too_long(&self) -> bool {
        self.text.len() > LONGEST && self.text.chars().count() > LONGEST
    }

    pub(super) fn has_pieces(&self) -> bool {
        cues::has_pieces(self.text, self.words)
    }

    pub(super) fn names_a_rule(&self) -> bool {
        self.text.find(':').is_some_and(|at| {
            self.words.texts().any(|word| cues::RULE_LABELS.has(word))
                && !self.text[at + 1..].trim().is_empty()
                && Words::of(&self.text[..at])
                    .texts()
                    .next_back()
                    .is_some_and(|word| cues::RULE_LABELS.has(word))
        })
    }

    /// Returns true if somebody is told to do something.
    pub(super) fn is_order(&self) -> bool {
        self.cues.has(Cue::Order) || self.words.orders().next().is_some() || cues::OBLIGES.fit(self.words)
    }

    /// "no mocks in tests", "no console logs!": a noun that nobody wants to see.
    pub(super) fn forbids_a_thing(&self) -> bool {
        let clause_end = self.words.openers().find(|place| *place > 1).unwrap_or(self.words.len());
        self.words.begin_with_no()
            && (2..=9).contains(&clause_end)
            && self.words.get(1).is_some_and(|noun| !cues::NO_REPORTS.has(noun))
            && !self.words.texts().take(clause_end).any(|word| cues::REPORTS.has(word))
            && !self.words.texts().any(|word| cues::NOT_ENGLISH.has(word))
    }
}

/// What stands below a line, if the line says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// "Rules:", "## Conventions", "请遵守以下规则：".
    Rules,
    /// "Tasks:", "To do", "오늘 할 일".
    Tasks,
    /// "Important:", "## Notes", "Rahmenbedingungen".
    Cautions,
    /// "Requirements:", "## Output", "Acceptance criteria".
    Demands,
}

/// Returns true if a unit leads into what follows; `before_items` if an item does.
pub(super) fn is_lead(unit: &Unit<'_>, sentence: &Sentence<'_>, before_items: bool) -> bool {
    let text = unit.text.trim_end_matches(['*', '_', ' ']);
    let is_bare = before_items && unit.kind == UnitKind::Sentence && !text.ends_with(['.', '!', '?', '。']);
    // "**Expected behavior**", "OUTPUT"; but "NO MOCKS!" is a sentence.
    let is_title = is_emphatic(unit.text)
        && (unit.text.is_ascii() || unit.text.starts_with("**"))
        && sentence.words.len() <= 4
        && !text.ends_with(['.', '!', '。'])
        && !sentence.is_order()
        && !sentence.is_told()
        && !sentence.cues.has(Cue::Negation);
    let leads = unit.kind == UnitKind::Heading || text.ends_with([':', '：']) || is_bare || is_title;
    leads && text.len() < 120 && sentence.words.len() <= 12 && !is_question(text, sentence.words)
}

/// Returns true if a line is in bold or in capitals, as headings are.
pub(super) fn is_emphatic(line: &str) -> bool {
    let line = line.trim().trim_end_matches([':', '：']);
    let is_bold = line.starts_with("**") && line.ends_with("**");
    is_bold
        || line.len() > 3
            && line.chars().all(|c| !c.is_lowercase())
            && line.bytes().any(|byte| byte.is_ascii_uppercase())
}

/// What stands below a line that leads into it, if the line says so.
pub(super) fn announced(sentence: &Sentence<'_>) -> Option<Listed> {
    let Sentence { text, words, cues } = sentence;
    let has_pieces = cues::has_pieces(text, words);
    let names = |nouns: &longhaul_text::WordSet, pieces: &[&str]| {
        words.texts().any(|word| nouns.has(word))
            || has_pieces && pieces.iter().any(|piece| text.contains(piece))
    };
    if cues.has(Cue::RuleLead) || names(&cues::RULE_NOUNS, &cues::WIDE_RULE_NOUNS) {
        Some(Listed::Rules)
    } else if cues.has(Cue::CautionHeading) {
        Some(Listed::Cautions)
    } else if cues.has(Cue::TaskLead) || names(&cues::TASK_NOUNS, &cues::WIDE_TASK_NOUNS) {
        Some(Listed::Tasks)
    } else if cues.has(Cue::DemandHeading) {
        Some(Listed::Demands)
    } else {
        None
    }
}

/// Returns true if a sentence asks a question, with or without its sign; `words` are those of `text`.
pub(crate) fn is_question(text: &str, words: &Words) -> bool {
    ends_as_question(text) || opens_as_question(words)
}

/// Returns true if a text asks a question, as [`is_question`] has it.
pub(crate) fn asks_a_question(text: &str) -> bool {
    is_question(text, &Words::of(text))
}

fn ends_as_question(text: &str) -> bool {
    let is_closer = |c: char| c.is_whitespace() || matches!(c, '"' | ')' | '”' | '*' | '`' | '）');
    text.trim_end_matches(is_closer).ends_with(['?', '？'])
}

fn opens_as_question(words: &Words) -> bool {
    let Some(first) = words.openers().next() else { return false };
    words.get(first).is_some_and(|word| cues::QUESTIONS.has(word)) || cues::ASKING.fit_at(words, first)
}

/// Returns true if a sentence ends with a syllable of questions.
fn asks_in_pieces(text: &str, words: &Words) -> bool {
    let end = text.trim_end_matches(|c: char| !c.is_alphanumeric());
    cues::has_pieces(text, words) && cues::WIDE_QUESTION_ENDS.iter().any(|ending| end.ends_with(ending))
}
