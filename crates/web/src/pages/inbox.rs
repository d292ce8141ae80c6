//! Proposals that wait for the user's word: changes to memory, skills and changes to skills, each with its evidence and diff.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use longhaul_app::failure::hinted;
use longhaul_app::memory::{MemoryInbox, diff_of};
use longhaul_app::skills::{SkillLibrary, SkillProposal, SkillScope};
use longhaul_app::workspace::WorkspaceContext;
use longhaul_skills::{MemoryKind, TakenBack, Undone, WaitingPatch};
use maud::{Markup, html};
use serde_json::Value;

use crate::layout::{self, Section};
use crate::pages::memory::diff_lines;
use crate::reply::Reply;
use crate::request::{PageRequest, encode};
use crate::site::Site;

/// The part of the memory page that shows what waits.
pub(crate) fn waiting(site: &Site) -> anyhow::Result<Markup> {
    let mut patches: Vec<(MemoryKind, WaitingPatch)> = Vec::new();
    // Looking ends what a killed process began; a page that changes nothing does not look.
    if site.is_read_only {
        return Ok(html! {
            h2 { "Inbox" }
            p.soft { "The inbox is not opened with --read-only." }
        });
    }
    if let Some(inbox) = MemoryInbox::find(WorkspaceContext::find(&site.settings, &[])?)? {
        for kind in MemoryKind::ALL {
            patches.extend(inbox.waiting(kind)?.into_iter().map(|patch| (kind, patch)));
        }
    }
    let library = SkillLibrary::find((*site.settings).clone()).ok();
    let proposals = library.as_ref().map(SkillLibrary::proposals).transpose()?.unwrap_or_default();
    Ok(html! {
        h2 { "Inbox" }
        @if patches.is_empty() && proposals.is_empty() {
            p.empty { "Nothing waits. " code { "longhaul skills extract" } " looks for facts and skills in past sessions." }
        }
        @for kind in MemoryKind::ALL {
            @let own: Vec<&WaitingPatch> = patches.iter().filter(|(of, _)| *of == kind).map(|(_, patch)| patch).collect();
            @if !own.is_empty() { (memory_patches(kind, &own)) }
        }
        @for proposal in &proposals { (skill(library.as_ref(), proposal)) }
        @if !patches.is_empty() || !proposals.is_empty() { (undo_buttons()) }
        @else { details.notices { summary { "Take back what was accepted last" } (undo_buttons()) } }
    })
}

fn undo_buttons() -> Markup {
    html! {
        div.actions {
            form method="post" action="/inbox/undo-memory" { button { "Undo the last accepted memory" } }
            form method="post" action="/inbox/undo-skill" { button { "Undo the last accepted skill" } }
        }
    }
}

fn memory_patches(kind: MemoryKind, patches: &[&WaitingPatch]) -> Markup {
    html! {
        section.card {
            h3 { "Change to " (kind.name()) " memory" }
            @for patch in patches {
                (diff_lines(&diff_of(patch)))
                @if let Err(reason) = &patch.plan { p.problem { "It cannot be applied: " (reason) } }
                (evidence(&patch.evidence))
            }
            (buttons("memory", kind.name(), &html! {}))
        }
    }
}

fn skill(library: Option<&SkillLibrary>, proposal: &SkillProposal) -> Markup {
    let details = library.and_then(|library| library.details(proposal).ok());
    let scopes = html! {
        @if matches!(proposal, SkillProposal::Skill(_)) {
            label { "for " select name="scope" aria-label="For whom" {
                option value=(SkillScope::Workspace.name()) { "this project" }
                option value=(SkillScope::User.name()) { "every project" }
            } }
        }
    };
    html! {
        section.card {
            h3 { (proposal.name()) " " span.badge { (proposal.kind()) } }
            p dir="auto" { (proposal.about()) }
            @if let Some(problem) = proposal.problem() { p.problem { (problem) } }
            @if let Some(details) = &details {
                @if let Some(diff) = &details.diff { (diff_lines(diff)) }
                // A new skill is all addition.
                @else {
                    details open { summary { "SKILL.md" }
                        pre.diff { @for line in details.text.lines() { span.plus { "+" (line) } } } }
                    @if details.files.len() > 1 { p.soft { (details.files.len()) " files" } }
                }
            }
            (evidence(proposal.evidence()))
            (buttons("skill", proposal.name(), &scopes))
        }
    }
}

