//! Blocks of the conversation: messages, approvals, thoughts and notices.

use std::time::Duration;

use longhaul_agent::{Approval, ApprovalRequest, LimitOf, TurnEnd};
use longhaul_conversation::{FinishReason, ModelError, grouped};
use longhaul_display::text::sentence;
use longhaul_display::{Style, StyledLine, paragraphs};
use longhaul_display::{diff, markdown};
use longhaul_tools::Preview;

use super::{duration, plural};
use crate::notice::{Level, Notice};
use crate::page::Page;
use crate::protocol::PastMessage;
use crate::slash;
use crate::slash::{OfferedCommand, SkillCommand};
use crate::state::ApprovalDialog;
use crate::status_line::StatusLine;

/// The most lines of a user message.
const MAX_LINES: usize = 40;
/// The most lines of an earlier message when a session is resumed.
const MAX_SAID: usize = 12;

/// A message typed by the user.
pub(crate) fn user_message(text: &str, width: usize) -> Vec<StyledLine> {
    let mut lines = paragraphs(text.trim_end(), Style::BOLD, width.saturating_sub(2));
    let more = lines.len().saturating_sub(MAX_LINES);
    if more > 0 {
        lines.truncate(MAX_LINES);
        lines.push(StyledLine::new(format!("… {}", plural(more, "more line", "more lines")), Style::FAINT));
    }
    let mark = |number: usize| if number == 0 { "❯ " } else { "  " };
    lines.into_iter().enumerate().map(|(number, line)| line.prefixed(mark(number), Style::CYAN)).collect()
}

/// A notice.
pub(crate) fn notice(notice: &Notice, width: usize) -> Vec<StyledLine> {
    let (mark, style) = match notice.level {
        Level::Info => ("· ", Style::FAINT),
        Level::Good => ("✓ ", Style::GREEN),
        Level::Warning => ("! ", Style::YELLOW),
        Level::Error => ("✗ ", Style::RED),
    };
    let inner = width.saturating_sub(2);
    let mut lines = Vec::new();
    for (number, line) in paragraphs(&notice.text, style, inner).into_iter().enumerate() {
        lines.push(line.prefixed(if number == 0 { mark } else { "  " }, style));
    }
    let hint = notice.hint.iter().flat_map(|hint| paragraphs(hint, Style::FAINT, inner));
    lines.extend(hint.map(|line| line.prefixed("  ", Style::PLAIN)));
    lines
}

/// The model's thoughts.
pub(crate) fn thoughts(text: &str, took: Duration, shows: bool, width: usize) -> Vec<StyledLine> {
    if !shows {
        return vec![StyledLine::new(format!("· thought for {}", duration(took)), Style::FAINT).fit(width)];
    }
    let style = Style { italic: true, ..Style::FAINT };
    paragraphs(text.trim(), style, width.saturating_sub(2))
        .into_iter()
        .map(|line| line.prefixed("│ ", Style::FAINT))
        .collect()
}

/// The exact effect of a call, for approval.
pub(crate) fn approval_request(request: &ApprovalRequest, width: usize) -> Vec<StyledLine> {
    let name = request.call.name.as_str();
    let inner = width.saturating_sub(2);
    let mut lines = vec![
        StyledLine::new("? ", Style::YELLOW).with(headline(name, &request.preview), Style::BOLD).fit(width),
    ];
    let indented = |line: StyledLine| line.prefixed("  ", Style::PLAIN);
    match &request.preview {
        Preview::Command { command, directory, is_background } => {
            lines.extend(paragraphs(command, Style::CYAN, inner).into_iter().map(indented));
            let how = if *is_background { ", in the background" } else { "" };
            let place = format!("in {}{how}", directory.display());
            lines.extend(paragraphs(&place, Style::FAINT, inner).into_iter().map(indented));
        }
        Preview::Change { diff, .. } => lines.extend(diff::lines(diff, inner).into_iter().map(indented)),
        Preview::Look(what) | Preview::Other(what) => {
            lines.extend(paragraphs(what, Style::PLAIN, inner).into_iter().map(indented));
        }
    }
    if let Some(reason) = &request.reason {
        lines.extend(paragraphs(reason, Style::YELLOW, inner).into_iter().map(indented));
    }
    lines
}

