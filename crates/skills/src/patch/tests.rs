//! Tests of patches: what they may change, and what becomes of it.

use std::fs;

use super::*;
use proptest::prelude::*;

struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self(root)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn plan(&self, patch: &str) -> Result<Vec<PlannedWrite>, SkillError> {
        let patch = patch.replace("ROOT", &self.0.path().display().to_string());
        plan_patch(&parse_patch(&patch)?, &PatchTargets::NotesIn(self.path("memory")))
    }

    #[track_caller]
    fn check_refused(&self, patch: &str, reason: &str) {
        let error = self.plan(patch).unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}

const NOTES: &str = "# Notes\n\n- one\n- two\n";

const SKILL: &str = "---\nname: a\n- one\n- two\ndescription: b\n---\n";

fn change(name: &str) -> String {
    format!("--- ROOT/{name}\n+++ ROOT/{name}\n@@ -3,2 +3,3 @@\n - one\n+- more\n - two\n")
}

#[test]
fn a_change_is_planned_and_written() {
    let desk = Fixture::new(&[("memory/MEMORY.md", NOTES)]);
    let writes = desk.plan(&change("memory/MEMORY.md")).unwrap();
    assert_eq!(writes[0].after, "# Notes\n\n- one\n- more\n- two\n");
    assert_eq!(fs::read_to_string(desk.path("memory/MEMORY.md")).unwrap(), NOTES, "a plan changes nothing");
    fs::write(desk.path("memory/MEMORY.md"), &writes[0].after).unwrap();
    // A second time there is nothing left to do.
    assert_eq!(desk.plan(&change("memory/MEMORY.md")).unwrap(), []);
}

#[test]
fn lines_that_moved_are_found_and_ends_are_kept() {
    let desk = Fixture::new(&[("memory/MEMORY.md", "intro\r\nmore\r\n# Notes\r\n\r\n- one\r\n- two\r\n")]);
    let writes = desk.plan(&change("memory/MEMORY.md")).unwrap();
    assert_eq!(writes[0].after, "intro\r\nmore\r\n# Notes\r\n\r\n- one\r\n- more\r\n- two\r\n");
}

#[test]
fn a_note_is_made() {
    let desk = Fixture::new(&[("memory/MEMORY.md", NOTES)]);
    let made = "--- /dev/null\n+++ ROOT/memory/db.md\n@@ -0,0 +1,2 @@\n+# Database\n+Port 5433.\n";
    let writes = desk.plan(made).unwrap();
    assert_eq!((&writes[0].before, writes[0].after.as_str()), (&None, "# Database\nPort 5433.\n"));
    fs::write(desk.path("memory/db.md"), &writes[0].after).unwrap();
    assert_eq!(desk.plan(made).unwrap(), [], "it is there as it should be");
    desk.check_refused(&made.replace("5433", "5434"), "already exists");
}

#[test]
fn blocks_of_one_file_add_up() {
    let desk = Fixture::new(&[("memory/MEMORY.md", NOTES)]);
    let second =
        "--- ROOT/memory/MEMORY.md\n+++ ROOT/memory/MEMORY.md\n@@ -4,1 +4,2 @@\n - more\n+- and more\n";
    let writes = desk.plan(&format!("{}{second}", change("memory/MEMORY.md"))).unwrap();
    assert_eq!(
        (writes.len(), writes[0].after.as_str()),
        (1, "# Notes\n\n- one\n- more\n- and more\n- two\n")
    );
}

#[test]
fn only_notes_are_written() {
    let desk = Fixture::new(&[
        ("memory/MEMORY.md", NOTES),
        ("memory/deep/a.md", NOTES),
        ("other.md", NOTES),
        ("memory/.hidden.md", NOTES),
    ]);
    for name in ["memory/deep/a.md", "other.md", "memory/.hidden.md", "memory/../other.md", "memory/a.txt"] {
        desk.check_refused(&change(name), "it must not write to");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("../other.md", desk.path("memory/link.md")).unwrap();
        desk.check_refused(&change("memory/link.md"), "it must not write to");
        std::os::unix::fs::symlink("../new.md", desk.path("memory/lost.md")).unwrap();
        desk.check_refused(&change("memory/lost.md"), "it must not write to");
    }
}

