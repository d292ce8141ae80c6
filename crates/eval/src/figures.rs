//! The figures that an evaluation yields, and their means.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_conversation::TokenCount;

use crate::score::Share;
use crate::subject::Class;

/// Something that is measured as a share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Measure {
    /// Needed anchors that are still there.
    Recall,
    /// Needed anchors that are still there among words they stood among.
    Grounded,
    /// Needed paths that are still there.
    Paths,
    /// Needed anchors that the model used before anything showed them again.
    Remembered,
    /// User sentences kept word for word.
    Sentences,
    /// User rules kept word for word.
    Rules,
    /// Planted rules kept word for word.
    Planted,
    /// Planted rules without a cue word kept word for word.
    PlantedUncued,
    /// Expected answers that are still there.
    Answers,
    /// [`Measure::Recall`] after a chain of compactions with the session's log at hand.
    LogRecall,
    /// [`Measure::Grounded`] after such a chain.
    LogGrounded,
    /// [`Measure::Sentences`] after such a chain.
    LogSentences,
    /// [`Measure::Rules`] after such a chain.
    LogRules,
    /// [`Measure::Planted`] after such a chain.
    LogPlanted,
    /// [`Measure::Recall`] after a chain in which each compaction knew only what the one before it left.
    FilesRecall,
    /// [`Measure::Grounded`] after such a chain.
    FilesGrounded,
    /// [`Measure::Sentences`] after such a chain.
    FilesSentences,
    /// [`Measure::Rules`] after such a chain.
    FilesRules,
    /// [`Measure::Planted`] after such a chain.
    FilesPlanted,
}

/// What a method did wrong, over all its compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Defects {
    /// Faults in the pairing of calls and results.
    pub pairing: usize,
    /// Conversations that do not start with the user.
    pub bad_starts: usize,
    /// Results that added more than the budget.
    pub over_budget: usize,
    /// Results that do not end with the tail as it was.
    pub changed_tails: usize,
}

/// What one method reached.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figures {
    /// The shares that could be measured.
    pub shares: BTreeMap<Measure, f64>,
    /// What went wrong.
    pub defects: Defects,
    /// The mean of the tokens added beside the tail.
    pub added: f64,
    /// The mean time of one compaction, with reading its messages.
    pub time: Duration,
}

/// What one method reached on one session with one budget.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The method's name.
    pub method: String,
    /// The budget.
    pub budget: TokenCount,
    /// What it reached.
    pub figures: Figures,
}

/// All figures of one session.
#[derive(Clone, Debug, PartialEq)]
pub struct SessionReport {
    /// The session's name.
    pub name: String,
    /// Its size.
    pub tokens: TokenCount,
    /// What its figures are good for.
    pub class: Class,
    /// How many anchors were needed at each cut point.
    pub needed: Vec<usize>,
    /// Of its reads of files, those that brought nothing new.
    pub rereads: Share,
    /// One cell for each method and budget.
    pub cells: Vec<Cell>,
}

/// The means over sessions.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// How many sessions went in.
    pub sessions: usize,
    /// One cell for each method and budget.
    pub cells: Vec<Cell>,
}

impl Measure {
    /// Every measure, in order.
    pub const ALL: [Self; 19] = [
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
    ];

    /// A stable name for machines.
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
        }
    }
}

impl Figures {
    /// The share reached, where it could be measured.
    pub fn share(&self, measure: Measure) -> Option<f64> {
        self.shares.get(&measure).copied()
    }

    pub(crate) fn set(&mut self, measure: Measure, share: Option<f64>) {
        if let Some(share) = share {
            self.shares.insert(measure, share);
        }
    }
}

impl Summary {
    /// The means over those reports that are of `class`. A session counts for a measure if it has it.
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

    /// The cell of a method and a budget.
    pub fn cell(&self, method: &str, budget: TokenCount) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.method == method && cell.budget == budget)
    }
}

/// The mean of some values; nothing of none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.into_iter().fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

fn mean_figures(all: &[&Figures]) -> Figures {
    let mut figures = Figures::default();
    for measure in Measure::ALL {
        figures.set(measure, mean(all.iter().filter_map(|one| one.share(measure))));
    }
    for one in all {
        figures.defects.pairing += one.defects.pairing;
        figures.defects.bad_starts += one.defects.bad_starts;
        figures.defects.over_budget += one.defects.over_budget;
        figures.defects.changed_tails += one.defects.changed_tails;
    }
    figures.added = mean(all.iter().map(|one| one.added)).unwrap_or_default();
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
            rereads: Share::default(),
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
        let summary = Summary::of(&reports, Class::Real);
        let figures = &summary.cell("m", TokenCount(1)).expect("it was measured").figures;
        assert_eq!((summary.sessions, figures.share(Measure::Recall)), (3, Some(0.75)));
        assert_eq!((figures.share(Measure::Answers), figures.defects.pairing), (None, 3));
    }
}
