//! Lists the sessions of a project.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use longhaul_conversation::Timestamp;

use super::Store;
use super::index::{self, Index, Known, Stamp};
use super::metadata::{Scanner, SessionMetadata, SessionRole};
use super::names::{may_be_of, stem_of};

/// Fewer files are not worth a second thread.
const FILES_FOR_A_THREAD: usize = 32;

/// The sessions of a project, oldest first, and the files that hold none.
#[derive(Debug, Default)]
pub struct Listing {
    /// One entry for each session that can be resumed.
    pub sessions: Vec<ListedSession>,
    /// Files that are called like sessions and are none, or none to resume.
    pub flawed: Vec<FlawedFile>,
}

/// A session that can be resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct ListedSession {
    /// Its number in the list, from 1.
    pub index: usize,
    /// The path of its file.
    pub path: PathBuf,
    /// The name of its file.
    pub file_name: String,
    /// The file size in bytes.
    pub size: u64,
    /// When it began; where the file does not say so, when something was last added.
    pub started: Timestamp,
    /// When something was last added; where the file does not say so, when it began.
    pub updated: Timestamp,
    /// The metadata in the file.
    pub metadata: SessionMetadata,
    /// Names of older files of the same session.
    pub older_files: Vec<String>,
}

/// A file that is called like a session and is none, or none to resume.
#[derive(Debug)]
pub struct FlawedFile {
    /// Its location.
    pub path: PathBuf,
    /// Its name.
    pub file_name: String,
    /// Its size in bytes.
    pub size: u64,
    /// When it was last written.
    pub modified: Timestamp,
    /// The fault.
    pub flaw: Flaw,
}

/// The reason why a file is not listed as a session.
#[derive(Debug)]
pub enum Flaw {
    /// The system does not let us read it.
    Unreadable(io::Error),
    /// It is empty, broken, or says neither which session it is nor of which project.
    NoSession,
    /// Nothing was asked or answered in it.
    NothingToResume {
        /// True if it has messages at all; if not, it may just have begun.
        has_messages: bool,
    },
    /// It is the conversation of a sub-agent.
    Subagent,
}

impl ListedSession {
    /// The session's own id.
    pub fn id(&self) -> &str {
        &self.metadata.id
    }

    /// When it was last needed here: something was added, or it was imported.
    pub fn last_used(&self) -> Timestamp {
        self.metadata.imported.map_or(self.updated, |imported| imported.max(self.updated))
    }

    /// True if this is the session with the id `current`, as far as the name of the file tells: it contains the first
    /// eight letters.
    pub fn is_current(&self, current: &str) -> bool {
        may_be_of(&self.file_name, current)
    }
}

/// A file that is called like a session.
struct Candidate {
    name: String,
    stamp: Stamp,
}

/// The result for a candidate.
struct Looked {
    name: String,
    known: Known,
    failure: Option<io::Error>,
}

impl Store {
    /// Lists the sessions, reading only the files that changed since the last time.
    ///
    /// The metadata of the others is in the index beside them, which is written again where anything changed. A folder
    /// that does not exist has no sessions.
    ///
    /// # Errors
    /// The error that prevents the folder from being listed; files that cannot be read are among the flawed ones.
    pub fn list(&self) -> io::Result<Listing> {
        let candidates = self.candidates()?;
        let mut index = Index::load(&self.chats);
        let mut looked = Vec::with_capacity(candidates.len());
        let mut changed = Vec::new();
        for candidate in candidates {
            match index.take(&candidate.name, candidate.stamp) {
                Some(known) => looked.push(Looked { name: candidate.name, known, failure: None }),
                None => changed.push(candidate),
            }
        }
        let is_stale = !changed.is_empty() || !index.is_empty();
        looked.extend(self.look_at(changed));
        if is_stale {
            let mut good: Vec<&Looked> = looked.iter().filter(|looked| looked.failure.is_none()).collect();
            good.sort_by(|a, b| a.name.cmp(&b.name));
            index::save(&self.chats, good.into_iter().map(|looked| (looked.name.as_str(), &looked.known)));
        }
        Ok(self.listing_of(looked))
    }

    /// Lists the sessions from their files alone, without the index.
    ///
    /// # Errors
    /// As [`Store::list`].
    pub fn list_afresh(&self) -> io::Result<Listing> {
        let candidates = self.candidates()?;
        Ok(self.listing_of(self.look_at(candidates)))
    }

