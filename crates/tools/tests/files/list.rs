//! `list_directory`.

use longhaul_tools::ToolDisplay;
use serde_json::json;

use crate::world::World;

#[test]
fn folders_come_first_and_files_with_their_sizes() {
    let world = World::with(&[
        (".git/HEAD", ""),
        (".gitignore", "*.log\n/target/\n"),
        ("b.txt", "x"),
        ("a.txt", "xy"),
        ("z/deep", ""),
        ("x.log", ""),
        ("target/x", ""),
        ("big", &"x".repeat(1536)),
        ("Cargo.lock", ""),
    ]);
    let answer = world.check(
        "list_directory",
        &json!({"dir_path": ".", "ignore": ["*.lock"]}),
        ".:\nz/\n.gitignore (15 bytes)\na.txt (2 bytes)\nb.txt (1 byte)\nbig (1.5 KB)\n(3 left out by ignore files)\n\
         (1 left out by your patterns)",
    );
    assert_eq!(answer.shown, ToolDisplay::Line("5 entries".into()));
    assert_eq!(answer.touched, [world.roots.first()]);
    world.check("list_directory", &json!({"path": "z/"}), "z:\ndeep (0 bytes)");
    let hidden = "target is not listed: the line \"/target/\" in .gitignore hides it; the user can change that line, or set \
                  context.fileFiltering.respectGitIgnore to false.";
    world.check_failed("list_directory", &json!({"dir_path": "target"}), hidden);
}

#[test]
fn what_cannot_be_listed_is_said() {
    let world = World::with(&[("file", "")]);
    std::fs::create_dir(world.at("empty")).unwrap();
    let failed =
        |path: &str, why: &str| world.check_failed("list_directory", &json!({"dir_path": path}), why);
    world.check("list_directory", &json!({"dir_path": "empty"}), "empty is empty.");
    failed("none", "none does not exist.");
    failed("file", "file is not a folder; read_file shows a file.");
    let args = json!({"dir_path": ".", "ignore": ["["]});
    assert!(world.preview("list_directory", &args).is_err());
    world.check(
        "list_directory",
        &json!({"dir_path": ".", "ignore": ["*"]}),
        "Nothing in . is shown.\n(2 left out by your patterns)",
    );
}

#[test]
fn a_long_list_is_cut_honestly() {
    let world = World::new();
    for number in 0..1_003 {
        world.put(&format!("{number:04}"), b"");
    }
    let answer = world.run("list_directory", &json!({"dir_path": "."}));
    assert!(answer.outcome.text().ends_with("\n0999 (0 bytes)\n… and 3 more"));
}

#[cfg(unix)]
#[test]
fn odd_names_stay_in_their_line() {
    use crate::world::link;
    let world = World::with(&[("a\nb", "")]);
    link("../outside", &world.at("out"));
    world.check("list_directory", &json!({"dir_path": "."}), ".:\na\\nb (0 bytes)\nout (link)");
    assert!(
        world
            .run("list_directory", &json!({"dir_path": "out"}))
            .outcome
            .text()
            .contains("outside of the workspace")
    );
}
