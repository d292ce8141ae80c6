//! `longhaul memory inbox`: changes to memory that wait for the user.

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_memory::{Scope, save_target};
use longhaul_skills::{Inbox, MemoryKind, PatchTargets, WaitingPatch};
use serde_json::{Value, json};

use super::surroundings::Surroundings;
use crate::args::Color;
use crate::clock::now;
use crate::commands::sessions::report::print_all;
use crate::failure::hinted;
use crate::output::{Page, Screen, path_json, plural, print, visible, visible_text};
use crate::project::Project;
use crate::settings::Settings;

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
    /// Shows every change that waits, as a diff.
    List(ListOptions),
    /// Applies the changes of a kind. Those that no longer fit go on waiting.
    Accept(KindOptions),
    /// Removes the changes of a kind; what they propose is not proposed again.
    Dismiss(KindOptions),
}

#[derive(Debug, Args)]
struct ListOptions {
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct KindOptions {
    /// Whose memory.
    kind: Kind,
    /// Prints one JSON object instead, as docs/json.md describes it.
    #[arg(long)]
    json: bool,
}

/// Whose memory a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Yours, in this project.
    Private,
    /// Yours, everywhere.
    Global,
}

impl From<Kind> for MemoryKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Private => Self::Private,
            Kind::Global => Self::Global,
        }
    }
}

/// The inbox, with where its patches may write.
struct Desk {
    inbox: Inbox,
    project: Project,
    around: Surroundings,
}

impl Desk {
    fn targets(&self, kind: MemoryKind) -> anyhow::Result<PatchTargets> {
        Ok(match kind {
            MemoryKind::Private => PatchTargets::NotesIn(self.project.home.memory()),
            MemoryKind::Global => {
                PatchTargets::Only(save_target(Scope::Global, &self.around.places, &self.around.settings)?)
            }
        })
    }

    fn waiting(&self) -> anyhow::Result<Vec<(MemoryKind, WaitingPatch)>> {
        let mut waiting = Vec::new();
        for kind in MemoryKind::ALL {
            waiting.extend(
                self.inbox.patches(kind, &self.targets(kind)?).into_iter().map(|patch| (kind, patch)),
            );
        }
        Ok(waiting)
    }
}

pub(super) fn run(args: &InboxArgs, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let around = Surroundings::find(settings, &[])?;
    let desk = Project::find()?.map(|project| Desk { inbox: Inbox::of(&project.home), project, around });
    match &args.command {
        None => list(&args.list, desk.as_ref(), color),
        Some(InboxCommand::List(options)) => list(options, desk.as_ref(), color),
        Some(InboxCommand::Accept(options)) => accept(options, desk.as_ref()),
        Some(InboxCommand::Dismiss(options)) => dismiss(options, desk.as_ref()),
    }
}

fn list(options: &ListOptions, desk: Option<&Desk>, color: Color) -> anyhow::Result<()> {
    let waiting = desk.map(Desk::waiting).transpose()?.unwrap_or_default();
    if options.json {
        let patches: Vec<Value> = waiting.iter().map(|(kind, patch)| patch_json(*kind, patch)).collect();
        return print_all(&json!({"schema": 1, "patches": patches}));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if waiting.is_empty() {
        page.line("Nothing waits. `longhaul skills extract` looks for facts in past sessions.");
    }
    for (kind, patch) in &waiting {
        page.line(&page.screen.strong(&format!("{} memory", kind.name())));
        visible_text(patch.text.trim_end()).lines().for_each(|line| page.line(line));
        if let Err(reason) = &patch.plan {
            page.line(&page.screen.warning(&visible(reason)));
        }
        page.gap();
    }
    if !waiting.is_empty() {
        page.line("`longhaul memory inbox accept KIND` applies, `dismiss KIND` removes.");
    }
    print(&page.into_text())
}

fn patch_json(kind: MemoryKind, patch: &WaitingPatch) -> Value {
    let changes = patch.plan.as_ref().ok();
    let targets = changes.map(|plan| plan.iter().map(|write| path_json(&write.path)).collect::<Vec<_>>());
    json!({
        "kind": kind.name(),
        "file": path_json(&patch.file),
        "text": patch.text,
        "targets": targets,
        "problem": patch.plan.as_ref().err(),
    })
}

fn accept(options: &KindOptions, desk: Option<&Desk>) -> anyhow::Result<()> {
    let kind = MemoryKind::from(options.kind);
    let applied = match desk {
        Some(desk) => desk.inbox.accept_patches(kind, &desk.targets(kind)?)?,
        None => Default::default(),
    };
    if options.json {
        let failed =
            applied.failed.iter().map(|(file, reason)| json!({"file": path_json(file), "reason": reason}));
        print_all(&json!({
            "schema": 1,
            "kind": kind.name(),
            "changed": applied.changed.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
            "failed": failed.collect::<Vec<_>>(),
        }))?;
    } else if applied.changed.is_empty() && applied.failed.is_empty() {
        print("Nothing was left to apply.\n")?;
    } else {
        for path in &applied.changed {
            print(&format!("{} was changed.\n", visible(&path.display().to_string())))?;
        }
    }
    match applied.failed.first() {
        None => Ok(()),
        Some((file, reason)) => {
            let error = anyhow!("{}: {reason}", file.display());
            Err(hinted(error, format!("`longhaul memory inbox dismiss {}` removes it", kind.name())))
        }
    }
}

fn dismiss(options: &KindOptions, desk: Option<&Desk>) -> anyhow::Result<()> {
    let kind = MemoryKind::from(options.kind);
    let gone = match desk {
        Some(desk) => desk.inbox.dismiss_patches(kind, &desk.targets(kind)?, now())?,
        None => 0,
    };
    if options.json {
        return print_all(&json!({"schema": 1, "kind": kind.name(), "dismissed": gone}));
    }
    print(&format!("{} removed.\n", plural(gone, "patch", "patches")))
}
