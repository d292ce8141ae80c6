//! Installs skills from repositories and archives, as a user would.

mod sandbox;

use std::fs;
use std::path::Path;
use std::process::Command;

use sandbox::{Sandbox, check_has, text};
use serde_json::json;

fn skill(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Reads tide tables.\n---\nOpen the table.\n")
}

fn sandbox() -> Sandbox {
    Sandbox::new().with(".git/HEAD", "").with("home/settings.json", "{}")
}

#[track_caller]
fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]);
    git.args(["-c", "commit.gpgSign=false"]);
    let output = git.arg("-C").arg(folder).args(arguments).output().expect("git runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
}

/// A sandbox with a repository `repo` of these files; returns its address, too.
fn with_repository(files: &[(&str, &str)]) -> (Sandbox, String) {
    let mut sandbox = sandbox();
    for (name, text) in files {
        sandbox = sandbox.with(&format!("repo/{name}"), text);
    }
    let folder = sandbox.path("repo");
    git(&folder, &["init", "--quiet"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "-m", "x"]);
    let url = format!("file://{}", folder.display());
    (sandbox, url)
}

#[test]
fn skills_of_a_repository_are_shown_and_installed() {
    let (sandbox, url) = with_repository(&[
        ("README.md", "x"),
        ("skills/tides/SKILL.md", &skill("tides")),
        ("skills/tides/scripts/run.sh", "echo"),
        ("other/winds/SKILL.md", &skill("winds")),
    ]);
    let before = sandbox.names();
    let shown = sandbox.done(&["skills", "install", &url, "--dry-run"]);
    check_has(
        &shown,
        &["tides\n", &format!("from {url} (commit "), "scripts/run.sh", "Nothing was installed."],
    );
    assert_eq!(sandbox.names(), before);
    let json = sandbox.json(&["skills", "install", &url, "--yes", "--json"]);
    assert_eq!((&json["installed"], &json["skills"][0]["source"]), (&json!(true), &json!(url)));
    assert_eq!(json["skills"][0]["commit"].as_str().map(str::len), Some(40));
    assert_eq!(sandbox.read("home/skills/tides/SKILL.md"), skill("tides"));
    sandbox.done(&["skills", "install", &url, "--path", "other", "--yes"]);
    let names: Vec<String> =
        sandbox.names().into_iter().filter(|name| name.starts_with("home/skills")).collect();
    let expected =
        ["home/skills/tides/SKILL.md", "home/skills/tides/scripts/run.sh", "home/skills/winds/SKILL.md"];
    assert_eq!(names, expected, "nothing else comes along, git's own files least of all");
    sandbox.check_refused(
        &["skills", "install", &url, "--path", "../..", "--yes"],
        1,
        &["not a plain relative path"],
    );
    sandbox.check_refused(
        &["skills", "install", &url, "--path", "none", "--yes"],
        1,
        &["no such folder in it"],
    );
}

