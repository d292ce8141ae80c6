//! The repository that git finds from a folder, and whether its configuration starts programs.

use std::fs;
use std::path::{Path, PathBuf};

/// Sections of git's configuration that name programs, or other files of configuration.
const SECTIONS: [&str; 4] = ["filter", "gpg", "include", "includeif"];

/// Keys that name programs, or a folder elsewhere, in whatever section.
const KEYS: [&str; 8] =
    ["clean", "command", "external", "process", "program", "smudge", "textconv", "worktree"];

/// The top folder of the repository around a folder, or the reason why nothing is certain about it.
pub(super) fn find(folder: &Path) -> Result<Option<PathBuf>, String> {
    for folder in folder.ancestors() {
        if folder.join(".git").symlink_metadata().is_ok() {
            return Ok(Some(folder.to_path_buf()));
        }
        if ["HEAD", "objects", "refs"].iter().all(|name| folder.join(name).exists()) {
            return Err(format!("{} may be a repository without a working tree", folder.display()));
        }
    }
    Ok(None)
}

/// Checks that nothing in the repository at this folder tells git which programs to run. What has a fixed name is
/// switched off when the command runs; this is about the rest.
pub(super) fn check(top: &Path) -> Result<(), String> {
    if top.join(".gitmodules").symlink_metadata().is_ok() {
        return Err("its repository has submodules, with configuration of their own".to_owned());
    }
    let own = git_folder(&top.join(".git")).ok_or("its .git cannot be read")?;
    let common = match fs::read_to_string(own.join("commondir")) {
        Ok(path) => own.join(path.trim_end_matches(['\n', '\r'])),
        Err(_) => own.clone(),
    };
    for file in [common.join("config"), own.join("config.worktree")] {
        match fs::read(&file) {
            Ok(bytes) => check_configuration(&String::from_utf8_lossy(&bytes))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(_) => return Err("the configuration of its repository cannot be read".to_owned()),
        }
    }
    Ok(())
}

/// The folder that `.git` is, or that it names.
fn git_folder(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.to_path_buf());
    }
    let text = fs::read_to_string(path).ok()?;
    let named = text.strip_prefix("gitdir:")?.trim();
    Some(path.parent()?.join(named))
}

/// Reads a file of configuration by its words: a section or key of this name anywhere is enough to refuse.
fn check_configuration(text: &str) -> Result<(), String> {
    let refused = |what: &str| {
        Err(format!("the configuration of its repository sets {what:?}, which may run programs"))
    };
    let text = text.trim_start_matches('\u{feff}');
    for line in text.split(['\n', '\r']) {
        let line = line.trim().to_lowercase();
        if line.ends_with('\\') {
            return refused(&line);
        }
        let mut words =
            line.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(|word| !word.is_empty());
        let named = match line.starts_with('[') {
            // A key may follow on the same line.
            true => words.find(|word| SECTIONS.contains(word) || KEYS.contains(word)),
            false => words.next().filter(|word| KEYS.contains(word)),
        };
        if let Some(named) = named {
            return refused(named);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_text(text: &str, expected: Option<&str>) {
        let found = check_configuration(text).err();
        let expected = expected
            .map(|what| format!("the configuration of its repository sets {what:?}, which may run programs"));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn configuration_that_names_programs_is_found_however_it_is_written() {
        check_text("", None);
        check_text(
            "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://x/filter.git\n[branch \"main\"]\n\tmerge = x\n",
            None,
        );
        check_text("[Filter \"x\"]\n", Some("filter"));
        check_text("[filter.x] CLEAN = y", Some("filter"));
        check_text("[diff \"a]b\"] textconv = y", Some("textconv"));
        check_text("[diff]\n external = y\n", Some("external"));
        check_text("[core]\r\n WorkTree=/\r\n", Some("worktree"));
        check_text("[includeIf \"gitdir:x\"]\n path = y\n", Some("includeif"));
        check_text("[user]\n name = a \\\n[alias]\n", Some("name = a \\"));
        check_text("\u{feff}[gpg]\nprogram = x\n", Some("gpg"));
    }
}
