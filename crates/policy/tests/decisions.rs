//! Which decision falls, and which rule makes it.

use longhaul_policy::{
    ApprovalMode, Call, Caution, Decision, Policy, RuleTier, SettingVerdict, Situation, default_rules,
    parse_rules, rule_from_setting,
};
use serde_json::{Value, json};

fn policy_of(files: &[(RuleTier, &str)]) -> Policy {
    let mut rules = Vec::new();
    for (tier, text) in files {
        let (read, problems) = parse_rules(text, "test.toml".as_ref(), *tier);
        assert_eq!(problems, []);
        rules.extend(read);
    }
    Policy::new(rules)
}

/// A policy of the built-in rules and these of the user's.
fn user_policy(text: &str) -> Policy {
    let user = policy_of(&[(RuleTier::User, text)]);
    Policy::new(default_rules().into_iter().chain(user.rules().iter().cloned()).collect())
}

fn rule(fields: &str) -> String {
    format!("[[rule]]\npriority = 100\n{fields}\n")
}

const ALONE: Situation = Situation { mode: ApprovalMode::Default, is_interactive: false, is_trusted: true };

fn in_mode(mode: ApprovalMode) -> Situation {
    Situation { mode, ..Situation::default() }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny { .. } => "deny",
    }
}

#[track_caller]
fn check(policy: &Policy, call: &Call<'_>, situation: Situation, expected: &str) {
    let ruling = policy.decide(call, situation);
    assert_eq!(word(&ruling.decision), expected, "{call:?}\n{ruling:?}");
}

#[track_caller]
fn check_call(policy: &Policy, tool: &str, args: &Value, expected: &str) {
    check(policy, &Call::new(tool, args), Situation::default(), expected);
}

#[track_caller]
fn check_command(policy: &Policy, command: &str, expected: &str) {
    check_call(policy, "run_shell_command", &json!({ "command": command }), expected);
}

#[test]
fn built_in_rules_by_mode() {
    use ApprovalMode::{AutoEdit, Default, Plan, Yolo};
    let policy = Policy::new(default_rules());
    let args = json!({"file_path": "x", "command": "make > log"});
    let check = |tool: &str, by_mode: [&str; 4], without_user: [&str; 4]| {
        for (is_interactive, expected) in [(true, by_mode), (false, without_user)] {
            for (mode, expected) in [Default, AutoEdit, Yolo, Plan].into_iter().zip(expected) {
                let situation = Situation { mode, is_interactive, is_trusted: true };
                let ruling = policy.decide(&Call::new(tool, &args), situation);
                assert_eq!(word(&ruling.decision), expected, "{tool} {situation:?}");
            }
        }
    };
    for tool in ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "recall_history"] {
        check(tool, ["allow"; 4], ["allow"; 4]);
    }
    check("search_file_content", ["allow"; 4], ["allow"; 4]);
    check("write_todos", ["allow"; 4], ["allow"; 4]);
    check("ask_user", ["allow"; 4], ["deny"; 4]);
    for tool in ["write_file", "replace"] {
        check(tool, ["ask", "allow", "allow", "deny"], ["deny", "allow", "allow", "deny"]);
    }
    for tool in ["run_shell_command", "save_memory", "web_fetch"] {
        check(tool, ["ask", "ask", "allow", "deny"], ["deny", "deny", "allow", "deny"]);
    }
    for tool in ["activate_skill", "compact_now"] {
        check(tool, ["ask", "ask", "allow", "ask"], ["deny", "deny", "allow", "deny"]);
    }
    check("unheard_of", ["ask", "ask", "allow", "deny"], ["deny", "deny", "allow", "deny"]);
}

#[test]
fn without_a_rule_the_mode_decides() {
    let policy = Policy::default();
    let args = json!({});
    let call = Call::new("anything", &args);
    check(&policy, &call, Situation::default(), "ask");
    check(&policy, &call, ALONE, "deny");
    check(&policy, &call, in_mode(ApprovalMode::Yolo), "allow");
    check(&policy, &call, in_mode(ApprovalMode::Plan), "ask");
    assert!(policy.decide(&call, ALONE).rule.is_none());
    assert_eq!(policy.decide(&call, ALONE).caution, Some(Caution::NoTerminal));
}

