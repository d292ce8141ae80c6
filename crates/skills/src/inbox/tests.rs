//! Tests of the inbox, also of acts that are cut off at any of their steps.

use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

use super::acceptance::copy_skill;
use super::*;
use crate::mining::trial::session;
use crate::{mine, write_drafts};

pub(in crate::inbox) struct Desk {
    pub(in crate::inbox) root: tempfile::TempDir,
    pub(in crate::inbox) inbox: Inbox,
}

const AT: i64 = 1_767_323_045_000;

impl Desk {
    pub(in crate::inbox) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let environment =
            Environment { longhaul_home: Some(root.path().join("home")), ..Environment::default() };
        let home = Home::resolve(&environment).unwrap();
        let work = root.path().join("work");
        fs::create_dir(&work).unwrap();
        let id = Projects::of(&home).identify(&work, LockTimeout::default()).unwrap().id;
        let inbox = Inbox::of(&home.project(&id));
        Self { root, inbox }
    }

    fn with_draft() -> Self {
        let desk = Self::new();
        assert_eq!(desk.add().unwrap(), "bump-test");
        desk
    }

    fn draft() -> SkillDraft {
        let lines = ["> release it", "$ ./bump.sh --minor", "$ make test"];
        write_drafts(&mine(&[session("a", &lines), session("b", &lines)]), 2, |_| false).remove(0)
    }

    fn add(&self) -> Result<String, SkillError> {
        self.inbox.add(&Self::draft(), Timestamp::from_millis(AT))
    }

    fn accept(&self) -> Result<Accepted, SkillError> {
        self.inbox.accept("bump-test", &self.skills(), Timestamp::from_millis(AT))
    }

    pub(in crate::inbox) fn skills(&self) -> PathBuf {
        self.root.path().join("skills")
    }

    fn waiting(&self) -> Vec<String> {
        self.inbox.list().into_iter().map(|waiting| waiting.name).collect()
    }

    fn installed(&self) -> bool {
        self.skills().join("bump-test/SKILL.md").is_file()
    }

    /// The next act is cut off before its step of this number.
    pub(in crate::inbox) fn cut_off(&self, step: Option<u32>) {
        *self.inbox.fuse.left.lock().unwrap() = step;
    }
}

#[test]
fn a_draft_waits_with_its_evidence() {
    let desk = Desk::with_draft();
    let waiting = desk.inbox.get("bump-test").unwrap();
    assert_eq!(waiting.at, Some(Timestamp::from_millis(AT)));
    assert_eq!(
        waiting.evidence[0]["seen"],
        json!([{"session": "a", "marks": ["m2", "m3"]}, {"session": "b", "marks": ["m2", "m3"]}])
    );
    assert!(desk.inbox.knows(&["make test".to_string()]) && !desk.inbox.knows(&["make other".to_string()]));
    // Another of the same name does not take its place.
    assert_eq!(desk.add().unwrap(), "bump-test-2");
}

#[test]
fn a_skill_is_accepted_and_taken_back() {
    let desk = Desk::with_draft();
    let accepted = desk.accept().unwrap();
    assert_eq!(accepted.target, desk.skills().join("bump-test"));
    assert!(desk.waiting().is_empty() && desk.installed());
    fs::write(accepted.target.join("notes.txt"), "mine").unwrap();
    desk.inbox.undo().unwrap();
    assert_eq!(desk.waiting(), ["bump-test"]);
    let waiting = desk.inbox.get("bump-test").unwrap();
    assert!(!desk.installed() && waiting.folder.join("notes.txt").is_file() && waiting.evidence.len() == 1);
    assert!(desk.inbox.undo().is_err(), "once is enough");
}

#[test]
fn a_dismissed_skill_does_not_come_again() {
    let desk = Desk::with_draft();
    desk.inbox.dismiss("bump-test", Timestamp::from_millis(AT)).unwrap();
    assert!(desk.waiting().is_empty() && desk.inbox.knows(&["make test".to_string()]));
    assert!(matches!(desk.accept(), Err(SkillError::NothingWaits { .. })));
}