fn buttons(kind: &str, name: &str, more: &Markup) -> Markup {
    html! {
        div.actions {
            form.actions method="post" action=(format!("/inbox/accept-{kind}")) {
                input type="hidden" name="name" value=(name);
                (more)
                button.primary { "Accept" }
            }
            form method="post" action=(format!("/inbox/dismiss-{kind}")) {
                input type="hidden" name="name" value=(name);
                button.danger { "Dismiss" }
            }
        }
    }
}

/// The sessions in which something was seen, each message with its link.
fn evidence(evidence: &[Value]) -> Markup {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    html! {
        @if !evidence.is_empty() {
            details open { summary.soft { "Evidence" }
                ul.lines {
                    @for found in evidence {
                        li { (text(found, "kind")) ": " (text(found, "title"))
                            @for seen in found["seen"].as_array().into_iter().flatten() {
                                @let session = text(seen, "session");
                                div.soft { "session " a href=(format!("/s/{}", encode(&session))) { (session) }
                                    @for mark in seen["marks"].as_array().into_iter().flatten().filter_map(Value::as_str) {
                                        " " a href=(format!("/s/{}?at={}#{}", encode(&session), encode(mark), encode(mark))) { (mark) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Accepts, dismisses or takes back.
pub(crate) fn change(site: &Arc<Site>, act: &str, request: &PageRequest) -> Reply {
    match carry_out(site, act, request) {
        Ok(said) => Reply::SeeOther(format!("/memory?said={}", encode(&said))),
        Err(error) => Reply::page(layout::failure(Section::Memory, &error)),
    }
}

fn carry_out(site: &Arc<Site>, act: &str, request: &PageRequest) -> anyhow::Result<String> {
    let name = request.form.get("name").unwrap_or_default();
    let memory = || -> anyhow::Result<MemoryInbox> {
        let inbox = MemoryInbox::find(WorkspaceContext::find(&site.settings, &[])?)?;
        inbox.context("nothing waits in this folder")
    };
    let kind = || -> anyhow::Result<MemoryKind> {
        MemoryKind::ALL.into_iter().find(|kind| kind.name() == name).context("there is no such memory")
    };
    let library = || SkillLibrary::find((*site.settings).clone());
    let taken_back = |undone: &TakenBack| {
        format!("{} waits again; restored {}.", undone.patches.join(", "), paths(&undone.restored))
    };
    Ok(match act {
        "accept-memory" => {
            let applied = memory()?.accept(kind()?)?;
            if let Some((file, reason)) = applied.failed.first() {
                return Err(hinted(
                    anyhow!("{}: {reason}", file.display()),
                    "dismiss it, or change the file and try again",
                ));
            }
            format!("Changed {}.", paths(&applied.changed))
        }
        "dismiss-memory" => {
            memory()?.dismiss(kind()?)?;
            "Dismissed.".into()
        }
        "undo-memory" => taken_back(&memory()?.undo()?),
        "accept-skill" => {
            let scope = match request.form.get("scope") {
                Some("user") => SkillScope::User,
                _ => SkillScope::Workspace,
            };
            format!("Accepted {name}: {}.", paths(&library()?.accept_proposal(name, scope)?))
        }
        "dismiss-skill" => {
            library()?.dismiss_proposal(name)?;
            format!("Dismissed {name}.")
        }
        "undo-skill" => match library()?.undo_acceptance()? {
            Undone::Skill(skill) => {
                format!("{} waits again; removed {}.", skill.name, skill.target.display())
            }
            Undone::Update(update) => taken_back(&update),
        },
        _ => return Err(anyhow!("there is nothing like that to do")),
    })
}

fn paths(paths: &[std::path::PathBuf]) -> String {
    let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
    paths.join(", ")
}
