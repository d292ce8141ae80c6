//! Which files are loaded at the start, in which order, and which are not.

mod world;

use std::fs;

use longhaul_conversation::Timestamp;
use longhaul_memory::{
    ExtensionContext, IncludedFolders, Instructions, MemoryTier, RenderOptions, SearchNotice, explain,
    flatten, render_first_message,
};
use longhaul_workspace::Ignoring;
use world::World;

const EVERYWHERE: &[&str] = &[
    "user/.gemini/GEMINI.md",
    "user/.gemini/tmp/app/memory/GEMINI.md",
    "user/work/GEMINI.md",
    "user/work/app/GEMINI.md",
    "user/work/app/.git/HEAD",
    "user/work/app/src/GEMINI.md",
    "user/work/app/src/deep/GEMINI.md",
];

#[test]
fn the_tiered_way_goes_up_to_the_root_and_no_further() {
    World::new(EVERYWHERE).check(&[
        "global user/.gemini/GEMINI.md",
        "private user/.gemini/tmp/app/memory/GEMINI.md",
        "project user/work/app/GEMINI.md",
    ]);
    // The root is where the marker is, be it a file.
    World::new(&["user/work/.git", "user/work/GEMINI.md", "user/work/app/GEMINI.md", "user/GEMINI.md"])
        .check(&["project user/work/GEMINI.md", "project user/work/app/GEMINI.md"]);
    // Without a root, only the folder itself.
    World::new(&["user/work/GEMINI.md", "user/work/app/GEMINI.md"])
        .check(&["project user/work/app/GEMINI.md"]);
}

#[test]
fn markers_can_be_chosen_or_none() {
    let files =
        ["user/work/root.txt", "user/work/GEMINI.md", "user/work/app/GEMINI.md", "user/work/app/.git/HEAD"];
    let mut world = World::new(&files);
    world.settings.markers = vec!["root.txt".into()];
    world.check(&["project user/work/GEMINI.md", "project user/work/app/GEMINI.md"]);
    world.settings.markers = vec![];
    world.check(&["project user/work/app/GEMINI.md"]);
    world.full(100).check(&["project user/work/app/GEMINI.md"]);
}

#[test]
fn files_in_the_folder_for_settings_count_after_those_beside_it() {
    let files = ["user/work/app/.git/HEAD", "user/work/app/.gemini/GEMINI.md", "user/work/app/GEMINI.md"];
    World::new(&files).check(&["project user/work/app/GEMINI.md", "project user/work/app/.gemini/GEMINI.md"]);
}

#[test]
fn several_names_stay_together_in_their_order() {
    let files = [
        "user/.gemini/AGENTS.md",
        "user/.gemini/GEMINI.md",
        "user/work/.git/HEAD",
        "user/work/AGENTS.md",
        "user/work/GEMINI.md",
        "user/work/CLAUDE.md",
        "user/work/app/CLAUDE.md",
        "user/work/app/AGENTS.md",
    ];
    World::new(&files).check(&[
        "global user/.gemini/GEMINI.md",
        "global user/.gemini/AGENTS.md",
        "project user/work/GEMINI.md",
        "project user/work/AGENTS.md",
        "project user/work/CLAUDE.md",
        "project user/work/app/AGENTS.md",
        "project user/work/app/CLAUDE.md",
    ]);
    // Names that are chosen replace these, and what is there under others is told.
    let chosen = World::new(&files).named(&["CLAUDE.md", "AGENTS.md"]);
    chosen.check(&[
        "global user/.gemini/AGENTS.md",
        "project user/work/CLAUDE.md",
        "project user/work/AGENTS.md",
        "project user/work/app/CLAUDE.md",
        "project user/work/app/AGENTS.md",
    ]);
    chosen.check_skipped(&["other-name user/.gemini/GEMINI.md", "other-name user/work/GEMINI.md"]);
    let reason = chosen.load().skipped[0].reason.to_string();
    assert_eq!(reason, "its name is not one of CLAUDE.md, AGENTS.md (context.fileName)");
}

