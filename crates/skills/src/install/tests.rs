//! Tests of installing, linking and removing.

use super::*;
use crate::{SkillFolder, SkillSettings, load_skills};

const TIDES: &str = "---\nname: tides\ndescription: Reads tide tables.\n---\nOpen the table.";

/// A folder to install from, `from`, and one to install to, `skills`.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn with(self, path: &str, text: &str) -> Self {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn plan(&self) -> Result<Vec<InstallPlan>, SkillError> {
        plan_install(&self.path("from"), &self.path("skills"))
    }

    #[track_caller]
    fn check_refused(&self, sentence: &str) {
        let error = self.plan().unwrap_err();
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(!self.path("skills/tides/SKILL.md").exists());
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    fn places(&self) -> SkillPlaces {
        let folder = SkillFolder { tier: SkillTier::User, path: self.path("skills") };
        SkillPlaces { folders: vec![folder], ..SkillPlaces::default() }
    }
}

#[test]
fn a_skill_is_planned_copied_and_removed() {
    let desk = Fixture::new()
        .with("from/SKILL.md", TIDES)
        .with("from/scripts/run.sh", "echo hi")
        .with("from/.git/config", "")
        .with("from/node_modules/x", "");
    let plans = desk.plan().unwrap();
    let paths: Vec<String> = plans[0].files.iter().map(|file| file.path.display().to_string()).collect();
    assert_eq!(paths, ["SKILL.md", "scripts/run.sh"]);
    assert!(!desk.path("skills").exists(), "a plan changes nothing");

    run_install(&plans[0]).unwrap();
    assert_eq!(desk.names("skills"), ["tides"]);
    assert_eq!(fs::read_to_string(desk.path("skills/tides/scripts/run.sh")).unwrap(), "echo hi");
    desk.check_exists();

    let skills = load_skills(&desk.places(), &SkillSettings::default());
    let gone = run_uninstall(skills.get("tides").unwrap(), &desk.places()).unwrap();
    assert_eq!((gone, desk.names("skills")), (desk.path("skills/tides"), Vec::new()));
}

impl Fixture {
    #[track_caller]
    fn check_exists(&self) {
        assert!(matches!(self.plan(), Err(SkillError::Exists { .. })));
    }
}

#[test]
fn several_skills_of_a_folder_are_planned() {
    let other = TIDES.replace("tides", "winds");
    let desk =
        Fixture::new().with("from/a/SKILL.md", TIDES).with("from/b/SKILL.md", &other).with("from/c/x", "");
    let names: Vec<String> = desk.plan().unwrap().iter().map(|plan| plan.name.to_string()).collect();
    assert_eq!(names, ["tides", "winds"]);
    let twins = Fixture::new().with("from/a/SKILL.md", TIDES).with("from/b/SKILL.md", TIDES);
    twins.check_exists();
}

#[test]
fn a_name_is_taken_by_the_folder_or_by_the_skill() {
    Fixture::new().with("from/SKILL.md", TIDES).with("skills/tides/other", "").check_exists();
    Fixture::new()
        .with("from/SKILL.md", TIDES)
        .with("skills/sea/SKILL.md", &TIDES.replace("tides", "Tides"))
        .check_exists();
}

#[test]
fn only_folders_with_skills_are_installed() {
    let refused = |desk: &Fixture, path: &str| {
        plan_install(&desk.path(path), &desk.path("skills")).unwrap_err().to_string()
    };
    let desk =
        Fixture::new().with("from/x", "").with("a.tgz", "").with("a.txt", "").with("bad/SKILL.md", "# x");
    assert!(refused(&desk, "from").contains("no SKILL.md in it"));
    assert!(refused(&desk, "a.tgz").contains("only .skill and .zip archives"));
    assert!(refused(&desk, "a.txt").contains("not a folder with a SKILL.md"));
    assert!(refused(&desk, "bad").ends_with("is not a valid skill"));
    assert!(refused(&desk, "missing").starts_with("could not find"));
}

#[test]
fn names_cannot_lead_out() {
    let desk = Fixture::new().with("from/SKILL.md", "---\nname: a/../../evil\ndescription: d\n---\n");
    let plans = desk.plan().unwrap();
    assert_eq!(plans[0].target, desk.path("skills").join("a-..-..-evil"));
}

#[test]
fn secrets_are_pointed_out() {
    let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    let desk = Fixture::new().with("from/SKILL.md", TIDES).with("from/run.sh", &format!("T={secret}"));
    let plans = desk.plan().unwrap();
    assert_eq!(plans[0].secrets, [SecretInSkill { path: "run.sh".into(), kind: SecretKind::GitHub }]);
}

