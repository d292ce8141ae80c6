//! A parallel walk over the files of the workspace, subject to ignore files.
//!
//! Folders are opened one from another by descriptor, without following links, and files are opened from there: a
//! folder that is swapped for a link meanwhile leads nowhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use longhaul_workspace::Ignoring;
use tokio_util::sync::CancellationToken;

use crate::folder::{FolderEntryKind, OpenFolder, split};
use crate::{IgnoreFiles, PathRefusal, Roots, ToolAnswer, ToolOutcome};

/// Two threads: more gain little, as the disk is soon busy and others share the machine.
const THREADS: usize = 2;

/// The area of a search: some workspace folders, or a single file.
#[derive(Clone, Debug)]
pub(crate) struct SearchArea {
    roots: Roots,
    /// Paths without links, none inside another.
    starts: Vec<PathBuf>,
    ignored: Arc<IgnoreFiles>,
}

impl SearchArea {
    /// The area that a model names, or the whole workspace if it names none.
    ///
    /// # Errors
    /// A sentence for the model about why nothing can be searched.
    pub(crate) fn find(roots: &Roots, named: Option<&str>, ignoring: &Ignoring) -> Result<Self, String> {
        let ignored = Arc::new(IgnoreFiles::load(roots, ignoring));
        let starts = match named.filter(|named| !named.is_empty()) {
            Some(named) => {
                let place =
                    roots.resolve_visible(named).map_err(|refusal: PathRefusal| format!("{refusal}."))?;
                if !place.exists() {
                    return Err(format!("There is no {named:?}."));
                }
                if let Some(reason) = ignored.is_ignored(&place, place.is_dir()) {
                    return Err(format!("{named:?} is not searched: {reason}."));
                }
                vec![place]
            }
            None => outermost(roots.folders()),
        };
        Ok(Self { roots: roots.clone(), starts, ignored })
    }

    /// The folders, or the file, at which the walk starts.
    pub(crate) fn starts(&self) -> &[PathBuf] {
        &self.starts
    }

    /// The path relative to its start; the file name if the start is a file.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let below = self.starts.iter().find_map(|start| path.strip_prefix(start).ok());
        match below {
            Some(below) if !below.as_os_str().is_empty() => below,
            _ => path.file_name().map_or(path, Path::new),
        }
    }

    /// Visits every file and link that is not ignored, in any order, with one visitor per thread. Links are not
    /// followed. Cancellation takes effect soon.
    pub(crate) fn visit<V>(&self, cancel: &CancellationToken, make_visitor: impl Fn() -> V + Sync)
    where
        V: FnMut(WalkEntry<'_>) + Send,
    {
        let pending = WalkQueue::new(self.starts.clone());
        // Held open, so that the path to them is resolved only once.
        let starts: Vec<(&Path, OpenFolder)> = self
            .starts
            .iter()
            .filter_map(|start| Some((start.as_path(), OpenFolder::open(&self.roots, start).ok()?)))
            .collect();
        let work = || {
            let mut visit = make_visitor();
            while let Some(claim) = pending.claim() {
                if !cancel.is_cancelled() {
                    self.visit_place(&claim, &starts, cancel, &mut visit);
                }
            }
        };
        thread::scope(|scope| {
            for _ in 1..THREADS {
                // If no thread can be started, this one does all the work.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// Visits the entries of a folder and queues its subfolders; a start that is a file is visited itself.
    fn visit_place(
        &self,
        claim: &Claim<'_>,
        starts: &[(&Path, OpenFolder)],
        cancel: &CancellationToken,
        visit: &mut impl FnMut(WalkEntry<'_>),
    ) {
        let (roots, place) = (&self.roots, claim.place.as_path());
        let from_start =
            starts.iter().find_map(|(start, folder)| Some((folder, place.strip_prefix(start).ok()?)));
        let opened = match from_start {
            Some((start, rest)) => start.open_below(rest),
            None => OpenFolder::open(roots, place),
        };
        let listed = opened.and_then(|folder| Ok((folder.entries()?, folder)));
        let (entries, folder) = match listed {
            Ok(listed) => listed,
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                if roots.shows(place, false)
                    && let Ok((folder, name)) = split(roots, place)
                    && let Ok(folder) = OpenFolder::open(roots, folder)
                    && let Ok(kind @ (FolderEntryKind::File | FolderEntryKind::Link)) = folder.kind(name)
                {
                    visit(WalkEntry { folder: &folder, name, kind, path: place.to_path_buf() });
                }
                return;
            }
            // A folder that cannot be listed is skipped.
            Err(_) => return,
        };
        for entry in entries {
            if cancel.is_cancelled() {
                return;
            }
            let path = place.join(&entry.name);
            let is_folder = entry.kind == FolderEntryKind::Folder;
            if entry.name == ".git"
                || !roots.shows(&path, is_folder)
                || self.ignored.is_ignored(&path, is_folder).is_some()
            {
                continue;
            }
            match is_folder {
                true => claim.pending.add(path),
                false => visit(WalkEntry { folder: &folder, name: &entry.name, kind: entry.kind, path }),
            }
        }
    }
}

/// A file or a link in a folder that is held open.
pub(crate) struct WalkEntry<'a> {
    folder: &'a OpenFolder,
    name: &'a OsStr,
    pub(crate) kind: FolderEntryKind,
    pub(crate) path: PathBuf,
}

impl WalkEntry<'_> {
    /// Opens an entry that was listed as a regular file.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.folder.open_listed_file(self.name)
    }

    /// The modification time; for a link, of the link itself.
    pub(crate) fn modified(&self) -> io::Result<SystemTime> {
        self.folder.modified(self.name)
    }
}

/// The paths still to be walked. The newest comes first, so that the queue stays short.
struct WalkQueue {
    queue: Mutex<QueuedPaths>,
    changed: Condvar,
}

struct QueuedPaths {
    places: Vec<PathBuf>,
    /// The number of paths in work, which may still add some.
    claimed: usize,
}

/// A path in work. Done when dropped, also if a visitor panics.
struct Claim<'a> {
    pending: &'a WalkQueue,
    place: PathBuf,
}

