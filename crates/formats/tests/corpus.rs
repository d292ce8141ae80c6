//! Reads every real session and compares it with its normalized twin.

use std::fs::File;
use std::path::Path;

use longhaul_conversation::{Change, Message, Origin, Part};
use longhaul_formats::{Event, Format, ReadError, read};

/// Every message of a session's main conversation, also what its agent compacted away later.
fn all_messages(path: &Path) -> Result<(Format, Vec<Message>), ReadError> {
    let mut messages: Vec<Message> = Vec::new();
    let info = read(File::open(path)?, &mut |event| match event {
        Event::Change(Change::Put(message)) => match messages.iter_mut().find(|known| known.id == message.id)
        {
            Some(known) => *known = message,
            None => messages.push(message),
        },
        Event::Change(Change::Extend { id, parts }) => {
            if let Some(message) = messages.iter_mut().rev().find(|message| message.id == id) {
                message.parts.extend(parts);
            }
        }
        _ => {}
    })?;
    Ok((info.format, messages))
}

fn count(messages: &[Message], is: impl Fn(&Part) -> bool) -> usize {
    messages.iter().flat_map(|message| &message.parts).filter(|part| is(part)).count()
}

/// Sessions whose twin honestly differs, with what was read here: calls, results, and why.
const EXCEPTIONS: &[(&str, usize, usize, &str)] = &[(
    "openhands-multi-swe-1",
    33,
    32,
    "the twin makes a result of an error that answers no call: the event has no cause; we keep it as text",
)];

#[test]
fn every_original_agrees_with_its_twin() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let mut wrong = Vec::new();
    for original in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let name = original.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let twin = corpus.join(format!("sessions/normalized/{name}.json"));
        let (format, messages) = match all_messages(&original) {
            Ok(read) => read,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let (_, twin) = all_messages(&twin).unwrap_or_else(|error| panic!("{name}: {error}"));
        let counts = |messages: &[Message]| {
            (
                count(messages, |part| part.as_call().is_some()),
                count(messages, |part| part.as_result().is_some()),
            )
        };
        let exception = EXCEPTIONS.iter().find(|(known, ..)| *known == name);
        let expected = exception.map_or_else(|| counts(&twin), |(_, calls, results, _)| (*calls, *results));
        if counts(&messages) != expected {
            let seen = counts(&messages);
            wrong.push(format!("{name} ({format}): calls and results {seen:?}, expected {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// What only programs write into the trajectories of agents that work alone.
const PROGRAMS_WORDS: &[&str] = &[
    "<returncode>",
    "bash-$",
    "INSTRUCTIONS:",
    "<uploaded_files>",
    "Important Rules",
    "# Fix any errors below",
    "SEARCH/REPLACE block",
];

#[test]
fn what_a_program_wrote_is_not_the_users() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let agents = [Format::OpenHands, Format::SweAgent, Format::MiniSweAgent, Format::Aider];
    let mut wrong = Vec::new();
    for original in longhaul_testkit::files_below(&corpus.join("sessions/original")) {
        let Ok((format, messages)) = all_messages(&original) else { continue };
        if !agents.contains(&format) {
            continue;
        }
        let typed =
            messages.iter().flat_map(|message| &message.parts).filter(|part| part.origin == Origin::User);
        let claims = |text: &str| PROGRAMS_WORDS.iter().any(|words| text.contains(words));
        let claimed = typed.filter_map(Part::as_text).filter(|text| claims(text));
        wrong.extend(claimed.map(|text| format!("{}: {text}", original.display())));
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn recorded_responses_are_recognised() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let files = longhaul_testkit::files_below(&corpus.join("parser-only/google-gemini+gemini-cli"));
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "responses"))
    {
        match all_messages(file) {
            Ok((format, messages)) => {
                assert_eq!(format, Format::RecordedResponses, "{}", file.display());
                assert!(!messages.is_empty(), "{}", file.display());
            }
            Err(ReadError::Empty) => assert_eq!(file.metadata().map_or(1, |file| file.len()), 0),
            Err(error) => panic!("{}: {error}", file.display()),
        }
    }
}

#[test]
fn every_single_rollout_record_is_read() {
    let Some(corpus) = longhaul_testkit::corpus() else { return };
    let records = longhaul_testkit::files_below(&corpus.join("parser-only/openai+codex/rollouts"));
    assert!(!records.is_empty());
    for record in records {
        let place = record.display();
        let mut warnings = Vec::new();
        let file = File::open(&record).unwrap_or_else(|error| panic!("{place}: {error}"));
        let info = read(file, &mut |event| {
            if let Event::Warning(warning) = event {
                warnings.push(warning);
            }
        });
        let info = info.unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(info.format, Format::Codex, "{place}");
        assert_eq!(warnings, [], "{place}");
    }
}
