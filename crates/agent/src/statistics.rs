//! What an agent has done so far, counted.

use std::collections::BTreeMap;
use std::time::Duration;

use longhaul_conversation::{TokenCount, ToolStatus, Usage};

use crate::ActivityLog;

/// What an agent has done since it was started.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Statistics {
    /// How often the model was asked.
    pub requests: u32,
    /// What it was sent.
    pub input: TokenCount,
    /// What of that the provider still knew.
    pub cached: TokenCount,
    /// What it answered.
    pub output: TokenCount,
    /// What it thought.
    pub thinking: TokenCount,
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
pub struct Asides(BTreeMap<String, AskedAside>);

/// The small questions to one model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AskedAside {
    /// How many were asked, answered or not.
    pub requests: u32,
    /// What the answers consumed, as far as the provider told.
    pub usage: Option<Usage>,
}

impl Asides {
    /// The models that were asked, and what of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &AskedAside)> {
        self.0.iter().map(|(model, asked)| (model.as_str(), asked))
    }

    /// How many were asked.
    pub fn requests(&self) -> u32 {
        self.0.values().map(|asked| asked.requests).sum()
    }

    /// What all answers consumed, as far as providers told.
    pub fn usage(&self) -> Option<Usage> {
        self.0.values().filter_map(|asked| asked.usage).reduce(|sum, usage| sum + usage)
    }

    /// Counts what others asked as well.
    pub fn add(&mut self, others: &Self) {
        others.0.iter().for_each(|(model, asked)| self.count(model, *asked));
    }

    pub(crate) fn note(&mut self, model: &str, usage: Option<Usage>) {
        self.count(model, AskedAside { requests: 1, usage });
    }

    fn count(&mut self, model: &str, asked: AskedAside) {
        let known = self.0.entry(model.to_string()).or_default();
        known.requests += asked.requests;
        known.usage = known.usage.into_iter().chain(asked.usage).reduce(|sum, usage| sum + usage);
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
    pub(crate) fn usage(&mut self, usage: &Usage) {
        self.requests += 1;
        self.input += usage.input.unwrap_or_default();
        self.cached += usage.cached.unwrap_or_default();
        self.output += usage.output.unwrap_or_default();
        self.thinking += usage.thoughts.unwrap_or_default();
    }

    /// Counts what another agent did as if this one had.
    pub(crate) fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.input += other.input;
        self.cached += other.cached;
        self.output += other.output;
        self.thinking += other.thinking;
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
