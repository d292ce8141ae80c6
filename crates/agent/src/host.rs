//! What a host brings so that turns can be carried out.

use std::path::Path;
use std::time::Duration;

use longhaul_compaction::HostJob;
use longhaul_conversation::{Message, Model, Part, Role, Timestamp};
use longhaul_engine::{CalibrationFile, Counter, Files, Offline, RecordId, Summariser};
use longhaul_hooks::{HookEnvironment, Hooks};
use longhaul_tools::Tool;

use crate::{
    ActiveSkills, Approver, Event, Helper, Judges, MemoryManager, ModelProfile, Nobody, Router, Subagents,
};

/// What a host brings so that turns can be carried out.
#[derive(Clone, Copy)]
pub struct Host<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Writes snapshots.
    pub summariser: &'a dyn Summariser,
    /// Saves texts that compactions leave out, and tool outputs that are too long.
    pub files: &'a dyn Files,
    /// Counts exactly, where a setting asks for it.
    pub counter: Option<&'a dyn Counter>,
    /// Where a line is written for each compaction and each shortened output, with figures and no text.
    pub telemetry: Option<&'a Path>,
    /// Keeps what is learned about the model's way of counting.
    pub calibration: Option<&'a CalibrationFile>,
    /// What the model may call, beside what the agent itself answers.
    pub tools: &'a [Box<dyn Tool>],
    /// The agents that the model may hand tasks to.
    pub subagents: &'a Subagents,
    /// Keeps memory files, in the place of the tool that saves facts.
    pub manager: Option<&'a MemoryManager>,
    /// Finds the models that sub-agents ask for, where there are others.
    pub models: Option<&'a dyn ModelSource>,
    /// Whoever can be asked.
    pub approver: &'a dyn Approver,
    /// The user's commands that take part.
    pub hooks: Option<HookPoints<'a>>,
    /// Answers small questions beside the conversation.
    pub helper: Option<Helper<'a>>,
    /// Judge, now and then in a long turn, whether it gets anywhere.
    pub judges: Option<Judges<'a>>,
    /// Chooses the model for each prompt, where the user leaves that open.
    pub router: Option<Router<'a>>,
    /// The file in which an editor says what the user has open.
    pub ide: Option<&'a Path>,
    /// Tells how much memory the program takes, in bytes, where that is known.
    pub memory_use: &'a (dyn Fn() -> Option<u64> + Send + Sync),
    /// Tells what runs in the background.
    pub jobs: &'a (dyn Fn() -> Vec<HostJob> + Send + Sync),
    /// The skills that were activated.
    pub skills: Option<&'a ActiveSkills>,
    /// Hears of what happens.
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    /// Tells the time.
    pub now: &'a (dyn Fn() -> Timestamp + Send + Sync),
    /// Makes ids that were never used before.
    pub new_id: &'a (dyn Fn() -> String + Send + Sync),
}

/// Whoever knows models by their names: the providers of the program, or a script in tests.
pub trait ModelSource: Send + Sync {
    /// The model of this name.
    ///
    /// # Errors
    /// Why it cannot be asked, in words for the user.
    fn find(&self, name: &str) -> Result<NamedModel<'_>, String>;
}

/// A model that was found by its name.
#[derive(Clone)]
pub struct NamedModel<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// What must be known of it.
    pub profile: ModelProfile,
}

/// The user's commands that take part, and what they know of the world.
#[derive(Clone, Copy, Debug)]
pub struct HookPoints<'a> {
    /// The commands.
    pub hooks: &'a Hooks,
    /// What they know of the world.
    pub environment: &'a HookEnvironment,
}

impl<'a> Host<'a> {
    /// A host with a model and a place for files; snapshots are written offline, there are no tools, and nobody is there to
    /// ask or to hear.
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
            subagents: Subagents::NONE,
            manager: None,
            models: None,
            approver: &Nobody,
            hooks: None,
            helper: None,
            judges: None,
            router: None,
            ide: None,
            memory_use: &|| None,
            jobs: &Vec::new,
            skills: None,
            events: &|_| {},
            now,
            new_id,
        }
    }

    pub(crate) fn tell(&self, event: Event) {
        (self.events)(event);
    }

    pub(crate) fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning(text.into()));
    }

    pub(crate) fn stamp(&self) -> RecordId {
        RecordId { id: (self.new_id)(), at: (self.now)() }
    }

    pub(crate) fn message(&self, role: Role, parts: Vec<Part>) -> Message {
        Message { at: Some((self.now)()), ..Message::new((self.new_id)(), role, parts) }
    }

    /// How much time has passed since some moment.
    pub(crate) fn clock(&self) -> Duration {
        Duration::from_millis(u64::try_from((self.now)().as_millis()).unwrap_or_default())
    }
}
