//! Repair of a conversation so that every provider accepts it, without losing content.

use std::collections::{HashMap, HashSet};
use std::fmt;

use serde_json::{Map, Value};

use super::analysis::{Analysis, Spot};
use super::fault::{FaultKind, PairingFault};
use super::shape::MessageShape;
use crate::{
    Body, CallId, Extra, Message, MessageId, Origin, Part, Role, ToolCall, ToolResult, ToolStatus, Vendor,
};

/// A repaired conversation with its repairs.
#[derive(Clone, Debug)]
pub struct Repaired {
    /// The conversation.
    pub messages: Vec<Message>,
    /// The repairs; empty if there were no faults, and then the messages are unchanged.
    pub repairs: Vec<Repair>,
}

/// A repaired fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repair {
    /// The fault.
    pub fault: PairingFault,
}

impl Repair {
    /// A description of the repair.
    pub fn action(&self) -> &'static str {
        match self.fault.kind {
            FaultKind::UnansweredCall => "filled in with a \"no result\" marker",
            FaultKind::OrphanResult | FaultKind::DuplicateResult => "kept as marked text",
            FaultKind::DuplicateCall => "given a new id",
            FaultKind::ResultBeforeCall
            | FaultKind::ResultNotAdjacent
            | FaultKind::TornBatch
            | FaultKind::ResultFromModel => "moved after its call",
            FaultKind::ResultsOutOfOrder => "reordered to match the calls",
            FaultKind::CallFromUser => "kept as marked text",
            FaultKind::ReasoningWithoutCall => "kept as an unsigned thought",
            FaultKind::CallWithoutReasoning => "detached from the missing reasoning",
            FaultKind::EmptyTurn => "removed",
            FaultKind::WrongFirstRole => "marked user message added at the start",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.fault, self.action())
    }
}

/// The replacement for a result that was never recorded.
const NO_RESULT: &str = "[no result was recorded for this call]";
/// The replacement for reasoning that consists of a signature alone.
const SEALED: &str = "[reasoning that only its provider could read]";
/// The replacement for the user's first message if a conversation starts with the model.
const MISSING_START: &str = "[the beginning of this conversation is missing]";

/// Repairs the faults that [`super::find_faults`] finds. Messages without faults come back unchanged, and repairing
/// twice changes nothing more.
pub fn repair(messages: Vec<Message>) -> Repaired {
    let shapes: Vec<MessageShape> = messages.iter().map(MessageShape::of).collect();
    let mut analysis = Analysis::of(&shapes.iter().collect::<Vec<_>>());
    let repairs: Vec<Repair> = analysis.take_faults().into_iter().map(|fault| Repair { fault }).collect();
    if repairs.is_empty() {
        return Repaired { messages, repairs };
    }
    let empty: Vec<bool> = shapes.iter().map(MessageShape::is_empty).collect();
    drop(shapes);
    let new_ids = new_call_ids(&messages, &analysis);
    let mut work = Repairer { messages, analysis, new_ids, moved: HashMap::new(), behind: HashMap::new() };
    work.mend_parts();
    Repaired { messages: work.rebuild(&empty), repairs }
}

struct Repairer {
    messages: Vec<Message>,
    analysis: Analysis,
    new_ids: HashMap<Spot, CallId>,
    /// Results taken out of their messages, to be moved to their calls.
    moved: HashMap<Spot, Part>,
    /// Nested parts of a result that became text, to be placed after that text.
    behind: HashMap<Spot, Vec<Part>>,
}

