//! Pages about the session: context, rules, statistics, memory, tools, policy, hooks.

use std::collections::HashSet;
use std::time::Duration;

use longhaul_agent::{AgentDeps, AgentView, Instruction, SourceState};
use longhaul_compaction::{Input, LedgerCounts, Outcome, Rung, Trigger, compact_offline, prepare};
use longhaul_conversation::{Estimator, Message, MessageId, Part, TokenCount, ToolDeclaration, grouped};
use longhaul_directives::{RequestState, Retirement};
use longhaul_display::Tone;

use super::status_line;
use crate::page::{Page, Row};
use crate::protocol::Topic;
use crate::services::Services;
use crate::status_line::{ContextMeter, Segment};
use crate::view::{duration, money, percent, plural, short_tokens};

/// The number of entries in each list of the largest items.
const MAX_LISTED: usize = 6;
/// The columns of a message preview.
const PREVIEW: usize = 48;

/// The page of a topic.
pub(super) fn page<S: Services>(
    topic: Topic,
    agent: AgentView<'_>,
    services: &S,
    spent: Option<f64>,
) -> Page {
    let host = services.host();
    match topic {
        Topic::Context => context(agent, &host),
        Topic::Rules => rules(agent),
        Topic::Requests => requests(agent),
        Topic::Statistics => statistics(agent, spent),
        Topic::Memory => memory(agent),
        Topic::MemoryFiles => memory_files(agent),
        Topic::Skills => services.skill_list(false),
        Topic::AllSkills => services.skill_list(true),
        Topic::Model => model(agent, &services.model(), &services.models()),
        Topic::Tools => tools(&host),
        Topic::Agents => agents(&host),
        Topic::Servers => services.servers(),
        Topic::Policy => policy(agent),
        Topic::Hooks => hooks(&host),
        Topic::Trust => services.trust(),
    }
}

/// The usage of the context window, and the effect of a compaction.
fn context(agent: AgentView<'_>, host: &AgentDeps<'_>) -> Page {
    let mut page = usage(agent, host);
    page.heading("If compacted now");
    compaction_preview(&mut page, agent);
    page
}

/// The usage of the context window, which is quickly found out.
pub(super) fn usage(agent: AgentView<'_>, host: &AgentDeps<'_>) -> Page {
    let meter = status_line::meter(agent);
    let breakdown = status_line::breakdown(agent);
    let tracker = agent.conversation().tracker();
    let mut page = Page::new(format!(
        "Context: {} of {} tokens ({}{})",
        grouped(meter.used.0),
        grouped(meter.room.0),
        percent(meter.used.share_of(meter.room)),
        if meter.is_counted { "" } else { ", estimated" }
    ));
    by_kind(&mut page, &meter);
    if let Some(servers) = host.servers {
        let declared: Vec<_> = servers.tools().into_iter().map(|tool| tool.declaration()).collect();
        let text = |tool: &ToolDeclaration| format!("{} {} {}", tool.name, tool.description, tool.parameters);
        let tokens: u64 = declared.iter().map(|tool| Estimator::default().text(&text(tool)).tokens().0).sum();
        let count = plural(declared.len(), "tool", "tools");
        page.fact("MCP servers", format!("{} tokens for the declarations of {count}", grouped(tokens)));
    }
    page.fact("compaction", compaction_due(&meter));
    let share = |tokens: TokenCount| tokens.share_of(meter.used);
    if !breakdown.tools.is_empty() {
        page.heading("By tool");
        for tool in breakdown.tools.iter().take(MAX_LISTED) {
            let tokens = tool.tokens();
            let calls = plural(tool.calls, "call", "calls");
            page.bar(
                tool.name.as_str(),
                share(tokens),
                format!("{} · {calls}", grouped(tokens.0)),
                Tone::Green,
            );
        }
    }
    if !breakdown.files.is_empty() {
        page.heading("By file");
        for file in breakdown.files.iter().take(MAX_LISTED) {
            page.bar(file.path.as_str(), share(file.tokens), grouped(file.tokens.0), Tone::Blue);
        }
    }
    if !breakdown.heaviest.is_empty() {
        page.heading("Largest messages");
        for message in breakdown.heaviest.iter().take(MAX_LISTED) {
            let mark = message.ordinal.map(|ordinal| format!("m{}", ordinal.0)).unwrap_or_default();
            let text = longhaul_display::text::fit(&one_line(&message.preview), PREVIEW);
            page.fact(mark, format!("{} · {} · {text}", grouped(message.tokens.0), message.kind.name()));
        }
    }
    page.heading("Always kept");
    page.fact("rules", plural(tracker.rules().active().count(), "rule", "rules"));
    let ledger = LedgerCounts::of(tracker);
    page.fact(
        "ledger",
        format!(
            "{} ({} changed) · {} · {} · {}",
            plural(ledger.files, "file", "files"),
            grouped(ledger.changed as u64),
            plural(ledger.commands, "command", "commands"),
            plural(ledger.tests, "test run", "test runs"),
            plural(ledger.errors, "error", "errors")
        ),
    );
    let open: Vec<&str> = tracker.requests().open_requests().map(|request| request.text.as_str()).collect();
    for request in open.iter().rev().take(MAX_LISTED) {
        page.fact("open request", one_line(request));
    }
    instructions(&mut page, agent);
    page
}

