//! Says how long it takes to list the sessions of a project:
//! `cargo run --release -p longhaul-sessions --example store -- [SESSIONS] [KILOBYTES]`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use longhaul_conversation::Timestamp;
use longhaul_sessions::{Store, session_file_name};
use longhaul_workspace::{Environment, Home, LockTimeout, Projects};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<usize>());
    let sessions = arguments.next().transpose()?.unwrap_or(2000);
    let kilobytes = arguments.next().transpose()?.unwrap_or(20);

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
    println!("{sessions} sessions, {:.1} MB", bytes as f64 / 1e6);

    let store = Store::of(&project);
    let index = store.chats().join(".longhaul-index.json");
    measure("without the index", || store.list_afresh().map(|listing| listing.sessions.len()))?;
    measure("cold index, written", || {
        let _ = fs::remove_file(&index);
        store.list().map(|listing| listing.sessions.len())
    })?;
    println!("{:>22}: {:.2} MB", "size of the index", fs::metadata(&index)?.len() as f64 / 1e6);
    measure("warm index", || store.list().map(|listing| listing.sessions.len()))?;
    let mut number = 0;
    measure("one session changed", || {
        number += 1;
        write_session(store.chats(), number, kilobytes * 1024 + number * 100)?;
        store.list().map(|listing| listing.sessions.len())
    })?;
    Ok(())
}

/// The median and the worst of a few runs, and what all threads worked in one of them on average, where the system tells
/// it: others may be using the machine.
fn measure(name: &str, mut run: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<()> {
    const RUNS: usize = 15;
    let mut times = Vec::new();
    let mut found = 0;
    let before = processor_millis();
    for _ in 0..RUNS {
        let started = Instant::now();
        found = run()?;
        times.push(started.elapsed().as_secs_f64() * 1e3);
    }
    let worked = processor_millis().zip(before).map(|(now, before)| (now - before) / RUNS as f64);
    times.sort_by(f64::total_cmp);
    let processor = worked.map(|millis| format!(", {millis:.0} ms of processor")).unwrap_or_default();
    let (best, median, worst) = (times[0], times[RUNS / 2], times[RUNS - 1]);
    println!("{name:>22}: {median:6.1} ms, {best:6.1} to {worst:6.1} ms{processor} ({found} found)");
    Ok(())
}

/// What the process has worked so far, threads that have ended included. Linux counts in hundredths of a second.
fn processor_millis() -> Option<f64> {
    let text = fs::read_to_string("/proc/self/stat").ok()?;
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) * 10.0)
}

fn write_session(chats: &Path, number: usize, size: usize) -> std::io::Result<usize> {
    let id = format!("{:08x}-4b6f-4f0e-9d5e-{number:012}", number.wrapping_mul(2_654_435_761) as u32);
    let began = Timestamp::from_millis(1_767_000_000_000 + number as i64 * 600_000);
    let mut text = format!(
        r#"{{"sessionId":"{id}","projectHash":"{number:064x}","startTime":"{began}","lastUpdated":"{began}","kind":"main"}}"#
    );
    text.push('\n');
    let mut turn = 0;
    while text.len() < size {
        let at = Timestamp::from_millis(began.as_millis() + turn * 30_000);
        let output = "   Compiling longhaul-session v0.1.0\\nwarning: unused variable `x`\\n".repeat(20);
        let lines = [
            format!(
                r#"{{"id":"u{turn}","timestamp":"{at}","type":"user","content":[{{"text":"Please fix problem {turn} of the build in src/main.rs"}}]}}"#
            ),
            format!(
                r#"{{"id":"g{turn}","timestamp":"{at}","type":"gemini","content":"I run the build.","toolCalls":[{{"id":"c{turn}","name":"run_shell_command","args":{{"command":"cargo build"}},"status":"success","result":[{{"functionResponse":{{"id":"c{turn}","name":"run_shell_command","response":{{"output":"{output}"}}}}}}]}}],"tokens":{{"input":1000,"output":20}},"model":"gemini-2.5-pro"}}"#
            ),
            format!(r#"{{"$set":{{"lastUpdated":"{at}"}}}}"#),
        ];
        for line in lines {
            let _ = writeln!(text, "{line}");
        }
        turn += 1;
    }
    fs::write(chats.join(session_file_name(&id, began)), &text)?;
    Ok(text.len())
}