impl Repairer {
    /// Repairs everything that concerns one part and moves nothing.
    fn mend_parts(&mut self) {
        let Self { messages, analysis, new_ids, moved, behind } = self;
        for (call, id) in new_ids.iter() {
            if let Body::Call(call) = &mut part_at(messages, *call).body {
                call.id = id.clone();
            }
            if let Some(answer) = analysis.answers.get(call)
                && let Body::Result(result) = &mut part_at(messages, *answer).body
            {
                result.call = id.clone();
            }
        }
        for spot in &analysis.spare_results {
            let role = messages[spot.0].role;
            let part = part_at(messages, *spot);
            if let Body::Result(result) = &part.body {
                let name = result.name.as_deref().unwrap_or("an unknown tool");
                let mark = format!("[result of a call that is not here: {name}, call {}]", result.call);
                let text = format!("{mark}\n{}", result.readable());
                let origin = if role == Role::Model { Origin::Model } else { Origin::Tool };
                behind.insert(*spot, stand_alone(&result.nested, origin));
                *part = Part::text(origin, text);
            }
        }
        for spot in &analysis.spare_calls {
            let part = part_at(messages, *spot);
            if let Some(ToolCall { name, args, id, .. }) = part.as_call() {
                let text = format!("[call recorded on the user's side: {name}, call {id}]\n{args}");
                *part = Part::text(Origin::Hook, text);
            }
        }
        for spot in &analysis.loose_thoughts {
            let part = part_at(messages, *spot);
            if let Body::Thought(thought) = &mut part.body {
                let proof = thought.signature.take().map(|signature| signature.value);
                let item = thought.item.take();
                if thought.text.trim().is_empty() {
                    thought.text = SEALED.into();
                }
                detach(part, proof, item);
            }
        }
        for spot in &analysis.loose_calls {
            if let Body::Call(call) = &mut part_at(messages, *spot).body {
                let item = call.reasoning.take();
                detach(part_at(messages, *spot), None, item);
            }
        }
        for calls in analysis.scattered.values() {
            for call in calls {
                if let Some(answer) = analysis.answers.get(call) {
                    let hole = Part::text(Origin::Hook, "");
                    moved.insert(*answer, std::mem::replace(part_at(messages, *answer), hole));
                }
            }
        }
    }

    /// Rebuilds the conversation with each scattered result after its call.
    fn rebuild(mut self, empty: &[bool]) -> Vec<Message> {
        let originals = std::mem::take(&mut self.messages);
        let mut taken: HashSet<MessageId> = originals.iter().map(|message| message.id.clone()).collect();
        let mut rebuilt: Vec<Message> = Vec::with_capacity(originals.len() + 1);
        let mut waiting: Vec<Part> = Vec::new();
        let answer_batches: HashMap<usize, Vec<Part>> = self.answer_batches(&originals);
        let lifted: HashSet<Spot> = self.lifted();
        for (place, mut message) in originals.into_iter().enumerate() {
            if empty[place] {
                continue;
            }
            let mut parts = Vec::with_capacity(message.parts.len());
            for (nth, part) in message.parts.into_iter().enumerate() {
                let spot = (place, nth as u32);
                if lifted.contains(&spot) {
                    continue;
                }
                parts.push(part);
                parts.extend(self.behind.remove(&spot).into_iter().flatten());
            }
            message.parts = parts;
            if message.role == Role::User && !waiting.is_empty() {
                message.parts.splice(0..0, waiting.drain(..));
            }
            if !MessageShape::of(&message).is_empty() {
                rebuilt.push(message);
            }
            if let Some(batch) = answer_batches.get(&place) {
                waiting.clone_from(batch);
            }
        }
        if !waiting.is_empty() {
            let last = rebuilt.last().map_or("start", |message| message.id.as_str());
            let id = free_id(&format!("{last}_response"), &mut taken);
            rebuilt.push(Message::new(id, Role::User, waiting));
        }
        if rebuilt.first().is_some_and(|first| first.role == Role::Model) {
            let id = free_id("lh-start", &mut taken);
            let mark = Part::text(Origin::Hook, MISSING_START);
            rebuilt.insert(0, Message::new(id, Role::User, vec![mark]));
        }
        rebuilt
    }

    /// The results that are moved.
    fn lifted(&self) -> HashSet<Spot> {
        let calls = self.analysis.scattered.values().flatten();
        calls.filter_map(|call| self.analysis.answers.get(call).copied()).collect()
    }

