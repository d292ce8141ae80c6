//! Reads the rules of a policy file.

use std::path::Path;

use serde_json::{Map, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::pattern::{compile, compile_anchored};
use crate::problem::{Problem, ProblemEffect};
use crate::rule::{
    CommandPrefix, Condition, Rule, RuleSource, SHELL_TOOL, ServerPattern, ToolPattern, Verdict,
};
use crate::tier::MAX_PRIORITY;
use crate::{ApprovalMode, Priority, RuleTier};

/// The tools that a name is held against, to find slips of the pen.
const TOOLS: &[&str] = &[
    "activate_skill",
    "ask_user",
    "compact_now",
    "glob",
    "grep_search",
    "invoke_agent",
    "list_directory",
    "read_file",
    "read_job_output",
    "read_many_files",
    "recall_history",
    "replace",
    "run_shell_command",
    "save_memory",
    "search_file_content",
    "search_skills",
    "stop_job",
    "web_fetch",
    "write_file",
    "write_todos",
];

/// The fields of a rule, each with its other spelling.
const FIELDS: &[(&str, &str)] = &[
    ("toolName", "tool_name"),
    ("subagent", "subagent"),
    ("mcpName", "mcp_name"),
    ("argsPattern", "args_pattern"),
    ("commandPrefix", "command_prefix"),
    ("commandRegex", "command_regex"),
    ("readOnly", "read_only"),
    ("decision", "decision"),
    ("priority", "priority"),
    ("modes", "modes"),
    ("interactive", "interactive"),
    ("toolAnnotations", "tool_annotations"),
    ("allowRedirection", "allow_redirection"),
    ("denyMessage", "deny_message"),
    ("name", "name"),
];

/// The largest edit distance between a misspelt name and a known one.
const MAX_SLIP: usize = 3;

/// The deepest nesting of annotations.
const MAX_NESTING: usize = 16;

/// Reads the rules in `text`, which is the contents of the file at `path`, and what is wrong with it.
///
/// A malformed file (a field that is missing or of the wrong type, a number out of range) is skipped as a whole; an invalid
/// rule (an expression that does not compile, fields that exclude each other) is skipped alone.
pub fn parse_rules(text: &str, path: &Path, tier: RuleTier) -> (Vec<Rule>, Vec<Problem>) {
    let mut file = File { text, path, tier, problems: Vec::new() };
    let rules = file.read();
    let is_skipped = file.problems.iter().any(|problem| problem.effect == ProblemEffect::FileSkipped);
    file.problems.sort_by_key(|problem| problem.line);
    (if is_skipped { Vec::new() } else { rules }, file.problems)
}

struct File<'a> {
    text: &'a str,
    path: &'a Path,
    tier: RuleTier,
    problems: Vec<Problem>,
}

type SpannedValue<'a> = Spanned<DeValue<'a>>;

impl File<'_> {
    fn report(&mut self, at: Option<usize>, effect: ProblemEffect, reason: impl Into<String>) {
        let line = at.map(|at| self.line(at));
        self.problems.push(Problem { path: self.path.to_path_buf(), line, effect, reason: reason.into() });
    }

    /// The line of a byte, from 1.
    fn line(&self, at: usize) -> usize {
        let before = &self.text.as_bytes()[..at.min(self.text.len())];
        1 + before.iter().filter(|byte| **byte == b'\n').count()
    }

    fn read(&mut self) -> Vec<Rule> {
        let document = match DeTable::parse(self.text) {
            Ok(document) => document,
            Err(error) => {
                let at = error.span().map(|span| span.start);
                let reason = error.message().trim().replace('\n', ", ");
                self.report(at, ProblemEffect::FileSkipped, reason);
                return Vec::new();
            }
        };
        let mut rules = Vec::new();
        for (key, value) in document.get_ref() {
            match (&**key.get_ref(), value.get_ref()) {
                ("rule", DeValue::Array(items)) => {
                    for item in items {
                        rules.extend(self.rule(item));
                    }
                }
                ("rule", _) => {
                    self.report(
                        Some(value.span().start),
                        ProblemEffect::FileSkipped,
                        "write rules as [[rule]]",
                    );
                }
                ("safety_checker", _) => {
                    let reason = "safety checkers are not supported; use rules with decision = \"ask_user\"";
                    self.report(Some(key.span().start), ProblemEffect::Warning, reason);
                }
                (other, _) => {
                    let reason = format!("unknown key {other:?}; write rules as [[rule]]");
                    self.report(Some(key.span().start), ProblemEffect::Warning, reason);
                }
            }
        }
        rules
    }

    fn rule(&mut self, item: &SpannedValue<'_>) -> Option<Rule> {
        let at = item.span().start;
        let DeValue::Table(table) = item.get_ref() else {
            self.report(Some(at), ProblemEffect::FileSkipped, "a rule must be a table");
            return None;
        };
        self.warn_of_unknown_fields(table);
        let before = self.problems.len();
        let mut fields = FieldReader { table, at, file: self };
        let tools = fields.tools();
        let server = fields.text("mcpName").map(|name| match name {
            "*" => ServerPattern::Any,
            name => ServerPattern::Named(name.to_owned()),
        });
        let verdict = fields.verdict();
        let priority = fields.priority();
        let rule = Rule {
            name: fields.text("name").map(str::to_owned),
            server,
            subagent: fields.text("subagent").map(str::to_owned),
            modes: fields.modes(),
            interactive: fields.boolean("interactive"),
            annotations: fields.annotations(),
            allows_redirection: fields.boolean("allowRedirection").unwrap_or(false),
            deny_message: fields.text("denyMessage").map(str::to_owned),
            condition: fields.condition(&tools),
            verdict: verdict.unwrap_or(Verdict::Deny),
            priority: Priority::new(self.tier, priority.unwrap_or_default()),
            source: RuleSource::File { path: self.path.to_path_buf(), line: self.line(at) },
            tools,
        };
        let is_sound = self.problems[before..].iter().all(|problem| problem.effect == ProblemEffect::Warning);
        is_sound.then_some(rule)
    }

    fn warn_of_unknown_fields(&mut self, table: &DeTable<'_>) {
        for (key, _) in table {
            let name = &**key.get_ref();
            if FIELDS.iter().any(|(field, other)| *field == name || *other == name) {
                continue;
            }
            let nearest = nearest(name, FIELDS.iter().map(|(field, _)| *field));
            let hint = nearest.map(|nearest| format!("; did you mean {nearest:?}?")).unwrap_or_default();
            self.report(
                Some(key.span().start),
                ProblemEffect::Warning,
                format!("unknown field {name:?}{hint}"),
            );
        }
    }
}

