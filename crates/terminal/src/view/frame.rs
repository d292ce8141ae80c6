//! The block below the conversation: activity, input and status.

use std::time::Duration;

use longhaul_display::{Style, StyledLine};

use super::field::{Frame, field};
use super::{dialog, duration, status, tool};
use crate::state::{Completion, Focus, UiState};

/// The most rows of the input.
const MAX_INPUT: usize = 10;
/// The most completions shown.
const MAX_COMPLETIONS: usize = 8;
/// The most lines of a running tool's output.
const MAX_OUTPUT: usize = 3;
/// The rows above the input that are always shown, if there is room.
const MIN_ABOVE: usize = 6;
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// The height from which on a blank row separates the input.
const ROOMY: usize = 20;
/// The duration below which no clock is shown.
const SHORT: Duration = Duration::from_secs(1);

/// The width of the input.
pub(crate) fn input_width(state: &UiState) -> usize {
    state.width().saturating_sub(2).max(2)
}

/// Renders the block, in at most as many rows as the terminal has.
pub(crate) fn frame(state: &UiState) -> Frame {
    let width = state.width();
    let below = below(state);
    // One row stays free, so that drawing the block never scrolls.
    let room = state.size.height.saturating_sub(1).max(3);
    let mut above = in_progress(state);
    above.extend(activity(state));
    above.extend(queued(state));
    if state.size.height >= ROOMY {
        above.push(StyledLine::default());
    }
    // Half of the screen: when the window is made narrower, the rows are wrapped, and what the screen cannot hold any more could
    // not be cleared.
    let most = room.saturating_sub(below.lines.len()).min((room / 2).max(MIN_ABOVE));
    if above.len() > most {
        above.drain(..above.len() - most);
    }
    let offset = above.len();
    let mut lines = above;
    lines.extend(below.lines);
    let cut = lines.len().saturating_sub(room);
    lines.drain(..cut);
    let cursor = below.cursor.map(|(row, column)| ((row + offset).saturating_sub(cut), column));
    let lines = lines.into_iter().map(|line| line.fit(width)).collect();
    Frame { lines, cursor }
}

/// The arriving answer, the thoughts and the running tools.
fn in_progress(state: &UiState) -> Vec<StyledLine> {
    let width = state.width();
    let mut lines = Vec::new();
    let answer = state.answer.streaming.open_lines(width);
    if !answer.is_empty() {
        if !state.answer.has_begun {
            lines.push(StyledLine::default());
        }
        lines.extend(answer);
    }
    let thoughts = state.thoughts.text.trim_end();
    if !thoughts.is_empty() {
        let style = Style { italic: true, ..Style::FAINT };
        let all = longhaul_display::paragraphs(thoughts, style, width.saturating_sub(2));
        let most = if state.shows_thoughts { usize::MAX } else { 2 };
        let from = all.len().saturating_sub(most);
        lines.push(StyledLine::default());
        lines.extend(all.into_iter().skip(from).map(|line| line.prefixed("│ ", Style::FAINT)));
    }
    for running in &state.tools {
        lines.push(StyledLine::default());
        let took = state.now.saturating_sub(running.since);
        let head = StyledLine::new(format!("{} ", spinner(state)), Style::CYAN)
            .with(running.name.as_str(), Style::BOLD)
            .with(format!("  {}", tool::describe_call(&running.preview)), Style::PLAIN);
        let clock = if took < SHORT { String::new() } else { format!("  {}", duration(took)) };
        lines.push(head.fit(width.saturating_sub(clock.len()).max(10)).with(clock, Style::FAINT));
        let output: Vec<&str> = running.output.lines().filter(|line| !line.trim().is_empty()).collect();
        let from = output.len().saturating_sub(MAX_OUTPUT);
        for line in &output[from..] {
            lines.push(StyledLine::new(*line, Style::FAINT).prefixed("  │ ", Style::FAINT).fit(width));
        }
    }
    lines
}

