//! The columns of the tables, with what each of them means.

use longhaul_eval::{Figures, Measure};

/// A column of a table.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) width: usize,
    pub(super) value: Value,
    /// What it shows, in plain words.
    pub(super) meaning: &'static str,
}

/// The figure that a column shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// A share, in percent.
    Share(Measure),
    /// Distinct names in the snapshot.
    Names,
    /// Tokens of the snapshot.
    Tokens,
    /// The time of one compaction.
    Milliseconds,
}

const fn share(name: &'static str, width: usize, measure: Measure, meaning: &'static str) -> Column {
    Column { name, width, value: Value::Share(measure), meaning }
}

/// The columns of one compaction.
pub(super) const ONCE: [Column; 10] = [
    share("recall", 7, Measure::Recall, "names, paths, commands and numbers used later that are still there"),
    share("ground", 7, Measure::Grounded, "those of them that still stand among their original words"),
    share("paths", 6, Measure::Paths, "recall of paths alone"),
    share("sent.", 6, Measure::Sentences, "your sentences kept word for word"),
    share("rules", 6, Measure::Rules, "your rules kept word for word"),
    share("plant", 6, Measure::Planted, "test rules, planted in the session, kept word for word"),
    share(
        "junk",
        6,
        Measure::Junk,
        "lines no reader can use (less is better): unbalanced brackets, echoes of calls, boilerplate, listings, \
         numbered code",
    ),
    Column { name: "names", width: 6, value: Value::Names, meaning: "distinct names in the snapshot" },
    Column { name: "tokens", width: 7, value: Value::Tokens, meaning: "size of the snapshot" },
    Column { name: "ms", width: 6, value: Value::Milliseconds, meaning: "milliseconds for one compaction" },
];

/// The columns of one compaction that are shown, too, where they were measured and there is room.
pub(super) const ALSO: [Column; 3] = [
    share("answers", 8, Measure::Answers, "expected answers that are still there"),
    share(
        "memory",
        7,
        Measure::Remembered,
        "recall of names the model used before anything showed them again",
    ),
    share(
        "uncued",
        7,
        Measure::PlantedUncued,
        "planted rules without a word such as \"never\" that are kept",
    ),
];

/// The columns of recall by length and age.
pub(super) const WHERE: [Column; 7] = [
    share("<20k", 7, Measure::RecallShort, "recall where less than 20,000 tokens were compacted"),
    share("20-80k", 7, Measure::RecallMedium, "recall where 20,000 to 80,000 tokens were compacted"),
    share(">80k", 7, Measure::RecallLong, "recall where more than 80,000 tokens were compacted"),
    share(
        "1st",
        7,
        Measure::RecallFirst,
        "recall of names last touched in the first quarter of what was compacted",
    ),
    share("2nd", 7, Measure::RecallSecond, "the same for the second quarter"),
    share("3rd", 7, Measure::RecallThird, "the same for the third quarter"),
    share("4th", 7, Measure::RecallFourth, "the same for the last quarter"),
];

/// What is left of the names in the first of five snapshots.
const KEPT: &str = "names in the first of five snapshots that are still there after the fifth";

/// The columns of a chain of compactions: with the log, then from files alone.
pub(super) const CHAIN: [Column; 10] = [
    share("recall", 6, Measure::LogRecall, ""),
    share("ground", 7, Measure::LogGrounded, ""),
    share("rules", 6, Measure::LogRules, ""),
    share("plant", 6, Measure::LogPlanted, ""),
    share("kept", 6, Measure::LogKept, KEPT),
    share("recall", 7, Measure::FilesRecall, ""),
    share("ground", 7, Measure::FilesGrounded, ""),
    share("rules", 6, Measure::FilesRules, ""),
    share("plant", 6, Measure::FilesPlanted, ""),
    share("kept", 6, Measure::FilesKept, ""),
];

impl Column {
    /// Returns true if some of these figures have it.
    pub(super) fn is_measured<'f>(&self, mut all: impl Iterator<Item = &'f Figures>) -> bool {
        match self.value {
            Value::Share(measure) => all.any(|figures| figures.share(measure).is_some()),
            _ => true,
        }
    }

    /// The figure as text.
    pub(super) fn show(&self, figures: &Figures) -> String {
        match self.value {
            Value::Share(measure) => percent(figures, measure),
            Value::Names => format!("{:.0}", figures.names),
            Value::Tokens => format!("{:.0}", figures.added),
            Value::Milliseconds => match figures.time.as_secs_f64() * 1_000.0 {
                long if long >= 100.0 => format!("{long:.0}"),
                short => format!("{short:.1}"),
            },
        }
    }

    /// The number of sessions behind the figure, as text.
    pub(super) fn show_sessions(&self, figures: &Figures) -> String {
        match self.value {
            Value::Share(measure) => figures.session_count(measure).to_string(),
            _ => String::new(),
        }
    }
}

/// A share in percent, or a dash.
pub(super) fn percent(figures: &Figures, measure: Measure) -> String {
    figures.share(measure).map_or_else(|| "–".to_string(), |share| format!("{:.1}", share * 100.0))
}
