//! Procedures: commands that follow one another in the same order in several sessions. Each is found once, as long as it gets.

use std::collections::{BTreeMap, BTreeSet};

use longhaul_conversation::Ordinal;

use super::occasions::{PlacedRun, find_occasions};
use super::{MinedPattern, PatternEvidence, SkillCandidate, score};
use crate::commands::{is_common, normalise};
use crate::portable::ProjectRoots;
use crate::{DeedEnding, DeedPurpose, SessionDeed, SessionDigest};

const SHORTEST: usize = 2;
const LONGEST: usize = 8;

/// Commands further apart than so many messages belong to different work.
const WIDEST_GAP: u32 = 20;

/// One command of a session that did something and did not fail.
struct RanCommand {
    command: String,
    mark: Ordinal,
    /// The place in the session's steps.
    place: usize,
    is_check: bool,
    is_passed: bool,
    /// The place in the session of what the user said last.
    asked: Option<usize>,
}

/// Commands of one session that were run one after the other.
struct Stretch {
    session: usize,
    runs: Vec<RanCommand>,
}

pub(super) fn find(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let stretches = shared_stretches(sessions);
    let orders = Orders::of(&stretches);
    let mut starts: Vec<(Vec<&str>, BTreeSet<usize>)> = repeated_runs(&stretches).into_iter().collect();
    let weight = |commands: &[&str], seen: &BTreeSet<usize>| 10 * seen.len() + 5 * commands.len();
    starts.sort_by(|(one, seen), (other, others)| {
        weight(other, others).cmp(&weight(one, seen)).then_with(|| one.cmp(other))
    });
    let checks: BTreeSet<&str> =
        runs(&stretches).filter(|(_, run)| run.is_check).map(|(_, run)| run.command.as_str()).collect();
    let mut taken: Vec<Vec<&str>> = Vec::new();
    let mut candidates = Vec::new();
    for (start, _) in starts {
        let commands = without_commits(grow(without_commits(start, &checks), &stretches, &orders), &checks);
        // What is mostly part of a procedure that was found is that one again, in pieces or in another order.
        let is_told = |known: &Vec<&str>| {
            2 * commands.iter().filter(|command| known.contains(command)).count() >= commands.len()
        };
        if commands.len() < SHORTEST || taken.iter().any(is_told) {
            continue;
        }
        candidates.extend(candidate(&commands, &stretches, sessions));
        taken.push(commands);
    }
    candidates
}

fn runs(stretches: &[Stretch]) -> impl Iterator<Item = (usize, &RanCommand)> {
    stretches.iter().flat_map(|stretch| stretch.runs.iter().map(|run| (stretch.session, run)))
}

/// The commands that more than one session ran, in stretches of work. What only one of them ran stands in nobody's way.
fn shared_stretches(sessions: &[SessionDigest]) -> Vec<Stretch> {
    let all: Vec<Vec<RanCommand>> = sessions.iter().map(runs_of).collect();
    let mut seen: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (session, runs) in all.iter().enumerate() {
        for run in runs {
            seen.entry(run.command.clone()).or_default().insert(session);
        }
    }
    let mut stretches: Vec<Stretch> = Vec::new();
    for (session, runs) in all.into_iter().enumerate() {
        let mut last: Option<Ordinal> = None;
        for run in runs.into_iter().filter(|run| seen[&run.command].len() >= super::FEWEST_SESSIONS) {
            let is_far = last.is_none_or(|last| run.mark.0.saturating_sub(last.0) > WIDEST_GAP);
            last = Some(run.mark);
            match stretches.last_mut() {
                // The same command twice in a row counts once.
                Some(stretch) if !is_far => {
                    if stretch.runs.last().is_none_or(|last| last.command != run.command) {
                        stretch.runs.push(run);
                    }
                }
                _ => stretches.push(Stretch { session, runs: vec![run] }),
            }
        }
    }
    stretches
}

/// Runs of commands without a repetition that several sessions have, with the sessions.
fn repeated_runs(stretches: &[Stretch]) -> BTreeMap<Vec<&str>, BTreeSet<usize>> {
    let mut seen: BTreeMap<Vec<&str>, BTreeSet<usize>> = BTreeMap::new();
    for Stretch { session, runs } in stretches {
        for start in 0..runs.len() {
            let mut commands: Vec<&str> = Vec::new();
            for run in runs[start..].iter().take(LONGEST) {
                if commands.contains(&run.command.as_str()) {
                    break;
                }
                commands.push(&run.command);
                if commands.len() >= SHORTEST {
                    seen.entry(commands.clone()).or_default().insert(*session);
                }
            }
        }
    }
    seen.retain(|commands, sessions| {
        sessions.len() >= super::FEWEST_SESSIONS && commands.iter().any(|command| !is_common(command))
    });
    seen
}

/// The sessions in which one command came before another in the same stretch.
struct Orders<'a>(BTreeMap<(&'a str, &'a str), BTreeSet<usize>>);

impl<'a> Orders<'a> {
    fn of(stretches: &'a [Stretch]) -> Self {
        let mut orders: BTreeMap<(&str, &str), BTreeSet<usize>> = BTreeMap::new();
        for Stretch { session, runs } in stretches {
            for (place, later) in runs.iter().enumerate() {
                for earlier in &runs[..place] {
                    orders.entry((&earlier.command, &later.command)).or_default().insert(*session);
                }
            }
        }
        Self(orders)
    }

    /// In how many sessions they came in this order.
    fn sessions(&self, earlier: &'a str, later: &'a str) -> usize {
        self.0.get(&(earlier, later)).map_or(0, BTreeSet::len)
    }
}

