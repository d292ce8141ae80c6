//! Facts that are remembered: finds them by number or words, removes and edits them.

use std::ops::Range;
use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_workspace::LockTimeout;

use super::section::{HEADER, without_empty_section};
use super::{Fact, FactScope, KnownMemory, Proposal, lock, read_memory, save_target, write_memory};
use crate::duplicates::{Remembered, has_words, is_same_fact, plain};
use crate::error::MemoryError;
use crate::load::load_memory;
use crate::places::Places;
use crate::settings::MemorySettings;
use crate::tier::MemoryTier;

/// A fact in a memory file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedFact {
    /// Its number, from 1; none for an item of a list that somebody wrote by hand.
    pub number: Option<usize>,
    /// The file.
    pub path: PathBuf,
    /// The tier of the file.
    pub tier: MemoryTier,
    /// The line that it begins in, from 1.
    pub line: usize,
    /// The words, on one line and without comments.
    pub text: String,
}

/// A fact that was edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactEdit {
    /// The fact as it was.
    pub before: RememberedFact,
    /// The fact as it is now.
    pub after: Fact,
    /// A fact elsewhere that says the same.
    pub same: Option<Remembered>,
    /// A fact elsewhere that seems to contradict it.
    pub contradicts: Option<Remembered>,
}

impl FactEdit {
    /// The remark about what other files say that has to do with the fact, in a sentence.
    pub fn remark(&self) -> Option<String> {
        let contradicts = self.contradicts.as_ref().map(|known| known.remark("seems to contradict it"));
        contradicts.or_else(|| self.same.as_ref().map(|known| known.remark("says so already")))
    }
}

/// The facts that can be removed and edited: with numbers all of private memory and what was saved to the other files,
/// then without one the other items of their lists. Files of extensions are theirs, and those of folders without trust
/// are not read.
pub fn find_facts(places: &Places, settings: &MemorySettings) -> Vec<RememberedFact> {
    let memory = load_memory(places, settings);
    let (mut saved, mut others) = (Vec::new(), Vec::new());
    for file in memory.files.iter().filter(|file| file.tier != MemoryTier::Extension) {
        // What a link leads to is read, and for others not written.
        let is_closed = file.tier != MemoryTier::Global && file.path.is_symlink();
        let Some(text) = read_memory(&file.path).ok().filter(|_| !is_closed) else { continue };
        for item in parse_items(&text) {
            let fact = RememberedFact {
                number: None,
                path: file.path.clone(),
                tier: file.tier,
                line: item.lines.start + 1,
                text: item.text,
            };
            let is_saved = item.is_saved || file.tier == MemoryTier::Private;
            if is_saved { saved.push(fact) } else { others.push(fact) }
        }
    }
    let numbers = 1..=saved.len();
    let numbered =
        saved.into_iter().zip(numbers).map(|(fact, number)| RememberedFact { number: Some(number), ..fact });
    numbered.chain(others).collect()
}

/// The facts that a number or words mean: the one with the number; else those that say just that, those that hold the
/// words as they are, or those that hold all of them, whichever there are first. What was written by hand is looked at
/// only where no other fact is meant.
pub fn pick_facts(facts: &[RememberedFact], which: &str) -> Vec<RememberedFact> {
    let which = which.trim();
    let number = which.parse::<usize>().ok();
    if let Some(meant) = facts.iter().find(|fact| number.is_some() && fact.number == number) {
        return vec![meant.clone()];
    }
    let lower = which.to_lowercase();
    let ways: [&dyn Fn(&RememberedFact) -> bool; 3] = [
        &|fact| fact.text == which || is_same_fact(which, &fact.text),
        &|fact| !lower.is_empty() && fact.text.to_lowercase().contains(&lower),
        &|fact| has_words(&fact.text, which),
    ];
    let (saved, others): (Vec<_>, Vec<_>) = facts.iter().partition(|fact| fact.number.is_some());
    let tries = [saved, others].into_iter().flat_map(|facts| ways.map(|way| (facts.clone(), way)));
    let mut found =
        tries.map(|(facts, way)| facts.into_iter().filter(|fact| way(fact)).cloned().collect::<Vec<_>>());
    found.find(|found| !found.is_empty()).unwrap_or_default()
}

/// Removes a fact from its file, with what is nested below it.
///
/// # Errors
/// [`MemoryError`]; the file is then as it was.
pub fn remove_fact(
    fact: &RememberedFact,
    places: &Places,
    settings: &MemorySettings,
    timeout: LockTimeout,
) -> Result<(), MemoryError> {
    change(fact, places, settings, timeout, without)
}

/// The contents of a file before and after a change of a fact that is only planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactPreview {
    /// The present contents.
    pub before: String,
    /// The contents after the change.
    pub after: String,
}

/// The effect that [`remove_fact`] would have.
///
/// # Errors
/// [`MemoryError`]
pub fn preview_removal(fact: &RememberedFact) -> Result<FactPreview, MemoryError> {
    preview(fact, without)
}

/// The effect that [`edit_fact`] would have.
///
/// # Errors
/// [`MemoryError`]
pub fn preview_edit(fact: &RememberedFact, after: &Fact, now: Timestamp) -> Result<FactPreview, MemoryError> {
    let item = Proposal::item(after, now);
    preview(fact, |lines, place| with(lines, place, &item))
}

