//! Services for the terminal: models, sessions, memory, trust.

use std::cell::RefCell;
use std::path::Path;

use anyhow::anyhow;
use longhaul_agent::{Agent, AgentDeps, CommandPiece, SessionMemory};
use longhaul_app::agent::{AgentResources, Attendance, HelperModels, OPEN_CHOICE};
use longhaul_app::clock::now;
use longhaul_app::commands::CustomCommands;
use longhaul_app::models::{ChosenModel, Models, SessionModels};
use longhaul_app::project::Project;
use longhaul_app::sessions::{self, FoundSession};
use longhaul_app::settings::{Settings, load_here, setting_keys};
use longhaul_app::{environment, trust};
use longhaul_conversation::Usage;
use longhaul_display::Palette;
use longhaul_engine::RecordId;
use longhaul_mcp_client::ServerStatus;
use longhaul_memory::{MemorySettings, Places};
use longhaul_terminal::{
    ChangedSetting, CustomCommand, InboxItem, InboxKind, MemoryReply, MemoryRequest, Notice, Offers,
    OpenedSession, Page, ReviewDecision, Services, SessionChoice, SkillChoice, Spender,
};
use longhaul_tools::BoxFuture;
use longhaul_workspace::{Home, Trust};

use super::{config, error_notice, export, looks, memory, skills, waiting};
use crate::options::TalkOptions;
use crate::output::{ago, plural, thousands};

/// So many resources of a server are shown.
const RESOURCES_SHOWN: usize = 20;

/// The services that the terminal asks of the program.
pub(super) struct TerminalServices<'s> {
    deps: AgentResources<'s>,
    memory: (Places, MemorySettings),
    /// The folder of facts that are being edited, as soon as one is; it goes with the session.
    edits: Option<tempfile::TempDir>,
    /// The session that is open.
    session: String,
    /// The model that the user named for the whole program.
    asked: Option<String>,
    /// The custom commands of the user and the project.
    commands: CustomCommands,
    /// Enables colours.
    is_coloured: bool,
}

impl<'s> TerminalServices<'s> {
    /// Gets everything ready, and a session: the one that was found, or a new one.
    pub(super) fn begin(
        options: &TalkOptions,
        settings: &'s Settings,
        home: Home,
        models: Models<'s>,
        parts: (ChosenModel, HelperModels),
        found: Option<FoundSession>,
        is_coloured: bool,
    ) -> anyhow::Result<(Self, OpenedSession)> {
        let (work, attendance) = (options.work.to_agent_options(), Attendance::Attended);
        let warnings = Warnings::default();
        let (deps, memory) =
            AgentResources::load(work, settings, home, attendance, models, parts, |text| warnings.add(text))?;
        let mut notices = warnings.into_notices();
        notices.extend(deps.toolkit.notes.iter().map(Notice::info));
        notices.extend(deps.toolkit.warnings.iter().map(Notice::warning));
        let opened = match found {
            Some(found) => found.open()?,
            None => sessions::begin()?,
        };
        let places = (memory.places().clone(), memory.settings().clone());
        let commands = deps.custom_commands();
        notices.extend(commands.broken().map(|(_, reason)| Notice::warning(reason)));
        let mut services = Self {
            deps,
            memory: places,
            edits: None,
            session: String::new(),
            asked: options.model.clone(),
            commands,
            is_coloured,
        };
        let mut opened = services.agent(opened, memory);
        notices.append(&mut opened.notices);
        Ok((services, OpenedSession { notices, ..opened }))
    }

    /// The agent for a session.
    fn agent(&mut self, opened: sessions::OpenSession, memory: SessionMemory) -> OpenedSession {
        // What was always allowed or taken back since the start counts as it stands now.
        self.deps.reload_saved_rules(opened.project.home.saved_policy());
        self.session = opened.id.clone();
        let notes = opened.notes.iter().map(Notice::info);
        let notices = notes.chain(opened.warnings.iter().map(Notice::warning)).collect();
        OpenedSession { agent: self.deps.open_agent(opened, memory), notices }
    }

    fn try_open(&mut self, session: &str) -> anyhow::Result<OpenedSession> {
        let found = sessions::find(Path::new(session), false, &sessions::without_progress)?;
        let warnings = Warnings::default();
        self.take_model_of(&found.models(), |text| warnings.add(text));
        let (places, settings) = self.memory.clone();
        let memory = SessionMemory::load(places, settings, now());
        let opened = found.open()?;
        let mut opened = self.agent(opened, memory);
        opened.notices.extend(warnings.into_notices());
        Ok(opened)
    }

