//! Measures offline compaction beside `serde_json::Value` over the same bytes: `compact [MEGABYTES | FILE]`
//!
//! The sessions are made in memory. One has tool outputs of 8 to 20 KB, some lines Chinese and Japanese, as
//! `bench/generate.mjs` writes it; one has outputs, arguments, answers, thoughts and prompts in the shares that real sessions
//! have; the others have nothing but prose, which a user types and a model answers: messages of
//! 1 KB, of 100 bytes and of 100 KB; and a small one is nothing but standing instructions, which are all kept.
//!
//! Timed is everything between the bytes of a history and the smaller conversation: reading, observing, planning,
//! composing and applying. With a file, the session in it is measured instead. The limits are those of `bench/README.md`.

use std::error::Error;
use std::fmt::Write;
use std::hint::black_box;
use std::time::{Duration, Instant};

use longhaul_compaction::{
    Gauge, Input, PlanOptions, PreparedMessages, Status, Tracker, compact_offline, plan, prepare,
};
use longhaul_conversation::{Change, Estimator, Message, Part, Role, TokenCount, ToolResult};
use longhaul_formats::{Session, read_session_in};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

/// What the model can take that the histories are made smaller for.
const WINDOW: TokenCount = TokenCount(200_000);
/// No instruction is ever given up, so that both histories of them do not fit in this.
const SMALL_WINDOW: TokenCount = TokenCount(20_000);

/// The limit for 100 MB, in times of `serde_json::Value` over the same bytes.
const LIMIT: u32 = 6;
/// The limit for ten times the history, in times of the time.
const GROWTH_LIMIT: u32 = 12;
/// The limit for one more message.
const MESSAGE_LIMIT: Duration = Duration::from_micros(50);

fn main() -> Result<(), Box<dyn Error>> {
    let size = std::env::args().nth(1).unwrap_or_else(|| "100".to_string());
    let Ok(megabytes) = size.parse::<usize>() else {
        compact("file", &std::fs::read_to_string(size)?, WINDOW)?;
        return Ok(());
    };
    let small = compact("outputs", &generate(megabytes.div_ceil(10) * 1_000_000), WINDOW)?;
    let large = compact("outputs", &generate(megabytes * 1_000_000), WINDOW)?;
    print_growth("history", large, small);
    let few = compact("rules", &generate_rules(megabytes * 10_000), SMALL_WINDOW)?;
    let many = compact("rules", &generate_rules(megabytes * 100_000), SMALL_WINDOW)?;
    print_growth("rules", many, few);
    compact("mixed", &generate_mixed(megabytes * 1_000_000), WINDOW)?;
    for (what, size) in [("prose", 1_000), ("short prose", 100), ("long prose", 100_000)] {
        compact(what, &generate_prose(megabytes * 1_000_000, size), WINDOW)?;
    }
    one_more();
    Ok(())
}

/// Compacts one history, prints the time it takes and returns it: the shortest of five.
fn compact(what: &str, history: &str, window: TokenCount) -> Result<Duration, Box<dyn Error>> {
    let (mut values, mut shortest) = (Duration::MAX, Duration::MAX);
    let mut status = Status::Noop;
    let is_document = serde_json::from_str::<IgnoredAny>(history).is_ok();
    for _ in 0..5 {
        let start = Instant::now();
        if is_document {
            black_box(serde_json::from_str::<Value>(history)?);
        } else {
            for line in history.lines() {
                black_box(serde_json::from_str::<Value>(line)?);
            }
        }
        values = values.min(start.elapsed());

        let start = Instant::now();
        let options = PlanOptions::new(window);
        let (mut session, tracker) = read(history)?;
        let prepared = prepare(session.transcript.take_messages(), options.empty);
        let outcome = compact_offline(&Input::new(&tracker, &prepared, &options));
        shortest = shortest.min(start.elapsed());
        status = outcome.status;
    }
    println!(
        "{:<11} {:>4} MB: {shortest:.2?}, {:.1} times the {values:.2?} of serde_json::Value (limit {LIMIT}); {}",
        what,
        history.len() / 1_000_000,
        ratio(shortest, values),
        status.as_str(),
    );
    Ok(shortest)
}