fn preview(
    fact: &RememberedFact,
    make: impl FnOnce(&mut Vec<String>, &ListItem) -> String,
) -> Result<FactPreview, MemoryError> {
    let before = read_memory(&fact.path)?;
    let after = changed(fact, &before, make)?;
    Ok(FactPreview { before, after })
}

/// A file without an item, and without the section that it leaves empty.
fn without(lines: &mut Vec<String>, item: &ListItem) -> String {
    lines.drain(item.lines.clone());
    let text = lines.concat();
    if item.is_saved { without_empty_section(&text) } else { text }
}

/// A file with another item in the place of one.
fn with(lines: &mut Vec<String>, place: &ListItem, item: &str) -> String {
    let first = &lines[place.lines.start];
    let indent = &first[..first.len() - first.trim_start().len()];
    let end = if first.ends_with("\r\n") { "\r\n" } else { "\n" };
    let line = format!("{indent}{item}{end}");
    lines.splice(place.lines.clone(), [line]);
    lines.concat()
}

/// Replaces a fact with another one, and its day with today.
///
/// # Errors
/// [`MemoryError`]; the file is then as it was.
pub fn edit_fact(
    fact: &RememberedFact,
    after: Fact,
    places: &Places,
    settings: &MemorySettings,
    now: Timestamp,
    timeout: LockTimeout,
) -> Result<FactEdit, MemoryError> {
    let scope = match fact.tier {
        MemoryTier::Global => FactScope::Global,
        MemoryTier::Private => FactScope::Project,
        _ => FactScope::Folder(fact.path.parent().map(Path::to_path_buf).unwrap_or_default()),
    };
    let known = KnownMemory::load(&scope, &fact.path, places, settings);
    let item = Proposal::item(&after, now);
    change(fact, places, settings, timeout, |lines, place| with(lines, place, &item))?;
    let (same, contradicts) = (known.same(&after), known.contradicted_by(&after));
    Ok(FactEdit { before: fact.clone(), after, same, contradicts })
}

/// Changes the lines of a file in which a fact still stands, under its lock.
fn change(
    fact: &RememberedFact,
    places: &Places,
    settings: &MemorySettings,
    timeout: LockTimeout,
    make: impl FnOnce(&mut Vec<String>, &ListItem) -> String,
) -> Result<(), MemoryError> {
    // A project is left without lock files: there the one in the home stands for all.
    let lock_beside = match fact.tier {
        MemoryTier::Global | MemoryTier::Private => fact.path.clone(),
        _ => save_target(FactScope::Global, places, settings)?,
    };
    let _lock = lock(&lock_beside, timeout)?;
    if fact.tier != MemoryTier::Global && fact.path.is_symlink() {
        return Err(MemoryError::Link { path: fact.path.clone() });
    }
    let text = read_memory(&fact.path)?;
    write_memory(&fact.path, &changed(fact, &text, make)?)
}

/// The text of a file after a change of the fact, if it still stands there.
fn changed(
    fact: &RememberedFact,
    text: &str,
    make: impl FnOnce(&mut Vec<String>, &ListItem) -> String,
) -> Result<String, MemoryError> {
    let items = parse_items(text);
    let mut same = items.iter().filter(|item| item.text == fact.text);
    // Lines above it may have come or gone meanwhile.
    let here = items.iter().find(|item| item.lines.start + 1 == fact.line && item.text == fact.text);
    let item = match (here, same.next(), same.next()) {
        (Some(item), ..) | (None, Some(item), None) => item,
        _ => return Err(MemoryError::ChangedMeanwhile { path: fact.path.clone() }),
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    Ok(make(&mut lines, item))
}

/// An item of a list.
struct ListItem {
    /// Its lines, from 0, with what is nested below it.
    lines: Range<usize>,
    text: String,
    /// True if it stands in the section of facts that were saved.
    is_saved: bool,
}

fn parse_items(text: &str) -> Vec<ListItem> {
    let lines: Vec<&str> = text.lines().collect();
    let indent_of = |line: &str| line.len() - line.trim_start().len();
    let is_item = |line: &str| ["- ", "* ", "+ "].iter().any(|mark| line.trim_start().starts_with(mark));
    let is_fence = |line: &str| ["```", "~~~"].iter().any(|fence| line.trim_start().starts_with(fence));
    let mut items = Vec::new();
    let (mut is_code, mut is_saved) = (false, false);
    for (start, line) in lines.iter().enumerate() {
        is_code ^= is_fence(line);
        if !is_code && line.starts_with("## ") {
            is_saved = line.trim_end() == HEADER;
        }
        if is_code || !is_item(line) {
            continue;
        }
        let below = lines[start + 1..].iter();
        let nested =
            below.take_while(|below| !below.trim().is_empty() && indent_of(below) > indent_of(line)).count();
        let end = start + 1 + nested;
        let words = lines[start..end].iter().enumerate().take_while(|(at, line)| *at == 0 || !is_item(line));
        let words: Vec<String> =
            words.map(|(_, line)| plain(line)).filter(|words| !words.is_empty()).collect();
        if !words.is_empty() {
            items.push(ListItem { lines: start..end, text: words.join(" "), is_saved });
        }
    }
    items
}