#[cfg(unix)]
#[test]
fn a_repository_runs_nothing_and_brings_nothing_else() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let (sandbox, url) = with_repository(&[("tides/SKILL.md", &skill("tides"))]);
    // Hooks of the user's own templates and settings would run in any other clone.
    let mark = sandbox.path("ran");
    let hook = format!("#!/bin/sh\ntouch '{}'\n", mark.display());
    let hooks = sandbox.path("hooks");
    let sandbox = sandbox.with("hooks/post-checkout", &hook).with("template/hooks/post-checkout", &hook);
    for file in ["hooks/post-checkout", "template/hooks/post-checkout"] {
        fs::set_permissions(sandbox.path(file), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let config = format!(
        "[core]\n\thooksPath = {}\n[init]\n\ttemplateDir = {}\n[filter \"x\"]\n\tsmudge = cat\n[submodule]\n\trecurse = true\n",
        hooks.display(),
        sandbox.path("template").display()
    );
    let sandbox = sandbox.with("user/.gitconfig", &config);
    let (user, template) = (sandbox.path("user"), sandbox.path("template"));
    let variables = [("HOME", user.to_str().unwrap()), ("GIT_TEMPLATE_DIR", template.to_str().unwrap())];
    let output = sandbox.run_with(&variables, &["skills", "install", &url, "--yes"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(!mark.exists(), "no hook may run");
    // What leads out of it is refused, as in a folder.
    symlink("/etc/passwd", sandbox.path("repo/tides/passwd")).unwrap();
    git(&sandbox.path("repo"), &["add", "--all"]);
    git(&sandbox.path("repo"), &["commit", "--quiet", "-m", "y"]);
    sandbox.done(&["skills", "uninstall", "tides"]);
    sandbox.check_refused(
        &["skills", "install", &url, "--yes"],
        1,
        &["link to a file outside the skill", &url],
    );
    assert!(!sandbox.path("home/skills/tides").exists());
}

#[test]
fn a_submodule_stays_where_it_is() {
    let (inner, inner_url) = with_repository(&[("SKILL.md", &skill("inner"))]);
    let (sandbox, url) = with_repository(&[("tides/SKILL.md", &skill("tides"))]);
    git(&sandbox.path("repo"), &["submodule", "--quiet", "add", &inner_url, "inner"]);
    git(&sandbox.path("repo"), &["commit", "--quiet", "-m", "z"]);
    sandbox.done(&["skills", "install", &url, "--yes"]);
    assert!(sandbox.path("home/skills/tides").exists() && !sandbox.path("home/skills/inner").exists());
    drop(inner);
}

#[test]
fn what_cannot_be_fetched_says_why() {
    let sandbox = sandbox();
    let url = format!("file://{}", sandbox.path("none").display());
    sandbox.check_refused(&["skills", "install", &url, "--yes"], 1, &["could not fetch", "hint: "]);
    for source in ["ssh://-oProxyCommand=touch%20x/y", "-u@example.org:x", "https://me:secret@127.0.0.1/x"] {
        sandbox.check_refused(&["skills", "install", "--yes", "--", source], 1, &["cannot fetch", "hint: "]);
    }
    let (sandbox, url) = with_repository(&[("README.md", "x")]);
    sandbox.check_refused(
        &["skills", "install", &url, "--yes"],
        1,
        &[&format!("no skill in {url}"), "hint: "],
    );
    sandbox.check_refused(&["skills", "install", &url], 1, &["no skill in"]);
}

/// An archive of files that are not compressed.
fn archive(files: &[(&str, &str)]) -> Vec<u8> {
    let sum = |bytes: &[u8]| {
        let step = |sum: u32, byte: &u8| {
            (0..8)
                .fold(sum ^ u32::from(*byte), |sum, _| sum >> 1 ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
        };
        !bytes.iter().fold(!0, step)
    };
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, text) in files {
        let size = u32::try_from(text.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        let head = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 0x21, 0][..],
            &sum(text.as_bytes()).to_le_bytes(),
            &size,
            &size,
            &length,
            &[0, 0],
        ];
        let offset = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        directory.extend(
            [&b"PK\x01\x02\x14\x03"[..], &head.concat(), &[0; 10], &offset, name.as_bytes()].concat(),
        );
        bytes.extend([&b"PK\x03\x04"[..], &head.concat(), name.as_bytes(), text.as_bytes()].concat());
    }
    let count = u16::try_from(files.len()).unwrap().to_le_bytes();
    let sizes = [directory.len(), bytes.len()].map(|size| u32::try_from(size).unwrap().to_le_bytes());
    bytes.extend(directory);
    bytes.extend([&b"PK\x05\x06\0\0\0\0"[..], &count, &count, &sizes[0], &sizes[1], &[0, 0]].concat());
    bytes
}

#[test]
fn skills_come_out_of_archives() {
    let sandbox = sandbox();
    let whole = archive(&[("tides/SKILL.md", &skill("tides")), ("tides/references/table.txt", "x")]);
    fs::write(sandbox.path("tides.skill"), whole).unwrap();
    let before = sandbox.names();
    let shown = sandbox.done(&["skills", "install", "tides.skill", "--dry-run"]);
    check_has(&shown, &["tides\n", "from tides.skill\n", "references/table.txt", "Nothing was installed."]);
    assert_eq!(sandbox.names(), before);
    sandbox.check_refused(&["skills", "install", "tides.skill"], 1, &["running without a terminal", "--yes"]);
    check_has(&sandbox.done(&["skills", "install", "tides.skill", "--yes"]), &["Installed 1 skill."]);
    assert_eq!(sandbox.read("home/skills/tides/references/table.txt"), "x");
    fs::write(sandbox.path("evil.zip"), archive(&[("../evil/SKILL.md", &skill("evil"))])).unwrap();
    sandbox.check_refused(
        &["skills", "install", "evil.zip", "--yes"],
        1,
        &["is not a plain relative path", "evil.zip"],
    );
    assert!(!sandbox.names().iter().any(|name| name.contains("evil/")));
}

#[test]
fn skills_of_other_programs_count_where_the_folder_is_trusted() {
    let sandbox = sandbox()
        .with(".claude/skills/winds/SKILL.md", &skill("winds"))
        .with("user/.claude/skills/waves/SKILL.md", &skill("waves"))
        .with("user/.agents/skills/waves/SKILL.md", &skill("waves"));
    let user = sandbox.path("user");
    let names = |sandbox: &Sandbox| {
        let output = sandbox.run_with(&[("HOME", user.to_str().unwrap())], &["skills", "list", "--json"]);
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let skills = json["skills"].as_array().unwrap().iter().filter(|skill| skill["tier"] != "builtin");
        skills.map(|skill| format!("{} {}", skill["name"], skill["path"])).collect::<Vec<_>>()
    };
    let before = names(&sandbox);
    assert!(before.len() == 1 && before[0].contains(".agents/skills/waves"), "{before:?}");
    let trusted =
        sandbox.with("home/settings.json", "{\"security\": {\"folderTrust\": {\"enabled\": false}}}");
    let after = names(&trusted);
    assert!(after.len() == 2 && after[1].contains(".claude/skills/winds"), "{after:?}");
}