/// The longest procedure that begins with this run: a command is added where several sessions ran it before or after its
/// neighbours, as long as some stretch of work has all of it in this order.
fn grow<'a>(mut commands: Vec<&'a str>, stretches: &'a [Stretch], orders: &Orders<'a>) -> Vec<&'a str> {
    let known: BTreeSet<&str> = runs(stretches).map(|(_, run)| run.command.as_str()).collect();
    while (SHORTEST..LONGEST).contains(&commands.len()) {
        // In the more sessions all of it is seen, the surer is its order.
        let mut best: Option<((usize, usize), Vec<&str>)> = None;
        for added in known.iter().filter(|added| !commands.contains(added) && !is_common(added)) {
            for place in 0..=commands.len() {
                let before = place.checked_sub(1).map(|before| orders.sessions(commands[before], added));
                let after = commands.get(place).map(|after| orders.sessions(added, after));
                let support = before.into_iter().chain(after).min().unwrap_or(0);
                if support < super::FEWEST_SESSIONS {
                    continue;
                }
                let mut longer = commands.clone();
                longer.insert(place, added);
                let whole = stretches.iter().filter(|stretch| has_in_order(stretch, &longer));
                let whole = whole.map(|stretch| stretch.session).collect::<BTreeSet<_>>().len();
                if whole > 0 && best.as_ref().is_none_or(|(best, _)| (whole, support) > *best) {
                    best = Some(((whole, support), longer));
                }
            }
        }
        match best {
            Some((_, longer)) => commands = longer,
            None => break,
        }
    }
    commands
}

fn has_in_order(stretch: &Stretch, commands: &[&str]) -> bool {
    let mut left = commands.iter();
    let mut wanted = left.next();
    for run in &stretch.runs {
        if wanted.is_some_and(|wanted| *wanted == run.command) {
            wanted = left.next();
        }
    }
    wanted.is_none()
}

/// A procedure that only checks is over before the commit that follows; whether to commit is for the user to say.
fn without_commits<'a>(mut commands: Vec<&'a str>, checks: &BTreeSet<&str>) -> Vec<&'a str> {
    if commands.iter().all(|command| is_common(command) || checks.contains(command)) {
        commands.retain(|command| !is_common(command));
    }
    commands
}

fn candidate(commands: &[&str], stretches: &[Stretch], sessions: &[SessionDigest]) -> Option<SkillCandidate> {
    let found: Vec<(usize, Vec<&RanCommand>)> =
        stretches.iter().flat_map(|stretch| occurrences(stretch, commands)).collect();
    let said = |session: usize, place: usize| match &sessions[session].steps[place].deed {
        SessionDeed::Said(words) => Some(words.clone()),
        _ => None,
    };
    let evidence: Vec<PatternEvidence> = found
        .iter()
        .map(|(session, runs)| {
            let mut marks: Vec<Ordinal> = runs.iter().map(|run| run.mark).collect();
            marks.dedup();
            let asked = runs[0].asked.and_then(|place| said(*session, place));
            PatternEvidence { session: sessions[*session].id.clone(), marks, asked }
        })
        .collect();
    if evidence.is_empty() {
        return None;
    }
    let is_check = |command: &&str| {
        found
            .iter()
            .flat_map(|(_, runs)| runs)
            .any(|run| run.command == **command && run.is_check && run.is_passed)
    };
    let checks: Vec<String> = commands.iter().copied().filter(is_check).map(str::to_string).collect();
    let placed: Vec<PlacedRun> = found
        .iter()
        .map(|(session, runs)| PlacedRun {
            session: *session,
            asked: runs[0].asked,
            first: runs[0].place,
            last: runs[runs.len() - 1].place,
        })
        .collect();
    let only_checks = commands
        .iter()
        .all(|command| runs(stretches).any(|(_, run)| run.command == *command && run.is_check));
    let occasions = find_occasions(sessions, &placed, only_checks);
    let weight = 5 * u32::try_from(commands.len()).unwrap_or(0) + if checks.is_empty() { 0 } else { 10 };
    let score = score(weight, &evidence);
    let commands = commands.iter().map(|command| command.to_string()).collect();
    Some(SkillCandidate { finding: MinedPattern::Procedure { commands, checks, occasions }, evidence, score })
}

/// Where a stretch has most of a procedure in its order, each time.
fn occurrences<'a>(stretch: &'a Stretch, commands: &[&str]) -> Vec<(usize, Vec<&'a RanCommand>)> {
    let fewest = SHORTEST.max(commands.len().div_ceil(2));
    let mut found: Vec<Vec<&RanCommand>> = vec![Vec::new()];
    let mut next = 0;
    for run in &stretch.runs {
        let Some(place) = commands.iter().position(|command| *command == run.command) else { continue };
        if place < next {
            found.push(Vec::new());
        }
        next = place + 1;
        if let Some(open) = found.last_mut() {
            open.push(run);
        }
    }
    found.into_iter().filter(|runs| runs.len() >= fewest).map(|runs| (stretch.session, runs)).collect()
}

/// The commands of a session that did something and did not fail.
fn runs_of(session: &SessionDigest) -> Vec<RanCommand> {
    let roots = ProjectRoots::of(session);
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
                let (is_check, is_passed) = (*purpose == DeedPurpose::Check, *ending == DeedEnding::Passed);
                for command in normalise(command, &roots) {
                    runs.push(RanCommand { command, mark: step.mark, place, is_check, is_passed, asked });
                }
            }
            _ => {}
        }
    }
    runs
}
