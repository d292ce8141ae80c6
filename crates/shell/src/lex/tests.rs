//! Command lines and what they are made of.

use proptest::prelude::*;

use crate::{RedirectOperator, Separator, ShellScript, Unclear, WordKind, parse_script};

/// The line's own commands, each as its words joined by `|`, with `>` behind it if it reaches a file.
fn shown(script: &ShellScript) -> Vec<String> {
    let own = script.commands.iter().filter(|command| command.origin.wrapper().is_none());
    own.filter(|command| !command.words.is_empty() || command.has_file_redirect())
        .map(|command| {
            let words: Vec<_> = command.words.iter().map(|word| word.text.as_str()).collect();
            words.join("|") + if command.has_file_redirect() { ">" } else { "" }
        })
        .collect()
}

#[track_caller]
fn check(line: &str, expected: &[&str]) {
    let script = parse_script(line);
    assert_eq!(shown(&script), expected, "{line}");
    assert_eq!(script.unclear, None, "{line}");
}

#[track_caller]
fn check_unclear(line: &str, reason: Unclear) {
    assert_eq!(parse_script(line).unclear, Some(reason), "{line}");
}

#[test]
fn operators_part_commands() {
    check("git status", &["git|status"]);
    check("a && b || c; d | e & f |& g\nh", &["a", "b", "c", "d", "e", "f", "g", "h"]);
    check("a;", &["a"]);
    check("(a; b) && { c; }", &["a", "b", "c"]);
    check("if a; then ! b; else c; fi", &["a", "b", "c"]);
    check("if (a); then ! (b); fi", &["a", "b"]);
    check("for f in *.rs $(ls); do wc -l $f; done", &["ls", "wc|-l|$f"]);
    check("for f\ndo rm $f; done", &["rm|$f"]);
    check("while read x; do echo $x; done", &["read|x", "echo|$x"]);
    check("time -p rm x", &["rm|x"]);
    check("time -- rm x", &["rm|x"]);
    check("a &&\\\nb |\\\n  c", &["a", "b", "c"]);
    check("A=1 if x", &["A=1|if|x"]);
}

#[test]
fn commands_know_the_operator_behind_them() {
    use Separator::{And, Background, Or, Pipe, Sequence};
    let check = |line: &str, expected: &[Separator]| {
        let script = parse_script(line);
        let separators: Vec<_> = script.commands.iter().map(|command| command.separator).collect();
        assert_eq!(separators, expected, "{line}");
    };
    check("a && b || c; d | e |& f & g", &[And, Or, Sequence, Pipe, Pipe, Background, Sequence]);
    check("a\nb &", &[Sequence, Background]);
    check("(a; b) && c", &[Sequence, And, Sequence]);
    check("if a; then b; fi | c", &[Sequence, Pipe, Sequence]);
    check("echo $(a | b) && c", &[Pipe, Sequence, And, Sequence]);
    check("for x in $(a | b); do c; done &", &[Pipe, Sequence, Background]);
    check("a &&> f", &[And, Sequence]);
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
    check("gi\\\nt log", &["git|log"]);
    check("git log \\\n  -p", &["git|log|-p"]);
    check("$'r\\x6d' x", &["rm|x"]);
    check("echo \"$'x\" \"$\" \"a$\"", &["echo|$'x|$|a$"]);
}

