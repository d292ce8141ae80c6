//! Writes every real session for every provider and reads it back.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use longhaul_conversation::{Body, Message, Part, Request};
use longhaul_formats::{Format, Session, read_session};
use longhaul_wire::{LossKind, WireFormat, write_request};

fn count(messages: &[Message], is: impl Fn(&Part) -> bool) -> usize {
    messages.iter().flat_map(|message| &message.parts).filter(|part| is(part)).count()
}

fn calls_and_results(session: &Session) -> (usize, usize) {
    let messages = session.transcript.messages();
    (count(messages, |part| part.as_call().is_some()), count(messages, |part| part.as_result().is_some()))
}

/// How often each character was said, blanks apart: other readers cut texts in other places, and some targets want
/// another order.
fn letters(session: &Session, thoughts: bool) -> BTreeMap<char, usize> {
    let messages = session.transcript.messages().iter().flat_map(|message| &message.parts);
    let mut letters = BTreeMap::new();
    for part in session.info.system.iter().chain(messages) {
        let text = match &part.body {
            Body::Text(text) => text.as_str().into(),
            Body::Result(result) => result.readable(),
            Body::Thought(thought) if thoughts => thought.text.as_str().into(),
            _ => continue,
        };
        for letter in text.chars().filter(|letter| !letter.is_whitespace()) {
            *letters.entry(letter).or_default() += 1;
        }
    }
    letters
}

fn request_of(session: &Session) -> Request {
    Request {
        model: session.info.model().unwrap_or_default().to_string(),
        system: session.transcript.system.clone(),
        tools: session.transcript.tools.clone(),
        messages: session.transcript.messages().to_vec(),
        ..Request::default()
    }
}

/// What the neutral form can hold and a target cannot.
fn expected_losses(target: WireFormat) -> &'static [LossKind] {
    match target {
        WireFormat::Gemini => &[],
        WireFormat::OpenAi => &[LossKind::Media, LossKind::Status, LossKind::Order],
        WireFormat::Anthropic => &[LossKind::Media, LossKind::Thought, LossKind::Order, LossKind::ToolName],
    }
}

/// Writes the session for each target, reads it back, and says what did not survive.
fn find_damage(
    name: &str,
    session: &Session,
    may_lose: impl Fn(WireFormat, LossKind) -> bool,
) -> Vec<String> {
    let mut damage = Vec::new();
    for target in WireFormat::ALL {
        let written = write_request(target, request_of(session));
        let text = written.value.to_string();
        let back = read_session(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut check = |what: &str, holds: bool| {
            if !holds {
                damage.push(format!("{name} for {target:?} ({}): {what}", back.info.format));
            }
        };
        check("calls and results", calls_and_results(&back) == calls_and_results(session));
        let thoughts = target != WireFormat::Anthropic;
        // A target may put a name before what it cannot hold bare; what was there must still be there.
        let (before, after) = (letters(session, thoughts), letters(&back, thoughts));
        check("text", before.iter().all(|(letter, count)| after.get(letter) >= Some(count)));
        check("warnings", back.warnings.is_empty());
        for loss in written.lost.iter().filter(|loss| !may_lose(target, loss.kind)) {
            check(&loss.to_string(), false);
        }
    }
    damage
}

fn open(path: &Path) -> File {
    File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn name_of(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[test]
fn every_session_survives_every_target() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut damage = Vec::new();
    for path in longhaul_testkit::files_below(&corpus.join("sessions/normalized")) {
        let name = name_of(&path);
        let session = read_session(open(&path)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let may_lose = |target, kind| expected_losses(target).contains(&kind);
        damage.extend(find_damage(&name, &session, may_lose));
    }
    assert!(damage.is_empty(), "\n{}", damage.join("\n"));
}

#[test]
fn every_original_survives_every_target() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut damage = Vec::new();
    for path in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        // What cannot be read at all is another test's concern.
        let Ok(session) = read_session(open(&path)) else { continue };
        let from_anthropic = session.info.format == Format::ClaudeCode;
        // Claude Code's own records are no part of a request; all else of Anthropic's goes home unharmed.
        let may_lose = |target, kind| {
            let home = target == WireFormat::Anthropic && from_anthropic;
            !home || [LossKind::Opaque, LossKind::Thought, LossKind::Order].contains(&kind)
        };
        damage.extend(find_damage(&name_of(&path), &session, may_lose));
    }
    assert!(damage.is_empty(), "\n{}", damage.join("\n"));
}
