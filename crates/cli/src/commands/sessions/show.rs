//! `longhaul sessions show SESSION`: a session's messages and compactions.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use longhaul_app::failure::hinted;
use longhaul_app::project::session_file;
use longhaul_conversation::{Body, CallId, Message, Part, Role, Transcript};
use longhaul_engine::State;
use longhaul_formats::{Recorded, Replay, Rewrite, RewriteKind, RewriteState, SessionInfo, read_recorded};
use longhaul_recall::parse_message_number;
use serde_json::{Value, json};

use super::state;
use crate::input;
use crate::output::{Color, Page, Screen, fit, plural, print_json, span, thousands, visible, wrapped};

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// Session: latest, its number in `sessions list`, its id, or a session file.
    session: PathBuf,
    /// Show one whole message by its number, such as m12, or by the id that `recall` names.
    #[arg(long, value_name = "NUMBER")]
    message: Option<String>,
    /// Show this many messages before and after it, too.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "message")]
    around: usize,
    /// Include what was compacted away or undone.
    #[arg(long)]
    all: bool,
    /// Show long texts and outputs in full.
    #[arg(long)]
    full: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

/// The most lines of a text that are shown.
const LINES: usize = 6;

pub(super) fn run(options: &ShowOptions, color: Color) -> anyhow::Result<()> {
    let path = session_file(&options.session)?;
    let name = input::display_name(&path);
    let shown = ShownSession::read(&path).with_context(|| format!("could not read {name}"))?;
    let mut messages: Vec<&Message> = match options {
        ShowOptions { all: false, message: None, .. } => shown.transcript.messages().iter().collect(),
        _ => shown.said(),
    };
    if let Some(wanted) = &options.message {
        let number = parse_message_number(wanted);
        let is_it = |message: &&Message| {
            message.ordinal.is_some() && message.ordinal == number || message.id.as_str() == wanted
        };
        // The m is easily forgotten; an id may be a number, too.
        let bare = parse_message_number(&format!("m{wanted}"));
        let is_bare = |message: &&Message| message.ordinal.is_some() && message.ordinal == bare;
        let place = messages.iter().position(is_it).or_else(|| messages.iter().position(is_bare));
        let Some(place) = place else {
            let hint = "message numbers start at m1; `longhaul sessions show --all` lists every message";
            return Err(hinted(anyhow!("no message {wanted} in {name}"), hint));
        };
        messages.truncate(place + options.around + 1);
        messages.drain(..place.saturating_sub(options.around));
    }
    if options.json {
        return print_json(&json(&shown, &messages));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    if options.message.is_none() {
        head(&mut page, &shown, messages.len());
    }
    let names = shown.tool_names();
    let room = if options.full || options.message.is_some() { usize::MAX } else { LINES };
    for message in messages {
        show(&mut page, message, &names, room);
    }
    crate::output::print(&page.into_text())
}

/// The tool of each call.
type Names = HashMap<CallId, String>;

/// A session as it is shown.
struct ShownSession {
    /// Its fallback name, if it has none of its own.
    name: String,
    info: SessionInfo,
    /// The transcript that the model would see.
    transcript: Transcript,
    /// The whole history, if the file is a log.
    replay: Option<Replay>,
}

impl ShownSession {
    fn read(path: &Path) -> anyhow::Result<Self> {
        let name = input::display_name(Path::new(path.file_name().unwrap_or(path.as_os_str())));
        Ok(match read_recorded(input::open(path)?)? {
            Recorded::File(session) => {
                Self { name, info: session.info, transcript: session.transcript, replay: None }
            }
            Recorded::Log(replay) => Self {
                name,
                info: replay.info().clone(),
                transcript: replay.transcript(),
                replay: Some(*replay),
            },
        })
    }

    fn said(&self) -> Vec<&Message> {
        match &self.replay {
            Some(replay) => replay.said(),
            None => self.transcript.messages().iter().collect(),
        }
    }

    fn tool_names(&self) -> Names {
        let calls = self.said().into_iter().flat_map(Message::calls);
        calls.map(|call| (call.id.clone(), call.name.clone())).collect()
    }

    /// The state of compactions, if the file is a log.
    fn state(&self) -> Option<State> {
        self.replay.as_ref().map(State::recorded_in)
    }

    fn rewrites(&self) -> &[Rewrite] {
        self.replay.as_ref().map(Replay::rewrites).unwrap_or_default()
    }
}

fn head(page: &mut Page, session: &ShownSession, shown: usize) {
    let info = &session.info;
    let name = info.title.as_deref().or(info.session_id.as_deref()).unwrap_or(&session.name);
    page.heading(&visible(name));
    let said = session.said().len();
    let count = match said > shown {
        true => format!(
            "{} in context, {} in total",
            plural(shown, "message", "messages"),
            thousands(said as u64)
        ),
        false => plural(shown, "message", "messages"),
    };
    let mut facts = vec![count];
    facts.extend(info.model().map(visible));
    if let (Some(started), Some(ended)) = (info.started, info.ended) {
        facts.push(span(started, ended));
    }
    page.facts(&facts);
    let state = session.state();
    let remembered = state.iter().flat_map(state::in_words);
    for fact in session.rewrites().iter().map(told).chain(remembered) {
        let lines = wrapped(&visible(&fact), page.screen.width);
        lines.iter().for_each(|line| page.line(line));
    }
}

/// A compaction or masking, and whether it is still in effect.
fn told(rewrite: &Rewrite) -> String {
    let (kind, what) = match &rewrite.kind {
        RewriteKind::Compaction(compaction) => {
            let tokens = compaction.report.tokens;
            ("compaction", format!("{} → {} tokens", tokens.before, tokens.after))
        }
        RewriteKind::Mask(masks) => ("masking", plural(masks.len(), "tool output", "tool outputs")),
    };
    let state = match rewrite.state {
        RewriteState::Active => "",
        RewriteState::Undone => " (undone)",
        RewriteState::Inert => " (no longer in effect)",
    };
    format!("{kind} {}{state}: {what}", rewrite.id)
}

fn show(page: &mut Page, message: &Message, names: &Names, room: usize) {
    page.gap();
    // What a compaction put in has no mark of its own.
    let mark = message.ordinal.map(|mark| format!("{} ", page.screen.strong(&mark.to_string())));
    let who = match message.role {
        Role::Model => "model",
        Role::User if message.results().next().is_some() => "tools",
        Role::User => message.parts.first().map_or("user", |part| part.origin.as_str()),
    };
    let at = message.at.map(|at| at.to_minute()).unwrap_or_default();
    let line = format!("{}{who}  {}", mark.unwrap_or_default(), page.screen.faint(&at));
    page.line(&line);
    for part in &message.parts {
        let (title, text) = match &part.body {
            // A message that is shown in full shows what its calls were given, too.
            Body::Call(call) if room == usize::MAX => (Some(format!("→ {}", call.name)), in_full(&call.args)),
            _ => body(part, names),
        };
        if let Some(title) = title {
            page.line(&fit(&visible(&format!("  {title}")), page.screen.width));
        }
        lines(page, &text, room);
    }
}

fn lines(page: &mut Page, text: &str, room: usize) {
    let count = text.trim_end().lines().count();
    for line in text.lines().take(room.min(count)) {
        let line = visible(line);
        let shown = if room == usize::MAX { line } else { fit(&line, page.screen.width.saturating_sub(2)) };
        page.line(&format!("  {shown}"));
    }
    if count > room {
        let more = page.screen.faint(&format!("  … {} more", plural(count - room, "line", "lines")));
        page.line(&more);
    }
}

/// The arguments of a call in full, one below the other; texts of several lines as they are.
fn in_full(args: &Value) -> String {
    let Value::Object(fields) = args else { return format!("{args:#}") };
    let mut text = String::new();
    for (key, value) in fields {
        let value = match value {
            Value::String(value) => value.clone(),
            value => format!("{value:#}"),
        };
        match value.contains('\n') {
            false => text.push_str(&format!("{key}: {value}\n")),
            true => {
                text.push_str(&format!("{key}:\n"));
                value.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
            }
        }
    }
    text
}

/// A part as a title, where it has one, and its text.
fn body(part: &Part, names: &Names) -> (Option<String>, String) {
    match &part.body {
        Body::Text(text) => (None, text.clone()),
        Body::Thought(thought) => (Some("(thought)".into()), thought.text.clone()),
        Body::Call(call) => (Some(format!("→ {} {}", call.name, call.args)), String::new()),
        Body::Result(result) => {
            let name = result.name.as_ref().or_else(|| names.get(&result.call));
            let name = name.map_or("tool", String::as_str);
            (Some(format!("← {name}")), result.readable().into_owned())
        }
        Body::Media(media) => (Some(format!("({})", media.mime)), String::new()),
        Body::File(file) => (Some(format!("({})", file.uri)), String::new()),
        Body::Opaque(_) => (Some("(vendor-specific item)".into()), String::new()),
    }
}

fn json(session: &ShownSession, messages: &[&Message]) -> Value {
    let info = &session.info;
    let names = session.tool_names();
    let parts = |part: &Part| {
        let (title, text) = body(part, &names);
        json!({"origin": part.origin.as_str(), "title": title, "text": text})
    };
    let messages = messages.iter().map(|message| {
        json!({
            "number": message.ordinal.map(|ordinal| ordinal.to_string()),
            "id": message.id.as_str(),
            "role": message.role.as_str(),
            "at": message.at.map(|at| at.to_string()),
            "parts": message.parts.iter().map(parts).collect::<Vec<_>>(),
        })
    });
    let rewrites = session.rewrites().iter().map(|rewrite| {
        let (kind, report) = match &rewrite.kind {
            RewriteKind::Compaction(compaction) => {
                ("compaction", json!({"report": compaction.report, "snapshot": compaction.snapshot}))
            }
            RewriteKind::Mask(masks) => ("mask", json!({ "masks": masks })),
        };
        let state = match rewrite.state {
            RewriteState::Active => "active",
            RewriteState::Undone => "undone",
            RewriteState::Inert => "inert",
        };
        json!({"id": rewrite.id, "kind": kind, "state": state, "at": rewrite.at.map(|at| at.to_string()), kind: report})
    });
    json!({
        "schema": 2,
        "session": info.session_id,
        "title": info.title,
        "rewrites": rewrites.collect::<Vec<_>>(),
        "state": session.state().as_ref().map(state::json),
        "messages": messages.collect::<Vec<_>>(),
    })
}
