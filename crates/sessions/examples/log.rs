//! Says how fast a log is written and replayed: `cargo run --release -p longhaul-sessions --example log [MEGABYTES]`.
//!
//! A session of tool calls is appended message by message, then read back in three ways: as raw bytes, by the reader of all
//! formats, and by replay.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::time::{Duration, Instant};

use longhaul_conversation::{Message, Part, Role, Timestamp, ToolCall, ToolResult, ToolStatus};
use longhaul_formats::{Replay, read_session, response_id};
use longhaul_sessions::{Durability, Log, NewSession, SessionKind};
use serde_json::json;

/// How long the middle one and the slowest one in a hundred took.
fn quantiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |share: usize| times[(times.len() - 1) * share / 100].as_secs_f64() * 1e3;
    (at(50), at(99))
}

fn timed<T>(act: impl FnOnce() -> T) -> (T, f64) {
    let started = Instant::now();
    let value = act();
    (value, started.elapsed().as_secs_f64())
}

/// The messages of one turn: a question, a call, its result and an answer.
fn turn(number: usize) -> [Message; 4] {
    let at = Some(Timestamp::from_millis(1_767_323_045_000 + number as i64));
    let message = |id: String, role, parts| Message { at, ..Message::new(id, role, parts) };
    let call = format!("call-{number}");
    let output = format!("{number}: fn main() {{ println!(\"hello\"); }}\n").repeat(60);
    let asked = ToolCall::new(call.as_str(), "read_file").with_args(json!({"path": "src/main.rs"}));
    let model = format!("m{number}");
    let result =
        ToolResult::text(call.as_str(), output).with_name("read_file").with_status(ToolStatus::Succeeded);
    [
        message(format!("u{number}"), Role::User, vec![Part::user_text("What does this do?")]),
        message(model.clone(), Role::Model, vec![Part::call(asked)]),
        message(response_id(&model.into()).to_string(), Role::User, vec![Part::result(result)]),
        message(format!("a{number}"), Role::Model, vec![Part::model_text("It greets. ".repeat(20))]),
    ]
}

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        project_hash: "p".into(),
        kind: SessionKind::Main,
        directories: Vec::new(),
        at: Timestamp::from_millis(1_767_323_045_000),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let megabytes: usize = std::env::args().nth(1).map_or(Ok(100), |text| text.parse())?;
    let folder = std::env::temp_dir().join(format!("longhaul-log-{}", std::process::id()));

    for (durability, turns) in [(Durability::Written, 1000), (Durability::Synced, 50)] {
        let mut log = Log::create(&folder, &session(&format!("{durability:?}")))?.with_durability(durability);
        let mut times = Vec::new();
        for message in (0..turns).flat_map(turn) {
            let (appended, seconds) = timed(|| log.append(&message));
            appended?;
            times.push(Duration::from_secs_f64(seconds));
        }
        let (middle, slow) = quantiles(times);
        println!("append, {durability:?}: {middle:.3} ms, 99 % under {slow:.3} ms");
        fs::remove_file(log.path())?;
    }

    let mut log = Log::create(&folder, &session("large"))?;
    let mut number = 0;
    while fs::metadata(log.path())?.len() < (megabytes as u64) * 1_000_000 {
        let messages: Vec<Message> = (number..number + 200).flat_map(turn).collect();
        log.append_all(&messages)?;
        number += 200;
    }
    let path = log.path().to_path_buf();
    drop(log);
    let size = fs::metadata(&path)?.len() as f64 / 1e6;
    let raw = || -> std::io::Result<usize> {
        let mut bytes = Vec::new();
        File::open(&path)?.read_to_end(&mut bytes)
    };
    raw()?;
    let (_, raw_seconds) = timed(raw);
    let (session, read_seconds) = timed(|| read_session(File::open(&path)?).map_err(std::io::Error::other));
    let read = session?.transcript.messages().len();
    let (replay, replay_seconds) = timed(|| Replay::read(File::open(&path)?).map_err(std::io::Error::other));
    let replayed = replay?;
    let (transcript, transcript_seconds) = timed(|| replayed.transcript());
    assert_eq!((read, transcript.messages().len()), (number * 4, number * 4));
    println!("{size:.0} MB, {read} messages");
    for (what, seconds) in
        [("raw bytes", raw_seconds), ("read_session", read_seconds), ("replay", replay_seconds)]
    {
        println!(
            "{what:>12}: {:.0} ms, {:.0} MB/s, {:.2} of read_session",
            seconds * 1e3,
            size / seconds,
            seconds / read_seconds
        );
    }
    println!("  transcript: {:.0} ms", transcript_seconds * 1e3);
    fs::remove_dir_all(&folder)?;
    std::io::stdout().flush()?;
    Ok(())
}
