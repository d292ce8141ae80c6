//! Compares a settings file with the table of known keys.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::document::{Content, Node};
use super::expand::OpenReference;
use super::kind::{self, ValueKind};
use super::lookup::{Known, first_below, look_up, near_sibling, nearest};
use super::problem::{FileLine, SettingsFault, SettingsWarning, UnsupportedKey, WarningKind, WrongValue};
use super::unread::Treatment;

/// Checks every key and value of a file. Returns warnings and unsupported keys; the first invalid value is an error.
pub(super) fn check_document(
    file: &Arc<Path>,
    root: &Node,
) -> Result<(Vec<SettingsWarning>, Vec<UnsupportedKey>), SettingsFault> {
    let mut check = Check { file, warnings: Vec::new(), unsupported: Vec::new() };
    check.section(&[], root)?;
    Ok((check.warnings, check.unsupported))
}

/// The fault without a value that came from a variable: it may be a secret.
pub(super) fn hide_value(fault: SettingsFault, expanded: &[Vec<String>]) -> SettingsFault {
    let is_expanded = |key: &str| {
        expanded.iter().any(|steps| dotted(&steps.iter().map(String::as_str).collect::<Vec<_>>()) == key)
    };
    match fault {
        SettingsFault::WrongValue { line, value } if is_expanded(&value.key) => {
            let found = "the value of its variable".to_string();
            SettingsFault::WrongValue { line, value: WrongValue { found, ..value } }
        }
        fault => fault,
    }
}

/// Warnings about references to variables that stay in the values of keys that are read.
pub(super) fn check_references(file: &Arc<Path>, open: Vec<OpenReference>) -> Vec<SettingsWarning> {
    let warning = |OpenReference { steps, line, name, is_secret }: OpenReference| {
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let is_read = (1..=steps.len()).any(|count| matches!(look_up(&steps[..count]), Known::SettingKey(_)));
        let kind = match is_secret {
            true => WarningKind::SecretVariable { name },
            false => WarningKind::UnsetVariable { name },
        };
        let place = FileLine { file: Arc::clone(file), line };
        is_read.then(|| SettingsWarning { place, key: dotted(&steps), kind })
    };
    open.into_iter().filter_map(warning).collect()
}

/// Checks a value against the kind of its key.
pub(super) fn check_value(kind: ValueKind, steps: &[&str], node: &Node) -> Result<(), SettingsFault> {
    match (kind, &node.content) {
        // Whoever writes null wants the default.
        (_, Content::Plain(Value::Null)) => Ok(()),
        (ValueKind::Object, Content::Object(_)) => Ok(()),
        (ValueKind::TokensByName, Content::Object(entries)) => check_each(ValueKind::Tokens, steps, entries),
        (ValueKind::ThresholdsByModel, Content::Object(entries)) => {
            check_each(ValueKind::Threshold, steps, entries)
        }
        (kind, Content::Plain(value)) if kind.takes(value) => Ok(()),
        (kind, _) => Err(wrong_value(steps, node, kind.words(), kind.example())),
    }
}

/// Checks every value of an object whose values share a kind.
fn check_each(kind: ValueKind, steps: &[&str], entries: &[(String, Node)]) -> Result<(), SettingsFault> {
    entries.iter().try_for_each(|(name, child)| check_value(kind, &[steps, &[name]].concat(), child))
}

/// The most warnings about a file: beyond that it is something else altogether, and suggestions are pointless.
const MOST_SUGGESTIONS: usize = 100;

struct Check<'a> {
    file: &'a Arc<Path>,
    warnings: Vec<SettingsWarning>,
    unsupported: Vec<UnsupportedKey>,
}

