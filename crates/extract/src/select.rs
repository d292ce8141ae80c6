//! Chooses the lines that cover most of what later work is likely to need, within a budget.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use longhaul_conversation::{Estimator, Ordinal};

use super::pool::Pool;
use super::statements::Form;
use super::weigh::weigh_anchors;
use super::worth::{Position, is_for_the_moment, leans_on_another, statement_worth};

/// The lines to choose from, and the room for them.
pub struct Choice<'a> {
    /// The lines to choose from.
    pub pool: &'a Pool,
    /// Lines of this message and later ones stay in the conversation anyway.
    pub before: Ordinal,
    /// The share of each anchor that is covered already, from 0 to 1, by number.
    pub covered: Vec<f32>,
    /// Tokens of the whole snapshot.
    pub budget: f64,
    /// Tokens that may be used.
    pub room: f64,
    /// Measures what a line costs.
    pub estimator: Estimator,
    /// The folder that paths are shown from.
    pub root: Option<&'a str>,
    /// Words that lines about them are wanted for.
    pub focus: &'a [String],
    /// Texts that are in the snapshot already and need not be quoted again.
    pub quoted: &'a HashSet<&'a str>,
    /// All words of the snapshot so far, on one line.
    pub said: &'a str,
    /// Statements that are worth less than this are not quoted, whatever the room.
    pub least_worth: f32,
}

/// The cost of a line beside its characters: the line break.
const LINE_COST: f64 = 0.25;
/// The assumed cost of a line's share of the mark, before it is known which lines stand beside it.
const MARK_SHARE: f64 = 1.0;

/// The worth of a name in a statement as soon as it is covered elsewhere: the statement says what it is about.
const AGAIN: f32 = 0.1;
/// Names in a statement are worth no more than this: a list of them is better read under their file.
const MOST_NAMES: f32 = 3.0;
/// The factor on a line's worth for each one chosen that differs only in numbers.
const ALIKE: f32 = 0.4;
/// The factor on a line's worth if all that it says was said already, pair by pair of words.
const SAID_BEFORE: f32 = 0.15;
/// The share of its pairs of words from which on a sentence of the user's is taken for one that stands in the snapshot.
const TOLD: f32 = 0.6;
/// The factor on a line's worth for each one chosen of the same stretch of work, so that all stretches are told of.
const SAME_STRETCH: f32 = 0.93;
/// The factor on a line's worth for each one chosen of the same message: a long text is told of, not copied.
const SAME_MESSAGE: f32 = 0.92;
/// Of one message no more lines than this are quoted.
const MOST_OF_MESSAGE: i32 = 24;
/// Of what a file says or an output shows no more lines of one message.
const MOST_SHOWN: i32 = 12;
/// A statement that leans on others is quoted with as many of those before it.
const MOST_LEANT_ON: usize = 2;

