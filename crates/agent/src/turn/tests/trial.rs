//! A session to try turns on.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use longhaul_conversation::{
    Message, Model, Part, Request, ScriptedModel, Timestamp, TokenCount, find_faults,
};
use longhaul_engine::{Folder, Summariser};
use longhaul_formats::Replay;
use longhaul_hooks::{HookEnvironment, Hooks};
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_tools::Tool;
use tokio_util::sync::CancellationToken;

use crate::approval::DenyAll;
use crate::prompt::is_session_context;
use crate::turn::RequestWindow;
use crate::{
    ActiveSkills, Agent, AgentDeps, AgentError, Approver, Event, HookPoints, LoopJudges, MemoryManager,
    ModelProfile, ModelSource, Route, Router, SessionContext, Settings, SideModel, Subagents, TurnEnd,
};

/// A session in a folder of its own, and all that happened.
pub(in crate::turn) struct Trial {
    pub(in crate::turn) folder: tempfile::TempDir,
    pub(in crate::turn) agent: Agent,
    events: Mutex<Vec<Event>>,
    ids: AtomicU32,
    pub(in crate::turn) tools: Vec<Box<dyn Tool>>,
    pub(in crate::turn) approver: Box<dyn Approver>,
    pub(in crate::turn) subagents: Subagents,
    pub(in crate::turn) manager: Option<MemoryManager>,
    pub(in crate::turn) models: Option<Box<dyn ModelSource>>,
    pub(in crate::turn) aids: Aids,
    pub(in crate::turn) active_skills: ActiveSkills,
}

/// What a host may bring beside a model and tools.
#[derive(Default)]
pub(in crate::turn) struct Aids {
    pub(in crate::turn) side_model: Option<ScriptedModel>,
    pub(in crate::turn) judge: Option<ScriptedModel>,
    pub(in crate::turn) second_judge: Option<ScriptedModel>,
    pub(in crate::turn) routing: Option<Routing>,
    pub(in crate::turn) editor: Option<PathBuf>,
    pub(in crate::turn) hooks: Option<(Hooks, HookEnvironment)>,
    pub(in crate::turn) summariser: Option<Box<dyn Summariser>>,
}

/// Who chooses between which models.
pub(in crate::turn) struct Routing {
    pub(in crate::turn) classifier: ScriptedModel,
    pub(in crate::turn) pro_from: Option<u8>,
    pub(in crate::turn) flash: (ScriptedModel, ModelProfile),
    pub(in crate::turn) pro: (ScriptedModel, ModelProfile),
}

impl Aids {
    fn join<'a>(&'a self, host: AgentDeps<'a>) -> AgentDeps<'a> {
        let helper = |model: &'a ScriptedModel| SideModel { model, name: "small" };
        let judges = self.judge.as_ref().map(|quick| LoopJudges {
            quick: helper(quick),
            thorough: self.second_judge.as_ref().map(helper),
        });
        let router = self.routing.as_ref().map(|Routing { classifier, pro_from, flash, pro }| Router {
            pro_from: *pro_from,
            classifier: helper(classifier),
            flash: Route { model: &flash.0, profile: &flash.1 },
            pro: Route { model: &pro.0, profile: &pro.1 },
        });
        AgentDeps {
            side_model: self.side_model.as_ref().map(helper),
            judges,
            router,
            editor: self.editor.as_deref(),
            summariser: self.summariser.as_deref().unwrap_or(host.summariser),
            memory_use: &|| Some(1 << 20),
            hooks: self.hooks.as_ref().map(|(hooks, environment)| HookPoints { hooks, environment }),
            ..host
        }
    }
}

pub(in crate::turn) const AT: i64 = 1_767_323_045_000;

pub(in crate::turn) fn settings(window: u64) -> Settings {
    let model = ModelProfile {
        name: "m".into(),
        recorded_as: "p/m".into(),
        window: TokenCount(window),
        output_reserve: None,
    };
    let context = SessionContext {
        at: Timestamp::from_millis(AT),
        system: "linux".into(),
        directory: "/app".into(),
        workspace: Vec::new(),
        tree: None,
    };
    Settings { system: "Be brief.".into(), ..Settings::new(model, context) }
}

