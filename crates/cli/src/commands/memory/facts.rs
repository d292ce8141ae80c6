//! Facts, as the commands about memory name and show them.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::anyhow;
use longhaul_app::failure::hinted;
use longhaul_app::workspace::WorkspaceContext;
use longhaul_memory::{Remembered, RememberedFact, find_facts, pick_facts};
use serde_json::{Value, json};

use crate::output::{Page, pad, pad_left, path_json, plural, visible};
use crate::questions::choose;

/// The most facts that are listed in an error.
const MOST_LISTED: usize = 8;

/// The fact that a number or words mean. If they mean several, asks at a terminal.
pub(super) fn find(which: &str, context: &WorkspaceContext) -> anyhow::Result<RememberedFact> {
    let facts = find_facts(&context.places, &context.settings);
    let mut found = pick_facts(&facts, which);
    let hint = "run `longhaul memory list` to see all facts with their numbers";
    if found.is_empty() {
        return Err(hinted(anyhow!("no fact matches {which:?}"), hint));
    }
    if found.len() == 1 {
        return Ok(found.remove(0));
    }
    let lines: Vec<String> = found.iter().map(|fact| visible(&line(fact))).collect();
    if std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        let chosen = choose(&format!("Which one? {which:?} matches several:"), &lines, None)?;
        let chosen =
            chosen.ok_or_else(|| hinted(anyhow!("nothing was changed"), "answer with one of the numbers"))?;
        return Ok(found.swap_remove(chosen));
    }
    let count = plural(found.len(), "fact", "facts");
    let mut listed: Vec<String> = found.iter().take(MOST_LISTED).map(short).collect();
    if found.len() > MOST_LISTED {
        listed.push(format!("{} more", found.len() - MOST_LISTED));
    }
    let error = anyhow!("{which:?} matches {count}: {}", listed.join(", "));
    Err(hinted(error, "use the number of one, or more of its words"))
}

/// A fact in a list on one line.
fn short(fact: &RememberedFact) -> String {
    match fact.number {
        Some(number) => format!("{number} {:?}", fact.text),
        None => format!("{:?} ({}:{})", fact.text, fact.path.display(), fact.line),
    }
}

fn line(fact: &RememberedFact) -> String {
    let number = fact.number.map(|number| format!("{number}: ")).unwrap_or_default();
    format!("{number}{} ({}, {}:{})", fact.text, fact.tier, fact.path.display(), fact.line)
}

/// The facts that have numbers, as text.
pub(super) fn facts_text(page: &mut Page, context: &WorkspaceContext) {
    let mut facts = find_facts(&context.places, &context.settings);
    facts.retain(|fact| fact.number.is_some());
    if facts.is_empty() {
        return;
    }
    page.gap();
    page.line(&page.screen.strong("Facts, to edit or remove by number or words:"));
    for fact in &facts {
        let number = fact.number.map(|number| number.to_string()).unwrap_or_default();
        let line = format!("  {}  {}  {}", pad_left(&number, 3), pad(fact.tier.name(), 7), fact.text);
        page.line(&visible(&line));
    }
}

/// The facts that have numbers, as JSON.
pub(super) fn facts_json(context: &WorkspaceContext) -> Value {
    let facts = find_facts(&context.places, &context.settings);
    let facts = facts.iter().filter(|fact| fact.number.is_some()).map(fact_json);
    facts.collect::<Vec<_>>().into()
}

/// A fact as JSON.
pub(super) fn fact_json(fact: &RememberedFact) -> Value {
    json!({
        "number": fact.number,
        "tier": fact.tier.name(),
        "path": path_json(&fact.path),
        "line": fact.line,
        "text": fact.text,
    })
}

/// A line that says something of the same, as JSON.
pub(super) fn remembered_json(known: Option<&Remembered>, own: &Path) -> Value {
    match known {
        Some(Remembered { file, line, text }) => {
            json!({"path": path_json(file.as_deref().unwrap_or(own)), "line": line, "text": text})
        }
        None => Value::Null,
    }
}
