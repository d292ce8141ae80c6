//! The store on folders as programs leave them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use longhaul_conversation::Timestamp;
use longhaul_workspace::{Environment, Home, Lock, LockTimeout, Projects};

use super::index;
use super::*;

/// A project in a home of its own.
struct Fixture {
    folder: tempfile::TempDir,
    root: PathBuf,
    store: Store,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let work = folder.path().join("app");
        fs::create_dir(&work).expect("made");
        let environment =
            Environment { longhaul_home: Some(folder.path().join("home")), ..Environment::default() };
        let home = Home::resolve(&environment).expect("a home");
        let identity = Projects::of(&home).identify(&work, LockTimeout::default()).expect("a project");
        let project = home.project(&identity.id);
        fs::create_dir_all(project.chats()).expect("made");
        Self { root: project.root().to_path_buf(), store: Store::of(&project), folder }
    }

    fn chat(&self, name: &str) -> PathBuf {
        self.store.chats.join(name)
    }

    /// Writes a session that began and was last used on these days of January 2026.
    fn session(&self, id: &str, began: u32, used: u32) -> String {
        let text = [header(id, began, used), ASK.to_owned()].join("\n");
        self.file(id, began, "jsonl", &text)
    }

    fn file(&self, id: &str, began: u32, extension: &str, text: &str) -> String {
        let short: String = id.chars().take(8).collect();
        let name = format!("session-2026-01-{began:02}T10-00-{short}.{extension}");
        fs::write(self.chat(&name), text).expect("written");
        name
    }

    /// Makes a file below the project's folder.
    fn put(&self, path: &str) -> PathBuf {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, "x").expect("written");
        path
    }

    fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    /// The sessions in order, by index and id.
    fn listed(&self) -> Vec<(usize, String)> {
        let listing = self.store.list().expect("listed");
        let listed = listing.sessions.iter().map(|session| (session.index, session.id().to_owned()));
        listed.collect()
    }

    fn index(&self) -> PathBuf {
        self.chat(index::NAME)
    }
}

const ASK: &str = r#"{"id":"1","type":"user","content":"Fix the build"}"#;
const ONE: &str = "11111111-aaaa";
const TWO: &str = "22222222-bbbb";
const THREE: &str = "33333333-cccc";

fn day(day: u32) -> Timestamp {
    Timestamp::parse(&format!("2026-01-{day:02}T12:00:00Z")).expect("a day")
}

fn header(id: &str, began: u32, used: u32) -> String {
    format!(
        r#"{{"sessionId":"{id}","projectHash":"p","startTime":"{}","lastUpdated":"{}"}}"#,
        day(began),
        day(used)
    )
}

fn set_modified(path: &Path, at: Timestamp) {
    let time = UNIX_EPOCH + Duration::from_millis(at.as_millis() as u64);
    File::open(path).and_then(|file| file.set_modified(time)).expect("set");
}

fn pairs(expected: &[(usize, &str)]) -> Vec<(usize, String)> {
    expected.iter().map(|(index, id)| (*index, (*id).to_owned())).collect()
}

#[test]
fn sessions_are_listed_by_their_beginning() {
    let home = Fixture::new();
    home.session(TWO, 5, 6);
    home.session(ONE, 3, 20);
    home.file(THREE, 4, "json", &format!(
        "{{\n\"sessionId\":\"{THREE}\",\"projectHash\":\"p\",\"startTime\":\"2026-01-04T10:00:00Z\",\"messages\":[{ASK}]}}"
    ));
    assert_eq!(home.listed(), pairs(&[(1, ONE), (2, THREE), (3, TWO)]));
}

#[test]
fn a_project_without_a_folder_has_no_sessions() {
    let home = Fixture::new();
    fs::remove_dir(&home.store.chats).expect("removed");
    assert_eq!(home.listed(), []);
    assert!(!home.store.chats.exists(), "listing makes nothing");
    assert_eq!(home.store.tool_outputs().expect("listed"), []);
}

