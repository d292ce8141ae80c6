use longhaul_conversation::{Origin, Part, Role, ToolResult};
use proptest::prelude::*;

use super::*;

fn says(text: &str) -> Message {
    Message::new("u", Role::User, vec![Part::user_text(text)])
}

fn rules_of(texts: &[&str]) -> UserRules {
    let mut rules = UserRules::default();
    texts.iter().for_each(|text| rules.observe(&says(text)));
    rules
}

fn active(rules: &UserRules) -> Vec<&str> {
    rules.active().map(|rule| rule.text.as_str()).collect()
}

/// Each text is one rule, kept whole.
#[track_caller]
fn check_rules(texts: &[&str]) {
    let missed: Vec<_> = texts.iter().filter(|text| active(&rules_of(&[text])) != [**text]).collect();
    assert!(missed.is_empty(), "not recognised: {missed:#?}");
}

/// Any text can be observed.
#[track_caller]
fn check_no_rules(texts: &[&str]) {
    let recognised: Vec<_> = texts.iter().filter(|text| !active(&rules_of(&[text])).is_empty()).collect();
    assert!(recognised.is_empty(), "recognised: {recognised:#?}");
}

#[test]
fn english_rules() {
    check_rules(&[
        "Always use snake_case for variable names.",
        "please never commit to main",
        "Don't ever touch the vendor folder.",
        "From now on, run the linter before you commit.",
        "Make sure every public function has a doc comment.",
        "All migrations must be reversible.",
        "Use pnpm, not npm.",
        "use tabs instead of spaces",
        "Prefer composition over inheritance.",
        "Only modify files under src/api.",
        "You must not change the public API.",
        "No new dependencies without asking me.",
        "no mocks in tests",
        "Keep our working documentation in linear.",
        "Remember that the staging database is shared.",
        "We use Postgres 15 here.",
        "Do not wander into other packages.",
        "CRITICAL RULE: variable names are snake_case.",
        "ok, and ALWAYS run \"npm test\" after any change",
        "Ask me before deleting anything.",
        "Answer in German.",
        "invalid themes must NEVER explode",
        "Avoid unwrap in library code.",
        "Leave the lockfile alone.",
        "Can you always run the tests from now on?",
        "I don't want any new dependencies.",
        "Whenever you add a route, update docs/routes.md.",
        "We never push on Fridays.",
        "Commits should never mention ticket numbers.",
        "Stop adding comments to every line.",
        "Nothing may be deleted without my approval.",
        "Branch names must start with feat/ or fix/.",
        "You are only allowed to edit files in crates/parser.",
        "Please run make lint every time you change Go code.",
        "Treat warnings as errors.",
        "Only ever use UTC timestamps.",
    ]);
}

#[test]
fn english_text_without_rules() {
    check_no_rules(&[
        "fix the failing test",
        "Why does it never work?",
        "why is this always empty",
        "the test always fails on my machine",
        "local variable 'x' is assigned to but never used",
        "Never mind.",
        "I never saw that error before",
        "it must be a caching issue",
        "don't worry about it",
        "don't commit yet",
        "no, that's not it",
        "no problem",
        "no errors found",
        "Keep going",
        "can you make the icon smaller?",
        "is it possible to only show errors",
        "In a.ts around lines 76 to 82, do not await the call.",
        "I think every line must not be wider than that",
        "the word `never` appears twice",
        "He said \"always use tabs\"",
        "thanks",
        "run the tests and commit",
        "this should be a client-only app",
        "> always quote me",
        "```\nnever do this\n```",
        "| never | always |",
        "pr feedback:\n\n1. Never swallow errors.\n2. Always log them.",
        "$ cargo build\nerror: never type\nwarning: must be used\nYou must not see this.",
        "The app no longer starts.",
        "you always forget the tests",
        "They help a lot and always make us smile.",
        "This method is called after each test.",
        "No migrations to apply.",
        "Have you considered that in the future?",
        "Always happy to help.",
        "there must be a typo somewhere",
        "the docs say that all keys must be strings but ours are ints",
        "rename all the variables in main.rs to snake_case",
        "why don't you use a loop here",
        "I always get this error when I start the server",
    ]);
}

