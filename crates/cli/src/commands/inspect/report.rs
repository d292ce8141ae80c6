//! The inspection as text for people.

use std::collections::BTreeMap;

use longhaul_conversation::{FaultKind, PairingFault, RequestForm, TokenCount};
use longhaul_formats::Format;

use super::Inspection;
use crate::output::{
    Page, Screen, bar, fit, pad, pad_left, percent, plural, span, sparkline, thousands, visible,
};
use crate::reports::tracked::text as tracked;

/// The most tools, files, messages and turns that are listed.
const LISTED: usize = 10;
/// The most faults of one kind, and warnings, that are listed one by one.
const EXAMPLES: usize = 5;

/// The whole inspection.
pub(super) fn text(inspection: &Inspection, screen: &Screen) -> String {
    let mut page = Page::new(*screen);
    title(&mut page, inspection);
    context(&mut page, inspection);
    kinds(&mut page, inspection);
    growth(&mut page, inspection);
    tools(&mut page, inspection);
    files(&mut page, inspection);
    messages(&mut page, inspection);
    turns(&mut page, inspection);
    tracked::rules(&mut page, &inspection.work.rules);
    tracked::requests(&mut page, &inspection.work.requests);
    tracked::ledger(&mut page, &inspection.work.ledger);
    faults(&mut page, inspection);
    reading(&mut page, inspection);
    page.into_text()
}

fn title(page: &mut Page, inspection: &Inspection) {
    let Inspection { info, breakdown, .. } = inspection;
    let mut facts = vec![
        info.format.to_string(),
        plural(breakdown.messages, "message", "messages"),
        plural(breakdown.turns.len(), "turn", "turns"),
        plural(breakdown.calls, "tool call", "tool calls"),
    ];
    if !info.models.is_empty() {
        facts.push(info.models.join(", "));
    }
    if let (Some(started), Some(ended)) = (info.started, info.ended) {
        facts.push(span(started, ended));
    }
    page.facts(&facts);
    if let Some(title) = info.title.as_deref().filter(|title| !title.trim().is_empty()) {
        let title = fit(title, page.screen.width);
        page.line(&title);
    }
    if info.format == Format::RecordedResponses {
        page.line("Recorded model responses for Gemini CLI tests, not a conversation.");
    }
}

fn context(page: &mut Page, inspection: &Inspection) {
    let Inspection { info, breakdown, window, .. } = inspection;
    let share = breakdown.total.share_of(window.size);
    let has_count = breakdown.counted.is_some_and(|counted| counted.counted.is_some());
    page.gap();
    let line = format!(
        "{} tokens{}, {} of a {}-token window{}",
        thousands(breakdown.total.0),
        if has_count { "" } else { " (estimated)" },
        percent(share),
        thousands(window.size.0),
        window.whose(info),
    );
    let line = fit(&line, page.screen.width);
    page.line(&page.screen.strong(&line));
    if let Some(place) = &inspection.threshold.set_by {
        let limit = inspection.threshold.tokens;
        let limit = limit.map_or("compaction is off".into(), |limit| format!("compacts at {limit} tokens"));
        let line = fit(&format!("{limit}, set by {place}"), page.screen.width);
        page.line(&page.screen.faint(&line));
    }
    let gauge = page.gauge(share, page.screen.width.min(60));
    page.line(&gauge);
    if let Some(counted) = &breakdown.counted {
        let mut line = match counted.counted {
            Some(newest) => format!("{} counted by the provider", thousands(newest.0)),
            None => "No count by the provider since the last compaction".to_string(),
        };
        let since = breakdown.total - counted.counted.unwrap_or(breakdown.total);
        if since > TokenCount::ZERO {
            line.push_str(&format!(", {} estimated since", thousands(since.0)));
        }
        if counted.unrecorded > TokenCount::ZERO {
            line.push_str(&format!("; {} not in the file", thousands(counted.unrecorded.0)));
        }
        let line = fit(&format!("{line}."), page.screen.width);
        page.line(&line);
    }
    if info.compactions > 0 || breakdown.dropped > TokenCount::ZERO {
        let line = format!(
            "Not counted: {} tokens compacted away or undone ({}); --all includes them.",
            thousands(breakdown.dropped.0),
            plural(info.compactions, "compaction", "compactions"),
        );
        page.line(&line);
    }
}

fn kinds(page: &mut Page, inspection: &Inspection) {
    let breakdown = &inspection.breakdown;
    let Some(heaviest) = breakdown.kinds.iter().map(|kind| kind.tokens).max() else { return };
    page.heading("By kind");
    let width = page.screen.width.saturating_sub(36).min(44);
    for kind in &breakdown.kinds {
        let share = kind.tokens.share_of(breakdown.total);
        let bar = bar(kind.tokens.share_of(heaviest), width);
        let line = format!(
            "  {}{}{}  {}",
            pad(kind.kind.name(), 15),
            pad_left(&thousands(kind.tokens.0), 10),
            pad_left(&percent(share), 6),
            page.screen.filled(&bar),
        );
        page.line(&line);
    }
}

