//! A command of the program uses libraries and what commands share, never another command.

use std::path::{Path, PathBuf};

/// The command a file belongs to: its name below `commands`.
fn command_of(file: &Path) -> String {
    let first = file.components().next().expect("a path below the folder of commands");
    Path::new(&first).with_extension("").to_string_lossy().into_owned()
}

/// Every path of a line that leads to a command: what follows `commands::`, each name of a group for itself.
fn named_commands(text: &str) -> Vec<String> {
    let pieces = text.split("commands::").skip(1);
    pieces
        .flat_map(|piece| match piece.strip_prefix('{') {
            Some(group) => {
                let end = group.find('}').unwrap_or(group.len());
                group[..end].split(',').map(|name| word(name.trim())).collect::<Vec<_>>()
            }
            None => vec![word(piece)],
        })
        .collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// The siblings that a file reaches by `super`: from `commands/x/y.rs` the second `super` leads to the commands, from
/// `commands/x.rs` and `commands/x/mod.rs` the first.
fn siblings(file: &Path, text: &str) -> Vec<String> {
    let depth = file.components().count();
    let is_module = file.file_name().is_some_and(|name| name == "mod.rs");
    let steps = if is_module { depth - 1 } else { depth };
    let path = "super::".repeat(steps);
    let pieces = text.split(&path).skip(1);
    // One more `super` leads out of the commands, and one that stands before it begins elsewhere.
    pieces.map(word).filter(|name| !name.is_empty() && name != "super").collect()
}

fn faults(file: &Path, text: &str, commands: &[String]) -> Vec<String> {
    let own = command_of(file);
    let code: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let named = named_commands(&code).into_iter().chain(siblings(file, &code));
    let others = named.filter(|name| *name != own && commands.contains(name));
    others.map(|name| format!("{}: {own} uses the command {name}", file.display())).collect()
}

#[test]
fn no_command_uses_another() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of all crates");
    let folder = crates.join("cli/src/commands");
    let files: Vec<PathBuf> = longhaul_testkit::files_below(&folder)
        .into_iter()
        .filter(|file| file.extension().is_some_and(|end| end == "rs") && *file != folder.join("mod.rs"))
        .collect();
    let below = |file: &Path| file.strip_prefix(&folder).expect("it is below").to_path_buf();
    let mut commands: Vec<String> = files.iter().map(|file| command_of(&below(file))).collect();
    commands.dedup();
    assert!(commands.len() >= 10, "only {commands:?} were found");
    let found: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).expect("a source file is text");
            faults(&below(file), &text, &commands)
        })
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_way_to_name_another_command_is_found() {
    let commands = ["memory", "skills", "recall"].map(String::from);
    let check = |file: &str, text: &str, expected: usize| {
        let found = faults(Path::new(file), text, &commands);
        assert_eq!(found.len(), expected, "{file}: {text}: {found:?}");
    };
    check("memory/add.rs", "use crate::commands::skills::Desk;", 1);
    check("memory/add.rs", "use crate::commands::{memory, skills};", 1);
    check("memory/add.rs", "use super::super::recall::run;", 1);
    check("memory/mod.rs", "use super::recall::run;", 1);
    check("recall.rs", "fn f() { super::skills::run() }", 1);
    check(
        "memory/add.rs",
        "use crate::commands::memory::report; use super::report; use longhaul_skills::Skill;",
        0,
    );
    check("memory/add.rs", "use super::skills;", 0);
    check("recall.rs", "// as crate::commands::skills does\nuse crate::reports::inbox;", 0);
}
