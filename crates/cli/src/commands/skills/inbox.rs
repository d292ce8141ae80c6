//! `longhaul skills inbox`: proposed skills and changes to skills.

use std::io::{self, IsTerminal};

use clap::{Args, Subcommand};
use longhaul_app::skills::{ProposalDetails, SkillLibrary, SkillProposal, SkillScope};
use longhaul_skills::Undone;
use serde_json::{Value, json};

use crate::editor::edit;
use crate::options::SkillScopeArgument;
use crate::output::{
    Color, Page, Screen, path_json, plural, print, print_json, visible, visible_text, wrapped,
};
use crate::questions::choose;
use crate::reports::inbox::{evidence_lines, undone_words};

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
    /// List pending skills and changes.
    List(ListOptions),
    /// Show a pending skill with its files, or a change as a diff, and the evidence for it.
    Show(NameOptions),
    /// Accept a pending skill or change.
    Accept(AcceptOptions),
    /// Dismiss a pending skill or change; similar ones are not proposed again.
    Dismiss(NameOptions),
    /// Undo the last acceptance and make it pending again.
    Undo(ListOptions),
}

#[derive(Debug, Args)]
struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NameOptions {
    /// Name of the pending skill or change.
    name: String,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct AcceptOptions {
    /// Name of the pending skill or change.
    name: String,
    /// Scope of a new skill; a change names its own skills [default: the project, which taught it].
    #[arg(long)]
    scope: Option<SkillScopeArgument>,
    /// Edit it in $VISUAL or $EDITOR first.
    #[arg(long)]
    edit: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &InboxArgs, library: &SkillLibrary, color: Color) -> anyhow::Result<()> {
    match &args.command {
        None => list(&args.list, library, color),
        Some(InboxCommand::List(options)) => list(options, library, color),
        Some(InboxCommand::Show(options)) => show(options, library),
        Some(InboxCommand::Accept(options)) => accept(options, library),
        Some(InboxCommand::Dismiss(options)) => {
            library.dismiss_proposal(&options.name)?;
            if options.json {
                return print_json(&json!({"schema": 1, "name": options.name, "dismissed": true}));
            }
            print(&format!("Dismissed {}.\n", visible(&options.name)))
        }
        Some(InboxCommand::Undo(options)) => undo(options, library),
    }
}

fn list(options: &ListOptions, library: &SkillLibrary, color: Color) -> anyhow::Result<()> {
    let waiting = library.proposals()?;
    if options.json {
        let of = |is_skill: bool| {
            let meant =
                waiting.iter().filter(|waiting| matches!(waiting, SkillProposal::Skill(_)) == is_skill);
            meant.map(waiting_json).collect::<Vec<Value>>()
        };
        return print_json(&json!({"schema": 1, "skills": of(true), "updates": of(false)}));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if waiting.is_empty() {
        page.line("The inbox is empty. Run `longhaul skills extract` to look for skills in past sessions.");
    }
    for waiting in &waiting {
        let name = page.screen.strong(&visible(waiting.name()));
        page.line(&format!("{name}  {}", page.screen.faint(&waiting.kind())));
        let said = match waiting.problem() {
            None => visible(&waiting.about()),
            Some(problem) => page.screen.warning(&visible(problem)),
        };
        wrapped(&said, page.screen.width.saturating_sub(2))
            .iter()
            .for_each(|line| page.line(&format!("  {line}")));
    }
    if !waiting.is_empty() {
        page.gap();
        page.line(
            "Show one with `longhaul skills inbox show NAME`, then use `accept NAME` or `dismiss NAME`.",
        );
    }
    print(&page.into_text())
}

fn waiting_json(waiting: &SkillProposal) -> Value {
    match waiting {
        SkillProposal::Skill(skill) => {
            let manifest = skill.manifest.as_ref();
            json!({
                "name": skill.name,
                "folder": path_json(&skill.folder),
                "skill": manifest.ok().map(|manifest| manifest.name.as_str()),
                "description": manifest.ok().map(|manifest| manifest.description.as_str()),
                "problem": waiting.problem(),
                "at": skill.at.map(|at| at.to_string()),
                "evidence": skill.evidence,
            })
        }
        SkillProposal::Update(update) => {
            let plan = update.plan.as_ref().ok();
            json!({
                "name": update.name,
                "file": path_json(&update.file),
                "targets": plan.map(|plan| plan.iter().map(|write| path_json(&write.path)).collect::<Vec<_>>()),
                "problem": waiting.problem(),
                "at": update.at.map(|at| at.to_string()),
                "evidence": update.evidence,
            })
        }
    }
}

fn show(options: &NameOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    library.resume_inbox()?;
    let waiting = library.find_proposal(&options.name)?;
    let ProposalDetails { text, files, twin, diff } = library.details(&waiting)?;
    if options.json {
        let mut object = waiting_json(&waiting);
        object["schema"] = 1.into();
        object["text"] = text.into();
        let files = files.iter().map(|file| json!({"path": path_json(&file.path), "bytes": file.bytes}));
        object["files"] = files.collect();
        object["diff"] = diff.into();
        return print_json(&object);
    }
    let mut shown = String::new();
    if let SkillProposal::Skill(_) = &waiting {
        shown.push_str(&format!("{}\n", visible_text(text.trim_end())));
    }
    if files.len() > 1 {
        shown.push_str("\nFiles:\n");
    }
    for file in files.iter().filter(|_| files.len() > 1) {
        let size = plural(usize::try_from(file.bytes).unwrap_or(usize::MAX), "byte", "bytes");
        shown.push_str(&format!("  {}, {size}\n", visible(&file.path.display().to_string())));
    }
    if let Some(twin) = twin {
        shown.push_str(&format!("\nA skill of this name already exists ({}).", twin.describe()));
        shown.push_str(if diff.as_deref() == Some("") {
            " Both are identical.\n"
        } else {
            " Compared with it:\n\n"
        });
    }
    shown.push_str(&visible_text(diff.as_deref().unwrap_or_default()));
    if let Some(problem) = waiting.problem() {
        shown.push_str(&format!("\nCannot be accepted: {}\n", visible(problem)));
    }
    let seen = evidence_lines(waiting.evidence());
    if !seen.is_empty() {
        shown.push_str("\nEvidence:\n");
    }
    shown.extend(seen.iter().map(|line| format!("  {}\n", visible(line))));
    print(&shown)
}

fn accept(options: &AcceptOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    // What is not there is told by accepting it: a killed process may have accepted half of it.
    let waiting = library.find_proposal(&options.name).ok();
    let scope = match (options.scope, &waiting) {
        (Some(scope), _) => scope.into(),
        (None, Some(SkillProposal::Skill(_))) => match choose_scope(options, library)? {
            Some(scope) => scope,
            None => return print("Nothing was accepted.\n"),
        },
        (None, _) => SkillScope::Workspace,
    };
    if let Some(waiting) = waiting.filter(|_| options.edit) {
        if let SkillProposal::Skill(_) = waiting {
            // Who may not write there need not edit first.
            library.skill_folder(scope)?;
        }
        edit(&[waiting.file()])?;
        library.recount_proposal(&waiting)?;
    }
    let written = library.accept_proposal(&options.name, scope)?;
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "name": options.name,
            "scope": scope.name(),
            "target": written.first().map(|path| path_json(path)),
            "changed": written.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
        }));
    }
    let places: Vec<String> = written.iter().map(|path| visible(&path.display().to_string())).collect();
    let name = visible(&options.name);
    print(&format!("{name} is active: {}\nUndo with `longhaul skills inbox undo`.\n", places.join(", ")))
}

