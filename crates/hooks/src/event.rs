//! Hook events and their input.

use std::fmt;
use std::path::PathBuf;

use longhaul_conversation::{Timestamp, Trigger};
use serde_json::{Map, Value, json};

/// The name of a hook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventName {
    /// A session begins.
    SessionStart,
    /// A session ends.
    SessionEnd,
    /// The user has submitted a prompt.
    BeforeAgent,
    /// The agent has answered.
    AfterAgent,
    /// A request is about to be sent.
    BeforeModel,
    /// A response, or a piece of one, has arrived.
    AfterModel,
    /// The tools for a request are about to be chosen.
    BeforeToolSelection,
    /// A tool is about to run.
    BeforeTool,
    /// A tool has run.
    AfterTool,
    /// A compaction may be about to happen.
    PreCompress,
    /// The user is about to be notified.
    Notification,
}

impl EventName {
    /// Every event.
    pub const ALL: [Self; 11] = [
        Self::SessionStart,
        Self::SessionEnd,
        Self::BeforeAgent,
        Self::AfterAgent,
        Self::BeforeModel,
        Self::AfterModel,
        Self::BeforeToolSelection,
        Self::BeforeTool,
        Self::AfterTool,
        Self::PreCompress,
        Self::Notification,
    ];

    /// The name in settings and in a hook's input.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::SessionEnd => "SessionEnd",
            Self::BeforeAgent => "BeforeAgent",
            Self::AfterAgent => "AfterAgent",
            Self::BeforeModel => "BeforeModel",
            Self::AfterModel => "AfterModel",
            Self::BeforeToolSelection => "BeforeToolSelection",
            Self::BeforeTool => "BeforeTool",
            Self::AfterTool => "AfterTool",
            Self::PreCompress => "PreCompress",
            Self::Notification => "Notification",
        }
    }

    /// Parses an event name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.as_str() == name)
    }

    /// True if matchers apply to the tool's name.
    pub(crate) fn is_about_tools(self) -> bool {
        matches!(self, Self::BeforeTool | Self::AfterTool)
    }

    /// True if a hook can stop the agent or block the action.
    pub(crate) fn can_be_blocked(self) -> bool {
        matches!(
            self,
            Self::BeforeAgent
                | Self::AfterAgent
                | Self::BeforeModel
                | Self::AfterModel
                | Self::BeforeTool
                | Self::AfterTool
        )
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A hook event with its input.
#[derive(Clone, Debug, PartialEq)]
pub enum HookEvent {
    /// A session begins.
    SessionStart {
        /// The start's cause.
        source: SessionSource,
    },
    /// A session ends.
    SessionEnd {
        /// The reason.
        reason: EndReason,
    },
    /// The user has submitted a prompt.
    BeforeAgent {
        /// The user's prompt.
        prompt: String,
    },
    /// The agent has answered.
    AfterAgent {
        /// The user's prompt.
        prompt: String,
        /// The agent's answer.
        prompt_response: String,
        /// True if the answer was itself requested by such a hook.
        stop_hook_active: bool,
    },
    /// A request is about to be sent.
    BeforeModel {
        /// The request in the format of the hook protocol.
        llm_request: Value,
    },
    /// A response, or a piece of one, has arrived.
    AfterModel {
        /// The request.
        llm_request: Value,
        /// The response.
        llm_response: Value,
    },
    /// The tools for a request are about to be chosen.
    BeforeToolSelection {
        /// The request.
        llm_request: Value,
    },
    /// A tool is about to run.
    BeforeTool {
        /// The call.
        call: ToolUse,
    },
    /// A tool has run.
    AfterTool {
        /// The call.
        call: ToolUse,
        /// The tool's result.
        tool_response: Value,
    },
    /// A compaction may be about to happen.
    PreCompress {
        /// The trigger.
        trigger: Trigger,
    },
    /// The user is about to be notified.
    Notification {
        /// The kind, such as `ToolPermission`.
        notification_type: String,
        /// The message to the user.
        message: String,
        /// Additional data.
        details: Value,
    },
}

/// A tool call in a hook's input.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolUse {
    /// The tool.
    pub tool_name: String,
    /// Its arguments.
    pub tool_input: Map<String, Value>,
    /// The origin of an MCP tool.
    pub mcp_context: Option<Value>,
    /// The tool that the model called, if a hook replaced the call by this one.
    pub original_request_name: Option<String>,
}

