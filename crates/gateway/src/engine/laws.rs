//! Laws of whole requests: what is not replaced stays, the same input gives the same bytes, garbage passes.

use std::path::Path;

use longhaul_providers::MicroDollars;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plan::PlanSettings;
use crate::route::Upstreams;
use crate::settings::RecordSessions;

fn engine(folder: &Path, mode: Mode) -> Engine {
    let user = longhaul_app::settings::Settings::load(None, Path::new(""), &Default::default());
    let settings = GatewaySettings {
        mode,
        address: "127.0.0.1:1".parse().expect("an address"),
        hosts: Vec::new(),
        token: None,
        upstreams: Upstreams::new(None),
        folder: folder.to_path_buf(),
        window: Some(TokenCount(4_000)),
        plan: PlanSettings::default(),
        record: RecordSessions::Off,
        daily_cap: None::<MicroDollars>,
        user: user.expect("no files").settings,
        secret: [5; 32],
    };
    Engine::new(settings, Some(Store::open(folder).expect("a store")))
}

fn consider(engine: &Engine, family: Family, body: &[u8]) -> Option<String> {
    let headers = HeaderMap::new();
    engine
        .consider(&Call { family, is_count: false, headers: &headers, path_model: None, body, now: 1_000 })
        .body
}

/// A turn of a conversation: words, and calls with their outputs.
#[derive(Clone, Debug)]
struct Turn {
    words: String,
    calls: Vec<String>,
}

fn any_turns() -> impl Strategy<Value = Vec<Turn>> {
    let text = "[a-z \"\\\\é🦀\n]{0,400}";
    let turn = (text, prop::collection::vec(text, 0..3)).prop_map(|(words, calls)| Turn { words, calls });
    prop::collection::vec(turn, 2..24)
}

/// The conversation as a request of each family.
fn body(family: Family, turns: &[Turn]) -> String {
    let mut items: Vec<Value> = Vec::new();
    for (number, Turn { words, calls }) in turns.iter().enumerate() {
        let words = format!("{number}: {words}");
        let id = |call: usize| format!("c{number}-{call}");
        match family {
            Family::Anthropic => {
                items.push(json!({"role": "user", "content": words}));
                for (call, output) in calls.iter().enumerate() {
                    items.push(json!({"role": "assistant", "content": [{"type": "tool_use", "id": id(call), "name": "Bash", "input": {"n": 1.0}}]}));
                    items.push(json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id(call), "content": output}]}));
                }
                items.push(json!({"role": "assistant", "content": [{"type": "text", "text": "Done."}]}));
            }
            Family::Chat => {
                items.push(json!({"role": "user", "content": words}));
                for (call, output) in calls.iter().enumerate() {
                    items.push(json!({"role": "assistant", "content": null, "tool_calls": [{"id": id(call), "type": "function", "function": {"name": "x", "arguments": "{}"}}]}));
                    items.push(json!({"role": "tool", "tool_call_id": id(call), "content": output}));
                }
                items.push(json!({"role": "assistant", "content": "Done."}));
            }
            Family::Responses => {
                items.push(json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}));
                for (call, output) in calls.iter().enumerate() {
                    items.push(json!({"type": "reasoning", "summary": [], "encrypted_content": "sealed"}));
                    items.push(
                        json!({"type": "function_call", "call_id": id(call), "name": "x", "arguments": "{}"}),
                    );
                    items
                        .push(json!({"type": "function_call_output", "call_id": id(call), "output": output}));
                }
                items.push(json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}));
            }
            Family::Gemini => {
                items.push(json!({"role": "user", "parts": [{"text": words}]}));
                for output in calls {
                    items.push(json!({"role": "model", "parts": [{"functionCall": {"name": "x", "args": {}}, "thoughtSignature": "s"}]}));
                    items.push(json!({"role": "user", "parts": [{"functionResponse": {"name": "x", "response": {"output": output}}}]}));
                }
                items.push(json!({"role": "model", "parts": [{"text": "Done."}]}));
            }
        }
    }
    items.push(match family {
        Family::Gemini => json!({"role": "user", "parts": [{"text": "And now?"}]}),
        Family::Responses => json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "And now?"}]}),
        Family::Anthropic | Family::Chat => json!({"role": "user", "content": "And now?"}),
    });
    let items: Vec<String> = items.iter().map(Value::to_string).collect();
    format!("{{ \"x\":1.50, \"{}\" : [ {} ] ,\"y\":9007199254740993}}", family.list(), items.join(" ,\n"))
}

