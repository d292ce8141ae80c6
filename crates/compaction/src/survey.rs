//! Folds a session of any size into a [`Breakdown`], keeping a few figures of each message and none of its content.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use longhaul_conversation::{
    Body, CallId, Change, Estimate, Estimator, Message, MessageId, MessageShape, Ordinal, Origin, Part, Role,
    Sequence, Timestamp, TokenCount, ToolCall, ToolDeclaration, ToolStatus, find_faults_in,
};
use serde_json::Value;

use crate::breakdown::{Breakdown, FileTokens, Kind, KindTokens, MessageTokens, ToolTokens, TurnTokens};
use crate::counts::{CountHistory, MeasuredMessage};

/// Survey of a conversation that changes: knows at any time where its tokens are.
///
/// ```
/// use longhaul_compaction::Survey;
/// use longhaul_conversation::{Change, Message, Part, Role};
///
/// let mut survey = Survey::default();
/// survey.apply(&Change::Put(Message::new("u1", Role::User, vec![Part::user_text("Hello there, world!")])));
/// let breakdown = survey.breakdown(&[], &[]);
/// assert_eq!(breakdown.total.0, 4);
/// assert_eq!(breakdown.turns.len(), 1);
/// ```
#[derive(Debug, Default)]
pub struct Survey {
    reader: FactReader,
    facts: Sequence<Facts>,
    total: Estimate,
    /// The total by kind, in the order of [`Kind::ALL`].
    by_kind: [Estimate; Kind::ALL.len()],
    growth: Growth,
    dropped: Estimate,
    counts: CountHistory,
}

/// The state that turns parts into facts.
#[derive(Debug, Default)]
struct FactReader {
    estimator: Estimator,
    tools: Names,
    files: Names,
    /// The tool and the file of each call.
    calls: HashMap<CallId, Use>,
    heavy: Heavy,
}

/// The sizes of the heaviest messages so far.
#[derive(Debug, Default)]
struct Heavy(BinaryHeap<Reverse<u64>>);

impl Heavy {
    /// Many more than are shown, as messages may be taken back later.
    const KEPT: usize = 16 * HEAVIEST;

    /// Tells whether a message of this size is among the heaviest.
    fn admits(&mut self, size: Estimate) -> bool {
        let size = size.tokens().0;
        if self.0.len() < Self::KEPT {
            self.0.push(Reverse(size));
            return true;
        }
        let Reverse(smallest) = self.0.peek().copied().unwrap_or(Reverse(0));
        if size > smallest {
            self.0.pop();
            self.0.push(Reverse(size));
        }
        size > smallest
    }
}

/// Facts that are kept of a message.
#[derive(Debug)]
struct Facts {
    ordinal: Option<Ordinal>,
    role: Role,
    at: Option<Timestamp>,
    parts: usize,
    size: Estimate,
    /// The provider's count of the request that it answers, unless that is stale.
    counted: Option<TokenCount>,
    kinds: Vec<(Kind, Estimate)>,
    uses: Vec<(Use, Step, Estimate)>,
    typed: Option<Box<str>>,
    preview: Box<str>,
    shape: MessageShape,
}

/// The tool and the file that a call concerns, by number.
#[derive(Clone, Copy, Debug)]
struct Use {
    tool: u32,
    file: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Call,
    Result { failed: bool },
}

/// Number of messages that are listed as the heaviest.
const HEAVIEST: usize = 10;
/// Most characters of a preview.
const PREVIEW: usize = 160;

impl Survey {
    /// A survey that estimates with the given weights.
    pub fn new(estimator: Estimator) -> Self {
        Self { reader: FactReader { estimator, ..FactReader::default() }, ..Self::default() }
    }

