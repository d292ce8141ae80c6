//! `read_many_files`.

use longhaul_tools::{ToolDisplay, ToolOutcome};
use serde_json::json;

use crate::world::World;

fn world() -> World {
    World::with(&[
        (".git/HEAD", "ref"),
        (".gitignore", "*.log\n"),
        ("README.md", "read me"),
        ("src/a.rs", "a"),
        ("src/deep/b.rs", "b"),
        ("src/x.log", "log"),
        ("src/[id]/page.rs", "page"),
        ("node_modules/m/index.js", "m"),
        ("logo.png", "\u{89}PNG"),
        ("data.bin", "bin"),
    ])
}

#[track_caller]
fn check(include: &[&str], exclude: &[&str], expected: &str) {
    let args = json!({"include": include, "exclude": exclude});
    world().check("read_many_files", &args, expected);
}

#[test]
fn files_come_one_below_the_other() {
    check(&["src/*.rs"], &[], "--- src/a.rs ---\n\na\n\n--- end ---");
    check(
        &["src", "./README.md"],
        &["deep"],
        "--- README.md ---\n\nread me\n\n--- src/[id]/page.rs ---\n\npage\n\n--- src/a.rs ---\n\na\n\n--- end ---",
    );
    check(&["src/[id]/page.rs"], &[], "--- src/[id]/page.rs ---\n\npage\n\n--- end ---");
    check(&["**/b.rs"], &["src/a*"], "--- src/deep/b.rs ---\n\nb\n\n--- end ---");
    check(&["node_modules/**"], &[], "--- node_modules/m/index.js ---\n\nm\n\n--- end ---");
}

#[test]
fn folders_are_read_to_the_bottom_unless_told() {
    let args = json!({"include": ["src"], "recursive": false});
    let answer = world().check("read_many_files", &args, "--- src/a.rs ---\n\na\n\n--- end ---");
    assert_eq!(answer.shown, ToolDisplay::Line("1 file".into()));
}

#[test]
fn what_is_left_out_is_told() {
    check(
        &["*.md", "*"],
        &[".*"],
        "--- README.md ---\n\nread me\n\n--- end ---\nLeft out: data.bin cannot be shown: it is no text; logo.png is \
         image/png and no pattern names it.",
    );
    let nothing = "No file that can be shown matches.";
    let fails = |include: &str, why: &str| {
        world().check_failed("read_many_files", &json!({"include": [include]}), why);
    };
    fails("**/*.log", nothing);
    fails("*.py", nothing);
    fails(" ", "include names no file.");
    fails("../outside/*", "\"../outside/*\" has \"..\" in it; write the path without.");
    fails("/etc/**", nothing);
    let broken = world().run("read_many_files", &json!({"include": ["a["]}));
    assert!(matches!(broken.outcome, ToolOutcome::Failed(why) if why.starts_with("\"a[\" is no pattern")));
}

#[test]
fn media_come_when_they_are_named() {
    for include in ["*.png", "logo.png", "*.{jpg,png}", "logo*"] {
        let answer = world().run("read_many_files", &json!({"include": [include]}));
        assert_eq!(answer.media.len(), 1, "{include}");
        assert_eq!(answer.outcome.text(), "--- logo.png ---\n\n[Attached as image/png.]\n\n--- end ---");
    }
}

#[test]
fn long_files_are_cut_with_a_word_on_how_to_go_on() {
    let world = World::with(&[("long", &"x\n".repeat(2500))]);
    let answer = world.run("read_many_files", &json!({"include": ["long"]}));
    let notice = "--- long ---\n\n[Shown are lines 1 to 2000 of 2501. To read on, use start_line 2001. Use read_file for the rest of long.]\nx\n";
    assert!(answer.outcome.text().starts_with(notice), "{}", &answer.outcome.text()[..200]);
}

#[test]
fn an_answer_has_a_limit() {
    let world = World::new();
    for name in ["a", "b", "c"] {
        world.put(name, "123456789\n".repeat(45_000).as_bytes());
        let line = "z".repeat(1_999);
        world.put(&format!("wide-{name}"), format!("{line}\n").repeat(200).as_bytes());
    }
    let answer = world.run("read_many_files", &json!({"include": ["wide-*"]}));
    let text = answer.outcome.text();
    assert!(text.len() < 1_001_000 && answer.touched.len() == 2, "{}", answer.touched.len());
    assert!(text.ends_with(
        "\n1 more files match and are not shown, as the answer would be too long; use narrower patterns or read_file."
    ));
}

#[test]
fn who_cancels_gets_an_answer() {
    let world = world();
    world.cancel.cancel();
    let answer = world.run("read_many_files", &json!({"include": ["**"]}));
    assert!(matches!(answer.outcome, ToolOutcome::Cancelled(_)), "{answer:?}");
}

#[cfg(unix)]
#[test]
fn links_lead_only_inside() {
    use crate::world::{SECRET, link};
    let world = World::with(&[("real/a.rs", "a")]);
    link("../outside", &world.at("out"));
    link("../outside/file", &world.at("out.rs"));
    link("real/a.rs", &world.at("in.rs"));
    link("real", &world.at("folder"));
    let answer = world.run("read_many_files", &json!({"include": ["**/*", "out/*", "folder/*.rs"]}));
    let text = answer.outcome.text();
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(text.matches("---\n\na\n").count(), 1, "each file once: {text}");
}
