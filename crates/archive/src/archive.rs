//! The archive of one home: copies and index together.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use longhaul_recall::{FoundPassage, Hit, PassageFinder, RankedPassage, SessionRef, pick_hits};
use longhaul_workspace::{Lock, LockTimeout, create_private_atomically, create_private_folder};

use crate::blocks::{BlockReader, Blocks};
use crate::error::ArchiveError;
use crate::index::Index;
use crate::question::Question;
use crate::source::ArchivedSession;
use crate::source_log::SourceLog;

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
        let own = name.split('/').next().unwrap_or(name);
        self.log.named(own).or_else(|| {
            let mut found = self
                .log
                .sessions()
                .filter(|session| own.len() >= 4 && session.source.session.starts_with(own));
            found.next().filter(|_| found.next().is_none())
        })
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
        let ending = session.source.path.extension().and_then(|ending| ending.to_str()).unwrap_or("jsonl");
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

    fn restored(&self) -> PathBuf {
        self.folder.join("restored")
    }

    /// Searches everything that is indexed.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn recall(&mut self, question: &Question, limit: usize) -> Result<Vec<Hit>, ArchiveError> {
        let ranked = match self.index.rank(&self.log, question) {
            Err(error) if error.is_corrupt_index() => {
                self.damaged = Some(self.index.replace_damaged()?);
                self.index_pending()?;
                self.index.rank(&self.log, question)?
            }
            other => other?,
        };
        Ok(pick_hits(&question.query, &ranked, limit, &mut |wanted| self.fetch(wanted)))
    }

    /// The ranking of a question, for comparison with a scan.
    ///
    /// # Errors
    /// The index cannot be read.
    pub fn ranking(&self, question: &Question) -> Result<Vec<RankedPassage>, ArchiveError> {
        self.index.rank(&self.log, question)
    }

    fn fetch(&self, wanted: &[RankedPassage]) -> Vec<Option<FoundPassage>> {
        let mut by_session: HashMap<String, Vec<SessionRef>> = HashMap::new();
        for passage in wanted {
            let own = passage.session.as_str().split('/').next().unwrap_or_default();
            let chains = by_session.entry(own.to_owned()).or_default();
            if !chains.contains(&passage.session) {
                chains.push(passage.session.clone());
            }
        }
        let mut found: HashMap<(SessionRef, u32), FoundPassage> = HashMap::new();
        for (own, chains) in by_session {
            let Some(session) = self.log.named(&own) else { continue };
            let mut finders: HashMap<String, PassageFinder> = HashMap::new();
            for chain in &chains {
                let name = chain.as_str().strip_prefix(own.as_str()).unwrap_or_default();
                finders.insert(name.trim_start_matches('/').to_owned(), PassageFinder::new(wanted, chain));
            }
            // A damaged block ends the session early; what stands before it is shown.
            let _ = crate::index::each_message(
                BlockReader::new(&self.blocks, &session.blocks),
                &mut |chain, message| {
                    if let Some(finder) = finders.get_mut(chain) {
                        finder.observe(message);
                    }
                },
            );
            for chain in chains {
                let name =
                    chain.as_str().strip_prefix(own.as_str()).unwrap_or_default().trim_start_matches('/');
                let passages = finders.remove(name).map(|finder| finder.found).unwrap_or_default();
                found.extend(
                    passages.into_iter().map(|(sequence, passage)| ((chain.clone(), sequence), passage)),
                );
            }
        }
        wanted.iter().map(|wanted| found.remove(&(wanted.session.clone(), wanted.sequence))).collect()
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
            let mut writer = self.index.writer()?;
            let mut bytes = 0;
            while bytes < BATCH
                && let Some(session) = rest.next()
            {
                bytes += session.bytes();
                writer.add(session, BlockReader::new(&self.blocks, &session.blocks))?;
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
        let mut writer = self.index.writer()?;
        for session in sessions {
            writer.remove(session, BlockReader::new(&self.blocks, &session.blocks))?;
        }
        writer.commit()?;
        self.log.delete(&sessions.iter().map(|session| session.id).collect::<Vec<_>>())?;
        if self.restored().exists() {
            let restored = self.restored();
            fs::remove_dir_all(&restored).map_err(|cause| ArchiveError::file("remove", &restored, cause))?;
        }
        self.remove_unused()
    }

    /// Removes the blocks that no session has.
    pub(crate) fn remove_unused(&self) -> Result<u64, ArchiveError> {
        let used =
            self.log.sessions().flat_map(|session| &session.blocks).map(|block| block.hash.clone()).collect();
        Ok(self.blocks.remove_unused(&used)?.1)
    }
}
