//! The calls that a rule is about, in words.

use std::fmt::Write;

use crate::rule::{Condition, Rule, ServerPattern, ToolPattern};
use crate::save::SAVED_MODES;

impl Rule {
    /// The calls that the rule is about, in words. Two rules of one verdict and weight that read alike are alike.
    pub fn describe(&self) -> String {
        let tools: Vec<String> = self.tools.iter().map(tool).collect();
        let tools = tools.join(", ");
        let mut text = match &self.condition {
            Condition::Always => format!("any call to {tools}"),
            Condition::Prefixes(prefixes) => {
                let prefixes: Vec<String> = prefixes.iter().map(|prefix| format!("`{prefix} …`")).collect();
                format!("commands like {}", prefixes.join(" and "))
            }
            Condition::Command(pattern) => format!("commands matching `{pattern}`"),
            Condition::Reading => "commands that only read".to_owned(),
            Condition::Arguments(pattern) => {
                format!("calls to {tools} with arguments matching `{pattern}`")
            }
        };
        match &self.server {
            None => {}
            Some(ServerPattern::Any) => text.push_str(" on any MCP server"),
            Some(ServerPattern::Named(server)) => _ = write!(text, " on MCP server {server}"),
        }
        if let Some(subagent) = &self.subagent {
            _ = write!(text, " by sub-agent {subagent}");
        }
        if !self.annotations.is_empty() {
            let annotations = serde_json::Value::Object(self.annotations.clone());
            _ = write!(text, " on tools annotated {annotations}");
        }
        match self.interactive {
            None => {}
            Some(true) => text.push_str(", in interactive sessions"),
            Some(false) => text.push_str(", in non-interactive sessions"),
        }
        if self.allows_redirection {
            text.push_str(", including output to files");
        }
        if !self.modes.is_empty() && self.modes != SAVED_MODES {
            let modes: Vec<&str> = self.modes.iter().map(|mode| mode.name()).collect();
            _ = write!(text, ", in {} {}", modes.join(", "), if modes.len() == 1 { "mode" } else { "modes" });
        }
        text
    }
}

fn tool(pattern: &ToolPattern) -> String {
    match pattern {
        ToolPattern::Any => "any tool".to_owned(),
        ToolPattern::AnyServer => "any MCP tool".to_owned(),
        ToolPattern::Server(_) | ToolPattern::Named(_) => pattern.to_string(),
    }
}
