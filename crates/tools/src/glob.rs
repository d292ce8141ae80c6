//! The tool `glob`: finds files by name.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use longhaul_conversation::{ToolDeclaration, grouped};
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::folder::{FolderEntryKind, OpenFolder, split};
use crate::walk::{SearchArea, search};
use crate::{
    BoxFuture, Preview, Roots, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments, schema_of,
};

const NAME: &str = "glob";

/// The most files listed.
const MAX_FILES: usize = 500;

/// Files changed within this time are listed first.
const RECENT: Duration = Duration::from_secs(24 * 3600);

/// The tool `glob`.
#[derive(Clone, Debug)]
pub struct Glob {
    roots: Roots,
    ignoring: Ignoring,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GlobArguments {
    /// The pattern, relative to the folder that is searched.
    pattern: String,
    /// The folder to search, inside the workspace. Without it, the whole workspace.
    #[serde(default, alias = "path")]
    dir_path: Option<String>,
    /// Whether upper and lower case differ. Without it they do not.
    #[serde(default)]
    case_sensitive: Option<bool>,
    /// Whether files that `.gitignore` hides are left out. Without it, as the user has set.
    #[serde(default)]
    respect_git_ignore: Option<bool>,
    /// Whether files that `.geminiignore` hides are left out. Without it, as the user has set.
    #[serde(default)]
    respect_gemini_ignore: Option<bool>,
}

/// A validated call.
struct GlobTask {
    pattern: String,
    area: SearchArea,
    matcher: GlobMatcher,
}

/// A matching file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GlobMatch {
    path: PathBuf,
    changed: SystemTime,
}

impl Glob {
    /// Finds files inside `roots`, subject to ignore files.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots, ignoring }
    }

    fn task(&self, args: &Value) -> Result<GlobTask, String> {
        let arguments: GlobArguments = parse_arguments(NAME, args)?;
        let ignoring = Ignoring {
            git: arguments.respect_git_ignore.unwrap_or(self.ignoring.git),
            gemini: arguments.respect_gemini_ignore.unwrap_or(self.ignoring.gemini),
            custom: self.ignoring.custom.clone(),
        };
        let area = SearchArea::find(&self.roots, arguments.dir_path.as_deref(), &ignoring)?;
        let pattern = relative_pattern(&arguments.pattern, &area)?;
        // A name such as `[id].tsx` is taken literally if there is such a file.
        let is_name = area.starts().iter().any(|start| start.join(&pattern).is_file());
        let glob = if is_name { globset::escape(&pattern) } else { pattern };
        let matcher = GlobBuilder::new(&glob)
            .literal_separator(true)
            .case_insensitive(!arguments.case_sensitive.unwrap_or_default())
            .build()
            .map_err(|error| format!("The pattern is not valid: {error}."))?
            .compile_matcher();
        Ok(GlobTask { pattern: arguments.pattern, area, matcher })
    }

    async fn answer(&self, call: ToolInvocation<'_>) -> ToolAnswer {
        let GlobTask { pattern, area, matcher } = match self.task(call.args) {
            Ok(task) => task,
            Err(problem) => return ToolAnswer::failed(problem),
        };
        let roots = self.roots.clone();
        let find = move |cancel: &CancellationToken| find(&area, &roots, &matcher, cancel);
        match search(call.cancel, find).await {
            Ok(found) => self.describe(&pattern, found),
            Err(stopped) => stopped,
        }
    }

    fn describe(&self, pattern: &str, mut found: Vec<GlobMatch>) -> ToolAnswer {
        sort(&mut found, SystemTime::now());
        let count = match found.len() {
            0 => {
                return ToolAnswer::succeeded(format!("No files match {pattern:?}."))
                    .shown(ToolDisplay::Line("no files".into()));
            }
            1 => "1 file".to_string(),
            count => format!("{} files", grouped(count as u64)),
        };
        let verb = if found.len() == 1 { "matches" } else { "match" };
        let mut text = match found.len() > MAX_FILES {
            true => format!("{count} {verb} {pattern:?}, of which these are the first {MAX_FILES}:"),
            false => format!("{count} {verb} {pattern:?}:"),
        };
        for GlobMatch { path, .. } in found.iter().take(MAX_FILES) {
            text.push('\n');
            text.push_str(&self.roots.shorten(path).to_string_lossy());
        }
        ToolAnswer::succeeded(text).shown(ToolDisplay::Line(count))
    }
}