impl Check<'_> {
    fn section(&mut self, steps: &[&str], node: &Node) -> Result<(), SettingsFault> {
        let entries = match &node.content {
            Content::Object(entries) => entries,
            Content::Plain(Value::Null) => return Ok(()),
            Content::Plain(_) => {
                return Err(wrong_value(steps, node, "an object".into(), example_section(steps)));
            }
        };
        let last: HashMap<&str, &Node> = entries.iter().map(|(name, child)| (name.as_str(), child)).collect();
        for (name, child) in entries {
            let steps = [steps, &[name]].concat();
            if !std::ptr::eq(last[name.as_str()], child) {
                self.warn(&steps, child, WarningKind::Repeated);
            }
            self.entry(&steps, child)?;
        }
        Ok(())
    }

    fn entry(&mut self, steps: &[&str], node: &Node) -> Result<(), SettingsFault> {
        match look_up(steps) {
            Known::SettingKey(key) => {
                check_value(key.kind, steps, node)?;
                if let (ValueKind::ThresholdsByModel, Content::Object(entries)) = (key.kind, &node.content) {
                    let is_odd =
                        |name: &str| name.trim_end_matches('*').contains('*') || name.ends_with("**");
                    for (name, child) in entries.iter().filter(|(name, _)| is_odd(name)) {
                        self.warn(&[steps, &[name]].concat(), child, WarningKind::StarInside);
                    }
                }
            }
            Known::Section => self.section(steps, node)?,
            Known::Unread(treatment) => self.pass_over(steps, node, treatment),
            Known::InOpenSection(treatment) => {
                self.pass_over(steps, node, treatment);
                // Only what looks like a slip is worth a word there.
                if let Some((name, section)) = steps.split_last()
                    && let Some(nearest) = near_sibling(section, name)
                {
                    self.warn(steps, node, WarningKind::Unknown { nearest: Some(nearest) });
                }
            }
            Known::No if self.warnings.len() > MOST_SUGGESTIONS => {
                self.warn(steps, node, WarningKind::Unknown { nearest: None });
            }
            Known::No => self.warn(steps, node, unknown(steps)),
        }
        Ok(())
    }

    /// Records an unread key, if it makes a difference.
    fn pass_over(&mut self, steps: &[&str], node: &Node, treatment: Treatment) {
        let value = node.to_value();
        let restricts = match treatment {
            _ if value.is_null() => return,
            Treatment::NoEffect => return,
            Treatment::UnsupportedIf(asks) if !asks(&value) => return,
            Treatment::Unsupported | Treatment::UnsupportedIf(_) => None,
            Treatment::Refused { restricts, .. } if !restricts(&value) => return,
            Treatment::Refused { asks_for, .. } => Some(asks_for),
        };
        let place = FileLine { file: Arc::clone(self.file), line: node.line };
        self.unsupported.push(UnsupportedKey { place, key: dotted(steps), restricts });
    }

    fn warn(&mut self, steps: &[&str], node: &Node, kind: WarningKind) {
        let place = FileLine { file: Arc::clone(self.file), line: node.line };
        self.warnings.push(SettingsWarning { place, key: dotted(steps), kind });
    }
}

/// The warning about an unknown key.
fn unknown(steps: &[&str]) -> WarningKind {
    let parts: Vec<&str> = steps.iter().flat_map(|step| step.split('.')).collect();
    if parts.len() > steps.len() && matches!(look_up(&parts), Known::SettingKey(_) | Known::Section) {
        return WarningKind::InOnePiece { nested: nest(&parts, "…") };
    }
    let nearest = steps.split_last().and_then(|(name, section)| nearest(section, name));
    WarningKind::Unknown { nearest }
}

fn wrong_value(steps: &[&str], node: &Node, expected: String, example: String) -> SettingsFault {
    let key = if steps.is_empty() { "the file".into() } else { dotted(steps) };
    let found = match &node.content {
        Content::Object(_) => "an object".into(),
        // What stands there in the place of something else may well be a key.
        Content::Plain(Value::String(_)) if steps.starts_with(&["longhaul", "providers"]) => {
            "this string".into()
        }
        Content::Plain(value) => kind::describe(value),
    };
    let example = match steps.last() {
        Some(name) => format!("{name:?}: {example}"),
        None => example,
    };
    SettingsFault::WrongValue { line: node.line, value: WrongValue { key, expected, found, example } }
}

