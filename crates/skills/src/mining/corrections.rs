//! Corrections that users make more than once.

use std::collections::BTreeSet;

use super::{MinedPattern, PatternEvidence, SkillCandidate, score};
use crate::data::MINING_WORDS;
use crate::{SessionDeed, SessionDigest};

/// Longer messages are tasks rather than corrections.
const LONGEST: usize = 400;

/// Two corrections are alike if they share so many of their words, in hundredths.
const ALIKE: usize = 50;

/// And at least this many.
const FEWEST_WORDS: usize = 2;

/// Corrections that are alike.
struct CorrectionGroup {
    /// The telling words of the first.
    words: BTreeSet<String>,
    /// The evidence and the words of each.
    seen: Vec<(PatternEvidence, String)>,
}

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let mut groups: Vec<CorrectionGroup> = Vec::new();
    for session in sessions {
        for step in &session.steps {
            let SessionDeed::Said(text) = &step.deed else { continue };
            let Some(words) = words_of_correction(text) else { continue };
            let evidence =
                PatternEvidence { session: session.id.clone(), marks: vec![step.mark], asked: None };
            match groups.iter_mut().find(|group| is_alike(&group.words, &words)) {
                Some(group) => group.seen.push((evidence, text.clone())),
                None => groups.push(CorrectionGroup { words, seen: vec![(evidence, text.clone())] }),
            }
        }
    }
    let candidate = |CorrectionGroup { seen, .. }: CorrectionGroup| {
        let words = seen.last().map(|(_, words)| words.trim().to_string()).unwrap_or_default();
        let evidence: Vec<PatternEvidence> = seen.into_iter().map(|(evidence, _)| evidence).collect();
        let score = score(20, &evidence);
        SkillCandidate { finding: MinedPattern::Correction { words }, evidence, score }
    };
    groups.into_iter().map(candidate).collect()
}

/// The telling words of a correction; nothing if it is none.
fn words_of_correction(text: &str) -> Option<BTreeSet<String>> {
    let text = text.trim().to_lowercase().replace('’', "'");
    let is_correction = MINING_WORDS.correction_starts.iter().any(|start| text.starts_with(start))
        || MINING_WORDS.corrections.iter().any(|words| text.contains(words));
    if !is_correction || text.chars().count() > LONGEST {
        return None;
    }
    let words: BTreeSet<String> = text
        .split(|letter: char| !(letter.is_alphanumeric() || "'_-./".contains(letter)))
        .map(|word| word.trim_matches(|letter: char| "'-./".contains(letter)).to_string())
        .filter(|word| word.chars().count() > 2 && !MINING_WORDS.correction_fillers.contains(&word.as_str()))
        .collect();
    (words.len() >= FEWEST_WORDS).then_some(words)
}

fn is_alike(one: &BTreeSet<String>, other: &BTreeSet<String>) -> bool {
    let shared = one.intersection(other).count();
    shared >= FEWEST_WORDS && shared * 100 >= one.union(other).count() * ALIKE
}
