//! Tells a session again from memory: a log that amounts to the same, for a file that lost what was in it, or for another
//! session.

use longhaul_conversation::Message;
use longhaul_formats::{
    Compaction, CompactionReport, Entry, EntryKind, Replay, RewriteState, RuleChange, Setup, encode_state,
};
use serde_json::{Value, json};

use super::Log;

/// The lines of a log that begins with this header and amounts to the same session, and what they amount to.
///
/// Messages keep their marks, those that were taken back included, unless some were put between older ones. Of the
/// compactions that count there is one, which shows what they show.
pub(super) fn retell(replay: &Replay, header: &Value) -> (String, Replay) {
    let mut fresh = Log::on("".into(), None, header.clone());
    let mut lines = String::new();
    fresh.take_line(header, &mut lines);
    let info = replay.info();
    let setup = Setup { system: info.system.clone(), tools: info.tools.clone() };
    if setup != Setup::default() {
        fresh.take_entry("setup", EntryKind::Setup(setup), &mut lines);
    }
    fresh.retell_messages(replay, &mut lines);
    for (nth, fragment) in replay.fragments().iter().enumerate() {
        fresh.take_entry(&format!("fragment-{nth}"), EntryKind::Fragment(fragment.clone()), &mut lines);
    }
    for (nth, rule) in replay.rules().iter().enumerate() {
        let rule: RuleChange = rule.clone();
        fresh.take_entry(&format!("pin-{nth}"), EntryKind::Rule(rule), &mut lines);
    }
    for (nth, request) in replay.requests().iter().enumerate() {
        fresh.take_entry(&format!("request-{nth}"), EntryKind::Request(request.clone()), &mut lines);
    }
    if let Some(host) = replay.host() {
        fresh.take_entry("host", EntryKind::Host(host.clone()), &mut lines);
    }
    if let Some(model) = &info.chosen_model {
        fresh.take_entry("model", EntryKind::ModelChoice(model.clone()), &mut lines);
    }
    if replay.rewrites().iter().any(|rewrite| rewrite.state == RewriteState::Active) {
        let messages = replay.transcript().into_messages();
        let report = CompactionReport { reason: "carried over from memory".into(), ..Default::default() };
        fresh.take_entry("view", EntryKind::Compaction(Compaction { report, messages }), &mut lines);
    }
    if let Some(state) = replay.state() {
        fresh.take_line(&encode_state(state, info.ended), &mut lines);
    }
    if let Some(title) = &info.title {
        fresh.take_line(&json!({"$set": {"summary": title}}), &mut lines);
    }
    if let Some(ended) = info.ended {
        fresh.take_line(&json!({"$set": {"lastUpdated": ended.to_string()}}), &mut lines);
    }
    (lines, fresh.replay)
}

impl Log {
    /// All that was said in the order of its marks, and what was taken back is taken back again.
    fn retell_messages(&mut self, replay: &Replay, lines: &mut String) {
        let current = replay.messages();
        if !current.is_sorted_by_key(|message| message.ordinal) {
            current.iter().for_each(|message| self.take_message(message, lines));
            return;
        }
        let mut taken_back = None;
        let mut current: Vec<&Message> = Vec::new();
        let mut has_dropped = false;
        for message in replay.said() {
            match replay.message(&message.id) {
                Some(own) if std::ptr::eq(own, message) => {
                    self.take_back(taken_back.take(), lines);
                    self.drop_others(&current, std::mem::take(&mut has_dropped), lines);
                    current.push(message);
                }
                // Another form of something that still counts.
                Some(_) => continue,
                None if replay.is_dropped(&message.id) => {
                    self.take_back(taken_back.take(), lines);
                    has_dropped = true;
                }
                None => drop(taken_back.get_or_insert_with(|| message.id.clone())),
            }
            self.take_message(message, lines);
        }
        self.take_back(taken_back, lines);
        self.drop_others(&current, has_dropped, lines);
    }

    /// Leaves only these messages in the transcript, as the checkpoint of another program did.
    fn drop_others(&mut self, current: &[&Message], has_dropped: bool, lines: &mut String) {
        if has_dropped {
            let records: Vec<Value> =
                current.iter().map(|message| self.replay.encode_message(message)).collect();
            self.take_line(&json!({"$set": {"messages": records}}), lines);
        }
    }

    fn take_back(&mut self, first: Option<longhaul_conversation::MessageId>, lines: &mut String) {
        if let Some(id) = first {
            self.take_line(&json!({"$rewindTo": id.as_str()}), lines);
        }
    }

    fn take_entry(&mut self, name: &str, kind: EntryKind, lines: &mut String) {
        let at = self.replay.info().ended;
        let entry = Entry { id: format!("retold-{name}"), at, kind };
        let record = self.replay.encode_entry(&entry);
        self.take_line(&record, lines);
    }
}