#[test]
fn a_text_that_several_files_have_is_loaded_once() {
    let app = |name: &str| format!("user/work/app/{name}");
    let world = World::new(&["user/work/app/.git/HEAD"])
        .with(&app("AGENTS.md"), "Use tabs.\n\nBe brief.\n")
        .with(&app("CLAUDE.md"), "Use tabs.\r\n\r\nBe brief.");
    world.check(&["project user/work/app/AGENTS.md"]);
    world.check_skipped(&["duplicate user/work/app/CLAUDE.md"]);
    let world =
        world.with(&app("AGENTS.md"), "Use tabs.\n\nBe brief.\n\n## Gemini Added Memories\n- Likes tea\n");
    world.check(&["project user/work/app/AGENTS.md"]);
    // An import of a file that is there is worth a comment only beside other words.
    let world = world.with(&app("CLAUDE.md"), "@AGENTS.md\n");
    world.check(&["project user/work/app/AGENTS.md"]);
    world.check_skipped(&["duplicate user/work/app/CLAUDE.md"]);
    let world = world.with(&app("CLAUDE.md"), "# Claude\n\nSee @AGENTS.md\n");
    world.check(&["project user/work/app/AGENTS.md", "project user/work/app/CLAUDE.md"]);
    assert_eq!(world.load().files[1].text, "# Claude\n\nSee <!-- File already processed: AGENTS.md -->");
    let world = world.with(&app("GEMINI.md"), "@./AGENTS.md").with(&app("CLAUDE.md"), "");
    world.check(&["project user/work/app/GEMINI.md"]);
    world.check_skipped(&["duplicate user/work/app/AGENTS.md", "blank user/work/app/CLAUDE.md"]);
    // What is said of another folder is said of that one as well.
    let world = World::new(&["user/work/.git/HEAD"])
        .with("user/work/GEMINI.md", "Use tabs.")
        .with(&app("AGENTS.md"), "Use tabs.");
    world.check(&["project user/work/GEMINI.md", "project user/work/app/AGENTS.md"]);
}

#[test]
fn rules_of_claude_code_count_and_those_for_certain_paths_wait() {
    let app = |name: &str| format!("user/work/app/{name}");
    let world = World::new(&["user/work/app/.git/HEAD", &app("GEMINI.md"), &app(".claude/CLAUDE.md")])
        .with(&app(".claude/rules/style.md"), "---\ndescription: x\n---\nLines are short.\n")
        .with(&app(".claude/rules/web/api.md"), "---\npaths: [\"src/**/*.ts\"]\n---\nNo any.\n")
        .with(&app(".claude/rules/bad.md"), "---\npaths: \"src/{a\"\n---\nx\n");
    world.check(&[
        "project user/work/app/GEMINI.md",
        "project user/work/app/.claude/CLAUDE.md",
        "project user/work/app/.claude/rules/style.md",
    ]);
    assert_eq!(world.load().files[2].text, "Lines are short.");
    world.check_skipped(&[
        "unreadable user/work/app/.claude/rules/bad.md",
        "other-paths user/work/app/.claude/rules/web/api.md",
    ]);
    // Where nothing comes in later, everything does at the start.
    let rule = world.full(100).load().files.pop().expect("a file");
    assert_eq!(rule.text, "(For files that match src/**/*.ts.)\nNo any.");
    let untrusted = World::new(&[&app(".claude/rules/a.md")]).untrusted();
    untrusted.check(&[]);
    untrusted.check_skipped(&["untrusted user/work/app/.claude/rules/a.md"]);
    let hidden = World::new(&[&app(".claude/rules/a.md")]).with(&app(".geminiignore"), ".claude/\n");
    hidden.check_skipped(&["ignored user/work/app/.claude/rules/a.md"]);
    let unnamed = World::new(&[&app(".claude/rules/a.md"), &app("GEMINI.md")]).named(&["GEMINI.md"]);
    unnamed.check(&["project user/work/app/GEMINI.md"]);
    unnamed.check_skipped(&["other-name user/work/app/.claude/rules/a.md"]);
}