/// The fields of one rule.
struct FieldReader<'a, 'b, 'c> {
    table: &'a DeTable<'a>,
    at: usize,
    file: &'b mut File<'c>,
}

impl<'a> FieldReader<'a, '_, '_> {
    fn get(&self, field: &str) -> Option<&'a SpannedValue<'a>> {
        let other = FIELDS.iter().find(|(name, _)| *name == field).map(|(_, other)| *other);
        self.table.get(field).or_else(|| self.table.get(other?))
    }

    fn report_malformed(&mut self, field: &str, must: &str) {
        let at = self.get(field).map_or(self.at, |found| found.span().start);
        self.file.report(Some(at), ProblemEffect::FileSkipped, format!("{field} must {must}"));
    }

    fn report_invalid(&mut self, field: &str, reason: &str) {
        let at = self.get(field).map_or(self.at, |found| found.span().start);
        self.file.report(Some(at), ProblemEffect::RuleSkipped, format!("{field}: {reason}"));
    }

    fn text(&mut self, field: &str) -> Option<&'a str> {
        match self.get(field)?.get_ref() {
            DeValue::String(text) => Some(text),
            _ => {
                self.report_malformed(field, "be a string");
                None
            }
        }
    }

    fn boolean(&mut self, field: &str) -> Option<bool> {
        match self.get(field)?.get_ref() {
            DeValue::Boolean(boolean) => Some(*boolean),
            _ => {
                self.report_malformed(field, "be true or false");
                None
            }
        }
    }

    /// A string, or several in a list, each with its place.
    fn texts(&mut self, field: &str) -> Vec<(&'a str, usize)> {
        let Some(found) = self.get(field) else { return Vec::new() };
        let one = |found: &'a SpannedValue<'a>| match found.get_ref() {
            DeValue::String(text) => Some((&**text, found.span().start)),
            _ => None,
        };
        let texts = match found.get_ref() {
            DeValue::Array(items) => items.iter().map(one).collect(),
            _ => one(found).map(|text| vec![text]),
        };
        match texts {
            Some(texts) if !texts.is_empty() => texts,
            _ => {
                self.report_malformed(field, "be a string or a list of strings");
                Vec::new()
            }
        }
    }

    fn tools(&mut self) -> Vec<ToolPattern> {
        if self.get("toolName").is_none() {
            self.report_malformed("toolName", "be set (\"*\" matches every tool)");
        }
        let mut tools = Vec::new();
        for (name, at) in self.texts("toolName") {
            match ToolPattern::parse(name) {
                Some(tool) => tools.push(tool),
                None => self.report_malformed("toolName", "not be empty"),
            }
            if let Some(nearest) = misspelled_tool(name).filter(|_| self.get("mcpName").is_none()) {
                let reason = format!("unknown tool {name:?}; did you mean {nearest:?}?");
                self.file.report(Some(at), ProblemEffect::Warning, reason);
            }
        }
        tools
    }

    fn verdict(&mut self) -> Option<Verdict> {
        let verdict = self.text("decision").and_then(Verdict::parse);
        if verdict.is_none() {
            self.report_malformed("decision", "be \"allow\", \"deny\" or \"ask_user\"");
        }
        verdict
    }

    fn priority(&mut self) -> Option<u16> {
        let priority = match self.get("priority").map(Spanned::get_ref) {
            Some(DeValue::Integer(number)) => u16::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        let priority = priority.filter(|priority| *priority <= MAX_PRIORITY);
        if priority.is_none() {
            self.report_malformed("priority", "be an integer from 0 to 999");
        }
        priority
    }

    fn modes(&mut self) -> Vec<ApprovalMode> {
        let texts = self.texts("modes");
        let modes: Option<Vec<_>> = texts.iter().map(|(text, _)| ApprovalMode::parse(text)).collect();
        modes.unwrap_or_else(|| {
            self.report_malformed("modes", "be a list of \"default\", \"autoEdit\", \"yolo\" and \"plan\"");
            Vec::new()
        })
    }

    fn annotations(&mut self) -> Map<String, Value> {
        match self.get("toolAnnotations").map(|found| to_json(found.get_ref(), MAX_NESTING)) {
            None => Map::new(),
            Some(Some(Value::Object(annotations))) => annotations,
            Some(_) => {
                self.report_malformed("toolAnnotations", "be a table of plain values");
                Map::new()
            }
        }
    }

    fn condition(&mut self, tools: &[ToolPattern]) -> Condition {
        let given: Vec<_> = ["argsPattern", "commandPrefix", "commandRegex", "readOnly"]
            .into_iter()
            .filter(|field| self.get(field).is_some())
            .collect();
        if let [first, second, ..] = given.as_slice() {
            self.report_invalid(second, &format!("cannot be combined with {first}"));
            return Condition::Always;
        }
        let Some(field) = given.first().copied() else { return Condition::Always };
        let is_shell = |tool: &ToolPattern| *tool == ToolPattern::Named(SHELL_TOOL.to_owned());
        if field != "argsPattern" && !tools.iter().all(is_shell) {
            self.report_invalid(field, &format!("requires toolName = {SHELL_TOOL:?}"));
        }
        let condition = match field {
            "readOnly" => self.boolean(field).filter(|is| *is).map(|_| Ok(Condition::Reading)),
            "argsPattern" => self.text(field).map(compile).map(|pattern| pattern.map(Condition::Arguments)),
            "commandRegex" => {
                self.text(field).map(compile_anchored).map(|pattern| pattern.map(Condition::Command))
            }
            _ => {
                let prefixes = self.texts(field).into_iter().map(|(text, _)| CommandPrefix::parse(text));
                let prefixes: Result<Vec<_>, _> = prefixes.collect();
                Some(prefixes.map(Condition::Prefixes).map_err(str::to_owned))
            }
        };
        match condition {
            Some(Ok(condition)) => condition,
            Some(Err(reason)) => {
                self.report_invalid(field, &reason);
                Condition::Always
            }
            None => Condition::Always,
        }
    }
}

