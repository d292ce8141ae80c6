//! Statistics of an agent: requests, tokens and tool calls so far, and its latest activity.

mod activity;

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_conversation::{Consumption, TokenCount, ToolStatus};

pub use activity::{Activity, ActivityLog, ActivityStatistics, MemoryUse};

/// Counts of everything an agent has done since it was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The requests that were sent to the model, retries included.
    pub requests: u32,
    /// Tokens sent.
    pub input: TokenCount,
    /// Tokens of these that the provider read from its cache.
    pub cached: TokenCount,
    /// Tokens of its answers.
    pub output: TokenCount,
    /// Tokens of its reasoning.
    pub thinking: TokenCount,
    /// Tokens of all these that are estimated, because the provider did not report them.
    pub estimated: TokenCount,
    /// The use of each tool, by name.
    pub tools: BTreeMap<String, ToolStatistics>,
    /// Reads of files.
    pub reads: u32,
    /// Reads of files that had not changed, because a compaction had left them out.
    pub rereads: u32,
    /// The tokens that these brought again.
    pub reread_tokens: TokenCount,
    /// Reads that a note answered, as the model could still see the same above.
    pub unchanged_reads: u32,
    /// The tokens that this saved.
    pub unchanged_tokens: TokenCount,
    /// Small questions to models beside the conversation.
    pub side_calls: SideCalls,
    /// The latest events.
    pub activity: ActivityLog,
}

/// Small questions to models beside the conversation, by the names of the models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideCalls(BTreeMap<String, Consumption>);

impl SideCalls {
    /// The models that were asked, and what each consumed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Consumption)> {
        self.0.iter().map(|(model, consumed)| (model.as_str(), consumed))
    }

    /// The consumption of all of them.
    pub fn total(&self) -> Consumption {
        self.0.values().fold(Consumption::default(), |sum, consumed| sum + *consumed)
    }

    /// The requests that were sent, retries included.
    pub fn requests(&self) -> u32 {
        self.total().requests
    }

    /// Counts what others asked as well.
    pub fn add(&mut self, others: &Self) {
        others.0.iter().for_each(|(model, consumed)| self.note(model, *consumed));
    }

    pub(crate) fn note(&mut self, model: &str, consumed: Consumption) {
        let known = self.0.entry(model.to_string()).or_default();
        *known = *known + consumed;
    }
}

/// The use of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolStatistics {
    /// All calls.
    pub calls: u32,
    /// Calls that failed.
    pub failures: u32,
    /// Calls that were refused or stopped.
    pub refusals: u32,
    /// Time that it ran in all.
    pub took: Duration,
}

impl Statistics {
    pub(crate) fn consumed(&mut self, consumed: &Consumption) {
        let usage = consumed.usage.unwrap_or_default();
        let thinking = usage.thoughts.unwrap_or_default();
        self.requests += consumed.requests;
        self.input += consumed.input();
        self.cached += usage.cached.unwrap_or_default();
        self.output += consumed.output() - thinking;
        self.thinking += thinking;
        self.estimated += consumed.estimated();
    }

    /// Counts what another agent did as if this one had.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.thinking += other.thinking;
        self.estimated += other.estimated;
        self.reads += other.reads;
        self.rereads += other.rereads;
        self.reread_tokens += other.reread_tokens;
        self.unchanged_reads += other.unchanged_reads;
        self.unchanged_tokens += other.unchanged_tokens;
        for (name, more) in &other.tools {
            let tool = self.tools.entry(name.clone()).or_default();
            tool.calls += more.calls;
            tool.failures += more.failures;
            tool.refusals += more.refusals;
            tool.took += more.took;
        }
        self.side_calls.add(&other.side_calls);
    }

    pub(crate) fn tool(&mut self, name: &str, status: ToolStatus, took: Duration) {
        let tool = self.tools.entry(name.to_string()).or_default();
        tool.calls += 1;
        tool.took += took;
        match status {
            ToolStatus::Failed => tool.failures += 1,
            ToolStatus::Cancelled => tool.refusals += 1,
            ToolStatus::Succeeded | ToolStatus::Unstated => {}
        }
    }

    /// The share of reads that a compaction made necessary, once there were reads.
    pub fn reread_rate(&self) -> Option<f64> {
        (self.reads > 0).then(|| f64::from(self.rereads) / f64::from(self.reads))
    }
}
