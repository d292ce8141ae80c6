//! Writes Claude Code sessions.
//!
//! Each line names the one it follows. Who wrote a user's line is said by the line as a whole, so a message whose parts
//! need different marks becomes several lines; the first keeps the message's id. A model's message can go on in further
//! lines under one id.

use std::collections::{HashMap, HashSet};

use longhaul_conversation::{
    Body, CallId, Message, Opaque, Origin, Part, Role, Signature, Thought, Usage, Vendor,
};
use longhaul_wire::anthropic::{encode_block, fit_part};
use serde_json::{Map, Value};

use super::shared::{Clock, derived_uuid, lose_request_fields, lose_setup, push_line, session_id};
use longhaul_wire::{
    LossKind, Losses, PLAIN, Piece, call_names, keep_fields, lose_fields, object, pieces, plain_origin,
    says_something,
};

use crate::read::claude::{SKILL_START, SYNTHETIC};
use crate::{Format, Session, SideChain};

/// The version of Claude Code whose records these are.
const VERSION: &str = "2.0.0";

/// The session as lines.
pub(super) fn jsonl(session: &Session, losses: &mut Losses) -> String {
    // Claude Code sends its own instruction and tools again when it resumes.
    match session.info.format {
        Format::ClaudeCode => lose_request_fields(session, losses),
        _ => lose_setup(session, losses),
    }
    let messages = session.transcript.messages();
    let side_messages = session.side_chains.iter().flat_map(|chain| &chain.messages);
    let mut writer = Writer {
        losses,
        names: call_names(messages),
        is_own: session.info.format == Format::ClaudeCode,
        session_id: session_id(session),
        directory: session.info.directory.clone(),
        taken: messages.iter().chain(side_messages).map(|message| message.id.to_string()).collect(),
        clock: Clock::of(session),
        chain: None,
        parent: None,
        after_command: false,
        last_call: None,
        open_calls: HashSet::new(),
        waiting: false,
        text: String::new(),
    };
    for message in messages {
        writer.message(message);
    }
    let last = writer.parent.take();
    writer.side_chains(&session.side_chains, last.is_some());
    let mut text = writer.text;
    if let Some(title) = &session.info.title {
        let leaf = last.unwrap_or_default();
        let title = object([
            ("type", "summary".into()),
            ("summary", title.as_str().into()),
            ("leafUuid", leaf.into()),
        ]);
        let mut first = String::new();
        push_line(&mut first, &Value::Object(title));
        text.insert_str(0, &first);
    }
    if text.is_empty() {
        // Some line must tell what the file is.
        let mode = ("permissionMode", "default".into());
        let line =
            object([("type", "permission-mode".into()), mode, ("sessionId", writer.session_id.into())]);
        push_line(&mut text, &Value::Object(line));
    }
    text
}

/// The marker of a line's author.
#[derive(Clone, PartialEq)]
enum Mark {
    /// A person did, but for texts that give themselves away.
    None,
    /// A compaction did.
    Summary,
    /// The program did.
    Meta,
    /// A skill that this call loaded.
    Skill(CallId),
}

struct Writer<'a> {
    losses: &'a mut Losses,
    names: HashMap<&'a CallId, &'a str>,
    /// True if the session comes from Claude Code, so that its own records have a place here.
    is_own: bool,
    session_id: String,
    directory: Option<String>,
    /// The ids in use.
    taken: HashSet<String>,
    clock: Clock,
    /// The sub-agent whose conversation is being written.
    chain: Option<&'a str>,
    parent: Option<String>,
    /// What the reader will know: whether the last line of the user's side echoed a command,
    after_command: bool,
    last_call: Option<CallId>,
    /// which calls wait for their result,
    open_calls: HashSet<CallId>,
    /// and whether attachments wait until they are answered.
    waiting: bool,
    text: String,
}

impl<'a> Writer<'a> {
    fn message(&mut self, message: &'a Message) {
        self.losses.at(message);
        lose_fields(&message.extra, self.losses);
        match message.role {
            Role::User => self.user(message),
            Role::Model => self.model(message),
        }
    }

    fn side_chains(&mut self, chains: &'a [SideChain], has_main: bool) {
        for chain in chains {
            if !has_main {
                // A file that starts with a sub-agent's line is taken for the sub-agent's own.
                self.losses.at_session();
                self.losses.add(LossKind::SideChain, &chain.id);
                continue;
            }
            self.chain = Some(&chain.id);
            self.parent = None;
            for message in &chain.messages {
                self.message(message);
            }
        }
    }