/// The pattern relative to the searched folder.
fn relative_pattern(pattern: &str, area: &SearchArea) -> Result<String, String> {
    let pattern = pattern.trim();
    if pattern.is_empty() {
        return Err("The pattern is empty.".to_string());
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if pattern.split('/').any(|part| part == "..") {
        return Err("The pattern may not lead upwards; name the folder in dir_path instead.".to_string());
    }
    if !Path::new(pattern).is_absolute() {
        return Ok(pattern.to_string());
    }
    let below = area.starts().iter().find_map(|start| Path::new(pattern).strip_prefix(start).ok());
    let below = below
        .ok_or("The pattern leads out of the folder that is searched; make it relative to that folder.")?;
    Ok(below.to_string_lossy().into_owned())
}

fn find(
    area: &SearchArea,
    roots: &Roots,
    matcher: &GlobMatcher,
    cancel: &CancellationToken,
) -> Vec<GlobMatch> {
    let (sender, found) = mpsc::channel();
    area.visit(cancel, || {
        let sender = sender.clone();
        move |visited| {
            if !matcher.is_match(area.relative(&visited.path)) {
                return;
            }
            let changed = match visited.kind {
                FolderEntryKind::Link => match linked_file_modified(roots, &visited.path) {
                    Some(changed) => changed,
                    None => return,
                },
                _ => visited.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            };
            // The receiver waits for all senders.
            let _ = sender.send(GlobMatch { path: visited.path, changed });
        }
    });
    drop(sender);
    found.into_iter().collect()
}

/// The modification time of the file behind a link, if it is inside the workspace.
fn linked_file_modified(roots: &Roots, link: &Path) -> Option<SystemTime> {
    let place = roots.resolve(link.to_str()?).ok()?;
    let (folder, name) = split(roots, &place).ok()?;
    let folder = OpenFolder::open(roots, folder).ok()?;
    let is_file = folder.kind(name).is_ok_and(|kind| kind == FolderEntryKind::File);
    is_file.then(|| folder.modified(name).unwrap_or(SystemTime::UNIX_EPOCH))
}

/// Sorts recent files first, the newest at the top; the others by name.
fn sort(found: &mut [GlobMatch], now: SystemTime) {
    let recent = |file: &GlobMatch| match now.duration_since(file.changed) {
        // By age, which is larger for older files.
        Ok(age) => (age < RECENT).then_some(age),
        Err(_) => Some(Duration::ZERO),
    };
    found.sort_by(|a, b| {
        let by_age = match (recent(a), recent(b)) {
            (Some(a), Some(b)) => a.cmp(&b),
            (a, b) => b.is_some().cmp(&a.is_some()),
        };
        by_age.then_with(|| a.path.cmp(&b.path))
    });
}

impl Tool for Glob {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/glob.md").trim_end().to_string(),
            parameters: schema_of::<GlobArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let arguments: GlobArguments = parse_arguments(NAME, args)?;
        self.task(args)?;
        Ok(Preview::Look(match arguments.dir_path {
            Some(folder) => format!("files matching {} in {folder}", arguments.pattern),
            None => format!("files matching {}", arguments.pattern),
        }))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(self.answer(call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::walk::tests::{GIT, call, world};
    use serde_json::json;

    /// Checks the found paths and their order, among files of the same age.
    #[track_caller]
    fn check(files: &[(&str, &str)], args: &Value, expected: &[&str]) {
        let world = world(files);
        for (name, _) in files {
            let file = std::fs::File::open(world.work().join(name)).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        }
        let outcome = call(&Glob::new(world.roots(), GIT), args);
        let paths: Vec<&str> = outcome.text().lines().skip(1).collect();
        assert_eq!(paths, expected, "{args}: {}", outcome.text());
    }

    const FILES: &[(&str, &str)] = &[
        ("a.rs", ""),
        ("src/b.rs", ""),
        ("src/deep/C.RS", ""),
        ("src/[id].tsx", ""),
        (".env", ""),
        ("src/i.tsx", ""),
    ];

    #[test]
    fn patterns_match_as_people_expect() {
        let check = |pattern: &str, expected: &[&str]| check(FILES, &json!({ "pattern": pattern }), expected);
        check("*.rs", &["a.rs"]);
        check("./*.rs", &["a.rs"]);
        check("**/*.rs", &["a.rs", "src/b.rs", "src/deep/C.RS"]);
        check("src/*.rs", &["src/b.rs"]);
        check("src/**", &["src/[id].tsx", "src/b.rs", "src/deep/C.RS", "src/i.tsx"]);
        check("**/*.{rs,tsx}", &["a.rs", "src/[id].tsx", "src/b.rs", "src/deep/C.RS", "src/i.tsx"]);
        check("src/[id].tsx", &["src/[id].tsx"]);
        check("src/[hij].tsx", &["src/i.tsx"]);
        check("*", &[".env", "a.rs"]);
        check("nothing", &[]);
    }

    #[test]
    fn a_folder_and_the_case_may_be_named() {
        check(FILES, &json!({"pattern": "*.rs", "dir_path": "src"}), &["src/b.rs"]);
        check(FILES, &json!({"pattern": "**/*.rs", "case_sensitive": true}), &["a.rs", "src/b.rs"]);
        check(FILES, &json!({"pattern": "**/*.RS", "case_sensitive": true}), &["src/deep/C.RS"]);
    }

    #[test]
    fn what_is_ignored_is_left_out_and_git_s_own_folder_always() {
        let files = &[
            (".git/config.rs", ""),
            (".gitignore", "target/\n"),
            (".geminiignore", "secret.rs\n"),
            ("target/x.rs", ""),
            ("secret.rs", ""),
            ("y.rs", ""),
        ];
        check(files, &json!({"pattern": "**/*.rs"}), &["y.rs"]);
        let all = json!({"pattern": "**/*.rs", "respect_git_ignore": false, "respect_gemini_ignore": false});
        check(files, &all, &["secret.rs", "target/x.rs", "y.rs"]);
    }

    #[test]
    fn what_cannot_be_searched_is_refused() {
        let world = world(&[("a", ""), ("target/x", ""), (".git/HEAD", ""), (".gitignore", "target\n")]);
        let glob = Glob::new(world.roots(), GIT);
        for (args, expected) in [
            (json!({"pattern": "*", "dir_path": ".."}), "outside of the workspace"),
            (json!({"pattern": "../*"}), "may not lead upwards"),
            (json!({"pattern": "/etc/*"}), "leads out of the folder"),
            (json!({"pattern": "a[".to_string()}), "The pattern is not valid"),
            (json!({"pattern": ""}), "The pattern is empty."),
            (json!({"pattern": "*", "dir_path": "no"}), "There is no \"no\"."),
            (json!({"pattern": "*", "dir_path": "target"}), "the line \"target\" in .gitignore hides it"),
        ] {
            let outcome = call(&glob, &args);
            assert!(
                matches!(&outcome, crate::ToolOutcome::Failed(why) if why.contains(expected)),
                "{outcome:?}"
            );
            assert_eq!(glob.preview(&args).unwrap_err(), outcome.text());
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_nowhere_outside() {
        use std::os::unix::fs::symlink;
        let world = world(&[("src/a.rs", "")]);
        std::fs::write(world.folder.path().join("secret.rs"), "").unwrap();
        symlink("../secret.rs", world.work().join("out.rs")).unwrap();
        symlink("src/a.rs", world.work().join("in.rs")).unwrap();
        symlink("..", world.work().join("up")).unwrap();
        let outcome = call(&Glob::new(world.roots(), GIT), &json!({"pattern": "**/*.rs"}));
        let mut paths: Vec<&str> = outcome.text().lines().skip(1).collect();
        paths.sort_unstable();
        assert_eq!(paths, ["in.rs", "src/a.rs"]);
    }

    #[test]
    fn what_changed_lately_comes_first() {
        let now = SystemTime::UNIX_EPOCH + 10 * RECENT;
        let file = |name: &str, hours: u64| GlobMatch {
            path: name.into(),
            changed: now - Duration::from_secs(3600 * hours),
        };
        let future = GlobMatch { path: "future".into(), changed: now + RECENT };
        let mut found = vec![file("z", 30), file("b", 2), file("a", 200), file("c", 1), file("d", 2), future];
        sort(&mut found, now);
        let names: Vec<_> = found.iter().map(|found| found.path.to_str().unwrap()).collect();
        assert_eq!(names, ["future", "c", "b", "d", "a", "z"]);
    }

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let names: Vec<String> = (0..MAX_FILES + 1).map(|number| format!("{number}.txt")).collect();
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
        let world = world(&files);
        let outcome = call(&Glob::new(world.roots(), GIT), &json!({"pattern": "*.txt"}));
        assert!(outcome.text().starts_with("501 files match \"*.txt\", of which these are the first 500:\n"));
        assert_eq!(outcome.text().lines().count(), 1 + MAX_FILES);
    }
}
