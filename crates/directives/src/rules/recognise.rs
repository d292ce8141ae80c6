//! Decides whether a sentence is a standing instruction.

use longhaul_text::{Unit, UnitKind, Words, is_wide};

use super::cues::{self, Cue, Cues};

/// Longer sentences were hardly typed as a rule, in characters.
const LONGEST: usize = 400;

/// The longest introduction of a rule in the same sentence, in characters.
const LONGEST_LEAD: usize = 80;

/// The place of a sentence in its message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    /// A message of some sentences.
    Short,
    /// A description of many sentences, most of which tell what a program shall do.
    Long,
    /// A list of tasks.
    Tasks,
}

/// A sentence with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct Sentence<'s> {
    pub(super) text: &'s str,
    pub(super) words: &'s Words,
    pub(super) cues: Cues,
}

/// Returns true if a sentence of a person's own is a standing instruction; `words` are those of `text`.
pub(crate) fn is_rule(text: &str, words: &Words) -> bool {
    Sentence::of(text, words).is_rule(Setting::Short)
}

impl<'s> Sentence<'s> {
    pub(super) fn of(text: &'s str, words: &'s Words) -> Self {
        Self { text, words, cues: Cues::of(text, words) }
    }

    /// Returns true if it is a standing instruction, or introduces one: "New policy: we deploy on Mondays".
    pub(super) fn is_rule(&self, setting: Setting) -> bool {
        if self.is_rule_by_itself(setting) {
            return true;
        }
        let Some((lead, rest)) = self.text.split_once([':', '：']).filter(|_| !self.is_question()) else {
            return false;
        };
        // "Rules for this repository: …" holds for longer than the moment.
        let is_told = !self.cues.has(Cue::NotRule) && !self.cues.has(Cue::Moment);
        if !is_told && !Words::of(lead).texts().any(|word| cues::RULE_NOUNS.has(word)) {
            return false;
        }
        // A colon inside a word, a time or an address introduces nothing.
        let introduces = lead.chars().count() <= LONGEST_LEAD && (rest.starts_with(' ') || !rest.is_ascii());
        let words = Words::of(rest);
        introduces && words.len() > 1 && Sentence::of(rest.trim(), &words).is_rule_by_itself(setting)
    }

    fn is_rule_by_itself(&self, setting: Setting) -> bool {
        let has = |cue| self.cues.has(cue);
        if self.is_too_long() || self.words.is_empty() && !self.has_pieces() {
            return false;
        }
        if self.is_question() {
            return (has(Cue::Standing) || has(Cue::Strong)) && cues::ASKS_FOR.fit(self.words);
        }
        if has(Cue::Moment) || has(Cue::NotRule) && !has(Cue::Strong) {
            return false;
        }
        match setting {
            Setting::Short => {
                has(Cue::Strong)
                    || has(Cue::Rule)
                    || self.names_a_rule()
                    || self.forbids_a_thing()
                    || has(Cue::Standing) && self.is_order()
                    || self.is_norm()
                    || self.is_conditional()
            }
            Setting::Long => {
                let is_about_the_work = || cues::names_work(self.text, self.words, self.cues);
                let is_general = || self.is_universal() && !self.is_of_the_moment() && is_about_the_work();
                has(Cue::Strong)
                    || (has(Cue::Rule) || has(Cue::Norm) && !has(Cue::NotNorm)) && is_general()
                    || has(Cue::Rule) && self.is_told()
                    || has(Cue::Agent) && self.is_conditional()
            }
            Setting::Tasks => has(Cue::Strong),
        }
    }

    /// What is generally so, about the work: "Branch names start with the ticket number".
    fn is_norm(&self) -> bool {
        let takes_back = self.cues.has(Cue::Lift) || self.cues.has(Cue::Relief);
        self.cues.has(Cue::Norm)
            && !self.cues.has(Cue::NotNorm)
            && !takes_back
            && !self.is_of_the_moment()
            && cues::names_work(self.text, self.words, self.cues)
    }

