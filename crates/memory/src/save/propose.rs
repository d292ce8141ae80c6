//! Proposes where a fact holds, by its words.

use std::path::{Component, Path, PathBuf};

use longhaul_workspace::canonical_workspace;

use super::FactScope;
use crate::places::{Places, is_same_place};

/// The scope that a fact seems to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedScope {
    /// The scope.
    pub scope: FactScope,
    /// True if its words say so; if not, somebody who knows should be asked.
    pub is_clear: bool,
}

/// Words for this one project.
const THIS_PROJECT: [&str; 22] = [
    "this project",
    "this repo",
    "this repository",
    "this codebase",
    "this code base",
    "this workspace",
    "this app",
    "this monorepo",
    "our project",
    "our repo",
    "our repository",
    "our codebase",
    "这个项目",
    "本项目",
    "此项目",
    "当前项目",
    "这个仓库",
    "本仓库",
    "このプロジェクト",
    "本プロジェクト",
    "このリポジトリ",
    "当プロジェクト",
];

/// Words for every project.
const EVERY_PROJECT: [&str; 17] = [
    "every project",
    "all projects",
    "all my projects",
    "all of my projects",
    "any project",
    "each project",
    "every repo",
    "all repos",
    "all my repos",
    "everywhere",
    "globally",
    "所有项目",
    "每个项目",
    "任何项目",
    "すべてのプロジェクト",
    "全プロジェクト",
    "どのプロジェクト",
];

/// Words of somebody who speaks of themselves, or of whom a model speaks.
const HABITS: [&str; 43] = [
    "i prefer",
    "i like",
    "i love",
    "i hate",
    "i dislike",
    "i don't like",
    "i do not like",
    "i want",
    "i don't want",
    "i always",
    "i never",
    "i usually",
    "i use",
    "i am",
    "i'm",
    "i work",
    "i speak",
    "i live",
    "i'd rather",
    "my name",
    "my preferred",
    "my favourite",
    "my favorite",
    "my pronouns",
    "my timezone",
    "my time zone",
    "call me",
    "answer me",
    "talk to me",
    "the user",
    "user prefers",
    "user likes",
    "user wants",
    "我喜欢",
    "我不喜欢",
    "我习惯",
    "我总是",
    "我叫",
    "我更喜欢",
    "私は",
    "私の",
    "僕は",
    "わたしは",
];

/// The beginnings of facts that are about the user without naming them.
const HABITS_AT_START: [&str; 6] = ["prefers", "likes", "dislikes", "hates", "always answer", "always reply"];

/// Words that turn what stands behind them round.
const TURNED: [&str; 14] = [
    "not only",
    "not just",
    "not about",
    "not for",
    "not in",
    "outside",
    "outside of",
    "except",
    "except in",
    "except for",
    "beyond",
    "unlike",
    "不只",
    "だけでなく",
];

/// Words for a folder, beside its name.
const FOLDER_WORDS: [&str; 12] = [
    "folder",
    "directory",
    "dir",
    "crate",
    "package",
    "module",
    "subdirectory",
    "subfolder",
    "目录",
    "文件夹",
    "フォルダ",
    "ディレクトリ",
];

/// Proposes where a fact holds: habits of the user's everywhere, what is said of this project there and for the user
/// alone, what is said of a folder of the workspace in that folder's file. The folder need only be named; whether it is
/// there, and whether it may be written to, is looked up. What is said of nothing in particular is taken for this project
/// only: elsewhere it may be wrong.
///
/// ```
/// use longhaul_memory::{Places, FactScope, propose_scope};
///
/// let propose = |text| propose_scope(text, &Places::default());
/// assert_eq!(propose("I prefer short answers.").scope, FactScope::Global);
/// assert_eq!(propose("In this project tests run with `make`.").scope, FactScope::Project);
/// assert!(!propose("Tests run with `make`.").is_clear);
/// ```
pub fn propose_scope(text: &str, places: &Places) -> ProposedScope {
    let words = spoken(text);
    let folders = named_folders(text, places);
    let is_personal = HABITS.iter().any(|cue| find(&words, cue).is_some())
        || HABITS_AT_START.iter().any(|cue| find(&words, cue) == Some(0));
    let is_own = is_personal || ["i", "my", "me"].iter().any(|word| find(&words, word).is_some());
    let here = THIS_PROJECT.iter().find_map(|cue| find(&words, cue));
    let is_everywhere = EVERY_PROJECT.iter().any(|cue| find(&words, cue).is_some());
    let is_turned = here.is_some_and(|at| TURNED.iter().any(|cue| stands_before(&words, at, cue)));
    let (scope, is_clear) = match (here.is_some(), is_everywhere, folders.as_slice()) {
        // It is said of both, or of what this project is not.
        (true, true, _) => (FactScope::Project, false),
        (true, false, _) if is_turned => (FactScope::Global, false),
        (_, false, [folder]) if !is_own => (FactScope::Folder(folder.clone()), true),
        (true, false, []) => (FactScope::Project, true),
        (false, true, []) => (FactScope::Global, true),
        (false, true, _) => (FactScope::Global, false),
        // What somebody does in a folder need not concern others there.
        (_, false, [_, ..]) => (FactScope::Project, false),
        (false, false, []) if is_personal => (FactScope::Global, true),
        (false, false, []) => (unstated_scope(places), false),
    };
    ProposedScope { scope, is_clear }
}

