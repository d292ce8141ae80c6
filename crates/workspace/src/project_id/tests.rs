use super::*;
use crate::{Environment, Lock, write_private_atomically};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::thread;
use tempfile::TempDir;

struct Fixture {
    root: TempDir,
    projects: Projects,
}

impl Fixture {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let home = root.path().canonicalize().expect("there").join("home");
        let environment = Environment { longhaul_home: Some(home), ..Environment::default() };
        Self { projects: Projects::of(&Home::resolve(&environment).expect("a home")), root }
    }

    /// A path in the folder that holds home and projects.
    fn at(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().expect("there").join(name)
    }

    fn make(&self, name: &str) -> PathBuf {
        fs::create_dir_all(self.at(name)).expect("made");
        self.at(name)
    }

    fn write(&self, name: &str, text: &str) {
        write_private_atomically(&self.at(name), text.as_bytes()).expect("written");
    }

    fn text(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.at(name)).ok()
    }

    #[track_caller]
    fn identify(&self, project: &str) -> ProjectIdentity {
        self.projects.identify(&self.at(project), LockTimeout::default()).expect("identified")
    }

    #[track_caller]
    fn check(&self, project: &str, id: &str, found: IdOrigin) {
        let identity = self.identify(project);
        assert_eq!((identity.id.as_str(), identity.found), (id, found), "{project}");
        for base in ["tmp", "history"] {
            let marker = self.text(&format!("home/{base}/{id}/.project_root"));
            assert_eq!(marker.as_deref(), self.at(project).to_str(), "{base}");
        }
        assert!(self.projects.list().expect("readable").contains(&(self.at(project), identity.id)));
    }

    fn forget_registry(&self) {
        fs::remove_file(self.at("home/projects.json")).expect("removed");
    }
}

#[test]
fn a_project_keeps_its_id() {
    let fixture = Fixture::new();
    fixture.check("work/My App", "my-app", IdOrigin::New);
    fixture.check("work/My App", "my-app", IdOrigin::Registered);
    let text = fixture.text("home/projects.json").expect("written");
    let path = fixture.at("work/My App");
    assert_eq!(
        text,
        format!("{{\n  \"projects\": {{\n    {:?}: \"my-app\"\n  }}\n}}\n", path.to_str().unwrap())
    );
}

#[test]
fn projects_of_one_name_have_different_ids() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.check("b/app", "app-1", IdOrigin::New);
    fixture.check("c/App!", "app-2", IdOrigin::New);
    fixture.check("a/app", "app", IdOrigin::Registered);
    fixture.check("b/app", "app-1", IdOrigin::Registered);
}

#[test]
fn a_lost_registry_is_rebuilt_from_markers() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.check("b/app", "app-1", IdOrigin::New);
    fixture.forget_registry();
    fixture.check("b/app", "app-1", IdOrigin::Healed);
    fixture.check("a/app", "app", IdOrigin::Healed);
}

#[test]
fn lost_markers_are_made_again() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fs::remove_dir_all(fixture.at("home/tmp")).expect("removed");
    fixture.write("home/history/app/.project_root", "");
    fixture.check("a/app", "app", IdOrigin::Registered);
}

#[test]
fn a_registry_that_markers_contradict_is_corrected() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.check("b/app", "app-1", IdOrigin::New);
    let text = fixture.text("home/projects.json").expect("written");
    let swapped =
        text.replace("\"app\"", "\"x\"").replace("\"app-1\"", "\"app\"").replace("\"x\"", "\"app-1\"");
    fixture.write("home/projects.json", &swapped);
    fixture.check("a/app", "app", IdOrigin::Healed);
    fixture.check("b/app", "app-1", IdOrigin::Healed);
}

#[test]
fn one_id_registered_twice_goes_to_one() {
    let fixture = Fixture::new();
    let (a, b) = (fixture.at("a/app"), fixture.at("b/app"));
    fixture.write(
        "home/projects.json",
        &serde_json::json!({"projects": {a.to_str().unwrap(): "app", b.to_str().unwrap(): "app"}})
            .to_string(),
    );
    fixture.check("b/app", "app", IdOrigin::Registered);
    fixture.check("a/app", "app-1", IdOrigin::New);
    fixture.check("b/app", "app", IdOrigin::Registered);
}

