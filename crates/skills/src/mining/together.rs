//! Files that are changed in the same sessions, and never one without the others.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_conversation::Ordinal;

use super::{MinedPattern, PatternEvidence, SkillCandidate, score};
use crate::portable::ProjectRoots;
use crate::{SessionDeed, SessionDigest};

/// The most files of a session that counts: more are changed for many reasons.
const MOST_FILES: usize = 40;

/// A group of more files is a part of the project rather than a habit.
const LARGEST_GROUP: usize = 6;

/// Two sessions may do the same by chance.
const FEWEST_SESSIONS: usize = 3;

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let changed: Vec<BTreeMap<String, Ordinal>> = sessions.iter().map(changes_of).collect();
    // Files with the same sessions belong together.
    let mut seen: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (session, files) in changed.iter().enumerate() {
        for file in files.keys() {
            seen.entry(file.as_str()).or_default().insert(session);
        }
    }
    let mut groups: BTreeMap<&BTreeSet<usize>, Vec<&str>> = BTreeMap::new();
    for (file, sessions) in &seen {
        groups.entry(sessions).or_default().push(file);
    }
    let is_habit = |(seen, files): &(&BTreeSet<usize>, Vec<&str>)| {
        let few = seen.iter().all(|session| changed[*session].len() <= MOST_FILES);
        seen.len() >= FEWEST_SESSIONS && (2..=LARGEST_GROUP).contains(&files.len()) && few
    };
    let candidate = |(seen, files): (&BTreeSet<usize>, Vec<&str>)| {
        let evidence: Vec<PatternEvidence> = seen
            .iter()
            .map(|session| {
                let mut marks: Vec<Ordinal> =
                    files.iter().filter_map(|file| changed[*session].get(*file).copied()).collect();
                marks.sort();
                marks.dedup();
                PatternEvidence { session: sessions[*session].id.clone(), marks, asked: None }
            })
            .collect();
        let score = score(0, &evidence);
        let files = files.into_iter().map(str::to_string).collect();
        SkillCandidate { finding: MinedPattern::Together { files }, evidence, score }
    };
    groups.into_iter().filter(is_habit).map(candidate).collect()
}

/// The files of the project that a session changed, each with where it did so first.
fn changes_of(session: &SessionDigest) -> BTreeMap<String, Ordinal> {
    let roots = ProjectRoots::of(session);
    let mut files = BTreeMap::new();
    for step in &session.steps {
        if let SessionDeed::Changed(path) = &step.deed
            && let Some(path) = roots.localise(path)
        {
            files.entry(path).or_insert(step.mark);
        }
    }
    files
}
