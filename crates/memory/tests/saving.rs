//! Facts that are saved: where, how, and what of the file stays.

mod world;

use std::fs;
use std::path::Path;

use longhaul_conversation::Timestamp;
use longhaul_memory::{
    Fact, FactChange, FactScope, KnownMemory, MemoryError, Proposal, SavedFact, edit_fact, find_facts,
    pick_facts, preview_edit, preview_removal, remove_fact, save_fact, save_target,
};
use longhaul_workspace::LockTimeout;
use proptest::prelude::*;
use world::World;

fn now() -> Timestamp {
    Timestamp::parse("2026-03-04T05:06:07Z").expect("a time")
}

fn fact(text: &str) -> Fact {
    Fact::parse(text).expect("a fact")
}

fn save(path: &Path, text: &str) -> Result<SavedFact, MemoryError> {
    save_fact(path, &fact(text), KnownMemory::default(), now(), LockTimeout::default())
}

/// Saves a fact to a file with this text, and checks what it holds then; `ITEM` stands for the new line.
#[track_caller]
fn check(before: &str, text: &str, after: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("GEMINI.md");
    fs::write(&path, before).expect("written");
    let saved = save(&path, text).expect("saved");
    let item = format!("- {text} <!-- saved 2026-03-04 -->");
    assert_eq!(fs::read_to_string(&path).expect("readable"), after.replace("ITEM", &item));
    if let FactChange::Added { line, .. } = saved.change {
        assert_eq!(fs::read_to_string(&path).expect("readable").lines().nth(line - 1), Some(item.as_str()));
    }
}

#[test]
fn facts_go_to_the_end_of_their_section() {
    check("", "a b", "## Gemini Added Memories\nITEM\n");
    check("# Mine\n\nText", "a b", "# Mine\n\nText\n\n## Gemini Added Memories\nITEM\n");
    check(
        "## Gemini Added Memories\n- x\n\n## Other\n- y\n",
        "a b",
        "## Gemini Added Memories\n- x\nITEM\n\n## Other\n- y\n",
    );
    check(
        "a\r\n## Gemini Added Memories\r\n- x\r\n",
        "a b",
        "a\r\n## Gemini Added Memories\r\n- x\r\nITEM\r\n",
    );
}

#[test]
fn a_fact_that_is_there_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("deep/GEMINI.md");
    let first = save(&path, "The port is 8080").expect("saved");
    assert_eq!(first.to_string(), "Okay, I've remembered that: \"The port is 8080\"");
    assert_eq!(first.change, FactChange::Added { line: 2, similar: None, contradicts: None });
    let text = fs::read_to_string(&path).expect("readable");
    let again = save(&path, "the PORT is  8080.").expect("nothing to do");
    assert!(
        matches!(&again.change, FactChange::AlreadyThere { known } if known.line == 2 && known.text == "The port is 8080")
    );
    assert!(again.to_string().ends_with("says \"The port is 8080\" already."), "{again}");
    assert_eq!(fs::read_to_string(&path).expect("readable"), text);
    let other = save(&path, "The port is 9090").expect("saved");
    assert!(
        matches!(&other.change, FactChange::Added { contradicts: Some(known), .. } if known.line == 2),
        "{other:?}"
    );
    assert!(other.to_string().contains("Line 2 seems to contradict it"), "{other}");
    assert_eq!(other.to_json()["success"], true);
}

#[test]
fn each_scope_has_its_file() {
    let world = World::new(&[]).named(&["AGENTS.md"]);
    let target = |scope| save_target(scope, &world.places, &world.settings).map(|path| world.name(&path));
    assert_eq!(target(FactScope::Global).expect("a place"), "user/.gemini/AGENTS.md");
    assert_eq!(target(FactScope::Project).expect("a place"), "user/.gemini/tmp/app/memory/AGENTS.md");
    // One file is written: the index where there is one, else what is there already.
    let private = |file: &str| format!("user/.gemini/tmp/app/memory/{file}");
    let world = world.with(&private("GEMINI.md"), "y");
    let target = |world: &World| {
        world.name(&save_target(FactScope::Project, &world.places, &world.settings).expect("a place"))
    };
    assert_eq!(target(&world), private("GEMINI.md"));
    let world = world.with(&private("MEMORY.md"), "x");
    assert_eq!(target(&world), private("MEMORY.md"));
    let path = save_target(FactScope::Project, &world.places, &world.settings).expect("a place");
    save(&path, "Saved and loaded.").expect("saved");
    assert!(world.load().files[0].text.contains("Saved and loaded."));
    let nowhere = longhaul_memory::Places::default();
    let error = save_target(FactScope::Project, &nowhere, &world.settings).expect_err("no place");
    assert_eq!(error.to_string(), "there is no place for project memory");
}

