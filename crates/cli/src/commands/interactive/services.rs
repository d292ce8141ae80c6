//! What the screen cannot do itself: models, sessions, memory, trust.

use std::path::Path;

use anyhow::anyhow;
use longhaul_agent::{Agent, Host, SessionMemory};
use longhaul_compaction::HostJob;
use longhaul_conversation::Usage;
use longhaul_engine::{CalibrationFile, Folder};
use longhaul_memory::{Fact, MemorySettings, Places, Scope, propose_scope};
use longhaul_terminal::{
    Inbox, InboxItem, Notice, Opened, Page, Review, Services, SessionChoice, SkillChoice, Spender,
};
use longhaul_tools::BoxFuture;
use longhaul_workspace::{Home, Trust};

use super::{export, skills, told, waiting};
use crate::clock::{ago, now};
use crate::commands;
use crate::commands::memory::placing;
use crate::commands::sessions::import::new_id;
use crate::commands::talk::open::{self, Found};
use crate::commands::talk::{TalkOptions, compose, system};
use crate::equipment::{Aids, Attendance, Equipment, SubagentModels};
use crate::failure::hinted;
use crate::models::{Chosen, Models, Snapshots, explained};
use crate::output::plural;
use crate::project::Project;
use crate::settings::Settings;
use crate::{environment, trust};

/// Everything that turns are carried out with.
pub(super) struct Desk<'s> {
    options: &'s TalkOptions,
    settings: &'s Settings,
    home: Home,
    models: Models<'s>,
    chosen: Chosen,
    aids: Aids,
    snapshots: Snapshots,
    equipment: Equipment,
    subagent_models: SubagentModels,
    running: Box<dyn Fn() -> Vec<HostJob> + Send + Sync>,
    calibration: CalibrationFile,
    telemetry: Option<std::path::PathBuf>,
    files: Folder,
    system: String,
    memory: (Places, MemorySettings),
    /// The session that is open.
    session: String,
}

impl<'s> Desk<'s> {
    /// Gets everything ready, and a session: the one that was found, or a new one.
    pub(super) fn begin(
        options: &'s TalkOptions,
        settings: &'s Settings,
        home: Home,
        models: Models<'s>,
        (chosen, aids): (Chosen, Aids),
        found: Option<Found>,
    ) -> anyhow::Result<(Self, Opened)> {
        let (equipment, memory) = Equipment::load(&options.work, settings, &home, Attendance::Attended)?;
        let (system, refused) = system_prompt(&equipment)?;
        let mut notices: Vec<Notice> = refused.iter().map(Notice::warning).collect();
        let warnings = std::cell::RefCell::new(Vec::new());
        let snapshots = compose::snapshots(&models, settings, &chosen, |text| {
            warnings.borrow_mut().push(Notice::warning(text));
        });
        notices.extend(warnings.into_inner());
        notices.extend(equipment.notes.iter().map(Notice::info));
        notices.extend(equipment.warnings.iter().map(Notice::warning));
        let opened = match found {
            Some(found) => found.open()?,
            None => open::begin()?,
        };
        let jobs = equipment.jobs.clone();
        let running = Box::new(move || {
            let jobs = jobs.running().into_iter();
            jobs.map(|job| HostJob { name: job.name, what: job.command }).collect()
        });
        let subagent_models = SubagentModels::choose(&models, equipment.definitions());
        let mut desk = Self {
            options,
            aids,
            subagent_models,
            settings,
            calibration: CalibrationFile::at(home.root().join("longhaul").join("calibration.json")),
            telemetry: settings.telemetry_file(home.root()),
            files: Folder::new(opened.project.home.root()),
            home,
            models,
            chosen,
            snapshots,
            equipment,
            running,
            system,
            memory: (memory.places().clone(), memory.settings().clone()),
            session: String::new(),
        };
        let mut opened = desk.agent(opened, memory);
        notices.append(&mut opened.notices);
        Ok((desk, Opened { notices, ..opened }))
    }

    /// The agent for a session.
    fn agent(&mut self, opened: open::Opened, mut memory: SessionMemory) -> Opened {
        memory.keep_private_in(opened.project.home.memory());
        // What another session follows is its own affair, and stands in its log.
        self.equipment.active_skills.forget();
        let place = open::surroundings(&opened.project, &self.equipment.folders, self.settings);
        let permissions = &mut self.equipment.permissions;
        permissions.saved.project = Some(opened.project.home.saved_policy());
        // What was always allowed or taken back since the start counts as it stands now.
        if self.options.work.policy().is_empty() {
            permissions.reload_saved();
        }
        let settings = compose::agent_settings(
            &self.options.work,
            self.settings,
            &self.equipment,
            &self.chosen,
            &self.calibration,
            self.system.clone(),
            place,
        );
        self.session = opened.id;
        self.files = Folder::new(opened.project.home.root());
        let notes = opened.notes.iter().map(Notice::info);
        let notices = notes.chain(opened.warnings.iter().map(Notice::warning)).collect();
        Opened { agent: Agent::on(opened.log, settings).with_memory(memory), notices }
    }

