use std::fs;

use longhaul_conversation::CallId;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::{PermittedEffects, Replace, Tool, ToolInvocation, ToolOutcome, WriteFile};
use longhaul_workspace::Ignoring;

/// A clock that goes on with every question.
fn now() -> Timestamp {
    use std::sync::atomic::{AtomicI64, Ordering};
    static NOW: AtomicI64 = AtomicI64::new(1_000);
    Timestamp::from_millis(NOW.fetch_add(1, Ordering::Relaxed))
}

struct World {
    workspace: tempfile::TempDir,
    home: tempfile::TempDir,
    checkpoints: Checkpoints,
}

impl World {
    fn new() -> Self {
        let (workspace, home) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let checkpoints = Checkpoints::default();
        checkpoints.set_roots(Roots::new(workspace.path(), &[]).expect("a folder"));
        checkpoints.keep_in(home.path().join("session").join("files"), now);
        Self { workspace, home, checkpoints }
    }

    fn call(&self, tool: &dyn Tool, args: &Value) {
        let id = CallId::from("c");
        let cancel = CancellationToken::new();
        let permitted = PermittedEffects::Any;
        let call = ToolInvocation { id: &id, args, progress: &|_| {}, cancel: &cancel, permitted };
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let answer = runtime.block_on(tool.run(call));
        assert!(matches!(answer.outcome, ToolOutcome::Succeeded(_)), "{:?}", answer.outcome);
    }

    fn roots(&self) -> Roots {
        Roots::new(self.workspace.path(), &[]).expect("a folder")
    }

    fn write(&self, path: &str, content: &str) {
        let tool = WriteFile::new(self.roots()).with_checkpoints(self.checkpoints.clone());
        self.call(&tool, &json!({"file_path": path, "content": content}));
    }

    fn replace(&self, path: &str, old: &str, new: &str) {
        let tool = Replace::new(self.roots(), Ignoring::default()).with_checkpoints(self.checkpoints.clone());
        self.call(&tool, &json!({"file_path": path, "old_string": old, "new_string": new}));
    }

    /// Somebody else writes a file.
    fn put(&self, path: &str, content: &str) {
        fs::write(self.workspace.path().join(path), content).expect("it can be written");
    }

    fn read(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.workspace.path().join(path)).ok()
    }

    fn restore(&self, plan: &Restoration) -> Vec<String> {
        let done = self.checkpoints.restore(plan);
        assert_eq!(done.failed, [], "{plan:?}");
        done.restored
    }
}

fn described(plan: &Restoration) -> Vec<String> {
    plan.files.iter().map(FileRestoration::describe).collect()
}

#[test]
fn files_go_back_to_a_point_and_forth_again() {
    let world = World::new();
    world.put("a.txt", "one\n");
    world.replace("a.txt", "one", "two");
    let since = now();
    world.replace("a.txt", "two", "three\nfour");
    world.write("new/b.txt", "made\n");
    world.write("a.txt", "five\n");
    let plan = world.checkpoints.plan(since);
    assert_eq!(described(&plan), ["a.txt +1 −1", "new/b.txt (made since: to be removed)"]);
    assert_eq!(world.restore(&plan), ["a.txt", "new/b.txt"]);
    assert_eq!((world.read("a.txt").as_deref(), world.read("new/b.txt")), (Some("two\n"), None));
    assert!(world.checkpoints.plan(since).is_empty());
    // Taken back, and that taken back.
    let undo = world.checkpoints.plan_undo();
    assert_eq!(described(&undo), ["a.txt +1 −1", "new/b.txt (to be made again)"]);
    world.restore(&undo);
    assert_eq!(
        (world.read("a.txt").as_deref(), world.read("new/b.txt").as_deref()),
        (Some("five\n"), Some("made\n"))
    );
    world.restore(&world.checkpoints.plan_undo());
    assert_eq!((world.read("a.txt").as_deref(), world.read("new/b.txt")), (Some("two\n"), None));
    // An earlier point is still there.
    world.restore(&world.checkpoints.plan(Timestamp::from_millis(0)));
    assert_eq!(world.read("a.txt").as_deref(), Some("one\n"));
}