#[test]
fn a_proposal_is_written_as_it_was_shown() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("GEMINI.md");
    fs::write(&path, "text\n").expect("written");
    let proposal = Proposal::load(&path, &fact("new fact"), KnownMemory::default(), now()).expect("readable");
    assert_eq!(proposal.title(Some(folder.path())), "Confirm Memory Save: ~/GEMINI.md");
    assert_eq!(
        proposal.diff(),
        "--- Current\n+++ Proposed\n@@ -1 +1,4 @@\n text\n+\n+## Gemini Added Memories\n+- new fact <!-- saved 2026-03-04 -->\n"
    );
    let shown = proposal.after().to_owned();
    proposal.clone().accept(LockTimeout::default()).expect("written");
    assert_eq!(fs::read_to_string(&path).expect("readable"), shown);
    // Somebody else was faster: their words stay, and the fact is added to them.
    fs::write(&path, "other words\n").expect("written");
    proposal.accept(LockTimeout::default()).expect("written");
    let text = fs::read_to_string(&path).expect("readable");
    assert!(text.starts_with("other words\n") && text.contains("- new fact"), "{text}");
}

#[test]
fn what_the_user_made_of_a_proposal_is_written_unless_the_file_changed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("GEMINI.md");
    let proposal =
        Proposal::load(&path, &fact("new fact"), KnownMemory::default(), now()).expect("nothing there");
    let edited = proposal.clone().edited("My own words.\n".into()).expect("no secret");
    let saved = edited.clone().accept(LockTimeout::default()).expect("written");
    assert_eq!(saved.to_string(), "Okay, I've updated the memory file with your modifications.");
    assert_eq!(fs::read_to_string(&path).expect("readable"), "My own words.\n");
    fs::write(&path, "other").expect("written");
    assert!(matches!(edited.accept(LockTimeout::default()), Err(MemoryError::ChangedMeanwhile { .. })));
    assert_eq!(fs::read_to_string(&path).expect("readable"), "other");
    let token = ["ghp_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
    assert!(matches!(proposal.edited(token), Err(MemoryError::Secret { .. })));
}

#[cfg(unix)]
#[test]
fn mode_and_link_of_the_file_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let folder = tempfile::tempdir().expect("a folder");
    let (real, link) = (folder.path().join("dotfiles.md"), folder.path().join("GEMINI.md"));
    fs::write(&real, "x\n").expect("written");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).expect("set");
    symlink("dotfiles.md", &link).expect("linked");
    save(&link, "a fact").expect("saved");
    assert_eq!(fs::metadata(&real).expect("there").permissions().mode() & 0o777, 0o640);
    assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
    assert!(fs::read_to_string(&real).expect("readable").contains("a fact"));
    // A new file is private.
    let new = folder.path().join("new/GEMINI.md");
    save(&new, "a fact").expect("saved");
    assert_eq!(fs::metadata(&new).expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
fn what_is_no_text_is_left_as_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("GEMINI.md");
    fs::write(&path, b"caf\xe9").expect("written");
    assert!(matches!(save(&path, "a fact"), Err(MemoryError::NotText { .. })));
    assert_eq!(fs::read(&path).expect("readable"), b"caf\xe9");
    assert!(matches!(save(folder.path(), "a fact"), Err(MemoryError::NotText { .. })));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// Saving twice is saving once, and nothing that was there is lost.
    #[test]
    fn saving_is_idempotent(before in "(## Gemini Added Memories\n|- [a-c]{1,3}\n|## Next\n|\n|text ä\r\n){0,8}", text in "[a-eA-E .]{1,12}|[\\PC]{1,12}") {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("GEMINI.md");
        fs::write(&path, &before).expect("written");
        if let Ok(fact) = Fact::parse(&text) {
            save_fact(&path, &fact, KnownMemory::default(), now(), LockTimeout::default()).expect("saved");
            let once = fs::read_to_string(&path).expect("readable");
            save_fact(&path, &fact, KnownMemory::default(), now(), LockTimeout::default()).expect("saved");
            prop_assert_eq!(&fs::read_to_string(&path).expect("readable"), &once);
            for line in before.lines().filter(|line| !line.trim().is_empty()) {
                prop_assert!(once.lines().any(|kept| kept == line), "{:?} is gone from {:?}", line, once);
            }
        }
    }
}

