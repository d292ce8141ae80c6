//! What holds for every policy and every call. Property tests and fuzzers call these.

use std::path::Path;

use longhaul_policy::{
    ApprovalMode, Call, Decision, Policy, Priority, ProblemEffect, Rule, RuleSource, RuleTier,
    SettingVerdict, Situation, ToolPattern, Verdict, parse_rules, rule_from_setting, suggest_prefixes,
};
use serde_json::{Value, json};

/// Calls of every sort that the laws are tried on.
fn calls() -> Vec<(&'static str, Value)> {
    vec![
        ("read_file", json!({"file_path": "a.rs"})),
        ("write_file", json!({"file_path": "/etc/passwd", "content": "\0\"file_path\":\"a\""})),
        ("run_shell_command", json!({"command": "git status && rm -r x > y", "dir_path": "b"})),
        ("run_shell_command", json!({"command": "echo $(cat 'x"})),
        ("run_shell_command", json!({"command": 7})),
        ("invoke_agent", json!({"agent_name": "helper"})),
        ("mcp_web_fetch", json!({"url": {"b": 1, "a": [null, 2.5]}})),
        ("", Value::Null),
    ]
}

/// Every circumstance there can be.
fn situations() -> impl Iterator<Item = Situation> {
    ApprovalMode::ALL.into_iter().flat_map(|mode| {
        [(true, true), (true, false), (false, true), (false, false)]
            .into_iter()
            .map(move |(is_interactive, is_trusted)| Situation { mode, is_interactive, is_trusted })
    })
}

/// Any text is read or refused, always alike, and what was read can decide about anything.
pub(crate) fn check_file(text: &str) {
    let (rules, problems) = parse_rules(text, Path::new("any.toml"), RuleTier::User);
    let again = parse_rules(text, Path::new("any.toml"), RuleTier::User);
    assert_eq!(format!("{rules:?} {problems:?}"), format!("{:?} {:?}", again.0, again.1));
    let lines = text.split('\n').count();
    for problem in &problems {
        assert!(problem.line.is_none_or(|line| (1..=lines).contains(&line)), "{problem}");
        assert!(!problem.reason.is_empty());
    }
    if problems.iter().any(|problem| problem.effect == ProblemEffect::FileSkipped) {
        assert!(rules.is_empty());
    }
    check_policy(&rules);
}

/// Any command line is decided about, and one that is allowed hides no other command.
pub(crate) fn check_command_line(line: &str) {
    let rule = |name: &str, standing| rule_from_setting(standing, name, "a setting").expect("a rule");
    let allowing = Policy::default().with(rule("run_shell_command(echo)", SettingVerdict::AllowedTool));
    let denying = Policy::unattended().with(rule("run_shell_command(denied)", SettingVerdict::ExcludedTool));
    let decide = |line: &str| {
        let args = json!({ "command": line });
        let call = Call::new("run_shell_command", &args);
        let decisions =
            [&allowing, &denying].map(|policy| policy.decide(&call, Situation::default()).decision);
        assert!(suggest_prefixes(line).is_none_or(|prefixes| !prefixes.is_empty()));
        decisions
    };
    decide(line);
    let mut hidden = vec![format!("denied\n{line}")];
    // What is not closed may go on behind it.
    if longhaul_shell::parse_script(line).unclear.is_none() {
        hidden.extend([format!("{line}\ndenied"), format!("echo $({line}\ndenied)")]);
    }
    for line in hidden {
        assert!(!decide(&line).contains(&Decision::Allow), "{line:?}");
    }
}

/// The laws of deciding, for one set of rules.
pub(crate) fn check_policy(rules: &[Rule]) {
    let policy = Policy::new(rules.to_vec());
    let backwards = Policy::new(rules.iter().rev().cloned().collect());
    for (tool, args) in calls() {
        let call = Call::new(tool, &args);
        for situation in situations() {
            let ruling = policy.decide(&call, situation);
            assert_eq!(ruling.decision, policy.explain(&call, situation).ruling.decision);
            check_key_order(&policy, tool, &args, situation, &ruling.decision);
            let strictness = strictness(&ruling.decision);
            let order = backwards.decide(&call, situation).decision;
            assert_eq!(strictness, self::strictness(&order), "the order of rules changes a decision");
            if !situation.is_interactive {
                assert_ne!(ruling.decision, Decision::Ask, "nobody can be asked");
            }
            for rule in rules {
                let mut deny = rule.clone();
                deny.verdict = Verdict::Deny;
                let with = policy.clone().with(deny).decide(&call, situation).decision;
                assert!(self::strictness(&with) >= strictness, "a deny rule allowed more");
            }
        }
    }
}

fn check_key_order(policy: &Policy, tool: &str, args: &Value, situation: Situation, expected: &Decision) {
    let turned = turned(args);
    assert_eq!(&policy.decide(&Call::new(tool, &turned), situation).decision, expected);
}

/// The same value with the keys of every object the other way round.
fn turned(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(
            fields.iter().rev().map(|(key, value)| (key.clone(), self::turned(value))).collect(),
        ),
        Value::Array(items) => Value::Array(items.iter().map(turned).collect()),
        other => other.clone(),
    }
}

/// A rule of a higher tier about everything outweighs all others.
pub(crate) fn check_tiers(rules: Vec<Rule>, verdict: Verdict) {
    let top = Priority::new(RuleTier::Admin, 0);
    let policy = Policy::new(rules).with(Rule::new(ToolPattern::Any, verdict, top, RuleSource::BuiltIn));
    for (tool, args) in calls() {
        for situation in situations() {
            let ruling = policy.decide(&Call::new(tool, &args), situation);
            assert_eq!(ruling.rule.map(|rule| rule.priority.tier()), Some(RuleTier::Admin));
        }
    }
}

fn strictness(decision: &Decision) -> u8 {
    match decision {
        Decision::Allow => 0,
        Decision::Ask => 1,
        Decision::Deny { .. } => 2,
    }
}
