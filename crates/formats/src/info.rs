//! Metadata of a session file.

use std::collections::BTreeMap;

use longhaul_conversation::{Extra, Part, Timestamp, TokenCount, ToolDeclaration, Usage};

use crate::Format;

/// Metadata of a session file, beside its messages.
#[derive(Clone, Debug)]
pub struct SessionInfo {
    /// The format it was read as.
    pub format: Format,
    /// The session's own id.
    pub session_id: Option<String>,
    /// A title or one-line summary.
    pub title: Option<String>,
    /// The models that answered, each once, in order of appearance.
    pub models: Vec<String>,
    /// The model that the user chose for the session, by a name that finds it again.
    pub chosen_model: Option<String>,
    /// The window the file states for its model.
    pub window: Option<TokenCount>,
    /// The folder the agent worked in.
    pub directory: Option<String>,
    /// The project's hash, as Gemini CLI writes it.
    pub project: Option<String>,
    /// The time of the first record that has one.
    pub started: Option<Timestamp>,
    /// The time of the last record that has one.
    pub ended: Option<Timestamp>,
    /// The system instruction.
    pub system: Vec<Part>,
    /// The tools that were declared.
    pub tools: Vec<ToolDeclaration>,
    /// The fields of the request that the file is which are not modelled: they are written back in the same format.
    pub request_fields: Option<Box<Extra>>,
    /// The last usage that a provider reported.
    pub last_usage: Option<Usage>,
    /// The number of compactions by the agent itself.
    pub compactions: usize,
    /// Records skipped on purpose, because they hold no conversation.
    pub skipped: Skipped,
    /// The total number of warnings; past a limit they are only counted.
    pub warnings: usize,
    /// Questions with expected answers that the file carries, for evaluation.
    pub questions: Vec<Question>,
}

/// A question whose answer a session holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub prompt: String,
    /// The text that a right answer contains.
    pub expected: String,
}

/// The number of skipped records of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped(BTreeMap<String, usize>);

impl SessionInfo {
    /// A session of which only the format is known yet.
    pub(crate) fn new(format: Format) -> Self {
        Self {
            format,
            session_id: None,
            title: None,
            models: Vec::new(),
            chosen_model: None,
            window: None,
            directory: None,
            project: None,
            started: None,
            ended: None,
            system: Vec::new(),
            tools: Vec::new(),
            request_fields: None,
            last_usage: None,
            compactions: 0,
            skipped: Skipped::default(),
            warnings: 0,
            questions: Vec::new(),
        }
    }

    /// The model that answered last.
    pub fn model(&self) -> Option<&str> {
        self.models.last().map(String::as_str)
    }
}

impl Skipped {
    pub(crate) fn count(&mut self, kind: &str) {
        match self.0.get_mut(kind) {
            Some(count) => *count += 1,
            None => {
                self.0.insert(kind.to_string(), 1);
            }
        }
    }

    /// The kinds and how many of each, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, usize)> {
        self.0.iter().map(|(kind, count)| (kind.as_str(), *count))
    }

    /// The total number of records.
    pub fn total(&self) -> usize {
        self.0.values().sum()
    }
}