fn by_kind(page: &mut Page, meter: &ContextMeter) {
    for (segment, tokens) in meter.parts.iter().filter(|(_, tokens)| tokens.0 > 0) {
        let tone = match segment {
            Segment::System => Tone::Plain,
            Segment::Memory => Tone::Blue,
            Segment::Snapshot => Tone::Magenta,
            Segment::History => Tone::Cyan,
            Segment::Tools => Tone::Green,
        };
        page.bar(segment.name(), tokens.share_of(meter.room), grouped(tokens.0), tone);
    }
}

fn compaction_due(meter: &ContextMeter) -> String {
    match meter.threshold {
        None => "off; type /compress to compact".to_string(),
        Some(threshold) if meter.used >= threshold => {
            format!("due with the next message (threshold: {} tokens)", grouped(threshold.0))
        }
        Some(threshold) => format!(
            "due at {} tokens, {} to go",
            grouped(threshold.0),
            grouped(threshold.0.saturating_sub(meter.used.0))
        ),
    }
}

fn compaction_preview(page: &mut Page, agent: AgentView<'_>) {
    let conversation = agent.conversation();
    let options = agent.compaction_options(Trigger::Forced);
    let prepared = prepare(conversation.transcript().messages(), options.empty);
    let outcome = compact_offline(&Input::new(conversation.tracker(), &prepared, &options));
    outcome_facts(page, &outcome);
}

fn outcome_facts(page: &mut Page, outcome: &Outcome) {
    if !outcome.status.is_change() {
        page.text(outcome.reason.as_str());
        if let Rung::DoesNotFit(why) = &outcome.plan.rung {
            page.text(why.part.remedy());
        }
        return;
    }
    page.fact(
        "size",
        format!("{} → {} tokens, written offline", grouped(outcome.before.0), grouped(outcome.after.0)),
    );
    if let Some(coverage) = &outcome.coverage {
        let names = coverage.names;
        page.fact("names", format!("{} of {} kept", grouped(names.kept), grouped(names.of)));
    }
    let report = &outcome.report;
    page.fact("messages", format!("{} → {}", report.messages_before, report.messages_after));
    if report.rules > 0 {
        page.fact("rules", format!("{} of {} kept", report.rules_kept, report.rules));
    }
    if report.files_saved > 0 {
        page.fact("files", format!("{} saved to disk", plural(report.files_saved, "text", "texts")));
    }
}

/// The memory files, skills and plans, each with its current state.
fn instructions(page: &mut Page, agent: AgentView<'_>) {
    let sources = agent.instructions();
    if sources.is_empty() {
        return;
    }
    page.heading("Instructions");
    let files: Vec<_> = agent.memory().into_iter().flat_map(|memory| memory.files()).collect();
    for source in &sources {
        let text = match &source.what {
            Instruction::Memory(path) => match files.iter().find(|file| file.path == *path) {
                Some(file) => {
                    let (tier, tokens) = (file.tier.name(), grouped(file.tokens().0));
                    format!("{} · {tier} memory · {tokens} tokens", path.display())
                }
                None => format!("{} · reloaded when a tool touches its folder", path.display()),
            },
            Instruction::Skill(name) if source.state == SourceState::Lost => {
                format!("{name} · skill · reloaded when activated")
            }
            Instruction::Skill(name) => format!("{name} · skill"),
            Instruction::Plan(file) => format!("{file} · plan"),
        };
        page.fact(source.state.as_str(), text);
    }
    for left_out in agent.memory().into_iter().flat_map(|memory| memory.left_out()) {
        let text =
            format!("{} · {} of {} tokens loaded", left_out.path.display(), left_out.kept, left_out.tokens);
        page.fact("too large", text);
    }
}

