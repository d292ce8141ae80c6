//! The state file of extraction: which sessions were tried and which were really read. Gemini CLI keeps the same file, so that
//! whatever it or a later version writes there stays.

use std::path::Path;
use std::time::Duration;

use longhaul_conversation::Timestamp;
use longhaul_workspace::write_private_atomically;
use serde_json::{Map, Value, json};

use crate::read::read_text;
use crate::{PastSession, SkillError};

/// Which sessions were tried, and which were read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtractionState {
    root: Map<String, Value>,
}

/// A run of an extraction, as it is noted.
#[derive(Clone, Copy, Debug)]
pub struct ExtractionRun<'a> {
    /// When it ended.
    pub at: Timestamp,
    /// The new sessions that it was offered.
    pub tried: &'a [PastSession],
    /// Those that were really read.
    pub read: &'a [PastSession],
    /// The skills that it made.
    pub skills: &'a [String],
    /// The patches to memory that it wrote.
    pub memory: &'a [String],
    /// The duration.
    pub took: Duration,
    /// The number of model calls and the reason why it stopped, where a model was used.
    pub by_model: Option<(u32, &'a str)>,
}

impl ExtractionState {
    /// Reads the state. A file that is missing or broken is an empty one: sessions are then read again.
    ///
    /// # Errors
    /// [`SkillError::Files`] where there is a file that the system does not let us read.
    pub fn load(path: &Path) -> Result<Self, SkillError> {
        if path.symlink_metadata().is_err() {
            return Ok(Self::default());
        }
        let text = read_text(path)?.unwrap_or_default();
        let root = serde_json::from_str::<Value>(&text).ok();
        Ok(Self { root: root.and_then(|root| root.as_object().cloned()).unwrap_or_default() })
    }

    /// Writes the state, whole or not at all.
    ///
    /// # Errors
    /// [`SkillError::Workspace`] where it cannot be written; it is then as it was.
    pub fn save(&self, path: &Path) -> Result<(), SkillError> {
        let text = format!("{:#}\n", Value::Object(self.root.clone()));
        Ok(write_private_atomically(path, text.as_bytes())?)
    }

    /// Notes a run.
    pub fn add_run(&mut self, run: &ExtractionRun<'_>) {
        let version = |session: &PastSession| json!({"sessionId": session.id, "lastUpdated": session.updated.to_string()});
        let ids = run.read.iter().map(|session| session.id.as_str());
        let mut noted = json!({
            "runAt": run.at.to_string(),
            "sessionIds": ids.collect::<Vec<_>>(),
            "skillsCreated": run.skills,
            "candidateSessions": run.tried.iter().map(version).collect::<Vec<_>>(),
            "processedSessions": run.read.iter().map(version).collect::<Vec<_>>(),
            "memoryCandidatesCreated": run.memory,
            "memoryFilesUpdated": [],
            "durationMs": u64::try_from(run.took.as_millis()).unwrap_or(u64::MAX),
        });
        if let Some((turns, end)) = run.by_model {
            noted["turnCount"] = turns.into();
            noted["terminateReason"] = end.into();
        }
        match self.root.entry("runs").or_insert_with(|| json!([])) {
            Value::Array(runs) => runs.push(noted),
            broken => *broken = json!([noted]),
        }
    }

    /// When the last run was.
    pub fn last_run(&self) -> Option<Timestamp> {
        self.runs().filter_map(|run| time(run.get("runAt")?)).max()
    }

    /// True if a session was read as it is now.
    pub(crate) fn is_processed(&self, id: &str, updated: Timestamp) -> bool {
        self.runs().any(|run| match run.get("processedSessions") {
            Some(processed) => has_version(processed, id, updated),
            // Older runs only say which sessions they saw, and when.
            None => {
                let ids = run.get("sessionIds").and_then(Value::as_array).into_iter().flatten();
                let is_there = ids.filter_map(Value::as_str).any(|known| known == id);
                is_there && run.get("runAt").and_then(time).is_some_and(|at| at >= updated)
            }
        })
    }

    /// The number of tries of a session as it is now.
    pub(crate) fn attempts(&self, id: &str, updated: Timestamp) -> usize {
        let tried = self.runs().filter_map(|run| run.get("candidateSessions"));
        tried.filter(|tried| has_version(tried, id, updated)).count()
    }

    fn runs(&self) -> impl Iterator<Item = &Value> {
        self.root.get("runs").and_then(Value::as_array).into_iter().flatten()
    }
}

fn time(value: &Value) -> Option<Timestamp> {
    Timestamp::parse(value.as_str()?)
}

fn has_version(sessions: &Value, id: &str, updated: Timestamp) -> bool {
    let is_it = |session: &Value| {
        session.get("sessionId").and_then(Value::as_str) == Some(id)
            && session.get("lastUpdated").and_then(time) == Some(updated)
    };
    sessions.as_array().is_some_and(|sessions| sessions.iter().any(is_it))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(at: i64, skills: &[String]) -> ExtractionRun<'_> {
        let (at, took) = (Timestamp::from_millis(at), Duration::ZERO);
        ExtractionRun { at, tried: &[], read: &[], skills, memory: &[], took, by_model: None }
    }

    fn state(text: &str) -> ExtractionState {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state.json");
        std::fs::write(&path, text).unwrap();
        ExtractionState::load(&path).unwrap()
    }

    #[test]
    fn broken_states_are_empty_ones() {
        for text in ["", "{", "[]", "{\"runs\": 3}", "{\"runs\": [1, {\"runAt\": 2, \"sessionIds\": [3]}]}"] {
            let mut state = state(text);
            assert!(!state.is_processed("a", Timestamp::from_millis(0)), "{text}");
            state.add_run(&run(5_000, &[]));
            assert_eq!(state.last_run(), Some(Timestamp::from_millis(5_000)), "{text}");
        }
    }

    #[test]
    fn older_runs_count_until_the_session_goes_on() {
        let state = state(
            r#"{"runs": [{"runAt": "2026-01-02T00:00:00.000Z", "sessionIds": ["a", 1], "skillsCreated": []}], "x": 1}"#,
        );
        let at = |text| Timestamp::parse(text).unwrap();
        assert!(state.is_processed("a", at("2026-01-01T23:00:00.000Z")));
        assert!(!state.is_processed("a", at("2026-01-02T01:00:00.000Z")));
        assert!(!state.is_processed("b", at("2026-01-01T23:00:00.000Z")));
    }

    #[test]
    fn what_others_wrote_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/state.json");
        let mut kept = state(r#"{"later": {"a": 1}, "runs": [{"turnCount": 3}]}"#);
        kept.add_run(&run(0, &["x".into()]));
        kept.save(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(
            text.contains("\"later\"")
                && text.contains("\"turnCount\": 3")
                && text.contains("\"skillsCreated\"")
        );
        assert_eq!(ExtractionState::load(&path).unwrap(), kept);
    }
}
