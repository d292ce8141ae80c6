//! Copies what is new, newest first. It may be killed at any moment: each block is on disk before the log names it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use longhaul_conversation::Timestamp;
use longhaul_workspace::LockTimeout;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::redaction::{Redaction, redact_lines, redact_text};
use crate::source::{DocumentSource, Source, SourceState};
use crate::writer::IndexWriter;

/// The text of a block, in bytes; a longer line makes a longer block, up to the limit.
const BLOCK: usize = 1024 * 1024;
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The first bytes of a file by which it is known again.
const PREFIX: u64 = 4096;

/// The age after which a last line without an end is taken for whole, in nanoseconds.
const SETTLED: i64 = 600 * 1_000_000_000;

/// The copied bytes after which the new sessions are indexed: the newest can be found before the oldest are copied.
const INDEX_AFTER: u64 = 64 * 1024 * 1024;

/// The longest document.
const LONGEST_DOCUMENT: usize = 4 * LONGEST_LINE;

/// The options of a sync.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// The redaction of copies.
    pub redaction: Redaction,
    /// The time.
    pub now: Timestamp,
    /// The time that another sync is waited for.
    pub timeout: LockTimeout,
    /// Reads a session of a database.
    pub read_document: fn(&Source) -> io::Result<Vec<u8>>,
    /// The databases of which all sessions are among the sources: what is missing is gone.
    pub databases: Vec<PathBuf>,
}

impl Default for SyncOptions {
    fn default() -> Self {
        Self {
            redaction: Redaction::On,
            now: Timestamp::from_millis(0),
            timeout: LockTimeout::default(),
            read_document: |_| Err(io::ErrorKind::Unsupported.into()),
            databases: Vec::new(),
        }
    }
}

/// A source that was not copied.
#[derive(Debug)]
pub struct SkippedSource {
    /// Its file.
    pub path: PathBuf,
    /// The cause.
    pub cause: io::Error,
}

/// What a sync has done.
#[derive(Debug, Default)]
pub struct SyncReport {
    /// The sources that were looked at.
    pub sources: usize,
    /// Those with something new.
    pub copied: usize,
    /// The new bytes.
    pub bytes: u64,
    /// The sessions that were indexed.
    pub indexed: usize,
    /// The secrets that were taken out, by kind.
    pub redacted: BTreeMap<&'static str, u64>,
    /// The sources that could not be read.
    pub skipped: Vec<SkippedSource>,
    /// Where a damaged index was set aside.
    pub damaged: Option<PathBuf>,
}

/// The place where a source is read.
enum Origin<'a> {
    File(Metadata),
    Document(&'a DocumentSource),
}

/// A failure to copy one source: of the source, which is skipped, or of the archive.
enum CopyFailure {
    Source(io::Error),
    Archive(ArchiveError),
}

impl From<ArchiveError> for CopyFailure {
    fn from(error: ArchiveError) -> Self {
        Self::Archive(error)
    }
}

impl Archive {
    /// Copies what is new of each source, and indexes it.
    ///
    /// # Errors
    /// Another sync does not end in time, the disk is full, or the archive cannot be written. What was copied is safe.
    pub fn sync(&mut self, sources: &[Source], options: &SyncOptions) -> Result<SyncReport, ArchiveError> {
        let _lock = self.lock("archive sync", options.timeout)?;
        self.log.refresh()?;
        let mut report = SyncReport { sources: sources.len(), ..SyncReport::default() };
        let result = self.sync_all(sources, options, &mut report);
        report.damaged = self.damaged.take();
        match result {
            Err(error) if error.is_full() => {
                Err(ArchiveError::DiskFull { sources: report.copied, bytes: report.bytes })
            }
            Err(error) if error.is_corrupt_index() => {
                report.damaged = Some(self.index.replace_damaged()?);
                report.indexed += self.index_pending()?;
                Ok(report)
            }
            Err(error) => Err(error),
            Ok(()) => Ok(report),
        }
    }