    /// An order for whenever something happens: "When a download fails twice, stop and tell me".
    fn is_conditional(&self) -> bool {
        self.cues.has(Cue::Condition) && !self.cues.has(Cue::MomentCondition) && self.is_order()
    }

    /// Returns true if it begins with a word for something of the moment: "this", "it".
    fn is_of_the_moment(&self) -> bool {
        self.first_word().is_some_and(|word| cues::MOMENT_SUBJECTS.has(word))
    }

    /// Returns true if it allows no exception: "every", "never", "in no log".
    fn is_universal(&self) -> bool {
        self.cues.has(Cue::Universal)
            || self.first_word().is_some_and(|word| cues::UNIVERSAL_SUBJECTS.has(word))
    }

    /// Returns true if it begins by telling somebody what to do or not to do: "Never …", "You must …".
    fn is_told(&self) -> bool {
        self.first_word().is_some_and(|word| cues::TELLING.has(word))
    }

    fn first_word(&self) -> Option<&str> {
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

    fn is_too_long(&self) -> bool {
        self.text.len() > LONGEST && self.text.chars().count() > LONGEST
    }

    fn has_pieces(&self) -> bool {
        cues::has_pieces(self.text, self.words)
    }

    fn names_a_rule(&self) -> bool {
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
    fn is_order(&self) -> bool {
        self.cues.has(Cue::Order) || self.words.orders().next().is_some() || cues::OBLIGES.fit(self.words)
    }

    /// "no mocks in tests", "no console logs!": a noun that nobody wants to see.
    fn forbids_a_thing(&self) -> bool {
        let clause_end = self.words.openers().find(|place| *place > 1).unwrap_or(self.words.len());
        self.words.begin_with_no()
            && (2..=9).contains(&clause_end)
            && self.words.get(1).is_some_and(|noun| !cues::NO_REPORTS.has(noun))
            && !self.words.texts().take(clause_end).any(|word| cues::REPORTS.has(word))
            && !self.words.texts().any(|word| cues::NOT_ENGLISH.has(word))
    }

    /// Returns true if a list item below a heading of rules can be one.
    pub(super) fn can_be_listed_rule(&self) -> bool {
        let is_piece = |c: &char| is_wide(*c) || cues::is_hangul(*c);
        let long_enough = self.words.len() >= 3 || self.text.chars().filter(is_piece).count() >= 4;
        !self.is_too_long() && long_enough && !self.is_question()
    }
}

/// What the list below a line has, if the line says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    /// "Rules:", "## Conventions", "请遵守以下规则：".
    Rules,
    /// "Tasks:", "To do", "오늘 할 일".
    Tasks,
}

/// What the list below a unit has; `before_items` if one follows.
pub(super) fn announces(unit: &Unit<'_>, sentence: &Sentence<'_>, before_items: bool) -> Option<Listed> {
    let Sentence { text, words, cues } = sentence;
    let is_bare = before_items && unit.kind == UnitKind::Sentence && !text.ends_with(['.', '!', '?', '。']);
    let is_lead = unit.kind == UnitKind::Heading || text.ends_with([':', '：']) || is_bare;
    if !is_lead || text.len() >= 120 || words.len() > 12 || is_question(text, words) {
        return None;
    }
    let has_pieces = cues::has_pieces(text, words);
    let names = |nouns: &longhaul_text::WordSet, pieces: &[&str]| {
        words.texts().any(|word| nouns.has(word))
            || has_pieces && pieces.iter().any(|piece| text.contains(piece))
    };
    if cues.has(Cue::RuleLead) || names(&cues::RULE_NOUNS, &cues::WIDE_RULE_NOUNS) {
        Some(Listed::Rules)
    } else if cues.has(Cue::TaskLead) || names(&cues::TASK_NOUNS, &cues::WIDE_TASK_NOUNS) {
        Some(Listed::Tasks)
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