impl Trial {
    pub(in crate::turn) fn new(window: u64) -> Self {
        Self::with(settings(window))
    }

    pub(in crate::turn) fn with(settings: Settings) -> Self {
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
            approver: Box::new(DenyAll),
            subagents: Subagents::default(),
            manager: None,
            models: None,
            aids: Aids::default(),
            active_skills: ActiveSkills::default(),
        }
    }

    pub(in crate::turn) fn run(&mut self, text: &str, model: &dyn Model) -> TurnEnd {
        self.run_until(text, model, |_| false)
    }

    /// Runs a turn that is cancelled at the first event for which `stops` holds.
    pub(in crate::turn) fn run_until(
        &mut self,
        text: &str,
        model: &dyn Model,
        stops: impl Fn(&Event) -> bool + Send + Sync,
    ) -> TurnEnd {
        let ended = self.try_run(Some(text), model, stops).expect("the session can be recorded");
        ended.expect("a turn ends")
    }

    /// Runs a turn, or without words goes on with one that could not be recorded.
    pub(in crate::turn) fn try_run(
        &mut self,
        text: Option<&str>,
        model: &dyn Model,
        stops: impl Fn(&Event) -> bool + Send + Sync,
    ) -> Result<Option<TurnEnd>, AgentError> {
        let Self {
            folder,
            agent,
            events,
            ids,
            tools,
            approver,
            subagents,
            manager,
            models,
            aids,
            active_skills,
        } = self;
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
        let host = AgentDeps {
            telemetry: Some(&telemetry),
            tools,
            approver: approver.as_ref(),
            subagents,
            manager: manager.as_ref(),
            models: models.as_deref(),
            events: &hear,
            skills: Some(active_skills),
            ..aids.join(AgentDeps::new(model, &files, &now, &new_id))
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        // Sub-agents have limits of time, for which no test waits.
        let runtime = runtime.enable_all().start_paused(!subagents.is_empty()).build().expect("a runtime");
        match text {
            Some(text) => runtime.block_on(agent.run_turn(text, &host, &cancel)).map(Some),
            None => runtime.block_on(agent.retry_turn(&host, &cancel)),
        }
    }

    pub(in crate::turn) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(in crate::turn) fn has(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events().iter().any(wanted)
    }

    /// What the log on the disk amounts to: `user: …` and `model: …`.
    pub(in crate::turn) fn recorded(&self) -> Vec<String> {
        said(self.agent.conversation().log().path())
    }

    /// Whether another program could go on with the session.
    #[track_caller]
    pub(in crate::turn) fn check_valid(&self) {
        let replay = replay(self.agent.conversation().log().path());
        assert!(replay.warnings().is_empty(), "{:?}", replay.warnings());
        assert_eq!(replay.transcript().messages(), self.agent.conversation().transcript().messages());
        let faults = find_faults(replay.transcript().messages());
        assert!(faults.is_empty(), "{faults:?}");
    }
}

/// Tokens of the next request by estimate.
pub(in crate::turn) fn estimate(trial: &Trial) -> TokenCount {
    RequestWindow::of(&trial.agent.session, &trial.agent.turn).estimate()
}

pub(in crate::turn) fn replay(path: &Path) -> Replay {
    Replay::read(fs::File::open(path).expect("a log")).expect("it can be read")
}

pub(in crate::turn) fn said(path: &Path) -> Vec<String> {
    let line = |message: &Message| {
        let text: String = message.parts.iter().filter_map(Part::as_text).collect();
        let text = if is_session_context(&text) { "(context)".to_string() } else { text };
        format!("{}: {text}", message.role.as_str())
    };
    replay(path).messages().iter().map(line).collect()
}

pub(in crate::turn) fn texts(request: &Request) -> Vec<String> {
    let parts = request.messages.iter().flat_map(|message| &message.parts);
    parts.filter_map(Part::as_text).map(str::to_string).collect()
}

/// Words that are all different, about one token to four letters.
pub(in crate::turn) fn words(count: usize) -> String {
    (0..count).map(|number| format!("word{number:04} ")).collect()
}
