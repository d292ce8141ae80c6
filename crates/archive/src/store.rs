//! The store of an index: the trait of its two implementations, SQLite in a file and PostgreSQL for a team.
//!
//! A store keeps rows and knows nothing of sessions: what the rows mean is said by [`crate::writer`], and what a question
//! needs of them by [`crate::rank`], so that hits and their order are the same everywhere.

use std::collections::HashMap;

use longhaul_conversation::Timestamp;
use longhaul_recall::{CorpusStatistics, Kind, TermQuality};

use crate::error::ArchiveError;

/// The bits of a passage's id that say its place in its chain; the others are the id of the chain.
pub(crate) const SEQUENCE_BITS: u32 = 22;

/// The passages of a question so far: by id, with the terms in each.
pub(crate) type Candidates = HashMap<i64, Vec<TermQuality>>;

/// The purpose of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// One state of everything that is read.
    Read,
    /// Nobody else writes meanwhile.
    Write,
}

/// A passage to be added.
#[derive(Debug)]
pub(crate) struct NewPassage<'a> {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) at: Option<Timestamp>,
    pub(crate) length: u32,
    pub(crate) is_question: bool,
    pub(crate) answers: Option<u32>,
    /// The number of its message.
    pub(crate) number: Option<u32>,
    /// Its tokens, each once.
    pub(crate) tokens: &'a [String],
}

/// A passage as it is kept.
#[derive(Clone, Debug)]
pub(crate) struct StoredPassage {
    pub(crate) id: i64,
    pub(crate) kind: Kind,
    pub(crate) at: Option<Timestamp>,
    pub(crate) length: u32,
    pub(crate) is_question: bool,
    pub(crate) answers: Option<u32>,
}

/// A chain of messages: a session, or a sub-agent in its file.
#[derive(Clone, Debug)]
pub(crate) struct StoredChain {
    pub(crate) id: i64,
    pub(crate) source: i64,
    /// The sub-agent; empty for the session itself.
    pub(crate) name: String,
    pub(crate) project: Option<String>,
    pub(crate) passages: u32,
    /// The length of all its passages.
    pub(crate) bytes: u64,
    pub(crate) messages: u32,
    /// The name and the agent of its source, where the store has them.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "SQLite has the names in the log"))]
    pub(crate) named: Option<SourceName>,
}

/// The indexed extent of a chain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) passages: u32,
    pub(crate) bytes: u64,
    pub(crate) messages: u32,
}

/// The name and the agent of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceName {
    pub(crate) session: String,
    pub(crate) agent: String,
}

/// The common tokens that a question looks up only where a rare one stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Among<'a> {
    /// The rare tokens.
    pub(crate) tokens: &'a [&'a str],
    /// The passages that have one.
    #[cfg_attr(not(feature = "postgres"), allow(dead_code, reason = "SQLite looks the tokens up together"))]
    pub(crate) passages: &'a Candidates,
}

/// The rows of an index.
pub(crate) trait Store {
    fn begin(&mut self, access: Access) -> Result<(), ArchiveError>;
    fn commit(&mut self) -> Result<(), ArchiveError>;
    /// Ends a transaction without its changes; also after a failure.
    fn roll_back(&mut self);

    fn statistics(&mut self) -> Result<CorpusStatistics, ArchiveError>;
    /// The number of passages with a token.
    fn frequency(&mut self, token: &str) -> Result<u64, ArchiveError>;
    /// The passages with a token; with `among`, at least those of them that are asked for.
    fn with_token(&mut self, token: &str, among: Option<Among<'_>>) -> Result<Vec<i64>, ArchiveError>;
    /// The passages of messages with a number.
    fn numbered(&mut self, number: u32) -> Result<Vec<i64>, ArchiveError>;
    /// The passages in ranges of ids, both ends included.
    fn passages(&mut self, ranges: &[(i64, i64)]) -> Result<Vec<StoredPassage>, ArchiveError>;
    /// The chains with these ids that still exist.
    fn chains(&mut self, ids: &[i64]) -> Result<Vec<StoredChain>, ArchiveError>;
    fn chains_of(&mut self, source: i64) -> Result<Vec<StoredChain>, ArchiveError>;

    /// Adds a chain without passages; its id.
    fn add_chain(&mut self, source: i64, name: &str, project: Option<&str>) -> Result<i64, ArchiveError>;
    fn add_passage(&mut self, passage: &NewPassage<'_>) -> Result<(), ArchiveError>;
    /// Says how much of a chain is indexed.
    fn set_extent(&mut self, chain: i64, extent: Extent) -> Result<(), ArchiveError>;
    /// Says what a source turned out to be; what is not known stays.
    fn describe(
        &mut self,
        source: i64,
        title: Option<&str>,
        project: Option<&str>,
    ) -> Result<(), ArchiveError>;
    /// Says how many blocks of a source are indexed.
    fn set_indexed(&mut self, source: i64, blocks: usize) -> Result<(), ArchiveError>;
    /// Adds to the frequencies, in the order of the tokens, and to the totals.
    fn add_counts(&mut self, tokens: &[(String, i64)], passages: i64, bytes: i64)
    -> Result<(), ArchiveError>;
    /// Removes the chains of a source with their passages; frequencies and totals stay.
    fn remove_chains(&mut self, source: i64) -> Result<(), ArchiveError>;
}