#[test]
fn chinese_rules() {
    check_rules(&[
        "不要修改 vendor 目录。",
        "提交信息必须用英文",
        "始终使用 TypeScript。",
        "以后都用 pnpm 安装依赖。",
        "所有接口一律返回 JSON",
        "请用中文回答。",
        "禁止直接推送到 main 分支",
        "每次修改后运行测试。",
        "别再加注释了",
        "用 pnpm 而不是 npm",
        "未经我同意不得删除文件",
    ]);
    check_no_rules(&[
        "在另外的分支实现这个",
        "有必要为这个功能增加测试吗",
        "要不要加上测试？",
        "先不要提交",
        "推送。阅读github文件夹下的pr模板，创建pr",
        "为什么必须重启？",
        "也要加上相应的tooltip",
        "修复这个失败的测试",
        "每次启动都会报错",
    ]);
}

#[test]
fn japanese_rules() {
    check_rules(&[
        "必ずテストを書いてください。",
        "mainブランチに直接プッシュしないでください。",
        "コメントは常に日本語で書いてください",
        "anyの使用は禁止です。",
        "今後はpnpmを使ってください。",
        "ファイルを勝手に削除しないで",
        "npmではなくpnpmを使ってください",
        "返信は日本語で書いてください。",
    ]);
    check_no_rules(&[
        "このテストを直してください。",
        "なぜ必ず失敗しますか？",
        "ビルドは毎回失敗します",
        "気にしないでください",
        "テストを実行して",
        "テストが毎回落ちる",
        "これは常に必要ですか",
    ]);
}

#[test]
fn german_spanish_and_french_rules() {
    check_rules(&[
        "Verwende immer Tabs.",
        "Bitte keine Emojis in Commits.",
        "Ab jetzt nur noch auf Deutsch antworten.",
        "Alle Funktionen müssen getestet sein.",
        "Nunca uses npm.",
        "No modifiques la carpeta vendor.",
        "A partir de ahora responde en español.",
        "N'utilise jamais npm.",
        "Désormais, réponds en français.",
        "Tous les tests doivent passer avant un commit.",
    ]);
    check_no_rules(&[
        "Der Test schlägt immer noch fehl.",
        "Warum ist das immer leer?",
        "revisa si entire agregó algunos hooks",
        "el test siempre falla",
        "ça ne marche toujours pas",
        "corrige le test",
    ]);
}

#[test]
fn items_below_a_heading_of_rules_are_rules() {
    let rules = rules_of(&[
        "Fix it.\n\nRules:\n- four spaces per level\n- British spelling in docs\n\nThanks a lot for that.",
    ]);
    assert_eq!(active(&rules), ["four spaces per level", "British spelling in docs"]);
    let rules = rules_of(&["## 规则\n1. 四个空格缩进\n2. 文档写英式拼写"]);
    assert_eq!(active(&rules), ["四个空格缩进", "文档写英式拼写"]);
}

#[test]
fn one_pin_is_one_sentence_or_item() {
    let rules =
        rules_of(&["We start today. Always use tabs. The rest is up to you.\n- never push\n- look around"]);
    assert_eq!(active(&rules), ["Always use tabs.", "never push"]);
}

#[test]
fn only_what_a_person_typed_counts() {
    let parts = vec![
        Part::text(Origin::Hook, "Always be brief."),
        Part::text(Origin::Memory, "Never push."),
        Part::result(ToolResult::text("c", "You must never read this.")),
        Part::text(Origin::Summary, "Always use tabs."),
    ];
    let mut rules = UserRules::default();
    rules.observe(&Message::new("u", Role::User, parts));
    rules.observe(&Message::new("a", Role::Model, vec![Part::model_text("Always use tabs.")]));
    assert_eq!(rules.active().count(), 0);
}

