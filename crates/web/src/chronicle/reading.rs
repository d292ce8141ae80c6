//! Sessions that are being read, or were lately: read on threads of their own, shown from the first message on.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use longhaul_app::settings::Settings;
use longhaul_formats::read;

use super::fold::Chronicle;
use crate::syncing::lock;

/// So many sessions are kept.
const MOST_READ: usize = 6;
/// The stack of a reading thread: sessions may be nested deeply.
const STACK: usize = 8 << 20;

/// The sessions that were read lately, the newest first.
#[derive(Default)]
pub(crate) struct Readings(Mutex<Vec<(PathBuf, Arc<ReadSession>)>>);

/// A session that is being read.
pub(crate) struct ReadSession {
    state: Mutex<ReadState>,
    news: Condvar,
    stamp: Stamp,
}

/// The bytes read so far.
pub(crate) struct ReadState {
    pub(crate) chronicle: Chronicle,
    pub(crate) is_done: bool,
    pub(crate) problem: Option<String>,
}

/// The size and the time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// The stamp of a session's file; of a database that holds it.
    pub(crate) fn of(path: &Path) -> Self {
        let database = longhaul_stores::split_session_path(path).map(|(database, _)| database);
        let metadata = std::fs::metadata(database.as_deref().unwrap_or(path)).ok();
        metadata
            .map_or_else(Self::default, |found| Self { size: found.len(), modified: found.modified().ok() })
    }

    /// A number that changes with it.
    pub(crate) fn version(self) -> u64 {
        let since = self.modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        self.size ^ since.map_or(0, |since| since.as_nanos() as u64).rotate_left(20)
    }
}

impl Readings {
    /// A session, whose reading begins now unless it is known and has not changed since.
    pub(crate) fn get(&self, path: &Path, settings: &Arc<Settings>) -> Arc<ReadSession> {
        let stamp = Stamp::of(path);
        let mut known = lock(&self.0);
        if let Some(place) = known.iter().position(|(read, _)| read == path) {
            let found = known.remove(place);
            if found.1.stamp == stamp {
                let session = Arc::clone(&found.1);
                known.insert(0, found);
                return session;
            }
        }
        let session = Arc::new(ReadSession {
            state: Mutex::new(ReadState {
                chronicle: Chronicle::new(settings),
                is_done: false,
                problem: None,
            }),
            news: Condvar::new(),
            stamp,
        });
        known.insert(0, (path.to_path_buf(), Arc::clone(&session)));
        known.truncate(MOST_READ);
        let (reading, settings, path) = (Arc::clone(&session), Arc::clone(settings), path.to_path_buf());
        let started = std::thread::Builder::new()
            .name("reading".into())
            .stack_size(STACK)
            .spawn(move || reading.read(&path, &settings));
        if let Err(error) = started {
            session.end(Some(format!("no thread could be started to read it: {error}")));
        }
        session
    }
}

impl ReadSession {
    fn read(&self, path: &Path, settings: &Settings) {
        let _ends = EndGuard(self);
        let read = longhaul_app::sessions::open(path).and_then(|file| {
            let mut sink = |event| {
                lock(&self.state).chronicle.take(event);
            };
            Ok(read(file, &mut sink)?)
        });
        let mut state = lock(&self.state);
        match read {
            Ok(info) => state.chronicle.finish(info, settings),
            Err(error) => state.problem = Some(format!("{error:#}")),
        }
    }

    fn end(&self, problem: Option<String>) {
        let mut state = lock(&self.state);
        state.is_done = true;
        state.problem = state.problem.take().or(problem);
        drop(state);
        self.news.notify_all();
    }

    /// The text read when all was, or enough of it, or the time was up.
    pub(crate) fn wait(
        &self,
        most: Duration,
        is_enough: impl Fn(&Chronicle) -> bool,
    ) -> MutexGuard<'_, ReadState> {
        let until = Instant::now() + most;
        let mut state = lock(&self.state);
        while !state.is_done && (Instant::now() < until || !is_enough(&state.chronicle)) {
            // What is enough is looked at now and then; the end of the reading wakes at once.
            let pause = Duration::from_millis(10);
            state = self.news.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }

    pub(crate) fn stamp(&self) -> Stamp {
        self.stamp
    }
}

/// Whatever becomes of the thread, nobody waits for it for ever.
struct EndGuard<'r>(&'r ReadSession);

impl Drop for EndGuard<'_> {
    fn drop(&mut self) {
        let problem = std::thread::panicking().then(|| "Longhaul stumbled over this session".to_string());
        self.0.end(problem);
    }
}