#[test]
fn of_a_file_that_is_too_large_the_beginning_is_loaded() {
    let app = "user/work/app/GEMINI.md";
    let world = World::new(&[]).with(app, &"A line of some words.\n".repeat(100_000));
    world.check(&["project user/work/app/GEMINI.md"]);
    let memory = world.load();
    assert!(memory.files[0].tokens().0 > 500_000, "{}", memory.files[0].tokens().0);
    let explained = explain(&world.path("user/work/app/x"), &world.places, &world.settings);
    let [left] = explained.left_out.as_slice() else { panic!("{:?}", explained.left_out) };
    assert_eq!(left.tokens, memory.files[0].tokens());
    assert!(left.kept.0 > 35_000 && left.kept <= world.settings.budgets.project, "{left:?}");
    let now = Timestamp::from_millis(0);
    let options = RenderOptions { settings: &world.settings, workspace: None, now };
    let first = render_first_message(&memory, &options).text;
    assert!(first.contains("\n[Cut here: about ") && first.len() < 200_000, "{}", first.len());
}

#[test]
fn a_full_scan_also_takes_what_is_below_and_the_folder_above_the_root() {
    World::new(EVERYWHERE).full(200).check(&[
        "global user/.gemini/GEMINI.md",
        "private user/.gemini/tmp/app/memory/GEMINI.md",
        "project user/work/GEMINI.md",
        "project user/work/app/GEMINI.md",
        "sub-directory user/work/app/src/GEMINI.md",
        "sub-directory user/work/app/src/deep/GEMINI.md",
    ]);
    // Without a root it goes up to the user's folder and the one above.
    World::new(&["GEMINI.md", "user/GEMINI.md", "user/work/GEMINI.md", "user/work/app/GEMINI.md"])
        .full(200)
        .check(&[
            "project GEMINI.md",
            "project user/GEMINI.md",
            "project user/work/GEMINI.md",
            "project user/work/app/GEMINI.md",
        ]);
}

#[test]
fn a_scan_puts_outer_folders_before_inner_ones() {
    let files = [
        "user/work/app/GEMINI.md",
        "user/work/app/App/x/GEMINI.md",
        "user/work/app/Z/GEMINI.md",
        "user/work/app/.git/HEAD",
    ];
    World::new(&files).full(200).check(&[
        "project user/work/app/GEMINI.md",
        "sub-directory user/work/app/Z/GEMINI.md",
        "sub-directory user/work/app/App/x/GEMINI.md",
    ]);
}

#[test]
fn a_scan_that_was_cut_short_says_so() {
    let world = World::new(EVERYWHERE).full(2);
    world.check(&[
        "global user/.gemini/GEMINI.md",
        "private user/.gemini/tmp/app/memory/GEMINI.md",
        "project user/work/GEMINI.md",
        "project user/work/app/GEMINI.md",
        "sub-directory user/work/app/src/GEMINI.md",
    ]);
    let folder = world.path("user/work/app");
    let notice = SearchNotice::ScanCutShort { folder, scanned: 2, left: 1 };
    assert_eq!(world.load().notices, std::slice::from_ref(&notice));
    assert!(
        notice.to_string().ends_with("stopped at its limit of 2 folders; at least 1 more were not searched")
    );
    assert!(World::new(EVERYWHERE).full(3).load().notices.is_empty());
}

#[test]
fn ignore_files_hide_memory_from_a_scan() {
    let files =
        ["user/work/app/.git/HEAD", "user/work/app/lib/node/GEMINI.md", "user/work/app/docs/GEMINI.md"];
    let world = World::new(&files).with("user/work/app/.gitignore", "lib/\n").full(200);
    // Git's own files do not count for memory unless that is set.
    world.check(&[
        "sub-directory user/work/app/docs/GEMINI.md",
        "sub-directory user/work/app/lib/node/GEMINI.md",
    ]);
    let mut world = world;
    world.settings.ignoring = Ignoring { git: true, ..Ignoring::default() };
    world.check(&["sub-directory user/work/app/docs/GEMINI.md"]);
    let world = world.with("user/work/app/.geminiignore", "docs/GEMINI.md\n!lib/\n");
    world.check(&["sub-directory user/work/app/lib/node/GEMINI.md"]);
    world.check_skipped(&["ignored user/work/app/docs/GEMINI.md"]);
}

#[test]
fn strangers_say_nothing_but_the_user_does() {
    for world in [World::new(EVERYWHERE), World::new(EVERYWHERE).full(200)] {
        let mut world = world.untrusted();
        world.places.instructions = vec![Instructions { server: "s".into(), text: "obey".into() }];
        world.check(&["global user/.gemini/GEMINI.md", "private user/.gemini/tmp/app/memory/GEMINI.md"]);
        assert!(world.load().instructions.is_empty());
        assert!(world.load().skipped.iter().any(|skipped| skipped.reason.name() == "untrusted"));
    }
}

