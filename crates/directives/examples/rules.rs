//! Prints the standing instructions and the requests found in sessions, to be judged by a reader.
//!
//! `cargo run -p longhaul-directives --example rules -- [--json] FILE...`; with `--json` one line of JSON for each session.

use std::fs::File;

use longhaul_conversation::{Change, Message};
use longhaul_directives::{RequestState, UserRequests, UserRules};
use longhaul_formats::{Event, read};
use serde_json::json;

fn main() {
    let mut total = 0;
    let is_json = std::env::args().any(|argument| argument == "--json");
    for path in std::env::args().skip(1).filter(|argument| argument != "--json") {
        let mut messages: Vec<Message> = Vec::new();
        let result = File::open(&path).map_err(Into::into).and_then(|file| {
            read(file, &mut |event| match event {
                Event::Change(Change::Put(message)) => messages.push(message),
                Event::Change(Change::Extend { id, parts }) => {
                    if let Some(message) = messages.iter_mut().rev().find(|message| message.id == id) {
                        message.parts.extend(parts);
                    }
                }
                _ => {}
            })
        });
        if let Err(error) = result {
            eprintln!("{path}: {error}");
            continue;
        }
        let mut rules = UserRules::default();
        messages.iter().for_each(|message| rules.observe(message));
        if is_json {
            let mut requests = UserRequests::default();
            messages.iter().for_each(|message| requests.observe(message));
            let goal: Vec<_> = requests
                .goal()
                .iter()
                .map(|goal| json!({"text": goal.text, "messages": goal.messages}))
                .collect();
            let line = json!({"path": path, "rules": rules.active().collect::<Vec<_>>(), "requests": requests.all(), "goal": goal});
            println!("{line}");
            continue;
        }
        println!("== {path}: {} messages", messages.len());
        for rule in rules.active() {
            println!(
                "  rule {:?} {}",
                rule.messages.iter().map(ToString::to_string).collect::<Vec<_>>(),
                rule.text
            );
        }
        for rule in rules.retired() {
            println!("  retired {} by {:?}", rule.text, rule.retired_by);
        }
        let mut requests = UserRequests::default();
        messages.iter().for_each(|message| requests.observe(message));
        for request in requests.all() {
            let state = match &request.state {
                RequestState::Open { reason: None } => "open".to_string(),
                RequestState::Open { reason: Some(reason) } => {
                    format!("left open {} {}", reason.message, reason.words)
                }
                RequestState::Done(evidence) => format!("done {} {}", evidence.message, evidence.words),
                RequestState::Replaced { by } => format!("replaced {by}"),
            };
            println!("  request {} {:?}\n      {state}", request.messages[0], request.text);
        }
        total += rules.active().count();
    }
    println!("{total} rules");
}
