//! `longhaul policy list`: saved approvals and every active rule.

use clap::Args;
use longhaul_app::agent::{AgentOptions, Attendance, load_current_permissions};
use longhaul_app::settings::Settings;
use longhaul_policy::{Policy, Rule, RuleSource};
use serde_json::{Value, json};

use super::warn;
use crate::output::{Color, Page, Screen, pad, path_json, print, print_json, visible, wrapped};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, settings: &Settings, color: Color) -> anyhow::Result<()> {
    let (permissions, warnings) =
        load_current_permissions(&AgentOptions::default(), settings, Attendance::Attended)?;
    if options.json {
        return print_json(&to_json(&permissions.policy, permissions.situation.mode.name(), &warnings));
    }
    warn(&warnings, color);
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &permissions.policy);
    print(&page.into_text())
}

/// Saved rules come last, where they are seen: they can be revoked.
fn text(page: &mut Page, policy: &Policy) {
    page.heading("Rules, highest priority first");
    for rule in written(policy) {
        let mark = format!("{}  {}", rule.priority, pad(rule.verdict.name(), 8));
        let name = rule.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        entry(page, &mark, &format!("{name}{}", rule.describe()), &rule.source.to_string());
    }
    page.heading("Always allowed by you");
    let saved = policy.saved();
    let number_width = saved.len().to_string().len();
    for (number, rule) in saved.iter().enumerate() {
        let reach = rule.reach().map(|reach| reach.name()).unwrap_or_default();
        let mark = format!("{}  {}", pad(&(number + 1).to_string(), number_width), pad(reach, 10));
        entry(page, &mark, &rule.describe(), &place(rule));
    }
    let hint = match saved.is_empty() {
        true => "Nothing yet.",
        false => "Revoke one with `longhaul policy revoke NUMBER`. A rule that denies outranks them all.",
    };
    for line in wrapped(hint, page.screen.width - 2) {
        page.line(&page.screen.faint(&format!("  {line}")));
    }
}

/// A rule: what it is about behind its mark, and where it is from below.
fn entry(page: &mut Page, mark: &str, about: &str, place: &str) {
    let indent = " ".repeat(mark.chars().count() + 4);
    let room = page.screen.width.saturating_sub(indent.len()).max(20);
    for (number, line) in wrapped(&visible(about), room).iter().enumerate() {
        let lead = if number == 0 { format!("  {mark}  ") } else { indent.clone() };
        page.line(&format!("{lead}{line}"));
    }
    page.line(&page.screen.faint(&format!("{indent}{}", visible(place))));
}

/// The rules that are not saved approvals.
fn written(policy: &Policy) -> impl Iterator<Item = &Rule> {
    policy.rules().iter().filter(|rule| rule.reach().is_none())
}

/// The file and line of a saved rule.
pub(super) fn place(rule: &Rule) -> String {
    match &rule.source {
        RuleSource::Saved { path, line, .. } => format!("{}:{line}", path.display()),
        other => other.to_string(),
    }
}

fn to_json(policy: &Policy, mode: &str, warnings: &[String]) -> Value {
    let saved = policy.saved();
    let saved = saved.iter().enumerate().map(|(number, rule)| saved_json(number + 1, rule));
    json!({
        "schema": 1,
        "mode": mode,
        "saved": saved.collect::<Vec<_>>(),
        "rules": written(policy).map(rule_json).collect::<Vec<_>>(),
        "warnings": warnings,
    })
}

/// A saved rule as JSON.
pub(super) fn saved_json(number: usize, rule: &Rule) -> Value {
    let (file, line) = file(rule);
    json!({
        "number": number,
        "reach": rule.reach().map(|reach| reach.name()),
        "allows": rule.describe(),
        "tools": tools(rule),
        "priority": rule.priority.to_string(),
        "file": file,
        "line": line,
    })
}

fn rule_json(rule: &Rule) -> Value {
    let (file, line) = file(rule);
    json!({
        "priority": rule.priority.to_string(),
        "tier": rule.priority.tier().name(),
        "decision": rule.verdict.name(),
        "name": rule.name,
        "about": rule.describe(),
        "tools": tools(rule),
        "source": match &rule.source {
            RuleSource::BuiltIn => "built_in",
            RuleSource::File { .. } => "file",
            RuleSource::Setting(_) => "setting",
            RuleSource::Answer | RuleSource::Saved { .. } => "saved",
        },
        "setting": match &rule.source {
            RuleSource::Setting(name) => Some(name),
            _ => None,
        },
        "file": file,
        "line": line,
    })
}

fn tools(rule: &Rule) -> Vec<String> {
    rule.tools.iter().map(ToString::to_string).collect()
}

fn file(rule: &Rule) -> (Option<Value>, Option<usize>) {
    match &rule.source {
        RuleSource::File { path, line } | RuleSource::Saved { path, line, .. } => {
            (Some(path_json(path)), Some(*line))
        }
        RuleSource::BuiltIn | RuleSource::Setting(_) | RuleSource::Answer => (None, None),
    }
}
