//! Checks that `--redact` lets no secret through, whatever is written or shown.

mod sandbox;

use sandbox::{Sandbox, check_has, long_session, text};
use serde_json::{Value, json};

/// A token that is real in all but that nobody issued it.
fn token() -> String {
    ["ghp", "_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat()
}

const PASSWORD: &str = "kL9!mQx2vT";

/// A Gemini request whose user, model, call, result and instruction each tell a secret.
fn leaky() -> String {
    let mut session: Value = serde_json::from_str(&long_session(30)).expect("JSON");
    let token = token();
    let rule = format!("Always push with {token} and nothing else. Fix deploy.sh.");
    let contents = session["contents"].as_array_mut().expect("a list");
    contents[0]["parts"][0]["text"] = rule.into();
    contents[1]["parts"][0]["functionCall"]["args"] = json!({"command": format!("curl -H 'X-Key: {token}' https://host"), "env": {"DB_PASSWORD": PASSWORD}});
    contents[2]["parts"][0]["functionResponse"]["response"]["output"] =
        format!("error: token {token} was refused\n{}", "some noise\n".repeat(4_000)).into();
    contents[3]["parts"][0]["text"] = format!("I will use {token} from src/deploy.sh.").into();
    session["systemInstruction"] = json!({"parts": [{"text": format!("Your key is {token}.")}]});
    session.to_string()
}

/// The fixture with a token behind a word that stands in paths, texts, outputs and fields that only the agent reads.
fn leaky_log() -> String {
    let fixture = Sandbox::new().read("in.jsonl");
    assert!(fixture.matches("ferry").count() > 20);
    fixture.replace("ferry", &format!("ferry {} ", token()))
}

fn sandbox() -> Sandbox {
    Sandbox::new().with("leaky.json", &leaky()).with("leaky.jsonl", &leaky_log())
}

/// Runs the program and looks for secrets in all it printed and wrote.
#[track_caller]
fn check_clean(arguments: &[&str]) -> String {
    let sandbox = sandbox();
    let output = sandbox.run(arguments);
    let (told, aside) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{arguments:?}: {aside}");
    let written = sandbox
        .names()
        .into_iter()
        .filter(|name| name.starts_with("out") || name.starts_with("tool-outputs"));
    let all = written.map(|name| sandbox.read(&name)).chain([told.clone(), aside.clone()]);
    for text in all {
        for secret in [&token()[4..], PASSWORD] {
            assert!(!text.contains(secret), "{arguments:?} lets a secret through");
        }
    }
    told + &aside
}

#[test]
fn the_sessions_do_leak_without_it() {
    let sandbox = sandbox();
    for file in ["leaky.json", "leaky.jsonl"] {
        sandbox.done(&["compress", file, "--window", "20k", "--force", "-o", "out", "--overwrite"]);
        assert!(sandbox.read("out").contains(&token()), "{file}");
        assert_eq!(sandbox.json(&["compress", file, "--json"])["report"]["redacted"], Value::Null);
    }
}

#[test]
fn nothing_that_compress_makes_holds_a_secret() {
    for file in ["leaky.json", "leaky.jsonl"] {
        for more in [
            &["--force", "-o", "out"] as &[&str],
            &["--force", "-o", "out", "--json"],
            &["--force", "--dry-run"],
            &["--window", "40k", "-o", "out", "--json"],
            &["--window", "6k", "--threshold", "1k", "-o", "out", "--json"],
            &["--force", "--snapshot-budget", "300", "-o", "-"],
        ] {
            check_clean(&[&["compress", file, "--redact"], more].concat());
        }
    }
}

#[test]
fn nothing_that_is_exported_or_repaired_holds_a_secret() {
    for file in ["leaky.json", "leaky.jsonl"] {
        for format in ["gemini", "openai", "anthropic", "neutral", "gemini-jsonl", "claude-code"] {
            check_clean(&["sessions", "export", file, "--redact", "--format", format, "-o", "out"]);
            check_clean(&["sessions", "export", file, "--redact", "--format", format, "-o", "out", "--json"]);
        }
        check_clean(&["sessions", "repair", file, "--redact", "-o", "out"]);
        check_clean(&["sessions", "repair", file, "--redact", "-o", "-", "--json"]);
    }
}

#[test]
fn it_is_told_what_was_found_and_where() {
    let told = check_clean(&["compress", "leaky.json", "--redact"]);
    check_has(&told, &["6 secrets redacted:", "5 × github: m1, m2, m3, m4, system", "1 × password: m2"]);
    let expected = json!({"count": 6, "kinds": [
        {"kind": "github", "count": 5, "messages": ["m1", "m2", "m3", "m4", "system"]},
        {"kind": "password", "count": 1, "messages": ["m2"]},
    ]});
    let sandbox = sandbox();
    let compressed = sandbox.json(&["compress", "leaky.json", "--redact", "--json"]);
    assert_eq!(compressed["report"]["redacted"], expected);
    check_has(
        &compressed["rules"][0]["text"].to_string(),
        &["Always push with [REDACTED] and nothing else."],
    );
    let exported =
        sandbox.json(&["sessions", "export", "leaky.json", "--format", "openai", "--redact", "--json"]);
    assert_eq!(exported["redacted"], expected);
    check_has(&check_clean(&["sessions", "repair", "leaky.json", "--redact"]), &["6 secrets redacted:"]);
}

#[test]
fn where_there_is_no_secret_nothing_changes() {
    let sandbox = sandbox();
    let plain = sandbox.done(&["sessions", "export", "in.jsonl", "--format", "neutral", "-o", "-"]);
    let redacted =
        sandbox.run(&["sessions", "export", "in.jsonl", "--format", "neutral", "--redact", "-o", "-"]);
    assert_eq!(text(&redacted.stdout), plain);
    check_has(&text(&redacted.stderr), &["No secrets found"]);
}
