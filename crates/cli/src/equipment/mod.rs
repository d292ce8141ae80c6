//! What an agent works with: tools, rules, hooks and memory, as arguments, settings and files have them.

mod aids;
mod hooks;
mod options;
mod permissions;
mod skills;
mod subagents;
mod summaries;
mod tools;

use std::path::PathBuf;

use anyhow::Context;
use longhaul_agent::{
    ActiveSkills, Definition, HookPoints, MemoryManager, Permissions, PromptOptions, Saving, SessionMemory,
    Subagents,
};
use longhaul_compaction::HostJob;
use longhaul_hooks::{HookEnvironment, Hooks};
use longhaul_memory::SAVE_TOOL;
use longhaul_skills::{Skills, render_catalog};
use longhaul_tools::{Jobs, Tool};
use longhaul_workspace::Home;

pub(crate) use aids::Aids;
pub(crate) use options::WorkOptions;
pub(crate) use permissions::load_permissions;
pub(crate) use skills::load as load_skills;
pub(crate) use subagents::{SubagentModels, load as load_subagents};
pub(crate) use summaries::{Summaries, write_notes_on_previous};

use crate::clock::now;
use crate::commands::memory::surroundings::Surroundings;
use crate::project::Project;
use crate::settings::Settings;
use crate::trust::note_texts;
use crate::withheld::variables_for_commands;

/// What an agent works with.
pub(crate) struct Equipment {
    attendance: Attendance,
    pub(crate) tools: Vec<Box<dyn Tool>>,
    pub(crate) jobs: Jobs,
    pub(crate) subagents: Subagents,
    /// Keeps memory, where the user wants an agent for that.
    pub(crate) manager: Option<MemoryManager>,
    pub(crate) permissions: Permissions,
    skills: Skills,
    /// The skills that are being followed.
    pub(crate) active_skills: ActiveSkills,
    hooks: Hooks,
    hook_environment: HookEnvironment,
    /// The folders that are worked in, the first of which is the current one.
    pub(crate) folders: Vec<PathBuf>,
    /// What the user should know.
    pub(crate) warnings: Vec<String>,
    /// What the user may like to know.
    pub(crate) notes: Vec<String>,
}

/// Whether somebody is there to be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Attendance {
    /// A person at a terminal.
    Attended,
    /// Nobody.
    Unattended,
}

impl Equipment {
    /// Everything for a session in the current folder, and the instructions of memory files. Nothing is made but a note of
    /// what the folder holds, where it is trusted.
    pub(crate) fn load(
        options: &WorkOptions,
        settings: &Settings,
        home: &Home,
        attendance: Attendance,
    ) -> anyhow::Result<(Self, SessionMemory)> {
        let around = Surroundings::find(settings, options.include_directories())?;
        let is_trusted = around.trust.is_trusted();
        let folders: Vec<PathBuf> = around.places.folders.iter().map(|folder| folder.path.clone()).collect();
        let mut found = load_subagents(settings, home, &around.cwd, is_trusted);
        let manager = settings.has_memory_manager().then(|| {
            let manager =
                MemoryManager::new(around.places.clone(), around.settings.clone(), tools::private_memory);
            match found.subagents.take(SAVE_TOOL) {
                Some(own) => manager.defined_by(own),
                None => manager,
            }
        });
        let (skills, notices) = skills::load(settings, home, &around);
        let (permissions, mut warnings) =
            load_permissions(options, settings, home, &around, &found.subagents, &skills, attendance)?;
        warnings.extend(found.problems);
        let project = Project::find()?;
        let variables = variables_for_commands(&settings.variable_rules(Some(home)));
        let hooks = hooks::load(settings, home, project.as_ref(), &around.cwd, is_trusted, variables.clone());
        warnings.extend(hooks.warnings);
        warnings.extend(notices);
        let active_skills = ActiveSkills::default();
        let jobs = Jobs::new();
        let shell = tools::shell_settings(settings, attendance, variables);
        let tools = tools::load(settings, &folders, &around, &skills, &active_skills, &jobs, shell)
            .context("could not get the tools ready")?;
        let names = names_of(&tools, manager.as_ref());
        warnings.extend(found.subagents.unknown_tools(&names));
        warnings.extend(around.notes);
        let changed = note_texts(home, &around.cwd, &around.trust, &around.settings);
        let memory = SessionMemory::load(around.places, around.settings, now());
        warnings.extend(memory.notices());
        let equipment = Self {
            attendance,
            tools,
            jobs,
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
        Ok((equipment, memory))
    }

    /// Looks for skills again, under these settings; tells what the user should know about those that do not count.
    pub(crate) fn reload_skills(
        &mut self,
        options: &WorkOptions,
        settings: &Settings,
        home: &Home,
    ) -> anyhow::Result<Vec<String>> {
        let around = Surroundings::find(settings, options.include_directories())?;
        let (skills, notices) = skills::load(settings, home, &around);
        let variables = variables_for_commands(&settings.variable_rules(Some(home)));
        let shell = tools::shell_settings(settings, self.attendance, variables);
        let jobs = &self.jobs;
        self.tools = tools::load(settings, &self.folders, &around, &skills, &self.active_skills, jobs, shell)
            .context("could not get the tools ready")?;
        self.skills = skills;
        Ok(notices)
    }

    /// The skills that were found.
    pub(crate) fn skills(&self) -> &Skills {
        &self.skills
    }

    /// The user's hooks.
    pub(crate) fn hook_points(&self) -> HookPoints<'_> {
        HookPoints { hooks: &self.hooks, environment: &self.hook_environment }
    }

    /// What a prompt tells of all this.
    pub(crate) fn prompt_options(&self) -> PromptOptions {
        PromptOptions {
            tools: names_of(&self.tools, self.manager.as_ref()),
            subagents: self.subagents.clone(),
            skills: render_catalog(self.skills.enabled()),
            saving: if self.manager.is_some() { Saving::Manager } else { Saving::Direct },
            ..PromptOptions::default()
        }
    }

    /// Every sub-agent that may ask a model of its own.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.subagents.iter().chain(self.manager.as_ref().map(MemoryManager::definition))
    }

    /// What runs in the background.
    pub(crate) fn running(&self) -> Vec<HostJob> {
        let jobs = self.jobs.running().into_iter();
        jobs.map(|job| HostJob { name: job.name, what: job.command }).collect()
    }
}

fn names_of(tools: &[Box<dyn Tool>], manager: Option<&MemoryManager>) -> Vec<String> {
    let own = tools.iter().map(|tool| tool.declaration().name);
    own.chain(manager.map(|_| SAVE_TOOL.to_string())).collect()
}
