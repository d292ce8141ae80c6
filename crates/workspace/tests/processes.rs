//! What holds between processes: locks end with a killed process, writes are whole, ids are agreed on, and a home that
//! cannot be written still serves.
#![cfg(unix)]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use longhaul_workspace::{
    Environment, Home, IdOrigin, Lock, LockTimeout, Note, Projects, WorkspaceError, write_private_atomically,
};

/// Which part a child process plays, and where.
const PART: &str = "LONGHAUL_TEST_PART";
const PLACE: &str = "LONGHAUL_TEST_PLACE";

/// This test binary again, running only [`child`].
fn child_command(part: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a test binary"));
    command
        .args(["--exact", "child", "--nocapture"])
        .env(PART, part)
        .env(PLACE, place)
        .stdout(Stdio::piped());
    command
}

/// Starts a child and waits until it says that it is ready.
fn start(part: &str, place: &Path) -> Child {
    let mut child = child_command(part, place).spawn().expect("started");
    let output = BufReader::new(child.stdout.take().expect("piped"));
    let is_ready = output.lines().any(|line| line.is_ok_and(|line| line.contains("ready")));
    assert!(is_ready, "the child ended early");
    child
}

fn projects_in(place: &Path) -> Projects {
    let environment = Environment { longhaul_home: Some(place.join("home")), ..Environment::default() };
    Projects::of(&Home::resolve(&environment).expect("a home"))
}

/// Not a test of its own: what the other tests start as processes.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else { return };
    let place = PathBuf::from(std::env::var_os(PLACE).expect("a place"));
    match part.as_str() {
        "hold" => {
            let _lock = Lock::beside(&place, "holding on", LockTimeout::Immediate).expect("locked");
            println!("ready");
            thread::sleep(Duration::from_secs(60));
        }
        "write" => {
            println!("ready");
            for number in 0_u64.. {
                write_private_atomically(&place, &contents(number)).expect("written");
            }
        }
        "identify" => {
            for number in 0..5 {
                let project = place.join(format!("{number}/app"));
                let identity =
                    projects_in(&place).identify(&project, LockTimeout::default()).expect("identified");
                println!("id {} {}", identity.project.display(), identity.id);
            }
        }
        "identify-on" => {
            println!("ready");
            for number in 0_u64.. {
                let project = place.join(format!("{}-{number}/app", std::process::id()));
                projects_in(&place).identify(&project, LockTimeout::default()).expect("identified");
            }
        }
        "read-only" => {
            let identify = |name| projects_in(&place).identify(&place.join(name), LockTimeout::Immediate);
            let known = identify("a/known").expect("identified");
            assert_eq!((known.id.as_str(), known.found), ("known", IdOrigin::Registered));
            assert!(known.notes.is_empty(), "{:?}", known.notes);
            for _ in 0..2 {
                let new = identify("b/known").expect("identified");
                assert!(new.id.as_str().starts_with("known-") && new.found == IdOrigin::New, "{new:?}");
                let [Note::NotSaved(WorkspaceError::ReadOnly { .. })] = new.notes.as_slice() else {
                    panic!("{:?}", new.notes)
                };
            }
            let error =
                write_private_atomically(&place.join("home/settings.json"), b"").expect_err("read-only");
            assert!(matches!(error, WorkspaceError::ReadOnly { .. }), "{error:?}");
            println!("done");
        }
        "foreign" => {
            write_private_atomically(&place.join("file"), b"new").expect("written");
            println!("done");
        }
        "unreadable" => {
            let error = projects_in(&place).identify(&place.join("a/known"), LockTimeout::Immediate);
            assert!(matches!(error, Err(WorkspaceError::Unreadable { .. })), "{error:?}");
            println!("done");
        }
        other => panic!("no such part: {other}"),
    }
}

/// Contents of a length and with bytes that depend on the number, so that mixtures are recognised.
fn contents(number: u64) -> Vec<u8> {
    let line = format!("{number}\n");
    line.repeat(1 + usize::try_from(number % 7).expect("small") * 2_000).into_bytes()
}

#[test]
fn a_killed_process_holds_no_lock() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("file");
    let mut child = start("hold", &path);
    let error = Lock::beside(&path, "", LockTimeout::Immediate).expect_err("held");
    let WorkspaceError::Locked { holder: Some(holder), .. } = &error else { panic!("{error:?}") };
    assert_eq!((holder.process, holder.purpose.as_str()), (child.id(), "holding on"));
    child.kill().expect("killed");
    child.wait().expect("ended");
    Lock::beside(&path, "", LockTimeout::Immediate).expect("free");
}

#[test]
fn a_killed_writer_leaves_whole_files() {
    let root = tempfile::tempdir().expect("a folder");
    let path = root.path().join("file");
    write_private_atomically(&path, &contents(0)).expect("written");
    for round in 0..12 {
        let mut child = start("write", &path);
        thread::sleep(Duration::from_micros(700 * round));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let text = fs::read_to_string(&path).expect("readable");
        let number = text.lines().next().expect("a line").parse().expect("a number");
        assert_eq!(text.as_bytes(), contents(number), "round {round}");
    }
}