#[test]
fn included_folders_belong_to_the_workspace() {
    let files = ["user/work/app/GEMINI.md", "user/lib/GEMINI.md", "user/lib/sub/GEMINI.md"];
    let world = World::new(&files).working_in("user/lib");
    world.check(&["project user/lib/GEMINI.md", "project user/work/app/GEMINI.md"]);
    let mut world = World::new(&[&files[..], &["user/work/app/.git/HEAD", "user/lib/.git/HEAD"]].concat())
        .working_in("user/lib")
        .full(200);
    world.check(&["project user/work/app/GEMINI.md"]);
    world.settings.included = IncludedFolders::All;
    world.check(&[
        "project user/lib/GEMINI.md",
        "sub-directory user/lib/sub/GEMINI.md",
        "project user/work/app/GEMINI.md",
    ]);
    for world in [&mut world, &mut World::new(&files).working_in("user/lib")] {
        world.settings.included = IncludedFolders::None;
        world.check(&["project user/work/app/GEMINI.md"]);
        world.check_skipped(&["included-folder user/lib/GEMINI.md"]);
        let explained = explain(&world.path("user/lib/sub/x"), &world.places, &world.settings);
        assert_eq!(explained.applies.len(), 1, "{:?}", explained.applies);
        assert!(explained.skipped.iter().all(|skipped| skipped.reason.name() == "included-folder"));
        assert_eq!(explained.skipped.len(), 2, "{:?}", explained.skipped);
    }
    // A folder that is named twice is loaded once, and one without trust not at all.
    let mut twice = World::new(&files).working_in("user/work/app").working_in("user/lib");
    twice.places.folders[2].is_trusted = false;
    twice.check(&["project user/work/app/GEMINI.md"]);
}