    /// Follows one change of the conversation.
    pub fn apply(&mut self, change: &Change) {
        let measured = |facts: &Facts| (facts.shape.id().clone(), facts.measured());
        self.counts.observe(change, |_| self.facts.as_slice().iter().map(measured).collect::<Vec<_>>());
        match change {
            Change::Put(message) => {
                let facts = self.facts_of(message);
                self.count_in(&facts);
                let before = self.facts.put(message.id.clone(), facts);
                self.count_out(before.as_slice());
            }
            Change::PutAfter { after, message } => {
                let facts = self.facts_of(message);
                self.count_in(&facts);
                let before = self.facts.put_after(after, message.id.clone(), facts);
                self.count_out(before.as_slice());
            }
            Change::Extend { id, parts } => self.extend(id, parts),
            Change::RewindTo(id) => {
                let taken = self.facts.rewind_to(id);
                self.drop_all(&taken);
            }
            Change::Counted(usage) => {
                let answer = self.facts.as_slice().iter().rev().find(|facts| facts.role == Role::Model);
                let id = answer.map(|facts| facts.shape.id().clone());
                if let Some(facts) = id.and_then(|id| self.facts.get_mut(&id)) {
                    facts.counted = usage.input.filter(|counted| *counted > TokenCount::ZERO);
                }
                return;
            }
            Change::Restart => {
                let taken = self.facts.take_all();
                self.drop_all(&taken);
            }
        }
        self.growth.push(self.total.tokens());
    }

    fn facts_of(&mut self, message: &Message) -> Facts {
        Facts { counted: self.counts.count_of(message), ..self.reader.facts_of(message) }
    }

    fn count_in(&mut self, facts: &Facts) {
        self.total += facts.size;
        for (kind, size) in &facts.kinds {
            self.by_kind[*kind as usize] += *size;
        }
    }

    fn count_out(&mut self, taken: &[Facts]) {
        for facts in taken {
            self.total -= facts.size;
            for (kind, size) in &facts.kinds {
                self.by_kind[*kind as usize] -= *size;
            }
        }
    }

    fn drop_all(&mut self, taken: &[Facts]) {
        self.count_out(taken);
        self.dropped += taken.iter().map(|facts| facts.size).sum();
    }

    /// The tokens of the messages now, by estimate: of each kind, in the order of [`Kind::ALL`].
    pub fn tokens_by_kind(&self) -> [TokenCount; Kind::ALL.len()] {
        self.by_kind.map(Estimate::tokens)
    }

    fn extend(&mut self, id: &MessageId, parts: &[Part]) {
        let Some(facts) = self.facts.get_mut(id) else { return };
        self.total -= facts.size;
        for (kind, size) in &facts.kinds {
            self.by_kind[*kind as usize] -= *size;
        }
        facts.shape.extend(parts, facts.parts);
        self.reader.add_parts(facts, parts);
        self.total += facts.size;
        for (kind, size) in &facts.kinds {
            self.by_kind[*kind as usize] += *size;
        }
    }

    /// Breakdown of the tokens now by estimate, with the system instruction and tools given beside the messages.
    pub fn breakdown(&self, system: &[Part], tools: &[ToolDeclaration]) -> Breakdown {
        let mut kinds: Vec<(Kind, Estimate)> = Vec::new();
        // Whole tokens: a plan counts what stands beside the messages like that, and both must tell the same size.
        let whole = |size: Estimate| Estimate::from(size.tokens());
        let beside = whole(system.iter().map(|part| self.reader.estimator.part(part)).sum());
        let declared = whole(tools.iter().map(|tool| self.reader.estimator.tool(tool)).sum());
        add(&mut kinds, Kind::System, beside + declared);
        for facts in self.facts.as_slice() {
            for (kind, size) in &facts.kinds {
                add(&mut kinds, *kind, *size);
            }
        }
        kinds.sort_by_key(|(kind, _)| *kind);
        let kinds = kinds.into_iter().map(|(kind, size)| KindTokens { kind, tokens: size.tokens() });
        let (tools, files) = self.uses();
        let count = |step: fn(&Step) -> bool| {
            let uses = self.facts.as_slice().iter().flat_map(|facts| &facts.uses);
            uses.filter(|(_, at, _)| step(at)).count()
        };
        Breakdown {
            total: (self.total + beside + declared).tokens(),
            counted: None,
            kinds: kinds.filter(|kind| kind.tokens > TokenCount::ZERO).collect(),
            tools,
            files,
            turns: self.turns(),
            heaviest: self.heaviest(),
            messages: self.facts.as_slice().len(),
            calls: count(|step| *step == Step::Call),
            results: count(|step| *step != Step::Call),
            growth: self.growth.samples(),
            dropped: self.dropped.tokens(),
            faults: find_faults_in(self.facts.as_slice().iter().map(|facts| &facts.shape)),
        }
    }

