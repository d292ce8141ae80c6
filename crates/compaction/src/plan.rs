//! The plan of a compaction: what to do about a conversation and why, as a value that can be printed.

use std::collections::BTreeSet;
use std::fmt;

use longhaul_conversation::{Message, TokenCount};

use crate::budget::DoesNotFit;
use crate::cut::CutReason;
use crate::replace::{Replacement, apply_replacements};
use crate::shorten::{Shortening, apply_shortenings};

/// Decision about a conversation, and the reason.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The chosen rung.
    pub rung: Rung,
    /// The reason, in words.
    pub reason: String,
    /// Size of the request now.
    pub before: TokenCount,
}

/// The rungs of the ladder, the cheapest first, and the two ways of doing nothing.
#[derive(Clone, Debug)]
pub enum Rung {
    /// Nothing is due yet.
    Wait,
    /// Something would be due, but nothing would be gained.
    Noop,
    /// Old tool outputs give way to previews.
    Mask(Vec<Replacement>),
    /// The middle of tool outputs is left out, where nothing else may be done.
    Truncate(Vec<Replacement>),
    /// Everything before the tail gives way to a snapshot.
    Compact(Compaction),
    /// As a compaction, but more is given up so that the request fits.
    LastResort(Compaction),
    /// The parts that cannot be given up are larger than the window.
    DoesNotFit(DoesNotFit),
}

/// The tail that stays of a conversation and the snapshot that is added.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// The first message that stays.
    pub tail_from: usize,
    /// The reason for cutting there.
    pub cut: CutReason,
    /// The most tokens that the snapshot may take.
    pub snapshot_budget: TokenCount,
    /// Size of the tail once it is shortened.
    pub tail: TokenCount,
    /// The tool outputs in the tail that are shortened.
    pub replacements: Vec<Replacement>,
    /// The texts in the tail that are shortened.
    pub shortenings: Vec<Shortening>,
}

/// A text that a plan leaves out of a message and that can be read in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileToSave {
    /// The file's name, relative to the folder for temporary files.
    pub file: String,
    /// The text that belongs in it.
    pub text: String,
}

impl Rung {
    /// The stable word used in output. A truncation is a mask to readers: outputs are replaced and nothing else.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Noop => "noop",
            Self::Mask(_) | Self::Truncate(_) => "mask",
            Self::Compact(_) => "compact",
            Self::LastResort(_) => "last_resort",
            Self::DoesNotFit(_) => "does_not_fit",
        }
    }

    /// Tells whether the conversation is to become another one.
    pub fn is_change(&self) -> bool {
        matches!(self, Self::Mask(_) | Self::Truncate(_) | Self::Compact(_) | Self::LastResort(_))
    }
}

impl Plan {
    /// The first message that stays, if others are to go.
    pub fn tail_from(&self) -> Option<usize> {
        self.compaction().map(|compaction| compaction.tail_from)
    }

    /// The compaction, if this is a plan to compact.
    pub fn compaction(&self) -> Option<&Compaction> {
        match &self.rung {
            Rung::Compact(compaction) | Rung::LastResort(compaction) => Some(compaction),
            _ => None,
        }
    }

    /// The tool outputs that are shortened.
    pub fn replacements(&self) -> &[Replacement] {
        match &self.rung {
            Rung::Mask(replacements) | Rung::Truncate(replacements) => replacements,
            Rung::Compact(compaction) | Rung::LastResort(compaction) => &compaction.replacements,
            Rung::Wait | Rung::Noop | Rung::DoesNotFit(_) => &[],
        }
    }

    /// The texts of the user's side that are shortened.
    pub fn shortenings(&self) -> &[Shortening] {
        self.compaction().map_or(&[], |compaction| &compaction.shortenings)
    }

    /// The texts that the plan leaves out of `messages`, each of which belongs in a file.
    pub(crate) fn files(&self, messages: &[Message]) -> Vec<FileToSave> {
        let outputs = self.replacements().iter().filter_map(|replacement| {
            let text = replacement.full_text(messages)?.into_owned();
            Some(FileToSave { file: replacement.file.clone(), text })
        });
        let texts = self.shortenings().iter().filter_map(|shortening| {
            let text = shortening.full_text(messages)?.to_string();
            Some(FileToSave { file: shortening.file.clone(), text })
        });
        let mut files: Vec<FileToSave> = outputs.chain(texts).collect();
        files.sort_by(|a, b| a.file.cmp(&b.file));
        files.dedup();
        files
    }

