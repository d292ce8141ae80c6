//! Everything that the agent of the demonstration works with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use longhaul_agent::{
    Agent, AgentDeps, ModelProfile, Permissions, PromptOptions, SessionContext, Settings, render_prompt,
};
use longhaul_app::clock::now;
use longhaul_app::sessions::new_id;
use longhaul_compaction::Draft;
use longhaul_conversation::{Consumption, TokenCount, ToolDeclaration, Usage};
use longhaul_engine::{ByModel, Folder, Spend, Summariser, SummariserKind, SummaryError, SummaryTask};
use longhaul_policy::SavedFiles;
use longhaul_sessions::{Log, NewSession, SessionKind};
use longhaul_terminal::{
    MemoryReply, MemoryRequest, Notice, OpenedSession, Pace, Page, Services, SessionChoice, Spender,
};
use longhaul_tools::{
    BoxFuture, GrepSearch, Jobs, ListDirectory, Preview, ReadFile, Replace, Roots, RunShellCommand,
    ShellSettings, Tool, ToolAnswer, ToolInvocation,
};
use longhaul_workspace::Ignoring;
use serde_json::Value;

use super::performer::Performer;
use super::{super::PRICES, scene};

/// The extra time that a demo tool takes, so that it can be seen.
const TOOL: Duration = Duration::from_millis(350);
/// The time a line of a command's output takes.
const LINE: Duration = Duration::from_millis(25);

/// The services of the demonstration's turns.
pub(super) struct Stage {
    model: Performer,
    snapshots: PlayedSummariser,
    tools: Vec<Box<dyn Tool>>,
    files: Folder,
}

impl Stage {
    /// Gets everything ready for a session whose files are kept in `folder`.
    pub(super) fn open(folder: &Path, project: &Path, pace: Pace) -> anyhow::Result<(Self, OpenedSession)> {
        let tools = tools(project, &pace)?;
        let names = tools.iter().map(|tool| tool.declaration().name).collect();
        let system = render_prompt(&PromptOptions { tools: names, ..PromptOptions::default() });
        let new = NewSession {
            id: new_id(),
            project_hash: "demo".into(),
            kind: SessionKind::Main,
            directories: Vec::new(),
            at: now(),
        };
        let profile = ModelProfile {
            name: scene::MODEL.into(),
            recorded_as: scene::MODEL.into(),
            window: scene::WINDOW,
            output_reserve: None,
        };
        let surroundings = SessionContext {
            at: now(),
            system: std::env::consts::OS.into(),
            directory: format!("/home/dev/{}", scene::PROJECT).into(),
            workspace: Vec::new(),
            tree: None,
        };
        let saved = SavedFiles {
            project: Some(folder.join("project.toml")),
            everywhere: Some(folder.join("policies.toml")),
        };
        let mut permissions = Permissions { saved, ..Permissions::default() };
        permissions.situation.is_interactive = true;
        let settings = Settings { system, permissions, ..Settings::new(profile, surroundings) };
        let agent = Agent::on(Log::create(&folder.join("chats"), &new)?, settings);
        let stage = Self {
            model: Performer::new(scene::answers(), pace.clone()),
            snapshots: PlayedSummariser(Performer::new(scene::snapshots(), pace)),
            tools,
            files: Folder::new(folder),
        };
        Ok((stage, OpenedSession { agent, notices: Vec::new() }))
    }
}

/// The tools: real ones for files, and a compiler that follows the script.
fn tools(project: &Path, pace: &Pace) -> anyhow::Result<Vec<Box<dyn Tool>>> {
    let roots = Roots::new(project, &[])?;
    let ignoring = Ignoring::default();
    let shell = RunShellCommand::new(roots.clone(), ShellSettings::default(), Jobs::new());
    let real: [Box<dyn Tool>; 4] = [
        Box::new(ListDirectory::new(roots.clone(), ignoring.clone())),
        Box::new(ReadFile::new(roots.clone(), ignoring.clone())),
        Box::new(GrepSearch::new(roots.clone(), ignoring.clone())),
        Box::new(Replace::new(roots, ignoring)),
    ];
    let unhurried = real.map(|tool| Box::new(Unhurried { tool, pace: pace.clone() }) as Box<dyn Tool>);
    let pretended = Pretended { declaration: shell.declaration(), runs: scene::runs(), pace: pace.clone() };
    Ok(unhurried.into_iter().chain([Box::new(pretended) as Box<dyn Tool>]).collect())
}

