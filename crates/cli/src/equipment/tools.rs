//! The tools that a model may call.

use std::path::PathBuf;

use longhaul_agent::SaveMemory;
use longhaul_hooks::without_secrets;
use longhaul_tools::{
    Glob, GrepSearch, Jobs, ListDirectory, ReadFile, ReadJobOutput, ReadManyFiles, Replace, Roots,
    RunShellCommand, ShellSettings, StopJob, Tool, WriteFile, WriteTodos,
};

use crate::clock::now;
use crate::commands::memory::surroundings::Surroundings;
use crate::project::Project;
use crate::settings::Settings;

/// Every tool, for work in these folders.
pub(super) fn load(
    settings: &Settings,
    folders: &[PathBuf],
    around: &Surroundings,
) -> anyhow::Result<(Vec<Box<dyn Tool>>, Jobs)> {
    let roots = Roots::new(&around.cwd, &folders[1..])?;
    let ignoring = settings.hidden_files();
    let jobs = Jobs::new();
    let environment = without_secrets(std::env::vars_os(), &[]);
    let shell = ShellSettings { environment, ..ShellSettings::default() };
    let tools: Vec<Box<dyn Tool>> = vec![
        Box::new(ReadFile::new(roots.clone(), ignoring.clone())),
        Box::new(ReadManyFiles::new(roots.clone(), ignoring.clone())),
        Box::new(ListDirectory::new(roots.clone(), ignoring.clone())),
        Box::new(Glob::new(roots.clone(), ignoring.clone())),
        Box::new(GrepSearch::new(roots.clone(), ignoring.clone())),
        Box::new(Replace::new(roots.clone(), ignoring)),
        Box::new(WriteFile::new(roots.clone())),
        Box::new(RunShellCommand::new(roots, shell, jobs.clone())),
        Box::new(ReadJobOutput::new(jobs.clone())),
        Box::new(StopJob::new(jobs.clone())),
        Box::new(WriteTodos),
        Box::new(SaveMemory::new(around.places.clone(), around.settings.clone(), private_memory, now)),
    ];
    Ok((tools, jobs))
}

/// The folder of private memory, as soon as the project has one.
fn private_memory() -> Option<PathBuf> {
    Project::find().ok().flatten().map(|project| project.home.memory())
}
