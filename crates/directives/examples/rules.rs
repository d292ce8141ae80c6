//! Prints the standing instructions and the asks found in sessions, to be judged by a reader.
//!
//! `cargo run -p longhaul-context --example pins -- FILE...`

use std::fs::File;

use longhaul_conversation::{Change, Message};
use longhaul_directives::{AskState, Asks, Pins};
use longhaul_formats::{Event, read};

fn main() {
    let mut total = 0;
    for path in std::env::args().skip(1) {
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
        let mut pins = Pins::default();
        messages.iter().for_each(|message| pins.observe(message));
        println!("== {path}: {} messages", messages.len());
        for pin in pins.active() {
            println!(
                "  pin {:?} {}",
                pin.messages.iter().map(ToString::to_string).collect::<Vec<_>>(),
                pin.text
            );
        }
        for pin in pins.retired() {
            println!("  retired {} by {:?}", pin.text, pin.retired_by);
        }
        let mut asks = Asks::default();
        messages.iter().for_each(|message| asks.observe(message));
        for ask in asks.all() {
            let state = match &ask.state {
                AskState::Open { claim: None } => "open".to_string(),
                AskState::Open { claim: Some(claim) } => format!("claimed {} {}", claim.message, claim.words),
                AskState::Done(evidence) => format!("done {} {}", evidence.message, evidence.words),
                AskState::Replaced { by } => format!("replaced {by}"),
            };
            println!("  ask {} {:?}\n      {state}", ask.messages[0], ask.text);
        }
        total += pins.active().count();
    }
    println!("{total} pins");
}
