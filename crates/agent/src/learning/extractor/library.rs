//! The sessions that an extractor may read, and nothing else: as texts without secrets, made when they are first asked for.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part, Timestamp, ToolStatus};
use longhaul_redact::redact;
use longhaul_skills::{DeedEnding, DeedPurpose, Indexed, PastSession, SessionDeed, SessionDigest};
use serde_json::Value;

use crate::excerpt::{escape_closing_tags, truncate_middle};

/// Reads a recorded session of any format, message by message; or says why it cannot be read.
pub type ReadSession = Arc<dyn Fn(&Path, &mut dyn FnMut(&Message)) -> Result<(), String> + Send + Sync>;

/// The longest text of the user that is shown, in characters.
const LONGEST_WORDS: usize = 4_000;
/// Of a model.
const LONGEST_ANSWER: usize = 600;
/// The arguments of a call.
const LONGEST_CALL: usize = 1_200;
/// Of a result.
const LONGEST_RESULT: usize = 900;
/// Of what a program added.
const LONGEST_ADDED: usize = 200;
/// All of one message.
const LONGEST_ENTRY: usize = 8_000;
/// All that is kept of one session, in bytes: far more than anybody reads of it.
const LONGEST_SESSION: usize = 2 << 20;
/// The longest argument of a call that is compared with commands, in bytes.
const LONGEST_COMPARED: usize = 2_000;
/// One page.
const LONGEST_PAGE: usize = 24_000;

/// The library of sessions that an extractor may read.
pub(super) struct SessionLibrary {
    sessions: Vec<LibrarySession>,
    read: ReadSession,
}

/// A session of the library.
pub(super) struct LibrarySession {
    session: PastSession,
    /// The messages in which a check passed.
    passed: BTreeSet<Ordinal>,
    text: OnceLock<Result<SessionText, String>>,
    was_read: AtomicBool,
}

/// A session as an extractor reads it.
#[derive(Debug, Default)]
pub(super) struct SessionText {
    entries: Vec<SessionEntry>,
    /// The index of the entry of each message.
    indices: HashMap<Ordinal, usize>,
    messages: u32,
    /// Bytes kept so far.
    kept: usize,
    /// Texts that the user typed, each on one line.
    typed: Vec<(Ordinal, String)>,
    /// Arguments of calls, each on one line.
    arguments: Vec<String>,
    times: HashMap<Ordinal, Timestamp>,
}

#[derive(Debug)]
struct SessionEntry {
    mark: Ordinal,
    text: String,
}

impl SessionLibrary {
    pub(super) fn new(index: Vec<Indexed>, digests: &[SessionDigest], read: ReadSession) -> Self {
        let passed = |id: &str| {
            let steps = digests.iter().filter(|digest| digest.id == id).flat_map(|digest| &digest.steps);
            let is_check = |deed: &SessionDeed| {
                matches!(
                    deed,
                    SessionDeed::Ran { purpose: DeedPurpose::Check, ending: DeedEnding::Passed, .. }
                )
            };
            steps.filter(|step| is_check(&step.deed)).map(|step| step.mark).collect()
        };
        let add = |Indexed { session, .. }: Indexed| LibrarySession {
            passed: passed(&session.id),
            session,
            text: OnceLock::new(),
            was_read: AtomicBool::new(false),
        };
        Self { sessions: index.into_iter().map(add).collect(), read }
    }

    /// The session that is meant: by the path or the id that the index has, and by nothing else.
    pub(super) fn find(&self, given: &str) -> Result<&LibrarySession, String> {
        let given = given.trim();
        let is_meant =
            |recorded: &&LibrarySession| recorded.session.path == given || recorded.session.id == given;
        let unknown = || format!("There is no session {given:?} in the index. Only those can be read.");
        self.sessions.iter().find(is_meant).ok_or_else(unknown)
    }

    /// The text of a session.
    pub(super) fn text<'a>(&self, recorded: &'a LibrarySession) -> Result<&'a SessionText, String> {
        let load = || {
            let mut text = SessionText::default();
            (self.read)(Path::new(&recorded.session.path), &mut |message| text.observe(message))?;
            Ok(text)
        };
        let loaded = recorded.text.get_or_init(load).as_ref();
        loaded.map_err(|reason| format!("{} cannot be read: {}", recorded.session.path, clean(reason)))
    }

    pub(super) fn sessions(&self) -> &[LibrarySession] {
        &self.sessions
    }

    /// The sessions that were really read.
    pub(super) fn read(&self) -> Vec<PastSession> {
        let read = self.sessions.iter().filter(|recorded| recorded.was_read());
        read.map(|recorded| recorded.session.clone()).collect()
    }
}

impl LibrarySession {
    pub(super) fn session(&self) -> &PastSession {
        &self.session
    }

    pub(super) fn was_read(&self) -> bool {
        self.was_read.load(Ordering::Relaxed)
    }

    pub(super) fn note_read(&self) {
        self.was_read.store(true, Ordering::Relaxed);
    }

    /// `true` if a check passed in one of these messages.
    pub(super) fn passed_in(&self, marks: &[Ordinal]) -> bool {
        marks.iter().any(|mark| self.passed.contains(mark))
    }
}