    /// The results to insert after the last message of each scattered turn.
    fn answer_batches(&mut self, originals: &[Message]) -> HashMap<usize, Vec<Part>> {
        let scattered = std::mem::take(&mut self.analysis.scattered);
        let batches = scattered
            .iter()
            .map(|(place, calls)| {
                let batch = calls.iter().map(|call| {
                    let answer = self.analysis.answers.get(call);
                    answer
                        .and_then(|answer| self.moved.remove(answer))
                        .unwrap_or_else(|| no_result(originals, *call))
                });
                (*place, batch.collect())
            })
            .collect();
        self.analysis.scattered = scattered;
        batches
    }
}

/// The nested parts of a result, apart from texts, in a form that can stand alone. Calls, results and signed thoughts
/// would need their counterparts, so they become text.
fn stand_alone(nested: &[Part], origin: Origin) -> Vec<Part> {
    let mut parts = Vec::new();
    for part in nested {
        match &part.body {
            Body::Text(_) => {}
            Body::Thought(thought) => parts.push(Part::text(origin, thought.text.as_str())),
            Body::Call(call) => {
                let ToolCall { name, args, id, .. } = &**call;
                parts.push(Part::text(origin, format!("[call inside a result: {name}, call {id}]\n{args}")));
            }
            Body::Result(result) => {
                let mark = format!("[result inside a result: call {}]", result.call);
                parts.push(Part::text(origin, format!("{mark}\n{}", result.readable())));
                parts.extend(stand_alone(&result.nested, origin));
            }
            Body::Media(_) | Body::File(_) | Body::Opaque(_) => parts.push(part.clone()),
        }
    }
    parts
}

fn no_result(originals: &[Message], call: Spot) -> Part {
    let (id, name) = match &originals[call.0].parts[call.1 as usize].body {
        Body::Call(call) => (call.id.clone(), Some(call.name.clone())),
        _ => (CallId::made_up(call.0), None),
    };
    let answer = ToolResult { name, ..ToolResult::text(id, NO_RESULT).with_status(ToolStatus::Cancelled) };
    Part::result(answer)
}

/// Keeps data that no longer counts for the vendor beside the part, so that nothing is lost.
fn detach(part: &mut Part, proof: Option<String>, item: Option<String>) {
    let kept = [("detachedSignature", proof), ("detachedReasoning", item)];
    let fields: Map<String, Value> =
        kept.into_iter().filter_map(|(key, value)| Some((key.to_string(), Value::String(value?)))).collect();
    match &mut part.extra {
        Some(extra) => extra.fields.extend(fields),
        None => part.extra = Extra::boxed(Vendor::Agent, fields),
    }
}

fn part_at(messages: &mut [Message], spot: Spot) -> &mut Part {
    &mut messages[spot.0].parts[spot.1 as usize]
}

fn new_call_ids(messages: &[Message], analysis: &Analysis) -> HashMap<Spot, CallId> {
    let mut taken: HashSet<CallId> =
        messages.iter().flat_map(|message| message.calls().map(|call| call.id.clone())).collect();
    let mut next: HashMap<CallId, usize> = HashMap::new();
    let mut new_ids = HashMap::new();
    for spot in &analysis.renamed {
        let Some(call) = messages[spot.0].parts[spot.1 as usize].as_call() else { continue };
        let count = next.entry(call.id.clone()).or_insert(1);
        let id = loop {
            *count += 1;
            let id = CallId::new(format!("{}-{count}", call.id));
            if taken.insert(id.clone()) {
                break id;
            }
        };
        new_ids.insert(*spot, id);
    }
    new_ids
}

fn free_id(wanted: &str, taken: &mut HashSet<MessageId>) -> MessageId {
    let mut id = MessageId::new(wanted);
    let mut count = 1;
    while !taken.insert(id.clone()) {
        count += 1;
        id = MessageId::new(format!("{wanted}-{count}"));
    }
    id
}

#[cfg(test)]
mod tests {
    use super::super::check::find_faults_in;
    use super::super::sound::is_sound;
    use super::*;
    use crate::{FaultKind as K, Media, MediaData, Signature, Thought, find_faults};
    use proptest::prelude::*;

