//! What an "always" of the user's weighs against everything else, and how it is explained.

use longhaul_policy::{
    AllowedCalls, AlwaysAllow, ApprovalMode, Call, Decision, Policy, Reach, Rule, RuleTier, SettingVerdict,
    Situation, default_rules, parse_rules, rule_from_setting,
};
use proptest::prelude::*;
use serde_json::{Value, json};

fn always(calls: AllowedCalls, reach: Reach) -> Rule {
    let tool = "run_shell_command".into();
    AlwaysAllow { tool, server: None, calls }.rule_for(reach).expect("a rule")
}

fn rules(tier: RuleTier, text: &str) -> Vec<Rule> {
    let (rules, problems) = parse_rules(text, "written.toml".as_ref(), tier);
    assert_eq!(problems, []);
    rules
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny { .. } => "deny",
    }
}

/// Decides about `git push`, which the user always allows, under a rule that is written by hand.
#[track_caller]
fn check(tier: RuleTier, decision: &str, priority: u16, expected: [&str; 3]) {
    let written = format!(
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = 'git push'\ndecision = '{decision}'\npriority = {priority}\n"
    );
    let args = json!({"command": "git push"});
    for (reach, expected) in Reach::ALL.into_iter().zip(expected) {
        let saved = always(AllowedCalls::Commands(vec!["git push".into()]), reach);
        let policy =
            Policy::new(default_rules().into_iter().chain(rules(tier, &written)).collect()).with(saved);
        let call = Call::new("run_shell_command", &args);
        let found = policy.decide(&call, Situation::default()).decision;
        assert_eq!(word(&found), expected, "{tier} {decision} {priority}, {reach}");
    }
}

#[test]
fn a_deny_outranks_what_is_always_allowed() {
    for tier in [RuleTier::Extension, RuleTier::Workspace, RuleTier::User, RuleTier::Admin] {
        for priority in [0, 500, 999] {
            check(tier, "deny", priority, ["deny"; 3]);
        }
    }
}

#[test]
fn a_rule_that_asks_weighs_what_it_weighs() {
    check(RuleTier::Workspace, "ask_user", 100, ["allow"; 3]);
    check(RuleTier::Workspace, "ask_user", 960, ["ask", "ask", "allow"]);
    check(RuleTier::User, "ask_user", 100, ["ask", "ask", "allow"]);
    check(RuleTier::User, "ask_user", 960, ["ask"; 3]);
    check(RuleTier::Admin, "ask_user", 0, ["ask"; 3]);
}

#[test]
fn a_setting_that_excludes_a_tool_is_a_deny() {
    let excluded =
        rule_from_setting(SettingVerdict::ExcludedTool, "run_shell_command(git push)", "tools.exclude");
    let policy = Policy::new(default_rules())
        .with(excluded.expect("a rule"))
        .with(always(AllowedCalls::Commands(vec!["git".into()]), Reach::Everywhere));
    for (command, expected) in [("git push", "deny"), ("git log", "allow"), ("git log && git push", "deny")] {
        let args = json!({ "command": command });
        let found = policy.decide(&Call::new("run_shell_command", &args), Situation::default()).decision;
        assert_eq!(word(&found), expected, "{command}");
    }
}

#[test]
fn an_always_counts_without_a_user_and_not_in_a_plan() {
    let policy = Policy::new(default_rules()).with(always(AllowedCalls::All, Reach::Project));
    let args = json!({"command": "make"});
    let decide = |situation| word(&policy.decide(&Call::new("run_shell_command", &args), situation).decision);
    assert_eq!(decide(Situation { is_interactive: false, ..Situation::default() }), "allow");
    assert_eq!(decide(Situation { mode: ApprovalMode::Plan, ..Situation::default() }), "deny");
}

#[test]
fn an_explanation_says_that_a_deny_outranks_it() {
    let denied = "[[rule]]\nname = 'no pushing'\ntoolName = 'run_shell_command'\ncommandPrefix = 'git push'\ndecision = 'deny'\npriority = 1\n";
    let policy =
        Policy::new(rules(RuleTier::Workspace, denied)).with(always(AllowedCalls::All, Reach::Everywhere));
    let args = json!({"command": "git push"});
    let explained = policy.explain(&Call::new("run_shell_command", &args), Situation::default()).to_string();
    let expected = [
        "decided by deny rule \"no pushing\" (workspace 3.001, written.toml:1)",
        "allow rule (user 4.950, your approval in this session) also matches, but a deny rule overrides saved approvals",
    ];
    for line in expected {
        assert!(explained.contains(line), "no {line:?} in:\n{explained}");
    }
}

fn tier() -> impl Strategy<Value = RuleTier> {
    prop::sample::select(vec![RuleTier::Extension, RuleTier::Workspace, RuleTier::User, RuleTier::Admin])
}

fn written() -> impl Strategy<Value = (RuleTier, String)> {
    let tools = prop::sample::select(vec!["'*'", "'run_shell_command'", "['write_file', 'glob']"]);
    let decisions = prop::sample::select(vec!["allow", "deny", "ask_user"]);
    (tier(), tools, decisions, 0..1000_u16).prop_map(|(tier, tool, decision, priority)| {
        (tier, format!("[[rule]]\ntoolName = {tool}\ndecision = '{decision}'\npriority = {priority}\n"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Where anything denies a call, an "always" changes nothing, whatever else is written.
    #[test]
    fn an_always_never_matters_where_something_denies(
        files in prop::collection::vec(written(), 0..6),
        denier in tier(),
        priority in 0..1000_u16,
        reach in prop::sample::select(Reach::ALL.to_vec()),
    ) {
        let mut all = default_rules();
        all.extend(files.iter().flat_map(|(tier, text)| rules(*tier, text)));
        all.extend(rules(denier, &format!("[[rule]]\ntoolName = '*'\ndecision = 'deny'\npriority = {priority}\n")));
        let without = Policy::new(all);
        let with = without.clone().with(always(AllowedCalls::All, reach));
        let args: Value = json!({"command": "make && ls", "file_path": "x"});
        for tool in ["run_shell_command", "write_file"] {
            for mode in ApprovalMode::ALL {
                for is_interactive in [true, false] {
                    let situation = Situation { mode, is_interactive, is_trusted: true };
                    let call = Call::new(tool, &args);
                    prop_assert_eq!(
                        with.decide(&call, situation).decision,
                        without.decide(&call, situation).decision
                    );
                }
            }
        }
    }
}
