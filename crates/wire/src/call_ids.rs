//! Ids for calls that come without one.

use std::collections::{HashMap, HashSet, VecDeque};

use longhaul_conversation::CallId;

/// Invents ids for calls without one, and finds them again for the results.
#[derive(Clone, Debug, Default)]
pub struct CallIds {
    count: usize,
    /// Calls without an id that wait for their result, by the tool's name, the oldest first.
    open: HashMap<String, VecDeque<CallId>>,
    /// Ids of calls that have one of their own and wait for their result.
    own: HashSet<CallId>,
    /// The invented ids of calls whose results came with an id that no call has.
    renamed: HashMap<CallId, CallId>,
}

impl CallIds {
    /// An id for a call of `name` that has none.
    pub fn of_call(&mut self, name: &str) -> CallId {
        self.count += 1;
        let id = CallId::made_up(self.count);
        self.open.entry(name.to_string()).or_default().push_back(id.clone());
        id
    }

    /// The id of the oldest open call of `name`, or a new one.
    pub fn of_result(&mut self, name: &str) -> CallId {
        let oldest = self.open.get_mut(name).and_then(VecDeque::pop_front);
        oldest.unwrap_or_else(|| {
            self.count += 1;
            CallId::made_up(self.count)
        })
    }

    /// A call has this id.
    pub fn note_call(&mut self, id: &CallId) {
        self.own.insert(id.clone());
    }

    /// The call that a result with this id belongs to. Histories of Gemini CLI hold calls without an id beside results that
    /// have one: these belong to the oldest open call of `name`.
    pub fn of_named_result(&mut self, name: &str, id: CallId) -> CallId {
        if self.own.remove(&id) {
            return id;
        }
        if let Some(call) = self.renamed.get(&id) {
            return call.clone();
        }
        match self.open.get_mut(name).and_then(VecDeque::pop_front) {
            Some(call) => self.renamed.entry(id).or_insert(call).clone(),
            None => id,
        }
    }

    /// The call `id` of `name` has its result.
    pub fn close(&mut self, name: &str, id: &CallId) {
        if let Some(open) = self.open.get_mut(name)
            && let Some(place) = open.iter().rposition(|open| open == id)
        {
            open.remove(place);
        }
    }
}
