//! Reading policy files, and what is said about bad ones.

use std::fs;
use std::path::{Path, PathBuf};

use longhaul_policy::{
    AllowedCalls, AlwaysAllow, Call, Decision, Policy, PolicyError, PolicyPlaces, ProblemEffect, Reach, Rule,
    RuleSource, RuleTier, SavedFiles, Situation, default_rules, load_policies, parse_rules, revoke_saved,
    save_always_allow,
};
use longhaul_workspace::LockTimeout;
use serde_json::json;

const GOOD: &str = "[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\npriority = 1\n";

/// Checks the problems of a file, each as `line: reason (effect)`, and how many rules are left.
#[track_caller]
fn check(text: &str, rules: usize, expected: &[&str]) {
    let (read, problems) = parse_rules(text, Path::new("f"), RuleTier::User);
    let problems: Vec<_> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems, expected);
    assert_eq!(read.len(), rules);
}

#[track_caller]
fn check_field(field: &str, expected: &str) {
    let text = format!(
        "{GOOD}\n[[rule]]\ntoolName = 'run_shell_command'\ndecision = 'allow'\npriority = 1\n{field}\n"
    );
    let expected: Vec<_> = expected.split('\n').filter(|line| !line.is_empty()).collect();
    let skips_file = expected.iter().any(|problem| problem.ends_with("(file skipped)"));
    let skips_rule = expected.iter().any(|problem| problem.ends_with("(rule skipped)"));
    check(&text, if skips_file { 0 } else { 2 - usize::from(skips_rule) }, &expected);
}

#[test]
fn good_files_have_no_problems() {
    check("", 0, &[]);
    check(GOOD, 1, &[]);
    for field in [
        "argsPattern = 'x'",
        "args_pattern = 'x'",
        "commandPrefix = 'git'",
        "command_prefix = ['git', 'ls -l']",
        "commandRegex = 'git.*'",
        "modes = ['default', 'autoEdit', 'yolo', 'plan']",
        "interactive = true",
        "toolAnnotations = { a = 1, b = [true, 'x', 1.5], c = { d = 0x10 } }",
        "allow_redirection = true",
        "deny_message = 'no'",
        "name = 'n'\nsubagent = 's'\nmcp_name = 'm'",
    ] {
        check_field(field, "");
    }
}

#[test]
fn broken_toml_costs_the_file_and_names_the_line() {
    let (rules, problems) = parse_rules(&format!("{GOOD}\n[[rule]\n"), Path::new("f"), RuleTier::User);
    assert_eq!((rules.len(), problems.len()), (0, 1));
    assert_eq!((problems[0].line, problems[0].effect), (Some(6), ProblemEffect::FileSkipped));
}

#[test]
fn a_wrong_form_costs_the_file() {
    let skipped = |line: usize, reason: &str| format!("f:{line}: {reason} (file skipped)");
    let check_form = |field: &str, reason: &str| check_field(field, &skipped(10, reason));
    check_form(
        "modes = ['fast']",
        "modes must be a list of \"default\", \"autoEdit\", \"yolo\" and \"plan\"",
    );
    check_form("modes = 3", "modes must be a string or a list of strings");
    check_form("interactive = 'yes'", "interactive must be true or false");
    check_form("name = 1", "name must be a string");
    check_form("argsPattern = ['x']", "argsPattern must be a string");
    check_form("commandPrefix = []", "commandPrefix must be a string or a list of strings");
    check_form("toolAnnotations = 3", "toolAnnotations must be a table of plain values");
    check_form("toolAnnotations = { a = 2020-01-01 }", "toolAnnotations must be a table of plain values");

    let without =
        |lines: &str, reason: &str| check(&format!("{GOOD}[[rule]]\n{lines}"), 0, &[&skipped(5, reason)]);
    without("decision = 'deny'\npriority = 1", "toolName must be set (\"*\" matches every tool)");
    without("toolName = 'glob'\npriority = 1", "decision must be \"allow\", \"deny\" or \"ask_user\"");
    without("toolName = 'glob'\ndecision = 'deny'", "priority must be an integer from 0 to 999");

    let with = |line: &str, reason: &str| {
        let text = GOOD.lines().filter(|good| good.split(' ').next() != line.split(' ').next());
        let text: Vec<_> = text.chain([line]).collect();
        check(&text.join("\n"), 0, &[&skipped(4, reason)]);
    };
    with("toolName = ''", "toolName must not be empty");
    with("toolName = ['glob', '']", "toolName must not be empty");
    for priority in ["-1", "1000", "1.5", "'1'", "99999999999999999999"] {
        with(&format!("priority = {priority}"), "priority must be an integer from 0 to 999");
    }
    with("decision = 'maybe'", "decision must be \"allow\", \"deny\" or \"ask_user\"");
    check("rule = 3", 0, &["f:1: write rules as [[rule]] (file skipped)"]);
    check("rule = [3]", 0, &["f:1: a rule must be a table (file skipped)"]);
}

