//! An ordered list that is indexed by message id.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::MessageId;

/// A list with one entry for each message. A transcript holds the messages themselves; a fold over a session too large
/// to hold keeps a few figures for each.
#[derive(Clone, Debug)]
pub struct Sequence<T> {
    entries: Vec<T>,
    ids: Vec<MessageId>,
    // An index by id, so that changes to early entries do not search the whole list.
    places: HashTable<IndexSlot>,
    hasher: RandomState,
}

/// The index of an id, with its hash. Nothing else is kept: there may be millions of messages, each in several lists.
#[derive(Clone, Copy, Debug)]
struct IndexSlot {
    at: u32,
    hash: u32,
}

impl IndexSlot {
    /// A hash that also differs in its highest bits, as hash tables require.
    fn spread(self) -> u64 {
        u64::from(self.hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
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
    /// Appends an entry, or replaces the one with its id, which is returned.
    pub fn put(&mut self, id: MessageId, entry: T) -> Option<T> {
        self.put_at(self.entries.len(), id, entry)
    }

    /// Like [`Self::put`], but inserts after the entry with the id `after`, if there is one.
    pub fn put_after(&mut self, after: &MessageId, id: MessageId, entry: T) -> Option<T> {
        let place = self.position(after).map_or(self.entries.len(), |place| place + 1);
        self.put_at(place, id, entry)
    }

    fn put_at(&mut self, at: usize, id: MessageId, entry: T) -> Option<T> {
        let mut place = self.sought(&id);
        if let Some(known) = self.find(place, &id) {
            return Some(std::mem::replace(&mut self.entries[known], entry));
        }
        // From the end, so that no two ever have the same index.
        for later in (at..self.ids.len()).rev() {
            let sought = self.sought(&self.ids[later]);
            let known = self.places.find_mut(sought.spread(), |known| known.at as usize == later);
            known.expect("every id has its place").at += 1;
        }
        self.entries.insert(at, entry);
        self.ids.insert(at, id);
        place.at = u32::try_from(at).expect("a session has fewer messages than that");
        self.places.insert_unique(place.spread(), place, |place| place.spread());
        None
    }

    /// Removes the entry with this id and all after it, in order; an unknown id removes nothing.
    pub fn rewind_to(&mut self, id: &MessageId) -> Vec<T> {
        let Some(first) = self.position(id) else { return Vec::new() };
        for at in first..self.ids.len() {
            let sought = self.sought(&self.ids[at]);
            let known = self.places.find_entry(sought.spread(), |known| known.at as usize == at);
            known.expect("every id has its place").remove();
        }
        self.ids.truncate(first);
        self.entries.split_off(first)
    }

    /// Takes all entries.
    pub fn take_all(&mut self) -> Vec<T> {
        self.ids.clear();
        self.places.clear();
        std::mem::take(&mut self.entries)
    }

    /// The index of the entry with this id.
    pub fn position(&self, id: &MessageId) -> Option<usize> {
        self.find(self.sought(id), id)
    }

    fn find(&self, sought: IndexSlot, id: &MessageId) -> Option<usize> {
        let is_same = |known: &IndexSlot| known.hash == sought.hash && self.ids[known.at as usize] == *id;
        self.places.find(sought.spread(), is_same).map(|known| known.at as usize)
    }

    /// A slot with only the hash set.
    fn sought(&self, id: &MessageId) -> IndexSlot {
        IndexSlot { at: 0, hash: self.hasher.hash_one(id) as u32 }
    }

    /// The entry with this id.
    pub fn get(&self, id: &MessageId) -> Option<&T> {
        Some(&self.entries[self.position(id)?])
    }

    /// The entry with this id, mutable.
    pub fn get_mut(&mut self, id: &MessageId) -> Option<&mut T> {
        let place = self.position(id)?;
        Some(&mut self.entries[place])
    }

    /// The entries in order.
    pub fn as_slice(&self) -> &[T] {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum Step {
        Put(u8),
        PutAfter(u8, u8),
        Rewind(u8),
        TakeAll,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let id = || 0..12u8;
        let step = prop_oneof![
            6 => id().prop_map(Step::Put),
            3 => (id(), id()).prop_map(|(after, id)| Step::PutAfter(after, id)),
            1 => id().prop_map(Step::Rewind),
            1 => Just(Step::TakeAll),
        ];
        prop::collection::vec(step, 0..60)
    }

    fn id(number: u8) -> MessageId {
        MessageId::new(format!("m{number}"))
    }

    /// Puts an entry into a plain list.
    fn put(list: &mut Vec<(u8, usize)>, place: usize, id: u8, entry: usize) -> Option<usize> {
        match list.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => Some(std::mem::replace(known, entry)),
            None => {
                list.insert(place, (id, entry));
                None
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_a_list_in_which_ids_are_found(steps in steps()) {
            let (mut sequence, mut list) = (Sequence::default(), Vec::new());
            for (entry, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Put(one) => {
                        let end = list.len();
                        prop_assert_eq!(sequence.put(id(one), entry), put(&mut list, end, one, entry));
                    }
                    Step::PutAfter(after, one) => {
                        let behind = list.iter().position(|(known, _)| *known == after).map(|place| place + 1);
                        let place = behind.unwrap_or(list.len());
                        let replaced = put(&mut list, place, one, entry);
                        prop_assert_eq!(sequence.put_after(&id(after), id(one), entry), replaced);
                    }
                    Step::Rewind(one) => {
                        let place = list.iter().position(|(known, _)| *known == one).unwrap_or(list.len());
                        let taken: Vec<usize> = list.drain(place..).map(|(_, entry)| entry).collect();
                        prop_assert_eq!(sequence.rewind_to(&id(one)), taken);
                    }
                    Step::TakeAll => {
                        let taken: Vec<usize> = list.drain(..).map(|(_, entry)| entry).collect();
                        prop_assert_eq!(sequence.take_all(), taken);
                    }
                }
                let entries: Vec<usize> = list.iter().map(|(_, entry)| *entry).collect();
                prop_assert_eq!(sequence.as_slice(), entries);
                for number in 0..12 {
                    let place = list.iter().position(|(known, _)| *known == number);
                    prop_assert_eq!(sequence.position(&id(number)), place);
                }
            }
        }
    }
}
