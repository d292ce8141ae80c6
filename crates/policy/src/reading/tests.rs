use super::*;

/// The paths that the only command of a line reads, or the reason why it may do more.
fn reading(line: &str) -> Result<(ReadSource, Vec<String>), String> {
    let LineReading { commands, folder } = LineReading::parse(line);
    assert_eq!(folder, None, "{line}");
    let [command] = <[_; 1]>::try_from(commands).unwrap_or_else(|all| panic!("{line}: {all:?}"));
    let command = command.map_err(|reason| reason.to_string())?;
    Ok((command.source, command.paths.into_iter().map(|path| path.text).collect()))
}

#[track_caller]
fn check(line: &str, source: ReadSource, paths: &[&str]) {
    assert_eq!(reading(line), Ok((source, paths.iter().map(|path| (*path).to_owned()).collect())), "{line}");
}

#[test]
fn what_is_read_is_told() {
    use ReadSource::{Files, Input, Repository};
    check("ls", Files, &[]);
    check("ls -la src 'a b'", Files, &["src", "a b"]);
    check("cat -n a.rs -- -b", Files, &["a.rs", "-b"]);
    check("cat", Input, &[]);
    check("head -20", Input, &[]);
    check("head -n 5 -c3k x -", Files, &["x"]);
    check("tail -n +20 x 2>/dev/null", Files, &["x"]);
    check("wc -l < /dev/null", Input, &[]);
    check("grep -rn x src".replace("-rn", "-n").as_str(), Files, &["src"]);
    check("grep -e x -A3 -e y a b", Files, &["a", "b"]);
    check("grep /etc/passwd", Input, &[]);
    check("rg -n TODO", Files, &[]);
    check("rg --files src", Files, &["src"]);
    check("rg -e --pre src", Files, &["src"]);
    check(
        "find src tests -name '*.rs' -not ( -path x ) -mtime -7"
            .replace('(', "'('")
            .replace(')', "')'")
            .as_str(),
        Files,
        &["src", "tests"],
    );
    check("sed -n '1,20p;30p;$p' a", Files, &["a"]);
    check("sed 10q a", Files, &["a"]);
    check("echo --- -rf /", Input, &[]);
    check("sort -t, -k2 -rn", Input, &[]);
    check("git status", Repository, &[]);
    check("git --no-pager log --oneline -5 main..dev -- src", Repository, &["main..dev", "src"]);
    check("git show HEAD:src/lib.rs HEAD~2:./a", Repository, &["src/lib.rs", "./a"]);
    check("git stash list", Repository, &[]);
    check("git log --since 2.weeks --author=x -S 'a b' -p", Repository, &[]);
    check("git grep -n 'a:b' src", Repository, &["src"]);
}

#[test]
fn what_may_do_more_is_not_known() {
    for (line, reason) in [
        ("rm x", "\"rm\" is not known to only read"),
        ("./ls", "\"./ls\" is not known to only read"),
        ("/bin/ls", "\"/bin/ls\" is not known to only read"),
        ("git push", "\"git push\" is not known to only read"),
        ("git", "\"git\" is not known to only read"),
        ("git stash", "\"git stash\" is not known to only read"),
        ("git -c core.pager=x log", "option \"-c\" is not known to only read"),
        ("git -C .. log", "option \"-C\" is not known to only read"),
        ("git branch new", "argument \"new\" is not known to only read"),
        ("git show :x", "argument \":x\" is not known to only read"),
        ("git log --outp=x", "option \"--outp\" is not known to only read"),
        ("git diff --ext-diff", "option \"--ext-diff\" is not known to only read"),
        ("find . -delete", "option \"-delete\" is not known to only read"),
        ("find . -- -delete", "option \"--\" is not known to only read"),
        ("rg --pre x y", "option \"--pre\" is not known to only read"),
        ("rg -uu y", "option \"-u\" is not known to only read"),
        ("grep -r x .", "option \"-r\" is not known to only read"),
        ("sort -ro x y", "option \"-o\" is not known to only read"),
        ("uniq a b", "argument \"a\" is not known to only read"),
        ("head -n /etc/passwd", "option \"-n\" is not known to only read"),
        ("sed -n '1w x' a", "cannot tell everything it would run: it contains code that is not analysed"),
        ("sed 's/a/b/' a", "argument \"s/a/b/\" is not known to only read"),
        ("sed -i 1p a", "option \"-i\" is not known to only read"),
        ("sed '1e x;2p' a", "cannot tell everything it would run: it contains code that is not analysed"),
        ("cat $x", "\"$x\" is known only at run time"),
        ("cat ~/x", "\"~/x\" is known only at run time"),
        ("cat *", "\"*\" is known only at run time"),
        ("$ls", "cannot tell everything it would run: the program is known only at run time"),
        ("A=b ls", "argument \"A=b\" is not known to only read"),
        ("cat < x", "it is redirected from or to a file"),
        ("ls > x", "it is redirected from or to a file"),
        ("ls 'x", "cannot tell everything it would run: a quote, bracket or here-document is not closed"),
    ] {
        assert_eq!(reading(line), Err(reason.to_owned()), "{line}");
    }
}

#[track_caller]
fn check_verdicts(line: &str, expected: &str) {
    let verdicts = LineReading::parse(line).check(|_| Ok(()));
    let letters: String = verdicts.0.iter().map(|verdict| if verdict.is_ok() { '+' } else { '-' }).collect();
    assert_eq!(letters, expected, "{line}: {verdicts:?}");
    assert_eq!(verdicts.are_all_reading(), !expected.is_empty() && !expected.contains('-'), "{line}");
}

#[test]
fn one_command_that_may_change_files_spoils_those_that_read_files() {
    check_verdicts("git log | head -3 && ls; wc -l a || echo none", "+++++");
    check_verdicts("cargo test | tail -5", "-+");
    check_verdicts("ln -s /etc/passwd x && cat x", "--");
    check_verdicts("make; git diff | grep x", "--+");
    check_verdicts("echo $(cat x)", "--");
    check_verdicts("sh -c 'ls'", "--");
    check_verdicts("while true; do cat; done < x", "---");
    check_verdicts("exec < x; cat", "--");
    check_verdicts("ls; 'x", "--");
    check_verdicts("", "");
}

#[test]
fn a_leading_cd_is_followed() {
    let folder = |line: &str| LineReading::parse(line).folder;
    assert_eq!(folder("cd src && ls").as_deref(), Some("src"));
    assert_eq!(folder(" cd '/a b' && ls").as_deref(), Some("/a b"));
    for line in [
        "cd src; ls",
        "cd && ls",
        "cd - && ls",
        "cd $x && ls",
        "(cd src && ls)",
        "ls && cd src && ls",
        "A=b cd x && y",
        "cd src || ls",
    ] {
        assert_eq!(folder(line), None, "{line}");
    }
    check_verdicts("cd src && git diff | head", "+++");
    check_verdicts("(cd src && ls); cat x", "---");
    check_verdicts("cd src && cd .. && ls", "---");
}

#[test]
fn what_the_caller_sees_on_the_disk_counts() {
    let look = |command: &CommandReading| match command.paths.as_slice() {
        [path] if path.text == "secret" => Err(NotReading::Path("\"secret\" is ignored".to_owned())),
        _ => Ok(()),
    };
    let verdicts = LineReading::parse("cat a; cat secret").check(look);
    assert_eq!(verdicts.get(0), Ok(()));
    assert_eq!(verdicts.get(1).map_err(ToString::to_string), Err("\"secret\" is ignored".to_owned()));
    assert!(!verdicts.are_all_reading());
}
