//! The state of the screen, as one value that only [`crate::update::update`] changes.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::time::Duration;

use longhaul_agent::{ApprovalRequest, UserQuestion};
use longhaul_conversation::{CallId, MessageId, TokenCount};
use longhaul_display::StyledLine;
use longhaul_display::markdown::StreamingMarkdown;
use longhaul_policy::Reach;
use longhaul_tools::Preview;

use crate::editor::Editor;
use crate::guard::{Guard, QUIET_PERIOD};
use crate::history::InputHistory;
use crate::image::PastedImage;
use crate::inbox::{InboxItem, InboxKind, SkillChoice};
use crate::offers::Offers;
use crate::preferences::Preferences;
use crate::protocol::PromptId;
use crate::services::{Options, Surface};
use crate::slash::{OfferedCommand, SkillCommand, commands_of, offered};
use crate::status_line::StatusLine;
use crate::vim::Vim;

/// The time in which a second Ctrl-C leaves.
pub(crate) const EXIT_WINDOW: Duration = Duration::from_secs(2);

/// The state of the screen.
#[derive(Debug, Default)]
pub(crate) struct UiState {
    pub(crate) size: TerminalSize,
    /// The output surface.
    pub(crate) surface: Surface,
    /// The time since the start of the program.
    pub(crate) now: Duration,
    /// The working folder.
    pub(crate) folder: PathBuf,
    pub(crate) editor: Editor,
    pub(crate) history: InputHistory,
    pub(crate) files: FileList,
    /// The available skills.
    pub(crate) skills: Vec<SkillChoice>,
    /// Custom commands, settings and themes.
    pub(crate) offers: Offers,
    pub(crate) preferences: Preferences,
    /// The vim keys of the input, where the user prefers them.
    pub(crate) vim: Vim,
    /// The images that messages name by their placeholders, the newest last.
    pub(crate) images: Vec<(String, PastedImage)>,
    /// The number of images ever pasted, so that no placeholder is reused.
    pub(crate) pasted_images: usize,
    /// The start of the present work, and the message that began it.
    pub(crate) work: Option<(Duration, String)>,
    /// The prompts of MCP servers, names and descriptions; `None` where there are no servers.
    pub(crate) prompts: Option<Vec<(String, String)>>,
    pub(crate) completion: Option<Completion>,
    /// The open dialogs, the current one first.
    pub(crate) dialogs: VecDeque<Dialog>,
    pub(crate) activity: Option<CurrentActivity>,
    /// The number of commands sent and not done.
    pub(crate) pending: usize,
    /// Messages typed ahead.
    pub(crate) queue: VecDeque<String>,
    pub(crate) answer: StreamedAnswer,
    pub(crate) thoughts: Thoughts,
    pub(crate) tools: Vec<RunningTool>,
    pub(crate) compaction: Option<RunningCompaction>,
    /// True while a compaction requested by the user runs; its outcome arrives as a message of its own.
    pub(crate) is_compaction_requested: bool,
    pub(crate) status: StatusLine,
    /// Texts shown only in part, the newest last.
    pub(crate) folded: Vec<FoldedText>,
    /// The number of those unfolded since the newest arrived.
    pub(crate) unfolded: usize,
    /// The last answer in Markdown.
    pub(crate) last_answer: String,
    /// True if the prompt of this turn was taken back.
    pub(crate) is_prompt_back: bool,
    /// The time of a Ctrl-C with nothing to cancel; a second one soon after it leaves.
    pub(crate) exit_pressed: Option<Duration>,
    /// The quiet period before a key may answer a prompt that grants something.
    pub(crate) quiet_period: Duration,
    pub(crate) shows_thoughts: bool,
    /// Calls whose change was already shown for approval.
    pub(crate) previewed: HashSet<CallId>,
    /// True if the last printed line is blank.
    pub(crate) is_after_blank: bool,
}

/// The size of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TerminalSize {
    pub(crate) width: usize,
    pub(crate) height: usize,
}

impl Default for TerminalSize {
    fn default() -> Self {
        Self { width: 80, height: 24 }
    }
}

/// The files offered for completion after an `@`.
#[derive(Clone, Debug, Default)]
pub(crate) enum FileList {
    #[default]
    Unknown,
    Looking,
    Known(Vec<String>),
}

/// The completions of the text before the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    /// The range that a completion replaces.
    pub(crate) range: std::ops::Range<usize>,
    pub(crate) items: Vec<(String, String)>,
    pub(crate) selected: usize,
}

/// The current activity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CurrentActivity {
    /// A description, such as `waiting for the model`.
    pub(crate) description: String,
    /// The time it started.
    pub(crate) since: Duration,
    pub(crate) is_cancelled: bool,
}

