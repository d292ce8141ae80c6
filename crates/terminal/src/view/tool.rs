//! Tool calls: a headline each, with the beginning of the output.

use longhaul_agent::ToolEnd;
use longhaul_conversation::{ToolStatus, grouped};
use longhaul_display::diff;
use longhaul_display::{Style, StyledLine, paragraphs};
use longhaul_tools::{Preview, TodoItem, TodoStatus, ToolDisplay};

use super::{duration, plural};
use crate::state::{FoldedText, RunningTool};

/// The most lines of output shown.
const MAX_OUTPUT: usize = 4;
/// The most lines of a diff shown.
const MAX_DIFF: usize = 24;

/// The rendering of a finished tool call.
pub(crate) struct FinishedTool {
    pub(crate) lines: Vec<StyledLine>,
    /// The full text, if only a part is shown.
    pub(crate) folded: Option<FoldedText>,
}

/// Renders a finished tool call. A diff that was just approved is not shown again.
pub(crate) fn finished_tool(
    end: &ToolEnd,
    running: Option<&RunningTool>,
    was_shown: bool,
    width: usize,
) -> FinishedTool {
    let (mark, style) = match end.status {
        ToolStatus::Succeeded | ToolStatus::Unstated => ("● ", Style::GREEN),
        ToolStatus::Failed => ("● ", Style::RED),
        ToolStatus::Cancelled => ("○ ", Style::FAINT),
    };
    let what = running.map(|tool| describe_call(&tool.preview)).unwrap_or_default();
    let mut head = StyledLine::new(mark, style).with(end.call.name.as_str(), Style::BOLD);
    if !what.is_empty() {
        head.push("  ", Style::PLAIN);
        head.push(&what, Style::PLAIN);
    }
    let facts = facts(end);
    let room = width.saturating_sub(longhaul_display::text::columns(&facts) + 2);
    let head = head.fit(room.max(12)).with(format!("  {facts}"), Style::FAINT).fit(width);
    let mut lines = vec![head];
    let title = format!("{} {what}", end.call.name);
    let folded = match &end.shown {
        _ if end.status == ToolStatus::Failed || end.status == ToolStatus::Cancelled => {
            push_output(&mut lines, &end.text, OutputEnd::Tail, title, width)
        }
        ToolDisplay::Line(line) => {
            lines.extend(indented(paragraphs(line, Style::FAINT, width.saturating_sub(4))));
            Some(FoldedText { title, text: end.text.clone(), is_diff: false })
        }
        ToolDisplay::Text => push_output(&mut lines, &end.text, OutputEnd::Head, title, width),
        ToolDisplay::Diff { diff, .. } if was_shown => {
            Some(FoldedText { title, text: diff.clone(), is_diff: true })
        }
        ToolDisplay::Diff { diff, .. } => push_diff(&mut lines, diff, title, width),
        ToolDisplay::Todos(todos) => {
            lines.extend(todos.iter().flat_map(|todo| todo_lines(todo, width)));
            None
        }
    };
    if let Some(file) = &end.saved_as {
        lines.extend(indented(paragraphs(
            &match end.left_out {
                0 => format!("full output: {file}"),
                bytes => format!("output: {file} ({} bytes omitted)", grouped(bytes)),
            },
            Style::FAINT,
            width.saturating_sub(4),
        )));
    }
    FinishedTool { lines, folded }
}

/// Duration and size.
fn facts(end: &ToolEnd) -> String {
    let mut facts = vec![duration(end.took)];
    match &end.shown {
        ToolDisplay::Diff { diff, .. } => facts.push(diff::summary(diff)),
        ToolDisplay::Text if end.text.lines().count() > 1 => {
            facts.push(plural(end.text.lines().count(), "line", "lines"));
        }
        _ => {}
    }
    facts.join(" · ")
}

