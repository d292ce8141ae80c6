//! What comes in when a tool touches something.

mod world;

use std::path::Path;

use longhaul_memory::{JustInTime, Told, ToldFiles};
use world::World;

const FILES: &[&str] = &[
    "user/.gemini/GEMINI.md",
    "user/GEMINI.md",
    "user/work/app/.git/HEAD",
    "user/work/app/GEMINI.md",
    "user/work/app/a/GEMINI.md",
    "user/work/app/a/b/GEMINI.md",
    "user/work/app/a/b/code.rs",
    "user/work/app/c/.gemini/GEMINI.md",
];

fn begin(world: &World) -> JustInTime {
    JustInTime::new(&world.places, &world.settings, &world.load())
}

#[track_caller]
fn check(world: &World, jit: &mut JustInTime, path: &str, expected: &[&str]) {
    let found = jit.look_up(&world.path(path));
    let names: Vec<String> = found.files.iter().map(|file| world.name(&file.path)).collect();
    assert_eq!(names, expected, "{path}");
}

#[test]
fn ancestors_come_too_and_each_once() {
    let world = World::new(FILES);
    let mut jit = begin(&world);
    check(&world, &mut jit, "user/work/app/x.rs", &[]);
    check(
        &world,
        &mut jit,
        "user/work/app/a/b/code.rs",
        &["user/work/app/a/GEMINI.md", "user/work/app/a/b/GEMINI.md"],
    );
    check(&world, &mut jit, "user/work/app/a/b", &[]);
    check(&world, &mut jit, "user/work/app/c", &["user/work/app/c/.gemini/GEMINI.md"]);
    assert_eq!(jit.files().len(), 3);
}

#[test]
fn a_folder_a_file_and_what_does_not_exist_yet_all_lead_to_their_folder() {
    for path in ["user/work/app/a", "user/work/app/a/new.rs", "user/work/app/a/new/deep/er.rs"] {
        let world = World::new(FILES);
        check(&world, &mut begin(&world), path, &["user/work/app/a/GEMINI.md"]);
    }
}

#[test]
fn only_trusted_folders_have_a_say() {
    let world = World::new(FILES);
    let mut jit = begin(&world);
    for path in ["user", "user/other/x", "user/work/app/../x", "nowhere"] {
        check(&world, &mut jit, path, &[]);
    }
    assert!(jit.look_up(Path::new("relative/a")).files.is_empty());
    let world = World::new(FILES).untrusted();
    check(&world, &mut begin(&world), "user/work/app/a/b", &[]);
    // After a full scan there is nothing left to find.
    let world = World::new(FILES).full(1);
    check(&world, &mut begin(&world), "user/work/app/a/b", &[]);
}

#[test]
fn the_innermost_folder_that_is_worked_in_counts() {
    let world = World::new(&[
        "user/work/app/a/.git",
        "user/work/app/a/GEMINI.md",
        "user/work/app/a/b/GEMINI.md",
        "user/work/app/GEMINI.md",
    ])
    .working_in("user/work/app/a/b");
    // Its root is nearer than that of the outer one.
    let mut jit = begin(&world);
    check(&world, &mut jit, "user/work/app/a/b/c", &[]);
    check(&world, &mut jit, "user/work/app/a", &[]);
    assert_eq!(world.load().files.len(), 3);
}

#[test]
fn packages_of_others_bring_nothing_in() {
    let package = "user/work/app/a/node_modules/left-pad/GEMINI.md";
    let world = World::new(&[FILES, &[package, "user/work/app/a/node_modules/left-pad/index.js"]].concat());
    let touched = "user/work/app/a/node_modules/left-pad/index.js";
    check(&world, &mut begin(&world), touched, &["user/work/app/a/GEMINI.md"]);
}

#[test]
fn without_markers_nothing_above_the_folder_comes() {
    let mut world = World::new(&["user/work/GEMINI.md", "user/work/app/a/GEMINI.md", "user/work/.git/HEAD"]);
    world.settings.markers.clear();
    check(&world, &mut begin(&world), "user/work/app/a/x", &["user/work/app/a/GEMINI.md"]);
}

#[test]
fn names_that_were_chosen_are_looked_for() {
    let world = World::new(&["user/work/app/a/AGENTS.md", "user/work/app/a/GEMINI.md"]);
    check(
        &world,
        &mut begin(&world),
        "user/work/app/a",
        &["user/work/app/a/GEMINI.md", "user/work/app/a/AGENTS.md"],
    );
    let chosen = world.named(&["AGENTS.md"]);
    check(&chosen, &mut begin(&chosen), "user/work/app/a", &["user/work/app/a/AGENTS.md"]);
}

