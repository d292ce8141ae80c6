//! Things in order that can be found, replaced and taken back by the id of their message.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::MessageId;

/// A list with an entry for each message. A transcript keeps the messages themselves in it; a fold over a session too
/// large to hold keeps a few figures of each.
#[derive(Clone, Debug)]
pub struct Sequence<T> {
    entries: Vec<T>,
    ids: Vec<MessageId>,
    // Where each id stands, so that changes to early entries do not search the whole list. Only places are kept: there
    // may be millions of messages, each in several lists.
    places: HashTable<u32>,
    hasher: RandomState,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            ids: Vec::new(),
            places: HashTable::new(),
            hasher: RandomState::default(),
        }
    }
}

impl<T> Sequence<T> {
    /// Puts an entry behind the last one, or in the place of the one with its id, which is returned.
    pub fn put(&mut self, id: MessageId, entry: T) -> Option<T> {
        self.put_at(self.entries.len(), id, entry)
    }

    /// As [`Self::put`], but behind the entry with the id `after`, where there is one.
    pub fn put_after(&mut self, after: &MessageId, id: MessageId, entry: T) -> Option<T> {
        let place = self.position(after).map_or(self.entries.len(), |place| place + 1);
        self.put_at(place, id, entry)
    }

    fn put_at(&mut self, place: usize, id: MessageId, entry: T) -> Option<T> {
        if let Some(known) = self.position(&id) {
            return Some(std::mem::replace(&mut self.entries[known], entry));
        }
        self.entries.insert(place, entry);
        let Self { ids, places, hasher, .. } = self;
        // From the end, so that no two ever stand at the same place.
        for (at, id) in ids.iter().enumerate().skip(place).rev() {
            let known = places.find_mut(hasher.hash_one(id), |known| *known as usize == at);
            *known.expect("every id has its place") += 1;
        }
        ids.insert(place, id);
        let hash = |place: &u32| hasher.hash_one(&ids[*place as usize]);
        let place = u32::try_from(place).expect("a session has fewer messages than that");
        places.insert_unique(hash(&place), place, hash);
        None
    }

    /// Takes back the entry with this id and all behind it, in order; an unknown id takes back nothing.
    pub fn rewind_to(&mut self, id: &MessageId) -> Vec<T> {
        let Some(place) = self.position(id) else { return Vec::new() };
        for (at, id) in self.ids.drain(place..).enumerate() {
            let hash = self.hasher.hash_one(&id);
            let entry = self.places.find_entry(hash, |known| *known as usize == place + at);
            entry.expect("every id has its place").remove();
        }
        self.entries.split_off(place)
    }

    /// Takes out everything.
    pub fn take_all(&mut self) -> Vec<T> {
        self.ids.clear();
        self.places.clear();
        std::mem::take(&mut self.entries)
    }

    /// Where the entry with this id stands.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        let is_same = |place: &u32| self.ids[*place as usize] == *id;
        self.places.find(self.hasher.hash_one(id), is_same).map(|place| *place as usize)
    }

    /// The entry with this id.
    pub fn get(&self, id: &MessageId) -> Option<&T> {
        Some(&self.entries[self.position(id)?])
    }

    /// The entry with this id, to change it.
    pub fn get_mut(&mut self, id: &MessageId) -> Option<&mut T> {
        let place = self.position(id)?;
        Some(&mut self.entries[place])
    }

    /// The entries, in order.
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }
}