#[test]
fn substitutions_are_commands() {
    check("echo $(rm x)", &["rm|x", "echo|$(rm x)"]);
    check("echo `rm x`", &["rm|x", "echo|`rm x`"]);
    check("echo \"a $(rm x) `mv y`\"", &["rm|x", "mv|y", "echo|a $(rm x) `mv y`"]);
    check("echo '$(rm x)'", &["echo|$(rm x)"]);
    check("echo \"\\$(rm x)\"", &["echo|$(rm x)"]);
    check("echo $(a $(b `c`))", &["c", "b|`c`", "a|$(b `c`)", "echo|$(a $(b `c`))"]);
    check("echo `a \\`b\\``", &["b", "a|`b`", "echo|`a \\`b\\``"]);
    check("diff <(a) >(b)", &["a", "b", "diff|<(a)|>(b)"]);
    check("echo ${x:-$(rm y)}", &["rm|y", "echo|${x:-$(rm y)}"]);
    check("echo ${x%.rs} $HOME $", &["echo|${x%.rs}|$HOME|$"]);
    check("echo ${#x} ${x:0:3} ${x//a/b} \"${x:-a b}\"", &["echo|${#x}|${x:0:3}|${x//a/b}|${x:-a b}"]);
    check("echo $(a) > $(b)", &["a", "b", "echo|$(a)>"]);
    check("echo $((1 + 2 * 3))", &["echo|$((1 + 2 * 3))"]);
}

#[test]
fn redirections_are_seen() {
    for line in ["a > b", "a >> b", "a 2>b", "a &> b", "a >& b", "a <> b", "a >| b", "a > /dev/tcp/h/80"] {
        check(line, &["a>"]);
    }
    check("echo a>b c", &["echo|a|c>"]);
    check("> b", &[">"]);
    check("(a) > b", &["a", ">"]);
    check("{ a; } > b", &["a", ">"]);
    check("a < /dev/tcp/host/80", &["a>"]);
    check("a > \"/dev/null\"2", &["a>"]);
    check("a >&$x", &["a>"]);
}

#[test]
fn redirections_have_operator_and_descriptor() {
    let check = |line: &str, operator: RedirectOperator, descriptor: Option<u32>| {
        let script = parse_script(line);
        let redirect = &script.commands[0].redirects[0];
        assert_eq!((redirect.operator, redirect.descriptor), (operator, descriptor), "{line}");
    };
    check("a > x", RedirectOperator::Write, None);
    check("a 2>x", RedirectOperator::Write, Some(2));
    check("a 2>>x", RedirectOperator::Append, Some(2));
    check("a &>> x", RedirectOperator::Append, None);
    check("a 2>&1", RedirectOperator::Duplicate, Some(2));
    check("a 3< x", RedirectOperator::Read, Some(3));
}

#[test]
fn harmless_redirections_are_none() {
    for line in
        ["a 2>&1", "a > /dev/null 2>&1", "a >&2", "a < b", "a <<< 'word; x'", "a 2>&-", "a &>/dev/null"]
    {
        check(line, &["a"]);
    }
    check("a 2> /dev/null | b", &["a", "b"]);
}

#[test]
fn documents_are_input() {
    check("cat <<EOF\nrm x; $(mv y)\n`cp z`\nEOF\nls", &["cat", "mv|y", "cp|z", "ls"]);
    check("cat <<'EOF'\n$(mv y)\nEOF", &["cat"]);
    check("cat <<-EOF\n\tx\n\tEOF\nls", &["cat", "ls"]);
    check("cat <<EOF | grep x\ntext \\$(no)\nEOF", &["cat", "grep|x"]);
    check("a $(cat <<EOF\n)\nEOF\n) b", &["cat", "a|$(cat <<EOF\n)\nEOF\n)|b"]);
    check("a <<A b <<B\n1\nA\n2\nB\nc", &["a|b", "c"]);
    let script = parse_script("a <<-\\A <<B\n\t1\n\tA\n2\nB\nc");
    let bodies: Vec<_> =
        script.commands[0].redirects.iter().map(|redirect| redirect.document.clone()).collect();
    let bodies: Vec<_> =
        bodies.into_iter().flatten().map(|document| (document.body, document.is_literal)).collect();
    assert_eq!(bodies, [("1\n".to_owned(), true), ("2\n".to_owned(), false)]);
}

#[test]
fn comments_run_nothing() {
    check("ls # ; rm x", &["ls"]);
    check("ls a#b", &["ls|a#b"]);
    check("# rm x\nls", &["ls"]);
    check("ls ''#b", &["ls|#b"]);
    check("ls;#b", &["ls"]);
}

