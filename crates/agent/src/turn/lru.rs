//! A cache with a bound: what was used least recently goes first.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// A cache with a bound. Every use of an entry makes it the newest; at the bound the oldest one makes room.
#[derive(Clone, Debug)]
pub(crate) struct Lru<K, V> {
    most: usize,
    entries: HashMap<K, CacheEntry<V>>,
    /// The keys by when they were last used.
    order: BTreeMap<u64, K>,
    uses: u64,
}

#[derive(Clone, Debug)]
struct CacheEntry<V> {
    value: V,
    used: u64,
}

impl<K: Clone + Eq + Hash, V> Lru<K, V> {
    /// An empty cache for at most so many entries.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// The value of a key, which is then the newest.
    pub(crate) fn get<Q>(&mut self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        let entry = self.entries.get_mut(key)?;
        self.uses += 1;
        if let Some(key) = self.order.remove(&entry.used) {
            self.order.insert(self.uses, key);
        }
        entry.used = self.uses;
        Some(&entry.value)
    }

    /// Keeps a value as the newest, in place of the one that the key had, else of the oldest where there is no room.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.most == 0 {
            return;
        }
        self.uses += 1;
        let entry = CacheEntry { value, used: self.uses };
        match self.entries.insert(key.clone(), entry) {
            Some(old) => {
                self.order.remove(&old.used);
            }
            None if self.entries.len() > self.most => {
                if let Some((_, oldest)) = self.order.pop_first() {
                    self.entries.remove(&oldest);
                }
            }
            None => {}
        }
        self.order.insert(self.uses, key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Inserts `a=1`, asks for `a`, and tells what `abcd` is in the end.
    #[track_caller]
    fn check(most: usize, script: &str, expected: &str) {
        let mut cache = Lru::new(most);
        for step in script.split_whitespace() {
            match step.split_once('=') {
                Some((key, value)) => cache.insert(key.to_string(), value.to_string()),
                None => {
                    cache.get(step);
                }
            }
        }
        let left: Vec<String> = ["a", "b", "c", "d"]
            .iter()
            .filter_map(|key| cache.get(*key).map(|value| format!("{key}={value}")))
            .collect();
        assert_eq!(left.join(" "), expected, "{script}");
        assert_eq!(cache.entries.len(), cache.order.len());
        assert!(cache.entries.len() <= most);
    }

    #[test]
    fn the_oldest_makes_room() {
        check(2, "a=1 b=2", "a=1 b=2");
        check(2, "a=1 b=2 c=3", "b=2 c=3");
        check(2, "a=1 b=2 c=3 d=4", "c=3 d=4");
        check(1, "a=1 b=2", "b=2");
        check(0, "a=1", "");
    }

    #[test]
    fn every_use_makes_an_entry_new() {
        check(2, "a=1 b=2 a c=3", "a=1 c=3");
        check(2, "a=1 b=2 a=5 c=3", "a=5 c=3");
        check(2, "a=1 b=2 d c=3", "b=2 c=3");
        // A value that is empty counts as much as any other.
        check(2, "a= b=2 a c=3", "a= c=3");
    }
}
