//! Settings of tools, hooks and the turn.

use std::path::Path;
use std::time::Duration;

use longhaul_agent::{OutputSettings, StepLimits};
use longhaul_compaction::TruncateMode;
use longhaul_conversation::TokenCount;
use longhaul_hooks::{Hook, HookScope, HookSettings, VariableRules, parse_hooks};
use longhaul_policy::{ApprovalMode, PolicyError, Rule, SettingVerdict, rule_from_setting};
use longhaul_providers::AnswerLimits;
use longhaul_tools::ALIASES;
use longhaul_workspace::{Home, Ignoring};
use serde_json::Value;

use super::document::Content;
use super::kind;
use super::layers::{Settings, Source};
use crate::trust::GrantKind;

impl Settings {
    /// The limits of a tool's output for the model.
    pub(crate) fn outputs(&self) -> OutputSettings {
        let whole = |key: &str| self.value(&["tools", key]).and_then(Value::as_i64);
        let is_on = self.value(&["tools", "enableToolOutputTruncation"]).and_then(Value::as_bool);
        let usual = OutputSettings::default();
        let lines = whole("truncateToolOutputLines").and_then(|lines| usize::try_from(lines).ok());
        OutputSettings {
            threshold: match is_on {
                Some(false) => 0,
                _ => whole("truncateToolOutputThreshold").unwrap_or(usual.threshold),
            },
            mode: lines.filter(|lines| *lines > 0).map_or(usual.mode, TruncateMode::Lines),
        }
    }

    /// The limits of turns and sessions.
    pub(crate) fn limits(&self) -> StepLimits {
        let session = self.value(&["model", "maxSessionTurns"]).and_then(Value::as_i64);
        let session = session.and_then(|most| u32::try_from(most).ok()).filter(|most| *most > 0);
        StepLimits { session, ..StepLimits::default() }
    }

    /// Returns true if what tools change in files is kept, so that it can be restored.
    pub(crate) fn keeps_checkpoints(&self) -> bool {
        self.value(&["general", "checkpointing", "enabled"]).and_then(Value::as_bool) != Some(false)
    }

    /// Returns true if loop detection is on.
    pub(crate) fn watches_loops(&self) -> bool {
        self.value(&["model", "disableLoopDetection"]).and_then(Value::as_bool) != Some(true)
    }

    /// The size above which a command's output is summarised, if that is on.
    pub(crate) fn shell_summary(&self) -> Option<TokenCount> {
        const USUAL: TokenCount = TokenCount(2_000);
        const TOOL: [&str; 3] = ["model", "summarizeToolOutput", "run_shell_command"];
        self.find(&TOOL)?;
        let budget = self.value(&[TOOL.as_slice(), &["tokenBudget"]].concat());
        Some(budget.and_then(kind::tokens).unwrap_or(USUAL))
    }

    /// The model for small questions.
    pub(crate) fn helper_model(&self) -> Option<&str> {
        self.text(&["longhaul", "helper", "model"])
    }

    /// Returns true if a model judges whether long turns make progress.
    pub(crate) fn judges_loops(&self) -> bool {
        self.watches_loops() && self.is_on(&["longhaul", "loops", "judge"]) != Some(false)
    }

    /// Returns true if a model may be chosen for each prompt.
    pub(crate) fn routes(&self) -> bool {
        self.is_on(&["longhaul", "routing", "perPrompt"]) != Some(false)
    }

    /// The models to choose from: for simple and for hard prompts.
    pub(crate) fn route_names(&self) -> (&str, &str) {
        let name = |tier: &str| self.text(&["longhaul", "routing", tier]);
        (name("flash").unwrap_or("flash"), name("pro").unwrap_or("pro"))
    }

    /// The score from which a prompt goes to the model for hard ones, if scores are used.
    pub(crate) fn score_for_pro(&self) -> Option<u8> {
        const USUAL: u8 = 90;
        let threshold = self.value(&["longhaul", "routing", "scoreThreshold"]).and_then(Value::as_u64);
        let threshold = threshold.map(|score| u8::try_from(score).unwrap_or(u8::MAX));
        self.is_on(&["longhaul", "routing", "byScore"])?.then(|| threshold.unwrap_or(USUAL))
    }

    /// The file in which an editor reports open files.
    pub(crate) fn ide_file(&self) -> Option<&Path> {
        self.text(&["longhaul", "ide", "file"]).map(Path::new)
    }

