//! What an agent has done so far, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_conversation::{Consumption, TokenCount, ToolStatus};

use crate::ActivityLog;

/// What an agent has done since it was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// The requests that were sent to the model, retries included.
    pub requests: u32,
    /// What it was sent.
    pub input: TokenCount,
    /// What of that the provider still knew.
    pub cached: TokenCount,
    /// What it answered.
    pub output: TokenCount,
    /// What it thought.
    pub thinking: TokenCount,
    /// What of all this is estimated, because the provider did not report it.
    pub estimated: TokenCount,
    /// How each tool was used, by name.
    pub tools: BTreeMap<String, ToolStatistics>,
    /// How often a file was read.
    pub reads: u32,
    /// How often it was read again although it is as it was, because a compaction had left it out.
    pub rereads: u32,
    /// Small questions to models beside the conversation.
    pub asides: Asides,
    /// What happened lately.
    pub activity: ActivityLog,
}

/// Small questions to models beside the conversation, by the names of the models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asides(BTreeMap<String, Consumption>);

impl Asides {
    /// The models that were asked, and what that consumed.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Consumption)> {
        self.0.iter().map(|(model, consumed)| (model.as_str(), consumed))
    }

    /// What all of them consumed.
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

/// How a tool was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolStatistics {
    /// How often it was called.
    pub calls: u32,
    /// How often it failed.
    pub failures: u32,
    /// How often it was refused or stopped.
    pub refusals: u32,
    /// How long it ran in all.
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
        for (name, more) in &other.tools {
            let tool = self.tools.entry(name.clone()).or_default();
            tool.calls += more.calls;
            tool.failures += more.failures;
            tool.refusals += more.refusals;
            tool.took += more.took;
        }
        self.asides.add(&other.asides);
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