#[test]
fn what_is_no_session_goes_to_the_flawed() {
    let home = Fixture::new();
    home.session(ONE, 1, 1);
    home.file("broken00", 1, "jsonl", "nonsense");
    home.file("empty000", 1, "jsonl", "");
    home.file(
        "command0",
        1,
        "jsonl",
        &format!("{}\n{}", header("c", 1, 1), r#"{"id":"1","type":"user","content":"/quit"}"#),
    );
    home.file("startup0", 1, "jsonl", &header("s", 1, 1));
    home.file(
        "agent000",
        1,
        "jsonl",
        &format!("{}\n{}\n{ASK}", header("a", 1, 1), r#"{"$set":{"kind":"subagent"}}"#),
    );
    fs::write(home.chat("notes.jsonl"), "not looked at").expect("written");
    fs::write(home.chat(".session-x.jsonl.lock"), "").expect("written");
    fs::create_dir(home.chat("session-folder.jsonl")).expect("made");
    let listing = home.store.list().expect("listed");
    let flawed: Vec<String> =
        listing.flawed.iter().map(|file| format!("{} {:?}", &file.file_name[25..33], file.flaw)).collect();
    assert_eq!(
        flawed,
        [
            "agent000 Subagent",
            "broken00 NoSession",
            "command0 NothingToResume { has_messages: true }",
            "empty000 NoSession",
            "startup0 NothingToResume { has_messages: false }",
        ]
    );
    assert_eq!(listing.sessions.len(), 1);
}

#[test]
fn of_two_files_of_a_session_the_later_counts() {
    let home = Fixture::new();
    let older = home.session(ONE, 1, 2);
    let text = [header(ONE, 1, 9), ASK.to_owned()].join("\n");
    let newer = home.file(ONE, 2, "jsonl", &text);
    let listing = home.store.list().expect("listed");
    let [session] = listing.sessions.as_slice() else { panic!("one session") };
    assert_eq!((&session.file_name, session.updated), (&newer, day(9)));
    assert_eq!(session.older_files, [older]);
}

#[test]
fn missing_times_fall_back() {
    let home = Fixture::new();
    let head = |time: &str| format!(r#"{{"sessionId":"{ONE}","projectHash":"p"{time}}}"#) + "\n" + ASK;
    let check = |time: &str, expected: (Timestamp, Timestamp)| {
        let name = home.file(ONE, 1, "jsonl", &head(time));
        set_modified(&home.chat(&name), day(20));
        let listing = home.store.list_afresh().expect("listed");
        assert_eq!((listing.sessions[0].started, listing.sessions[0].updated), expected, "{time}");
    };
    check("", (day(20), day(20)));
    check(r#","startTime":"2026-01-03T12:00:00Z""#, (day(3), day(3)));
    check(r#","lastUpdated":"2026-01-04T12:00:00Z""#, (day(4), day(4)));
    check(r#","startTime":"yesterday","lastUpdated":"2026-01-04T12:00:00Z""#, (day(4), day(4)));
}

#[test]
fn the_current_session_is_known_by_its_file() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    let listing = home.store.list().expect("listed");
    assert!(listing.sessions[0].is_current(ONE));
    assert!(listing.sessions[0].is_current("11111111-other"));
    assert!(!listing.sessions[0].is_current(TWO));
    assert!(!listing.sessions[0].is_current(""));
}

#[test]
fn selectors_choose_one_session() {
    let home = Fixture::new();
    let none = home.store.list().expect("listed");
    assert_eq!(none.select("latest").expect_err("none").code(), Some("NO_SESSIONS_FOUND"));
    home.session(ONE, 1, 30);
    home.session(TWO, 2, 3);
    home.session("1", 3, 3);
    let listing = home.store.list().expect("listed");
    for (given, expected) in
        [("latest", ONE), (" latest\n", ONE), (ONE, ONE), ("2", TWO), (" 3 ", "1"), ("1", "1")]
    {
        assert_eq!(listing.select(given).expect("found").id(), expected, "{given:?}");
    }
    for given in ["", "0", "4", "+2", "02", "2.0", "-1", "2x", "11111111", "LATEST", "nobody"] {
        let code = listing.select(given).expect_err(given).code();
        assert_eq!(code, Some("INVALID_SESSION_IDENTIFIER"), "{given:?}");
    }
}

// The index.

#[test]
fn the_index_is_written_only_when_something_changed() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    let name = home.session(TWO, 2, 3);
    assert!(!home.index().exists());
    let first = home.listed();
    set_modified(&home.index(), day(1));
    let written = || fs::metadata(home.index()).and_then(|metadata| metadata.modified()).expect("a time");
    let before = written();
    assert_eq!((home.listed(), written()), (first, before));
    fs::remove_file(home.chat(&name)).expect("removed");
    assert_eq!(home.listed(), pairs(&[(1, ONE)]));
    assert_ne!(written(), before);
}

#[test]
fn an_index_is_used_while_size_and_time_are_the_same() {
    let home = Fixture::new();
    let name = home.session(ONE, 1, 2);
    set_modified(&home.chat(&name), day(5));
    home.listed();
    let text = fs::read_to_string(home.chat(&name)).expect("readable");
    fs::write(home.chat(&name), text.replace("Fix the build", "Fix the tests")).expect("written");
    set_modified(&home.chat(&name), day(5));
    let shown = || home.store.list().expect("listed").sessions[0].display_name();
    assert_eq!(shown(), "Fix the build");
    set_modified(&home.chat(&name), day(6));
    assert_eq!(shown(), "Fix the tests");
    fs::write(home.chat(&name), format!("{text}\n{}", r#"{"$set":{"summary":"More"}}"#)).expect("written");
    set_modified(&home.chat(&name), day(6));
    assert_eq!(shown(), "More");
}

#[test]
fn a_broken_index_does_not_matter() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    let expected = home.listed();
    let good = fs::read_to_string(home.index()).expect("readable");
    for bad in ["", "nonsense", "[]", "{}", &good[..good.len() / 2], &good.replace("\"v\":1", "\"v\":99")] {
        fs::write(home.index(), bad).expect("written");
        assert_eq!(home.listed(), expected, "{bad}");
        assert_eq!(fs::read_to_string(home.index()).expect("readable"), good);
    }
    fs::write(home.index(), b"\xFF\xFE").expect("written");
    assert_eq!(home.listed(), expected);
}

#[test]
fn an_index_that_cannot_be_written_does_not_matter() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    fs::create_dir(home.index()).expect("made");
    assert_eq!(home.listed(), pairs(&[(1, ONE)]));
    assert!(home.index().is_dir());
}

#[cfg(unix)]
#[test]
fn the_index_is_private_and_no_way_out() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    home.listed();
    let mode = fs::metadata(home.index()).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let outside = home.folder.path().join("outside");
    fs::write(&outside, "mine").expect("written");
    fs::remove_file(home.index()).expect("removed");
    symlink(&outside, home.index()).expect("linked");
    assert_eq!(home.listed(), pairs(&[(1, ONE)]));
    assert_eq!(fs::read_to_string(&outside).expect("readable"), "mine");
}

#[test]
fn many_files_are_read_by_many_threads() {
    let home = Fixture::new();
    for number in 0..200 {
        home.session(&format!("{number:08}-x"), 1 + number % 28, 28);
    }
    let ids: Vec<String> =
        home.store.list().expect("listed").sessions.iter().map(|session| session.id().to_owned()).collect();
    assert_eq!(ids.len(), 200);
    let warm: Vec<String> =
        home.store.list().expect("listed").sessions.iter().map(|session| session.id().to_owned()).collect();
    assert_eq!(ids, warm);
}

// Deletion.

#[test]
fn a_session_goes_with_all_that_belongs_to_it() {
    let home = Fixture::new();
    let name = home.session(ONE, 1, 2);
    home.file(ONE, 1, "json", &header(ONE, 1, 2));
    fs::write(home.chat(&format!("{name}.unreadable-17")), "x").expect("written");
    home.session(TWO, 1, 2);
    let own = [
        format!("logs/session-{ONE}.jsonl"),
        format!("tool-outputs/session-{ONE}/a.txt"),
        format!("{ONE}/plans/plan.md"),
        format!("chats/{ONE}/agent-1.jsonl"),
        "logs/session-agent-1.jsonl".to_owned(),
        "tool-outputs/session-agent-1/b.txt".to_owned(),
        "agent-1/tasks/t.json".to_owned(),
        "chats/agent-1/agent-2.jsonl".to_owned(),
        "logs/session-agent-2.jsonl".to_owned(),
    ];
    let others = [
        format!("logs/session-{TWO}.jsonl"),
        format!("tool-outputs/session-{TWO}/a.txt"),
        format!("{TWO}/plans/plan.md"),
        "tool-outputs/loose.txt".to_owned(),
        "memory/MEMORY.md".to_owned(),
    ];
    for path in own.iter().chain(&others) {
        home.put(path);
    }
    let deletion = home.store.delete(ONE).expect("deleted");
    assert!(deletion.problems.is_empty(), "{:?}", deletion.problems);
    assert_eq!(deletion.ids, [ONE]);
    for path in &own {
        assert!(!home.has(path), "{path}");
    }
    for path in &others {
        assert!(home.has(path), "{path}");
    }
    let mut left: Vec<String> = fs::read_dir(&home.store.chats)
        .expect("listed")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("text"))
        .collect();
    left.retain(|name| name.contains("11111111"));
    assert_eq!(left, Vec::<String>::new(), "neither the file nor its lock or remnants");
    assert_eq!(home.listed(), pairs(&[(1, TWO)]));
}

#[test]
fn a_session_is_named_by_id_short_id_or_file() {
    for given in
        [ONE, "11111111", "session-2026-01-01T10-00-11111111.jsonl", "session-2026-01-01T10-00-11111111"]
    {
        let home = Fixture::new();
        home.session(ONE, 1, 2);
        home.put(&format!("logs/session-{ONE}.jsonl"));
        home.store.delete(given).expect(given);
        assert_eq!(
            (home.listed(), home.has(&format!("logs/session-{ONE}.jsonl"))),
            (vec![], false),
            "{given}"
        );
    }
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    fs::rename(home.chat("session-2026-01-01T10-00-11111111.jsonl"), home.chat("session-mine.jsonl"))
        .expect("renamed");
    home.store.delete(ONE).expect("a renamed file still knows its session");
    let home = Fixture::new();
    let name = home.session("s-1", 1, 2);
    assert!(home.store.delete("s-1").is_err());
    home.store.delete(&name).expect("short ids go by the name of the file");
}

#[test]
fn sessions_that_begin_alike_are_told_apart() {
    let home = Fixture::new();
    let (first, second) = ("0198c2f4-1111", "0198c2f4-2222");
    home.session(first, 1, 2);
    home.session(second, 2, 2);
    home.put(&format!("logs/session-{second}.jsonl"));
    let error = home.store.delete("0198c2f4").expect_err("two sessions");
    assert!(matches!(error, StoreError::Ambiguous { .. }), "{error:?}");
    assert!(matches!(home.store.delete("0198c2f4-3333"), Err(StoreError::UnknownSession { .. })));
    home.store.delete(first).expect("deleted");
    assert_eq!(home.listed(), pairs(&[(1, second)]));
    assert!(home.has(&format!("logs/session-{second}.jsonl")));
}

#[test]
fn broken_files_can_be_deleted() {
    let home = Fixture::new();
    home.file("deadbeef", 1, "jsonl", "nonsense");
    let deletion = home.store.delete("deadbeef").expect("deleted");
    assert_eq!((deletion.ids.len(), deletion.removed.len()), (0, 1));
}

#[test]
fn hostile_names_delete_nothing() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    home.put("memory/MEMORY.md");
    let outside = home.folder.path().join("outside.txt");
    fs::write(&outside, "mine").expect("written");
    for given in [
        "",
        ".",
        "..",
        "chats",
        "Chats",
        "logs",
        "TOOL-OUTPUTS",
        "memory",
        "/",
        "/etc/passwd",
        "../../outside.txt",
        "..\\..\\outside.txt",
        "chats/11111111",
        "11111111/../x",
        "1111111",
        "11111111 ",
        "session-../../x.jsonl",
        "session-*-11111111.jsonl",
        "11111111\0",
        "C:11111111",
    ] {
        let error = home.store.delete(given).expect_err(given);
        assert!(matches!(error, StoreError::InvalidName { .. }), "{given:?}: {error:?}");
    }
    assert!(matches!(home.store.delete("99999999-none"), Err(StoreError::UnknownSession { .. })));
    assert!(home.has("memory/MEMORY.md") && outside.exists());
    assert_eq!(home.listed(), pairs(&[(1, ONE)]));
}

#[test]
fn a_file_with_a_hostile_id_takes_nothing_with_it() {
    for id in ["..", "../..", "chats", "memory", "Logs", "a/b", "/etc", "tool-outputs"] {
        let home = Fixture::new();
        let text = [header(id, 1, 2), ASK.to_owned()].join("\n");
        let name = home.file("44444444", 1, "jsonl", &text);
        let kept =
            [home.put("memory/MEMORY.md"), home.put("logs/session-x.jsonl"), home.put("tool-outputs/x.txt")];
        let deletion = home.store.delete(&name).expect("the file itself goes");
        assert!(matches!(deletion.problems.as_slice(), [StoreError::InvalidName { .. }]), "{id}");
        assert!(kept.iter().all(|path| path.exists()), "{id}");
        assert!(home.store.chats.exists());
    }
}

#[test]
fn a_sub_agent_cannot_take_a_main_session_with_it() {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    home.session(TWO, 1, 2);
    home.put(&format!("chats/{ONE}/{TWO}.jsonl"));
    home.put(&format!("chats/{ONE}/memory.jsonl"));
    let kept = [home.put(&format!("logs/session-{TWO}.jsonl")), home.put("memory/MEMORY.md")];
    home.store.delete(ONE).expect("deleted");
    assert!(kept.iter().all(|path| path.exists()));
    assert!(!home.has(&format!("chats/{ONE}")));
}

#[cfg(unix)]
#[test]
fn links_are_neither_followed_nor_deleted() {
    use std::os::unix::fs::symlink;
    let home = Fixture::new();
    let outside = home.folder.path().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("keep.txt"), "mine").expect("written");
    fs::write(outside.join("s.jsonl"), [header(TWO, 1, 2), ASK.to_owned()].join("\n")).expect("written");
    // In the place of a session.
    symlink(outside.join("s.jsonl"), home.chat("session-2026-01-01T10-00-22222222.jsonl")).expect("linked");
    assert_eq!(home.listed(), []);
    assert!(matches!(home.store.delete(TWO), Err(StoreError::Misplaced { .. })));
    // In the place of what belongs to one.
    home.session(ONE, 1, 2);
    symlink(&outside, home.root.join(ONE)).expect("linked");
    symlink(&outside, home.root.join("logs")).expect("linked");
    fs::write(outside.join(format!("session-{ONE}.jsonl")), "log").expect("written");
    home.put(&format!("tool-outputs/session-{ONE}/a.txt"));
    symlink(&outside, home.root.join(format!("tool-outputs/session-{ONE}/inner"))).expect("linked");
    let deletion = home.store.delete(ONE).expect("deleted");
    assert_eq!(deletion.problems.len(), 2, "{:?}", deletion.problems);
    assert!(deletion.problems.iter().all(|problem| matches!(problem, StoreError::Misplaced { .. })));
    assert!(!home.has(&format!("tool-outputs/session-{ONE}")));
    assert!(outside.join("keep.txt").exists() && outside.join(format!("session-{ONE}.jsonl")).exists());
    assert!(home.root.join(ONE).symlink_metadata().is_ok(), "the link itself stays");
}

