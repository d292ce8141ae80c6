//! Writes every real session in its own format, or the neutral one, and reads it back.

use std::collections::BTreeSet;
use std::fs::File;

use longhaul_conversation::{Body, Message, Origin, Part, Role, Transcript, find_faults, repair};
use longhaul_formats::{Format, Session, WrittenSession, read_session, write_session};
use longhaul_wire::LossKind;

fn read(path: &std::path::Path) -> Session {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    read_session(file).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Everything that was said, part by part; blank texts say nothing.
fn said(session: &Session, side: bool) -> Vec<String> {
    let main = session.transcript.messages();
    let aside = session.side_chains.iter().filter(|_| side).flat_map(|chain| &chain.messages);
    let parts =
        main.iter().chain(aside).flat_map(|message| message.parts.iter().map(move |part| (message, part)));
    let shown = |(message, part): (&Message, &Part)| {
        let side = message.role.as_str();
        if let Some(text) = part.as_text() {
            // At the start of a session Claude Code has no mark for memory but the one for all that it adds.
            let origin = if part.origin == Origin::Memory { Origin::Hook } else { part.origin };
            return (!text.trim().is_empty()).then(|| format!("{side}: {origin} {text}"));
        }
        match (part.as_call(), part.as_result()) {
            (Some(call), _) => Some(format!("{side}: call {} {} {}", call.id, call.name, call.args)),
            (_, Some(result)) => Some(format!("{side}: result {} {}", result.call, result.readable())),
            _ => match &part.body {
                // The vendor's proof has no place in another format.
                Body::Thought(thought) if thought.text.is_empty() => None,
                Body::Thought(thought) => Some(format!("{side}: thought {}", thought.text)),
                body => Some(format!("{side}: {} {body:?}", part.origin)),
            },
        }
    };
    parts.filter_map(shown).collect()
}

fn first_difference(one: &[String], other: &[String]) -> Option<String> {
    let place = one.iter().zip(other).position(|(one, other)| one != other);
    let place = place.or((one.len() != other.len()).then_some(one.len().min(other.len())))?;
    let cut = |list: &[String]| list.get(place).map(|text| text.chars().take(200).collect::<String>());
    Some(format!("at {place} of {} and {}: {:?}, {:?}", one.len(), other.len(), cut(one), cut(other)))
}

fn kinds(written: &WrittenSession) -> BTreeSet<LossKind> {
    written.lost.iter().map(|loss| loss.kind).collect()
}

#[test]
fn every_session_survives_in_its_own_format() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    for path in longhaul_testkit::files_below(&corpus.join("sessions")) {
        let session = read(&path);
        let written = write_session(session.info.format, &mut session.clone());
        let back =
            read_session(written.text.as_bytes()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        count += 1;
        let mut check = |what: String| wrong.push(format!("{} ({}): {what}", path.display(), written.format));
        if back.info.format != written.format {
            check(format!("read as {}", back.info.format));
        }
        if !back.warnings.is_empty() {
            check(format!("{:?}", back.warnings[0]));
        }
        let (mut before, mut after) = (said(&session, true), said(&back, true));
        let holds_everything = !matches!(written.format, Format::Codex | Format::OpenCode);
        if !holds_everything {
            // Thoughts go back to their vendor only as it sealed them.
            let is_kept = |said: &String| !said.starts_with("model: thought ");
            before.retain(is_kept);
            after.retain(is_kept);
        }
        if let Some(difference) = first_difference(&before, &after) {
            check(difference);
        }
        let losses = kinds(&written);
        if !losses.is_subset(&expected_losses(written.format)) {
            check(format!("lost {losses:?}"));
        }
        let difference = first_difference(&facts(&session), &facts(&back));
        // These agents note models, figures and ids elsewhere than beside each message.
        if let Some(difference) = difference.filter(|_| holds_everything) {
            check(difference);
        }
    }
    assert!(count > 80, "only {count} sessions");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What the session says about itself, and the id, time, model and usage of each message that says something.
fn facts(session: &Session) -> Vec<String> {
    let says_something = |message: &&Message| {
        message.parts.iter().any(|part| match &part.body {
            Body::Text(text) => !text.trim().is_empty(),
            Body::Thought(thought) => !thought.text.is_empty(),
            _ => true,
        })
    };
    let info = &session.info;
    let head = format!("{:?} {:?} {:?}", info.session_id, info.title, info.directory);
    let messages = session.transcript.messages().iter().filter(says_something);
    let messages = messages.map(|m| format!("{} {:?} {:?} {:?}", m.id, m.at, m.model, m.usage));
    std::iter::once(head).chain(messages).collect()
}

fn expected_losses(format: Format) -> BTreeSet<LossKind> {
    match format {
        Format::ClaudeCode => [LossKind::Origin].into(),
        Format::Codex | Format::OpenCode => {
            [LossKind::Fields, LossKind::ReasoningItem, LossKind::Signature, LossKind::Thought].into()
        }
        Format::Neutral => [LossKind::Fields, LossKind::ReasoningItem, LossKind::Signature].into(),
        _ => BTreeSet::new(),
    }
}

#[test]
fn every_repaired_session_stays_repaired() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut wrong = Vec::new();
    let formats = [
        Format::ClaudeCode,
        Format::GeminiJsonl,
        Format::Neutral,
        Format::GeminiContents,
        Format::OpenAiChat,
        Format::Anthropic,
    ];
    for path in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let mut session = read(&path);
        let repaired = repair(session.transcript.into_messages()).messages;
        session.transcript = Transcript::from_messages(repaired);
        for format in formats {
            let written = write_session(format, &mut session.clone());
            let back = read_session(written.text.as_bytes())
                .unwrap_or_else(|error| panic!("{} as {format}: {error}", path.display()));
            if let Some(fault) = find_faults(back.transcript.messages()).first() {
                wrong.push(format!("{} as {format}: {fault}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn nobody_else_becomes_a_person_in_another_agents_session() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut wrong = Vec::new();
    for path in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let session = read(&path);
        for format in [Format::ClaudeCode, Format::GeminiJsonl] {
            let written = write_session(format, &mut session.clone());
            let back =
                read_session(written.text.as_bytes()).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let calls = |session: &Session| {
                let messages = session.transcript.messages().iter();
                let calls = messages.clone().flat_map(Message::calls).map(|call| call.id.to_string());
                calls
                    .chain(messages.flat_map(Message::results).map(|r| r.call.to_string()))
                    .collect::<Vec<_>>()
            };
            if calls(&back) != calls(&session) && !kinds(&written).contains(&LossKind::SecondResult) {
                wrong.push(format!("{} as {format}: calls and results", path.display()));
            }
            let typed = |session: &Session| -> String {
                let users = session.transcript.messages().iter().filter(|message| message.role == Role::User);
                let typed =
                    users.flat_map(|message| &message.parts).filter(|part| part.origin == Origin::User);
                typed.filter_map(Part::as_text).flat_map(str::split_whitespace).collect()
            };
            if typed(&back) != typed(&session) && !kinds(&written).contains(&LossKind::Origin) {
                wrong.push(format!("{} as {format}: who typed what", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
