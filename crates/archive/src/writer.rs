//! Writes sessions into an index, and takes them out.

use std::collections::HashMap;
use std::io::Read;

use longhaul_conversation::Message;
use longhaul_formats::{Event, SeenParts, read};
use longhaul_recall::{Passage, PassageReader, Tokenizer};

use crate::error::ArchiveError;
use crate::store::{Access, Extent, NewPassage, SEQUENCE_BITS, Store, StoredChain};

/// The most different tokens that are counted before their counts are written.
const MAX_COUNTS: usize = 300_000;

/// A source to be indexed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IndexedSource<'a> {
    pub(crate) id: i64,
    pub(crate) project: Option<&'a str>,
    /// The number of its blocks.
    pub(crate) blocks: usize,
}

/// Writes to an index in one transaction.
pub(crate) struct IndexWriter<'a> {
    store: &'a mut dyn Store,
    tokenizer: Tokenizer,
    counts: HashMap<String, i64>,
    passages: i64,
    bytes: i64,
    is_done: bool,
}

/// A chain of messages of a source: the session itself, or a sub-agent of it.
struct Chain {
    reader: PassageReader,
    id: i64,
    /// The passages that are in the index.
    known: u32,
    extent: Extent,
    /// The messages that were read now.
    messages: u32,
}

impl<'a> IndexWriter<'a> {
    /// Begins to write.
    pub(crate) fn begin(store: &'a mut dyn Store) -> Result<Self, ArchiveError> {
        store.begin(Access::Write)?;
        Ok(Self::within(store))
    }

    /// Writes in a transaction that the caller has begun.
    pub(crate) fn within(store: &'a mut dyn Store) -> Self {
        Self {
            store,
            tokenizer: Tokenizer::default(),
            counts: HashMap::new(),
            passages: 0,
            bytes: 0,
            is_done: false,
        }
    }

    /// Adds what is new of a session. What cannot be read as a session is only kept as a copy.
    pub(crate) fn add(&mut self, source: IndexedSource<'_>, text: impl Read) -> Result<(), ArchiveError> {
        let known = self.store.chains_of(source.id)?;
        let mut chains: HashMap<String, Chain> = HashMap::new();
        for chain in known {
            let StoredChain { id, passages, bytes, messages, .. } = chain;
            let extent = Extent { passages, bytes, messages };
            let new = Chain { reader: PassageReader::default(), id, known: passages, extent, messages: 0 };
            chains.insert(chain.name, new);
        }
        let mut failed = None;
        let read = each_message(text, &mut |chain, message| {
            if failed.is_none()
                && let Err(error) = self.add_message(source, &mut chains, chain, message)
            {
                failed = Some(error);
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        for chain in chains.values_mut().filter(|chain| chain.messages > chain.extent.messages) {
            chain.extent.messages = chain.messages;
            self.store.set_extent(chain.id, chain.extent)?;
        }
        if let Ok(info) = &read {
            self.store.describe(source.id, info.title.as_deref(), info.directory.as_deref())?;
        }
        self.store.set_indexed(source.id, source.blocks)
    }

    fn add_message(
        &mut self,
        source: IndexedSource<'_>,
        chains: &mut HashMap<String, Chain>,
        name: &str,
        message: &Message,
    ) -> Result<(), ArchiveError> {
        if !chains.contains_key(name) {
            let id = self.store.add_chain(source.id, name, source.project)?;
            let (reader, extent) = (PassageReader::default(), Extent::default());
            let chain = Chain { reader, id, known: 0, extent, messages: 0 };
            chains.insert(name.to_owned(), chain);
        }
        let Some(chain) = chains.get_mut(name) else { return Ok(()) };
        let Chain { reader, id, known, extent, messages } = chain;
        *messages += 1;
        let mut failed = None;
        reader.read(message, &mut |passage| {
            if passage.sequence >= 1 << SEQUENCE_BITS || passage.sequence < *known || failed.is_some() {
                return;
            }
            extent.passages = passage.sequence + 1;
            extent.bytes += passage.range.len() as u64;
            failed = self.add_passage(*id, message, passage).err();
        });
        if self.counts.len() >= MAX_COUNTS {
            self.write_counts()?;
        }
        failed.map_or(Ok(()), Err)
    }

    fn add_passage(
        &mut self,
        chain: i64,
        message: &Message,
        passage: &Passage<'_>,
    ) -> Result<(), ArchiveError> {
        let tokens = self.tokenizer.distinct(passage.text());
        self.store.add_passage(&NewPassage {
            id: (chain << SEQUENCE_BITS) | i64::from(passage.sequence),
            kind: passage.kind,
            at: message.at,
            length: u32::try_from(passage.range.len()).unwrap_or(u32::MAX),
            is_question: passage.is_question,
            answers: passage.answers,
            number: message.ordinal.map(|number| number.0),
            tokens: &tokens,
        })?;
        self.count(tokens, passage.range.len() as i64, 1);
        Ok(())
    }

    fn count(&mut self, tokens: Vec<String>, length: i64, sign: i64) {
        self.passages += sign;
        self.bytes += sign * length;
        for token in tokens {
            *self.counts.entry(token).or_default() += sign;
        }
    }

    /// Takes a session out; its text must still be there.
    pub(crate) fn remove(&mut self, source: i64, text: impl Read) -> Result<(), ArchiveError> {
        let known: HashMap<String, u32> =
            self.store.chains_of(source)?.into_iter().map(|chain| (chain.name, chain.passages)).collect();
        let mut readers: HashMap<String, PassageReader> = HashMap::new();
        let _ = each_message(text, &mut |chain, message| {
            let Some(count) = known.get(chain) else { return };
            readers.entry(chain.to_owned()).or_default().read(message, &mut |passage| {
                if passage.sequence < *count {
                    let tokens = self.tokenizer.distinct(passage.text());
                    self.count(tokens, passage.range.len() as i64, -1);
                }
            });
        });
        self.store.remove_chains(source)
    }

    fn write_counts(&mut self) -> Result<(), ArchiveError> {
        let mut counts: Vec<(String, i64)> = self.counts.drain().filter(|(_, count)| *count != 0).collect();
        // In the order of the table, so that its pages are written one after the other.
        counts.sort_unstable();
        let (passages, bytes) = (std::mem::take(&mut self.passages), std::mem::take(&mut self.bytes));
        self.store.add_counts(&counts, passages, bytes)
    }

    /// Writes everything and leaves the transaction to the caller.
    #[cfg(feature = "postgres")]
    pub(crate) fn finish(mut self) -> Result<(), ArchiveError> {
        self.is_done = true;
        self.write_counts()
    }

    /// Ends the transaction.
    pub(crate) fn commit(mut self) -> Result<(), ArchiveError> {
        self.write_counts()?;
        self.store.commit()?;
        self.is_done = true;
        Ok(())
    }
}

impl Drop for IndexWriter<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            // Nothing was written that the next sync would miss.
            self.store.roll_back();
        }
    }
}

/// Passes everything that was said to `take`, each thing once, with the sub-agent's name or none.
pub(crate) fn each_message(
    text: impl Read,
    take: &mut dyn FnMut(&str, &Message),
) -> Result<longhaul_formats::SessionInfo, longhaul_formats::ReadError> {
    let mut seen = SeenParts::default();
    read(text, &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                take("", &message);
            }
        }
        Event::Side { chain, message } => take(&chain, &message),
        Event::Warning(_) | Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })
}
