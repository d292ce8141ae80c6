//! Sessions in files: what a list shows of them, and how it is remembered.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_stores::{Agent, FoundSessions, Places, Platform, find_sessions};

struct HomeFolder(tempfile::TempDir);

impl HomeFolder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    fn put(&self, path: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn index(&self) -> PathBuf {
        self.0.path().join("index.json")
    }

    fn find(&self) -> FoundSessions {
        find_sessions(&Places::new(Platform::Linux, Some(self.0.path()), |_| None), Some(&self.index()))
    }
}

fn claude(id: &str, role: &str, text: &str, usage: &str) -> String {
    let kind = if role == "user" { "user" } else { "assistant" };
    format!(
        "{{\"type\":\"{kind}\",\"uuid\":\"{id}\",\"sessionId\":\"s-1\",\"cwd\":\"/home/dev/shop\",\"timestamp\":\"2026-11-18T20:00:00Z\",\
         \"message\":{{\"role\":\"{role}\",\"id\":\"{id}\",\"model\":\"claude-sonnet-4-5\",\"content\":\"{text}\"{usage}}}}}\n"
    )
}

const USAGE: &str = ",\"usage\":{\"input_tokens\":10,\"cache_read_input_tokens\":1000,\"output_tokens\":5}";

#[test]
fn a_list_shows_title_folder_model_and_size() {
    let home = HomeFolder::new();
    let secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let asked = claude("a", "user", &format!("Fix the cart with {secret}"), "");
    let path = home.put(
        ".claude/projects/-home-dev-shop/s-1.jsonl",
        &(asked + &claude("b", "assistant", "Done.", USAGE)),
    );
    let child = home
        .put(".claude/projects/-home-dev-shop/s-1/subagents/agent-x.jsonl", &claude("c", "user", "Look", ""));
    home.put(
        ".claude/projects/-home-dev-shop/empty.jsonl",
        "{\"type\":\"file-history-snapshot\",\"messageId\":\"m\"}\n",
    );
    let found = home.find();
    assert!(found.notices.is_empty(), "{:?}", found.notices);
    let [session] = &found.sessions[..] else { panic!("{found:?}") };
    assert_eq!((session.agent, &session.path, &session.children), (Agent::Claude, &path, &vec![child]));
    let head = &session.head;
    let title = head.title.clone().unwrap_or_default();
    assert!(title.starts_with("Fix the cart with ") && !title.contains(secret), "{title}");
    assert_eq!(head.tokens.map(|tokens| (tokens.count, tokens.is_estimate)), Some((1015, false)));
    assert_eq!(head.model.as_deref(), Some("claude-sonnet-4-5"));
    assert!(!fs::read_to_string(home.index()).expect("an index").contains(secret));
    let is_about = |folder: &str| session.is_about(Path::new(folder), &mut |path: &Path| path.to_path_buf());
    assert!(is_about("/home/dev/shop") && !is_about("/home/dev"));
}

#[test]
fn only_what_has_changed_is_read_again() {
    let home = HomeFolder::new();
    let path = home.put(".claude/projects/-w/s-1.jsonl", &claude("a", "user", "One", ""));
    home.put(".claude/projects/-w/s-2.jsonl", &claude("a", "user", "Two", ""));
    assert_eq!(home.find().sessions.len(), 2);
    // The index is believed where a file has not changed.
    let index = fs::read_to_string(home.index()).expect("an index").replace("\"Two\"", "\"Remembered\"");
    fs::write(home.index(), index).expect("written");
    let titles = |found: FoundSessions| {
        let mut titles: Vec<String> =
            found.sessions.into_iter().map(|session| session.head.title.unwrap_or_default()).collect();
        titles.sort();
        titles.join(" ")
    };
    assert_eq!(titles(home.find()), "One Remembered");
    fs::write(&path, claude("a", "user", "Changed and longer", "")).expect("written");
    assert_eq!(titles(home.find()), "Changed and longer Remembered");
    fs::remove_file(&path).expect("removed");
    assert_eq!(titles(home.find()), "Remembered");
    assert!(!fs::read_to_string(home.index()).expect("an index").contains("longer"));
    fs::write(home.index(), "{").expect("written");
    assert_eq!(titles(home.find()), "Two");
}

