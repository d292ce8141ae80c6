//! Reading of hooks from settings, and the choice of hooks for an event.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::event::{EventName, HookEvent};
use crate::matcher::HookMatcher;

/// The default timeout of a hook.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// The author of a hook. Hooks run in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HookScope {
    /// The project; such hooks run only in trusted folders.
    Project,
    /// The user.
    User,
    /// The administrator of the machine.
    System,
    /// An extension.
    Extension,
}

/// A command that runs at an event.
#[derive(Clone, Debug)]
pub struct Hook {
    /// The event.
    pub event: EventName,
    /// The author.
    pub scope: HookScope,
    /// The tools or triggers it runs for.
    pub matcher: HookMatcher,
    /// True if it waits for the hooks before it and sees their changes.
    pub is_sequential: bool,
    /// The command line.
    pub command: String,
    /// The name, if the author gave one.
    pub name: Option<String>,
    /// The description.
    pub description: Option<String>,
    /// The timeout.
    pub timeout: Duration,
    /// Additional environment variables.
    pub env: BTreeMap<String, String>,
}

impl Hook {
    /// The display name: the name, or the command.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.command)
    }

    /// The identity of the hook: `name:command`.
    pub fn key(&self) -> String {
        format!("{}:{}", self.name.as_deref().unwrap_or_default(), self.command)
    }
}

/// The general hook settings, `hooksConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookSettings {
    /// False if no hook runs.
    pub is_enabled: bool,
    /// The disabled hooks, by name, or by command if they have none.
    pub disabled: Vec<String>,
    /// True if the user sees which hooks run.
    pub shows_notifications: bool,
}

impl Default for HookSettings {
    fn default() -> Self {
        Self { is_enabled: true, disabled: Vec::new(), shows_notifications: true }
    }
}

/// Parses the `hooks` of one settings file, or an extension's `hooks/hooks.json`.
///
/// An invalid entry is skipped; the second value holds the warnings.
pub fn parse_hooks(hooks: &Value, scope: HookScope) -> (Vec<Hook>, Vec<String>) {
    let mut reader = HookReader { scope, hooks: Vec::new(), warnings: Vec::new() };
    match hooks {
        Value::Object(events) => events.iter().for_each(|(name, groups)| reader.event(name, groups)),
        Value::Null => {}
        _ => reader.warn("hooks must be an object with a list for each event"),
    }
    (reader.hooks, reader.warnings)
}

struct HookReader {
    scope: HookScope,
    hooks: Vec<Hook>,
    warnings: Vec<String>,
}

impl HookReader {
    fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    fn event(&mut self, name: &str, groups: &Value) {
        let Some(event) = EventName::parse(name) else {
            return self.warn(format!("hooks.{name}: unknown event"));
        };
        let Value::Array(groups) = groups else { return self.warn(format!("hooks.{name} must be a list")) };
        for (place, group) in groups.iter().enumerate() {
            self.group(event, &format!("hooks.{name}[{place}]"), group);
        }
    }

    fn group(&mut self, event: EventName, at: &str, group: &Value) {
        let Some(entries) = group.get("hooks").and_then(Value::as_array) else {
            return self.warn(format!("{at} must be an object with a list of hooks"));
        };
        let matcher = match group.get("matcher") {
            None | Some(Value::Null) => HookMatcher::Any,
            Some(Value::String(text)) => HookMatcher::parse(text),
            Some(_) => return self.warn(format!("{at}.matcher must be a string")),
        };
        let is_sequential = group.get("sequential").and_then(Value::as_bool).unwrap_or(false);
        for (place, entry) in entries.iter().enumerate() {
            match self.hook(event, &format!("{at}.hooks[{place}]"), entry) {
                Ok(hook) => self.hooks.push(Hook { matcher: matcher.clone(), is_sequential, ..hook }),
                Err(warning) => self.warn(warning),
            }
        }
    }

    fn hook(&mut self, event: EventName, at: &str, entry: &Value) -> Result<Hook, String> {
        let entry = entry.as_object().ok_or_else(|| format!("{at} must be an object"))?;
        match entry.get("type").and_then(Value::as_str) {
            Some("command") => {}
            Some(other) => return Err(format!("{at}.type: {other:?} hooks are not supported")),
            None => return Err(format!("{at}.type must be \"command\"")),
        }
        let command = text(entry, "command").filter(|command| !command.trim().is_empty());
        let timeout = match entry.get("timeout") {
            None | Some(Value::Null) => DEFAULT_TIMEOUT,
            Some(given) => match given.as_f64().filter(|millis| *millis >= 1.0 && *millis < 1e12) {
                Some(millis) => Duration::from_millis(millis as u64),
                None => {
                    self.warn(format!("{at}.timeout must be a number of milliseconds; using 60 seconds"));
                    DEFAULT_TIMEOUT
                }
            },
        };
        let env = entry.get("env").and_then(Value::as_object).into_iter().flatten();
        Ok(Hook {
            event,
            scope: self.scope,
            matcher: HookMatcher::Any,
            is_sequential: false,
            command: command.ok_or_else(|| format!("{at}.command must be a non-empty string"))?,
            name: text(entry, "name").filter(|name| !name.is_empty()),
            description: text(entry, "description"),
            timeout,
            env: env.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect(),
        })
    }
}