/// The preview of a compaction, with the snapshot it would write.
pub(super) fn preview(agent: AgentView<'_>, outcome: &Outcome) -> Page {
    let mut page = Page::new("Compaction preview (offline)");
    outcome_facts(&mut page, outcome);
    what_would_go(&mut page, agent, outcome);
    if let Some(snapshot) = &outcome.snapshot {
        page.heading("Snapshot");
        page.rows.extend(snapshot.render().lines().map(|line| Row::Aside(line.to_string())));
    }
    if outcome.status.is_change() {
        page.heading("Nothing has changed. Type /compress to compact.");
    }
    page
}

/// The messages that a compaction would leave out, the largest first.
fn what_would_go(page: &mut Page, agent: AgentView<'_>, outcome: &Outcome) {
    let Some(kept) = &outcome.messages else { return };
    let kept: HashSet<&MessageId> = kept.iter().map(|message| &message.id).collect();
    let estimator = agent.settings().estimator;
    let messages = agent.conversation().transcript().messages();
    let gone = messages.iter().filter(|message| !kept.contains(&message.id));
    let mut gone: Vec<(TokenCount, &Message)> =
        gone.map(|message| (estimator.messages(std::slice::from_ref(message)), message)).collect();
    if gone.is_empty() {
        return;
    }
    page.heading(format!("{} would be summarised", plural(gone.len(), "message", "messages")));
    gone.sort_by_key(|(tokens, _)| std::cmp::Reverse(*tokens));
    for (tokens, message) in gone.iter().take(MAX_LISTED) {
        let number = message.ordinal.map(|ordinal| format!("m{}", ordinal.0)).unwrap_or_default();
        let texts = message.parts.iter().filter_map(Part::as_text).map(str::to_string);
        let results = message.results().map(|result| result.readable().into_owned());
        let text = texts.chain(results).find(|text| !text.trim().is_empty()).unwrap_or_default();
        let text = longhaul_display::text::fit(&one_line(&text), PREVIEW);
        page.fact(number, format!("{} · {text}", grouped(tokens.0)));
    }
}

fn rules(agent: AgentView<'_>) -> Page {
    let rules = agent.conversation().tracker().rules();
    let active: Vec<_> = rules.active().collect();
    let mut page = Page::new(plural(active.len(), "active rule", "active rules"));
    for rule in &active {
        let from: Vec<String> = rule.messages.iter().map(|message| format!("m{}", message.0)).collect();
        let from = if from.is_empty() { "added by you".to_string() } else { from.join(", ") };
        page.fact(rule.id.to_string(), format!("{} ({from})", rule.text));
    }
    let retired: Vec<_> = rules.retired().collect();
    if !retired.is_empty() {
        page.heading("Withdrawn");
        for rule in retired {
            let by = match &rule.retired_by {
                Some(Retirement::Message { message, words }) => {
                    format!("by m{}: {}", message.0, one_line(words))
                }
                Some(Retirement::Hand) | None => "removed by you".to_string(),
            };
            page.fact(rule.id.to_string(), format!("{} ({by})", rule.text));
        }
    }
    if active.is_empty() {
        page.aside("Longhaul picks up rules that you state, such as \"never push to main\".");
    }
    page.aside("Type /rules add TEXT to add a rule, /rules remove ID to remove one.");
    page
}

fn requests(agent: AgentView<'_>) -> Page {
    let requests = agent.conversation().tracker().requests();
    let open = requests.open_requests().count();
    let mut page = Page::new(plural(open, "open request", "open requests"));
    for request in requests.all() {
        let state = match &request.state {
            RequestState::Open { .. } => "open".to_string(),
            RequestState::Done(_) => "done".to_string(),
            RequestState::Replaced { by } => format!("replaced by m{}", by.0),
        };
        page.fact(request.id().to_string(), format!("{} ({state})", one_line(&request.text)));
    }
    page.aside("Type /requests add TEXT to add one, /requests done ID, remove ID or wrong ID to end one.");
    page
}

