//! The fixed part of a request to a model with a small window.

use longhaul_conversation::{ScriptedModel, ScriptedReply};
use longhaul_memory::{Budgets, SAVE_TOOL};
use longhaul_skills::CatalogRoom;
use longhaul_tools::{
    Glob, GrepSearch, Jobs, ListDirectory, ReadFile, ReadJobOutput, ReadManyFiles, Replace, Roots,
    RunShellCommand, ShellSettings, StopJob, Tool, WriteFile, WriteTodos,
};
use longhaul_workspace::Ignoring;

use super::trial::{Trial, settings};
use super::*;
use crate::{PromptDetail, PromptOptions, Subagents, render_prompt};

/// Every tool of a usual session.
fn all_tools(roots: &Roots) -> Vec<Box<dyn Tool>> {
    let (jobs, ignoring) = (Jobs::new(), Ignoring::default);
    vec![
        Box::new(ReadFile::new(roots.clone(), ignoring())),
        Box::new(ReadManyFiles::new(roots.clone(), ignoring())),
        Box::new(ListDirectory::new(roots.clone(), ignoring())),
        Box::new(Glob::new(roots.clone(), ignoring())),
        Box::new(GrepSearch::new(roots.clone(), ignoring())),
        Box::new(Replace::new(roots.clone(), ignoring())),
        Box::new(WriteFile::new(roots.clone())),
        Box::new(RunShellCommand::new(roots.clone(), ShellSettings::default(), jobs.clone())),
        Box::new(ReadJobOutput::new(jobs.clone())),
        Box::new(StopJob::new(jobs)),
        Box::new(WriteTodos),
    ]
}

/// The tokens of the system prompt and of the tools, and the names of the tools.
fn fixed_part(window: u64) -> (TokenCount, TokenCount, Vec<String>) {
    let mut trial = Trial::with(settings(window));
    trial.tools = all_tools(&Roots::new(trial.folder.path(), &[]).expect("a folder"));
    trial.subagents = Subagents::built_in();
    trial.agent.session.settings.permissions.situation.is_interactive = true;
    let detail = PromptDetail::for_window(TokenCount(window));
    let skills = longhaul_skills::load_skills(
        &longhaul_skills::SkillPlaces {
            builtin: vec![
                "---\nname: tides\ndescription: Reads tide tables and says when to sail.\n---\nOpen it.",
            ],
            ..Default::default()
        },
        &longhaul_skills::SkillSettings::default(),
    );
    let room = if detail == PromptDetail::Brief { CatalogRoom::Small } else { CatalogRoom::Usual };
    trial.agent.session.settings.system = render_prompt(&PromptOptions {
        tools: vec!["glob".into(), SAVE_TOOL.into()],
        subagents: trial.subagents.clone(),
        skills: longhaul_skills::render_catalog(skills.enabled(), room),
        detail,
        ..PromptOptions::default()
    });
    let model = ScriptedModel::new([ScriptedReply::text("Fine.")]);
    trial.run("Hello.", &model);
    let fixed = trial.agent.fixed();
    let names = model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    (fixed.system, fixed.tools, names)
}

#[test]
fn the_fixed_part_leaves_three_quarters_of_a_small_window() {
    let window = 8_192;
    let (system, tools, names) = fixed_part(window);
    let budgets = Budgets::default().within_small_window(TokenCount(window));
    let fixed = system + tools + budgets.global + budgets.private;
    println!("system {system}, tools {tools}, with memory {fixed} of {window}");
    assert!(fixed.0 * 4 <= window, "system {system}, tools {tools}, fixed {fixed}");
    for kept in
        ["read_file", "grep_search", "glob", "replace", "write_file", "run_shell_command", "recall_history"]
    {
        assert!(names.iter().any(|name| name == kept), "{kept}: {names:?}");
    }
    for spared in ["invoke_agent", "read_many_files", "write_todos"] {
        assert!(!names.iter().any(|name| name == spared), "{spared}");
    }
    let (_, _, all) = fixed_part(32_768);
    assert!(all.iter().any(|name| name == "invoke_agent") && all.len() > names.len());
}