#[test]
fn assignments_are_told_from_the_program() {
    let check = |line: &str, assignments: usize, program: Option<&str>| {
        let script = parse_script(line);
        let command = script.commands.last().expect("a command");
        assert_eq!((command.assignments, command.program_name()), (assignments, program), "{line}");
    };
    check("A=1 B+=2 C[0]=3 git log", 3, Some("git"));
    check("/usr/bin/git --x=y", 0, Some("git"));
    check("1=2", 0, Some("1=2"));
    check("\"A\"=1 x", 0, Some("A=1"));
    check("A=\"1 2\" x", 1, Some("x"));
    check("A=$(b)", 1, None);
}

#[test]
fn words_say_what_becomes_of_them() {
    use WordKind::{Filled, Literal, Pattern, Split};
    let check = |word: &str, expected: WordKind| {
        let script = parse_script(&format!("echo {word}"));
        let command = script.commands.last().expect("a command");
        assert_eq!(command.words[1].kind, expected, "{word}");
    };
    for word in
        ["a", "'*'", "\"a\"", "\\$x", "$'a'", "[", "a]", "{}", "@{u}", "HEAD@{1}", "a~", "$", "{a}", "!"]
    {
        check(word, Literal);
    }
    for word in ["\"$x\"", "a\"`b`\"", "\"${x}\"", "~/a", "<(a)"] {
        check(word, Filled);
    }
    for word in ["*", "a?", "[ab]", "r[m]"] {
        check(word, Pattern);
    }
    for word in ["$x", "a$(b)", "{a,b}", "{1..3}", "\"$@\"", "`a`"] {
        check(word, Split);
    }
}

#[test]
fn a_command_has_its_own_text() {
    let texts =
        |line| parse_script(line).commands.into_iter().map(|command| command.text).collect::<Vec<_>>();
    assert_eq!(texts("cd 'a b' && if git  log; then x; fi"), ["cd 'a b'", "git  log", "x"]);
    assert_eq!(texts("a > b c"), ["a > b c"]);
    assert!(texts("  ").is_empty());
}