    /// Parses `u:hi | m:call(a) call(b) | u:result(b) result(a)`; every part carries its own number as content.
    fn conversation(sketch: &str) -> Vec<Message> {
        let mut count = 0;
        sketch
            .split('|')
            .enumerate()
            .filter(|(_, message)| !message.trim().is_empty())
            .map(|(nth, message)| {
                let (role, parts) = message.trim().split_once(':').expect("role: parts");
                let role = if role == "u" { Role::User } else { Role::Model };
                let parts = parts.split_whitespace().map(|word| {
                    count += 1;
                    part(word, role, count)
                });
                Message::new(format!("m{nth}"), role, parts.collect())
            })
            .collect()
    }

    fn part(word: &str, role: Role, count: usize) -> Part {
        let (kind, argument) = word.trim_end_matches(')').split_once('(').unwrap_or((word, ""));
        let origin = if role == Role::User { Origin::User } else { Origin::Model };
        match kind {
            "call" => {
                let (id, reasoning) = argument.split_once('<').unwrap_or((argument, ""));
                let mut call =
                    ToolCall::new(id, "tool").with_args(serde_json::json!({"say": format!("#{count}.")}));
                call.reasoning = (!reasoning.is_empty()).then(|| reasoning.to_string());
                Part::call(call)
            }
            "result" => Part::result(ToolResult::text(argument, format!("#{count}."))),
            "picture" => {
                let nested = Part::new(
                    Origin::Tool,
                    Body::Media(Box::new(Media {
                        mime: "image/png".into(),
                        data: MediaData::Base64(format!("#{count}.")),
                    })),
                );
                Part::result(ToolResult { nested: vec![nested], ..ToolResult::text(argument, "seen") })
            }
            "thought" => Part::thought(Thought {
                text: format!("#{count}."),
                signature: Some(Signature { vendor: Vendor::Anthropic, value: "s".into() }),
                item: (!argument.is_empty()).then(|| argument.to_string()),
            }),
            "sealed" => Part::thought(Thought {
                text: String::new(),
                signature: Some(Signature { vendor: Vendor::Anthropic, value: format!("#{count}.") }),
                item: None,
            }),
            "blank" => Part::text(origin, " "),
            _ => Part::text(origin, format!("{word} #{count}.")),
        }
    }

    fn sketch(messages: &[Message]) -> String {
        let part = |part: &Part| match &part.body {
            Body::Call(call) => format!("call({})", call.id),
            Body::Result(result) if result.readable() == NO_RESULT => format!("none({})", result.call),
            Body::Result(result) => format!("result({})", result.call),
            Body::Thought(thought) => if thought.signature.is_some() { "thought" } else { "unsigned" }.into(),
            Body::Text(text) if text.starts_with('[') => "mark".into(),
            Body::Media(_) => "media".into(),
            Body::Text(text) => text.split(' ').next().unwrap_or_default().to_string(),
            _ => "other".into(),
        };
        let message = |message: &Message| {
            let parts: Vec<String> = message.parts.iter().map(part).collect();
            format!("{}:{}", &message.role.as_str()[..1], parts.join(" "))
        };
        messages.iter().map(message).collect::<Vec<_>>().join(" | ")
    }

    #[track_caller]
    fn check(before: &str, faults: &[K], after: &str) {
        let messages = conversation(before);
        let found: Vec<K> = find_faults(&messages).iter().map(|fault| fault.kind).collect();
        assert_eq!(found, faults, "{before}");
        assert_eq!(sketch(&repair(messages).messages), after, "{before}");
    }

    #[test]
    fn valid_conversations_have_no_faults() {
        for valid in [
            "",
            "u:hi",
            "u:hi | m:hello",
            "u:hi | m:call(a) | u:result(a) | m:done",
            "u:hi | m:call(a) call(b) | u:result(a) | u:result(b) more | m:done",
            "u:hi | m:ok | m:call(a) | m:call(b) | u:blank result(a) result(b)",
            "u:hi | u:there | m:thought call(a) | u:result(a) next",
            "u:hi | m:thought(r1) call(a<r1) | u:result(a)",
        ] {
            check(valid, &[], &sketch(&conversation(valid)));
        }
    }

