//! Checks what must always hold of a log, whatever is done to it.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;

use longhaul_conversation::{
    Message, MessageId, Ordinal, Origin, Part, Role, Timestamp, TokenCount, ToolCall, ToolResult, ToolStatus,
};
use longhaul_formats::{
    Compaction, CompactionReport, CompactionState, Entry, EntryKind, Mask, Masking, RecordedWait, Replay,
    RuleChange, read_session, response_id,
};
use longhaul_testkit::messages::messages;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::retell::retell;
use super::*;

/// One thing that is done to a log.
#[derive(Clone, Debug)]
enum Act {
    /// Something is said, under a new id or that of an earlier message, which may have been taken back.
    Say {
        message: Box<Message>,
        again: Option<Index>,
        at: Option<i64>,
    },
    /// The model calls tools, and some of them answer, in some order.
    Turn {
        calls: u8,
        answers: Vec<Index>,
        ordinary: bool,
        status: ToolStatus,
        reused: bool,
    },
    Rewind(Index),
    /// The transcript is cut, with messages of the compaction's own before and behind, and one that is shortened.
    Compact {
        keep: Index,
        own: Vec<Message>,
        shortened: Option<Index>,
    },
    Mask {
        which: Index,
        exact: bool,
    },
    Undo(Option<Index>),
    /// Another program compacts the session.
    Checkpoint(Index),
    Note,
    /// Compactions leave something behind.
    Keep(u32),
    Reopen,
}

fn acts() -> impl Strategy<Value = Act> {
    let index = any::<Index>;
    let statuses = select(vec![ToolStatus::Unstated, ToolStatus::Succeeded, ToolStatus::Failed]);
    prop_oneof![
        8 => (messages(), option::weighted(0.2, index()), option::of(0i64..2_000_000_000_000))
            .prop_map(|(message, again, at)| Act::Say { message: Box::new(message), again, at }),
        8 => (1u8..4, vec(index(), 0..4), prop::bool::weighted(0.7), statuses, prop::bool::weighted(0.2))
            .prop_map(|(calls, answers, ordinary, status, reused)| {
                Act::Turn { calls, answers, ordinary, status, reused }
            }),
        2 => index().prop_map(Act::Rewind),
        3 => (index(), vec(messages(), 0..3), option::weighted(0.4, index()))
            .prop_map(|(keep, own, shortened)| Act::Compact { keep, own, shortened }),
        2 => (index(), any::<bool>()).prop_map(|(which, exact)| Act::Mask { which, exact }),
        3 => option::of(index()).prop_map(Act::Undo),
        1 => index().prop_map(Act::Checkpoint),
        1 => Just(Act::Note),
        2 => (0u32..3).prop_map(Act::Keep),
        1 => Just(Act::Reopen),
    ]
}

/// The state of a log after some act.
#[derive(Clone, Debug)]
struct Moment {
    bytes: usize,
    said: Vec<Message>,
    visible: Vec<Message>,
    /// The messages that the next write may change.
    touched: Vec<MessageId>,
}

/// A log that acts are carried out on, with all it showed on the way.
struct Stage {
    _root: TempDir,
    log: Option<Log>,
    count: usize,
    moments: Vec<Moment>,
    marks: HashMap<Ordinal, MessageId>,
}

fn new_session() -> NewSession {
    let at = Timestamp::from_millis(1_767_323_045_000);
    let (id, project_hash) = ("law-session".into(), "p".into());
    NewSession { id, project_hash, kind: SessionKind::Main, directories: Vec::new(), at }
}

