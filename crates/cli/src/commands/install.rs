//! `longhaul install AGENT` and `longhaul uninstall AGENT`: the guard, the MCP server and a skill in another agent.

use std::path::Path;

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use longhaul_app::companion::agent_places;
use longhaul_app::environment::current_folder;
use longhaul_app::failure::hinted;
use longhaul_companion::{
    AgentPlaces, FileOwner, GuardedAgent, InstallError, InstallPlan, InstallScope, InstallState,
    apply_install, install_state, plan_install, plan_uninstall,
};

use crate::output::{Color, Screen, plural, print, visible, visible_text};
use crate::questions::confirm;

#[derive(Debug, Args)]
pub(crate) struct InstallOptions {
    /// Agent to guard.
    #[arg(required_unless_present = "list")]
    agent: Option<Agent>,
    /// Show where the guard is installed.
    #[arg(long, conflicts_with = "agent")]
    list: bool,
    #[command(flatten)]
    change: ChangeOptions,
}

#[derive(Debug, Args)]
pub(crate) struct UninstallOptions {
    /// Agent that is guarded.
    agent: Agent,
    #[command(flatten)]
    change: ChangeOptions,
}

#[derive(Debug, Args)]
struct ChangeOptions {
    /// Guard all your projects, or this one.
    #[arg(long, value_enum, default_value = "user")]
    scope: Scope,
    /// Show the change without making it.
    #[arg(long)]
    dry_run: bool,
    /// Skip the confirmation prompt; required without a terminal.
    #[arg(long)]
    yes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Agent {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Scope {
    User,
    Project,
}

impl From<Agent> for GuardedAgent {
    fn from(agent: Agent) -> Self {
        match agent {
            Agent::Claude => Self::Claude,
            Agent::Codex => Self::Codex,
            Agent::Gemini => Self::Gemini,
            Agent::Opencode => Self::Opencode,
        }
    }
}

impl From<Scope> for InstallScope {
    fn from(scope: Scope) -> Self {
        match scope {
            Scope::User => Self::User,
            Scope::Project => Self::Project,
        }
    }
}

/// Installs the guard, or lists where it is.
pub(crate) fn run(options: &InstallOptions, color: Color) -> anyhow::Result<()> {
    let places = agent_places(&current_folder())?;
    let Some(agent) = options.agent else { return list(&places) };
    let (agent, scope) = (agent.into(), options.change.scope.into());
    let plan = plan_install(agent, scope, &places).map_err(failure)?;
    if plan.changes.is_empty() {
        return print(&format!("{} is already guarded.\n", agent.title()));
    }
    if !change(&plan, &places, &options.change, "Install the guard?", color)? {
        return print("Nothing was changed.\n");
    }
    let mut text = format!(
        "{} is now guarded: after its own compaction, your rules and work come back. It can search earlier sessions, too.\n",
        agent.title()
    );
    if let Some(step) = agent.next_step() {
        text.push_str(&format!("One step is left: {step}.\n"));
    }
    if !is_on_path() {
        text.push_str("`longhaul` is not on your PATH: put it there, or the hooks cannot start it.\n");
    }
    text.push_str(&format!("Undo it with `longhaul uninstall {}`.\n", named(agent, scope)));
    print(&text)
}

/// Removes the guard.
pub(crate) fn run_uninstall(options: &UninstallOptions, color: Color) -> anyhow::Result<()> {
    let places = agent_places(&current_folder())?;
    let (agent, scope): (GuardedAgent, InstallScope) = (options.agent.into(), options.change.scope.into());
    let plan = plan_uninstall(agent, scope, &places).map_err(failure)?;
    if plan.changes.is_empty() {
        return print(&format!("{} is not guarded {}.\n", agent.title(), reach(scope)));
    }
    if !change(&plan, &places, &options.change, "Remove the guard?", color)? {
        return print("Nothing was changed.\n");
    }
    print(&format!("{} is no longer guarded {}.\n", agent.title(), reach(scope)))
}

/// Shows the changes of a plan and makes them once they are confirmed.
fn change(
    plan: &InstallPlan,
    places: &AgentPlaces,
    options: &ChangeOptions,
    question: &str,
    color: Color,
) -> anyhow::Result<bool> {
    let screen = Screen::of_stdout(color);
    print(&own_files(plan, &screen))?;
    for change in &plan.changes {
        let verb = match (&change.before, &change.after) {
            (None, _) => "Create",
            (_, None) => "Remove",
            _ => "Change",
        };
        let path = visible(&change.path.display().to_string());
        if change.owner == FileOwner::Longhaul {
            continue;
        }
        print(&format!(
            "{}\n{}\n",
            screen.strong(&format!("{verb} {path}")),
            visible_text(&change.diff().text)
        ))?;
    }
    if options.dry_run || !confirm(question, options.yes)? {
        return Ok(false);
    }
    apply_install(plan, places).map_err(failure)?;
    Ok(true)
}

/// The files of ours, by folder: their content is no change of the user's.
fn own_files(plan: &InstallPlan, screen: &Screen) -> String {
    let mut folders: Vec<(&str, &Path, usize)> = Vec::new();
    for change in plan.changes.iter().filter(|change| change.owner == FileOwner::Longhaul) {
        let verb = match (&change.before, &change.after) {
            (None, _) => "Create",
            (_, None) => "Remove",
            _ => "Renew",
        };
        let folder = own_folder(&change.path);
        match folders.iter_mut().find(|known| (known.0, known.1) == (verb, folder)) {
            Some(known) => known.2 += 1,
            None => folders.push((verb, folder, 1)),
        }
    }
    let line = |(verb, folder, count): (&str, &Path, usize)| {
        let path = visible(&folder.display().to_string());
        let text = if folder.extension().is_some() {
            format!("{verb} {path}")
        } else {
            format!("{verb} {path} ({})", plural(count, "file", "files"))
        };
        format!("{}\n", screen.strong(&text))
    };
    folders.into_iter().map(line).collect()
}

/// The plug-in, extension or skill that a file belongs to, or the file itself.
fn own_folder(path: &Path) -> &Path {
    let name = |folder: &Path| folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let collection = path.ancestors().skip(1).find(|folder| name(folder).starts_with("plugin-"));
    let mut own = path.ancestors().skip(1).filter(|folder| name(folder) == "longhaul");
    collection
        .or_else(|| {
            own.next().map(|inner| {
                own.next().filter(|outer| inner.starts_with(outer.join("skills"))).unwrap_or(inner)
            })
        })
        .unwrap_or(path)
}

fn list(places: &AgentPlaces) -> anyhow::Result<()> {
    let mut text = String::new();
    for agent in GuardedAgent::ALL {
        let mut states = Vec::new();
        for scope in [InstallScope::User, InstallScope::Project] {
            match install_state(agent, scope, places).map_err(failure)? {
                InstallState::Absent => {}
                InstallState::Current => states.push(format!("guarded {}", reach(scope))),
                InstallState::Outdated => states.push(format!(
                    "guarded {}, not as this version does it: run `longhaul install {}`",
                    reach(scope),
                    named(agent, scope)
                )),
            }
        }
        let state = if states.is_empty() { "not guarded".to_string() } else { states.join("; ") };
        text.push_str(&format!("{:<9} {:<12} {state}\n", agent.name(), agent.title()));
    }
    print(&text)
}

fn reach(scope: InstallScope) -> &'static str {
    match scope {
        InstallScope::User => "in all projects",
        InstallScope::Project => "in this project",
    }
}

fn named(agent: GuardedAgent, scope: InstallScope) -> String {
    match scope {
        InstallScope::User => agent.name().to_string(),
        InstallScope::Project => format!("{} --scope project", agent.name()),
    }
}

fn is_on_path() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .any(|folder| folder.join("longhaul").is_file() || folder.join("longhaul.exe").is_file())
}

fn failure(error: InstallError) -> anyhow::Error {
    match error {
        InstallError::Malformed { .. } | InstallError::Unexpected { .. } => {
            hinted(error, "correct the file, then try again; nothing was changed")
        }
        InstallError::Changed { .. } => hinted(error, "run the command again to see the change anew"),
        error => anyhow!(error).context("could not change the agent's hooks"),
    }
}
