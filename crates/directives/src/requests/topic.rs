//! The topic of the present stretch of work: tells a follow-up from a request that opens a new stretch.

use std::sync::LazyLock;

use longhaul_text::{LazyPhrases, Subject, WordSet, Words, is_wide};
use serde::{Deserialize, Serialize};

use crate::languages::{patterns, substrings, words};
use crate::rules::Substrings;

/// What the requests and the answers of a stretch of work are about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Topic {
    /// Keys of content words, sorted, each once.
    keys: Vec<u64>,
}

/// A topic has no more keys than this; what is said later in a long stretch is about them, too.
const MOST_KEYS: usize = 600;

/// A request of fewer content words than this opens no stretch.
const FEWEST_WORDS: usize = 3;

/// A request of fewer content words than this opens one only if nearly all of them are new.
const FEW_WORDS: usize = 6;

/// Openings of a text that goes on with what was done: "also", "then", "still".
static FOLLOW_UPS: LazyPhrases = LazyLock::new(|| patterns("follow-ups"));
/// Words anywhere in it that refer to what was done: "your changes".
static REFERS_BACK: LazyPhrases = LazyLock::new(|| patterns("refers-back"));
static WIDE_FOLLOW_UPS: Substrings = LazyLock::new(|| substrings("follow-ups"));

/// Words that tell no topic: those of any talk, and those of any work, as "commit" and "push".
static TOPICLESS: WordSet = WordSet::new(|| words("topicless").collect());
static WIDE_TOPICLESS: Substrings = LazyLock::new(|| substrings("topicless"));

impl Topic {
    /// Adds what was said.
    pub(super) fn add(&mut self, keys: &[u64]) {
        let room = MOST_KEYS.saturating_sub(self.keys.len());
        if room == 0 || keys.is_empty() {
            return;
        }
        let new: Vec<u64> = keys.iter().copied().filter(|key| !self.has(*key)).take(room).collect();
        self.keys.extend(new);
        self.keys.sort_unstable();
        self.keys.dedup();
    }

    fn has(&self, key: u64) -> bool {
        self.keys.binary_search(&key).is_ok()
    }

    /// Returns true if a request is about something else.
    pub(super) fn is_left_by(&self, request: &RequestSubject) -> bool {
        let all = request.keys.len();
        let new = request.keys.iter().filter(|key| !self.has(**key)).count();
        // A follow-up says so, or names mostly what is known.
        let is_sure = request.size >= FEW_WORDS && !request.follows_up;
        let share = if is_sure { 60 } else { 90 };
        request.is_telling() && new * 100 >= all * share
    }
}

/// The subject of a request.
#[derive(Clone, Debug)]
pub(super) struct RequestSubject {
    pub(super) keys: Vec<u64>,
    /// The number of its content words; two pairs of Han count as one.
    size: usize,
    follows_up: bool,
}

impl RequestSubject {
    pub(super) fn of(text: &str) -> Self {
        let words = Words::of(text);
        // A cue of one character must open the text, a longer one may stand anywhere.
        let is_wide_cue = |cue: &&str| match cue.chars().nth(1) {
            Some(_) => text.contains(cue),
            None => text.trim_start().starts_with(cue),
        };
        let opens = |place: usize| place < words.len() && FOLLOW_UPS.fit_at(&words, place);
        let follows_up = (0..3).any(opens)
            || REFERS_BACK.fit(&words)
            || !text.is_ascii() && WIDE_FOLLOW_UPS.iter().any(is_wide_cue);
        let subject = Subject::of(&telling_words(text));
        Self { keys: subject.keys().collect(), size: subject.size(), follows_up }
    }

    /// Returns true if it says enough to be a goal.
    pub(super) fn is_telling(&self) -> bool {
        self.size >= FEWEST_WORDS
    }
}

/// A text without addresses and without words that tell no topic.
fn telling_words(text: &str) -> String {
    let is_telling = |word: &&str| !word.contains("://") && !TOPICLESS.has(&bare(word).to_lowercase());
    let mut telling = text.split_whitespace().filter(is_telling).collect::<Vec<_>>().join(" ");
    if telling.contains(is_wide) {
        for word in WIDE_TOPICLESS.iter() {
            telling = telling.replace(word, " ");
        }
    }
    telling
}

fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}
