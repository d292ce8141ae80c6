//! The scene that is played: a small project, the user's keys, the model's answers and the compiler's output.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use longhaul_conversation::TokenCount;
use longhaul_terminal::DemoStep;
use serde_json::{Value, json};

use super::super::props::{failing_tests, passing_tests, source};
use super::performer::Beat;

/// The model that is played.
pub(super) const MODEL: &str = "scripted-model";
/// The name of the project.
pub(super) const PROJECT: &str = "parcelpost";
/// The window, small so that it fills quickly.
pub(super) const WINDOW: TokenCount = TokenCount(24_000);

/// The file that is changed.
const CLIENT: &str = "src/carrier/client.rs";
const CLIENT_TEXT: &str = include_str!("client.rs.txt");
/// Files that are read to find out what must be changed.
const READ_FIRST: [&str; 4] = ["src/export.rs", "src/carrier/errors.rs", "src/queue.rs", "src/http.rs"];
const READ_LATER: [&str; 2] = ["src/http/headers.rs", "src/ids.rs"];

/// Writes the project.
pub(super) fn set_up(project: &Path) -> io::Result<()> {
    let write = |path: &str, text: &str| {
        let path = project.join(path);
        fs::create_dir_all(path.parent().unwrap_or(project))?;
        fs::write(path, text)
    };
    write(".git/HEAD", "ref: refs/heads/retry-uploads\n")?;
    write("Cargo.toml", "[package]\nname = \"parcelpost\"\n")?;
    write("legacy/csv_push.rs", "fn push(row: Row) {\n    carrier.submit(&row.into());\n}\n")?;
    write(CLIENT, CLIENT_TEXT)?;
    READ_LATER.iter().enumerate().try_for_each(|(seed, path)| write(path, &source(path, seed)))?;
    READ_FIRST.iter().enumerate().try_for_each(|(seed, path)| {
        // What is read first is long, and not needed later on.
        let text: String = (0..3).map(|part| source(path, 10 * part + seed)).collect();
        // What the model looks for is found where it looks.
        let text = text.replacen(
            "    Ok(before",
            "    carrier.submit(&invoice)?;\n    Ok(before",
            usize::from(seed == 0),
        );
        write(path, &text)
    })
}

/// The keys that somebody presses.
pub(super) fn steps() -> Vec<DemoStep> {
    vec![
        DemoStep::Say(
            "Retry failed invoice uploads, at most five times. Always keep amounts as integer cents. \
             Never touch legacy/ without asking me."
                .into(),
        ),
        DemoStep::Answer('y'),
        DemoStep::Answer('a'),
        DemoStep::Answer('p'),
        DemoStep::Answer('y'),
        DemoStep::Look(Duration::from_millis(1_200)),
        DemoStep::Say("/compress".into()),
        DemoStep::Look(Duration::from_millis(1_800)),
        DemoStep::Say("Which of my rules do you still know?".into()),
        DemoStep::Look(Duration::from_millis(2_000)),
        DemoStep::Say("/compress undo".into()),
        DemoStep::Look(Duration::from_millis(2_500)),
    ]
}

/// The answers of the model.
pub(super) fn answers() -> Vec<Vec<Beat>> {
    let read = |path: &&'static str| Beat::Call("read_file", json!({ "file_path": path }));
    let test = || Beat::Call("run_shell_command", json!({"command": "cargo test"}));
    let look = [
        Beat::Think(
            "Uploads go through Carrier::submit. First see who calls it, and what an error looks like.",
        ),
        Beat::Say("I will look at how invoices are sent before I change anything.\n"),
        Beat::Call("grep_search", json!({"pattern": r"\.submit\("})),
        read(&CLIENT),
    ];
    let look = look.into_iter().chain(READ_FIRST.iter().map(read));
    let first_change = [
        Beat::Say(
            "`submit` gives up at the first error. It is called in two places, one of them in `legacy/`, \
             so its signature stays:\n\n\
             ```rust\n// At most five attempts: 200 ms, 400 ms, 800 ms, 1.6 s between them.\n\
             retry(&self.clock, 5, || self.send(invoice, RequestId::new()))\n```\n",
        ),
        change(
            "        self.send(invoice, RequestId::new())\n",
            "        retry(&self.clock, ATTEMPTS, || {\n            self.send(invoice, RequestId::new())\n        })\n",
        ),
    ];
    let why = [Beat::Say(
        "One test fails: a retried invoice reaches the carrier **twice**. I need to see where request ids \
             come from.\n",
    )];
    let second_change = [
        Beat::Say(
            "A new id is made for each attempt, so the carrier cannot tell a retry from a new invoice.\n",
        ),
        change(
            "            self.send(invoice, RequestId::new())\n",
            "            self.send(invoice, RequestId::of(invoice.number))\n",
        ),
    ];
    let summary = [Beat::Say(
        "Uploads are retried, and no invoice is sent twice:\n\n\
         | attempt | waits | request id |\n|---|--:|---|\n| 1 | 0 ms | of the invoice |\n\
         | 2 to 5 | 200 ms, doubling | the same |\n\n\
         All 42 tests pass. Amounts are untouched `i64` cents, and so is `legacy/`.",
    )];
    vec![
        look.collect(),
        first_change.to_vec(),
        vec![test()],
        why.into_iter().chain(READ_LATER.iter().map(read)).collect(),
        second_change.to_vec(),
        vec![test()],
        summary.to_vec(),
        vec![Beat::Recite],
    ]
}

fn change(old: &str, new: &str) -> Beat {
    let args: Value = json!({"file_path": CLIENT, "old_string": old, "new_string": new});
    Beat::Call("replace", args)
}

/// The answers of the model when it is asked for a snapshot. It forgets the user's rules.
pub(super) fn snapshots() -> Vec<Vec<Beat>> {
    vec![vec![Beat::Say(include_str!("snapshot.txt"))]]
}

/// The outputs of commands, one after the other.
pub(super) struct Runs(Mutex<VecDeque<(String, i32)>>);

impl Runs {
    /// The output of the next command, with its exit code.
    pub(super) fn next(&self) -> (String, i32) {
        let mut runs = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        runs.pop_front().unwrap_or_default()
    }
}

/// The test runs: one that fails, and one in which all pass.
pub(super) fn runs() -> Runs {
    Runs(Mutex::new([(failing_tests(), 101), (passing_tests(), 0)].into()))
}
