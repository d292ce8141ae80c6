//! Tool outputs as the model reads them: summarised by a side model where the user wants that, else truncated; the whole stays
//! on the disk.

use longhaul_compaction::{FullOutput, output_file, output_limit, truncate_output};
use longhaul_conversation::{Estimator, TokenCount, ToolCall, grouped};
use longhaul_tools::{ToolAnswer, ToolDisplay, ToolOutcome};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::session::AgentSession;
use super::state::TurnState;
use super::window::RequestWindow;
use crate::deps::AgentDeps;
use crate::excerpt::{escape_closing_tags, truncate_middle};

/// The tool whose output may be summarised.
const SHELL: &str = "run_shell_command";

/// The longest output that a side model reads, in characters.
const MOST_READ: usize = 200_000;

/// The lines at the end of an output that say how the command ended.
const ENDINGS: [&str; 2] = ["Exit code: ", "Signal: "];
/// The most such lines.
const MOST_ENDING_LINES: usize = 4;

/// A summary of an output, and the file that holds the whole.
pub(super) struct OutputSummary {
    pub(super) text: String,
    pub(super) saved_as: String,
}

/// Truncates an output that is too long; with the file in which the whole was saved. The tool itself left out `left_out`
/// bytes, which are in no file.
pub(crate) fn truncate(
    session: &AgentSession,
    turn: &TurnState,
    call: &ToolCall,
    text: &str,
    left_out: u64,
    deps: &AgentDeps<'_>,
) -> (String, Option<String>) {
    let settings = session.settings.outputs;
    let Some(limit) = room_for_output(session, turn) else { return (text.to_string(), None) };
    let file = output_file(&session.id(), &call.name, &call.id, text);
    let place = deps.files.shown_as(&file);
    let full = match left_out {
        0 => FullOutput::SavedAs(&place),
        _ => FullOutput::PartSavedAs { file: &place, left_out },
    };
    let Some(shortened) = truncate_output(text, limit, settings.mode, full) else {
        return (text.to_string(), None);
    };
    let saved = match deps.files.save(&file, &shortened.full) {
        Ok(_) => Some((shortened.text, place)),
        Err(error) => {
            deps.warn(format!("could not save the full output of {}: {error}", call.name));
            None
        }
    };
    let (shown, saved_as) = match saved {
        Some((shown, place)) => (shown, Some(place)),
        None => {
            let shortened = truncate_output(text, limit, settings.mode, FullOutput::NotSaved);
            (shortened.map_or_else(|| text.to_string(), |shortened| shortened.text), None)
        }
    };
    let record = json!({
        "event": "tool_output_truncated",
        "at": (deps.now)().to_string(),
        "tool": call.name,
        "original_length": text.encode_utf16().count(),
        "truncated_length": shown.encode_utf16().count(),
        "threshold": limit,
    });
    deps.write_telemetry(&[record]);
    (shown, saved_as)
}

/// The most characters of one output now; `None` for no limit.
fn room_for_output(session: &AgentSession, turn: &TurnState) -> Option<usize> {
    let window = RequestWindow::of(session, turn);
    let limit = output_limit(session.settings.outputs.threshold, window.input_limit(), window.used())?;
    // However large the setting, one output never fills the window.
    Some(limit.min(session.settings.budget.outputs.capped_to(window.input_limit()).characters))
}

/// The longest notice above the lines of a file.
const NOTICE: usize = 200;

/// Cuts the lines of a file that are too many at the end of a line, with a notice on how to continue. The file is there to be
/// read, so that nothing is saved.
pub(super) fn cut_lines(session: &AgentSession, turn: &TurnState, answer: &mut ToolAnswer) {
    if let (Some(lines), Some(limit)) = (answer.lines.take(), room_for_output(session, turn))
        && answer.outcome.text().chars().count() > limit
        && let Some(fewer) = lines.within(limit.saturating_sub(NOTICE).max(1))
    {
        answer.shown = ToolDisplay::Line(fewer.summary());
        answer.outcome = ToolOutcome::Succeeded(fewer.to_text());
    }
}

/// Summarises the output of a command that is longer than the user wants; `None` where it stays as it is.
pub(super) async fn summarise(
    session: &mut AgentSession,
    call: &ToolCall,
    answer: &ToolAnswer,
    deps: &AgentDeps<'_>,
    cancel: &CancellationToken,
) -> Option<OutputSummary> {
    let text = answer.outcome.text();
    let budget = session.settings.shell_summary.filter(|_| call.name == SHELL)?;
    let estimator = session.settings.estimator;
    if estimator.text(text).tokens() <= budget {
        return None;
    }
    let model = deps.side_model?;
    let file = output_file(&session.id(), &call.name, &call.id, text);
    // What nobody can look up again is not shortened.
    deps.files.save(&file, text).ok()?;
    let task = include_str!("../prompts/condense.md").replace("{{budget}}", &budget.0.to_string());
    let command = call.args.get("command").and_then(|command| command.as_str()).unwrap_or_default();
    let question = format!(
        "<command>\n{}\n</command>\n\n<output>\n{}\n</output>",
        escape_closing_tags(&truncate_middle(command, 2_000)),
        escape_closing_tags(&truncate_middle(text, MOST_READ)),
    );
    let summary = session.ask_side_model(model, &task, &question, deps, cancel).await?;
    let saved_as = deps.files.shown_as(&file);
    let summary = fit(summary.trim(), budget, &estimator);
    let ending = ending(text).map(|ending| format!("\n{ending}")).unwrap_or_default();
    let saved = match answer.left_out {
        0 => format!("the whole is in {saved_as}"),
        bytes => format!("all but {} bytes of it are in {saved_as}", grouped(bytes)),
    };
    let text = format!("[A model summarised this output; {saved}]\n{summary}{ending}");
    Some(OutputSummary { text, saved_as })
}