fn text(entry: &Map<String, Value>, field: &str) -> Option<String> {
    entry.get(field).and_then(Value::as_str).map(str::to_owned)
}

/// All hooks that may run, in order.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    hooks: Vec<Hook>,
}

/// The hooks that run at one event.
#[derive(Clone, Debug)]
pub struct HookPlan<'a> {
    /// The hooks in order.
    pub hooks: Vec<&'a Hook>,
    /// True if they run one after the other, because at least one of them asks for it.
    pub is_sequential: bool,
}

impl Hooks {
    /// Sorts hooks by scope and drops disabled ones and, in an untrusted folder, those of the project.
    pub fn new(mut hooks: Vec<Hook>, settings: &HookSettings, is_trusted: bool) -> Self {
        let runs = |hook: &Hook| {
            settings.is_enabled
                && (is_trusted || hook.scope != HookScope::Project)
                && !settings.disabled.iter().any(|disabled| disabled == hook.label())
        };
        hooks.retain(runs);
        hooks.sort_by_key(|hook| hook.scope);
        Self { hooks }
    }

    /// The hooks in order.
    pub fn as_slice(&self) -> &[Hook] {
        &self.hooks
    }

    /// True if a hook may run at this event; if not, nothing needs to be prepared.
    pub fn has(&self, event: EventName) -> bool {
        self.hooks.iter().any(|hook| hook.event == event)
    }

