//! Checks of the home: projects, locks and sessions.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use longhaul_app::failure::workspace_hint;
use longhaul_app::strays;
use longhaul_formats::{Event, ReadError, read};
use longhaul_skills::Inbox;
use longhaul_workspace::{HeldLock, Home, LockedBy, Projects, held_locks};

use super::Diagnosis;
use crate::output::{plural, thousands};

/// The most files with something wrong that are listed.
const LISTED: usize = 10;

/// The id of the current folder, and the registry that knows it.
pub(super) fn project(diagnosis: &mut Diagnosis, home: &Home, cwd: &Path) {
    let registry = home.projects();
    let mut own = None;
    match Projects::of(home).look_up(cwd) {
        Ok(found) => {
            if !found.is_registry_sound {
                let what = format!("{} is partly unreadable", registry.display());
                diagnosis.problem(what, "nothing is lost; it is rebuilt when a session is next stored");
            }
            match found.id {
                Some((id, _)) => {
                    let folder = home.project(&id);
                    diagnosis.ok(format!("{id}, stored in {}", folder.root().display()));
                    diagnosis.project = Some(id.to_string());
                    if Inbox::of(&folder).is_cut_off() {
                        let advice =
                            "run `longhaul skills inbox` or `longhaul memory inbox` to finish or undo it";
                        diagnosis
                            .problem("a change from the inbox was interrupted while it was written", advice);
                    }
                    own = Some(folder);
                }
                None => diagnosis.ok("none yet; the folder gets an id when something is first stored"),
            }
        }
        Err(error) => diagnosis.problem(error.to_string(), workspace_hint(&error).unwrap_or_default()),
    }
    for stray in strays::find(home, own.as_ref(), cwd).iter().take(LISTED) {
        let what = format!("{} was left behind by a killed process", stray.display());
        diagnosis.note(what, "nothing to do; the next session in this folder removes it");
    }
    for aside in files_in(home.root(), |name| name.starts_with("projects.json.corrupt")) {
        let what = format!("{} is a broken registry that was set aside", aside.display());
        diagnosis.note(what, "delete it if no project is missing sessions");
    }
}

/// Reports the locks that are held.
pub(super) fn locks(diagnosis: &mut Diagnosis, home: &Home) {
    let projects = folders_in(&home.tmp());
    let inside =
        projects.iter().flat_map(|folder| [folder.clone(), folder.join("chats"), folder.join("memory")]);
    let folders = [home.root().to_path_buf()].into_iter().chain(inside);
    let held: Vec<HeldLock> = folders.flat_map(|folder| held_locks(&folder)).collect();
    for HeldLock { path, by } in &held {
        let path = path.display();
        match by {
            LockedBy::Longhaul(Some(holder)) => {
                diagnosis.note(format!("{path}: {holder}"), "wait until it finishes, or end it if it hangs");
            }
            LockedBy::Longhaul(None) => {
                diagnosis.note(format!("{path}: held by another Longhaul process"), "wait until it finishes");
            }
            LockedBy::GeminiCli => {
                diagnosis.note(format!("{path}: held by Gemini CLI"), "wait until it finishes");
            }
            LockedBy::LeftBehind => {
                let advice = format!("nothing to do; it is removed when the file is next used ({path}.lock)");
                diagnosis.note(format!("{path}: stale lock left behind by Gemini CLI"), advice);
            }
        }
    }
    if held.is_empty() {
        diagnosis.ok("none held");
    }
}

/// Reads every session of every project.
pub(super) fn sessions(diagnosis: &mut Diagnosis, home: &Home) {
    // A project may have nothing but memory or checkpoints.
    let mut projects: Vec<Vec<PathBuf>> =
        folders_in(&home.tmp()).iter().map(|project| session_files(&project.join("chats"))).collect();
    projects.retain(|sessions| !sessions.is_empty());
    let files = projects.concat();
    let mut faulty = Vec::new();
    let mut sound = 0;
    for file in &files {
        match examine_session(file) {
            Ok(None) => sound += 1,
            fault => faulty.push((file.strip_prefix(home.root()).unwrap_or(file).display(), fault)),
        }
    }
    let kept = format!(
        "{} in {}",
        plural(files.len(), "session file", "session files"),
        plural(projects.len(), "project", "projects")
    );
    match (files.len(), sound) {
        (0, _) => diagnosis.ok("none yet"),
        (all, sound) if all == sound => diagnosis.ok(format!("{kept}, all readable")),
        (_, sound) => diagnosis.ok(format!("{kept}, {} of them intact", thousands(sound as u64))),
    }
    // What is lost comes before what is only torn.
    faulty.sort_by_key(|(_, fault)| fault.is_ok());
    for (name, fault) in faulty.iter().take(LISTED) {
        match fault {
            Ok(torn) => {
                let what = format!("{name}: {}", torn.as_deref().unwrap_or_default());
                diagnosis
                    .note(what, "the rest is readable; run `longhaul sessions repair` to write a sound copy");
            }
            Err(ReadError::Empty) => diagnosis.note(format!("{name} is empty"), "delete it"),
            Err(error) => {
                let cause =
                    std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
                let what = format!("{name} is unreadable: {error}{cause}");
                diagnosis.problem(what, "fix it by hand, or move it away");
            }
        }
    }
    if let Some(rest) = faulty.get(LISTED..).filter(|rest| !rest.is_empty()) {
        let what = format!("{} more with faults", plural(rest.len(), "session", "sessions"));
        diagnosis.note(what, "fix these first, then run `longhaul doctor` again");
    }
}

/// The damage in a session that can be read, if any.
fn examine_session(file: &Path) -> Result<Option<String>, ReadError> {
    let mut first = None;
    let info = read(File::open(file)?, &mut |event| {
        if let Event::Warning(warning) = event {
            first.get_or_insert(warning.to_string());
        }
    })?;
    Ok(first.map(|first| match info.warnings {
        0 | 1 => first,
        more => format!("{first}; and {} more", thousands(more as u64 - 1)),
    }))
}

/// The sessions of a project, with those of sub-agents.
fn session_files(chats: &Path) -> Vec<PathBuf> {
    let is_session =
        |name: &str| !name.starts_with('.') && (name.ends_with(".jsonl") || name.ends_with(".json"));
    let mut files = files_in(chats, is_session);
    for folder in folders_in(chats) {
        files.extend(files_in(&folder, is_session));
    }
    files
}

fn files_in(folder: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    entries(folder, |path| {
        path.is_file() && path.file_name().and_then(|name| name.to_str()).is_some_and(&is_wanted)
    })
}

fn folders_in(folder: &Path) -> Vec<PathBuf> {
    entries(folder, Path::is_dir)
}

/// A folder's entries, sorted. A missing or unreadable folder counts as empty: the home was checked before.
fn entries(folder: &Path, is_wanted: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut wanted: Vec<PathBuf> = entries.filter(|path| is_wanted(path)).collect();
    wanted.sort();
    wanted
}
