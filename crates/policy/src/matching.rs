//! Whether a rule is about a call.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::path::Path;

use serde_json::{Map, Value};

use crate::rule::{Condition, Rule, SHELL_TOOL, ToolPattern, Verdict};
use crate::shell::{Line, Part};
use crate::{ApprovalMode, stable_json};

/// The tool that starts a sub-agent; the agent's name in its arguments counts as a tool's name, too.
pub const AGENT_TOOL: &str = "invoke_agent";

/// Older names of tools, with those they have now.
const ALIASES: &[(&str, &str)] = &[("search_file_content", "grep_search")];

/// A call about which a decision is needed.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool's name; that of an MCP server's tool is `mcp_SERVER_TOOL`.
    pub tool: &'a str,
    /// Its arguments, if there are any.
    pub args: Option<&'a Value>,
    /// The MCP server that the tool is of.
    pub server: Option<&'a str>,
    /// The sub-agent that calls it.
    pub subagent: Option<&'a str>,
    /// What the tool says of itself.
    pub annotations: Option<&'a Map<String, Value>>,
    /// The file that it would change, where that is known; of some tools their arguments tell.
    pub writes: Option<&'a Path>,
}

impl<'a> Call<'a> {
    /// A call of a built-in tool by the main agent.
    pub fn new(tool: &'a str, args: &'a Value) -> Self {
        let args = Some(args).filter(|args| !args.is_null());
        Self { tool, args, server: None, subagent: None, annotations: None, writes: None }
    }

    /// The same call of a tool of this MCP server.
    #[must_use]
    pub fn of_server(self, server: &'a str) -> Self {
        Self { server: Some(server), ..self }
    }

    /// The same call by this sub-agent.
    #[must_use]
    pub fn by(self, subagent: &'a str) -> Self {
        Self { subagent: Some(subagent), ..self }
    }

    /// The same call, which would change this file.
    #[must_use]
    pub fn writing(self, file: &'a Path) -> Self {
        Self { writes: Some(file), ..self }
    }

    /// The command line, if the call is one.
    pub(crate) fn command(&self) -> Option<&'a str> {
        self.args.filter(|_| self.tool == SHELL_TOOL)?.get("command")?.as_str()
    }

    fn is_named(&self, name: &str) -> bool {
        let agent = || self.args.filter(|_| self.tool == AGENT_TOOL)?.get("agent_name")?.as_str();
        name_now(self.tool) == name_now(name) || agent() == Some(name)
    }
}

/// The name that a tool has now.
fn name_now(name: &str) -> &str {
    ALIASES.iter().find(|(old, _)| *old == name).map_or(name, |(_, new)| new)
}

/// The circumstances of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// How much the user wants to be asked.
    pub mode: ApprovalMode,
    /// Whether there is a user to ask.
    pub is_interactive: bool,
    /// Whether the folder is trusted.
    pub is_trusted: bool,
}

impl Default for Situation {
    /// A user at a terminal, in a trusted folder, who wants to be asked as usual.
    fn default() -> Self {
        Self { mode: ApprovalMode::Default, is_interactive: true, is_trusted: true }
    }
}

/// Why a rule is not about a call, the first reason that is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// It is about other tools.
    Tool,
    /// It is about tools of another MCP server, or of one at all.
    Server,
    /// It is about calls of another agent.
    Subagent,
    /// It does not count in this mode.
    Mode,
    /// It counts only with a user to ask, or only without.
    Interactive(Wants),
    /// The tool does not say of itself what the rule asks for.
    Annotations,
    /// The arguments are others.
    Arguments,
}

/// Whether a rule counts with a user to ask, or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Only with one.
    User,
    /// Only without.
    NoUser,
}

/// A call, or one command of it, with what is worked out about it at most once.
pub(crate) struct Question<'a> {
    pub(crate) call: Call<'a>,
    pub(crate) situation: Situation,
    /// The command line and the command in it that this question is about.
    pub(crate) command: Option<(&'a Line, &'a Part)>,
    whole: OnceCell<Option<String>>,
    alone: OnceCell<Option<String>>,
}