    /// Breakdown of the tokens now as the provider counts them: every figure follows its newest count. Where it counted
    /// nothing, estimates are multiplied by `scale`, what is known of the model's way of counting.
    pub fn counted_breakdown(&self, system: &[Part], tools: &[ToolDeclaration], scale: f64) -> Breakdown {
        let estimated = self.breakdown(system, tools);
        let beside = Estimate::from(estimated.total) + self.total.scaled(-1.0);
        let messages: Vec<_> = self.facts.as_slice().iter().map(Facts::measured).collect();
        match self.counts.size(&messages, beside) {
            Some(counted) => estimated.scaled(counted.scale).following(counted),
            None => estimated.scaled(scale),
        }
    }

    fn uses(&self) -> (Vec<ToolTokens>, Vec<FileTokens>) {
        #[derive(Clone, Copy, Default)]
        struct Sums {
            calls: usize,
            failures: usize,
            arguments: Estimate,
            output: Estimate,
        }
        let mut tools = vec![Sums::default(); self.reader.tools.len()];
        let mut files = vec![Sums::default(); self.reader.files.len()];
        for (used, step, size) in self.facts.as_slice().iter().flat_map(|facts| &facts.uses) {
            let tool = Some(&mut tools[used.tool as usize]);
            let file = used.file.map(|file| &mut files[file as usize]);
            for sums in tool.into_iter().chain(file) {
                match step {
                    Step::Call => {
                        sums.calls += 1;
                        sums.arguments += *size;
                    }
                    Step::Result { failed } => {
                        sums.failures += usize::from(*failed);
                        sums.output += *size;
                    }
                }
            }
        }
        let seen = |sums: &Sums| sums.calls > 0 || sums.output > Estimate::ZERO;
        let mut tools: Vec<ToolTokens> = (0..)
            .zip(tools)
            .filter(|(_, sums)| seen(sums))
            .map(|(number, sums)| ToolTokens {
                name: self.reader.tools.name(number).to_string(),
                calls: sums.calls,
                failures: sums.failures,
                arguments: sums.arguments.tokens(),
                output: sums.output.tokens(),
            })
            .collect();
        tools.sort_by(|a, b| b.tokens().cmp(&a.tokens()).then_with(|| a.name.cmp(&b.name)));
        let mut files: Vec<FileTokens> = (0..)
            .zip(files)
            .filter(|(_, sums)| seen(sums))
            .map(|(number, sums)| FileTokens {
                path: self.reader.files.name(number).to_string(),
                calls: sums.calls,
                tokens: (sums.arguments + sums.output).tokens(),
            })
            .collect();
        files.sort_by(|a, b| b.tokens.cmp(&a.tokens).then_with(|| a.path.cmp(&b.path)));
        (tools, files)
    }

    fn turns(&self) -> Vec<TurnTokens> {
        let mut turns: Vec<(TurnTokens, Estimate)> = Vec::new();
        for facts in self.facts.as_slice() {
            if facts.typed.is_some() || turns.is_empty() {
                let turn = TurnTokens {
                    message: facts.shape.id().clone(),
                    ordinal: facts.ordinal,
                    preview: facts.typed.as_deref().unwrap_or_default().to_string(),
                    messages: 0,
                    calls: 0,
                    tokens: TokenCount::ZERO,
                };
                turns.push((turn, Estimate::ZERO));
            }
            let (turn, size) = turns.last_mut().expect("there is a turn by now");
            turn.messages += 1;
            turn.calls += facts.uses.iter().filter(|(_, step, _)| *step == Step::Call).count();
            *size += facts.size;
        }
        turns.into_iter().map(|(turn, size)| TurnTokens { tokens: size.tokens(), ..turn }).collect()
    }

    fn heaviest(&self) -> Vec<MessageTokens> {
        let mut messages: Vec<&Facts> = self.facts.as_slice().iter().collect();
        // A stable sort: of equals the earlier one comes first.
        messages.sort_by(|a, b| b.size.partial_cmp(&a.size).unwrap_or(std::cmp::Ordering::Equal));
        let heaviest =
            messages.into_iter().take(HEAVIEST).filter(|facts| facts.size.tokens() > TokenCount::ZERO);
        heaviest
            .map(|facts| MessageTokens {
                message: facts.shape.id().clone(),
                ordinal: facts.ordinal,
                role: facts.role,
                at: facts.at,
                kind: facts.main_kind(),
                preview: facts.preview.to_string(),
                tokens: facts.size.tokens(),
            })
            .collect()
    }
}

