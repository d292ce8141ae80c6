//! Measures the speed of searching tool output: `cargo run --release -p longhaul-recall --example search_speed --
//! QUERY [FILE…]`. Without files, compiler output is made up.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use longhaul_conversation::{Message, Ordinal, Part, Role, ToolResult};
use longhaul_recall::{Search, SessionRef};

/// The size of one tool output.
const OUTPUT: usize = 64 * 1024;

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let query = arguments.next().unwrap_or_else(|| "needle haystack".to_owned());
    let mut texts = Vec::new();
    for path in arguments {
        texts.push(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    }
    if texts.is_empty() {
        texts.push(made_up(100_000_000));
    }
    let mut messages = Vec::new();
    for mut rest in texts.iter().map(String::as_str) {
        while !rest.is_empty() {
            let (output, behind) = rest.split_at(rest.ceil_char_boundary(OUTPUT.min(rest.len())));
            rest = behind;
            let id = format!("m{}", messages.len());
            let result = ToolResult::text("c", output).with_name("run_shell_command");
            let mut message = Message::new(id, Role::User, vec![Part::result(result)]);
            message.ordinal = Some(Ordinal(messages.len() as u32 + 1));
            messages.push(message);
        }
    }
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let session = SessionRef::new("speed");
    let mut best = f64::INFINITY;
    let mut hits = Vec::new();
    for _ in 0..5 {
        let started = Clock::start();
        let mut search = Search::new(&query);
        for message in &messages {
            search.observe(&session, message);
        }
        hits = search.hits_in(&session, &messages, 5);
        best = best.min(started.elapsed().as_secs_f64());
    }
    println!("{query:?}: {megabytes:.1} MB in {} messages, {:.0} MB/s", messages.len(), megabytes / best);
    for hit in hits {
        let mark = hit.number.map(|number| number.to_string()).unwrap_or_default();
        let found: Vec<&str> = hit.excerpt.matched().collect();
        println!("{mark:>8} {:6.2} line {} (+{}): {found:?}", hit.score, hit.excerpt.first_line, hit.repeats);
    }
    Ok(())
}

/// Measures processor time if the system provides it, since others may be using the machine.
struct Clock {
    processor: Option<Duration>,
    started: Instant,
}

impl Clock {
    fn start() -> Self {
        Self { processor: Self::processor(), started: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        let worked = Self::processor().zip(self.processor).map(|(now, before)| now.saturating_sub(before));
        worked.unwrap_or_else(|| self.started.elapsed())
    }

    fn processor() -> Option<Duration> {
        let text = std::fs::read_to_string("/proc/self/schedstat").ok()?;
        text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    }
}

fn made_up(size: usize) -> String {
    let mut text = String::with_capacity(size + 200);
    let mut number = 0_u32;
    while text.len() < size {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let _ = match number >> 24 {
            0..=1 => writeln!(text, "error[E0308]: mismatched types in `haystack_{number}`"),
            2..=90 => writeln!(
                text,
                "   Compiling crate-{number} v0.{}.1 (/home/user/project/crates/part)",
                number % 90
            ),
            91..=170 => writeln!(
                text,
                "warning: unused variable: `value_{number}` --> src/module/file.rs:{}:9",
                number % 900
            ),
            _ => writeln!(text, "test tests::case_{number} ... ok in {} ms", number % 1000),
        };
        if number.is_multiple_of(100_003) {
            let _ = writeln!(text, "the Needle was in the haystack {number}");
        }
    }
    text
}
