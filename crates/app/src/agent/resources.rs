//! Everything that a conversation's turns need, from options, settings and files.

use std::path::PathBuf;

use longhaul_agent::{Agent, AgentDeps, PromptDetail, SessionMemory};
use longhaul_compaction::HostJob;
use longhaul_engine::{CalibrationFile, Folder};
use longhaul_tools::ToolSource;
use longhaul_workspace::{Home, SafeName};

use super::compose::{agent_settings, budget, estimator, snapshots, surroundings};
use super::{AgentOptions, Attendance, HelperModels, SubagentModels, Toolkit};
use crate::clock::now;
use crate::commands::CustomCommands;
use crate::environment;
use crate::models::{ChosenModel, Models, SnapshotWriter, calibration_file};
use crate::sessions::{OpenSession, new_id};
use crate::settings::Settings;

/// Everything that a conversation's turns need.
pub struct AgentResources<'s> {
    options: AgentOptions,
    settings: &'s Settings,
    /// The home.
    pub home: Home,
    /// Ways to reach models.
    pub models: Models<'s>,
    /// The model of the conversation.
    pub model: ChosenModel,
    /// The models beside it.
    pub helpers: HelperModels,
    /// Tools, rules, skills and hooks.
    pub toolkit: Toolkit,
    snapshots: SnapshotWriter,
    /// The models of sub-agents.
    pub subagent_models: SubagentModels,
    running: Box<dyn Fn() -> Vec<HostJob> + Send + Sync>,
    calibration: CalibrationFile,
    telemetry: Option<PathBuf>,
    /// The files that compactions may name: those of the open session's project.
    files: Folder,
    system: String,
}

impl<'s> AgentResources<'s> {
    /// Loads everything for a conversation with this model in the current folder, and the instructions of memory files.
    /// `warn` receives what is ignored; notes of the toolkit stay there.
    pub fn load(
        options: AgentOptions,
        settings: &'s Settings,
        home: Home,
        attendance: Attendance,
        models: Models<'s>,
        (model, helpers): (ChosenModel, HelperModels),
        warn: impl Fn(&str),
    ) -> anyhow::Result<(Self, SessionMemory)> {
        let snapshots = snapshots(&models, settings, &model, &warn);
        let (toolkit, memory) = Toolkit::load(&options, settings, &home, attendance, model.window)?;
        let (system, refused) = toolkit.system_prompt(settings, model.window)?;
        refused.iter().for_each(|text| warn(text));
        let jobs = toolkit.jobs.clone();
        let running = Box::new(move || {
            let jobs = jobs.running().into_iter();
            jobs.map(|job| HostJob { name: job.name, what: job.command }).collect()
        });
        let subagent_models = SubagentModels::choose(&models, helpers.own(), toolkit.definitions());
        let deps = Self {
            calibration: calibration_file(&home),
            telemetry: settings.telemetry_file(home.root()),
            files: Folder::new(home.root()),
            options,
            settings,
            home,
            models,
            model,
            helpers,
            toolkit,
            snapshots,
            subagent_models,
            running,
            system,
        };
        Ok((deps, memory))
    }

    /// The agent for a session.
    pub fn open_agent(&mut self, opened: OpenSession, mut memory: SessionMemory) -> Agent {
        memory.keep_private_in(opened.project.home.memory());
        // What another session follows is its own affair, and stands in its log.
        self.toolkit.active_skills.forget();
        self.files = Folder::new(opened.project.home.root());
        self.keep_checkpoints(&opened);
        let place = surroundings(&opened.project, &self.toolkit.folders, self.settings);
        let settings = agent_settings(
            &self.options,
            self.settings,
            &self.toolkit,
            &self.model,
            &self.calibration,
            self.system.clone(),
            place,
        );
        Agent::on(opened.log, settings).with_memory(memory)
    }