    fn user(&mut self, message: &Message) {
        let mut lines = UserLines {
            message,
            id: Some(message.id.to_string()),
            mark: Mark::None,
            blocks: Vec::new(),
            has_mixed: false,
        };
        for piece in pieces(&message.parts, &PLAIN) {
            match piece {
                Piece::Text { text, extra, origin, parts, reads_back } => {
                    let mark = match reads_back {
                        false => self.mark_for(origin, &text, &mut lines),
                        true if parts == 1 => self.mark_beside(origin, &text, &lines),
                        true => Mark::None,
                    };
                    let part = Part { extra: extra.clone(), ..Part::text(origin, text) };
                    self.add(&part, mark, &mut lines);
                    lines.has_mixed |= parts > 1;
                }
                Piece::Other(part) => self.other(part, &mut lines),
            }
        }
        self.close(&mut lines);
    }

    fn other(&mut self, part: &Part, lines: &mut UserLines<'_>) {
        match &part.body {
            Body::Opaque(opaque) if self.is_attachment(opaque) => {
                self.close(lines);
                if part.origin != Origin::Hook {
                    self.losses.add(LossKind::Origin, part.origin.as_str());
                }
                lose_fields(&part.extra, self.losses);
                self.attachment(&opaque.value, lines);
            }
            // A result is a tool's, whatever the line says.
            Body::Result(_) => self.add(part, lines.mark.clone(), lines),
            _ if part.origin == plain_origin(part, Role::User) => self.add(part, Mark::None, lines),
            _ => {
                let mark = self.mark_for(part.origin, "", lines);
                self.add(part, mark, lines);
            }
        }
    }

    /// True if this is what Claude Code told its model beside the conversation.
    fn is_attachment(&self, opaque: &Opaque) -> bool {
        self.is_own && self.chain.is_none() && opaque.vendor == Vendor::Agent && opaque.value.is_object()
    }

    /// The mark for a part that does not tell by itself who wrote it.
    fn mark_for(&mut self, origin: Origin, text: &str, lines: &mut UserLines<'_>) -> Mark {
        let (mut mark, mut read) = self.choose_mark(origin, text);
        if read == Some(origin) && self.could_bear(&mark, lines) {
            lines.mark = mark.clone();
        }
        if mark != lines.mark {
            // What the reader makes of a mark depends on the line before.
            self.close(lines);
            (mark, read) = self.choose_mark(origin, text);
        }
        if read != Some(origin) {
            self.losses.add(LossKind::Origin, origin.as_str());
        }
        mark
    }

    /// The mark that makes the reader find `origin`, or at least not a person, and what it will find.
    fn choose_mark(&self, origin: Origin, text: &str) -> (Mark, Option<Origin>) {
        let is_skill = self.after_command || text.trim_start().starts_with(SKILL_START);
        match (origin, &self.last_call) {
            (Origin::User, _) => (Mark::None, None),
            (Origin::Summary, _) => (Mark::Summary, Some(Origin::Summary)),
            (Origin::Memory, Some(call)) if !is_skill => (Mark::Skill(call.clone()), Some(Origin::Memory)),
            _ => (Mark::Meta, Some(if is_skill { Origin::Memory } else { Origin::Hook })),
        }
    }

    /// True if all that a line without a mark holds would still be read the same under this one.
    fn could_bear(&self, mark: &Mark, lines: &UserLines<'_>) -> bool {
        let same = |block: &Part| match block.as_text() {
            Some(text) => self.choose_mark(block.origin, text) == (mark.clone(), Some(block.origin)),
            None => block.as_result().is_some(),
        };
        lines.mark == Mark::None && !lines.has_mixed && lines.blocks.iter().all(same)
    }

    /// The mark for a text that tells by itself: none, or that of the line it may stay in.
    fn mark_beside(&self, origin: Origin, text: &str, lines: &UserLines<'_>) -> Mark {
        let (mark, read) = self.choose_mark(origin, text);
        let fits = mark == lines.mark && read == Some(origin) && !lines.blocks.is_empty();
        if fits { mark } else { Mark::None }
    }

    fn add(&mut self, part: &Part, mark: Mark, lines: &mut UserLines<'_>) {
        let Some(fitted) = self.fit(part, Role::User) else { return };
        if mark != lines.mark {
            self.close(lines);
            lines.mark = mark;
        }
        lines.blocks.push(fitted);
    }