    fn sync_all(
        &mut self,
        sources: &[Source],
        options: &SyncOptions,
        report: &mut SyncReport,
    ) -> Result<(), ArchiveError> {
        let known: HashMap<PathBuf, u64> =
            self.log.sessions().map(|session| (session.source.path.clone(), session.id)).collect();
        self.note_gone(sources, options)?;
        let mut changed: Vec<(i64, &Source, Origin<'_>)> = Vec::new();
        for source in sources {
            if let Some(document) = &source.document {
                let session = known.get(&source.path).and_then(|id| self.log.session(*id));
                let is_known = session.is_some_and(|session| {
                    session.state.version == Some(document.version) && !session.state.is_gone
                });
                if !is_known {
                    let changed_at = document.changed.saturating_mul(1_000_000);
                    changed.push((changed_at, source, Origin::Document(document)));
                }
                continue;
            }
            match std::fs::metadata(&source.path) {
                Ok(metadata) if metadata.is_file() => {
                    let state = known
                        .get(&source.path)
                        .and_then(|id| self.log.session(*id))
                        .map(|session| &session.state);
                    let now = options.now.as_millis() * 1_000_000;
                    if state.is_none_or(|state| is_changed(state, &metadata, now)) {
                        changed.push((changed_at(&metadata), source, Origin::File(metadata)));
                    }
                }
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => report.skipped.push(SkippedSource { path: source.path.clone(), cause }),
            }
        }
        changed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        let mut unindexed = 0;
        let mut unreadable: HashSet<&PathBuf> = HashSet::new();
        for (_, source, origin) in changed {
            let before = report.bytes;
            let known = known.get(&source.path).copied();
            let copied = match origin {
                Origin::File(metadata) => self.copy(source, &metadata, known, options, report),
                // Each session would wait for the same lock.
                Origin::Document(document) if unreadable.contains(&document.database) => continue,
                Origin::Document(document) => self.copy_document(source, document, known, options, report),
            };
            match copied {
                Ok(()) => report.copied += usize::from(report.bytes > before),
                Err(CopyFailure::Source(cause)) => {
                    let mut path = source.path.clone();
                    if let Some(document) = &source.document
                        && cause.kind() == io::ErrorKind::WouldBlock
                    {
                        unreadable.insert(&document.database);
                        path.clone_from(&document.database);
                    }
                    report.skipped.push(SkippedSource { path, cause });
                }
                Err(CopyFailure::Archive(error)) => return Err(error),
            }
            unindexed += report.bytes - before;
            if unindexed >= INDEX_AFTER {
                unindexed = 0;
                report.indexed += self.index_pending()?;
            }
        }
        if std::mem::take(&mut self.has_unused) {
            self.remove_unused()?;
        }
        report.indexed += self.index_pending()?;
        Ok(())
    }

    /// Notes the sessions that their databases no longer have.
    fn note_gone(&mut self, sources: &[Source], options: &SyncOptions) -> Result<(), ArchiveError> {
        if options.databases.is_empty() {
            return Ok(());
        }
        let present: HashSet<&PathBuf> = sources.iter().map(|source| &source.path).collect();
        let is_gone = |session: &&crate::ArchivedSession| {
            let of_known = |document: &DocumentSource| options.databases.contains(&document.database);
            session.source.document.as_ref().is_some_and(of_known)
                && !session.state.is_gone
                && !present.contains(&session.source.path)
        };
        let gone: Vec<u64> = self.log.sessions().filter(is_gone).map(|session| session.id).collect();
        if gone.is_empty() { Ok(()) } else { self.log.gone(&gone) }
    }

    /// Copies a session of a database: the whole document, in the place of the older copy.
    fn copy_document(
        &mut self,
        source: &Source,
        document: &DocumentSource,
        known: Option<u64>,
        options: &SyncOptions,
        report: &mut SyncReport,
    ) -> Result<(), CopyFailure> {
        let read = (options.read_document)(source).map_err(CopyFailure::Source)?;
        if read.len() > LONGEST_DOCUMENT {
            return Err(CopyFailure::Source(io::ErrorKind::FileTooLarge.into()));
        }
        let mut redacted = BTreeMap::new();
        let text = match options.redaction {
            Redaction::Off => read,
            Redaction::On => redact_text(&read, &mut redacted),
        };
        let state = SourceState {
            size: text.len() as u64,
            offset: text.len() as u64,
            changed: document.changed.saturating_mul(1_000_000),
            version: Some(document.version),
            ..SourceState::default()
        };
        let now = options.now.as_millis();
        let old = known.and_then(|id| self.log.session(id)).cloned();
        if let Some(old) = &old
            && let [block] = &old.blocks[..]
            && block.hash == blake3::hash(&text).to_hex().as_str()
        {
            // Only its version is another one.
            return Ok(self.log.copied(old.id, Vec::new(), state, now, false)?);
        }
        let block = self.blocks.write(&text)?;
        let id = match &old {
            Some(old) => {
                self.unindex(old)?;
                old.id
            }
            None => self.log.begin(source)?,
        };
        self.log.copied(id, vec![block], state, now, true)?;
        report.bytes += text.len() as u64;
        redacted.into_iter().for_each(|(kind, count)| *report.redacted.entry(kind).or_default() += count);
        Ok(())
    }

    /// Takes a session out of the index, as its copy is about to be replaced.
    fn unindex(&mut self, session: &crate::ArchivedSession) -> Result<(), ArchiveError> {
        self.has_unused = true;
        let text = crate::blocks::BlockReader::new(&self.blocks, &session.blocks);
        let mut writer = IndexWriter::begin(&mut self.index)?;
        writer.remove(session.id as i64, text)?;
        writer.commit()
    }

    fn copy(
        &mut self,
        source: &Source,
        metadata: &Metadata,
        known: Option<u64>,
        options: &SyncOptions,
        report: &mut SyncReport,
    ) -> Result<(), CopyFailure> {
        let mut file = File::open(&source.path).map_err(CopyFailure::Source)?;
        let grows = source.path.extension().is_some_and(|ending| ending == "jsonl");
        let mut state = SourceState {
            offset: 0,
            prefix: prefix(&mut file, PREFIX).map_err(CopyFailure::Source)?,
            ..state_of(metadata)
        };
        let mut id = known;
        if let Some(session) =
            known.and_then(|id| self.log.session(id)).filter(|session| !session.blocks.is_empty())
        {
            let old = session.state.clone();
            let head = prefix(&mut file, PREFIX.min(old.offset)).map_err(CopyFailure::Source)?;
            let is_same_head = old.offset < PREFIX && head == old.prefix || state.prefix == old.prefix;
            let is_same_file = old.inode == state.inode && old.device == state.device;
            if grows && is_same_file && is_same_head && metadata.len() >= old.offset {
                state.offset = old.offset;
            } else if grows {
                id = Some(self.log.keep_and_begin(session.id)?);
            } else {
                // A document that is written as a whole replaces itself.
                let session = session.clone();
                self.unindex(&session)?;
            }
        }
        file.seek(SeekFrom::Start(state.offset)).map_err(CopyFailure::Source)?;
        let is_settled = options.now.as_millis() * 1_000_000 - state.changed > SETTLED;
        let mut reader = BufReader::with_capacity(256 * 1024, file);
        let mut is_first = state.offset == 0;
        loop {
            let chunk = if grows { next_lines(&mut reader, is_settled) } else { whole(&mut reader) };
            let chunk = chunk.map_err(CopyFailure::Source)?;
            if chunk.is_empty() {
                break;
            }
            let text = match (options.redaction, grows) {
                (Redaction::Off, _) => chunk.clone(),
                (Redaction::On, true) => redact_lines(&chunk, &mut report.redacted),
                (Redaction::On, false) => redact_text(&chunk, &mut report.redacted),
            };
            let session = match id {
                Some(id) => id,
                None => *id.insert(self.log.begin(source)?),
            };
            state.offset += chunk.len() as u64;
            if state.offset < PREFIX {
                // The head of a short file is what was copied of it.
                let mut file = File::open(&source.path).map_err(CopyFailure::Source)?;
                state.prefix = prefix(&mut file, state.offset).map_err(CopyFailure::Source)?;
            }
            let block = self.blocks.write(&text)?;
            self.log.copied(session, vec![block], state.clone(), options.now.as_millis(), is_first)?;
            is_first = false;
            report.bytes += chunk.len() as u64;
        }
        Ok(())
    }
}

/// Whole lines, about a block of them; none if there is only a torn one.
fn next_lines(reader: &mut impl BufRead, is_settled: bool) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::new();
    let mut whole = 0;
    while whole < BLOCK {
        let most = (LONGEST_LINE - (chunk.len() - whole)) as u64;
        let count = reader.by_ref().take(most).read_until(b'\n', &mut chunk)?;
        if count == 0 {
            break;
        }
        if chunk.ends_with(b"\n") || chunk.len() - whole >= LONGEST_LINE {
            whole = chunk.len();
        }
    }
    if !is_settled {
        chunk.truncate(whole);
    }
    Ok(chunk)
}