impl FactReader {
    fn facts_of(&mut self, message: &Message) -> Facts {
        let mut facts = Facts {
            ordinal: message.ordinal,
            role: message.role,
            at: message.at,
            parts: 0,
            size: Estimate::ZERO,
            counted: None,
            kinds: Vec::new(),
            uses: Vec::new(),
            typed: None,
            preview: "".into(),
            shape: MessageShape::of(message),
        };
        self.add_parts(&mut facts, &message.parts);
        facts
    }

    fn add_parts(&mut self, facts: &mut Facts, parts: &[Part]) {
        facts.parts += parts.len();
        for part in parts {
            let size = self.estimator.part(part);
            facts.size += size;
            add(&mut facts.kinds, kind_of(part), size);
            match &part.body {
                Body::Call(call) => {
                    let used = Use {
                        tool: self.tools.number(&call.name),
                        file: file_of(call).map(|path| self.files.number(path)),
                    };
                    self.calls.insert(call.id.clone(), used);
                    facts.uses.push((used, Step::Call, size));
                }
                Body::Result(result) => {
                    let tools = &mut self.tools;
                    let used = self.calls.get(&result.call).copied().unwrap_or_else(|| Use {
                        tool: tools.number(result.name.as_deref().unwrap_or("(unknown tool)")),
                        file: None,
                    });
                    let failed = result.status == ToolStatus::Failed;
                    facts.uses.push((used, Step::Result { failed }, size));
                }
                Body::Text(text) if part.origin == Origin::User && facts.typed.is_none() => {
                    facts.typed = (!text.trim().is_empty()).then(|| preview(text).into());
                }
                _ => {}
            }
        }
        facts.kinds.shrink_to_fit();
        facts.uses.shrink_to_fit();
        // Only the heaviest are shown, so only what may be among them keeps a preview.
        if facts.preview.is_empty() && self.heavy.admits(facts.size) {
            let shown = parts.iter().map(|part| self.part_preview(part)).find(|preview| !preview.is_empty());
            facts.preview = shown.unwrap_or_default().into();
        }
    }

    fn part_preview(&self, part: &Part) -> String {
        match &part.body {
            Body::Text(text) => preview(text),
            Body::Thought(thought) => preview(&thought.text),
            Body::Call(call) => match file_of(call) {
                Some(path) => preview(&format!("{} {path}", call.name)),
                None => preview(&format!("{} {}", call.name, first_argument(&call.args))),
            },
            Body::Result(result) => {
                let tool = self.calls.get(&result.call).map(|used| self.tools.name(used.tool));
                let file =
                    self.calls.get(&result.call).and_then(|used| used.file).map(|file| self.files.name(file));
                let name = tool.or(result.name.as_deref()).unwrap_or("(unknown tool)");
                match file {
                    Some(path) => preview(&format!("{name} → {path}")),
                    None => preview(&format!("{name} → {}", beginning(&result.readable()))),
                }
            }
            Body::Media(media) => media.mime.clone(),
            Body::File(file) => preview(&file.uri),
            Body::Opaque(opaque) => {
                let kind = opaque.value.get("type").and_then(Value::as_str);
                kind.unwrap_or("(unknown item)").to_string()
            }
        }
    }
}

impl Facts {
    fn measured(&self) -> MeasuredMessage {
        MeasuredMessage { size: self.size, counted: self.counted }
    }

    fn main_kind(&self) -> Kind {
        let heaviest =
            self.kinds.iter().max_by(|(_, a), (_, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
        heaviest.map_or(Kind::Other, |(kind, _)| *kind)
    }
}

fn add(kinds: &mut Vec<(Kind, Estimate)>, kind: Kind, size: Estimate) {
    match kinds.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, sum)) => *sum += size,
        None => kinds.push((kind, size)),
    }
}

fn kind_of(part: &Part) -> Kind {
    match (&part.body, part.origin) {
        (Body::Call(_), _) => Kind::CallArguments,
        (Body::Result(_), _) => Kind::ToolOutput,
        (Body::Thought(_), _) => Kind::Thoughts,
        (Body::Media(_) | Body::File(_), _) => Kind::Media,
        (Body::Opaque(_), _) => Kind::Other,
        (Body::Text(_), Origin::User) => Kind::User,
        (Body::Text(_), Origin::Model) => Kind::ModelText,
        (Body::Text(_), Origin::Tool) => Kind::ToolOutput,
        (Body::Text(_), Origin::Memory) => Kind::Memory,
        (Body::Text(_), Origin::Hook) => Kind::Added,
        (Body::Text(_), Origin::Summary) => Kind::Summary,
    }
}

