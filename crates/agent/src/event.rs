//! Events of a turn, emitted as it runs, and the ways in which it ends.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use longhaul_compaction::Fixed;
use longhaul_conversation::{
    CallId, Consumption, FinishReason, ModelError, TokenCount, ToolCall, ToolStatus, Usage, grouped,
};
use longhaul_tools::{Preview, ToolDisplay};

/// One thing that happens during a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The n-th model call of this turn begins.
    StepBegan {
        /// The number of the step, from 1.
        step: u32,
    },
    /// A model was chosen for this prompt.
    Routed {
        /// The name under which sessions record it.
        model: String,
        /// The reason, if one was given.
        reason: String,
    },
    /// A piece of the answer.
    TextDelta(String),
    /// A piece of the model's reasoning.
    ThoughtDelta(String),
    /// The model calls a tool, which runs from now on.
    ToolBegan {
        /// The call, with its effective arguments.
        call: ToolCall,
        /// A preview of the call.
        preview: Preview,
    },
    /// A tool has more to come.
    ToolProgress {
        /// The call.
        call: CallId,
        /// The new output.
        text: String,
    },
    /// A call was answered, run or not.
    ToolEnded(ToolEnd),
    /// The conversation is being shortened.
    Compaction(longhaul_engine::Event),
    /// The state of memory files, skills and the plan after a compaction.
    Instructions(Vec<InstructionSource>),
    /// Memory files came in, or were read again because they changed.
    Memory {
        /// The files.
        files: Vec<PathBuf>,
        /// The reason.
        why: MemoryNews,
    },
    /// The request would not fit, and nothing more could be done about it.
    Overflow(Overflow),
    /// The request did not fit after all; a shorter one is sent.
    AskedAgain,
    /// The prompt was too much, and was taken back: it is not sent with the next one. The log keeps it.
    PromptTakenBack,
    /// The model is stuck in a loop. It is warned once; the second time ends the turn.
    Looping {
        /// A description of the loop.
        detail: String,
    },
    /// Tokens of the answer, as the provider reported them.
    Usage(Usage),
    /// The consumption of a model call, including every request that was sent for it, whatever its outcome.
    Spent {
        /// The purpose of the call.
        on: Spending,
        /// The consumption.
        consumed: Consumption,
    },
    /// Something happens in a sub-agent.
    Subagent {
        /// The sub-agent's name.
        name: String,
        /// The call that started it.
        call: CallId,
        /// The event.
        event: Box<Event>,
    },
    /// A message of a hook to the user.
    HookMessage(String),
    /// Something that the user should know.
    Warning(String),
    /// The turn is over.
    Ended(TurnEnd),
}

/// The purpose of a call to a model.
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

/// The answer to a tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolEnd {
    /// The call, as the model made it.
    pub call: ToolCall,
    /// The outcome.
    pub status: ToolStatus,
    /// The text that the model reads.
    pub text: String,
    /// The form in which a person sees it.
    pub shown: ToolDisplay,
    /// The time that it ran.
    pub took: Duration,
    /// The file of the whole output, if the model reads only a part of it.
    pub saved_as: Option<String>,
    /// Bytes of the output that are in no file, as there were too many.
    pub left_out: u64,
}

/// An instruction beside the conversation, with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstructionSource {
    /// The instruction.
    pub what: Instruction,
    /// Its state.
    pub state: SourceState,
}

/// An instruction beside the conversation.
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
            Self::Skill(name) => write!(f, "skill {name}"),
            Self::Plan(file) => write!(f, "plan {file}"),
        }
    }
}

/// The state of an instruction.
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

/// The reason why memory files are news.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryNews {
    /// A tool touched their folder.
    CameIn,
    /// They say something else than before.
    Changed,
}

/// The end of a turn. The session can go on after each of these.
#[derive(Clone, Debug, PartialEq)]
pub enum TurnEnd {
    /// The model answered.
    Finished(FinishReason),
    /// The request would not fit; nothing was sent. If the prompt was to blame, it was taken back.
    Overflow(Overflow),
    /// The model could not be asked, or broke off. What had arrived is in the session; a prompt that the model refused as
    /// too long was taken back.
    Failed(ModelError),
    /// Somebody stopped it. What had arrived is in the session.
    Cancelled,
    /// A hook stopped it.
    Stopped {
        /// The reason.
        reason: String,
    },
    /// A hook did not let the prompt pass. It is not in the session.
    Blocked {
        /// The reason.
        reason: String,
    },
    /// The model was stuck in a loop, although it was warned.
    Looped {
        /// A description of the loop.
        detail: String,
    },
    /// The limit of model calls was reached.
    LimitReached {
        /// The limit.
        limit: u32,
        /// Its scope.
        of: LimitOf,
    },
}

/// The scope of a limit.
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
    /// Tokens of the new message.
    pub request: TokenCount,
    /// Tokens left for it.
    pub remaining: TokenCount,
    /// The most tokens of a request: the model's window without the reserve for the answer.
    pub window: TokenCount,
    /// Tokens of that which are taken before anything is said.
    pub fixed: Fixed,
    /// The reason why no room could be made.
    pub cause: OverflowCause,
}

/// The reason why no room could be made for a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OverflowCause {
    /// It is too large, whatever is compacted.
    #[default]
    Size,
    /// The model's summary failed, and settings forbid any other: nothing was compacted.
    NoSummary,
}

/// The ways out where settings forbid the only summary that can be had.
pub(crate) const WITHOUT_FALLBACK: &str = "the model's summary failed and \"longhaul.compaction.fallback\" is \"off\": set it to \
    \"offline\" to compact without a model, use a model with a larger context window, or start a new session";

impl Overflow {
    /// A hint for the user where the message is not to blame: the request is full before anything is said, or nothing could
    /// be compacted.
    pub fn remedy(&self) -> Option<String> {
        if self.cause == OverflowCause::NoSummary {
            return Some(WITHOUT_FALLBACK.to_string());
        }
        if self.remaining.0 * 10 > self.window.0 || self.fixed.total().0 * 2 < self.window.0 {
            return None;
        }
        let Fixed { system, tools, memory } = self.fixed;
        let parts = [
            (
                tools,
                "the tools take",
                "declare fewer with \"tools.core\" or \"tools.exclude\" in settings.json",
            ),
            (system, "the system prompt takes", "set GEMINI_SYSTEM_MD to a shorter one"),
            (memory, "memory files take", "run `longhaul memory list` to see them"),
        ];
        let (size, part, remedy) = parts.into_iter().max_by_key(|(size, ..)| *size)?;
        let size = grouped(size.0);
        Some(format!(
            "use a model with a larger context window; {part} most of this one ({size} tokens): {remedy}"
        ))
    }
}