/// A world in which facts are remembered in every tier.
fn remembering() -> World {
    World::new(&["user/work/app/.git/HEAD"])
        .with(
            "user/.gemini/GEMINI.md",
            "# Mine\n- Be brief\n\n## Gemini Added Memories\n- Prefers tabs <!-- saved 2026-01-02 -->\n- Likes tea\n",
        )
        .with(
            "user/.gemini/tmp/app/memory/MEMORY.md",
            "# Memory\n\n- Tests run with pnpm\n  - only in CI\n- The port is 8080\n\n```\n- no fact\n```\n",
        )
        .with("user/.gemini/tmp/app/memory/GEMINI.md", "## Gemini Added Memories\r\n- Deploys happen on Fridays\r\n")
        .with("user/work/app/AGENTS.md", "# App\n- Use pnpm 9\n")
}

#[track_caller]
fn check_picked(world: &World, which: &str, expected: &[&str]) {
    let found = pick_facts(&find_facts(&world.places, &world.settings), which);
    assert_eq!(found.iter().map(|fact| fact.text.as_str()).collect::<Vec<_>>(), expected, "{which}");
}

#[test]
fn facts_have_numbers_and_are_found_by_words() {
    let world = remembering();
    let facts = find_facts(&world.places, &world.settings);
    let listed: Vec<String> = facts
        .iter()
        .map(|fact| format!("{:?} {} {}:{}", fact.number, fact.tier, fact.line, fact.text))
        .collect();
    let expected = [
        "Some(1) global 5:Prefers tabs",
        "Some(2) global 6:Likes tea",
        "Some(3) private 3:Tests run with pnpm",
        "Some(4) private 4:only in CI",
        "Some(5) private 5:The port is 8080",
        "Some(6) private 2:Deploys happen on Fridays",
        "None global 2:Be brief",
        "None project 2:Use pnpm 9",
    ];
    assert_eq!(listed, expected);
    check_picked(&world, "3", &["Tests run with pnpm"]);
    check_picked(&world, "8080", &["The port is 8080"]);
    check_picked(&world, "the user prefers tabs.", &["Prefers tabs"]);
    check_picked(&world, "PNPM", &["Tests run with pnpm"]);
    check_picked(&world, "t", &["Prefers tabs", "Likes tea", "Tests run with pnpm", "The port is 8080"]);
    check_picked(&world, "pnpm test", &["Tests run with pnpm"]);
    check_picked(&world, "brief", &["Be brief"]);
    for nothing in ["yarn", "", "99", "no fact"] {
        check_picked(&world, nothing, &[]);
    }
    assert!(
        find_facts(&world.untrusted().places, &Default::default())
            .iter()
            .all(|fact| fact.text != "Use pnpm 9")
    );
}

/// Removes the fact that these words mean, and checks what its file holds then.
#[track_caller]
fn check_removed(which: &str, file: &str, after: &str) {
    let world = remembering();
    let facts = pick_facts(&find_facts(&world.places, &world.settings), which);
    let preview = preview_removal(&facts[0]).expect("it is there");
    assert_eq!(fs::read_to_string(world.path(file)).expect("readable"), preview.before);
    assert_eq!(preview.after, after);
    remove_fact(&facts[0], &world.places, &world.settings, LockTimeout::default()).expect("removed");
    assert_eq!(fs::read_to_string(world.path(file)).expect("readable"), after);
    // No lock is left in a project.
    assert!(!world.path("user/work/app/AGENTS.md.lock").exists());
}

