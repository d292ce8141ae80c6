//! Rules in `.claude/rules`: memory files of a folder, some of which are for certain paths only.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use longhaul_workspace::{FrontMatter, FrontMatterValue};

/// The folder of Claude Code in a project, which may hold a memory file and rules.
pub(crate) const CLAUDE_FOLDER: &str = ".claude";

/// The folder of rules in it.
const RULES: &str = "rules";

/// The folders of rules go no deeper than this.
const DEEPEST: usize = 4;

/// No folder has more rules than this.
const MOST_RULES: usize = 200;

/// The rules of a folder, by their paths. Links to folders are not followed; what they are is told when they are read.
pub(crate) fn find_rules(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.join(CLAUDE_FOLDER).join(RULES), DEEPEST)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().ok());
            let is_markdown = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
            if kind.is_some_and(|kind| kind.is_dir()) {
                folders.extend((depth > 1).then(|| (path, depth - 1)));
            } else if is_markdown || kind.is_some_and(|kind| kind.is_symlink()) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.truncate(MOST_RULES);
    found
}

/// The folder whose rule a file is.
pub(crate) fn ruled_folder(file: &Path) -> Option<&Path> {
    let rules = file.ancestors().skip(1).take(DEEPEST).find(|folder| folder.ends_with(RULES_PATH))?;
    rules.parent()?.parent()
}

const RULES_PATH: &str = ".claude/rules";

/// The paths that a rule is for, as globs from its folder on.
#[derive(Clone, Debug)]
pub(crate) struct PathGlobs {
    written: Vec<String>,
    set: GlobSet,
}

impl PathGlobs {
    /// True if a path, from the rule's folder on, is one of them.
    pub(crate) fn is_match(&self, path: &Path) -> bool {
        self.set.is_match(path)
    }

    fn parse(written: Vec<String>) -> Result<Self, String> {
        let mut set = GlobSetBuilder::new();
        for glob in &written {
            let plain = glob.trim_start_matches("./").trim_start_matches('/');
            // A folder stands for everything in it.
            let plain = if plain.ends_with('/') { format!("{plain}**") } else { plain.to_owned() };
            let parsed = GlobBuilder::new(&plain).literal_separator(true).build();
            set.add(parsed.map_err(|error| format!("paths: {}", error.kind()))?);
        }
        let set = set.build().map_err(|error| format!("paths: {}", error.kind()))?;
        Ok(Self { written, set })
    }
}

/// The globs as they are written, with commas between them.
impl fmt::Display for PathGlobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written.join(", "))
    }
}

/// The text of a rule without its front matter, line by line where it was, and the paths that it is for, if it is not
/// for all.
///
/// # Errors
/// The fault in its `paths`.
pub(crate) fn parse_rule(text: &str) -> Result<(String, Option<PathGlobs>), String> {
    let Ok(front) = FrontMatter::parse(text) else { return Ok((text.to_owned(), None)) };
    let above = text.len() - front.body.len();
    let body = "\n".repeat(text[..above].matches('\n').count()) + front.body;
    let Some(paths) = front.fields.iter().find(|field| field.key == "paths") else { return Ok((body, None)) };
    let globs = match &paths.value {
        Ok(FrontMatterValue::Text(text)) => split_globs(text),
        Ok(FrontMatterValue::List(globs)) => globs.iter().flat_map(|glob| split_globs(glob)).collect(),
        Ok(FrontMatterValue::Mapping(_)) => return Err("paths: it is no list of globs".to_owned()),
        // A glob may begin with what YAML gives another meaning.
        Err(_) => split_globs(&paths.written),
    };
    let globs = if globs.is_empty() { None } else { Some(PathGlobs::parse(globs)?) };
    Ok((body, globs))
}

/// Globs with commas between them; those in braces belong to one.
fn split_globs(text: &str) -> Vec<String> {
    let mut globs = vec![String::new()];
    let mut depth = 0_usize;
    for letter in text.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                globs.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(glob) = globs.last_mut() {
            glob.push(letter);
        }
    }
    let bare = |glob: &String| glob.trim().trim_matches(['"', '\'']).to_owned();
    globs.iter().map(bare).filter(|glob| !glob.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks which paths a rule with this front matter is for.
    #[track_caller]
    fn check(front: &str, matching: &[&str], others: &[&str]) {
        let (text, globs) = parse_rule(&format!("---\n{front}\n---\nBe brief.\n")).expect("a rule");
        assert_eq!(text.trim(), "Be brief.");
        assert_eq!(text.lines().count(), 3 + front.lines().count(), "lines stay where they are");
        let globs = globs.expect("globs");
        for path in matching {
            assert!(globs.is_match(Path::new(path)), "{front}: {path}");
        }
        for path in others {
            assert!(!globs.is_match(Path::new(path)), "{front}: {path}");
        }
    }

    #[test]
    fn paths_are_globs_from_the_folder_on() {
        check("paths: src/**/*.ts", &["src/a.ts", "src/b/c.ts"], &["lib/a.ts", "src/a.js", "a.ts"]);
        check(
            "paths:\n  - \"src/**/*.{ts,tsx}\"\n  - docs/",
            &["src/a.tsx", "docs/x/y"],
            &["src/a.rs", "doc"],
        );
        check("paths: ./src/*.rs, **/*.md", &["src/a.rs", "b/c.md", "d.md"], &["src/x/a.rs"]);
        check("description: x\npaths: **/*.py", &["a.py", "b/c.py"], &["a.rs"]);
        check("paths: [\"*.toml\", 'a,b.txt']", &["Cargo.toml"], &["x/Cargo.toml"]);
    }

    #[test]
    fn rules_without_paths_are_for_all() {
        for text in ["Be brief.", "---\nname: x\n---\nBe brief.", "---\npaths: []\n---\nBe brief.", "---\nBe"]
        {
            let (body, globs) = parse_rule(text).expect("a rule");
            assert!(globs.is_none() && body.contains("Be"), "{text}");
        }
        assert!(parse_rule("---\npaths: src/{a\n---\nx").expect_err("a fault").starts_with("paths: "));
    }

    #[test]
    fn rules_know_their_folder() {
        let folder = |file: &str| ruled_folder(Path::new(file)).map(|folder| folder.display().to_string());
        assert_eq!(folder("/w/.claude/rules/a.md").as_deref(), Some("/w"));
        assert_eq!(folder("/w/.claude/rules/b/c/a.md").as_deref(), Some("/w"));
        for file in ["/w/.claude/CLAUDE.md", "/w/rules/a.md", "/w/.claude/rules"] {
            assert_eq!(folder(file), None, "{file}");
        }
    }
}