#[test]
fn a_higher_tier_wins_and_then_the_priority() {
    let say = |decision: &str, priority: u16| {
        format!("[[rule]]\ntoolName = 'glob'\ndecision = '{decision}'\npriority = {priority}\n")
    };
    let check = |files: &[(RuleTier, &str)], expected: &str| {
        check_call(&policy_of(files), "glob", &json!({}), expected);
    };
    check(&[(RuleTier::Default, &say("allow", 999)), (RuleTier::Extension, &say("deny", 0))], "deny");
    check(&[(RuleTier::Workspace, &say("deny", 999)), (RuleTier::User, &say("allow", 0))], "allow");
    check(&[(RuleTier::Admin, &say("ask_user", 0)), (RuleTier::User, &say("allow", 999))], "ask");
    check(&[(RuleTier::User, &say("deny", 10)), (RuleTier::User, &say("allow", 11))], "allow");
    check(&[(RuleTier::User, &say("allow", 10)), (RuleTier::User, &say("deny", 10))], "deny");
}

#[test]
fn a_rule_names_tools() {
    let rules = rule("toolName = ['glob', 'grep_search']\ndecision = 'deny'");
    let policy = policy_of(&[(RuleTier::User, &rules)]);
    check_call(&policy, "glob", &json!({}), "deny");
    check_call(&policy, "grep_search", &json!({}), "deny");
    check_call(&policy, "search_file_content", &json!({}), "deny");
    check_call(&policy, "globe", &json!({}), "ask");
    let old = policy_of(&[(RuleTier::User, &rule("toolName = 'search_file_content'\ndecision = 'deny'"))]);
    check_call(&old, "grep_search", &json!({}), "deny");
}

#[test]
fn an_agent_s_name_counts_as_a_tool() {
    let policy = policy_of(&[(RuleTier::User, &rule("toolName = 'helper'\ndecision = 'deny'"))]);
    check_call(&policy, "invoke_agent", &json!({"agent_name": "helper"}), "deny");
    check_call(&policy, "invoke_agent", &json!({"agent_name": "other"}), "ask");
    check_call(&policy, "read_file", &json!({"agent_name": "helper"}), "ask");
}

#[test]
fn mcp_tools_are_told_by_their_server() {
    let args = json!({});
    let tool = |name: &'static str| Call::new(name, &args);
    let check = |fields: &str, call: Call<'_>, expected: &str| {
        check(&policy_of(&[(RuleTier::User, &rule(fields))]), &call, Situation::default(), expected);
    };
    let all = "toolName = 'mcp_*'\ndecision = 'deny'";
    check(all, tool("mcp_web_get").of_server("web"), "deny");
    check(all, tool("mcp_web_get"), "ask");
    check(all, tool("read_file"), "ask");
    let one = "toolName = 'mcp_web_*'\ndecision = 'deny'";
    check(one, tool("mcp_web_get").of_server("web"), "deny");
    check(one, tool("mcp_web_pages_get").of_server("web_pages"), "ask");
    let named = "toolName = 'get'\nmcpName = 'web'\ndecision = 'deny'";
    check(named, tool("mcp_web_get").of_server("web"), "deny");
    check(named, tool("mcp_web_put").of_server("web"), "ask");
    check(named, tool("mcp_other_get").of_server("other"), "ask");
    check(named, tool("get"), "ask");
    let whole = "toolName = '*'\nmcpName = 'web'\ndecision = 'deny'";
    check(whole, tool("mcp_web_put").of_server("web"), "deny");
    check(whole, tool("read_file"), "ask");
    let any = "toolName = '*'\nmcpName = '*'\ndecision = 'deny'";
    check(any, tool("mcp_web_put").of_server("web"), "deny");
    check(any, tool("read_file"), "ask");
    check("toolName = 'mcp_web_get'\ndecision = 'deny'", tool("mcp_web_get").of_server("web"), "deny");
}

