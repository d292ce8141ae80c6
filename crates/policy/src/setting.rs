//! Makes rules of settings and arguments that name tools or MCP servers.

use regex::Regex;
use serde_json::Value;

use crate::matching::AGENT_TOOL;
use crate::rule::{
    CommandPrefix, Condition, Rule, RuleSource, SHELL_TOOL, ServerPattern, ToolPattern, Verdict,
};
use crate::{PolicyError, Priority, RuleTier};

/// The verdict of a setting about the tools or servers that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingVerdict {
    /// The MCP server is excluded.
    ExcludedServer,
    /// The tool is excluded.
    ExcludedTool,
    /// The tool needs the user's word.
    ConfirmedTool,
    /// The tool is allowed, as by `--allowed-tools`.
    AllowedTool,
    /// The tool is one of those chosen.
    CoreTool,
    /// The MCP server is trusted.
    TrustedServer,
    /// The MCP server is allowed.
    AllowedServer,
    /// A sub-agent, as a tool.
    SubagentTool,
    /// A skill that comes with the program.
    BuiltinSkill,
}

impl SettingVerdict {
    fn priority(self) -> Priority {
        match self {
            Self::ExcludedServer => Priority::new(RuleTier::User, 900),
            Self::ExcludedTool => Priority::new(RuleTier::User, 400),
            Self::ConfirmedTool => Priority::new(RuleTier::User, 350),
            Self::AllowedTool => Priority::new(RuleTier::User, 300),
            Self::CoreTool => Priority::new(RuleTier::User, 250),
            Self::TrustedServer => Priority::new(RuleTier::User, 200),
            Self::AllowedServer => Priority::new(RuleTier::User, 100),
            Self::SubagentTool | Self::BuiltinSkill => Priority::new(RuleTier::Default, 30),
        }
    }

    fn verdict(self) -> Verdict {
        match self {
            Self::ExcludedServer | Self::ExcludedTool => Verdict::Deny,
            Self::ConfirmedTool => Verdict::Ask,
            _ => Verdict::Allow,
        }
    }

    /// The tool, and its argument that has the name, where the name is no tool's.
    fn argument(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::SubagentTool => Some((AGENT_TOOL, "agent_name")),
            Self::BuiltinSkill => Some(("activate_skill", "name")),
            _ => None,
        }
    }

    fn is_about_servers(self) -> bool {
        matches!(self, Self::ExcludedServer | Self::TrustedServer | Self::AllowedServer)
    }
}

/// Makes a rule of what the setting or argument `origin` says of `name`: a server, a tool, or the beginning of a command
/// as in `run_shell_command(git log)`.
///
/// # Errors
/// [`PolicyError::NoRule`] if the name is empty or the command is none.
pub fn rule_from_setting(standing: SettingVerdict, name: &str, origin: &str) -> Result<Rule, PolicyError> {
    let no_rule = |reason: &str| PolicyError::NoRule { text: name.to_owned(), reason: reason.to_owned() };
    let source = RuleSource::Setting(origin.to_owned());
    let make = |tools| Rule::new(tools, standing.verdict(), standing.priority(), source);
    let name_only = name.trim();
    if name_only.is_empty() {
        return Err(no_rule("the name is empty"));
    }
    if standing.is_about_servers() {
        let mut rule = make(ToolPattern::Any);
        rule.server = Some(match name_only {
            "*" => ServerPattern::Any,
            server => ServerPattern::Named(server.to_owned()),
        });
        return Ok(rule);
    }
    if let Some((tool, key)) = standing.argument() {
        // By its own tool alone: a sub-agent that is called like a tool must not free that one.
        let is_meant = format!("\0{key:?}:{}\0", regex::escape(&Value::from(name_only).to_string()));
        let is_meant = Regex::new(&is_meant).map_err(|_| no_rule("the name is too long"))?;
        let mut rule = make(ToolPattern::Named(tool.to_owned()));
        rule.condition = Condition::Arguments(is_meant);
        return Ok(rule);
    }
    let Some((tool, command)) = name_only.strip_suffix(')').and_then(|name| name.split_once('(')) else {
        return ToolPattern::parse(name_only).map(make).ok_or_else(|| no_rule("not a tool name"));
    };
    if !matches!(tool.trim(), SHELL_TOOL | "ShellTool") {
        return Err(no_rule("only run_shell_command takes a command in parentheses"));
    }
    let mut rule = make(ToolPattern::Named(SHELL_TOOL.to_owned()));
    rule.condition = Condition::Prefixes(vec![CommandPrefix::parse(command).map_err(no_rule)?]);
    Ok(rule)
}
