//! Changes to skills: applied to all of their files or to none, also when they are cut off at any step, and taken back.

use super::*;
use crate::Undone;
use crate::inbox::tests::{Desk, check_cut_off};

fn at() -> Timestamp {
    Timestamp::from_millis(1_767_323_045_000)
}

const TIDES: &str =
    "---\nname: tides\ndescription: Reads tide tables.\n---\n1. Open the table.\n2. Read it.\n";
const SCRIPT: &str = "echo one\necho two\n";

impl Desk {
    /// A skill with two files, and a change to both that adds a third.
    fn with_update() -> Self {
        let desk = Self::new();
        desk.put("skills/tides/SKILL.md", TIDES);
        desk.put("skills/tides/scripts/run.sh", SCRIPT);
        desk.propose("tides", &change());
        desk
    }

    fn put(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn propose(&self, name: &str, patch: &str) {
        fs::create_dir_all(&self.inbox.skills).unwrap();
        let patch = patch.replace("ROOT", &self.root.path().canonicalize().unwrap().display().to_string());
        fs::write(self.inbox.skills.join(format!("{name}.patch")), patch).unwrap();
    }

    fn targets(&self) -> PatchTargets {
        PatchTargets::Skills { roots: vec![self.skills()], untrusted: vec![self.root.path().join("work")] }
    }

    fn apply(&self) -> Result<Vec<PathBuf>, SkillError> {
        self.inbox.accept_update("tides", &self.targets(), at())
    }

    fn held(&self) -> [Option<String>; 3] {
        ["SKILL.md", "scripts/run.sh", "references/ports.md"]
            .map(|name| fs::read_to_string(self.skills().join("tides").join(name)).ok())
    }

    fn updates(&self) -> Vec<String> {
        self.inbox.updates(&self.targets()).into_iter().map(|update| update.name).collect()
    }

    fn is_old(&self) -> bool {
        self.held() == [Some(TIDES.to_string()), Some(SCRIPT.to_string()), None]
    }

    fn is_new(&self) -> bool {
        self.held()
            == [
                Some(TIDES.replace("Read it", "Read it aloud")),
                Some(SCRIPT.replace("two", "three")),
                Some("5433\n".to_string()),
            ]
    }
}

fn change() -> String {
    let file = "ROOT/skills/tides";
    format!(
        "--- {file}/SKILL.md\n+++ {file}/SKILL.md\n@@ -5,2 +5,2 @@\n 1. Open the table.\n-2. Read it.\n+2. Read it aloud.\n\
         --- {file}/scripts/run.sh\n+++ {file}/scripts/run.sh\n@@ -2 +2 @@\n-echo two\n+echo three\n\
         --- /dev/null\n+++ {file}/references/ports.md\n@@ -0,0 +1 @@\n+5433\n"
    )
}

#[test]
fn a_change_waits_is_applied_and_taken_back() {
    let desk = Desk::with_update();
    let waiting = desk.inbox.update("tides", &desk.targets()).unwrap();
    let diff = waiting.plan.unwrap()[0].diff();
    assert!(diff.contains("-2. Read it.\n+2. Read it aloud.\n"), "{diff}");
    assert_eq!(desk.inbox.update("tides.patch", &desk.targets()).unwrap().name, "tides");
    assert_eq!(desk.apply().unwrap().len(), 3);
    assert!(desk.is_new() && desk.updates().is_empty());
    let Undone::Update(undone) = desk.inbox.undo().unwrap() else { panic!("it was a change") };
    assert_eq!((undone.patches, undone.restored.len()), (vec!["tides.patch".to_string()], 3));
    assert!(desk.is_old());
    assert_eq!(desk.updates(), ["tides"]);
    assert!(matches!(desk.inbox.undo(), Err(SkillError::NotUndone { .. })));
}

#[test]
fn what_was_changed_since_is_not_taken_back() {
    let desk = Desk::with_update();
    desk.apply().unwrap();
    desk.put("skills/tides/scripts/run.sh", "mine\n");
    let error = desk.inbox.undo().unwrap_err().to_string();
    assert!(error.contains("run.sh has changed since"), "{error}");
    assert_eq!(
        desk.held()[0],
        Some(TIDES.replace("Read it", "Read it aloud")),
        "the others stay as they are"
    );
}

#[test]
fn a_dismissed_change_is_known() {
    let desk = Desk::with_update();
    desk.inbox.dismiss_update("tides", at()).unwrap();
    assert!(desk.updates().is_empty() && desk.is_old());
    assert!(desk.inbox.knows(&["2. Read it aloud.".to_string()]));
}

#[track_caller]
fn check_refused(patch: &str, reason: &str) {
    let desk = Desk::with_update();
    desk.put("skills/SKILL.md", TIDES);
    desk.put("work/winds/SKILL.md", TIDES);
    desk.put("skills/loose/notes.md", "a\n");
    desk.propose("tides", patch);
    let error = desk.apply().unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
    assert!(desk.is_old());
    assert_eq!(desk.updates(), ["tides"], "it goes on waiting");
}

#[test]
fn what_cannot_be_applied_goes_on_waiting() {
    check_refused(&change().replace("-2. Read it.", "-2. Sing it."), "does not match the current contents");
    check_refused(&change().replace("skills/tides", "other/tides"), "it must not write to");
    check_refused(
        &change().replace("skills/tides/scripts/run.sh", "skills/SKILL.md"),
        "it must not write to",
    );
    check_refused(
        &change().replace("skills/tides/references/ports.md", "skills/loose/x.md"),
        "it must not write to",
    );
    check_refused(&change().replace("skills/tides", "work/winds"), "an untrusted workspace");
    let renamed = "--- ROOT/skills/tides/SKILL.md\n+++ ROOT/skills/tides/SKILL.md\n@@ -2 +2 @@\n-name: tides\n+name: waves\n";
    check_refused(renamed, "would be renamed to waves");
    check_refused(&renamed.replace("+name: waves", "+nothing"), "would no longer be a valid skill");
    check_refused("nothing", "it names no file");
}

#[test]
fn names_that_lead_elsewhere_are_unknown() {
    let desk = Desk::with_update();
    for name in ["", ".patch", "../skills/tides", "a/b", "a\\b", "none"] {
        let found = desk.inbox.update(name, &desk.targets());
        assert!(matches!(found, Err(SkillError::NothingWaits { .. })), "{name:?}");
        assert!(desk.inbox.dismiss_update(name, at()).is_err());
    }
}

#[test]
fn the_last_acceptance_is_taken_back_whatever_it_was() {
    let desk = Desk::with_update();
    desk.put("inbox/waves/SKILL.md", &TIDES.replace("tides", "waves"));
    fs::rename(desk.root.path().join("inbox/waves"), desk.inbox.skills.join("waves")).unwrap();
    desk.apply().unwrap();
    desk.inbox.accept("waves", &desk.skills(), at()).unwrap();
    assert!(matches!(desk.inbox.undo(), Ok(Undone::Skill(_))));
    assert!(matches!(desk.inbox.undo(), Ok(Undone::Update(_))));
    assert!(desk.is_old());
}

#[test]
fn cut_off_before_any_write_it_is_all_or_nothing_in_the_end() {
    check_cut_off(
        Desk::with_update,
        |desk| desk.apply().map(drop),
        |_| true,
        |desk| desk.is_new() && desk.updates().is_empty() && !desk.inbox.is_cut_off(),
    );
    let applied = || {
        let desk = Desk::with_update();
        desk.apply().unwrap();
        desk
    };
    check_cut_off(
        applied,
        |desk| desk.inbox.undo().map(drop),
        |_| true,
        |desk| desk.is_old() && desk.updates() == ["tides"] && !desk.inbox.is_cut_off(),
    );
}

#[test]
fn whatever_comes_next_ends_what_was_cut_off() {
    for step in 0.. {
        let desk = Desk::with_update();
        desk.cut_off(Some(step));
        let ended = desk.apply();
        desk.cut_off(None);
        let was_begun = desk.inbox.is_cut_off();
        assert!(was_begun || desk.is_old() || ended.is_ok(), "cut off before step {step}");
        // It is dismissed, or was applied already.
        let dismissed = desk.inbox.dismiss_update("tides", at()).is_ok();
        assert!(if dismissed { desk.is_old() } else { desk.is_new() }, "cut off before step {step}");
        assert!(!desk.inbox.is_cut_off());
        if ended.is_ok() {
            return;
        }
    }
}

#[test]
fn cut_off_and_changed_by_somebody_else_the_others_are_as_they_were() {
    for step in 1..5 {
        let desk = Desk::with_update();
        desk.cut_off(Some(step));
        assert!(desk.apply().is_err());
        desk.cut_off(None);
        desk.put("skills/tides/scripts/run.sh", "mine\n");
        let error = desk.apply().unwrap_err().to_string();
        assert!(error.contains("does not match the current contents"), "{error}");
        assert_eq!(desk.held(), [Some(TIDES.to_string()), Some("mine\n".to_string()), None], "step {step}");
        assert_eq!(desk.updates(), ["tides"]);
    }
}

#[test]
fn a_patch_that_was_changed_by_hand_is_put_right() {
    let desk = Desk::with_update();
    let file = desk.inbox.skills.join("tides.patch");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("+2. Read it aloud.\n", "+2. Read it aloud.\n+3. Again.\n")).unwrap();
    assert!(desk.apply().is_err());
    desk.inbox.recount(&file).unwrap();
    desk.apply().unwrap();
    assert_eq!(desk.held()[0], Some(TIDES.replace("Read it.", "Read it aloud.\n3. Again.")));
}