#[test]
fn names_that_lead_elsewhere_are_unknown() {
    let desk = Desk::with_draft();
    for name in ["", ".", "..", "../skills/bump-test", "a/b", "a\\b", "none", ".longhaul-x"] {
        assert!(matches!(desk.inbox.get(name), Err(SkillError::NothingWaits { .. })), "{name:?}");
        assert!(desk.inbox.dismiss(name, Timestamp::from_millis(AT)).is_err());
    }
}

#[test]
fn what_is_there_already_is_not_replaced() {
    let desk = Desk::with_draft();
    fs::create_dir_all(desk.skills().join("other")).unwrap();
    fs::write(desk.skills().join("other/SKILL.md"), "---\nname: Bump-Test\ndescription: d\n---\n").unwrap();
    assert!(matches!(desk.accept(), Err(SkillError::Exists { .. })));
    assert_eq!(desk.waiting(), ["bump-test"]);
    // Nor is a copy that the user made taken for one of ours, which `undo` would remove.
    fs::remove_dir_all(desk.skills()).unwrap();
    let source = desk.inbox.skills.join("bump-test");
    copy_skill(&source, &desk.skills().join("bump-test")).unwrap();
    assert!(matches!(desk.accept(), Err(SkillError::Exists { .. })));
    assert!(matches!(desk.inbox.undo(), Err(SkillError::NotUndone { .. })));
}

#[test]
fn what_is_no_skill_is_not_accepted() {
    let desk = Desk::with_draft();
    fs::write(desk.inbox.skills.join("bump-test/SKILL.md"), "nothing").unwrap();
    let error = desk.accept().unwrap_err();
    assert!(matches!(error, SkillError::NotAcceptable { .. }), "{error}");
    let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    let text = format!("---\nname: a\ndescription: b\n---\n{secret}");
    fs::write(desk.inbox.skills.join("bump-test/SKILL.md"), text).unwrap();
    assert!(desk.accept().unwrap_err().to_string().contains("SKILL.md contains a secret"));
}

/// Cuts an act off before each of its steps; whatever is there then holds `consistent`, and a second try ends well.
#[track_caller]
pub(in crate::inbox) fn check_cut_off(
    prepare: impl Fn() -> Desk,
    act: impl Fn(&Desk) -> Result<(), SkillError>,
    consistent: impl Fn(&Desk) -> bool,
    done: impl Fn(&Desk) -> bool,
) {
    for step in 0.. {
        let desk = prepare();
        desk.cut_off(Some(step));
        let ended = act(&desk);
        assert!(consistent(&desk), "cut off before step {step}");
        desk.cut_off(None);
        if ended.is_ok() {
            assert!(step > 0 && done(&desk));
            return;
        }
        // What was begun may be done already, but for what means nothing.
        let again = act(&desk);
        assert!(
            again.is_ok()
                || matches!(again, Err(SkillError::NothingWaits { .. } | SkillError::NotUndone { .. })),
            "{again:?}"
        );
        assert!(done(&desk), "a second try after step {step}");
    }
}

#[test]
fn cut_off_at_any_step_nothing_is_half_done() {
    let is_whole = |desk: &Desk| desk.inbox.list().iter().all(|waiting| waiting.manifest.is_ok());
    check_cut_off(Desk::new, |desk| desk.add().map(drop), is_whole, |desk| desk.waiting() == ["bump-test"]);
    // A skill is never lost: it waits, or is installed, or both for a moment.
    check_cut_off(
        Desk::with_draft,
        |desk| desk.accept().map(drop),
        |desk| is_whole(desk) && (desk.installed() || !desk.waiting().is_empty()),
        |desk| desk.installed() && desk.waiting().is_empty(),
    );
    check_cut_off(
        Desk::with_draft,
        |desk| desk.inbox.dismiss("bump-test", Timestamp::from_millis(AT)),
        is_whole,
        |desk| desk.waiting().is_empty(),
    );
    let accepted = || {
        let desk = Desk::with_draft();
        desk.accept().unwrap();
        desk
    };
    check_cut_off(
        accepted,
        |desk| desk.inbox.undo().map(drop),
        |desk| is_whole(desk) && (desk.installed() || !desk.waiting().is_empty()),
        |desk| !desk.installed() && desk.waiting() == ["bump-test"],
    );
}