    /// Switches to the model of a session about to be opened: the one chosen for it, else that of the start, else the one that
    /// answered in it, as far as it can be asked.
    fn take_model_of(&mut self, session: &SessionModels, warn: impl Fn(&str)) {
        // What was chosen for a session goes before what was named for the whole program.
        let own = session.chosen.as_deref().or(self.asked.as_deref());
        let chosen = match self.find_model(own, session) {
            Ok(chosen) => chosen,
            Err(error) => {
                if let Some(model) = &session.chosen {
                    let own = &self.deps.model.full_name;
                    warn(&format!("This session was switched to {model}; {own} answers instead: {error:#}"));
                }
                return;
            }
        };
        let named = self.deps.models.name_for_talk(own, session).map(str::to_string);
        self.deps.take_model(chosen, named.as_deref(), warn);
    }

    /// Finds a model, and asks its server for an unknown window.
    fn find_model(&self, asked: Option<&str>, session: &SessionModels) -> anyhow::Result<ChosenModel> {
        let models = &self.deps.models;
        let find = || {
            let mut chosen = models.choose_for_talk(asked, session)?;
            models.ask_window(&mut chosen);
            Ok(chosen)
        };
        // The agent's thread has a runtime of its own, in which nothing may wait.
        let found = std::thread::scope(|scope| scope.spawn(find).join());
        found.unwrap_or_else(|_| Err(anyhow!("the search for the model failed")))
    }

    /// The models that the server of the present provider offers, each with its window as far as the server states it.
    fn offered_models(&self) -> Vec<(String, String)> {
        let models = &self.deps.models;
        let ask = || models.offers(Some(self.deps.model.provider()));
        // The agent's thread has a runtime of its own, in which nothing may wait.
        let offers = std::thread::scope(|scope| scope.spawn(ask).join());
        let offers = offers.ok().and_then(Result::ok).unwrap_or_default();
        let offered = offers.into_iter().flat_map(|offer| {
            let (provider, host) = (offer.provider, offer.host);
            let models = offer.offered.unwrap_or_default().into_iter();
            models.map(move |model| {
                let window = model.window.map(|window| format!(", {} tokens", thousands(window.0)));
                let told = format!("  ({host}{})", window.unwrap_or_default());
                (format!("{provider}/{}", model.name), told)
            })
        });
        let own = &self.deps.model.full_name;
        offered
            .filter(|(name, _)| name != own && name.split_once('/').is_none_or(|(_, name)| name != own))
            .collect()
    }

    /// Reloads skills and tells the model; returns what was added and removed.
    fn try_reload_skills(&mut self, agent: &mut Agent) -> anyhow::Result<String> {
        let before = skills::names(&self.deps.toolkit);
        let settings = load_here()?.settings;
        self.deps.reload_skills(agent, &settings)?;
        Ok(skills::difference(&before, &skills::names(&self.deps.toolkit)))
    }

    fn try_switch_skill(&mut self, agent: &mut Agent, name: &str, on: bool) -> anyhow::Result<String> {
        let library = longhaul_app::skills::SkillLibrary::find(load_here()?.settings)?;
        let switched = if on { library.switch_on(name, None)? } else { library.switch_off(name, None)? };
        self.try_reload_skills(agent)?;
        Ok(switched.in_words())
    }

    /// Switches the model, for this session also when it is resumed.
    fn try_switch_model(&mut self, agent: &mut Agent, name: &str) -> anyhow::Result<Vec<Notice>> {
        let chosen = self.find_model(Some(name), &SessionModels::default())?;
        let recorded = if name == OPEN_CHOICE { name } else { &chosen.full_name };
        let stamp = RecordId { id: sessions::new_id(), at: now() };
        agent.conversation_mut().choose_model(recorded, stamp)?;
        let warnings = Warnings::default();
        if chosen.is_window_assumed {
            let window = thousands(chosen.window.0);
            warnings.add(&format!("The window of {} is unknown; assuming {window} tokens.", chosen.name));
        }
        self.deps.switch_model(agent, chosen, name, |text| warnings.add(text));
        let mut notices = warnings.into_notices();
        if self.deps.helpers.are_routing() {
            notices.push(Notice::info("Each prompt is answered by the model that suits it, flash or pro."));
        }
        Ok(notices)
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
        let loaded = Settings::load(Some(&self.deps.home), Path::new(""), &environment)?;
        let trust = trust::decide(&folder, Some(&self.deps.home), &environment, loaded.needs_trust)?;
        let file = self.deps.home.trusted_folders().display().to_string();
        let (state, reason) = match &trust {
            Trust::Trusted(decider) => ("is trusted", trust::because(decider, &file)),
            Trust::Untrusted(decider) => ("is not trusted", trust::because(decider, &file)),
            Trust::Undecided => ("is not trusted", "no rule covers it".to_string()),
        };
        let mut page = Page::new(format!("{} {state}", folder.display()));
        page.fact("because", reason);
        if !trust.is_trusted() {
            page.text(
                "Its own settings, memory, policy rules and hooks are ignored, and nothing runs without your \
                 approval.",
            );
            page.aside("Run `longhaul trust add` to see what it would activate and trust it.");
        }
        let review = Settings::load(Some(&self.deps.home), &folder, &environment)?.review;
        if !review.changes.is_empty() {
            page.text(
                "Changed since you trusted it; suspended until you confirm it with `longhaul trust add`:",
            );
            review.changes.iter().for_each(|change| page.text(change.to_string()));
        }
        Ok(page)
    }
}