/// The cause of a session's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSource {
    /// A new session.
    Startup,
    /// A resumed session.
    Resume,
    /// The user cleared the previous one.
    Clear,
}

impl SessionSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::Startup => "startup",
            Self::Resume => "resume",
            Self::Clear => "clear",
        }
    }
}

/// The reason for a session's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// The program ends.
    Exit,
    /// The user cleared it.
    Clear,
    /// The user logged out.
    Logout,
    /// The user ended the program from the prompt.
    PromptInputExit,
    /// Anything else.
    Other,
}

impl EndReason {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exit => "exit",
            Self::Clear => "clear",
            Self::Logout => "logout",
            Self::PromptInputExit => "prompt_input_exit",
            Self::Other => "other",
        }
    }
}

/// The word for the cause of a compaction that hooks match.
fn trigger_word(trigger: Trigger) -> &'static str {
    match trigger {
        Trigger::Forced => "manual",
        Trigger::Automatic => "auto",
    }
}

/// The input common to all events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookContext {
    /// The session's id.
    pub session_id: String,
    /// The session's log file.
    pub transcript_path: PathBuf,
    /// The working folder of the agent and of hooks.
    pub cwd: PathBuf,
    /// The current time.
    pub timestamp: Timestamp,
}

impl HookEvent {
    /// The event's name.
    pub fn name(&self) -> EventName {
        match self {
            Self::SessionStart { .. } => EventName::SessionStart,
            Self::SessionEnd { .. } => EventName::SessionEnd,
            Self::BeforeAgent { .. } => EventName::BeforeAgent,
            Self::AfterAgent { .. } => EventName::AfterAgent,
            Self::BeforeModel { .. } => EventName::BeforeModel,
            Self::AfterModel { .. } => EventName::AfterModel,
            Self::BeforeToolSelection { .. } => EventName::BeforeToolSelection,
            Self::BeforeTool { .. } => EventName::BeforeTool,
            Self::AfterTool { .. } => EventName::AfterTool,
            Self::PreCompress { .. } => EventName::PreCompress,
            Self::Notification { .. } => EventName::Notification,
        }
    }

    /// The text that matchers apply to: the tool's name or the trigger; none if the event has neither.
    pub(crate) fn trigger(&self) -> Option<&str> {
        match self {
            Self::SessionStart { source } => Some(source.as_str()),
            Self::SessionEnd { reason } => Some(reason.as_str()),
            Self::BeforeTool { call } | Self::AfterTool { call, .. } => Some(&call.tool_name),
            Self::PreCompress { trigger } => Some(trigger_word(*trigger)),
            _ => None,
        }
    }

    /// Encodes a hook's standard input.
    pub fn encode_input(&self, context: &HookContext) -> Value {
        let mut input = json!({
            "session_id": context.session_id,
            "transcript_path": context.transcript_path.to_string_lossy(),
            "cwd": context.cwd.to_string_lossy(),
            "hook_event_name": self.name().as_str(),
            "timestamp": context.timestamp.to_string(),
        });
        if let (Value::Object(input), Value::Object(own)) = (&mut input, self.own_fields()) {
            input.extend(own);
        }
        input
    }

    fn own_fields(&self) -> Value {
        match self {
            Self::SessionStart { source } => json!({"source": source.as_str()}),
            Self::SessionEnd { reason } => json!({"reason": reason.as_str()}),
            Self::BeforeAgent { prompt } => json!({"prompt": prompt}),
            Self::AfterAgent { prompt, prompt_response, stop_hook_active } => json!({
                "prompt": prompt, "prompt_response": prompt_response, "stop_hook_active": stop_hook_active
            }),
            Self::BeforeModel { llm_request } | Self::BeforeToolSelection { llm_request } => {
                json!({"llm_request": llm_request})
            }
            Self::AfterModel { llm_request, llm_response } => {
                json!({"llm_request": llm_request, "llm_response": llm_response})
            }
            Self::BeforeTool { call } => call.fields(),
            Self::AfterTool { call, tool_response } => {
                let mut fields = call.fields();
                fields["tool_response"] = tool_response.clone();
                fields
            }
            Self::PreCompress { trigger } => json!({"trigger": trigger_word(*trigger)}),
            Self::Notification { notification_type, message, details } => {
                json!({"notification_type": notification_type, "message": message, "details": details})
            }
        }
    }
}