impl Stage {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let log = Log::create(root.path(), &new_session()).expect("created");
        let mut stage =
            Self { _root: root, log: Some(log), count: 0, moments: Vec::new(), marks: HashMap::new() };
        stage.remember();
        stage
    }

    fn log(&mut self) -> &mut Log {
        self.log.as_mut().expect("it is open")
    }

    fn replay(&self) -> &Replay {
        self.log.as_ref().expect("it is open").replay()
    }

    fn bytes(&self) -> Vec<u8> {
        fs::read(self.log.as_ref().expect("it is open").path()).expect("readable")
    }

    fn new_id(&mut self) -> String {
        self.count += 1;
        format!("x{}", self.count)
    }

    fn pick(&self, index: Index) -> Option<Message> {
        let said = self.replay().messages();
        (!said.is_empty()).then(|| index.get(said).clone())
    }

    /// Says something, and checks that it is there and nothing else has changed.
    fn say(&mut self, message: &Message) {
        let mut meant = self.replay().messages().to_vec();
        let last = self.moments.last_mut().expect("the beginning");
        last.touched = vec![message.id.clone()];
        last.touched.extend(meant.last().map(|last| last.id.clone()));
        let ordinal = self.log().append(message).expect("appended");
        let message = Message { ordinal: Some(ordinal), ..message.clone() };
        match meant.iter_mut().find(|known| known.id == message.id) {
            Some(known) => *known = message,
            None => meant.push(message),
        }
        assert_eq!(self.replay().messages(), meant);
        self.remember();
    }

    fn record(&mut self, kind: EntryKind) {
        let id = self.new_id();
        let entry = Entry { id, at: Some(Timestamp::from_millis(5)), kind };
        self.log().record(&entry).expect("recorded");
        self.remember();
    }

    fn carry_out(&mut self, act: Act) {
        match act {
            Act::Say { message, again, at } => {
                let said: Vec<MessageId> =
                    self.replay().said().into_iter().map(|message| message.id.clone()).collect();
                let again = again.filter(|_| !said.is_empty()).map(|index| index.get(&said).clone());
                let id = again.unwrap_or_else(|| self.new_id().into());
                self.say(&Message { id, at: at.map(Timestamp::from_millis), ordinal: None, ..*message });
            }
            Act::Turn { calls, answers, ordinary, status, reused } => {
                self.turn(calls, &answers, ordinary, status, reused);
            }
            Act::Rewind(index) => {
                let Some(message) = self.pick(index) else { return };
                let place = self.replay().position(&message.id).expect("it was picked");
                let meant = self.replay().messages()[..place].to_vec();
                self.log().rewind_to(&message.id).expect("rewound");
                assert_eq!(self.replay().messages(), meant);
                self.remember();
            }
            Act::Compact { keep, own, shortened } => self.compact(keep, own, shortened),
            Act::Mask { which, exact } => self.mask(which, exact),
            Act::Undo(index) => {
                let rewrites = self.replay().rewrites();
                let named =
                    index.filter(|_| !rewrites.is_empty()).map(|index| index.get(rewrites).id.clone());
                if self.log().undo(named.as_deref(), None).is_ok() {
                    self.remember();
                }
            }
            Act::Checkpoint(index) => self.checkpoint(index),
            Act::Note => self.record(EntryKind::Rule(RuleChange::Added { text: "é".into() })),
            Act::Keep(failures) => self.keep(failures),
            Act::Reopen => self.reopen(""),
        }
    }

    /// Keeps a state, twice: what is known already is not written again.
    fn keep(&mut self, failures: u32) {
        let wait = Some(RecordedWait::Growth { since: TokenCount(9) });
        let state = CompactionState { failures, money: 0.1, wait, ..CompactionState::default() };
        self.log().keep_state(&state, None).expect("kept");
        let length = self.bytes().len();
        self.log().keep_state(&state, None).expect("kept");
        assert_eq!((self.replay().state(), self.bytes().len()), (Some(&state), length));
        self.remember();
    }

    fn turn(&mut self, calls: u8, answers: &[Index], ordinary: bool, status: ToolStatus, reused: bool) {
        let id = self.new_id();
        let mark = if reused { "again".to_string() } else { id.clone() };
        let call_ids: Vec<String> = (0..calls).map(|number| format!("{mark}-{number}")).collect();
        let parts = call_ids.iter().map(|call| Part::call(ToolCall::new(call.as_str(), "ls")));
        let at = Some(Timestamp::from_millis(7));
        let model = Message { at, ..Message::new(id, Role::Model, parts.collect()) };
        self.say(&model);
        let answered: Vec<&String> = if ordinary {
            call_ids.iter().collect()
        } else {
            answers.iter().map(|index| index.get(&call_ids)).collect()
        };
        let results = answered.into_iter().map(|call| {
            Part::result(ToolResult::text(call.as_str(), "listed").with_name("ls").with_status(status))
        });
        let id = if ordinary { response_id(&model.id) } else { self.new_id().into() };
        self.say(&Message { at, ..Message::new(id, Role::User, results.collect()) });
    }

    fn compact(&mut self, keep: Index, own: Vec<Message>, shortened: Option<Index>) {
        let visible = self.replay().transcript().into_messages();
        let mut kept = visible[keep.index(visible.len() + 1)..].to_vec();
        if let Some(index) = shortened.filter(|_| !kept.is_empty()) {
            index.get_mut(&mut kept).parts = vec![Part::text(Origin::Tool, "shortened")];
        }
        let mut messages = Vec::new();
        let snapshot = vec![Part::text(Origin::Summary, "<state_snapshot>é</state_snapshot>")];
        let id = self.new_id();
        let at = Some(Timestamp::from_millis(5));
        messages.push(Message { at, ..Message::new(id, Role::User, snapshot) });
        for (place, message) in own.into_iter().enumerate() {
            let message = Message { id: self.new_id().into(), ordinal: None, ..message };
            messages.insert(if place == 0 { 1 } else { messages.len() }, message);
            if place == 0 {
                messages.append(&mut kept);
            }
        }
        messages.append(&mut kept);
        let report = CompactionReport { cost: Some(0.25), ..CompactionReport::default() };
        self.record(EntryKind::Compaction(Compaction { report, messages: messages.clone() }));
        assert_eq!(self.replay().transcript().messages(), messages);
    }

    fn mask(&mut self, which: Index, exact: bool) {
        let results: Vec<(MessageId, ToolResult)> = self
            .replay()
            .transcript()
            .messages()
            .iter()
            .flat_map(|message| message.results().map(|result| (message.id.clone(), result.clone())))
            .collect();
        if results.is_empty() {
            return;
        }
        let (message, result) = which.get(&results).clone();
        let mask = Mask { message: message.clone(), call: result.call, file: None, preview: "short".into() };
        let visible = self.replay().transcript().into_messages();
        let mut changed = visible.into_iter().find(|known| known.id == message).expect("it was picked");
        if exact {
            changed.parts.push(Part::text(Origin::Hook, "and more"));
        }
        mask.apply(&mut changed);
        self.record(EntryKind::Mask(Masking { masks: vec![mask], changed: vec![changed.clone()] }));
        let visible = self.replay().transcript().into_messages();
        assert_eq!(visible.into_iter().find(|known| known.id == message), Some(changed));
    }

    fn checkpoint(&mut self, index: Index) {
        let visible = self.replay().transcript().into_messages();
        let kept = &visible[index.index(visible.len() + 1)..];
        let records: Vec<Value> =
            kept.iter().map(|message| Replay::default().encode_message(message)).collect();
        let line = json!({"$set": {"messages": records}}).to_string();
        self.reopen(&(line + "\n"));
        self.remember();
    }

    /// Opens the log again after another program has written something.
    fn reopen(&mut self, written: &str) {
        let before = self.log.take().expect("it is open");
        let path = before.path().to_path_buf();
        let replay = before.replay().clone();
        drop(before);
        let mut file = OpenOptions::new().append(true).open(&path).expect("there");
        file.write_all(written.as_bytes()).expect("written");
        let log = Log::open(&path, &new_session()).expect("opened");
        assert_eq!(log.recovered(), []);
        if written.is_empty() {
            check_same(log.replay(), &replay);
        }
        self.log = Some(log);
    }

    /// Checks what holds at any time, and keeps what is shown now.
    fn remember(&mut self) {
        for message in self.log.as_ref().expect("it is open").replay().said() {
            let ordinal = message.ordinal.expect("every message has a mark");
            let known = self.marks.entry(ordinal).or_insert_with(|| message.id.clone());
            assert_eq!(*known, message.id, "a mark was used twice");
        }
        let bytes = self.bytes();
        self.moments.push(Moment {
            bytes: bytes.len(),
            said: self.replay().messages().to_vec(),
            visible: self.replay().transcript().into_messages(),
            touched: Vec::new(),
        });
    }
}

