//! Compacts session files and prints the plan, the snapshot and the time each step takes:
//! `cargo run --release -p longhaul-context --example compact -- [--window N] [--force] [--quiet] [--repeat N] FILE...`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use longhaul_context::{PlanOptions, Tracker, Trigger, compact_offline, parse_token_count, plan, prepare};
use longhaul_conversation::{Message, Ordinal, TokenCount};

fn main() -> Result<(), Box<dyn Error>> {
    let mut window = TokenCount(200_000);
    let (mut trigger, mut quiet, mut repeat) = (Trigger::Automatic, false, 1);
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--window" => window = parse_token_count(&words.next().unwrap_or_default()).ok_or("no number")?,
            "--repeat" => repeat = words.next().unwrap_or_default().parse()?,
            "--force" => trigger = Trigger::Forced,
            "--quiet" => quiet = true,
            path => match longhaul_session::read_session(File::open(path)?) {
                Ok(session) => {
                    let messages = repeated(session.transcript.messages(), repeat);
                    println!("== {path}");
                    compact(&messages, &PlanOptions { trigger, ..PlanOptions::new(window) }, quiet);
                }
                Err(error) => eprintln!("{path}: {error}"),
            },
        }
    }
    Ok(())
}

/// The same messages several times over, as one long session.
fn repeated(messages: &[Message], times: usize) -> Vec<Message> {
    let copies = (0..times).flat_map(|round| messages.iter().map(move |message| (round, message.clone())));
    let copies = copies.enumerate().map(|(place, (round, message))| Message {
        id: format!("{round}-{}", message.id).into(),
        ordinal: Some(Ordinal(place as u32 + 1)),
        ..message
    });
    copies.collect()
}

fn compact(messages: &[Message], options: &PlanOptions, quiet: bool) {
    let mut tracker = Tracker::default();
    timed("observed", || messages.iter().for_each(|message| tracker.observe(message)));
    let prepared = timed("prepared", || prepare(messages, options.empty));
    timed("planned", || plan(&tracker, &prepared.messages, options));
    let outcome = timed("compacted", || compact_offline(&tracker, messages, options));
    println!("{} ({} of {} tokens): {}", outcome.status, outcome.after, outcome.before, outcome.reason);
    if quiet {
        return;
    }
    println!("{}\n{:#?}", outcome.plan, outcome.report);
    if let Some(snapshot) = outcome.snapshot {
        println!("{snapshot}");
    }
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let done = work();
    println!("{what} in {:.3} ms", start.elapsed().as_secs_f64() * 1_000.0);
    done
}
