//! File names for completion after an `@`.

use std::path::Path;

use ignore::WalkBuilder;

/// The most files that are offered.
const MAX_FILES: usize = 100_000;

/// Lists the files and folders below a folder that no ignore file hides, relative to it. Folders end with a slash.
pub(crate) fn list(folder: &Path) -> Vec<String> {
    let walk = WalkBuilder::new(folder)
        .hidden(true)
        .require_git(false)
        .add_custom_ignore_filename(".geminiignore")
        .follow_links(false)
        .build();
    let names = walk.flatten().filter_map(|entry| {
        let kind = entry.file_type()?;
        let path = entry.path().strip_prefix(folder).ok()?.to_str().filter(|path| !path.is_empty())?;
        let path = path.replace(std::path::MAIN_SEPARATOR, "/");
        match kind.is_dir() {
            true => Some(path + "/"),
            false => kind.is_file().then_some(path),
        }
    });
    let mut names: Vec<String> = names.take(MAX_FILES).collect();
    names.sort_unstable();
    names
}

/// Finds the names that contain the characters of `wanted` in order, best match first.
pub(crate) fn matching<'a>(names: &'a [String], wanted: &str, most: usize) -> Vec<&'a str> {
    let wanted: Vec<char> = wanted.to_lowercase().chars().collect();
    let mut found: Vec<(i32, &str)> =
        names.iter().filter_map(|name| Some((score(name, &wanted)?, name.as_str()))).collect();
    let better = |(a, left): &(i32, &str), (b, right): &(i32, &str)| {
        b.cmp(a).then(left.len().cmp(&right.len())).then(left.cmp(right))
    };
    // Only the names that are shown need sorting.
    if found.len() > most {
        found.select_nth_unstable_by(most, better);
        found.truncate(most);
    }
    found.sort_unstable_by(better);
    found.into_iter().map(|(_, name)| name).collect()
}

/// Scores a name; none if characters are missing.
fn score(name: &str, wanted: &[char]) -> Option<i32> {
    let file = name.trim_end_matches('/').rfind('/').map_or(0, |end| end + 1);
    let mut left = wanted.iter().peekable();
    let (mut score, mut run, mut before) = (0, 0, '/');
    for (at, character) in name.char_indices() {
        let Some(next) = left.peek() else { break };
        let is_same = match character.is_ascii() {
            true => character.to_ascii_lowercase() == **next,
            false => character.to_lowercase().eq(std::iter::once(**next)),
        };
        if is_same {
            left.next();
            run += 1;
            score += run;
            if matches!(before, '/' | '_' | '-' | '.' | ' ') {
                score += 6;
            }
            if at >= file {
                score += 2;
            }
        } else {
            run = 0;
        }
        before = character;
    }
    left.peek().is_none().then_some(score - i32::try_from(name.len() / 24).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wanted: &str, expected: &[&str]) {
        let names: Vec<String> =
            ["src/main.rs", "src/map/mod.rs", "docs/manual.md", "Cargo.toml"].map(String::from).into();
        assert_eq!(matching(&names, wanted, 2), expected);
    }

    #[test]
    fn letters_in_order_are_enough() {
        check("main", &["src/main.rs"]);
        check("mod", &["src/map/mod.rs"]);
        check("cargo", &["Cargo.toml"]);
        check("zzz", &[]);
        check("ma", &["src/main.rs", "docs/manual.md"]);
        check("", &["Cargo.toml", "src/main.rs"]);
    }

    #[test]
    fn the_best_of_many_come_first() {
        let names: Vec<String> = (0..5_000).map(|number| format!("many/Fi\u{c4}le_{number}.txt")).collect();
        assert_eq!(
            matching(&names, "fi\u{e4}le_77", 3),
            ["many/FiÄle_77.txt", "many/FiÄle_770.txt", "many/FiÄle_771.txt"]
        );
    }

    #[test]
    fn hidden_and_ignored_files_are_not_offered() {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in
            [(".gitignore", "target\n"), ("a.rs", ""), ("target/b.rs", ""), (".env", ""), ("c/d.rs", "")]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("it is in a folder")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        assert_eq!(list(folder.path()), ["a.rs", "c/", "c/d.rs"]);
    }
}
