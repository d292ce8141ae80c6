//! Finds the messages that said what a line of a summary says.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use longhaul_conversation::{Message, Ordinal, each_text};
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
    /// Subjects of what the user typed, and of the plan that the work follows, with the messages.
    asked: OnceCell<Vec<(Ordinal, Subject)>>,
    /// The subject of all that the user wants now: the goal and the open requests.
    wanted: OnceCell<Subject>,
    words: WordIndex,
}

/// Messages by their content words.
struct WordIndex {
    messages: Vec<IndexedMessage>,
    /// The messages that have each word, by index.
    by_word: HashMap<u64, Vec<u32>>,
}

struct IndexedMessage {
    at: Ordinal,
    /// Number of its content words.
    words: usize,
}

/// A quotation is at least so many characters long; shorter ones are found in any text.
const SHORTEST_QUOTE: usize = 12;
/// A message is taken for the source of a line if it has at least this share of what the line names.
const ENOUGH: f32 = 0.34;
/// A line is supported by a message that has at least so many of its words, if they are two thirds of them.
const SHARED_WORDS: usize = 2;
/// A message with more words than this shares some with any line; it has to have five sixths of them.
const LONG_MESSAGE: usize = 300;
/// A goal that shares so many words with a message is about the same, if they are a third of its own.
const SHARED_WITH_GOAL: usize = 3;

impl<'a> Sources<'a> {
    /// The sources in `messages`, which stand before the message `before` and have these ordinals.
    pub(super) fn new(
        tracker: &'a Tracker,
        messages: &[Message],
        ordinals: &[Ordinal],
        before: Ordinal,
    ) -> Self {
        let weights = weigh_anchors(&tracker.pool, before, USUAL_BUDGET);
        let mut lines: HashMap<u32, Vec<usize>> = HashMap::new();
        let candidates = tracker.pool.candidates().iter().enumerate();
        for (index, line) in candidates.filter(|(_, line)| line.at < before) {
            for number in line.anchors {
                lines.entry(*number).or_default().push(index);
            }
        }
        let words = WordIndex::of(messages, ordinals);
        Self { tracker, before, weights, lines, asked: OnceCell::new(), wanted: OnceCell::new(), words }
    }

    /// Weight of what these lines name.
    pub(super) fn weight(&self, lines: &[String]) -> f64 {
        self.anchors(lines).iter().map(|number| f64::from(self.weights[*number as usize])).sum()
    }

    /// The message that said this, by what both name, or else by their words. The mark that the line came with holds if its
    /// message names any of it.
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
        let by_names = best.filter(|(_, weight)| *weight >= whole * ENOUGH);
        by_names.map(|(index, _)| candidates.get(index).at).or_else(|| self.words.source(&lines.join(" ")))
    }

    /// The message in which the user asked for what this says: one of theirs, or a plan that the work follows, is about it.
    /// None if nobody asked.
    pub(super) fn asked_in(&self, text: &str) -> Option<Ordinal> {
        let own = Subject::of(text);
        let is_about = |asked: &Subject| {
            let shared = own.shared(asked);
            own.stands_in(asked) || shared >= SHARED_WITH_GOAL && shared * 3 >= own.size()
        };
        let asked = self.asked();
        // Of several the newest is named.
        let found = asked.iter().rev().find(|(_, asked)| is_about(asked)).map(|(at, _)| *at);
        // A goal may put several requests together; what is wanted no more does not count then.
        found.or_else(|| {
            let wanted = self.wanted();
            let is_wanted = own.size() >= SHARED_WITH_GOAL && own.stands_in(wanted);
            let newest = || asked.iter().rev().find(|(_, asked)| own.shared(asked) > 0).map(|(at, _)| *at);
            is_wanted.then(newest).flatten()
        })
    }

    fn asked(&self) -> &[(Ordinal, Subject)] {
        self.asked.get_or_init(|| {
            let typed = self.tracker.words.texts(self.before).map(|(at, text)| (at, Subject::of(text)));
            let plan = self.tracker.ledger.plan_lines().into_iter().map(|line| {
                let at = line.marks.last().copied().unwrap_or(Ordinal(1));
                (at, Subject::of(without_state(&line.text)))
            });
            let mut asked: Vec<(Ordinal, Subject)> = typed.chain(plan).collect();
            asked.sort_by_key(|(at, _)| *at);
            asked
        })
    }

    fn wanted(&self) -> &Subject {
        self.wanted.get_or_init(|| {
            let requests = &self.tracker.requests;
            let goal = requests.goal().into_iter().map(|request| request.text.as_str());
            let open = requests.open_requests().map(|request| request.text.as_str());
            Subject::of(&goal.chain(open).collect::<Vec<_>>().join("\n"))
        })
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

impl WordIndex {
    fn of(messages: &[Message], ordinals: &[Ordinal]) -> Self {
        let mut index = Self { messages: Vec::new(), by_word: HashMap::new() };
        for (message, at) in messages.iter().zip(ordinals) {
            let mut words = BTreeSet::new();
            each_text(message, &mut |text| words.extend(Subject::of(text).keys()));
            let number = index.messages.len() as u32;
            for word in &words {
                index.by_word.entry(*word).or_default().push(number);
            }
            index.messages.push(IndexedMessage { at: *at, words: words.len() });
        }
        index
    }

    /// The message that has most of the words of a text, if it has enough of them.
    fn source(&self, text: &str) -> Option<Ordinal> {
        let words: BTreeSet<u64> = Subject::of(text).keys().collect();
        let mut shared: HashMap<u32, usize> = HashMap::new();
        for message in words.iter().filter_map(|word| self.by_word.get(word)).flatten() {
            *shared.entry(*message).or_default() += 1;
        }
        let is_enough = |message: &IndexedMessage, shared: usize| {
            let share = if message.words > LONG_MESSAGE { 5 } else { 4 };
            shared >= SHARED_WORDS && shared * 6 >= words.len() * share
        };
        let supporting = shared.into_iter().map(|(number, shared)| (&self.messages[number as usize], shared));
        let best = supporting
            .filter(|(message, shared)| is_enough(message, *shared))
            .max_by(|a, b| a.1.cmp(&b.1).then(b.0.words.cmp(&a.0.words)).then(b.0.at.cmp(&a.0.at)));
        best.map(|(message, _)| message.at)
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