#[test]
fn rules_come_in_when_a_file_is_touched_that_they_are_for() {
    let world = World::new(&["user/work/app/.git/HEAD", "user/work/app/web/.claude/rules/all.md"])
        .with("user/work/app/.claude/rules/ts.md", "---\npaths: src/**/*.ts\n---\nNo any.")
        .with("user/work/app/web/.claude/rules/css.md", "---\npaths: \"*.css\"\n---\nNo ids.");
    let mut jit = begin(&world);
    check(&world, &mut jit, "user/work/app/src/a.js", &[]);
    check(&world, &mut jit, "user/work/app/src", &[]);
    check(&world, &mut jit, "user/work/app/src/new/b.ts", &["user/work/app/.claude/rules/ts.md"]);
    check(&world, &mut jit, "user/work/app/src/c.ts", &[]);
    check(&world, &mut jit, "user/work/app/web/x.html", &["user/work/app/web/.claude/rules/all.md"]);
    check(&world, &mut jit, "user/work/app/web/x.css", &["user/work/app/web/.claude/rules/css.md"]);
    assert_eq!(jit.files()[0].text, "(For files that match src/**/*.ts.)\nNo any.");
    // A file whose rule fell out of the transcript brings it in again.
    jit.rearm(|_| false);
    check(&world, &mut jit, "user/work/app/src/c.ts", &["user/work/app/.claude/rules/ts.md"]);
    // What a conversation holds is found again by the name of the rule itself.
    check(
        &world,
        &mut begin(&world),
        "user/work/app/.claude/rules/ts.md",
        &["user/work/app/.claude/rules/ts.md"],
    );
    let explained =
        longhaul_memory::explain(&world.path("user/work/app/src/a.ts"), &world.places, &world.settings);
    assert_eq!((explained.applies.len(), explained.skipped.len()), (1, 0), "{explained:?}");
}

#[cfg(unix)]
#[test]
fn a_rule_that_links_out_is_named_and_not_read() {
    let world = World::new(&["user/work/app/.git/HEAD", "user/work/app/.claude/rules/a.md"])
        .with("user/secret.md", "aws");
    for (link, target) in [("b.md", "user/secret.md"), ("more", "user")] {
        let link = world.path("user/work/app/.claude/rules").join(link);
        std::os::unix::fs::symlink(world.path(target), link).expect("linked");
    }
    world.check(&["project user/work/app/.claude/rules/a.md"]);
    let rules = "user/work/app/.claude/rules";
    world.check_skipped(&[&format!("outside {rules}/b.md"), &format!("outside {rules}/more")]);
}

#[test]
fn what_is_hidden_or_imported_does_not_come_in() {
    let world = World::new(FILES)
        .with("user/work/app/.geminiignore", "a/b/\n")
        .with("user/work/app/GEMINI.md", "@./a/GEMINI.md");
    let found = begin(&world).look_up(&world.path("user/work/app/a/b/x"));
    assert!(found.files.is_empty());
    let skipped: Vec<_> =
        found.skipped.iter().map(|skipped| (skipped.reason.name(), world.name(&skipped.path))).collect();
    assert_eq!(skipped, [("ignored", "user/work/app/a/b/GEMINI.md".to_owned())]);
}