/// The value as JSON has it; `None` for dates and what is nested too deeply.
fn to_json(value: &DeValue<'_>, nesting: usize) -> Option<Value> {
    let nesting = nesting.checked_sub(1)?;
    Some(match value {
        DeValue::String(text) => Value::from(&**text),
        DeValue::Boolean(boolean) => Value::from(*boolean),
        DeValue::Integer(number) => Value::from(i64::from_str_radix(number.as_str(), number.radix()).ok()?),
        DeValue::Float(number) => Value::from(number.as_str().parse::<f64>().ok()?),
        DeValue::Datetime(_) => return None,
        DeValue::Array(items) => {
            Value::Array(items.iter().map(|item| to_json(item.get_ref(), nesting)).collect::<Option<_>>()?)
        }
        DeValue::Table(table) => {
            let fields = table
                .iter()
                .map(|(key, value)| Some((key.get_ref().to_string(), to_json(value.get_ref(), nesting)?)));
            Value::Object(fields.collect::<Option<_>>()?)
        }
    })
}

/// The tool that was probably meant, if `name` is none.
fn misspelled_tool(name: &str) -> Option<&'static str> {
    let is_known = TOOLS.contains(&name) || name.contains('*') || name.starts_with("mcp_");
    nearest(name, TOOLS.iter().copied()).filter(|_| !is_known)
}

fn nearest(name: &str, known: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // Long names are no slips, and measuring them takes time.
    let name = Some(name).filter(|name| name.len() <= 64)?;
    let near = known.map(|known| (strsim::levenshtein(name, known), known));
    near.filter(|(distance, _)| *distance <= MAX_SLIP).min().map(|(_, known)| known)
}