#[test]
fn a_corrupt_registry_is_kept_and_rebuilt() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.write("home/projects.json", "{\"projects\": {\"/a");
    let identity = fixture.identify("a/app");
    assert_eq!((identity.id.as_str(), identity.found), ("app", IdOrigin::Healed));
    let [Note::RegistryKeptAside(aside)] = identity.notes.as_slice() else { panic!("{:?}", identity.notes) };
    assert_eq!(fs::read_to_string(aside).expect("readable"), "{\"projects\": {\"/a");
    fixture.check("a/app", "app", IdOrigin::Registered);
}

#[test]
fn one_bad_entry_does_not_cost_the_others() {
    let fixture = Fixture::new();
    let project = fixture.at("a/app");
    let text =
        serde_json::json!({"projects": {project.to_str().unwrap(): "old-name", "/x": "../../etc"}, "v": 1});
    fixture.write("home/projects.json", &text.to_string());
    fixture.check("a/app", "old-name", IdOrigin::Registered);
    let saved = fixture.text("home/projects.json").expect("written");
    assert!(saved.contains("\"v\": 1") && !saved.contains("etc"), "{saved}");
    assert_eq!(fixture.text("home/projects.json.corrupt"), Some(text.to_string()));
}

#[test]
fn folders_of_others_are_left_alone() {
    let fixture = Fixture::new();
    // Not a project's: programs are kept there.
    fixture.write("home/tmp/bin/rg", "elf");
    fixture.check("a/bin", "bin-1", IdOrigin::New);
    fixture.write("home/history/web/.project_root", "/elsewhere/web");
    fixture.check("a/web", "web-1", IdOrigin::New);
    fixture.make("home/tmp/empty");
    fixture.check("a/empty", "empty", IdOrigin::New);
}

#[test]
fn a_registry_that_cannot_be_read_is_an_error() {
    let fixture = Fixture::new();
    fixture.make("home/projects.json");
    let error =
        fixture.projects.identify(&fixture.at("a/app"), LockTimeout::Immediate).expect_err("unreadable");
    assert!(matches!(error, WorkspaceError::Failed { act: "read", .. }), "{error:?}");
}

#[test]
fn paths_are_absolute() {
    let error =
        Fixture::new().projects.identify(Path::new("app"), LockTimeout::Immediate).expect_err("relative");
    assert!(matches!(error, WorkspaceError::NotAbsolute { .. }), "{error:?}");
}

#[test]
fn a_lock_that_is_held_is_told() {
    let fixture = Fixture::new();
    let _held = Lock::beside(&fixture.at("home/projects.json"), "", LockTimeout::Immediate).expect("locked");
    let error = fixture.projects.identify(&fixture.at("a/app"), LockTimeout::Immediate).expect_err("held");
    assert!(matches!(error, WorkspaceError::Locked { .. }), "{error:?}");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_project_is_the_project() {
    let fixture = Fixture::new();
    fixture.make("a/app");
    std::os::unix::fs::symlink(fixture.at("a/app"), fixture.at("link")).expect("linked");
    assert_eq!(fixture.identify("link").id.as_str(), "app");
    fixture.check("a/app", "app", IdOrigin::Registered);
    assert_eq!(fixture.identify("a/other/../app/.").id.as_str(), "app");
}

#[cfg(target_os = "linux")]
#[test]
fn a_path_that_is_not_unicode_has_an_id_by_its_markers() {
    use std::os::unix::ffi::OsStrExt;
    let fixture = Fixture::new();
    let odd = |byte: u8| fixture.at("a").join(std::ffi::OsStr::from_bytes(&[b'x', byte]));
    let identify = |path: &Path| fixture.projects.identify(path, LockTimeout::default()).expect("identified");
    let (first, second) = (identify(&odd(0xfe)), identify(&odd(0xff)));
    assert_eq!((first.id.as_str(), second.id.as_str()), ("x", "x-1"));
    assert_eq!((identify(&odd(0xfe)).id, identify(&odd(0xff)).id), (first.id, second.id));
}

#[test]
fn what_is_kept_under_the_hash_is_brought_along_once() {
    let fixture = Fixture::new();
    let hash = project_hash(&fixture.at("a/app"));
    fixture.write(&format!("home/tmp/{hash}/chats/session-1.json"), "{}");
    fixture.write(&format!("home/history/{hash}/HEAD"), "ref");
    let identity = fixture.identify("a/app");
    assert_eq!(identity.id.as_str(), "app");
    assert!(
        matches!(identity.notes.as_slice(), [Note::Migrated(_), Note::Migrated(_)]),
        "{:?}",
        identity.notes
    );
    fixture.check("a/app", "app", IdOrigin::Registered);
    assert_eq!(fixture.text("home/tmp/app/chats/session-1.json").as_deref(), Some("{}"));
    assert_eq!(fixture.text("home/history/app/HEAD").as_deref(), Some("ref"));
    assert!(fixture.at(&format!("home/tmp/{hash}/chats/session-1.json")).exists());

    // What the user deletes does not come back.
    fs::remove_dir_all(fixture.at("home/tmp/app/chats")).expect("removed");
    assert!(fixture.identify("a/app").notes.is_empty());
    assert!(!fixture.at("home/tmp/app/chats").exists());
}

#[test]
fn a_migration_that_was_broken_off_begins_anew() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    let hash = project_hash(&fixture.at("a/app"));
    fixture.write(&format!("home/tmp/{hash}/logs.json"), "[]");
    fixture.write("home/tmp/.app.migrating/half", "");
    // It was about to exchange the folders.
    fs::remove_dir_all(fixture.at("home/tmp/app")).expect("removed");
    fixture.check("a/app", "app", IdOrigin::Registered);
    assert_eq!(fixture.text("home/tmp/app/logs.json").as_deref(), Some("[]"));
    assert!(!fixture.at("home/tmp/app/half").exists() && !fixture.at("home/tmp/.app.migrating").exists());
}

