//! The archive of one home: copies and index together.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_recall::{FoundPassage, Hit, RankedPassage, Search, pick_hits};
use longhaul_workspace::{Lock, LockTimeout, create_private_atomically, create_private_folder};

use crate::blocks::{BlockReader, Blocks};
use crate::error::ArchiveError;
use crate::fetch::{SessionPlace, fetch_passages};
use crate::question::Question;
use crate::rank::{Scope, rank_passages};
use crate::source::{ArchivedSession, Source};
use crate::source_log::SourceLog;
use crate::sqlite::Index;
use crate::store::{SourceName, Store, StoredChain};
use crate::sync::holds_all;
use crate::writer::{IndexWriter, IndexedSource};

/// The text that is indexed in one transaction, in bytes.
const BATCH: u64 = 32 * 1024 * 1024;

/// The archive of one home.
#[derive(Debug)]
pub struct Archive {
    folder: PathBuf,
    pub(crate) blocks: Blocks,
    pub(crate) log: SourceLog,
    pub(crate) index: Index,
    /// Where a damaged index was set aside.
    pub(crate) damaged: Option<PathBuf>,
    /// True if copies were replaced, so that their blocks may go.
    pub(crate) has_unused: bool,
}

impl Archive {
    /// Opens the archive in a folder, which is made if needed. A damaged index is set aside; the next sync makes it anew.
    ///
    /// # Errors
    /// The folder cannot be made or read.
    pub fn open(folder: &Path) -> Result<Self, ArchiveError> {
        create_private_folder(folder)?;
        let damaged = || folder.join("index.damaged-1");
        let was_damaged = damaged().exists();
        let index = Index::open(&folder.join("index.db"))?;
        Ok(Self {
            folder: folder.to_path_buf(),
            blocks: Blocks::at(folder.join("blocks")),
            log: SourceLog::load(&folder.join("sources.jsonl"))?,
            index,
            damaged: (!was_damaged && damaged().exists()).then(damaged),
            has_unused: false,
        })
    }

    /// True if a folder holds an archive.
    pub fn exists(folder: &Path) -> bool {
        folder.join("sources.jsonl").exists()
    }

    /// The right to change the archive.
    pub(crate) fn lock(&self, purpose: &str, timeout: LockTimeout) -> Result<Lock, ArchiveError> {
        Ok(Lock::beside(&self.folder.join("sources.jsonl"), purpose, timeout)?)
    }

    /// The sessions, in the order of arrival.
    pub fn sessions(&self) -> Vec<&ArchivedSession> {
        self.log.sessions().collect()
    }

    /// The session with a name, or with an unmistakable start of one.
    pub fn find(&self, name: &str) -> Option<&ArchivedSession> {
        find_named(self.log.sessions(), name)
    }

    /// The copy of a session, as the agent's file was but for secrets.
    pub fn text<'a>(&'a self, session: &'a ArchivedSession) -> impl std::io::Read + 'a {
        BlockReader::new(&self.blocks, &session.blocks)
    }

    /// Writes the copy of a session into the archive's own folder of files to be read; the file.
    ///
    /// # Errors
    /// A block is missing or damaged, or the file cannot be written.
    pub fn restore(&self, session: &ArchivedSession) -> Result<PathBuf, ArchiveError> {
        let ending = match session.source.document {
            Some(_) => "json",
            None => session.source.path.extension().and_then(|ending| ending.to_str()).unwrap_or("jsonl"),
        };
        let path = self.restored().join(format!("{}-{}.{ending}", session.id, session.blocks.len()));
        if path.exists() {
            return Ok(path);
        }
        let mut text = Vec::new();
        for block in &session.blocks {
            text.extend(self.blocks.read(block)?);
        }
        create_private_atomically(&path, &text)?;
        Ok(path)
    }

    /// A random name of this archive, by which others tell its sessions from theirs.
    #[cfg(feature = "postgres")]
    pub(crate) fn origin(&self) -> Result<String, ArchiveError> {
        use std::hash::{BuildHasher, RandomState};
        let path = self.folder.join("origin");
        let read = || fs::read_to_string(&path).ok().filter(|name| name.len() == 32);
        if let Some(name) = read() {
            return Ok(name);
        }
        let _lock = self.lock("archive push", LockTimeout::default())?;
        if let Some(name) = read() {
            return Ok(name);
        }
        let random = || RandomState::new().hash_one(std::process::id());
        let name = format!("{:016x}{:016x}", random(), random());
        create_private_atomically(&path, name.as_bytes())?;
        Ok(name)
    }

