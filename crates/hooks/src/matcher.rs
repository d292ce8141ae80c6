//! Matchers: the events that a hook applies to.

use regex::{Regex, RegexBuilder};

use crate::event::HookEvent;

/// The largest compiled expression, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// The tools or triggers that a hook runs for.
#[derive(Clone, Debug)]
pub enum HookMatcher {
    /// All.
    Any,
    /// Tools whose name contains a match; for other events, a trigger equal to the text.
    Pattern {
        /// The text as written.
        text: String,
        /// The expression for tool names; without one, the text is a whole name.
        tool: Option<Regex>,
    },
}

impl HookMatcher {
    /// Parses a matcher. An invalid expression is taken literally.
    pub(crate) fn parse(text: &str) -> Self {
        if matches!(text.trim(), "" | "*") {
            return Self::Any;
        }
        let tool = RegexBuilder::new(text).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED).build().ok();
        Self::Pattern { text: text.to_owned(), tool }
    }

    /// True if a hook with this matcher runs at the event. Events without a trigger match every hook.
    pub fn matches(&self, event: &HookEvent) -> bool {
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

    #[track_caller]
    fn check_tool(matcher: &str, tool: &str, expected: bool) {
        let call = ToolUse { tool_name: tool.into(), ..ToolUse::default() };
        let after = HookEvent::AfterTool { call: call.clone(), tool_response: serde_json::Value::Null };
        for event in [HookEvent::BeforeTool { call }, after] {
            assert_eq!(HookMatcher::parse(matcher).matches(&event), expected, "{matcher} {tool}");
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
        let check = |matcher: &str, event: &HookEvent, expected: bool| {
            assert_eq!(HookMatcher::parse(matcher).matches(event), expected, "{matcher}");
        };
        let manual = HookEvent::PreCompress { trigger: longhaul_conversation::Trigger::Forced };
        check("manual", &manual, true);
        check("man.*", &manual, false);
        check("auto", &manual, false);
        check("*", &manual, true);
        check("resume", &HookEvent::SessionStart { source: SessionSource::Resume }, true);
        check("anything", &HookEvent::BeforeAgent { prompt: String::new() }, true);
    }
}
