//! When an agent deletes its sessions by itself.

use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;

use crate::agent::Agent;
use crate::find::FoundSession;

/// The number of days after which Claude Code deletes a session that nothing was written to, unless set otherwise.
const CLAUDE_DAYS: i64 = 30;
const DAY: i64 = 86_400_000;

/// The periods after which agents delete sessions, read once.
#[derive(Debug, Default)]
pub struct Retention {
    claude: Vec<(PathBuf, i64)>,
}

impl Retention {
    /// The whole days until the agent deletes the session: 0 on the day it does, `None` if it never does.
    pub fn days_left(&mut self, session: &FoundSession, now: Timestamp) -> Option<i64> {
        if session.agent != Agent::Claude {
            return None;
        }
        // projects/FOLDER/ID.jsonl
        let home = session.path.ancestors().nth(3)?;
        let days = match self.claude.iter().find(|(known, _)| known == home) {
            Some((_, days)) => *days,
            None => {
                let days = claude_days(home);
                self.claude.push((home.to_path_buf(), days));
                days
            }
        };
        let deleted = session.modified.as_millis().checked_add(days.checked_mul(DAY)?)?;
        Some((deleted - now.as_millis()).div_euclid(DAY).max(0))
    }
}

fn claude_days(home: &Path) -> i64 {
    let text = std::fs::read_to_string(home.join("settings.json")).unwrap_or_default();
    let days = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|settings| settings["cleanupPeriodDays"].as_i64());
    days.filter(|days| *days >= 0).unwrap_or(CLAUDE_DAYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Head;

    #[test]
    fn the_user_sets_how_long_claude_code_keeps_sessions() {
        let home = tempfile::tempdir().expect("a folder");
        let days = |agent, age: i64| {
            let session = FoundSession {
                agent,
                path: home.path().join("projects/-w/a.jsonl"),
                size: Some(1),
                modified: Timestamp::from_millis(100 * DAY),
                head: Head::default(),
                children: Vec::new(),
            };
            Retention::default().days_left(&session, Timestamp::from_millis((100 + age) * DAY + 5))
        };
        assert_eq!(days(Agent::Claude, 0), Some(29));
        assert_eq!(days(Agent::Claude, 26), Some(3));
        assert_eq!(days(Agent::Claude, 90), Some(0));
        assert_eq!(days(Agent::Codex, 26), None);
        std::fs::write(home.path().join("settings.json"), r#"{"cleanupPeriodDays": 365}"#).expect("written");
        assert_eq!(days(Agent::Claude, 26), Some(338));
    }
}
