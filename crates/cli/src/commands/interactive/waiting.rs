//! Inbox proposals as the terminal shows and settles them.

use std::path::PathBuf;

use anyhow::anyhow;
use longhaul_app::failure::hinted;
use longhaul_app::memory::{MemoryInbox, diff_of};
use longhaul_app::settings::load_here;
use longhaul_app::skills::{ProposalDetails, SkillLibrary, SkillProposal, SkillScope};
use longhaul_app::workspace::WorkspaceContext;
use longhaul_skills::{MemoryKind, WaitingPatch};
use longhaul_terminal::{AcceptScope, InboxItem, InboxKind, Notice, Page, ReviewDecision, Row};
use serde_json::Value;

use crate::output::plural;
use crate::reports::inbox::{evidence_lines, taken_back_words, undone_words};

/// The proposals of an inbox.
pub(super) fn items(inbox: InboxKind) -> anyhow::Result<Vec<InboxItem>> {
    let settings = load_here()?.settings;
    match inbox {
        InboxKind::Skills => {
            let library = SkillLibrary::find(settings)?;
            library.proposals()?.iter().map(|waiting| skill_item(&library, waiting)).collect()
        }
        InboxKind::Memory => {
            let Some(memory) = MemoryInbox::find(WorkspaceContext::find(&settings, &[])?)? else {
                return Ok(Vec::new());
            };
            let mut items = Vec::new();
            for kind in MemoryKind::ALL {
                let patches = memory.waiting(kind)?;
                if !patches.is_empty() {
                    items.push(memory_item(kind, &patches));
                }
            }
            Ok(items)
        }
    }
}

fn skill_item(library: &SkillLibrary, waiting: &SkillProposal) -> anyhow::Result<InboxItem> {
    let mut page = Page::new(format!("{} ({})", waiting.name(), waiting.kind()));
    match library.details(waiting) {
        Ok(ProposalDetails { text, files, twin, diff }) => {
            if let SkillProposal::Skill(skill) = waiting {
                let body = skill.manifest.as_ref().map_or(text.as_str(), |manifest| manifest.body.as_str());
                page.text(waiting.about());
                page.heading("Instructions");
                page.rows.push(Row::Markdown(body.to_string()));
                page.heading("Files");
                for file in &files {
                    let size = plural(usize::try_from(file.bytes).unwrap_or(usize::MAX), "byte", "bytes");
                    page.item(format!("{}, {size}", file.path.display()));
                }
            }
            if let Some(twin) = twin {
                page.heading(format!("Compared with the existing skill ({})", twin.describe()));
            }
            push_diff(&mut page, diff.as_deref().unwrap_or_default());
        }
        Err(error) => page.text(format!("{error:#}")),
    }
    push_rest(&mut page, waiting.problem(), waiting.evidence());
    Ok(InboxItem {
        name: shown_name(waiting),
        kind: waiting.kind(),
        about: waiting.about(),
        problem: waiting.problem().map(str::to_string),
        page,
        files: vec![waiting.file()],
        has_scope: matches!(waiting, SkillProposal::Skill(_)),
    })
}

/// A change goes by the name of its file: a new skill may have the other one.
fn shown_name(waiting: &SkillProposal) -> String {
    match waiting {
        SkillProposal::Skill(skill) => skill.name.clone(),
        SkillProposal::Update(update) => format!("{}.patch", update.name),
    }
}

fn memory_item(kind: MemoryKind, patches: &[WaitingPatch]) -> InboxItem {
    let mut page = Page::new(format!("Changes to {} memory", kind.name()));
    for patch in patches {
        push_diff(&mut page, &diff_of(patch));
        push_rest(&mut page, patch.plan.as_ref().err().map(String::as_str), &patch.evidence);
    }
    let writes = patches.iter().filter_map(|patch| patch.plan.as_ref().ok()).flatten();
    let mut targets: Vec<String> = writes.map(|write| write.path.display().to_string()).collect();
    targets.dedup();
    InboxItem {
        name: kind.name().to_string(),
        kind: match kind {
            MemoryKind::Private => "for you, in this project".to_string(),
            MemoryKind::Global => "for you, everywhere".to_string(),
        },
        about: format!("changes {}", targets.join(", ")),
        problem: patches.iter().find_map(|patch| patch.plan.as_ref().err().cloned()),
        page,
        files: patches.iter().map(|patch| patch.file.clone()).collect(),
        has_scope: false,
    }
}