/// The last lines of an output, if they say how the command ended.
fn ending(text: &str) -> Option<&str> {
    let starts = text.rmatch_indices('\n').take(MOST_ENDING_LINES).map(|(index, _)| index + 1);
    let tails = starts.map(|start| &text[start..]);
    tails.filter(|tail| ENDINGS.iter().any(|ending| tail.starts_with(ending))).last()
}

/// A piece of a summary.
#[derive(Debug, PartialEq, Eq)]
enum SummaryPiece<'a> {
    Words(&'a str),
    /// An error or a warning with its tags, which is shown whole or not at all.
    Tagged(&'a str),
}

/// A summary within its budget: errors and warnings stay whole, the words around them give way.
fn fit(summary: &str, budget: TokenCount, estimator: &Estimator) -> String {
    let size = |text: &str| estimator.text(text).tokens();
    if size(summary) <= budget {
        return summary.to_string();
    }
    let pieces = pieces(summary);
    let tagged = pieces.iter().filter_map(|piece| match piece {
        SummaryPiece::Tagged(text) => Some(size(text)),
        SummaryPiece::Words(_) => None,
    });
    let mut left = budget - tagged.fold(TokenCount::ZERO, |sum, tokens| sum + tokens);
    let mut fitted = String::new();
    for piece in pieces {
        match piece {
            SummaryPiece::Tagged(text) => fitted.push_str(text),
            SummaryPiece::Words(text) => {
                let begins = beginning(text, left, &size);
                left = left - size(begins);
                fitted.push_str(begins);
                if begins.len() < text.len() {
                    fitted.push_str(" […]\n");
                }
            }
        }
    }
    fitted.trim_end().to_string()
}

/// The longest beginning of whole lines that fits.
fn beginning<'a>(text: &'a str, budget: TokenCount, size: &impl Fn(&str) -> TokenCount) -> &'a str {
    if size(text) <= budget {
        return text;
    }
    let ends: Vec<usize> = text.match_indices('\n').map(|(index, _)| index + 1).collect();
    let fitting = ends.partition_point(|end| size(&text[..*end]) <= budget);
    fitting.checked_sub(1).map_or("", |last| &text[..ends[last]])
}

fn pieces(summary: &str) -> Vec<SummaryPiece<'_>> {
    const TAGS: [(&str, &str); 2] = [("<error>", "</error>"), ("<warning>", "</warning>")];
    let mut pieces = Vec::new();
    let mut rest = summary;
    let next = |rest: &str| {
        let begins = TAGS.iter().filter_map(|(open, close)| Some((rest.find(open)?, *close)));
        let (start, close) = begins.min()?;
        let end = rest[start..].find(close)? + start + close.len();
        Some((start, end))
    };
    while let Some((start, end)) = next(rest) {
        if start > 0 {
            pieces.push(SummaryPiece::Words(&rest[..start]));
        }
        pieces.push(SummaryPiece::Tagged(&rest[start..end]));
        rest = &rest[end..];
    }
    if !rest.is_empty() {
        pieces.push(SummaryPiece::Words(rest));
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_and_warnings_are_pieces_of_their_own() {
        use SummaryPiece::{Tagged, Words};
        let check = |text: &str, expected: &[SummaryPiece<'_>]| assert_eq!(pieces(text), expected, "{text}");
        check("all well", &[Words("all well")]);
        check("<error>a\nb</error>", &[Tagged("<error>a\nb</error>")]);
        check(
            "one <warning>w</warning> two <error>e</error>",
            &[Words("one "), Tagged("<warning>w</warning>"), Words(" two "), Tagged("<error>e</error>")],
        );
        check("<error>never closed", &[Words("<error>never closed")]);
        check("", &[]);
    }

    #[track_caller]
    fn check_fit(summary: &str, budget: u64, expected: &str) {
        assert_eq!(fit(summary, TokenCount(budget), &Estimator::default()), expected);
    }

    #[test]
    fn words_give_way_to_errors() {
        let words = format!("It failed.\n{}", "word ".repeat(200));
        let error = format!("<error>{}</error>", "at main.rs\n".repeat(20));
        check_fit("short", 100, "short");
        check_fit(&format!("{words}\n{error}"), 100, &format!("It failed.\n […]\n{error}"));
        // Even an error that is longer than all of the budget stays.
        check_fit(&format!("{words}\n{error}"), 10, &format!(" […]\n{error}"));
        check_fit(&words, 20, "It failed.\n […]");
    }

    #[test]
    fn how_a_command_ended_is_found() {
        let check = |text: &str, expected: Option<&str>| assert_eq!(ending(text), expected, "{text}");
        check("a\nb\nExit code: 1", Some("Exit code: 1"));
        check(
            "a\nExit code: 0\nBackground PIDs: 7\nRunning in the background as job-2.",
            Some("Exit code: 0\nBackground PIDs: 7\nRunning in the background as job-2."),
        );
        check("a\nSignal: 9 (KILL)", Some("Signal: 9 (KILL)"));
        check("Exit code: 3\na\nb\nc\nd\ne", None);
        check("a", None);
    }
}
