//! The tools that a model may call.

use std::path::PathBuf;

use anyhow::Context;
use longhaul_agent::{ActivateSkill, ActiveSkills, SaveMemory, SearchSkills};
use longhaul_fetch::WebFetch;
use longhaul_hooks::Variable;
use longhaul_skills::{Skill, Skills, needs_search};
use longhaul_tools::{
    Checkpoints, Glob, GrepSearch, Jobs, ListDirectory, ReadFile, ReadJobOutput, ReadManyFiles, Replace,
    Roots, RunShellCommand, ShellSettings, StopJob, Tool, WriteFile, WriteTodos,
};
use longhaul_workspace::FolderRecorder;

use super::Attendance;
use crate::clock::now;
use crate::environment;
use crate::failure::hinted;
use crate::project::Project;
use crate::settings::Settings;
use crate::workspace::WorkspaceContext;

/// Every tool, for work in these folders.
#[allow(clippy::too_many_arguments)]
pub(super) fn load(
    settings: &Settings,
    folders: &[PathBuf],
    context: &WorkspaceContext,
    skills: &Skills,
    active_skills: &ActiveSkills,
    checkpoints: &Checkpoints,
    jobs: &Jobs,
    shell: ShellSettings,
) -> anyhow::Result<Vec<Box<dyn Tool>>> {
    let roots = Roots::new(&context.cwd, &folders[1..])?;
    checkpoints.set_roots(roots.clone());
    let offered: Vec<Skill> = skills.enabled().cloned().collect();
    // What a skill refers to can be read, and neither searched nor changed.
    let of_skills = offered.iter().filter_map(Skill::folder).filter(|folder| folder.is_dir());
    let readable: Vec<PathBuf> =
        folders[1..].iter().cloned().chain(of_skills.map(|folder| folder.to_path_buf())).collect();
    let readable = Roots::new(&context.cwd, &readable)?;
    let ignoring = settings.hidden_files();
    let recorder = FolderRecorder::new(written_folders);
    let mut tools: Vec<Box<dyn Tool>> = vec![
        Box::new(
            ReadFile::new(readable.clone(), ignoring.clone())
                .with_outputs(tool_outputs)
                .with_notes(private_memory),
        ),
        Box::new(ReadManyFiles::new(roots.clone(), ignoring.clone())),
        Box::new(ListDirectory::new(readable, ignoring.clone()).with_outputs(tool_outputs)),
        Box::new(Glob::new(roots.clone(), ignoring.clone())),
        Box::new(GrepSearch::new(roots.clone(), ignoring.clone()).with_outputs(tool_outputs)),
        Box::new(
            Replace::new(roots.clone(), ignoring)
                .with_recorder(recorder.clone())
                .with_checkpoints(checkpoints.clone()),
        ),
        Box::new(WriteFile::new(roots.clone()).with_recorder(recorder).with_checkpoints(checkpoints.clone())),
        Box::new(RunShellCommand::new(roots, shell, jobs.clone())),
        Box::new(ReadJobOutput::new(jobs.clone())),
        Box::new(StopJob::new(jobs.clone())),
        Box::new(WriteTodos),
        Box::new(WebFetch::new(settings.fetching()?)),
    ];
    if !settings.has_memory_manager() {
        let (places, settings) = (context.places.clone(), context.settings.clone());
        tools.push(Box::new(SaveMemory::new(places, settings, private_memory, now)));
    }
    if needs_search(&offered) {
        tools.push(Box::new(SearchSkills::new(offered.clone())));
    }
    if !offered.is_empty() {
        tools.push(Box::new(ActivateSkill::new(offered, active_skills.clone())));
    }
    tools.retain(|tool| settings.offers(&tool.declaration().name));
    Ok(tools)
}

/// Settings of commands: these variables, and headless a limit.
pub(super) fn shell_settings(
    settings: &Settings,
    folders: &[PathBuf],
    attendance: Attendance,
    variables: Vec<Variable>,
) -> anyhow::Result<ShellSettings> {
    let total = settings.command_limit(attendance == Attendance::Attended);
    let sandbox = settings.sandbox(folders, environment::of_process().user_home.as_deref());
    if let Some(sandbox) = &sandbox {
        let checked =
            sandbox.check().context("could not start an agent: tools.sandbox cannot be enforced here");
        checked.map_err(|error| {
            hinted(error, "it needs Landlock: Linux 6.7, or 6.2 with tools.sandboxNetworkAccess set to true")
        })?;
    }
    Ok(ShellSettings { environment: variables, sandbox, total, ..ShellSettings::default() })
}

/// The folder of whole outputs that were shortened, as soon as the project has one.
fn tool_outputs() -> Option<PathBuf> {
    Project::find().ok().flatten().map(|project| project.home.tool_outputs())
}

/// The record of folders that tools wrote into, as soon as the project has one.
fn written_folders() -> Option<PathBuf> {
    Project::find().ok().flatten().map(|project| project.home.written_folders())
}

/// The folder of private memory, as soon as the project has one.
pub(super) fn private_memory() -> Option<PathBuf> {
    Project::find().ok().flatten().map(|project| project.home.memory())
}
