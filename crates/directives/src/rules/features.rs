//! What speaks for a sentence being a standing instruction and what against it, and the score that they add up to.
//!
//! Each feature is true or false and has a weight, in `data/rule-weights.tsv`; some weigh otherwise in a list or in a long text.
//! `bench/fit-rules` fits the weights and names the data.

use std::collections::HashMap;
use std::sync::LazyLock;

use longhaul_text::Words;

use super::cues::{Cue, Cues, LISTS, is_hangul, names_code};
use super::recognise::{Listed, Sentence};
use super::vocabulary::{self, Surroundings};

/// The place of a sentence in its message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place<'t> {
    /// It is an item of a list.
    pub(super) is_item: bool,
    /// The list is numbered.
    pub(super) is_numbered: bool,
    /// The message describes what is to be built: it has many sentences.
    pub(super) is_long: bool,
    /// The message has one or two sentences.
    pub(super) is_short: bool,
    /// The line above the list, or the heading, says what this is.
    pub(super) listed: Option<Listed>,
    /// The list that it is an item of, by number.
    pub(super) list: Option<usize>,
    /// The texts around it.
    pub(super) around: Surroundings<'t>,
    /// It is the first sentence of the message.
    pub(super) is_first: bool,
    /// It is the last one.
    pub(super) is_last: bool,
    /// The message has an element such as `<issue>`, which describes the task.
    pub(super) is_beside_element: bool,
}

/// What the sentences around one are by themselves: rules stand together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// The sentence before it is a rule.
    pub(super) follows_rule: bool,
    /// The sentence behind it is one.
    pub(super) precedes_rule: bool,
    /// At least half of the other items of its list are.
    pub(super) among_rules: bool,
}

/// Forms of a sentence, beside the kinds of phrases and words that it has; first what stands around it.
const FORMS: &[&str] = &[
    "follows-rule",
    "precedes-rule",
    "among-rules",
    "names-code",
    "is-order",
    "opens-with-order",
    "is-universal",
    "moment-subject",
    "is-told",
    "forbids-thing",
    "names-rule",
    "conditional",
    "norm",
    "work-norm",
    "capitals",
    "terse",
    "wordy",
    "exclaims",
    "numbers",
    "label",
    "negation-first",
    "item",
    "short-message",
    "below-rules",
    "below-cautions",
    "below-demands",
    "below-tasks",
    "product-only",
    "process-only",
    "process-negated",
    "product-obliged",
    "me-conditional",
    "unlisted-item",
    "order-when",
    "order-negated",
    "order-points",
    "opens-any",
    "opens-plural",
    "general-norm",
    "pointing-first",
    "process-obliged",
    "norm-now",
    "opens-task",
    "opens-habit",
    "habit-clause",
    "order-definite",
    "habit-definite",
    "task-any",
    "sentences",
    "rule-words-listed",
    "step-item",
    "phrased",
    "held-back",
    "phrased-and-held-back",
    "opens-message",
    "ends-message",
    "beside-element",
    "led",
];

/// What a sentence has of everything that has a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Features {
    cues: u64,
    forms: u64,
    is_long: bool,
    is_item: bool,
    /// The weights of its words.
    vocabulary: f32,
}