fn headline(name: &str, preview: &Preview) -> String {
    match preview {
        Preview::Command { .. } => format!("{name} wants to run"),
        Preview::Change { path, diff } => {
            format!("{name} wants to change {} ({})", path.display(), diff::summary(diff))
        }
        Preview::Look(_) => format!("{name} wants to read"),
        Preview::Other(_) => format!("{name} wants to"),
    }
}

/// The user's changes to a proposed file.
pub(crate) fn rewrite(proposed: &str, written: &str, width: usize) -> Vec<StyledLine> {
    let inner = width.saturating_sub(2);
    let diff = longhaul_workspace::unified_diff(("proposed", proposed), ("edited", written)).text;
    diff::lines(&diff, inner).into_iter().map(|line| line.prefixed("  ", Style::PLAIN)).collect()
}

/// The decision about a call.
pub(crate) fn decision(approving: &ApprovalDialog, approval: &Approval, width: usize) -> Vec<StyledLine> {
    let (mark, text) = match approval {
        Approval::Once => ("✓ ", "allowed once".to_string()),
        Approval::Always(reach) => {
            let rule = approving.request.always.as_ref().map(|offer| offer.allow.describe());
            ("✓ ", format!("always allowed {reach}: {}", rule.unwrap_or_default()))
        }
        Approval::Edited(_) | Approval::Rewritten(_) => ("✓ ", "allowed with your edits".to_string()),
        Approval::Denied { reason: Some(reason) } => ("✗ ", format!("denied: {reason}")),
        Approval::Denied { reason: None } => ("✗ ", "denied".to_string()),
        Approval::Stop => ("✗ ", "stopped".to_string()),
    };
    let line = StyledLine::new(format!("  {mark}{text}"), Style::FAINT);
    line.wrap(width, 4)
}

/// A notice about the end of a turn, if it needs one. A prompt that was taken back is in the input again.
pub(crate) fn turn_end(end: &TurnEnd, is_prompt_back: bool, status: &StatusLine) -> Option<Notice> {
    let back = if is_prompt_back { "Your message is back in the input. " } else { "" };
    Some(match end {
        TurnEnd::Finished(FinishReason::Length) => {
            Notice::warning("The answer reached the model's output limit.")
                .with_hint("Say \"continue\" to get the rest.")
        }
        TurnEnd::Finished(FinishReason::Filtered) => Notice::error("The provider withheld the answer.")
            .with_hint("Rephrase your message, or try another model."),
        TurnEnd::Finished(_) => return None,
        TurnEnd::Overflow(overflow) => {
            let what = if is_prompt_back { "Your message does" } else { "The next step does" };
            let text = format!(
                "{what} not fit: it needs about {} tokens, but only {} of {} are left.",
                grouped(overflow.request.0),
                grouped(overflow.remaining.0),
                grouped(overflow.window.0)
            );
            let is_used = overflow.remaining.0 * 4 < overflow.window.0 * 3;
            let remedy = overflow.remedy().unwrap_or_else(|| match (is_prompt_back, is_used) {
                (false, _) => "type /compress to make room, or /rewind to take back messages".to_string(),
                (true, true) => "shorten it, or type /compress to make room".to_string(),
                (true, false) => "shorten it, or use a model with a larger context window".to_string(),
            });
            Notice::error(text).with_hint(format!("{back}{}.", sentence(&remedy)))
        }
        TurnEnd::Failed(error @ ModelError::TooLong) => {
            let hint = format!("{back}{}", sentence(error.hint().as_ref()));
            Notice::error(sentence(&error.to_string())).with_hint(hint)
        }
        TurnEnd::Failed(error) => {
            Notice::error(sentence(&error.to_string())).with_hint(sentence(error.hint().as_ref()))
        }
        TurnEnd::Cancelled => Notice::warning("Stopped. The partial answer is kept."),
        TurnEnd::Stopped { reason } => Notice::warning(format!("A hook stopped the turn: {reason}")),
        TurnEnd::Blocked { reason } => Notice::warning(format!("A hook blocked your message: {reason}"))
            .with_hint("Your message is back in the input. Type /hooks to list the hooks."),
        TurnEnd::Looped { detail } => {
            Notice::error(format!("The model was stuck in a loop and was stopped: {detail}"))
                .with_hint("Rephrase your message, or give the model what it is missing.")
        }
        TurnEnd::LimitReached { limit, of } => {
            let of = match of {
                LimitOf::Turn => "this turn",
                LimitOf::Session => "this session",
            };
            let model = &status.model;
            Notice::warning(format!("{model} reached the limit of {limit} model calls for {of}."))
                .with_hint("Say \"continue\" to go on.")
        }
    })
}

