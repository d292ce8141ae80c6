//! Proposals: a memory file with a fact more, to be shown, changed and accepted.

use std::path::{Path, PathBuf};

use longhaul_conversation::Timestamp;
use longhaul_redact::has_secret;
use longhaul_workspace::{LockTimeout, unified_diff};

use super::section::with_item;
use super::{Fact, FactChange, KnownMemory, SavedFact, lock, read_memory, write_memory};
use crate::duplicates::{Likeness, compare};
use crate::error::MemoryError;

/// A change to a memory file that is not yet made. What was shown is what will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    path: PathBuf,
    fact: Fact,
    before: String,
    after: String,
    change: FactChange,
    now: Timestamp,
    known: KnownMemory,
}

impl Proposal {
    /// Reads a file and proposes to add a fact.
    ///
    /// # Errors
    /// [`MemoryError`], if the file cannot be added to.
    pub fn load(path: &Path, fact: &Fact, known: KnownMemory, now: Timestamp) -> Result<Self, MemoryError> {
        Ok(Self::new(path, &read_memory(path)?, fact, known, now))
    }

    pub(super) fn new(path: &Path, before: &str, fact: &Fact, known: KnownMemory, now: Timestamp) -> Self {
        let (path, fact, before) = (path.to_path_buf(), fact.clone(), before.to_owned());
        let likeness = compare(fact.as_str(), &before);
        let same = match &likeness {
            Likeness::Same(line) => Some(line.clone()),
            _ => known.same(&fact),
        };
        if let Some(same) = same {
            let change = FactChange::AlreadyThere { known: same };
            return Self { path, fact, after: before.clone(), before, change, now, known };
        }
        let (similar, contradicts) = match likeness {
            Likeness::Opposite(line) => (None, Some(line)),
            Likeness::Similar(line) => (Some(line), known.contradicted_by(&fact)),
            _ => (None, known.contradicted_by(&fact)),
        };
        let (after, line) = with_item(&before, &Self::item(&fact, now));
        let change = FactChange::Added { line, similar, contradicts };
        Self { path, fact, before, after, change, now, known }
    }

    /// A fact as an item of a list, with the day on which it was saved.
    pub(super) fn item(fact: &Fact, now: Timestamp) -> String {
        let day = now.to_string();
        format!("- {fact} <!-- saved {} -->", day.get(..10).unwrap_or(&day))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The present contents.
    pub fn before(&self) -> &str {
        &self.before
    }

    /// The proposed contents.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// The change as a diff that people read; empty if there is none.
    pub fn diff(&self) -> String {
        unified_diff(("Current", &self.before), ("Proposed", &self.after)).text
    }

    /// The remark about what the file says already that has to do with the fact.
    pub fn remark(&self) -> Option<String> {
        self.change.remark()
    }

    /// The question to the user.
    pub fn title(&self, user_home: Option<&Path>) -> String {
        let path = match user_home.and_then(|home| self.path.strip_prefix(home).ok()) {
            Some(inside) => format!("~/{}", inside.display()),
            None => self.path.display().to_string(),
        };
        format!("Confirm Memory Save: {path}")
    }

    /// The same with the contents that the user made of it.
    ///
    /// # Errors
    /// [`MemoryError::Secret`] if a line holds a secret that was not there before.
    pub fn edited(self, after: String) -> Result<Self, MemoryError> {
        let new = after.lines().filter(|line| !self.before.lines().any(|known| known == *line));
        match has_secret(&new.collect::<Vec<_>>().join("\n")) {
            Some(kind) => Err(MemoryError::Secret { kind }),
            None => Ok(Self { after, change: FactChange::Edited, ..self }),
        }
    }

    /// Writes what was proposed. If somebody else changed the file meanwhile, the same fact is added to what it holds now;
    /// contents that the user made are not, as they were made of others.
    ///
    /// # Errors
    /// [`MemoryError::ChangedMeanwhile`], or what prevents writing; the file is then as it was.
    pub fn accept(self, timeout: LockTimeout) -> Result<SavedFact, MemoryError> {
        let _lock = lock(&self.path, timeout)?;
        let current = read_memory(&self.path)?;
        if current == self.before {
            return self.write();
        }
        match self.change {
            FactChange::Edited => Err(MemoryError::ChangedMeanwhile { path: self.path }),
            _ => Self::new(&self.path, &current, &self.fact, self.known, self.now).write(),
        }
    }

    /// Writes the new contents; the caller has the lock.
    pub(super) fn write(self) -> Result<SavedFact, MemoryError> {
        if self.after != self.before {
            write_memory(&self.path, &self.after)?;
        }
        Ok(SavedFact { path: self.path, fact: self.fact, change: self.change })
    }
}