    /// Writes the line that is being put together.
    fn close(&mut self, lines: &mut UserLines<'_>) {
        let blocks = std::mem::take(&mut lines.blocks);
        lines.has_mixed = false;
        let mark = std::mem::replace(&mut lines.mark, Mark::None);
        if blocks.is_empty() {
            return;
        }
        if self.waiting && self.chain.is_none() {
            if self.open_calls.is_empty() {
                self.waiting = false;
            } else {
                self.losses.add(LossKind::Order, "");
            }
        }
        self.after_command =
            blocks.iter().any(|block| block.as_text().is_some_and(|text| text.contains("<command-name>")));
        if self.chain.is_none() {
            for result in blocks.iter().filter_map(Part::as_result) {
                self.open_calls.remove(&result.call);
            }
        }
        let content = match blocks.as_slice() {
            [Part { body: Body::Text(text), extra: None, .. }] => text.as_str().into(),
            blocks => blocks.iter().map(encode_block).collect(),
        };
        let id = self.line_id(lines);
        let mut line = self.line("user", &id, lines.message);
        match mark {
            Mark::None => {}
            Mark::Summary => drop(line.insert("isCompactSummary".into(), true.into())),
            Mark::Meta | Mark::Skill(_) => drop(line.insert("isMeta".into(), true.into())),
        }
        if let Mark::Skill(call) = mark {
            line.insert("sourceToolUseID".into(), call.as_str().into());
        }
        line.insert("message".into(), Value::Object(object([("role", "user".into()), ("content", content)])));
        push_line(&mut self.text, &Value::Object(line));
    }

    fn attachment(&mut self, value: &Value, lines: &mut UserLines<'_>) {
        self.waiting = true;
        let id = self.line_id(lines);
        let mut line = self.line("attachment", &id, lines.message);
        line.insert("attachment".into(), value.clone());
        push_line(&mut self.text, &Value::Object(line));
    }

    /// The message's id for its first line, another for each further one.
    fn line_id(&mut self, lines: &mut UserLines<'_>) -> String {
        lines.id.take().unwrap_or_else(|| {
            let numbered = (2..).map(|number| format!("{}-{number}", lines.message.id));
            let id = numbered.into_iter().find(|id| !self.taken.contains(id));
            let id = id.expect("there are more numbers than messages");
            self.taken.insert(id.clone());
            id
        })
    }

    fn model(&mut self, message: &Message) {
        self.after_command = false;
        if self.chain.is_none() {
            self.waiting = false;
            self.last_call = message.calls().last().map(|call| call.id.clone()).or(self.last_call.take());
            self.open_calls.extend(message.calls().map(|call| call.id.clone()));
        }
        let is_notice = |part: &Part| part.origin == Origin::Hook;
        let fitted: Vec<Part> = message
            .parts
            .iter()
            .filter(|part| says_something(part))
            .filter_map(|part| {
                let read = if is_notice(part) { Origin::Hook } else { plain_origin(part, Role::Model) };
                if part.origin != read {
                    self.losses.add(LossKind::Origin, part.origin.as_str());
                }
                self.fit(part, Role::Model)
            })
            .collect();
        for (nth, parts) in fitted.chunk_by(|one, next| is_notice(one) == is_notice(next)).enumerate() {
            let id = self.model_line_id(message, nth);
            let mut line = self.line("assistant", &id, message);
            let is_notice = is_notice(&parts[0]);
            if is_notice {
                line.insert("isApiErrorMessage".into(), true.into());
            }
            let answer = encode_answer(message, parts, is_notice);
            line.insert("message".into(), Value::Object(answer));
            push_line(&mut self.text, &Value::Object(line));
        }
        let usage = message.usage.as_deref().copied().unwrap_or_default();
        if [usage.thoughts, usage.tool, usage.total].iter().any(Option::is_some) {
            self.losses.add(LossKind::Usage, "");
        }
    }

    fn model_line_id(&mut self, message: &Message, nth: usize) -> String {
        let numbered = (nth..).map(|number| derived_uuid(&format!("{} {number}", message.id)));
        let id = numbered.into_iter().find(|id| !self.taken.contains(id));
        let id = id.expect("there are more numbers than lines");
        self.taken.insert(id.clone());
        id
    }