#[test]
fn a_senseless_rule_costs_itself() {
    let check_sense = |field: &str, reason: &str| check_field(field, &format!("f:{reason} (rule skipped)"));
    check_sense("argsPattern = '('", "10: argsPattern: unclosed group");
    check_sense("commandRegex = 'a)('", "10: commandRegex: unopened group");
    check_sense(
        "commandPrefix = 'a; b'",
        "10: commandPrefix: the prefix must be the start of a single command",
    );
    check_sense("commandPrefix = ['ls', '']", "10: commandPrefix: the prefix is empty");
    check_sense(
        "commandPrefix = 'a'\ncommandRegex = 'b'",
        "11: commandRegex: cannot be combined with commandPrefix",
    );
    check_sense(
        "argsPattern = 'a'\ncommandPrefix = 'b'",
        "11: commandPrefix: cannot be combined with argsPattern",
    );
    let long = format!("argsPattern = '{}'", "a".repeat(2049));
    check_sense(&long, "10: argsPattern: the expression is longer than 2048 bytes");
    check(
        &format!("{GOOD}commandPrefix = 'ls'"),
        0,
        &["f:5: commandPrefix: requires toolName = \"run_shell_command\" (rule skipped)"],
    );
}

#[test]
fn slips_are_pointed_out() {
    check_field("denyMesage = 'x'", "f:10: unknown field \"denyMesage\"; did you mean \"denyMessage\"?");
    check_field("something = 'x'", "f:10: unknown field \"something\"");
    let tool = |name: &str, expected: &[&str]| check(&GOOD.replace("glob", name), 1, expected);
    tool("read_fil", &["f:2: unknown tool \"read_fil\"; did you mean \"read_file\"?"]);
    tool("wrtie_file", &["f:2: unknown tool \"wrtie_file\"; did you mean \"write_file\"?"]);
    tool("something_else_entirely", &[]);
    tool("mcp_glob", &[]);
    tool("*", &[]);
    check(
        "[[safety_checker]]\ntoolName = 'x'\n",
        0,
        &["f:1: safety checkers are not supported; use rules with decision = \"ask_user\""],
    );
    check("[rules]\n", 0, &["f:1: unknown key \"rules\"; write rules as [[rule]]"]);
}

#[test]
fn the_built_in_rules_are_sound() {
    assert!(default_rules().len() > 5);
    assert!(default_rules().iter().all(|rule| rule.name.is_some() && rule.source.to_string() == "built in"));
}

struct Folders {
    root: tempfile::TempDir,
}

impl Folders {
    fn new() -> Self {
        Self { root: tempfile::tempdir().expect("a folder") }
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(&path, text).expect("written");
        path
    }

    fn at(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }
}

#[test]
fn every_tier_is_read_and_a_bad_file_harms_no_other() {
    let folders = Folders::new();
    folders.write("extension/a.toml", GOOD);
    folders.write("workspace/a.toml", GOOD);
    folders.write("user/b.toml", GOOD);
    folders.write("user/a.toml", "[[rule");
    folders.write("user/notes.txt", "not a policy");
    folders.write("user/c.toml", &"#".repeat((1 << 20) + 1));
    let single = folders.write("admin.toml", GOOD);
    fs::create_dir(folders.at("user/d.toml")).expect("made");
    let loaded = load_policies(&PolicyPlaces {
        extensions: vec![folders.at("extension")],
        workspace: Some(folders.at("workspace")),
        user: vec![folders.at("user"), folders.at("missing")],
        system: Some(folders.at("missing")),
        admin: vec![single],
        ..PolicyPlaces::default()
    });
    let tiers: Vec<_> = loaded.rules.iter().map(|rule| rule.priority.tier()).collect();
    let added = &tiers[default_rules().len()..];
    assert_eq!(added, [RuleTier::Extension, RuleTier::Workspace, RuleTier::User, RuleTier::Admin]);
    let problems: Vec<_> = loaded.problems.iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    assert!(problems[0].contains("a.toml:1: "), "{problems:?}");
    assert!(problems[1].ends_with("could not read the file: larger than 1 MB (file skipped)"));
    assert!(problems[2].ends_with("could not read the file: not a regular file (file skipped)"));
}

