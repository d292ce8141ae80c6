//! Preview of a masked tool output: its ends, its errors and its exit code.

use longhaul_conversation::{Output, ToolStatus, grouped};
use longhaul_text::{end_of, ends, start_of};
use serde_json::Value;

use crate::replace::Subject;

/// Plain output shows this many characters of each end.
const PLAIN_END: usize = 250;
/// Command output shows this many lines of each end.
const LINES: usize = 10;
/// No section is longer than this, whatever its lines.
const SECTION: usize = 2_000;
/// Errors may take more.
const ERRORS: usize = 4_000;
/// This many telling lines are picked from the middle.
const PICKED: usize = 10;
/// No picked line is longer than this.
const PICKED_LINE: usize = 200;

/// Shortens an output to what a reader must still know of it.
pub(crate) fn preview(subject: &Subject<'_>) -> String {
    let fields = match &subject.result.output {
        Output::Structured(Value::Object(fields)) => Some(fields),
        _ => None,
    };
    let field = |names: &[&str]| names.iter().find_map(|name| fields?.get(*name));
    let main = field(&["output", "stdout", "content"]).and_then(Value::as_str).unwrap_or(&subject.text);
    let failed = subject.result.status == ToolStatus::Failed;
    let mut text = if is_shell(subject.tool) {
        sections(main).map(|(kind, section)| show_section(kind, section)).collect::<Vec<_>>().join("\n")
    } else if failed {
        show_lines(main)
    } else {
        show_ends(main)
    };
    let mut add = |label: &str, value: &str| {
        if !value.trim().is_empty() && !text.contains(value.trim()) {
            text.push_str(&format!("\n{label}: {}", shorten(value, ERRORS)));
        }
    };
    if let Some(error) = field(&["error", "stderr"]) {
        match error {
            Value::Null => {}
            Value::String(error) => add("Error", error),
            other => add("Error", &other.to_string()),
        }
    }
    if let Some(code) = field(&["exit_code", "exitCode", "exit code", "returncode"]).and_then(Value::as_i64)
        && code != 0
    {
        let stated = text.contains(&format!("xit Code: {code}"));
        if !stated {
            text.push_str(&format!("\nExit Code: {code}"));
        }
    }
    if failed {
        text.push_str("\n[the call failed]");
    }
    text
}

fn is_shell(tool: &str) -> bool {
    let tool = tool.to_lowercase();
    ["shell", "bash", "exec", "terminal", "command"].iter().any(|word| tool.contains(word))
}

/// Content of a section of command output.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Section {
    Output,
    Errors,
    Fact,
}

/// The labels with which shell tools begin the sections of their answers.
const LABELS: &[(&str, Section)] = &[
    ("Output:", Section::Output),
    ("Stdout:", Section::Output),
    ("Error:", Section::Errors),
    ("Stderr:", Section::Errors),
    ("Command:", Section::Fact),
    ("Directory:", Section::Fact),
    ("Exit Code:", Section::Fact),
    ("Exit code:", Section::Fact),
    ("Signal:", Section::Fact),
    ("Background PIDs:", Section::Fact),
    ("Process Group PGID:", Section::Fact),
];

fn label_of(line: &str) -> Option<Section> {
    LABELS.iter().find(|(label, _)| line.starts_with(label)).map(|(_, kind)| *kind)
}

/// The sections of an answer; what comes before the first label is output.
fn sections(text: &str) -> impl Iterator<Item = (Section, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let kind = label_of(rest).unwrap_or(Section::Output);
        let lines = rest.match_indices('\n').map(|(at, _)| at + 1);
        let end = lines.into_iter().find(|&at| label_of(&rest[at..]).is_some()).unwrap_or(rest.len());
        let (section, after) = rest.split_at(end);
        rest = after;
        Some((kind, section.strip_suffix('\n').unwrap_or(section)))
    })
}

fn show_section(kind: Section, section: &str) -> String {
    match kind {
        Section::Output => show_lines(section),
        Section::Errors => shorten(section, ERRORS),
        Section::Fact => shorten(section, SECTION),
    }
}

/// The first and the last lines, and from between those that tell of trouble.
fn show_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= 2 * LINES {
        return shorten(text, SECTION);
    }
    let (head, rest) = lines.split_at(LINES);
    let (middle, tail) = rest.split_at(rest.len() - LINES);
    let picked: Vec<&str> = middle.iter().copied().filter(|line| tells_of_trouble(line)).collect();
    // The last ones usually say how it ended.
    let picked = &picked[picked.len().saturating_sub(PICKED)..];
    let mut shown = vec![shorten(&head.join("\n"), SECTION / 2)];
    shown.push(format!("... [{} lines omitted] ...", grouped(middle.len() - picked.len())));
    shown.extend(picked.iter().map(|line| start_of(line, PICKED_LINE).to_string()));
    shown.push(shorten(&tail.join("\n"), SECTION / 2));
    shown.join("\n")
}