#[test]
fn processes_agree_on_ids() {
    let root = tempfile::tempdir().expect("a folder");
    let children: Vec<_> =
        (0..6).map(|_| child_command("identify", root.path()).spawn().expect("started")).collect();
    let mut ids: HashMap<String, String> = HashMap::new();
    for child in children {
        let output = child.wait_with_output().expect("ended");
        assert!(output.status.success());
        let text = String::from_utf8(output.stdout).expect("text");
        let mut answers = 0;
        for line in text.lines().filter_map(|line| line.split_once("id /")) {
            let (project, id) = line.1.rsplit_once(' ').expect("two words");
            assert_eq!(ids.entry(project.to_owned()).or_insert_with(|| id.to_owned()), id);
            answers += 1;
        }
        assert_eq!(answers, 5, "{text}");
    }
    assert_eq!((ids.len(), ids.values().collect::<HashSet<_>>().len()), (5, 5));
}

#[test]
fn killed_processes_leave_projects_sound() {
    let root = tempfile::tempdir().expect("a folder");
    let projects = projects_in(root.path());
    for round in 0..12 {
        let mut child = start("identify-on", root.path());
        thread::sleep(Duration::from_micros(900 * round));
        child.kill().expect("killed");
        child.wait().expect("ended");
        let project = root.path().join(format!("round-{round}/app"));
        // Nobody waits for the dead.
        let identity = projects.identify(&project, LockTimeout::Immediate).expect("identified");
        let again = projects.identify(&project, LockTimeout::Immediate).expect("identified");
        assert_eq!((identity.id, IdOrigin::Registered), (again.id, again.found));
    }
    let known = projects.list().expect("readable");
    assert_eq!(known.iter().map(|(_, id)| id).collect::<HashSet<_>>().len(), known.len());
    for (project, id) in known {
        assert_eq!(projects.identify(&project, LockTimeout::default()).expect("identified").id, id);
    }
}

const NOBODY: u32 = 65_534;

/// Whether we are root, as whoever made this place.
fn is_root(place: &Path) -> bool {
    fs::metadata(place).expect("there").uid() == 0
}

/// Runs a part as a user whom permissions bind, which they do not for root.
#[track_caller]
fn check_as_plain_user(part: &str, place: &Path) {
    let mut command = child_command(part, place);
    if is_root(place) {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().expect("started");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("done"), "{text}");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("changed");
}

fn set_mode_below(folder: &Path, folders: u32, files: u32) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { set_mode_below(&path, folders, files) } else { set_mode(&path, files) }
    }
    set_mode(folder, folders);
}

/// A place with one registered project, `a/known`.
fn place_with_project() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    let known = root.path().join("a/known");
    let identity = projects_in(root.path()).identify(&known, LockTimeout::Immediate).expect("identified");
    assert_eq!(identity.id.as_str(), "known");
    root
}

#[test]
fn a_read_only_home_is_used_and_nothing_written() {
    let root = place_with_project();
    set_mode(root.path(), 0o755);
    set_mode_below(&root.path().join("home"), 0o555, 0o444);
    let before = fs::read(root.path().join("home/projects.json")).expect("readable");
    check_as_plain_user("read-only", root.path());
    assert_eq!(fs::read(root.path().join("home/projects.json")).expect("readable"), before);
    assert_eq!(fs::read_dir(root.path().join("home/tmp")).expect("a folder").count(), 1);
    set_mode_below(&root.path().join("home"), 0o700, 0o600);
}

#[test]
fn a_registry_that_may_not_be_read_is_not_taken_for_empty() {
    let root = place_with_project();
    set_mode(root.path(), 0o755);
    set_mode_below(&root.path().join("home"), 0o777, 0o666);
    set_mode(&root.path().join("home/projects.json"), 0o000);
    check_as_plain_user("unreadable", root.path());
}

#[test]
fn a_file_keeps_its_owner_or_loses_what_others_may() {
    let root = tempfile::tempdir().expect("a folder");
    if !is_root(root.path()) {
        println!("skipped: only root can make files of other users");
        return;
    }
    set_mode(root.path(), 0o777);
    let path = root.path().join("file");
    let state = || {
        let found = fs::metadata(&path).expect("there");
        (found.uid(), found.gid(), found.mode() & 0o7777)
    };
    fs::write(&path, "old").expect("written");
    chown(&path, Some(NOBODY), Some(NOBODY)).expect("given away");
    set_mode(&path, 0o664);
    write_private_atomically(&path, b"by root").expect("written");
    assert_eq!(state(), (NOBODY, NOBODY, 0o664));

    chown(&path, Some(0), Some(0)).expect("taken back");
    check_as_plain_user("foreign", root.path());
    assert_eq!(state(), (NOBODY, NOBODY, 0o600));
}
