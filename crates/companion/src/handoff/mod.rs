//! Hands a compacted session over to an agent: writes it into that agent's own store, as a new session or at the end of one, and
//! takes it back to the byte.

mod apply;
mod claude;
mod codex;
mod note;
mod place;

use std::path::PathBuf;

use longhaul_conversation::{Message, MessageId, Timestamp};
use longhaul_formats::{Format, Session, SessionInfo, write_session};
use longhaul_wire::Loss;

use crate::install::GuardedAgent;
pub use apply::{UndoneHandoff, apply_handoff, undo_handoff};
pub use note::{HandoffNote, handoff_notes};
pub use place::session_place;

/// An error of handing a session over.
#[derive(Debug, thiserror::Error)]
pub enum HandoffError {
    /// The session to append to is no session of that agent's.
    #[error("{} is no session of {agent}", path.display())]
    OtherAgent {
        /// The file.
        path: PathBuf,
        /// The agent.
        agent: &'static str,
    },
    /// The agent's files cannot be appended to.
    #[error("{agent} keeps no file that could be appended to")]
    NotAppendable {
        /// The agent.
        agent: &'static str,
    },
    /// The agent is writing the file, or was stopped while it did.
    #[error("the last line of {} is not complete", path.display())]
    Torn {
        /// The file.
        path: PathBuf,
    },
    /// The file changed since it was read.
    #[error("{} changed meanwhile", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There is nothing that could be undone.
    #[error("no session was handed over to {agent}{}", id.as_ref().map(|id| format!(" as {id}")).unwrap_or_default())]
    NothingToUndo {
        /// The agent.
        agent: &'static str,
        /// The session that was named.
        id: Option<String>,
    },
    /// The session went on since.
    #[error("{} went on since it was handed over", path.display())]
    Grown {
        /// The file.
        path: PathBuf,
        /// The user's prompts since.
        turns: Vec<String>,
    },
    /// A file cannot be read or written.
    #[error("could not {act} {}", path.display())]
    Io {
        /// The attempt.
        act: &'static str,
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// A file cannot be locked or written.
    #[error(transparent)]
    Workspace(#[from] longhaul_workspace::WorkspaceError),
}

/// A session on its way to an agent.
#[derive(Clone, Debug)]
pub struct Handoff {
    /// The agent.
    pub agent: GuardedAgent,
    /// The session's new id; that of the session itself where it is appended to.
    pub id: String,
    /// The folder in which it goes on.
    pub directory: PathBuf,
    /// The text that is written.
    pub change: HandoffChange,
    /// Losses: what the agent's format cannot hold.
    pub lost: Vec<Loss>,
}

/// The text that is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandoffChange {
    /// A new file.
    Create {
        /// The file.
        path: PathBuf,
        /// Its text.
        text: String,
    },
    /// Lines at the end of a session's file.
    Append {
        /// The file.
        path: PathBuf,
        /// Its size before, in bytes.
        before: u64,
        /// The lines.
        text: String,
    },
}

/// The target of a session: its new id, its folder and the time.
#[derive(Clone, Debug)]
pub struct HandoffTarget {
    /// The agent.
    pub agent: GuardedAgent,
    /// The new id: a UUID, of version 7 for Codex.
    pub id: String,
    /// The folder in which the session goes on.
    pub directory: PathBuf,
    /// The time of the hand-over.
    pub at: Timestamp,
    /// The version of the agent that is installed, where it is known.
    pub version: Option<String>,
    /// The provider and model that the agent uses, where it needs them named.
    pub model: Option<String>,
}

/// Plans a new session of the agent's in this file. The messages of the session are taken out of it; `new_id` gives them ids.
pub fn plan_handoff(
    session: &mut Session,
    target: &HandoffTarget,
    path: PathBuf,
    mut new_id: impl FnMut() -> String,
) -> Handoff {
    let messages = renamed(session.transcript.take_messages(), &mut new_id);
    let mut given = as_of(session, target, messages);
    let mut written = write_session(target.agent.session_format(), &mut given);
    if target.agent == GuardedAgent::Claude {
        written.text = claude::with_version(&written.text, target.version.as_deref());
    }
    let change = HandoffChange::Create { path, text: written.text };
    Handoff {
        agent: target.agent,
        id: given.info.session_id.unwrap_or_default(),
        directory: target.directory.clone(),
        change,
        lost: written.lost,
    }
}

/// Plans to append a compacted conversation to the session's own file, of which these are the bytes.
///
/// # Errors
/// If the agent's files cannot be appended to, or this one is not complete.
pub fn plan_append(
    session: &mut Session,
    target: &HandoffTarget,
    path: PathBuf,
    bytes: &[u8],
    mut new_id: impl FnMut() -> String,
) -> Result<Handoff, HandoffError> {
    let agent = target.agent;
    if !matches!(agent, GuardedAgent::Claude | GuardedAgent::Codex) {
        return Err(HandoffError::NotAppendable { agent: agent.title() });
    }
    if session.info.format != agent.session_format() {
        return Err(HandoffError::OtherAgent { path, agent: agent.title() });
    }
    if bytes.last() != Some(&b'\n') {
        return Err(HandoffError::Torn { path });
    }
    let id = session.info.session_id.clone().unwrap_or_default();
    let messages = renamed(session.transcript.take_messages(), &mut new_id);
    let (text, lost) = match agent {
        GuardedAgent::Codex => (codex::appended(&messages, bytes, target.at), Vec::new()),
        _ => {
            let mut given = as_of(session, target, messages);
            given.info.session_id = Some(id.clone());
            given.info.title = None;
            let written = write_session(Format::ClaudeCode, &mut given);
            let text = claude::with_version(&written.text, target.version.as_deref());
            (claude::appended(&text, bytes, target.at, &new_id()), written.lost)
        }
    };
    let change = HandoffChange::Append { path, before: bytes.len() as u64, text };
    Ok(Handoff { agent, id, directory: target.directory.clone(), change, lost })
}

/// The session as the target's own: its id, folder and time.
fn as_of(session: &Session, target: &HandoffTarget, messages: Vec<Message>) -> Session {
    let info = SessionInfo {
        session_id: Some(target.id.clone()),
        directory: Some(target.directory.display().to_string()),
        started: Some(target.at),
        ended: Some(target.at),
        chosen_model: target.model.clone(),
        request_fields: None,
        ..session.info.clone()
    };
    // What another agent's model was called is no model of this one's.
    let is_renamed = target.model.is_some();
    let messages = messages.into_iter().map(|message| match is_renamed {
        true => Message { model: None, ..message },
        false => message,
    });
    let transcript = session.transcript.clone().with_messages(messages);
    Session { info, transcript, side_chains: Vec::new(), warnings: Vec::new() }
}

/// Messages with ids that no other session has.
fn renamed(messages: Vec<Message>, new_id: &mut impl FnMut() -> String) -> Vec<Message> {
    messages.into_iter().map(|message| Message { id: MessageId::new(new_id()), ..message }).collect()
}

impl GuardedAgent {
    /// The format of the agent's sessions.
    pub fn session_format(self) -> Format {
        match self {
            Self::Claude => Format::ClaudeCode,
            Self::Codex => Format::Codex,
            Self::Gemini => Format::GeminiJsonl,
            Self::Opencode => Format::OpenCode,
        }
    }

    /// The command that continues a session of this id.
    pub fn resume_command(self, id: &str) -> String {
        match self {
            Self::Claude => format!("claude --resume {id}"),
            Self::Codex => format!("codex resume {id}"),
            Self::Gemini => format!("gemini --resume {id}"),
            Self::Opencode => format!("opencode -s {id}"),
        }
    }
}

#[cfg(test)]
mod tests;