#[test]
fn extensions_allow_nothing() {
    let folders = Folders::new();
    let text = format!(
        "{GOOD}{}{}{}",
        GOOD.replace("deny", "allow"),
        GOOD.replace("deny", "ask_user"),
        GOOD.to_owned() + "modes = ['yolo']\n"
    );
    let path = folders.write("e/a.toml", &text);
    let loaded =
        load_policies(&PolicyPlaces { extensions: vec![folders.at("e")], ..PolicyPlaces::default() });
    let problems: Vec<_> = loaded.problems.iter().map(ToString::to_string).collect();
    let path = path.display();
    assert_eq!(
        problems,
        [
            format!("{path}:5: extensions cannot allow calls (rule skipped)"),
            format!("{path}:13: extensions cannot add rules for yolo mode (rule skipped)")
        ]
    );
    assert_eq!(loaded.rules.len(), default_rules().len() + 2);
}

#[cfg(unix)]
#[test]
fn the_system_s_policies_must_be_the_administrator_s() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folders = Folders::new();
    let file = folders.write("system/a.toml", GOOD);
    let other = folders.write("other.toml", GOOD);
    let load = || {
        let places = PolicyPlaces {
            system: Some(folders.at("system")),
            admin: vec![other.clone()],
            ..PolicyPlaces::default()
        };
        let loaded = load_policies(&places);
        let from: Vec<_> =
            loaded.rules[default_rules().len()..].iter().map(|rule| rule.source.to_string()).collect();
        (from, loaded.problems)
    };
    let is_root = fs::metadata(&file).expect("there").uid() == 0;
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changed");
    fs::set_permissions(folders.at("system"), fs::Permissions::from_mode(0o755)).expect("changed");
    let (from, problems) = load();
    let expected = if is_root { &file } else { &other };
    assert_eq!(from, [format!("{}:1", expected.display())]);
    assert_eq!(problems.len(), 1, "{problems:?}");

    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).expect("changed");
    let (from, problems) = load();
    assert_eq!(from, [format!("{}:1", other.display())]);
    assert!(problems[0].reason.starts_with("ignored: "), "{problems:?}");
}

fn choice(tool: &str, calls: AllowedCalls) -> AlwaysAllow {
    AlwaysAllow { tool: tool.into(), server: None, calls }
}

fn save(path: &Path, choice: &AlwaysAllow) -> Result<Rule, PolicyError> {
    save_always_allow(path, Reach::Everywhere, choice, LockTimeout::default())
}

fn commands(prefixes: &[&str]) -> AllowedCalls {
    AllowedCalls::Commands(prefixes.iter().map(|prefix| (*prefix).to_owned()).collect())
}