#[test]
fn what_cannot_be_followed_is_unclear() {
    use Unclear::*;
    for (line, reason) in [
        ("echo 'a", Unclosed),
        ("echo \"a", Unclosed),
        ("echo `a", Unclosed),
        ("echo $(a", Unclosed),
        ("echo ${a", Parameter),
        ("echo ${a:-", Unclosed),
        ("(a", Unclosed),
        ("cat <<EOF\nx", Unclosed),
        ("cat <<EOF", Unclosed),
        ("a \\", Unclosed),
        ("echo $'a", Unclosed),
        ("a )", StrayBracket),
        ("echo ${a:-'b'}", Parameter),
        ("echo ${x:-<(rm y)}", Parameter),
        ("echo ${x:=y}", Parameter),
        ("echo ${!x}", Parameter),
        ("echo ${x@P}", Parameter),
        ("echo ${x[$y]}", Parameter),
        ("echo ${x:y}", Parameter),
        ("echo ${ rm x; }", Parameter),
        ("echo ${|rm x; }", Parameter),
        ("echo ${\nrm x; }", Parameter),
        ("echo ${x:-\\}", Parameter),
        ("f() { rm x; }", Function),
        ("a=(1 2)", Function),
        ("echo @(a)", Function),
        ("case x in a) rm y;; esac", Keyword),
        ("function f { x; }", Keyword),
        ("coproc rm x", Keyword),
        ("[[ -f x ]]", Keyword),
        (">x if rm y", Keyword),
        ("a >", Redirection),
        ("a <#x", Redirection),
        ("a\0b", Character),
        ("a\rb", Character),
        ("a\u{a0}b", Character),
        ("à#b", Character),
        ("for x do rm y; done", Loop),
        ("for PATH in x; do ls; done", Loop),
        ("for ((;;)); do ls; done", Function),
        ("echo \"$\\\n(rm x)\"", Continuation),
        ("cat <\\\n<EOF", Continuation),
        ("cat <<\\\n-EOF\nx\n-EOF", Continuation),
        ("echo \"`echo \\\"'\\\" ; rm x ; echo \\\"'\\\"`\"", Backticks),
        ("echo `a\\\nb`", Backticks),
        ("cat <<EOF\nEO\\\nF\nrm x\nEOF", Document),
        ("cat <<$'EOF'\nEOF\nrm x\n$'EOF'", Document),
        ("cat <<$\"EOF\"\nEOF\nrm x\n$\"EOF\"", Dollar),
        ("cat <<$EOF\n$EOF", Document),
        ("cat <<''\n\n", Document),
        ("cat <<EOF \"\n\"\nEOF", Document),
        ("cat <<EOF $(\nls)\nEOF", Document),
        ("a $(cat <<EOF)\nEOF", Document),
        ("a $(cat <<EOF\nEOF)\nrm x\nEOF\n)", Document),
        ("echo $((1<<2))\nrm x\n2", Arithmetic),
        ("echo \"$((1<<2))\"\nrm x\n2", Arithmetic),
        ("echo $(echo $((1<<2))\nrm x\n2)", Arithmetic),
        ("echo $((x))", Arithmetic),
        ("((x))", Arithmetic),
        ("echo $[1<<2]\nrm x\n2", Dollar),
        ("echo $${x; rm y; echo }", Dollar),
        ("echo $$", Dollar),
        ("echo $\"a\"", Dollar),
        ("echo $'\\'; rm x; echo \\'''", Escapes),
        ("a[$(b)]=1", Subscript),
        ("a[ 1 ]=1 x", Subscript),
        ("alias ls=rm", ShellOption),
        ("shopt -s extglob", ShellOption),
        ("set -k", ShellOption),
        ("command set -k", ShellOption),
        ("PS4='$(x)'; set -x", ShellOption),
        ("BASH_ENV=x bash y", ShellOption),
        ("export ENV=x", ShellOption),
    ] {
        check_unclear(line, reason);
    }
    check_unclear(&format!("echo {}a{}", "$(".repeat(30), ")".repeat(30)), Depth);
    check_unclear(&"${x:-".repeat(10_000), Depth);
    check_unclear(&"$(".repeat(10_000), Depth);
    check_unclear(&"(".repeat(10_000), Arithmetic);
    check_unclear(&"`".repeat(10_001), Unclosed);
    check("set -euo pipefail; ls", &["set|-euo|pipefail", "ls"]);
}

#[test]
fn even_an_unclear_line_shows_its_commands() {
    let script = parse_script("[[ -f x ]] && rm y; case a in b) mv z;; esac");
    assert!(shown(&script).contains(&"rm|y".to_owned()));
    assert!(shown(&script).contains(&"mv|z".to_owned()));
}

/// In a moment each. In time that grows with the square of the length, this would take very long.
#[test]
fn long_lines_are_read_in_one_pass() {
    for piece in [
        "a ",
        "$(",
        "`",
        "'",
        "\"",
        "${x:-",
        "a[",
        "$((1",
        "<<E\n",
        "(",
        "a;",
        "env ",
        "sh -c '",
        "{a,",
        "\\\n",
        "a=b ",
        "find -exec a \\; ",
        "$'\\x",
        "#",
        "\n",
        "eval ",
        "$x",
        "for x in a; do ",
        "cat <<E\nE\n",
        "&& a",
        "xargs ",
        "$(cat <<E\nE\n)",
    ] {
        let script = parse_script(&piece.repeat((1 << 17) / piece.len()));
        assert!(script.commands.len() <= 1 << 17, "{piece}");
    }
}

proptest! {
    #[test]
    fn any_words_in_quotes_come_back(words in prop::collection::vec("\\PC{0,12}", 1..6)) {
        let quoted: Vec<_> = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
        let script = parse_script(&format!("x {}", quoted.join(" ")));
        prop_assert_eq!(script.unclear, None);
        let found: Vec<_> = script.commands[0].words.iter().skip(1).map(|word| &word.text).collect();
        prop_assert_eq!(found, words.iter().collect::<Vec<_>>());
    }
}
