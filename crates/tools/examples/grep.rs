//! Compares `grep_search` with ripgrep's libraries by themselves: the same walk with its own ignore rules, and a sink
//! that only counts.
//!
//! `cargo run --release -p longhaul-tools --example grep -- FOLDER [PATTERN..]`

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use grep_regex::RegexMatcherBuilder;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::{WalkBuilder, WalkState};
use longhaul_conversation::CallId;
use longhaul_tools::{GrepSearch, PermittedEffects, Roots, Tool, ToolInvocation};
use longhaul_workspace::Ignoring;
use serde_json::json;
use tokio_util::sync::CancellationToken;

const LIMIT: f64 = 1.5;
const ROUNDS: usize = 7;
const PATTERNS: [&str; 4] = ["unsafe fn", r"impl\s+\w+\s+for", "zzz_nowhere", "self"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let folder = args.next().ok_or("which folder?")?;
    let given: Vec<String> = args.collect();
    let patterns = if given.is_empty() { PATTERNS.map(String::from).to_vec() } else { given };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let ignoring = Ignoring { git: true, gemini: true, custom: Vec::new() };
    let tool = GrepSearch::new(Roots::new(Path::new(&folder), &[])?, ignoring);
    for pattern in patterns {
        let (mut ours, mut bare) = (Duration::MAX, Duration::MAX);
        let mut told = String::new();
        let mut counted = 0;
        // They take turns, so that other load on the machine affects both.
        for _ in 0..ROUNDS {
            let started = Instant::now();
            told = run(&runtime, &tool, &pattern);
            ours = ours.min(started.elapsed());
            let started = Instant::now();
            counted = count(&folder, &pattern)?;
            bare = bare.min(started.elapsed());
        }
        let ratio = ours.as_secs_f64() / bare.as_secs_f64();
        println!(
            "{pattern:?}: {} ms, bare {} ms for {counted} matches; ratio {ratio:.2} (limit {LIMIT:.2}); {}",
            ours.as_millis(),
            bare.as_millis(),
            told.lines().next().unwrap_or_default(),
        );
    }
    Ok(())
}

fn run(runtime: &tokio::runtime::Runtime, tool: &GrepSearch, pattern: &str) -> String {
    let (id, cancel) = (CallId::new("c"), CancellationToken::new());
    let args = json!({ "pattern": pattern });
    let call = ToolInvocation {
        id: &id,
        args: &args,
        progress: &|_| (),
        cancel: &cancel,
        permitted: PermittedEffects::Any,
    };
    runtime.block_on(tool.run(call)).outcome.text().to_string()
}

/// Counts matching lines with the libraries alone.
fn count(folder: &str, pattern: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let matcher = RegexMatcherBuilder::new()
        .multi_line(true)
        .case_insensitive(true)
        .line_terminator(Some(b'\n'))
        .build(pattern)?;
    let total = AtomicU64::new(0);
    WalkBuilder::new(folder).hidden(false).threads(2).build_parallel().run(|| {
        let mut searcher =
            SearcherBuilder::new().binary_detection(BinaryDetection::quit(0)).line_number(true).build();
        let (matcher, total) = (&matcher, &total);
        Box::new(move |entry| {
            if let Ok(entry) = entry
                && entry.file_type().is_some_and(|kind| kind.is_file())
            {
                let mut counter = Counter(0);
                if searcher.search_path(matcher, entry.path(), &mut counter).is_ok() {
                    total.fetch_add(counter.0, Ordering::Relaxed);
                }
            }
            WalkState::Continue
        })
    });
    Ok(total.into_inner())
}

struct Counter(u64);

impl Sink for Counter {
    type Error = std::io::Error;

    fn matched(&mut self, _searcher: &Searcher, _found: &SinkMatch<'_>) -> Result<bool, std::io::Error> {
        self.0 += 1;
        Ok(true)
    }
}