/// An object with one of the keys of this section.
fn example_section(section: &[&str]) -> String {
    first_below(section).map_or_else(|| "{}".into(), |(key, rest)| nest(&rest, &key.kind.example()))
}

/// The value inside an object for each step.
fn nest(steps: &[&str], value: &str) -> String {
    steps.iter().rev().fold(value.to_string(), |inside, step| format!("{{{step:?}: {inside}}}"))
}

/// The steps with dots between them; one that has a dot itself is quoted.
pub(super) fn dotted(steps: &[&str]) -> String {
    let is_plain = |step: &str| !step.is_empty() && !step.contains(['.', ' ', '"']);
    let shown: Vec<String> = steps
        .iter()
        .map(|step| if is_plain(step) { (*step).to_string() } else { format!("{step:?}") })
        .collect();
    shown.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::document::parse;

    fn check(text: &str) -> Result<Vec<SettingsWarning>, SettingsFault> {
        check_document(&Path::new("s.json").into(), &parse(text.as_bytes()).unwrap())
            .map(|(warnings, _)| warnings)
    }

    #[track_caller]
    fn check_unhonoured(text: &str, expected: &[(&str, bool)]) {
        let checked = check_document(&Path::new("s.json").into(), &parse(text.as_bytes()).unwrap());
        let (_, unsupported) = checked.unwrap();
        let found: Vec<(&str, bool)> =
            unsupported.iter().map(|one| (one.key.as_str(), one.restricts.is_some())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn keys_that_are_not_honoured_are_named_and_those_that_restrict_are_told_apart() {
        check_unhonoured(
            r#"{"ui": {"theme": "x"}, "model": {"name": "m"}, "longhaul": {"windows": {"m": 1}}, "$schema": "x"}"#,
            &[],
        );
        check_unhonoured(
            r#"{"modelConfigs": {"a": {}}, "general": {"plan": {}, "maxAttempts": 3}, "telemetry": {"enabled": true}}"#,
            &[
                ("modelConfigs", false),
                ("general.plan", false),
                ("general.maxAttempts", false),
                ("telemetry", false),
            ],
        );
        check_unhonoured(r#"{"tools": {"sandbox": "docker"}}"#, &[("tools.sandbox", true)]);
        check_unhonoured(r#"{"tools": {"sandbox": {"enabled": true}}}"#, &[("tools.sandbox", true)]);
        check_unhonoured(r#"{"tools": {"sandbox": false}}"#, &[]);
        check_unhonoured(r#"{"tools": {"sandbox": null}, "modelConfigs": null}"#, &[]);
        check_unhonoured(
            r#"{"security": {"disableYoloMode": true, "enableConseca": true, "toolSandboxing": true, "auth": {"enforcedType": "oauth-personal"}}}"#,
            &[
                ("security.enableConseca", true),
                ("security.toolSandboxing", true),
                ("security.auth.enforcedType", true),
            ],
        );
        check_unhonoured(
            r#"{"security": {"auth": {"enforcedType": "gemini-api-key", "selectedType": "x"}}}"#,
            &[],
        );
        check_unhonoured(
            r#"{"admin": {"secureModeEnabled": true, "mcp": {"enabled": false, "config": {}}, "brandNew": {"enabled": false}}}"#,
            &[("admin.mcp.config", true), ("admin.brandNew", true)],
        );
        check_unhonoured(
            r#"{"experimental": {"jitContext": true, "brandNew": 7}}"#,
            &[("experimental.brandNew", false)],
        );
        check_unhonoured(
            r#"{"contextManagement": {"historyWindow": {"maxTokens": 9}, "messageLimits": {"normalMaxTokens": 1},
                "tools": {"distillation": {"maxOutputTokens": 1}, "outputMasking": {"protectLatestTurn": false}}},
                "experimental": {"contextManagement": true, "generalistProfile": true, "powerUserProfile": true,
                "stressTestProfile": true}, "model": {"skipNextSpeakerCheck": false}}"#,
            &[
                ("contextManagement.historyWindow", false),
                ("contextManagement.messageLimits", false),
                ("contextManagement.tools.distillation", false),
                ("contextManagement.tools.outputMasking.protectLatestTurn", false),
                ("experimental.contextManagement", false),
                ("experimental.generalistProfile", false),
                ("experimental.powerUserProfile", false),
                ("experimental.stressTestProfile", false),
                ("model.skipNextSpeakerCheck", false),
            ],
        );
        // These ask for what is done anyway.
        check_unhonoured(
            r#"{"contextManagement": {"tools": {"outputMasking": {"protectLatestTurn": true}}},
                "experimental": {"generalistProfile": false}, "model": {"skipNextSpeakerCheck": true}}"#,
            &[],
        );
    }

    #[track_caller]
    fn check_warnings(text: &str, expected: &[&str]) {
        let warnings: Vec<String> = check(text).unwrap().iter().map(SettingsWarning::to_string).collect();
        assert_eq!(warnings, expected, "{text}");
    }

    #[track_caller]
    fn check_wrong(text: &str, message: &str, example: &str) {
        match check(text) {
            Err(fault @ SettingsFault::WrongValue { .. }) => {
                assert_eq!(fault.to_string(), message);
                let SettingsFault::WrongValue { value, .. } = fault else { unreachable!() };
                assert_eq!(value.example, example);
            }
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn what_gemini_cli_knows_is_accepted() {
        let text = r#"{
            "$schema": "https://example.org/schema.json",
            "general": {"vimMode": true, "sessionRetention": {"enabled": true, "maxAge": "30d", "maxCount": 50}},
            "ui": {"theme": "GitHub", "anything": {"at": ["all"]}},
            "mcpServers": {"files": {"command": "serve", "args": ["--port", 1]}},
            "model": {"name": "gemini-2.5-pro", "compressionThreshold": 0.2, "maxSessionTurns": -1,
                      "summarizeToolOutput": {"run_shell_command": {"tokenBudget": 100}}},
            "tools": {"sandbox": "docker", "truncateToolOutputThreshold": 0, "truncateToolOutputLines": 500},
            "context": {"fileName": ["AGENTS.md"], "fileFiltering": {"respectGitIgnore": false}},
            "experimental": {"jitContext": false, "aBrandNewThing": 7},
            "security": {"auth": {"selectedType": "oauth"}, "folderTrust": {"enabled": true}},
            "hooks": {"PreCompress": [{"hooks": [{"type": "command", "command": "true"}]}]},
            "contextManagement": {"tools": {"outputMasking": {"protectLatestTurn": true}}},
            "telemetry": {"enabled": false}
        }"#;
        check_warnings(text, &[]);
    }

    #[test]
    fn unknown_keys_are_named_with_their_line() {
        check_warnings(
            "{\n\"longhaul\": {\n  \"compaction\": {\"treshold\": 0.5},\n  \"zebra\": {\"a\": 1}\n},\n\"Model\": 1}",
            &[
                "s.json:3: unknown key longhaul.compaction.treshold; did you mean longhaul.compaction.threshold?",
                "s.json:4: unknown key longhaul.zebra",
                "s.json:6: unknown key Model; did you mean model?",
            ],
        );
        check_warnings(
            "{\"experimental\": {\"jitcontext\": 1}}",
            &["s.json:1: unknown key experimental.jitcontext; did you mean experimental.jitContext?"],
        );
        check_warnings(
            "{\"\": 1, \"a b\": 2}",
            &["s.json:1: unknown key \"\"", "s.json:1: unknown key \"a b\""],
        );
    }

    #[test]
    fn keys_with_dots_are_explained() {
        check_warnings(
            "{\"longhaul.compaction.keep\": 0.3}",
            &["s.json:1: unknown key \"longhaul.compaction.keep\"; \
               nest each part in its own object: {\"longhaul\": {\"compaction\": {\"keep\": …}}}"],
        );
    }

    #[test]
    fn a_star_stands_at_the_end() {
        check_warnings(
            "{\"longhaul\": {\"compaction\": {\"thresholds\": {\"a-*\": 0.5, \"*\": \"off\",\n\"a*b\": \"9k\", \"a**\": 0.5}}}}",
            &[
                "s.json:2: longhaul.compaction.thresholds.a*b matches no model; * is only allowed at the end",
                "s.json:2: longhaul.compaction.thresholds.a** matches no model; * is only allowed at the end",
            ],
        );
        check_wrong(
            "{\"longhaul\": {\"compaction\": {\"thresholds\": {\"m\": \"half\"}}}}",
            "line 1: longhaul.compaction.thresholds.m must be a share (0.5 or \"50%\"), \
             a number of tokens (200000 or \"200k\") or \"off\", not the string \"half\"",
            "\"m\": \"50%\"",
        );
    }

    #[test]
    fn repeated_keys_are_named() {
        check_warnings(
            "{\"model\": {\"name\": \"a\",\n\"name\": \"b\"}}",
            &["s.json:1: model.name is set again further down, which takes effect"],
        );
    }

    #[test]
    fn null_stands_for_the_default() {
        check_warnings(
            "{\"longhaul\": {\"compaction\": null, \"windows\": {\"m\": null}}, \"model\": {\"name\": null}}",
            &[],
        );
    }

    #[test]
    fn wrong_values_say_what_is_expected() {
        check_wrong(
            "{\"longhaul\": {\n\"compaction\": {\n\"threshold\": \"half\"}}}",
            "line 3: longhaul.compaction.threshold must be a share (0.5 or \"50%\"), \
             a number of tokens (200000 or \"200k\") or \"off\", not the string \"half\"",
            "\"threshold\": \"50%\"",
        );
        check_wrong(
            "{\"longhaul\": {\"windows\": {\"ok\": \"8k\",\n\"gemini-2.5-pro\": [1]}}}",
            "line 2: longhaul.windows.\"gemini-2.5-pro\" must be a number of tokens (4000 or \"4k\"), not a list",
            "\"gemini-2.5-pro\": \"4k\"",
        );
        check_wrong(
            "{\"longhaul\": {\"compaction\": {\"verify\": \"twice\"}}}",
            "line 1: longhaul.compaction.verify must be \"coverage\", \"model\", \"both\" or \"off\", not the string \"twice\"",
            "\"verify\": \"coverage\"",
        );
        check_wrong("{\"hooks\": true}", "line 1: hooks must be an object, not true", "\"hooks\": {}");
    }

    #[test]
    fn what_stands_among_providers_is_not_repeated() {
        check_wrong(
            "{\"longhaul\": {\"providers\": {\"mine\": \"my-own-key\"}}}",
            "line 1: longhaul.providers.mine must be an object, not this string",
            "\"mine\": {\"format\": \"gemini\"}",
        );
        check_wrong(
            "{\"longhaul\": {\"providers\": {\"mine\": {\"format\": \"my-own-key\"}}}}",
            "line 1: longhaul.providers.mine.format must be \"gemini\", \"openai\" or \"anthropic\", not this string",
            "\"format\": \"gemini\"",
        );
    }

    #[test]
    fn a_section_must_be_an_object() {
        check_wrong(
            "{\n\n\"model\": \"gemini-2.5-pro\"}",
            "line 3: model must be an object, not the string \"gemini-2.5-pro\"",
            "\"model\": {\"name\": \"text\"}",
        );
        check_wrong(
            "{\"model\": {\"name\": {\"a\": 1}}}",
            "line 1: model.name must be a string, not an object",
            "\"name\": \"text\"",
        );
        check_wrong(
            "\n[1]",
            "line 2: the file must be an object, not a list",
            "{\"longhaul\": {\"compaction\": {\"threshold\": \"50%\"}}}",
        );
    }
}
