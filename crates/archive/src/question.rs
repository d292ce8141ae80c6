//! Questions to the archive.

use longhaul_conversation::Timestamp;
use longhaul_recall::{Query, SearchFilter};

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct Question {
    /// The words.
    pub query: Query,
    /// The conditions on what was said.
    pub filter: SearchFilter,
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions of this folder, or below it.
    pub project: Option<String>,
}

impl Question {
    /// A question about everything.
    pub fn new(query: &str, now: Timestamp) -> Self {
        Self {
            query: Query::parse(query, Some(now)),
            filter: SearchFilter::default(),
            agent: None,
            project: None,
        }
    }
}