fn growth(page: &mut Page, inspection: &Inspection) {
    let growth: Vec<u64> = inspection.breakdown.growth.iter().map(|size| size.0).collect();
    if growth.len() < 3 {
        return;
    }
    page.heading("Growth");
    let line = sparkline(&growth, page.screen.width.saturating_sub(4).min(76));
    let most = growth.iter().copied().max().unwrap_or(0);
    let last = growth.last().copied().unwrap_or(0);
    let line = format!("  {}", page.screen.filled(&line));
    page.line(&line);
    let legend = format!("  peak {} tokens, {} at the end", thousands(most), thousands(last));
    page.line(&legend);
}

fn tools(page: &mut Page, inspection: &Inspection) {
    let tools = &inspection.breakdown.tools;
    if tools.is_empty() {
        return;
    }
    let name_width = page.screen.width.saturating_sub(48).clamp(12, 36);
    let columns = ["tokens", "share", "calls", "failed", "per call"];
    page.table_heading("Heaviest tools", name_width, &columns);
    for tool in tools.iter().take(LISTED) {
        let tokens = tool.tokens();
        let per_call = tokens.0 / (tool.calls.max(1) as u64);
        let failed = if tool.failures == 0 { "-".to_string() } else { thousands(tool.failures as u64) };
        let cells = [
            thousands(tokens.0),
            percent(tokens.share_of(inspection.breakdown.total)),
            thousands(tool.calls as u64),
            failed,
            thousands(per_call),
        ];
        page.row(&tool.name, name_width, &cells);
    }
    page.more(tools.len(), LISTED, "tools");
}

fn files(page: &mut Page, inspection: &Inspection) {
    let files = &inspection.breakdown.files;
    if files.is_empty() {
        return;
    }
    let name_width = page.screen.width.saturating_sub(30).clamp(12, 80);
    page.table_heading("Heaviest files", name_width, &["tokens", "share", "calls"]);
    for file in files.iter().take(LISTED) {
        let path = shorten(&file.path, inspection.info.directory.as_deref());
        let cells = [
            thousands(file.tokens.0),
            percent(file.tokens.share_of(inspection.breakdown.total)),
            thousands(file.calls as u64),
        ];
        page.row(&cut_front(&path, name_width), name_width, &cells);
    }
    page.more(files.len(), LISTED, "files");
}

fn messages(page: &mut Page, inspection: &Inspection) {
    let breakdown = &inspection.breakdown;
    if breakdown.heaviest.is_empty() {
        return;
    }
    page.heading("Heaviest messages");
    for message in &breakdown.heaviest {
        let mark = message.ordinal.map_or_else(|| message.message.to_string(), |ordinal| ordinal.to_string());
        let start = format!(
            "  {} {} {}  ",
            pad(&mark, 6),
            pad_left(&thousands(message.tokens.0), 9),
            pad_left(&percent(message.tokens.share_of(breakdown.total)), 5),
        );
        let room = page.screen.width.saturating_sub(start.chars().count() + 16);
        let line = format!(
            "{start}{}{}",
            page.screen.faint(&pad(message.kind.name(), 16)),
            fit(&shorten_within(&message.preview, inspection.info.directory.as_deref()), room)
        );
        page.line(&line);
    }
}

fn turns(page: &mut Page, inspection: &Inspection) {
    let breakdown = &inspection.breakdown;
    if breakdown.turns.len() < 2 {
        return;
    }
    let mut turns: Vec<_> = breakdown.turns.iter().collect();
    turns.sort_by_key(|turn| std::cmp::Reverse(turn.tokens));
    page.heading("Heaviest turns");
    for turn in turns.iter().take(LISTED) {
        let mark = turn.ordinal.map_or_else(|| turn.message.to_string(), |ordinal| ordinal.to_string());
        let start = format!(
            "  {} {} {} {}  ",
            pad(&mark, 6),
            pad_left(&thousands(turn.tokens.0), 9),
            pad_left(&percent(turn.tokens.share_of(breakdown.total)), 5),
            pad_left(&plural(turn.calls, "call", "calls"), 10),
        );
        let room = page.screen.width.saturating_sub(start.chars().count());
        let text = if turn.preview.is_empty() { "(before the first prompt)" } else { &turn.preview };
        let line = format!("{start}{}", fit(text, room));
        page.line(&line);
    }
    page.more(turns.len(), LISTED, "turns");
}

