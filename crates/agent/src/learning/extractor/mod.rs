//! Learns from past sessions with a model: an agent that reads the sessions of an index, and nothing else, and writes into the
//! user's inbox, and nowhere else.
//!
//! Its rights are decided by its tools and not by its prompt. A session is named by what the index calls it, a skill by its
//! name; no path leads anywhere else. Whatever it reads and whatever it writes is without secrets. What it writes is checked:
//! a skill has all its parts and evidence that is really there, a fact has words that the user typed.

mod library;
mod review;
#[cfg(test)]
mod tests;
mod tools;

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use longhaul_engine::Files;
use longhaul_policy::{Policy, SettingVerdict, Situation, rule_from_setting};
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_skills::{
    Inbox, Indexed, PastSession, SessionDigest, SkillCandidate, Skills, render_candidates, render_index,
    render_known_skills,
};
use longhaul_tools::Tool;
use longhaul_workspace::WorkspaceError;
use tokio_util::sync::CancellationToken;

use self::library::{SessionLibrary, clean};
use self::review::DraftReview;
use self::tools::{ExtractorTool, ExtractorToolKind};
use crate::delegation::{SubagentEnd, run_alone};
use crate::deps::AgentDeps;
use crate::event::{Event, LimitOf, TurnEnd};
use crate::models::ModelProfile;
use crate::prompt::SessionContext;
use crate::settings::{OutputSettings, Permissions, Settings, StepLimits, ToolSelection};
use crate::subagents::{
    SubagentDefinition, SubagentModel, SubagentName, SubagentSource, SubagentTools, Subagents,
};
use crate::tools::OwnTool;
use crate::turn::AgentSession;

pub use self::library::ReadSession;
pub use self::review::FactTargets;

/// The name of the extractor.
const NAME: &str = "extractor";

/// Maximum model calls.
const MOST_TURNS: u32 = 30;

/// Maximum working time.
const MOST_TIME: Duration = Duration::from_secs(30 * 60);

/// The most findings in the first message.
const MOST_FINDINGS: usize = 12;

/// The task of an extractor.
pub struct ExtractorTask {
    /// The sessions that it may read.
    pub index: Vec<Indexed>,
    /// Findings in them without a model, the most promising first.
    pub found: Vec<SkillCandidate>,
    /// Digests of them, from which it is known what was validated.
    pub digests: Vec<SessionDigest>,
    /// The skills that are there already.
    pub skills: Skills,
    /// The inbox in which its drafts wait for the user.
    pub inbox: Inbox,
    /// The files that facts are proposed for.
    pub facts: FactTargets,
    /// Reads a session.
    pub read: ReadSession,
}

/// The report of an extractor. Its drafts are in the inbox.
#[derive(Debug)]
pub struct ExtractorReport {
    /// The sessions that it really read.
    pub read: Vec<PastSession>,
    /// Facts that it proposed.
    pub facts: usize,
    /// The end of its work.
    pub end: ExtractorEnd,
    /// Model calls.
    pub turns: u32,
}

/// The end of an extractor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtractorEnd {
    /// It was done, and says what it did and did not do.
    Done(String),
    /// It stopped without a word.
    Silent,
    /// It had used up its steps.
    OutOfTurns,
    /// Its time was up.
    OutOfTime,
    /// It could not go on.
    Failed(String),
    /// Somebody stopped it.
    Cancelled,
}

impl ExtractorEnd {
    /// The word for it in the state of extractions.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "GOAL",
            Self::Silent => "NO_RESULT",
            Self::OutOfTurns => "MAX_TURNS",
            Self::OutOfTime => "TIMEOUT",
            Self::Failed(_) => "ERROR",
            Self::Cancelled => "ABORTED",
        }
    }
}

