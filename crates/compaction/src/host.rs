//! State of the host that no transcript tells, and the lines that tell it to the model after a compaction.

use longhaul_conversation::{Estimator, TokenCount};
use longhaul_snapshot::{Entry, Section, Snapshot};
use serde::{Deserialize, Serialize};

/// State of the host that no transcript tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// Commands and sub-agents that run in the background.
    pub jobs: Vec<HostJob>,
    /// The skills that are active.
    pub skills: Vec<String>,
    /// The file of the approved plan.
    pub plan: Option<String>,
    /// The memory files that were loaded.
    pub memory: Vec<String>,
}

/// Something that runs in the background.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostJob {
    /// The name to ask for it by.
    pub name: String,
    /// The command, or the task of a sub-agent.
    pub what: String,
}

/// The share of a snapshot that these lines may take.
const SHARE: f64 = 0.1;

impl HostJob {
    fn line(&self) -> String {
        match self.name.as_str() {
            "" => format!("Running: {}", self.what),
            name => format!("Running: {} ({name})", self.what),
        }
    }
}

impl HostState {
    /// The lines for a snapshot of this budget: what runs first, then the plan, skills and memory, as far as there is
    /// room.
    pub(crate) fn snapshot(&self, budget: TokenCount, estimator: &Estimator) -> Snapshot {
        let jobs = self.jobs.iter().map(|job| (Section::TaskState, job.line()));
        let plan = self.plan.iter().map(|plan| (Section::KeyKnowledge, format!("Plan file: {plan}")));
        let list = |title: &str, names: &[String]| {
            let line = format!("{title}: {}", names.join(", "));
            (!names.is_empty()).then_some((Section::KeyKnowledge, line))
        };
        let lists = [list("Active skills", &self.skills), list("Memory loaded", &self.memory)];
        let mut left = budget.0 as f64 * SHARE;
        let mut snapshot = Snapshot::default();
        for (section, line) in jobs.chain(plan).chain(lists.into_iter().flatten()) {
            let cost = estimator.text(&line).as_f64() + 1.0;
            if cost <= left {
                left -= cost;
                snapshot.push(section, Entry::unmarked(&line.replace(['\n', '\r'], " ")));
            }
        }
        snapshot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> HostState {
        HostState {
            jobs: vec![HostJob { name: "job-3".into(), what: "cargo watch\n-x test".into() }],
            skills: vec!["release".into(), "review".into()],
            plan: Some("plans/upload.md".into()),
            memory: vec!["GEMINI.md".into()],
        }
    }

    #[track_caller]
    fn check(budget: u64, expected: &[&str]) {
        let snapshot = host().snapshot(TokenCount(budget), &Estimator::default());
        let lines: Vec<&str> = snapshot.lines().map(|line| line.line).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_job_without_a_name_has_none() {
        let job = HostJob { name: String::new(), what: "make".into() };
        assert_eq!(job.line(), "Running: make");
    }

    #[test]
    fn what_runs_comes_first_and_all_of_it_within_a_share() {
        let all = [
            "Plan file: plans/upload.md",
            "Active skills: release, review",
            "Memory loaded: GEMINI.md",
            "Running: cargo watch -x test (job-3)",
        ];
        check(4_000, &all);
        check(120, &["Running: cargo watch -x test (job-3)"]);
        check(0, &[]);
    }
}
