//! Learns from past sessions: chooses which to read, finds recurring patterns without a model, and lets a model, or else the
//! findings alone, propose skills and facts for the user to review.
//!
//! The order of writes is such that a killed process leaves only whole things: first the inbox, item by item, and last the
//! state, which records what was read. Without that, the same sessions are offered again, and pending items are known.

mod background;
mod digest;
mod process;
mod read;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use longhaul_agent::{
    AgentDeps, Event, ExtractorEnd, ExtractorTask, FactTargets, ModelProfile, ReadSession, run_extractor,
};
use longhaul_conversation::{Model, Role, Timestamp};
use longhaul_engine::Folder;
use longhaul_sessions::{ListedSession, SessionRole};
use longhaul_skills::{
    Claimant, ExtractionLock, ExtractionRun, ExtractionState, Inbox, InboxNews, IndexSettings, Indexed,
    MemoryKind, PastSession, ProposedFact, SessionDeed, SessionDigest, SkillCandidate, SkillDraft,
    SkillError, Skills, mine, plan_index, write_drafts,
};
use tokio_util::sync::CancellationToken;

pub use background::learn_in_background;

use self::digest::load_digest;
use self::read::{Links, read_messages};
use crate::clock::now;
use crate::project::Project;
use crate::sessions::new_id;

/// The most drafts of one run: no more than a user will look at.
const MOST_DRAFTS: usize = 2;

/// The time between two heartbeats.
const BEAT: Duration = Duration::from_secs(60);

/// The sources and the target of an extraction.
pub struct Extraction<'a> {
    /// The project, if anything is stored for it.
    pub project: Option<&'a Project>,
    /// Sessions that the user named, instead of the project's.
    pub files: &'a [PathBuf],
    /// The project's sessions to read.
    pub selection: SessionSelection,
    /// Proposals or a dry run.
    pub mode: ExtractionMode,
    /// The existing skills.
    pub skills: Skills,
    /// The user's global memory.
    pub global_memory: PathBuf,
    /// Returns true if a recorded model belongs to the provider that learns. If given, sessions with answers from others are
    /// left out: no conversation goes to another provider by default.
    pub is_own_model: Option<&'a (dyn Fn(&str) -> bool + Send + Sync)>,
    /// Receives a line on the current work.
    pub progress: &'a (dyn Fn(String) + Send + Sync),
}

/// The sessions to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionSelection {
    /// Those that are long enough, idle, and new since they were last read; with old ones to compare.
    Worthwhile,
    /// All of them.
    All,
}

/// The use of the findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExtractionMode {
    /// They are put in the inbox.
    Propose,
    /// They are only reported.
    DryRun,
}

/// Sessions to learn from, as they were read.
pub struct SessionMaterial {
    index: Vec<Indexed>,
    digests: Vec<SessionDigest>,
    /// Those that could be read.
    read: Vec<PastSession>,
    /// Those that could not, with the reason.
    unread: Vec<String>,
    found: Vec<SkillCandidate>,
    state: ExtractionState,
    began: Instant,
}

impl SessionMaterial {
    /// Returns true if no session could be read.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty()
    }

    /// The sessions that could not be read, with the reason.
    pub fn unread(&self) -> &[String] {
        &self.unread
    }
}

/// The result of an extraction.
#[derive(Default)]
pub struct ExtractionReport {
    /// The number of sessions that were looked through.
    pub sessions: usize,
    /// Those that could not be read, with the reason.
    pub unread: Vec<String>,
    /// Recurring patterns.
    pub found: Vec<SkillCandidate>,
    /// Drafts made of them without a model, each with its inbox name.
    pub drafts: Vec<(String, SkillDraft)>,
    /// The number of newly proposed facts.
    pub facts: usize,
    /// The news of the inbox.
    pub news: InboxNews,
    /// The work of a model, where one was asked.
    pub by_model: Option<ExtractorRun>,
}