impl WalkQueue {
    fn new(places: Vec<PathBuf>) -> Self {
        Self { queue: Mutex::new(QueuedPaths { places, claimed: 0 }), changed: Condvar::new() }
    }

    /// Waits for the next path; none once all work is done.
    fn claim(&self) -> Option<Claim<'_>> {
        let mut queue = self.lock();
        loop {
            if let Some(place) = queue.places.pop() {
                queue.claimed += 1;
                return Some(Claim { pending: self, place });
            }
            if queue.claimed == 0 {
                return None;
            }
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn add(&self, place: PathBuf) {
        self.lock().places.push(place);
        self.changed.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, QueuedPaths> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.pending.lock().claimed -= 1;
        self.pending.changed.notify_all();
    }
}

/// The folders that are inside no other.
fn outermost(folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_inside = |folder: &Path| folders.iter().any(|other| folder != other && folder.starts_with(other));
    folders.iter().filter(|folder| !is_inside(folder)).cloned().collect()
}

/// Runs a search on a blocking thread. Cancelling or dropping this ends the search.
pub(crate) async fn search<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, ToolAnswer> {
    let own = cancel.child_token();
    let _ends_with_this = own.clone().drop_guard();
    let working = own.clone();
    let found = tokio::task::spawn_blocking(move || work(&working)).await;
    if own.is_cancelled() {
        return Err(ToolAnswer::new(ToolOutcome::Cancelled("The search was stopped.".to_string())));
    }
    found.map_err(|error| ToolAnswer::failed(format!("The search failed: {error}.")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{PermittedEffects, Tool, ToolInvocation};
    use longhaul_conversation::CallId;
    use serde_json::Value;

    /// Honours the ignore files of Git and of Gemini CLI.
    pub(crate) const GIT: Ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };

    /// A test workspace.
    pub(crate) struct TestWorkspace {
        pub(crate) folder: tempfile::TempDir,
        roots: Roots,
    }

    impl TestWorkspace {
        pub(crate) fn work(&self) -> &Path {
            self.roots.first()
        }

        pub(crate) fn roots(&self) -> Roots {
            self.roots.clone()
        }
    }

    /// A test workspace with these files.
    pub(crate) fn world(files: &[(&str, &str)]) -> TestWorkspace {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        for (name, text) in files {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let roots = Roots::new(&work, &[]).unwrap();
        TestWorkspace { folder, roots }
    }

    /// The outcome of a call.
    pub(crate) fn call(tool: &dyn Tool, args: &Value) -> ToolOutcome {
        call_until(tool, args, &CancellationToken::new())
    }

    pub(crate) fn call_until(tool: &dyn Tool, args: &Value, cancel: &CancellationToken) -> ToolOutcome {
        let id = CallId::new("c");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime
            .block_on(tool.run(ToolInvocation {
                id: &id,
                args,
                progress: &|_| (),
                cancel,
                permitted: PermittedEffects::Any,
            }))
            .outcome
    }

    #[test]
    fn folders_inside_others_are_walked_once() {
        let folders = ["/a", "/a/b", "/ab", "/c/d"].map(PathBuf::from);
        assert_eq!(outermost(&folders), ["/a", "/ab", "/c/d"].map(PathBuf::from));
    }
}
