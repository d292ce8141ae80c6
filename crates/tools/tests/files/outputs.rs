//! Saved outputs: the reading tools reach them beside the workspace, the others do not.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use longhaul_tools::{GrepSearch, ListDirectory, ReadFile, Tool, ToolOutcome};
use longhaul_workspace::Ignoring;
use serde_json::json;

use crate::world::{World, run_tool};

/// A folder of saved outputs beside something that is none.
static SAVED: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().expect("a folder");
    let session = folder.path().join("tool-outputs/session-1");
    fs::create_dir_all(&session).expect("made");
    fs::write(session.join("run_1.txt"), "warming up\nerror: no space\n").expect("written");
    fs::write(folder.path().join("secret.txt"), "error: secret\n").expect("written");
    folder
});

fn outputs() -> Option<PathBuf> {
    Some(SAVED.path().join("tool-outputs"))
}

fn tools(world: &World) -> [Box<dyn Tool>; 3] {
    let ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };
    let roots = || world.roots.clone();
    [
        Box::new(ReadFile::new(roots(), ignoring.clone()).with_outputs(outputs)),
        Box::new(ListDirectory::new(roots(), ignoring.clone()).with_outputs(outputs)),
        Box::new(GrepSearch::new(roots(), ignoring).with_outputs(outputs)),
    ]
}

#[test]
fn a_saved_output_can_be_found_searched_and_read() {
    let world = World::with(&[("notes.txt", "error: mine\n")]);
    let [read, list, grep] = tools(&world);
    let session = SAVED.path().canonicalize().expect("a path").join("tool-outputs/session-1");
    let file = session.join("run_1.txt");
    let listed = run_tool(&*list, &json!({"dir_path": session}));
    assert_eq!(
        listed.outcome,
        ToolOutcome::Succeeded(format!("{}:\nrun_1.txt (27 bytes)", session.display()))
    );
    for place in [&session, &file] {
        let found = run_tool(&*grep, &json!({"pattern": "^error", "dir_path": place}));
        let expected = format!("1 match in 1 file for \"^error\":\n\n{}\n2: error: no space", file.display());
        assert_eq!(found.outcome, ToolOutcome::Succeeded(expected));
    }
    assert!(run_tool(&*read, &json!({"file_path": file})).outcome.text().contains("no space"));
}

#[test]
fn a_search_of_the_workspace_leaves_them_out_and_nothing_beside_them_is_reached() {
    let world = World::with(&[("notes.txt", "error: mine\n")]);
    let [read, list, grep] = tools(&world);
    for args in [json!({"pattern": "error"}), json!({"pattern": "error", "dir_path": "."})] {
        let found = run_tool(&*grep, &args).outcome;
        assert_eq!(found.text(), "1 match in 1 file for \"error\":\n\nnotes.txt\n1: error: mine");
    }
    let (beside, secret) = (SAVED.path(), SAVED.path().join("secret.txt"));
    let up = beside.join("tool-outputs/../secret.txt");
    for refused in [
        run_tool(&*list, &json!({"dir_path": beside})),
        run_tool(&*grep, &json!({"pattern": "error", "dir_path": beside})),
        run_tool(&*grep, &json!({"pattern": "error", "dir_path": secret})),
        run_tool(&*grep, &json!({"pattern": "error", "dir_path": up})),
        run_tool(&*read, &json!({"file_path": up})),
    ] {
        assert!(
            matches!(&refused.outcome, ToolOutcome::Failed(why) if why.contains("outside")),
            "{refused:?}"
        );
    }
}