#[test]
fn a_session_that_is_being_written_is_read_as_far_as_it_is_whole() {
    let home = HomeFolder::new();
    let (asked, said) = (claude("a", "user", "Fix the cart", ""), claude("b", "assistant", "Done.", USAGE));
    for end in 0..said.len() {
        home.put(".claude/projects/-w/s-1.jsonl", &format!("{asked}{}", &said[..end]));
        let found = home.find();
        assert_eq!(found.sessions[0].head.title.as_deref(), Some("Fix the cart"), "{end}");
        assert!(found.notices.is_empty(), "{end}: {:?}", found.notices);
    }
    home.put(".claude/projects/-w/s-1.jsonl", &asked[..40]);
    let found = home.find();
    assert!(found.sessions.is_empty() && found.notices.is_empty(), "{found:?}");
}

#[test]
fn a_large_session_is_read_at_its_ends() {
    let home = HomeFolder::new();
    let middle: String =
        (0..9000).map(|n| claude(&format!("m{n}"), "user", "more words than before", "")).collect();
    let text = claude("a", "user", "Fix the cart", "") + &middle + &claude("z", "assistant", "Done.", USAGE);
    assert!(text.len() > 1 << 20);
    home.put(".claude/projects/-w/s-1.jsonl", &text);
    let head = home.find().sessions.remove(0).head;
    assert_eq!(head.title.as_deref(), Some("Fix the cart"));
    assert_eq!(head.tokens.map(|tokens| tokens.count), Some(1015));
}

#[test]
fn files_beside_a_session_say_what_it_leaves_out() {
    let home = HomeFolder::new();
    let kimi = "{\"type\":\"context.append_message\",\"agentId\":\"main\",\"message\":{\"role\":\"user\",\"content\":\"List\",\
                \"origin\":{\"kind\":\"user\"}},\"time\":1795033073378}\n";
    home.put(".kimi-code/sessions/wd_1/session_1/agents/main/wire.jsonl", kimi);
    home.put(
        ".kimi-code/sessions/wd_1/session_1/state.json",
        "{\"id\":\"session_1\",\"cwd\":\"/home/dev/shop\"}",
    );
    let chat = "{\"version\":3,\"sessionId\":\"v\",\"creationDate\":1,\"requesterUsername\":\"d\",\"requests\":[{\"message\":{\"text\":\"List\"}}]}";
    home.put(".config/Code/User/workspaceStorage/7/chatSessions/v.json", chat);
    home.put(
        ".config/Code/User/workspaceStorage/7/workspace.json",
        "{\"folder\":\"file:///home/dev/my%20shop\"}",
    );
    let found = home.find();
    assert!(found.notices.is_empty(), "{:?}", found.notices);
    let mut folders: Vec<(Agent, String, Option<String>)> =
        found.sessions.into_iter().map(|s| (s.agent, s.head.id, s.head.directory)).collect();
    folders.sort();
    assert_eq!(
        folders,
        [
            (Agent::Vscode, "v".to_string(), Some("/home/dev/my shop".to_string())),
            (Agent::Kimi, "session_1".to_string(), Some("/home/dev/shop".to_string())),
        ]
    );
}

#[cfg(unix)]
#[test]
fn a_folder_without_permission_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let home = HomeFolder::new();
    let path = home.put(".claude/projects/-w/s-1.jsonl", &claude("a", "user", "One", ""));
    let folder = path.parent().expect("a parent");
    let allow = |mode| fs::set_permissions(folder, fs::Permissions::from_mode(mode)).expect("set");
    allow(0o000);
    // Root reads everything.
    if fs::read_dir(folder).is_err() {
        let found = home.find();
        assert_eq!(found.notices[0].path, folder);
    }
    allow(0o755);
}
