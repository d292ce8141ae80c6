//! The figures of an evaluation, and their means.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_conversation::TokenCount;

use crate::junk::JunkKind;
use crate::score::KeptShare;
use crate::session::Class;

/// A measured share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Needed names that are still there.
    Recall,
    /// Needed names that are still there among words that surrounded them.
    Grounded,
    /// Needed paths that are still there.
    Paths,
    /// Needed names that the model used before anything showed them again.
    Remembered,
    /// Sentences of the user kept verbatim.
    Sentences,
    /// Rules of the user kept verbatim.
    Rules,
    /// Planted rules kept verbatim.
    Planted,
    /// Planted rules without a cue word kept verbatim.
    PlantedUncued,
    /// Expected answers that are still there.
    Answers,
    /// [`Measure::Recall`] after a chain of compactions with access to the session's log.
    LogRecall,
    /// [`Measure::Grounded`] after such a chain.
    LogGrounded,
    /// [`Measure::Sentences`] after such a chain.
    LogSentences,
    /// [`Measure::Rules`] after such a chain.
    LogRules,
    /// [`Measure::Planted`] after such a chain.
    LogPlanted,
    /// [`Measure::Recall`] after a chain in which each compaction only had the result of the one before.
    FilesRecall,
    /// [`Measure::Grounded`] after such a chain.
    FilesGrounded,
    /// [`Measure::Sentences`] after such a chain.
    FilesSentences,
    /// [`Measure::Rules`] after such a chain.
    FilesRules,
    /// [`Measure::Planted`] after such a chain.
    FilesPlanted,
    /// [`Measure::Recall`] where less than 20,000 tokens were compacted.
    RecallShort,
    /// [`Measure::Recall`] where 20,000 to 80,000 tokens were compacted.
    RecallMedium,
    /// [`Measure::Recall`] where more than 80,000 tokens were compacted.
    RecallLong,
    /// [`Measure::Recall`] of names last touched in the first quarter of what was compacted.
    RecallFirst,
    /// [`Measure::Recall`] of names last touched in the second quarter.
    RecallSecond,
    /// [`Measure::Recall`] of names last touched in the third quarter.
    RecallThird,
    /// [`Measure::Recall`] of names last touched in the last quarter.
    RecallFourth,
    /// Names in the first snapshot of a chain with access to the log that the last conversation still has.
    LogKept,
    /// The same for those of them that the rest of the session needed.
    LogKeptNeeded,
    /// [`Measure::LogKept`] of a chain in which each compaction only had the result of the one before.
    FilesKept,
    /// [`Measure::LogKeptNeeded`] of such a chain.
    FilesKeptNeeded,
    /// What the method claims as [`Measure::Recall`], by the weight of names.
    ClaimedByWeight,
    /// The same by their number.
    ClaimedByCount,
    /// Lines of the snapshot that no reader can use; less is better.
    Junk,
    /// Lines that echo a call.
    JunkEcho,
    /// Lines of boilerplate.
    JunkBoilerplate,
    /// Lines of listings.
    JunkListing,
    /// Lines of code with line numbers.
    JunkNumberedCode,
    /// Lines with a bracket that has no counterpart.
    JunkUnbalanced,
}

/// The defects of a method over all its compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// Faults in the pairing of calls and results.
    pub pairing: usize,
    /// Conversations that do not start with the user.
    pub bad_starts: usize,
    /// Results that added more than the budget.
    pub over_budget: usize,
    /// Results that do not end with the unchanged tail.
    pub changed_tails: usize,
}

/// The figures of one method.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The measured shares.
    pub shares: BTreeMap<Measure, f64>,
    /// The number of sessions behind each share.
    pub sessions: BTreeMap<Measure, usize>,
    /// The defects.
    pub defects: Defects,
    /// The mean number of tokens added besides the tail.
    pub added: f64,
    /// The mean number of distinct names in what was added.
    pub names: f64,
    /// The mean time of one compaction, including reading its messages.
    pub time: Duration,
}

/// The figures of one method on one session with one budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The method's name.
    pub method: String,
    /// The budget.
    pub budget: TokenCount,
    /// The figures.
    pub figures: Figures,
}

/// All figures of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionReport {
    /// The session's name.
    pub name: String,
    /// Its size.
    pub tokens: TokenCount,
    /// The session's class.
    pub class: Class,
    /// The number of needed names at each cut point.
    pub needed: Vec<usize>,
    /// The share of file reads that brought nothing new.
    pub rereads: KeptShare,
    /// One cell for each method and budget.
    pub cells: Vec<Cell>,
}

