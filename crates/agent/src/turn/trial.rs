//! A session to try turns on.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use longhaul_conversation::{Message, Model, Part, Request, Timestamp, TokenCount, find_faults};
use longhaul_engine::Folder;
use longhaul_session::{Log, NewSession, Replay, SessionKind};
use longhaul_tools::Tool;
use tokio_util::sync::CancellationToken;

use super::is_session_context;
use crate::{
    Agent, Approver, Event, Host, ModelProfile, ModelSource, Nobody, Settings, Subagents, Surroundings,
    TurnEnd,
};

/// A session in a folder of its own, and all that happened.
pub(super) struct Trial {
    pub(super) folder: tempfile::TempDir,
    pub(super) agent: Agent,
    events: Mutex<Vec<Event>>,
    ids: AtomicU32,
    pub(super) tools: Vec<Box<dyn Tool>>,
    pub(super) approver: Box<dyn Approver>,
    pub(super) subagents: Subagents,
    pub(super) models: Option<Box<dyn ModelSource>>,
}

pub(super) const AT: i64 = 1_767_323_045_000;

pub(super) fn settings(window: u64) -> Settings {
    let model = ModelProfile {
        name: "m".into(),
        recorded_as: "p/m".into(),
        window: TokenCount(window),
        output_reserve: None,
    };
    let surroundings = Surroundings {
        at: Timestamp::from_millis(AT),
        system: "linux".into(),
        directory: "/app".into(),
        workspace: Vec::new(),
        tree: None,
    };
    Settings { system: "Be brief.".into(), ..Settings::new(model, surroundings) }
}

impl Trial {
    pub(super) fn new(window: u64) -> Self {
        Self::with(settings(window))
    }

    pub(super) fn with(settings: Settings) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let new = NewSession {
            id: "0f3c9a7e-trial".into(),
            project_hash: "hash".into(),
            kind: SessionKind::Main,
            directories: Vec::new(),
            at: Timestamp::from_millis(AT),
        };
        let log = Log::create(folder.path(), &new).expect("a log");
        let agent = Agent::on(log, settings);
        Self {
            folder,
            agent,
            events: Mutex::default(),
            ids: AtomicU32::new(1),
            tools: Vec::new(),
            approver: Box::new(Nobody),
            subagents: Subagents::default(),
            models: None,
        }
    }

    pub(super) fn run(&mut self, text: &str, model: &dyn Model) -> TurnEnd {
        self.run_until(text, model, |_| false)
    }

    /// Runs a turn that is cancelled at the first event for which `stops` holds.
    pub(super) fn run_until(
        &mut self,
        text: &str,
        model: &dyn Model,
        stops: impl Fn(&Event) -> bool + Send + Sync,
    ) -> TurnEnd {
        let Self { folder, agent, events, ids, tools, approver, subagents, models } = self;
        let events = &*events;
        let (cancel, files) = (CancellationToken::new(), Folder::new(folder.path()));
        let hear = |event: Event| {
            if stops(&event) {
                cancel.cancel();
            }
            events.lock().unwrap_or_else(PoisonError::into_inner).push(event);
        };
        let (now, new_id) =
            (|| Timestamp::from_millis(AT), || format!("id-{}", ids.fetch_add(1, Ordering::Relaxed)));
        let telemetry = folder.path().join("telemetry.jsonl");
        let host = Host {
            telemetry: Some(&telemetry),
            tools,
            approver: approver.as_ref(),
            subagents,
            models: models.as_deref(),
            events: &hear,
            ..Host::new(model, &files, &now, &new_id)
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // Sub-agents have limits of time, for which no test waits.
        let runtime = runtime.enable_all().start_paused(!subagents.is_empty()).build().expect("a runtime");
        runtime.block_on(agent.run_turn(text, &host, &cancel)).expect("the session can be recorded")
    }

    pub(super) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn has(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events().iter().any(wanted)
    }

    /// What the log on the disk amounts to: `user: …` and `model: …`.
    pub(super) fn recorded(&self) -> Vec<String> {
        said(self.agent.conversation().log().path())
    }

    /// Whether another program could go on with the session.
    #[track_caller]
    pub(super) fn check_valid(&self) {
        let replay = replay(self.agent.conversation().log().path());
        assert!(replay.warnings().is_empty(), "{:?}", replay.warnings());
        assert_eq!(replay.transcript().messages(), self.agent.conversation().transcript().messages());
        let faults = find_faults(replay.transcript().messages());
        assert!(faults.is_empty(), "{faults:?}");
    }
}

pub(super) fn replay(path: &Path) -> Replay {
    Replay::read(fs::File::open(path).expect("a log")).expect("it can be read")
}

pub(super) fn said(path: &Path) -> Vec<String> {
    let line = |message: &Message| {
        let text: String = message.parts.iter().filter_map(Part::as_text).collect();
        let text = if is_session_context(&text) { "(surroundings)".to_string() } else { text };
        format!("{}: {text}", message.role.as_str())
    };
    replay(path).messages().iter().map(line).collect()
}

pub(super) fn texts(request: &Request) -> Vec<String> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.filter_map(Part::as_text).map(str::to_string).collect()
}

/// Words that are all different, about one token to four letters.
pub(super) fn words(count: usize) -> String {
    (0..count).map(|number| format!("word{number:04} ")).collect()
}
