//! `longhaul handoff AGENT [SESSION]`: compacts a session and writes it into another agent's store, or takes that back.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use longhaul_app::found::UNNAMED;
use longhaul_app::handoff::{Continuation, HandedOver, NextStep, hand_over, take_back};
use longhaul_app::settings::Settings;
use longhaul_companion::{GuardedAgent, HandoffChange};
use longhaul_conversation::TokenCount;
use serde_json::json;

use crate::input::showing_progress;
use crate::options::parse_tokens;
use crate::output::{Color, Screen, path_json, plural, print, print_json, thousands, visible};
use crate::reports::losses;

#[derive(Debug, Args)]
pub(crate) struct HandoffOptions {
    /// Agent that goes on.
    agent: TargetAgent,
    /// Session file, or a session of this folder, of any agent: latest, its number in `sessions list`, or its id [default:
    /// latest]. With --undo, the id that was printed [default: the newest].
    #[arg(value_name = "SESSION", default_value = UNNAMED, hide_default_value = true)]
    pub(crate) session: PathBuf,
    /// Context window of the model that goes on, in tokens, such as 200000, 200k or 1m [default: the smaller one of the session's
    /// and the agent's usual one].
    #[arg(long, value_name = "N", value_parser = parse_tokens, conflicts_with = "undo")]
    window: Option<TokenCount>,
    /// Compact the session in its own file instead, by records at its end (Claude Code, Codex).
    #[arg(long, conflicts_with = "undo")]
    append: bool,
    /// Take a hand-over back to the byte; refused if the session went on since.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

/// An agent that a session can be handed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TargetAgent {
    Claude,
    Codex,
    Gemini,
    Opencode,
}

impl From<TargetAgent> for GuardedAgent {
    fn from(agent: TargetAgent) -> Self {
        match agent {
            TargetAgent::Claude => Self::Claude,
            TargetAgent::Codex => Self::Codex,
            TargetAgent::Gemini => Self::Gemini,
            TargetAgent::Opencode => Self::Opencode,
        }
    }
}

/// Hands a session over; its file is known by now.
pub(crate) fn run(options: &HandoffOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let continuation = if options.append { Continuation::Appended } else { Continuation::New };
    let agent = GuardedAgent::from(options.agent);
    let done = hand_over(agent, &options.session, options.window, continuation, settings, showing_progress)?;
    if options.json {
        return print_json(&told_json(&done));
    }
    let lost = losses::text(&done.handoff.lost, &Screen::of_stderr(color));
    std::io::stderr().lock().write_all(lost.as_bytes())?;
    print(&told(&done, &Screen::of_stdout(color)))
}

/// Takes a hand-over back.
pub(crate) fn run_undo(options: &HandoffOptions) -> anyhow::Result<()> {
    let named = options.session.to_str().filter(|name| *name != UNNAMED);
    let undone = take_back(options.agent.into(), named)?;
    if options.json {
        return print_json(&json!({
            "schema": 1, "id": undone.id, "file": path_json(&undone.path), "removed": undone.is_removed,
        }));
    }
    let path = visible(&undone.path.display().to_string());
    print(&match undone.is_removed {
        true => format!("Removed {path}.\n"),
        false => format!("{path} is as it was before.\n"),
    })
}

fn told(done: &HandedOver, screen: &Screen) -> String {
    let agent = done.handoff.agent.title();
    let sizes = format!("{} → {} tokens", thousands(done.before.0), thousands(done.after.0));
    let mut text = format!("{}\n", screen.strong(&format!("Handed over to {agent}: {sizes}")));
    let kept = [
        plural(done.rules, "rule", "rules"),
        plural(done.open, "open request", "open requests"),
        plural(done.files, "changed file", "changed files"),
    ];
    text.push_str(&format!("  with {}\n", kept.join(", ")));
    if done.side_chains > 0 {
        let chains = plural(done.side_chains, "sub-agent conversation", "sub-agent conversations");
        text.push_str(&format!("  {chains} not taken along\n"));
    }
    if !done.saved.is_empty() {
        let texts = plural(done.saved.len(), "long text", "long texts");
        text.push_str(&format!("  {texts} saved beside our notes; the conversation says where\n"));
    }
    let (verb, path) = match &done.handoff.change {
        HandoffChange::Create { path, .. } => ("wrote", path),
        HandoffChange::Append { path, .. } => ("appended to", path),
    };
    text.push_str(&format!("  {verb} {}\n", visible(&path.display().to_string())));
    match &done.next {
        NextStep::Resume(command) => text.push_str(&format!("Continue with: {}\n", visible(command))),
        NextStep::Import { import, resume, reason } => text.push_str(&format!(
            "Not imported yet: {}.\nImport it with: {}\nThen continue with: {}\n",
            visible(reason),
            visible(import),
            visible(resume)
        )),
    }
    let agent = done.handoff.agent.name();
    text.push_str(&format!("Undo with: longhaul handoff {agent} --undo {}\n", visible(&done.handoff.id)));
    text
}

fn told_json(done: &HandedOver) -> serde_json::Value {
    let (change, path) = match &done.handoff.change {
        HandoffChange::Create { path, .. } => ("created", path),
        HandoffChange::Append { path, .. } => ("appended", path),
    };
    let (import, resume) = match &done.next {
        NextStep::Resume(resume) => (None, resume),
        NextStep::Import { import, resume, .. } => (Some(import), resume),
    };
    json!({
        "schema": 1, "agent": done.handoff.agent.name(), "id": done.handoff.id, "file": path_json(path), "change": change,
        "before_tokens": done.before.0, "after_tokens": done.after.0, "rules": done.rules, "open_requests": done.open,
        "changed_files": done.files, "side_chains": done.side_chains,
        "saved": done.saved.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
        "import": import, "resume": resume, "lost": losses::json(&done.handoff.lost),
    })
}
