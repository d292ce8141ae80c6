//! Times the guard's answer behind a compaction of Claude Code: read whole, then from the state beside the session.
//!
//! usage: `cargo run --release -p longhaul-companion --example guard SESSION.jsonl`

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use longhaul_companion::{GuardMemory, HookCall, HookDialect, HookMoment, answer, take_note};

/// So many calls are timed, of which the shortest counts.
const CALLS: usize = 9;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let session = std::env::args_os().nth(1).map(PathBuf::from).ok_or("pass a session of Claude Code")?;
    let folder = tempfile::tempdir()?;
    let memory = GuardMemory::at(folder.path());
    let call = |moment| HookCall {
        dialect: HookDialect::Claude,
        moment,
        transcript: Some(session.clone()),
        session: None,
        directory: None,
    };
    let open = |path: &Path| Ok(Box::new(File::open(path)?) as Box<dyn Read>);
    let shortest = |moment: HookMoment,
                    handler: usize|
     -> Result<(Duration, usize), Box<dyn std::error::Error>> {
        let mut shortest = Duration::MAX;
        let mut said = 0;
        for _ in 0..CALLS {
            let started = Instant::now();
            said = answer(&call(moment.clone()), handler, &memory, &[], &open)?.map_or(0, |text| text.len());
            shortest = shortest.min(started.elapsed());
        }
        Ok((shortest, said))
    };
    // The second handler keeps no state: without one it reads the whole session.
    let (whole, _) = shortest(HookMoment::Compacted, 2)?;
    let started = Instant::now();
    take_note(&session, &memory, &[])?;
    let kept = started.elapsed();
    let (from_state, said) = shortest(HookMoment::Compacted, 1)?;
    let (prompted, _) = shortest(HookMoment::Prompted, 1)?;
    let milliseconds = |time: Duration| time.as_secs_f64() * 1_000.0;
    println!("session: {:.1} MB", std::fs::metadata(&session)?.len() as f64 / 1e6);
    println!("behind a compaction, read whole: {:.1} ms", milliseconds(whole));
    println!("keeping the state, once per turn, in the background: {:.1} ms", milliseconds(kept));
    println!("behind a compaction, from the state: {:.1} ms, {said} bytes said", milliseconds(from_state));
    println!("at a prompt: {:.1} ms", milliseconds(prompted));
    let state: u64 = std::fs::read_dir(folder.path())?
        .flatten()
        .filter_map(|file| file.metadata().ok())
        .map(|file| file.len())
        .sum();
    println!("state: {:.1} kB", state as f64 / 1e3);
    Ok(())
}
