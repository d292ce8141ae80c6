//! Finds the messages that said what a line of a summary says.

use std::cell::OnceCell;
use std::collections::HashMap;

use longhaul_conversation::Ordinal;
use longhaul_directives::{Voice, said_units};
use longhaul_extract::{USUAL_BUDGET, weigh_anchors};
use longhaul_snapshot::without_state;
use longhaul_text::{Subject, split_units};

use super::Quote;
use crate::tracker::Tracker;

/// Messages before a tail, by what they name.
pub(super) struct Sources<'a> {
    tracker: &'a Tracker,
    before: Ordinal,
    /// The weight of each anchor, by number.
    weights: Vec<f32>,
    /// The lines that have each anchor, by number.
    lines: HashMap<u32, Vec<usize>>,
    /// Subjects of the user's requests.
    asked: OnceCell<Vec<Subject>>,
}

/// A quotation is at least so many characters long; shorter ones are found in any text.
const SHORTEST_QUOTE: usize = 12;
/// A message is taken for the source of a line if it has at least this share of what the line names.
const ENOUGH: f32 = 0.34;

impl<'a> Sources<'a> {
    pub(super) fn new(tracker: &'a Tracker, before: Ordinal) -> Self {
        let weights = weigh_anchors(&tracker.pool, before, USUAL_BUDGET);
        let mut lines: HashMap<u32, Vec<usize>> = HashMap::new();
        let candidates = tracker.pool.candidates().iter().enumerate();
        for (index, line) in candidates.filter(|(_, line)| line.at < before) {
            for number in line.anchors {
                lines.entry(*number).or_default().push(index);
            }
        }
        Self { tracker, before, weights, lines, asked: OnceCell::new() }
    }

    /// Weight of what these lines name.
    pub(super) fn weight(&self, lines: &[String]) -> f64 {
        self.anchors(lines).iter().map(|number| f64::from(self.weights[*number as usize])).sum()
    }

    /// The message that said this, by what both name. The mark that the line came with holds if its message names any of
    /// it.
    pub(super) fn mark(&self, claimed: Option<Ordinal>, lines: &[String]) -> Option<Ordinal> {
        let anchors = self.anchors(lines);
        let candidates = self.tracker.pool.candidates();
        let mut shared: HashMap<usize, f32> = HashMap::new();
        let mut whole = 0.0;
        for number in anchors {
            // Even what is hardly ever needed again tells where a line comes from.
            let weight = self.weights[number as usize] + 0.01;
            whole += weight;
            for index in self.lines.get(&number).into_iter().flatten() {
                *shared.entry(*index).or_default() += weight;
            }
        }
        if let Some(claimed) = claimed
            && shared.keys().any(|index| candidates.get(*index).at == claimed)
        {
            return Some(claimed);
        }
        let best = shared.into_iter().max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)));
        best.filter(|(_, weight)| *weight >= whole * ENOUGH).map(|(index, _)| candidates.get(index).at)
    }

    /// Tells whether the user asked for what this says: a message of theirs, or a plan that the work follows, is about it.
    pub(super) fn is_asked_for(&self, text: &str) -> bool {
        let asked = self.asked.get_or_init(|| {
            let typed = self.tracker.words.texts(self.before).map(|(_, text)| Subject::of(text));
            let plan = self.tracker.ledger.plan_lines();
            typed.chain(plan.iter().map(|line| Subject::of(without_state(&line.text)))).collect()
        });
        let own = Subject::of(text);
        asked.iter().any(|asked| own.stands_in(asked))
    }

    /// The sentence of the user's that a rule quotes. It is given whole: a part of it may say the opposite.
    pub(super) fn quote(&self, rule: &str) -> Option<Quote> {
        let mut quoted: Vec<String> = quotations(rule).chain([rule]).map(spaced).collect();
        quoted.retain(|text| text.chars().count() >= SHORTEST_QUOTE);
        self.tracker.words.texts(self.before).find_map(|(message, text)| {
            let said = said_units(text, &split_units(text)).into_iter();
            let mut sentences = said.filter(|said| said.voice == Voice::Typed).map(|said| said.unit.text);
            let found = sentences.find(|sentence| {
                let sentence = spaced(sentence);
                quoted.iter().any(|quoted| sentence.contains(quoted.as_str()))
            });
            found.map(|sentence| Quote { text: spaced(sentence), message })
        })
    }

    fn anchors(&self, lines: &[String]) -> Vec<u32> {
        let mut anchors = Vec::new();
        for line in lines {
            self.tracker.pool.known_anchors(line, &mut |number| anchors.push(number));
        }
        anchors.sort_unstable();
        anchors.dedup();
        anchors
    }
}

/// Tells whether a text says these words, whatever the spaces between them and the stops around them.
pub(super) fn says(text: &str, words: &str) -> bool {
    let words = spaced(words);
    let words = words.trim_end_matches(['.', '!', ';', ',']);
    !words.is_empty() && spaced(text).contains(words)
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Quotations: what stands between quotation marks.
fn quotations(text: &str) -> impl Iterator<Item = &str> {
    const MARKS: [(char, char); 4] = [('"', '"'), ('“', '”'), ('«', '»'), ('「', '」')];
    MARKS.into_iter().filter_map(move |(open, close)| {
        let start = text.find(open)? + open.len_utf8();
        let end = text.rfind(close).filter(|end| *end > start)?;
        Some(text[start..end].trim())
    })
}