impl<'a> Question<'a> {
    pub(crate) fn new(call: Call<'a>, situation: Situation, command: Option<(&'a Line, &'a Part)>) -> Self {
        Self { call, situation, command, whole: OnceCell::new(), alone: OnceCell::new() }
    }

    /// Why `rule` does not match, or `None` if it does.
    pub(crate) fn mismatch(&self, rule: &Rule) -> Option<Mismatch> {
        let Situation { mode, is_interactive, .. } = self.situation;
        if !rule.tools.iter().any(|tool| self.is_tool(tool, rule)) {
            Some(Mismatch::Tool)
        } else if rule
            .server
            .as_ref()
            .is_some_and(|server| !self.call.server.is_some_and(|s| server.matches(s)))
        {
            Some(Mismatch::Server)
        } else if rule.subagent.is_some() && rule.subagent.as_deref() != self.call.subagent {
            Some(Mismatch::Subagent)
        } else if !rule.modes.is_empty() && !rule.modes.contains(&mode) {
            Some(Mismatch::Mode)
        } else if rule.interactive.is_some_and(|interactive| interactive != is_interactive) {
            Some(Mismatch::Interactive(if is_interactive { Wants::NoUser } else { Wants::User }))
        } else if !self.has_annotations(&rule.annotations) {
            Some(Mismatch::Annotations)
        } else if !self.meets(rule) {
            Some(Mismatch::Arguments)
        } else {
            None
        }
    }

    fn is_tool(&self, pattern: &ToolPattern, rule: &Rule) -> bool {
        match (pattern, self.call.server) {
            (ToolPattern::Any, _) => true,
            (ToolPattern::AnyServer, server) => server.is_some(),
            (ToolPattern::Server(name), server) => server == Some(name),
            // With a server in the rule, the name may be the one that the server itself uses.
            (ToolPattern::Named(name), Some(server)) if rule.server.is_some() => {
                let own = self.call.tool.strip_prefix("mcp_").and_then(|tool| tool.strip_prefix(server));
                self.call.tool == name || own.and_then(|tool| tool.strip_prefix('_')) == Some(name)
            }
            (ToolPattern::Named(name), _) => self.call.is_named(name),
        }
    }

    fn has_annotations(&self, wanted: &Map<String, Value>) -> bool {
        wanted
            .iter()
            .all(|(key, value)| self.call.annotations.and_then(|given| given.get(key)) == Some(value))
    }

    /// Whether the arguments are as the rule asks.
    ///
    /// A rule that allows sees one command alone, as it is written. A rule that forbids or asks also sees the whole
    /// line, and the command without variables before it: what may be meant is enough for it.
    fn meets(&self, rule: &Rule) -> bool {
        let is_strict = rule.verdict != Verdict::Allow;
        match (&rule.condition, self.command) {
            (Condition::Always, _) => true,
            (Condition::Arguments(pattern), _) => {
                self.alone_json().is_some_and(|json| pattern.is_match(json))
                    || is_strict && self.whole_json().is_some_and(|json| pattern.is_match(json))
            }
            (Condition::Prefixes(prefixes), Some((_, part))) => prefixes
                .iter()
                .any(|prefix| prefix.begins(&part.words) || is_strict && prefix.begins_anywhere(part.bare())),
            (Condition::Command(pattern), Some((_, part))) => {
                pattern.is_match(&part.text)
                    || is_strict
                        && (pattern.is_match(&part.bare().join(" "))
                            || self.call.command().is_some_and(|line| pattern.is_match(line)))
            }
            (Condition::Prefixes(_) | Condition::Command(_), None) => false,
        }
    }

    fn whole_json(&self) -> Option<&str> {
        self.whole.get_or_init(|| self.call.args.map(stable_json)).as_deref()
    }

    /// The arguments as if the command were the only one of its line.
    fn alone_json(&self) -> Option<&str> {
        let Some((_, part)) = self.command else { return self.whole_json() };
        let write = || {
            let mut args = Cow::Borrowed(self.call.args?);
            args.to_mut()["command"] = Value::from(part.text.as_str());
            Some(stable_json(&args))
        };
        self.alone.get_or_init(write).as_deref()
    }
}
