//! Writes every real session for every provider and reads it back.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

use longhaul_conversation::{Body, Message, Part, Request};
use longhaul_session::{LossKind, Session, Target, read_session, write};

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
fn expected_losses(target: Target) -> BTreeSet<LossKind> {
    match target {
        Target::Gemini => BTreeSet::new(),
        Target::OpenAiChat => [LossKind::Media, LossKind::Status, LossKind::Order].into(),
        Target::Anthropic => [LossKind::Media, LossKind::Thought, LossKind::Order, LossKind::ToolName].into(),
    }
}

#[test]
fn every_session_survives_every_target() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut wrong = Vec::new();
    for path in longhaul_testkit::files_below(&corpus.join("sessions/normalized")) {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let file = File::open(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let session = read_session(file).unwrap_or_else(|error| panic!("{name}: {error}"));
        for target in Target::ALL {
            let written = write(target, &request_of(&session));
            let text = written.value.to_string();
            let back = read_session(text.as_bytes()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut check = |what: &str, holds: bool| {
                if !holds {
                    wrong.push(format!("{name} for {target:?} ({}): {what}", back.info.format));
                }
            };
            check("calls and results", calls_and_results(&back) == calls_and_results(&session));
            let thoughts = target != Target::Anthropic;
            check("text", letters(&back, thoughts) == letters(&session, thoughts));
            check("warnings", back.warnings.is_empty());
            let lost: BTreeSet<LossKind> = written.lost.iter().map(|loss| loss.kind).collect();
            check(&format!("lost {lost:?}"), lost.is_subset(&expected_losses(target)));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