/// The answer that is arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamedAnswer {
    pub(crate) streaming: StreamingMarkdown,
    /// The whole text so far.
    pub(crate) text: String,
    /// True once a part of it was printed.
    pub(crate) has_begun: bool,
}

/// The thoughts that are arriving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Thoughts {
    pub(crate) text: String,
    pub(crate) since: Duration,
}

/// A running tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningTool {
    pub(crate) id: CallId,
    pub(crate) name: String,
    pub(crate) preview: Preview,
    pub(crate) since: Duration,
    /// The end of its output.
    pub(crate) output: String,
}

/// A running compaction.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RunningCompaction {
    pub(crate) since: Duration,
    pub(crate) stage: String,
    pub(crate) before: TokenCount,
}

/// A text of which only the beginning was shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FoldedText {
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) is_diff: bool,
}

/// A dialog in place of the input.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Dialog {
    Approval(Box<ApprovalDialog>),
    Question(Box<QuestionDialog>),
    Picker(Picker),
    Search(HistorySearch),
    Review(ReviewDialog),
}

/// The receiver of the next key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    /// The message being typed.
    Draft,
    /// The dialog, once the quiet period is over.
    Pending,
    /// The dialog.
    Dialog,
}

impl Dialog {
    /// The guard of a dialog whose keys could grant something. Typing a reason for a denial grants nothing.
    pub(crate) fn guard(&self) -> Option<&Guard> {
        match self {
            Self::Approval(approving) if approving.stage == ApprovalStage::Reason => None,
            Self::Approval(approving) => Some(&approving.guard),
            Self::Question(answering) => Some(&answering.guard),
            Self::Review(reviewing) => Some(&reviewing.guard),
            Self::Picker(_) | Self::Search(_) => None,
        }
    }

    pub(crate) fn guard_mut(&mut self) -> Option<&mut Guard> {
        match self {
            Self::Approval(approving) if approving.stage == ApprovalStage::Reason => None,
            Self::Approval(approving) => Some(&mut approving.guard),
            Self::Question(answering) => Some(&mut answering.guard),
            Self::Review(reviewing) => Some(&mut reviewing.guard),
            Self::Picker(_) | Self::Search(_) => None,
        }
    }
}

/// The review of an inbox.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ReviewDialog {
    pub(crate) inbox: InboxKind,
    pub(crate) items: Vec<InboxItem>,
    pub(crate) selected: usize,
    pub(crate) guard: Guard,
    /// True while the user is asked to confirm a dismissal.
    pub(crate) is_dismissing: bool,
    /// True while a decision is being carried out, which blocks the next one.
    pub(crate) is_settling: bool,
}

/// The approval of a tool call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ApprovalDialog {
    pub(crate) id: PromptId,
    pub(crate) request: ApprovalRequest,
    pub(crate) guard: Guard,
    /// The choice that Enter takes, once the user has moved to one: Enter alone approves nothing.
    pub(crate) selected: Option<usize>,
    pub(crate) stage: ApprovalStage,
    /// The letter that opened this stage, if any.
    pub(crate) opened_by: Option<char>,
    pub(crate) field: Editor,
    /// The error in the typed text.
    pub(crate) fault: Option<String>,
}

/// The stage of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalStage {
    Choosing,
    /// Chooses the reach of "always".
    Always,
    /// Types the reason for a denial.
    Reason,
    /// Edits the call.
    Editing,
}

/// A choice in an approval dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ApprovalChoice {
    Once,
    Always,
    Edit,
    Deny,
    /// "Always", with this reach.
    Reach(Reach),
    /// Back from "always".
    Back,
}

impl ApprovalChoice {
    /// The key for this choice. Capitals start a sentence and are not answers.
    pub(crate) fn key(self) -> char {
        match self {
            Self::Once => 'y',
            Self::Always => 'a',
            Self::Edit => 'e',
            Self::Deny => 'n',
            Self::Reach(Reach::Session) => 's',
            Self::Reach(Reach::Project) => 'p',
            Self::Reach(Reach::Everywhere) => 'e',
            Self::Back => 'b',
        }
    }
}

impl ApprovalDialog {
    /// The choices of the current stage, in display order.
    pub(crate) fn choices(&self) -> Vec<ApprovalChoice> {
        let offer = self.request.always.as_ref();
        match self.stage {
            ApprovalStage::Choosing => {
                let always = offer.map(|_| ApprovalChoice::Always);
                let all = [
                    Some(ApprovalChoice::Once),
                    always,
                    Some(ApprovalChoice::Edit),
                    Some(ApprovalChoice::Deny),
                ];
                all.into_iter().flatten().collect()
            }
            ApprovalStage::Always => {
                let reaches = offer.into_iter().flat_map(|offer| &offer.reaches);
                reaches.map(|reach| ApprovalChoice::Reach(*reach)).chain([ApprovalChoice::Back]).collect()
            }
            ApprovalStage::Reason | ApprovalStage::Editing => Vec::new(),
        }
    }
}

