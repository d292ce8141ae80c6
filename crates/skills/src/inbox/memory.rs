//! Changes to memory that wait for the user: unified diffs, one file of them for each kind that we write, any number that we read.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::{Ordinal, Timestamp};
use longhaul_redact::redact;
use longhaul_workspace::write_private_atomically;
use serde_json::{Value, json};

use super::{Inbox, candidate_json, read_json};
use crate::manifest::one_line;
use crate::mining::{Candidate, FEWEST_SESSIONS, Finding};
use crate::read::read_text;
use crate::{PatchTargets, PlannedWrite, SkillError, parse_patch, plan_patch, run_patch};

/// The file that proposals of ours are kept in.
const OWN: &str = "extraction.patch";

/// So many lines before a change are shown with it.
const CONTEXT: usize = 3;

/// Whose memory a change is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// The user's, in this project.
    Private,
    /// The user's, everywhere.
    Global,
}

/// A change to memory that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitingPatch {
    /// The file of the patch.
    pub file: PathBuf,
    /// The patch itself.
    pub text: String,
    /// What it would make of which files, or why it cannot be applied.
    pub plan: Result<Vec<PlannedWrite>, String>,
}

/// What became of changes to memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppliedPatches {
    /// The files that were changed.
    pub changed: Vec<PathBuf>,
    /// The patches that could not be applied and go on waiting, each with the reason.
    pub failed: Vec<(PathBuf, String)>,
}

impl MemoryKind {
    /// Both kinds.
    pub const ALL: [Self; 2] = [Self::Private, Self::Global];

    /// Its name, which is that of its folder, too.
    pub fn name(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Global => "global",
        }
    }
}

impl Inbox {
    /// The changes to memory of this kind that wait, by the names of their files.
    pub fn patches(&self, kind: MemoryKind, targets: &PatchTargets) -> Vec<WaitingPatch> {
        let entries = fs::read_dir(self.folder.join(kind.name())).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "patch") && file.is_file());
        files.sort();
        let load = |file: PathBuf| {
            let text = read_text(&file).map_err(|error| error.to_string()).and_then(|text| text);
            let plan = text.clone().and_then(|text| {
                let plan = parse_patch(&text).and_then(|patch| plan_patch(&patch, targets));
                plan.map_err(|error| error.to_string())
            });
            WaitingPatch { file, text: text.unwrap_or_default(), plan }
        };
        files.into_iter().map(load).collect()
    }

    /// Applies what waits, each patch to all of its files or to none. Those that cannot be applied go on waiting.
    ///
    /// # Errors
    /// [`SkillError::Workspace`] where the inbox cannot be locked.
    pub fn accept_patches(
        &self,
        kind: MemoryKind,
        targets: &PatchTargets,
    ) -> Result<AppliedPatches, SkillError> {
        let _lock = self.lock()?;
        let mut applied = AppliedPatches::default();
        let files: Vec<PathBuf> =
            self.patches(kind, targets).into_iter().map(|waiting| waiting.file).collect();
        for file in files {
            // What the patches before it did counts, too.
            let again = self.patches(kind, targets).into_iter().find(|waiting| waiting.file == file);
            let Some(waiting) = again else { continue };
            let done = waiting.plan.and_then(|plan| {
                self.fuse.burn().and_then(|()| run_patch(&plan)).map_err(|error| error.to_string())?;
                Ok(plan)
            });
            match done {
                Ok(plan) => {
                    applied.changed.extend(plan.into_iter().map(|write| write.path));
                    // One that stays is found to be applied already.
                    self.fuse.burn()?;
                    fs::remove_file(&file).map_err(SkillError::files("remove", &file))?;
                }
                Err(reason) => applied.failed.push((file, reason)),
            }
        }
        applied.changed.dedup();
        Ok(applied)
    }

    /// Removes what waits; what it proposed is not proposed again. Returns how many patches are gone.
    ///
    /// # Errors
    /// [`SkillError`] where the inbox cannot be written.
    pub fn dismiss_patches(
        &self,
        kind: MemoryKind,
        targets: &PatchTargets,
        at: Timestamp,
    ) -> Result<usize, SkillError> {
        let _lock = self.lock()?;
        let waiting = self.patches(kind, targets);
        for WaitingPatch { file, text, .. } in &waiting {
            self.note(json!({"act": "dismissed", "name": kind.name(), "at": at.to_string(), "text": text}))?;
            fs::remove_file(file).map_err(SkillError::files("remove", file))?;
        }
        Ok(waiting.len())
    }

    /// Proposes to remember these facts, in this file of memory. What waits already is kept in the same patch. Returns how many of
    /// them are new: what is remembered, waits or was dismissed is passed over.
    ///
    /// # Errors
    /// [`SkillError`] where the inbox or the file cannot be read or written.
    pub fn propose_facts(
        &self,
        kind: MemoryKind,
        facts: &[ProposedFact],
        memory: &Path,
    ) -> Result<usize, SkillError> {
        let _lock = self.lock()?;
        let file = self.folder.join(kind.name()).join(OWN);
        let text = |path: &Path| match path.symlink_metadata() {
            Ok(_) => read_text(path).map(|text| Some(text.unwrap_or_default())),
            Err(_) => Ok(None),
        };
        let (held, waiting) = (text(memory)?, text(&file)?.unwrap_or_default());
        let mut lines: Vec<String> = waiting
            .lines()
            .filter_map(|line| line.strip_prefix("+- "))
            .map(|line| format!("- {line}"))
            .collect();
        let history = self.read_history();
        let dismissed = history
            .iter()
            .filter(|entry| entry["act"] == "dismissed")
            .filter_map(|entry| entry["text"].as_str());
        let known: Vec<&str> = dismissed.chain(held.as_deref()).chain([waiting.as_str()]).collect();
        let new: Vec<&ProposedFact> =
            facts.iter().filter(|fact| !known.iter().any(|text| fact.is_told_by(text))).collect();
        if !new.is_empty() {
            // Where each comes from is noted first: without its patch that means nothing.
            let noted = self.evidence.join(kind.name()).join("extraction.json");
            let mut evidence = match waiting.is_empty() {
                true => Vec::new(),
                false => read_json(&noted)["evidence"].as_array().cloned().unwrap_or_default(),
            };
            evidence.extend(new.iter().map(|fact| fact.evidence.clone()));
            self.write(&noted, &json!({"evidence": evidence}))?;
            lines.extend(new.iter().map(|fact| fact.line()));
            self.fuse.burn()?;
            write_private_atomically(&file, render(memory, held.as_deref(), &lines).as_bytes())?;
        }
        Ok(new.len())
    }
}

