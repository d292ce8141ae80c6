//! Rules in order, found by their id and by what they are about, whatever their number.

use std::collections::HashMap;
use std::fmt;

use longhaul_conversation::Ordinal;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::topic::Topic;
use super::{RuleId, UserRule};

/// Rules in the order in which they were last said.
#[derive(Clone, Default)]
pub(super) struct RuleIndex {
    /// One that was said again has left a gap where it stood before.
    slots: Vec<Option<Held>>,
    places: HashMap<RuleId, usize>,
    shared_words: SharedWords,
}

/// A rule with what it is about.
#[derive(Clone, Debug)]
struct Held {
    rule: UserRule,
    topic: Topic,
    /// The last message that says it.
    last: Option<Ordinal>,
}

impl RuleIndex {
    /// The rules, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &UserRule> {
        self.slots.iter().flatten().map(|held| &held.rule)
    }

    pub(super) fn get(&self, id: RuleId) -> Option<&UserRule> {
        self.places.get(&id).and_then(|place| self.slots[*place].as_ref()).map(|held| &held.rule)
    }

    pub(super) fn get_mut(&mut self, id: RuleId) -> Option<&mut UserRule> {
        let place = *self.places.get(&id)?;
        self.slots[place].as_mut().map(|held| &mut held.rule)
    }

    /// Puts the rule with this id last; `new` makes it if there is none. `message` says it.
    pub(super) fn put_last(
        &mut self,
        id: RuleId,
        message: Option<Ordinal>,
        new: impl FnOnce() -> UserRule,
    ) -> &mut UserRule {
        let known = self.places.get(&id).and_then(|place| self.slots[*place].take());
        let mut held = known.unwrap_or_else(|| Held::new(new()));
        held.add(message);
        self.push(held);
        let last = self.slots.last_mut().and_then(Option::as_mut);
        &mut last.expect("the rule that was just put").rule
    }

    /// The rules that hold, share a word with the topic and were all said before `message`, in order.
    pub(super) fn about(&mut self, topic: &Topic, message: Ordinal) -> Vec<(RuleId, &Topic)> {
        let places = self.shared_words.find(topic, &self.slots);
        let held = places.into_iter().filter_map(|place| self.slots[place].as_ref());
        let before = held.filter(|held| held.rule.retired_by.is_none() && held.last < Some(message));
        before.map(|held| (held.rule.id, &held.topic)).collect()
    }

    fn push(&mut self, held: Held) {
        if self.slots.len() > 2 * self.places.len() + 16 {
            self.close_gaps();
        }
        self.places.insert(held.rule.id, self.slots.len());
        self.slots.push(Some(held));
    }

    fn close_gaps(&mut self) {
        self.slots.retain(Option::is_some);
        self.shared_words = SharedWords::default();
        let held = self.slots.iter().flatten().enumerate();
        self.places = held.map(|(place, held)| (held.rule.id, place)).collect();
    }
}

impl Held {
    fn new(rule: UserRule) -> Self {
        Self { topic: Topic::of(&rule.text), last: rule.messages.iter().copied().max(), rule }
    }

    /// Another message says it.
    fn add(&mut self, message: Option<Ordinal>) {
        // They are added in the order of the conversation, so that few are looked for among all.
        if message > self.last || message.is_some_and(|message| !self.rule.messages.contains(&message)) {
            self.rule.messages.extend(message);
            self.last = self.last.max(message);
        }
    }
}

/// Which slots hold rules that have a word. It is brought up to date when it is asked: most rules are never lifted.
#[derive(Clone, Debug, Default)]
struct SharedWords {
    lists: HashMap<u64, Vec<u32>>,
    /// The number of slots that were looked at.
    known: usize,
}

/// Of the rules that have a word, so many are looked at, the newest.
const MOST_RULES: usize = 200;

