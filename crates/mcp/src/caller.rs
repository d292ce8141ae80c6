//! The session of the caller, as far as its client tells.

use longhaul_stores::Agent;
use serde_json::{Map, Value};

use crate::library::{KnownSession, Library};

/// The variables by which a client names its session; only Claude Code sets one.
#[derive(Clone, Debug, Default)]
pub struct CallerEnvironment {
    /// `CLAUDE_CODE_SESSION_ID`.
    pub claude_session: Option<String>,
}

/// What is known about the caller of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The id of its session.
    pub(crate) session: Option<String>,
    /// The agent whose client calls.
    pub(crate) agent: Option<Agent>,
}

impl Caller {
    /// The caller, from the environment, the request's `_meta` and the client's name.
    pub(crate) fn of(
        environment: &CallerEnvironment,
        meta: &Map<String, Value>,
        client: Option<&str>,
    ) -> Self {
        if let Some(session) = codex_session(meta) {
            return Self { session: Some(session), agent: Some(Agent::Codex) };
        }
        let client = client.unwrap_or_default().to_lowercase();
        let words = client.split(|letter: char| !letter.is_ascii_alphanumeric());
        let agent = words.filter_map(Agent::from_word).next();
        match &environment.claude_session {
            // A client that Claude Code's shell started inherits the variable without being Claude Code.
            Some(session) if agent.is_none_or(|agent| agent == Agent::Claude) => {
                Self { session: Some(session.clone()), agent: Some(Agent::Claude) }
            }
            _ => Self { session: None, agent },
        }
    }

    /// Its session among those on disk: the one it names, else the one its agent used last in this folder.
    pub(crate) fn find<'l>(&self, library: &'l Library) -> Option<&'l KnownSession> {
        if let Some(id) = &self.session {
            return library.sessions().iter().find(|session| session.id == *id);
        }
        let agent = self.agent?;
        library.sessions().iter().find(|session| session.is_here && is_written_by(session.agent, agent))
    }
}

/// True if an agent writes this kind of session: Gemini CLI and Longhaul continue each other's.
fn is_written_by(session: Agent, agent: Agent) -> bool {
    let kind = |agent: Agent| if agent == Agent::Longhaul { Agent::Gemini } else { agent };
    kind(session) == kind(agent)
}

/// The session id in the `_meta` of Codex's requests, whose value may be an object or JSON text.
fn codex_session(meta: &Map<String, Value>) -> Option<String> {
    let turn = meta.get("x-codex-turn-metadata")?;
    let parsed;
    let turn = match turn {
        Value::String(text) => {
            parsed = serde_json::from_str::<Value>(text).ok()?;
            &parsed
        }
        turn => turn,
    };
    Some(turn.get("session_id")?.as_str()?.to_string()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(claude: Option<&str>, meta: &Value, client: &str, session: Option<&str>, agent: Option<Agent>) {
        let environment = CallerEnvironment { claude_session: claude.map(str::to_string) };
        let found = Caller::of(&environment, meta.as_object().expect("an object"), Some(client));
        assert_eq!(found, Caller { session: session.map(str::to_string), agent });
    }

    #[test]
    fn each_client_names_its_session_in_its_own_way() {
        check(Some("c1"), &json!({}), "claude-code", Some("c1"), Some(Agent::Claude));
        check(Some("c1"), &json!({}), "", Some("c1"), Some(Agent::Claude));
        check(
            None,
            &json!({"x-codex-turn-metadata": {"session_id": "x1"}}),
            "codex-mcp-client",
            Some("x1"),
            Some(Agent::Codex),
        );
        check(
            None,
            &json!({"x-codex-turn-metadata": "{\"session_id\":\"x1\"}"}),
            "codex",
            Some("x1"),
            Some(Agent::Codex),
        );
        check(None, &json!({"x-codex-turn-metadata": "oops"}), "codex", None, Some(Agent::Codex));
        check(None, &json!({}), "gemini-cli-mcp-client", None, Some(Agent::Gemini));
        check(None, &json!({}), "opencode", None, Some(Agent::Opencode));
        check(None, &json!({}), "Cursor", None, Some(Agent::Cursor));
        check(None, &json!({}), "spinner", None, None);
        // Gemini CLI in a shell of Claude Code.
        check(Some("c1"), &json!({}), "gemini-cli-mcp-client", None, Some(Agent::Gemini));
    }
}
