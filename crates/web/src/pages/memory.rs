//! Memory: the files in use and why, the facts in them, and what waits in the inbox. Every change shows its diff first.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_conversation::plural;
use longhaul_memory::{
    Fact, FactPreview, RememberedFact, When, edit_fact, explain, find_facts, load_memory, preview_edit,
    preview_removal, remove_fact,
};
use longhaul_workspace::LockTimeout;
use maud::{Markup, html};
use similar::TextDiff;

use crate::layout::{self, Section};
use crate::pages::inbox;
use crate::reply::Reply;
use crate::request::{PageRequest, encode};
use crate::site::Site;

pub(crate) fn page(site: &Arc<Site>, request: &PageRequest) -> Reply {
    match content(site, request) {
        Ok(content) => Reply::page(layout::page("Memory", Section::Memory, &content)),
        Err(error) => failed(&error),
    }
}

fn failed(error: &anyhow::Error) -> Reply {
    Reply::page(layout::failure(Section::Memory, error))
}

fn content(site: &Arc<Site>, request: &PageRequest) -> anyhow::Result<Markup> {
    let context = WorkspaceContext::find(&site.settings, &[])?;
    let asked = request.query.get("why");
    Ok(html! {
        h1 { "Memory" }
        p.soft { "What an agent of Longhaul reads in " code { (context.cwd.display()) }
            @if !context.trust.is_trusted() { ", which is not trusted: its own files do not count" } "." }
        @if let Some(said) = request.query.get("said") { p.notice role="status" { (said) } }
        (inbox::waiting(site)?)
        (facts(&context, site.is_read_only))
        (files(&context))
        (why(&context, asked))
    })
}

fn facts(context: &WorkspaceContext, is_read_only: bool) -> Markup {
    let facts: Vec<RememberedFact> = find_facts(&context.places, &context.settings)
        .into_iter()
        .filter(|fact| fact.number.is_some())
        .collect();
    html! {
        h2 { "Facts" }
        @if facts.is_empty() { p.empty { "No facts are saved. Agents save them, and " code { "longhaul memory add" } " does." } }
        @else {
            div.wide { table {
                thead { tr { th { "Fact" } th { "For" } th { "Where" } @if !is_read_only { th { "Change" } } } }
                tbody {
                    @for fact in &facts {
                        tr {
                            td dir="auto" { (fact.text) }
                            td { (fact.tier.name()) }
                            td { code { (fact.path.display()) ":" (fact.line) } }
                            @if !is_read_only {
                                td.actions {
                                    @let which = format!("path={}&line={}", encode(&fact.path.to_string_lossy()), fact.line);
                                    a.button href=(format!("/memory/edit?{which}")) { "Edit…" }
                                    a.button href=(format!("/memory/forget?{which}")) { "Forget…" }
                                }
                            }
                        }
                    }
                }
            } }
        }
    }
}

fn files(context: &WorkspaceContext) -> Markup {
    let memory = load_memory(&context.places, &context.settings);
    let total: u64 = memory.files.iter().map(|file| file.tokens().0).sum();
    html! {
        h2 { "Files in use" }
        @if memory.files.is_empty() { p.empty { "No memory files (" (context.settings.names.to_string()) ") are in use here." } }
        @for file in &memory.files {
            details.card {
                summary { code { (file.path.display()) } " · " (file.tier.name()) " · " (file.tokens()) " tokens"
                    @if !file.imports.is_empty() { " · " (plural(file.imports.len(), "import", "imports")) } }
                div.said dir="auto" { (file.text) }
            }
        }
        @if !memory.files.is_empty() { p.soft { (longhaul_conversation::grouped(total)) " tokens in all" } }
        @if !memory.skipped.is_empty() {
            details.notices {
                summary { (plural(memory.skipped.len(), "file does", "files do")) " not count" }
                ul { @for skipped in &memory.skipped { li { code { (skipped.path.display()) } ": " (skipped.reason) } } }
            }
        }
    }
}

/// The reasons why files apply to a path.
fn why(context: &WorkspaceContext, asked: Option<&str>) -> Markup {
    html! {
        h2 { "Why" }
        form.filter action="/memory" {
            label { span { "Which memory applies to" }
                input type="search" name="why" value=[asked] placeholder="src/main.rs";
            }
            button { "Explain" }
        }
        @if let Some(asked) = asked {
            @let explanation = explain(&context.cwd.join(asked), &context.places, &context.settings);
            @if explanation.applies.is_empty() { p.empty { "No memory file applies to " code { (asked) } "." } }
            ol.lines.card {
                @for applied in &explanation.applies {
                    li { code { (applied.path.display()) } " · " (applied.tier.name()) " · " (when(applied.when)) " · " (applied.tokens) " tokens"
                        @if let Some(through) = applied.through.last() { " · imported by " code { (through.display()) } } }
                }
            }
            @if !explanation.skipped.is_empty() {
                ul.lines.card { @for skipped in &explanation.skipped { li.soft { code { (skipped.path.display()) } ": " (skipped.reason) } } }
            }
        }
    }
}

fn when(when: When) -> &'static str {
    match when {
        When::AtStart => "read at the start of a session",
        When::JustInTime => "read when a tool touches the path",
        When::Written => "read when a tool writes to the path",
    }
}

