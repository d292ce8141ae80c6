//! Whether a hook is meant for an event.

use regex::{Regex, RegexBuilder};

use crate::event::Event;

/// The most memory that a compiled expression may take, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// Says for which tools, or for what else that sets an event off, a hook runs.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// For all.
    Any,
    /// For tools in whose name the expression is found; for other events, if the text is exactly what set them off.
    Pattern {
        /// As it was written.
        text: String,
        /// For tools; without it, the text is a tool's whole name.
        tool: Option<Regex>,
    },
}

impl Matcher {
    /// Reads a matcher. An expression that is none stands for itself.
    pub fn parse(text: &str) -> Self {
        if matches!(text.trim(), "" | "*") {
            return Self::Any;
        }
        let tool = RegexBuilder::new(text).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build().ok();
        Self::Pattern { text: text.to_owned(), tool }
    }

    /// Whether a hook with this matcher runs at the event. Where nothing can be matched, every hook runs.
    pub fn matches(&self, event: &Event) -> bool {
        match (self, event.trigger()) {
            (Self::Any, _) | (_, None) => true,
            (Self::Pattern { tool: Some(tool), .. }, Some(name)) if event.name().is_about_tools() => {
                tool.is_match(name)
            }
            (Self::Pattern { text, .. }, Some(trigger)) => text == trigger,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{SessionSource, ToolUse};
    use longhaul_conversation::Trigger;

    #[track_caller]
    fn check_tool(matcher: &str, tool: &str, expected: bool) {
        let call = ToolUse { tool_name: tool.into(), ..ToolUse::default() };
        let after = Event::AfterTool { call: call.clone(), tool_response: serde_json::Value::Null };
        for event in [Event::BeforeTool { call }, after] {
            assert_eq!(Matcher::parse(matcher).matches(&event), expected, "{matcher} {tool}");
        }
    }

    #[test]
    fn tools_are_searched_for() {
        check_tool("", "glob", true);
        check_tool("*", "glob", true);
        check_tool("write_.*", "write_file", true);
        check_tool("file", "write_file", true);
        check_tool("^file", "write_file", false);
        check_tool("write_file|replace", "replace", true);
        check_tool("mcp_web_.*", "mcp_web_get", true);
        check_tool("Write", "write_file", false);
    }

    #[test]
    fn what_is_no_expression_is_a_name() {
        check_tool("a(", "a(", true);
        check_tool("a(", "a(b", false);
        check_tool("(a{1000}){1000}", "aaa", false);
    }

    #[test]
    fn other_events_are_matched_exactly() {
        let check = |matcher: &str, event: &Event, expected: bool| {
            assert_eq!(Matcher::parse(matcher).matches(event), expected, "{matcher}");
        };
        let manual = Event::PreCompress { trigger: Trigger::Forced };
        check("manual", &manual, true);
        check("man.*", &manual, false);
        check("auto", &manual, false);
        check("*", &manual, true);
        check("resume", &Event::SessionStart { source: SessionSource::Resume }, true);
        check("anything", &Event::BeforeAgent { prompt: String::new() }, true);
    }
}
