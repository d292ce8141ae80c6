//! Notices files that are read again though nothing has changed: what the model can still see is not sent a second time, what a
//! compaction left out is, and counted.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

use longhaul_conversation::{CallId, Message, MessageId, ToolCall, split_memory};
use serde_json::Value;

/// The most reads that are remembered.
const REMEMBERED: usize = 1_000;

/// The tool that reads a file.
const READ_TOOL: &str = "read_file";

/// The note for a model that reads something again which a compaction left out.
pub(crate) const REREAD_NOTE: &str = "[Unchanged since you read it before; a compaction had left it out. Ask for the lines \
                                      you still need, and say what matters of them, rather than reading it a third time.]";

/// The reads so far, each with the message in which the model could see it.
#[derive(Clone, Debug)]
pub(crate) struct Rereads {
    seen: Lru<Key, SeenRead>,
}

impl Default for Rereads {
    fn default() -> Self {
        Self { seen: Lru::new(REMEMBERED) }
    }
}

/// The file and the part of it that was asked for.
type Key = String;

#[derive(Clone, Debug)]
struct SeenRead {
    content: blake3::Hash,
    message: MessageId,
    call: CallId,
    /// True if the latest read was answered with a note in place of the content.
    is_withheld: bool,
}

/// The kind of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Something new, or something that changed.
    New,
    /// The same as before, which the model can still see in full.
    Repeated {
        /// The number of messages since.
        ago: usize,
        /// True if a note was the answer the last time: who asks once more is to get it.
        is_asked_again: bool,
    },
    /// The same as before, which a compaction left out.
    Again,
}

/// The least text, in bytes, in whose place a note is worth it.
pub(crate) const WORTH_A_NOTE: usize = 1_500;

/// The answer to a read of what the model can still see.
pub(crate) fn unchanged_note(ago: usize) -> String {
    let messages = if ago == 1 { "message" } else { "messages" };
    format!(
        "[Unchanged since you read it {ago} {messages} ago; that result stands above in full. To have it repeated here, make this \
         call once more.]"
    )
}

impl Rereads {
    /// The reads in these messages.
    pub(crate) fn of(messages: &[&Message]) -> Self {
        let mut rereads = Self::default();
        let calls: HashMap<_, _> =
            messages.iter().flat_map(|message| message.calls()).map(|call| (&call.id, call)).collect();
        for message in messages {
            for result in message.parts.iter().filter_map(|part| part.as_result()) {
                if let Some(call) = calls.get(&result.call) {
                    rereads.note(call, &result.readable(), &message.id);
                }
            }
        }
        rereads
    }

    /// Notes a read, which the model sees in this message.
    pub(crate) fn note(&mut self, call: &ToolCall, text: &str, message: &MessageId) {
        let Some(key) = key(call) else { return };
        if is_unchanged_note(text) {
            // What was read stands where it stood.
            if let Some(seen) = self.seen.get_mut(&key) {
                seen.is_withheld = true;
            }
            return;
        }
        let (content, message, call) = (hash(text), message.clone(), call.id.clone());
        self.seen.insert(key, SeenRead { content, message, call, is_withheld: false });
    }

    /// The kind of this read, given the messages that the model can still see; `None` if it is no read.
    pub(crate) fn judge(&mut self, call: &ToolCall, text: &str, visible: &[Message]) -> Option<Read> {
        let key = key(call)?;
        let content = hash(text);
        let Some(seen) = self.seen.get(&key).filter(|seen| seen.content == content) else {
            return Some(Read::New);
        };
        // A mask leaves the message where it was, and only a preview in it.
        let stands_there = |message: &Message| {
            let mut results = message.results().filter(|result| result.call == seen.call);
            results.any(|result| hash(&result.readable()) == content)
        };
        let place = visible.iter().rposition(|message| message.id == seen.message && stands_there(message));
        Some(match place {
            Some(place) => Read::Repeated { ago: visible.len() - place, is_asked_again: seen.is_withheld },
            None => Read::Again,
        })
    }
}

fn is_unchanged_note(text: &str) -> bool {
    let text = split_memory(text).0.trim();
    text.starts_with("[Unchanged since you read it ") && text.ends_with("make this call once more.]")
}

/// A hash of what was read, without the memory and the note that came with it.
fn hash(text: &str) -> blake3::Hash {
    let read = split_memory(text).0;
    let read = read.trim_end().strip_suffix(REREAD_NOTE).unwrap_or(read);
    blake3::hash(read.trim_end().as_bytes())
}

/// The file and the lines that a call reads.
fn key(call: &ToolCall) -> Option<Key> {
    let file = ["file_path", "absolute_path", "path"].iter().find_map(|name| call.args.get(name)?.as_str());
    let file = file.filter(|_| call.name == READ_TOOL)?;
    let line = |name: &str| call.args.get(name).and_then(Value::as_u64).unwrap_or_default();
    Some(format!(
        "{file}\0{}\0{}\0{}\0{}",
        line("start_line"),
        line("end_line"),
        line("offset"),
        line("limit")
    ))
}