impl Features {
    /// Those of a sentence in its place.
    #[rustfmt::skip]
    pub(super) fn of(sentence: &Sentence<'_>, place: Place<'_>) -> Self {
        let Sentence { text, words, cues } = *sentence;
        let has = |cue| cues.has(cue);
        let opening = opening(sentence);
        let takes_back = has(Cue::Lift) || has(Cue::Relief);
        let norm = has(Cue::Norm) && !has(Cue::NotNorm) && !takes_back && !sentence.is_of_the_moment();
        let code = names_code(text);
        let length = length_of(text, words.len());
        let first = words.openers().next();
        let conditional = sentence.is_conditional();
        let lead = text.split_once([':', '：']).map(|(lead, _)| lead).filter(|lead| lead.chars().count() <= 24);
        let told = sentence.is_told();
        // Phrases that say so by themselves.
        let phrased = has(Cue::Strong)
            || has(Cue::Rule)
            || sentence.names_a_rule()
            || sentence.forbids_a_thing()
            || has(Cue::Standing) && sentence.is_order()
            || norm && (code || has(Cue::WorkNoun))
            || conditional;
        let held_back = has(Cue::Moment)
            || has(Cue::Restated)
            || has(Cue::NotRule) && !has(Cue::Strong)
            || (takes_back || has(Cue::MomentCondition)) && !has(Cue::Strong) && !has(Cue::Rule);
        let forms = [
            false,
            false,
            false,
            code,
            sentence.is_order(),
            words.orders().next().is_some_and(|order| Some(order) == first),
            sentence.is_universal(),
            sentence.is_of_the_moment(),
            told,
            sentence.forbids_a_thing(),
            sentence.names_a_rule(),
            conditional,
            norm,
            norm && (code || has(Cue::WorkNoun)),
            has_capitals(text),
            length <= 4,
            length >= 25,
            text.trim_end().ends_with(['!', '！']),
            text.bytes().any(|byte| byte.is_ascii_digit()),
            lead.is_some_and(is_caution),
            has(Cue::Negation) && told,
            place.is_item,
            place.is_short,
            place.listed == Some(Listed::Rules),
            place.listed == Some(Listed::Cautions),
            place.listed == Some(Listed::Demands),
            place.listed == Some(Listed::Tasks),
            has(Cue::Product) && !has(Cue::Process),
            has(Cue::Process) && !has(Cue::Product),
            has(Cue::Process) && has(Cue::Negation),
            has(Cue::Product) && has(Cue::Obligation),
            has(Cue::Me) && has(Cue::Condition),
            place.is_item && place.listed.is_none(),
            has(Cue::When) && sentence.is_order(),
            has(Cue::Negation) && sentence.is_order(),
            has(Cue::Pointing) && sentence.is_order(),
            opening.has(Cue::Any),
            opens_with_plural(sentence),
            norm && (has(Cue::General) || has(Cue::Any)),
            opening.has(Cue::Pointing),
            has(Cue::Process) && has(Cue::Obligation),
            norm && has(Cue::Now),
            opening.has(Cue::Task),
            opening.has(Cue::Habit),
            words.openers().any(|at| words.get(at).is_some_and(|word| super::cues::classes_of(word).has(Cue::Habit))),
            sentence.is_order() && has(Cue::Definite),
            opening.has(Cue::Habit) && has(Cue::Definite),
            opening.has(Cue::Task) && (has(Cue::Any) || has(Cue::When)),
            has_sentences(text),
            place.listed.is_some_and(|listed| matches!(listed, Listed::Rules | Listed::Cautions)) && (has(Cue::Negation) || has(Cue::Limit)),
            place.is_numbered && opening.has(Cue::Task),
            phrased,
            held_back,
            phrased && held_back,
            place.is_first,
            place.is_last,
            place.is_beside_element,
            !place.around.lead.is_empty(),
        ];
        let forms = forms.iter().enumerate().fold(0, |bits, (nth, is_so)| bits | u64::from(*is_so) << nth);
        let vocabulary = vocabulary::score(text, words, place.around);
        Self { cues: cues.bits(), forms, is_long: place.is_long, is_item: place.is_item, vocabulary }
    }

    /// The same with what stands around the sentence.
    pub(super) fn in_company(mut self, around: Around) -> Self {
        let Around { follows_rule, precedes_rule, among_rules } = around;
        for (nth, is_so) in [follows_rule, precedes_rule, among_rules].into_iter().enumerate() {
            self.forms |= u64::from(is_so) << nth;
        }
        self
    }

    /// Above zero for a standing instruction.
    pub(super) fn score(&self) -> f32 {
        let weights = &*WEIGHTS;
        let mut score = weights.base[BIAS] + self.vocabulary;
        for feature in self.all() {
            score += weights.base[feature];
            score += if self.is_long { weights.long[feature] } else { 0.0 };
            score += if self.is_item { weights.item[feature] } else { 0.0 };
        }
        score
    }

    /// The numbers of the features that it has, and that of the bias.
    fn all(&self) -> impl Iterator<Item = usize> {
        let forms = (0..FORMS.len()).filter(|nth| self.forms & 1 << nth != 0);
        let cues = (0..LISTS.len()).filter(|nth| self.cues & 1 << nth != 0);
        cues.chain(forms.map(|nth| nth + LISTS.len())).chain(std::iter::once(ANY))
    }

    /// The names of the features that it has, those of its place in the message before a colon.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for feature in self.all() {
            let name = name_of(feature);
            names.extend(self.is_long.then(|| format!("long:{name}")));
            names.extend(self.is_item.then(|| format!("item:{name}")));
            names.extend((feature != ANY).then(|| name.to_string()));
        }
        names
    }
}