/// Runs an extractor to its end. From `deps` it takes the model, the clock, the ids and the receiver of events; nobody is
/// asked, no hook runs, and nothing of its conversation is recorded.
pub async fn run_extractor(
    task: ExtractorTask,
    profile: ModelProfile,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> ExtractorReport {
    let definition = definition();
    let begin = render_task(&task);
    let ExtractorTask { index, digests, skills, inbox, facts, read, .. } = task;
    let review = Arc::new(DraftReview {
        library: SessionLibrary::new(index, &digests, read),
        skills,
        inbox,
        facts,
        at: (deps.now)(),
        work: Mutex::default(),
    });
    let tool = |kind| Box::new(ExtractorTool { kind, review: Arc::clone(&review) }) as Box<dyn Tool>;
    let tools: Vec<Box<dyn Tool>> = ExtractorToolKind::ALL.into_iter().map(tool).collect();
    let turns = AtomicU32::new(0);
    let events = |event: Event| {
        if let Event::StepBegan { .. } = event {
            turns.fetch_add(1, Ordering::Relaxed);
        }
        deps.emit(event);
    };
    let deps = AgentDeps {
        tools: &tools,
        events: &events,
        files: &NoFiles,
        counter: None,
        telemetry: None,
        calibration: None,
        subagents: Subagents::NONE,
        manager: None,
        models: None,
        hooks: None,
        side_model: None,
        judges: None,
        router: None,
        editor: None,
        jobs: &Vec::new,
        skills: None,
        ..*deps
    };
    let end = match begin_session(&definition, profile, &deps) {
        Ok(mut session) => match run_alone(&mut session, &begin, &definition, &deps, cancel).await {
            (Some(result), _) => ExtractorEnd::Done(clean(&result)),
            (None, Ok(ended)) => describe_end(ended, cancel),
            (None, Err(error)) => ExtractorEnd::Failed(error.to_string()),
        },
        Err(reason) => ExtractorEnd::Failed(reason),
    };
    let (read, facts) = (review.library.read(), review.facts_proposed());
    ExtractorReport { read, facts, end, turns: turns.load(Ordering::Relaxed) }
}

/// A session that is kept in memory alone.
fn begin_session(
    definition: &SubagentDefinition,
    profile: ModelProfile,
    deps: &AgentDeps<'_>,
) -> Result<AgentSession, String> {
    let at = (deps.now)();
    let session = NewSession {
        id: (deps.new_id)(),
        project_hash: String::new(),
        kind: SessionKind::Subagent { parent: NAME.to_string() },
        directories: Vec::new(),
        at,
    };
    let nowhere = std::path::Path::new("");
    // It reads what others said, which is recorded elsewhere.
    let log = Log::in_memory(&session).map_err(|error| error.to_string())?;
    let context = SessionContext {
        at,
        system: std::env::consts::OS.to_string(),
        directory: nowhere.to_path_buf(),
        workspace: Vec::new(),
        tree: None,
    };
    let SubagentTools::Only(names) = &definition.tools else { return Err("it has too many tools".into()) };
    let rule = |name: &String| rule_from_setting(SettingVerdict::AllowedTool, name, NAME).ok();
    let settings = Settings {
        system: definition.prompt.clone(),
        permissions: Permissions {
            policy: Policy::new(names.iter().filter_map(rule).collect()),
            situation: Situation { is_interactive: false, ..Situation::default() },
            subagent: Some(NAME.to_string()),
            ..Permissions::default()
        },
        limits: StepLimits { session: None, turn: definition.most_turns },
        tools: ToolSelection::Only([names.as_slice(), &[OwnTool::CompleteTask.name().to_string()]].concat()),
        // Its tools answer in pages.
        outputs: OutputSettings { threshold: 0, ..OutputSettings::default() },
        ..Settings::new(profile, context)
    };
    Ok(AgentSession::new(log, settings))
}

fn definition() -> SubagentDefinition {
    SubagentDefinition {
        name: SubagentName::parse(NAME).expect("it is a plain word"),
        description: "Learns from past sessions.".to_string(),
        prompt: include_str!("../../prompts/extractor.md").trim().to_string(),
        tools: SubagentTools::Only(
            ExtractorToolKind::ALL.iter().map(|kind| kind.name().to_string()).collect(),
        ),
        model: SubagentModel::Inherited,
        most_turns: MOST_TURNS,
        most_time: MOST_TIME,
        source: SubagentSource::BuiltIn,
    }
}

/// The first message. Each piece is text that nothing in a session can end.
fn render_task(task: &ExtractorTask) -> String {
    let skills = render_known_skills(&task.skills, &task.inbox.list());
    let (found, index) = (render_candidates(&task.found, MOST_FINDINGS), render_index(&task.index));
    format!(
        "<known_skills>\n{skills}</known_skills>\n\n<found_without_a_model>\n{found}</found_without_a_model>\n\n\
         <session_index>\n{index}</session_index>\n\n{}",
        include_str!("../../prompts/extract.md").trim()
    )
}

fn describe_end(ended: SubagentEnd, cancel: &CancellationToken) -> ExtractorEnd {
    match ended {
        _ if cancel.is_cancelled() => ExtractorEnd::Cancelled,
        SubagentEnd::OutOfTime => ExtractorEnd::OutOfTime,
        SubagentEnd::Turn(end) => match end {
            TurnEnd::Finished(_) => ExtractorEnd::Silent,
            TurnEnd::LimitReached { of: LimitOf::Turn | LimitOf::Session, .. } => ExtractorEnd::OutOfTurns,
            TurnEnd::Cancelled => ExtractorEnd::Cancelled,
            TurnEnd::Failed(error) => ExtractorEnd::Failed(error.to_string()),
            TurnEnd::Looped { detail } => ExtractorEnd::Failed(format!("stuck in a loop: {detail}")),
            TurnEnd::Overflow(_) => {
                ExtractorEnd::Failed("the conversation does not fit in the model's context window".into())
            }
            TurnEnd::Stopped { reason } | TurnEnd::Blocked { reason } => ExtractorEnd::Failed(reason),
        },
    }
}

/// Saves nothing: an extractor writes into the inbox alone.
struct NoFiles;

impl Files for NoFiles {
    fn save(&self, file: &str, _: &str) -> Result<bool, WorkspaceError> {
        let cause = std::io::ErrorKind::PermissionDenied.into();
        Err(WorkspaceError::ReadOnly { path: file.into(), cause })
    }

    fn remove(&self, _: &str) {}
}