#[test]
fn equal_rules_are_one_pin_with_several_sources() {
    let rules = rules_of(&["Always use tabs.", "Never push.", "  always   use **tabs**!"]);
    assert_eq!(active(&rules), ["Never push.", "Always use tabs."]);
    let last = rules.active().last().expect("two rules");
    assert_eq!(last.messages, [Ordinal(1), Ordinal(3)]);
    assert_ne!(RuleId::of("Never use =="), RuleId::of("Never use !="));
}

#[test]
fn ordinals_come_from_the_message_or_are_counted() {
    let mut rules = UserRules::default();
    rules.observe(&Message { ordinal: Some(Ordinal(41)), ..says("Always use tabs.") });
    rules.observe(&says("Never push."));
    let sources: Vec<_> = rules.active().flat_map(|rule| &rule.messages).copied().collect();
    assert_eq!(sources, [Ordinal(41), Ordinal(42)]);
}

#[test]
fn a_quoted_sentence_is_a_rule_from_its_message_on() {
    let said = ["Fix it. The wire format is v2 here.", "Fine.", "The wire format rule no longer applies."];
    let quoted = QuotedRule { text: "The wire format is v2 here.".into(), message: Ordinal(1) };
    let after = |count: usize| {
        let mut rules = UserRules::default();
        rules.expect_quoted([quoted.clone()]);
        said[..count].iter().for_each(|text| rules.observe(&says(text)));
        rules
    };
    assert!(active(&after(0)).is_empty());
    assert_eq!(active(&after(1)), [quoted.text.as_str()]);
    assert_eq!(after(2).active().flat_map(|rule| &rule.messages).collect::<Vec<_>>(), [&Ordinal(1)]);
    assert!(active(&after(3)).is_empty(), "a later message lifts it");
    // What was said already counts at once.
    let mut late = rules_of(&said[..2]);
    late.expect_quoted([quoted.clone()]);
    assert_eq!(active(&late), [quoted.text.as_str()]);
}

#[track_caller]
fn check_after(texts: &[&str], expected: &[&str]) {
    assert_eq!(active(&rules_of(texts)), expected);
}

#[test]
fn a_later_message_on_the_subject_retires() {
    check_after(&["Never use emojis.", "You may now use emojis."], &[]);
    check_after(
        &["Always use snake_case for variable names.", "The snake_case rule no longer applies."],
        &[],
    );
    check_after(&["Never push to main.", "We no longer protect main, you can push to main again."], &[]);
    check_after(&["Never touch the vendor folder.", "Never mind the vendor folder."], &[]);
    check_after(&["Never touch the vendor folder.", "drop the rule about the vendor folder"], &[]);
    let spaces = "From now on use spaces for indentation instead of tabs.";
    check_after(&["Always use tabs for indentation.", spaces], &[spaces]);
    check_after(&["提交信息必须用英文。", "提交信息不用再写英文了。"], &[]);
    check_after(&["コメントは常に日本語で書いてください。", "もうコメントは日本語でなくていいです。"], &[]);
    check_after(&["Verwende immer Tabs in Makefiles.", "Tabs in Makefiles brauchen wir nicht mehr."], &[]);
}

#[test]
fn in_doubt_both_stay_the_newer_last() {
    let (old, new) = ("Run the parser tests before each commit.", "Run the lexer tests before each commit.");
    check_after(&[old, new], &[old, new]);
    let rules = rules_of(&[old, new]);
    let doubts: Vec<_> =
        rules.doubts().map(|(older, newer)| (older.text.as_str(), newer.text.as_str())).collect();
    assert_eq!(doubts, [(old, new)]);
    assert_eq!(rules_of(&["Never push to main.", "Use tabs."]).doubts().count(), 0);
    check_after(
        &["Never touch the login page.", "the login page no longer loads"],
        &["Never touch the login page."],
    );
    check_after(
        &["Never touch the login page.", "fix the login page instead"],
        &["Never touch the login page."],
    );
    check_after(&["Never use emojis.", "You may now push to main."], &["Never use emojis."]);
    let sdk = "Use the Cloudflare TypeScript SDK rather than adding direct REST API calls.";
    let docs = "Prefer prose rather than tables when you document TypeScript and REST in the handbook for newcomers.";
    check_after(&[sdk, docs], &[sdk, docs]);
    check_after(&["Never push to main.", "may I push to main now?"], &["Never push to main."]);
}

