//! A table of command lines with what becomes of them: `command_lines.txt`.

use longhaul_policy::{
    ApprovalMode, Call, Decision, Policy, RuleTier, Situation, default_rules, parse_rules, suggest_prefixes,
};
use serde_json::json;

const TABLE: &str = include_str!("command_lines.txt");

/// The policy and the mode that a section's heading names.
fn parse_heading(heading: &str) -> (Policy, ApprovalMode) {
    let (mut rules, mut mode) = (String::new(), ApprovalMode::Default);
    for part in heading.split(" | ") {
        let Some((verdict, what)) = part.split_once(": ") else {
            mode = ApprovalMode::parse(part).unwrap_or_else(|| panic!("{part:?} is no mode"));
            continue;
        };
        let (verdict, condition) = match verdict.split_once(' ') {
            Some((verdict, "regex")) => (verdict, format!("commandRegex = '''{what}'''")),
            Some(_) => panic!("{part:?}"),
            None if what == "*" => (verdict, "allowRedirection = true".to_owned()),
            None => {
                let prefixes: Vec<_> = what.split(", ").map(|prefix| format!("'''{prefix}'''")).collect();
                (verdict, format!("commandPrefix = [{}]", prefixes.join(", ")))
            }
        };
        let verdict = if verdict == "ask" { "ask_user" } else { verdict };
        rules.push_str(&format!(
            "[[rule]]\ntoolName = 'run_shell_command'\ndecision = '{verdict}'\npriority = 100\n{condition}\n"
        ));
    }
    let (rules, problems) = parse_rules(&rules, "table.toml".as_ref(), RuleTier::User);
    assert_eq!(problems, [], "{heading}");
    (Policy::new(default_rules().into_iter().chain(rules).collect()), mode)
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask => "ask",
        Decision::Deny { .. } => "deny",
    }
}

/// The lines of the table: number, policy's heading, decision, command.
fn lines() -> impl Iterator<Item = (usize, &'static str, &'static str, String)> {
    let mut heading = "";
    TABLE.lines().enumerate().filter_map(move |(index, line)| {
        if line.is_empty() || line.starts_with('#') {
            return None;
        }
        if let Some(text) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            heading = text;
            return None;
        }
        let (decision, command) =
            line.split_at_checked(7).unwrap_or_else(|| panic!("line {}: {line}", index + 1));
        let command = command.replace('⏎', "\n").replace('␉', "\t").replace('␍', "\r").replace('␀', "\0");
        Some((index + 1, heading, decision.trim(), command))
    })
}

#[test]
fn every_line_is_decided_as_the_table_says() {
    let (mut faults, mut count) = (Vec::new(), 0);
    let mut current = ("", parse_heading("yolo"));
    for (number, heading, expected, command) in lines() {
        if heading != current.0 {
            current = (heading, parse_heading(heading));
        }
        let (policy, mode) = &current.1;
        let args = json!({ "command": command });
        let call = Call::new("run_shell_command", &args);
        let situation = Situation { mode: *mode, ..Situation::default() };
        let ruling = policy.decide(&call, situation);
        if word(&ruling.decision) != expected {
            let found = word(&ruling.decision);
            let caution = ruling.caution.map(|caution| caution.to_string());
            faults.push(format!("line {number}: {found} instead of {expected}: {command:?} ({caution:?})"));
        }
        // Where nobody can be asked, what would be asked is refused.
        let alone = policy.decide(&call, Situation { is_interactive: false, ..situation });
        let is_allowed = alone.decision == Decision::Allow;
        assert_eq!(is_allowed, ruling.decision == Decision::Allow, "line {number}");
        count += 1;
    }
    assert!(count >= 200, "only {count} lines");
    assert!(faults.is_empty(), "{} of {count}:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn what_is_suggested_allows_the_line() {
    let mut suggested = 0;
    for (number, _, _, command) in lines() {
        let Some(prefixes) = suggest_prefixes(&command) else { continue };
        suggested += 1;
        let (policy, _) = parse_heading(&format!("allow: {}", prefixes.join(", ")));
        let args = json!({ "command": command });
        let ruling = policy.decide(&Call::new("run_shell_command", &args), Situation::default());
        assert_eq!(word(&ruling.decision), "allow", "line {number}: {command:?} by {prefixes:?}");
    }
    assert!(suggested > 20, "only {suggested}");
}