    /// Keeps the checkpoints of files in the folder of this session, unless settings say otherwise.
    fn keep_checkpoints(&self, opened: &OpenSession) {
        let checkpoints = &self.toolkit.checkpoints;
        let id = opened.log.replay().info().session_id.clone();
        let name = id.and_then(|id| SafeName::parse(&id).ok());
        match name.filter(|_| self.settings.keeps_checkpoints()) {
            Some(name) => checkpoints.keep_in(opened.project.home.checkpoints(&name), now),
            None => checkpoints.stop(),
        }
    }

    /// The custom commands of the user and of this folder's project.
    pub fn custom_commands(&self) -> CustomCommands {
        let user_home = environment::of_process().user_home;
        let is_trusted = self.toolkit.permissions.situation.is_trusted;
        CustomCommands::load(&self.home, user_home.as_deref(), &environment::current_folder(), is_trusted)
    }

    /// Reloads a project's saved rules, unless the user named others instead.
    pub fn reload_saved_rules(&mut self, saved: PathBuf) {
        let permissions = &mut self.toolkit.permissions;
        permissions.saved.project = Some(saved);
        if self.options.policy.is_empty() {
            permissions.reload_saved();
        }
    }

    /// The host of a turn.
    pub fn host(&self) -> AgentDeps<'_> {
        AgentDeps {
            summariser: &self.snapshots,
            counter: Some(&self.model),
            telemetry: self.telemetry.as_deref(),
            calibration: Some(&self.calibration),
            tools: &self.toolkit.tools,
            servers: (!self.toolkit.servers.is_empty()).then_some(&self.toolkit.servers as &dyn ToolSource),
            subagents: &self.toolkit.subagents,
            manager: self.toolkit.manager.as_ref(),
            models: Some(&self.subagent_models),
            hooks: Some(self.toolkit.hook_points()),
            jobs: self.running.as_ref(),
            skills: Some(&self.toolkit.active_skills),
            checkpoints: Some(&self.toolkit.checkpoints),
            ..self.helpers.join(&self.model, AgentDeps::new(&self.model.http, &self.files, &now, &new_id))
        }
    }

    /// Switches to another model for a session about to be opened, with the models beside it. `named` is the name that the user
    /// gave it, if any; `warn` receives what is ignored.
    pub fn take_model(&mut self, model: ChosenModel, named: Option<&str>, warn: impl Fn(&str)) {
        if PromptDetail::for_window(model.window) != PromptDetail::for_window(self.model.window) {
            match self.toolkit.system_prompt(self.settings, model.window) {
                Ok((system, _)) => self.system = system,
                Err(error) => warn(&format!("the system prompt stays as it was: {error:#}")),
            }
        }
        self.snapshots = snapshots(&self.models, self.settings, &model, &warn);
        self.helpers = HelperModels::load(&self.models, self.settings, &model, named, &warn);
        let definitions = self.toolkit.definitions();
        self.subagent_models = SubagentModels::choose(&self.models, self.helpers.own(), definitions);
        self.model = model;
    }

    /// Switches the model in the middle of a conversation to the one that the user named. `warn` receives what is ignored.
    pub fn switch_model(&mut self, agent: &mut Agent, model: ChosenModel, named: &str, warn: impl Fn(&str)) {
        let settings = agent.settings_mut();
        settings.model = model.profile();
        settings.budget = budget(self.settings, &model);
        settings.estimator = estimator(self.settings, &self.calibration, &model);
        self.take_model(model, Some(named), warn);
        agent.settings_mut().system = self.system.clone();
    }

    /// Reloads skills under these settings, and tells the model.
    pub fn reload_skills(&mut self, agent: &mut Agent, settings: &Settings) -> anyhow::Result<()> {
        self.toolkit.reload_skills(&self.options, settings, &self.home)?;
        self.system = self.toolkit.system_prompt(settings, self.model.window)?.0;
        agent.settings_mut().system = self.system.clone();
        Ok(())
    }
}
