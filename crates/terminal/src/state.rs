//! Everything that the screen shows, as one value that only [`crate::update::update`] changes.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use longhaul_agent::{ApprovalRequest, UserQuestion};
use longhaul_conversation::{CallId, MessageId, TokenCount};
use longhaul_tools::Preview;

use crate::command::{AskId, Standing};
use crate::editor::Editor;
use crate::guard::{Focus, Guard};
use crate::history::History;
use crate::markdown::Streaming;
use crate::review::{Inbox, InboxItem, SkillChoice};
use crate::services::Surface;
use crate::slash::{SkillCommand, commands_of};
use crate::style::Line;

/// Everything that the screen shows.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) size: Size,
    /// What there is to show things on.
    pub(crate) surface: Surface,
    /// The time since the program began.
    pub(crate) now: Duration,
    /// The folder that is worked in.
    pub(crate) folder: PathBuf,
    pub(crate) editor: Editor,
    pub(crate) history: History,
    pub(crate) files: Files,
    /// The skills that are there.
    pub(crate) skills: Vec<SkillChoice>,
    pub(crate) completion: Option<Completion>,
    /// What the user is asked, the first one now.
    pub(crate) dialogs: VecDeque<Dialog>,
    pub(crate) work: Option<Work>,
    /// How many commands were sent and are not done.
    pub(crate) pending: usize,
    /// What was typed ahead.
    pub(crate) queue: VecDeque<String>,
    pub(crate) answer: Answer,
    pub(crate) thoughts: Thoughts,
    pub(crate) tools: Vec<RunningTool>,
    pub(crate) compaction: Option<Compacting>,
    /// Whether the user asked for a compaction, of which they will be told everything.
    pub(crate) wants_compaction: bool,
    pub(crate) standing: Standing,
    /// What is not shown in whole, the newest last.
    pub(crate) folded: Vec<Folded>,
    /// How many of those were shown in whole since the newest came.
    pub(crate) unfolded: usize,
    /// The last answer, as the model wrote it.
    pub(crate) last_answer: String,
    /// When Ctrl-C was pressed with nothing to cancel.
    pub(crate) leaving: Option<Duration>,
    /// Nothing may be typed for this long before a key answers a question that grants something.
    pub(crate) quiet: Duration,
    pub(crate) shows_thoughts: bool,
    /// Calls whose change was shown when the user was asked.
    pub(crate) previewed: HashSet<CallId>,
    /// Whether the last printed line is empty.
    pub(crate) is_apart: bool,
}

/// How large the terminal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Default for Size {
    fn default() -> Self {
        Self { width: 80, height: 24 }
    }
}

/// The files that can be named behind an `@`.
#[derive(Clone, Debug, Default)]
pub(crate) enum Files {
    #[default]
    Unknown,
    Looking,
    Known(Vec<String>),
}

/// What could go on with what is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// What it would take the place of.
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) items: Vec<(String, String)>,
    pub(crate) selected: usize,
}

/// What is being done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// In words, such as `waiting for the model`.
    pub(crate) what: String,
    /// Since when it is that.
    pub(crate) since: Duration,
    pub(crate) is_cancelled: bool,
}

/// The answer that is arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) streaming: Streaming,
    /// All of it.
    pub(crate) text: String,
    /// Whether some of it was printed.
    pub(crate) has_begun: bool,
}

/// What the model thinks just now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thoughts {
    pub(crate) text: String,
    pub(crate) since: Duration,
}

/// A tool that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningTool {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) preview: Preview,
    pub(crate) since: Duration,
    /// The end of what it wrote.
    pub(crate) output: String,
}

/// A compaction that runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compacting {
    pub(crate) since: Duration,
    pub(crate) stage: String,
    pub(crate) before: TokenCount,
}

/// A text of which only the beginning was shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Folded {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) is_diff: bool,
}

/// Something that the user is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Dialog {
    Approval(Box<Approving>),
    Question(Box<Answering>),
    Picker(Picker),
    Search(Search),
    Review(Reviewing),
}