/// Means over sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct EvalSummary {
    /// The number of sessions.
    pub sessions: usize,
    /// One cell for each method and budget.
    pub cells: Vec<Cell>,
}

impl Measure {
    /// All measures in order.
    pub(crate) const ALL: [Self; 38] = [
        Self::Recall,
        Self::Grounded,
        Self::Paths,
        Self::Remembered,
        Self::Sentences,
        Self::Rules,
        Self::Planted,
        Self::PlantedUncued,
        Self::Answers,
        Self::LogRecall,
        Self::LogGrounded,
        Self::LogSentences,
        Self::LogRules,
        Self::LogPlanted,
        Self::FilesRecall,
        Self::FilesGrounded,
        Self::FilesSentences,
        Self::FilesRules,
        Self::FilesPlanted,
        Self::RecallShort,
        Self::RecallMedium,
        Self::RecallLong,
        Self::RecallFirst,
        Self::RecallSecond,
        Self::RecallThird,
        Self::RecallFourth,
        Self::LogKept,
        Self::LogKeptNeeded,
        Self::FilesKept,
        Self::FilesKeptNeeded,
        Self::ClaimedByWeight,
        Self::ClaimedByCount,
        Self::Junk,
        Self::JunkEcho,
        Self::JunkBoilerplate,
        Self::JunkListing,
        Self::JunkNumberedCode,
        Self::JunkUnbalanced,
    ];

    /// Recall by the quarter in which a name was last touched, in order.
    pub(crate) const RECALL_BY_QUARTER: [Self; 4] =
        [Self::RecallFirst, Self::RecallSecond, Self::RecallThird, Self::RecallFourth];

    /// Junk by kind, in the order of [`JunkKind::ALL`].
    pub(crate) const JUNK: [Self; JunkKind::ALL.len()] = [
        Self::JunkEcho,
        Self::JunkBoilerplate,
        Self::JunkListing,
        Self::JunkNumberedCode,
        Self::JunkUnbalanced,
    ];

    /// Recall by the length of what is compacted.
    pub(crate) fn recall_by_length(length: TokenCount) -> Self {
        match length.0 {
            ..20_000 => Self::RecallShort,
            20_000..=80_000 => Self::RecallMedium,
            _ => Self::RecallLong,
        }
    }

    /// The stable name in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Recall => "recall",
            Self::Grounded => "grounded",
            Self::Paths => "paths",
            Self::Remembered => "remembered",
            Self::Sentences => "sentences",
            Self::Rules => "rules",
            Self::Planted => "planted",
            Self::PlantedUncued => "planted_uncued",
            Self::Answers => "answers",
            Self::LogRecall => "log_recall",
            Self::LogGrounded => "log_grounded",
            Self::LogSentences => "log_sentences",
            Self::LogRules => "log_rules",
            Self::LogPlanted => "log_planted",
            Self::FilesRecall => "files_recall",
            Self::FilesGrounded => "files_grounded",
            Self::FilesSentences => "files_sentences",
            Self::FilesRules => "files_rules",
            Self::FilesPlanted => "files_planted",
            Self::RecallShort => "recall_under_20k",
            Self::RecallMedium => "recall_20k_to_80k",
            Self::RecallLong => "recall_over_80k",
            Self::RecallFirst => "recall_quarter_1",
            Self::RecallSecond => "recall_quarter_2",
            Self::RecallThird => "recall_quarter_3",
            Self::RecallFourth => "recall_quarter_4",
            Self::LogKept => "log_kept",
            Self::LogKeptNeeded => "log_kept_needed",
            Self::FilesKept => "files_kept",
            Self::FilesKeptNeeded => "files_kept_needed",
            Self::ClaimedByWeight => "claimed_by_weight",
            Self::ClaimedByCount => "claimed_by_count",
            Self::Junk => "junk",
            Self::JunkEcho => "junk_echo",
            Self::JunkBoilerplate => "junk_boilerplate",
            Self::JunkListing => "junk_listing",
            Self::JunkNumberedCode => "junk_numbered_code",
            Self::JunkUnbalanced => "junk_unbalanced",
        }
    }
}

impl Figures {
    /// The number of sessions behind a share.
    pub fn session_count(&self, measure: Measure) -> usize {
        self.sessions.get(&measure).copied().unwrap_or_default()
    }