#[cfg(unix)]
#[test]
fn links_are_followed_to_where_the_file_is() {
    use std::os::unix::fs::symlink;
    let world = World::new(FILES);
    symlink("a/b", world.path("user/work/app/link")).expect("linked");
    symlink(world.path("user"), world.path("user/work/app/out")).expect("linked");
    symlink("GEMINI.md", world.path("user/work/app/c/GEMINI.md")).expect("a loop");
    let mut jit = begin(&world);
    check(&world, &mut jit, "user/work/app/out/x", &[]);
    check(
        &world,
        &mut jit,
        "user/work/app/link/new.rs",
        &["user/work/app/a/GEMINI.md", "user/work/app/a/b/GEMINI.md"],
    );
    // The same file by another name.
    symlink(world.path("user/work/app/a/GEMINI.md"), world.path("user/work/app/d.md")).expect("linked");
    std::fs::create_dir(world.path("user/work/app/e")).expect("made");
    symlink("../a/GEMINI.md", world.path("user/work/app/e/GEMINI.md")).expect("linked");
    let found = jit.look_up(&world.path("user/work/app/e/x"));
    assert!(found.files.is_empty());
    assert_eq!(found.skipped[0].reason.name(), "duplicate");
    // A workspace that is itself a link is known by the name that was given.
    let mut world = World::new(FILES);
    symlink("app", world.path("user/work/alias")).expect("linked");
    world.places.folders[0].path = world.path("user/work").join("alias");
    let mut jit = begin(&world);
    check(&world, &mut jit, "user/work/app/a", &["user/work/alias/a/GEMINI.md"]);
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_does_not_come_in_and_is_named() {
    use std::os::unix::fs::symlink;
    let world = World::new(FILES).with("user/.aws/credentials", "aws_secret");
    std::fs::create_dir(world.path("user/work/app/e")).expect("made");
    symlink("../../../.aws/credentials", world.path("user/work/app/e/GEMINI.md")).expect("linked");
    let mut jit = begin(&world);
    for _ in 0..2 {
        assert_eq!(jit.block_for([world.path("user/work/app/e/x").as_path()]), None);
    }
    let links: Vec<String> = jit.links_out().iter().map(|skipped| skipped.reason.to_string()).collect();
    let target = world.path("user/.aws/credentials").display().to_string();
    assert_eq!(links, [format!("link to {target}, which is outside; not read")]);
}

/// While another program swaps a folder for a link that leads out, over and over, its memory is asked for.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_becomes_a_link_brings_nothing_in_from_outside() {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, Ordering};

    let world = World::new(FILES).with("user/outside/GEMINI.md", "aws_secret");
    std::os::unix::fs::symlink("../../outside", world.path("user/work/app/link")).expect("linked");
    let (dir, link) = (world.path("user/work/app/a"), world.path("user/work/app/link"));
    let file = world.path("user/work/app/a/x");
    let memory = world.load();
    let is_done = AtomicBool::new(false);
    let mut came_in = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).expect("swapped");
            }
        });
        let mut leaked = None;
        for _ in 0..2_000 {
            let mut jit = JustInTime::new(&world.places, &world.settings, &memory);
            let block = jit.block_for([file.as_path()]);
            came_in += usize::from(block.is_some());
            leaked = block.filter(|block| block.contains("aws_secret"));
            if leaked.is_some() {
                break;
            }
        }
        is_done.store(true, Ordering::Relaxed);
        assert_eq!(leaked, None);
    });
    assert!(came_in > 0);
}

#[test]
fn blocks_follow_the_results_of_tools() {
    let world = World::new(FILES);
    let mut jit = begin(&world);
    let paths = [
        world.path("user/work/app/a/b/code.rs"),
        world.path("user/work/app/a/x"),
        world.path("user/work/app/c/y"),
    ];
    let block = jit.block_for(paths.iter().map(std::path::PathBuf::as_path)).expect("something is new");
    let root = world.path("user/work/app").display().to_string();
    let part = |name: &str| {
        format!(
            "--- Context from: {root}/{name} ---\nuser/work/app/{name}\n--- End of Context from: {root}/{name} ---"
        )
    };
    let parts = ["a/GEMINI.md", "a/b/GEMINI.md", "c/.gemini/GEMINI.md"].map(part).join("\n\n");
    assert_eq!(
        block,
        format!("\n\n--- Newly Discovered Project Context ---\n{parts}\n--- End Project Context ---")
    );
    assert_eq!(jit.block_for([paths[0].as_path()]), None);
}

#[test]
fn what_fell_out_of_the_transcript_comes_in_again() {
    let world = World::new(FILES)
        .with("user/work/app/a/GEMINI.md", "@./note.md")
        .with("user/work/app/a/note.md", "A note.");
    let mut jit = begin(&world);
    let b = world.path("user/work/app/a/b");
    let block = jit.block_for([b.as_path()]).expect("two files");
    // A compaction keeps only what is about `b`.
    let from = block.find("/a/b/GEMINI.md").expect("it is there");
    let kept = &block[block[..from].rfind("--- Context").expect("its beginning")..];
    let lost = jit.rearm(|file| ToldFiles::read([kept]).of(file, None, &world.settings) == Told::Now);
    assert_eq!(lost, [world.path("user/work/app/a/GEMINI.md")]);
    let again = jit.look_up(&b);
    assert_eq!(again.files.len(), 1);
    assert!(again.files[0].text.contains("A note."), "what it imports comes in again, too");
    assert!(jit.rearm(|_| true).is_empty());
}

#[test]
fn imports_come_in_where_they_are_named_whatever_is_set() {
    let mut world = World::new(FILES)
        .with("user/work/app/a/GEMINI.md", "see @./note.md")
        .with("user/work/app/a/note.md", "N");
    world.settings.import_format = longhaul_memory::ImportFormat::Flat;
    let found = begin(&world).look_up(&world.path("user/work/app/a"));
    assert_eq!(
        found.files[0].text,
        "see <!-- Imported from: ./note.md -->\nN\n<!-- End of import from: ./note.md -->"
    );
}
