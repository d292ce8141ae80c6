//! Pins in order, found by their id and by what they are about, whatever their number.

use std::collections::HashMap;
use std::fmt;

use longhaul_conversation::Ordinal;
use longhaul_text::Subject;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Pin, PinId};

/// Pins in the order in which they were last said.
#[derive(Clone, Default)]
pub(super) struct Roll {
    /// One that was said again has left a gap where it stood before.
    slots: Vec<Option<Held>>,
    places: HashMap<PinId, usize>,
    topics: Topics,
}

/// A pin with what it is about.
#[derive(Clone, Debug)]
struct Held {
    pin: Pin,
    subject: Subject,
    /// The last message that says it.
    last: Option<Ordinal>,
}

impl Roll {
    /// The pins, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Pin> {
        self.slots.iter().flatten().map(|held| &held.pin)
    }

    pub(super) fn get(&self, id: PinId) -> Option<&Pin> {
        self.places.get(&id).and_then(|place| self.slots[*place].as_ref()).map(|held| &held.pin)
    }

    pub(super) fn get_mut(&mut self, id: PinId) -> Option<&mut Pin> {
        let place = *self.places.get(&id)?;
        self.slots[place].as_mut().map(|held| &mut held.pin)
    }

    /// Puts the pin with this id last; `new` makes it if there is none. `message` says it.
    pub(super) fn put_last(
        &mut self,
        id: PinId,
        message: Option<Ordinal>,
        new: impl FnOnce() -> Pin,
    ) -> &mut Pin {
        let known = self.places.get(&id).and_then(|place| self.slots[*place].take());
        let mut held = known.unwrap_or_else(|| Held::new(new()));
        held.add(message);
        self.push(held);
        let last = self.slots.last_mut().and_then(Option::as_mut);
        &mut last.expect("the pin that was just put").pin
    }

    /// Calls `found` with each pin about the subject that holds and of which all messages stand before `message`.
    pub(super) fn each_about(
        &mut self,
        subject: &Subject,
        message: Ordinal,
        mut found: impl FnMut(&mut Pin),
    ) {
        for place in self.topics.find(subject, &self.slots) {
            if let Some(held) = &mut self.slots[place]
                && held.pin.retired_by.is_none()
                && subject.is_same(&held.subject)
                && held.last < Some(message)
            {
                found(&mut held.pin);
            }
        }
    }

    fn push(&mut self, held: Held) {
        if self.slots.len() > 2 * self.places.len() + 16 {
            self.close_gaps();
        }
        self.places.insert(held.pin.id, self.slots.len());
        self.slots.push(Some(held));
    }

    fn close_gaps(&mut self) {
        self.slots.retain(Option::is_some);
        self.topics = Topics::default();
        let held = self.slots.iter().flatten().enumerate();
        self.places = held.map(|(place, held)| (held.pin.id, place)).collect();
    }
}

impl Held {
    fn new(pin: Pin) -> Self {
        Self { subject: Subject::of(&pin.text), last: pin.messages.iter().copied().max(), pin }
    }

    /// Another message says it.
    fn add(&mut self, message: Option<Ordinal>) {
        // They are added in the order of the conversation, so that few are looked for among all.
        if message > self.last || message.is_some_and(|message| !self.pin.messages.contains(&message)) {
            self.pin.messages.extend(message);
            self.last = self.last.max(message);
        }
    }
}

/// Which slots hold pins that share a word with a subject. It is brought up to date when it is asked: most pins are never
/// lifted.
#[derive(Clone, Debug, Default)]
struct Topics {
    lists: HashMap<u64, List>,
    links: Vec<Link>,
    /// The number of slots that were looked at.
    known: usize,
}

/// The slots of the pins that have a word.
#[derive(Clone, Copy, Debug)]
struct List {
    first: Option<u32>,
    count: u32,
}

/// A slot in a list.
#[derive(Clone, Copy, Debug)]
struct Link {
    slot: u32,
    next: Option<u32>,
}

