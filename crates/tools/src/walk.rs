//! Walks over the files of the workspace, on two threads, past what is hidden.
//!
//! Every folder is opened from folder to folder by descriptors, without following a link, and its files are opened from
//! there: a folder that is swapped for a link meanwhile leads nowhere.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::SystemTime;

use longhaul_workspace::Ignoring;
use tokio_util::sync::CancellationToken;

use crate::folder::{Folder, Kind, split};
use crate::{Answer, IgnoreFiles, Outcome, Refusal, Roots};

/// More threads gain little: the disk is soon busy, and others work beside us.
const THREADS: usize = 2;

/// Where a search begins: below some folders of the workspace, or at a single file.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    roots: Roots,
    /// Without links, and none inside another.
    starts: Vec<PathBuf>,
    ignored: Arc<IgnoreFiles>,
}

impl Area {
    /// The place that a model names, or the whole workspace if it names none.
    ///
    /// # Errors
    /// Why there is nothing to be searched, in a sentence for the model.
    pub(crate) fn find(roots: &Roots, named: Option<&str>, ignoring: &Ignoring) -> Result<Self, String> {
        let ignored = Arc::new(IgnoreFiles::load(roots, ignoring));
        let starts = match named.filter(|named| !named.is_empty()) {
            Some(named) => {
                let place = roots.resolve(named).map_err(|refusal: Refusal| format!("{refusal}."))?;
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

    /// The folders, or the file, where it begins.
    pub(crate) fn starts(&self) -> &[PathBuf] {
        &self.starts
    }

    /// The path below the start that it belongs to; of a start that is a file, its name.
    pub(crate) fn relative<'a>(&self, path: &'a Path) -> &'a Path {
        let below = self.starts.iter().find_map(|start| path.strip_prefix(start).ok());
        match below {
            Some(below) if !below.as_os_str().is_empty() => below,
            _ => path.file_name().map_or(path, Path::new),
        }
    }

    /// Visits every file and link that is not hidden, in no order, with a visitor for each thread. Links are not followed.
    /// Who cancels is not kept waiting.
    pub(crate) fn visit<V>(&self, cancel: &CancellationToken, make_visitor: impl Fn() -> V + Sync)
    where
        V: FnMut(Visited<'_>) + Send,
    {
        let pending = Pending::new(self.starts.clone());
        // Held open, so that the way there is gone once.
        let starts: Vec<(&Path, Folder)> = self
            .starts
            .iter()
            .filter_map(|start| Some((start.as_path(), Folder::open(&self.roots, start).ok()?)))
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
                // Where no other thread can be started, this one does all of it.
                let _ = thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
    }

    /// Visits what is in a folder, and notes the folders below it; of a start that is a file, visits that.
    fn visit_place(
        &self,
        claim: &Claim<'_>,
        starts: &[(&Path, Folder)],
        cancel: &CancellationToken,
        visit: &mut impl FnMut(Visited<'_>),
    ) {
        let (roots, place) = (&self.roots, claim.place.as_path());
        let from_start =
            starts.iter().find_map(|(start, folder)| Some((folder, place.strip_prefix(start).ok()?)));
        let opened = match from_start {
            Some((start, rest)) => start.open_below(rest),
            None => Folder::open(roots, place),
        };
        let listed = opened.and_then(|folder| Ok((folder.entries()?, folder)));
        let (entries, folder) = match listed {
            Ok(listed) => listed,
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                if let Ok((folder, name)) = split(roots, place)
                    && let Ok(folder) = Folder::open(roots, folder)
                    && let Ok(kind @ (Kind::File | Kind::Link)) = folder.kind(name)
                {
                    visit(Visited { folder: &folder, name, kind, path: place.to_path_buf() });
                }
                return;
            }
            // What cannot be listed is not there for us.
            Err(_) => return,
        };
        for entry in entries {
            if cancel.is_cancelled() {
                return;
            }
            let path = place.join(&entry.name);
            let is_folder = entry.kind == Kind::Folder;
            if entry.name == ".git" || self.ignored.is_ignored(&path, is_folder).is_some() {
                continue;
            }
            match is_folder {
                true => claim.pending.add(path),
                false => visit(Visited { folder: &folder, name: &entry.name, kind: entry.kind, path }),
            }
        }
    }
}

/// A file or a link that a walk comes by, in a folder that is held open.
pub(crate) struct Visited<'a> {
    folder: &'a Folder,
    name: &'a OsStr,
    pub(crate) kind: Kind,
    pub(crate) path: PathBuf,
}

impl Visited<'_> {
    /// Opens what was listed as a regular file.
    pub(crate) fn open(&self) -> io::Result<File> {
        self.folder.open_listed_file(self.name)
    }