/// Features are numbered: the cues, then the forms, then these two, which every sentence has.
const ANY: usize = LISTS.len() + FORMS.len();
const BIAS: usize = ANY + 1;

fn name_of(feature: usize) -> &'static str {
    LISTS.iter().chain(FORMS).chain(&["any", "bias"]).nth(feature).expect("every feature has a name")
}

/// The weights of all features: anywhere, and what is added in a long text and in a list.
struct Weights {
    base: Vec<f32>,
    long: Vec<f32>,
    item: Vec<f32>,
}

static WEIGHTS: LazyLock<Weights> = LazyLock::new(|| {
    let numbers: HashMap<&str, usize> = (0..=BIAS).map(|feature| (name_of(feature), feature)).collect();
    let none = || vec![0.0; BIAS + 1];
    let mut weights = Weights { base: none(), long: none(), item: none() };
    for line in include_str!("../../data/rule-weights.tsv").lines().filter(|line| !line.starts_with('#')) {
        let parsed = line.split_once('\t').and_then(|(name, weight)| Some((name, weight.parse().ok()?)));
        let (name, weight) = parsed.unwrap_or_else(|| panic!("data/rule-weights.tsv: {line:?} is no weight"));
        let (table, name) = match name.split_once(':') {
            Some(("long", name)) => (&mut weights.long, name),
            Some(("item", name)) => (&mut weights.item, name),
            _ => (&mut weights.base, name),
        };
        let number = numbers
            .get(name)
            .unwrap_or_else(|| panic!("data/rule-weights.tsv: no feature is called {name:?}"));
        table[*number] = weight;
    }
    weights
});

/// The classes of the first word, in a text of pieces those of its first few signs.
fn opening(sentence: &Sentence<'_>) -> Cues {
    if super::cues::has_pieces(sentence.text, sentence.words) {
        let end = sentence.text.char_indices().nth(4).map_or(sentence.text.len(), |(end, _)| end);
        let start = &sentence.text[..end];
        return Cues::of(start, &Words::of(start));
    }
    sentence.first_word().map(super::cues::classes_of).unwrap_or_default()
}

/// Returns true if an English sentence is about all of a kind: "Functions longer than fifty lines …".
fn opens_with_plural(sentence: &Sentence<'_>) -> bool {
    let is_plural = |word: &str| {
        word.len() > 3
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !word.contains('\'')
            && word.is_ascii()
    };
    sentence.words.get(0).is_some_and(|word| {
        is_plural(word)
            && !matches!(
                word,
                "this"
                    | "thanks"
                    | "always"
                    | "does"
                    | "looks"
                    | "works"
                    | "perhaps"
                    | "sometimes"
                    | "sounds"
                    | "seems"
                    | "makes"
            )
    })
}

/// Returns true if an item has sentences behind its first one.
fn has_sentences(text: &str) -> bool {
    text.split(". ").skip(1).any(|next| next.starts_with(char::is_uppercase))
        || text.matches('。').count() > 1
}

/// The number of words; of a text that has pieces instead, about so many.
fn length_of(text: &str, words: usize) -> usize {
    if text.is_ascii() {
        return words;
    }
    let pieces = text.chars().filter(|c| longhaul_text::is_wide(*c) || is_hangul(*c)).count();
    words.max(pieces / 2)
}

/// Returns true if a word is written in capitals for emphasis: "NEVER", "DO NOT".
fn has_capitals(text: &str) -> bool {
    const EMPHATIC: &[&str] = &[
        "NOT",
        "ONLY",
        "ALWAYS",
        "NEVER",
        "MUST",
        "DON'T",
        "ALL",
        "ONE",
        "NO",
        "EVERY",
        "BEFORE",
        "IMPORTANT",
    ];
    text.split(|c: char| !c.is_alphanumeric() && c != '\'').any(|word| EMPHATIC.contains(&word))
}

/// Returns true if a label before a colon calls for attention: "Important", "Note", "注意".
fn is_caution(lead: &str) -> bool {
    let words = Words::of(lead);
    let sentence = Sentence::of(lead, &words);
    matches!(super::recognise::announced(&sentence), Some(Listed::Rules | Listed::Cautions))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_weight_has_a_feature_and_every_feature_one_name() {
        assert!(LISTS.len() <= 64 && FORMS.len() <= 64);
        let mut names: Vec<&str> = LISTS.iter().chain(FORMS).copied().collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(WEIGHTS.base.iter().any(|weight| *weight > 0.0));
    }
}
