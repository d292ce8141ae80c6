//! `longhaul memory inbox`: proposed changes to memory.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::{Args, Subcommand, ValueEnum};
use longhaul_app::failure::hinted;
use longhaul_app::memory::{MemoryInbox, diff_of, failure};
use longhaul_app::settings::Settings;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_skills::{MemoryKind, SkillError, WaitingPatch};
use serde_json::{Value, json};

use crate::editor::edit;
use crate::output::{Color, Page, Screen, path_json, plural, print, print_json, visible, visible_text};
use crate::reports::inbox::{evidence_lines, taken_back_words};

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
    /// Show all pending changes as diffs.
    List(ListOptions),
    /// Show the pending changes of one kind, with their evidence.
    Show(KindOptions),
    /// Apply the pending changes of one kind; those that no longer fit stay pending.
    Accept(AcceptOptions),
    /// Dismiss the pending changes of one kind; they are not proposed again.
    Dismiss(KindOptions),
    /// Undo the last acceptance, and restore every file.
    Undo(ListOptions),
}

#[derive(Debug, Args)]
struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct KindOptions {
    /// Kind of memory.
    kind: Kind,
    #[command(flatten)]
    output: ListOptions,
}

#[derive(Debug, Args)]
struct AcceptOptions {
    /// Kind of memory.
    kind: Kind,
    /// Edit the patches in $VISUAL or $EDITOR first; line counts are corrected for you.
    #[arg(long)]
    edit: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The memory that a change is for.
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

pub(super) fn run(args: &InboxArgs, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let inbox = MemoryInbox::find(WorkspaceContext::find(settings, &[])?)?;
    let inbox = inbox.as_ref();
    match &args.command {
        None => list(&args.list, &MemoryKind::ALL, inbox, color),
        Some(InboxCommand::List(options)) => list(options, &MemoryKind::ALL, inbox, color),
        Some(InboxCommand::Show(options)) => list(&options.output, &[options.kind.into()], inbox, color),
        Some(InboxCommand::Accept(options)) => accept(options, inbox),
        Some(InboxCommand::Dismiss(options)) => dismiss(options, inbox),
        Some(InboxCommand::Undo(options)) => undo(options, inbox),
    }
}

fn list(
    options: &ListOptions,
    kinds: &[MemoryKind],
    inbox: Option<&MemoryInbox>,
    color: Color,
) -> anyhow::Result<()> {
    let mut waiting: Vec<(MemoryKind, WaitingPatch)> = Vec::new();
    for (kind, inbox) in kinds.iter().filter_map(|kind| Some((*kind, inbox?))) {
        waiting.extend(inbox.waiting(kind)?.into_iter().map(|patch| (kind, patch)));
    }
    if options.json {
        let patches: Vec<Value> = waiting.iter().map(|(kind, patch)| patch_json(*kind, patch)).collect();
        return print_json(&json!({"schema": 1, "patches": patches}));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if waiting.is_empty() {
        page.line("The inbox is empty. Run `longhaul skills extract` to look for facts in past sessions.");
    }
    for (kind, patch) in &waiting {
        page.line(&page.screen.strong(&format!("{} memory", kind.name())));
        visible_text(diff_of(patch).trim_end()).lines().for_each(|line| page.line(line));
        if let Err(reason) = &patch.plan {
            page.line(&page.screen.warning(&visible(reason)));
        }
        for line in evidence_lines(&patch.evidence) {
            page.line(&page.screen.faint(&format!("  {}", visible(&line))));
        }
        page.gap();
    }
    if !waiting.is_empty() {
        page.line("Apply with `longhaul memory inbox accept KIND`, dismiss with `dismiss KIND`.");
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
        "diff": diff_of(patch),
        "targets": targets,
        "problem": patch.plan.as_ref().err(),
        "evidence": patch.evidence,
    })
}

fn accept(options: &AcceptOptions, inbox: Option<&MemoryInbox>) -> anyhow::Result<()> {
    let kind = MemoryKind::from(options.kind);
    if let Some(inbox) = inbox.filter(|_| options.edit) {
        let files: Vec<PathBuf> = inbox.waiting(kind)?.into_iter().map(|patch| patch.file).collect();
        if !files.is_empty() {
            edit(&files)?;
            inbox.recount(&files)?;
        }
    }
    let applied = inbox.map(|inbox| inbox.accept(kind)).transpose()?.unwrap_or_default();
    if options.json {
        let failed =
            applied.failed.iter().map(|(file, reason)| json!({"file": path_json(file), "reason": reason}));
        print_json(&json!({
            "schema": 1,
            "kind": kind.name(),
            "changed": applied.changed.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
            "failed": failed.collect::<Vec<_>>(),
        }))?;
    } else if applied.changed.is_empty() && applied.failed.is_empty() {
        print("Nothing left to apply.\n")?;
    } else {
        for path in &applied.changed {
            print(&format!("Changed {}.\n", visible(&path.display().to_string())))?;
        }
        if !applied.changed.is_empty() {
            print("Undo with `longhaul memory inbox undo`.\n")?;
        }
    }
    match applied.failed.first() {
        None => Ok(()),
        Some((file, reason)) => {
            let error = anyhow!("{}: {reason}", file.display());
            Err(hinted(error, format!("run `longhaul memory inbox dismiss {}` to remove it", kind.name())))
        }
    }
}

fn dismiss(options: &KindOptions, inbox: Option<&MemoryInbox>) -> anyhow::Result<()> {
    let kind = MemoryKind::from(options.kind);
    let gone = inbox.map(|inbox| inbox.dismiss(kind)).transpose()?.unwrap_or_default();
    if options.output.json {
        return print_json(&json!({"schema": 1, "kind": kind.name(), "dismissed": gone}));
    }
    print(&format!("Dismissed {}.\n", plural(gone, "patch", "patches")))
}

fn undo(options: &ListOptions, inbox: Option<&MemoryInbox>) -> anyhow::Result<()> {
    let nothing = || failure(SkillError::NotUndone { reason: "nothing has been accepted here yet".into() });
    let undone = inbox.ok_or_else(nothing)?.undo()?;
    if options.json {
        return print_json(&json!({
            "schema": 1,
            "patches": undone.patches,
            "restored": undone.restored.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
        }));
    }
    print(&format!("{}\n", visible(&taken_back_words(&undone))))
}
