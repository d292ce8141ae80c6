//! Where the system gives little, the program says so: no limit makes it panic.
#![cfg(unix)]

mod sandbox;

use std::process::{Command, Output, Stdio};

use sandbox::{Sandbox, text};

/// Runs the program in a shell that sets a limit first.
fn run(sandbox: &Sandbox, limit: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new("sh");
    command
        .arg("-c")
        .arg(format!("ulimit {limit} && exec \"$0\" \"$@\""))
        .arg(env!("CARGO_BIN_EXE_longhaul"));
    command.args(arguments).current_dir(sandbox.path("")).env("NO_COLOR", "1").stdin(Stdio::null());
    command.env("LONGHAUL_HOME", sandbox.path("home")).env("GEMINI_CLI_TRUST_WORKSPACE", "true");
    // Nobody listens there.
    command.env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1").env("OPENAI_API_KEY", "0123456789abcdef");
    command.output().expect("it runs")
}

/// Checks that a run ends as runs end: done, or with an error in words.
#[track_caller]
fn check(sandbox: &Sandbox, limit: &str, arguments: &[&str]) -> String {
    let output = run(sandbox, limit, arguments);
    let said = text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{limit} {arguments:?}: {} {said}", output.status);
    assert!(!said.contains("panicked"), "{limit} {arguments:?}: {said}");
    assert_eq!(output.status.success(), !said.contains("error: "), "{limit} {arguments:?}: {said}");
    said
}

#[test]
fn few_descriptors_end_with_a_message() {
    let sandbox = Sandbox::new();
    for count in [8, 9, 10, 12] {
        let limit = format!("-n {count}");
        for arguments in [
            &["inspect", "in.jsonl"][..],
            &["compress", "in.jsonl", "--force", "--json"],
            &["eval", "in.jsonl", "--small"],
            &["sessions", "list"],
            &["memory", "list"],
            &["doctor"],
        ] {
            check(&sandbox, &limit, arguments);
        }
        let said = check(&sandbox, &limit, &["-p", "Hi.", "-m", "gpt-4o"]);
        let expected =
            "hint: close other programs, or raise the limit on open files, such as `ulimit -n 1024`";
        assert!(said.lines().any(|line| line == expected), "{count}: {said}");
    }
}

#[test]
fn a_small_stack_and_deep_values_end_with_a_message() {
    let user = r#"{"type":"user","uuid":"u","sessionId":"s","message":{"role":"user","content":"Hello"}}"#;
    let call = |depth: usize| {
        let value = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        format!(
            r#"{{"type":"assistant","uuid":"a","parentUuid":"u","sessionId":"s","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"x","input":{value}}}]}}}}"#
        )
    };
    let mut sandbox = Sandbox::new();
    for depth in [100, 126, 1_000, 100_000] {
        sandbox = sandbox.with(&format!("calls{depth}.jsonl"), &format!("{user}\n{}\n", call(depth)));
        sandbox = sandbox
            .with(&format!("lists{depth}.json"), &format!("{}{}", "[".repeat(depth), "]".repeat(depth)));
        for file in [format!("calls{depth}.jsonl"), format!("lists{depth}.json")] {
            for arguments in
                [&["inspect", &file][..], &["compress", &file, "--force"], &["eval", &file, "--small"]]
            {
                check(&sandbox, "-s 256", arguments);
            }
        }
    }
}
