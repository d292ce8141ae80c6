//! Merging of several outputs, and the passing of changes from one hook to the next.

use serde_json::{Map, Value, json};

use crate::event::{EventName, HookEvent};
use crate::output::{HookDecision, HookOutput};

/// Merges the outputs of an event's hooks in order.
pub(crate) fn merge(event: EventName, outputs: &[HookOutput]) -> HookOutput {
    let mut merged = HookOutput::default();
    for output in outputs {
        add_common(event, &mut merged, output);
        add_specific(event, &mut merged.specific, &output.specific);
    }
    merged
}

fn add_common(event: EventName, merged: &mut HookOutput, output: &HookOutput) {
    let joins = is_joined(event);
    if output.continues == Some(false) || merged.continues.is_none() {
        merged.continues = output.continues.or(merged.continues);
    }
    // The strictest decision gives the reason; equally strict ones give theirs together.
    if output.decision > merged.decision {
        merged.decision = output.decision;
        merged.reason.clone_from(&output.reason);
    } else if output.decision == merged.decision {
        let is_block = output.decision == Some(HookDecision::Block);
        add_text(&mut merged.reason, output.reason.as_deref(), joins || is_block);
    }
    add_text(&mut merged.stop_reason, output.stop_reason.as_deref(), joins);
    add_text(&mut merged.system_message, output.system_message.as_deref(), joins);
    merged.suppress_output = match (merged.suppress_output, output.suppress_output) {
        (Some(true), _) if joins => Some(true),
        (before, now) => now.or(before),
    };
}

/// True for events that join the texts of several hooks. For others, the later text wins.
fn is_joined(event: EventName) -> bool {
    matches!(
        event,
        EventName::SessionStart
            | EventName::BeforeAgent
            | EventName::AfterAgent
            | EventName::BeforeTool
            | EventName::AfterTool
    )
}

fn add_text(text: &mut Option<String>, more: Option<&str>, joins: bool) {
    let Some(more) = more else { return };
    match text {
        Some(text) if joins => {
            text.push('\n');
            text.push_str(more);
        }
        _ => *text = Some(more.to_owned()),
    }
}

fn add_specific(event: EventName, merged: &mut Map<String, Value>, more: &Map<String, Value>) {
    for (key, value) in more {
        let before = merged.get(key);
        let value = match (key.as_str(), before, value) {
            ("additionalContext", Some(Value::String(before)), Value::String(more)) if is_joined(event) => {
                Value::from(format!("{before}\n{more}"))
            }
            ("clearContext", Some(Value::Bool(true)), _) => Value::Bool(true),
            ("tool_input", Some(Value::Object(before)), Value::Object(more)) => {
                Value::Object(overridden(before.clone(), more))
            }
            ("toolConfig", Some(before), more) if event == EventName::BeforeToolSelection => {
                merge_tool_config(before, more)
            }
            ("toolConfig", None, config) if event == EventName::BeforeToolSelection => {
                merge_tool_config(&json!({}), config)
            }
            (_, _, value) => value.clone(),
        };
        merged.insert(key.clone(), value);
    }
}

/// Overrides fields of the first with those of the second.
pub(crate) fn overridden(mut fields: Map<String, Value>, over: &Map<String, Value>) -> Map<String, Value> {
    fields.extend(over.iter().map(|(key, value)| (key.clone(), value.clone())));
    fields
}

/// The stricter of two modes, and the sorted union of allowed tools.
fn merge_tool_config(first: &Value, second: &Value) -> Value {
    const MODES: [&str; 3] = ["AUTO", "ANY", "NONE"];
    let mode = |config: &Value| {
        let mode = config.get("mode").and_then(Value::as_str)?;
        MODES.iter().position(|known| known.eq_ignore_ascii_case(mode))
    };
    let names = [first, second]
        .into_iter()
        .filter_map(|config| config.get("allowedFunctionNames")?.as_array())
        .flatten()
        .filter_map(Value::as_str);
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    names.dedup();
    let mut united = Map::new();
    let mode = mode(first).max(mode(second)).map(|place| MODES[place]);
    if let Some(mode) = mode {
        united.insert("mode".into(), mode.into());
    }
    if !names.is_empty() && mode != Some("NONE") {
        united.insert("allowedFunctionNames".into(), names.into());
    }
    Value::Object(united)
}