/// Leaves what a process that was killed while it copied a skill leaves: a temporary folder with some of the files.
pub(in crate::inbox) fn leave_half_a_copy(beside: &Path, skill: &Path) -> PathBuf {
    let folder = beside.join(format!("{}0123456789abcdef", longhaul_workspace::STAGED_PREFIX));
    fs::create_dir_all(&folder).unwrap();
    fs::copy(skill.join(SKILL_FILE), folder.join(SKILL_FILE)).unwrap();
    folder
}

#[test]
fn half_a_copy_blocks_nothing_and_is_removed() {
    let desk = Desk::with_draft();
    let waiting = desk.inbox.skills.join("bump-test");
    let strays =
        [leave_half_a_copy(&desk.skills(), &waiting), leave_half_a_copy(&desk.inbox.skills, &waiting)];
    assert_eq!(desk.waiting(), ["bump-test"], "half a copy is no skill that waits");
    desk.accept().unwrap();
    assert!(desk.installed() && desk.waiting().is_empty());
    strays.iter().for_each(|stray| assert!(!stray.exists(), "{}", stray.display()));
}

/// Whatever an act was cut off at, the next look at the inbox ends or undoes it, whoever looks.
#[track_caller]
fn check_resumed(
    prepare: impl Fn() -> Desk,
    act: impl Fn(&Desk) -> Result<(), SkillError>,
    settled: impl Fn(&Desk) -> bool,
) {
    for step in 0.. {
        let desk = prepare();
        desk.cut_off(Some(step));
        let ended = act(&desk);
        desk.cut_off(None);
        desk.inbox.resume().unwrap();
        assert!(!desk.inbox.is_cut_off() && settled(&desk), "cut off before step {step}");
        assert!(!desk.inbox.resume().unwrap(), "once is enough");
        if ended.is_ok() {
            assert!(step > 2);
            return;
        }
    }
}

#[test]
fn the_next_run_ends_or_undoes_what_was_cut_off() {
    let accepted = || {
        let desk = Desk::with_draft();
        desk.accept().unwrap();
        desk
    };
    let is_one_or_the_other = |desk: &Desk| desk.installed() != (desk.waiting() == ["bump-test"]);
    check_resumed(Desk::with_draft, |desk| desk.accept().map(drop), is_one_or_the_other);
    check_resumed(accepted, |desk| desk.inbox.undo().map(drop), is_one_or_the_other);
    let dismiss = |desk: &Desk| desk.inbox.dismiss("bump-test", Timestamp::from_millis(AT));
    check_resumed(Desk::with_draft, dismiss, |desk| {
        let is_known = desk.inbox.knows(&["make test".to_string()]);
        !desk.installed() && is_known
    });
}

#[test]
fn what_somebody_else_put_there_meanwhile_stays() {
    let desk = Desk::with_draft();
    // Cut off after it was noted, before it was copied.
    desk.cut_off(Some(1));
    desk.accept().unwrap_err();
    desk.cut_off(None);
    let own = desk.skills().join("bump-test");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join(SKILL_FILE), "---\nname: bump-test\ndescription: mine\n---\n").unwrap();
    desk.inbox.resume().unwrap();
    assert_eq!(desk.waiting(), ["bump-test"]);
    assert!(matches!(desk.inbox.undo(), Err(SkillError::NotUndone { .. })), "it is not ours to remove");
    assert!(matches!(desk.accept(), Err(SkillError::Exists { .. })));
    assert!(fs::read_to_string(own.join(SKILL_FILE)).unwrap().contains("mine"));
}
