//! A simple baseline: TF-IDF over lines.

use std::collections::{BinaryHeap, HashMap, HashSet};

use longhaul_conversation::{Message, MessageId};

use crate::excerpt::{ids, room, with_excerpt};
use crate::index::hash;
use crate::method::{CompactionTask, Compactor};
use crate::text::readable_text;

/// The longest line; a longer one is cut, since it would take the whole budget.
const LONGEST_LINE: usize = 400;

/// Picks lines greedily by the weight of the uncovered words they add, per length.
#[derive(Default)]
pub(crate) struct TfIdf {
    messages: Vec<(MessageId, Vec<WeighedLine>)>,
}

struct WeighedLine {
    text: String,
    length: usize,
    words: Vec<u64>,
}

/// A line to pick, with its last computed weight.
#[derive(PartialEq)]
struct LineCandidate {
    weight: f64,
    place: usize,
}

impl Eq for LineCandidate {}

impl Ord for LineCandidate {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.weight.total_cmp(&other.weight).then_with(|| other.place.cmp(&self.place))
    }
}

impl PartialOrd for LineCandidate {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Compactor for TfIdf {
    fn observe(&mut self, message: &Message) {
        self.messages.push((message.id.clone(), lines_of(&readable_text(message))));
    }

    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let tail = ids(task.tail());
        let head: Vec<&[WeighedLine]> = self
            .messages
            .iter()
            .filter(|(id, _)| !tail.contains(id))
            .map(|(_, lines)| lines.as_slice())
            .collect();
        with_excerpt(task, &pick(&head, room(task)))
    }
}

/// The lines of the highest weight within `room` characters, in order.
fn pick(messages: &[&[WeighedLine]], room: usize) -> String {
    let rarity = rarity(messages);
    let mut seen = HashSet::new();
    let lines: Vec<&WeighedLine> = messages
        .iter()
        .flat_map(|lines| lines.iter())
        .filter(|line| seen.insert(line.text.as_str()))
        .collect();
    let mut open: Vec<usize> = (0..lines.len()).collect();
    let mut left = room;
    let mut picked = Vec::new();
    // Once every word is covered, the rest of the room is filled in the same way, as if nothing were.
    loop {
        let round = pick_round(&lines, &open, &rarity, &mut left);
        if round.is_empty() {
            break;
        }
        open.retain(|place| !round.contains(place));
        picked.extend(round);
    }
    picked.sort_unstable();
    picked.into_iter().flat_map(|place| [lines[place].text.as_str(), "\n"]).collect()
}

/// Picks among the `open` lines until each word is covered or nothing more fits.
fn pick_round(
    lines: &[&WeighedLine],
    open: &[usize],
    rarity: &HashMap<u64, f64>,
    left: &mut usize,
) -> HashSet<usize> {
    let mut covered: HashSet<u64> = HashSet::new();
    let weigh = |line: &WeighedLine, covered: &HashSet<u64>| {
        let new = line.words.iter().filter(|word| !covered.contains(word));
        let gain: f64 = new.filter_map(|word| rarity.get(word)).sum();
        gain / (line.length as f64 + 20.0)
    };
    let mut candidates: BinaryHeap<LineCandidate> = open
        .iter()
        .map(|place| LineCandidate { weight: weigh(lines[*place], &covered), place: *place })
        .collect();
    let mut picked = HashSet::new();
    while let Some(candidate) = candidates.pop() {
        let line = lines[candidate.place];
        if line.length + 1 > *left {
            continue;
        }
        // Weights only fall, so a line that is still the best after a second look is the best.
        let weight = weigh(line, &covered);
        if weight <= 0.0 {
            continue;
        }
        if candidates.peek().is_some_and(|next| next.weight > weight) {
            candidates.push(LineCandidate { weight, ..candidate });
            continue;
        }
        *left -= line.length + 1;
        covered.extend(&line.words);
        picked.insert(candidate.place);
    }
    picked
}

/// The weight of each word: its total frequency, by the share of messages that contain it.
fn rarity(messages: &[&[WeighedLine]]) -> HashMap<u64, f64> {
    let mut counts: HashMap<u64, (f64, f64, usize)> = HashMap::new();
    for (nth, lines) in messages.iter().enumerate() {
        for word in lines.iter().flat_map(|line| &line.words) {
            let (frequency, spread, last) = counts.entry(*word).or_insert((0.0, 0.0, usize::MAX));
            *frequency += 1.0;
            if *last != nth {
                *spread += 1.0;
                *last = nth;
            }
        }
    }
    let total = messages.len() as f64;
    let weight = |frequency: f64, spread: f64| (1.0 + frequency.ln()) * (1.0 + total / spread).ln();
    counts.into_iter().map(|(word, (frequency, spread, _))| (word, weight(frequency, spread))).collect()
}

fn lines_of(text: &str) -> Vec<WeighedLine> {
    text.lines().filter_map(line_of).collect()
}

fn line_of(line: &str) -> Option<WeighedLine> {
    let text: String = line.trim().chars().take(LONGEST_LINE).collect();
    let mut words: Vec<u64> = text
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| word.len() > 2)
        .map(|word| hash(word.as_bytes()))
        .collect();
    words.sort_unstable();
    words.dedup();
    let length = text.chars().count();
    (!words.is_empty()).then_some(WeighedLine { text, length, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(messages: &[&str], room: usize, expected: &str) {
        let lines: Vec<Vec<WeighedLine>> = messages.iter().map(|text| lines_of(text)).collect();
        let lines: Vec<&[WeighedLine]> = lines.iter().map(Vec::as_slice).collect();
        assert_eq!(pick(&lines, room), expected);
    }

    #[test]
    fn rare_words_come_first_and_in_order() {
        let common = "the usual line here";
        check(&[common, common, "zebra quartz\nthe usual line here", common], 14, "zebra quartz\n");
        check(&["alpha first", "omega last"], 100, "alpha first\nomega last\n");
    }

    #[test]
    fn what_is_covered_comes_last() {
        check(&["alpha beta", "beta alpha", "gamma delta"], 30, "alpha beta\ngamma delta\n");
        check(&["alpha beta", "beta alpha", "gamma delta"], 40, "alpha beta\nbeta alpha\ngamma delta\n");
        check(&["alpha alone"], 100, "alpha alone\n");
        check(&["alpha beta"], 3, "");
        check(&[], 100, "");
    }
}