#[cfg(unix)]
#[test]
fn nothing_is_deleted_through_a_linked_folder_or_lock() {
    use std::os::unix::fs::symlink;
    let home = Fixture::new();
    let name = home.session(ONE, 1, 2);
    let outside = home.folder.path().join("outside");
    fs::write(&outside, "mine").expect("written");
    let lock = home.chat(&format!(".{name}.lock"));
    symlink(&outside, &lock).expect("linked");
    assert!(matches!(home.store.delete(ONE), Err(StoreError::Misplaced { .. })));
    assert_eq!(fs::read_to_string(&outside).expect("readable"), "mine");
    fs::remove_file(&lock).expect("removed");
    let moved = home.folder.path().join("moved");
    fs::rename(&home.store.chats, &moved).expect("moved");
    symlink(&moved, &home.store.chats).expect("linked");
    assert_eq!(home.listed(), pairs(&[(1, ONE)]));
    assert!(matches!(home.store.delete(ONE), Err(StoreError::Misplaced { .. })));
    assert!(moved.join(name).exists());
}

#[test]
fn a_session_in_use_is_not_deleted() {
    let home = Fixture::new();
    let name = home.session(ONE, 1, 2);
    home.file(ONE, 1, "json", &header(ONE, 1, 2));
    home.put(&format!("logs/session-{ONE}.jsonl"));
    let lock = Lock::beside(&home.chat(&name), "writing", LockTimeout::Immediate).expect("locked");
    let error = home.store.delete(ONE).expect_err("in use");
    assert!(matches!(&error, StoreError::InUse { file, .. } if *file == name), "{error:?}");
    assert!(error.to_string().contains("in use"));
    assert!(home.has(&format!("logs/session-{ONE}.jsonl")));
    assert_eq!(
        fs::read_dir(&home.store.chats)
            .expect("listed")
            .filter(|entry| entry
                .as_ref()
                .is_ok_and(|entry| !entry.file_name().to_string_lossy().starts_with('.')))
            .count(),
        2
    );
    drop(lock);
    home.store.delete(ONE).expect("released");
}

