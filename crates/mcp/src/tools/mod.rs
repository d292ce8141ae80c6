//! The tools of the server: a table of declarations, and one file for each answer.

mod inspect;
mod read;
mod recall;
mod remember;
mod rule;
mod sessions;
mod skills;
mod state;
mod why;

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::arguments::Arguments;
use crate::caller::Caller;
use longhaul_app::found::Reach;

use crate::library::{KnownSession, Library, agent_words};
use crate::page::{LONGEST_ANSWER, page};

/// A tool of the server.
pub(crate) struct ServerTool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    /// Its first sentence must do alone: some clients show no more.
    pub(crate) description: &'static str,
    pub(crate) is_read_only: bool,
    /// Clients that load schemas late load this one at once.
    pub(crate) is_essential: bool,
    /// Names, schemas and notes of its own arguments; `offset` is added.
    arguments: fn() -> Value,
    required: &'static [&'static str],
    answer: fn(&Request, &mut Arguments) -> Result<String, String>,
}

/// One call: who asks, and where.
pub(crate) struct Request {
    pub(crate) caller: Caller,
    /// The folder of the client.
    pub(crate) folder: PathBuf,
}

impl Request {
    pub(crate) fn library(&self, reach: Reach) -> Library {
        Library::load(reach, &self.folder)
    }

    /// The session that an argument names, else the caller's.
    pub(crate) fn session(&self, named: Option<&str>) -> Result<(Library, KnownSession), String> {
        for reach in [Reach::Project, Reach::Everything] {
            let library = self.library(reach);
            let found = match named {
                Some(id) => library.find(id).cloned(),
                None => self.caller.find(&library).cloned().ok_or_else(|| self.unknown_caller()),
            };
            match found {
                Ok(session) => return Ok((library, session)),
                Err(problem) if reach == Reach::Everything => return Err(problem),
                Err(_) => {}
            }
        }
        Err(self.unknown_caller())
    }

    fn unknown_caller(&self) -> String {
        match &self.caller.session {
            Some(id) => format!(
                "this conversation ({id}) is not on disk yet, or not where its agent usually keeps it: pass session, as listed by sessions"
            ),
            None => {
                "your client does not say which conversation this is: pass session, as listed by sessions"
                    .into()
            }
        }
    }
}

/// Every tool, in the order in which clients list them.
pub(crate) static TOOLS: [ServerTool; 9] = [
    ServerTool {
        name: "recall",
        title: "Recall",
        description: "Search everything said and done in earlier sessions of this project, including what was compacted away: \
                      user's words, answers, commands, tool output. Call it before you ask the user again or redo work.",
        is_read_only: true,
        is_essential: true,
        arguments: || {
            json!({
                "query": {"type": "string", "description": "Words, a \"quoted phrase\", a path, an error message."},
                "scope": {"type": "string", "enum": ["project", "session", "all"], "description":
                    "project (default): earlier sessions of this folder. session: this conversation, including what was compacted away. all: every folder."},
                "agent": {"type": "string", "enum": agent_words(), "description": "Sessions of this agent only."},
                "since": {"type": "string", "description": "Only what is newer: a date (2026-08-04) or an age (12h, 7d, 3w)."},
                "kind": {"type": "string", "enum": ["user", "model", "call", "output"], "description":
                    "user: words the user typed. model: answers. call: tool calls. output: tool results."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 20, "description": "Most hits; 5 by default."},
            })
        },
        required: &["query"],
        answer: recall::answer,
    },
    ServerTool {
        name: "read",
        title: "Read a message",
        description: "Read one recorded message whole, by the reference that recall and state give (3f2a81c0:m73), with neighbours if wanted.",
        is_read_only: true,
        is_essential: false,
        arguments: || {
            json!({
                "ref": {"type": "string", "description": "SESSION:mNUMBER, or mNUMBER of this conversation."},
                "around": {"type": "integer", "minimum": 0, "maximum": 20, "description": "Neighbouring messages before and after; 0 by default."},
                "max_chars": {"type": "integer", "minimum": 200, "maximum": LONGEST_ANSWER, "description": "Most characters of the answer; 6000 by default."},
            })
        },
        required: &["ref"],
        answer: read::answer,
    },
    ServerTool {
        name: "state",
        title: "State of a session",
        description: "Show where a conversation stands: the user's standing rules, open requests, files changed, commands, failing \
                      tests, and what the last compaction dropped. Call it after a compaction or on resuming.",
        is_read_only: true,
        is_essential: true,
        arguments: || json!({"session": {"type": "string", "description": "Id of a session; this conversation by default."}}),
        required: &[],
        answer: state::answer,
    },
    ServerTool {
        name: "sessions",
        title: "Recorded sessions",
        description: "List recorded sessions of coding agents, newest first, with titles and the command that resumes each.",
        is_read_only: true,
        is_essential: false,
        arguments: || {
            json!({
                "query": {"type": "string", "description": "Words that the title must contain."},
                "scope": {"type": "string", "enum": ["project", "all"], "description": "project (default): this folder. all: every folder."},
                "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "Most sessions; 10 by default."},
            })
        },
        required: &[],
        answer: sessions::answer,
    },
    ServerTool {
        name: "inspect",
        title: "Token use",
        description: "Show where a session's tokens are: by kind, tool, file and message, against the context window.",
        is_read_only: true,
        is_essential: false,
        arguments: || json!({"session": {"type": "string", "description": "Id of a session; this conversation by default."}}),
        required: &[],
        answer: inspect::answer,
    },
    ServerTool {
        name: "why",
        title: "Memory files of a path",
        description: "Explain which memory files (GEMINI.md, AGENTS.md, CLAUDE.md) hold for a file or folder, and why others do not.",
        is_read_only: true,
        is_essential: false,
        arguments: || json!({"path": {"type": "string", "description": "File or folder; need not exist."}}),
        required: &["path"],
        answer: why::answer,
    },
    ServerTool {
        name: "skills",
        title: "Skills",
        description: "List the procedures (skills) available here, or read one by name.",
        is_read_only: true,
        is_essential: false,
        arguments: || json!({"name": {"type": "string", "description": "Name of a skill, to read it whole."}}),
        required: &[],
        answer: skills::answer,
    },
    ServerTool {
        name: "remember",
        title: "Propose to remember",
        description: "Propose one fact for the user's memory; it waits in their inbox until they accept it. Needs the words the user \
                      typed that show it. Secrets are refused.",
        is_read_only: false,
        is_essential: false,
        arguments: || {
            json!({
                "fact": {"type": "string", "description": "The fact, in one sentence."},
                "quote": {"type": "string", "description": "The user's own words that show it, verbatim, as typed in the session."},
                "scope": {"type": "string", "enum": ["project", "global"], "description": "project (default): here only. global: in every project."},
                "session": {"type": "string", "description": "Session in which the user said it; this conversation by default."},
            })
        },
        required: &["fact", "quote"],
        answer: remember::answer,
    },
    ServerTool {
        name: "rule",
        title: "Keep a rule",
        description: "Keep a standing instruction of the user's so that it outlives compactions. Takes only a whole sentence that \
                      the user typed, verbatim.",
        is_read_only: false,
        is_essential: false,
        arguments: || {
            json!({
                "text": {"type": "string", "description": "The user's sentence, verbatim and whole."},
                "ref": {"type": "string", "description": "The message it was typed in: SESSION:mNUMBER, mNUMBER, or a session's id; this conversation by default."},
            })
        },
        required: &["text"],
        answer: rule::answer,
    },
];