#[test]
fn a_rule_can_be_about_one_agent() {
    let args = json!({});
    let policy =
        policy_of(&[(RuleTier::User, &rule("toolName = '*'\nsubagent = 'save_memory'\ndecision = 'deny'"))]);
    check(&policy, &Call::new("glob", &args).by("save_memory"), Situation::default(), "deny");
    check(&policy, &Call::new("glob", &args).by("other"), Situation::default(), "ask");
    check(&policy, &Call::new("glob", &args), Situation::default(), "ask");
    let all = policy_of(&[(RuleTier::User, &rule("toolName = '*'\ndecision = 'deny'"))]);
    check(&all, &Call::new("glob", &args).by("save_memory"), Situation::default(), "deny");
}

#[test]
fn a_rule_can_depend_on_mode_and_user() {
    let args = json!({});
    let call = Call::new("glob", &args);
    let policy = policy_of(&[(
        RuleTier::User,
        &rule("toolName = '*'\nmodes = ['plan', 'autoEdit']\ndecision = 'deny'"),
    )]);
    check(&policy, &call, in_mode(ApprovalMode::Plan), "deny");
    check(&policy, &call, in_mode(ApprovalMode::AutoEdit), "deny");
    check(&policy, &call, in_mode(ApprovalMode::Default), "ask");
    let policy =
        policy_of(&[(RuleTier::User, &rule("toolName = '*'\ninteractive = false\ndecision = 'allow'"))]);
    check(&policy, &call, ALONE, "allow");
    check(&policy, &call, Situation::default(), "ask");
}

#[test]
fn annotations_must_all_be_equal() {
    let policy = policy_of(&[(
        RuleTier::User,
        &rule("toolName = '*'\ndecision = 'allow'\ntoolAnnotations = { readOnlyHint = true, level = 2 }"),
    )]);
    let args = json!({});
    let check = |annotations: Value, expected: &str| {
        let call = Call { annotations: annotations.as_object(), ..Call::new("x", &args) };
        self::check(&policy, &call, Situation::default(), expected);
    };
    check(json!({"readOnlyHint": true, "level": 2, "more": 1}), "allow");
    check(json!({"readOnlyHint": true, "level": 3}), "ask");
    check(json!({"readOnlyHint": true}), "ask");
    check_call(&policy, "x", &args, "ask");
}

#[test]
fn arguments_are_searched_as_stable_json() {
    let policy = policy_of(&[(
        RuleTier::User,
        &rule("toolName = 'f'\nargsPattern = '\"a\":1.*\"b\":2'\ndecision = 'deny'"),
    )]);
    check_call(&policy, "f", &json!({"b": 2, "a": 1}), "deny");
    check_call(&policy, "f", &json!({"a": 1, "b": 2}), "deny");
    check_call(&policy, "f", &json!({"x": {"b": 2, "a": 1}}), "deny");
    check_call(&policy, "f", &json!({"b": 1, "a": 2}), "ask");
}

#[test]
fn a_top_level_key_cannot_be_imitated() {
    let fields = r#"toolName = 'write_file'
argsPattern = '\0"file_path":"safe/[^"]*"\0'
decision = 'allow'"#;
    let policy = policy_of(&[(RuleTier::User, &rule(fields))]);
    check_call(&policy, "write_file", &json!({"file_path": "safe/a", "content": ""}), "allow");
    check_call(
        &policy,
        "write_file",
        &json!({"file_path": "/etc/x", "content": "\"file_path\":\"safe/a\""}),
        "ask",
    );
    check_call(
        &policy,
        "write_file",
        &json!({"file_path": "/etc/x", "content": "\0\"file_path\":\"safe/a\"\0"}),
        "ask",
    );
    check_call(&policy, "write_file", &json!({"file_path": "/etc/x", "x": {"file_path": "safe/a"}}), "ask");
}