/// The last messages of a resumed session.
pub(crate) fn resumed_session(title: &str, last: &[PastMessage], width: usize) -> Vec<StyledLine> {
    let mut lines = vec![StyledLine::new(title, Style { bold: true, ..Style::CYAN }).fit(width)];
    for said in last {
        let mut block = match said.is_users {
            true => user_message(&said.text, width),
            false => markdown::render(&said.text, width),
        };
        let more = block.len().saturating_sub(MAX_SAID);
        if more > 0 {
            block.truncate(MAX_SAID);
            block.push(StyledLine::new(
                format!("… {}", plural(more, "more line", "more lines")),
                Style::FAINT,
            ));
        }
        lines.push(StyledLine::default());
        lines.extend(block);
    }
    lines
}

/// The keys with their functions.
const KEYS: &[(&str, &str)] = &[
    ("Enter", "Send; Alt-Enter, Ctrl-J or a trailing \\ start a new line"),
    ("Esc", "Stop the current action, or clear the input; so does Ctrl-C, twice to quit"),
    ("Tab", "Complete commands and @files"),
    ("Up, Down", "Browse the input history; Ctrl-R searches it"),
    ("Ctrl-O", "Unfold the last folded output; again for earlier ones"),
    ("Ctrl-G", "Open the input in your editor"),
    ("Ctrl-V", "Attach the image in the clipboard; a pasted path of an image does so, too"),
    ("Shift-Tab", "Change the approval mode"),
    ("Ctrl-T", "Show or hide thoughts"),
    ("Ctrl-L", "Clear the screen"),
    ("@file, @folder/", "Attach a file or the files of a folder"),
    ("!command", "Run a shell command; the model gets its output with your next message"),
];

/// The help: commands and keys.
pub(crate) fn help(custom: &[OfferedCommand], skills: &[SkillCommand], width: usize) -> Vec<StyledLine> {
    let mut page = Page::new("Commands");
    for slash in slash::ALL {
        let takes = if slash.takes.is_empty() { String::new() } else { format!(" {}", slash.takes) };
        page.fact(format!("/{}{takes}", slash.name), slash.does);
    }
    if !custom.is_empty() {
        page.heading("Custom commands");
    }
    for command in custom {
        let takes = if command.takes.is_empty() { String::new() } else { format!(" {}", command.takes) };
        page.fact(format!("/{}{takes}", command.name), command.does.as_str());
    }
    if !skills.is_empty() {
        page.heading("Skills");
    }
    skills.iter().for_each(|skill| page.fact(format!("/{}", skill.name), skill.does.as_str()));
    page.heading("Keys");
    KEYS.iter().for_each(|(key, does)| page.fact(*key, *does));
    page.lines(width)
}
