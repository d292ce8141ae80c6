//! Scores the search against two lists: texts that hold a secret, and texts that only look so.
//!
//! `cargo run -p longhaul-redact --example score -- TRUE.json LOOKALIKES.json`
//!
//! Both are JSON arrays. An item of the first has `id`, `text`, `kind` and `secret`: a string, or an array of pieces none
//! of which may stay. An item of the second has `id`, `text`, `kind` and `keep`, which must stay as it is. Lists that are
//! to say something are written by somebody who has not read this crate.

use std::process::ExitCode;

use longhaul_redact::{SecretFinding, redact};
use serde_json::Value;

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    let [secrets, lookalikes] = paths.as_slice() else {
        eprintln!("usage: score TRUE.json LOOKALIKES.json");
        return Ok(ExitCode::from(2));
    };
    let missed = report("missed", &load(secrets)?, |item, text| {
        let secret = &item["secret"];
        let pieces = secret.as_array().map_or_else(|| vec![secret], |pieces| pieces.iter().collect());
        pieces.into_iter().filter_map(Value::as_str).any(|piece| text.contains(piece))
    });
    let hit = report("hit", &load(lookalikes)?, |item, text| {
        item["keep"].as_str().is_some_and(|keep| !text.contains(keep))
    });
    println!("{missed}, {hit}");
    Ok(ExitCode::SUCCESS)
}

fn load(path: &str) -> Result<Vec<Value>, Box<dyn std::error::Error>> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Prints every item that `is_wrong` says of, with its redacted text, and counts them.
fn report(wrong: &str, items: &[Value], is_wrong: impl Fn(&Value, &str) -> bool) -> String {
    let mut count = 0;
    for item in items {
        let redacted = redact(item["text"].as_str().unwrap_or_default());
        if is_wrong(item, &redacted.text) {
            count += 1;
            let kinds: Vec<_> =
                redacted.findings.iter().map(|SecretFinding { kind, .. }| kind.name()).collect();
            println!("{wrong}: {} ({}) {kinds:?}: {:?}", item["id"], item["kind"], redacted.text);
        }
    }
    format!("{count} of {} {wrong}", items.len())
}