    fn try_open(&mut self, session: &str) -> anyhow::Result<Opened> {
        let found = open::find(Path::new(session), false)?;
        // A session goes on with its own model, where that can still be asked.
        if let Some(chosen) = found.model().and_then(|model| self.models.choose(&model).ok()) {
            self.take_model(chosen);
        }
        let (places, settings) = self.memory.clone();
        let memory = SessionMemory::load(places, settings, now());
        let opened = found.open()?;
        Ok(self.agent(opened, memory))
    }

    fn take_model(&mut self, chosen: Chosen) -> Vec<Notice> {
        let warnings = std::cell::RefCell::new(Vec::new());
        self.snapshots = compose::snapshots(&self.models, self.settings, &chosen, |text| {
            warnings.borrow_mut().push(Notice::warning(text));
        });
        self.chosen = chosen;
        warnings.into_inner()
    }

    /// Looks for skills again, and lets the model know of them; tells what is new and what is gone.
    fn try_reload_skills(&mut self, agent: &mut Agent) -> anyhow::Result<String> {
        let before = skills::names(&self.equipment);
        let settings = waiting::current_settings(&self.home)?;
        self.equipment.reload_skills(&self.options.work, &settings, &self.home)?;
        self.system = system_prompt(&self.equipment)?.0;
        agent.settings_mut().system = self.system.clone();
        Ok(skills::difference(&before, &skills::names(&self.equipment)))
    }

    fn try_switch_skill(&mut self, agent: &mut Agent, name: &str, on: bool) -> anyhow::Result<String> {
        let desk = commands::skills::Desk::find(waiting::current_settings(&self.home)?)?;
        let switched = if on { desk.switch_on(name, None)? } else { desk.switch_off(name, None)? };
        self.try_reload_skills(agent)?;
        Ok(switched.in_words())
    }

    fn try_add_memory(&self, fact: &str) -> anyhow::Result<String> {
        let (places, settings) = &self.memory;
        let (stated, text) = split_scope(fact, places)?;
        let fact = Fact::parse(text)?;
        let scope = match stated {
            Some(scope) => scope,
            None => {
                let proposed = propose_scope(fact.as_str(), places);
                // Nothing is saved where nobody may look for it.
                Some(proposed.scope).filter(|_| proposed.is_clear).ok_or_else(|| {
                    let hint = "say it with /memory add --scope global TEXT, --scope project TEXT or --folder FOLDER TEXT";
                    hinted(anyhow!("it is not clear where this holds, and nothing was saved"), hint)
                })?
            }
        };
        let private = Project::find()?.map(|project| project.home.memory());
        let places = Places { private: private.or_else(|| places.private.clone()), ..places.clone() };
        let saved = placing::save(&fact, scope, &places, settings)?;
        Ok(format!("{saved} ({})", saved.path.display()))
    }

    fn try_sessions(&self) -> anyhow::Result<Vec<SessionChoice>> {
        let Some(project) = Project::find()? else { return Ok(Vec::new()) };
        let listing = project.store().list()?;
        let others = listing.sessions.into_iter().filter(|session| session.id() != self.session);
        let now = now();
        let mut choices: Vec<SessionChoice> = others
            .map(|session| {
                let count = plural(session.metadata.message_count, "message", "messages");
                SessionChoice {
                    id: session.id().to_string(),
                    title: session.display_name(),
                    detail: format!("{}, {count}", ago(session.updated, now)),
                }
            })
            .collect();
        // The list is in the order of their numbers; the newest is what most people look for.
        choices.reverse();
        Ok(choices)
    }

    fn trust_page(&self) -> anyhow::Result<Page> {
        let folder = std::env::current_dir()?;
        let environment = environment::of_process();
        let loaded = Settings::load(Some(&self.home), Path::new(""), &environment)?;
        let trust = trust::decide(&folder, Some(&self.home), &environment, loaded.needs_trust)?;
        let file = self.home.trusted_folders().display().to_string();
        let (state, reason) = match &trust {
            Trust::Trusted(decider) => ("is trusted", trust::because(decider, &file)),
            Trust::Untrusted(decider) => ("is not trusted", trust::because(decider, &file)),
            Trust::Undecided => ("is not trusted", "no rule covers it".to_string()),
        };
        let mut page = Page::new(format!("{} {state}", folder.display()));
        page.fact("because", reason);
        if !trust.is_trusted() {
            page.text(
                "Its own settings, memory, rules and hooks do not count, and nothing runs without asking you.",
            );
            page.aside("`longhaul trust add` trusts it; it shows first what that activates.");
        }
        let review = Settings::load(Some(&self.home), &folder, &environment)?.review;
        if !review.changes.is_empty() {
            page.text(
                "Changed since it was trusted, and suspended until you confirm it with `longhaul trust add`:",
            );
            review.changes.iter().for_each(|change| page.text(change.to_string()));
        }
        Ok(page)
    }
}

