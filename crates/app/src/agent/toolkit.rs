//! The tools, sub-agents, skills, rules and hooks of an agent, loaded for the current folder.

use std::path::PathBuf;

use anyhow::Context;
use longhaul_agent::{
    ActiveSkills, HookPoints, MemoryManager, MemorySaving, Permissions, PromptDetail, PromptOptions,
    SessionMemory, SubagentDefinition, Subagents,
};
use longhaul_conversation::TokenCount;
use longhaul_hooks::{HookEnvironment, Hooks};
use longhaul_mcp_client::McpServers;
use longhaul_memory::SAVE_TOOL;
use longhaul_skills::{CatalogRoom, Skills, render_catalog};
use longhaul_tools::{Checkpoints, Jobs, Tool};
use longhaul_workspace::Home;

use super::permissions::{load_permissions, trust_servers};
use super::subagents::load as load_subagents;
use super::system_prompt::system_prompt;
use super::{AgentOptions, Attendance, hooks, skills, tools};
use crate::clock::now;
use crate::environment;
use crate::mcp::load_servers;
use crate::project::Project;
use crate::settings::Settings;
use crate::trust::note_texts;
use crate::workspace::WorkspaceContext;

/// The tools, sub-agents, skills, rules and hooks of an agent.
pub struct Toolkit {
    attendance: Attendance,
    /// The tools that the model may call.
    pub(crate) tools: Vec<Box<dyn Tool>>,
    /// The MCP servers, whose tools come as they connect.
    pub servers: McpServers,
    /// MCP servers that are not started, each with the reason.
    pub servers_left_out: Vec<(String, String)>,
    /// Commands in the background.
    pub jobs: Jobs,
    /// The content of files before tools changed them.
    pub(crate) checkpoints: Checkpoints,
    /// The sub-agents that may be started.
    pub(crate) subagents: Subagents,
    /// Keeps memory, where the user wants an agent for that.
    pub(crate) manager: Option<MemoryManager>,
    /// The rules about tool calls.
    pub(crate) permissions: Permissions,
    skills: Skills,
    /// The skills that are being followed.
    pub active_skills: ActiveSkills,
    hooks: Hooks,
    hook_environment: HookEnvironment,
    /// The folders that are worked in, the first of which is the current one.
    pub(crate) folders: Vec<PathBuf>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
}

impl Toolkit {
    /// Loads everything for a session in the current folder, and the instructions of memory files. Writes nothing but a
    /// record of what a trusted folder holds.
    pub(crate) fn load(
        options: &AgentOptions,
        settings: &Settings,
        home: &Home,
        attendance: Attendance,
        window: TokenCount,
    ) -> anyhow::Result<(Self, SessionMemory)> {
        let mut context = WorkspaceContext::find(settings, &options.include_directories)?;
        if PromptDetail::for_window(window) == PromptDetail::Brief {
            context.settings.budgets = context.settings.budgets.within_small_window(window);
        }
        let is_trusted = context.trust.is_trusted();
        let folders: Vec<PathBuf> = context.places.folders.iter().map(|folder| folder.path.clone()).collect();
        let mut found = load_subagents(settings, home, &context.cwd, is_trusted);
        let manager = settings.has_memory_manager().then(|| {
            let manager =
                MemoryManager::new(context.places.clone(), context.settings.clone(), tools::private_memory);
            match found.subagents.take(SAVE_TOOL) {
                Some(own) => manager.defined_by(own),
                None => manager,
            }
        });
        let (skills, notices) = skills::load(settings, home, &context);
        let (mut permissions, mut warnings) =
            load_permissions(options, settings, home, &context, &found.subagents, &skills, attendance)?;
        let servers = load_servers(settings, Some(home), &context);
        trust_servers(&mut permissions, &servers);
        warnings.extend(servers.warnings);
        let servers_left_out = servers.left_out;
        let servers = McpServers::start(servers.configs).context("could not start the MCP servers")?;
        warnings.extend(found.problems);
        let project = Project::find()?;
        let variables = settings.variables().for_commands(&settings.variable_rules(Some(home)));
        let hooks =
            hooks::load(settings, home, project.as_ref(), &context.cwd, is_trusted, variables.clone());
        warnings.extend(hooks.warnings);
        warnings.extend(notices);
        let active_skills = ActiveSkills::default();
        let (jobs, checkpoints) = (Jobs::new(), Checkpoints::default());
        let shell = tools::shell_settings(settings, &folders, attendance, variables)?;
        let tools =
            tools::load(settings, &folders, &context, &skills, &active_skills, &checkpoints, &jobs, shell)
                .context("could not set up the tools")?;
        let names = names_of(&tools, manager.as_ref());
        warnings.extend(found.subagents.unknown_tools(&names));
        warnings.extend(context.notes);
        let changed = note_texts(home, &context.cwd, &context.trust, &context.settings);
        let memory = SessionMemory::load(context.places, context.settings, now());
        warnings.extend(memory.notices());
        let toolkit = Self {
            attendance,
            tools,
            servers,
            servers_left_out,
            jobs,
            checkpoints,
            subagents: found.subagents,
            manager,
            permissions,
            skills,
            active_skills,
            hooks: hooks.hooks,
            hook_environment: hooks.environment,
            folders,
            warnings,
            notes: found.notes.into_iter().chain(hooks.notes).chain(changed).collect(),
        };
        Ok((toolkit, memory))
    }

