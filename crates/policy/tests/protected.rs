//! Files that grant rights are asked for in every mode, whatever the rules say, and refused where nobody can answer.

use std::path::PathBuf;

use longhaul_policy::{
    ApprovalMode, Call, Caution, Decision, Policy, RuleTier, Situation, default_rules, parse_rules,
};
use longhaul_workspace::ProtectedFiles;
use proptest::prelude::*;
use serde_json::{Value, json};

/// The built-in rules, and whatever of the user's allows the most.
fn generous() -> Policy {
    let text = r#"
        [[rule]]
        toolName = "*"
        decision = "allow"
        priority = 999
        allowRedirection = true
        [[rule]]
        toolName = ["write_file", "replace"]
        argsPattern = '\0"file_path":".gemini/settings.json"\0'
        decision = "allow"
        priority = 999
    "#;
    let (rules, problems) = parse_rules(text, "mine.toml".as_ref(), RuleTier::Admin);
    assert_eq!(problems, []);
    let files = ProtectedFiles::of(&[PathBuf::from("/no/work")]).with_memory(["AGENTS.md"]);
    Policy::new(default_rules().into_iter().chain(rules).collect()).protecting(files)
}

#[track_caller]
fn check(tool: &str, args: &Value, is_free: bool) {
    let policy = generous();
    let call = Call::new(tool, args);
    for mode in [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Yolo] {
        for is_interactive in [true, false] {
            let situation = Situation { mode, is_interactive, is_trusted: true };
            let ruling = policy.decide(&call, situation);
            match (&ruling.decision, is_free, is_interactive) {
                (Decision::Allow, true, _) => assert_eq!(ruling.protected, None, "{args}"),
                (Decision::Ask, false, true) => {
                    assert_eq!(ruling.caution, Some(Caution::ProtectedFile), "{args}");
                    assert!(ruling.protected.is_some());
                }
                (Decision::Deny { reason }, false, false) => {
                    assert!(reason.contains("a file that grants rights"), "{reason}");
                }
                (decision, ..) => panic!("{tool} {args} {situation:?}: {decision:?}"),
            }
        }
    }
}

#[track_caller]
fn check_command(command: &str, is_free: bool) {
    check("run_shell_command", &json!({ "command": command }), is_free);
}

#[test]
fn changing_a_protected_file_is_asked_for_in_every_mode() {
    for path in
        [".gemini/settings.json", "src/../.GEMINI/policies/a.toml", ".git/hooks/x", "AGENTS.md", ".gitignore"]
    {
        for tool in ["write_file", "replace"] {
            check(tool, &json!({"file_path": path, "content": "{}"}), false);
            check(tool, &json!({"path": path}), false);
        }
        check("read_file", &json!({"file_path": path}), true);
    }
    check("write_file", &json!({"file_path": "src/main.rs"}), true);
    // What another tool would change is told with the call.
    let (args, policy) = (json!({}), generous());
    let call = Call::new("mend", &args).writing(".mcp.json".as_ref());
    let yolo = Situation { mode: ApprovalMode::Yolo, ..Situation::default() };
    assert_eq!(policy.decide(&call, yolo).decision, Decision::Ask);
}

#[test]
fn commands_that_name_a_protected_file_are_asked_for() {
    for command in [
        "echo '{}' > .gemini/settings.json",
        "echo '{}' >.gemini/settings.json",
        "cat x >> \".gem\"ini/settings.json",
        "tee .gemini/settings.json",
        "tee < a .gemini/settings.json",
        "cp evil.json .gemini/settings.json",
        "mv .gemini/settings.json /tmp",
        "sed -i s/a/b/ GEMINI.md",
        "rm -rf .git",
        "mkdir -p .gemini/hooks && cp a .gemini/hooks/a",
        "cd .gemini && echo x > settings.json",
        "dd if=a of=.git/config",
        "curl -o ~/.gemini/settings.json http://localhost",
        "curl --output=${HOME}/.gemini/settings.json http://localhost",
        "python3 -c \"open('.gemini/settings.json', 'w')\"",
        "make; ln -s /tmp/x .gemini/agents",
        "cp a .gem*/settings.json",
        "sed -i s/a/b/ *.md",
        "git diff --output=.gemini/settings.json",
        "git checkout -- .gitignore",
        "echo $(tee .mcp.json)",
        "env X=1 tee .mcp.json",
        "cp -r a ~/.ge${x}mini/policies",
        "cp a ~/.ge\"$(echo mini)\"/policies/z.toml",
        "cp -r a/. ~",
        "cp -r a/. \"$HOME\"",
        "cp a $HOME/$x",
        "tar xf a.tar -C ~",
        "x=GEMINI; cp a $x.md",
        "printf x > \"$(echo GEMINI).md\"",
        "awk '{print > \"GEMINI.md\"}' a",
        "cp a .gem[i]ni/settings.json",
        "cp a .ge{mini,x}/settings.json",
        "git config core.pager evil",
    ] {
        check_command(command, false);
    }
}

#[test]
fn commands_that_only_look_are_free() {
    for command in [
        "cat .gemini/settings.json",
        "ls -la .git .gemini",
        "grep -rn hook .gemini",
        "git status .gitignore",
        "git add .gitignore && git commit -m 'ignore more in .gitignore'",
        "echo 'see GEMINI.md' > notes.md",
        "cat .gitignore | wc -l",
        "cat .gitignore > copy.txt",
        "cargo test 2>&1",
        "rm *",
        "git clone https://localhost/a.git b",
        "git config --get core.pager",
        "cp \"$a\" \"$b\"",
        "cp a.txt $target/b.txt",
        "cd ~ && ls",
        "cargo test $name",
    ] {
        check_command(command, true);
    }
}

#[test]
fn rules_that_forbid_still_forbid() {
    let (rules, _) = parse_rules(
        "[[rule]]\ntoolName = 'write_file'\ndecision = 'deny'\npriority = 1\ndenyMessage = 'Never.'",
        "a.toml".as_ref(),
        RuleTier::User,
    );
    let policy = Policy::new(default_rules().into_iter().chain(rules).collect());
    let args = json!({"file_path": "GEMINI.md"});
    let decision = policy.decide(&Call::new("write_file", &args), Situation::default()).decision;
    assert_eq!(decision, Decision::Deny { reason: "Never.".into() });
}

proptest! {
    /// No detour through folders makes a protected file free.
    #[test]
    fn no_spelling_frees_a_protected_file(
        steps in proptest::collection::vec(prop_oneof![Just("."), Just("a/.."), Just("a/b/../.."), Just("")], 0..5),
        file in prop_oneof![Just(".gemini/settings.json"), Just(".git/config"), Just("GEMINI.md"), Just(".agents/skills/x/SKILL.md"), Just(".claude/skills/x/SKILL.md")],
        upper in any::<bool>(),
    ) {
        let file = if upper { file.to_uppercase() } else { file.to_string() };
        let path = steps.into_iter().filter(|step| !step.is_empty()).chain([file.as_str()]).collect::<Vec<_>>().join("/");
        let args = json!({"file_path": path});
        let yolo = Situation { mode: ApprovalMode::Yolo, is_interactive: false, is_trusted: true };
        let decision = generous().decide(&Call::new("write_file", &args), yolo).decision;
        let is_denied = matches!(decision, Decision::Deny { .. });
        prop_assert!(is_denied, "{}", path);
    }
}