#[test]
fn a_contradicted_rule_goes() {
    let pnpm = "Always use pnpm to install packages.";
    check_after(&["Always use npm to install packages.", pnpm], &[pnpm]);
    check_after(&["Indent with tabs.", "Actually, spaces, not tabs."], &["Actually, spaces, not tabs."]);
    check_after(&["No tabs in this repo.", "You can use tabs again."], &[]);
    let limit = "Make that limit 60 lines per function.";
    check_after(&["Keep every function under 30 lines.", limit], &[limit]);
    let english = "Передумали: логи теперь на английском.";
    check_after(&["Логи пишем на русском.", english], &[english]);
    let (first, second) = ("Never push to main.", "Never push to develop.");
    check_after(&[first, second], &[first, second]);
    check_after(&[first, "just this once push it straight to main"], &[first]);
    check_after(&[first, "I said never push to main!"], &[first]);
    check_after(&[first, "Tom says \"you can push to main again\"."], &[first]);
    check_after(
        &["커밋 메시지는 한국어로 써 주세요.", "민수 님은 \"이제 영어로 써도 됩니다\" 하시던데요."],
        &["커밋 메시지는 한국어로 써 주세요."],
    );
}

/// Sentences in nine languages, of which every second one was never looked at while phrases were added.
#[test]
fn rules_are_told_from_what_only_looks_like_them() {
    let mut counts = [[0_usize; 2]; 2];
    let mut wrong = Vec::new();
    for line in include_str!("../../tests/data/sentences.txt").lines() {
        let Some((sign, sentence)) = line.split_once(' ').filter(|(sign, _)| matches!(*sign, "+" | "-"))
        else {
            continue;
        };
        let (is_one, is_found) = (sign == "+", !active(&rules_of(&[sentence])).is_empty());
        counts[usize::from(is_one)][usize::from(is_found)] += 1;
        if is_one != is_found {
            wrong.push(line);
        }
    }
    let [[_, taken], [missed, found]] = counts;
    assert!(found * 100 >= (found + missed) * 95, "{wrong:#?}");
    assert!(found * 100 >= (found + taken) * 98, "{wrong:#?}");
}

#[test]
fn what_stands_in_an_element_is_quoted_and_the_person_speaks_again_behind_it() {
    let text = "I've put a repository in /srv/repo. Consider the following issue:\n\n<issue>\nThe parser must never block. Always \
                check the length.\n</issue>\n\nFix it. Never change the tests.\n\n## Rules\n\n- Every reply has exactly one \
                command\n- No interactive programs\n";
    check_after(
        &[text],
        &["Never change the tests.", "Every reply has exactly one command", "No interactive programs"],
    );
}

#[test]
fn a_rule_counts_at_any_length() {
    let story = "I want the list to show the orders of the last month. My customers open it in the morning. "
        .repeat(150);
    let text = format!("{story}\n\nIf a migration fails, stop and tell me.\n\n{story}");
    assert!(text.len() > 20_000);
    check_after(&[&text], &["If a migration fails, stop and tell me."]);
}

#[test]
fn lists_below_headings_of_tasks_are_no_rules() {
    let text = "Tasks:\n1. Comments in English everywhere in lib.rs\n2. Keep the old routes\n\nHow I'd like you to work:\n1. one \
                commit per task\n2. screenshots go to docs/shots";
    check_after(&[text], &["one commit per task", "screenshots go to docs/shots"]);
    check_after(&["오늘 할 일\n- 팝업 추가\n\n작업 규칙\n- any 타입 금지"], &["any 타입 금지"]);
}

#[test]
fn pasted_logs_have_no_rules() {
    check_after(
        &[
            "It said:\n\n    hint: You must fetch first.\n    hint: Never use --force.\n\nWe don't use --force here.",
        ],
        &["We don't use --force here."],
    );
    check_after(
        &[
            "Apareceu isto:\n\nERRO: nunca execute como root.\nERRO: deve ser definida.\nProcesso encerrado.\n\nOnde?",
        ],
        &[],
    );
    check_after(&["[warn] you must not use http2\n[error] never restart\n\nwhy?"], &[]);
    let headings = "## Part\n\nAlways keep the door closed.\n\n".repeat(300);
    check_after(&[&format!("# Handbook\n\n{headings}")], &[]);
}

