//! Reads what calls and their results say about the work: checks that pass or fail, and the call that hands it in.

use std::sync::LazyLock;

use longhaul_conversation::{CallId, Message, Origin, Part, ToolCall, ToolResult, ToolStatus};
use longhaul_text::{AnyOf, LazyPhrases, Words, phrases, starts_with_any};
use serde_json::Value;

use super::sentences::shorten;

/// The beginning of a command that tells what it does.
const LONGEST_COMMAND: usize = 1_000;

/// The end of a check's output that tells how it went.
const VERDICT: usize = 2_000;

/// The report of a program that runs what stands in the model's text.
pub(super) enum RunReport {
    /// The output of a command: the model reads it and goes on.
    GoesOn,
    /// Edits were applied, and nothing failed.
    Passed,
    /// Something failed, in these words.
    Failed(String),
}

/// A result, as far as it may tell how a check went.
pub(super) struct Answer {
    pub(super) call: CallId,
    status: ToolStatus,
    /// The lines at the end of its output that may tell of a failure; mostly there are none.
    complaints: String,
}

/// Words of Aider's reports of edits and costs, after which it waits for the user unless something failed.
static AIDER_REPORTS: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&[
        "Applied edit to ",
        "Did not apply edit to ",
        "Tokens: ",
        " prompt tokens, ",
        "# aider chat started",
    ])
});

/// The report in a user's message: text of a tool that belongs to no call.
pub(super) fn report_of(message: &Message) -> Option<RunReport> {
    let tools = message.parts.iter().filter(|part| part.origin == Origin::Tool);
    let is_typed = message.parts.iter().any(|part| part.origin == Origin::User && !part.is_empty());
    let mut report = None;
    for text in tools.filter_map(Part::as_text).filter(|text| !is_local_output(text)) {
        report = Some(if let Some(line) = AIDER_FAILURES.lines_in(text).last() {
            RunReport::Failed(line.to_string())
        } else if is_typed {
            continue;
        } else if !AIDER_REPORTS.is_in(text) || text.contains("Add these files to the chat? y") {
            RunReport::GoesOn
        } else {
            RunReport::Passed
        });
    }
    report
}

/// Returns true if a text is the output of a command that the user ran, or a file beside their words.
fn is_local_output(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with('<') && !starts_with_any(text, &["<returncode>", "<tool_result", "<function_results"])
}

/// Words of Aider's reports by which it hands a failure back to the model.
static AIDER_FAILURES: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&[
        "failed to match",
        "did not conform to the edit format",
        "Attempt to fix test errors? y",
        "Attempt to fix lint errors? y",
        "reflections allowed, stopping",
    ])
});

/// Names of calls by which a model hands in its work.
const FINISHING: [&str; 5] = ["finish", "attempt_completion", "complete_task", "task_complete", "submit"];

/// Where mini-swe-agent has no such call, its command says this.
const SUBMISSION: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// The words with which a call hands in the work, if it does.
pub(super) fn finish_of(call: &ToolCall) -> Option<String> {
    let said = |keys: &[&str]| keys.iter().find_map(|key| call.args.get(*key)?.as_str());
    let command = said(&["command", "cmd"]).unwrap_or_default().trim();
    let is_submission = command == "submit" || command.starts_with("submit ") || command.contains(SUBMISSION);
    if !is_submission && !FINISHING.contains(&call.name.as_str()) {
        return None;
    }
    let words = said(&["result", "message", "final_thought", "summary"]).unwrap_or("the work was handed in");
    Some(words.lines().next().unwrap_or_default().to_string())
}

/// Commands that check or record work.
static CHECKS: LazyPhrases = phrases![
    "git commit|push|merge",
    "test|tests|pytest|jest|vitest|tsc|clippy|tox|rspec|phpunit",
    "run check|build|lint|typecheck",
    "cargo build|check",
    "go vet|build",
];

/// The command of a call that runs tests, a build or a commit.
pub(super) fn check_of(call: &ToolCall) -> Option<String> {
    let Value::Object(args) = &call.args else { return None };
    let commands = ["command", "cmd", "script", "input", "code"].iter().filter_map(|key| args.get(*key));
    let mut texts = commands.map(|command| match command {
        Value::String(text) => shorten(text.trim(), LONGEST_COMMAND).to_string(),
        Value::Array(items) => {
            let words: Vec<_> = items.iter().filter_map(Value::as_str).collect();
            shorten(&words.join(" "), LONGEST_COMMAND).to_string()
        }
        _ => String::new(),
    });
    texts.find(|text| CHECKS.fit(&Words::of(text)))
}

/// Words of a check that went well, whatever else it says.
static CLEAN: LazyPhrases = phrases!["0 failed|failures|errors|error", "no errors"];

/// Words of a check that did not.
static FAILED: LazyPhrases =
    phrases!["failed|failure|failures|error|errors|fatal|traceback", "exit code 1|2|101|127"];

/// Looks for what stands in every output that [`FAILED`] fits.
static FAILURE_SIGNS: LazyLock<AnyOf> = LazyLock::new(|| {
    AnyOf::new(&["fail", "Fail", "FAIL", "rror", "RROR", "atal", "ATAL", "raceback", "RACEBACK", " code "])
});

impl Answer {
    pub(super) fn of(result: &ToolResult) -> Self {
        let output = result.returned();
        let end = &output[output.ceil_char_boundary(output.len().saturating_sub(VERDICT))..];
        let mut complaints = String::new();
        for line in FAILURE_SIGNS.lines_in(end) {
            complaints.push_str(line);
            complaints.push('\n');
        }
        Self { call: result.call.clone(), status: result.status, complaints }
    }

    /// Returns true if a check went well, by its status and the end of its output.
    pub(super) fn passed(&self) -> bool {
        if matches!(self.status, ToolStatus::Failed | ToolStatus::Cancelled) {
            return false;
        }
        if self.complaints.is_empty() {
            return true;
        }
        let words = Words::of(&self.complaints);
        CLEAN.fit(&words) || !FAILED.fit(&words)
    }
}