    #[test]
    fn an_unanswered_call_is_answered() {
        check("u:hi | m:call(a)", &[K::UnansweredCall], "u:hi | m:call(a) | u:none(a)");
        check("u:hi | m:call(a) | u:stop", &[K::UnansweredCall], "u:hi | m:call(a) | u:none(a) stop");
        check(
            "u:hi | m:call(a) call(b) | u:result(b)",
            &[K::UnansweredCall],
            "u:hi | m:call(a) call(b) | u:none(a) result(b)",
        );
    }

    #[test]
    fn a_result_without_its_call_is_kept_as_text() {
        check("u:result(a) | m:ok", &[K::OrphanResult], "u:mark | m:ok");
        check("u:picture(a) after | m:ok", &[K::OrphanResult], "u:mark media after | m:ok");
        check(
            "u:hi | m:call(a) | u:result(a) result(a)",
            &[K::DuplicateResult],
            "u:hi | m:call(a) | u:result(a) mark",
        );
    }

    #[test]
    fn what_stands_inside_such_a_result_is_kept_too() {
        let nested = vec![
            Part::call(ToolCall::new("inner", "ls")),
            Part::result(ToolResult::text("inner", "a.txt")),
            Part::thought(crate::Thought { text: "hm".into(), item: Some("r".into()), ..Default::default() }),
            Part::opaque(Origin::Tool, Vendor::Agent, Value::Null),
        ];
        let orphan = Part::result(ToolResult { nested, ..ToolResult::text("outer", "listed") });
        let repaired = repair(vec![Message::new("u", Role::User, vec![orphan])]).messages;
        assert_eq!(crate::find_faults(&repaired), []);
        let texts: Vec<_> = repaired[0].parts.iter().filter_map(Part::as_text).collect();
        assert_eq!(
            texts,
            [
                "[result of a call that is not here: an unknown tool, call outer]\nlisted",
                "[call inside a result: ls, call inner]\n{}",
                "[result inside a result: call inner]\na.txt",
                "hm",
            ]
        );
        assert!(matches!(repaired[0].parts[4].body, Body::Opaque(_)));
    }

    #[test]
    fn results_return_to_their_calls() {
        check(
            "u:hi | m:call(a) | u:wait result(a)",
            &[K::ResultNotAdjacent],
            "u:hi | m:call(a) | u:result(a) wait",
        );
        check(
            "u:hi | m:call(a) | u:wait | m:ok | u:result(a)",
            &[K::ResultNotAdjacent],
            "u:hi | m:call(a) | u:result(a) wait | m:ok",
        );
        check(
            "u:hi | m:call(a) call(b) | u:result(a) | m:ok | u:result(b)",
            &[K::TornBatch],
            "u:hi | m:call(a) call(b) | u:result(a) result(b) | m:ok",
        );
        check(
            "u:hi | m:call(a) call(b) | u:result(b) result(a)",
            &[K::ResultsOutOfOrder],
            "u:hi | m:call(a) call(b) | u:result(a) result(b)",
        );
        check("u:result(a) hi | m:call(a)", &[K::ResultBeforeCall], "u:hi | m:call(a) | u:result(a)");
        check("u:hi | m:call(a) result(a)", &[K::ResultFromModel], "u:hi | m:call(a) | u:result(a)");
    }

    #[test]
    fn repeated_call_ids_are_told_apart() {
        check(
            "u:hi | m:call(a) | u:result(a) | m:call(a) | u:result(a)",
            &[K::DuplicateCall],
            "u:hi | m:call(a) | u:result(a) | m:call(a-2) | u:result(a-2)",
        );
        check(
            "u:hi | m:call(a) call(a) call(a-2) | u:result(a)",
            &[K::DuplicateCall, K::UnansweredCall, K::UnansweredCall],
            "u:hi | m:call(a) call(a-3) call(a-2) | u:none(a) result(a-3) none(a-2)",
        );
    }

