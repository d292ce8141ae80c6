//! When each message came. What was there at a certain moment is known from that alone, without a list of it: a session
//! that is compacted a thousand times would hold a thousand lists, each longer than the last.

use std::collections::{BTreeMap, HashMap};

use longhaul_conversation::MessageId;

/// The messages of a session in the order in which they came, wherever they stand.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    moments: HashMap<MessageId, Moment>,
    ids: BTreeMap<Moment, MessageId>,
    next: Moment,
}

/// A point in the order of arrivals. What comes later has a later one, and none is used twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment(u64);

impl Arrivals {
    /// A message is there; one that is known came when it came first.
    pub(super) fn note(&mut self, id: &MessageId) {
        if !self.moments.contains_key(id) {
            self.moments.insert(id.clone(), self.next);
            self.ids.insert(self.next, id.clone());
            self.next.0 += 1;
        }
    }

    /// A message is gone; if it comes again, it comes anew.
    pub(super) fn forget(&mut self, id: &MessageId) {
        if let Some(moment) = self.moments.remove(id) {
            self.ids.remove(&moment);
        }
    }

    /// All messages are gone.
    pub(super) fn forget_all(&mut self) {
        self.moments.clear();
        self.ids.clear();
    }

    /// The moment before which everything came that is there.
    pub(super) fn now(&self) -> Moment {
        self.next
    }

    /// True if a message that is there came before this moment.
    pub(super) fn is_before(&self, id: &MessageId, moment: Moment) -> bool {
        self.moments.get(id).is_some_and(|came| *came < moment)
    }

    /// The messages that came from this moment on.
    pub(super) fn since(&self, moment: Moment) -> impl Iterator<Item = &MessageId> {
        self.ids.range(moment..).map(|(_, id)| id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_again_came_later() {
        let [one, two] = ["one", "two"].map(MessageId::from);
        let mut arrivals = Arrivals::default();
        arrivals.note(&one);
        let moment = arrivals.now();
        arrivals.note(&two);
        arrivals.note(&one);
        assert!(arrivals.is_before(&one, moment) && !arrivals.is_before(&two, moment));
        assert_eq!(arrivals.since(moment).collect::<Vec<_>>(), [&two]);
        arrivals.forget(&one);
        assert!(!arrivals.is_before(&one, moment));
        arrivals.note(&one);
        assert_eq!(arrivals.since(moment).collect::<Vec<_>>(), [&two, &one]);
        arrivals.forget_all();
        assert_eq!(arrivals.since(Moment::default()).count(), 0);
        assert!(arrivals.now() > moment);
    }
}
