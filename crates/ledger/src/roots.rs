//! The folder from which a snapshot shows all paths: the project's, or the one above it where the work goes beyond.

use std::borrow::Cow;

use longhaul_conversation::Ordinal;

use crate::entries::FileEntry;
use crate::ledger::Ledger;
use crate::paths;

/// The folder above the project that paths may be shown from is at most so many levels up, and so deep itself: not the
/// home of all projects.
const LEVELS_UP: usize = 2;
const SHALLOWEST: usize = 3;

/// The folder that paths are shown from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ShownRoot {
    /// Its path, where known.
    pub(crate) path: Option<String>,
    /// The project as seen from there; empty if it is the project.
    prefix: String,
}

impl Ledger {
    /// The folder that a snapshot shows paths from, where it is known.
    pub fn shown_folder(&self) -> Option<String> {
        self.shown_root().path.filter(|path| depth(path) >= SHALLOWEST)
    }

    /// The folder that the paths of these files are shown from.
    pub(crate) fn shown_root(&self) -> ShownRoot {
        let Some(root) = self.root.clone().or_else(|| self.guess_root()) else { return ShownRoot::default() };
        let mut shared = root.as_str();
        let changed = self.files().filter(|(_, file)| file.state.is_change()).map(|(path, _)| path);
        for path in changed.filter(|path| paths::is_absolute(path) && !is_elsewhere(path)) {
            let common = common_folder(shared, paths::parent(path));
            if depth(common) >= SHALLOWEST && depth(common) + LEVELS_UP >= depth(&root) {
                shared = common;
            }
        }
        let prefix = root[shared.len()..].trim_start_matches('/').to_string();
        ShownRoot { path: Some(shared.to_string()), prefix }
    }

    /// The folder that makes a relative path the same as an absolute one, or that all files share.
    fn guess_root(&self) -> Option<String> {
        let (absolute, relative): (Vec<&str>, Vec<&str>) =
            self.files().map(|(path, _)| path).partition(|path| paths::is_absolute(path));
        let absolute: Vec<&str> = absolute.into_iter().filter(|path| !is_elsewhere(path)).collect();
        let same = relative.iter().filter(|path| path.contains('/')).find_map(|path| {
            let matches = |whole: &&&str| whole.strip_suffix(*path).is_some_and(|root| root.ends_with('/'));
            absolute.iter().find(matches).map(|whole| whole[..whole.len() - path.len() - 1].to_string())
        });
        same.or_else(|| shared_root(&absolute).filter(|_| relative.is_empty()))
    }

    /// Paths as a snapshot shows them: from the project's folder where they lie in it.
    pub fn show_paths<'p>(&self, paths: impl Iterator<Item = &'p str>) -> Vec<String> {
        let root = self.shown_root();
        paths.map(|path| root.show(path)).collect()
    }

    /// The files as they were before a message, with the paths that a snapshot shows.
    pub(crate) fn files_before(
        &self,
        before: Ordinal,
        root: &ShownRoot,
    ) -> Vec<(String, Cow<'_, FileEntry>)> {
        let mut files: Vec<(String, Cow<'_, FileEntry>)> = Vec::new();
        for (path, file) in self.files().filter_map(|(path, file)| Some((path, file.before(before)?))) {
            let path = root.show(path);
            // Where the project is only guessed, one file may be known by two names.
            match files.iter_mut().find(|(known, _)| self.root.is_none() && *known == path) {
                Some((_, known)) => known.to_mut().merge(file.into_owned()),
                None => files.push((path, file)),
            }
        }
        files
    }
}

impl ShownRoot {
    /// A path as seen from here.
    pub(crate) fn show(&self, path: &str) -> String {
        match &self.path {
            Some(root) if paths::is_absolute(path) => paths::comparable(Some(root), path),
            _ if self.prefix.is_empty() || paths::is_absolute(path) => path.to_string(),
            _ => paths::join(&self.prefix, path),
        }
    }
}

/// Folders that stand in a project, not around one.
const INSIDE: [&str; 10] =
    ["src", "lib", "test", "tests", "packages", "apps", "crates", "docs", "node_modules", "specs"];

/// The project that all these files lie in, as far as their paths tell.
fn shared_root(files: &[&str]) -> Option<String> {
    let (first, rest) = files.split_first()?;
    let shared =
        rest.iter().fold(paths::parent(first), |shared, file| common_folder(shared, paths::parent(file)));
    let pieces = shared.split('/').take_while(|piece| !INSIDE.contains(piece));
    let root = pieces.collect::<Vec<_>>().join("/");
    (!rest.is_empty() && depth(&root) >= SHALLOWEST).then_some(root)
}

/// True for scratch space and for an agent's own files.
fn is_elsewhere(path: &str) -> bool {
    paths::is_scratch(path) || path.contains("/.") || path.starts_with('~')
}

fn depth(path: &str) -> usize {
    path.split('/').filter(|piece| !piece.is_empty()).count()
}

/// The longest folder that two share.
fn common_folder<'p>(one: &'p str, other: &str) -> &'p str {
    let mut end = 0;
    for (place, piece) in
        one.match_indices('/').map(|(at, _)| at).chain([one.len()]).skip(1).map(|at| (at, &one[..at]))
    {
        let is_shared =
            other.strip_prefix(piece).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if !is_shared {
            break;
        }
        end = place;
    }
    &one[..end]
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, TokenCount, ToolCall, ToolResult};
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(root: Option<&str>, written: &[&str], expected: &[&str]) {
        let mut ledger = root.map(Ledger::in_directory).unwrap_or_default();
        for (place, path) in written.iter().enumerate() {
            let call =
                ToolCall::new(format!("c{place}"), "write").with_args(json!({"path": path, "content": "x"}));
            ledger.observe(&Message::new("a", Role::Model, vec![Part::call(call)]));
            let result = ToolResult::text(format!("c{place}"), "ok");
            ledger.observe(&Message::new("b", Role::User, vec![Part::result(result)]));
        }
        let lines: Vec<String> =
            ledger.render_lines(TokenCount(1_000)).into_iter().map(|line| line.text).collect();
        assert_eq!(lines, expected);
    }

    #[test]
    fn all_paths_are_seen_from_one_folder() {
        check(
            Some("/home/me/app/web"),
            &["src/a.ts", "/home/me/app/server/b.py"],
            &["CWD: /home/me/app", "web/src/a.ts created (+1)", "server/b.py created (+1)"],
        );
        check(
            None,
            &["/home/me/app/src/a.ts", "src/a.ts", "/home/me/app/c.ts"],
            &["CWD: /home/me/app", "src/a.ts created (2 edits, +2)", "c.ts created (+1)"],
        );
        check(
            None,
            &["/home/me/app/src/a.ts", "/home/me/app/src/b/c.ts"],
            &["CWD: /home/me/app", "src/a.ts created (+1)", "src/b/c.ts created (+1)"],
        );
    }

    #[test]
    fn what_lies_elsewhere_keeps_its_path() {
        check(
            Some("/home/me/app"),
            &["a.ts", "/home/me/.agent/plan.md", "/home/you/b.ts"],
            &[
                "CWD: /home/me/app",
                "a.ts created (+1)",
                "/home/me/.agent/plan.md created (+1)",
                "/home/you/b.ts created (+1)",
            ],
        );
    }
}
