//! `/memory add`, `/memory edit` and `/memory remove`: changes to memory from the terminal.

use std::fs;
use std::path::Path;

use anyhow::{Context, anyhow};
use longhaul_app::clock::now;
use longhaul_app::failure::hinted;
use longhaul_app::memory::{folder, save};
use longhaul_app::project::Project;
use longhaul_memory::{
    Fact, FactScope, MemorySettings, Places, ProposedScope, RememberedFact, edit_fact, find_facts,
    pick_facts, propose_scope, remove_fact,
};
use longhaul_terminal::{MemoryReply, MemoryRequest};
use longhaul_workspace::LockTimeout;
use tempfile::TempDir;

/// The most facts to choose from.
const MOST_CHOICES: usize = 9;

/// Carries out a request, or finds out what the user has to say about it. `edits` holds facts that are being edited.
pub(super) fn change(
    request: &MemoryRequest,
    places: &Places,
    settings: &MemorySettings,
    edits: &mut Option<TempDir>,
) -> anyhow::Result<MemoryReply> {
    // The first session gives a project its place.
    let private = Project::find()?.map(|project| project.home.memory());
    let places = Places { private: private.or_else(|| places.private.clone()), ..places.clone() };
    match request {
        MemoryRequest::Add(text) => add(text, &places, settings),
        MemoryRequest::Remove(which) => {
            let remove = |fact: &RememberedFact| {
                remove_fact(fact, &places, settings, LockTimeout::default())?;
                Ok(MemoryReply::Done(format!("Removed {:?} ({}).", fact.text, fact.path.display())))
            };
            with_fact(
                which,
                &places,
                settings,
                "Which fact should be removed?",
                MemoryRequest::Remove,
                remove,
            )
        }
        MemoryRequest::Edit(words) => {
            let (which, text) = match words.split_once("--text ") {
                Some((which, text)) => (which.trim(), Some(text.trim())),
                None => (words.as_str(), None),
            };
            let again = |which: String| match text {
                Some(text) => MemoryRequest::Edit(format!("{which} --text {text}")),
                None => MemoryRequest::Edit(which),
            };
            with_fact(which, &places, settings, "Which fact should be edited?", again, |fact| match text {
                Some(text) => edit(fact, text, &places, settings),
                None => open(fact, edits),
            })
        }
        MemoryRequest::TakeEdited { which, file } => {
            let text = fs::read_to_string(file).context("could not read what the editor saved")?;
            let again = |which| MemoryRequest::TakeEdited { which, file: file.clone() };
            with_fact(which, &places, settings, "Which fact was edited?", again, |fact| {
                edit(fact, &text, &places, settings)
            })
        }
    }
}

/// Adds a fact; asks for its scope where its words leave that open.
fn add(text: &str, places: &Places, settings: &MemorySettings) -> anyhow::Result<MemoryReply> {
    let (stated, text) = split_scope(text, places)?;
    let fact = Fact::parse(text)?;
    let ProposedScope { scope, is_clear } = match stated {
        Some(scope) => ProposedScope { scope, is_clear: true },
        None => propose_scope(fact.as_str(), places),
    };
    if !is_clear {
        let option =
            |label: &str, scope: &str| (label.to_string(), MemoryRequest::Add(format!("{scope} {fact}")));
        let mut options = vec![
            option("In this project, for me only", "--scope project"),
            option("In every project, for me only", "--scope global"),
        ];
        if places.workspace().is_some_and(|workspace| workspace.is_trusted) {
            options.push(option("In this project, for everyone (its memory file)", "--folder ."));
        }
        return Ok(MemoryReply::Choose { question: format!("Where does it apply? {fact}"), options });
    }
    let saved = save(&fact, &scope, places, settings)?;
    Ok(MemoryReply::Done(format!("{saved} ({})", saved.path.display())))
}

/// Does something with the fact that a number or words mean; asks where they mean several.
fn with_fact(
    which: &str,
    places: &Places,
    settings: &MemorySettings,
    question: &str,
    again: impl Fn(String) -> MemoryRequest,
    act: impl FnOnce(&RememberedFact) -> anyhow::Result<MemoryReply>,
) -> anyhow::Result<MemoryReply> {
    let found = pick_facts(&find_facts(places, settings), which);
    match found.as_slice() {
        [] => Err(hinted(anyhow!("no fact matches {which:?}"), "type /memory list to see all facts")),
        [fact] => act(fact),
        found => {
            let choices = found.iter().take(MOST_CHOICES).map(|fact| {
                let label = format!("{} ({}, line {})", fact.text, fact.tier, fact.line);
                let which = fact.number.map_or_else(|| fact.text.clone(), |number| number.to_string());
                (label, again(which))
            });
            Ok(MemoryReply::Choose { question: question.to_string(), options: choices.collect() })
        }
    }
}

fn edit(
    fact: &RememberedFact,
    text: &str,
    places: &Places,
    settings: &MemorySettings,
) -> anyhow::Result<MemoryReply> {
    let after = Fact::parse(text)?;
    if after.as_str() == fact.text {
        return Ok(MemoryReply::Done("Nothing changed.".to_string()));
    }
    let edited = edit_fact(fact, after, places, settings, now(), LockTimeout::default())?;
    let remark = edited.remark().map(|remark| format!(" {remark}")).unwrap_or_default();
    let path = fact.path.display();
    Ok(MemoryReply::Done(format!("Changed {:?} to {:?}.{remark} ({path})", fact.text, edited.after.as_str())))
}

/// Writes a fact to a file for the user's editor.
fn open(fact: &RememberedFact, edits: &mut Option<TempDir>) -> anyhow::Result<MemoryReply> {
    let folder = match edits {
        Some(folder) => folder,
        None => edits.insert(tempfile::tempdir().context("could not create a temporary folder")?),
    };
    let file = folder.path().join("fact.md");
    fs::write(&file, format!("{}\n", fact.text)).context("could not write a temporary file")?;
    let which = fact.text.clone();
    Ok(MemoryReply::Edit { file: file.clone(), then: MemoryRequest::TakeEdited { which, file } })
}

/// Splits a fact from the scope that may stand before it.
fn split_scope<'t>(text: &'t str, places: &Places) -> anyhow::Result<(Option<FactScope>, &'t str)> {
    let text = text.trim_start();
    let argument = |name: &str| {
        let rest =
            text.strip_prefix(name)?.strip_prefix(|letter: char| letter == '=' || letter.is_whitespace())?;
        Some(rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), "")))
    };
    if let Some((scope, rest)) = argument("--scope") {
        return match scope {
            "global" => Ok((Some(FactScope::Global), rest)),
            "project" => Ok((Some(FactScope::Project), rest)),
            other => Err(hinted(anyhow!("unknown scope {other:?}"), "use --scope global or --scope project")),
        };
    }
    match argument("--folder") {
        Some((named, rest)) => Ok((Some(folder(Path::new(named), places)?), rest)),
        None => Ok((None, text)),
    }
}
