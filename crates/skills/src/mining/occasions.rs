//! The occasions of a procedure: what came before and after it, and what the user had asked for.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::MINING_WORDS;
use crate::{SessionDeed, SessionDigest};

/// The steps behind a procedure in which a commit still belongs to it.
const NEAR: usize = 40;

/// The most endings and words that are named.
const MOST_ENDINGS: usize = 3;
const MOST_WORDS: usize = 3;

/// The longest request that is quoted, in characters.
const LONGEST_QUOTE: usize = 80;

/// A word that more than one in so many other messages has does not tell one request from another.
const RARE: usize = 5;

/// An occasion on which a procedure was run, in at least two sessions and in most of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProcedureOccasion {
    /// Files were changed before.
    AfterChanges {
        /// The endings of their names, such as `.rs`, the most frequent first.
        endings: Vec<String>,
    },
    /// A commit followed.
    BeforeCommit,
    /// The user asked for it.
    Requested {
        /// The words that such requests share and others lack.
        words: Vec<String>,
        /// A short one of them, verbatim.
        example: Option<String>,
    },
}

/// One run of a procedure: its session, and places among the steps of that.
pub(super) struct PlacedRun {
    pub(super) session: usize,
    /// What the user said last before it.
    pub(super) asked: Option<usize>,
    pub(super) first: usize,
    pub(super) last: usize,
}

/// The occasions that the runs share. What checks is not asked for by name: its occasion is the work before it.
pub(super) fn find_occasions(
    sessions: &[SessionDigest],
    runs: &[PlacedRun],
    only_checks: bool,
) -> Vec<ProcedureOccasion> {
    let mut occasions = Vec::new();
    if !only_checks {
        occasions.extend(shared_request(sessions, runs));
    }
    occasions.extend(changes_before(sessions, runs));
    let all = sessions_of(runs.iter());
    let committed = sessions_of(runs.iter().filter(|run| is_committed(sessions, run)));
    if is_most(committed.len(), all.len()) {
        occasions.push(ProcedureOccasion::BeforeCommit);
    }
    occasions
}

fn sessions_of<'a>(runs: impl Iterator<Item = &'a PlacedRun>) -> BTreeSet<usize> {
    runs.map(|run| run.session).collect()
}

/// True for two sessions or more that are at least half of all.
fn is_most(some: usize, all: usize) -> bool {
    some >= super::FEWEST_SESSIONS && 2 * some >= all
}

fn changes_before(sessions: &[SessionDigest], runs: &[PlacedRun]) -> Option<ProcedureOccasion> {
    let mut endings: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    for run in runs {
        let since = run.asked.unwrap_or(0);
        for step in &sessions[run.session].steps[since.min(run.first)..run.first] {
            if let SessionDeed::Changed(path) = &step.deed {
                endings.entry(run.session).or_default().extend(ending(path));
            }
        }
    }
    if !is_most(endings.len(), sessions_of(runs.iter()).len()) {
        return None;
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for ending in endings.values().flatten() {
        *counts.entry(ending).or_default() += 1;
    }
    let mut shared: Vec<(&str, usize)> =
        counts.into_iter().filter(|(_, count)| is_most(*count, endings.len())).collect();
    shared.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    let endings = shared.into_iter().take(MOST_ENDINGS).map(|(ending, _)| ending.to_string()).collect();
    Some(ProcedureOccasion::AfterChanges { endings })
}

/// The ending of a file's name, with its dot. Notes and plans are written besides any work.
fn ending(path: &str) -> Option<String> {
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.')?;
    let is_plain =
        !stem.is_empty() && ending.len() <= 8 && ending.chars().all(|letter| letter.is_ascii_alphanumeric());
    (is_plain && !matches!(ending, "md" | "txt" | "lock")).then(|| format!(".{ending}"))
}

fn is_committed(sessions: &[SessionDigest], run: &PlacedRun) -> bool {
    sessions[run.session].steps[run.last..].iter().take(NEAR).any(|step| match &step.deed {
        SessionDeed::Ran { command, .. } => {
            let mut words = command.split_whitespace().skip_while(|word| *word != "git");
            words.next().is_some() && words.take(4).any(|word| word == "commit")
        }
        _ => false,
    })
}

fn shared_request(sessions: &[SessionDigest], runs: &[PlacedRun]) -> Option<ProcedureOccasion> {
    let mut places: BTreeSet<(usize, usize)> = BTreeSet::new();
    places.extend(runs.iter().filter_map(|run| Some((run.session, run.asked?))));
    let mut asked: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let (mut requests, mut others) = (Vec::new(), Vec::new());
    for (session, digest) in sessions.iter().enumerate() {
        for (place, step) in digest.steps.iter().enumerate() {
            let SessionDeed::Said(text) = &step.deed else { continue };
            let words = telling_words(text);
            match places.contains(&(session, place)) {
                true => {
                    asked.entry(session).or_default().extend(words);
                    requests.push(text);
                }
                false => others.push(words),
            }
        }
    }
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for word in asked.values().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    let is_rare =
        |word: &str| RARE * others.iter().filter(|words| words.contains(word)).count() <= others.len();
    let mut shared: Vec<(&str, usize)> = counts
        .into_iter()
        .filter(|(word, count)| is_most(*count, sessions_of(runs.iter()).len()) && is_rare(word))
        .collect();
    shared.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
    let words: Vec<String> = shared.into_iter().take(MOST_WORDS).map(|(word, _)| word.to_string()).collect();
    if words.is_empty() {
        return None;
    }
    let said = |text: &str| words.iter().filter(|word| telling_words(text).contains(*word)).count();
    let short = requests.into_iter().filter(|text| is_quotable(text) && said(text) > 0);
    let example =
        short.min_by_key(|text| (std::cmp::Reverse(said(text)), text.chars().count(), text.to_string()));
    let example = example.map(|text| text.trim().to_string());
    Some(ProcedureOccasion::Requested { words, example })
}

/// The words of a request that say what it is about.
fn telling_words(text: &str) -> BTreeSet<String> {
    let text = text.to_lowercase();
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '-');
    let is_telling = |word: &&str| {
        word.chars().count() > 2
            && word.chars().all(|letter| letter.is_alphabetic() || letter == '-')
            && !MINING_WORDS.request_fillers.contains(word)
    };
    words.filter(is_telling).map(str::to_string).collect()
}

/// True if a request stands for others like it: it is short, and names no place and nothing secret.
fn is_quotable(text: &str) -> bool {
    let text = text.trim();
    let is_plain = |word: &str| !word.contains(['/', '\\', '<', '>', '[', '{', '“', '”', '"', '`', '@', '#']);
    text.chars().count() <= LONGEST_QUOTE && text.lines().count() == 1 && text.split(' ').all(is_plain)
}