fn tells_of_trouble(line: &str) -> bool {
    const WORDS: &[&str] = &[
        "error",
        "failed",
        "failure",
        "fatal",
        "panicked",
        "exception",
        "traceback",
        "exit code",
        "exited with",
        "test result:",
    ];
    let line = start_of(line, 2 * PICKED_LINE).to_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

fn show_ends(text: &str) -> String {
    let (head, tail) = (start_of(text, PLAIN_END), end_of(text, PLAIN_END));
    if head.len() + tail.len() >= text.len() {
        return text.to_string();
    }
    let omitted = text[head.len()..text.len() - tail.len()].chars().count();
    format!("{head}\n... [{} characters omitted] ...\n{tail}", grouped(omitted))
}

fn shorten(text: &str, max: usize) -> String {
    let shown = ends(text, max);
    if shown.omitted == 0 {
        return text.to_string();
    }
    format!("{}\n... [{} characters omitted] ...\n{}", shown.head, grouped(shown.omitted), shown.tail)
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, ToolResult};
    use serde_json::json;

    use super::*;

    fn preview_of(tool: &str, status: ToolStatus, output: Output) -> String {
        let result = ToolResult { output, ..ToolResult::text("c", "").with_name(tool).with_status(status) };
        let messages = [Message::new("m", Role::User, vec![Part::result(result)])];
        let subject = crate::replace::results_from_newest(&messages).next().expect("a result");
        preview(&subject)
    }

    #[track_caller]
    fn check_text(tool: &str, text: &str, expected: &str) {
        assert_eq!(preview_of(tool, ToolStatus::Unstated, Output::Text(text.into())), expected);
    }

    fn numbered(from: usize, to: usize) -> String {
        (from..=to).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn plain_output_shows_its_ends() {
        check_text("read_file", &"a".repeat(500), &"a".repeat(500));
        let text = "a".repeat(300) + &"é".repeat(400);
        let expected = format!("{}\n... [200 characters omitted] ...\n{}", "a".repeat(250), "é".repeat(250));
        check_text("read_file", &text, &expected);
    }

    #[test]
    fn command_output_shows_its_first_and_last_lines() {
        check_text("run_shell_command", &numbered(1, 20), &numbered(1, 20));
        let expected = format!("{}\n... [80 lines omitted] ...\n{}", numbered(1, 10), numbered(91, 100));
        check_text("run_shell_command", &numbered(1, 100), &expected);
    }

    #[test]
    fn trouble_in_the_middle_is_kept() {
        let text = format!("{}\nerror[E0308]: mismatched types\n{}", numbered(1, 50), numbered(51, 100));
        let expected = format!(
            "{}\n... [80 lines omitted] ...\nerror[E0308]: mismatched types\n{}",
            numbered(1, 10),
            numbered(91, 100)
        );
        check_text("Bash", &text, &expected);
        // The text of a file is full of such words and says nothing about the call.
        assert!(!preview_of("read_file", ToolStatus::Unstated, Output::Text(text)).contains("E0308"));
    }

    #[test]
    fn errors_and_facts_of_a_command_are_kept_whole() {
        let errors = (1..=60).map(|n| format!("e{n}")).collect::<Vec<_>>().join("\n");
        let text = format!("Output: {}\nError: {errors}\nExit Code: 2\nSignal: 9", numbered(1, 40));
        let expected = format!(
            "Output: {}\n... [20 lines omitted] ...\n{}\nError: {errors}\nExit Code: 2\nSignal: 9",
            numbered(1, 10),
            numbered(31, 40)
        );
        check_text("run_shell_command", &text, &expected);
    }

    #[test]
    fn errors_and_exit_codes_of_a_structure_are_appended() {
        let output = json!({"output": numbered(1, 3), "stderr": "boom", "exit_code": 3});
        let text = preview_of("shell", ToolStatus::Failed, Output::Structured(output));
        assert_eq!(text, "line 1\nline 2\nline 3\nError: boom\nExit Code: 3\n[the call failed]");
        let only = json!({"stdout": numbered(1, 3)});
        let text = preview_of("shell", ToolStatus::Unstated, Output::Structured(only));
        assert_eq!(text, numbered(1, 3));
        let only = json!({"error": "boom"});
        assert_eq!(preview_of("grep", ToolStatus::Unstated, Output::Structured(only)), "boom");
        let fine = json!({"output": "done\nExit Code: 0", "exit_code": 0, "error": null});
        let text = preview_of("shell", ToolStatus::Unstated, Output::Structured(fine));
        assert_eq!(text, "done\nExit Code: 0");
    }

    #[test]
    fn one_endless_line_is_shortened_too() {
        let text = preview_of("shell", ToolStatus::Unstated, Output::Text("x".repeat(100_000)));
        assert!(text.len() < 2_100, "{}", text.len());
    }
}