fn statistics(agent: AgentView<'_>, cost: Option<f64>) -> Page {
    let statistics = agent.statistics();
    let mut page = Page::new("Session statistics");
    page.fact("model requests", grouped(u64::from(statistics.requests)));
    let cached = match statistics.cached.0 {
        0 => String::new(),
        _ => format!(", {} cached", percent(statistics.cached.share_of(statistics.input))),
    };
    page.fact("input", format!("{} tokens{cached}", grouped(statistics.input.0)));
    page.fact("output", format!("{} tokens", grouped(statistics.output.0)));
    if statistics.thinking.0 > 0 {
        page.fact("thinking", format!("{} tokens", grouped(statistics.thinking.0)));
    }
    if statistics.estimated.0 > 0 {
        let estimated = grouped(statistics.estimated.0);
        page.fact("estimated", format!("{estimated} of these tokens (not reported by the provider)"));
    }
    if statistics.side_calls.requests() > 0 {
        let asides = statistics.side_calls.total();
        page.fact("side requests", requests_and_tokens(asides.requests, asides.input() + asides.output()));
    }
    page.fact("cost", cost.map_or_else(|| "unknown".to_string(), money));
    let state = agent.conversation().state();
    let compactions = match (state.attempts, state.failures) {
        (0, _) => "none".to_string(),
        (count, 0) => grouped(count),
        (count, failures) => format!("{}, the last {failures} saved too little", grouped(count)),
    };
    page.fact("compactions", compactions);
    if state.spend.calls > 0 {
        page.fact("summaries", requests_and_tokens(state.spend.calls, state.spend.tokens));
    }
    if let Some(rate) = statistics.reread_rate() {
        let (count, tokens) = (statistics.rereads, short_tokens(statistics.reread_tokens));
        let read = match count {
            0 => "none".to_string(),
            _ => format!("{count}, {tokens} tokens ({} of all reads)", percent(rate)),
        };
        page.fact("files read again", format!("{read}, unchanged, after a compaction"));
        if statistics.unchanged_reads > 0 {
            let saved = short_tokens(statistics.unchanged_tokens);
            let text = format!("{}, {saved} tokens not sent again", statistics.unchanged_reads);
            page.fact("still in context", text);
        }
    }
    if !statistics.tools.is_empty() {
        page.heading("Tools");
        let longest = statistics.tools.values().map(|tool| tool.took).max().unwrap_or(Duration::ZERO);
        for (name, tool) in &statistics.tools {
            let mut text =
                format!("{} · {}", plural(tool.calls as usize, "call", "calls"), duration(tool.took));
            if tool.failures > 0 {
                text.push_str(&format!(" · {} failed", tool.failures));
            }
            if tool.refusals > 0 {
                text.push_str(&format!(" · {} denied", tool.refusals));
            }
            let share = tool.took.as_secs_f64() / longest.as_secs_f64().max(f64::MIN_POSITIVE);
            page.bar(name.as_str(), share, text, Tone::Cyan);
        }
    }
    page
}

fn requests_and_tokens(requests: u32, tokens: TokenCount) -> String {
    format!("{}, {} tokens", plural(requests as usize, "request", "requests"), grouped(tokens.0))
}

fn memory(agent: AgentView<'_>) -> Page {
    let Some(memory) = agent.memory() else { return Page::new("Memory is off in this session.") };
    let files: Vec<_> = memory.files().collect();
    if files.is_empty() {
        return Page::new("Memory is empty.");
    }
    let mut page = Page::new(format!("Memory: {}", plural(files.len(), "file", "files")));
    for file in files {
        page.heading(format!("{} ({})", file.path.display(), file.tier.name()));
        page.rows.push(Row::Markdown(file.text.clone()));
    }
    memory.notices().into_iter().for_each(|notice| page.aside(notice));
    page
}