// Retention.

const NOW: u32 = 31;

fn limits(days: Option<u64>, max_count: Option<usize>) -> RetentionLimits {
    RetentionLimits { max_age: days.map(|days| Duration::from_secs(days * 86_400)), max_count }
}

fn plan(home: &Fixture, limits: RetentionLimits, active: Option<&str>) -> RetentionPlan {
    let listing = home.store.list().expect("listed");
    let outputs = home.store.tool_outputs().expect("listed");
    plan_retention(&listing, &outputs, &limits, day(NOW), active)
}

/// The items of a plan, each as `reason item`.
fn sketch(plan: &RetentionPlan) -> Vec<String> {
    let what = |item: &DoomedItem| match item {
        DoomedItem::Session { id, .. } => id[..1].to_owned(),
        DoomedItem::Flawed { file } => file[25..33].to_owned(),
        DoomedItem::ToolOutput(output) => output.name.clone(),
    };
    let mut sketch: Vec<String> =
        plan.doomed.iter().map(|doomed| format!("{:?} {}", doomed.reason, what(&doomed.item))).collect();
    sketch.sort();
    sketch
}

fn three() -> Fixture {
    let home = Fixture::new();
    home.session(ONE, 1, 2);
    home.session(TWO, 2, 30);
    home.session(THREE, 3, 10);
    home
}