/// Argument names under which tools take the one file they are about.
const PATH_KEYS: &[&str] = &[
    "file_path",
    "absolute_path",
    "filePath",
    "notebook_path",
    "path",
    "target_file",
    "filename",
    "file",
    "rel_path",
];

/// The file a call is about. Tools that look through folders are about no file.
fn file_of(call: &ToolCall) -> Option<&str> {
    let name = call.name.to_ascii_lowercase();
    if ["list", "glob", "grep", "search", "find"].iter().any(|word| name.contains(word)) || name == "ls" {
        return None;
    }
    let path = PATH_KEYS.iter().find_map(|key| call.args.get(key)?.as_str())?;
    (!path.is_empty() && path.len() < 1024 && !path.contains('\n')).then_some(path)
}

fn first_argument(args: &Value) -> String {
    match args {
        Value::String(text) => text.clone(),
        Value::Object(fields) => match fields.values().next() {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => String::new(),
        },
        other => other.to_string(),
    }
}

/// As much of a text as a preview could show.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(8 * PREVIEW)]
}

/// The beginning of a text on one line.
fn preview(text: &str) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        if count > 0 {
            line.push(' ');
            count += 1;
        }
        for character in word.chars() {
            if count == PREVIEW {
                line.push('…');
                return line;
            }
            line.push(character);
            count += 1;
        }
    }
    line
}

/// Names with numbers, so that a message keeps only the number.
#[derive(Debug, Default)]
struct Names {
    names: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len() as u32;
        self.names.push(name.into());
        self.numbers.insert(name.into(), number);
        number
    }

    fn name(&self, number: u32) -> &str {
        &self.names[number as usize]
    }

    fn len(&self) -> usize {
        self.names.len()
    }
}

/// The size over time in a bounded number of samples: when they are full, every other one is dropped and only every
/// other step is kept from then on.
#[derive(Debug)]
struct Growth {
    samples: Vec<TokenCount>,
    every: usize,
    steps: usize,
    last: TokenCount,
}

impl Default for Growth {
    fn default() -> Self {
        Self { samples: Vec::new(), every: 1, steps: 0, last: TokenCount::ZERO }
    }
}

impl Growth {
    const SAMPLES: usize = 512;