/// The work of a model.
pub struct ExtractorRun {
    /// Its name.
    pub name: String,
    /// Its model calls.
    pub turns: u32,
    /// The reason it ended for.
    pub end: ExtractorEnd,
    /// The ids of the sessions that it read.
    pub read: Vec<String>,
}

/// Takes the extraction lock of a project; `None` if another process holds it.
pub fn claim(project: &Project) -> Result<Option<ExtractionLock>, SkillError> {
    let host = process::host();
    let claimant = Claimant { process: std::process::id(), host: &host, look: &process::look };
    ExtractionLock::take(&project.home.extraction_lock(), &claimant, now())
}

impl Extraction<'_> {
    /// Chooses and reads the sessions; `None` if none is new.
    pub fn gather(
        &self,
        lock: &mut Option<ExtractionLock>,
        cancel: &CancellationToken,
    ) -> anyhow::Result<Option<SessionMaterial>> {
        let began = Instant::now();
        let state = match self.project {
            Some(project) => ExtractionState::load(&project.home.extraction_state())?,
            None => ExtractionState::default(),
        };
        let mut index = match self.own_sessions() {
            Some(project) => self.index(project, &state)?,
            None => given(self.files),
        };
        if let Some(is_own) = self.is_own_model {
            index.retain(|indexed| self.is_own_session(Path::new(&indexed.session.path), is_own, cancel));
        }
        if !index.iter().any(|indexed| indexed.is_new) && self.selection == SessionSelection::Worthwhile {
            return Ok(None);
        }
        let folder = self.own_sessions().map(|project| project.folder.as_path());
        let (mut digests, mut read, mut unread) = (Vec::new(), Vec::new(), Vec::new());
        for (number, Indexed { session, .. }) in index.iter().enumerate() {
            (self.progress)(format!("reading sessions: {number} of {}", index.len()));
            match load_digest(&session.id, Path::new(&session.path), self.links(), folder, cancel) {
                Ok(digest) => {
                    digests.push(SessionDigest { updated: Some(session.updated), ..digest });
                    read.push(session.clone());
                }
                Err(error) => unread.push(format!("{}: {error:#}", session.path)),
            }
            if let Some(lock) = lock {
                // Long work is no crash; that it cannot be told is no reason to stop.
                let _ = lock.beat(now());
            }
        }
        (self.progress)("comparing sessions".to_string());
        let found = mine(&digests);
        Ok(Some(SessionMaterial { index, digests, read, unread, found, state, began }))
    }

    /// Makes drafts of what was found, without a model.
    pub fn draft(&self, material: SessionMaterial) -> anyhow::Result<ExtractionReport> {
        let inbox = self.inbox();
        let before = inbox.as_ref().map(Inbox::snapshot).unwrap_or_default();
        let known: Vec<String> = self
            .skills
            .found
            .iter()
            .filter_map(|skill| skill.load().ok())
            .map(|manifest| manifest.body)
            .collect();
        let covers = |commands: &[String]| {
            known.iter().any(|text| commands.iter().all(|command| text.contains(command.as_str())))
                || inbox.as_ref().is_some_and(|inbox| inbox.knows(commands))
        };
        let written = inbox.as_ref().filter(|_| self.mode == ExtractionMode::Propose);
        let mut drafts = Vec::new();
        for draft in write_drafts(&material.found, MOST_DRAFTS, covers) {
            let name = match written {
                Some(inbox) => inbox.add(&draft, now())?,
                None => draft.name.to_string(),
            };
            drafts.push((name, draft));
        }
        let facts = match (written, self.project) {
            (Some(inbox), Some(project)) => {
                let (facts, file) = (ProposedFact::of(&material.found), private_memory(project));
                inbox.propose_facts(MemoryKind::Private, &facts, &file)?
            }
            _ => 0,
        };
        let news = written.map(|inbox| before.news(&inbox.snapshot())).unwrap_or_default();
        self.note(&material, &new_ones(&material.index), &material.read, &news, None)?;
        let SessionMaterial { read, unread, found, .. } = material;
        Ok(ExtractionReport { sessions: read.len(), unread, found, drafts, facts, news, by_model: None })
    }

    /// Lets a model learn from it. Where that fails or is stopped, the state stays as it was.
    pub async fn learn(
        &self,
        material: SessionMaterial,
        (model, profile): (&dyn Model, ModelProfile),
        lock: &mut Option<ExtractionLock>,
        cancel: &CancellationToken,
    ) -> anyhow::Result<ExtractionReport> {
        let project = self.project.context("no project to learn for")?;
        let inbox = Inbox::of(&project.home);
        let before = inbox.snapshot();
        let name = profile.recorded_as.clone();
        let facts = FactTargets { private: private_memory(project), global: self.global_memory.clone() };
        let index = described(&material);
        let tried = new_ones(&index);
        let task = ExtractorTask {
            index,
            found: material.found.clone(),
            digests: material.digests.clone(),
            skills: self.skills.clone(),
            inbox: inbox.clone(),
            facts,
            read: self.reader(cancel),
        };
        let events = |event: Event| match event {
            Event::StepBegan { step } => (self.progress)(format!("{name} is thinking, step {step}")),
            Event::ToolBegan { call, .. } => (self.progress)(format!("{name} calls {}", call.name)),
            _ => {}
        };
        // Nothing is saved beside the inbox; a host has to have a place all the same.
        let files = Folder::new(PathBuf::new());
        let host = AgentDeps { events: &events, ..AgentDeps::new(model, &files, &now, &new_id) };
        let report = beating(lock, run_extractor(task, profile, &host, cancel)).await;
        let news = before.news(&inbox.snapshot());
        let turns = report.turns;
        if !matches!(report.end, ExtractorEnd::Failed(_) | ExtractorEnd::Cancelled) {
            self.note(&material, &tried, &report.read, &news, Some((turns, report.end.as_str())))?;
        }
        let read = report.read.into_iter().map(|session| session.id).collect();
        let by_model = Some(ExtractorRun { name, turns, end: report.end, read });
        let SessionMaterial { read: looked_through, unread, found, .. } = material;
        let sessions = looked_through.len();
        Ok(ExtractionReport {
            sessions,
            unread,
            found,
            drafts: Vec::new(),
            facts: report.facts,
            news,
            by_model,
        })
    }

    /// Records what was read, so that it is not read again. Sessions that the user named are not recorded.
    fn note(
        &self,
        material: &SessionMaterial,
        tried: &[PastSession],
        read: &[PastSession],
        news: &InboxNews,
        by_model: Option<(u32, &str)>,
    ) -> anyhow::Result<()> {
        let Some(project) = self.own_sessions().filter(|_| self.mode == ExtractionMode::Propose) else {
            return Ok(());
        };
        let mut state = material.state.clone();
        state.add_run(&ExtractionRun {
            at: now(),
            tried,
            read,
            skills: &news.skills,
            memory: &news.memory,
            took: material.began.elapsed(),
            by_model,
        });
        Ok(state.save(&project.home.extraction_state())?)
    }

    /// The project, if it is its own sessions that are read.
    fn own_sessions(&self) -> Option<&Project> {
        self.project.filter(|_| self.files.is_empty())
    }

    fn inbox(&self) -> Option<Inbox> {
        self.project.map(|project| Inbox::of(&project.home))
    }

    fn links(&self) -> Links {
        if self.files.is_empty() { Links::Refused } else { Links::Followed }
    }

    fn reader(&self, cancel: &CancellationToken) -> ReadSession {
        let (links, cancel) = (self.links(), cancel.clone());
        Arc::new(move |path, hear| {
            read_messages(path, links, &cancel, hear).map(drop).map_err(|error| format!("{error:#}"))
        })
    }

    /// Returns true if a session names the model of every answer, and each is from the own provider.
    fn is_own_session(&self, path: &Path, is_own: &dyn Fn(&str) -> bool, cancel: &CancellationToken) -> bool {
        let (mut answers, mut own) = (0_usize, 0_usize);
        let read = read_messages(path, self.links(), cancel, &mut |message| {
            if message.role == Role::Model {
                answers += 1;
                own += usize::from(message.model.as_deref().is_some_and(is_own));
            }
        });
        read.is_ok() && answers > 0 && own == answers
    }

    /// The sessions of the project that are worth reading now.
    fn index(&self, project: &Project, state: &ExtractionState) -> anyhow::Result<Vec<Indexed>> {
        let listing = project.store().list().context("could not list the sessions")?;
        let sessions: Vec<PastSession> = listing.sessions.into_iter().map(past).collect();
        let settings = match self.selection {
            SessionSelection::All => {
                let all = usize::MAX;
                IndexSettings { fewest_messages: 0, idle: Duration::ZERO, most_new: all, most: all }
            }
            SessionSelection::Worthwhile => IndexSettings::default(),
        };
        Ok(plan_index(&sessions, state, &settings, now()))
    }
}