/// A fact to remember, with the user's words that it comes from and where they were said. It has no secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct ProposedFact {
    /// What to remember, where that is more than the words themselves.
    statement: Option<String>,
    quote: String,
    source: String,
    /// Where the words were said, as it is noted.
    evidence: Value,
}

impl ProposedFact {
    /// A fact in somebody's words, from what the user said in this message of a session.
    pub fn new(statement: &str, quote: &str, session: &str, mark: Ordinal) -> Self {
        let (session, quote) = (clean(session), clean(quote));
        let evidence = json!({
            "kind": "quote",
            "title": quote,
            "sessions": 1,
            "times": 1,
            "seen": [{"session": session, "marks": [mark.to_string()]}],
        });
        let source = format!("the user, session {session} {mark}");
        Self { statement: Some(clean(statement)), quote, source, evidence }
    }

    /// The facts in what was found: what the user said in several sessions, in their own words.
    pub fn of(found: &[Candidate]) -> Vec<Self> {
        let repeated = found.iter().filter(|candidate| candidate.sessions() >= FEWEST_SESSIONS);
        let fact = |candidate: &Candidate| {
            let Finding::Correction { words } = &candidate.finding else { return None };
            let place = candidate.evidence.last().map(|seen| {
                let mark = seen.marks.last().map(|mark| format!(" {mark}")).unwrap_or_default();
                format!(", last in session {}{mark}", seen.session)
            });
            let source =
                format!("the user, in {} sessions{}", candidate.sessions(), place.unwrap_or_default());
            let evidence = candidate_json(candidate);
            Some(Self { statement: None, quote: clean(words), source: clean(&source), evidence })
        };
        repeated.filter_map(fact).collect()
    }

    fn line(&self) -> String {
        let Self { statement, quote, source, .. } = self;
        match statement {
            Some(statement) => format!("- {statement} — “{quote}” ({source})"),
            None => format!("- “{quote}” ({source})"),
        }
    }

    /// Whether a text says it already.
    fn is_told_by(&self, text: &str) -> bool {
        let statement = self.statement.as_deref().is_some_and(|statement| text.contains(statement));
        statement || text.contains(&self.quote)
    }
}

/// A text on one line, without secrets.
fn clean(text: &str) -> String {
    redact(&one_line(text)).text.into_owned()
}

