//! What happens during a turn, told as it happens, and how a turn ends.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_compaction::Fixed;
use longhaul_conversation::{
    CallId, Consumption, FinishReason, ModelError, TokenCount, ToolCall, ToolStatus, Usage, grouped,
};
use longhaul_tools::{Preview, Shown};

/// One thing that happens during a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The model is asked for the n-th time in this turn.
    StepBegan {
        /// Which time it is, from 1.
        step: u32,
    },
    /// A model was chosen for this prompt.
    Routed {
        /// The name under which sessions record it.
        model: String,
        /// Why, as far as that was said.
        reason: String,
    },
    /// A piece of the answer.
    TextDelta(String),
    /// A piece of the model's reasoning.
    ThoughtDelta(String),
    /// The model calls a tool, which runs from now on.
    ToolBegan {
        /// The call, with the arguments that count.
        call: ToolCall,
        /// What it does.
        preview: Preview,
    },
    /// A tool has more to come.
    ToolProgress {
        /// The call.
        call: CallId,
        /// What it wrote.
        text: String,
    },
    /// A call was answered, run or not.
    ToolEnded(ToolEnd),
    /// The conversation is being shortened.
    Compaction(longhaul_engine::Event),
    /// What became of memory files, skills and the plan when the conversation was shortened.
    Instructions(Vec<InstructionSource>),
    /// Memory files came in, or were read again because they changed.
    Memory {
        /// The files.
        files: Vec<PathBuf>,
        /// Why.
        why: MemoryNews,
    },
    /// The request would not fit, and nothing more could be done about it.
    Overflow(Overflow),
    /// What the model was asked did not fit after all; it is asked once more with less.
    AskedAgain,
    /// The model goes round in circles. It is told so once; the second time ends the turn.
    Looping {
        /// How it does so, in words.
        detail: String,
    },
    /// What the answer of the model consumed, as its provider told.
    Usage(Usage),
    /// What a call to a model consumed: every request that was sent for it counts, whatever became of it.
    Spent {
        /// What the call was for.
        on: Spending,
        /// What it consumed.
        consumed: Consumption,
    },
    /// Something happens in a sub-agent.
    Subagent {
        /// The sub-agent's name.
        name: String,
        /// The call that started it.
        call: CallId,
        /// What happens.
        event: Box<Event>,
    },
    /// What a hook has to say to the user.
    HookMessage(String),
    /// Something that the user should know.
    Warning(String),
    /// The turn is over.
    Ended(TurnEnd),
}

/// What a call to a model was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Spending {
    /// An answer in the conversation.
    Answer,
    /// A small question beside it.
    SideCall {
        /// The model that was asked, as its provider knows it.
        model: String,
    },
}

/// How a call was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnd {
    /// The call, as the model made it.
    pub call: ToolCall,
    /// How it went.
    pub status: ToolStatus,
    /// What the model reads.
    pub text: String,
    /// What a person is shown.
    pub shown: Shown,
    /// How long it ran.
    pub took: Duration,
    /// Where the output was saved, if the model reads only a part of it.
    pub saved_as: Option<String>,
    /// How many bytes of the output are in no file, as there were too many.
    pub left_out: u64,
}

/// Something that instructs the model, and whether it reads that now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionSource {
    /// What it is.
    pub what: Instruction,
    /// Whether the model reads it.
    pub state: SourceState,
}

/// Something that instructs the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// A memory file.
    Memory(PathBuf),
    /// A skill that is active.
    Skill(String),
    /// The file of the approved plan.
    Plan(String),
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(path) => write!(f, "{}", path.display()),
            Self::Skill(name) => write!(f, "the skill {name}"),
            Self::Plan(file) => write!(f, "the plan {file}"),
        }
    }
}

/// Whether the model reads something that instructs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceState {
    /// The model reads it.
    Present,
    /// A compaction left it out, and it was put back.
    Reinjected,
    /// A compaction left it out. A memory file comes in again when a tool next touches its folder, a skill when it is next
    /// activated.
    Lost,
}

impl SourceState {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::Reinjected => "re-injected",
            Self::Lost => "lost",
        }
    }
}

/// Why memory files are news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryNews {
    /// A tool touched their folder.
    CameIn,
    /// They say something else than before.
    Changed,
}

/// How a turn ended. The session can go on after each of these.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The model answered.
    Finished(FinishReason),
    /// The request would not fit. What the user typed is in the session; nothing was sent.
    Overflow(Overflow),
    /// The model could not be asked, or broke off. What had arrived is in the session.
    Failed(ModelError),
    /// Somebody stopped it. What had arrived is in the session.
    Cancelled,
    /// A hook stopped it.
    Stopped {
        /// Why.
        reason: String,
    },
    /// A hook did not let the prompt pass. It is not in the session.
    Blocked {
        /// Why.
        reason: String,
    },
    /// The model went round in circles, although it was told.
    Looped {
        /// How, in words.
        detail: String,
    },
    /// The model was asked as often as it may be.
    LimitReached {
        /// How often that is.
        limit: u32,
        /// In what.
        of: LimitOf,
    },
}

/// What a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitOf {
    /// One turn.
    Turn,
    /// The whole session.
    Session,
}

/// A request that would not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// What the new message takes.
    pub request: TokenCount,
    /// What is left for it beside everything else.
    pub remaining: TokenCount,
    /// What a request may take in all: the model's window without what is kept for the answer.
    pub window: TokenCount,
    /// What of that is taken before anything is said.
    pub fixed: Fixed,
}

impl Overflow {
    /// What to do where the request is full before anything is said, so that the message is not to blame; nothing otherwise.
    pub fn remedy(&self) -> Option<String> {
        if self.remaining.0 * 10 > self.window.0 || self.fixed.total().0 * 2 < self.window.0 {
            return None;
        }
        let Fixed { system, tools, memory } = self.fixed;
        let parts = [
            (
                tools,
                "the tools",
                "fewer of them are declared with \"tools.core\" or \"tools.exclude\" in settings.json",
            ),
            (system, "the system prompt", "GEMINI_SYSTEM_MD names a shorter one"),
            (memory, "memory files", "`longhaul memory list` shows which they are"),
        ];
        let (size, part, remedy) = parts.into_iter().max_by_key(|(size, ..)| *size)?;
        let size = grouped(size.0);
        Some(format!("use a model with a larger window; most of it goes to {part}, {size} tokens: {remedy}"))
    }
}