#[test]
fn a_fact_is_removed_with_what_is_nested_below_it() {
    let memory = "user/.gemini/tmp/app/memory";
    check_removed(
        "Likes tea",
        "user/.gemini/GEMINI.md",
        "# Mine\n- Be brief\n\n## Gemini Added Memories\n- Prefers tabs <!-- saved 2026-01-02 -->\n",
    );
    check_removed(
        "3",
        &format!("{memory}/MEMORY.md"),
        "# Memory\n\n- The port is 8080\n\n```\n- no fact\n```\n",
    );
    check_removed("Fridays", &format!("{memory}/GEMINI.md"), "");
    check_removed("Use pnpm 9", "user/work/app/AGENTS.md", "# App\n");
}

#[test]
fn a_fact_is_edited_in_its_place() {
    let world = remembering();
    let edit = |which: &str, text: &str| {
        let found = pick_facts(&find_facts(&world.places, &world.settings), which);
        edit_fact(&found[0], fact(text), &world.places, &world.settings, now(), LockTimeout::default())
    };
    let found = pick_facts(&find_facts(&world.places, &world.settings), "Fridays");
    let preview = preview_edit(&found[0], &fact("Deploys happen on Mondays"), now()).expect("it is there");
    let edited = edit("Fridays", "Deploys happen on Mondays").expect("edited");
    assert_eq!((edited.same, edited.contradicts), (None, None));
    let file = world.path("user/.gemini/tmp/app/memory/GEMINI.md");
    let expected = "## Gemini Added Memories\r\n- Deploys happen on Mondays <!-- saved 2026-03-04 -->\r\n";
    assert_eq!(fs::read_to_string(&file).expect("readable"), expected);
    assert_eq!(preview.after, expected);
    // What other files say to it is told.
    let edited = edit("Mondays", "Tests run with npm").expect("edited");
    let known = edited.contradicts.as_ref().expect("a line");
    assert_eq!((known.line, known.text.as_str()), (3, "Tests run with pnpm"));
    assert!(edited.remark().expect("a remark").contains("MEMORY.md seems to contradict it"), "{edited:?}");
    assert!(matches!(
        Fact::parse("ghp_Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"),
        Err(MemoryError::Secret { .. })
    ));
}

#[test]
fn a_file_that_changed_meanwhile_is_looked_at_again() {
    let world = remembering();
    let found = pick_facts(&find_facts(&world.places, &world.settings), "tea");
    let path = world.path("user/.gemini/GEMINI.md");
    let remove = || remove_fact(&found[0], &world.places, &world.settings, LockTimeout::default());
    fs::write(&path, "- A\n- B\n- Likes tea\n").expect("written");
    remove().expect("found again");
    assert_eq!(fs::read_to_string(&path).expect("readable"), "- A\n- B\n");
    fs::write(&path, "- Likes tea\n- Likes tea\n").expect("written");
    assert!(matches!(remove(), Err(MemoryError::ChangedMeanwhile { .. })));
    fs::remove_file(&path).expect("removed");
    assert!(matches!(remove(), Err(MemoryError::ChangedMeanwhile { .. })));
}

#[test]
fn facts_are_compared_with_all_that_is_remembered() {
    let world = remembering();
    let add = |scope: FactScope, text: &str| {
        let path = save_target(scope.clone(), &world.places, &world.settings).expect("a place");
        let known = KnownMemory::load(&scope, &path, &world.places, &world.settings);
        save_fact(&path, &fact(text), known, now(), LockTimeout::default()).expect("saved").change
    };
    // Private memory is one, in two files; and what holds everywhere holds here.
    for text in ["Deploys happen on Fridays", "The user prefers tabs"] {
        let change = add(FactScope::Project, text);
        assert!(matches!(&change, FactChange::AlreadyThere { known } if known.file.is_some()), "{change:?}");
    }
    // What holds here does not hold everywhere.
    assert!(matches!(add(FactScope::Global, "The port is 8080"), FactChange::Added { .. }));
    let change = add(FactScope::Global, "Tests run with npm");
    let FactChange::Added { contradicts: Some(known), .. } = &change else { panic!("{change:?}") };
    assert_eq!(known.file.as_deref(), Some(world.path("user/.gemini/tmp/app/memory/MEMORY.md").as_path()));
    assert!(change.remark().expect("a remark").contains("seems to contradict it: \"Tests run with pnpm\""));
}
