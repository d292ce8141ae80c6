//! `longhaul skills inbox`: the skills that wait for the user.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use longhaul_skills::{Inbox, WaitingSkill};
use serde_json::{Value, json};

use super::scope::Scope;
use super::{Desk, failure};
use crate::args::Color;
use crate::clock::now;
use crate::commands::sessions::report::print_all;
use crate::failure::hinted;
use crate::output::{Page, Screen, path_json, print, visible, visible_text, wrapped};
use crate::project::Project;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    #[command(flatten)]
    list: ListOptions,
    #[command(subcommand)]
    command: Option<InboxCommand>,
}

#[derive(Debug, Subcommand)]
enum InboxCommand {
    /// Lists what waits.
    List(ListOptions),
    /// Shows a waiting skill, and where what it says was seen.
    Show(NameOptions),
    /// Makes a waiting skill one of yours, or of the workspace.
    Accept(AcceptOptions),
    /// Removes a waiting skill; one like it is not proposed again.
    Dismiss(NameOptions),
    /// Puts the skill that was accepted last back into the inbox.
    Undo(ListOptions),
}

#[derive(Debug, Args)]
struct ListOptions {
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NameOptions {
    /// The name under which it waits.
    name: String,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AcceptOptions {
    /// The name under which it waits.
    name: String,
    /// Whose skill it becomes.
    #[arg(long, default_value = "user")]
    scope: Scope,
    /// Opens it in $VISUAL or $EDITOR first.
    #[arg(long)]
    edit: bool,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &InboxArgs, desk: &Desk, color: Color) -> anyhow::Result<()> {
    let inbox = Project::find()?.map(|project| Inbox::of(&project.home));
    let named = |name: &str| {
        let empty = || {
            hinted(
                anyhow!("nothing waits under the name {name:?}"),
                "`longhaul skills inbox` lists what waits",
            )
        };
        inbox.as_ref().ok_or_else(empty)
    };
    match &args.command {
        None => list(&args.list, inbox.as_ref(), color),
        Some(InboxCommand::List(options)) => list(options, inbox.as_ref(), color),
        Some(InboxCommand::Show(options)) => show(options, named(&options.name)?),
        Some(InboxCommand::Accept(options)) => accept(options, named(&options.name)?, desk),
        Some(InboxCommand::Dismiss(options)) => {
            named(&options.name)?.dismiss(&options.name, now()).map_err(failure)?;
            if options.json {
                return print_all(&json!({"schema": 1, "name": options.name, "dismissed": true}));
            }
            print(&format!("{} is gone.\n", visible(&options.name)))
        }
        Some(InboxCommand::Undo(options)) => {
            let undone = named("undo")?.undo().map_err(failure)?;
            if options.json {
                return print_all(
                    &json!({"schema": 1, "name": undone.name, "removed": path_json(&undone.target)}),
                );
            }
            let place = visible(&undone.target.display().to_string());
            print(&format!("{} waits again; {place} is gone.\n", visible(&undone.name)))
        }
    }
}

fn list(options: &ListOptions, inbox: Option<&Inbox>, color: Color) -> anyhow::Result<()> {
    let waiting = inbox.map(Inbox::list).unwrap_or_default();
    if options.json {
        let skills: Vec<Value> = waiting.iter().map(waiting_json).collect();
        return print_all(&json!({"schema": 1, "skills": skills}));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if waiting.is_empty() {
        page.line("Nothing waits. `longhaul skills extract` looks for skills in past sessions.");
    }
    for skill in &waiting {
        let at = skill.at.map(|at| page.screen.faint(&format!("  {}", at.to_minute()))).unwrap_or_default();
        page.line(&format!("{}{at}", page.screen.strong(&visible(&skill.name))));
        let said = match &skill.manifest {
            Ok(manifest) => visible(&manifest.description),
            Err(reason) => page.screen.warning(&visible(&format!("no skill: {reason}"))),
        };
        wrapped(&said, page.screen.width.saturating_sub(2))
            .iter()
            .for_each(|line| page.line(&format!("  {line}")));
    }
    print(&page.into_text())
}

fn waiting_json(skill: &WaitingSkill) -> Value {
    let manifest = skill.manifest.as_ref();
    json!({
        "name": skill.name,
        "folder": path_json(&skill.folder),
        "skill": manifest.ok().map(|manifest| manifest.name.as_str()),
        "description": manifest.ok().map(|manifest| manifest.description.as_str()),
        "problem": manifest.err(),
        "at": skill.at.map(|at| at.to_string()),
        "evidence": skill.evidence,
    })
}

fn show(options: &NameOptions, inbox: &Inbox) -> anyhow::Result<()> {
    let skill = inbox.get(&options.name).map_err(failure)?;
    let text = std::fs::read_to_string(skill.folder.join("SKILL.md")).context("could not read the skill")?;
    if options.json {
        let mut object = waiting_json(&skill);
        object["schema"] = 1.into();
        object["text"] = text.into();
        return print_all(&object);
    }
    let mut shown = format!("{}\n", visible_text(text.trim_end()));
    if !skill.evidence.is_empty() {
        shown.push_str("\nSeen:\n");
    }
    for found in &skill.evidence {
        let text = |key: &str| visible(found[key].as_str().unwrap_or_default());
        shown.push_str(&format!("  {}: {}\n", text("kind"), text("title")));
        for seen in found["seen"].as_array().into_iter().flatten() {
            let marks =
                seen["marks"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
            let session = seen["session"].as_str().unwrap_or_default();
            shown.push_str(&visible(&format!("    session {session}, {}", marks.join(", "))));
            shown.push('\n');
        }
    }
    print(&shown)
}

fn accept(options: &AcceptOptions, inbox: &Inbox, desk: &Desk) -> anyhow::Result<()> {
    let into = desk.skill_folder(options.scope)?;
    if options.edit {
        let skill = inbox.get(&options.name).map_err(failure)?;
        edit(&skill.folder.join("SKILL.md"))?;
    }
    let accepted = inbox.accept(&options.name, &into, now()).map_err(failure)?;
    if options.json {
        return print_all(&json!({
            "schema": 1,
            "name": accepted.name,
            "scope": options.scope.name(),
            "target": path_json(&accepted.target),
        }));
    }
    let (name, place) = (visible(&accepted.name), visible(&accepted.target.display().to_string()));
    print(&format!("{name} counts now: {place}\n`longhaul skills inbox undo` takes it back.\n"))
}

/// Opens a file in the user's editor and waits until it is closed.
fn edit(file: &Path) -> anyhow::Result<()> {
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|editor| !editor.trim().is_empty()));
    let editor =
        editor.ok_or_else(|| hinted(anyhow!("no editor is known"), "set EDITOR, such as EDITOR=vi"))?;
    // An editor may come with arguments.
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or_default();
    let status = Command::new(program)
        .args(words)
        .arg(file)
        .status()
        .with_context(|| format!("could not run {editor:?}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(anyhow!("the editor ended with {status}, so that nothing was accepted")),
    }
}