#[test]
fn a_pattern_needs_arguments() {
    let policy = policy_of(&[(RuleTier::User, &rule("toolName = '*'\nargsPattern = ''\ndecision = 'deny'"))]);
    check_call(&policy, "f", &Value::Null, "ask");
    check_call(&policy, "f", &json!({}), "deny");
}

#[test]
fn prefixes_match_whole_words() {
    let policy = user_policy(&rule(
        "toolName = 'run_shell_command'\ncommandPrefix = ['git log', 'ls']\ndecision = 'allow'",
    ));
    for allowed in ["git log", "git log --oneline", "git  log", "'git' \"log\" -p", "ls", "ls -la /", " ls "]
    {
        check_command(&policy, allowed, "allow");
    }
    for asked in
        ["git", "git logs", "gitlog", "git push", "lsof", "'git log'", "/tmp/ls", "A=1 ls", "$ls", "\\\nlsx"]
    {
        check_command(&policy, asked, "ask");
    }
}

#[test]
fn every_command_of_a_line_must_be_allowed() {
    let policy = user_policy(&rule(
        "toolName = 'run_shell_command'\ncommandPrefix = ['git log', 'ls', 'echo', 'cat']\ndecision = 'allow'",
    ));
    for allowed in [
        "git log && ls",
        "ls; ls\nls",
        "git log | cat",
        "echo $(ls) `ls`",
        "(ls; cat x) 2>&1 >/dev/null",
        "cat <<'EOF'\n$(rm x)\nEOF",
        "for f in *; do echo $f; done",
        "cat < x",
    ] {
        check_command(&policy, allowed, "allow");
    }
    for asked in [
        "git log && rm x",
        "ls; rm x",
        "ls | sh",
        "ls & rm x",
        "ls\nrm x",
        "echo $(rm x)",
        "echo \"`rm x`\"",
        "cat <(rm x)",
        "cat <<EOF\n$(rm x)\nEOF",
        "echo ${x:-$(rm y)}",
        "ls > x",
        "ls >> x",
        "ls 2> x",
        "ls &> x",
        "echo 'x",
        "ls || { rm x; }",
        "if ls; then rm x; fi",
        "ls () { rm x; }; ls",
    ] {
        check_command(&policy, asked, "ask");
    }
}

#[test]
fn a_line_is_as_strict_as_its_strictest_command() {
    let rules = rule("toolName = 'run_shell_command'\ncommandPrefix = 'ls'\ndecision = 'allow'")
        + &rule("toolName = 'run_shell_command'\ncommandPrefix = 'rm'\ndecision = 'deny'");
    let policy = user_policy(&rules);
    check_command(&policy, "ls && make", "ask");
    check_command(&policy, "ls && make && rm x", "deny");
    let args = json!({"command": "ls && make && rm x"});
    let ruling = policy.decide(&Call::new("run_shell_command", &args), Situation::default());
    assert_eq!(ruling.command.as_deref(), Some("rm x"));
}

#[test]
fn what_forbids_sees_more_than_what_allows() {
    let rules = "[[rule]]\ntoolName = 'run_shell_command'\ndecision = 'allow'\npriority = 1\nallowRedirection = true\n"
        .to_owned()
        + &rule("toolName = 'run_shell_command'\ncommandPrefix = ['rm', 'git push']\ndecision = 'deny'")
        + &rule("toolName = 'run_shell_command'\ncommandRegex = 'curl.*\\|\\s*sh'\ndecision = 'deny'");
    let policy = user_policy(&rules);
    for denied in [
        "rm x",
        "/bin/rm x",
        "A=1 rm x",
        "r''m x",
        "ls; git push -f",
        "echo $(rm x)",
        "curl u | sh",
        "[[ x ]] && rm x",
    ] {
        check_command(&policy, denied, "deny");
    }
    for allowed in ["ls", "rmdir x", "git pull", "curl u", "echo rm > x"] {
        check_command(&policy, allowed, "allow");
    }
    check_command(&policy, "echo 'x", "ask");
}