/// The current activity and its duration.
fn activity(state: &UiState) -> Vec<StyledLine> {
    if !state.is_busy() || !state.dialogs.is_empty() {
        return Vec::new();
    }
    let width = state.width();
    let (what, since) = match (&state.compaction, &state.activity) {
        (Some(compacting), _) => (format!("compacting: {}", compacting.stage), compacting.since),
        (None, Some(work)) => (work.description.clone(), work.since),
        (None, None) => return Vec::new(),
    };
    let took = state.now.saturating_sub(since);
    let clock = if took < SHORT { String::new() } else { format!("  {}", duration(took)) };
    let is_cancelled = state.activity.as_ref().is_some_and(|work| work.is_cancelled);
    let hint = if is_cancelled { "" } else { "  Esc to stop" };
    let line = StyledLine::new(format!("{} ", spinner(state)), Style::CYAN)
        .with(what, Style::FAINT)
        .with(format!("{clock}{hint}"), Style::FAINT);
    vec![StyledLine::default(), line.fit(width)]
}

fn spinner(state: &UiState) -> char {
    SPINNER[(state.now.as_millis() / 100 % SPINNER.len() as u128) as usize]
}

fn queued(state: &UiState) -> Vec<StyledLine> {
    let width = state.width();
    let queued = state.queue.iter().map(|typed| {
        let text = typed.split_whitespace().collect::<Vec<_>>().join(" ");
        StyledLine::new(format!("  next: {text}"), Style::FAINT).fit(width)
    });
    queued.collect()
}

/// The input or the current dialog, and the status.
fn below(state: &UiState) -> Frame {
    let width = state.width();
    let mut frame = match state.dialogs.front() {
        Some(dialog) => dialog::frame(state, dialog),
        None => input(state),
    };
    frame.lines.insert(0, StyledLine::new("─".repeat(width), Style::FAINT));
    frame.cursor = frame.cursor.map(|(row, column)| (row + 1, column));
    frame.lines.push(StyledLine::new("─".repeat(width), Style::FAINT));
    match state.completion.as_ref().filter(|_| state.focus() == Focus::Draft) {
        Some(completion) => frame.lines.extend(completions(completion, width)),
        None => frame.lines.extend(status::lines(state)),
    }
    frame
}

fn input(state: &UiState) -> Frame {
    if state.editor.is_empty() {
        let hint = if state.is_busy() { "type ahead" } else { "ask, or /help" };
        let line = StyledLine::new("❯ ", Style::CYAN).with(hint, Style::FAINT);
        return Frame { lines: vec![line], cursor: Some((0, 2)) };
    }
    field(&state.editor, "❯ ", state.width(), MAX_INPUT)
}

fn completions(completion: &Completion, width: usize) -> Vec<StyledLine> {
    let count = completion.items.len();
    let from = (completion.selected + 1).saturating_sub(MAX_COMPLETIONS);
    let shown = completion.items.iter().enumerate().skip(from).take(MAX_COMPLETIONS);
    let names =
        completion.items.iter().map(|(name, _)| longhaul_display::text::columns(name)).max().unwrap_or(0);
    let names = names.min(width / 2);
    let mut lines: Vec<StyledLine> = shown
        .map(|(number, (name, does))| {
            let is_selected = number == completion.selected;
            let (mark, style) = if is_selected { ("▸ ", Style::CYAN) } else { ("  ", Style::PLAIN) };
            let name = if does.is_empty() { name.clone() } else { longhaul_display::text::pad(name, names) };
            StyledLine::new(mark, style).with(name, style).with(format!("  {does}"), Style::FAINT).fit(width)
        })
        .collect();
    if count > MAX_COMPLETIONS {
        let more = format!("  {} of {count}", completion.selected + 1);
        lines.push(StyledLine::new(more, Style::FAINT));
    }
    lines
}