/// The scope of a fact whose words leave it open: this project, if there is one.
fn unstated_scope(places: &Places) -> FactScope {
    let is_user_home =
        |folder: &Path| places.user_home.as_deref().is_some_and(|home| is_same_place(home, folder));
    match places.workspace() {
        Some(workspace) if !is_user_home(&workspace.path) => FactScope::Project,
        _ => FactScope::Global,
    }
}

/// The spoken words, in lower case and with single spaces; without quotations, in which anything may stand.
fn spoken(text: &str) -> String {
    let mut said = String::with_capacity(text.len());
    let mut closing: Option<char> = None;
    for letter in text.chars() {
        match (closing, letter) {
            (Some(end), letter) if letter == end => closing = None,
            (Some(_), _) => {}
            (None, '"' | '`') => closing = Some(letter),
            (None, '“') => closing = Some('”'),
            (None, '「') => closing = Some('」'),
            (None, '’') => said.push('\''),
            (None, letter) => said.extend(letter.to_lowercase()),
        }
    }
    // What is never closed quotes nothing.
    if closing.is_some() {
        said = text.to_lowercase().replace('’', "'");
    }
    said.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The place of a cue, as words of their own. Languages that are written without spaces have no such borders.
fn find(words: &str, cue: &str) -> Option<usize> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    words.match_indices(cue).map(|(at, _)| at).find(|at| {
        !cue.is_ascii() || !words[..*at].ends_with(is_word) && !words[at + cue.len()..].starts_with(is_word)
    })
}

/// True if a cue stands directly before a place, or a short word away.
fn stands_before(words: &str, at: usize, cue: &str) -> bool {
    let before = words[..at].trim_end();
    let without = before.rsplit_once(' ').map_or("", |(rest, last)| if last.len() <= 3 { rest } else { "" });
    [before, without].iter().any(|text| {
        text.strip_suffix(cue)
            .is_some_and(|rest| !cue.is_ascii() || !rest.ends_with(|letter: char| letter.is_alphanumeric()))
    })
}

/// The folders below the workspace that a text names as such, each once.
fn named_folders(text: &str, places: &Places) -> Vec<PathBuf> {
    let Some(workspace) = places.workspace().filter(|workspace| workspace.is_trusted) else {
        return Vec::new();
    };
    let Ok(root) = canonical_workspace(&workspace.path) else { return Vec::new() };
    let home = places.home.as_deref().and_then(|home| canonical_workspace(home).ok());
    let tokens: Vec<&str> =
        text.split(|letter: char| letter.is_whitespace() || "，。、（）".contains(letter)).collect();
    let bare = |token: &str| {
        let edges: &[char] =
            &['`', '"', '\'', ',', '.', ';', ':', '!', '?', '(', ')', '[', ']', '“', '”', '「', '」'];
        // A dot at the beginning may belong to a path.
        token
            .trim_end_matches(edges)
            .trim_start_matches(|letter| letter != '.' && edges.contains(&letter))
            .to_string()
    };
    let is_folder_word = |place: Option<usize>| {
        let word = place.and_then(|place| tokens.get(place)).map(|token| bare(token).to_lowercase());
        word.is_some_and(|word| FOLDER_WORDS.contains(&word.as_str()))
    };
    let mut folders = Vec::new();
    for (place, token) in tokens.iter().enumerate() {
        let name = bare(token);
        let is_named =
            name.contains('/') || is_folder_word(Some(place + 1)) || is_folder_word(place.checked_sub(1));
        if is_named
            && let Some(folder) = folder_below(&root, &workspace.path, &name, home.as_deref())
            && !folders.contains(&folder)
        {
            folders.push(folder);
        }
    }
    folders
}