#[test]
fn what_somebody_else_changed_is_left_alone() {
    let world = World::new();
    for file in ["a.txt", "b.txt", "c.txt"] {
        world.put(file, "before\n");
        world.write(file, "after\n");
    }
    world.put("a.txt", "mine\n");
    fs::remove_file(world.workspace.path().join("b.txt")).expect("it is there");
    let plan = world.checkpoints.plan(Timestamp::from_millis(0));
    assert_eq!(described(&plan), ["c.txt +1 −1"]);
    let refused: Vec<&str> = plan.refused.iter().map(|(_, reason)| reason.as_str()).collect();
    assert_eq!(refused, ["it was changed by someone else since", "it was removed by someone else since"]);
    // Between plan and restoration, too.
    world.put("c.txt", "mine, too\n");
    let done = world.checkpoints.restore(&plan);
    assert_eq!((done.restored.len(), done.failed.len()), (0, 1));
    assert_eq!(world.read("c.txt").as_deref(), Some("mine, too\n"));
    assert!(world.checkpoints.plan_undo().is_empty());
}

#[cfg(unix)]
#[test]
fn checkpoints_are_private_keep_modes_and_follow_no_link() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let world = World::new();
    world.put("run.sh", "echo 1\n");
    let script = world.workspace.path().join("run.sh");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).expect("it is ours");
    world.write("run.sh", "echo 2\n");
    world.write("sub/x.txt", "x");
    let folder = world.home.path().join("session").join("files");
    for entry in fs::read_dir(&folder).expect("a folder") {
        let mode = entry.expect("an entry").metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o077, 0);
    }
    let elsewhere = tempfile::tempdir().expect("a folder");
    fs::write(elsewhere.path().join("x.txt"), "x").expect("it can be written");
    fs::remove_dir_all(world.workspace.path().join("sub")).expect("it is there");
    symlink(elsewhere.path(), world.workspace.path().join("sub")).expect("a link");
    let plan = world.checkpoints.plan(Timestamp::from_millis(0));
    assert_eq!(described(&plan), ["run.sh +1 −1"]);
    assert_eq!(plan.refused.len(), 1);
    world.restore(&plan);
    assert_eq!(fs::metadata(&script).expect("it is there").permissions().mode() & 0o777, 0o755);
    assert!(elsewhere.path().join("x.txt").exists());
}

#[test]
fn nothing_is_kept_where_nobody_wants_it_and_damage_is_survived() {
    let world = World::new();
    world.checkpoints.stop();
    world.write("a.txt", "one\n");
    assert!(!world.home.path().join("session").exists());
    assert!(world.checkpoints.plan(Timestamp::from_millis(0)).is_empty());
    world.checkpoints.keep_in(world.home.path().join("session").join("files"), now);
    world.write("a.txt", "two\n");
    let journal = world.home.path().join("session").join("files").join("journal.jsonl");
    let mut text = fs::read_to_string(&journal).expect("a journal");
    text.insert_str(0, "no json\n");
    text.push_str("{\"at\":");
    fs::write(&journal, text).expect("it can be written");
    world.write("a.txt", "three\n");
    let plan = world.checkpoints.plan(Timestamp::from_millis(0));
    world.restore(&plan);
    assert_eq!(world.read("a.txt").as_deref(), Some("one\n"));
}

#[test]
fn what_is_too_large_to_keep_is_said() {
    let world = World::new();
    world.put("large.txt", &"x".repeat((5 << 20) + 1));
    world.write("large.txt", "small");
    let plan = world.checkpoints.plan(Timestamp::from_millis(0));
    assert_eq!(plan.files, []);
    assert!(plan.refused[0].1.contains("too large to keep"), "{plan:?}");
}