impl Services for TerminalServices<'_> {
    fn host(&self) -> AgentDeps<'_> {
        self.deps.host()
    }

    fn model(&self) -> String {
        self.deps.model.full_name.clone()
    }

    fn models(&self) -> Vec<String> {
        let offered = self.offered_models();
        let is_offered = |name: &String| {
            offered.iter().any(|(known, _)| known.split_once('/').is_some_and(|(_, known)| known == name))
        };
        let others = self.deps.models.known().into_iter().filter(|name| !is_offered(name));
        offered.iter().map(|(name, told)| format!("{name}{told}")).chain(others).collect()
    }

    fn resume_command(&self) -> Option<String> {
        Some(format!("longhaul --resume {}", self.session))
    }

    fn switch_model(&mut self, agent: &mut Agent, name: &str) -> Result<Vec<Notice>, Notice> {
        self.try_switch_model(agent, name).map_err(|error| error_notice(&error))
    }

    fn cost(&self, caller: Spender<'_>, usage: &Usage) -> Option<f64> {
        match caller {
            Spender::Conversation => self.deps.model.cost(usage),
            Spender::Subagent(name) => self.deps.subagent_models.cost(name, usage, &self.deps.model),
            Spender::Aside(model) => self.deps.helpers.asked(model, &self.deps.model)?.cost(usage),
        }
    }

    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice> {
        self.try_sessions().map_err(|error| error_notice(&error))
    }

    fn open(&mut self, session: &str) -> Result<OpenedSession, Notice> {
        self.try_open(session).map_err(|error| error_notice(&error))
    }

    fn export(&self, agent: &Agent, to: Option<&str>) -> Result<String, Notice> {
        export::write(agent, to).map_err(|error| error_notice(&error))
    }

    fn change_memory(&mut self, request: &MemoryRequest) -> Result<MemoryReply, Notice> {
        let (places, settings) = &self.memory;
        memory::change(request, places, settings, &mut self.edits).map_err(|error| error_notice(&error))
    }

    fn servers(&self) -> Page {
        let toolkit = &self.deps.toolkit;
        let reports = toolkit.servers.reports();
        let mut page = Page::new(match reports.len() {
            0 => "No MCP servers are started.".to_string(),
            count => plural(count, "MCP server", "MCP servers"),
        });
        for report in &reports {
            let state = match &report.status {
                ServerStatus::Ready => plural(report.tools.len(), "tool", "tools"),
                ServerStatus::Connecting => "still starting".to_string(),
                ServerStatus::Failed(reason) => reason.clone(),
            };
            let restarts = match report.restarts {
                0 => String::new(),
                count => format!(", {}", plural(count as usize, "restart", "restarts")),
            };
            page.fact(report.name.as_str(), format!("{state}{restarts}"));
            report.tools.iter().for_each(|tool| page.aside(tool.as_str()));
            report.prompts.iter().for_each(|prompt| page.aside(prompt.as_str()));
            let resources = report.resources.iter().take(RESOURCES_SHOWN);
            resources.for_each(|resource| page.aside(format!("@{resource}")));
            if let Some(more) = report.resources.len().checked_sub(RESOURCES_SHOWN).filter(|more| *more > 0) {
                page.aside(format!("{more} more resources"));
            }
            report.left_out.iter().for_each(|reason| page.aside(format!("left out: {reason}")));
        }
        for (name, reason) in &toolkit.servers_left_out {
            page.fact(name.as_str(), format!("not started: {reason}"));
        }
        page
    }

    fn skills(&self) -> Vec<SkillChoice> {
        skills::choices(&self.deps.toolkit)
    }

    fn skill_list(&self, all: bool) -> Page {
        skills::list(&self.deps.toolkit, all)
    }

    fn skill(&self, name: &str) -> Result<Page, Notice> {
        skills::show(&self.deps.toolkit, name).map_err(|error| error_notice(&error))
    }

    fn switch_skill(&mut self, agent: &mut Agent, name: &str, on: bool) -> Result<String, Notice> {
        self.try_switch_skill(agent, name, on).map_err(|error| error_notice(&error))
    }

    fn reload_skills(&mut self, agent: &mut Agent) -> Result<String, Notice> {
        self.try_reload_skills(agent).map_err(|error| error_notice(&error))
    }

    fn offers(&self) -> Offers {
        let command = |custom: &longhaul_app::commands::CustomCommand| CustomCommand {
            name: custom.name.clone(),
            takes: custom.argument_hint.clone(),
            does: custom.description.clone(),
        };
        // A name that is typed all the same is answered with the reason.
        let broken = self.commands.broken().map(|(name, _)| CustomCommand {
            name: name.to_string(),
            does: "Cannot be used: its file is broken".to_string(),
            ..CustomCommand::default()
        });
        let settings = load_here().map(|loaded| loaded.settings).unwrap_or_default();
        Offers {
            commands: self.commands.iter().map(command).chain(broken).collect(),
            settings: setting_keys().map(|(key, about)| (key.to_string(), about.to_string())).collect(),
            themes: looks::themes(&settings),
        }
    }

    fn custom_command(&self, name: &str, words: &str) -> Result<Vec<CommandPiece>, Notice> {
        self.commands.fill(name, words).map_err(|error| error_notice(&error))
    }

    fn settings_page(&self, key: Option<&str>) -> Result<Page, Notice> {
        config::page(&self.deps.home, key).map_err(|error| error_notice(&error))
    }

    fn change_setting(&mut self, key: &str, value: Option<&str>) -> Result<ChangedSetting, Notice> {
        if let ("ui.theme", Some(name)) = (key, value) {
            let themes = load_here().map(|loaded| looks::themes(&loaded.settings)).unwrap_or_default();
            if Palette::named(name).is_none() && !themes.iter().any(|(known, _)| known == name) {
                let known: Vec<&str> = themes.iter().map(|(known, _)| known.as_str()).collect();
                return Err(Notice::error(format!("Unknown theme: {name}."))
                    .with_hint(format!("Choose one of {}.", known.join(", "))));
            }
        }
        let changed = config::change(&self.deps.home, key, value).and_then(|notice| {
            let (preferences, doubts) = looks::preferences(&load_here()?.settings, self.is_coloured);
            // A theme that cannot be shown is said to be so instead.
            let notice = doubts.into_iter().next().unwrap_or(notice);
            Ok(ChangedSetting { notice, preferences })
        });
        changed.map_err(|error| error_notice(&error))
    }

    fn inbox(&self, inbox: InboxKind) -> Result<Vec<InboxItem>, Notice> {
        waiting::items(inbox).map_err(|error| error_notice(&error))
    }

    fn review(
        &mut self,
        agent: &mut Agent,
        inbox: InboxKind,
        review: &ReviewDecision,
    ) -> Result<Notice, Notice> {
        let settled = waiting::settle(inbox, review).map_err(|error| error_notice(&error));
        if inbox == InboxKind::Skills {
            // It counts at once, also where something else was ended than was asked for.
            self.try_reload_skills(agent).map_err(|error| error_notice(&error))?;
        }
        settled
    }

    fn trust(&self) -> Page {
        self.trust_page().unwrap_or_else(|error| Page::new(format!("{error:#}")))
    }

    fn end<'a>(&'a self, agent: &'a Agent) -> BoxFuture<'a, ()> {
        Box::pin(async {
            self.deps.toolkit.jobs.stop_all().await;
            // Who has said nothing leaves nothing behind.
            if agent.conversation().log().replay().said().is_empty() {
                std::fs::remove_file(agent.conversation().log().path()).ok();
            }
        })
    }
}

/// Warnings as they come, for the terminal.
#[derive(Default)]
struct Warnings(RefCell<Vec<Notice>>);

impl Warnings {
    fn add(&self, text: &str) {
        self.0.borrow_mut().push(Notice::warning(text));
    }

    fn into_notices(self) -> Vec<Notice> {
        self.0.into_inner()
    }
}
