//! Saves and revokes approvals ("always allow").

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use longhaul_workspace::{Lock, LockTimeout, WorkspaceError, write_private_atomically};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::parse::parse_rules;
use crate::pattern::compile;
use crate::reach::SAVED_PRIORITY;
use crate::rule::{
    CommandPrefix, Condition, Rule, RuleSource, SHELL_TOOL, ServerPattern, ToolPattern, Verdict,
};
use crate::{ApprovalMode, PolicyError, ProblemEffect, Reach};

/// The modes in which a saved approval applies: all but plan.
pub(crate) const SAVED_MODES: [ApprovalMode; 3] =
    [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

/// The calls that the user always allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlwaysAllow {
    /// The tool.
    pub tool: String,
    /// The MCP server that it is of.
    pub server: Option<String>,
    /// The calls of the tool.
    pub calls: AllowedCalls,
}

/// The calls of a tool that the user always allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedCalls {
    /// All of them.
    All,
    /// Commands that begin with one of these, see [`crate::suggest_prefixes`].
    Commands(Vec<String>),
    /// Calls whose arguments match this expression, see [`crate::stable_json`].
    Arguments(String),
}

impl AlwaysAllow {
    /// The rule for the rest of this session.
    ///
    /// # Errors
    /// [`PolicyError::NoRule`] if prefixes or expression are none.
    pub fn to_rule(&self) -> Result<Rule, PolicyError> {
        self.rule_for(Reach::Session)
    }

    /// The rule of this reach, as it applies once saved.
    ///
    /// # Errors
    /// [`PolicyError::NoRule`] if prefixes or expression are none.
    pub fn rule_for(&self, reach: Reach) -> Result<Rule, PolicyError> {
        let no_rule = |text: &str, reason: &str| PolicyError::NoRule {
            text: text.to_owned(),
            reason: reason.to_owned(),
        };
        let tools = ToolPattern::parse(&self.tool).ok_or_else(|| no_rule(&self.tool, "not a tool name"))?;
        let mut rule = Rule::new(tools, Verdict::Allow, reach.priority(), RuleSource::Answer);
        rule.server = self.server.clone().map(ServerPattern::Named);
        rule.modes = SAVED_MODES.to_vec();
        rule.condition = match &self.calls {
            AllowedCalls::All => Condition::Always,
            AllowedCalls::Commands(prefixes) if self.tool == SHELL_TOOL && !prefixes.is_empty() => {
                let parse =
                    |text: &String| CommandPrefix::parse(text).map_err(|reason| no_rule(text, reason));
                Condition::Prefixes(prefixes.iter().map(parse).collect::<Result<_, _>>()?)
            }
            AllowedCalls::Commands(_) => {
                return Err(no_rule(&self.tool, "not the shell tool, or no command given"));
            }
            AllowedCalls::Arguments(pattern) => {
                Condition::Arguments(compile(pattern).map_err(|reason| no_rule(pattern, &reason))?)
            }
        };
        Ok(rule)
    }

    /// The calls in words, as [`Rule::describe`] has them.
    pub fn describe(&self) -> String {
        self.to_rule().map_or_else(|_| format!("calls to {}", self.tool), |rule| rule.describe())
    }

    fn to_table(&self) -> Table {
        let texts = |texts: &[String]| Value::Array(texts.iter().cloned().map(Value::String).collect());
        let mut table = Table::new();
        table.insert("toolName".into(), Value::String(self.tool.clone()));
        if let Some(server) = &self.server {
            table.insert("mcpName".into(), Value::String(server.clone()));
        }
        match &self.calls {
            AllowedCalls::All => None,
            AllowedCalls::Commands(prefixes) => table.insert("commandPrefix".into(), texts(prefixes)),
            AllowedCalls::Arguments(pattern) => {
                table.insert("argsPattern".into(), Value::String(pattern.clone()))
            }
        };
        table.insert("decision".into(), Value::String(Verdict::Allow.name().into()));
        table.insert("priority".into(), Value::Integer(SAVED_PRIORITY.into()));
        table.insert("modes".into(), texts(&SAVED_MODES.map(|mode| mode.name().to_owned())));
        table
    }
}

/// Adds a choice to the file of saved ones, one of [`crate::SavedFiles`], unless it is there; returns the rule as later
/// sessions load it. Waits for other processes that do the same.
///
/// # Errors
/// [`PolicyError::NoRule`] if the choice makes no rule, [`PolicyError::Broken`] if the file has mistakes,
/// [`PolicyError::NotSaved`] if it cannot be written. The file is then as it was.
pub fn save_always_allow(
    path: &Path,
    reach: Reach,
    choice: &AlwaysAllow,
    timeout: LockTimeout,
) -> Result<Rule, PolicyError> {
    let described = choice.rule_for(reach)?.describe();
    let _lock = Lock::beside(path, "saving an approval", timeout)?;
    let mut text = read(path)?;
    saved_rules(&text, path, reach)?;
    let added = choice.to_table();
    if !tables(&text).contains(&added) {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str("[[rule]]\n");
        text.push_str(&added.to_string());
        write_private_atomically(path, text.as_bytes())?;
    }
    let saved = saved_rules(&text, path, reach)?.into_iter().find(|rule| rule.describe() == described);
    saved.map_or_else(|| choice.rule_for(reach), Ok)
}