    /// Chooses the hooks for an event. Of two with the same name and command, only the first runs.
    pub fn plan(&self, event: &HookEvent, is_trusted: bool) -> HookPlan<'_> {
        let mut seen = HashSet::new();
        let is_meant = |hook: &&Hook| {
            hook.event == event.name()
                && hook.matcher.matches(event)
                && (is_trusted || hook.scope != HookScope::Project)
        };
        let hooks: Vec<_> =
            self.hooks.iter().filter(is_meant).filter(|hook| seen.insert(hook.key())).collect();
        HookPlan { is_sequential: hooks.iter().any(|hook| hook.is_sequential), hooks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ToolUse;
    use serde_json::json;

    fn read(hooks: &Value, scope: HookScope) -> Vec<Hook> {
        let (hooks, warnings) = parse_hooks(hooks, scope);
        assert_eq!(warnings, [""; 0]);
        hooks
    }

    #[test]
    fn a_hook_is_read_with_all_its_fields() {
        let hooks = read(
            &json!({"BeforeTool": [{"matcher": "write", "sequential": true, "hooks": [
                {"type": "command", "command": "check", "name": "n", "description": "d", "timeout": 500, "env": {"A": "1"}},
                {"type": "command", "command": "other"}
            ]}]}),
            HookScope::User,
        );
        let [first, second] = hooks.as_slice() else { panic!("{hooks:?}") };
        assert_eq!((first.label(), first.key().as_str()), ("n", "n:check"));
        assert_eq!((first.timeout, first.description.as_deref()), (Duration::from_millis(500), Some("d")));
        assert_eq!(first.env.get("A").map(String::as_str), Some("1"));
        assert!(first.is_sequential && second.is_sequential);
        assert_eq!((second.label(), second.timeout), ("other", Duration::from_secs(60)));
    }

    #[track_caller]
    fn check_warning(hooks: &Value, kept: usize, warning: &str) {
        let (hooks, warnings) = parse_hooks(hooks, HookScope::User);
        assert_eq!((hooks.len(), warnings), (kept, vec![warning.to_owned()]));
    }

    #[test]
    fn what_is_wrong_costs_itself() {
        let good = json!({"type": "command", "command": "x"});
        check_warning(&json!([]), 0, "hooks must be an object with a list for each event");
        check_warning(
            &json!({"BeforeLunch": [], "BeforeTool": [{"hooks": [good]}]}),
            1,
            "hooks.BeforeLunch: unknown event",
        );
        check_warning(&json!({"BeforeTool": {}}), 0, "hooks.BeforeTool must be a list");
        check_warning(
            &json!({"BeforeTool": [7, {"hooks": [good]}]}),
            1,
            "hooks.BeforeTool[0] must be an object with a list of hooks",
        );
        check_warning(
            &json!({"BeforeTool": [{"matcher": 1, "hooks": [good]}]}),
            0,
            "hooks.BeforeTool[0].matcher must be a string",
        );
        let entry = |entry: Value, kept: usize, warning: &str| {
            check_warning(
                &json!({"BeforeTool": [{"hooks": [entry, good]}]}),
                kept,
                &format!("hooks.BeforeTool[0].hooks[0]{warning}"),
            );
        };
        entry(json!(1), 1, " must be an object");
        entry(json!({"command": "x"}), 1, ".type must be \"command\"");
        entry(json!({"type": "plugin", "command": "x"}), 1, ".type: \"plugin\" hooks are not supported");
        entry(json!({"type": "command"}), 1, ".command must be a non-empty string");
        entry(json!({"type": "command", "command": " "}), 1, ".command must be a non-empty string");
        entry(
            json!({"type": "command", "command": "y", "timeout": -1}),
            2,
            ".timeout must be a number of milliseconds; using 60 seconds",
        );
    }

    fn command(event: &str, command: &str, scope: HookScope) -> Vec<Hook> {
        read(&json!({event: [{"hooks": [{"type": "command", "command": command}]}]}), scope)
    }

    #[track_caller]
    fn check_plan(hooks: &Hooks, is_trusted: bool, expected: &[&str]) {
        let plan = hooks
            .plan(&HookEvent::PreCompress { trigger: longhaul_conversation::Trigger::Automatic }, is_trusted);
        let commands: Vec<_> = plan.hooks.iter().map(|hook| hook.command.as_str()).collect();
        assert_eq!(commands, expected);
    }

    fn one_of_each_scope() -> Vec<Hook> {
        [
            ("e", HookScope::Extension),
            ("s", HookScope::System),
            ("u", HookScope::User),
            ("p", HookScope::Project),
        ]
        .into_iter()
        .flat_map(|(name, scope)| command("PreCompress", name, scope))
        .collect()
    }

    #[test]
    fn hooks_run_in_the_order_of_their_scopes() {
        let hooks = Hooks::new(one_of_each_scope(), &HookSettings::default(), true);
        check_plan(&hooks, true, &["p", "u", "s", "e"]);
    }

    #[test]
    fn a_project_needs_trust() {
        let hooks = Hooks::new(one_of_each_scope(), &HookSettings::default(), false);
        check_plan(&hooks, true, &["u", "s", "e"]);
        let hooks = Hooks::new(one_of_each_scope(), &HookSettings::default(), true);
        check_plan(&hooks, false, &["u", "s", "e"]);
    }

    #[test]
    fn hooks_can_be_disabled() {
        let off = HookSettings { is_enabled: false, ..HookSettings::default() };
        check_plan(&Hooks::new(one_of_each_scope(), &off, true), true, &[]);
        let mut hooks = one_of_each_scope();
        hooks[0].name = Some("named".into());
        let some = HookSettings { disabled: vec!["named".into(), "u".into()], ..HookSettings::default() };
        check_plan(&Hooks::new(hooks.clone(), &some, true), true, &["p", "s"]);
        let by_command = HookSettings { disabled: vec!["e".into()], ..HookSettings::default() };
        check_plan(&Hooks::new(hooks, &by_command, true), true, &["p", "u", "s", "e"]);
    }

    #[test]
    fn the_same_hook_runs_once() {
        let mut hooks = command("PreCompress", "x", HookScope::User);
        hooks.extend(command("PreCompress", "x", HookScope::Project));
        let mut named = command("PreCompress", "x", HookScope::User);
        named[0].name = Some("n".into());
        hooks.extend(named);
        let hooks = Hooks::new(hooks, &HookSettings::default(), true);
        check_plan(&hooks, true, &["x", "x"]);
    }

    #[test]
    fn one_that_waits_makes_all_wait() {
        let group = |sequential: bool, command: &str| json!({"matcher": "glob", "sequential": sequential, "hooks": [{"type": "command", "command": command}]});
        let hooks = read(&json!({"BeforeTool": [group(false, "a"), group(true, "b")]}), HookScope::User);
        let hooks = Hooks::new(hooks, &HookSettings::default(), true);
        let glob = HookEvent::BeforeTool { call: ToolUse { tool_name: "glob".into(), ..ToolUse::default() } };
        assert!(hooks.plan(&glob, true).is_sequential);
        assert_eq!(hooks.plan(&glob, true).hooks.len(), 2);
        let other = HookEvent::BeforeTool { call: ToolUse::default() };
        assert!(hooks.plan(&other, true).hooks.is_empty());
        assert!(hooks.has(EventName::BeforeTool) && !hooks.has(EventName::AfterTool));
    }
}
