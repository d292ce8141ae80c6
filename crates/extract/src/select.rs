//! Chooses the lines that cover most of what later work is likely to need, within a budget.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap, HashSet};

use longhaul_conversation::{Estimator, Ordinal};
use longhaul_text::count_plain_words;

use super::candidates::Candidate;
use super::gather::Source;
use super::pool::Pool;
use super::weigh::weigh_anchors;

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
    /// Words that lines about them are wanted for.
    pub focus: &'a [String],
    /// Texts that are in the snapshot already and need not be quoted again.
    pub quoted: &'a HashSet<&'a str>,
}

/// The cost of a line beside its characters: the line break.
const LINE_COST: f64 = 0.25;
/// The assumed cost of a line's share of the mark, before it is known which lines stand beside it.
const MARK_SHARE: f64 = 1.0;

/// The share that an anchor is still worth when it is quoted again, in a snapshot of at most [`AGAIN_UP_TO`] tokens.
const AGAIN: f64 = 0.02;
/// A larger snapshot quotes most things more than once anyway, so there it is worth less, by the square.
const AGAIN_UP_TO: f64 = 2_000.0;
/// The worth of a character beside the anchors: where room is left, it is filled.
const PLAIN: f32 = 0.00002;

/// The factor on a line's worth for each one chosen that differs only in numbers.
const ALIKE: f32 = 0.5;

/// Places of the chosen candidates, in the order of the conversation.
///
/// Again and again the line is taken that adds most for its cost, while there is room.
pub fn choose_lines(choice: &mut Choice<'_>) -> Vec<usize> {
    let candidates = choice.pool.candidates();
    let weights = weigh_anchors(choice.pool, choice.before, choice.budget);
    let mut terms: Vec<Terms> = candidates.iter().map(|line| choice.terms(line.text)).collect();
    let mut heap: BinaryHeap<Scored> = candidates
        .iter()
        .enumerate()
        .filter(|(_, line)| line.at < choice.before)
        .map(|(place, line)| Scored { score: choice.score(line, &terms[place], &weights), place, round: 0 })
        .filter(|scored| scored.score > 0.0)
        .collect();
    let mut chosen = Vec::new();
    let mut messages: HashSet<Ordinal> = HashSet::new();
    let mut texts: HashSet<&str> = choice.quoted.clone();
    let mut shapes: HashMap<u64, i32> = HashMap::new();
    let mut round = 0;
    while let Some(best) = heap.pop() {
        let line = candidates.get(best.place);
        // The room only shrinks: what does not fit now need not be weighed again, nor anything else that does not.
        let fits = |scored: &Scored| terms[scored.place].tokens + LINE_COST <= choice.room;
        if !fits(&best) {
            heap.retain(fits);
            continue;
        }
        if best.round < round || !terms[best.place].is_read() {
            // Something was chosen since this was weighed, or it was taken to be as readable as can be; if it is still the
            // best, it comes up again at once.
            terms[best.place].read(line.text);
            let alike = shapes.get(&terms[best.place].shape(line.text)).copied().unwrap_or(0);
            let score = choice.score(line, &terms[best.place], &weights) * ALIKE.powi(alike);
            if score > 0.0 {
                heap.push(Scored { score, round, ..best });
            }
            continue;
        }
        let mark = if messages.contains(&line.at) { 0.0 } else { mark_cost(line.at) };
        let cost = terms[best.place].tokens + LINE_COST + mark;
        if cost > choice.room || !texts.insert(line.text) {
            continue;
        }
        choice.room -= cost;
        *shapes.entry(terms[best.place].shape(line.text)).or_default() += 1;
        messages.insert(line.at);
        line.anchors.iter().for_each(|number| choice.covered[*number as usize] = 1.0);
        chosen.push(best.place);
        round += 1;
    }
    chosen.sort_unstable();
    chosen
}

/// The properties of a line's text. Most lines are never among the best, whatever they say, so that they need not be
/// read for it.
struct Terms {
    tokens: f64,
    /// Its readability, computed when it is first needed.
    readable: Option<f32>,
    /// The number of words in focus that it has.
    about: usize,
    /// Its shape, computed when it is first needed.
    shape: Option<u64>,
}

impl Terms {
    fn is_read(&self) -> bool {
        self.readable.is_some()
    }