    /// The fields of every line.
    fn line(&mut self, kind: &str, id: &str, message: &Message) -> Map<String, Value> {
        let parent = self.parent.replace(id.to_string());
        let mut line = object([
            ("parentUuid", parent.map_or(Value::Null, Value::from)),
            ("isSidechain", self.chain.is_some().into()),
            ("userType", "external".into()),
        ]);
        if let Some(chain) = self.chain {
            line.insert("agentId".into(), chain.into());
        }
        if let Some(directory) = &self.directory {
            line.insert("cwd".into(), directory.as_str().into());
        }
        line.insert("sessionId".into(), self.session_id.as_str().into());
        line.insert("version".into(), VERSION.into());
        line.insert("type".into(), kind.into());
        line.insert("uuid".into(), id.into());
        if let Some(at) = self.clock.at(message) {
            line.insert("timestamp".into(), at.to_string().into());
        }
        line
    }

    /// The part as the format takes it.
    fn fit(&mut self, part: &Part, role: Role) -> Option<Part> {
        match &part.body {
            // Blank text says nothing, and Anthropic refuses it.
            Body::Text(text) if text.trim().is_empty() => {
                lose_fields(&part.extra, self.losses);
                None
            }
            Body::Text(_) => {
                Some(Part { extra: keep_fields(&part.extra, Vendor::Anthropic, self.losses), ..part.clone() })
            }
            Body::Thought(thought) if role == Role::Model && thought.signature.is_none() => {
                self.fit_unsigned(part, thought)
            }
            _ => fit_part(part, role, &self.names, self.losses),
        }
    }

    /// A thought without a signature would be refused, unless it was so in Claude Code's own session.
    fn fit_unsigned(&mut self, part: &Part, thought: &Thought) -> Option<Part> {
        let is_detached =
            part.extra.as_ref().is_some_and(|extra| extra.fields.contains_key("detachedSignature"));
        if is_detached {
            // A repair took the signature, and promised to lose no content.
            self.losses.add(LossKind::ThoughtAsText, "");
            return Some(Part::text(part.origin, thought.text.as_str()));
        }
        if self.is_own {
            let signature = Some(Signature { vendor: Vendor::Anthropic, value: String::new() });
            let signed = Part {
                body: Body::Thought(Box::new(Thought { signature, ..thought.clone() })),
                ..part.clone()
            };
            let fitted = fit_part(&signed, Role::Model, &self.names, self.losses);
            return fitted.filter(|part| !thought.text.is_empty() || part.extra.is_some());
        }
        fit_part(part, Role::Model, &self.names, self.losses)
    }
}

/// A user's message on the way to its lines.
struct UserLines<'m> {
    message: &'m Message,
    /// The message's id, until a line has it.
    id: Option<String>,
    mark: Mark,
    blocks: Vec<Part>,
    /// True if one of the blocks is a text of several origins.
    has_mixed: bool,
}

fn encode_answer(message: &Message, parts: &[Part], is_notice: bool) -> Map<String, Value> {
    let mut answer = object([
        ("id", message.id.as_str().into()),
        ("type", "message".into()),
        ("role", "assistant".into()),
    ]);
    let model = message.model.as_deref().or(is_notice.then_some(SYNTHETIC));
    if let Some(model) = model {
        answer.insert("model".into(), model.into());
    }
    answer.insert("content".into(), parts.iter().map(encode_block).collect());
    answer.insert("stop_reason".into(), Value::Null);
    answer.insert("stop_sequence".into(), Value::Null);
    if let Some(usage) = &message.usage {
        answer.insert("usage".into(), Value::Object(encode_usage(usage)));
    }
    answer
}

/// Anthropic counts cached tokens beside the input.
fn encode_usage(usage: &Usage) -> Map<String, Value> {
    let beside = usage.cached.unwrap_or_default() + usage.written.unwrap_or_default();
    let figures = [
        ("input_tokens", usage.input.map(|input| input - beside)),
        ("cache_read_input_tokens", usage.cached),
        ("cache_creation_input_tokens", usage.written),
        ("output_tokens", usage.output),
    ];
    let figures = figures.into_iter().filter_map(|(key, count)| Some((key.to_string(), count?.0.into())));
    let mut figures: Map<String, Value> = figures.collect();
    if let Some(hour) = usage.written_hour {
        let created = object([("ephemeral_1h_input_tokens", hour.0.into())]);
        figures.insert("cache_creation".into(), Value::Object(created));
    }
    figures
}
