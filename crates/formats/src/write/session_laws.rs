//! Checks that a session that was written is read back the same, but for what is reported.

use std::collections::BTreeSet;

use longhaul_conversation::{
    Body, Message, MessageId, OWN_TAGS, Opaque, Origin, Part, Request, Role, Timestamp, TokenCount,
    ToolResult, ToolStatus, Transcript, Usage,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::{WrittenSession, write_session as write_taking};
use crate::info::SessionInfo;
use crate::{Format, Recorded, Session, SideChain, read_recorded, read_session};
use longhaul_testkit::messages::requests;
use longhaul_wire::LossKind;

/// The formats of sessions that give messages ids of their own making.
const RENAMING: [Format; 2] = [Format::Codex, Format::OpenCode];

/// The formats that hold more than a request does.
const SESSIONS: [Format; 4] = [Format::GeminiJsonl, Format::GeminiJson, Format::ClaudeCode, Format::Neutral];

fn session_of(format: Format, messages: Vec<Message>) -> Session {
    Session {
        info: SessionInfo::new(format),
        transcript: Transcript::from_messages(messages),
        side_chains: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Writes a session that is still needed.
fn write_session(format: Format, session: &Session) -> WrittenSession {
    write_taking(format, &mut session.clone())
}

#[track_caller]
fn read_back(written: &WrittenSession) -> Session {
    let session =
        read_session(written.text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {}", written.text));
    assert_eq!(session.info.format, written.format);
    assert_eq!(session.warnings, [], "{}", written.text);
    session
}

/// The fields of one message beside its content.
#[derive(Clone, Debug)]
struct Coat {
    origins: Vec<Origin>,
    at: Option<i64>,
    model: Option<String>,
    figures: Option<u64>,
}

fn coats() -> impl Strategy<Value = Coat> {
    let origins = vec(prop_oneof![4 => Just(Origin::User), 2 => select(Origin::ALL.to_vec())], 5);
    (origins, option::of(0..2_000_000_000_000i64), option::of("m-[0-9]"), option::of(20u64..99))
        .prop_map(|(origins, at, model, figures)| Coat { origins, at, model, figures })
}

/// Texts as agents write them, among them ones that readers take apart.
const TEXTS: &[&str] = &[
    "<system-reminder>be brief</system-reminder>",
    "do this <system-reminder>x</system-reminder> now",
    "<command-name>/go</command-name>",
    "<command-args>",
    "</command-args>",
    "<state_snapshot>s</state_snapshot>",
    "Base directory for this skill: /a",
    "This session is being continued from a previous conversation",
    "[result of a call that is not here: ls, call c1]\nx",
    "**Plan** look",
];

fn sessions() -> impl Strategy<Value = Session> {
    let texts = vec((any::<Index>(), any::<Index>(), select(TEXTS.to_vec())), 0..4);
    let formats = select(vec![Format::Codex, Format::ClaudeCode, Format::GeminiJsonl]);
    (formats, requests(), vec(coats(), 8), texts).prop_map(|(format, request, coats, texts)| {
        let Request { mut messages, .. } = request;
        for (message, coat) in messages.iter_mut().zip(&coats) {
            message.at = coat.at.map(Timestamp::from_millis);
            if message.role == Role::Model {
                message.model.clone_from(&coat.model);
                let count = |number| Some(TokenCount(number));
                message.usage = coat
                    .figures
                    .map(|figures| Usage {
                        input: count(figures),
                        cached: count(figures / 2),
                        output: count(7),
                        ..Usage::default()
                    })
                    .map(Box::new);
            }
            for (part, origin) in message.parts.iter_mut().zip(&coat.origins) {
                let plain = if message.role == Role::User { *origin } else { Origin::Model };
                part.origin = if part.as_result().is_some() { Origin::Tool } else { plain };
            }
        }
        for (message, part, text) in texts {
            if messages.is_empty() {
                continue;
            }
            let message = message.get_mut(&mut messages);
            if !message.parts.is_empty() {
                part.get_mut(&mut message.parts).body = Body::Text(text.into());
            }
        }
        session_of(format, messages)
    })
}

fn formats() -> impl Strategy<Value = Format> {
    select(SESSIONS.to_vec())
}

fn all_formats() -> impl Strategy<Value = Format> {
    select([SESSIONS.as_slice(), &RENAMING].concat())
}

fn parts(session: &Session) -> impl Iterator<Item = (&Message, &Part)> {
    session
        .transcript
        .messages()
        .iter()
        .flat_map(|message| message.parts.iter().map(move |part| (message, part)))
}

fn calls(session: &Session) -> Vec<(Role, String, String)> {
    let call = |(message, part): (&Message, &Part)| {
        let call = part.as_call()?;
        Some((message.role, call.id.to_string(), call.name.clone()))
    };
    parts(session).filter_map(call).collect()
}

fn results(session: &Session) -> Vec<(String, String)> {
    // Nothing is as good as null.
    let bare = |text: &str| text.split_whitespace().filter(|word| *word != "null").collect::<String>();
    let result = |result: &ToolResult| (result.call.to_string(), bare(&result.readable()));
    parts(session).filter_map(|(_, part)| part.as_result()).map(result).collect()
}

/// What each side said, with who really said it, where `origins` count; blanks, borders of parts and the tags that tell an
/// origin do not.
fn texts(session: &Session, origins: bool) -> Vec<(Role, Option<Origin>, String)> {
    let mut texts: Vec<(Role, Option<Origin>, String)> = Vec::new();
    for (message, part) in parts(session) {
        let Some(text) = part.as_text() else { continue };
        let tags = OWN_TAGS.iter().flat_map(|(tag, _)| [format!("<{tag}>"), format!("</{tag}>")]);
        let text = tags.fold(text.to_string(), |text, tag| text.replace(&tag, ""));
        let text: String = text.split_whitespace().collect();
        let origin = origins.then_some(part.origin);
        match texts.last_mut() {
            _ if text.is_empty() => {}
            Some((role, last, so_far)) if (*role, *last) == (message.role, origin) => so_far.push_str(&text),
            _ => texts.push((message.role, origin, text)),
        }
    }
    texts
}

/// The items that only their vendors understand, with their origins; those inside results are a tool's.
fn items(session: &Session) -> Vec<(Origin, Opaque)> {
    let items = parts(session).flat_map(|(_, part)| match &part.body {
        Body::Result(result) => result.nested.iter().map(|part| (Origin::Tool, part)).collect(),
        _ => vec![(part.origin, part)],
    });
    let opaque = |(origin, part): (Origin, &Part)| match &part.body {
        Body::Opaque(opaque) => Some((origin, (**opaque).clone())),
        _ => None,
    };
    items.filter_map(opaque).collect()
}

fn kinds(written: &WrittenSession) -> BTreeSet<LossKind> {
    written.lost.iter().map(|loss| loss.kind).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_was_read_back_once_stays(format in all_formats(), session in sessions()) {
        let once = read_back(&write_session(format, &session));
        let written = write_session(format, &once);
        let twice = read_back(&written);
        let lost: Vec<String> = written.lost.iter().map(ToString::to_string).collect();
        prop_assert_eq!(lost, Vec::<String>::new());
        // As text, because maps of another order are equal otherwise.
        let show = |session: &Session| -> Vec<String> {
            parts(session).map(|(message, part)| format!("{}: {part:#?}", message.role.as_str())).collect()
        };
        prop_assert_eq!(show(&twice), show(&once));
    }

    #[test]
    fn the_messages_are_taken_and_nothing_else(format in all_formats(), session in sessions()) {
        let mut taken = session.clone();
        write_taking(format, &mut taken);
        prop_assert!(taken.transcript.messages().is_empty());
        prop_assert_eq!(taken.transcript.system, session.transcript.system);
        prop_assert_eq!(taken.side_chains.len(), session.side_chains.len());
    }

    #[test]
    fn a_log_is_replayed_as_it_is_found(format in all_formats(), session in sessions()) {
        let text = write_session(format, &session).text;
        let read = read_session(text.as_bytes()).expect("it was just written");
        let (info, messages) = match read_recorded(text.as_bytes()).expect("it was just written") {
            Recorded::Log(replay) => (replay.info().clone(), replay.transcript().take_messages()),
            Recorded::File(mut session) => (session.info.clone(), session.transcript.take_messages()),
        };
        prop_assert_eq!(messages, read.transcript.messages());
        let facts = |info: &SessionInfo| format!("{info:?}");
        prop_assert_eq!(facts(&info), facts(&read.info));
    }

    #[test]
    fn calls_results_and_texts_come_back(format in all_formats(), session in sessions()) {
        let written = write_session(format, &session);
        let back = read_back(&written);
        let lost = kinds(&written);
        if !lost.contains(&LossKind::Misplaced) {
            prop_assert_eq!(calls(&back), calls(&session));
        }
        if !lost.contains(&LossKind::SecondResult) && !lost.contains(&LossKind::Misplaced) {
            let (found, wanted) = (results(&back), results(&session));
            prop_assert_eq!(found.len(), wanted.len());
            for ((found_id, found), (id, text)) in found.iter().zip(&wanted) {
                // A provider may want an answer inside an object.
                prop_assert!(found_id == id && found.contains(text), "{found} is not {text}");
            }
        }
        prop_assert_eq!(texts(&back, false), texts(&session, false));
        if !lost.contains(&LossKind::Origin) {
            prop_assert_eq!(texts(&back, true), texts(&session, true));
        }
    }

    #[test]
    fn the_neutral_form_keeps_the_items_of_every_vendor(session in sessions()) {
        let written = write_session(Format::Neutral, &session);
        prop_assert!(!kinds(&written).contains(&LossKind::Opaque), "{:?}", written.lost);
        prop_assert_eq!(items(&read_back(&written)), items(&session));
    }

    #[test]
    fn nobody_is_taken_for_a_person_unsaid(format in all_formats(), session in sessions()) {
        let written = write_session(format, &session);
        let typed = |session: &Session| -> String {
            let typed = parts(session).filter(|(_, part)| part.origin == Origin::User);
            typed.filter_map(|(_, part)| part.as_text()).flat_map(str::split_whitespace).collect()
        };
        if typed(&read_back(&written)) != typed(&session) {
            prop_assert!(kinds(&written).contains(&LossKind::Origin));
        }
    }

    #[test]
    fn ids_times_and_models_come_back(format in formats(), session in sessions()) {
        let back = read_back(&write_session(format, &session));
        for message in back.transcript.messages() {
            let original = session.transcript.position(&message.id);
            let Some(original) = original.map(|place| &session.transcript.messages()[place]) else {
                // Only what answers a model's message, or goes on in another line, has an id of its own.
                let id = message.id.as_str();
                let base = id.strip_suffix("_response").or_else(|| Some(id.rsplit_once('-')?.0));
                let known = base.and_then(|base| session.transcript.position(&MessageId::new(base)));
                prop_assert!(known.is_some(), "{}", id);
                continue;
            };
            prop_assert_eq!(message.role, original.role);
            if original.at.is_some() {
                prop_assert_eq!(message.at, original.at);
            }
            prop_assert_eq!(&message.model, &original.model);
            prop_assert_eq!(&message.usage, &original.usage);
        }
    }
}

fn user(id: &str, parts: Vec<Part>) -> Message {
    Message::new(id, Role::User, parts)
}

fn result(call: &str, text: &str) -> Part {
    Part::result(ToolResult::text(call, text).with_status(ToolStatus::Succeeded))
}

#[test]
fn a_repaired_session_tells_its_marks_apart() {
    let orphan = user("u1", vec![result("gone", "two files"), Part::user_text("and now?")]);
    let repaired = longhaul_conversation::repair(vec![orphan]).messages;
    for format in SESSIONS {
        let written = write_session(format, &session_of(format, repaired.clone()));
        assert_eq!(written.lost, [], "{format}");
        let origins: Vec<Origin> = parts(&read_back(&written)).map(|(_, part)| part.origin).collect();
        assert_eq!(origins, [Origin::Tool, Origin::User], "{format}");
    }
}

#[test]
fn claude_code_marks_what_no_person_typed() {
    let call = longhaul_conversation::ToolCall::new("c1", "Skill");
    let messages = vec![
        user("s", vec![Part::text(Origin::Summary, "So far: nothing.")]),
        user("h", vec![Part::text(Origin::Hook, "Be quick."), Part::user_text("Go.")]),
        Message::new("a", Role::Model, vec![Part::call(call)]),
        user("r", vec![result("c1", "loaded")]),
        user("k", vec![Part::text(Origin::Memory, "How to deploy.")]),
    ];
    let session = session_of(Format::Codex, messages);
    let written = write_session(Format::ClaudeCode, &session);
    assert_eq!(written.lost, []);
    let back = read_back(&written);
    assert_eq!(texts(&back, true), texts(&session, true));
    let ids: Vec<&str> = back.transcript.messages().iter().map(|message| message.id.as_str()).collect();
    assert_eq!(ids, ["s", "h", "h-2", "a", "r", "k"]);
}

#[test]
fn sub_agents_stay_apart_in_claude_code_and_are_reported_elsewhere() {
    let mut session = session_of(Format::ClaudeCode, vec![user("u", vec![Part::user_text("Go.")])]);
    let aside = vec![user("s1", vec![Part::user_text("Search.")])];
    session.side_chains.push(SideChain { id: "agent-1".into(), messages: aside.clone() });
    let written = write_session(Format::ClaudeCode, &session);
    assert_eq!(written.lost, []);
    let back = read_back(&written);
    assert_eq!(back.transcript.messages().len(), 1);
    assert_eq!(
        (back.side_chains[0].id.as_str(), &back.side_chains[0].messages[0].parts),
        ("agent-1", &aside[0].parts)
    );
    for format in [Format::GeminiJsonl, Format::Neutral, Format::OpenAiChat] {
        assert_eq!(kinds(&write_session(format, &session)), [LossKind::SideChain].into());
    }
}

#[test]
fn a_format_that_cannot_be_written_becomes_neutral() {
    let session = session_of(Format::Aider, vec![user("u", vec![Part::user_text("Go.")])]);
    let written = write_session(Format::Aider, &session);
    assert_eq!(written.format, Format::Neutral);
    assert!(written.text.contains(r#""format": "aider""#));
}

#[test]
fn what_a_session_says_about_itself_is_kept() {
    for format in SESSIONS {
        let mut session = session_of(format, vec![user("u", vec![Part::user_text("Go.")])]);
        session.info.title = Some("A title".into());
        session.info.session_id = Some("s-1".into());
        session.info.directory = Some("/home/dev".into());
        let info = read_back(&write_session(format, &session)).info;
        let seen = [info.title, info.session_id, info.directory];
        assert_eq!(seen, ["A title", "s-1", "/home/dev"].map(|text| Some(text.to_string())), "{format}");
    }
}

#[test]
fn an_empty_session_can_be_written() {
    for format in SESSIONS {
        let back = read_back(&write_session(format, &session_of(format, Vec::new())));
        assert!(back.transcript.messages().is_empty());
    }
}