#[cfg(unix)]
mod links {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    #[test]
    fn links_that_lead_out_are_refused() {
        let desk = Fixture::new().with("from/SKILL.md", TIDES).with("secret", "s").with("from/a/real", "r");
        symlink("../secret", desk.path("from/leak")).unwrap();
        desk.check_refused("link to a file outside the skill");
        fs::remove_file(desk.path("from/leak")).unwrap();
        symlink("/", desk.path("from/root")).unwrap();
        desk.check_refused("link to a file outside the skill");
        fs::remove_file(desk.path("from/root")).unwrap();
        symlink("nowhere", desk.path("from/lost")).unwrap();
        desk.check_refused("broken link");
        fs::remove_file(desk.path("from/lost")).unwrap();
        symlink("a", desk.path("from/loop")).unwrap();
        desk.check_refused("link to a folder");
        fs::remove_file(desk.path("from/loop")).unwrap();
        symlink("a/real", desk.path("from/near")).unwrap();
        run_install(&desk.plan().unwrap()[0]).unwrap();
        let copied = desk.path("skills/tides/near");
        assert!(copied.symlink_metadata().unwrap().is_file());
        assert_eq!(fs::read_to_string(copied).unwrap(), "r");
    }

    #[test]
    fn a_file_that_became_a_link_is_not_copied_and_nothing_is_left() {
        let desk = Fixture::new().with("from/SKILL.md", TIDES).with("from/z", "").with("secret", "s");
        let plans = desk.plan().unwrap();
        fs::remove_file(desk.path("from/z")).unwrap();
        symlink("../secret", desk.path("from/z")).unwrap();
        assert!(matches!(run_install(&plans[0]), Err(SkillError::Refused { .. })));
        assert!(desk.names("skills").is_empty());
    }

    #[test]
    fn modes_are_private_and_scripts_can_run() {
        let desk = Fixture::new().with("from/SKILL.md", TIDES).with("from/run.sh", "");
        fs::set_permissions(desk.path("from/run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        run_install(&desk.plan().unwrap()[0]).unwrap();
        let mode = |path: &str| fs::metadata(desk.path(path)).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode("skills/tides/run.sh"), mode("skills/tides/SKILL.md"), mode("skills/tides")),
            (0o700, 0o600, 0o700)
        );
    }

    #[test]
    fn a_link_is_made_and_removed_and_its_folder_stays() {
        let desk = Fixture::new().with("from/SKILL.md", TIDES);
        let plan = plan_link(&desk.path("from"), &desk.path("skills")).unwrap();
        run_link(&plan).unwrap();
        assert!(run_link(&plan).is_err() && plan_link(&desk.path("from"), &desk.path("skills")).is_err());
        let skills = load_skills(&desk.places(), &SkillSettings::default());
        run_uninstall(skills.get("tides").unwrap(), &desk.places()).unwrap();
        assert!(desk.names("skills").is_empty() && desk.path("from/SKILL.md").is_file());
    }
}

#[test]
fn a_skill_among_others_is_not_removed_with_them() {
    let desk = Fixture::new()
        .with("skills/SKILL.md", TIDES)
        .with("skills/other/SKILL.md", &TIDES.replace("tides", "o"));
    let skills = load_skills(&desk.places(), &SkillSettings::default());
    let refused = run_uninstall(skills.get("tides").unwrap(), &desk.places());
    assert!(matches!(refused, Err(SkillError::Refused { .. })));
    assert_eq!(desk.names("skills"), ["SKILL.md", "other"]);
}

#[test]
fn half_a_copy_of_a_killed_process_blocks_nothing() {
    let stray = format!("{}0123456789abcdef", longhaul_workspace::STAGED_PREFIX);
    // Also the copies of versions that named them otherwise.
    for name in [stray.as_str(), ".longhaul-Ab3dE6"] {
        let desk = Fixture::new().with("from/SKILL.md", TIDES).with("from/a.txt", "a");
        let desk = desk.with(&format!("skills/{name}/SKILL.md"), TIDES);
        let plans = desk.plan().unwrap();
        run_install(&plans[0]).unwrap();
        assert!(desk.names("skills").contains(&"tides".to_string()));
        assert_eq!(desk.path("skills").join(name).exists(), name != stray, "{name}");
        // A skill that was on its way out does not come back, nor does it stand in the way.
        let skills = load_skills(&desk.places(), &SkillSettings::default());
        let desk = desk.with(&format!("skills/{stray}/skill/SKILL.md"), TIDES);
        run_uninstall(skills.get("tides").unwrap(), &desk.places()).unwrap();
        assert!(!desk.names("skills").contains(&stray) && desk.plan().is_ok());
    }
}

#[test]
fn a_second_try_installs_what_the_first_did_not_reach() {
    let winds = TIDES.replace("tides", "winds");
    let desk = Fixture::new().with("from/tides/SKILL.md", TIDES).with("from/winds/SKILL.md", &winds);
    run_install(&desk.plan().unwrap()[0]).unwrap();
    let plans = desk.plan().unwrap();
    assert_eq!(plans.iter().map(|plan| plan.name.as_str()).collect::<Vec<_>>(), ["winds"]);
    run_install(&plans[0]).unwrap();
    assert!(matches!(desk.plan(), Err(SkillError::Exists { .. })), "all are there");
    // One that was changed since is not taken for ours.
    fs::remove_dir_all(desk.path("skills/winds")).unwrap();
    let desk = desk.with("skills/tides/SKILL.md", &TIDES.replace("Open", "Close"));
    assert!(matches!(desk.plan(), Err(SkillError::Exists { .. })));
}