/// Places of the chosen candidates, in the order of the conversation.
///
/// Again and again the statement is taken that adds most for its cost, while there is room. One that speaks of the statement
/// before it is taken along with that.
pub fn choose_lines(choice: &mut Choice<'_>) -> Vec<usize> {
    let candidates = choice.pool.candidates();
    let weights = weigh_anchors(choice.pool, choice.before, choice.budget);
    let mut told_pairs: HashSet<u64> = HashSet::new();
    each_pair(choice.said, &mut |pair| {
        told_pairs.insert(pair);
    });
    choice.quoted.iter().for_each(|text| {
        each_pair(text, &mut |pair| {
            told_pairs.insert(pair);
        });
    });
    let mut heap: BinaryHeap<Scored> = BinaryHeap::new();
    let mut last: Option<Ordinal> = None;
    let mut trouble = Ordinal(0);
    // The statements of the message so far, which the next one may lean on.
    let mut before: Vec<usize> = Vec::new();
    for (place, line) in candidates.iter().enumerate().take_while(|(_, line)| line.at < choice.before) {
        let opens = last != Some(line.at);
        if opens {
            before.clear();
        }
        if !line.form.is_quotable() {
            continue;
        }
        last = Some(line.at);
        if line.form == Form::Notice {
            trouble = line.at;
        }
        // A statement that leans on one leaning itself needs both.
        let mut first = place;
        for earlier in before.iter().rev().take(MOST_LEANT_ON) {
            if !leans_on_another(candidates.get(first).text) {
                break;
            }
            first = *earlier;
        }
        // What only announces the next step explains nothing.
        if !is_for_the_moment(line.text) {
            before.push(place);
        }
        let is_told = line.form == Form::Typed && share_of_pairs(line.text, &told_pairs) > TOLD;
        if is_told || choice.is_said(line.text) {
            continue;
        }
        let position = Position { opens, after_trouble: trouble.0 > 0 && line.at.0 == trouble.0 + 1 };
        let worth = statement_worth(choice.pool, &line, position, choice.focus);
        if worth >= choice.least_worth {
            let passage = Passage { first, place };
            let score = choice.score(passage, worth, &weights, &HashSet::new());
            heap.push(Scored { score, passage, round: 0, worth });
        }
    }
    let mut chosen: HashSet<usize> = HashSet::new();
    let mut messages: HashMap<Ordinal, i32> = HashMap::new();
    let mut texts: HashSet<&str> = choice.quoted.clone();
    let mut shapes: HashMap<u64, i32> = HashMap::new();
    let mut stretches: HashMap<usize, i32> = HashMap::new();
    // Nothing was weighed against what is told so far.
    let mut round = 1;
    while let Some(best) = heap.pop() {
        let line = candidates.get(best.passage.place);
        if chosen.contains(&best.passage.place) {
            continue;
        }
        let new: Vec<usize> = choice.new_lines(best.passage, &chosen).collect();
        let tokens: f64 = new.iter().map(|place| choice.cost(candidates.get(*place).text)).sum();
        if tokens > choice.room {
            continue;
        }
        let (shape, stretch) = (shape_of(line.text), choice.pool.stretch_of(line.at));
        if best.round < round {
            // Something was chosen since this was weighed; if it is still the best, it comes up again at once.
            let alike = shapes.get(&shape).copied().unwrap_or(0);
            let told = stretches.get(&stretch).copied().unwrap_or(0);
            let beside = messages.get(&line.at).copied().unwrap_or(0);
            let most = if line.form == Form::Shown { MOST_SHOWN } else { MOST_OF_MESSAGE };
            if beside < most {
                let spread = ALIKE.powi(alike) * SAME_STRETCH.powi(told) * SAME_MESSAGE.powi(beside);
                let repeats = share_of_pairs(line.text, &told_pairs);
                let score = choice.score(best.passage, best.worth, &weights, &chosen)
                    * spread
                    * (1.0 - repeats * (1.0 - SAID_BEFORE));
                heap.push(Scored { score, round, ..best });
            }
            continue;
        }
        let mark = if messages.contains_key(&line.at) { 0.0 } else { mark_cost(line.at) };
        if tokens + mark > choice.room || !texts.insert(line.text) {
            continue;
        }
        choice.room -= tokens + mark;
        *shapes.entry(shape).or_default() += 1;
        for place in new {
            let line = candidates.get(place);
            *stretches.entry(stretch).or_default() += 1;
            *messages.entry(line.at).or_default() += 1;
            line.anchors.iter().for_each(|number| choice.covered[*number as usize] = 1.0);
            texts.insert(line.text);
            each_pair(line.text, &mut |pair| {
                told_pairs.insert(pair);
            });
            chosen.insert(place);
        }
        round += 1;
    }
    let mut chosen: Vec<usize> = chosen.into_iter().collect();
    chosen.sort_unstable();
    chosen
}

/// A statement with those before it that it leans on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Passage {
    /// The first statement that is needed.
    first: usize,
    /// The statement itself.
    place: usize,
}

impl Choice<'_> {
    /// The tokens of a line, with its paths as they are shown.
    fn cost(&self, text: &str) -> f64 {
        let whole = self.estimator.text(text).as_f64() + LINE_COST;
        let Some(root) = self.root else { return whole };
        let folder = self.estimator.text(root).as_f64() + LINE_COST;
        whole - text.matches(root).count() as f64 * folder
    }

    /// Returns true if a text stands in the snapshot already, perhaps among others.
    fn is_said(&self, text: &str) -> bool {
        self.said.contains(text)
    }

    /// The places of a passage whose statements are not in the snapshot yet.
    fn new_lines<'c>(
        &'c self,
        passage: Passage,
        chosen: &'c HashSet<usize>,
    ) -> impl Iterator<Item = usize> + 'c {
        let candidates = self.pool.candidates();
        (passage.first..=passage.place).filter(move |place| {
            let line = candidates.get(*place);
            line.form.is_quotable()
                && !chosen.contains(place)
                && (*place == passage.place || !self.quoted.contains(line.text))
        })
    }

    /// The gain of a statement for the cost of its passage.
    fn score(&self, passage: Passage, worth: f32, weights: &[f32], chosen: &HashSet<usize>) -> f32 {
        let candidates = self.pool.candidates();
        let (mut names, mut cost) = (0.0, MARK_SHARE as f32);
        for place in self.new_lines(passage, chosen) {
            let line = candidates.get(place);
            cost += self.cost(line.text) as f32;
            let weight = |number: &u32| {
                weights[*number as usize] * (1.0 - self.covered[*number as usize] * (1.0 - AGAIN))
            };
            names += line.anchors.iter().map(weight).sum::<f32>();
        }
        // Names in a sentence that says nothing of them are better listed under their file.
        let gain = worth + names.min(MOST_NAMES) * worth.clamp(0.1, 2.0);
        gain / cost
    }
}

