//! Path safety: whatever is given as a path and whatever happens meanwhile, nothing outside is read or changed.

use longhaul_tools::ToolOutcome;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::laws;
use crate::world::{SECRET, World};

/// A call of each tool with this path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"file_path": path})),
        ("list_directory", json!({"dir_path": path})),
        ("read_many_files", json!({"include": [path, format!("{path}/**")]})),
        ("glob", json!({"pattern": "**/*", "dir_path": path})),
        ("grep_search", json!({"pattern": "^the-secret", "dir_path": path})),
        ("replace", json!({"file_path": path, "old_string": SECRET, "new_string": "x"})),
        ("replace", json!({"file_path": path, "old_string": "", "new_string": "x"})),
        ("write_file", json!({"file_path": path, "content": "x"})),
    ]
}

fn piece() -> impl Strategy<Value = String> {
    let known = [
        "..",
        ".",
        "",
        "/",
        "\\",
        "..\\",
        "%2e%2e",
        "a",
        "dir",
        "out",
        "far",
        "up",
        "file",
        "outside",
        "work",
        "\0",
        "\n",
        "~",
        "…",
        "．．",
        "dir/../..",
        "C:",
        "*",
        "**",
        "{..}",
        "[.][.]",
        " ",
        "\u{202e}",
        "out/file",
        "con",
    ];
    prop_oneof![
        6 => proptest::sample::select(known.to_vec()).prop_map(str::to_string),
        1 => any::<String>(),
    ]
}

fn path() -> impl Strategy<Value = String> {
    (any::<bool>(), prop::collection::vec(piece(), 0..7)).prop_map(|(is_absolute, pieces)| {
        format!("{}{}", if is_absolute { "/" } else { "" }, pieces.join("/"))
    })
}

fn world() -> World {
    let world = World::with(&[("dir/a", "inside"), ("a", "inside")]);
    #[cfg(unix)]
    {
        use crate::world::link;
        link("../outside", &world.at("out"));
        link("out/file", &world.at("far"));
        link("../..", &world.at("dir/up"));
        link(world.folder.path(), &world.at("dir/out"));
    }
    world
}

#[track_caller]
fn check(path: &str) {
    let world = world();
    let before = world.outside();
    // Below the folder of the test, where an escape would be noticed.
    let absolute = world.folder.path().join(path.trim_start_matches('/'));
    for path in [path.to_string(), absolute.to_string_lossy().into_owned()] {
        // Should a law not hold, the files of this machine must not be touched.
        let is_elsewhere =
            path.starts_with('/') && !path.starts_with(&*world.folder.path().to_string_lossy());
        for (tool, args) in calls(&path) {
            if is_elsewhere && matches!(tool, "write_file" | "replace") {
                assert!(world.preview(tool, &args).is_err(), "{tool} {path:?}");
                continue;
            }
            let preview = format!("{:?}", world.preview(tool, &args));
            let answer = format!("{:?}", world.run(tool, &args));
            assert!(
                !preview.contains(SECRET) || tool == "replace" && preview.starts_with("Err"),
                "{tool} {path:?}"
            );
            assert!(!answer.contains(SECRET) || tool == "replace", "{tool} {path:?}: {answer}");
        }
    }
    assert_eq!(world.outside(), before, "{path:?}");
}

#[test]
fn known_ways_out_are_closed() {
    for path in [
        "..",
        "../outside/file",
        "dir/../../outside/file",
        "out/file",
        "far",
        "dir/up/outside/file",
        "/etc/hostname",
        "dir/out/outside/file",
        "out/../outside/file",
        "..\\outside\\file",
        "%2e%2e/outside/file",
        "out/new/file",
        "",
        "\0",
        "outside/file",
        "work/../outside/file",
        "out/**",
        "dir/up/*/file",
    ] {
        check(path);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn no_path_leads_out(path in path()) {
        check(&path);
    }
}

proptest! {
    #[test]
    fn replacing_keeps_its_laws(text in "[ab\r\n]{0,30}", old in "[ab\r\n]{0,4}", new in "[abc\r\n]{0,4}") {
        laws::check_replace(&text, &old, &new);
    }

    #[test]
    fn replacing_keeps_its_laws_on_any_text(
        before in any::<String>(),
        old in any::<String>(),
        after in any::<String>(),
        new in any::<String>(),
    ) {
        laws::check_replace(&format!("{before}{old}{after}"), &old, &new);
    }

    #[test]
    fn decoding_keeps_its_laws(bytes in any::<Vec<u8>>()) {
        laws::check_decode(&bytes);
    }
}

/// Reads, lists and changes files in a folder while another program swaps it over and over for a link that leads out.
#[cfg(target_os = "linux")]
#[test]
fn a_folder_that_becomes_a_link_leads_nowhere() {
    use crate::world::link;
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// Ends the swapping, also when a check fails.
    struct Done<'a>(&'a AtomicBool);
    impl Drop for Done<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    const ROUNDS: usize = 400;
    let world = World::with(&[("dir/file", "inside")]);
    link("../outside", &world.at("link"));
    // A name that exists only outside.
    const NAME: &str = "name-of-others";
    std::fs::write(world.folder.path().join("outside").join(NAME), SECRET).unwrap();
    let before = world.outside();
    let is_done = AtomicBool::new(false);
    let swaps = AtomicUsize::new(0);
    let (mut reached, mut refused) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Ordering::Relaxed) {
                renameat_with(CWD, world.at("dir"), CWD, world.at("link"), RenameFlags::EXCHANGE).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        let _done = Done(&is_done);
        for round in 0.. {
            if round >= ROUNDS && swaps.load(Ordering::Relaxed) >= ROUNDS {
                break;
            }
            let text = format!("inside {round}");
            for (tool, args) in [
                ("read_file", json!({"file_path": "dir/file"})),
                ("list_directory", json!({"dir_path": "dir"})),
                ("read_many_files", json!({"include": ["dir/*"]})),
                ("grep_search", json!({"pattern": "^(the|in)"})),
                ("grep_search", json!({"pattern": "^(the|in)", "dir_path": "dir/file"})),
                ("glob", json!({"pattern": "**/*"})),
                ("write_file", json!({"file_path": "dir/file", "content": text})),
                ("write_file", json!({"file_path": format!("dir/new-{}", round % 4), "content": text})),
                ("replace", json!({"file_path": "dir/file", "old_string": "the", "new_string": "x"})),
            ] {
                let answer = world.run(tool, &args);
                match &answer.outcome {
                    ToolOutcome::Succeeded(_) => reached += 1,
                    _ => refused += 1,
                }
                let told = format!("{answer:?}");
                assert!(!told.contains(SECRET) && !told.contains(NAME), "{tool}: {told}");
            }
        }
    });
    assert_eq!(world.outside(), before);
    assert!(reached > 0 && refused > 0, "the swaps were met: {reached} reached, {refused} refused");
}