#[test]
fn files_of_the_new_id_are_not_overwritten_by_a_migration() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.write("home/tmp/app/logs.json", "[1]");
    let hash = project_hash(&fixture.at("a/app"));
    fixture.write(&format!("home/tmp/{hash}/logs.json"), "[]");
    assert!(fixture.identify("a/app").notes.is_empty());
    assert_eq!(fixture.text("home/tmp/app/logs.json").as_deref(), Some("[1]"));
}

#[test]
fn a_moved_project_can_take_its_id_along() {
    let fixture = Fixture::new();
    fixture.make("a/app");
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.write("home/tmp/app/chats/session-1.jsonl", "{}");
    let adopt =
        || fixture.projects.adopt_moved(&fixture.at("a/app"), &fixture.at("b/app"), LockTimeout::Immediate);
    assert!(matches!(adopt(), Err(WorkspaceError::NotMoved { reason: "the folder still exists", .. })));

    fixture.make("b");
    fs::rename(fixture.at("a/app"), fixture.at("b/app")).expect("moved");
    let identity = fixture.identify("b/app");
    assert_eq!(identity.id.as_str(), "app-1");
    assert!(
        matches!(identity.notes.as_slice(), [Note::PerhapsMovedFrom(from)] if *from == fixture.at("a/app"))
    );
    assert_eq!(adopt().expect("adopted").id.as_str(), "app");
    fixture.check("b/app", "app", IdOrigin::Registered);
    assert!(!fixture.at("home/tmp/app-1").exists());
    assert!(matches!(adopt(), Err(WorkspaceError::NotMoved { reason: "it has no project id", .. })));
    // A new project in the old place begins anew.
    fixture.check("a/app", "app-1", IdOrigin::New);
}

#[test]
fn a_move_that_was_broken_off_is_completed_by_the_markers() {
    for with_history in [false, true] {
        let fixture = Fixture::new();
        fixture.check("a/app", "app", IdOrigin::New);
        fixture.write("home/tmp/app/chats/session-1.jsonl", "{}");
        fs::remove_file(fixture.at("home/history/app/.project_root")).expect("removed");
        let to = fixture.at("b/app");
        let to = to.to_str().expect("text");
        fixture.write("home/tmp/app/.project_root", to);
        if with_history {
            fixture.write("home/history/app/.project_root", to);
        }
        fixture.check("b/app", "app", IdOrigin::Healed);
        fixture.check("a/app", "app-1", IdOrigin::New);
    }
}