fn whole(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut chunk = Vec::new();
    reader.take(LONGEST_DOCUMENT as u64 + 1).read_to_end(&mut chunk)?;
    if chunk.len() > LONGEST_DOCUMENT { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(chunk) }
}

fn prefix(file: &mut File, length: u64) -> io::Result<String> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(length).read_to_end(&mut head)?;
    Ok(blake3::hash(&head).to_hex().to_string())
}

/// True if a state says that everything in a source is copied.
pub(crate) fn holds_all(state: &SourceState, source: &Source) -> bool {
    match &source.document {
        Some(document) => state.version == Some(document.version),
        None => std::fs::metadata(&source.path)
            .is_ok_and(|metadata| !is_changed(state, &metadata, i64::MIN) && state.offset == metadata.len()),
    }
}

fn is_changed(state: &SourceState, metadata: &Metadata, now: i64) -> bool {
    let found = state_of(metadata);
    let is_same = (found.device, found.inode, found.size, found.changed)
        == (state.device, state.inode, state.size, state.changed);
    // A last line without an end is taken once the file rests.
    !is_same || state.offset < state.size && now.saturating_sub(state.changed) > SETTLED
}

fn changed_at(metadata: &Metadata) -> i64 {
    let since = metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

#[cfg(unix)]
fn state_of(metadata: &Metadata) -> SourceState {
    use std::os::unix::fs::MetadataExt;
    SourceState {
        device: metadata.dev(),
        inode: metadata.ino(),
        size: metadata.len(),
        changed: changed_at(metadata),
        ..SourceState::default()
    }
}

#[cfg(not(unix))]
fn state_of(metadata: &Metadata) -> SourceState {
    SourceState { size: metadata.len(), changed: changed_at(metadata), ..SourceState::default() }
}
