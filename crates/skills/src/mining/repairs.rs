//! Commands that fail, and pass after the same thing was done, in several sessions.

use std::collections::BTreeMap;

use longhaul_conversation::Ordinal;

use super::{Candidate, Evidence, Finding, score};
use crate::commands::normalise;
use crate::{Deed, Ending, SessionDigest};

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

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<Candidate> {
    let mut found: BTreeMap<(String, Remedy), (Option<String>, Vec<Evidence>)> = BTreeMap::new();
    for session in sessions {
        for (open, passed) in repaired(session) {
            for (remedy, mark) in open.remedies {
                let entry = found.entry((open.command.clone(), remedy)).or_default();
                entry.0 = open.error.clone().or(entry.0.take());
                let marks = vec![open.mark, mark, passed];
                entry.1.push(Evidence { session: session.id.clone(), marks, asked: None });
            }
        }
    }
    let candidate =
        |((command, remedy), (symptom, evidence)): ((String, Remedy), (Option<String>, Vec<Evidence>))| {
            // A command that helps is worth more than a file in which the fault may just have been.
            let weight = if matches!(remedy, Remedy::Command(_)) { 15 } else { 5 };
            let score = score(weight, &evidence);
            Candidate { finding: Finding::Repair { command, symptom, remedy }, evidence, score }
        };
    found.into_iter().map(candidate).collect()
}

/// The failures of a session that were repaired, each with the message in which the command passed.
fn repaired(session: &SessionDigest) -> Vec<(OpenFailure, Ordinal)> {
    let mut open: Vec<OpenFailure> = Vec::new();
    let mut repaired = Vec::new();
    for step in &session.steps {
        match &step.deed {
            Deed::Said(_) => {}
            Deed::Changed(path) => note(&mut open, &Remedy::File(path.clone()), step.mark),
            Deed::Ran { command, ending, error, .. } => {
                for command in normalise(command) {
                    let place = open.iter().position(|open| open.command == command);
                    match (ending, place) {
                        (Ending::Failed, None) => {
                            let error = error.clone();
                            open.push(OpenFailure { command, mark: step.mark, error, remedies: Vec::new() });
                        }
                        (Ending::Failed, Some(place)) => {
                            // What was done so far did not help.
                            open[place].remedies.clear();
                        }
                        (Ending::Passed, Some(place)) => {
                            let open = open.swap_remove(place);
                            if (1..=MOST_REMEDIES).contains(&open.remedies.len()) {
                                repaired.push((open, step.mark));
                            }
                        }
                        (Ending::Passed, None) => note(&mut open, &Remedy::Command(command), step.mark),
                        (Ending::Unclear, _) => {}
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
