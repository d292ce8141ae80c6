//! Keeps the user's "always allow" for later sessions.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use longhaul_workspace::{Lock, Patience, WorkspaceError, write_private_atomically};
use toml::{Table, Value};

use crate::parse::parse_rules;
use crate::pattern::compile;
use crate::rule::{CommandPrefix, Condition, Rule, SHELL_TOOL, ServerPattern, Source, ToolPattern, Verdict};
use crate::{ApprovalMode, PolicyError, Priority, Tier};

/// What saved choices weigh: more than anything else the user writes, unless it is written for the purpose.
const PRIORITY: u16 = 950;

/// The modes in which a choice counts. A plan stays a plan.
const MODES: [ApprovalMode; 3] = [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo];

/// What the user always allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlwaysAllow {
    /// The tool.
    pub tool: String,
    /// The MCP server that it is of.
    pub server: Option<String>,
    /// Which of its calls.
    pub calls: AllowedCalls,
}

/// Which calls of a tool the user always allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AllowedCalls {
    /// All of them.
    All,
    /// Commands that begin with one of these, see [`crate::suggest_prefixes`].
    Commands(Vec<String>),
    /// Those whose arguments match this expression, see [`crate::stable_json`].
    Arguments(String),
}

impl AlwaysAllow {
    /// The rule for the rest of this session.
    ///
    /// # Errors
    /// [`PolicyError::NoRule`] if prefixes or expression are none.
    pub fn to_rule(&self) -> Result<Rule, PolicyError> {
        let no_rule = |text: &str, reason: &str| PolicyError::NoRule {
            text: text.to_owned(),
            reason: reason.to_owned(),
        };
        let tools = ToolPattern::parse(&self.tool).ok_or_else(|| no_rule(&self.tool, "it names no tool"))?;
        let priority = Priority::new(Tier::Workspace, PRIORITY);
        let mut rule = Rule::new(tools, Verdict::Allow, priority, Source::Answer);
        rule.server = self.server.clone().map(ServerPattern::Named);
        rule.modes = MODES.to_vec();
        rule.condition = match &self.calls {
            AllowedCalls::All => Condition::Always,
            AllowedCalls::Commands(prefixes) if self.tool == SHELL_TOOL && !prefixes.is_empty() => {
                let parse =
                    |text: &String| CommandPrefix::parse(text).map_err(|reason| no_rule(text, reason));
                Condition::Prefixes(prefixes.iter().map(parse).collect::<Result<_, _>>()?)
            }
            AllowedCalls::Commands(_) => {
                return Err(no_rule(&self.tool, "it runs no commands, or none is named"));
            }
            AllowedCalls::Arguments(pattern) => {
                Condition::Arguments(compile(pattern).map_err(|reason| no_rule(pattern, &reason))?)
            }
        };
        Ok(rule)
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
        table.insert("priority".into(), Value::Integer(PRIORITY.into()));
        table.insert("modes".into(), texts(&MODES.map(|mode| mode.name().to_owned())));
        table
    }
}

/// Whether a choice had to be written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// It is new.
    Added,
    /// The same choice was there.
    AlreadyThere,
}

/// Adds a choice to the file of saved ones, [`longhaul_workspace::Home::saved_policy`], where it counts from the next
/// session on. Waits for other processes that do the same.
///
/// # Errors
/// [`PolicyError::NoRule`] if the choice makes no rule, [`PolicyError::Broken`] if the file has mistakes,
/// [`PolicyError::NotSaved`] if it cannot be written. The file is then as it was.
pub fn save_always_allow(
    path: &Path,
    choice: &AlwaysAllow,
    patience: Patience,
) -> Result<Saved, PolicyError> {
    choice.to_rule()?;
    let _lock = Lock::beside(path, "saving what is always allowed", patience)?;
    let mut text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        Err(cause) => {
            let path = path.to_path_buf();
            return Err(WorkspaceError::Failed { act: "read", path, cause }.into());
        }
    };
    let added = choice.to_table();
    if saved_tables(&text, path)?.contains(&added) {
        return Ok(Saved::AlreadyThere);
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str("[[rule]]\n");
    text.push_str(&added.to_string());
    write_private_atomically(path, text.as_bytes())?;
    Ok(Saved::Added)
}

/// The rules that are there, as they are written.
fn saved_tables(text: &str, path: &Path) -> Result<Vec<Table>, PolicyError> {
    let (_, problems) = parse_rules(text, path, Tier::User);
    if let Some(problem) = problems.into_iter().find(|problem| problem.effect == crate::Effect::FileSkipped) {
        let line = problem.line.unwrap_or(1);
        return Err(PolicyError::Broken { path: path.to_path_buf(), line, reason: problem.reason });
    }
    let document: Table = text.parse().unwrap_or_default();
    let rules = document.get("rule").and_then(Value::as_array);
    Ok(rules.into_iter().flatten().filter_map(|rule| rule.as_table().cloned()).collect())
}
