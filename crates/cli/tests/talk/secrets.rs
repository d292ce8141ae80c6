//! What commands can find out about the user's secrets: nothing, neither in their own environment nor in the agent's.

use std::os::unix::fs::chown;
use std::path::Path;
use std::process::Command;

use longhaul_testkit::fake_provider::{Reply, gemini};
use serde_json::json;

use crate::support::{KEY, Sandbox, Wire, text};
use crate::tools::{answered, call, calls, trusted};

/// Prints what a command sees: its own environment, that of the agent, and what it and the agent hold open.
const LOOK: &str = "env; echo --; tr '\\0' '\\n' < /proc/$PPID/environ; echo --; \
                    ls -l /proc/self/fd /proc/$PPID/fd | grep memfd; echo looked";

const SECRETS: [(&str, &str); 6] = [
    ("DATABASE_URL", "postgres://app:secret-of-db@db/app"),
    ("REDIS_URL", "redis://secret-of-redis:6379"),
    ("SENTRY_DSN", "https://secret-of-sentry@o1.ingest.sentry.io/2"),
    ("JWT", "secret-of-jwt"),
    ("KUBECONFIG", "/secret-of-kube/config"),
    ("AWS_PROFILE", "secret-of-aws"),
];

fn look() -> [Reply; 2] {
    [call("run_shell_command", json!({ "command": LOOK })), gemini::text("Done.")]
}

/// A sandbox with many secrets in its environment.
fn sandbox() -> Sandbox {
    let mut sandbox = trusted(Wire::Gemini, look());
    SECRETS.iter().for_each(|(name, value)| sandbox.set(name, value));
    sandbox.set("HARMLESS", "harmless-value");
    sandbox
}

/// What the command printed.
#[track_caller]
fn seen(sandbox: &Sandbox) -> String {
    let [only] = answered(sandbox).try_into().expect("one answer");
    let seen = only.to_string();
    assert!(seen.contains("looked"), "{seen}");
    seen
}

#[cfg(target_os = "linux")]
#[test]
fn commands_find_no_secret_in_any_environment() {
    let sandbox = sandbox();
    sandbox.answer(&["-p", "Look.", "--yolo"]);
    let seen = seen(&sandbox);
    assert!(!seen.contains("secret-of") && !seen.contains(KEY) && !seen.contains("memfd"), "{seen}");
    assert_eq!(seen.matches("HARMLESS=harmless-value").count(), 2, "{seen}");
    // The provider was given its key all the same.
    let requests = sandbox.server.requests();
    assert!(requests.iter().all(|request| request.header("x-goog-api-key") == Some(KEY)));
}

#[cfg(target_os = "linux")]
#[test]
fn hooks_find_none_either() {
    let sandbox = sandbox();
    let hook = json!({"hooks": {"BeforeAgent": [{"hooks": [{
        "type": "command", "name": "look",
        "command": format!("{{ {LOOK}; }} > hook.txt 2>&1; echo '{{}}'"),
    }]}]}});
    sandbox.settings(&hook.to_string());
    sandbox.answer(&["-p", "Look.", "--yolo"]);
    let seen = std::fs::read_to_string(sandbox.path("work/hook.txt")).expect("the hook ran");
    assert!(seen.contains("looked") && !seen.contains("secret-of") && !seen.contains(KEY), "{seen}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_key_by_any_name_is_taken_out() {
    let look = calls(Wire::OpenAi, &[("run_shell_command", json!({ "command": LOOK }))]);
    let mut sandbox = trusted(Wire::OpenAi, [look, Wire::OpenAi.texts(&["Done."])]);
    let endpoint = format!("{}/v1", sandbox.server.url());
    sandbox.settings(
        &json!({"longhaul": {"providers": {"mine": {"endpoint": endpoint, "keyVariable": "MINE"}}}})
            .to_string(),
    );
    sandbox.set("MINE", "plain-words-as-a-key");
    let output = sandbox.run(&["-m", "mine/some-model", "--window", "32k", "-p", "Look.", "--yolo"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let requests = sandbox.server.requests();
    assert_eq!(requests[0].header("authorization"), Some("Bearer plain-words-as-a-key"));
    let body = requests[1].body.to_string();
    assert!(body.contains("looked") && !body.contains("plain-words-as-a-key"), "{body}");
}

#[test]
fn only_the_user_s_own_settings_let_a_variable_through() {
    let allow =
        json!({"security": {"environmentVariableRedaction": {"allowed": ["DATABASE_URL"]}}}).to_string();
    let block = json!({"security": {"environmentVariableRedaction": {"blocked": ["HARMLESS"]}}}).to_string();
    let off = json!({"security": {"environmentVariableRedaction": {"enabled": false}}}).to_string();
    for (file, settings, database, harmless) in [
        ("home/settings.json", &allow, true, true),
        ("work/.gemini/settings.json", &allow, false, true),
        ("work/.gemini/settings.json", &block, false, false),
        ("work/.gemini/settings.json", &off, false, true),
        ("home/settings.json", &off, true, true),
    ] {
        let sandbox = sandbox();
        sandbox.write(file, settings);
        // With nothing withheld, the command sees the key, too, and so would the files of the sandbox.
        let output = sandbox
            .command(&["-m", sandbox.wire.model(), "-p", "Look.", "--yolo"])
            .output()
            .expect("it runs");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let seen = seen(&sandbox);
        assert_eq!(seen.contains("secret-of-db"), database, "{file} {settings}: {seen}");
        assert_eq!(seen.contains("HARMLESS="), harmless, "{file} {settings}: {seen}");
    }
}

/// For an ordinary user, too; the tests themselves may be run by one who may do everything.
#[cfg(target_os = "linux")]
#[test]
fn commands_of_an_ordinary_user_find_none() {
    const NOBODY: u32 = 65534;
    let can_change = Command::new("setpriv")
        .args([
            "--reuid",
            "65534",
            "--regid",
            "65534",
            "--clear-groups",
            env!("CARGO_BIN_EXE_longhaul"),
            "--version",
        ])
        .output()
        .is_ok_and(|output| output.status.success());
    if !can_change {
        println!("skipped: cannot run the program as another user");
        return;
    }
    let sandbox = sandbox();
    for folder in ["", "work", "home"] {
        chown(Path::new(&sandbox.path(folder)), Some(NOBODY), Some(NOBODY)).expect("given away");
    }
    let own = sandbox.command(&["-m", sandbox.wire.model(), "-p", "Look.", "--yolo"]);
    let mut command = Command::new("setpriv");
    command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
    command.arg(own.get_program()).args(own.get_args()).current_dir(sandbox.path("work")).env_clear();
    command.envs(own.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    sandbox.check_no_key(&output);
    let seen = seen(&sandbox);
    assert!(!seen.contains("secret-of") && !seen.contains(KEY), "{seen}");
}