/// Reads a history and observes its messages.
fn read(history: &str) -> Result<(Session, Tracker), Box<dyn Error>> {
    let mut tracker = Tracker::in_directory("/home/dev/project");
    let session = read_session_in(history.as_bytes(), &mut |change, _| {
        if let Change::Put(message) | Change::PutAfter { message, .. } = change {
            tracker.observe(message);
        }
    })?;
    Ok((session, tracker))
}

fn print_growth(what: &str, large: Duration, small: Duration) {
    let growth = ratio(large, small);
    println!("growth      {growth:.1} times the time for 10 times the {what} (limit {GROWTH_LIMIT})");
}

fn ratio(one: Duration, other: Duration) -> f64 {
    one.as_secs_f64() / other.as_secs_f64()
}

/// Prints how long one more message of 2,000 characters takes with 500,000 tokens tracked: to observe it and to decide
/// whether to wait, mask or compact; and beside it what the whole plan takes, which is made only if something is due.
fn one_more() {
    let mut dice = Dice(7);
    let output = |dice: &mut Dice, size: usize| {
        let result = ToolResult::text("c", output(dice, size));
        Message::new("r", Role::User, vec![Part::result(result)])
    };
    let (mut tracker, mut gauge) = (Tracker::default(), Gauge::new(Estimator::default()));
    let mut messages: Vec<Message> = (0..200).map(|_| output(&mut dice, 10_000)).collect();
    for message in &messages {
        tracker.observe(message);
        gauge.observe(message);
    }
    let options = PlanOptions::new(TokenCount(1_000_000));
    let more: Vec<Message> = (0..100).map(|_| output(&mut dice, 2_000)).collect();
    let (mut sum, mut longest) = (Duration::ZERO, Duration::ZERO);
    for message in &more {
        let start = Instant::now();
        tracker.observe(message);
        gauge.observe(message);
        black_box(gauge.due(&options));
        let took = start.elapsed();
        sum += took;
        longest = longest.max(took);
    }
    println!(
        "one more    {:.0?} (limit {MESSAGE_LIMIT:.0?}) with {} tokens tracked, at most {longest:.0?}: \
         observed and decided about ({:?})",
        sum / more.len() as u32,
        gauge.tokens(),
        gauge.due(&options),
    );
    messages.extend(more);
    let start = Instant::now();
    let prepared = PreparedMessages::as_given(&messages);
    let plan = plan(&Input::new(&tracker, &prepared, &options));
    println!("whole plan  {:.0?} ({})", start.elapsed(), plan.rung.as_str());
}

/// A session of about so many bytes, one entry a line.
fn generate(bytes: usize) -> String {
    let mut dice = Dice(42);
    let mut history = String::with_capacity(bytes + 40_000);
    let mut nth = 0;
    while history.len() < bytes {
        if nth % 50 == 0 {
            let text = format!("Please look at part {nth} and fix what is broken there.");
            let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
            put(&mut history, "user", &format!("u{nth}"), &message);
        }
        let path = format!("/home/dev/project/src/module_{}/file_{}.rs", dice.below(40), dice.below(200));
        let tool = if dice.below(3) == 0 { "Bash" } else { "Read" };
        let call = format!("toolu_{nth}");
        let content = json!([
            {"type": "text", "text": format!("Reading {path} next.")},
            {"type": "tool_use", "id": call, "name": tool, "input": {"file_path": path, "limit": dice.below(2000)}},
        ]);
        let message = json!({
            "id": format!("msg_{nth}"), "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": nth * 100, "output_tokens": 50},
        });
        put(&mut history, "assistant", &format!("a{nth}"), &message);
        let size = 8_000 + dice.below(12_000);
        let result = json!({"type": "tool_result", "tool_use_id": call, "content": output(&mut dice, size)});
        put(&mut history, "user", &format!("r{nth}"), &json!({"role": "user", "content": [result]}));
        nth += 1;
    }
    history
}

