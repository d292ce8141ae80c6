//! Says how long it takes to index a project's past sessions for an extraction:
//! `cargo run --release -p longhaul-agent --example index -- [SESSIONS] [KILOBYTES]`.
//!
//! The sessions are listed by their store, which reads only those that changed since the last time, and of these no more than
//! the list needs; then those worth reading are chosen and laid out as a model reads them.

use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use longhaul_conversation::Timestamp;
use longhaul_sessions::{SessionRole, Store, session_file_name};
use longhaul_skills::{ExtractionState, IndexSettings, PastSession, plan_index, render_index};
use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

/// With what is known of the sessions, it is to take less than this.
const LIMIT: Duration = Duration::from_secs(2);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let sessions = arguments.next().transpose()?.unwrap_or(2_000);
    let kilobytes = arguments.next().transpose()?.unwrap_or(512);

    let folder = tempfile::tempdir()?;
    let environment =
        Environment { longhaul_home: Some(folder.path().join("home")), ..Environment::default() };
    let home = Home::resolve(&environment)?;
    let project = home.project(&Projects::of(&home).identify(folder.path(), LockTimeout::default())?.id);
    fs::create_dir_all(project.chats())?;
    let mut bytes = 0;
    for number in 0..sessions {
        bytes += write_session(&project.chats(), number, kilobytes * 1024)?;
    }
    println!("{sessions} sessions, {:.2} GB", bytes as f64 / 1e9);

    let store = Store::of(&project);
    let (took, listed) = measure(1, || index(&store))?;
    println!("cold: {} ms, {listed} listed", took.as_millis());
    let read = bytes_read();
    let (took, listed) = measure(9, || index(&store))?;
    let read = bytes_read().zip(read).map(|(now, before)| (now - before) / 9);
    let ratio = took.as_secs_f64() / LIMIT.as_secs_f64();
    println!(
        "warm: {} ms, {listed} listed; ratio {ratio:.3} of the limit of {} s",
        took.as_millis(),
        LIMIT.as_secs()
    );
    if let Some(read) = read {
        println!("warm: {:.2} MB read, of {:.0} MB", read as f64 / 1e6, bytes as f64 / 1e6);
    }
    Ok(())
}

/// The index as a model reads it; how many sessions are in it.
fn index(store: &Store) -> io::Result<usize> {
    let past = |session: longhaul_sessions::ListedSession| PastSession {
        id: session.id().to_string(),
        path: session.path.display().to_string(),
        updated: session.updated,
        user_messages: session.metadata.user_message_count,
        headline: session.metadata.summary.or(session.metadata.first_user_message),
        workflow: session.metadata.workflow,
        is_subagent: session.metadata.kind == SessionRole::Subagent,
    };
    let sessions: Vec<PastSession> = store.list()?.sessions.into_iter().map(past).collect();
    let now = Timestamp::from_millis(1_900_000_000_000);
    let index = plan_index(&sessions, &ExtractionState::default(), &IndexSettings::default(), now);
    Ok(render_index(&index).lines().filter(|line| line.starts_with("[NEW]")).count())
}

/// The median of some runs.
fn measure(
    runs: usize,
    mut run: impl FnMut() -> io::Result<usize>,
) -> Result<(Duration, usize), Box<dyn std::error::Error>> {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..runs {
        let started = Instant::now();
        found = run()?;
        times.push(started.elapsed());
    }
    times.sort();
    Ok((times[runs / 2], found))
}

/// What the process has read so far, where the system tells, from memory or disk alike.
fn bytes_read() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/io").ok()?;
    text.lines().find_map(|line| line.strip_prefix("rchar: "))?.trim().parse().ok()
}

/// A session of Gemini CLI's with tool outputs of some size.
fn write_session(chats: &Path, number: usize, size: usize) -> io::Result<usize> {
    let id = format!("{:08x}-4b6f-4f0e-9d5e-{number:012}", number.wrapping_mul(2_654_435_761) as u32);
    let began = Timestamp::from_millis(1_767_000_000_000 + number as i64 * 600_000);
    let output = "   Compiling longhaul-session v0.1.0\\nwarning: unused variable `x`\\n".repeat(150);
    let mut text = format!(
        r#"{{"sessionId":"{id}","projectHash":"{number:064x}","startTime":"{began}","lastUpdated":"{began}","kind":"main"}}"#
    );
    text.push('\n');
    let mut turn = 0;
    while text.len() < size {
        let at = Timestamp::from_millis(began.as_millis() + turn * 30_000);
        let _ = writeln!(
            text,
            r#"{{"id":"u{turn}","timestamp":"{at}","type":"user","content":[{{"text":"Please fix problem {turn} of the build"}}]}}
{{"id":"g{turn}","timestamp":"{at}","type":"gemini","content":"I run the build.","toolCalls":[{{"id":"c{turn}","name":"run_shell_command","args":{{"command":"cargo build"}},"status":"success","result":[{{"functionResponse":{{"id":"c{turn}","name":"run_shell_command","response":{{"output":"{output}"}}}}}}]}}],"model":"gemini-2.5-pro"}}
{{"$set":{{"lastUpdated":"{at}"}}}}"#
        );
        turn += 1;
    }
    let mut file = fs::File::create(chats.join(session_file_name(&id, began)))?;
    file.write_all(text.as_bytes())?;
    Ok(text.len())
}