impl Topics {
    /// The slots of all pins that hold and may be about a subject, in order, and of some others.
    fn find(&mut self, subject: &Subject, slots: &[Option<Held>]) -> Vec<usize> {
        self.learn(slots);
        let mut words = subject.sought_under();
        words.retain(|word| self.lists.contains_key(word));
        // Those that share two words are on two lists, so that the longest is not needed.
        words.sort_unstable_by_key(|word| self.lists[word].count);
        words.pop();
        let mut found = Vec::new();
        for word in words {
            self.follow(word, slots, &mut found);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds the slots on a list to `found`. What was said again or taken back since leaves the list.
    fn follow(&mut self, word: u64, slots: &[Option<Held>], found: &mut Vec<usize>) {
        let Some(list) = self.lists.get_mut(&word) else { return };
        let (mut last, mut next) = (None, list.first);
        while let Some(at) = next {
            let link = self.links[at as usize];
            if slots[link.slot as usize].as_ref().is_some_and(|held| held.pin.retired_by.is_none()) {
                found.push(link.slot as usize);
                last = Some(at);
            } else {
                list.count -= 1;
                match last {
                    Some(last) => self.links[last as usize].next = link.next,
                    None => list.first = link.next,
                }
            }
            next = link.next;
        }
    }

    fn learn(&mut self, slots: &[Option<Held>]) {
        for (slot, held) in (self.known as u32..).zip(&slots[self.known..]) {
            for word in held.iter().flat_map(|held| held.subject.found_under()) {
                let list = self.lists.entry(word).or_insert(List { first: None, count: 0 });
                let at = self.links.len() as u32;
                self.links.push(Link { slot, next: list.first });
                *list = List { first: Some(at), count: list.count + 1 };
            }
        }
        self.known = slots.len();
    }
}

impl fmt::Debug for Roll {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Roll {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Roll {}

impl Serialize for Roll {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for Roll {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut roll = Self::default();
        for pin in Vec::<Pin>::deserialize(deserializer)? {
            // Of two with the same words the first one counts.
            if roll.get(pin.id).is_none() {
                roll.push(Held::new(pin));
            }
        }
        Ok(roll)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Retirement;
    use super::*;

    const RULES: [&str; 8] = [
        "Always use the parser cache.",
        "Never use tabs.",
        "Run the parser tests.",
        "Keep the cache small.",
        "Use spaces.",
        "提交信息必须用英文",
        "提交信息不用再写英文",
        "The parser cache is off.",
    ];

    /// The same with a plain list.
    #[derive(Default)]
    struct Plain(Vec<Pin>);

    impl Plain {
        fn put_last(&mut self, text: &str, message: Option<Ordinal>) {
            let id = PinId::of(text);
            let known = self.0.iter().position(|pin| pin.id == id).map(|place| self.0.remove(place));
            let mut pin = known.unwrap_or_else(|| new_pin(text));
            pin.messages.extend(message.filter(|message| !pin.messages.contains(message)));
            pin.retired_by = None;
            self.0.push(pin);
        }

        fn about(&self, subject: &Subject, message: Ordinal) -> Vec<PinId> {
            let pins = self.0.iter().filter(|pin| subject.is_same(&Subject::of(&pin.text)));
            let pins = pins.filter(|pin| pin.retired_by.is_none());
            pins.filter(|pin| pin.messages.iter().all(|from| *from < message)).map(|pin| pin.id).collect()
        }

        fn retire(&mut self, id: PinId) {
            let pin = self.0.iter_mut().find(|pin| pin.id == id).expect("a pin that was found");
            pin.retired_by = Some(Retirement::Hand);
        }
    }

    fn new_pin(text: &str) -> Pin {
        Pin { id: PinId::of(text), text: text.to_string(), messages: Vec::new(), retired_by: None }
    }

    proptest! {
        #[test]
        fn a_roll_is_a_list(steps in prop::collection::vec((0..RULES.len(), prop::option::of(1..20u32), any::<bool>()), 0..80)) {
            let (mut roll, mut plain) = (Roll::default(), Plain::default());
            for (pick, at, retires) in steps {
                let (text, message) = (RULES[pick], at.map(Ordinal));
                roll.put_last(PinId::of(text), message, || new_pin(text)).retired_by = None;
                plain.put_last(text, message);
                prop_assert!(roll.iter().eq(&plain.0));
                let (subject, message) = (Subject::of(RULES[(pick + 3) % RULES.len()]), message.unwrap_or(Ordinal(9)));
                let mut about = Vec::new();
                roll.each_about(&subject, message, |pin| about.push(pin.id));
                prop_assert_eq!(&about, &plain.about(&subject, message));
                if retires {
                    roll.each_about(&subject, message, |pin| pin.retired_by = Some(Retirement::Hand));
                    about.into_iter().for_each(|id| plain.retire(id));
                }
            }
            let written = serde_json::to_string(&roll).expect("pins can be written");
            let read: Roll = serde_json::from_str(&written).expect("pins can be read");
            prop_assert_eq!(read, roll);
        }
    }
}