fn put(history: &mut String, kind: &str, id: &str, message: &Value) {
    let entry = json!({
        "isSidechain": false, "userType": "external", "cwd": "/home/dev/project", "sessionId": "bench",
        "version": "2.0.0", "type": kind, "uuid": id, "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
    });
    writeln!(history, "{entry}").expect("a string takes everything");
}

/// A session of about so many bytes, mixed as real ones are: of a hundred bytes some 61 are outputs, 14 arguments, 14 what the
/// model says and thinks, 6 what is typed, and the rest is what stands around them.
fn generate_mixed(bytes: usize) -> String {
    let mut dice = Dice(7);
    let mut history = String::with_capacity(bytes + 40_000);
    let mut nth = 0;
    while history.len() < bytes {
        if nth % 8 == 0 {
            let content = json!([{"type": "text", "text": prose(&mut dice, 2_400)}]);
            put(&mut history, "user", &format!("u{nth}"), &json!({"role": "user", "content": content}));
        }
        let path = format!("/home/dev/project/src/module_{}/file_{}.rs", dice.below(40), dice.below(200));
        let call = format!("toolu_{nth}");
        let input = match dice.below(3) {
            0 => {
                json!({"file_path": path, "old_string": output(&mut dice, 700), "new_string": output(&mut dice, 900)})
            }
            1 => json!({"command": format!("cargo test -p module_{} 2>&1 | tail -40", dice.below(40))}),
            _ => json!({"file_path": path, "limit": dice.below(2000)}),
        };
        let tool = if input["command"].is_string() {
            "Bash"
        } else if input["limit"].is_number() {
            "Read"
        } else {
            "Edit"
        };
        let content = json!([
            {"type": "thinking", "thinking": prose(&mut dice, 80), "signature": "c2lnbmF0dXJl"},
            {"type": "text", "text": prose(&mut dice, 550)},
            {"type": "tool_use", "id": call, "name": tool, "input": input},
        ]);
        let message = json!({
            "id": format!("msg_{nth}"), "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
            "usage": {"input_tokens": 10, "cache_read_input_tokens": nth * 100, "output_tokens": 50},
        });
        put(&mut history, "assistant", &format!("a{nth}"), &message);
        let size = 600 + dice.below(5_600);
        let result = json!({"type": "tool_result", "tool_use_id": call, "content": output(&mut dice, size)});
        put(&mut history, "user", &format!("r{nth}"), &json!({"role": "user", "content": [result]}));
        nth += 1;
    }
    history
}

/// A session of about so many bytes in which a user and a model take turns to say about `size` bytes.
fn generate_prose(bytes: usize, size: usize) -> String {
    let mut dice = Dice(99);
    let mut history = String::with_capacity(bytes + 2 * size);
    let mut nth = 0;
    while history.len() < bytes {
        let content = json!([{"type": "text", "text": prose(&mut dice, size)}]);
        if nth % 2 == 0 {
            put(&mut history, "user", &format!("u{nth}"), &json!({"role": "user", "content": content}));
        } else {
            let message = json!({
                "id": format!("msg_{nth}"), "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
                "usage": {"input_tokens": 10, "cache_read_input_tokens": nth * 100, "output_tokens": 50},
            });
            put(&mut history, "assistant", &format!("a{nth}"), &message);
        }
        nth += 1;
    }
    history
}

/// A session of about so many bytes in which the user gives rules and lifts some of them.
fn generate_rules(bytes: usize) -> String {
    let mut history = String::with_capacity(bytes + 1_000);
    let mut nth = 0;
    while history.len() < bytes {
        let text = match nth % 4 {
            3 => format!("You may now touch module_{} again, which is no longer frozen.", nth - 1),
            _ => format!("Always log what part_{nth} does. Never touch module_{nth}: it is frozen."),
        };
        let message = json!({"role": "user", "content": [{"type": "text", "text": text}]});
        put(&mut history, "user", &format!("u{nth}"), &message);
        nth += 1;
    }
    history
}