    /// The share, if it could be measured.
    pub fn share(&self, measure: Measure) -> Option<f64> {
        self.shares.get(&measure).copied()
    }

    pub(crate) fn set(&mut self, measure: Measure, share: Option<f64>) {
        if let Some(share) = share {
            self.shares.insert(measure, share);
            self.sessions.insert(measure, 1);
        }
    }
}

impl EvalSummary {
    /// The means over the reports of `class`. A session counts for a measure if it has it.
    pub fn of(reports: &[SessionReport], class: Class) -> Self {
        let reports: Vec<&SessionReport> = reports.iter().filter(|report| report.class == class).collect();
        let mut cells: Vec<(Cell, Vec<&Figures>)> = Vec::new();
        for cell in reports.iter().flat_map(|report| &report.cells) {
            let same = |known: &&mut (Cell, Vec<&Figures>)| {
                known.0.method == cell.method && known.0.budget == cell.budget
            };
            match cells.iter_mut().find(same) {
                Some((_, figures)) => figures.push(&cell.figures),
                None => {
                    let head = Cell { figures: Figures::default(), ..cell.clone() };
                    cells.push((head, vec![&cell.figures]));
                }
            }
        }
        let cells = cells
            .into_iter()
            .map(|(cell, figures)| Cell { figures: mean_figures(&figures), ..cell })
            .collect();
        Self { sessions: reports.len(), cells }
    }

    /// Finds the cell of a method and a budget.
    pub fn cell(&self, method: &str, budget: TokenCount) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.method == method && cell.budget == budget)
    }
}

/// The mean of some values; none if there are no values.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn mean_figures(all: &[&Figures]) -> Figures {
    let mut figures = Figures::default();
    for measure in Measure::ALL {
        figures.set(measure, mean(all.iter().filter_map(|one| one.share(measure))));
        let count = all.iter().map(|one| one.session_count(measure)).sum();
        figures.sessions.entry(measure).and_modify(|sessions| *sessions = count);
    }
    for one in all {
        figures.defects.pairing += one.defects.pairing;
        figures.defects.bad_starts += one.defects.bad_starts;
        figures.defects.over_budget += one.defects.over_budget;
        figures.defects.changed_tails += one.defects.changed_tails;
    }
    figures.added = mean(all.iter().map(|one| one.added)).unwrap_or_default();
    figures.names = mean(all.iter().map(|one| one.names)).unwrap_or_default();
    figures.time =
        Duration::from_secs_f64(mean(all.iter().map(|one| one.time.as_secs_f64())).unwrap_or_default());
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(class: Class, recall: Option<f64>, pairing: usize) -> SessionReport {
        let mut figures =
            Figures { defects: Defects { pairing, ..Defects::default() }, ..Figures::default() };
        figures.set(Measure::Recall, recall);
        let cell = Cell { method: "m".into(), budget: TokenCount(1), figures };
        SessionReport {
            name: "s".into(),
            tokens: TokenCount(1),
            class,
            needed: vec![],
            rereads: KeptShare::default(),
            cells: vec![cell],
        }
    }

    #[test]
    fn means_are_taken_over_the_sessions_that_have_a_figure() {
        let reports = [
            report(Class::Real, Some(0.5), 1),
            report(Class::Real, Some(1.0), 2),
            report(Class::Real, None, 0),
            report(Class::Small, Some(0.0), 4),
        ];
        let summary = EvalSummary::of(&reports, Class::Real);
        let figures = &summary.cell("m", TokenCount(1)).expect("it was measured").figures;
        assert_eq!((summary.sessions, figures.share(Measure::Recall)), (3, Some(0.75)));
        assert_eq!((figures.share(Measure::Answers), figures.defects.pairing), (None, 3));
        let counts = [Measure::Recall, Measure::Answers].map(|measure| figures.session_count(measure));
        assert_eq!(counts, [2, 0], "a session without a figure does not enter it");
    }

    #[test]
    fn recall_is_told_by_the_length_of_what_was_compacted() {
        for (length, expected) in [
            (0, Measure::RecallShort),
            (19_999, Measure::RecallShort),
            (20_000, Measure::RecallMedium),
            (80_000, Measure::RecallMedium),
            (80_001, Measure::RecallLong),
        ] {
            assert_eq!(Measure::recall_by_length(TokenCount(length)), expected, "{length}");
        }
    }
}
