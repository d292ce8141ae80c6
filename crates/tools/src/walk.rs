//! Walks over the files of the workspace, on two threads, past what is hidden.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::{DirEntry, WalkBuilder, WalkState};
use longhaul_workspace::Ignoring;
use tokio_util::sync::CancellationToken;

use crate::{Answer, IgnoreFiles, Outcome, Refusal, Roots};

/// More threads gain little: the disk is soon busy, and others work beside us.
const THREADS: usize = 2;

/// Where a search begins: below some folders of the workspace, or at a single file.
#[derive(Clone, Debug)]
pub(crate) struct Area {
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
        Ok(Self { starts, ignored })
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
        V: FnMut(DirEntry) + Send,
    {
        let Some((first, others)) = self.starts.split_first() else { return };
        let mut builder = WalkBuilder::new(first);
        others.iter().for_each(|other| {
            builder.add(other);
        });
        let ignored = Arc::clone(&self.ignored);
        builder
            // The rules are ours, so that every tool has the same ones: dotfiles count, files of Git only in repositories.
            .standard_filters(false)
            .follow_links(false)
            .threads(THREADS)
            .filter_entry(move |entry| is_wanted(entry, &ignored));
        builder.build_parallel().run(|| {
            let mut visit = make_visitor();
            Box::new(move |entry| {
                if cancel.is_cancelled() {
                    return WalkState::Quit;
                }
                // What cannot be listed is not there for us.
                if let Ok(entry) = entry
                    && entry.file_type().is_some_and(|kind| !kind.is_dir())
                {
                    visit(entry);
                }
                WalkState::Continue
            })
        });
    }
}

fn is_wanted(entry: &DirEntry, ignored: &IgnoreFiles) -> bool {
    if entry.depth() == 0 {
        return true;
    }
    let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
    entry.file_name() != ".git" && ignored.is_ignored(entry.path(), is_dir).is_none()
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
