//! The laws of policies, on rules and files made at random.

mod laws;

use longhaul_policy::{RuleTier, Verdict, parse_rules};
use proptest::prelude::*;

fn rule() -> impl Strategy<Value = String> {
    let tools = prop::sample::select(vec![
        r#""*""#,
        r#""run_shell_command""#,
        r#"["read_file", "write_file"]"#,
        r#""mcp_*""#,
        r#""helper""#,
    ]);
    let conditions = prop::sample::select(vec![
        "",
        "argsPattern = '\\0\"file_path\":\"'\n",
        "argsPattern = 'rm'\n",
        "argsPattern = 'git status'\n",
    ]);
    let decisions = prop::sample::select(vec!["allow", "deny", "ask_user"]);
    let extras = prop::sample::select(vec![
        "",
        "interactive = true\n",
        "interactive = false\n",
        "modes = ['plan', 'yolo']\n",
        "allowRedirection = true\n",
        "subagent = 'helper'\n",
    ]);
    (tools, conditions, decisions, extras, 0..1000_u16).prop_map(
        |(tool, condition, decision, extra, priority)| {
            format!(
                "[[rule]]\ntoolName = {tool}\ndecision = '{decision}'\npriority = {priority}\n{condition}{extra}"
            )
        },
    )
}

fn command_rule() -> impl Strategy<Value = String> {
    let conditions = prop::sample::select(vec![
        "commandPrefix = ['git status', 'rm']",
        "commandPrefix = 'echo'",
        "commandRegex = 'git|rm'",
        "commandRegex = 'cat.*'",
    ]);
    let decisions = prop::sample::select(vec!["allow", "deny", "ask_user"]);
    (conditions, decisions, 0..3_u16).prop_map(|(condition, decision, priority)| {
        format!("[[rule]]\ntoolName = 'run_shell_command'\ndecision = '{decision}'\npriority = {priority}\n{condition}\n")
    })
}

fn file() -> impl Strategy<Value = String> {
    prop::collection::vec(prop_oneof![rule(), command_rule()], 0..8).prop_map(|rules| rules.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn decisions_keep_the_laws(text in file()) {
        let (_, problems) = parse_rules(&text, "any.toml".as_ref(), RuleTier::User);
        prop_assert!(problems.is_empty(), "{problems:?}");
        laws::check_file(&text);
    }

    #[test]
    fn a_higher_tier_decides(text in file(), verdict in prop::sample::select(vec![Verdict::Allow, Verdict::Ask, Verdict::Deny])) {
        let (rules, _) = parse_rules(&text, "any.toml".as_ref(), RuleTier::User);
        laws::check_tiers(rules, verdict);
    }

    #[test]
    fn no_line_hides_a_command(line in "(echo |[a$(){}`'\"\\\\<>|&;\n #=E!-]){0,30}") {
        laws::check_command_line(&line);
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC{0,80}") {
        laws::check_file(&text);
    }

    #[test]
    fn broken_files_are_read_or_refused(text in file(), cut in any::<prop::sample::Index>(), dirt in "[\\[\\]\"'=\n{}a0.\\\\-]{0,4}") {
        let cut = text.floor_char_boundary(cut.index(text.len() + 1));
        laws::check_file(&format!("{}{dirt}{}", &text[..cut], &text[cut..]));
        laws::check_file(&text[..cut]);
    }
}