    /// Reloads skills under these settings; returns notices about those that are ignored.
    pub(crate) fn reload_skills(
        &mut self,
        options: &AgentOptions,
        settings: &Settings,
        home: &Home,
    ) -> anyhow::Result<Vec<String>> {
        let context = WorkspaceContext::find(settings, &options.include_directories)?;
        let (skills, notices) = skills::load(settings, home, &context);
        let variables = settings.variables().for_commands(&settings.variable_rules(Some(home)));
        let shell = tools::shell_settings(settings, &self.folders, self.attendance, variables)?;
        let (folders, active, checkpoints) = (&self.folders, &self.active_skills, &self.checkpoints);
        self.tools =
            tools::load(settings, folders, &context, &skills, active, checkpoints, &self.jobs, shell)
                .context("could not set up the tools")?;
        self.skills = skills;
        Ok(notices)
    }

    /// The skills that were found.
    pub fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The user's hooks.
    pub(crate) fn hook_points(&self) -> HookPoints<'_> {
        HookPoints { hooks: &self.hooks, environment: &self.hook_environment }
    }

    /// The options of the prompt that describe all this.
    fn prompt_options(&self, detail: PromptDetail) -> PromptOptions {
        let room = match detail {
            PromptDetail::Full => CatalogRoom::Usual,
            PromptDetail::Brief => CatalogRoom::Small,
        };
        PromptOptions {
            tools: names_of(&self.tools, self.manager.as_ref()),
            subagents: self.subagents.clone(),
            skills: render_catalog(self.skills.enabled(), room),
            detail,
            saving: if self.manager.is_some() { MemorySaving::Manager } else { MemorySaving::Direct },
            ..PromptOptions::default()
        }
    }

    /// The system prompt for a model with this toolkit and window, and a notice for the user.
    pub(crate) fn system_prompt(
        &self,
        settings: &Settings,
        window: TokenCount,
    ) -> anyhow::Result<(String, Option<String>)> {
        let user_home = environment::of_process().user_home;
        let variable = |name: &str| settings.variable_with_source(name);
        let is_trusted = self.permissions.situation.is_trusted;
        system_prompt(
            variable,
            user_home.as_deref(),
            is_trusted,
            self.prompt_options(PromptDetail::for_window(window)),
        )
    }

    /// Every sub-agent that may ask a model of its own.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &SubagentDefinition> {
        self.subagents.iter().chain(self.manager.as_ref().map(MemoryManager::definition))
    }
}

fn names_of(tools: &[Box<dyn Tool>], manager: Option<&MemoryManager>) -> Vec<String> {
    let own = tools.iter().map(|tool| tool.declaration().name);
    own.chain(manager.map(|_| SAVE_TOOL.to_string())).collect()
}