    #[test]
    fn reasoning_stays_with_what_it_led_to() {
        check("u:hi | m:thought", &[K::ReasoningWithoutCall], "u:hi | m:unsigned");
        check("u:hi | m:sealed | u:next", &[K::ReasoningWithoutCall], "u:hi | m:unsigned | u:next");
        check(
            "u:hi | m:call(a<r1) | u:result(a)",
            &[K::CallWithoutReasoning],
            "u:hi | m:call(a) | u:result(a)",
        );
    }

    #[test]
    fn empty_turns_and_wrong_starts_are_mended() {
        check("u:hi | m:blank | u:more", &[K::EmptyTurn], "u:hi | u:more");
        check("m:hello | u:hi", &[K::WrongFirstRole], "u:mark | m:hello | u:hi");
        check("u:call(a) | m:ok", &[K::CallFromUser], "u:mark | m:ok");
    }

    fn any_conversation() -> impl Strategy<Value = String> {
        let part = prop::sample::select(vec![
            "text",
            "blank",
            "call(a)",
            "call(b)",
            "call(c)",
            "call(a<r)",
            "result(a)",
            "result(b)",
            "result(c)",
            "picture(a)",
            "thought",
            "thought(r)",
            "sealed",
        ]);
        let message = (prop::bool::ANY, prop::collection::vec(part, 0..4))
            .prop_map(|(user, parts)| format!("{}: {}", if user { "u" } else { "m" }, parts.join(" ")));
        prop::collection::vec(message, 0..9).prop_map(|messages| messages.join("|"))
    }

    /// Conversations most of which are sound.
    fn likely_sound() -> impl Strategy<Value = String> {
        let messages = prop::sample::select(vec![
            "u: text",
            "m: text",
            "m: thought call(#) call(#+)|u: result(#) result(#+) text",
            "m: sealed call(#)|m: call(#+)|u: result(#)|u: result(#+)",
            "m: call(#)|u: result(#)",
            "m: sealed text blank",
            "m: text sealed|m: text",
            "m: call(#)|u: text result(#)",
            "m: text|u: blank",
        ]);
        prop::collection::vec(messages, 0..6).prop_map(|messages| {
            let numbered = messages.iter().enumerate().map(|(nth, message)| {
                message.replace("#+", &format!("b{nth}")).replace('#', &format!("a{nth}"))
            });
            format!("u: text|{}", numbered.collect::<Vec<_>>().join("|"))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        #[test]
        fn what_is_sound_has_no_faults(sketched in prop_oneof![any_conversation(), likely_sound()]) {
            let messages = conversation(&sketched);
            let shapes: Vec<MessageShape> = messages.iter().map(MessageShape::of).collect();
            let faults = find_faults_in(&shapes);
            // Only if calls name their reasoning may a closer look find that nothing is wrong.
            let is_sound = is_sound(&messages);
            let names_reasoning = sketched.contains('<');
            prop_assert!(is_sound == faults.is_empty() || names_reasoning && !is_sound, "{:?}", faults);
        }

        #[test]
        fn any_conversation_becomes_acceptable_and_loses_nothing(sketched in any_conversation()) {
            let messages = conversation(&sketched);
            let faults = find_faults(&messages);
            let repaired = repair(messages.clone());
            prop_assert_eq!(find_faults(&repaired.messages), vec![]);
            prop_assert_eq!(faults.len(), repaired.repairs.len());
            if faults.is_empty() {
                prop_assert_eq!(&repaired.messages, &messages);
            }
            let twice = repair(repaired.messages.clone());
            prop_assert_eq!(twice.repairs.len(), 0);
            let (before, after) = (format!("{messages:?}"), format!("{:?}", repaired.messages));
            for number in 1..100 {
                let content = format!("#{number}.");
                prop_assert_eq!(before.matches(&content).count(), after.matches(&content).count(), "{}", content);
            }
        }
    }
}
