//! Commands that follow one another in the same order in several sessions.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_conversation::Ordinal;

use super::{MinedPattern, PatternEvidence, SkillCandidate, score};
use crate::commands::{is_common, normalise};
use crate::{DeedEnding, DeedPurpose, SessionDeed, SessionDigest};

const SHORTEST: usize = 2;
const LONGEST: usize = 8;

/// One command of a session.
struct RanCommand {
    command: String,
    mark: Ordinal,
    is_check: bool,
    /// The place in the session of what the user said last.
    asked: Option<usize>,
}

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let runs: Vec<Vec<RanCommand>> = sessions.iter().map(runs_of).collect();
    // Each run of commands with where it begins: session and place.
    let mut seen: BTreeMap<Vec<&str>, Vec<(usize, usize)>> = BTreeMap::new();
    for (session, runs) in runs.iter().enumerate() {
        for start in 0..runs.len() {
            for length in SHORTEST..=LONGEST.min(runs.len() - start) {
                let commands: Vec<&str> =
                    runs[start..start + length].iter().map(|run| run.command.as_str()).collect();
                seen.entry(commands).or_default().push((session, start));
            }
        }
    }
    let sessions_of =
        |places: &[(usize, usize)]| places.iter().map(|(session, _)| *session).collect::<BTreeSet<_>>();
    seen.retain(|commands, places| {
        let distinct: BTreeSet<&&str> = commands.iter().collect();
        let is_worth_it = commands.iter().any(|command| !is_common(command));
        sessions_of(places).len() >= super::FEWEST_SESSIONS && distinct.len() >= SHORTEST && is_worth_it
    });
    let all: Vec<(&Vec<&str>, BTreeSet<usize>)> =
        seen.iter().map(|(commands, places)| (commands, sessions_of(places))).collect();
    // A part of a longer run that was seen as widely tells nothing new; nor does a rotation of one that goes round.
    let is_part = |commands: &[&str], sessions: &BTreeSet<usize>| {
        all.iter().any(|(longer, seen)| {
            longer.len() > commands.len()
                && seen.is_superset(sessions)
                && longer.windows(commands.len()).any(|window| window == commands)
        })
    };
    let whole: Vec<&Vec<&str>> = all
        .iter()
        .filter(|(commands, seen)| !is_part(commands, seen))
        .map(|(commands, _)| *commands)
        .collect();
    let mut taken: Vec<BTreeSet<&str>> = Vec::new();
    let mut candidates = Vec::new();
    for commands in whole {
        let distinct: BTreeSet<&str> = commands.iter().copied().collect();
        if taken.contains(&distinct) {
            continue;
        }
        candidates.push(candidate(commands, &seen[commands], sessions, &runs));
        taken.push(distinct);
    }
    candidates
}

fn candidate(
    commands: &[&str],
    places: &[(usize, usize)],
    sessions: &[SessionDigest],
    runs: &[Vec<RanCommand>],
) -> SkillCandidate {
    let evidence: Vec<PatternEvidence> = places
        .iter()
        .map(|(session, start)| {
            let run = &runs[*session][*start..start + commands.len()];
            let mut marks: Vec<Ordinal> = run.iter().map(|run| run.mark).collect();
            marks.dedup();
            let asked = run[0].asked.and_then(|step| match &sessions[*session].steps[step].deed {
                SessionDeed::Said(words) => Some(words.clone()),
                _ => None,
            });
            PatternEvidence { session: sessions[*session].id.clone(), marks, asked }
        })
        .collect();
    let mut checks: Vec<String> = Vec::new();
    for (session, start) in places {
        for run in runs[*session][*start..start + commands.len()].iter().filter(|run| run.is_check) {
            if !checks.contains(&run.command) {
                checks.push(run.command.clone());
            }
        }
    }
    let weight = 5 * u32::try_from(commands.len()).unwrap_or(0) + if checks.is_empty() { 0 } else { 10 };
    let score = score(weight, &evidence);
    let commands = commands.iter().map(|command| command.to_string()).collect();
    SkillCandidate { finding: MinedPattern::Procedure { commands, checks }, evidence, score }
}

/// The commands of a session that did something and did not fail; the same one twice in a row counts once.
fn runs_of(session: &SessionDigest) -> Vec<RanCommand> {
    let mut runs: Vec<RanCommand> = Vec::new();
    let mut asked = None;
    for (place, step) in session.steps.iter().enumerate() {
        match &step.deed {
            SessionDeed::Said(_) => asked = Some(place),
            SessionDeed::Ran {
                command,
                purpose,
                ending: ending @ (DeedEnding::Passed | DeedEnding::Unclear),
                ..
            } if *purpose != DeedPurpose::Look => {
                let is_check = *purpose == DeedPurpose::Check && *ending == DeedEnding::Passed;
                for command in normalise(command) {
                    if runs.last().is_none_or(|last| last.command != command) {
                        runs.push(RanCommand { command, mark: step.mark, is_check, asked });
                    }
                }
            }
            _ => {}
        }
    }
    runs
}