#[test]
fn redirection_needs_a_rule_that_says_so() {
    let fields = "toolName = 'run_shell_command'\ncommandPrefix = 'echo'\ndecision = 'allow'\n";
    check_command(&user_policy(&rule(fields)), "echo x > y", "ask");
    check_command(&user_policy(&rule(&format!("{fields}allowRedirection = true"))), "echo x > y", "allow");
    let args = json!({"command": "echo x > y"});
    let policy = user_policy(&rule(fields));
    let call = Call::new("run_shell_command", &args);
    check(&policy, &call, in_mode(ApprovalMode::AutoEdit), "ask");
    check(&policy, &call, in_mode(ApprovalMode::Yolo), "allow");
    check(&policy, &call, ALONE, "deny");
    assert_eq!(policy.decide(&call, Situation::default()).caution, Some(Caution::Redirection));
}

#[test]
fn a_command_regex_begins_with_the_command() {
    let policy = user_policy(&rule(
        "toolName = 'run_shell_command'\ncommandRegex = 'cargo (test|check)\\b'\ndecision = 'allow'",
    ));
    check_command(&policy, "cargo test -p x", "allow");
    check_command(&policy, "ls; cargo test", "ask");
    check_command(&policy, "cargo testing", "ask");
    check_command(&policy, "sudo cargo test", "ask");
    check_command(&policy, "cargo test && cargo check", "allow");
}

#[test]
fn a_pattern_that_allows_sees_each_command_alone() {
    let policy = user_policy(&rule(
        "toolName = 'run_shell_command'\nargsPattern = '\"command\":\"git status'\ndecision = 'allow'",
    ));
    check_command(&policy, "git status", "allow");
    check_command(&policy, "git status && rm x", "ask");
    check_command(&policy, "git status && git status -s", "allow");
}

#[test]
fn git_is_asked_for_without_trust() {
    let policy = user_policy(&rule(
        "toolName = 'run_shell_command'\ncommandPrefix = ['git', 'ls']\ndecision = 'allow'",
    ));
    let untrusted = Situation { is_trusted: false, ..Situation::default() };
    for (command, expected) in [("git status", "ask"), ("ls && git status", "ask"), ("ls", "allow")] {
        let args = json!({ "command": command });
        check(&policy, &Call::new("run_shell_command", &args), untrusted, expected);
    }
}

#[test]
fn a_model_is_told_why() {
    let said = |policy: &Policy, situation| {
        let args = json!({});
        match policy.decide(&Call::new("glob", &args), situation).decision {
            Decision::Deny { reason } => reason,
            other => panic!("{other:?}"),
        }
    };
    let policy = policy_of(&[(
        RuleTier::User,
        &rule("toolName = 'glob'\ndecision = 'deny'\ndenyMessage = 'Use grep.'"),
    )]);
    assert_eq!(said(&policy, Situation::default()), "Use grep.");
    let policy = policy_of(&[(RuleTier::User, &rule("toolName = 'glob'\ndecision = 'deny'\nname = 'mine'"))]);
    assert_eq!(
        said(&policy, Situation::default()),
        "The policy does not allow this call of glob: deny rule \"mine\" (user 4.100, test.toml:1)."
    );
    assert!(said(&Policy::default(), ALONE).contains("there is no terminal to ask on"));
}

#[test]
fn settings_become_rules_of_known_weight() {
    let check = |standing, name: &str, expected: &str| {
        let rule = rule_from_setting(standing, name, "--allowed-tools").expect("a rule");
        assert_eq!(rule.to_string(), expected);
    };
    check(SettingVerdict::ExcludedServer, "web", "deny rule (user 4.900, --allowed-tools)");
    check(SettingVerdict::ExcludedTool, "glob", "deny rule (user 4.400, --allowed-tools)");
    check(SettingVerdict::ConfirmedTool, "glob", "ask_user rule (user 4.350, --allowed-tools)");
    check(SettingVerdict::AllowedTool, "glob", "allow rule (user 4.300, --allowed-tools)");
    check(SettingVerdict::CoreTool, "glob", "allow rule (user 4.250, --allowed-tools)");
    check(SettingVerdict::TrustedServer, "web", "allow rule (user 4.200, --allowed-tools)");
    check(SettingVerdict::AllowedServer, "web", "allow rule (user 4.100, --allowed-tools)");
    check(SettingVerdict::SubagentTool, "helper", "allow rule (default 1.030, --allowed-tools)");
    for bad in ["", " ", "glob(x)", "run_shell_command()", "run_shell_command(a; b)"] {
        assert!(rule_from_setting(SettingVerdict::AllowedTool, bad, "x").is_err(), "{bad}");
    }
}