#[track_caller]
fn check_plan(
    home: &Fixture,
    days: Option<u64>,
    count: Option<usize>,
    active: Option<&str>,
    expected: &[&str],
) {
    let plan = plan(home, limits(days, count), active);
    assert_eq!(sketch(&plan), expected, "{days:?} {count:?} {active:?}");
}

#[test]
fn old_and_surplus_sessions_go() {
    let home = three();
    check_plan(&home, Some(30), None, None, &[]);
    check_plan(&home, Some(29), None, None, &[]);
    check_plan(&home, Some(28), None, None, &["TooOld 1"]);
    check_plan(&home, Some(5), None, None, &["TooOld 1", "TooOld 3"]);
    check_plan(&home, None, Some(3), None, &[]);
    check_plan(&home, None, Some(2), None, &["TooMany 1"]);
    check_plan(&home, None, Some(1), None, &["TooMany 1", "TooMany 3"]);
    check_plan(&home, Some(25), Some(1), None, &["TooMany 3", "TooOld 1"]);
}

#[test]
fn the_active_session_stays_and_counts() {
    let home = three();
    check_plan(&home, Some(1), None, Some(ONE), &["TooOld 3"]);
    check_plan(&home, None, Some(2), Some(ONE), &["TooMany 3"]);
    check_plan(&home, None, Some(1), Some(ONE), &["TooMany 2", "TooMany 3"]);
    check_plan(&home, None, Some(2), Some("not-listed"), &["TooMany 1"]);
    home.file("broken00", 1, "jsonl", "nonsense");
    check_plan(&home, Some(30), None, Some("broken00-x"), &[]);
}

