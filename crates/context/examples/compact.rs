//! Compacts session files and prints the plan, the snapshot and the time each step takes:
//! `cargo run --release -p longhaul-context --example compact -- [--window N] [--force] [--quiet] [--repeat N] FILE...`

use std::error::Error;
use std::fs::File;
use std::time::Instant;

use longhaul_context::{
    Gauge, PlanOptions, Tracker, Trigger, compact_offline, parse_token_count, plan, prepare,
};
use longhaul_conversation::{Body, Message, Ordinal, TokenCount};

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
    let mut all: Vec<Message> = Vec::with_capacity(messages.len() * times);
    for round in 0..times {
        for message in messages {
            let mut copy = message.clone();
            copy.id = format!("{round}-{}", message.id).into();
            copy.ordinal = Some(Ordinal(all.len() as u32 + 1));
            for part in &mut copy.parts {
                match &mut part.body {
                    Body::Call(call) => call.id = format!("{round}-{}", call.id).into(),
                    Body::Result(result) => result.call = format!("{round}-{}", result.call).into(),
                    _ => {}
                }
            }
            all.push(copy);
        }
    }
    all
}

fn compact(messages: &[Message], options: &PlanOptions, quiet: bool) {
    let mut tracker = Tracker::default();
    timed("observed", || messages.iter().for_each(|message| tracker.observe(message)));
    let mut gauge = Gauge::new(options.estimator);
    timed("gauged", || messages.iter().for_each(|message| gauge.observe(message)));
    timed("waited or not", || gauge.plan_to_wait(options).is_some());
    let prepared = timed("prepared", || prepare(messages, options.empty));
    let is_copy = matches!(prepared.messages, std::borrow::Cow::Owned(_));
    println!("{} repairs, {}", prepared.repairs.len(), if is_copy { "copied" } else { "as it was" });
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
