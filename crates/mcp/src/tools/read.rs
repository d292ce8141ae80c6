//! `read`: recorded messages whole.

use std::collections::VecDeque;

use longhaul_conversation::{Body, Message, Ordinal, Part, Role};

use super::{Request, parse_reference};
use crate::arguments::Arguments;
use crate::library::{KnownSession, Library};
use crate::quote::{framed, quoted};

pub(super) fn answer(request: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let reference = arguments.required("ref")?;
    let around = arguments.number("around", 0, 20)?;
    let (session, number) = parse_reference(&reference)?;
    let number = number.ok_or_else(|| format!("{reference:?} names no message: use SESSION:mNUMBER"))?;
    let (library, session) = request.session(session)?;
    let (messages, last) = find(&session, number, around)?;
    if messages.is_empty() {
        let last = last.map_or_else(
            || "it has no numbered messages".into(),
            |last| format!("its last message is {last}"),
        );
        return Err(format!("session {} has no message {number}: {last}", library.short_id(&session)));
    }
    Ok(text(&messages, number, &library, &session))
}

/// The message with its neighbours, and the last number of the session. What was added to a message later is in it.
fn find(
    session: &KnownSession,
    number: Ordinal,
    around: usize,
) -> Result<(Vec<Message>, Option<Ordinal>), String> {
    let mut before: VecDeque<Message> = VecDeque::new();
    let mut found: Vec<Message> = Vec::new();
    let (mut last, mut after) = (None, 0);
    session.each_message(&mut |message| {
        last = last.max(message.ordinal);
        if let Some(known) = found.iter_mut().chain(before.iter_mut()).find(|known| known.id == message.id) {
            known.parts.extend(message.parts.iter().cloned());
        } else if message.ordinal == Some(number) {
            found.extend(before.drain(..));
            found.push(message.clone());
        } else if found.is_empty() {
            before.push_back(message.clone());
            if before.len() > around {
                before.pop_front();
            }
        } else if after < around {
            after += 1;
            found.push(message.clone());
        }
    })?;
    Ok((found, last))
}

fn text(messages: &[Message], number: Ordinal, library: &Library, session: &KnownSession) -> String {
    let mut text = format!("Session {} of {}.\n", library.short_id(session), session.agent.as_str());
    for message in messages {
        let mark = message.ordinal.map(|mark| mark.to_string()).unwrap_or_default();
        let here =
            if messages.len() > 1 && message.ordinal == Some(number) { " (the one asked for)" } else { "" };
        let who = match message.role {
            Role::Model => "model",
            Role::User if message.results().next().is_some() => "tools",
            Role::User => message.parts.first().map_or("user", |part| part.origin.as_str()),
        };
        let at = message.at.map(|at| format!(" {}", at.to_minute())).unwrap_or_default();
        text.push_str(&format!("\n{mark} {who}{at}{here}\n"));
        message.parts.iter().for_each(|part| text.push_str(&quoted(&body(part))));
    }
    framed(text.trim_end())
}

fn body(part: &Part) -> String {
    match &part.body {
        Body::Text(text) => text.clone(),
        Body::Thought(thought) => format!("(thought) {}", thought.text),
        Body::Call(call) => format!("→ {} {}", call.name, call.args),
        Body::Result(result) => {
            format!("← {}\n{}", result.name.as_deref().unwrap_or("result"), result.readable())
        }
        Body::Media(media) => format!("({})", media.mime),
        Body::File(file) => format!("({})", file.uri),
        Body::Opaque(_) => "(vendor-specific item)".into(),
    }
}