/// The file of private memory that new facts go to: the index, or the file that holds facts without one. An index beside
/// it would hide them from programs that read only that.
pub(crate) fn private_memory(project: &Project) -> PathBuf {
    let index = project.home.private_memory();
    let older = index.with_file_name("GEMINI.md");
    if !index.exists() && older.is_file() { older } else { index }
}

/// Awaits some work, with heartbeats meanwhile.
async fn beating<T>(lock: &mut Option<ExtractionLock>, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        if let Ok(done) = tokio::time::timeout(BEAT, &mut work).await {
            return done;
        }
        if let Some(lock) = lock {
            // That it cannot be told is no reason to stop.
            let _ = lock.beat(now());
        }
    }
}

fn past(session: ListedSession) -> PastSession {
    PastSession {
        id: session.id().to_string(),
        path: session.path.display().to_string(),
        updated: session.updated,
        user_messages: session.metadata.user_message_count,
        headline: session.metadata.summary.or(session.metadata.first_user_message),
        workflow: session.metadata.workflow,
        is_subagent: session.metadata.kind == SessionRole::Subagent,
    }
}

/// Sessions that the user named.
fn given(files: &[PathBuf]) -> Vec<Indexed> {
    let mut known = HashSet::new();
    let session = |file: &PathBuf| {
        let name = file.display().to_string();
        let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        // Files in several folders may share a name.
        let id = stem.filter(|stem| known.insert(stem.clone())).unwrap_or(name.clone());
        let session = PastSession {
            id,
            path: name,
            updated: Timestamp::from_millis(0),
            user_messages: 0,
            headline: None,
            workflow: None,
            is_subagent: false,
        };
        Indexed { session, is_new: true }
    };
    files.iter().map(session).collect()
}

fn new_ones(index: &[Indexed]) -> Vec<PastSession> {
    index.iter().filter(|indexed| indexed.is_new).map(|indexed| indexed.session.clone()).collect()
}

/// The index of what could be read, no longer than a model should read; sessions that the user named are described, too.
fn described(material: &SessionMaterial) -> Vec<Indexed> {
    let readable = material.index.iter().filter_map(|indexed| {
        let digest = material.digests.iter().find(|digest| digest.id == indexed.session.id)?;
        let said = |deed: &SessionDeed| match deed {
            SessionDeed::Said(words) => Some(words.clone()),
            _ => None,
        };
        let mut words = digest.steps.iter().filter_map(|step| said(&step.deed));
        let first = words.next();
        let mut indexed = indexed.clone();
        if indexed.session.user_messages == 0 {
            indexed.session.user_messages = usize::from(first.is_some()) + words.count();
        }
        indexed.session.headline = indexed.session.headline.or(first);
        Some(indexed)
    });
    readable.take(IndexSettings::default().most).collect()
}