impl SessionText {
    fn observe(&mut self, message: &Message) {
        self.messages = self.messages.saturating_add(1);
        let mark = message.ordinal.unwrap_or(Ordinal(self.messages));
        if self.kept > LONGEST_SESSION {
            return;
        }
        self.times.extend(message.at.map(|at| (mark, at)));
        let mut lines = Vec::new();
        for part in &message.parts {
            self.note(mark, part);
            lines.extend(render(part).map(|line| format!("[{mark}] {line}")));
        }
        if lines.is_empty() {
            return;
        }
        let text = truncate_middle(&lines.join("\n"), LONGEST_ENTRY);
        self.kept += text.len();
        match self.indices.get(&mark) {
            Some(index) => {
                let entry = &mut self.entries[*index];
                entry.text = truncate_middle(&format!("{}\n{text}", entry.text), LONGEST_ENTRY);
            }
            None => {
                self.indices.insert(mark, self.entries.len());
                self.entries.push(SessionEntry { mark, text });
            }
        }
    }

    /// Keeps what quotes and commands are compared with.
    fn note(&mut self, mark: Ordinal, part: &Part) {
        match &part.body {
            Body::Text(text) if part.origin == Origin::User => {
                let text = one_line(&clean(text));
                self.kept += text.len();
                self.typed.push((mark, text));
            }
            Body::Call(call) => each_text(&call.args, &mut |text| {
                // A file that was written is no step of a procedure.
                if text.len() <= LONGEST_COMPARED {
                    let text = one_line(&clean(text));
                    self.kept += text.len();
                    self.arguments.push(text);
                }
            }),
            _ => {}
        }
    }

    /// A page that begins with this message, or with the first.
    pub(super) fn page(&self, from: Option<Ordinal>) -> Result<String, String> {
        let Some(last) = self.entries.last() else { return Ok("Nothing was said in it.".into()) };
        let start = match from {
            None => 0,
            Some(from) => self.index(from).ok_or_else(|| format!("The session ends with {}.", last.mark))?,
        };
        let mut page = String::new();
        for entry in &self.entries[start..] {
            if !page.is_empty() && page.len() + entry.text.len() > LONGEST_PAGE {
                page.push_str(&format!("[it goes on: read from {}, up to {}]\n", entry.mark, last.mark));
                break;
            }
            page.push_str(&entry.text);
            page.push('\n');
        }
        Ok(page)
    }

    fn index(&self, from: Ordinal) -> Option<usize> {
        let exactly = self.indices.get(&from).copied();
        exactly.or_else(|| self.entries.iter().position(|entry| entry.mark > from))
    }

    pub(super) fn has(&self, mark: Ordinal) -> bool {
        self.indices.contains_key(&mark)
    }

    pub(super) fn time(&self, mark: Ordinal) -> Option<Timestamp> {
        self.times.get(&mark).copied()
    }

    /// The message in which the user typed these words, if there is one; `near` is where it should be.
    pub(super) fn typed(&self, quote: &str, near: Option<Ordinal>) -> Option<Ordinal> {
        let says = |(_, text): &&(Ordinal, String)| text.contains(quote);
        let mut saying = self.typed.iter().filter(says).map(|(mark, _)| *mark);
        let first = saying.clone().next();
        saying.find(|mark| Some(*mark) == near).or(first)
    }

    /// `true` if the user typed this, or a call was made with it.
    pub(super) fn shows(&self, command: &str) -> bool {
        let typed = self.typed.iter().map(|(_, text)| text);
        typed.chain(&self.arguments).any(|text| text.contains(command))
    }

    /// The messages that say this, in lower case, each with what stands around it.
    pub(super) fn search(&self, wanted: &str) -> Vec<String> {
        let excerpt = |entry: &SessionEntry| {
            let lower = entry.text.to_lowercase();
            let at = lower[..lower.find(wanted)?].chars().count();
            let around: String = entry.text.chars().skip(at.saturating_sub(80)).take(240).collect();
            Some(format!("[{}] {}", entry.mark, one_line(&around)))
        };
        self.entries.iter().filter_map(excerpt).collect()
    }
}

/// A part as a line, without secrets, and without anything that could end the block it stands in.
fn render(part: &Part) -> Option<String> {
    let shown = |text: &str, most| escape_closing_tags(&truncate_middle(clean(text).trim(), most));
    let line = match &part.body {
        Body::Text(text) if text.trim().is_empty() => return None,
        Body::Text(text) => match part.origin {
            Origin::User => format!("user: {}", shown(text, LONGEST_WORDS)),
            Origin::Model => format!("model: {}", shown(text, LONGEST_ANSWER)),
            other => format!("not typed by anybody ({other}): {}", shown(text, LONGEST_ADDED)),
        },
        Body::Call(call) => {
            let args = clean_value(&call.args).to_string();
            format!("call of {}: {}", shown(&call.name, LONGEST_ADDED), shown(&args, LONGEST_CALL))
        }
        Body::Result(result) => {
            let how = match result.status {
                ToolStatus::Failed => "failed",
                ToolStatus::Cancelled => "was stopped",
                _ => "answered",
            };
            let name = shown(result.name.as_deref().unwrap_or("the tool"), LONGEST_ADDED);
            format!("{name} {how}: {}", shown(&result.readable(), LONGEST_RESULT))
        }
        Body::Thought(_) | Body::Media(_) | Body::File(_) | Body::Opaque(_) => return None,
    };
    Some(line)
}

/// A text without secrets. It is cleaned before it is shortened: half a secret would not be known for one.
pub(super) fn clean(text: &str) -> String {
    redact(text).text.into_owned()
}

/// Arguments without secrets, in texts with line breaks, too.
fn clean_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean(text)),
        Value::Array(items) => Value::Array(items.iter().map(clean_value).collect()),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(key, value)| (key.clone(), clean_value(value))).collect())
        }
        other => other.clone(),
    }
}

fn each_text(value: &Value, take: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => take(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, take)),
        Value::Object(fields) => fields.values().for_each(|field| each_text(field, take)),
        _ => {}
    }
}

/// The words of a text, on one line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