fn any_family() -> impl Strategy<Value = Family> {
    prop::sample::select(Family::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Head and tail are the client's own bytes, in order; between them stands one text more, and nothing else changed.
    #[test]
    fn only_the_replaced_range_changes(family in any_family(), turns in any_turns()) {
        let folder = tempfile::tempdir().expect("a folder");
        let before = body(family, &turns);
        let Some(after) = consider(&engine(folder.path(), Mode::On), family, before.as_bytes()) else { return Ok(()) };
        let (old, new) = (
            RequestBody::split(family, before.as_bytes()).expect("a request"),
            RequestBody::split(family, after.as_bytes()).expect("still a request"),
        );
        let facts = facts_of(&old).expect("known items");
        let cuts = find_cuts(family, &facts).expect("a head");
        let tail = new.items.len() - cuts.head;
        let cut = old.items.len() - tail;
        prop_assert!(cuts.legal.contains(&cut));
        prop_assert_eq!(&new.items[cuts.head..], &old.items[cut..]);
        for index in (0..cuts.head).filter(|index| *index != cuts.host) {
            prop_assert_eq!(new.items[index], old.items[index]);
        }
        prop_assert!(new.items[cuts.host].contains("<state_snapshot"));
        let outside = |body: &RequestBody<'_>| {
            let first = longhaul_wire::range_in(body.text, body.items[0]).start;
            let last = longhaul_wire::range_in(body.text, body.items[body.items.len() - 1]).end;
            (body.text[..first].to_string(), body.text[last..].to_string())
        };
        prop_assert_eq!(outside(&new), outside(&old));
        prop_assert!(serde_json::from_str::<Value>(&after).is_ok());
    }

    /// Another process, with the same store or with one of its own, sends the same bytes.
    #[test]
    fn the_same_input_gives_the_same_bytes(family in any_family(), turns in any_turns()) {
        let (folder, other) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let body = body(family, &turns);
        let first = consider(&engine(folder.path(), Mode::On), family, body.as_bytes());
        prop_assert_eq!(&consider(&engine(folder.path(), Mode::On), family, body.as_bytes()), &first);
        prop_assert_eq!(&consider(&engine(other.path(), Mode::On), family, body.as_bytes()), &first);
    }

    /// A conversation that grows begins with what was sent before, until more gives way.
    #[test]
    fn a_prefix_is_kept_until_the_next_compaction(turns in any_turns()) {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = engine(folder.path(), Mode::On);
        let items = |text: &str| -> Vec<Value> {
            let body: Value = serde_json::from_str(text).expect("JSON");
            body["messages"].as_array().expect("messages").clone()
        };
        let (mut last, mut breaks) = (Vec::new(), 0);
        for count in 1..=turns.len() {
            let body = body(Family::Chat, &turns[..count]);
            let sent = consider(&engine, Family::Chat, body.as_bytes()).unwrap_or(body);
            let mut now = items(&sent);
            // The question at the end stands where the next turn goes on.
            now.pop();
            breaks += i64::from(!now.starts_with(&last));
            last = now;
        }
        prop_assert_eq!(breaks, engine.figures.get("compactions:hard"));
    }

    /// Anything that is no request, or only looks like one, passes in any mode.
    #[test]
    fn garbage_passes(family in any_family(), bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[\\[\\]{}\",:a-c0-9 \\\\]{0,200}") {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = engine(folder.path(), Mode::On);
        prop_assert_eq!(consider(&engine, family, &bytes), None);
        prop_assert_eq!(consider(&engine, family, text.as_bytes()), None);
        let body = format!("{{\"{}\":[{text}]}}", family.list());
        prop_assert_eq!(consider(&engine, family, body.as_bytes()), None);
    }

    /// In observe nothing is ever rewritten.
    #[test]
    fn observing_changes_nothing(family in any_family(), turns in any_turns()) {
        let folder = tempfile::tempdir().expect("a folder");
        prop_assert_eq!(consider(&engine(folder.path(), Mode::Observe), family, body(family, &turns).as_bytes()), None);
    }
}

/// The laws above speak of requests that are rewritten: these are.
#[test]
fn a_long_conversation_of_every_family_is_rewritten_once() {
    let turns: Vec<Turn> = (0..40)
        .map(|turn| Turn {
            words: format!("Do step {turn}. Never delete logs."),
            calls: vec!["fine\n".repeat(40)],
        })
        .collect();
    for family in Family::ALL {
        let folder = tempfile::tempdir().expect("a folder");
        let engine = engine(folder.path(), Mode::On);
        let body = body(family, &turns);
        let sent = consider(&engine, family, body.as_bytes()).expect("rewritten");
        assert!(
            sent.len() < body.len() / 2 && sent.contains("Never delete logs."),
            "{family}: {}",
            sent.len()
        );
        assert_eq!(consider(&engine, family, body.as_bytes()), Some(sent), "{family}");
        assert_eq!(engine.figures.get("compactions:hard"), 1, "{family}");
    }
}