/// A question from the model.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct QuestionDialog {
    pub(crate) id: PromptId,
    pub(crate) question: UserQuestion,
    pub(crate) guard: Guard,
    /// The option that Enter takes if nothing is typed, once the user has moved to one.
    pub(crate) selected: Option<usize>,
    pub(crate) field: Editor,
}

/// A list to choose from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Picker {
    pub(crate) title: String,
    pub(crate) items: Vec<PickerItem>,
    pub(crate) query: Editor,
    pub(crate) selected: usize,
}

/// A list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PickerItem {
    pub(crate) title: String,
    pub(crate) detail: String,
    pub(crate) pick: PickerValue,
}

/// The value of a list item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PickerValue {
    Session(String),
    Turn(MessageId, String),
    Theme(String),
}

impl Picker {
    /// The items that contain every word of the query.
    pub(crate) fn matching(&self) -> Vec<&PickerItem> {
        let query = self.query.text().to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let has = |item: &&PickerItem| {
            let text = format!("{} {}", item.title, item.detail).to_lowercase();
            words.iter().all(|word| text.contains(word))
        };
        self.items.iter().filter(has).collect()
    }
}

/// A search in the history.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistorySearch {
    pub(crate) query: Editor,
    pub(crate) found: Option<(usize, String)>,
}

impl UiState {
    /// The initial state, while the session is being opened.
    pub(crate) fn start(options: &Options, history: InputHistory) -> Self {
        let (folder, surface) = (options.folder.clone(), options.surface);
        let mut state = Self {
            history,
            folder,
            surface,
            preferences: options.preferences.clone(),
            quiet_period: QUIET_PERIOD,
            is_after_blank: true,
            pending: 1,
            ..Self::default()
        };
        state.set_activity("starting");
        state
    }

    /// The guard of the current dialog.
    pub(crate) fn guard(&self) -> Option<Guard> {
        self.dialogs.front().and_then(Dialog::guard).copied()
    }

    /// The receiver of the next key.
    pub(crate) fn focus(&self) -> Focus {
        let guard = match self.dialogs.front().map(Dialog::guard) {
            None => return Focus::Draft,
            Some(None) => return Focus::Dialog,
            Some(Some(guard)) => guard,
        };
        match (self.editor.is_empty() || guard.is_focused(), guard.is_armed(self.now, self.quiet_period)) {
            (false, _) => Focus::Draft,
            (true, false) => Focus::Pending,
            (true, true) => Focus::Dialog,
        }
    }

    /// The width of lines. The last column stays empty, since a character there makes some terminals start a new line.
    pub(crate) fn width(&self) -> usize {
        self.size.width.saturating_sub(1).max(10)
    }

    /// The custom commands.
    pub(crate) fn custom_commands(&self) -> Vec<OfferedCommand> {
        offered(&self.offers.commands)
    }

    /// The skills as commands.
    pub(crate) fn skill_commands(&self) -> Vec<SkillCommand> {
        commands_of(&self.skills, &self.custom_commands())
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.pending > 0
    }

    /// True if the screen changes by itself and must be redrawn regularly.
    pub(crate) fn is_moving(&self) -> bool {
        self.is_busy() || self.exit_pressed.is_some() || self.focus() == Focus::Pending
    }

    /// Sets the current activity.
    pub(crate) fn set_activity(&mut self, description: impl Into<String>) {
        let description = description.into();
        let now = self.now;
        match &mut self.activity {
            Some(activity) if activity.description == description || activity.is_cancelled => {}
            activity => *activity = Some(CurrentActivity { description, since: now, is_cancelled: false }),
        }
    }

    /// Shows the path of a change relative to the working folder.
    pub(crate) fn with_relative_path(&self, preview: Preview) -> Preview {
        match preview {
            Preview::Change { path, diff } => {
                let path = path.strip_prefix(&self.folder).map(PathBuf::from).unwrap_or(path);
                Preview::Change { path, diff }
            }
            other => other,
        }
    }

    /// Separates a block of lines from the one before by a blank line.
    pub(crate) fn block(&mut self, mut lines: Vec<StyledLine>) -> Vec<StyledLine> {
        if lines.is_empty() {
            return lines;
        }
        let begins_blank = lines[0].spans.is_empty();
        if !std::mem::replace(&mut self.is_after_blank, false) && !begins_blank {
            lines.insert(0, StyledLine::default());
        }
        lines
    }
}
