//! Reads the result of a tool call: its text, exit code, duration and outcome.

use std::borrow::Cow;
use std::sync::LazyLock;

use longhaul_conversation::{Body, Output, ToolResult, ToolStatus};
use longhaul_text::starts_with_any;
use serde_json::Value;

use crate::arguments::get;
use crate::data::{DataError, DataFile, loaded};
use crate::entries::WorkOutcome;
use crate::fields::Field;

/// The result of a tool call, whichever agent wrote it.
#[derive(Clone, Debug)]
pub(super) struct ParsedResult<'r> {
    /// The text, without the structure around it.
    pub text: Cow<'r, str>,
    pub(super) exit_code: Option<i32>,
    pub(super) millis: Option<u64>,
    /// The outcome, as far as status, exit code and the tool's own words tell.
    pub(super) outcome: WorkOutcome,
}

/// Texts by which results tell what became of a call: `data/answers.txt`.
#[derive(Default)]
pub(crate) struct AnswerPhrases {
    refused: Vec<&'static str>,
    failed: Vec<&'static str>,
    /// Beginnings of lines that may state an exit code.
    exit_lines: Vec<&'static str>,
    /// Texts on such lines behind which the code stands.
    exit_codes: Vec<&'static str>,
}

static PHRASES: LazyLock<AnswerPhrases> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile = DataFile { name: "answers.txt", text: include_str!("../data/answers.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<AnswerPhrases, DataError> {
    let mut phrases = AnswerPhrases::default();
    for line in file.lines() {
        let line = line?;
        match line.key {
            "refused" => phrases.refused.push(line.value),
            "failed" => phrases.failed.push(line.value),
            "exit-line" => phrases.exit_lines.push(line.value),
            "exit-code" => phrases.exit_codes.push(line.value),
            _ => return Err(line.unknown_key()),
        }
    }
    Ok(phrases)
}

/// Reads a result.
pub(super) fn parse_result(result: &ToolResult) -> ParsedResult<'_> {
    let (text, structure) = text_of(result);
    let stated_code =
        structure.as_ref().and_then(|value| field(value, Field::ExitCode.names())).and_then(whole);
    let seconds = structure
        .as_ref()
        .and_then(|value| field(value, &["duration_seconds", "duration"]))
        .and_then(Value::as_f64);
    let failed_flag = structure.as_ref().is_some_and(|value| {
        get(value, "success") == Some(&Value::Bool(false))
            || get(value, "error").is_some_and(|error| error.is_string())
    });
    let succeeded_flag =
        structure.as_ref().is_some_and(|value| get(value, "success") == Some(&Value::Bool(true)));
    let exit_code = stated_code.or_else(|| exit_code_in(&text));
    let millis =
        seconds.filter(|seconds| (0.0..1e7).contains(seconds)).map(|seconds| (seconds * 1000.0) as u64);
    let millis = millis.or_else(|| wall_time_in(&text));
    let start = text.trim_start();
    let is_aborted = text.trim_end().ends_with("\nCommand aborted") || start.trim_end() == "Command aborted";
    let outcome =
        if is_aborted || result.status == ToolStatus::Cancelled || starts_with_any(start, &PHRASES.refused) {
            WorkOutcome::Cancelled
        } else if let Some(code) = exit_code {
            if code == 0 && result.status != ToolStatus::Failed {
                WorkOutcome::Passed
            } else {
                WorkOutcome::Failed
            }
        } else if result.status == ToolStatus::Failed || failed_flag {
            WorkOutcome::Failed
        } else if result.status == ToolStatus::Succeeded
            || succeeded_flag
            || start.starts_with("Your command ran successfully")
        {
            WorkOutcome::Passed
        } else if starts_with_any(start, &PHRASES.failed) {
            WorkOutcome::Failed
        } else {
            WorkOutcome::Unclear
        };
    ParsedResult { text, exit_code, millis, outcome }
}

/// The text of a result, and the structure it came in.
fn text_of(result: &ToolResult) -> (Cow<'_, str>, Option<Cow<'_, Value>>) {
    let has_nested = result.nested.iter().any(|part| matches!(part.body, Body::Text(_)));
    match &result.output {
        Output::Structured(value) if !has_nested => (readable(value), Some(Cow::Borrowed(value))),
        _ => {
            let text = result.returned();
            match unwrapped(&text) {
                Some(value) => (Cow::Owned(readable(&value).into_owned()), Some(Cow::Owned(value))),
                None => (text, None),
            }
        }
    }
}

/// Some agents wrap what a tool said in JSON and keep that as text.
fn unwrapped(text: &str) -> Option<Value> {
    const STARTS: &[&str] = &["{\"output\"", "{\"query\"", "[{\"query\"", "{\"stdout\"", "{\"exit_code\""];
    let text = text.trim_start();
    starts_with_any(text, STARTS).then(|| serde_json::from_str(text).ok()).flatten()
}

fn readable(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => match unwrapped(text) {
            Some(inner) => Cow::Owned(readable(&inner).into_owned()),
            None => Cow::Borrowed(text),
        },
        Value::Array(items) => {
            let texts: Vec<_> = items.iter().map(readable).filter(|text| !text.is_empty()).collect();
            Cow::Owned(texts.join("\n"))
        }
        Value::Object(_) => {
            let mut texts = Field::Output
                .names()
                .iter()
                .filter_map(|key| get(value, key))
                .filter(|value| !value.is_null())
                .map(readable);
            let mut text = texts.find(|text| !text.is_empty()).unwrap_or_default();
            let has_both = get(value, "stdout").is_some();
            if let Some(Value::String(more)) = get(value, "stderr").filter(|_| has_both)
                && !more.is_empty()
                && *more != text
            {
                text = Cow::Owned(format!("{text}\n{more}"));
            }
            text
        }
        _ => Cow::Borrowed(""),
    }
}

