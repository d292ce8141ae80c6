//! What always holds of imports, whatever a file says.

use std::fs;
use std::path::Path;

use longhaul_memory::{Import, ImportFormat, ImportOutcome, MemorySettings, load_with_imports};

/// The files of the repository, and one outside of it that must never be read. Each says something of its own.
const FILES: [(&str, &str); 6] = [
    ("repo/a.md", "text of a"),
    ("repo/sub/b.md", "text of b"),
    ("repo/sub/deep/c.txt", "text of c"),
    ("repo/my file.md", "text of d"),
    ("outside/secret.md", "text from outside"),
    ("repo-2/near.md", "text from outside"),
];

/// Puts a text into a repository and imports what it names; then checks that nothing came from outside, that every text
/// came in at most once, and that words which import nothing are as they were.
pub(crate) fn check_imports(text: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().canonicalize().expect("there");
    for (name, said) in FILES {
        fs::create_dir_all(root.join(name).parent().expect("inside")).expect("made");
        // Files import each other in circles, too.
        fs::write(root.join(name), format!("{said}\n@./a.md @../sub/b.md @GEMINI.md\n")).expect("written");
    }
    fs::create_dir(root.join("repo/.git")).expect("made");
    #[cfg(unix)]
    for (link, target) in
        [("out", "../outside"), ("in", "sub"), ("loop", "loop"), ("secret.md", "../outside/secret.md")]
    {
        std::os::unix::fs::symlink(target, root.join("repo").join(link)).expect("linked");
    }
    let text = text.replace("ROOT", root.to_str().expect("text"));
    let file = root.join("repo/GEMINI.md");
    fs::write(&file, &text).expect("written");
    for import_format in [ImportFormat::Tree, ImportFormat::Flat] {
        let settings = MemorySettings { import_format, ..MemorySettings::default() };
        // What is no text is refused as a whole.
        let Ok(imported) = load_with_imports(&file, &settings) else { continue };
        assert!(
            !imported.text.contains("text from outside") || text.contains("text from outside"),
            "{text:?}"
        );
        for source in &imported.sources {
            let real = source.path.canonicalize().expect("it was read");
            assert!(real.starts_with(root.join("repo")), "{} was read for {text:?}", real.display());
        }
        for (_, said) in FILES {
            assert!(
                imported.text.matches(said).count() <= 1 + text.matches(said).count(),
                "{said} twice for {text:?}"
            );
        }
        check_tree(&imported.imports, &root, 1);
        assert!(!imported.text.to_lowercase().contains("</loaded_context>"), "{text:?}");
    }
}

fn check_tree(imports: &[Import], root: &Path, depth: usize) {
    assert!(depth <= 6);
    for import in imports {
        assert!(import.line > 0);
        if let ImportOutcome::Included { path, imports, .. } = &import.outcome {
            assert!(path.starts_with(root.join("repo")));
            check_tree(imports, root, depth + 1);
        }
    }
}
