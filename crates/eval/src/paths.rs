//! Recognition of paths, and of the folder a session worked in.

use std::collections::BTreeMap;

use longhaul_conversation::Message;

use crate::text::{TextUse, uses};

/// Extensions that make a bare name a file.
const ENDINGS: &[&str] = &[
    "bash", "bat", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "go", "gradle", "graphql",
    "h", "hpp", "htm", "html", "ini", "ipynb", "java", "jpg", "js", "json", "jsonl", "jsx", "kt", "lua",
    "md", "mdx", "mjs", "pdf", "php", "plist", "png", "proto", "ps1", "py", "pyi", "rb", "rs", "rst",
    "scala", "scss", "sh", "snap", "sql", "svelte", "svg", "swift", "tex", "toml", "ts", "tsx", "txt", "vue",
    "xml", "yaml", "yml", "zig", "zsh",
];

/// Folders that make two bare words with a slash between them a path.
const FOLDERS: &[&str] = &[
    "app",
    "apps",
    "bin",
    "cmd",
    "components",
    "config",
    "crates",
    "doc",
    "docs",
    "examples",
    "include",
    "internal",
    "lib",
    "packages",
    "pkg",
    "scripts",
    "spec",
    "src",
    "test",
    "tests",
    "tools",
    "web",
];

/// The path in `token`, without `directory`; none if it is not a path.
pub(crate) fn path_of<'a>(token: &'a str, directory: Option<&str>) -> Option<&'a str> {
    let token = token.trim_end_matches('/');
    let inside = directory.and_then(|directory| token.strip_prefix(directory)?.strip_prefix('/'));
    let is_inside = inside.is_some();
    let mut path = inside.unwrap_or(token);
    while let Some(rest) = path.strip_prefix("./").or_else(|| path.strip_prefix("../")) {
        path = rest;
    }
    let sides = token.strip_prefix("a/").or_else(|| token.strip_prefix("b/"));
    // Diffs name the two sides of a change `a/` and `b/`.
    if let Some(side) = sides.filter(|side| ending(side).is_some()) {
        path = side;
    }
    let is_part =
        |part: &str| part.bytes().any(|byte| byte.is_ascii_alphanumeric() || byte == b'_') || part == "~";
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    if !parts.iter().all(|part| is_part(part)) || !path.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return None;
    }
    let first = parts.first()?;
    let is_path = match parts.len() {
        _ if is_inside => true,
        1 => !path.starts_with('/') && ending(path).is_some_and(|ending| ENDINGS.contains(&ending)),
        _ if path.starts_with(['/', '~']) || token.starts_with('.') => true,
        2 => ending(path).is_some() || FOLDERS.contains(first),
        _ => ending(path).is_some() || FOLDERS.contains(first) || parts.iter().all(|part| part.len() >= 3),
    };
    is_path.then_some(path)
}

/// The extension of a file name.
fn ending(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ending = (1..=8).contains(&ending.len())
        && ending.starts_with(|c: char| c.is_ascii_alphabetic())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric());
    (is_ending && !stem.is_empty()).then_some(ending)
}

/// Top-level folders that hold many projects, or none.
const SHARED_FOLDERS: &[&str] = &["Users", "etc", "home", "opt", "private", "root", "tmp", "usr", "var"];

/// The folder a session worked in, from the absolute paths in its calls: the deepest that contains seven in ten of
/// them.
pub(crate) fn guess_directory(messages: &[Message]) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut total = 0;
    for message in messages {
        for used in uses(message) {
            let TextUse::Argument(text) = used else { continue };
            let is_path = text.starts_with('/') && !text.contains(char::is_whitespace) && text.len() < 300;
            let Some((folder, _)) = text.rsplit_once('/').filter(|(folder, _)| is_path && !folder.is_empty())
            else {
                continue;
            };
            total += 1;
            let ends = folder.match_indices('/').map(|(end, _)| end).skip(1).chain([folder.len()]);
            for end in ends {
                *counts.entry(folder[..end].to_string()).or_default() += 1;
            }
        }
    }
    counts
        .into_iter()
        .filter(|(folder, count)| is_project(folder) && *count * 10 >= total * 7)
        .max_by_key(|(folder, _)| folder.len())
        .map(|(folder, _)| folder)
}

/// True if a folder is deep enough to be one project's: `/app` is, `/home/me` is not.
fn is_project(folder: &str) -> bool {
    let mut names = folder.split('/').skip(1);
    let is_shared = names.next().is_none_or(|top| SHARED_FOLDERS.contains(&top));
    !is_shared || names.count() >= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role, ToolCall};
    use serde_json::json;

    #[track_caller]
    fn check(token: &str, expected: Option<&str>) {
        assert_eq!(path_of(token, Some("/w/app")), expected, "{token}");
    }

    #[test]
    fn paths_are_told_from_other_slashes() {
        for path in [
            "src/a.rs",
            "/etc/hosts",
            "~/notes",
            ".github/workflows",
            "README.md",
            "one/two/three",
            "src/api",
        ] {
            check(path, Some(path));
        }
        for other in
            ["and/or", "1/2", "word", "/", "//", "a//b", "either/or/so", "os.path", "e.g", "2024/01/02", ""]
        {
            check(other, None);
        }
    }

    #[test]
    fn the_working_directory_goes() {
        check("/w/app/src/a.rs", Some("src/a.rs"));
        check("/w/app/Makefile", Some("Makefile"));
        check("/w/apple/a.rs", Some("/w/apple/a.rs"));
        check("./src/a.rs", Some("src/a.rs"));
        check("../../x/a.rs", Some("x/a.rs"));
        check("a/src/x.c", Some("src/x.c"));
        check("src/", None);
        check("src/api/", Some("src/api"));
    }

    #[track_caller]
    fn check_directory(paths: &[&str], expected: Option<&str>) {
        let calls =
            paths.iter().map(|path| Part::call(ToolCall::new("c", "read").with_args(json!({"path": path}))));
        let message = Message::new("a", Role::Model, calls.collect());
        assert_eq!(guess_directory(&[message]).as_deref(), expected);
    }

    #[test]
    fn the_directory_holds_most_paths() {
        check_directory(&[], None);
        check_directory(&["src/a.rs"], None);
        check_directory(&["/home/me/app/src/a.rs", "/home/me/app/b.rs"], Some("/home/me/app"));
        check_directory(&["/home/a.rs", "/etc/b"], None);
        check_directory(&["/home/me/a.rs", "/home/me/b.rs"], None);
        check_directory(&["/app/a.rs", "/app/src/b.rs"], Some("/app"));
        let mut paths = ["/home/me/app/x/a.rs", "/home/me/app/y/b.rs"].repeat(10);
        paths.push("/etc/hosts");
        check_directory(&paths, Some("/home/me/app"));
    }
}