#[test]
fn useless_files_always_go() {
    let home = three();
    home.file("broken00", 1, "jsonl", "nonsense");
    home.file(
        "command0",
        1,
        "jsonl",
        &format!("{}\n{}", header("c", 30, 31), r#"{"id":"1","type":"user","content":"/quit"}"#),
    );
    home.file(
        "agent000",
        1,
        "jsonl",
        &format!("{}\n{}\n{ASK}", header("a", 1, 1), r#"{"$set":{"kind":"subagent"}}"#),
    );
    let begun = home.file("startup0", 1, "jsonl", &header("s", 31, 31));
    let empty = home.file("empty000", 1, "jsonl", "");
    let useless = ["Useless agent000", "Useless broken00", "Useless command0"];
    for name in [&begun, &empty] {
        set_modified(&home.chat(name), day(NOW));
    }
    check_plan(&home, Some(30), None, None, &useless);
    for name in [&begun, &empty] {
        set_modified(&home.chat(name), day(NOW - 1));
    }
    let all = [useless.as_slice(), &["Useless empty000", "Useless startup0"]].concat();
    check_plan(&home, Some(30), None, None, &all);
}

#[test]
fn tool_outputs_go_by_age_and_files_by_number() {
    let home = three();
    for (name, at) in [("a.txt", 1), ("b.txt", 20), ("c.txt", 25), ("d.txt", 30)] {
        set_modified(&home.put(&format!("tool-outputs/{name}")), day(at));
    }
    for (name, at) in [
        (format!("session-{ONE}"), 1),
        (format!("session-{TWO}"), 30),
        ("session-a.b".into(), 1),
        ("other".into(), 1),
    ] {
        home.put(&format!("tool-outputs/{name}/x"));
        set_modified(&home.root.join(format!("tool-outputs/{name}")), day(at));
    }
    let old = ["TooOld a.txt", "TooOld session-11111111-aaaa"];
    check_plan(&home, Some(29), None, None, &old);
    check_plan(&home, Some(29), None, Some(ONE), &["TooOld a.txt"]);
    check_plan(&home, Some(29), Some(3), None, &old);
    check_plan(&home, None, Some(3), None, &["TooMany a.txt"]);
    let plan = plan(&home, limits(Some(29), Some(3)), None);
    assert_eq!((plan.sessions, plan.tool_outputs), (3, 6));
}

#[test]
fn a_plan_is_carried_out_and_counted() {
    let home = three();
    home.file("broken00", 1, "jsonl", "nonsense");
    home.put(&format!("logs/session-{ONE}.jsonl"));
    set_modified(&home.put("tool-outputs/a.txt"), day(1));
    home.put("tool-outputs/b.txt");
    let plan = plan(&home, limits(Some(25), None), None);
    let before = fs::read_dir(&home.store.chats).expect("listed").count();
    assert_eq!(before, 5, "planning deletes nothing");
    let pruned = home.store.run_retention(&plan);
    assert!(pruned.problems.is_empty(), "{:?}", pruned.problems);
    assert_eq!(pruned.sessions, Counts { scanned: 4, deleted: 2, skipped: 2, failed: 0 });
    assert_eq!(pruned.tool_outputs, Counts { scanned: 2, deleted: 1, skipped: 1, failed: 0 });
    assert!(!home.has(&format!("logs/session-{ONE}.jsonl")) && home.has("tool-outputs/b.txt"));
    assert_eq!(home.listed(), pairs(&[(1, TWO), (2, THREE)]));
    let again = home.store.run_retention(&plan);
    assert_eq!((again.sessions.deleted, again.sessions.failed, again.sessions.skipped), (0, 0, 4));
}

#[test]
fn what_was_used_since_the_plan_is_spared() {
    let home = three();
    let name = home.file("broken00", 1, "jsonl", "nonsense");
    let output = home.put("tool-outputs/a.txt");
    set_modified(&output, day(1));
    let plan = plan(&home, limits(Some(25), None), None);
    home.session(ONE, 1, 31);
    fs::write(home.chat(&name), [header("broken00", 1, 31), ASK.to_owned()].join("\n")).expect("written");
    set_modified(&output, day(31));
    let pruned = home.store.run_retention(&plan);
    assert_eq!((pruned.sessions.deleted, pruned.sessions.skipped, pruned.tool_outputs.deleted), (0, 4, 0));
}

#[test]
fn a_session_without_times_goes_by_those_of_its_file() {
    let home = Fixture::new();
    let text = format!("{{\"sessionId\":\"{ONE}\",\"projectHash\":\"p\"}}\n{ASK}");
    let name = home.file(ONE, 1, "jsonl", &text);
    set_modified(&home.chat(&name), day(1));
    let plan = plan(&home, limits(Some(25), None), None);
    assert_eq!(sketch(&plan), ["TooOld 1"]);
    set_modified(&home.chat(&name), day(31));
    assert_eq!(home.store.run_retention(&plan).sessions.skipped, 1);
    set_modified(&home.chat(&name), day(1));
    assert_eq!(home.store.run_retention(&plan).sessions.deleted, 1);
}

#[test]
fn an_index_that_lies_deletes_nothing() {
    let home = Fixture::new();
    home.session(ONE, 30, 31);
    home.listed();
    let index = fs::read_to_string(home.index()).expect("readable");
    let used = day(31).as_millis().to_string();
    fs::write(home.index(), index.replace(&used, "1000")).expect("written");
    let old = plan(&home, limits(Some(1), None), None);
    assert_eq!(sketch(&old), ["TooOld 1"], "the lie was believed");
    fs::write(
        home.index(),
        index.replace("\"has_resumable_content\":true", "\"has_resumable_content\":false"),
    )
    .expect("written");
    let useless = plan(&home, limits(Some(1), None), None);
    assert_eq!(sketch(&useless), ["Useless 11111111"], "the lie was believed");
    for plan in [old, useless] {
        let pruned = home.store.run_retention(&plan);
        assert_eq!((pruned.sessions.deleted, pruned.sessions.skipped), (0, 1));
    }
    assert_eq!(home.store.list_afresh().expect("listed").sessions.len(), 1);
}

#[test]
fn a_session_in_use_is_skipped_and_told() {
    let home = three();
    let _lock = Lock::beside(
        &home.chat("session-2026-01-01T10-00-11111111.jsonl"),
        "writing",
        LockTimeout::Immediate,
    );
    let pruned = home.store.run_retention(&plan(&home, limits(Some(5), None), None));
    assert_eq!(pruned.sessions, Counts { scanned: 3, deleted: 1, skipped: 2, failed: 0 });
    assert!(matches!(pruned.problems.as_slice(), [StoreError::InUse { .. }]));
}

#[test]
fn a_plan_made_by_hand_cannot_leave_the_folder() {
    let home = three();
    let outside = home.folder.path().join("outside.txt");
    fs::write(&outside, "mine").expect("written");
    fs::create_dir_all(home.root.join("tool-outputs")).expect("made");
    home.put("memory/MEMORY.md");
    let output = |name: &str, is_folder| {
        let modified = day(31);
        DoomedItem::ToolOutput(ToolOutput { name: name.into(), path: outside.clone(), is_folder, modified })
    };
    let items = [
        output("../../../outside.txt", false),
        output("..", true),
        output(".", true),
        output("", true),
        output("/etc", true),
        output("../memory", true),
        DoomedItem::Flawed { file: "../memory/MEMORY.md".into() },
        DoomedItem::Session { id: "..".into(), files: vec!["../../x".into()], updated: day(31) },
        DoomedItem::Session { id: "..".into(), files: vec![], updated: day(31) },
    ];
    let doomed = items.map(|item| Doomed { item, reason: RetentionReason::TooOld }).to_vec();
    let pruned = home.store.run_retention(&RetentionPlan { sessions: 3, tool_outputs: 6, doomed });
    assert_eq!((pruned.sessions.deleted, pruned.tool_outputs.deleted), (0, 0));
    assert!(outside.exists() && home.has("memory/MEMORY.md") && home.has("tool-outputs"));
    assert_eq!(home.listed().len(), 3);
}

#[cfg(unix)]
#[test]
fn failures_are_counted_and_stop_nothing() {
    use std::os::unix::fs::symlink;
    let home = three();
    set_modified(&home.put("tool-outputs/a.txt"), day(1));
    set_modified(&home.put("tool-outputs/b.txt"), day(2));
    let plan = plan(&home, limits(Some(5), None), None);
    // Something else has taken the place of a file.
    let place = home.root.join("tool-outputs/a.txt");
    fs::remove_file(&place).expect("removed");
    fs::create_dir(&place).expect("made");
    set_modified(&place, day(1));
    let first = home.chat("session-2026-01-01T10-00-11111111.jsonl");
    let elsewhere = home.folder.path().join("elsewhere");
    fs::rename(&first, &elsewhere).expect("moved");
    symlink(&elsewhere, &first).expect("linked");
    let pruned = home.store.run_retention(&plan);
    assert_eq!(pruned.sessions, Counts { scanned: 3, deleted: 1, skipped: 1, failed: 1 });
    assert_eq!(pruned.tool_outputs, Counts { scanned: 2, deleted: 1, skipped: 0, failed: 1 });
    assert_eq!(pruned.problems.len(), 2);
    assert!(elsewhere.exists() && place.exists());
}
