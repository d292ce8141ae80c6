//! Memory trees of real repositories: every file is loaded, real imports come in, and what only looks like one stays.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_memory::{
    ContextNames, Discovery, Import, ImportOutcome, JustInTime, MemorySettings, Places, WorkFolder,
    load_memory, load_with_imports,
};
use longhaul_testkit::{corpus, files_below};

const NAMES: [&str; 4] = ["AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md"];

/// The trees, each copied to a folder of its own that is the root of a repository.
fn trees() -> Vec<(String, tempfile::TempDir)> {
    let Some(corpus) = corpus() else { return Vec::new() };
    let folder = corpus.join("memory-trees");
    let entries = fs::read_dir(&folder).expect("the trees").map(|entry| entry.expect("an entry").path());
    let mut trees: Vec<_> = entries
        .map(|tree| {
            let copy = tempfile::tempdir().expect("a folder");
            fs::create_dir(copy.path().join(".git")).expect("made");
            for file in files_below(&tree) {
                let target = copy.path().join(file.strip_prefix(&tree).expect("inside"));
                fs::create_dir_all(target.parent().expect("inside")).expect("made");
                fs::copy(&file, target).expect("copied");
            }
            (tree.file_name().expect("a name").to_string_lossy().into_owned(), copy)
        })
        .collect();
    trees.sort_by(|one, other| one.0.cmp(&other.0));
    trees
}

fn settings(discovery: Discovery) -> MemorySettings {
    MemorySettings { names: ContextNames::of(NAMES).0, discovery, ..MemorySettings::default() }
}

fn places(folder: &Path) -> Places {
    Places { folders: vec![WorkFolder { path: folder.to_path_buf(), is_trusted: true }], ..Places::default() }
}

fn is_memory(file: &Path) -> bool {
    NAMES.iter().any(|name| file.file_name().is_some_and(|found| found == *name))
}

fn all_imports(imports: &[Import]) -> Vec<&Import> {
    let mut all = Vec::new();
    for import in imports {
        all.push(import);
        if let ImportOutcome::Included { imports, .. } = &import.outcome {
            all.extend(all_imports(imports));
        }
    }
    all
}

#[test]
fn every_file_is_loaded_once_by_a_scan() {
    for (name, tree) in trees() {
        let memory = load_memory(&places(tree.path()), &settings(Discovery::Full { most_folders: 1_000 }));
        let mut found: Vec<PathBuf> = memory.files.iter().map(|file| file.path.clone()).collect();
        found.extend(memory.skipped.iter().map(|skipped| skipped.path.clone()));
        found.sort();
        let mut expected: Vec<PathBuf> =
            files_below(tree.path()).into_iter().filter(|file| is_memory(file)).collect();
        expected.sort();
        assert_eq!(found, expected, "{name}");
        assert!(
            memory.skipped.iter().all(|skipped| skipped.reason.name() == "duplicate"),
            "{name}: {:?}",
            memory.skipped
        );
        assert!(memory.notices.is_empty(), "{name}: {:?}", memory.notices);
        // Every line of every file is in the context exactly where one file says it.
        for file in &memory.files {
            let own = fs::read_to_string(&file.path).expect("text");
            let plain = own
                .lines()
                .filter(|line| !line.contains('@') && !line.contains('<') && !line.starts_with("---"));
            assert!(
                plain.into_iter().all(|line| file.text.contains(line.trim())),
                "{name}: {}",
                file.path.display()
            );
        }
    }
}

#[test]
fn real_imports_come_in_and_nothing_else_is_touched() {
    let mut included = Vec::new();
    let mut failed = Vec::new();
    for (name, tree) in trees() {
        for file in files_below(tree.path()).into_iter().filter(|file| is_memory(file)) {
            let imported = load_with_imports(&file, &MemorySettings::default()).expect("readable");
            for import in all_imports(&imported.imports) {
                let told = format!("{name} {}", import.written);
                match &import.outcome {
                    ImportOutcome::Included { .. } => included.push(told),
                    _ => failed.push(told),
                }
            }
            if imported.imports.is_empty() {
                let own = fs::read_to_string(&file).expect("text");
                assert_eq!(imported.text, own, "{name}: {} was changed", file.display());
            }
        }
    }
    if included.is_empty() {
        return; // There is no corpus.
    }
    // What the list of the corpus calls found, and nothing that it does not.
    let expected = [
        "AI-Driven-School+aiki .codex/memories/project-overview.md",
        "AI-Driven-School+aiki .gemini/memories/project-overview.md",
        "cloudflare+workers-sdk AGENTS.md",
        "coleam00+Archon AGENTS.md",
        "obra+superpowers ./skills/using-superpowers/SKILL.md",
        "obra+superpowers ./skills/using-superpowers/references/gemini-tools.md",
        "simonw+claude-code-transcripts AGENTS.md",
    ];
    included.sort();
    assert_eq!(included, expected);
    assert_eq!(failed, [] as [String; 0], "these were never meant as imports");
}

#[test]
fn folders_bring_their_files_in_when_they_are_touched() {
    for (name, tree) in trees() {
        let (places, settings) = (places(tree.path()), settings(Discovery::Tiered));
        let memory = load_memory(&places, &settings);
        let mut jit = JustInTime::new(&places, &settings, &memory);
        let mut loaded = memory.files.len() + memory.skipped.len();
        for file in files_below(tree.path()) {
            let found = jit.look_up(&file.with_file_name("code.rs"));
            loaded += found.files.len() + found.skipped.len();
        }
        let expected = files_below(tree.path()).iter().filter(|file| is_memory(file)).count();
        assert!(loaded >= expected, "{name}: {loaded} of {expected}");
    }
}