#[test]
fn a_sub_agent_frees_no_tool_of_its_name() {
    let rule = |name| rule_from_setting(SettingVerdict::SubagentTool, name, "agents").expect("a rule");
    let policy = Policy::new(default_rules()).with(rule("write_file")).with(rule("helper"));
    let start = |name: &str| json!({"agent_name": name, "task": "\"agent_name\":\"helper\""});
    check(&policy, &Call::new("write_file", &json!({"file_path": "x"})), Situation::default(), "ask");
    check(&policy, &Call::new("invoke_agent", &start("write_file")), ALONE, "allow");
    check(&policy, &Call::new("invoke_agent", &start("helper")), ALONE, "allow");
    check(&policy, &Call::new("invoke_agent", &start("helper2")), ALONE, "deny");
    check(&policy, &Call::new("helper", &json!({})), ALONE, "deny");
}

#[test]
fn a_skill_of_the_program_needs_no_word() {
    let rule = rule_from_setting(SettingVerdict::BuiltinSkill, "skill-creator", "skills").expect("a rule");
    let policy = Policy::new(default_rules()).with(rule);
    check(&policy, &Call::new("activate_skill", &json!({"name": "skill-creator"})), ALONE, "allow");
    check(
        &policy,
        &Call::new("activate_skill", &json!({"name": "skill-creator2"})),
        Situation::default(),
        "ask",
    );
}

#[test]
fn allowed_tools_allow_where_nobody_can_be_asked() {
    let with = |name: &str| {
        let rule = rule_from_setting(SettingVerdict::AllowedTool, name, "--allowed-tools").expect("a rule");
        Policy::new(default_rules()).with(rule)
    };
    let args = json!({"file_path": "x"});
    check(&with("write_file"), &Call::new("write_file", &args), ALONE, "allow");
    check(&with("glob"), &Call::new("write_file", &args), ALONE, "deny");
    for (command, expected) in
        [("git status -s", "allow"), ("git push", "deny"), ("git status; rm x", "deny")]
    {
        let args = json!({ "command": command });
        check(
            &with("run_shell_command(git status)"),
            &Call::new("run_shell_command", &args),
            ALONE,
            expected,
        );
        check(&with("ShellTool(git status)"), &Call::new("run_shell_command", &args), ALONE, expected);
    }
    let args = json!({});
    let excluded = rule_from_setting(SettingVerdict::ExcludedServer, "web", "x").expect("a rule");
    let allowed = rule_from_setting(SettingVerdict::TrustedServer, "web", "x").expect("a rule");
    let call = Call::new("mcp_web_get", &args).of_server("web");
    check(&Policy::default().with(allowed.clone()), &call, ALONE, "allow");
    check(&Policy::default().with(allowed).with(excluded), &call, ALONE, "deny");
}

#[test]
fn unattended_work_is_never_asked_about() {
    let policy = Policy::unattended();
    let args = json!({"command": "make > log", "file_path": "x"});
    for tool in ["run_shell_command", "write_file", "anything"] {
        check(&policy, &Call::new(tool, &args), ALONE, "allow");
    }
}