/// A tool slowed down so that its line can be read.
struct Unhurried {
    tool: Box<dyn Tool>,
    pace: Pace,
}

impl Tool for Unhurried {
    fn declaration(&self) -> ToolDeclaration {
        self.tool.declaration()
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        self.tool.preview(args)
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            tokio::time::sleep(self.pace.of(TOOL)).await;
            self.tool.run(call).await
        })
    }
}

/// A stand-in for the shell that prints scripted output: not everybody has a compiler at hand.
struct Pretended {
    declaration: ToolDeclaration,
    runs: scene::Runs,
    pace: Pace,
}

impl Tool for Pretended {
    fn declaration(&self) -> ToolDeclaration {
        self.declaration.clone()
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let command = args["command"].as_str().ok_or("missing command")?.to_string();
        let directory = PathBuf::from(format!("~/{}", scene::PROJECT));
        Ok(Preview::Command { command, directory, is_background: false })
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let (output, code) = self.runs.next();
            for line in output.lines() {
                tokio::time::sleep(self.pace.of(LINE)).await;
                (call.progress)(&format!("{line}\n"));
            }
            let text = format!("{output}\nExit code: {code}");
            if code == 0 { ToolAnswer::succeeded(text) } else { ToolAnswer::failed(text) }
        })
    }
}

/// Snapshots by a model that follows the script.
struct PlayedSummariser(Performer);

impl Summariser for PlayedSummariser {
    fn kind(&self) -> SummariserKind {
        SummariserKind::Model
    }

    fn model(&self) -> Option<&str> {
        Some(scene::MODEL)
    }

    fn summarise<'a>(&'a self, task: &'a SummaryTask<'a>) -> BoxFuture<'a, Result<Draft, SummaryError>> {
        let model = ByModel { prices: Some(PRICES), ..ByModel::new(&self.0, scene::MODEL, scene::WINDOW) };
        Box::pin(async move { model.summarise(task).await })
    }

    fn spend(&self, consumed: &Consumption) -> Spend {
        Spend::of(consumed, Some(&PRICES))
    }
}

/// The notice for commands that the demo does not have.
fn only_shown() -> Notice {
    Notice::info("Not available in the demo.")
}

impl Services for Stage {
    fn host(&self) -> AgentDeps<'_> {
        AgentDeps {
            summariser: &self.snapshots,
            tools: &self.tools,
            ..AgentDeps::new(&self.model, &self.files, &now, &new_id)
        }
    }

    fn model(&self) -> String {
        scene::MODEL.to_string()
    }

    fn models(&self) -> Vec<String> {
        Vec::new()
    }

    fn switch_model(&mut self, _: &mut Agent, _: &str) -> Result<Vec<Notice>, Notice> {
        Err(only_shown())
    }

    fn cost(&self, _: Spender<'_>, usage: &Usage) -> Option<f64> {
        let tokens = |count: Option<TokenCount>| count.unwrap_or_default().0 as f64 / 1e6;
        Some(tokens(usage.input) * PRICES.input + tokens(usage.output) * PRICES.output)
    }

    fn sessions(&self) -> Result<Vec<SessionChoice>, Notice> {
        Ok(Vec::new())
    }

    fn open(&mut self, _: &str) -> Result<OpenedSession, Notice> {
        Err(only_shown())
    }

    fn export(&self, _: &Agent, _: Option<&str>) -> Result<String, Notice> {
        Err(only_shown())
    }

    fn change_memory(&mut self, _: &MemoryRequest) -> Result<MemoryReply, Notice> {
        Err(only_shown())
    }

    fn trust(&self) -> Page {
        Page::new("Demo")
    }

    fn end<'a>(&'a self, _: &'a Agent) -> BoxFuture<'a, ()> {
        Box::pin(async {})
    }
}
