//! `write_file` and `replace`.

use std::fs;

use longhaul_tools::{Preview, ToolOutcome};
use serde_json::{Value, json};

use crate::world::{World, shown_diff};

fn write(path: &str, content: &str) -> Value {
    json!({"file_path": path, "content": content})
}

fn replace(path: &str, old: &str, new: &str) -> Value {
    json!({"file_path": path, "old_string": old, "new_string": new})
}

/// The names in a workspace folder.
fn names(world: &World, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(world.at(folder)).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_new_file_is_made_with_its_folders() {
    let world = World::new();
    let args = write("a/b/c.txt", "one\r\ntwo");
    let diff = "--- /dev/null\n+++ b/a/b/c.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n";
    let preview = Preview::Change { path: world.at("a/b/c.txt"), diff: diff.into() };
    assert_eq!(world.preview("write_file", &args), Ok(preview));
    assert!(!world.at("a").exists(), "asking changes nothing");
    let answer = world.check("write_file", &args, "Made a/b/c.txt with 2 lines.");
    assert_eq!(shown_diff(&answer), diff);
    assert_eq!(answer.touched, [world.at("a/b/c.txt")]);
    assert_eq!(world.bytes("a/b/c.txt"), b"one\r\ntwo");
    assert_eq!(names(&world, "a/b"), ["c.txt"]);
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let world = World::with(&[("a", "one\ntwo\n")]);
    let answer =
        world.check("write_file", &write("a", "one\nthree\nfour\n"), "Changed a: 2 lines added, 1 removed.");
    assert!(shown_diff(&answer).ends_with(" one\n-two\n+three\n+four\n"));
    assert_eq!(world.bytes("a"), b"one\nthree\nfour\n");
    world.check("write_file", &write("a", "one\nthree\nfour\n"), "a already has exactly this content.");
    assert_eq!(names(&world, "."), ["a"]);
}

#[test]
fn encoding_and_line_ends_are_kept() {
    for (before, content, after) in [
        (&b"a\r\nb\r\n"[..], "a\nc\n", &b"a\r\nc\r\n"[..]),
        (b"\xEF\xBB\xBFa\n", "b", b"\xEF\xBB\xBFb"),
        (b"\xEF\xBB\xBFa\n", "\u{FEFF}b", b"\xEF\xBB\xBFb"),
        (b"\xFF\xFEa\0\r\0\n\0", "b\n", b"\xFF\xFEb\0\r\0\n\0"),
        (b"\xFE\xFF\0a", "b", b"\xFE\xFF\0b"),
        (b"caf\xE9", "café", b"caf\xC3\xA9"),
        (b"a", "", b""),
    ] {
        let world = World::new();
        world.put("a", before);
        let answer = world.run("write_file", &write("a", content));
        assert!(matches!(answer.outcome, ToolOutcome::Succeeded(_)), "{answer:?}");
        assert_eq!(world.bytes("a"), after, "{content:?}");
    }
}

#[test]
fn a_piece_is_replaced_in_whatever_encoding() {
    for (before, after) in [
        (&b"a\r\nb\r\n"[..], &b"a\r\nx\r\ny\r\n"[..]),
        (b"a\nb", b"a\nx\ny"),
        (b"\xEF\xBB\xBFb", b"\xEF\xBB\xBFx\ny"),
        (b"\xFF\xFEb\0", b"\xFF\xFEx\0\n\0y\0"),
        (b"\0\0\xFE\xFF\0\0\0b", b"\0\0\xFE\xFF\0\0\0x\0\0\0\n\0\0\0y"),
    ] {
        let world = World::new();
        world.put("f", before);
        let answer = world.run("replace", &replace("f", "b", "x\ny"));
        assert!(matches!(answer.outcome, ToolOutcome::Succeeded(_)), "{answer:?}");
        assert_eq!(world.bytes("f"), after);
    }
}

#[test]
fn the_answer_says_where_it_was_replaced() {
    let world = World::with(&[("f", "a\nb\na\n")]);
    let answer = world.check("replace", &replace("f", "b", "c"), "Changed f at line 2.");
    assert!(shown_diff(&answer).contains("\n-b\n+c\n"));
    let mut args = replace("f", "a", "d");
    args["allow_multiple"] = json!(true);
    world.check("replace", &args, "Changed f in 2 places, at lines 1, 3.");
    assert_eq!(world.bytes("f"), b"d\nc\nd\n");
    let mut args = replace("f", "d", "e");
    args["expected_replacements"] = json!(2);
    world.check("replace", &args, "Changed f in 2 places, at lines 1, 3.");
}

#[test]
fn what_cannot_be_replaced_stays() {
    let world = World::with(&[
        ("f", "one\none\n"),
        (".geminiignore", "hidden\n"),
        ("hidden", "one"),
        ("nul", "a\0b"),
        (".git/config", "one"),
    ]);
    world.put("latin", b"caf\xE9 one");
    for (path, old, new, why) in [
        (
            "f",
            "one",
            "x",
            "f is as it was: old_string is there 2 times instead of 1: at lines 1, 2; take in more of the lines around it, or set allow_multiple to change all.",
        ),
        ("f", "one", "one", "old_string and new_string are the same."),
        (
            "f",
            "",
            "x",
            "f exists: say in old_string what to replace, or use write_file to replace all of it.",
        ),
        ("none", "x", "y", "none does not exist. To make it, leave old_string empty."),
        (
            "latin",
            "one",
            "x",
            "latin has bytes in it that are no text, which a change here would destroy. Use a command that knows its encoding.",
        ),
        (
            "nul",
            "a",
            "x",
            "nul has bytes in it that are no text, which a change here would destroy. Use a command that knows its encoding.",
        ),
        (
            "hidden",
            "one",
            "x",
            "hidden is not changed: the line \"hidden\" in .geminiignore hides it; the user can change that line, or set context.fileFiltering.respectGeminiIgnore to false.",
        ),
        (
            ".git/config",
            "one",
            "x",
            "\".git/config\" is in Git's own folder, which only commands of git change.",
        ),
        (
            ".GIT/hooks/x",
            "",
            "x",
            "\".GIT/hooks/x\" is in Git's own folder, which only commands of git change.",
        ),
        (".", "a", "x", ". is a folder, not a file; list_directory shows what is in it."),
    ] {
        let args = replace(path, old, new);
        world.check_failed("replace", &args, why);
        assert_eq!(world.preview("replace", &args), Err(why.to_string()));
    }
    assert_eq!(world.bytes("f"), b"one\none\n");
    assert_eq!(world.bytes("latin"), b"caf\xE9 one");
    let mut args = replace("f", "one", "x");
    args["expected_replacements"] = json!(0);
    world.check_failed("replace", &args, "expected_replacements is at least 1.");
}

#[test]
fn an_empty_piece_makes_a_file() {
    let world = World::new();
    world.check("replace", &replace("src/new.rs", "", "fn main() {}\n"), "Made src/new.rs with 1 line.");
    assert_eq!(world.bytes("src/new.rs"), b"fn main() {}\n");
}

#[test]
fn a_file_that_changed_since_the_preview_is_read_anew() {
    let world = World::with(&[("f", "one\ntwo\n")]);
    let args = replace("f", "two", "three");
    world.preview("replace", &args).unwrap();
    world.put("f", b"zero\none\ntwo\n");
    world.check("replace", &args, "Changed f at line 3.");
    assert_eq!(world.bytes("f"), b"zero\none\nthree\n");
    let args = replace("f", "three", "four");
    world.preview("replace", &args).unwrap();
    world.put("f", b"gone\n");
    assert!(matches!(world.run("replace", &args).outcome, ToolOutcome::Failed(_)));
    assert_eq!(world.bytes("f"), b"gone\n");
}

#[test]
fn bytes_that_are_no_text_are_not_shown() {
    let world = World::new();
    world.put("f", b"\0\x01\x02");
    let Ok(Preview::Change { diff, .. }) = world.preview("write_file", &write("f", "x\n")) else { panic!() };
    assert_eq!(diff, "--- a/f\n+++ b/f\nThe file is no text so far, and is replaced as a whole.\n");
}

#[test]
fn who_cancels_finds_the_file_as_it_was() {
    let world = World::with(&[("f", "a")]);
    world.cancel.cancel();
    for (tool, args) in [("write_file", write("f", "b")), ("replace", replace("f", "a", "b"))] {
        assert_eq!(world.run(tool, &args).outcome, ToolOutcome::Cancelled("f is as it was.".into()));
    }
    assert_eq!(world.bytes("f"), b"a");
}

#[cfg(unix)]
mod on_unix {
    use super::*;
    use crate::world::{link, mode, set_mode};

    #[test]
    fn modes_are_kept_and_new_files_get_the_usual_one() {
        let world = World::new();
        fs::write(world.at("usual"), "").unwrap();
        fs::create_dir(world.at("folder")).unwrap();
        world.run("write_file", &write("sub/new", "x"));
        assert_eq!(mode(&world.at("sub/new")), mode(&world.at("usual")));
        assert_eq!(mode(&world.at("sub")), mode(&world.at("folder")));
        for kept in [0o600, 0o640, 0o644, 0o755] {
            set_mode(&world.at("usual"), kept);
            world.run("write_file", &write("usual", &format!("{kept}")));
            assert_eq!(mode(&world.at("usual")), kept);
            world.run("replace", &replace("usual", &format!("{kept}"), "z"));
            assert_eq!((mode(&world.at("usual")), world.bytes("usual")), (kept, b"z".to_vec()));
        }
    }

    #[test]
    fn a_file_marked_as_read_only_is_left_alone() {
        let world = World::with(&[("f", "old")]);
        set_mode(&world.at("f"), 0o444);
        world.check_failed(
            "write_file",
            &write("f", "new"),
            "Could not write f: the file is marked as read-only. It is as it was.",
        );
        assert_eq!((world.bytes("f"), names(&world, ".")), (b"old".to_vec(), vec!["f".to_string()]));
    }

    #[test]
    fn a_link_stays_and_its_target_is_written_if_it_is_inside() {
        let world = World::with(&[("real/f", "old")]);
        link("real/f", &world.at("link"));
        link("real/later", &world.at("dangling"));
        link("../outside/file", &world.at("out"));
        world.check("write_file", &write("link", "new"), "Changed real/f: 1 line added, 1 removed.");
        world.check("replace", &replace("link", "new", "newer"), "Changed real/f at line 1.");
        world.check("write_file", &write("dangling", "x"), "Made real/later with 1 line.");
        assert_eq!((world.bytes("real/f"), world.bytes("real/later")), (b"newer".to_vec(), b"x".to_vec()));
        assert!(world.at("link").is_symlink() && world.at("dangling").is_symlink());
        let before = world.outside();
        for (tool, args) in [("write_file", write("out", "x")), ("replace", replace("out", "the", "x"))] {
            let answer = world.run(tool, &args);
            assert!(answer.outcome.text().contains("outside of the workspace"), "{answer:?}");
        }
        assert_eq!(world.outside(), before);
    }
}

#[test]
fn what_a_killed_process_left_in_a_folder_goes_with_the_next_write() {
    let (stray, held) = (".longhaul-tmp-0123456789abcdef", ".longhaul-tmp-fedcba9876543210");
    let files = [("a", "one"), (stray, "half"), (held, "half"), (".longhaul-notes", "mine")];
    let world = World::with(&files);
    let other = fs::File::open(world.at(held)).unwrap();
    other.lock().unwrap();
    world.check("write_file", &write("a", "two"), "Changed a: 1 line added, 1 removed.");
    assert_eq!(names(&world, "."), [".longhaul-notes", held, "a"], "what another is about to finish stays");
    drop(other);
    world.check("write_file", &write("b", "new"), "Made b with 1 line.");
    assert_eq!(names(&world, "."), [".longhaul-notes", "a", "b"]);
}