/// Sentences that differ, in paragraphs, with a name or a number in every sixth.
fn prose(dice: &mut Dice, size: usize) -> String {
    const LEADS: [&str; 16] = [
        "I think",
        "It seems that",
        "Yesterday",
        "As far as I know",
        "To be honest",
        "In my opinion",
        "However,",
        "For example,",
        "On the other hand,",
        "Note that",
        "We found that",
        "Then",
        "Sometimes",
        "Perhaps",
        "Can you see whether",
        "Also,",
    ];
    const SUBJECTS: [&str; 20] = [
        "the parser",
        "our upload handler",
        "the retry loop",
        "a stale lock",
        "the session log",
        "the second worker",
        "my colleague",
        "the billing service",
        "this function",
        "the old migration",
        "the release script",
        "the search index",
        "the cache",
        "that error message",
        "the staging server",
        "the whole team",
        "a user in Berlin",
        "the nightly job",
        "the settings page",
        "the token counter",
    ];
    const VERBS: [&str; 20] = [
        "fails",
        "waits",
        "returns",
        "stops",
        "reads",
        "writes",
        "breaks",
        "works",
        "looks odd",
        "seems fine",
        "needs more time",
        "keeps the old value",
        "handles it",
        "skips a row",
        "opens late",
        "closes early",
        "counts twice",
        "forgets it",
        "loads again",
        "drops the rest",
    ];
    const RESTS: [&str; 20] = [
        "because the file is empty",
        "when two requests arrive at once",
        "before anything was written",
        "as we discussed on Tuesday",
        "although nobody asked for it",
        "without a reason that I can see",
        "and then everything is slow",
        "so the customer sees an old page",
        "if the network goes away",
        "after about thirty seconds",
        "in a way that is hard to explain",
        "just like the last release did",
        "while the other half is fine",
        "instead of the new value",
        "which is not what we want",
        "until somebody restarts it",
        "because of a missing index",
        "only on the second try",
        "with the same input",
        "and I am not sure why",
    ];
    let mut text = String::with_capacity(size + 200);
    while text.len() < size {
        let pick = |words: &[&'static str], dice: &mut Dice| words[dice.below(words.len())];
        text.push_str(pick(&LEADS, dice));
        for nth in 0..1 + dice.below(2) {
            let (subject, verb, rest) = (pick(&SUBJECTS, dice), pick(&VERBS, dice), pick(&RESTS, dice));
            let joint = if nth == 0 { "" } else { ", and" };
            write!(text, "{joint} {subject} {verb} {rest}").expect("a string takes everything");
        }
        if dice.below(6) == 0 {
            let [module, line] = [40, 900].map(|most| dice.below(most));
            write!(text, ", see src/module_{module}.rs:{line}").expect("a string takes everything");
        }
        text.push_str([".", ".", ".", "?", "!"][dice.below(5)]);
        text.push_str(if dice.below(8) == 0 { "\n\n" } else { " " });
    }
    text
}

fn output(dice: &mut Dice, size: usize) -> String {
    const WORDS: [&str; 16] = [
        "let", "const", "fn", "struct", "impl", "return", "error", "result", "config", "parser", "token",
        "stream", "buffer", "handler", "request", "self",
    ];
    const HAN: &str = "这个函数返回错误结果配置解析器令牌流缓冲区处理程序请求テストの結果を確認してください";
    let han: Vec<char> = HAN.chars().collect();
    let mut text = String::with_capacity(size + 200);
    while text.len() < size {
        if dice.below(20) == 0 {
            text.extend((0..30).map(|_| han[dice.below(han.len())]));
        } else {
            text.push(' ');
            for _ in 0..6 + dice.below(6) {
                text.push(' ');
                text.push_str(WORDS[dice.below(WORDS.len())]);
            }
            let [quoted, module, file, line] = [10_000, 40, 200, 900].map(|most| dice.below(most));
            write!(text, " \"quoted {quoted}\" // src/module_{module}/file_{file}.rs:{line}")
                .expect("a string takes everything");
        }
        text.push('\n');
    }
    text
}

/// Throws the same numbers every time.
struct Dice(u32);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % most
    }
}
