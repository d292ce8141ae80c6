//! Things in order that can be found, replaced and taken back by the id of their message.

use std::collections::HashMap;

use crate::MessageId;

/// A list with an entry for each message. A transcript keeps the messages themselves in it; a fold over a session too
/// large to hold keeps a few figures of each.
#[derive(Clone, Debug)]
pub struct Sequence<T> {
    entries: Vec<T>,
    ids: Vec<MessageId>,
    // Where each id stands, so that changes to early entries do not search the whole list.
    places: HashMap<MessageId, usize>,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), ids: Vec::new(), places: HashMap::new() }
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
        self.ids.insert(place, id);
        for (place, id) in self.ids.iter().enumerate().skip(place) {
            self.places.insert(id.clone(), place);
        }
        None
    }

    /// Takes back the entry with this id and all behind it, in order; an unknown id takes back nothing.
    pub fn rewind_to(&mut self, id: &MessageId) -> Vec<T> {
        let Some(place) = self.position(id) else { return Vec::new() };
        for id in self.ids.drain(place..) {
            self.places.remove(&id);
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
        self.places.get(id).copied()
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