/// The folder that a path names, or that holds the file it names, if it is below the workspace and nobody else's.
fn folder_below(root: &Path, given: &Path, name: &str, home: Option<&Path>) -> Option<PathBuf> {
    let path = Path::new(name.trim_end_matches('/'));
    let path = path.strip_prefix(given).or_else(|_| path.strip_prefix(root)).unwrap_or(path);
    let is_plain =
        |part: Component<'_>| matches!(part, Component::Normal(name) if name != ".git" && name != ".gemini");
    let path = path.strip_prefix(".").unwrap_or(path);
    if path.as_os_str().is_empty() || !path.components().all(is_plain) {
        return None;
    }
    let found = root.join(path);
    let folder = if found.is_dir() {
        found
    } else {
        found.is_file().then(|| found.parent().map(Path::to_path_buf))??
    };
    // A link may lead anywhere.
    let is_real = folder.canonicalize().is_ok_and(|real| real == folder);
    let is_homes = home.is_some_and(|home| folder.starts_with(home));
    (folder != root && is_real && !is_homes).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::WorkFolder;
    use std::fs;

    /// Checks the proposal in a workspace with some folders: `global`, `project` or a folder, with `?` where it is not clear.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("work");
        for name in ["crates/memory/src", "tests", "docs", ".git/hooks", "node"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        fs::create_dir_all(folder.path().join("outside")).unwrap();
        fs::write(root.join("crates/memory/src/lib.rs"), "").unwrap();
        fs::write(root.join("README.md"), "").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../outside", root.join("link")).unwrap();
        let places = Places {
            folders: vec![WorkFolder { path: root.clone(), is_trusted: true }],
            ..Places::default()
        };
        let proposed = propose_scope(text, &places);
        let place = match &proposed.scope {
            FactScope::Global => "global".to_string(),
            FactScope::Project => "project".to_string(),
            FactScope::Folder(folder) => folder.strip_prefix(&root).unwrap().display().to_string(),
        };
        let mark = if proposed.is_clear { "" } else { "?" };
        assert_eq!(format!("{place}{mark}"), expected, "{text}");
    }

    #[test]
    fn habits_hold_everywhere() {
        for text in [
            "I prefer tabs",
            "I’m a night owl",
            "My name is Ada.",
            "Call me Ada",
            "Prefers short answers",
            "The user prefers pnpm",
            "Please remember that I always use vim",
            "Always answer in French",
            "Likes cats",
            "In every project, run the linter first",
            "我喜欢简短的回答",
            "私は日本語で話します",
            "所有项目都用制表符",
            "どのプロジェクトでもテストを先に",
        ] {
            check(text, "global");
        }
    }

    #[test]
    fn what_is_said_of_this_project_holds_there() {
        for text in [
            "In this project tests run with pnpm",
            "This repository uses trunk-based development",
            "I prefer tabs in this project",
            "Our codebase has no unwrap",
            "在这个项目里用 pnpm",
            "このプロジェクトでは pnpm を使う",
        ] {
            check(text, "project");
        }
    }

    #[test]
    fn what_is_said_of_a_folder_holds_there() {
        check("In crates/memory every test is small", "crates/memory");
        check("Files in `crates/memory/` have no unwrap.", "crates/memory");
        check("See ./docs/, which is generated", "docs");
        check("The tests folder needs a database", "tests");
        check("The directory \"docs\" is generated", "docs");
        check("crates/memory/src/lib.rs is a table of contents", "crates/memory/src");
        check("In this project docs/ is generated", "docs");
        check("フォルダ docs は自動生成です", "docs");
    }

    #[test]
    fn where_words_leave_it_open_that_is_said() {
        check("Tests run with pnpm", "project?");
        check("The port is 8080", "project?");
        check("In this project, as in all my projects, use tabs", "project?");
        check("Use tabs, and not only in this project", "global?");
        check("Unlike this project, others use spaces", "global?");
        check("I keep my notes in docs/", "project?");
        check("docs/ and tests/ are generated", "project?");
        check("In every project docs/ is generated", "global?");
    }

    #[test]
    fn words_only_look_like_cues() {
        check("This projector is broken", "project?");
        check("Likewise, API likes JSON", "project?");
        check("The label reads \"I prefer tabs\"", "project?");
        check("The banner says `this project` twice", "project?");
        check("An unclosed \" quote: I prefer tabs", "global");
        check("Run tests before docs", "project?");
        check("wifi prefers 5 GHz", "project?");
        check("", "project?");
    }

    #[test]
    fn no_folder_leads_out() {
        for text in [
            "In ../outside use tabs",
            "The link folder is special",
            "In link/ use tabs",
            "In /etc use tabs",
            "In .git/hooks use tabs",
            "In crates/../../outside use tabs",
            "In no/such/folder use tabs",
            "In ~/ use tabs",
            "In https://example.org/docs use tabs",
            "In docs/../../outside/ use tabs",
            "In . use tabs",
            "In / use tabs",
            "In README.md/ use tabs",
        ] {
            check(text, "project?");
        }
    }

    #[test]
    fn without_a_project_what_is_open_holds_everywhere() {
        let scope = |places: &Places| propose_scope("The port is 8080", places).scope;
        assert_eq!(scope(&Places::default()), FactScope::Global);
        let home = tempfile::tempdir().unwrap();
        let folders = vec![WorkFolder { path: home.path().to_path_buf(), is_trusted: true }];
        let places = Places { user_home: Some(home.path().to_path_buf()), folders, ..Places::default() };
        assert_eq!(scope(&places), FactScope::Global);
    }

    #[test]
    fn a_folder_that_is_not_trusted_has_no_say() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("docs")).unwrap();
        let workspace = WorkFolder { path: folder.path().to_path_buf(), is_trusted: false };
        let places = Places { folders: vec![workspace], ..Places::default() };
        assert_eq!(propose_scope("In docs/ use tabs", &places).scope, FactScope::Project);
        assert_eq!(propose_scope("In this project use tabs", &places).scope, FactScope::Project);
    }
}
