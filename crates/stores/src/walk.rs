//! Lists the files that match the places; reads folders and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use crate::agent::Agent;
use crate::notice::Notice;
use crate::places::{Place, PlaceKind};

/// A file that may hold a session, or sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundFile {
    pub(crate) agent: Agent,
    pub(crate) kind: PlaceKind,
    pub(crate) path: PathBuf,
    pub(crate) stamp: Stamp,
}

/// What tells whether a file has changed since it was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// In milliseconds since 1970.
    pub(crate) modified: i64,
    pub(crate) size: u64,
}

impl Stamp {
    pub(crate) fn of(meta: &fs::Metadata) -> Self {
        let modified = meta.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
        let modified = modified.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default();
        Self { modified, size: meta.len() }
    }
}

/// The files of a place. A place that is not there has none; a folder that may not be read is named.
pub(crate) fn files_of(place: &Place, notices: &mut Vec<Notice>) -> Vec<FoundFile> {
    let mut paths = vec![(place.root.clone(), None)];
    for (depth, name) in place.pattern.iter().enumerate() {
        let is_last = depth + 1 == place.pattern.len();
        let mut next = Vec::new();
        for (folder, _) in paths {
            if name.contains('*') {
                entries(&folder, name, is_last, &mut next, place, notices);
            } else {
                next.push((folder.join(name), None));
            }
        }
        paths = next;
    }
    let found = |(path, meta): (PathBuf, Option<fs::Metadata>)| {
        let meta = meta.or_else(|| fs::metadata(&path).ok()).filter(fs::Metadata::is_file)?;
        let mut stamp = Stamp::of(&meta);
        if place.kind == PlaceKind::Database {
            // What was written last may still lie in the log beside it.
            let log =
                fs::metadata(with_suffix(&path, "-wal")).map(|meta| Stamp::of(&meta)).unwrap_or_default();
            stamp = Stamp { modified: stamp.modified.max(log.modified), size: stamp.size + log.size };
        }
        Some(FoundFile { agent: place.agent, kind: place.kind, path, stamp })
    };
    paths.into_iter().filter_map(found).collect()
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(suffix);
    name.into()
}

fn entries(
    folder: &Path,
    pattern: &str,
    is_last: bool,
    into: &mut Vec<(PathBuf, Option<fs::Metadata>)>,
    place: &Place,
    notices: &mut Vec<Notice>,
) {
    let listed = match fs::read_dir(folder) {
        Ok(listed) => listed,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return,
        Err(error) => {
            notices.push(Notice::new(place.agent, folder, error.into()));
            return;
        }
    };
    for entry in listed.flatten().filter(|entry| matches(&entry.file_name(), pattern)) {
        // A file cannot hold what the rest of the pattern names, and asking would cost a call for each.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_last || !is_file {
            // Asked through its folder, a file costs less than by its whole path; links are followed later.
            let meta = if is_last && is_file { entry.metadata().ok() } else { None };
            into.push((entry.path(), meta));
        }
    }
}

/// True if a name is as the pattern says; one that begins with a dot is hidden.
fn matches(name: &OsStr, pattern: &str) -> bool {
    let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else { return false };
    match pattern.split_once('*') {
        Some((start, end)) => {
            name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
        }
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_pattern_names_is_found() {
        let home = tempfile::tempdir().expect("a folder");
        let put = |path: &str| {
            let path = home.path().join(path);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, "x").expect("written");
        };
        put("projects/-w/a.jsonl");
        put("projects/-w/a.txt");
        put("projects/-w/.b.jsonl");
        put("projects/-w/a/subagents/agent-1.jsonl");
        put("projects/loose.jsonl");
        let find = |pattern: &[&'static str]| {
            let (root, kind) = (home.path().to_path_buf(), PlaceKind::Files);
            let place = Place { agent: Agent::Claude, root, pattern: pattern.to_vec(), kind };
            let mut notices = Vec::new();
            let found = files_of(&place, &mut notices);
            assert!(notices.is_empty(), "{notices:?}");
            let name =
                |file: FoundFile| file.path.strip_prefix(home.path()).expect("below").display().to_string();
            found.into_iter().map(name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(find(&["projects", "*", "*.jsonl"]), "projects/-w/a.jsonl");
        assert_eq!(
            find(&["projects", "*", "*", "subagents", "agent-*.jsonl"]),
            "projects/-w/a/subagents/agent-1.jsonl"
        );
        assert_eq!(find(&["nowhere", "*.jsonl"]), "");
    }
}
