//! Says how long it takes to find memory:
//! `cargo run --release -p longhaul-memory --example discovery -- [FOLDERS] [FILES]`.
//!
//! A full scan is compared with a bare parallel walk over the same tree by the library whose ignore rules we use.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_memory::{Discovery, JustInTime, MemorySettings, Places, WorkFolder, load_memory};

/// How often each is measured; the shortest time counts, as others may be using the machine.
const RUNS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let folders = arguments.next().transpose()?.unwrap_or(50_000);
    let files = arguments.next().transpose()?.unwrap_or(2_500);

    let root = tempfile::tempdir()?;
    let deepest = build(root.path(), folders, files)?;
    let workspace = WorkFolder { path: root.path().to_path_buf(), is_trusted: true };
    let places = Places { folders: vec![workspace], ..Places::default() };
    let full = MemorySettings {
        discovery: Discovery::Full { most_folders: folders * 2 },
        ..MemorySettings::default()
    };

    // In turns, so that both see the same machine.
    let (mut walk, mut scan) = (Duration::MAX, Duration::MAX);
    let mut found = 0;
    for _ in 0..RUNS {
        walk = walk.min(time(|| assert!(bare_walk(root.path()) >= folders)));
        scan = scan.min(time(|| found = load_memory(&places, &full).files.len()));
    }
    println!("full scan: {scan:?} for {folders} folders, {found} files found, read and laid out");
    println!("bare walk: {walk:?}; ratio {:.2} (limit 1.50)", scan.as_secs_f64() / walk.as_secs_f64());

    let tiered = MemorySettings::default();
    let inner =
        Places { folders: vec![WorkFolder { path: deepest.clone(), is_trusted: true }], ..Places::default() };
    let mut loaded = 0;
    let start = (0..RUNS * 10).map(|_| time(|| loaded = load_memory(&inner, &tiered).files.len())).min();
    println!("tiered load: {:?} for {loaded} files (limit 2 ms)", start.unwrap_or_default());

    let memory = load_memory(&places, &tiered);
    let mut jit = JustInTime::new(&places, &tiered, &memory);
    let touched = deepest.join("code.rs");
    let new = jit.look_up(&touched).files.len();
    let again = (0..RUNS * 10).map(|_| time(|| assert!(jit.look_up(&touched).files.is_empty()))).min();
    println!(
        "look-up of what is known: {:?} (limit 0.2 ms), after {new} new files",
        again.unwrap_or_default()
    );
    Ok(())
}

fn time(run: impl FnOnce()) -> Duration {
    let started = Instant::now();
    run();
    started.elapsed()
}

/// Makes a repository of so many folders, eight in each, and spreads memory files over it; returns the last folder.
fn build(root: &Path, folders: usize, files: usize) -> std::io::Result<PathBuf> {
    fs::create_dir(root.join(".git"))?;
    let mut made: Vec<PathBuf> = vec![root.to_path_buf()];
    let every = (folders / files.max(1)).max(1);
    for number in 1..folders {
        let folder = made[(number - 1) / 8].join(format!("folder-{}", number % 8));
        fs::create_dir(&folder)?;
        fs::write(folder.join("code.rs"), "fn main() {}\n")?;
        if number % every == 0 {
            let text =
                format!("# Rules of part {number}\n\n- Use `cargo fmt`.\n- Ask @alice about user@host.\n");
            fs::write(folder.join("GEMINI.md"), text.repeat(4))?;
        }
        made.push(folder);
    }
    // The last folder has memory all the way up.
    let last = made.pop().unwrap_or_else(|| root.to_path_buf());
    for folder in last.ancestors().take_while(|folder| folder.starts_with(root)) {
        fs::write(folder.join("GEMINI.md"), "- Use `cargo fmt`.\n")?;
    }
    Ok(last)
}

/// Walks over everything, looks at nothing, and counts the folders.
fn bare_walk(root: &Path) -> usize {
    let folders = std::sync::atomic::AtomicUsize::new(0);
    ignore::WalkBuilder::new(root).standard_filters(false).build_parallel().run(|| {
        Box::new(|entry| {
            if entry.is_ok_and(|entry| entry.file_type().is_some_and(|kind| kind.is_dir())) {
                folders.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
            ignore::WalkState::Continue
        })
    });
    folders.into_inner()
}
