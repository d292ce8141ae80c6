//! Recall over session files: scanned once to rank, then read again where the best hits are.

use std::borrow::Cow;
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use longhaul_archive::{Archive, DocumentSource, Question, Source};
use longhaul_conversation::{Message, Timestamp};
use longhaul_formats::{Event, SeenParts, read};
use longhaul_recall::{
    FoundPassage, Hit, PassageFinder, RankedPassage, Search, SearchFilter, SessionRef, pick_hits,
};
use longhaul_stores::{FoundSession, split_session_path};

use crate::failure::hinted;

/// A session file to search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallSource {
    /// The name by which the session is found again.
    pub session: String,
    /// Its file.
    pub path: PathBuf,
    /// A number that changes with it, if it lies in a database.
    pub version: Option<u64>,
}

impl RecallSource {
    /// The files of a session and of its sub-agents.
    pub fn all_of(session: &FoundSession) -> Vec<Self> {
        let (id, version) = (&session.head.id, session.head.version);
        let child = |path: &PathBuf| {
            let agent = path.file_stem().unwrap_or_default().to_string_lossy();
            Self { session: format!("{id}/{agent}"), path: path.clone(), version }
        };
        let own = Self { session: id.clone(), path: session.path.clone(), version };
        std::iter::once(own).chain(session.children.iter().map(child)).collect()
    }
}

/// A question about what was said.
#[derive(Clone, Debug)]
pub struct RecallRequest<'a> {
    /// The words.
    pub query: &'a str,
    /// The conditions.
    pub filter: SearchFilter,
    /// The most hits.
    pub limit: usize,
    /// The time, which gives *yesterday* a meaning.
    pub now: Timestamp,
    /// The part of a message that is searched; [`whole`] for all of it.
    pub part: fn(&Message) -> Option<Cow<'_, Message>>,
}

/// All of a message.
pub fn whole(message: &Message) -> Option<Cow<'_, Message>> {
    Some(Cow::Borrowed(message))
}

/// What was found.
#[derive(Debug)]
pub struct RecallAnswer {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// The number of messages that were searched.
    pub messages: u64,
    /// The files that could not be read.
    pub unread: Vec<(PathBuf, anyhow::Error)>,
}

impl RecallRequest<'_> {
    /// The search.
    ///
    /// # Errors
    /// There is nothing to look for.
    pub fn search(&self) -> anyhow::Result<Search> {
        let search = Search::asked_at(self.query, self.now);
        if search.is_empty() {
            let query = self.query;
            return Err(hinted(anyhow!("nothing to search for in {query:?}"), "pass a rarer word or a path"));
        }
        Ok(search)
    }
}

/// Searches session files.
///
/// # Errors
/// The query is empty, or no file can be read.
pub fn recall_files(request: &RecallRequest<'_>, sources: &[RecallSource]) -> anyhow::Result<RecallAnswer> {
    let mut search = request.search()?;
    let mut unread = observe_all(&mut search, sources, request.part);
    if unread.len() == sources.len()
        && let Some((path, error)) = unread.pop()
    {
        return Err(error.context(format!("could not read {}", path.display())));
    }
    let ranked = search.ranking(&request.filter);
    let hits =
        pick_hits(search.query(), &ranked, request.limit, &mut |wanted| fetch(wanted, sources, request.part));
    Ok(RecallAnswer { hits, messages: search.observed(), unread })
}