/// Takes a saved choice back: every one in its file that reads like it, see [`Rule::describe`]. Everything else in the
/// file stays as it is, comments included. Returns how many there were: none for an answer that holds in this session
/// alone. Waits for other processes that change the file.
///
/// # Errors
/// [`PolicyError::Broken`] if the file has mistakes or is written so that only its author can change it,
/// [`PolicyError::NotSaved`] if it cannot be written. The file is then as it was.
pub fn revoke_saved(rule: &Rule, timeout: LockTimeout) -> Result<usize, PolicyError> {
    let RuleSource::Saved { reach, path, .. } = &rule.source else { return Ok(0) };
    let (reach, described) = (*reach, rule.describe());
    if !path.exists() {
        return Ok(0);
    }
    let _lock = Lock::beside(path, "revoking an approval", timeout)?;
    let text = read(path)?;
    let before = saved_rules(&text, path, reach)?;
    let is_meant = |rule: &Rule| rule.describe() == described;
    let lines: BTreeSet<usize> = before.iter().filter(|rule| is_meant(rule)).filter_map(line_of).collect();
    if lines.is_empty() {
        return Ok(0);
    }
    let (count, after) = without_rules(&text, &lines);
    // Rules in another form, such as a list on one line, cannot be cut out like this; the user can.
    let left = |rules: &[Rule]| -> Vec<String> {
        rules.iter().filter(|rule| !is_meant(rule)).map(Rule::describe).collect()
    };
    let is_sound = saved_rules(&after, path, reach)
        .is_ok_and(|rules| rules.len() + count == before.len() && left(&rules) == left(&before));
    let is_sound = is_sound && tables(&after).len() + count == tables(&text).len();
    if !is_sound || count != lines.len() {
        let line = lines.first().copied().unwrap_or(1);
        let reason = "the rule is not written as [[rule]]; remove it by hand".to_owned();
        return Err(PolicyError::Broken { path: path.clone(), line, reason });
    }
    write_private_atomically(path, after.as_bytes())?;
    Ok(count)
}

/// Marks the allow rules of a file as saved approvals. Other rules in it work as anywhere else.
pub(crate) fn mark_saved(rules: &mut [Rule], reach: Reach) {
    for rule in rules.iter_mut().filter(|rule| rule.verdict == Verdict::Allow) {
        if let RuleSource::File { path, line } = &rule.source {
            rule.source = RuleSource::Saved { reach, path: path.clone(), line: *line };
        }
    }
}

fn read(path: &Path) -> Result<String, PolicyError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        Err(cause) => {
            let path = path.to_path_buf();
            Err(WorkspaceError::Failed { act: "read", path, cause }.into())
        }
    }
}

/// The saved choices in a file.
fn saved_rules(text: &str, path: &Path, reach: Reach) -> Result<Vec<Rule>, PolicyError> {
    let (mut rules, problems) = parse_rules(text, path, reach.tier());
    if let Some(problem) = problems.into_iter().find(|problem| problem.effect == ProblemEffect::FileSkipped) {
        let line = problem.line.unwrap_or(1);
        return Err(PolicyError::Broken { path: path.to_path_buf(), line, reason: problem.reason });
    }
    mark_saved(&mut rules, reach);
    rules.retain(|rule| rule.reach().is_some());
    Ok(rules)
}

/// The rules that are there, as they are written.
fn tables(text: &str) -> Vec<Table> {
    let document: Table = text.parse().unwrap_or_default();
    let rules = document.get("rule").and_then(Value::as_array);
    rules.into_iter().flatten().filter_map(|rule| rule.as_table().cloned()).collect()
}

fn line_of(rule: &Rule) -> Option<usize> {
    match &rule.source {
        RuleSource::Saved { line, .. } | RuleSource::File { line, .. } => Some(*line),
        RuleSource::BuiltIn | RuleSource::Setting(_) | RuleSource::Answer => None,
    }
}

/// The text without the rules that begin on these lines, and how many were cut out.
fn without_rules(text: &str, lines: &BTreeSet<usize>) -> (usize, String) {
    let Ok(document) = DeTable::parse(text) else { return (0, text.to_owned()) };
    let Some(DeValue::Array(items)) = document.get_ref().get("rule").map(|rules| rules.get_ref()) else {
        return (0, text.to_owned());
    };
    let line = |at: usize| 1 + text[..at].matches('\n').count();
    let mut ranges: Vec<Range<usize>> = items
        .iter()
        .filter(|item| lines.contains(&line(item.span().start)))
        .map(|item| {
            let start = text[..item.span().start].rfind('\n').map_or(0, |end| end + 1);
            let end = end_of(item.get_ref()).max(item.span().end);
            let end = text[end..].find('\n').map_or(text.len(), |line_end| end + line_end + 1);
            // The empty lines behind it go with it.
            let empty = text[end..].len() - text[end..].trim_start_matches(['\n', '\r']).len();
            start..end + empty
        })
        .collect();
    ranges.sort_by_key(|range| range.start);
    let mut left = String::new();
    let mut from = 0;
    for range in &ranges {
        left.push_str(text.get(from..range.start).unwrap_or_default());
        from = range.end;
    }
    left.push_str(&text[from..]);
    let kept = left.trim_end().len();
    left.truncate(kept);
    if !left.is_empty() {
        left.push('\n');
    }
    (ranges.len(), left)
}

/// The end of the last value inside a value.
fn end_of(value: &DeValue<'_>) -> usize {
    let deepest = |value: &toml::Spanned<DeValue<'_>>| end_of(value.get_ref()).max(value.span().end);
    match value {
        DeValue::Table(table) => table.iter().map(|(_, value)| deepest(value)).max().unwrap_or(0),
        DeValue::Array(items) => items.iter().map(deepest).max().unwrap_or(0),
        _ => 0,
    }
}
