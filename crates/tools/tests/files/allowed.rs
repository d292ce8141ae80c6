//! Tools that may touch only some files: lists and searches show these and nothing else.

use std::fs;

use longhaul_tools::{AllowedFiles, Glob, GrepSearch, ListDirectory, Roots, Tool, ToolOutcome};
use longhaul_workspace::Ignoring;
use serde_json::json;

use crate::world::{World, run_tool};

#[test]
fn lists_and_searches_show_the_allowed_files_alone() {
    let world = World::with(&[
        ("A.md", "port 1\n"),
        ("src/A.md", "port 2\n"),
        ("src/lib.rs", "port 3\n"),
        (".git/A.md", "port 4\n"),
    ]);
    let home = world.folder.path().canonicalize().expect("a path").join("home");
    fs::create_dir_all(home.join("tmp/other")).expect("made");
    for file in ["A.md", "settings.json", "tmp/A.md", "tmp/other/A.md"] {
        fs::write(home.join(file), "port 5\n").expect("written");
    }
    let only = AllowedFiles {
        names: vec!["A.md".into()],
        closed: vec![home.clone()],
        files: vec![home.join("A.md")],
    };
    let roots = Roots::new(world.roots.first(), std::slice::from_ref(&home)).expect("roots").only(only);
    let ignoring = Ignoring { git: false, gemini: false, custom: Vec::new() };
    let list = ListDirectory::new(roots.clone(), ignoring.clone());
    let grep = GrepSearch::new(roots.clone(), ignoring.clone());
    let glob = Glob::new(roots, ignoring);
    let check = |tool: &dyn Tool, args, expected: &str| {
        assert_eq!(run_tool(tool, &args).outcome, ToolOutcome::Succeeded(expected.to_string()));
    };
    let home = home.display();
    check(&list, json!({"dir_path": "."}), ".:\nsrc/\nA.md (7 bytes)");
    check(&list, json!({"dir_path": "src"}), "src:\nA.md (7 bytes)");
    check(&list, json!({"dir_path": format!("{home}")}), &format!("{home}:\nA.md (7 bytes)"));
    let nothing = format!("{home}/tmp is empty.");
    check(&list, json!({"dir_path": format!("{home}/tmp")}), &nothing);
    let found = format!(
        "3 matches in 3 files for \"port\":\n\n{home}/A.md\n1: port 5\n\nA.md\n1: port 1\n\nsrc/A.md\n1: port 2"
    );
    check(&grep, json!({"pattern": "port"}), &found);
    check(&grep, json!({"pattern": "port", "dir_path": format!("{home}/tmp")}), "No matches for \"port\".");
    check(&glob, json!({"pattern": "**/*.rs"}), "No files match \"**/*.rs\".");
    check(&glob, json!({"pattern": "*/A.md"}), "1 file matches \"*/A.md\":\nsrc/A.md");
    for refused in [
        run_tool(&grep, &json!({"pattern": "port", "dir_path": "src/lib.rs"})),
        run_tool(&list, &json!({"dir_path": "../outside"})),
        run_tool(&grep, &json!({"pattern": "port", "dir_path": format!("{home}/settings.json")})),
    ] {
        assert!(matches!(&refused.outcome, ToolOutcome::Failed(_)), "{refused:?}");
    }
}
