//! The laws, on texts made at random.

mod laws;
mod world;

use std::collections::HashSet;

use longhaul_memory::JustInTime;
use proptest::prelude::*;
use world::World;

/// Pieces of paths, of Markdown and of mischief.
fn piece() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(vec![
        "@",
        "./",
        "../",
        "/",
        "a.md",
        "sub",
        "/b.md",
        "deep",
        "c.txt",
        "out",
        "in",
        "loop",
        "secret.md",
        "outside",
        "ROOT",
        "repo",
        "-2",
        "near.md",
        "%2e",
        "%2f",
        "%",
        "my%20file.md",
        " ",
        "\n",
        "\t",
        "`",
        "```\n",
        "~~~\n",
        "    ",
        "http://",
        "file:",
        "GEMINI.md",
        "</loaded_context>",
        "<!--",
        "-->",
        "é",
        "\r\n",
        "\\",
        "..",
        "...",
        ".",
        "x",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn imports_keep_their_laws(pieces in proptest::collection::vec(piece(), 0..24)) {
        laws::check_imports(&pieces.concat());
    }

    #[test]
    fn paths_from_pieces_stay_inside(paths in proptest::collection::vec(proptest::collection::vec(piece(), 1..8), 1..5)) {
        let words: Vec<String> = paths.iter().map(|path| format!("@./{}", path.concat())).collect();
        laws::check_imports(&words.join(" "));
    }

    #[test]
    fn any_text_will_do(text in "\\PC{0,80}") {
        laws::check_imports(&text);
    }

    /// Whatever is where and is touched in whatever order: each file comes in once, outer ones before inner ones.
    #[test]
    fn files_come_in_once_and_from_the_outside_in(
        folders in proptest::collection::hash_set("(a|B|c)(/(a|B|c)){0,3}(/\\.gemini)?", 0..8),
        touched in proptest::collection::vec("(a|B|c)(/(a|B|c|new)){0,4}", 0..6),
        scans in any::<bool>(),
    ) {
        let files: Vec<String> = folders.iter().map(|folder| format!("user/work/app/{folder}/GEMINI.md")).collect();
        let world = World::new(&files.iter().map(String::as_str).collect::<Vec<_>>()).with("user/work/app/.git", "");
        let world = if scans { world.full(1_000) } else { world };
        let memory = world.load();
        let mut jit = JustInTime::new(&world.places, &world.settings, &memory);
        let mut batches = vec![memory.files];
        for path in &touched {
            batches.push(jit.look_up(&world.path("user/work/app").join(path)).files);
        }
        let mut seen = HashSet::new();
        for batch in &batches {
            let owner = |place: usize| {
                let folder = batch[place].path.parent().expect("a folder");
                if folder.ends_with(".gemini") { folder.parent().expect("a folder") } else { folder }
            };
            for place in 0..batch.len() {
                prop_assert!(seen.insert(batch[place].path.clone()), "{:?} came in twice", batch[place].path);
                for later in place + 1..batch.len() {
                    let is_inner = owner(place) != owner(later) && owner(place).starts_with(owner(later));
                    prop_assert!(!is_inner, "{:?} before {:?}", batch[place].path, batch[later].path);
                }
            }
        }
        if scans {
            prop_assert_eq!(seen.len(), files.len());
        }
    }
}