    fn push(&mut self, size: TokenCount) {
        self.last = size;
        if self.steps.is_multiple_of(self.every) {
            self.samples.push(size);
        }
        self.steps += 1;
        if self.samples.len() == Self::SAMPLES {
            let mut keep = false;
            self.samples.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }

    fn samples(&self) -> Vec<TokenCount> {
        let mut samples = self.samples.clone();
        if samples.last() != Some(&self.last) {
            samples.push(self.last);
        }
        samples
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{ToolResult, find_faults};
    use serde_json::json;

    use super::*;

    fn user(id: &str, text: &str) -> Change {
        Change::Put(Message::new(id, Role::User, vec![Part::user_text(text)]))
    }

    fn model(id: &str, parts: Vec<Part>) -> Change {
        Change::Put(Message::new(id, Role::Model, parts))
    }

    fn call(id: &str, name: &str, args: Value) -> Part {
        Part::call(ToolCall::new(id, name).with_args(args))
    }

    fn answer(id: &str, call: &str, text: &str) -> Change {
        Change::Put(Message::new(id, Role::User, vec![Part::result(ToolResult::text(call, text))]))
    }

    fn survey(changes: &[Change]) -> Breakdown {
        let mut survey = Survey::default();
        changes.iter().for_each(|change| survey.apply(change));
        survey.breakdown(&[], &[])
    }

    #[test]
    fn tokens_are_told_apart_by_kind_tool_file_and_turn() {
        let breakdown = survey(&[
            user("u1", &"a".repeat(40)),
            model(
                "m1",
                vec![
                    Part::model_text("b".repeat(80)),
                    call("c1", "read_file", json!({"file_path": "/x/a.rs"})),
                ],
            ),
            answer("r1", "c1", &"c".repeat(4000)),
            user("u2", &"d".repeat(8)),
            model("m2", vec![call("c2", "grep", json!({"path": "/x"}))]),
            answer("r2", "c2", "none"),
        ]);
        let kinds: Vec<_> = breakdown.kinds.iter().map(|kind| (kind.kind.as_str(), kind.tokens.0)).collect();
        assert_eq!(kinds[..2], [("user", 12), ("model_text", 20)]);
        assert_eq!(kinds[3], ("tool_output", 1001));
        let tools: Vec<_> =
            breakdown.tools.iter().map(|tool| (tool.name.as_str(), tool.calls, tool.output.0)).collect();
        assert_eq!(tools, [("read_file", 1, 1000), ("grep", 1, 1)]);
        assert_eq!(breakdown.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>(), ["/x/a.rs"]);
        let turns: Vec<_> =
            breakdown.turns.iter().map(|turn| (turn.message.as_str(), turn.messages, turn.calls)).collect();
        assert_eq!(turns, [("u1", 3, 1), ("u2", 3, 1)]);
        assert_eq!(breakdown.heaviest[0].message.as_str(), "r1");
        assert_eq!(breakdown.heaviest[0].preview, "read_file → /x/a.rs");
        assert_eq!((breakdown.messages, breakdown.calls, breakdown.results), (6, 2, 2));
    }

    #[test]
    fn what_stands_beside_the_messages_counts_in_whole_tokens() {
        let mut survey = Survey::default();
        survey.apply(&user("u1", "abc"));
        let system = [Part::text(Origin::Hook, "abc")];
        assert_eq!(survey.breakdown(&system, &[]).total.0, 0);
        let options = crate::PlanOptions {
            fixed: crate::Fixed { system: Estimator::default().parts(&system), ..Default::default() },
            ..crate::PlanOptions::new(TokenCount(1_000))
        };
        let messages = [Message::new("u1", Role::User, vec![Part::user_text("abc")])];
        let tracker = crate::Tracker::default();
        let prepared = crate::PreparedMessages::as_given(&messages);
        assert_eq!(crate::plan(&crate::Input::new(&tracker, &prepared, &options)).before.0, 0);
    }

    #[test]
    fn what_is_taken_back_no_longer_counts() {
        let breakdown = survey(&[
            user("u1", &"a".repeat(40)),
            user("u2", &"a".repeat(400)),
            Change::RewindTo("u2".into()),
            Change::Restart,
            user("u3", "abcd"),
        ]);
        assert_eq!((breakdown.total.0, breakdown.dropped.0, breakdown.messages), (1, 110, 1));
        assert_eq!(breakdown.growth.iter().map(|size| size.0).collect::<Vec<_>>(), [10, 110, 10, 0, 1]);
    }

    #[test]
    fn kinds_follow_every_change() {
        let mut survey = Survey::default();
        let changes = [
            user("u1", &"a".repeat(40)),
            model("m1", vec![Part::model_text("b".repeat(80))]),
            Change::Extend { id: "m1".into(), parts: vec![Part::model_text("b".repeat(40))] },
            user("u2", &"a".repeat(400)),
            Change::RewindTo("u2".into()),
            user("u1", &"a".repeat(80)),
        ];
        let seen: Vec<(u64, u64)> = changes
            .iter()
            .map(|change| {
                survey.apply(change);
                let kinds = survey.tokens_by_kind();
                (kinds[Kind::User as usize].0, kinds[Kind::ModelText as usize].0)
            })
            .collect();
        assert_eq!(seen, [(10, 0), (10, 20), (10, 30), (110, 30), (10, 30), (20, 30)]);
        survey.apply(&Change::Restart);
        assert_eq!(survey.tokens_by_kind(), [TokenCount::ZERO; Kind::ALL.len()]);
    }

    #[test]
    fn a_message_that_goes_on_is_one_message() {
        let breakdown = survey(&[
            user("u", "hi"),
            model("m", vec![call("a", "ls", json!({}))]),
            answer("r1", "a", "x"),
            Change::Extend { id: "m".into(), parts: vec![call("b", "ls", json!({}))] },
            answer("r2", "b", "y"),
        ]);
        assert_eq!((breakdown.messages, breakdown.calls), (4, 2));
        assert_eq!(breakdown.faults, find_faults(&[]));
    }

    #[test]
    fn growth_stays_bounded_and_ends_with_the_end() {
        let mut growth = Growth::default();
        (0..100_000).for_each(|size| growth.push(TokenCount(size)));
        let samples = growth.samples();
        assert!(samples.len() <= Growth::SAMPLES && samples.len() > Growth::SAMPLES / 4, "{}", samples.len());
        assert!(samples.is_sorted());
        assert_eq!(samples.last(), Some(&TokenCount(99_999)));
    }
}