/// A field of the structure itself, or of what agents keep beside it.
fn field<'v>(value: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    let inside = [
        Some(value),
        get(value, "metadata"),
        get(value, "extras"),
        get(value, "extras").and_then(|extras| get(extras, "metadata")),
    ];
    inside.into_iter().flatten().find_map(|value| keys.iter().find_map(|key| get(value, key)))
}

fn whole(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|code| i32::try_from(code).ok())
}

/// The exit code that a text states in its first or last lines.
fn exit_code_in(text: &str) -> Option<i32> {
    text.lines().take(4).chain(text.lines().rev().take(8)).find_map(exit_code_in_line)
}

fn exit_code_in_line(line: &str) -> Option<i32> {
    let line = line.trim_start();
    let begins = |start: &&&str| line.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start));
    PHRASES.exit_lines.iter().find(begins)?;
    // The phrases stand near the beginning.
    let head = crate::excerpts::head(line, 200).to_ascii_lowercase();
    PHRASES.exit_codes.iter().find_map(|phrase| {
        let after = &head[head.find(phrase)? + phrase.len()..];
        let number = after.trim_start_matches([':', ' ', '=', '>']);
        let end = number.char_indices().find(|(at, c)| !(c.is_ascii_digit() || *at == 0 && *c == '-'));
        number[..end.map_or(number.len(), |(at, _)| at)].parse().ok()
    })
}

/// `Wall time: 0.5 seconds`, among the first lines.
fn wall_time_in(text: &str) -> Option<u64> {
    let line = text.lines().take(4).find_map(|line| line.strip_prefix("Wall time: "))?;
    let seconds: f64 = line.split(' ').next()?.parse().ok()?;
    (0.0..1e7).contains(&seconds).then_some((seconds * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(output: Output, status: ToolStatus, outcome: WorkOutcome, exit_code: Option<i32>, text: &str) {
        let result = ToolResult { output, ..ToolResult::text("c", "").with_status(status) };
        let answer = parse_result(&result);
        assert_eq!((answer.outcome, answer.exit_code, &*answer.text), (outcome, exit_code, text));
    }

    #[track_caller]
    fn check_text(text: &str, outcome: WorkOutcome, exit_code: Option<i32>) {
        check(Output::Text(text.into()), ToolStatus::Unstated, outcome, exit_code, text);
    }

    #[test]
    fn exit_codes_are_found_in_texts() {
        check_text("Exit code 1\nboom", WorkOutcome::Failed, Some(1));
        check_text("Output: x\nExit Code: 0\nSignal: 0", WorkOutcome::Passed, Some(0));
        check_text("<returncode>2</returncode>\n<output>\n</output>", WorkOutcome::Failed, Some(2));
        check_text("boom\n\nCommand exited with code 2", WorkOutcome::Failed, Some(2));
        check_text("Exit code: 0\nWall time: 0.5 seconds\nOutput:\nx", WorkOutcome::Passed, Some(0));
        check_text("hi\n[The command completed with exit code 0.]", WorkOutcome::Passed, Some(0));
        check_text("Process exited with code -1", WorkOutcome::Failed, Some(-1));
        check_text(
            "failed in sandbox X with execution error: e, exit code: 101, stdout:",
            WorkOutcome::Failed,
            Some(101),
        );
        check_text("we print exit code 3 here", WorkOutcome::Unclear, None);
        check_text("plain", WorkOutcome::Unclear, None);
    }

    #[test]
    fn structures_are_looked_into() {
        let codex = json!({"output": "hi", "metadata": {"exit_code": 1, "duration_seconds": 0.5}});
        check(Output::Structured(codex.clone()), ToolStatus::Unstated, WorkOutcome::Failed, Some(1), "hi");
        check(Output::Text(codex.to_string()), ToolStatus::Unstated, WorkOutcome::Failed, Some(1), "hi");
        check(
            Output::Structured(json!({"error": "bad"})),
            ToolStatus::Failed,
            WorkOutcome::Failed,
            None,
            "bad",
        );
        check(
            Output::Structured(json!({"success": true})),
            ToolStatus::Unstated,
            WorkOutcome::Passed,
            None,
            "",
        );
        let cline = json!({"query": "ls", "result": "a", "success": true}).to_string();
        check(
            Output::Structured(json!({"output": cline})),
            ToolStatus::Unstated,
            WorkOutcome::Unclear,
            None,
            "a",
        );
        let split = json!({"stdout": "a", "stderr": "b", "exitCode": 0});
        check(Output::Structured(split), ToolStatus::Unstated, WorkOutcome::Passed, Some(0), "a\nb");
    }

    #[test]
    fn refusals_are_no_failures() {
        let refused = "The user doesn't want to proceed with this tool use.";
        check(Output::Text(refused.into()), ToolStatus::Failed, WorkOutcome::Cancelled, None, refused);
    }

    #[test]
    fn times_are_read() {
        let result = ToolResult::text("c", "Exit code: 0\nWall time: 1.25 seconds\nOutput:\n");
        assert_eq!(parse_result(&result).millis, Some(1250));
    }
}