#[test]
fn many_folders_are_loaded() {
    let files: Vec<String> = (0..120).map(|number| format!("user/work/app/d{number}/GEMINI.md")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let world = World::new(&files).full(1_000);
    let memory = world.load();
    assert_eq!(memory.files.len(), 120);
    assert!(memory.files.iter().all(|file| file.text == world.name(&file.path)));
}

#[test]
fn the_users_own_folder_is_no_project() {
    let files = ["user/.gemini/GEMINI.md", "user/GEMINI.md", "user/a/GEMINI.md"];
    for world in [World::new(&files), World::new(&files).full(200)] {
        let mut world = world;
        world.places.folders[0].path = world.path("user");
        world.check(&["global user/.gemini/GEMINI.md"]);
        assert!(matches!(world.load().notices[..], [SearchNotice::WorkspaceIsUserHome { .. }]));
    }
}

#[test]
fn private_memory_has_a_new_name_and_older_ones() {
    let folder = "user/.gemini/tmp/app/memory";
    let older = format!("{folder}/GEMINI.md");
    let agents = format!("{folder}/AGENTS.md");
    let newer = format!("{folder}/MEMORY.md");
    World::new(&[&older, &agents])
        .named(&["AGENTS.md"])
        .check(&[&format!("private {agents}"), &format!("private {older}")]);
    // All of it is one to its reader; the notes beside it are read where they are needed.
    let note = format!("{folder}/database.md");
    let world = World::new(&[&older, &newer, &note]).with(&format!("{folder}/.hidden.md"), "x");
    world.check(&[&format!("private {newer}"), &format!("private {older}")]);
    world.check_skipped(&[&format!("note {note}")]);
    let same = World::new(&[]).with(&older, "- Use tabs\n").with(&newer, "- Use tabs");
    same.check(&[&format!("private {newer}")]);
}

#[test]
fn extensions_bring_their_files_sorted_and_once() {
    let mut world = World::new(&["x/b/GEMINI.md", "x/a/GEMINI.md"]);
    let files = ["x/b/GEMINI.md", "x/a/GEMINI.md", "x/b/GEMINI.md", "x/none.md"].map(|file| world.path(file));
    world.places.extensions =
        vec![ExtensionContext { name: "x".into(), folder: world.path("x"), files: files.to_vec() }];
    world.check(&["extension x/a/GEMINI.md", "extension x/b/GEMINI.md"]);
    world.check_skipped(&["unreadable x/none.md"]);
}

#[cfg(unix)]
#[test]
fn one_file_is_loaded_once_by_whatever_name() {
    use std::os::unix::fs::symlink;
    let world = World::new(&["user/work/app/GEMINI.md", "user/work/app/.git/HEAD", "user/.gemini/GEMINI.md"])
        .named(&["AGENTS.md", "CLAUDE.md", "GEMINI.md"]);
    symlink("GEMINI.md", world.path("user/work/app/AGENTS.md")).expect("linked");
    fs::hard_link(world.path("user/work/app/GEMINI.md"), world.path("user/work/app/CLAUDE.md"))
        .expect("linked");
    world.check(&["global user/.gemini/GEMINI.md", "project user/work/app/AGENTS.md"]);
    world.check_skipped(&["duplicate user/work/app/CLAUDE.md", "duplicate user/work/app/GEMINI.md"]);
    // The first tier has what two share.
    fs::hard_link(world.path("user/.gemini/GEMINI.md"), world.path("user/work/app/.gemini.md"))
        .expect("linked");
    fs::remove_file(world.path("user/work/app/AGENTS.md")).expect("removed");
    fs::rename(world.path("user/work/app/.gemini.md"), world.path("user/work/app/AGENTS.md")).expect("named");
    world.check(&["global user/.gemini/GEMINI.md", "project user/work/app/CLAUDE.md"]);
    // A link that leads nowhere is nothing.
    fs::remove_file(world.path("user/work/app/AGENTS.md")).expect("removed");
    symlink("nowhere", world.path("user/work/app/AGENTS.md")).expect("linked");
    world.check(&["global user/.gemini/GEMINI.md", "project user/work/app/CLAUDE.md"]);
}

/// Checks what becomes of a memory file that is a link, in a world with a secret outside of everything.
#[cfg(unix)]
#[track_caller]
fn check_link(prepare: impl Fn(World) -> World, link: &str, target: &str, loaded: &[&str], skipped: &[&str]) {
    const SECRET: &str = "aws_secret";
    let world = World::new(&["user/work/app/.git/HEAD", "user/work/other/.git/HEAD"])
        .with("outside/credentials", SECRET)
        .with("user/.aws/credentials", SECRET)
        .with("user/work/other/GEMINI.md", SECRET)
        .with("user/work/app/notes.md", "claude")
        .with("user/dotfiles/gemini.md", "dotfiles");
    let world = prepare(world);
    let path = world.path(link);
    fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
    std::os::unix::fs::symlink(world.path(target), &path).expect("linked");
    world.check(loaded);
    world.check_skipped(skipped);
    let is_outside = skipped.iter().any(|skipped| skipped.starts_with("outside"));
    let memory = world.load();
    assert!(!is_outside || memory.files.iter().all(|file| !file.text.contains(SECRET)), "{memory:?}");
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_project_is_not_read_and_is_named() {
    let app = "user/work/app/GEMINI.md";
    for target in ["outside/credentials", "user/.aws/credentials", "user/work/other/GEMINI.md"] {
        check_link(|world| world, app, target, &[], &["outside user/work/app/GEMINI.md"]);
    }
    let below = "user/work/app/.gemini/GEMINI.md";
    check_link(|world| world, below, "user/.aws/credentials", &[], &[&format!("outside {below}")]);
    // Nor does a full scan, for which the folder above the root counts, too.
    let full = |world: World| world.full(100);
    check_link(full, app, "user/work/other/GEMINI.md", &[], &[&format!("outside {app}")]);
    let above = "user/work/GEMINI.md";
    check_link(full, above, "user/.aws/credentials", &[], &[&format!("outside {above}")]);
    // Inside of the project a link may lead anywhere, and to another folder that is worked in.
    check_link(|world| world, app, "user/work/app/notes.md", &[&format!("project {app}")], &[]);
    let working_in_both = |world: World| world.working_in("user/work/other");
    let both = [&*format!("project {app}")];
    let duplicate = ["duplicate user/work/other/GEMINI.md"];
    check_link(working_in_both, app, "user/work/other/GEMINI.md", &both, &duplicate);
}

#[cfg(unix)]
#[test]
fn a_link_of_the_user_s_own_stays_in_the_user_s_folder() {
    let global = "user/.gemini/GEMINI.md";
    check_link(|world| world, global, "user/dotfiles/gemini.md", &[&format!("global {global}")], &[]);
    check_link(|world| world, global, "outside/credentials", &[], &[&format!("outside {global}")]);
    let private = "user/.gemini/tmp/app/memory/MEMORY.md";
    for target in ["user/dotfiles/gemini.md", "outside/credentials"] {
        check_link(|world| world, private, target, &[], &[&format!("outside {private}")]);
    }
}

#[cfg(unix)]
#[test]
fn a_link_of_an_extension_stays_in_its_folder() {
    let file = "user/.gemini/extensions/x/GEMINI.md";
    let with_extension = |mut world: World| {
        let folder = world.path("user/.gemini/extensions/x");
        let files = vec![world.path(file)];
        world.places.extensions = vec![ExtensionContext { name: "x".into(), folder, files }];
        world.with("user/.gemini/extensions/x/docs/context.md", "context")
    };
    let inside = "user/.gemini/extensions/x/docs/context.md";
    check_link(with_extension, file, inside, &[&format!("extension {file}")], &[]);
    check_link(with_extension, file, "user/.aws/credentials", &[], &[&format!("outside {file}")]);
}

#[test]
fn what_is_imported_does_not_come_in_again() {
    let world = World::new(&["user/work/app/.git/HEAD", "user/work/app/docs/GEMINI.md"])
        .with("user/work/app/GEMINI.md", "a @./docs/GEMINI.md")
        .full(200);
    world.check(&["project user/work/app/GEMINI.md"]);
    world.check_skipped(&["duplicate user/work/app/docs/GEMINI.md"]);
    let memory = world.load();
    assert!(memory.files[0].text.contains("user/work/app/docs/GEMINI.md\n<!-- End"));
}

#[test]
fn blank_and_unreadable_files_are_left_out() {
    let world = World::new(&["user/work/app/GEMINI.md/a-folder"]).with("user/.gemini/GEMINI.md", " \n\t\r\n");
    world.check(&[]);
    world.check_skipped(&["blank user/.gemini/GEMINI.md"]);
    let binary = World::new(&[]).with("user/.gemini/GEMINI.md", "a\0b");
    binary.check_skipped(&["unreadable user/.gemini/GEMINI.md"]);
}

#[test]
fn memory_is_shown_in_sections() {
    let mut world = World::new(EVERYWHERE).with("user/.gemini/GEMINI.md", "\n  Be brief.\n\n");
    world.places.instructions = vec![Instructions { server: "s".into(), text: "\n Use the server.".into() }];
    let memory = world.load();
    let text = flatten(&memory, None, &world.settings).replace(world.path("").to_str().expect("text"), "/");
    assert_eq!(
        text,
        "--- Global ---
--- Context from: /user/.gemini/GEMINI.md ---
Be brief.
--- End of Context from: /user/.gemini/GEMINI.md ---

--- Private Project Memory ---
--- Context from: /user/.gemini/tmp/app/memory/GEMINI.md ---
user/.gemini/tmp/app/memory/GEMINI.md
--- End of Context from: /user/.gemini/tmp/app/memory/GEMINI.md ---

--- Project ---
--- Context from: /user/work/app/GEMINI.md ---
user/work/app/GEMINI.md
--- End of Context from: /user/work/app/GEMINI.md ---

Use the server."
    );
    assert_eq!(flatten(&World::new(&[]).load(), None, &world.settings), "");
}

#[test]
fn a_change_on_disk_is_noticed_in_imports_too() {
    let world = World::new(&["user/work/app/b.md"]).with("user/work/app/GEMINI.md", "@./b.md");
    let memory = world.load();
    assert!(memory.changed_on_disk().is_empty());
    let world = world.with("user/work/app/b.md", "other");
    assert_eq!(memory.changed_on_disk(), [world.path("user/work/app/b.md")]);
    let event = longhaul_memory::MemoryEvent::between(&memory, &world.load());
    let changed = vec![world.path("user/work/app/GEMINI.md")];
    assert_eq!(event, longhaul_memory::MemoryEvent::MemoryChanged { file_count: 1, changed });
    assert_eq!(world.load().files_of(&[MemoryTier::Project]).count(), 1);
}
