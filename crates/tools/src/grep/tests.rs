//! Searches in small workspaces.

use serde_json::json;

use super::*;
use crate::ToolOutcome;
use crate::walk::tests::{GIT, call, call_until, world};

#[track_caller]
fn check(files: &[(&str, &str)], args: &Value, expected: &str) {
    let world = world(files);
    let outcome = call(&GrepSearch::new(world.roots(), GIT), args);
    assert_eq!(outcome, ToolOutcome::Succeeded(expected.to_string()));
}

const FILES: &[(&str, &str)] = &[
    ("src/b.rs", "fn main() {\n    let Value = 1;\n}\n"),
    ("src/a.rs", "// value\r\nno\nVALUE (x)\n"),
    ("README.md", "the value\n"),
    (".hidden", "value"),
];

#[test]
fn matches_come_by_path_and_line() {
    check(
        FILES,
        &json!({"pattern": "value"}),
        "5 matches in 4 files for \"value\":\n\n.hidden\n1: value\n\nREADME.md\n1: the value\n\n\
         src/a.rs\n1: // value\n3: VALUE (x)\n\nsrc/b.rs\n2:     let Value = 1;",
    );
    check(FILES, &json!({"pattern": "nowhere"}), "No matches for \"nowhere\".");
}

#[test]
fn a_search_can_be_narrowed() {
    let one = "1 match in 1 file for";
    let rs = json!({"pattern": "^//", "include": "*.rs"});
    check(FILES, &rs, &format!("{one} \"^//\":\n\nsrc/a.rs\n1: // value"));
    let path = json!({"pattern": "value", "include": "src/b*"});
    check(FILES, &path, &format!("{one} \"value\":\n\nsrc/b.rs\n2:     let Value = 1;"));
    let case = json!({"pattern": "VALUE", "case_sensitive": true, "dir_path": "src"});
    check(FILES, &case, &format!("{one} \"VALUE\":\n\nsrc/a.rs\n3: VALUE (x)"));
    let file = json!({"pattern": "x", "dir_path": "src/a.rs"});
    check(FILES, &file, &format!("{one} \"x\":\n\nsrc/a.rs\n3: VALUE (x)"));
    let fixed = json!({"pattern": "(x)", "fixed_strings": true});
    check(FILES, &fixed, &format!("{one} \"(x)\":\n\nsrc/a.rs\n3: VALUE (x)"));
    let end = json!({"pattern": "e$", "dir_path": "README.md"});
    check(FILES, &end, &format!("{one} \"e$\":\n\nREADME.md\n1: the value"));
}

#[test]
fn lines_around_a_match_are_shown() {
    let numbers = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    check(
        &[("n", numbers)],
        &json!({"pattern": "[28]", "context": 1}),
        "2 matches in 1 file for \"[28]\":\n\nn\n1- 1\n2: 2\n3- 3\n--\n7- 7\n8: 8\n9- 9",
    );
    check(
        &[("n", numbers)],
        &json!({"pattern": "[2389]", "context": 1, "max_matches": 2}),
        "Showing 2 of 4 matches in 1 file for \"[2389]\":\n\nn\n1- 1\n2: 2\n3: 3\n4- 4",
    );
}

#[test]
fn all_matches_are_counted_whatever_is_shown() {
    let text = "hit\n".repeat(700);
    let files: Vec<(String, &str)> = (0..4).map(|number| (format!("f{number}"), text.as_str())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (name.as_str(), *text)).collect();
    let world = world(&files);
    let grep = GrepSearch::new(world.roots(), GIT);
    let first = call(&grep, &json!({"pattern": "hit"}));
    assert!(first.text().starts_with("Showing 100 of 2,800 matches in 4 files for \"hit\":\n\nf0\n1: hit\n"));
    assert!(first.text().ends_with("\n100: hit"));
    let more = json!({"pattern": "hit", "max_matches": 750});
    let expected = call(&grep, &more);
    assert!(expected.text().ends_with("\n50: hit"));
    for _ in 0..10 {
        assert_eq!(call(&grep, &more), expected);
    }
}

#[test]
fn what_is_ignored_or_binary_is_not_searched() {
    check(
        &[
            (".git/x", "hit"),
            (".gitignore", "target/\n"),
            (".geminiignore", "*.log\n"),
            ("a.log", "hit"),
            ("target/x", "hit"),
            ("binary", "hit\n\0\n"),
            ("text", "hit"),
        ],
        &json!({"pattern": "hit"}),
        "1 match in 1 file for \"hit\":\n\ntext\n1: hit",
    );
}

#[cfg(unix)]
#[test]
fn links_are_not_followed() {
    use std::os::unix::fs::symlink;
    let world = world(&[("src/a", "hit")]);
    std::fs::write(world.folder.path().join("secret"), "hit").unwrap();
    symlink("../secret", world.work().join("out")).unwrap();
    symlink("..", world.work().join("up")).unwrap();
    symlink("src", world.work().join("in")).unwrap();
    let grep = GrepSearch::new(world.roots(), GIT);
    let outcome = call(&grep, &json!({"pattern": "hit"}));
    assert_eq!(outcome.text(), "1 match in 1 file for \"hit\":\n\nsrc/a\n1: hit");
    let named = call(&grep, &json!({"pattern": "hit", "dir_path": "in"}));
    assert_eq!(named.text(), "1 match in 1 file for \"hit\":\n\nsrc/a\n1: hit");
    for outside in ["out", "up", ".."] {
        let outcome = call(&grep, &json!({"pattern": "hit", "dir_path": outside}));
        assert!(matches!(&outcome, ToolOutcome::Failed(why) if why.contains("outside of the workspace")));
    }
}

#[test]
fn what_cannot_be_searched_for_is_refused() {
    let world = world(&[("a", "")]);
    let grep = GrepSearch::new(world.roots(), GIT);
    for (args, expected) in [
        (json!({"pattern": "(a"}), "unclosed group"),
        (json!({"pattern": "(a"}), "set fixed_strings"),
        (json!({"pattern": "a\nb"}), "not a regular expression that can be searched for"),
        (json!({"pattern": ""}), "The pattern is empty."),
        (json!({"pattern": "a", "include": "["}), "The pattern in include is not valid"),
        (json!({"pattern": "a", "dir_path": "no"}), "There is no \"no\"."),
    ] {
        let outcome = call(&grep, &args);
        assert!(matches!(&outcome, ToolOutcome::Failed(why) if why.contains(expected)), "{outcome:?}");
        assert_eq!(grep.preview(&args).unwrap_err(), outcome.text());
    }
    let cancel = CancellationToken::new();
    cancel.cancel();
    let outcome = call_until(&grep, &json!({"pattern": "a"}), &cancel);
    assert_eq!(outcome, ToolOutcome::Cancelled("The search was stopped.".into()));
}

#[test]
fn other_encodings_are_searched_too() {
    let world = world(&[("latin", "")]);
    std::fs::write(world.work().join("latin"), b"caf\xe9 hit\n").unwrap();
    let wide: Vec<u8> =
        [0xFF, 0xFE].into_iter().chain("a hit\n".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(world.work().join("wide"), wide).unwrap();
    let outcome = call(&GrepSearch::new(world.roots(), GIT), &json!({"pattern": "hit"}));
    let expected = "2 matches in 2 files for \"hit\":\n\nlatin\n1: caf\u{fffd} hit\n\nwide\n1: a hit";
    assert_eq!(outcome.text(), expected);
}