    /// The time of the last change: of a link, of the link itself.
    pub(crate) fn modified(&self) -> io::Result<SystemTime> {
        self.folder.modified(self.name)
    }
}

/// The places that are still to be walked through. The newest comes first, so that few wait at a time.
struct Pending {
    queue: Mutex<Queue>,
    changed: Condvar,
}

struct Queue {
    places: Vec<PathBuf>,
    /// How many are in work, and may still add some.
    claimed: usize,
}

/// A place in work. It is done when this is dropped, also by a visitor that panics.
struct Claim<'a> {
    pending: &'a Pending,
    place: PathBuf,
}

impl Pending {
    fn new(places: Vec<PathBuf>) -> Self {
        Self { queue: Mutex::new(Queue { places, claimed: 0 }), changed: Condvar::new() }
    }

    /// The next place, waited for as long as there may be one.
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

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.pending.lock().claimed -= 1;
        self.pending.changed.notify_all();
    }
}

/// The folders that are in no other.
fn outermost(folders: &[PathBuf]) -> Vec<PathBuf> {
    let is_inside = |folder: &Path| folders.iter().any(|other| folder != other && folder.starts_with(other));
    folders.iter().filter(|folder| !is_inside(folder)).cloned().collect()
}

/// Searches on a thread where that may take its time. Who cancels, or drops this, ends it; then the answer says so.
pub(crate) async fn search<T: Send + 'static>(
    cancel: &CancellationToken,
    work: impl FnOnce(&CancellationToken) -> T + Send + 'static,
) -> Result<T, Answer> {
    let own = cancel.child_token();
    let _ends_with_this = own.clone().drop_guard();
    let working = own.clone();
    let found = tokio::task::spawn_blocking(move || work(&working)).await;
    if own.is_cancelled() {
        return Err(Answer::new(Outcome::Cancelled("The search was stopped.".to_string())));
    }
    found.map_err(|error| Answer::failed(format!("The search failed: {error}.")))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{Call, Tool};
    use longhaul_conversation::CallId;
    use serde_json::Value;

    /// The files of Git and of Gemini CLI count.
    pub(crate) const GIT: Ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };

    /// A workspace.
    pub(crate) struct World {
        pub(crate) folder: tempfile::TempDir,
        roots: Roots,
    }

    impl World {
        pub(crate) fn work(&self) -> &Path {
            self.roots.first()
        }

        pub(crate) fn roots(&self) -> Roots {
            self.roots.clone()
        }
    }

    /// A workspace of these files.
    pub(crate) fn world(files: &[(&str, &str)]) -> World {
        let folder = tempfile::tempdir().unwrap();
        let work = folder.path().join("work");
        std::fs::create_dir(&work).unwrap();
        for (name, text) in files {
            let path = work.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let roots = Roots::new(&work, &[]).unwrap();
        World { folder, roots }
    }

    /// The outcome of a call.
    pub(crate) fn call(tool: &dyn Tool, args: &Value) -> Outcome {
        call_until(tool, args, &CancellationToken::new())
    }

    pub(crate) fn call_until(tool: &dyn Tool, args: &Value, cancel: &CancellationToken) -> Outcome {
        let id = CallId::new("c");
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(tool.run(Call { id: &id, args, progress: &|_| (), cancel })).outcome
    }

    #[test]
    fn folders_inside_others_are_walked_once() {
        let folders = ["/a", "/a/b", "/ab", "/c/d"].map(PathBuf::from);
        assert_eq!(outermost(&folders), ["/a", "/ab", "/c/d"].map(PathBuf::from));
    }
}