/// Applies one hook's changes to the input of the next, for hooks that run one after the other.
pub(crate) fn apply_changes(event: &mut HookEvent, output: &HookOutput) {
    match event {
        HookEvent::BeforeAgent { prompt } => {
            if let Some(context) = output.specific.get("additionalContext").and_then(Value::as_str) {
                prompt.push_str("\n\n");
                prompt.push_str(context);
            }
        }
        HookEvent::BeforeModel { llm_request } => {
            if let (Some(Value::Object(over)), Value::Object(request)) =
                (output.specific.get("llm_request"), llm_request)
            {
                *request = overridden(std::mem::take(request), over);
            }
        }
        HookEvent::BeforeTool { call } => {
            if let Some(Value::Object(over)) = output.specific.get("tool_input") {
                call.tool_input = overridden(std::mem::take(&mut call.tool_input), over);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolUse;
    use crate::output::{HookExit, parse_output};

    fn outputs(outputs: &[Value]) -> Vec<HookOutput> {
        outputs.iter().map(|output| parse_output("x", &HookExit::Code(0), &output.to_string(), "")).collect()
    }

    fn merged(event: EventName, answers: &[Value]) -> HookOutput {
        merge(event, &outputs(answers))
    }

    #[track_caller]
    fn check_decision(answers: &[Value], decision: HookDecision, reason: Option<&str>) {
        for event in EventName::ALL.into_iter().filter(|event| is_joined(*event)) {
            let merged = merged(event, answers);
            assert_eq!((merged.decision, merged.reason.as_deref()), (Some(decision), reason), "{event}");
        }
    }

    #[test]
    fn any_block_wins_then_ask() {
        let (allow, ask) =
            (json!({"decision": "allow", "reason": "a"}), json!({"decision": "ask", "reason": "q"}));
        let (block, deny) =
            (json!({"decision": "block", "reason": "b"}), json!({"decision": "deny", "reason": "d"}));
        check_decision(&[allow.clone(), ask.clone()], HookDecision::Ask, Some("q"));
        check_decision(&[ask.clone(), allow.clone()], HookDecision::Ask, Some("q"));
        check_decision(&[block.clone(), ask, allow.clone()], HookDecision::Block, Some("b"));
        check_decision(&[allow.clone(), block, deny], HookDecision::Block, Some("b\nd"));
        check_decision(&[json!({}), allow], HookDecision::Allow, Some("a"));
    }

    #[test]
    fn a_block_stays_at_model_events_too() {
        for event in [EventName::BeforeModel, EventName::AfterModel] {
            let merged =
                merged(event, &[json!({"decision": "deny", "reason": "no"}), json!({"decision": "allow"})]);
            assert_eq!((merged.decision, merged.reason.as_deref()), (Some(HookDecision::Block), Some("no")));
        }
    }

    #[test]
    fn a_stop_is_sticky() {
        for event in EventName::ALL {
            let answers = [
                json!({"continue": true}),
                json!({"continue": false, "stopReason": "s"}),
                json!({"continue": true}),
            ];
            let merged = merged(event, &answers);
            assert_eq!((merged.continues, merged.stop_reason.as_deref()), (Some(false), Some("s")));
        }
    }

    #[test]
    fn texts_are_joined() {
        let answer =
            |text: &str| json!({"systemMessage": text, "hookSpecificOutput": {"additionalContext": text}});
        let joined = merged(EventName::BeforeAgent, &[answer("a"), json!({}), answer("b")]);
        assert_eq!(joined.system_message.as_deref(), Some("a\nb"));
        assert_eq!(joined.specific["additionalContext"], "a\nb");
        let replaced = merged(EventName::PreCompress, &[answer("a"), answer("b")]);
        assert_eq!(replaced.system_message.as_deref(), Some("b"));
    }

    #[test]
    fn one_wish_to_clear_or_to_be_quiet_is_enough() {
        let answers = [
            json!({"suppressOutput": true, "hookSpecificOutput": {"clearContext": true}}),
            json!({"suppressOutput": false, "hookSpecificOutput": {"clearContext": false}}),
        ];
        let merged = merged(EventName::AfterAgent, &answers);
        assert_eq!((merged.suppress_output, &merged.specific["clearContext"]), (Some(true), &json!(true)));
    }

    #[test]
    fn later_models_replace_earlier_ones() {
        let answers = [
            json!({"hookSpecificOutput": {"llm_request": {"model": "a", "config": {"temperature": 1}}}}),
            json!({"hookSpecificOutput": {"llm_request": {"model": "b"}, "llm_response": {"x": 1}}}),
        ];
        let merged = merged(EventName::BeforeModel, &answers);
        assert_eq!(merged.specific["llm_request"], json!({"model": "b"}));
        assert_eq!(merged.specific["llm_response"], json!({"x": 1}));
    }

    #[track_caller]
    fn check_tools(configs: &[Value], expected: &Value) {
        let answers: Vec<_> =
            configs.iter().map(|config| json!({"hookSpecificOutput": {"toolConfig": config}})).collect();
        assert_eq!(merged(EventName::BeforeToolSelection, &answers).specific["toolConfig"], *expected);
    }

    #[test]
    fn tools_are_united_and_the_strictest_mode_wins() {
        let config = |mode: &str, names: &[&str]| json!({"mode": mode, "allowedFunctionNames": names});
        check_tools(&[config("AUTO", &["b", "a"])], &config("AUTO", &["a", "b"]));
        check_tools(&[config("AUTO", &["b"]), config("ANY", &["a", "b"])], &config("ANY", &["a", "b"]));
        check_tools(&[config("NONE", &["b"]), config("ANY", &["a"])], &json!({"mode": "NONE"}));
        check_tools(&[config("ANY", &[]), json!({"mode": "other"})], &json!({"mode": "ANY"}));
        check_tools(&[json!(7)], &json!({}));
    }

    #[test]
    fn tool_inputs_are_merged() {
        let answers = [
            json!({"hookSpecificOutput": {"tool_input": {"a": 1, "b": 1}}}),
            json!({"hookSpecificOutput": {"tool_input": {"b": 2}}}),
        ];
        assert_eq!(merged(EventName::BeforeTool, &answers).specific["tool_input"], json!({"a": 1, "b": 2}));
    }

    #[track_caller]
    fn check_chain(mut event: HookEvent, specific: &Value, expected: &HookEvent) {
        let output = outputs(&[json!({"hookSpecificOutput": specific})]).remove(0);
        apply_changes(&mut event, &output);
        assert_eq!(&event, expected);
    }

    #[test]
    fn the_next_hook_sees_what_the_last_one_changed() {
        let prompt = |prompt: &str| HookEvent::BeforeAgent { prompt: prompt.into() };
        check_chain(prompt("p"), &json!({"additionalContext": "c"}), &prompt("p\n\nc"));
        check_chain(prompt("p"), &json!({}), &prompt("p"));
        let model = |request: Value| HookEvent::BeforeModel { llm_request: request };
        check_chain(
            model(json!({"model": "a", "x": 1})),
            &json!({"llm_request": {"model": "b"}}),
            &model(json!({"model": "b", "x": 1})),
        );
        let tool = |input: Value| {
            let tool_input = input.as_object().expect("an object").clone();
            HookEvent::BeforeTool { call: ToolUse { tool_input, ..ToolUse::default() } }
        };
        check_chain(tool(json!({"a": 1})), &json!({"tool_input": {"b": 2}}), &tool(json!({"a": 1, "b": 2})));
    }
}
