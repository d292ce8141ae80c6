//! The dependencies that an application brings for its agent: models, tools, hooks, approvals, the clock.

use std::path::Path;
use std::time::Duration;

use longhaul_compaction::HostJob;
use longhaul_conversation::{Message, Model, Part, Role, Timestamp};
use longhaul_engine::{CalibrationFile, Counter, Files, Offline, RecordId, Summariser, append_telemetry};
use longhaul_hooks::EventName;
use longhaul_tools::{Checkpoints, Tool, ToolSource};
use serde_json::Value;

use crate::approval::{Approver, DenyAll};
use crate::event::Event;
use crate::hooks::HookPoints;
use crate::memory::MemoryManager;
use crate::models::{LoopJudges, ModelSource, Router};
use crate::side_model::SideModel;
use crate::subagents::Subagents;
use crate::tools::ActiveSkills;
use crate::turn::AgentView;

/// The dependencies of an agent. Nothing here is part of a session: the next turn may bring others.
#[derive(Clone, Copy)]
pub struct AgentDeps<'a> {
    /// The model that answers.
    pub model: &'a dyn Model,
    /// Writes snapshots.
    pub summariser: &'a dyn Summariser,
    /// Saves texts that compactions leave out, and tool outputs that are too long.
    pub files: &'a dyn Files,
    /// Counts tokens exactly, where a setting asks for it.
    pub counter: Option<&'a dyn Counter>,
    /// The file that gets a line for each compaction and each shortened output, with figures and no text.
    pub telemetry: Option<&'a Path>,
    /// Keeps what is learned about the model's way of counting.
    pub calibration: Option<&'a CalibrationFile>,
    /// The tools that the model may call, beside those that the agent itself answers.
    pub tools: &'a [Box<dyn Tool>],
    /// More tools, which may come while a turn runs: those of MCP servers.
    pub servers: Option<&'a dyn ToolSource>,
    /// The agents that the model may hand tasks to.
    pub subagents: &'a Subagents,
    /// Keeps memory files, in place of the tool that saves facts.
    pub manager: Option<&'a MemoryManager>,
    /// Finds the models that sub-agents ask for, where there are others.
    pub models: Option<&'a dyn ModelSource>,
    /// Asks the user.
    pub approver: &'a dyn Approver,
    /// The user's hooks.
    pub hooks: Option<HookPoints<'a>>,
    /// Answers small questions beside the conversation.
    pub side_model: Option<SideModel<'a>>,
    /// Judge, now and then in a long turn, whether it makes progress.
    pub judges: Option<LoopJudges<'a>>,
    /// Chooses the model for each prompt, where the user leaves that open.
    pub router: Option<Router<'a>>,
    /// The file in which an editor's plug-in writes what the user has open.
    pub editor: Option<&'a Path>,
    /// Reads how much memory the program takes, in bytes, where that is known.
    pub memory_use: &'a (dyn Fn() -> Option<u64> + Send + Sync),
    /// Lists the jobs that run in the background.
    pub jobs: &'a (dyn Fn() -> Vec<HostJob> + Send + Sync),
    /// The skills that were activated.
    pub skills: Option<&'a ActiveSkills>,
    /// The content of files before tools changed them, where that is kept.
    pub checkpoints: Option<&'a Checkpoints>,
    /// Receives the events of a turn.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    /// Is shown the agent before each request of a turn.
    pub observer: &'a (dyn Fn(AgentView<'_>) + Send + Sync),
    /// The clock.
    pub now: &'a (dyn Fn() -> Timestamp + Send + Sync),
    /// Makes ids that were never used before.
    pub new_id: &'a (dyn Fn() -> String + Send + Sync),
}

impl<'a> AgentDeps<'a> {
    /// Dependencies with a model and a place for files; snapshots are written offline, there are no tools, every approval is
    /// denied and nobody receives events.
    pub fn new(
        model: &'a dyn Model,
        files: &'a dyn Files,
        now: &'a (dyn Fn() -> Timestamp + Send + Sync),
        new_id: &'a (dyn Fn() -> String + Send + Sync),
    ) -> Self {
        Self {
            model,
            summariser: &Offline,
            files,
            counter: None,
            telemetry: None,
            calibration: None,
            tools: &[],
            servers: None,
            subagents: Subagents::NONE,
            manager: None,
            models: None,
            approver: &DenyAll,
            hooks: None,
            side_model: None,
            judges: None,
            router: None,
            editor: None,
            memory_use: &|| None,
            jobs: &Vec::new,
            skills: None,
            checkpoints: None,
            events: &|_| {},
            observer: &|_| {},
            now,
            new_id,
        }
    }

    /// Emits an event.
    pub(crate) fn emit(&self, event: Event) {
        (self.events)(event);
    }

    /// Emits a warning for the user.
    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.emit(Event::Warning(text.into()));
    }

    /// A new id and the time, for a record.
    pub(crate) fn stamp(&self) -> RecordId {
        RecordId { id: (self.new_id)(), at: (self.now)() }
    }

    /// A new message of these parts.
    pub(crate) fn message(&self, role: Role, parts: Vec<Part>) -> Message {
        Message { at: Some((self.now)()), ..Message::new((self.new_id)(), role, parts) }
    }

    /// The time since some fixed moment, to measure durations with.
    pub(crate) fn clock(&self) -> Duration {
        Duration::from_millis(u64::try_from((self.now)().as_millis()).unwrap_or_default())
    }

    /// `true` if any hook is configured for an event.
    pub(crate) fn has_hook(&self, event: EventName) -> bool {
        self.hooks.is_some_and(|points| points.hooks.has(event))
    }

    /// Writes records to the telemetry file, if there is one.
    pub(crate) fn write_telemetry(&self, records: &[Value]) {
        if let Some(path) = self.telemetry
            && let Err(error) = append_telemetry(path, records)
        {
            self.warn(error.to_string());
        }
    }
}