#[test]
fn what_was_stored_under_a_provisional_id_is_found_again() {
    let fixture = Fixture::new();
    let unsaved = |name: &str| {
        let why = WorkspaceError::writing(Path::new("home"), std::io::ErrorKind::StorageFull.into());
        fixture.projects.identify_unsaved(fixture.at(name), why).expect("identified")
    };
    let (a, b) = (unsaved("a/app"), unsaved("b/app"));
    assert_ne!(a.id, b.id);
    assert_eq!((a.found, a.notes.len()), (IdOrigin::New, 1));
    fixture.write(&format!("home/tmp/{}/chats/session-1.jsonl", a.id), "{}");
    fixture.check("a/app", a.id.as_str(), IdOrigin::Healed);
    fixture.check("a/app", a.id.as_str(), IdOrigin::Registered);
    fixture.check("b/app", "app", IdOrigin::New);
    assert_eq!(unsaved("b/app").id.as_str(), "app");
}

#[test]
fn a_move_that_fails_leaves_the_id_where_it_was() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.check("b/app", "app-1", IdOrigin::New);
    let marker = fixture.at("home/history/app/.project_root");
    fs::remove_file(&marker).expect("removed");
    fs::create_dir(&marker).expect("made");
    let moved =
        fixture.projects.adopt_moved(&fixture.at("a/app"), &fixture.at("b/app"), LockTimeout::Immediate);
    moved.expect_err("a marker that cannot be removed");
    // The registry must not contradict the markers at any step.
    assert_eq!(fixture.projects.list().expect("readable").len(), 1);
    fs::remove_dir(&marker).expect("removed");
    fixture.check("a/app", "app", IdOrigin::Registered);
}

#[test]
fn a_killed_process_does_not_spoil_an_id() {
    let fixture = Fixture::new();
    fixture.write("home/tmp/app/.longhaul-Xy12", "/w/ap");
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.write("home/history/app/.longhaul-Xy13", "");
    let hash = project_hash(&fixture.at("a/app"));
    fixture.write(&format!("home/history/{hash}/HEAD"), "ref");
    fixture.check("a/app", "app", IdOrigin::Registered);
    assert_eq!(fixture.text("home/history/app/HEAD").as_deref(), Some("ref"));
}

#[test]
fn a_move_does_not_hide_what_is_at_the_new_place() {
    let fixture = Fixture::new();
    fixture.check("a/app", "app", IdOrigin::New);
    fixture.check("b/app", "app-1", IdOrigin::New);
    fixture.write("home/tmp/app-1/chats/session-1.jsonl", "{}");
    let result =
        fixture.projects.adopt_moved(&fixture.at("a/app"), &fixture.at("b/app"), LockTimeout::Immediate);
    assert!(matches!(result, Err(WorkspaceError::NotMoved { .. })));
    fixture.check("b/app", "app-1", IdOrigin::Registered);
    fixture.check("a/app", "app", IdOrigin::Registered);
}

#[test]
fn threads_agree() {
    let fixture = Fixture::new();
    let names: Vec<String> = (0..6).map(|number| format!("{number}/app")).collect();
    let found: Vec<(PathBuf, ProjectId)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..12)
            .map(|number| {
                let (fixture, names) = (&fixture, &names);
                scope.spawn(move || {
                    let order = (0..names.len()).map(|step| &names[(number + step) % names.len()]);
                    order
                        .map(|name| fixture.identify(name))
                        .map(|identity| (identity.project, identity.id))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    let by_project: HashMap<_, _> = found.iter().cloned().collect();
    assert!(found.iter().all(|(project, id)| by_project[project] == *id));
    assert_eq!(by_project.values().collect::<HashSet<_>>().len(), names.len());
}

#[test]
fn looking_up_changes_nothing() {
    let fixture = Fixture::new();
    let app = fixture.make("app");
    let look_up = || fixture.projects.look_up(&app).expect("answered");
    assert_eq!((look_up().id, look_up().is_registry_sound), (None, true));
    assert!(!fixture.at("home").exists());

    let id = fixture.identify("app").id;
    assert_eq!(look_up().id, Some((id.clone(), IdOrigin::Registered)));
    fixture.write("home/projects.json", "nonsense");
    assert_eq!((look_up().id, look_up().is_registry_sound), (Some((id, IdOrigin::Healed)), false));
    assert_eq!(fixture.text("home/projects.json").as_deref(), Some("nonsense"));
}