fn memory_files(agent: AgentView<'_>) -> Page {
    let files: Vec<_> = agent.memory().into_iter().flat_map(|memory| memory.files()).collect();
    let mut page = match files.len() {
        0 => Page::new("No memory files in use."),
        count => Page::new(format!("{} in use", plural(count, "memory file", "memory files"))),
    };
    for file in files {
        page.fact(file.tier.name(), format!("{} · {} tokens", file.path.display(), grouped(file.tokens().0)));
    }
    if let Some(memory) = agent.memory() {
        let facts = memory.facts();
        let numbered: Vec<_> = facts.iter().filter_map(|fact| Some((fact.number?, fact))).collect();
        if !numbered.is_empty() {
            page.heading("Facts");
        }
        for (number, fact) in numbered {
            page.fact(number.to_string(), format!("{} · {}", fact.text, fact.tier));
        }
    }
    let skipped: Vec<_> = agent.memory().into_iter().flat_map(|memory| &memory.memory().skipped).collect();
    if !skipped.is_empty() {
        page.heading(plural(skipped.len(), "file skipped", "files skipped"));
    }
    for skipped in skipped {
        page.item(format!("{}: {}", skipped.path.display(), skipped.reason));
    }
    page
}

fn model(agent: AgentView<'_>, name: &str, others: &[String]) -> Page {
    let profile = &agent.settings().model;
    let mut page = Page::new(format!("Model: {name}"));
    page.fact("context window", format!("{} tokens", grouped(profile.window.0)));
    if let Some(reserve) = profile.output_reserve {
        page.fact("output limit", format!("{} tokens", grouped(reserve.0)));
    }
    if !others.is_empty() {
        page.heading("Other models");
        others.iter().for_each(|other| page.item(other.as_str()));
    }
    page.aside("Type /model NAME or /model PROVIDER/NAME to switch.");
    page
}

fn tools(host: &AgentDeps<'_>) -> Page {
    let mut page = Page::new(match host.tools.len() {
        0 => "No tools available.".to_string(),
        count => format!("{} available", plural(count, "tool", "tools")),
    });
    for tool in host.tools {
        let declaration = tool.declaration();
        let first = declaration.description.split(". ").flat_map(str::lines).next().unwrap_or_default();
        let first = first.trim().trim_end_matches('.').to_string();
        page.fact(declaration.name, first);
    }
    page
}

fn agents(host: &AgentDeps<'_>) -> Page {
    let mut page = Page::new(match host.subagents.iter().count() {
        0 => "No sub-agents available.".to_string(),
        count => plural(count, "sub-agent", "sub-agents"),
    });
    for agent in host.subagents.iter() {
        page.fact(agent.name.to_string(), one_line(&agent.description));
    }
    page.aside(
        "The model starts them for tasks of their own. Run `longhaul agents` to see where each comes from.",
    );
    page
}

fn policy(agent: AgentView<'_>) -> Page {
    let permissions = &agent.settings().permissions;
    let mut page = Page::new(format!("Mode: {}", permissions.situation.mode));
    page.heading("Policy rules, highest priority first");
    for rule in permissions.policy.rules().iter().filter(|rule| rule.reach().is_none()) {
        page.item(format!("{rule}: {}", rule.describe()));
    }
    page.aside(
        "The highest-priority rule that matches a call wins. Press Shift-Tab or type /mode to change the mode.",
    );
    // The rules that the user can revoke come last, where they are seen.
    let saved = permissions.policy.saved();
    page.heading("Saved approvals");
    for (number, rule) in saved.iter().enumerate() {
        let reach = rule.reach().map(|reach| reach.to_string()).unwrap_or_default();
        page.fact(format!("{}  {reach}", number + 1), rule.describe());
    }
    page.aside(match saved.is_empty() {
        true => "None yet. Press `a` at an approval prompt to save one.",
        false => "Type /policy revoke NUMBER to revoke one. Deny rules take precedence over all of them.",
    });
    page
}

fn hooks(host: &AgentDeps<'_>) -> Page {
    let hooks = host.hooks.map(|points| points.hooks.as_slice()).unwrap_or_default();
    let mut page = Page::new(match hooks.len() {
        0 => "No hooks configured.".to_string(),
        count => plural(count, "hook", "hooks"),
    });
    for hook in hooks {
        page.fact(hook.event.to_string(), format!("{}: {}", hook.label(), hook.command));
    }
    if hooks.is_empty() {
        page.aside("Configure hooks in settings.json under \"hooks\".");
    }
    page
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