impl ToolUse {
    fn fields(&self) -> Value {
        let mut fields = json!({"tool_name": self.tool_name, "tool_input": self.tool_input});
        if let Some(context) = &self.mcp_context {
            fields["mcp_context"] = context.clone();
        }
        if let Some(name) = &self.original_request_name {
            fields["original_request_name"] = Value::from(name.as_str());
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(event: &HookEvent, trigger: Option<&str>, own: Value) {
        let context = HookContext {
            session_id: "s".into(),
            transcript_path: "/t.jsonl".into(),
            cwd: "/w".into(),
            timestamp: Timestamp::from_millis(0),
        };
        let mut expected = json!({
            "session_id": "s", "transcript_path": "/t.jsonl", "cwd": "/w",
            "hook_event_name": event.name().as_str(), "timestamp": "1970-01-01T00:00:00.000Z"
        });
        let Value::Object(own) = own else { panic!("an object") };
        expected.as_object_mut().expect("an object").extend(own);
        assert_eq!(event.encode_input(&context), expected);
        assert_eq!(event.trigger(), trigger);
    }

    #[test]
    fn every_event_tells_what_belongs_to_it() {
        let request = json!({"model": "m", "messages": []});
        let call = ToolUse { tool_name: "glob".into(), ..ToolUse::default() };
        for (source, name) in [
            (SessionSource::Startup, "startup"),
            (SessionSource::Resume, "resume"),
            (SessionSource::Clear, "clear"),
        ] {
            check(&HookEvent::SessionStart { source }, Some(name), json!({"source": name}));
        }
        for (reason, name) in [
            (EndReason::Exit, "exit"),
            (EndReason::Clear, "clear"),
            (EndReason::Logout, "logout"),
            (EndReason::PromptInputExit, "prompt_input_exit"),
            (EndReason::Other, "other"),
        ] {
            check(&HookEvent::SessionEnd { reason }, Some(name), json!({"reason": name}));
        }
        for (trigger, name) in [(Trigger::Forced, "manual"), (Trigger::Automatic, "auto")] {
            check(&HookEvent::PreCompress { trigger }, Some(name), json!({"trigger": name}));
        }
        check(&HookEvent::BeforeAgent { prompt: "p".into() }, None, json!({"prompt": "p"}));
        check(
            &HookEvent::AfterAgent {
                prompt: "p".into(),
                prompt_response: "r".into(),
                stop_hook_active: true,
            },
            None,
            json!({"prompt": "p", "prompt_response": "r", "stop_hook_active": true}),
        );
        check(
            &HookEvent::BeforeModel { llm_request: request.clone() },
            None,
            json!({"llm_request": request}),
        );
        check(
            &HookEvent::BeforeToolSelection { llm_request: request.clone() },
            None,
            json!({"llm_request": request}),
        );
        check(
            &HookEvent::AfterModel { llm_request: request.clone(), llm_response: json!({"text": "t"}) },
            None,
            json!({"llm_request": request, "llm_response": {"text": "t"}}),
        );
        check(
            &HookEvent::BeforeTool { call: call.clone() },
            Some("glob"),
            json!({"tool_name": "glob", "tool_input": {}}),
        );
        let traced = ToolUse {
            mcp_context: Some(json!({"server_name": "web"})),
            original_request_name: Some("grep".into()),
            ..call
        };
        check(
            &HookEvent::AfterTool { call: traced, tool_response: json!({"llmContent": "x"}) },
            Some("glob"),
            json!({
                "tool_name": "glob", "tool_input": {}, "mcp_context": {"server_name": "web"},
                "original_request_name": "grep", "tool_response": {"llmContent": "x"}
            }),
        );
        let notification = HookEvent::Notification {
            notification_type: "ToolPermission".into(),
            message: "m".into(),
            details: json!({"a": 1}),
        };
        check(
            &notification,
            None,
            json!({"notification_type": "ToolPermission", "message": "m", "details": {"a": 1}}),
        );
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for event in EventName::ALL {
            assert_eq!(EventName::parse(event.as_str()), Some(event));
        }
        assert_eq!(EventName::parse("beforeTool"), None);
    }
}