    /// Returns true if the user has a screen reader.
    pub fn is_for_screen_readers(&self) -> bool {
        self.is_on(&["ui", "accessibility", "screenReader"]) == Some(true)
    }

    /// The limits of one answer, as far as they are stated.
    pub(crate) fn answer_limits(&self) -> AnswerLimits {
        let stated = |key: &str| self.value(&["longhaul", "answers", key]);
        let bytes = |key: &str| stated(key).and_then(kind::bytes);
        AnswerLimits {
            text: bytes("textBytes"),
            thoughts: bytes("thoughtBytes"),
            arguments: bytes("argumentBytes"),
            media: bytes("mediaBytes"),
            calls: stated("calls").and_then(kind::count),
            stream: bytes("streamBytes"),
            time: stated("seconds").and_then(kind::seconds),
        }
    }

    /// The time limit of a command; without a user who could stop it, there is always one.
    pub(crate) fn command_limit(&self, is_attended: bool) -> Option<Duration> {
        const USUAL: Duration = Duration::from_secs(30 * 60);
        let stated = self.value(&["longhaul", "tools", "commandSeconds"]).and_then(kind::seconds);
        stated.or((!is_attended).then_some(USUAL))
    }

    /// Returns true if a session gets a summary when it ends.
    pub(crate) fn summarises_at_end(&self) -> bool {
        self.is_on(&["longhaul", "summary", "atEnd"]) == Some(true)
    }

    fn is_on(&self, steps: &[&str]) -> Option<bool> {
        self.value(steps).and_then(Value::as_bool)
    }

    /// The approval mode, unless the command line states one.
    pub(crate) fn approval_mode(&self) -> Option<ApprovalMode> {
        ApprovalMode::parse(self.text(&["general", "defaultApprovalMode"])?)
    }

    /// The variables withheld from commands and hooks, including provider keys. Only the user's own settings can allow one.
    pub fn variable_rules(&self, home: Option<&Home>) -> VariableRules {
        const SECTION: [&str; 2] = ["security", "environmentVariableRedaction"];
        let users = home.map(|home| self.only(&home.settings())).unwrap_or_default();
        let allowed = users.value(&[SECTION.as_slice(), &["allowed"]].concat()).and_then(Value::as_array);
        let allowed = allowed.into_iter().flatten().filter_map(Value::as_str);
        let keys = self.providers().into_iter().filter_map(|provider| provider.key_variable);
        let blocked = self.blocked_variables().into_iter().map(str::to_string).chain(keys);
        VariableRules {
            is_enabled: users.is_on(&[SECTION.as_slice(), &["enabled"]].concat()) != Some(false),
            allowed: allowed.map(|name| name.trim().to_string()).collect(),
            blocked: blocked.collect(),
        }
    }

