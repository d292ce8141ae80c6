//! Prints the features of each sentence that a person typed, for `bench/fit-rules`.
//!
//! `rule_features FILE...`: a session of any format, or a JSON list of objects with a `text`. One JSON line per sentence: file,
//! number of the message, text, features.

use std::fs;

use longhaul_conversation::{Change, Message, Part, Role};
use longhaul_directives::{AnnotatedPart, rule_features, typed_texts};
use longhaul_formats::{Event, read};
use serde_json::{Value, json};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for path in std::env::args().skip(1) {
        let bytes = fs::read(&path)?;
        for (number, message) in messages(&bytes)?.iter().enumerate() {
            let parts: Vec<AnnotatedPart<'_>> = message.parts.iter().map(AnnotatedPart::of).collect();
            for (_, said) in typed_texts(&parts) {
                for found in rule_features(&said) {
                    let (text, list, features) = (found.text, found.list, found.features);
                    let line = json!({"file": path, "message": number + 1, "text": text, "list": list, "features": features});
                    println!("{line}");
                }
            }
        }
    }
    Ok(())
}

fn messages(bytes: &[u8]) -> Result<Vec<Message>, Box<dyn std::error::Error>> {
    if let Ok(Value::Array(cases)) = serde_json::from_slice(bytes) {
        let said = cases.iter().filter_map(|case| case["text"].as_str());
        return Ok(said.map(|text| Message::new("u", Role::User, vec![Part::user_text(text)])).collect());
    }
    let mut messages: Vec<Message> = Vec::new();
    read(bytes, &mut |event| {
        if let Event::Change(Change::Put(message)) = event {
            messages.push(message);
        }
    })?;
    Ok(messages)
}
