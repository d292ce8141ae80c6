//! Conversations in memory: which one a request continues, told by its hash chain.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::anchor::Anchor;
use crate::chain::ChainHash;
use crate::plan::Occasion;
use crate::store::TrunkRecord;

/// A conversation.
#[derive(Debug, Default)]
pub(crate) struct Trunk {
    pub(crate) record: TrunkRecord,
    /// The number of messages of its newest request.
    pub(crate) length: usize,
    /// An anchor that was made in the background and is not in force.
    pub(crate) prepared: Option<PreparedAnchor>,
    /// The requests that were compacted last, by their number.
    pub(crate) compactions: VecDeque<u64>,
    /// Requests that are expected to follow.
    pub(crate) further_requests: Option<f64>,
}

/// An anchor that is ready to be put in force.
#[derive(Clone, Debug)]
pub(crate) struct PreparedAnchor {
    pub(crate) anchor: Anchor,
    pub(crate) occasion: Occasion,
}

/// A conversation that several threads know.
pub(crate) type SharedTrunk = Arc<Mutex<Trunk>>;

/// A conversation whose provider refused our part so often is passed as it is.
pub(crate) const MOST_REFUSALS: u32 = 2;

/// More compactions in so many requests stop them: something else is wrong.
const MOST_COMPACTIONS: usize = 3;
const BREAKER_REQUESTS: u64 = 10;

impl Trunk {
    /// True if it is passed as it is.
    pub(crate) fn is_bypassed(&self) -> bool {
        self.record.refusals >= MOST_REFUSALS
    }

    /// True if it was compacted too often of late.
    pub(crate) fn is_breaker_open(&self) -> bool {
        let since = self.record.requests.saturating_sub(BREAKER_REQUESTS);
        self.compactions.iter().filter(|request| **request >= since).count() >= MOST_COMPACTIONS
    }

    /// Notes that its newest request was compacted.
    pub(crate) fn note_compaction(&mut self) {
        self.compactions.push_back(self.record.requests);
        if self.compactions.len() > MOST_COMPACTIONS {
            self.compactions.pop_front();
        }
        self.prepared = None;
    }

    /// Tokens of a byte, as the provider counted them last.
    pub(crate) fn rate(&self) -> f64 {
        /// Of JSON with escapes and code, where nothing was counted yet.
        const USUAL: f64 = 0.28;
        match self.record.sent {
            Some((bytes, tokens)) if bytes > 2_000 => (tokens as f64 / bytes as f64).clamp(0.1, 0.6),
            _ => USUAL,
        }
    }
}

/// Locks what no panic can leave half done.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Conversations by the positions that their requests ended at.
#[derive(Debug, Default)]
pub(crate) struct Trunks {
    positions: HashMap<ChainHash, SharedTrunk>,
    /// In the order of arrival.
    order: VecDeque<ChainHash>,
}

/// So many positions are remembered.
const MOST_POSITIONS: usize = 4_096;

impl Trunks {
    /// The conversation that goes on at the deepest known position, and the number of messages up to it.
    pub(crate) fn find(&self, chain: &[ChainHash]) -> Option<(usize, SharedTrunk)> {
        let known =
            |(place, hash): (usize, &ChainHash)| Some((place + 1, Arc::clone(self.positions.get(hash)?)));
        chain.iter().enumerate().rev().find_map(known)
    }

    /// Remembers that a conversation stands at a position.
    pub(crate) fn put(&mut self, position: ChainHash, trunk: &SharedTrunk) {
        if self.positions.insert(position, Arc::clone(trunk)).is_none() {
            self.order.push_back(position);
        }
        while self.order.len() > MOST_POSITIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.positions.remove(&oldest);
            }
        }
    }
}

/// The conversation that a request continues, where the newest known position is known: itself, or a fork of it.
pub(crate) fn continued(found: &SharedTrunk, known: usize) -> SharedTrunk {
    let trunk = locked(found);
    if trunk.length <= known {
        return Arc::clone(found);
    }
    // The conversation has moved on from there: this is another one that shares its beginning.
    let record = TrunkRecord { sent: trunk.record.sent, last: trunk.record.last, ..TrunkRecord::default() };
    Arc::new(Mutex::new(Trunk { record, further_requests: trunk.further_requests, ..Trunk::default() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chain(numbers: &[u8]) -> Vec<ChainHash> {
        numbers.iter().map(|number| ChainHash([*number; 16])).collect()
    }

    #[test]
    fn the_deepest_position_tells_the_conversation() {
        let mut trunks = Trunks::default();
        let trunk: SharedTrunk = Arc::default();
        let whole = chain(&[1, 2, 3, 4, 5]);
        trunks.put(whole[0], &trunk);
        trunks.put(whole[2], &trunk);
        let (known, found) = trunks.find(&whole).expect("known");
        assert!(known == 3 && Arc::ptr_eq(&found, &trunk));
        assert!(trunks.find(&chain(&[9, 8])).is_none());
    }

    #[test]
    fn a_fork_is_a_conversation_of_its_own() {
        let trunk: SharedTrunk = Arc::default();
        locked(&trunk).length = 5;
        locked(&trunk).record.id = 7;
        assert!(Arc::ptr_eq(&continued(&trunk, 5), &trunk));
        let fork = continued(&trunk, 3);
        assert!(!Arc::ptr_eq(&fork, &trunk));
        assert_eq!(locked(&fork).record.id, 0);
    }

    #[test]
    fn too_many_compactions_stop() {
        let mut trunk = Trunk::default();
        for request in [10, 12, 14] {
            assert!(!trunk.is_breaker_open());
            trunk.record.requests = request;
            trunk.note_compaction();
        }
        assert!(trunk.is_breaker_open());
        trunk.record.requests = 21;
        assert!(!trunk.is_breaker_open());
    }
}