/// A cache with a bound. Every use of an entry makes it the newest; at the bound the oldest one makes room.
#[derive(Clone, Debug)]
struct Lru<K, V> {
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
    fn new(most: usize) -> Self {
        Self { most, entries: HashMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// The value of a key, which is then the newest.
    fn get<Q>(&mut self, key: &Q) -> Option<&V>
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

    /// The value of a key, to change it.
    fn get_mut<Q>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.entries.get_mut(key).map(|entry| &mut entry.value)
    }

    /// Keeps a value as the newest, in place of the one that the key had, else of the oldest where there is no room.
    fn insert(&mut self, key: K, value: V) {
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
    use longhaul_conversation::{Part, Role, ToolResult};
    use serde_json::json;

    fn read(id: &str, path: &str) -> ToolCall {
        ToolCall::new(id, READ_TOOL).with_args(json!({"file_path": path}))
    }

    fn messages() -> Vec<Message> {
        let call = Message::new("m1", Role::Model, vec![Part::call(read("c1", "a.rs"))]);
        let result = Message::new("m2", Role::User, vec![Part::result(ToolResult::text("c1", "fn a() {}"))]);
        vec![call, result]
    }

    #[track_caller]
    fn check(call: &ToolCall, text: &str, visible: &[Message], expected: Option<Read>) {
        let messages = messages();
        let mut rereads = Rereads::of(&messages.iter().collect::<Vec<_>>());
        assert_eq!(rereads.judge(call, text, visible), expected);
    }

    #[test]
    fn only_what_was_left_out_and_is_unchanged_is_read_again() {
        let all = messages();
        check(&read("c2", "a.rs"), "fn a() {}", &[], Some(Read::Again));
        let repeated = Read::Repeated { ago: 1, is_asked_again: false };
        check(&read("c2", "a.rs"), "fn a() {}", &all, Some(repeated));
        // Of a masked output only a preview is left.
        let mut masked = messages();
        masked[1].parts = vec![Part::result(ToolResult::text("c1", "fn … 9 characters"))];
        check(&read("c2", "a.rs"), "fn a() {}", &masked, Some(Read::Again));
        check(&read("c2", "a.rs"), "fn a() { 1 }", &[], Some(Read::New));
        check(&read("c2", "b.rs"), "fn a() {}", &[], Some(Read::New));
        let lines = ToolCall::new("c2", READ_TOOL).with_args(json!({"file_path": "a.rs", "start_line": 5}));
        check(&lines, "fn a() {}", &[], Some(Read::New));
        check(&ToolCall::new("c2", "glob").with_args(json!({"path": "a.rs"})), "fn a() {}", &[], None);
    }

    #[test]
    fn the_note_of_an_earlier_answer_changes_nothing() {
        let mut rereads = Rereads::default();
        let call = read("c1", "a.rs");
        rereads.note(&call, &format!("fn a() {{}}\n\n{REREAD_NOTE}"), &"m2".into());
        assert_eq!(rereads.judge(&call, "fn a() {}", &[]), Some(Read::Again));
    }

    #[test]
    fn who_asks_once_more_behind_a_note_is_told_so() {
        let all = messages();
        let mut rereads = Rereads::of(&all.iter().collect::<Vec<_>>());
        let call = read("c2", "a.rs");
        rereads.note(&call, &unchanged_note(7), &"m4".into());
        let asked_again = Read::Repeated { ago: 1, is_asked_again: true };
        assert_eq!(rereads.judge(&call, "fn a() {}", &all), Some(asked_again));
        rereads.note(&read("c1", "a.rs"), "fn a() {}", &"m2".into());
        let repeated = Read::Repeated { ago: 1, is_asked_again: false };
        assert_eq!(rereads.judge(&call, "fn a() {}", &all), Some(repeated));
        assert_eq!(rereads.judge(&call, "fn b() {}", &all), Some(Read::New));
    }

    /// Inserts `a=1`, asks for `a`, and tells what `abcd` is in the end.
    #[track_caller]
    fn check_cache(most: usize, script: &str, expected: &str) {
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
        check_cache(2, "a=1 b=2", "a=1 b=2");
        check_cache(2, "a=1 b=2 c=3", "b=2 c=3");
        check_cache(2, "a=1 b=2 c=3 d=4", "c=3 d=4");
        check_cache(1, "a=1 b=2", "b=2");
        check_cache(0, "a=1", "");
    }

    #[test]
    fn every_use_makes_an_entry_new() {
        check_cache(2, "a=1 b=2 a c=3", "a=1 c=3");
        check_cache(2, "a=1 b=2 a=5 c=3", "a=5 c=3");
        check_cache(2, "a=1 b=2 d c=3", "b=2 c=3");
        // A value that is empty counts as much as any other.
        check_cache(2, "a= b=2 a c=3", "a= c=3");
    }
}