    /// Tells whether one of these files holds a text that the plan leaves out.
    pub(crate) fn names_any(&self, files: &BTreeSet<String>) -> bool {
        let mut outputs = self.replacements().iter().map(|replacement| &replacement.file);
        let mut texts = self.shortenings().iter().map(|shortening| &shortening.file);
        outputs.any(|file| files.contains(file)) || texts.any(|file| files.contains(file))
    }

    /// The plan without the texts that could not be saved: they stay as they are and count in full.
    pub(crate) fn without(mut self, unsaved: &BTreeSet<String>) -> Self {
        match &mut self.rung {
            Rung::Mask(replacements) | Rung::Truncate(replacements) => {
                replacements.retain(|replacement| !unsaved.contains(&replacement.file));
            }
            Rung::Compact(compaction) | Rung::LastResort(compaction) => {
                compaction.replacements.retain(|replacement| !unsaved.contains(&replacement.file));
                compaction.shortenings.retain(|shortening| !unsaved.contains(&shortening.file));
            }
            Rung::Wait | Rung::Noop | Rung::DoesNotFit(_) => {}
        }
        self
    }

    /// The plan with the texts that could not be saved shortened all the same, without a pointer to a file.
    pub(crate) fn without_pointers(mut self, unsaved: &BTreeSet<String>) -> Self {
        if let Rung::Compact(compaction) | Rung::LastResort(compaction) = &mut self.rung {
            let Compaction { replacements, shortenings, .. } = compaction;
            for replacement in replacements.iter_mut().filter(|own| unsaved.contains(&own.file)) {
                *replacement = replacement.clone().unsaved();
            }
            for shortening in shortenings.iter_mut().filter(|own| unsaved.contains(&own.file)) {
                *shortening = shortening.clone().unsaved();
            }
        }
        self
    }
}

impl Compaction {
    /// The messages that stay, shortened.
    pub(crate) fn shortened_tail(&self, messages: &[Message]) -> Vec<Message> {
        shortened_tail(messages, self.tail_from, &self.replacements, &self.shortenings)
    }
}

/// The messages from `start` on, shortened.
pub(crate) fn shortened_tail(
    messages: &[Message],
    start: usize,
    replacements: &[Replacement],
    shortenings: &[Shortening],
) -> Vec<Message> {
    let mut tail = messages.get(start..).unwrap_or_default().to_vec();
    apply_replacements(&mut tail, replacements);
    apply_shortenings(&mut tail, start, shortenings);
    tail
}

/// The reason to do nothing below the threshold.
pub(crate) fn describe_below(before: TokenCount, limit: Option<TokenCount>) -> String {
    match limit {
        Some(limit) => format!("{before} tokens are below the threshold of {limit}"),
        None => "automatic compaction is off".to_string(),
    }
}

/// For people, over a few lines.
impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rung.as_str(), self.reason)?;
        match &self.rung {
            Rung::Wait | Rung::Noop => return Ok(()),
            Rung::DoesNotFit(refusal) => return write!(f, "\nhint: {}", refusal.part.remedy()),
            Rung::Mask(_) | Rung::Truncate(_) => {}
            Rung::Compact(compaction) | Rung::LastResort(compaction) => {
                let Compaction { tail_from, cut, snapshot_budget, tail, .. } = compaction;
                let first = tail_from + 1;
                write!(f, "\nkeep messages from {first} on ({tail} tokens): {cut}")?;
                write!(f, "\nsnapshot of at most {snapshot_budget} tokens")?;
            }
        }
        for Replacement { call, file, before, after, .. } in self.replacements() {
            write!(f, "\nshorten the output of {call} from {before} to {after} tokens: {file}")?;
        }
        self.shortenings().iter().try_for_each(|Shortening { file, before, after, .. }| {
            write!(f, "\nshorten a message from {before} to {after} tokens: {file}")
        })
    }
}