impl SharedWords {
    /// The slots of the newest rules that may share a word with a topic, in order.
    fn find(&mut self, topic: &Topic, slots: &[Option<Held>]) -> Vec<usize> {
        self.learn(slots);
        let mut found = Vec::new();
        for word in topic.stems() {
            let Some(list) = self.lists.get_mut(&word) else { continue };
            // What was said again or taken back since leaves the list.
            if list.len() > MOST_RULES {
                list.retain(|slot| {
                    slots[*slot as usize].as_ref().is_some_and(|held| held.rule.retired_by.is_none())
                });
                list.drain(..list.len().saturating_sub(MOST_RULES));
            }
            found.extend(list.iter().map(|slot| *slot as usize));
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    fn learn(&mut self, slots: &[Option<Held>]) {
        for (slot, held) in (self.known as u32..).zip(&slots[self.known..]) {
            for word in held.iter().flat_map(|held| held.topic.stems()) {
                let list = self.lists.entry(word).or_default();
                if list.last() != Some(&slot) {
                    list.push(slot);
                }
            }
        }
        self.known = slots.len();
    }
}

impl fmt::Debug for RuleIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for RuleIndex {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for RuleIndex {}

impl Serialize for RuleIndex {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for RuleIndex {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut index = Self::default();
        for rule in Vec::<UserRule>::deserialize(deserializer)? {
            // Of two with the same words the first one counts.
            if index.get(rule.id).is_none() {
                index.push(Held::new(rule));
            }
        }
        Ok(index)
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
    struct Plain(Vec<UserRule>);

    impl Plain {
        fn put_last(&mut self, text: &str, message: Option<Ordinal>) {
            let id = RuleId::of(text);
            let known = self.0.iter().position(|rule| rule.id == id).map(|place| self.0.remove(place));
            let mut rule = known.unwrap_or_else(|| new_rule(text));
            rule.messages.extend(message.filter(|message| !rule.messages.contains(message)));
            rule.retired_by = None;
            self.0.push(rule);
        }

        fn about(&self, topic: &Topic, message: Ordinal) -> Vec<RuleId> {
            let rules = self.0.iter().filter(|rule| topic.count_shared(&Topic::of(&rule.text)) > 0);
            let rules = rules.filter(|rule| rule.retired_by.is_none());
            rules
                .filter(|rule| rule.messages.iter().all(|from| *from < message))
                .map(|rule| rule.id)
                .collect()
        }

        fn retire(&mut self, id: RuleId) {
            let rule = self.0.iter_mut().find(|rule| rule.id == id).expect("a rule that was found");
            rule.retired_by = Some(Retirement::Hand);
        }
    }

    fn new_rule(text: &str) -> UserRule {
        UserRule { id: RuleId::of(text), text: text.to_string(), messages: Vec::new(), retired_by: None }
    }

    proptest! {
        #[test]
        fn an_index_is_a_list(steps in prop::collection::vec((0..RULES.len(), prop::option::of(1..20u32), any::<bool>()), 0..80)) {
            let (mut index, mut plain) = (RuleIndex::default(), Plain::default());
            for (pick, at, retires) in steps {
                let (text, message) = (RULES[pick], at.map(Ordinal));
                index.put_last(RuleId::of(text), message, || new_rule(text)).retired_by = None;
                plain.put_last(text, message);
                prop_assert!(index.iter().eq(&plain.0));
                let (topic, message) = (Topic::of(RULES[(pick + 3) % RULES.len()]), message.unwrap_or(Ordinal(9)));
                let about: Vec<RuleId> = index.about(&topic, message).into_iter().map(|(id, _)| id).collect();
                prop_assert_eq!(&about, &plain.about(&topic, message));
                if retires {
                    for id in about {
                        index.get_mut(id).expect("a rule that was found").retired_by = Some(Retirement::Hand);
                        plain.retire(id);
                    }
                }
            }
            let written = serde_json::to_string(&index).expect("rules can be written");
            let read: RuleIndex = serde_json::from_str(&written).expect("rules can be read");
            prop_assert_eq!(read, index);
        }
    }
}