/// The scope of a new skill. What sessions of one project taught is proposed for that project.
fn choose_scope(options: &AcceptOptions, library: &SkillLibrary) -> anyhow::Result<Option<SkillScope>> {
    let proposed = library.propose_scope(&options.name)?;
    if options.json || !io::stdin().is_terminal() {
        return Ok(Some(proposed));
    }
    let folder =
        |scope: SkillScope| library.skill_folder(scope).map(|folder| visible(&folder.display().to_string()));
    let scopes = [SkillScope::Workspace, SkillScope::User];
    let lines = [
        format!("this project ({})", folder(scopes[0])?),
        format!("every project of yours ({})", folder(scopes[1])?),
    ];
    let chosen = choose(&format!("Accept {} for", visible(&options.name)), &lines, Some(0))?;
    Ok(chosen.map(|chosen| scopes[chosen]))
}

fn undo(options: &ListOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    let undone = library.undo_acceptance()?;
    if options.json {
        return print_json(&match &undone {
            Undone::Skill(skill) => {
                json!({"schema": 1, "name": skill.name, "removed": path_json(&skill.target), "restored": []})
            }
            Undone::Update(update) => json!({
                "schema": 1,
                "name": update.patches.first(),
                "removed": null,
                "restored": update.restored.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
            }),
        });
    }
    print(&format!("{}\n", visible(&undone_words(&undone))))
}