#[test]
fn a_long_line_is_decided_in_one_pass() {
    let rules = rule("toolName = 'run_shell_command'\ncommandPrefix = ['rm', 'git push']\ndecision = 'deny'")
        + &rule("toolName = 'run_shell_command'\ncommandRegex = '(rm|mv).*-rf'\ndecision = 'deny'")
        + &rule("toolName = '*'\nargsPattern = '\"command\":\"kill'\ndecision = 'deny'")
        + &rule("toolName = 'run_shell_command'\ncommandPrefix = ['echo', 'env']\ndecision = 'allow'");
    let policy = user_policy(&rules);
    for (piece, expected) in
        [("echo a;", "allow"), ("env echo ", "allow"), ("env ", "ask"), ("$(", "ask"), ("echo $x\n", "allow")]
    {
        check_command(&policy, &piece.repeat((1 << 16) / piece.len()), expected);
    }
}

#[test]
fn an_explanation_tells_what_is_unclear() {
    let rules =
        rule("toolName = 'run_shell_command'\ncommandPrefix = 'curl'\ndecision = 'allow'\nname = 'web'")
            + &rule(
                "toolName = 'run_shell_command'\ncommandPrefix = 'rm'\ndecision = 'deny'\nname = 'no rm'",
            )
            + &rule(
                "toolName = 'run_shell_command'\ncommandPrefix = 'sh'\ndecision = 'allow'\nname = 'shell'",
            );
    let (policy, args) = (policy_of(&[(RuleTier::User, &rules)]), json!({"command": "curl u | sh"}));
    let call = Call::new("run_shell_command", &args);
    assert_eq!(
        policy.explain(&call, Situation::default()).to_string(),
        r#"needs approval

"curl u": allowed
  decided by allow rule "web" (user 4.100, test.toml:1)
  deny rule "no rm" (user 4.100, test.toml:7) requires other arguments
  allow rule "shell" (user 4.100, test.toml:13) requires other arguments

"sh": needs approval
  decided by allow rule "shell" (user 4.100, test.toml:13)
  but stricter: cannot tell everything it would run: a shell would run its input
  deny rule "no rm" (user 4.100, test.toml:7) may apply: cannot tell everything it would run: a shell would run its input
  allow rule "web" (user 4.100, test.toml:1) requires other arguments
"#
    );
    let Decision::Deny { reason } = policy.decide(&call, ALONE).decision else { panic!("not refused") };
    assert_eq!(
        reason,
        "This call of run_shell_command was not run: cannot tell everything it would run: a shell would run its input."
    );
}

#[test]
fn an_explanation_names_the_rule_and_those_that_lost() {
    let rules =
        rule("toolName = 'run_shell_command'\ncommandPrefix = 'ls'\ndecision = 'allow'\nname = 'lists'")
            + &rule("toolName = 'run_shell_command'\nmodes = ['plan']\ndecision = 'deny'\nname = 'plans'");
    let policy = user_policy(&rules);
    let args = json!({"command": "ls && make"});
    let explanation =
        policy.explain(&Call::new("run_shell_command", &args), Situation::default()).to_string();
    assert_eq!(
        explanation,
        r#"needs approval

"ls": allowed
  decided by allow rule "lists" (user 4.100, test.toml:1)
  deny rule "plans" (user 4.100, test.toml:7) does not apply in this mode
  allow rule "everything" (default 1.998, built in) does not apply in this mode
  allow rule "reading commands" (default 1.045, built in) covers commands that only read: the folder is not trusted
  deny rule "planning" (default 1.040, built in) does not apply in this mode
  deny rule "changes without a user" (default 1.010, built in) applies only in non-interactive sessions
  ask_user rule "changes" (default 1.010, built in) also matches, but another rule wins

"make": needs approval
  decided by ask_user rule "changes" (default 1.010, built in)
  deny rule "plans" (user 4.100, test.toml:7) does not apply in this mode
  allow rule "lists" (user 4.100, test.toml:1) requires other arguments
  allow rule "everything" (default 1.998, built in) does not apply in this mode
  allow rule "reading commands" (default 1.045, built in) covers commands that only read: the folder is not trusted
  deny rule "planning" (default 1.040, built in) does not apply in this mode
  deny rule "changes without a user" (default 1.010, built in) applies only in non-interactive sessions
"#
    );
}
