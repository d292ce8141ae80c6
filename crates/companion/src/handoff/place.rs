//! The places of new sessions in the agents' own stores.

use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;

use crate::install::{AgentPlaces, GuardedAgent};

/// The folder of a project's sessions in Claude Code's store.
fn claude_folder(claude: &Path, project: &Path) -> PathBuf {
    let name: String = project
        .to_string_lossy()
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .collect();
    claude.join("projects").join(name)
}

/// The file of a new session. `chats` is the folder in which Gemini CLI keeps those of this project; what opencode is to import
/// lies among our own notes.
pub fn session_place(
    agent: GuardedAgent,
    places: &AgentPlaces,
    chats: &Path,
    directory: &Path,
    id: &str,
    at: Timestamp,
) -> PathBuf {
    let at = at.to_string();
    let (day, minute) =
        (at.get(..10).unwrap_or_default(), at.get(..16).unwrap_or_default().replace(':', "-"));
    match agent {
        GuardedAgent::Claude => claude_folder(&places.claude, directory).join(format!("{id}.jsonl")),
        GuardedAgent::Codex => {
            let second = at.get(..19).unwrap_or_default().replace(':', "-");
            let folder = day.split('-').fold(places.codex.join("sessions"), |folder, part| folder.join(part));
            folder.join(format!("rollout-{second}-{id}.jsonl"))
        }
        GuardedAgent::Gemini => chats.join(format!("session-{minute}-{}.jsonl", id.get(..8).unwrap_or(id))),
        GuardedAgent::Opencode => places.notes.join("opencode").join(format!("{id}.json")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_finds_its_sessions() {
        let places = AgentPlaces {
            claude: "/h/.claude".into(),
            codex: "/h/.codex".into(),
            gemini: "/h/.gemini".into(),
            opencode: "/h/.config/opencode".into(),
            project: "/w".into(),
            notes: "/n".into(),
        };
        let at = Timestamp::parse("2026-01-02T03:04:05.678Z").expect("a time");
        let id = "0199a213-81c0-7800-8aa1-bbab2a035a53";
        let place = |agent| {
            let place = session_place(agent, &places, Path::new("/c"), Path::new("/w/a_b.c"), id, at);
            place.display().to_string()
        };
        assert_eq!(place(GuardedAgent::Claude), format!("/h/.claude/projects/-w-a-b-c/{id}.jsonl"));
        assert_eq!(
            place(GuardedAgent::Codex),
            format!("/h/.codex/sessions/2026/01/02/rollout-2026-01-02T03-04-05-{id}.jsonl")
        );
        assert_eq!(place(GuardedAgent::Gemini), "/c/session-2026-01-02T03-04-0199a213.jsonl");
        assert_eq!(place(GuardedAgent::Opencode), format!("/n/opencode/{id}.json"));
    }
}