impl ServerTool {
    /// Its schema.
    pub(crate) fn schema(&self) -> Map<String, Value> {
        let mut properties = (self.arguments)();
        properties["offset"] = json!({
            "type": "integer", "minimum": 0, "description": "Character at which the answer goes on, as the previous one said."
        });
        let schema = json!({
            "type": "object", "properties": properties, "required": self.required, "additionalProperties": false,
        });
        schema.as_object().cloned().unwrap_or_default()
    }

    /// Answers a call with a page of text, or says why not.
    pub(crate) fn answer(
        &self,
        request: &Request,
        arguments: Option<Map<String, Value>>,
    ) -> Result<String, String> {
        let mut arguments = Arguments::new(arguments);
        let offset = arguments.number("offset", 0, usize::MAX)?;
        let limit = match self.name {
            "read" => arguments.number("max_chars", 6_000, LONGEST_ANSWER)?.max(200),
            _ => LONGEST_ANSWER,
        };
        let text = (self.answer)(request, &mut arguments)?;
        arguments.finish()?;
        page(&text, offset, limit)
    }
}

/// A session and a message number from `SESSION:m12`, `m12` or `SESSION`.
pub(crate) fn parse_reference(
    text: &str,
) -> Result<(Option<&str>, Option<longhaul_conversation::Ordinal>), String> {
    let text = text.trim().trim_start_matches('[').trim_end_matches(']');
    let number = |text: &str| -> Option<longhaul_conversation::Ordinal> {
        let number: u32 = text.strip_prefix('m')?.parse().ok()?;
        (number > 0).then_some(longhaul_conversation::Ordinal(number))
    };
    let wrong = || format!("{text:?} is no reference: use SESSION:mNUMBER, such as 3f2a81c0:m73");
    match text.rsplit_once(':') {
        Some((session, message)) if !session.is_empty() => {
            Ok((Some(session), Some(number(message).ok_or_else(wrong)?)))
        }
        Some(_) => Err(wrong()),
        None if text.is_empty() => Err(wrong()),
        None => match number(text) {
            Some(number) => Ok((None, Some(number))),
            None => Ok((Some(text), None)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::Ordinal;

    #[test]
    fn references_name_a_session_a_message_or_both() {
        assert_eq!(parse_reference("3f2a:m73"), Ok((Some("3f2a"), Some(Ordinal(73)))));
        assert_eq!(parse_reference("[m7]"), Ok((None, Some(Ordinal(7)))));
        assert_eq!(parse_reference("3f2a81c0"), Ok((Some("3f2a81c0"), None)));
        for wrong in ["", ":m3", "3f2a:", "3f2a:73", "3f2a:m0", "3f2a:mx"] {
            assert!(parse_reference(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn declarations_are_complete_and_short() {
        for tool in &TOOLS {
            let schema = tool.schema();
            let properties = schema["properties"].as_object().expect("an object");
            assert!(tool.required.iter().all(|name| properties.contains_key(*name)), "{}", tool.name);
            assert!(
                properties
                    .values()
                    .all(|value| value["type"].is_string() && value["description"].is_string())
            );
            assert!(tool.description.len() < 300, "{}", tool.name);
        }
        // What a client without late loading pays for every request.
        let all: usize = TOOLS
            .iter()
            .map(|tool| tool.description.len() + Value::Object(tool.schema()).to_string().len())
            .sum();
        assert!(all < 6_500, "{all} bytes");
    }
}