#[test]
fn a_saved_choice_counts_and_is_saved_once() {
    let folders = Folders::new();
    let path = folders.at("policies/auto-saved.toml");
    let save = |choice: &AlwaysAllow| {
        let rule =
            save_always_allow(&path, Reach::Everywhere, choice, LockTimeout::default()).expect("saved");
        assert_eq!((rule.reach(), rule.describe()), (Some(Reach::Everywhere), choice.describe()));
        rule.to_string()
    };
    let git = choice("run_shell_command", commands(&["git log", "ls"]));
    let first = save(&git);
    let place = format!("your approval everywhere, {}:1", path.display());
    assert_eq!(first, format!("allow rule (user 4.950, {place})"));
    let once = fs::read_to_string(&path).expect("there");
    assert_eq!(save(&git), first);
    assert_eq!(fs::read_to_string(&path).expect("there"), once);
    save(&choice("write_file", AllowedCalls::Arguments(r#"\0"file_path":"a'b\.md"\0"#.into())));
    save(&AlwaysAllow { server: Some("web".into()), ..choice("get", AllowedCalls::All) });

    let saved = SavedFiles { everywhere: Some(path), ..SavedFiles::default() };
    let loaded =
        load_policies(&PolicyPlaces { user: vec![folders.at("policies")], saved, ..PolicyPlaces::default() });
    assert_eq!(loaded.problems, []);
    let policy = Policy::new(loaded.rules);
    let decide = |tool: &str, args: &serde_json::Value, server: Option<&str>| {
        let call = Call { server, ..Call::new(tool, args) };
        policy.decide(&call, Situation::default()).decision
    };
    assert_eq!(decide("run_shell_command", &json!({"command": "ls; git log"}), None), Decision::Allow);
    assert_eq!(decide("run_shell_command", &json!({"command": "git push"}), None), Decision::Ask);
    assert_eq!(decide("write_file", &json!({"file_path": "a'b.md"}), None), Decision::Allow);
    assert_eq!(decide("write_file", &json!({"file_path": "b.md"}), None), Decision::Ask);
    assert_eq!(decide("mcp_web_get", &json!({}), Some("web")), Decision::Allow);
    let saved: Vec<String> = policy.saved().iter().map(|rule| rule.priority.to_string()).collect();
    assert_eq!(saved, ["4.950"; 3], "the file in the folder counts once");
    let plan = Situation { mode: longhaul_policy::ApprovalMode::Plan, ..Situation::default() };
    let args = json!({"command": "ls"});
    let planned = policy.decide(&Call::new("run_shell_command", &args), plan).decision;
    assert!(matches!(planned, Decision::Deny { .. }), "a plan stays a plan");
}

#[test]
fn an_answer_counts_at_once_below_the_user_s_rules() {
    let rule = choice("write_file", AllowedCalls::All).to_rule().expect("a rule");
    assert_eq!(rule.to_string(), "allow rule (workspace 3.950, your approval in this session)");
    let policy = Policy::new(default_rules()).with(rule);
    let args = json!({"file_path": "x"});
    let decision = policy.decide(&Call::new("write_file", &args), Situation::default()).decision;
    assert_eq!(decision, Decision::Allow);
}

#[test]
fn a_choice_is_added_behind_what_is_there() {
    let folders = Folders::new();
    let path = folders
        .write("auto-saved.toml", "# mine\n[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\npriority = 1");
    save(&path, &choice("replace", AllowedCalls::All)).expect("saved");
    let text = fs::read_to_string(&path).expect("there");
    assert!(text.starts_with("# mine\n[[rule]]\ntoolName = 'glob'"), "{text}");
    let (rules, problems) = parse_rules(&text, &path, RuleTier::User);
    assert_eq!((rules.len(), problems.len()), (2, 0), "{text}");
}

#[test]
fn a_broken_file_is_not_added_to() {
    let folders = Folders::new();
    let path = folders.write("auto-saved.toml", "\n[[rule]\n");
    let error = save(&path, &choice("replace", AllowedCalls::All));
    assert!(matches!(error, Err(PolicyError::Broken { line: 2, .. })), "{error:?}");
    assert_eq!(fs::read_to_string(&path).expect("there"), "\n[[rule]\n");
}

#[test]
fn what_makes_no_rule_is_not_saved() {
    let folders = Folders::new();
    let path = folders.at("auto-saved.toml");
    for bad in [
        choice("", AllowedCalls::All),
        choice("run_shell_command", commands(&[])),
        choice("run_shell_command", commands(&["a; b"])),
        choice("glob", commands(&["ls"])),
        choice("glob", AllowedCalls::Arguments("(".into())),
    ] {
        let error = save(&path, &bad);
        assert!(matches!(error, Err(PolicyError::NoRule { .. })), "{bad:?}");
    }
    assert!(!path.exists());
}

#[test]
fn choices_saved_at_once_are_all_kept() {
    let folders = Folders::new();
    let path = folders.at("auto-saved.toml");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let choice = choice(&format!("tool_{number}"), AllowedCalls::All);
                save(path, &choice).expect("saved");
            });
        }
    });
    let (rules, problems) = parse_rules(&fs::read_to_string(&path).expect("there"), &path, RuleTier::User);
    assert_eq!((rules.len(), problems.len()), (8, 0));
}

/// What is left of a file when a choice is revoked that reads so.
#[track_caller]
fn check_revoked(before: &str, revoked: &str, expected: Result<(usize, &str), &str>) {
    let folders = Folders::new();
    let path = folders.write("auto-saved.toml", before);
    let (mut rules, _) = parse_rules(&format!("[[rule]]\n{revoked}\n"), &path, RuleTier::User);
    let mut rule = rules.pop().expect("a rule");
    rule.source = RuleSource::Saved { reach: Reach::Everywhere, path: path.clone(), line: 1 };
    let revoked = revoke_saved(&rule, LockTimeout::default());
    let after = fs::read_to_string(&path).expect("there");
    match (revoked, expected) {
        (Ok(count), Ok(expected)) => assert_eq!((count, after.as_str()), expected),
        (Err(error), Err(reason)) => {
            assert!(error.to_string().contains(reason), "{error}");
            assert_eq!(after, before);
        }
        (revoked, _) => panic!("{revoked:?}"),
    }
}