fn check_same(one: &Replay, other: &Replay) {
    assert_eq!(one.messages(), other.messages());
    assert_eq!(one.said(), other.said());
    assert_eq!(one.transcript().messages(), other.transcript().messages());
    assert_eq!((one.rules(), one.host(), one.state()), (other.rules(), other.host(), other.state()));
    let states = |replay: &Replay| -> Vec<_> {
        replay
            .rewrites()
            .iter()
            .map(|rewrite| (rewrite.id.clone(), rewrite.kind.clone(), rewrite.state))
            .collect()
    };
    assert_eq!(states(one), states(other));
}

fn ids(messages: &[Message]) -> Vec<&MessageId> {
    messages.iter().map(|message| &message.id).collect()
}

/// A beginning of the log shows what the log showed once, or that and a part of the next write.
fn check_prefix(stage: &Stage, bytes: &[u8], length: usize) {
    let replay = Replay::read(&bytes[..length]).expect("any beginning can be read");
    let place = stage.moments.iter().rposition(|moment| moment.bytes <= length);
    let Some(place) = place else { return assert!(replay.messages().is_empty()) };
    let moment = &stage.moments[place];
    let next = stage.moments.get(place + 1).unwrap_or(moment);
    let seen = ids(replay.messages());
    assert!(seen == ids(&moment.said) || seen == ids(&next.said), "{seen:?} at {length}");
    for message in replay.messages().iter().filter(|message| !moment.touched.contains(&message.id)) {
        let mut known = moment.said.iter().chain(&next.said);
        assert!(known.any(|known| known == message), "{message:?} at {length}");
    }
    if length == moment.bytes {
        assert_eq!(replay.messages(), moment.said);
        assert_eq!(replay.transcript().messages(), moment.visible);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn a_log_is_on_disk_what_it_is_in_memory(acts in vec(acts(), 0..24)) {
        let mut stage = Stage::new();
        acts.into_iter().for_each(|act| stage.carry_out(act));
        let bytes = stage.bytes();
        let replayed = Replay::read(bytes.as_slice()).expect("readable");
        prop_assert_eq!(replayed.warnings(), []);
        check_same(&replayed, stage.replay());
        // The ordinary reader sees what the model would see.
        let read = read_session(bytes.as_slice()).expect("a session");
        prop_assert_eq!(read.warnings, []);
        let transcript = stage.replay().transcript();
        prop_assert_eq!(read.transcript.messages(), transcript.messages());
    }

    #[test]
    fn every_beginning_of_a_log_is_a_log(acts in vec(acts(), 0..12), cuts in vec(any::<Index>(), 12)) {
        let mut stage = Stage::new();
        acts.into_iter().for_each(|act| stage.carry_out(act));
        let bytes = stage.bytes();
        let ends: Vec<usize> = memchr::memchr_iter(b'\n', &bytes).collect();
        for end in &ends {
            [*end, end + 1].into_iter().for_each(|length| check_prefix(&stage, &bytes, length));
        }
        for cut in cuts {
            check_prefix(&stage, &bytes, cut.index(bytes.len() + 1));
        }
    }

    #[test]
    fn undoing_restores_the_transcript(
        before in vec(acts(), 0..10),
        keep in any::<Index>(),
        own in vec(messages(), 0..3),
        after in vec(messages(), 0..4),
    ) {
        let mut stage = Stage::new();
        before.into_iter().for_each(|act| stage.carry_out(act));
        let mut meant = stage.replay().transcript().into_messages();
        stage.compact(keep, own, None);
        for message in after {
            let message = Message { id: stage.new_id().into(), ordinal: None, ..message };
            stage.say(&message);
            meant.extend(stage.replay().message(&message.id).cloned());
        }
        stage.log().undo(None, None).expect("undone");
        prop_assert_eq!(stage.replay().transcript().into_messages(), meant);
    }

    #[test]
    fn a_fork_is_the_same_session_up_to_a_message(acts in vec(acts(), 0..12), through in any::<Index>()) {
        let mut stage = Stage::new();
        acts.into_iter().for_each(|act| stage.carry_out(act));
        let other = tempfile::tempdir().expect("a folder");
        let new = NewSession { id: "fork".into(), ..new_session() };
        let whole = stage.log().fork(&other.path().join("whole"), &new, None).expect("forked");
        check_same(whole.replay(), stage.replay());
        prop_assert_eq!(whole.replay().info().session_id.as_deref(), Some("fork"));
        if let Some(message) = stage.pick(through) {
            let part = stage.log().fork(&other.path().join("part"), &new, Some(&message.id)).expect("forked");
            let place = stage.replay().position(&message.id).expect("it was picked");
            prop_assert_eq!(part.replay().messages(), &stage.replay().messages()[..=place]);
        }
    }

    #[test]
    fn a_session_told_again_from_memory_is_the_same(acts in vec(acts(), 0..24)) {
        let mut stage = Stage::new();
        acts.into_iter().for_each(|act| stage.carry_out(act));
        let (lines, told) = retell(stage.replay(), &new_session().header());
        let read = Replay::read(lines.as_bytes()).expect("readable");
        prop_assert_eq!(read.warnings(), []);
        check_same(&read, &told);
        // Those that came to stand between older ones are numbered anew.
        let unmarked = |messages: &[Message]| -> Vec<Message> {
            messages.iter().map(|message| Message { ordinal: None, ..message.clone() }).collect()
        };
        let meant = stage.replay();
        let is_in_order = meant.messages().is_sorted_by_key(|message| message.ordinal);
        // What a checkpoint said again under a new id has left a gap in the numbers, which telling closes.
        let is_gapless = (1..).zip(meant.said()).all(|(number, said)| said.ordinal == Some(Ordinal(number)));
        prop_assert_eq!(unmarked(told.messages()), unmarked(meant.messages()));
        prop_assert_eq!(unmarked(told.transcript().messages()), unmarked(meant.transcript().messages()));
        if is_in_order && is_gapless {
            prop_assert_eq!(told.messages(), meant.messages());
        }
        prop_assert_eq!((told.rules(), told.state()), (meant.rules(), meant.state()));
    }
}