/// A fact of an address: by its file and line, and by its words where the file changed since.
fn fact_of(context: &WorkspaceContext, request: &PageRequest) -> anyhow::Result<RememberedFact> {
    let given = if request.form.get("path").is_some() { &request.form } else { &request.query };
    let (path, line) = (given.get("path").unwrap_or_default(), given.number("line"));
    let words = request.form.get("was");
    let facts = find_facts(&context.places, &context.settings);
    let is_it = |fact: &&RememberedFact| {
        fact.path == Path::new(path)
            && fact.number.is_some()
            && words.map_or(Some(fact.line) == line, |words| fact.text == words)
    };
    facts.iter().find(is_it).cloned().ok_or_else(|| {
        hinted(anyhow!("the fact is no longer in {path}"), "open Memory again: the file changed meanwhile")
    })
}

/// The form in which a fact is edited, or the question whether to forget it; with the diff where it is known.
pub(crate) fn ask(site: &Arc<Site>, act: &str, request: &PageRequest) -> Reply {
    let asked = || -> anyhow::Result<Markup> {
        let context = WorkspaceContext::find(&site.settings, &[])?;
        let fact = fact_of(&context, request)?;
        if act == "forget" {
            let preview = preview_removal(&fact)?;
            return Ok(confirm("Forget this fact?", &fact, None, &preview, "/memory/forget", "Forget it"));
        }
        Ok(html! {
            h1 { "Edit a fact" }
            form method="post" action="/memory/preview" {
                (which(&fact))
                label { span.soft { "New wording" } textarea name="text" { (fact.text) } }
                div.actions { button.primary { "Show the change" } a.button href="/memory" { "Leave it" } }
            }
        })
    };
    shown(asked())
}

/// The diff of an edit, with the question.
pub(crate) fn preview(site: &Arc<Site>, request: &PageRequest) -> Reply {
    let asked = || -> anyhow::Result<Markup> {
        let context = WorkspaceContext::find(&site.settings, &[])?;
        let fact = fact_of(&context, request)?;
        let text = request.form.get("text").unwrap_or_default();
        let after = Fact::parse(text)?;
        let preview = preview_edit(&fact, &after, now())?;
        Ok(confirm("Change this fact?", &fact, Some(after.as_str()), &preview, "/memory/edit", "Change it"))
    };
    shown(asked())
}

fn shown(asked: anyhow::Result<Markup>) -> Reply {
    match asked {
        Ok(content) => Reply::page(layout::page("Memory", Section::Memory, &content)),
        Err(error) => failed(&error),
    }
}

fn which(fact: &RememberedFact) -> Markup {
    html! {
        input type="hidden" name="path" value=(fact.path.to_string_lossy());
        input type="hidden" name="was" value=(fact.text);
    }
}

fn confirm(
    title: &str,
    fact: &RememberedFact,
    text: Option<&str>,
    preview: &FactPreview,
    action: &str,
    word: &str,
) -> Markup {
    html! {
        h1 { (title) }
        p { code { (fact.path.display()) } }
        (diff(&fact.path, &preview.before, &preview.after))
        form.actions method="post" action=(action) {
            (which(fact))
            @if let Some(text) = text { input type="hidden" name="text" value=(text); }
            button.primary { (word) }
            a.button href="/memory" { "Leave it" }
        }
    }
}

/// Changes or forgets a fact.
pub(crate) fn change(site: &Arc<Site>, act: &str, request: &PageRequest) -> Reply {
    let changed = || -> anyhow::Result<String> {
        let context = WorkspaceContext::find(&site.settings, &[])?;
        let fact = fact_of(&context, request)?;
        let (places, settings, timeout) = (&context.places, &context.settings, LockTimeout::default());
        if act == "forget" {
            remove_fact(&fact, places, settings, timeout).context("could not forget it")?;
            return Ok(format!("Forgot “{}”.", fact.text));
        }
        let after = Fact::parse(request.form.get("text").unwrap_or_default())?;
        let edited =
            edit_fact(&fact, after, places, settings, now(), timeout).context("could not change it")?;
        let remark = edited.remark().map(|remark| format!(" {remark}")).unwrap_or_default();
        Ok(format!("Changed to “{}”.{remark}", edited.after))
    };
    match changed() {
        Ok(said) => Reply::SeeOther(format!("/memory?said={}", encode(&said))),
        Err(error) => failed(&error),
    }
}

/// The change of a file.
fn diff(path: &Path, before: &str, after: &str) -> Markup {
    let name = path.display().to_string();
    let changes = TextDiff::from_lines(before, after);
    diff_lines(&changes.unified_diff().context_radius(3).header(&name, &name).to_string())
}

/// A unified diff in its colours.
pub(crate) fn diff_lines(text: &str) -> Markup {
    let class = |line: &str| match line.as_bytes() {
        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] | [b'@', ..] => "place",
        [b'+', ..] => "plus",
        [b'-', ..] => "minus",
        _ => "",
    };
    html! {
        pre.diff aria-label="The change" { @for line in text.lines() { span.(class(line)) { (line) } } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_says_which_lines_come_and_go() {
        let html = diff(Path::new("/x"), "# A\n- old <i>\n", "# A\n- new\n").into_string();
        assert!(html.contains("<span class=\"minus\">-- old &lt;i&gt;</span>"), "{html}");
        assert!(
            html.contains("<span class=\"plus\">+- new</span>") && html.contains("class=\"place\">@@"),
            "{html}"
        );
    }
}