#[test]
fn a_saved_choice_is_revoked_and_the_rest_stays() {
    let glob = "[[rule]]\ntoolName = \"glob\"\ndecision = \"allow\"\npriority = 950\n";
    let ls = "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = [\n  'ls',  # lists\n]\ndecision = 'allow'\npriority = 950\n";
    let deny = "# never\n[[rule]]\ntoolName = 'glob'\ndecision = 'deny'\npriority = 1\n";
    let every = "toolName = 'glob'\ndecision = 'allow'\npriority = 1";
    check_revoked(glob, every, Ok((1, "")));
    check_revoked(&format!("# mine\n{glob}\n{ls}"), every, Ok((1, &format!("# mine\n{ls}"))));
    check_revoked(
        &format!("{ls}\n# mine\n{glob}"),
        &ls["[[rule]]".len()..],
        Ok((1, &format!("# mine\n{glob}"))),
    );
    check_revoked(&format!("{glob}\n{deny}\n{glob}"), every, Ok((2, deny)));
    check_revoked(&format!("{deny}\n{glob}{ls}"), every, Ok((1, &format!("{deny}\n{ls}"))));
    let annotated = format!("{glob}[rule.toolAnnotations]\nreadOnlyHint = true\n\n{ls}");
    check_revoked(&annotated, &format!("{every}\ntoolAnnotations = {{readOnlyHint = true}}"), Ok((1, ls)));
    check_revoked(&annotated, every, Ok((0, &annotated)));
    // What is not there is not revoked, and a deny is no choice.
    check_revoked(glob, &every.replace("glob", "replace"), Ok((0, glob)));
    check_revoked(deny, every, Ok((0, deny)));
    check_revoked(glob.trim_end(), every, Ok((1, "")));
    check_revoked(&glob.replace('\n', "\r\n"), every, Ok((1, "")));
    check_revoked("[[rule]\n", every, Err("line 1"));
    let inline = "rule = [{toolName = 'glob', decision = 'allow', priority = 950}, {toolName = 'ls', decision = 'deny', priority = 1}]\n";
    check_revoked(inline, every, Err("by hand"));
}

#[test]
fn a_saved_choice_counts_where_it_was_made_for() {
    let folders = Folders::new();
    let files = SavedFiles {
        project: Some(folders.at("project/auto-saved.toml")),
        everywhere: Some(folders.at("policies/auto-saved.toml")),
    };
    for (reach, tool) in [(Reach::Project, "replace"), (Reach::Everywhere, "write_file")] {
        let path = files.of(reach).expect("a file");
        save_always_allow(path, reach, &choice(tool, AllowedCalls::All), LockTimeout::default())
            .expect("saved");
    }
    let load = |saved: SavedFiles| {
        let user = vec![folders.at("policies")];
        let policy =
            Policy::new(load_policies(&PolicyPlaces { user, saved, ..PolicyPlaces::default() }).rules);
        let saved = policy.saved();
        saved
            .iter()
            .map(|rule| {
                format!("{} {} {}", rule.reach().expect("saved").name(), rule.priority, rule.describe())
            })
            .collect::<Vec<_>>()
    };
    let everywhere = "everywhere 4.950 any call to write_file";
    assert_eq!(load(files.clone()), ["project 3.950 any call to replace", everywhere]);
    assert_eq!(load(SavedFiles { project: None, ..files }), [everywhere]);
}

#[test]
fn revoking_takes_effect_in_a_policy_at_once() {
    let rule = |tool: &str, reach| choice(tool, AllowedCalls::All).rule_for(reach).expect("a rule");
    let policy = Policy::new(default_rules())
        .with(rule("write_file", Reach::Session))
        .with(rule("replace", Reach::Session))
        .without_saved(Reach::Session, "any call to write_file")
        .without_saved(Reach::Project, "any call to replace");
    let saved: Vec<String> = policy.saved().iter().map(|rule| rule.describe()).collect();
    assert_eq!(saved, ["any call to replace"]);
}

#[test]
fn a_saved_choice_is_named_by_number_or_words() {
    let commands = choice("run_shell_command", commands(&["cargo test"]));
    let rules = [choice("write_file", AllowedCalls::All), choice("replace", AllowedCalls::All), commands];
    let rules = rules.iter().map(|choice| choice.to_rule().expect("a rule"));
    let policy = Policy::new(default_rules().into_iter().chain(rules).collect());
    let find = |given: &str| match policy.find_saved(given) {
        Ok(rule) => rule.describe(),
        Err(error) => error.to_string(),
    };
    assert_eq!(find("1"), "any call to write_file");
    assert_eq!(find(" Cargo TEST "), "commands like `cargo test …`");
    assert_eq!(find("any call"), "\"any call\" matches several saved approvals: 1 and 2");
    for unknown in ["0", "4", "cargo build", "", "-1"] {
        assert_eq!(find(unknown), format!("no saved approval matches {unknown:?}: 3 are saved"));
    }
}
