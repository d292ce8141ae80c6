//! Copies what is new, newest first. It may be killed at any moment: each block is on disk before the log names it.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use longhaul_conversation::Timestamp;
use longhaul_workspace::LockTimeout;

use crate::archive::Archive;
use crate::error::ArchiveError;
use crate::redaction::{Redaction, redact_lines, redact_text};
use crate::source::{Source, SourceState};

/// The text of a block, in bytes; a longer line makes a longer block, up to the limit.
const BLOCK: usize = 1024 * 1024;
const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The first bytes of a file by which it is known again.
const PREFIX: u64 = 4096;

/// The age after which a last line without an end is taken for whole, in nanoseconds.
const SETTLED: i64 = 600 * 1_000_000_000;

/// The copied bytes after which the new sessions are indexed: the newest can be found before the oldest are copied.
const INDEX_AFTER: u64 = 64 * 1024 * 1024;

/// The options of a sync.
#[derive(Clone, Debug)]
pub struct SyncOptions {
    /// The redaction of copies.
    pub redaction: Redaction,
    /// The time.
    pub now: Timestamp,
    /// The time that another sync is waited for.
    pub timeout: LockTimeout,
}

impl Default for SyncOptions {
    fn default() -> Self {
        Self { redaction: Redaction::On, now: Timestamp::from_millis(0), timeout: LockTimeout::default() }
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
        let mut changed: Vec<(i64, &Source, Metadata)> = Vec::new();
        for source in sources {
            match std::fs::metadata(&source.path) {
                Ok(metadata) if metadata.is_file() => {
                    let state = known
                        .get(&source.path)
                        .and_then(|id| self.log.session(*id))
                        .map(|session| &session.state);
                    let now = options.now.as_millis() * 1_000_000;
                    if state.is_none_or(|state| is_changed(state, &metadata, now)) {
                        changed.push((changed_at(&metadata), source, metadata));
                    }
                }
                Ok(_) => {}
                Err(cause) if cause.kind() == io::ErrorKind::NotFound => {}
                Err(cause) => report.skipped.push(SkippedSource { path: source.path.clone(), cause }),
            }
        }
        changed.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.path.cmp(&b.1.path)));
        let mut unindexed = 0;
        for (_, source, metadata) in changed {
            let before = report.bytes;
            match self.copy(source, &metadata, known.get(&source.path).copied(), options, report) {
                Ok(()) => report.copied += usize::from(report.bytes > before),
                Err(CopyFailure::Source(cause)) => {
                    report.skipped.push(SkippedSource { path: source.path.clone(), cause });
                }
                Err(CopyFailure::Archive(error)) => return Err(error),
            }
            unindexed += report.bytes - before;
            if unindexed >= INDEX_AFTER {
                unindexed = 0;
                report.indexed += self.index_pending()?;
            }
        }
        report.indexed += self.index_pending()?;
        Ok(())
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
                let mut writer = self.index.writer()?;
                writer.remove(&session, crate::blocks::BlockReader::new(&self.blocks, &session.blocks))?;
                writer.commit()?;
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
            self.log.copied(session, block, state.clone(), options.now.as_millis(), is_first)?;
            is_first = false;
            report.bytes += chunk.len() as u64;
        }
        if !grows && !is_first {
            self.remove_unused()?;
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
    reader.take(LONGEST_LINE as u64 * 4).read_to_end(&mut chunk)?;
    Ok(chunk)
}

fn prefix(file: &mut File, length: u64) -> io::Result<String> {
    let mut head = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    file.take(length).read_to_end(&mut head)?;
    Ok(blake3::hash(&head).to_hex().to_string())
}

fn is_changed(state: &SourceState, metadata: &Metadata, now: i64) -> bool {
    let found = state_of(metadata);
    let is_same = (found.device, found.inode, found.size, found.changed)
        == (state.device, state.inode, state.size, state.changed);
    // A last line without an end is taken once the file rests.
    !is_same || state.offset < state.size && now - state.changed > SETTLED
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
