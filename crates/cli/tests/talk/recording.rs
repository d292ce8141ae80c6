//! Where nothing can be written, conversations go on without being recorded, and that is said once.

use std::fs;
use std::path::Path;
use std::process::Output;

use longhaul_testkit::fake_provider::gemini;
use serde_json::Value;

use crate::support::{Desk, text};

fn desk() -> Desk {
    let desk = Desk::gemini((0..9).map(|turn| gemini::text(&format!("Answer {turn}."))));
    desk.answer(&["-p", "first words"]);
    desk
}

/// The turn succeeds, one warning says that it is not recorded, and it is not.
#[track_caller]
fn check_unrecorded(desk: &Desk, arguments: &[&str], answer: &str) {
    let recorded = || -> Vec<_> {
        desk.sessions().into_iter().map(|path| fs::read_to_string(path).expect("it is text")).collect()
    };
    let before = recorded();
    let output = desk.say(arguments);
    let said = text(&output.stderr);
    assert_eq!(text(&output.stdout), format!("{answer}\n"), "{said}");
    let warnings: Vec<&str> = said.lines().collect();
    let [warning] = warnings[..] else { panic!("{said}") };
    assert!(warning.starts_with("warning: this session is not recorded: could not "), "{warning}");
    assert_eq!(recorded(), before);
}

/// Puts a file where a folder should be, or a folder where a file should be: that stops everybody.
fn block(path: &Path) {
    if path.exists() {
        fs::rename(path, path.with_extension("aside")).expect("moved");
    }
    match path.extension() {
        Some(_) => fs::create_dir(path).expect("made"),
        None => fs::write(path, "").expect("written"),
    }
}

#[test]
fn a_chats_folder_that_cannot_be_written_costs_the_record_alone() {
    let desk = desk();
    block(&desk.path("home/tmp/work/chats"));
    block(&desk.path("home/longhaul"));
    check_unrecorded(&desk, &["-p", "hi"], "Answer 1.");
    let output = desk.say(&["-p", "hi", "--output-format", "json"]);
    let result: Value = serde_json::from_slice(&output.stdout).expect("one object");
    assert!(result["file"].is_null() && result["status"] == "finished", "{result}");
    assert_eq!(result["warnings"].as_array().map(Vec::len), Some(1), "{result}");
}

#[test]
fn a_session_that_cannot_be_locked_goes_on_unrecorded() {
    let desk = desk();
    let [session] = desk.sessions().try_into().expect("one session");
    let name = session.file_name().expect("it has one").to_string_lossy().into_owned();
    block(&session.with_file_name(format!(".{name}.lock")));
    check_unrecorded(&desk, &["-p", "second words", "--resume"], "Answer 1.");
    assert_eq!(desk.last_said(), ["first words", "Answer 0.", "second words"]);
    // Where it is to be changed and nothing else, that fails.
    let refused = desk.run(&["sessions", "undo", "latest"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
}

#[test]
fn sessions_of_other_programs_go_on_unrecorded() {
    let desk = desk();
    desk.write("work/other.json", r#"{"contents":[{"role":"user","parts":[{"text":"foreign words"}]},{"role":"model","parts":[{"text":"Yes."}]}]}"#);
    block(&desk.path("home/tmp/work/chats"));
    check_unrecorded(&desk, &["-p", "hi", "--resume", "other.json"], "Answer 1.");
    let sent = desk.server.requests().last().expect("a request").body.to_string();
    assert!(sent.contains("foreign words"), "{sent}");
    let refused = text(&desk.run(&["sessions", "import", "other.json"]).stderr);
    assert!(refused.starts_with("error:") && refused.contains("chats"), "{refused}");
}

/// Takes the right to write from everything, for as long as this lives.
#[cfg(unix)]
struct ReadOnly<'a>(&'a Desk);

#[cfg(unix)]
impl<'a> ReadOnly<'a> {
    /// Nothing where modes do not bind, as for the superuser.
    fn home_of(desk: &'a Desk) -> Option<Self> {
        let read_only = Self(desk);
        read_only.set(0o500, 0o400);
        let probe = desk.path("home/probe");
        match fs::write(&probe, "") {
            Ok(()) => {
                fs::remove_file(probe).expect("it was just made");
                println!("skipped: modes do not bind this user");
                None
            }
            Err(_) => Some(read_only),
        }
    }

    fn set(&self, folder: u32, file: u32) {
        let home = self.0.path("home");
        let files = longhaul_testkit::files_below(&home);
        let parents = files.iter().flat_map(|file| file.ancestors().skip(1));
        let mut folders: Vec<&Path> = parents.filter(|folder| folder.starts_with(&home)).collect();
        folders.sort();
        folders.dedup();
        for (path, mode) in folders
            .into_iter()
            .map(|path| (path, folder))
            .chain(files.iter().map(|path| (path.as_path(), file)))
        {
            fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode))
                .expect("it is ours");
        }
    }
}

#[cfg(unix)]
impl Drop for ReadOnly<'_> {
    fn drop(&mut self) {
        self.set(0o700, 0o600);
    }
}

#[cfg(unix)]
#[test]
fn a_home_that_cannot_be_written_can_still_be_read() {
    let desk = desk();
    let Some(_read_only) = ReadOnly::home_of(&desk) else { return };
    check_unrecorded(&desk, &["-p", "hi"], "Answer 1.");
    check_unrecorded(&desk, &["-p", "hi", "--resume"], "Answer 2.");
    check_unrecorded(&desk, &["-p", "hi", "--resume", "--fork"], "Answer 3.");
    let quiet = |output: Output| {
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(quiet(desk.run(&["sessions", "list"])).contains("first words"));
    assert!(quiet(desk.run(&["sessions", "show", "latest"])).contains("first words"));
    assert!(quiet(desk.run(&["recall", "words"])).contains("first words"));
    assert!(quiet(desk.run(&["inspect", "latest"])).contains("3 messages"));
}