/// A one-line description of a call.
pub(crate) fn describe_call(preview: &Preview) -> String {
    let text = match preview {
        Preview::Look(what) | Preview::Other(what) => what.clone(),
        Preview::Command { command, is_background: false, .. } => command.clone(),
        Preview::Command { command, .. } => format!("{command} &"),
        Preview::Change { path, .. } => path.display().to_string(),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn indented(lines: Vec<StyledLine>) -> impl Iterator<Item = StyledLine> {
    lines.into_iter().map(|line| line.prefixed("  │ ", Style::FAINT))
}

/// The end of an output that is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OutputEnd {
    Head,
    /// Errors are reported at the end.
    Tail,
}

fn push_output(
    lines: &mut Vec<StyledLine>,
    text: &str,
    shown_end: OutputEnd,
    title: String,
    width: usize,
) -> Option<FoldedText> {
    let text = text.trim_matches('\n');
    let all: Vec<&str> = text.lines().collect();
    let inner = width.saturating_sub(4);
    let more = all.len().saturating_sub(MAX_OUTPUT);
    let (shown, style) = match shown_end {
        OutputEnd::Head => (&all[..all.len() - more], Style::FAINT),
        OutputEnd::Tail => (&all[more..], Style::RED),
    };
    if more > 0 && shown_end == OutputEnd::Tail {
        lines.push(fold_line('┌', more, width));
    }
    lines.extend(indented(shown.iter().map(|line| StyledLine::new(*line, style).fit(inner)).collect()));
    if more > 0 && shown_end == OutputEnd::Head {
        lines.push(fold_line('└', more, width));
    }
    let is_cut = more > 0 || shown.iter().any(|line| longhaul_display::text::columns(line) > inner);
    is_cut.then(|| FoldedText { title, text: text.to_string(), is_diff: false })
}

fn push_diff(lines: &mut Vec<StyledLine>, diff: &str, title: String, width: usize) -> Option<FoldedText> {
    let all = diff::lines(diff, width.saturating_sub(4));
    let more = all.len().saturating_sub(MAX_DIFF);
    lines.extend(indented(all.into_iter().take(MAX_DIFF).collect()));
    if more > 0 {
        lines.push(fold_line('└', more, width));
    }
    (more > 0).then(|| FoldedText { title, text: diff.to_string(), is_diff: true })
}

fn fold_line(corner: char, more: usize, width: usize) -> StyledLine {
    StyledLine::new(format!("  {corner} {} (Ctrl-O)", plural(more, "more line", "more lines")), Style::FAINT)
        .fit(width)
}

fn todo_lines(todo: &TodoItem, width: usize) -> Vec<StyledLine> {
    let (mark, style) = match todo.status {
        TodoStatus::Pending => ("☐ ", Style::PLAIN),
        TodoStatus::InProgress => ("▸ ", Style::CYAN),
        TodoStatus::Completed => ("☑ ", Style::FAINT),
        TodoStatus::Cancelled => ("☒ ", Style { struck: true, ..Style::FAINT }),
    };
    indented(StyledLine::new(format!("{mark}{}", todo.text), style).wrap(width.saturating_sub(4), 2))
        .collect()
}

/// The output of a shell command that the user typed.
pub(crate) fn command_output(command: &str, output: &str, width: usize) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::new("$ ", Style::CYAN).with(command, Style::BOLD).fit(width)];
    push_output(&mut lines, output, OutputEnd::Head, String::new(), width);
    lines
}

/// A folded text in full.
pub(crate) fn unfolded(folded: &FoldedText, width: usize) -> Vec<StyledLine> {
    let inner = width.saturating_sub(2);
    let mut lines = vec![StyledLine::new(folded.title.as_str(), Style::BOLD).fit(width)];
    let body = match folded.is_diff {
        true => diff::lines(&folded.text, inner),
        false => paragraphs(&folded.text, Style::PLAIN, inner),
    };
    lines.extend(body.into_iter().map(|line| line.prefixed("│ ", Style::FAINT)));
    lines
}
