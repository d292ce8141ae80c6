//! The status line: model, approval mode, folder, memory, cost and the context meter.

use longhaul_policy::ApprovalMode;

use super::{meter, money, plural};
use crate::command::Standing;
use crate::state::{LEAVING, State};
use crate::style::{Line, Style};
use crate::text::columns;

/// The lines below the input.
pub(super) fn lines(state: &State) -> Vec<Line> {
    let width = state.width();
    if state.leaving.is_some_and(|first| state.now.saturating_sub(first) < LEAVING) {
        return vec![Line::new("Press Ctrl-C again to leave.", Style::YELLOW).fit(width)];
    }
    let standing = &state.standing;
    let meter = meter::line(&standing.meter, width.min(64));
    let facts = facts(state, standing);
    let mut line = Line::default();
    let room = width.saturating_sub(meter.columns() + 3);
    let is_one_line = width >= 100;
    let limit = if is_one_line { room } else { width };
    for (texts, style) in facts {
        let gap = if line.spans.is_empty() { 0 } else { 3 };
        let room = limit.saturating_sub(line.columns() + gap);
        let Some(text) = texts.into_iter().find(|text| columns(text) <= room) else { continue };
        if gap > 0 {
            line.push(" · ", Style::FAINT);
        }
        line.push(&text, style);
    }
    match is_one_line {
        true if meter.spans.is_empty() => vec![line],
        true => {
            let gap = width.saturating_sub(line.columns() + meter.columns());
            line.push(&" ".repeat(gap), Style::PLAIN);
            line.spans.extend(meter.spans);
            vec![line]
        }
        false if meter.spans.is_empty() => vec![line],
        false => vec![line, meter],
    }
}

/// The facts by importance, each in wordings from long to short; a fact that does not fit is left out.
fn facts(state: &State, standing: &Standing) -> Vec<(Vec<String>, Style)> {
    let mut facts = vec![(vec![standing.model.clone()], Style::BOLD)];
    let mode = match standing.mode {
        ApprovalMode::Default => None,
        ApprovalMode::AutoEdit => Some(("edits are free", Style::YELLOW)),
        ApprovalMode::Yolo => Some(("everything is free", Style::RED)),
        ApprovalMode::Plan => Some(("only reading", Style::BLUE)),
    };
    facts.extend(mode.map(|(text, style)| (vec![text.to_string()], style)));
    if !standing.is_trusted {
        facts.push((vec!["not trusted".to_string()], Style::YELLOW));
    }
    facts.push((places(standing), Style::BLUE));
    if state.tools.len() > 1 {
        facts.push((vec![plural(state.tools.len(), "tool runs", "tools run")], Style::FAINT));
    }
    if standing.memory_files > 0 {
        facts.push((vec![plural(standing.memory_files, "memory file", "memory files")], Style::FAINT));
    }
    facts.extend(standing.cost.map(|cost| (vec![money(cost)], Style::FAINT)));
    if standing.pins > 0 {
        facts.push((vec![plural(standing.pins, "pin", "pins")], Style::FAINT));
    }
    facts.iter_mut().for_each(|(texts, _)| texts.retain(|text| !text.is_empty()));
    facts
}

/// The folder and its branch, from long to short.
fn places(standing: &Standing) -> Vec<String> {
    let last = standing.folder.rsplit(['/', '\\']).next().unwrap_or_default();
    let branch = standing.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let folder = standing.folder.as_str();
    vec![format!("{folder}{branch}"), format!("{last}{branch}"), last.to_string()]
}