/// Searches session files: those that the archive has as they are now through its index, the others by reading them. Hits and
/// order are those of [`recall_files`], but for secrets, which the archive does not have.
///
/// # Errors
/// The query is empty, or no file can be read.
pub fn recall_with(
    archive: &mut Archive,
    request: &RecallRequest<'_>,
    sources: &[RecallSource],
) -> anyhow::Result<RecallAnswer> {
    let looked_up: Vec<Source> = sources.iter().map(archived_source).collect();
    let current = archive.current(&looked_up).context("could not read the archive")?;
    let (mut indexed, mut scanned): (Vec<(u64, String)>, Vec<RecallSource>) = (Vec::new(), Vec::new());
    for (source, id) in sources.iter().zip(current) {
        match id {
            Some(id) => indexed.push((id, source.session.clone())),
            None => scanned.push(source.clone()),
        }
    }
    if indexed.is_empty() {
        return recall_files(request, sources);
    }
    let mut search = request.search()?;
    let unread = observe_all(&mut search, &scanned, whole);
    let question = Question { filter: request.filter.clone(), ..Question::new(request.query, request.now) };
    let ranked =
        archive.ranking_of(&question, &indexed, Some(&search)).context("could not search the archive")?;
    let hits = pick_hits(search.query(), &ranked, request.limit, &mut |wanted| {
        let copies = archive.fetch_of(wanted, &indexed);
        let read = fetch(wanted, &scanned, whole);
        copies.into_iter().zip(read).map(|(copy, read)| copy.or(read)).collect()
    });
    let messages = archive.messages_of(&indexed).context("could not read the archive")? + search.observed();
    Ok(RecallAnswer { hits, messages, unread })
}

/// The name by which the archive knows a session file.
fn archived_source(source: &RecallSource) -> Source {
    let document = source.version.and_then(|version| {
        let (database, _) = split_session_path(&source.path)?;
        Some(DocumentSource { database, version, changed: 0 })
    });
    let (agent, session) = (String::new(), source.session.clone());
    Source { agent, session, project: None, path: source.path.clone(), document }
}

/// Searches files; those that could not be read.
fn observe_all(
    search: &mut Search,
    sources: &[RecallSource],
    part: fn(&Message) -> Option<Cow<'_, Message>>,
) -> Vec<(PathBuf, anyhow::Error)> {
    let mut unread = Vec::new();
    for source in sources {
        let observed = each_message(source, &mut |session, message| {
            if let Some(message) = part(message) {
                search.observe(session, &message);
            }
        });
        if let Err(error) = observed {
            unread.push((source.path.clone(), error));
        }
    }
    unread
}

/// Reads the sessions of the passages again.
fn fetch(
    wanted: &[RankedPassage],
    sources: &[RecallSource],
    part: fn(&Message) -> Option<Cow<'_, Message>>,
) -> Vec<Option<FoundPassage>> {
    let mut finders: Vec<(SessionRef, PassageFinder)> = Vec::new();
    for passage in wanted {
        if finders.iter().all(|(session, _)| *session != passage.session) {
            let finder = PassageFinder::new(wanted, &passage.session);
            finders.push((passage.session.clone(), finder));
        }
    }
    let is_of = |source: &RecallSource, session: &SessionRef| {
        let rest = session.as_str().strip_prefix(source.session.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for source in sources {
        if finders.iter().all(|(session, _)| !is_of(source, session)) {
            continue;
        }
        // What could be read a moment ago and cannot be any more is left out of the hits.
        let _ = each_message(source, &mut |session, message| {
            let finder = finders.iter_mut().find(|(wanted, finder)| wanted == session && !finder.is_done());
            if let Some((_, finder)) = finder
                && let Some(message) = part(message)
            {
                finder.observe(&message);
            }
        });
    }
    let mut found = |passage: &RankedPassage| {
        let (_, finder) = finders.iter_mut().find(|(session, _)| *session == passage.session)?;
        finder.found.remove(&passage.sequence)
    };
    wanted.iter().map(&mut found).collect()
}

/// Passes everything that was ever said in a session to `take`, each thing once, sub-agents under names of their own.
fn each_message(source: &RecallSource, take: &mut dyn FnMut(&SessionRef, &Message)) -> anyhow::Result<()> {
    let mut seen = SeenParts::default();
    let session = SessionRef::new(source.session.as_str());
    let file = crate::sessions::open(&source.path)?;
    read(file, &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                take(&session, &message);
            }
        }
        Event::Side { chain, message } => {
            take(&SessionRef::new(format!("{}/{chain}", source.session)), &message);
        }
        Event::Warning(_) | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })?;
    Ok(())
}