/// The system prompt for a model that works with this, and what the user should know about it.
fn system_prompt(equipment: &Equipment) -> anyhow::Result<(String, Option<String>)> {
    let user_home = environment::of_process().user_home;
    let variable = |name: &str| std::env::var(name).ok();
    let is_trusted = equipment.permissions.situation.is_trusted;
    system::prompt(variable, user_home.as_deref(), is_trusted, equipment.prompt_options())
}

impl Services for Desk<'_> {
    fn host(&self) -> Host<'_> {
        Host {
            summariser: &self.snapshots,
            counter: Some(&self.chosen),
            telemetry: self.telemetry.as_deref(),
            calibration: Some(&self.calibration),
            tools: &self.equipment.tools,
            subagents: &self.equipment.subagents,
            manager: self.equipment.manager.as_ref(),
            models: Some(&self.subagent_models),
            hooks: Some(self.equipment.hook_points()),
            jobs: self.running.as_ref(),
            skills: Some(&self.equipment.active_skills),
            ..self.aids.join(&self.chosen, Host::new(&self.chosen.http, &self.files, &now, &new_id))
        }
    }

    fn model(&self) -> String {
        self.chosen.full_name.clone()
    }

    fn models(&self) -> Vec<String> {
        self.models.known()
    }

    fn switch_model(&mut self, agent: &mut Agent, name: &str) -> Result<Vec<Notice>, Notice> {
        let chosen = self.models.choose(name).map_err(|error| told(&explained(error)))?;
        let settings = agent.settings_mut();
        settings.model = chosen.profile();
        settings.budget = compose::budget(self.settings, &chosen);
        settings.estimator = compose::estimator(self.settings, &self.calibration, &chosen);
        Ok(self.take_model(chosen))
    }

    fn cost(&self, caller: Spender<'_>, usage: &Usage) -> Option<f64> {
        match caller {
            Spender::Conversation => self.chosen.cost(usage),
            Spender::Subagent(name) => self.subagent_models.cost(name, usage, &self.chosen),
            Spender::Aside(model) => self.aids.asked(model, &self.chosen)?.cost(usage),
        }
    }

    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice> {
        self.try_sessions().map_err(|error| told(&error))
    }

    fn open(&mut self, session: &str) -> Result<Opened, Notice> {
        self.try_open(session).map_err(|error| told(&error))
    }

    fn export(&self, agent: &Agent, to: Option<&str>) -> Result<String, Notice> {
        export::write(agent, to).map_err(|error| told(&error))
    }

    fn add_memory(&mut self, fact: &str) -> Result<String, Notice> {
        self.try_add_memory(fact).map_err(|error| told(&error))
    }

    fn skills(&self) -> Vec<SkillChoice> {
        skills::choices(&self.equipment)
    }

    fn skill_list(&self, all: bool) -> Page {
        skills::list(&self.equipment, all)
    }

    fn skill(&self, name: &str) -> Result<Page, Notice> {
        skills::show(&self.equipment, name).map_err(|error| told(&error))
    }

    fn switch_skill(&mut self, agent: &mut Agent, name: &str, on: bool) -> Result<String, Notice> {
        self.try_switch_skill(agent, name, on).map_err(|error| told(&error))
    }

    fn reload_skills(&mut self, agent: &mut Agent) -> Result<String, Notice> {
        self.try_reload_skills(agent).map_err(|error| told(&error))
    }

    fn inbox(&self, inbox: Inbox) -> Result<Vec<InboxItem>, Notice> {
        waiting::items(inbox, &self.home).map_err(|error| told(&error))
    }

    fn review(&mut self, agent: &mut Agent, inbox: Inbox, review: &Review) -> Result<Notice, Notice> {
        let settled = waiting::settle(inbox, review, &self.home).map_err(|error| told(&error));
        if inbox == Inbox::Skills {
            // It counts at once, also where something else was ended than was asked for.
            self.try_reload_skills(agent).map_err(|error| told(&error))?;
        }
        settled
    }

    fn trust(&self) -> Page {
        self.trust_page().unwrap_or_else(|error| Page::new(format!("{error:#}")))
    }

    fn end<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.equipment.jobs.stop_all().await;
            // Who has said nothing leaves nothing behind.
            if agent.conversation().log().replay().said().is_empty() {
                std::fs::remove_file(agent.conversation().log().path()).ok();
            }
        })
    }
}

/// What is to be remembered, and where it holds if that stands before it.
fn split_scope<'t>(text: &'t str, places: &Places) -> anyhow::Result<(Option<Scope>, &'t str)> {
    let text = text.trim_start();
    let argument = |name: &str| {
        let rest =
            text.strip_prefix(name)?.strip_prefix(|letter: char| letter == '=' || letter.is_whitespace())?;
        Some(rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), "")))
    };
    if let Some((scope, rest)) = argument("--scope") {
        return match scope {
            "global" => Ok((Some(Scope::Global), rest)),
            "project" => Ok((Some(Scope::Project), rest)),
            other => Err(hinted(anyhow!("there is no scope {other:?}"), "--scope takes global or project")),
        };
    }
    match argument("--folder") {
        Some((folder, rest)) => Ok((Some(placing::folder(Path::new(folder), places)?), rest)),
        None => Ok((None, text)),
    }
}