fn push_diff(page: &mut Page, diff: &str) {
    if !diff.is_empty() {
        page.rows.push(Row::Diff(diff.to_string()));
    }
}

fn push_rest(page: &mut Page, problem: Option<&str>, evidence: &[Value]) {
    if let Some(problem) = problem {
        page.heading("Cannot be accepted");
        page.text(problem);
    }
    let seen = evidence_lines(evidence);
    if !seen.is_empty() {
        page.heading("Evidence");
    }
    seen.into_iter().for_each(|line| page.aside(line));
}

/// Accepts, dismisses or undoes a proposal, and reports the outcome.
pub(super) fn settle(inbox: InboxKind, review: &ReviewDecision) -> anyhow::Result<Notice> {
    let settings = load_here()?.settings;
    match inbox {
        InboxKind::Skills => settle_skill(review, &SkillLibrary::find(settings)?),
        InboxKind::Memory => {
            let memory = MemoryInbox::find(WorkspaceContext::find(&settings, &[])?)?;
            settle_memory(review, &memory.ok_or_else(|| anyhow!("the inbox is empty"))?)
        }
    }
}

fn settle_skill(review: &ReviewDecision, library: &SkillLibrary) -> anyhow::Result<Notice> {
    let counts = |name: &str, written: &[PathBuf]| {
        let text = format!("{name} is active: {}", shown(written));
        Notice::good(text).with_hint("Undo with /skills inbox undo.")
    };
    Ok(match review {
        ReviewDecision::Accept { name, scope } => {
            let scope = match scope {
                AcceptScope::User => SkillScope::User,
                AcceptScope::Project => SkillScope::Workspace,
            };
            counts(name, &library.accept_proposal(name, scope)?)
        }
        ReviewDecision::AcceptEdited { name } => {
            let proposal = library.find_proposal(name)?;
            library.recount_proposal(&proposal)?;
            let scope = match proposal {
                SkillProposal::Skill(_) => library.propose_scope(name)?,
                SkillProposal::Update(_) => SkillScope::Workspace,
            };
            counts(name, &library.accept_proposal(name, scope)?)
        }
        ReviewDecision::Dismiss { name } => {
            library.dismiss_proposal(name)?;
            Notice::good(format!("Dismissed {name}; it will not be proposed again."))
        }
        ReviewDecision::Undo => Notice::good(undone_words(&library.undo_acceptance()?)),
    })
}

fn settle_memory(review: &ReviewDecision, memory: &MemoryInbox) -> anyhow::Result<Notice> {
    let kind_of = |name: &str| {
        let found = MemoryKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| {
            hinted(anyhow!("nothing pending under the name {name:?}"), "use private or global")
        })
    };
    let name = match review {
        ReviewDecision::Accept { name, .. } | ReviewDecision::AcceptEdited { name } => name,
        ReviewDecision::Dismiss { name } => {
            let gone = plural(memory.dismiss(kind_of(name)?)?, "patch", "patches");
            return Ok(Notice::good(format!("Dismissed {gone}; their content will not be proposed again.")));
        }
        ReviewDecision::Undo => return Ok(Notice::good(taken_back_words(&memory.undo()?))),
    };
    let kind = kind_of(name)?;
    if let ReviewDecision::AcceptEdited { .. } = review {
        let files: Vec<PathBuf> = memory.waiting(kind)?.into_iter().map(|patch| patch.file).collect();
        memory.recount(&files)?;
    }
    let applied = memory.accept(kind)?;
    Ok(match applied.failed.first() {
        Some((_, reason)) if applied.changed.is_empty() => return Err(anyhow!("{reason}")),
        Some((file, reason)) => {
            let left = file.display();
            Notice::warning(format!("Changed {}. {left} is still pending: {reason}", shown(&applied.changed)))
        }
        None if applied.changed.is_empty() => Notice::info("Nothing left to apply."),
        None => Notice::good(format!("Updated memory: {}.", shown(&applied.changed)))
            .with_hint("Undo with /memory inbox undo."),
    })
}

fn shown(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}