#[test]
fn a_retired_rule_says_why_and_can_come_back() {
    let mut rules = rules_of(&["Never use emojis.", "You may now use emojis."]);
    let retired: Vec<_> = rules.retired().cloned().collect();
    let by = Retirement::Message { message: Ordinal(2), words: "You may now use emojis.".into() };
    assert_eq!(retired[0].retired_by, Some(by));
    rules.observe(&says("never use emojis"));
    assert_eq!(active(&rules), ["Never use emojis."]);
}

#[test]
fn by_hand() {
    let mut rules = UserRules::default();
    let id = rules.add_by_hand(" the deploy window is Tuesday ").expect("it says something");
    assert_eq!(rules.add_by_hand("  "), None);
    assert_eq!(active(&rules), ["the deploy window is Tuesday"]);
    assert!(rules.remove_by_hand(id));
    assert!(!rules.remove_by_hand(id));
    assert_eq!(rules.retired().map(|rule| &rule.retired_by).collect::<Vec<_>>(), [&Some(Retirement::Hand)]);
}

#[test]
fn pins_survive_json() {
    let rules = rules_of(&["Never use emojis.", "You may now use emojis.", "必ずテストを書いてください。"]);
    let json = serde_json::to_string(&rules).expect("plain data");
    assert_eq!(serde_json::from_str::<UserRules>(&json).expect("what was written"), rules);
    assert_eq!(RuleId::parse("12"), None);
}

const PIECES: &[&str] = &[
    "Never push to main.",
    "Always use tabs for indentation.",
    "You may now push to main.",
    "Use spaces for indentation instead of tabs.",
    "fix the bug",
    "提交信息必须用英文。",
    "提交信息不用再写英文。",
    "Rules:\n- four spaces per level",
    "```\nnever\n```",
    "no longer needed: push to main",
];

proptest! {
    #[test]
    fn any_text_is_observed_without_panic_and_pinned_verbatim(text in any::<String>(), more in "[a-z不要。?*`\\- \n:]{0,60}") {
        for text in [text, more] {
            let rules = rules_of(&[&text]);
            for rule in rules.active() {
                prop_assert!(text.contains(&rule.text));
            }
        }
    }

    #[test]
    fn pins_vanish_only_by_a_later_user_message(picks in proptest::collection::vec(0..PIECES.len(), 1..12)) {
        let mut rules = UserRules::default();
        for pick in picks {
            let before = rules.clone();
            rules.observe(&Message::new("a", Role::Model, vec![Part::model_text("You may now push to main. Use tabs instead.")]));
            prop_assert_eq!(active(&rules), active(&before));
            rules.observe(&says(PIECES[pick]));
            for rule in before.active() {
                let now = rules.rules.iter().find(|now| now.id == rule.id).expect("rules are never forgotten");
                match &now.retired_by {
                    None => {}
                    Some(Retirement::Message { message, words }) => {
                        prop_assert!(PIECES[pick].contains(words.as_str()) && rule.messages.iter().all(|from| from < message));
                    }
                    Some(Retirement::Hand) => prop_assert!(false, "no hand was there"),
                }
            }
        }
    }

    #[test]
    fn resuming_from_disk_changes_nothing(picks in proptest::collection::vec(0..PIECES.len(), 1..12), at in 0usize..12) {
        let texts: Vec<_> = picks.iter().map(|pick| PIECES[*pick]).collect();
        let at = at.min(texts.len());
        let first = serde_json::to_string(&rules_of(&texts[..at])).expect("plain data");
        let mut resumed: UserRules = serde_json::from_str(&first).expect("what was written");
        texts[at..].iter().for_each(|text| resumed.observe(&says(text)));
        prop_assert_eq!(resumed, rules_of(&texts));
    }
}