    /// The regular files that are called like sessions.
    fn candidates(&self) -> io::Result<Vec<Candidate>> {
        let entries = match fs::read_dir(&self.chats) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut candidates = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| stem_of(name).is_some()) else { continue };
            // This does not follow links. A file that has gone in the meantime is no session any more.
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_file() {
                candidates.push(Candidate { name: name.to_owned(), stamp: Stamp::of(&metadata) });
            }
        }
        Ok(candidates)
    }

    /// Reads files, with as many threads as they are worth.
    fn look_at(&self, candidates: Vec<Candidate>) -> Vec<Looked> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let threads = cores.min(candidates.len() / FILES_FOR_A_THREAD);
        if threads < 2 {
            let mut scanner = Scanner::default();
            return candidates.into_iter().map(|candidate| self.look(&mut scanner, candidate)).collect();
        }
        let count = candidates.len();
        let next = AtomicUsize::new(0);
        let candidates: Vec<Mutex<Option<Candidate>>> =
            candidates.into_iter().map(|candidate| Mutex::new(Some(candidate))).collect();
        let work = || {
            let mut scanner = Scanner::default();
            let mut looked = Vec::with_capacity(count / threads + 1);
            while let Some(slot) = candidates.get(next.fetch_add(1, Ordering::Relaxed)) {
                let candidate = slot.lock().ok().and_then(|mut slot| slot.take());
                looked.extend(candidate.map(|candidate| self.look(&mut scanner, candidate)));
            }
            looked
        };
        thread::scope(|scope| {
            // Where no other thread can be started, this one does all of it.
            let others: Vec<_> =
                (1..threads).map_while(|_| thread::Builder::new().spawn_scoped(scope, work).ok()).collect();
            let mut looked = work();
            for other in others {
                looked.extend(other.join().expect("reading metadata does not panic"));
            }
            looked
        })
    }

    fn look(&self, scanner: &mut Scanner, candidate: Candidate) -> Looked {
        let Candidate { name, stamp } = candidate;
        let (found, failure) = match scanner.load(&self.chats.join(&name)) {
            Ok(found) => (found, None),
            Err(error) => (None, Some(error)),
        };
        Looked { name, known: Known { stamp, found }, failure }
    }

    fn listing_of(&self, looked: Vec<Looked>) -> Listing {
        let mut listing = Listing::default();
        let mut sessions: HashMap<String, ListedSession> = HashMap::new();
        for looked in looked {
            let file = self.sort_out(looked);
            match file {
                Err(flawed) => listing.flawed.push(flawed),
                Ok(session) => match sessions.remove(session.id()) {
                    Some(other) => {
                        let session = newer_of(session, other);
                        sessions.insert(session.id().to_owned(), session);
                    }
                    None => {
                        sessions.insert(session.id().to_owned(), session);
                    }
                },
            }
        }
        listing.sessions = sessions.into_values().collect();
        listing.sessions.sort_by(|a, b| (a.started, &a.file_name).cmp(&(b.started, &b.file_name)));
        for (place, session) in listing.sessions.iter_mut().enumerate() {
            session.index = place + 1;
            session.older_files.sort();
        }
        listing.flawed.sort_by(|a, b| a.file_name.cmp(&b.file_name));
        listing
    }

    fn sort_out(&self, looked: Looked) -> Result<ListedSession, FlawedFile> {
        let Looked { name, known: Known { stamp, found }, failure } = looked;
        let path = self.chats.join(&name);
        let modified = Timestamp::from_millis(stamp.modified.div_euclid(1_000_000));
        let flaw = match (failure, found) {
            (Some(error), _) => Flaw::Unreadable(error),
            (None, None) => Flaw::NoSession,
            (None, Some(found)) if found.kind == SessionRole::Subagent => Flaw::Subagent,
            (None, Some(found)) if !found.has_resumable_content => {
                Flaw::NothingToResume { has_messages: found.message_count > 0 }
            }
            (None, Some(metadata)) => {
                let (started, updated) = (metadata.started, metadata.updated);
                return Ok(ListedSession {
                    index: 0,
                    path,
                    file_name: name,
                    size: stamp.size,
                    started: started.or(updated).unwrap_or(modified),
                    updated: updated.or(started).unwrap_or(modified),
                    metadata,
                    older_files: Vec::new(),
                });
            }
        };
        Err(FlawedFile { path, file_name: name, size: stamp.size, modified, flaw })
    }
}

/// Of two files of one session the one that was added to later; of equals that in the newer form.
fn newer_of(a: ListedSession, b: ListedSession) -> ListedSession {
    let (mut newer, older) =
        if (a.updated, &a.file_name) >= (b.updated, &b.file_name) { (a, b) } else { (b, a) };
    newer.older_files.extend(older.older_files);
    newer.older_files.push(older.file_name);
    newer
}