/// What waits in an inbox, for the user to settle.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reviewing {
    pub(crate) inbox: Inbox,
    pub(crate) items: Vec<InboxItem>,
    pub(crate) selected: usize,
    pub(crate) guard: Guard,
    /// Whether the user is asked if the chosen item is to be dismissed.
    pub(crate) is_dismissing: bool,
    /// Whether something is being settled, before which nothing else is.
    pub(crate) is_settling: bool,
}

/// A call that needs the user's word.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Approving {
    pub(crate) id: AskId,
    pub(crate) request: ApprovalRequest,
    pub(crate) guard: Guard,
    /// The choice that Enter takes, once the user has gone to one: Enter alone allows nothing.
    pub(crate) selected: Option<usize>,
    pub(crate) stage: ApprovalStage,
    /// The letter that led to this stage, if it was one.
    pub(crate) opened_by: Option<char>,
    pub(crate) field: Editor,
    /// What is wrong with what was typed.
    pub(crate) fault: Option<String>,
}

/// What the user does about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalStage {
    Choosing,
    /// Says how far "always" reaches.
    Always,
    /// Types why not.
    Reason,
    /// Changes what would be done.
    Editing,
}

/// A question of the model's.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Answering {
    pub(crate) id: AskId,
    pub(crate) question: UserQuestion,
    pub(crate) guard: Guard,
    /// The answer that Enter takes where nothing is typed, once the user has gone to one.
    pub(crate) selected: Option<usize>,
    pub(crate) field: Editor,
}

/// A list to choose from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picker {
    pub(crate) title: String,
    pub(crate) items: Vec<PickItem>,
    pub(crate) query: Editor,
    pub(crate) selected: usize,
}

/// Something to choose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PickItem {
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) pick: Pick,
}

/// What choosing it means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    Session(String),
    Turn(MessageId, String),
}

impl Picker {
    /// The items that have every word that was typed.
    pub(crate) fn matching(&self) -> Vec<&PickItem> {
        let query = self.query.text().to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let has = |item: &&PickItem| {
            let text = format!("{} {}", item.title, item.detail).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.items.iter().filter(has).collect()
    }
}

/// A search in what was typed before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Search {
    pub(crate) query: Editor,
    pub(crate) found: Option<(usize, String)>,
}

impl State {
    /// How wide lines may be. The last column stays empty: a character there makes some terminals begin a line.
    pub(crate) fn width(&self) -> usize {
        self.size.width.saturating_sub(1).max(10)
    }

    /// The skills as commands.
    pub(crate) fn skill_commands(&self) -> Vec<SkillCommand> {
        commands_of(&self.skills)
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// Whether something moves by itself, so that the screen must be drawn again and again.
    pub(crate) fn is_moving(&self) -> bool {
        self.is_busy() || self.leaving.is_some() || self.focus() == Focus::Soon
    }

    /// Says what is being done now.
    pub(crate) fn doing(&mut self, what: impl Into<String>) {
        let what = what.into();
        let now = self.now;
        match &mut self.work {
            Some(work) if work.what == what || work.is_cancelled => {}
            work => *work = Some(Work { what, since: now, is_cancelled: false }),
        }
    }

    /// A call with its file named from the folder on.
    pub(crate) fn named(&self, preview: Preview) -> Preview {
        match preview {
            Preview::Change { path, diff } => {
                let path = path.strip_prefix(&self.folder).map(PathBuf::from).unwrap_or(path);
                Preview::Change { path, diff }
            }
            other => other,
        }
    }

    /// The lines of a block, apart from what was printed before.
    pub(crate) fn block(&mut self, mut lines: Vec<Line>) -> Vec<Line> {
        if lines.is_empty() {
            return lines;
        }
        if !std::mem::replace(&mut self.is_apart, false) {
            lines.insert(0, Line::default());
        }
        lines
    }
}