    fn restored(&self) -> PathBuf {
        self.folder.join("restored")
    }

    /// Searches everything that is indexed.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn recall(&mut self, question: &Question, limit: usize) -> Result<Vec<Hit>, ArchiveError> {
        let ranked = self.sound_ranking(question, &Scope::Everything, None)?;
        Ok(pick_hits(&question.query, &ranked, limit, &mut |wanted| self.fetch(wanted)))
    }

    /// The ranking of a question, for comparison with a scan.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn ranking(&mut self, question: &Question) -> Result<Vec<RankedPassage>, ArchiveError> {
        self.rank(question, &Scope::Everything, None)
    }

    /// The ranking of a question about some sessions, each with the name that it has for the caller, and of others that were
    /// scanned: the order of a scan of all of them.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn ranking_of(
        &mut self,
        question: &Question,
        sessions: &[(u64, String)],
        scanned: Option<&Search>,
    ) -> Result<Vec<RankedPassage>, ArchiveError> {
        let sources: Vec<i64> = sessions.iter().map(|(id, _)| *id as i64).collect();
        let names: HashMap<i64, &str> =
            sessions.iter().map(|(id, name)| (*id as i64, name.as_str())).collect();
        self.sound_ranking(question, &Scope::Some { sources: &sources, scanned }, Some(&names))
    }

    /// The number of messages that are indexed of these sessions.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn messages_of(&mut self, sessions: &[(u64, String)]) -> Result<u64, ArchiveError> {
        let mut messages = 0;
        for (id, _) in sessions {
            let chains = self.index.chains_of(*id as i64)?;
            messages += chains.iter().map(|chain| u64::from(chain.messages)).sum::<u64>();
        }
        Ok(messages)
    }

    /// Ranks; a damaged index is made anew first.
    fn sound_ranking(
        &mut self,
        question: &Question,
        scope: &Scope<'_>,
        names: Option<&HashMap<i64, &str>>,
    ) -> Result<Vec<RankedPassage>, ArchiveError> {
        match self.rank(question, scope, names) {
            Err(error) if error.is_corrupt_index() => {
                self.damaged = Some(self.index.replace_damaged()?);
                self.index_pending()?;
                self.rank(question, scope, names)
            }
            other => other,
        }
    }

    fn rank(
        &mut self,
        question: &Question,
        scope: &Scope<'_>,
        names: Option<&HashMap<i64, &str>>,
    ) -> Result<Vec<RankedPassage>, ArchiveError> {
        let log = &self.log;
        // Names come from the log, which may change them.
        let named = |chain: &StoredChain| {
            let session = log.session(chain.source as u64)?;
            let given = names.and_then(|names| names.get(&chain.source));
            let name = given.map_or_else(|| session.source.session.clone(), |name| (*name).to_owned());
            Some(SourceName { session: name, agent: session.source.agent.clone() })
        };
        rank_passages(&mut self.index, question, scope, &named)
    }

    /// The passages of a ranking, from the copies.
    fn fetch(&self, wanted: &[RankedPassage]) -> Vec<Option<FoundPassage>> {
        let locate = |name: &str| {
            let own = name.split('/').next().unwrap_or(name);
            self.log.named(own).map(|session| SessionPlace { id: session.id, name: own.len() })
        };
        self.fetch_from(wanted, &locate)
    }

    /// The passages of a ranking that [`Archive::ranking_of`] made, from the copies; none where a session was scanned.
    pub fn fetch_of(
        &self,
        wanted: &[RankedPassage],
        sessions: &[(u64, String)],
    ) -> Vec<Option<FoundPassage>> {
        let locate = |name: &str| {
            let is_of = |own: &str| {
                name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            let found = sessions.iter().filter(|(_, own)| is_of(own)).max_by_key(|(_, own)| own.len());
            found.map(|(id, own)| SessionPlace { id: *id, name: own.len() })
        };
        self.fetch_from(wanted, &locate)
    }

    fn fetch_from(
        &self,
        wanted: &[RankedPassage],
        locate: &dyn Fn(&str) -> Option<SessionPlace>,
    ) -> Vec<Option<FoundPassage>> {
        fetch_passages(wanted, locate, &mut |id, take| {
            if let Some(session) = self.log.session(id) {
                take(&mut self.text(session));
            }
        })
    }

    /// The number of the session of each source whose copy and index hold everything that is in it now; none for the others.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn current(&self, sources: &[Source]) -> Result<Vec<Option<u64>>, ArchiveError> {
        let indexed = self.index.indexed()?;
        let known: HashMap<&Path, &ArchivedSession> =
            self.log.sessions().map(|session| (session.source.path.as_path(), session)).collect();
        let current = |source: &Source| {
            let session = known.get(source.path.as_path())?;
            let is_indexed = indexed.get(&session.id) == Some(&session.blocks.len());
            (is_indexed && holds_all(&session.state, source)).then_some(session.id)
        };
        Ok(sources.iter().map(current).collect())
    }

    /// The folder that each session is about, by its number, as far as that is known.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn projects(&self) -> Result<HashMap<u64, String>, ArchiveError> {
        self.index.projects()
    }

    /// Indexes what is copied and not indexed, newest first; the number of sessions.
    pub(crate) fn index_pending(&mut self) -> Result<usize, ArchiveError> {
        let indexed = self.index.indexed()?;
        let is_pending = |session: &&ArchivedSession| {
            !session.blocks.is_empty() && indexed.get(&session.id) != Some(&session.blocks.len())
        };
        let mut pending: Vec<&ArchivedSession> = self.log.sessions().filter(is_pending).collect();
        pending.sort_by_key(|session| std::cmp::Reverse((session.state.changed, session.id)));
        let count = pending.len();
        let mut rest = pending.into_iter().peekable();
        while rest.peek().is_some() {
            let mut writer = IndexWriter::begin(&mut self.index)?;
            let mut bytes = 0;
            while bytes < BATCH
                && let Some(session) = rest.next()
            {
                bytes += session.bytes();
                writer.add(indexed_source(session), BlockReader::new(&self.blocks, &session.blocks))?;
            }
            writer.commit()?;
        }
        Ok(count)
    }

    /// Makes the index anew from the blocks; the number of sessions in it.
    ///
    /// # Errors
    /// Another process holds the lock, or the index cannot be written.
    pub fn rebuild(&mut self) -> Result<usize, ArchiveError> {
        let _lock = self.lock("rebuild the index", LockTimeout::default())?;
        self.log.refresh()?;
        self.index.renew()?;
        self.index_pending()
    }

    /// Deletes sessions: their rows, their blocks unless others have them, and restored files. The room that became free.
    ///
    /// # Errors
    /// A name is unknown, another process holds the lock, or a file cannot be removed.
    pub fn delete(&mut self, names: &[&str]) -> Result<u64, ArchiveError> {
        let _lock = self.lock("delete sessions", LockTimeout::default())?;
        self.log.refresh()?;
        let mut sessions = Vec::new();
        for name in names {
            let found = self.find(name).ok_or_else(|| ArchiveError::Unknown((*name).to_owned()))?;
            sessions.push(found.clone());
        }
        self.remove(&sessions)
    }

    /// Removes sessions; the caller holds the lock.
    pub(crate) fn remove(&mut self, sessions: &[ArchivedSession]) -> Result<u64, ArchiveError> {
        if sessions.is_empty() {
            return Ok(0);
        }
        let mut writer = IndexWriter::begin(&mut self.index)?;
        for session in sessions {
            writer.remove(session.id as i64, BlockReader::new(&self.blocks, &session.blocks))?;
        }
        writer.commit()?;
        self.log.delete(&sessions.iter().map(|session| session.id).collect::<Vec<_>>())?;
        if self.restored().exists() {
            let restored = self.restored();
            fs::remove_dir_all(&restored).map_err(|cause| ArchiveError::file("remove", &restored, cause))?;
        }
        let room = self.remove_unused()?;
        self.index.erase_deleted()?;
        Ok(room)
    }

    /// Removes the blocks that no session has.
    pub(crate) fn remove_unused(&self) -> Result<u64, ArchiveError> {
        let used: HashSet<String> =
            self.log.sessions().flat_map(|session| &session.blocks).map(|block| block.hash.clone()).collect();
        Ok(self.blocks.remove_unused(&used)?.1)
    }
}

/// The session with a name, or with an unmistakable start of one.
pub(crate) fn find_named<'a>(
    sessions: impl Iterator<Item = &'a ArchivedSession> + Clone,
    name: &str,
) -> Option<&'a ArchivedSession> {
    let own = name.split('/').next().unwrap_or(name);
    sessions.clone().find(|session| session.source.session == own).or_else(|| {
        let mut found = sessions.filter(|session| own.len() >= 4 && session.source.session.starts_with(own));
        found.next().filter(|_| found.next().is_none())
    })
}

/// The part of a session that is indexed.
pub(crate) fn indexed_source(session: &ArchivedSession) -> IndexedSource<'_> {
    IndexedSource {
        id: session.id as i64,
        project: session.source.project.as_deref(),
        blocks: session.blocks.len(),
    }
}