    /// Returns true if the model is offered a tool: one of `tools.core`, if that is set, and not excluded as a whole.
    pub(crate) fn offers(&self, tool: &str) -> bool {
        let listed = |list: &str| self.value(&["tools", list]).and_then(Value::as_array);
        let excluded = self.united(&["tools", "exclude"]);
        let meant = |name: &str| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
            alias.map_or(name, |(_, name)| name) == tool
        };
        // What is narrowed, as in `run_shell_command(git)`, is still one to choose from, and not excluded as a whole.
        let whole = |name: &str| name.split('(').next().is_some_and(|name| meant(name.trim()));
        let wants = |list: &Vec<Value>| list.iter().filter_map(Value::as_str).any(whole);
        listed("core").is_none_or(wants) && !excluded.into_iter().map(str::trim).any(meant)
    }

    /// The texts of a list over all layers: what one layer forbids, no other allows.
    pub(super) fn united(&self, steps: &[&str]) -> Vec<&str> {
        let lists = self.layers.iter().filter_map(|layer| {
            let node = steps.iter().try_fold(&layer.root, |node, step| node.get(step))?;
            match &node.content {
                Content::Plain(value) => value.as_array(),
                Content::Object(_) => None,
            }
        });
        let mut names: Vec<&str> = Vec::new();
        for name in lists.flatten().filter_map(Value::as_str) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// The tools of a list that lets them run without asking; empty if the list is the workspace's and suspended.
    fn granting(&self, list: &str) -> Vec<&str> {
        let steps = ["tools", list];
        let is_workspaces = self.find(&steps).is_some_and(|(source, _)| {
            matches!(source, Source::File(file) if self.workspace.as_deref() == Some(file.as_ref()))
        });
        if is_workspaces && self.is_suspended(GrantKind::Policies) {
            return Vec::new();
        }
        let names = self.value(&steps).and_then(Value::as_array).into_iter().flatten();
        names.filter_map(Value::as_str).collect()
    }

    /// Policy rules from settings, and errors in others.
    pub(crate) fn rules(&self) -> (Vec<Rule>, Vec<PolicyError>) {
        const LISTS: [(&str, SettingVerdict); 4] = [
            ("exclude", SettingVerdict::ExcludedTool),
            ("confirmationRequired", SettingVerdict::ConfirmedTool),
            ("allowed", SettingVerdict::AllowedTool),
            ("core", SettingVerdict::CoreTool),
        ];
        let mut made = (Vec::new(), Vec::new());
        for (list, standing) in LISTS {
            let is_restricting =
                matches!(standing, SettingVerdict::ExcludedTool | SettingVerdict::ConfirmedTool);
            let names = if is_restricting { self.united(&["tools", list]) } else { self.granting(list) };
            for name in names {
                match rule_from_setting(standing, name, &format!("tools.{list}")) {
                    Ok(rule) => made.0.push(rule),
                    Err(error) => made.1.push(error),
                }
            }
        }
        made
    }

    /// The ignore rules for tools.
    pub(crate) fn hidden_files(&self) -> Ignoring {
        let filtering = |key: &str| self.value(&["context", "fileFiltering", key]);
        let is_on = |key: &str| filtering(key).and_then(Value::as_bool).unwrap_or(true);
        let custom = filtering("customIgnoreFilePaths").and_then(Value::as_array).into_iter().flatten();
        Ignoring {
            git: is_on("respectGitIgnore"),
            gemini: is_on("respectGeminiIgnore"),
            custom: custom.filter_map(Value::as_str).map(Into::into).collect(),
        }
    }

    /// Every hook, with warnings about invalid ones. `workspace` is the file whose hooks are the project's.
    pub fn hooks(&self, workspace: Option<&Path>) -> (Vec<Hook>, Vec<String>) {
        let mut found = (Vec::new(), Vec::new());
        for layer in &self.layers {
            let Some(node) = layer.root.get("hooks") else { continue };
            let is_workspace =
                matches!(&layer.source, Source::File(file) if Some(file.as_ref()) == workspace);
            let scope = if is_workspace { HookScope::Project } else { HookScope::User };
            let (hooks, warnings) = parse_hooks(&node.to_value(), scope);
            found.0.extend(hooks);
            found.1.extend(warnings);
        }
        found
    }

    /// The settings about all hooks.
    pub(crate) fn hook_settings(&self) -> HookSettings {
        let usual = HookSettings::default();
        let is_on = |key: &str| self.value(&["hooksConfig", key]).and_then(Value::as_bool);
        let disabled = self.value(&["hooksConfig", "disabled"]).and_then(Value::as_array);
        HookSettings {
            is_enabled: is_on("enabled").unwrap_or(usual.is_enabled),
            disabled: disabled.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
            shows_notifications: is_on("notifications").unwrap_or(usual.shows_notifications),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LoadedSettings;

    fn settings(files: &[(&str, &str)]) -> Settings {
        let mut loaded = LoadedSettings::default();
        for (name, text) in files {
            loaded.add(Path::new(name).into(), text.as_bytes()).expect("valid");
        }
        loaded.settings
    }

    #[track_caller]
    fn check_outputs(text: &str, threshold: i64, mode: TruncateMode) {
        assert_eq!(settings(&[("s.json", text)]).outputs(), OutputSettings { threshold, mode }, "{text}");
    }

    #[test]
    fn outputs_are_shortened_as_set() {
        check_outputs("{}", 40_000, TruncateMode::Characters);
        check_outputs(r#"{"tools": {"truncateToolOutputThreshold": 9}}"#, 9, TruncateMode::Characters);
        check_outputs(r#"{"tools": {"truncateToolOutputLines": 50}}"#, 40_000, TruncateMode::Lines(50));
        check_outputs(r#"{"tools": {"enableToolOutputTruncation": false}}"#, 0, TruncateMode::Characters);
    }

    #[test]
    fn limits_and_loops_are_set() {
        let set = settings(&[(
            "s.json",
            r#"{"model": {"maxSessionTurns": 7, "disableLoopDetection": true}, "general": {"defaultApprovalMode": "plan"}}"#,
        )]);
        assert_eq!((set.limits().session, set.watches_loops()), (Some(7), false));
        assert_eq!(set.approval_mode(), Some(ApprovalMode::Plan));
        let unset = settings(&[("s.json", r#"{"model": {"maxSessionTurns": -1}}"#)]);
        assert_eq!((unset.limits().session, unset.watches_loops()), (None, true));
    }

    #[track_caller]
    fn check_summary(text: &str, expected: Option<u64>) {
        let found = settings(&[("s.json", text)]).shell_summary();
        assert_eq!(found.map(|tokens| tokens.0), expected, "{text}");
    }

    #[test]
    fn outputs_are_summarised_as_set() {
        let tool = |content: &str| format!(r#"{{"model": {{"summarizeToolOutput": {{{content}}}}}}}"#);
        check_summary("{}", None);
        check_summary(&tool(""), None);
        check_summary(&tool(r#""glob": {"tokenBudget": 9}"#), None);
        check_summary(&tool(r#""run_shell_command": {}"#), Some(2_000));
        check_summary(&tool(r#""run_shell_command": {"tokenBudget": 300}"#), Some(300));
        check_summary(&tool(r#""run_shell_command": {"tokenBudget": "lots"}"#), Some(2_000));
    }

    #[test]
    fn help_is_had_as_set() {
        let usual = settings(&[]);
        assert_eq!((usual.helper_model(), usual.ide_file(), usual.judges_loops()), (None, None, true));
        assert_eq!((usual.routes(), usual.route_names()), (true, ("flash", "pro")));
        assert!(!usual.summarises_at_end());
        let set = settings(&[(
            "s.json",
            r#"{"longhaul": {
                "helper": {"model": "small"}, "loops": {"judge": false}, "ide": {"file": "ide.json"},
                "routing": {"perPrompt": false, "pro": "large", "byScore": true, "scoreThreshold": 70}, "summary": {"atEnd": true}
            }}"#,
        )]);
        assert_eq!((set.helper_model(), set.ide_file()), (Some("small"), Some(Path::new("ide.json"))));
        assert_eq!((usual.score_for_pro(), set.score_for_pro()), (None, Some(70)));
        assert_eq!((set.judges_loops(), set.routes(), set.route_names()), (false, false, ("flash", "large")));
        assert!(set.summarises_at_end());
        let unwatched = settings(&[("s.json", r#"{"model": {"disableLoopDetection": true}}"#)]);
        assert!(!unwatched.judges_loops());
    }

    #[test]
    fn limits_are_stated() {
        let usual = settings(&[]);
        assert_eq!(usual.answer_limits(), AnswerLimits::default());
        let seconds = Duration::from_secs;
        assert_eq!((usual.command_limit(true), usual.command_limit(false)), (None, Some(seconds(1_800))));
        let set = settings(&[(
            "s.json",
            r#"{"longhaul": {"answers": {"textBytes": "2MB", "calls": 7, "seconds": 60}, "tools": {"commandSeconds": 9}}}"#,
        )]);
        let limits = AnswerLimits {
            text: Some(2_000_000),
            calls: Some(7),
            time: Some(seconds(60)),
            ..AnswerLimits::default()
        };
        assert_eq!(set.answer_limits(), limits);
        assert_eq!((set.command_limit(true), set.command_limit(false)), (Some(seconds(9)), Some(seconds(9))));
    }

    #[test]
    fn lists_of_tools_make_rules() {
        let set = settings(&[(
            "s.json",
            r#"{"tools": {"allowed": ["run_shell_command(git log)", "write_file"], "exclude": ["glob", "glob(x)"]}}"#,
        )]);
        let (rules, problems) = set.rules();
        assert_eq!((rules.len(), problems.len()), (3, 1));
        assert!(problems[0].to_string().contains("glob(x)"), "{}", problems[0]);
    }

    #[test]
    fn hooks_of_all_files_count_and_know_whose_they_are() {
        let hook = |command: &str| {
            format!(
                r#"{{"hooks": {{"BeforeAgent": [{{"hooks": [{{"type": "command", "command": "{command}"}}]}}]}}}}"#
            )
        };
        let set = settings(&[("user.json", &hook("a")), ("work.json", &hook("b"))]);
        let (hooks, warnings) = set.hooks(Some(Path::new("work.json")));
        let found: Vec<_> = hooks.iter().map(|hook| (hook.command.as_str(), hook.scope)).collect();
        assert_eq!(found, [("a", HookScope::User), ("b", HookScope::Project)]);
        assert!(warnings.is_empty());
        assert!(set.hook_settings().is_enabled);
    }
}