/// The form in which an agent sends what its sessions hold, where it has only one.
fn own_form(format: Format) -> Option<RequestForm> {
    match format {
        Format::Codex | Format::OpenAiResponses => Some(RequestForm::OpenAiResponses),
        Format::ClaudeCode | Format::Anthropic => Some(RequestForm::Anthropic),
        Format::OpenAiChat => Some(RequestForm::OpenAiChat),
        Format::GeminiJsonl | Format::GeminiJson | Format::GeminiContents => Some(RequestForm::Gemini),
        _ => None,
    }
}

fn faults(page: &mut Page, inspection: &Inspection) {
    let faults = &inspection.breakdown.faults;
    if faults.is_empty() {
        page.heading("Pairing");
        let line = page.screen.good("  every call has its result; any provider accepts this conversation");
        return page.line(&line);
    }
    let own = own_form(inspection.info.format);
    let is_refused = |fault: &PairingFault| own.is_none_or(|own| fault.kind.refused_in().contains(&own));
    match own.filter(|_| !faults.iter().any(is_refused)) {
        Some(own) => page.heading(&format!("Pairing: accepted by {}, where it comes from", own.name())),
        None => page.heading(&format!("Pairing: {}", plural(faults.len(), "fault", "faults"))),
    }
    let mut kinds: BTreeMap<FaultKind, Vec<&PairingFault>> = BTreeMap::new();
    for fault in faults {
        kinds.entry(fault.kind).or_default().push(fault);
    }
    for (kind, faults) in kinds {
        let places: Vec<String> = faults
            .iter()
            .take(EXAMPLES)
            .map(|fault| fault.ordinal.map_or_else(|| visible(fault.message.as_str()), |at| at.to_string()))
            .collect();
        let more = if faults.len() > EXAMPLES { ", …" } else { "" };
        let count = thousands(faults.len() as u64);
        let line = format!("  {count} × {}: {}{more}", kind.describe(), places.join(", "));
        let line = page.screen.warning(&fit(&line, page.screen.width));
        page.line(&line);
        let refused = kind.refused_in();
        if refused != RequestForm::ALL {
            let names: Vec<&str> = refused.iter().map(|form| form.name()).collect();
            let line = page.screen.faint(&format!("    refused by {}", names.join(", ")));
            page.line(&line);
        }
    }
    let name = if inspection.name == "standard input" { "-" } else { &inspection.name };
    let line = format!("  fix with: longhaul sessions repair {} -o OUT", visible(name));
    page.line(&line);
}

fn reading(page: &mut Page, inspection: &Inspection) {
    let Inspection { info, side, warnings, .. } = inspection;
    if side.messages > 0 {
        page.heading("Separate conversations");
        let line = format!(
            "  {} of {}",
            plural(side.messages, "message", "messages"),
            plural(side.chains.len(), "sub-agent", "sub-agents"),
        );
        page.line(&line);
    }
    if info.skipped.total() > 0 {
        page.heading(&format!(
            "Skipped: {} without messages",
            plural(info.skipped.total(), "record", "records")
        ));
        let kinds: Vec<String> = info.skipped.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        for line in wrap(&kinds, page.screen.width.saturating_sub(2)) {
            page.line(&format!("  {line}"));
        }
    }
    if info.warnings > 0 {
        page.heading(&plural(info.warnings, "warning", "warnings"));
        for warning in warnings.iter().take(EXAMPLES * 2) {
            page.warning(&warning.to_string());
        }
        if info.warnings > EXAMPLES * 2 {
            let line =
                format!("  and {} more; --json lists them", thousands((info.warnings - EXAMPLES * 2) as u64));
            page.line(&line);
        }
    }
}

/// The path as seen from the folder the agent worked in.
fn shorten(path: &str, directory: Option<&str>) -> String {
    let inside =
        directory.filter(|directory| directory.len() > 1).and_then(|directory| path.strip_prefix(directory));
    inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path).to_string()
}

/// The text with paths as seen from the folder the agent worked in.
fn shorten_within(text: &str, directory: Option<&str>) -> String {
    match directory.filter(|directory| directory.len() > 1) {
        Some(directory) => text.replace(&format!("{}/", directory.trim_end_matches('/')), ""),
        None => text.to_string(),
    }
}

/// Keeps the end of a path, which says more than its start.
fn cut_front(path: &str, width: usize) -> String {
    let path = visible(path);
    let count = path.chars().count();
    if count <= width {
        return path;
    }
    let end: String = path.chars().skip(count + 1 - width).collect();
    format!("…{end}")
}

/// Items joined by commas, in lines of at most `width` columns.
fn wrap(items: &[String], width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for item in items {
        let item = fit(item, width.saturating_sub(1));
        match lines.last_mut() {
            Some(line) if line.chars().count() + item.chars().count() + 3 <= width => {
                line.push_str(", ");
                line.push_str(&item);
            }
            _ => {
                if let Some(line) = lines.last_mut() {
                    line.push(',');
                }
                lines.push(item);
            }
        }
    }
    lines
}
