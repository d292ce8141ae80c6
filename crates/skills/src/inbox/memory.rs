//! Changes to memory that wait for the user: unified diffs, one file of them for each kind that we write, any number that we read.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_conversation::{Ordinal, Timestamp};
use longhaul_redact::redact;
use longhaul_workspace::write_private_atomically;
use serde_json::{Value, json};

use super::journal::{JournalEntry, PatchSubject};
use super::{Inbox, TakenBack, candidate_json, nothing_accepted, read_json};
use crate::manifest::one_line;
use crate::mining::{FEWEST_SESSIONS, MinedPattern, SkillCandidate};
use crate::patch::{parse_patch, plan_patch};
use crate::patch::{plan_onto, read_target};
use crate::read::read_text;
use crate::{PatchTargets, PlannedWrite, SkillError};

/// The note that is read at the start of each session, and says where the others are.
const INDEX: &str = "MEMORY.md";

/// The file that older programs keep in its place.
const OLDER_INDEX: &str = "GEMINI.md";

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
    /// The planned writes, or the reason why it cannot be applied.
    pub plan: Result<Vec<PlannedWrite>, String>,
    /// The evidence, as it was noted; empty if another program put the patch there.
    pub evidence: Vec<Value>,
}

/// The outcome of changes to memory.
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

    fn subject(self) -> PatchSubject {
        match self {
            Self::Private => PatchSubject::Private,
            Self::Global => PatchSubject::Global,
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
                plan.and_then(|plan| with_pointers(plan, targets)).map_err(|error| error.to_string())
            });
            let noted = read_json(&self.evidence_beside(kind.subject(), &name_of(&file)));
            let evidence = noted.get("evidence").and_then(Value::as_array).cloned().unwrap_or_default();
            WaitingPatch { file, text: text.unwrap_or_default(), plan, evidence }
        };
        files.into_iter().map(load).collect()
    }

    /// Applies what waits: all that can be applied, together. What cannot goes on waiting.
    ///
    /// # Errors
    /// [`SkillError`] where the inbox cannot be locked or a file cannot be written; then nothing is changed.
    pub fn accept_patches(
        &self,
        kind: MemoryKind,
        targets: &PatchTargets,
        at: Timestamp,
    ) -> Result<AppliedPatches, SkillError> {
        let _lock = self.lock()?;
        let mut applied = AppliedPatches { changed: self.settle()?.files, ..AppliedPatches::default() };
        let (mut plan, mut patches) = (Vec::new(), Vec::new());
        for waiting in self.patches(kind, targets) {
            // What the patches before it do counts, too.
            let together = waiting.plan.and_then(|_| {
                let patch = parse_patch(&waiting.text);
                let plan = patch.and_then(|patch| plan_onto(plan.clone(), &patch, targets));
                plan.map_err(|error| error.to_string())
            });
            match together {
                Ok(together) => {
                    plan = together;
                    let name = name_of(&waiting.file);
                    let evidence = read_json(&self.evidence_beside(kind.subject(), &name));
                    patches.push(JournalEntry { name, text: waiting.text, evidence });
                }
                Err(reason) => applied.failed.push((waiting.file, reason)),
            }
        }
        if !patches.is_empty() {
            let plan = with_pointers(plan, targets)?;
            self.apply(kind.subject(), patches, &plan, at)?;
            applied.changed.extend(plan.into_iter().map(|write| write.path));
        }
        applied.changed.sort();
        applied.changed.dedup();
        Ok(applied)
    }

    /// Takes back what was accepted last of changes to memory: every file holds exactly what it held before, and the patches
    /// wait again.
    ///
    /// # Errors
    /// [`SkillError::NotUndone`] where nothing was accepted, or where a file has changed since; then nothing has changed.
    pub fn undo_patches(&self) -> Result<TakenBack, SkillError> {
        let _lock = self.lock()?;
        self.settle()?;
        let last = Self::last_applied(&self.read_history(), |subject| subject != PatchSubject::Skill);
        self.take_back(last.ok_or_else(nothing_accepted)?)
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
        self.settle()?;
        let waiting = self.patches(kind, targets);
        for WaitingPatch { file, text, .. } in &waiting {
            self.note(json!({"act": "dismissed", "name": kind.name(), "at": at.to_string(), "text": text}))?;
            self.fuse.burn()?;
            fs::remove_file(file).map_err(SkillError::files("remove", file))?;
            let _ = fs::remove_file(self.evidence_beside(kind.subject(), &name_of(file)));
        }
        Ok(waiting.len())
    }

    /// The words of the user in the facts that wait to be remembered, oldest first.
    pub fn waiting_facts(&self, kind: MemoryKind) -> Vec<String> {
        let Ok(Ok(text)) = read_text(&self.folder.join(kind.name()).join(OWN)) else { return Vec::new() };
        let facts = text.lines().filter_map(|line| line.strip_prefix("+- "));
        let words = facts.filter_map(|fact| {
            let quoted = &fact[fact.find('“')? + '“'.len_utf8()..];
            Some(quoted[..quoted.rfind('”')?].to_string())
        });
        words.collect()
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
        // Private memory may be in two files, which are one to their reader.
        let beside = [INDEX, OLDER_INDEX].map(|name| memory.with_file_name(name));
        let beside = beside.iter().filter(|file| kind == MemoryKind::Private && *file != memory);
        let beside = beside.map(|file| text(file)).collect::<Result<Vec<_>, _>>()?;
        let beside = beside.iter().flatten().map(String::as_str);
        let known: Vec<&str> =
            dismissed.chain(held.as_deref()).chain(beside).chain([waiting.as_str()]).collect();
        let new: Vec<&ProposedFact> =
            facts.iter().filter(|fact| !known.iter().any(|text| fact.is_told_by(text))).collect();
        if !new.is_empty() {
            // Where each comes from is noted first: without its patch that means nothing.
            let noted = self.evidence_beside(kind.subject(), OWN);
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
    /// The fact to remember, where that is more than the words themselves.
    statement: Option<String>,
    quote: String,
    source: String,
    /// The evidence, as it is noted.
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
    pub fn of(found: &[SkillCandidate]) -> Vec<Self> {
        let repeated = found.iter().filter(|candidate| candidate.sessions() >= FEWEST_SESSIONS);
        let fact = |candidate: &SkillCandidate| {
            let MinedPattern::Correction { words } = &candidate.finding else { return None };
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

    /// True if a text says it already.
    fn is_told_by(&self, text: &str) -> bool {
        let statement = self.statement.as_deref().is_some_and(|statement| text.contains(statement));
        statement || text.contains(&self.quote)
    }
}

/// A text on one line, without secrets.
fn clean(text: &str) -> String {
    redact(&one_line(text)).text.into_owned()
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A note that nothing refers to would never be read: the index gets a line for each that is made.
fn with_pointers(
    mut plan: Vec<PlannedWrite>,
    targets: &PatchTargets,
) -> Result<Vec<PlannedWrite>, SkillError> {
    let PatchTargets::NotesIn(_) = targets else { return Ok(plan) };
    let made: Vec<PathBuf> = plan
        .iter()
        .filter(|write| write.before.is_none() && ![INDEX, OLDER_INDEX].contains(&&*name_of(&write.path)))
        .map(|write| write.path.clone())
        .collect();
    for note in made {
        let index = note.with_file_name(INDEX);
        let place = plan.iter().position(|write| write.path == index);
        let (before, mut text) = match place {
            Some(place) => (plan[place].before.clone(), plan[place].after.clone()),
            None => {
                let held = read_target(&index)?;
                (held.clone(), held.unwrap_or_else(|| "# Memory\n\n".to_string()))
            }
        };
        if text.contains(&name_of(&note)) {
            continue;
        }
        let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end);
        }
        let topic = note.file_stem().unwrap_or_default().to_string_lossy().replace(['-', '_'], " ");
        text.push_str(&format!("- More about {topic}: {}{end}", note.display()));
        match place {
            Some(place) => plan[place].after = text,
            None => plan.push(PlannedWrite { path: index, before, after: text }),
        }
    }
    Ok(plan)
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
    use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

    struct Fixture {
        _root: tempfile::TempDir,
        inbox: Inbox,
        memory: PathBuf,
    }

    impl Fixture {
        fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            let environment =
                Environment { longhaul_home: Some(root.path().join("home")), ..Environment::default() };
            let home = Home::resolve(&environment).unwrap();
            let id = Projects::of(&home).identify(root.path(), LockTimeout::default()).unwrap().id;
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
            self.inbox.accept_patches(MemoryKind::Private, &self.targets(), at()).unwrap()
        }

        fn held(&self) -> String {
            fs::read_to_string(&self.memory).unwrap_or_default()
        }
    }

    fn at() -> Timestamp {
        Timestamp::from_millis(1_767_323_045_000)
    }

    const PNPM: &str = "No, use pnpm instead of npm in this repository";
    const TABS: &str = "Don't indent generated fixtures with spaces";

    #[test]
    fn facts_wait_in_one_patch_until_they_are_accepted() {
        let desk = Fixture::new();
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
    fn what_the_older_file_of_private_memory_says_is_known() {
        let desk = Fixture::new();
        fs::create_dir_all(desk.memory.parent().unwrap()).unwrap();
        fs::write(desk.memory.with_file_name("GEMINI.md"), format!("- {PNPM}\n")).unwrap();
        assert_eq!((desk.propose(PNPM), desk.propose(TABS)), (0, 1));
    }

    #[test]
    fn a_fact_in_other_words_comes_with_those_of_the_user() {
        let desk = Fixture::new();
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
        let desk = Fixture::new();
        desk.propose(PNPM);
        let gone =
            desk.inbox.dismiss_patches(MemoryKind::Private, &desk.targets(), Timestamp::from_millis(0));
        assert_eq!((gone.unwrap(), desk.propose(PNPM)), (1, 0));
        assert!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).is_empty());
    }

    #[test]
    fn a_patch_that_does_not_fit_goes_on_waiting() {
        let desk = Fixture::new();
        desk.propose(PNPM);
        fs::write(&desk.memory, "something else\n").unwrap();
        let applied = desk.accept();
        assert!(applied.changed.is_empty() && applied.failed[0].1.contains("already exists"), "{applied:?}");
        assert_eq!(desk.held(), "something else\n");
        assert_eq!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).len(), 1);
    }

    /// The patch that makes a note.
    fn note(desk: &Fixture, name: &str, text: &str) {
        let file = desk.inbox.folder.join("private").join(format!("{name}.patch"));
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        let target = desk.memory.with_file_name(format!("{name}.md"));
        fs::write(file, format!("--- /dev/null\n+++ {}\n@@ -0,0 +1 @@\n+{text}\n", target.display()))
            .unwrap();
    }

    #[test]
    fn a_note_that_nothing_refers_to_gets_a_line_in_the_index() {
        let desk = Fixture::new();
        note(&desk, "test-db", "Port 5433.");
        note(&desk, "other", "See test-db.md.");
        assert_eq!(desk.accept().changed.len(), 3);
        let folder = fs::canonicalize(desk.memory.parent().unwrap()).unwrap();
        let folder = folder.display();
        let expected = format!(
            "# Memory\n\n- More about other: {folder}/other.md\n- More about test db: {folder}/test-db.md\n"
        );
        assert_eq!(desk.held(), expected);
        // One act is taken back as one.
        let undone = desk.inbox.undo_patches().unwrap();
        assert_eq!((undone.patches.len(), undone.restored.len()), (2, 3));
        assert!(!desk.memory.exists() && !desk.memory.with_file_name("other.md").exists());
        assert_eq!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).len(), 2);
    }

    #[test]
    fn an_acceptance_is_taken_back_to_the_byte() {
        let desk = Fixture::new();
        let before = "# Mine\r\n\r\n- a fact\r\n- no end of line";
        fs::create_dir_all(desk.memory.parent().unwrap()).unwrap();
        fs::write(&desk.memory, before).unwrap();
        desk.propose(PNPM);
        let evidence = desk.inbox.patches(MemoryKind::Private, &desk.targets())[0].evidence.clone();
        assert_eq!(evidence[0]["sessions"], 2);
        desk.accept();
        assert!(desk.held().contains(PNPM));
        desk.inbox.undo_patches().unwrap();
        assert_eq!(desk.held(), before);
        let waiting = desk.inbox.patches(MemoryKind::Private, &desk.targets());
        assert_eq!((waiting.len(), &waiting[0].evidence), (1, &evidence));
        assert!(matches!(desk.inbox.undo_patches(), Err(SkillError::NotUndone { .. })), "once is enough");
        // Accepted again, and changed since.
        desk.accept();
        fs::write(&desk.memory, "mine\n").unwrap();
        let error = desk.inbox.undo_patches().unwrap_err().to_string();
        assert!(error.contains("has changed since"), "{error}");
        assert_eq!(desk.held(), "mine\n");
    }

    #[test]
    fn cut_off_at_any_step_everything_is_applied_or_taken_back_in_the_end() {
        for step in 0.. {
            let desk = Fixture::new();
            note(&desk, "one", "1");
            note(&desk, "two", "2");
            *desk.inbox.fuse.left.lock().unwrap() = Some(step);
            let ended = desk.inbox.accept_patches(MemoryKind::Private, &desk.targets(), at());
            *desk.inbox.fuse.left.lock().unwrap() = None;
            desk.accept();
            let files =
                ["MEMORY.md", "one.md", "two.md"].map(|name| desk.memory.with_file_name(name).is_file());
            assert_eq!(files, [true; 3], "step {step}");
            assert!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).is_empty());
            *desk.inbox.fuse.left.lock().unwrap() = Some(step);
            let undone = desk.inbox.undo_patches();
            *desk.inbox.fuse.left.lock().unwrap() = None;
            assert!(
                undone.is_ok() || desk.inbox.undo_patches().is_ok() || !desk.memory.exists(),
                "step {step}"
            );
            assert!(!desk.memory.exists() && !desk.inbox.is_cut_off(), "step {step}");
            assert_eq!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).len(), 2, "step {step}");
            if ended.is_ok() && undone.is_ok() {
                return;
            }
        }
    }

    #[test]
    fn cut_off_between_writing_and_removing_it_is_only_removed() {
        let desk = Fixture::new();
        desk.propose(PNPM);
        *desk.inbox.fuse.left.lock().unwrap() = Some(2);
        assert!(desk.inbox.accept_patches(MemoryKind::Private, &desk.targets(), at()).is_err());
        let held = desk.held();
        assert!(held.contains(PNPM));
        *desk.inbox.fuse.left.lock().unwrap() = None;
        assert_eq!(desk.accept().changed.len(), 1, "it is told that it was");
        assert_eq!(desk.held(), held);
        assert!(desk.inbox.patches(MemoryKind::Private, &desk.targets()).is_empty());
    }
}
