//! Finds in past sessions what happens again and again, without a model: procedures, failures with their fixes, corrections, and
//! files that are changed together. Each finding says where it was seen.

mod corrections;
mod occasions;
mod repairs;
mod sequences;
mod together;

use std::collections::BTreeSet;

use longhaul_conversation::Ordinal;

use crate::SessionDigest;
use crate::digest::without_copies;

pub use occasions::ProcedureOccasion;
pub use repairs::Remedy;

/// No finding counts that was seen in fewer sessions.
pub(crate) const FEWEST_SESSIONS: usize = 2;

/// Something that happens again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillCandidate {
    /// The finding.
    pub finding: MinedPattern,
    /// The evidence, the first time first.
    pub evidence: Vec<PatternEvidence>,
    /// The score by which candidates are compared.
    pub score: u32,
}

/// A recurring pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MinedPattern {
    /// These commands, one after the other.
    Procedure {
        /// The commands.
        commands: Vec<String>,
        /// Those among them that show whether all is well, and passed.
        checks: Vec<String>,
        /// The occasions on which they were run, the most telling first.
        occasions: Vec<ProcedureOccasion>,
    },
    /// This command fails, something is done, and it passes.
    Repair {
        /// The command.
        command: String,
        /// The symptom, where somebody named it.
        symptom: Option<String>,
        /// The remedy.
        remedy: Remedy,
    },
    /// The user says the same in several sessions.
    Correction {
        /// The newest wording.
        words: String,
    },
    /// Whenever one of these files is changed, so are the others.
    Together {
        /// The files.
        files: Vec<String>,
    },
}

/// The evidence of a finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternEvidence {
    /// The session.
    pub session: String,
    /// The messages, in order.
    pub marks: Vec<Ordinal>,
    /// The user's request there, as far as that is known.
    pub asked: Option<String>,
}

impl SkillCandidate {
    /// In how many sessions it was seen.
    pub fn sessions(&self) -> usize {
        self.evidence.iter().map(|evidence| evidence.session.as_str()).collect::<BTreeSet<_>>().len()
    }

    /// The number of times that it was seen.
    pub fn times(&self) -> usize {
        self.evidence.len()
    }
}

impl MinedPattern {
    /// Its kind, in a word.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Procedure { .. } => "procedure",
            Self::Repair { .. } => "repair",
            Self::Correction { .. } => "correction",
            Self::Together { .. } => "together",
        }
    }

    /// It in a line.
    pub fn title(&self) -> String {
        match self {
            Self::Procedure { commands, .. } => commands.join(" → "),
            Self::Repair { command, remedy, .. } => match remedy {
                Remedy::Command(remedy) => format!("{command} fails; {remedy}; {command} passes"),
                Remedy::File(path) => format!("{command} fails; {path} is changed; {command} passes"),
            },
            Self::Correction { words } => words.clone(),
            Self::Together { files } => files.join(", "),
        }
    }
}

/// Finds everything, the most promising first. Secrets are taken out before anything is looked at. The same sessions give the
/// same findings.
pub fn mine(sessions: &[SessionDigest]) -> Vec<SkillCandidate> {
    let sessions: Vec<SessionDigest> =
        without_copies(sessions).iter().map(SessionDigest::without_secrets).collect();
    let mut found = sequences::find(&sessions);
    found.extend(repairs::find(&sessions));
    found.extend(corrections::find(&sessions));
    found.extend(together::find(&sessions));
    found.retain(|candidate| candidate.sessions() >= FEWEST_SESSIONS);
    found.sort_by(|one, other| {
        other.score.cmp(&one.score).then_with(|| one.finding.title().cmp(&other.finding.title()))
    });
    found
}

/// The score of a finding: sessions count more than repetitions in one of them.
fn score(weight: u32, evidence: &[PatternEvidence]) -> u32 {
    let sessions: BTreeSet<&str> = evidence.iter().map(|evidence| evidence.session.as_str()).collect();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    weight
        .saturating_add(count(sessions.len()).saturating_mul(10))
        .saturating_add(count(evidence.len() - sessions.len()).min(10))
}

#[cfg(test)]
pub(crate) mod trial {
    //! Sessions in a few words, for tests.

    use longhaul_conversation::Ordinal;

    use crate::{DeedEnding, DeedPurpose, DigestStep, SessionDeed, SessionDigest};

    /// A session of lines: `> words` were said, `$ command` passed, `! command` failed, `~ path` was changed. Test and check
    /// commands are known by the words test, check and lint.
    pub(crate) fn session(id: &str, lines: &[&str]) -> SessionDigest {
        let step = |(number, line): (usize, &&str)| {
            let (kind, text) = line.split_once(' ').expect("a kind and a text");
            let ran = |ending, error: Option<&str>| {
                let is_check = ["test", "check", "lint"].iter().any(|word| text.contains(word));
                let purpose = if is_check { DeedPurpose::Check } else { DeedPurpose::Work };
                SessionDeed::Ran { command: text.into(), purpose, ending, error: error.map(str::to_string) }
            };
            let deed = match kind {
                ">" => SessionDeed::Said(text.into()),
                "$" => ran(DeedEnding::Passed, None),
                "!" => ran(DeedEnding::Failed, Some("error: it broke")),
                "~" => SessionDeed::Changed(text.into()),
                other => panic!("{other:?} is no kind"),
            };
            DigestStep { mark: Ordinal(u32::try_from(number).expect("few") + 1), at: None, deed }
        };
        let steps = lines.iter().enumerate().map(step).collect();
        SessionDigest { id: id.into(), steps, ..SessionDigest::default() }
    }
}

#[cfg(test)]
mod tests;