    fn read(&mut self, text: &str) {
        self.readable.get_or_insert_with(|| readable(text));
    }

    fn shape(&mut self, text: &str) -> u64 {
        *self.shape.get_or_insert_with(|| shape_of(text))
    }
}

impl Choice<'_> {
    fn terms(&self, text: &str) -> Terms {
        let about = if self.focus.is_empty() {
            0
        } else {
            let lower = text.to_lowercase();
            self.focus.iter().filter(|word| lower.contains(word.as_str())).count()
        };
        let tokens = self.estimator.text(text).as_f64();
        Terms { tokens, readable: None, about, shape: None }
    }

    /// The gain of a line for its cost; no less than that while it is not read.
    fn score(&self, line: Candidate<'_>, terms: &Terms, weights: &[f32]) -> f32 {
        let familiar = 1.0 - self.worth_again();
        let gain: f32 = line
            .anchors
            .iter()
            .map(|number| weights[*number as usize] * (1.0 - self.covered[*number as usize] * familiar))
            .sum::<f32>()
            + PLAIN * line.text.len().min(160) as f32;
        let said_by = match line.source {
            Source::User => 1.3,
            Source::Model => 1.15,
            Source::Call => 0.95,
            Source::Output => 1.0,
            Source::Thought => 0.9,
        };
        let cost = terms.tokens + LINE_COST + MARK_SHARE;
        gain * said_by * terms.readable.unwrap_or(MOST_READABLE) / cost as f32
            * (1.0 + 1.5 * terms.about as f32)
    }

    /// The share that an anchor is still worth when it is quoted again.
    fn worth_again(&self) -> f32 {
        let smallness = (AGAIN_UP_TO / self.budget.max(1.0)).min(1.0);
        (AGAIN * smallness * smallness) as f32
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

/// Lines of few plain words say little about what they name.
fn readable(text: &str) -> f32 {
    const ENOUGH: usize = 5;
    0.4 + 0.6 * count_plain_words(text, ENOUGH) as f32 / ENOUGH as f32
}

/// No line is more readable than this.
const MOST_READABLE: f32 = 1.0;

/// A candidate with what it was worth in a certain round.
struct Scored {
    score: f32,
    place: usize,
    round: usize,
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
        self.score.total_cmp(&other.score).then_with(|| self.place.cmp(&other.place))
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, ToolResult};

    use super::*;

    /// The chosen lines of an output, with room for `room` tokens.
    fn chosen(output: &str, room: f64) -> Vec<String> {
        let mut pool = Pool::default();
        let result = Part::result(ToolResult::text("c", output));
        pool.observe(&Message::new("r", Role::User, vec![result]), Ordinal(1));
        let mut choice = Choice {
            pool: &pool,
            before: Ordinal(2),
            covered: vec![0.0; pool.anchors().len()],
            budget: 4_000.0,
            room,
            estimator: Estimator::default(),
            focus: &[],
            quoted: &HashSet::new(),
        };
        let places = choose_lines(&mut choice);
        assert!(choice.room >= 0.0);
        places.into_iter().map(|place| pool.candidates().get(place).text.to_string()).collect()
    }

    #[test]
    fn rows_that_differ_only_in_numbers_give_way_to_something_else() {
        let rows: String = (100..140)
            .map(|row| format!("row {row} of the long table has value_{row} and nothing more to say\n"))
            .collect();
        let other = "the parser of read_config fails because the file is empty and nobody looks at it";
        let chosen = chosen(&format!("{rows}{other}\n"), 60.0);
        assert!(chosen.iter().any(|line| line.contains("read_config")), "{chosen:?}");
    }

    #[test]
    fn no_line_is_more_readable_than_the_most_readable() {
        let texts =
            ["", "one", "one two", "one two three", "one two three four", "one two three four five six"];
        assert!(texts.is_sorted_by(|one, other| readable(one) < readable(other)));
        assert!(texts.iter().all(|text| readable(text) <= MOST_READABLE));
    }

    #[test]
    fn what_does_not_fit_is_not_chosen() {
        let lines = "one line that names first_thing among several other words\nand second_thing after it\n";
        assert_eq!(chosen(lines, 3.0), Vec::<String>::new());
        assert!(!chosen(lines, 100.0).is_empty());
    }
}