/// The patch that puts these lines at the end of a file.
fn render(memory: &Path, held: Option<&str>, lines: &[String]) -> String {
    let name = memory.display();
    let added: String = lines.iter().map(|line| format!("+{line}\n")).collect();
    let Some(held) = held else {
        let count = lines.len() + 2;
        return format!("--- /dev/null\n+++ {name}\n@@ -0,0 +1,{count} @@\n+# Memory\n+\n{added}");
    };
    let old: Vec<&str> = held.lines().collect();
    let from = old.len().saturating_sub(CONTEXT);
    let context: String = old[from..].iter().map(|line| format!(" {line}\n")).collect();
    let (kept, all) = (old.len() - from, old.len() - from + lines.len());
    let start = if kept == 0 { 0 } else { from + 1 };
    format!("--- {name}\n+++ {name}\n@@ -{start},{kept} +{},{all} @@\n{context}{added}", from + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine;
    use crate::mining::trial::session;
    use longhaul_workspace::{Environment, Home, Patience, Projects};

    struct Desk {
        _root: tempfile::TempDir,
        inbox: Inbox,
        memory: PathBuf,
    }

    impl Desk {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let environment =
                Environment { longhaul_home: Some(root.path().join("home")), ..Environment::default() };
            let home = Home::resolve(&environment).unwrap();
            let id = Projects::of(&home).identify(root.path(), Patience::default()).unwrap().id;
            let project = home.project(&id);
            Self { inbox: Inbox::of(&project), memory: project.private_memory(), _root: root }
        }

        fn targets(&self) -> PatchTargets {
            PatchTargets::NotesIn(self.memory.parent().unwrap().to_path_buf())
        }

        fn propose(&self, words: &str) -> usize {
            let lines = [format!("> {words}")];
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let found = mine(&[session("a", &lines), session("b", &lines)]);
            self.inbox.propose_facts(MemoryKind::Private, &ProposedFact::of(&found), &self.memory).unwrap()
        }

        fn accept(&self) -> AppliedPatches {
            self.inbox.accept_patches(MemoryKind::Private, &self.targets()).unwrap()
        }

        fn held(&self) -> String {
            fs::read_to_string(&self.memory).unwrap_or_default()
        }
    }

    const PNPM: &str = "No, use pnpm instead of npm in this repository";
    const TABS: &str = "Don't indent generated fixtures with spaces";

    #[test]
    fn facts_wait_in_one_patch_until_they_are_accepted() {
        let desk = Desk::new();
        assert_eq!((desk.propose(PNPM), desk.propose(PNPM), desk.propose(TABS)), (1, 0, 1));
        let waiting = desk.inbox.patches(MemoryKind::Private, &desk.targets());
        assert_eq!(waiting.len(), 1);
        assert!(desk.held().is_empty(), "nothing is applied by itself");
        let applied = desk.accept();
        assert_eq!((applied.changed.len(), applied.failed.len()), (1, 0));
        let expected = format!(
            "# Memory\n\n- “{PNPM}” (the user, in 2 sessions, last in session b m1)\n- “{TABS}” (the user, in 2 sessions, last in session b m1)\n"
        );
        assert_eq!(desk.held(), expected);
        assert_eq!((desk.propose(PNPM), desk.accept()), (0, AppliedPatches::default()));
        // More is added to what is there.
        desk.propose("Never run the migrations before the backup");
        desk.accept();
        assert!(desk.held().starts_with(&expected) && desk.held().contains("migrations before the backup"));
    }

    #[test]
    fn a_fact_in_other_words_comes_with_those_of_the_user() {
        let desk = Desk::new();
        let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let fact =
            ProposedFact::new(&format!("Packages come from pnpm,\nwith {secret}."), PNPM, "abc", Ordinal(7));
        let propose = || {
            desk.inbox.propose_facts(MemoryKind::Global, std::slice::from_ref(&fact), &desk.memory).unwrap()
        };
        assert_eq!((propose(), propose()), (1, 0));
        let waiting = desk.inbox.patches(MemoryKind::Global, &desk.targets());
        let line =
            format!("+- Packages come from pnpm, with [REDACTED]. — “{PNPM}” (the user, session abc m7)\n");
        assert!(waiting[0].text.ends_with(&line), "{}", waiting[0].text);
        assert!(waiting[0].plan.is_ok());
        let noted = read_json(&desk.inbox.evidence.join("global/extraction.json"));
        assert_eq!(noted["evidence"][0]["seen"], json!([{"session": "abc", "marks": ["m7"]}]));
    }

    #[test]
    fn what_was_dismissed_is_not_proposed_again() {
        let desk = Desk::new();
        desk.propose(PNPM);
        let gone =
            desk.inbox.dismiss_patches(MemoryKind::Private, &desk.targets(), Timestamp::from_millis(0));
        assert_eq!((gone.unwrap(), desk.propose(PNPM)), (1, 0));
        assert!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).is_empty());
    }

    #[test]
    fn a_patch_that_does_not_fit_goes_on_waiting() {
        let desk = Desk::new();
        desk.propose(PNPM);
        fs::write(&desk.memory, "something else\n").unwrap();
        let applied = desk.accept();
        assert!(applied.changed.is_empty() && applied.failed[0].1.contains("exists already"), "{applied:?}");
        assert_eq!(desk.held(), "something else\n");
        assert_eq!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).len(), 1);
    }

    #[test]
    fn cut_off_between_writing_and_removing_it_is_only_removed() {
        let desk = Desk::new();
        desk.propose(PNPM);
        *desk.inbox.fuse.left.lock().unwrap() = Some(1);
        assert!(desk.inbox.accept_patches(MemoryKind::Private, &desk.targets()).is_err());
        let held = desk.held();
        assert!(held.contains(PNPM));
        *desk.inbox.fuse.left.lock().unwrap() = None;
        assert_eq!(desk.accept(), AppliedPatches::default());
        assert_eq!(desk.held(), held);
        assert!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).is_empty());
    }
}
