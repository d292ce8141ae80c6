//! Reads what an agent tells a hook on standard input, and finds out which agent it is.

use std::path::PathBuf;

use serde_json::Value;

/// One call of a hook by an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    /// The agent's way of speaking.
    pub dialect: HookDialect,
    /// The event.
    pub moment: HookMoment,
    /// The file of the session, where the agent names one.
    pub transcript: Option<PathBuf>,
    /// The id of the session.
    pub session: Option<String>,
    /// The folder that the agent works in.
    pub directory: Option<PathBuf>,
}

/// The agents whose hooks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookDialect {
    /// Claude Code, and agents that speak as it does.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode, by our plug-in.
    Opencode,
}

/// The events that matter to the guard.
#[derive(Clone, Debug, PartialEq)]
pub enum HookMoment {
    /// A new session starts.
    Started,
    /// The agent has compacted the conversation; what is added now stands in the next request.
    Compacted,
    /// A session goes on that may have been compacted before.
    Resumed,
    /// The user sent a prompt.
    Prompted,
    /// The agent is about to compact the conversation.
    BeforeCompaction,
    /// The agent is about to send this request to its model, as Gemini CLI describes it.
    BeforeRequest(Value),
    /// The agent is about to send a request that begins with this compaction of its own, as opencode names it.
    BehindCompaction(String),
    /// The agent has ended its turn, or the session ends.
    TurnEnded,
    /// Anything else.
    Other,
}

impl HookCall {
    /// Reads the JSON of a hook. None for what is no call of a hook.
    pub fn parse(input: &str) -> Option<Self> {
        let mut input: Value = serde_json::from_str(input).ok()?;
        let text = |key: &str| input.get(key).and_then(Value::as_str).map(str::to_string);
        let event = text("hook_event_name")?;
        let transcript = text("transcript_path").filter(|path| !path.is_empty()).map(PathBuf::from);
        let dialect = dialect_of(&event, &input, transcript.as_deref());
        let (session, directory) = (text("session_id"), text("cwd").map(PathBuf::from));
        let moment = match (event.as_str(), text("source").as_deref()) {
            ("SessionStart", Some("compact")) => HookMoment::Compacted,
            ("SessionStart", Some("resume" | "fork")) => HookMoment::Resumed,
            ("UserPromptSubmit", _) => HookMoment::Prompted,
            ("SessionStart", Some("startup")) => HookMoment::Started,
            ("PreCompact" | "SessionCompacting", _) => HookMoment::BeforeCompaction,
            ("MessagesTransform", _) => {
                text("compaction").map_or(HookMoment::Other, HookMoment::BehindCompaction)
            }
            ("Stop" | "SessionEnd" | "AfterAgent" | "SessionIdle", _) => HookMoment::TurnEnded,
            ("BeforeModel", _) => input
                .get_mut("llm_request")
                .map_or(HookMoment::Other, |it| HookMoment::BeforeRequest(it.take())),
            _ => HookMoment::Other,
        };
        Some(Self { dialect, moment, transcript, session, directory })
    }
}

/// Tells agents apart by what only one of them sends.
fn dialect_of(event: &str, input: &Value, transcript: Option<&std::path::Path>) -> HookDialect {
    let file = transcript.and_then(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned());
    let is_rollout = file.is_some_and(|name| name.starts_with("rollout-"));
    match event {
        _ if input.get("agent").and_then(Value::as_str) == Some("opencode") => HookDialect::Opencode,
        "BeforeModel" | "AfterModel" | "BeforeAgent" | "AfterAgent" | "PreCompress" | "BeforeTool"
        | "AfterTool" => HookDialect::Gemini,
        _ if file_is_chat(transcript) => HookDialect::Gemini,
        _ if is_rollout || input.get("turn_id").is_some() => HookDialect::Codex,
        _ => HookDialect::Claude,
    }
}

/// True for a file where Gemini CLI keeps its sessions.
fn file_is_chat(transcript: Option<&std::path::Path>) -> bool {
    transcript.and_then(|path| path.parent()).is_some_and(|folder| folder.ends_with("chats"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &Option<(HookDialect, HookMoment)>) {
        let seen = HookCall::parse(input).map(|call| (call.dialect, call.moment));
        assert_eq!(seen, *expected, "{input}");
    }

    #[test]
    fn calls_are_told_apart_by_their_fields() {
        use HookDialect::{Claude, Codex, Gemini};
        let claude = r#"{"session_id":"s","transcript_path":"/h/.claude/projects/a/s.jsonl","cwd":"/a","prompt_id":"p","#;
        check(
            &format!(r#"{claude}"hook_event_name":"SessionStart","source":"compact"}}"#),
            &Some((Claude, HookMoment::Compacted)),
        );
        check(
            &format!(r#"{claude}"hook_event_name":"SessionStart","source":"startup"}}"#),
            &Some((Claude, HookMoment::Started)),
        );
        check(&format!(r#"{claude}"hook_event_name":"Stop"}}"#), &Some((Claude, HookMoment::TurnEnded)));
        check(
            r#"{"agent":"opencode","hook_event_name":"MessagesTransform","session_id":"ses_1","compaction":"msg_2"}"#,
            &Some((HookDialect::Opencode, HookMoment::BehindCompaction("msg_2".into()))),
        );
        check(
            r#"{"agent":"opencode","hook_event_name":"SessionIdle","session_id":"ses_1"}"#,
            &Some((HookDialect::Opencode, HookMoment::TurnEnded)),
        );
        check(
            r#"{"hook_event_name":"SessionEnd","transcript_path":"/h/.gemini/tmp/a/chats/session-1.jsonl"}"#,
            &Some((Gemini, HookMoment::TurnEnded)),
        );
        check(
            &format!(r#"{claude}"hook_event_name":"PreCompact","trigger":"auto"}}"#),
            &Some((Claude, HookMoment::BeforeCompaction)),
        );
        let codex = r#"{"session_id":"s","transcript_path":"/h/.codex/sessions/2026/01/02/rollout-a.jsonl","#;
        check(
            &format!(r#"{codex}"hook_event_name":"SessionStart","source":"compact","model":"m"}}"#),
            &Some((Codex, HookMoment::Compacted)),
        );
        check(
            r#"{"turn_id":"t","transcript_path":null,"hook_event_name":"UserPromptSubmit","prompt":"x"}"#,
            &Some((Codex, HookMoment::Prompted)),
        );
        check(
            r#"{"hook_event_name":"BeforeModel","transcript_path":"/x","llm_request":{"messages":[]}}"#,
            &Some((Gemini, HookMoment::BeforeRequest(serde_json::json!({"messages": []})))),
        );
        check(r#"{"hook_event_name":"BeforeModel"}"#, &Some((Gemini, HookMoment::Other)));
    }

    #[test]
    fn what_is_no_call_is_none() {
        for input in ["", "hello", "[]", "{}", r#"{"hook_event_name":7}"#, "null"] {
            check(input, &None);
        }
    }
}
