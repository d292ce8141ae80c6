//! Command lines and what they are made of.

use super::*;
use proptest::prelude::*;

/// Checks the parts, each as its words joined by `|`, with `>` behind it if it redirects.
#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let parsed = parse_line(line);
    let parts: Vec<_> = parsed
        .parts
        .iter()
        .map(|part| part.words.join("|") + if part.redirects { ">" } else { "" })
        .collect();
    assert_eq!(parts, expected, "{line}");
    assert!(parsed.is_clear, "unclear: {line}");
}

#[track_caller]
fn check_unclear(line: &str) {
    assert!(!parse_line(line).is_clear, "clear: {line}");
}

#[test]
fn operators_part_commands() {
    check("git status", &["git|status"]);
    check("a && b || c; d | e & f |& g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]);
    check("a;", &["a"]);
    check("(a; b) && { c; }", &["a", "b", "c"]);
    check("if a; then ! b; else c; fi", &["a", "b", "c"]);
    check("for f in *.rs $(ls); do wc -l $f; done", &["ls", "wc|-l|$f"]);
    check("for f\ndo rm $f; done", &["rm|$f"]);
    check("while read x; do echo $x; done", &["read|x", "echo|$x"]);
}

#[test]
fn quotes_hide_operators() {
    check("echo 'a && b' \"c; d\" e\\;f", &["echo|a && b|c; d|e;f"]);
    check("g\"i\"t st'at'us", &["git|status"]);
    check("\"git status\"", &["git status"]);
    check("echo \"a \\\" b\"", &["echo|a \" b"]);
    check("echo \"a\\qb\"", &["echo|a\\qb"]);
    check("'if' x", &["if|x"]);
    check("echo ''", &["echo|"]);
    check("grep $'a\\'b' f", &["grep|$'a\\'b'|f"]);
    check("gi\\\nt log", &["git|log"]);
}

#[test]
fn substitutions_are_parts() {
    check("echo $(rm x)", &["rm|x", "echo|$(rm x)"]);
    check("echo `rm x`", &["rm|x", "echo|`rm x`"]);
    check("echo \"a $(rm x) `mv y`\"", &["rm|x", "mv|y", "echo|a $(rm x) `mv y`"]);
    check("echo '$(rm x)'", &["echo|$(rm x)"]);
    check("echo \"\\$(rm x)\"", &["echo|$(rm x)"]);
    check("echo $(a $(b `c`))", &["c", "b|`c`", "a|$(b `c`)", "echo|$(a $(b `c`))"]);
    check("echo `a \\`b\\``", &["b", "a|`b`", "echo|`a \\`b\\``"]);
    check("diff <(a) >(b)", &["a", "b", "diff|<(a)|>(b)"]);
    check("echo ${x:-<(rm y)}", &["rm|y", "echo|${x:-<(rm y)}"]);
    check("echo ${x:-$(rm y)}", &["rm|y", "echo|${x:-$(rm y)}"]);
    check("echo ${x%.rs} $HOME $", &["echo|${x%.rs}|$HOME|$"]);
    check("echo $(a) > $(b)", &["a", "b", "echo|$(a)>"]);
}

#[test]
fn redirections_are_seen() {
    check("echo a > b", &["echo|a>"]);
    check("echo a >> b", &["echo|a>"]);
    check("echo a>b c", &["echo|a|c>"]);
    check("a 2>err", &["a>"]);
    check("a &> b", &["a>"]);
    check("a >& b", &["a>"]);
    check("a <> b", &["a>"]);
    check("a >| b", &["a>"]);
    check("> b", &[">"]);
    check("(a) > b", &["a", ">"]);
    check("a > /dev/tcp/host/80", &["a>"]);
    check("a < /dev/tcp/host/80", &["a>"]);
    check("a > \"/dev/null\"2", &["a>"]);
}

#[test]
fn harmless_redirections_are_none() {
    check("a 2>&1", &["a"]);
    check("a > /dev/null 2>&1", &["a"]);
    check("a 2> /dev/null | b", &["a", "b"]);
    check("a >&2", &["a"]);
    check("a < b", &["a"]);
    check("a <<< 'word; x'", &["a"]);
    check("a 2>&-", &["a"]);
}

#[test]
fn documents_are_input() {
    check("cat <<EOF\nrm x; $(mv y)\n`cp z`\nEOF\nls", &["cat", "mv|y", "cp|z", "ls"]);
    check("cat <<'EOF'\n$(mv y)\nEOF", &["cat"]);
    check("cat <<-EOF\n\tx\n\tEOF\nls", &["cat", "ls"]);
    check("cat <<EOF | grep x\ntext \\$(no)\nEOF", &["cat", "grep|x"]);
    check("a $(cat <<EOF\n)\nEOF\n) b", &["cat", "a|$(cat <<EOF\n)\nEOF\n)|b"]);
}

#[test]
fn comments_run_nothing() {
    check("ls # ; rm x", &["ls"]);
    check("ls a#b", &["ls|a#b"]);
    check("# rm x\nls", &["ls"]);
}

#[test]
fn assignments_are_told_from_the_program() {
    let part = parse_line("A=1 B+=2 C[0]=3 git log").parts.remove(0);
    assert_eq!((part.assignments, part.program()), (3, Some("git")));
    let part = parse_line("/usr/bin/git --x=y").parts.remove(0);
    assert_eq!((part.assignments, part.program()), (0, Some("git")));
    assert_eq!(parse_line("1=2").parts[0].assignments, 0);
}

#[test]
fn a_part_has_its_own_text() {
    let texts = |line| parse_line(line).parts.into_iter().map(|part| part.text).collect::<Vec<_>>();
    assert_eq!(texts("cd 'a b' && if git  log; then x; fi"), ["cd 'a b'", "git  log", "x"]);
    assert_eq!(texts("a > b c"), ["a > b c"]);
    assert_eq!(texts("  "), [""]);
}

#[test]
fn what_cannot_be_followed_is_unclear() {
    for line in [
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "echo ${a",
        "echo ${a:-'b'}",
        "f() { rm x; }",
        "a=(1 2)",
        "case x in a) rm y;; esac",
        "function f { x; }",
        "[[ -f x ]]",
        "a )",
        "(a",
        "cat <<EOF\nx",
        "cat <<EOF",
        "a >",
        "a \\",
        "a\0b",
        "echo $'a",
        "for x do rm y; done",
        "echo \"$\\\n(rm x)\"",
        "echo \"`echo \\\"'\\\" ; rm x ; echo \\\"'\\\"`\"",
        "cat <<EOF\nEO\\\nF\nrm x\nEOF",
    ] {
        check_unclear(line);
    }
    check_unclear(&format!("{}a{}", "$(".repeat(30), ")".repeat(30)));
    check_unclear(&"$(".repeat(10_000));
    check_unclear(&"${".repeat(10_000));
    check_unclear(&"(".repeat(10_000));
    check_unclear(&"`".repeat(10_001));
}

#[test]
fn even_an_unclear_line_shows_its_parts() {
    let line = parse_line("[[ -f x ]] && rm y");
    assert_eq!(line.parts[1].words, ["rm", "y"]);
}

#[test]
fn a_prefix_is_the_beginning_of_one_command() {
    assert_eq!(parse_prefix("git log").expect("good"), ["git", "log"]);
    assert_eq!(parse_prefix(" npm  run 'my test' ").expect("good"), ["npm", "run", "my test"]);
    for bad in ["", "  ", "a; b", "a > b", "echo 'x", "a && b", "$(x) y"] {
        assert!(parse_prefix(bad).is_err(), "{bad}");
    }
}

#[track_caller]
fn check_suggestion(line: &str, expected: Option<&[&str]>) {
    let expected = expected.map(|prefixes| prefixes.iter().map(|prefix| (*prefix).to_owned()).collect());
    assert_eq!(suggest_prefixes(line), expected, "{line}");
}

#[test]
fn suggestions_are_as_narrow_as_the_program_allows() {
    check_suggestion("git status -s", Some(&["git status"]));
    check_suggestion("ls -la | wc -l", Some(&["ls", "wc"]));
    check_suggestion("cargo test && cargo test -p x", Some(&["cargo test"]));
    for refused in ["sudo rm x", "bash -c x", "git -C x status", "A=1 ls", "ls > x", "echo 'a", "$X y", ""] {
        check_suggestion(refused, None);
    }
}

proptest! {
    #[test]
    fn any_text_is_taken_apart(line in "[ab$(){}`'\"\\\\<>|&;\n #=EOF-]{0,60}") {
        let parsed = parse_line(&line);
        prop_assert!(!parsed.parts.is_empty());
        for part in &parsed.parts {
            prop_assert!(part.assignments <= part.words.len());
        }
    }

    #[test]
    fn any_words_in_quotes_come_back(words in prop::collection::vec("\\PC{0,12}", 1..6)) {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let parsed = parse_line(&quoted.join(" "));
        prop_assert!(parsed.is_clear);
        prop_assert_eq!(&parsed.parts[0].words, &words);
    }
}
