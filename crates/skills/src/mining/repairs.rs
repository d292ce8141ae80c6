//! Commands that fail, and pass after the same thing was done, in several sessions.

use std::collections::BTreeMap;

use longhaul_conversation::Ordinal;

use super::{MinedPattern, PatternEvidence, SkillCandidate, score};
use crate::commands::normalise;
use crate::portable::ProjectRoots;
use crate::{DeedEnding, SessionDeed, SessionDigest};

/// A command that passes only after so many other things was not repaired by any one of them.
const MOST_REMEDIES: usize = 6;

/// The remedy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// Running this.
    Command(String),
    /// Changing this file.
    File(String),
}

/// A command that failed and has not passed since.
struct OpenFailure {
    command: String,
    mark: Ordinal,
    error: Option<String>,
    remedies: Vec<(Remedy, Ordinal)>,
}

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let mut found: BTreeMap<(String, Remedy), (Option<String>, Vec<PatternEvidence>)> = BTreeMap::new();
    for session in sessions {
        for (open, passed) in repaired(session) {
            // Where a file was changed, that may have helped as well as any command.
            let is_changed = open.remedies.iter().any(|(remedy, _)| matches!(remedy, Remedy::File(_)));
            let is_clear = |(remedy, _): &(Remedy, Ordinal)| !is_changed || matches!(remedy, Remedy::File(_));
            for (remedy, mark) in open.remedies.into_iter().filter(is_clear) {
                let entry = found.entry((open.command.clone(), remedy)).or_default();
                entry.0 = open.error.clone().or(entry.0.take());
                let marks = vec![open.mark, mark, passed];
                entry.1.push(PatternEvidence { session: session.id.clone(), marks, asked: None });
            }
        }
    }
    let candidate = |((command, remedy), (symptom, evidence)): (
        (String, Remedy),
        (Option<String>, Vec<PatternEvidence>),
    )| {
        // A command that helps is worth more than a file in which the fault may just have been.
        let weight = if matches!(remedy, Remedy::Command(_)) { 15 } else { 5 };
        let score = score(weight, &evidence);
        SkillCandidate { finding: MinedPattern::Repair { command, symptom, remedy }, evidence, score }
    };
    found.into_iter().map(candidate).collect()
}

/// The failures of a session that were repaired, each with the message in which the command passed.
fn repaired(session: &SessionDigest) -> Vec<(OpenFailure, Ordinal)> {
    let mut open: Vec<OpenFailure> = Vec::new();
    let mut repaired = Vec::new();
    let roots = ProjectRoots::of(session);
    for step in &session.steps {
        match &step.deed {
            SessionDeed::Said(_) => {}
            SessionDeed::Changed(path) => {
                let path = roots.localise(path).unwrap_or_else(|| path.clone());
                note(&mut open, &Remedy::File(path), step.mark);
            }
            SessionDeed::Ran { command, ending, error, .. } => {
                for command in normalise(command, &roots) {
                    let place = open.iter().position(|open| open.command == command);
                    match (ending, place) {
                        (DeedEnding::Failed, None) => {
                            let error = error.clone();
                            open.push(OpenFailure { command, mark: step.mark, error, remedies: Vec::new() });
                        }
                        (DeedEnding::Failed, Some(place)) => {
                            // What was done so far did not help.
                            open[place].remedies.clear();
                        }
                        (DeedEnding::Passed, Some(place)) => {
                            let open = open.swap_remove(place);
                            if (1..=MOST_REMEDIES).contains(&open.remedies.len()) {
                                repaired.push((open, step.mark));
                            }
                        }
                        (DeedEnding::Passed, None) => note(&mut open, &Remedy::Command(command), step.mark),
                        (DeedEnding::Unclear, _) => {}
                    }
                }
            }
        }
    }
    repaired
}

fn note(open: &mut [OpenFailure], remedy: &Remedy, mark: Ordinal) {
    for open in open {
        if !open.remedies.iter().any(|(known, _)| known == remedy) {
            open.remedies.push((remedy.clone(), mark));
        }
    }
}