/// The cost of naming a further message: `[m12] `.
fn mark_cost(at: Ordinal) -> f64 {
    let digits = at.0.checked_ilog10().unwrap_or(0) + 1;
    f64::from("[m] ".len() as u32 + digits) / 4.0
}

/// The shape of a line without its numbers: rows of a table and cases of a test are much alike.
fn shape_of(text: &str) -> u64 {
    let letters = text.bytes().filter(|byte| !byte.is_ascii_digit());
    // FNV-1a: nothing depends on it but whether two are the same.
    letters.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Calls `found` with a hash of each two neighbouring words, whatever signs stand around them.
fn each_pair(text: &str, found: &mut impl FnMut(u64)) {
    let mut last: Option<u64> = None;
    for word in text.split(|sign: char| !sign.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let word = word.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0000_01b3)
        });
        if let Some(last) = last {
            found(last.rotate_left(17) ^ word);
        }
        last = Some(word);
    }
}

/// The share of the pairs of words of a text that were told already, from 0 to 1.
fn share_of_pairs(text: &str, told: &HashSet<u64>) -> f32 {
    let (mut known, mut all) = (0u32, 0u32);
    each_pair(text, &mut |pair| {
        all += 1;
        known += u32::from(told.contains(&pair));
    });
    if all == 0 { 0.0 } else { known as f32 / all as f32 }
}

/// A candidate with what it was worth in a certain round.
struct Scored {
    score: f32,
    passage: Passage,
    round: usize,
    /// What it is worth for what it says.
    worth: f32,
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scored {}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The best first; of equals the later line.
impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then_with(|| self.passage.place.cmp(&other.passage.place))
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role};

    use super::*;
    use crate::worth::LEAST_WORTH;

    /// The chosen lines of an answer, with room for `room` tokens.
    fn chosen(answer: &str, room: f64) -> Vec<String> {
        let mut pool = Pool::default();
        pool.observe(&Message::new("a", Role::Model, vec![Part::model_text(answer)]), Ordinal(1));
        let mut choice = Choice {
            pool: &pool,
            before: Ordinal(2),
            covered: vec![0.0; pool.anchors().len()],
            budget: 4_000.0,
            room,
            estimator: Estimator::default(),
            focus: &[],
            quoted: &HashSet::new(),
            said: "",
            root: None,
            least_worth: LEAST_WORTH,
        };
        let places = choose_lines(&mut choice);
        assert!(choice.room >= 0.0);
        places.into_iter().map(|place| pool.candidates().get(place).text.to_string()).collect()
    }

    #[test]
    fn rows_that_differ_only_in_numbers_give_way_to_something_else() {
        let rows: String = (100..140)
            .map(|row| format!("- Row {row} of the long table has value_{row} and nothing more to say.\n"))
            .collect();
        let other = "The parser of read_config fails on empty files, and nobody looks at it.";
        let chosen = chosen(&format!("{rows}\n{other}\n"), 60.0);
        assert!(chosen.iter().any(|line| line.contains("read_config")), "{chosen:?}");
    }

    #[test]
    fn what_is_said_again_in_other_words_gives_way() {
        let again: String = ["fix", "mend", "solve", "close"]
            .iter()
            .map(|verb| {
                format!(
                    "To {verb} it the most likely file to change is `src/read_config.rs` in the core.\n\n"
                )
            })
            .collect();
        let other = "The writer drops the last line because nobody flushes the buffer.";
        let chosen = chosen(&format!("{again}{other}"), 50.0);
        assert!(chosen.iter().any(|line| line == other), "{chosen:?}");
        assert_eq!(chosen.iter().filter(|line| line.contains("most likely")).count(), 1, "{chosen:?}");
    }

    #[test]
    fn a_statement_comes_with_the_one_it_speaks_of() {
        let text = "The parser of `read_config` was rewritten.\n\nThis fails for empty files because `next_line` returns nothing.";
        let chosen = chosen(text, 60.0);
        assert_eq!(chosen.len(), 2, "{chosen:?}");
    }

    #[test]
    fn a_long_text_is_told_of_and_not_copied() {
        let names = ["alpha", "beta", "gamma", "delta", "omega"];
        let lines: String = (0..60)
            .map(|nth| {
                format!(
                    "- The {} of step {nth} must wait for the {} before it ends.\n",
                    names[nth % 5],
                    names[nth / 5 % 5]
                )
            })
            .collect();
        assert!(chosen(&lines, 4_000.0).len() <= MOST_OF_MESSAGE as usize);
    }

    #[test]
    fn what_does_not_fit_is_not_chosen() {
        let lines = "One line names first_thing among several other words. It needs second_thing after it.\n";
        assert_eq!(chosen(lines, 3.0), Vec::<String>::new());
        assert!(!chosen(lines, 100.0).is_empty());
    }
}