#[test]
fn each_kind_has_its_places() {
    let desk =
        Fixture::new(&[("skills/a/SKILL.md", SKILL), ("skills/SKILL.md", NOTES), ("home/GEMINI.md", NOTES)]);
    let check = |name: &str, targets: &PatchTargets| {
        let patch = change(name).replace("ROOT", &desk.0.path().display().to_string());
        plan_patch(&parse_patch(&patch).unwrap(), targets).is_ok()
    };
    let skills = PatchTargets::Skills { roots: vec![desk.path("skills")], untrusted: Vec::new() };
    assert!(
        check("skills/a/SKILL.md", &skills)
            && !check("skills/SKILL.md", &skills)
            && !check("home/GEMINI.md", &skills)
    );
    let global = PatchTargets::Only(desk.path("home/GEMINI.md"));
    assert!(check("home/GEMINI.md", &global) && !check("skills/SKILL.md", &global));
}

#[test]
fn what_does_not_fit_is_refused() {
    let desk = Fixture::new(&[("memory/MEMORY.md", "# Notes\n- three\n")]);
    desk.check_refused(&change("memory/MEMORY.md"), "does not match the current contents");
    desk.check_refused(&change("memory/none.md"), "does not exist");
    let secret = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    desk.check_refused(
        &format!("--- /dev/null\n+++ ROOT/memory/k.md\n@@ -0,0 +1 @@\n+{secret}\n"),
        "a secret",
    );
}

#[track_caller]
fn check_broken(text: &str, reason: &str) {
    let error = parse_patch(text).unwrap_err().to_string();
    assert!(error.contains(reason), "{error}");
}

#[test]
fn broken_patches_say_what_is_wrong() {
    check_broken("", "it names no file");
    check_broken("--- /a\n", "is not followed by");
    check_broken("--- /a\n+++ /b\n", "differ");
    check_broken("--- a.md\n+++ a.md\n@@ -1 +1 @@\n-a\n+b\n", "not an absolute path");
    check_broken("--- /a\n+++ /a\n", "no changes in /a");
    check_broken("@@ -1 +1 @@\n-a\n+b\n", "precedes the first file");
    check_broken("--- /a\n+++ /a\n@@ -1,2 +1 @@\n-a\n", "truncated");
    check_broken("--- /a\n+++ /a\n@@ -x +1 @@\n", "malformed hunk header");
    check_broken("--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n-b\n+c\n", "does not match the line counts");
    check_broken("--- /a\n+++ /a\n@@ -1 +1 @@\n-a\n+b\n+c\n", "does not match the line counts");
    let prefixed = parse_patch("--- a/x/y.md\n+++ b/x/y.md\n@@ -1 +1 @@\n-a\n+b\n").unwrap();
    assert_eq!((prefixed.files[0].target.as_path(), prefixed.warnings.len()), (Path::new("/x/y.md"), 2));
}

#[test]
fn numbers_of_lines_are_put_right() {
    let wrong =
        "--- /a\n+++ /a\n@@ -3,9 +3 @@ fn x\n - one\n+- more\n+- and more\n\n--- two\n@@ -9 +9 @@\n-x\n+y\n";
    let right =
        "--- /a\n+++ /a\n@@ -3,3 +3,4 @@\n - one\n+- more\n+- and more\n\n--- two\n@@ -9,1 +9,1 @@\n-x\n+y\n";
    assert_eq!(recount(wrong), right);
    assert_eq!(recount(right), right);
}

proptest! {
    #[test]
    fn no_text_panics(text in "(--- |\\+\\+\\+ |/a\n|@@ -[0-9]{1,3}(,[0-9])? \\+1,2 @@\n|[ +-]x\n|\n|é\n){0,12}") {
        if let Ok(patch) = parse_patch(&text) {
            for file in &patch.files {
                let _ = apply(&["x", "x", ""], &file.hunks, "x\nx\n\n");
            }
        }
    }
}

#[track_caller]
fn check_whole(before: &str, after: &str) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let file = root.join("note.md");
    fs::write(&file, before).unwrap();
    let patch = whole_file_patch(&file, before, after).expect("something changes");
    let plan = plan_patch(&parse_patch(&patch).unwrap(), &PatchTargets::NotesIn(root)).unwrap();
    assert_eq!(plan[0].after, after, "{patch}");
}

#[test]
fn a_text_becomes_another_by_one_hunk() {
    check_whole("a\nb\nc\nd\ne\nf\ng\nh\ni\n", "a\nb\nc\nd\nx\ny\nf\ng\nh\ni\n");
    check_whole("a\n", "b\n");
    check_whole("a\n", "a\nb\n");
    check_whole("a\nb\n", "b\n");
    check_whole("a\na\na\n", "a\na\n");
    check_whole("", "a\n");
    assert_eq!(whole_file_patch(Path::new("/x"), "a\n", "a\n"), None);
}

proptest::proptest! {
    #[test]
    fn any_text_becomes_any_other(before in "([abc]{0,2}\n){0,9}", after in "([abc]{0,2}\n){1,9}") {
        if before != after {
            check_whole(&before, &after);
        }
    }
}
