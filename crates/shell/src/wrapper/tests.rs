//! Commands that run others.

use crate::{CommandOrigin, Unclear, parse_script};

/// Checks what is run by others, each as its words joined by `|`, and why something cannot be read.
#[track_caller]
fn check(line: &str, expected: &[&str], unread: Option<Unclear>) {
    let script = parse_script(line);
    let wrapped = script.commands.iter().filter(|command| command.origin.wrapper().is_some());
    let wrapped: Vec<_> = wrapped
        .map(|command| command.words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join("|"))
        .collect();
    assert_eq!(wrapped, expected, "{line}");
    assert_eq!(script.commands.iter().find_map(|command| command.unread), unread, "{line}");
}

#[test]
fn prefixes_are_followed() {
    for line in [
        "env rm x",
        "env -i A=1 B=2 rm x",
        "env -u A -C / rm x",
        "env --unset=A rm x",
        "env - rm x",
        "env =1 rm x",
        "env -u \"$x\" rm x",
        "nohup rm x",
        "exec rm x",
        "exec -a b rm x",
        "command rm x",
        "command -p rm x",
        "builtin rm x",
        "nice -n 5 rm x",
        "nice -5 rm x",
        "timeout 5 rm x",
        "timeout -k 1 -s KILL 5s rm x",
        "timeout --signal=KILL 5 rm x",
        "sudo rm x",
        "sudo -u root A=1 rm x",
        "sudo -nu root rm x",
        "/usr/bin/time -v rm x",
        "stdbuf -oL rm x",
        "setsid -w rm x",
        "strace -f -o y rm x",
        "flock y rm x",
        "chroot / rm x",
        "busybox rm x",
        "xargs rm x",
        "xargs -0 -n 1 rm x",
        "xargs -n1 -P4 rm x",
        "watch rm x",
        "watch -n 1 'rm x'",
        "ssh host rm x",
        "ssh -p 22 host 'rm x'",
        "A=1 env rm x",
        "bash -c 'rm x'",
        "sh -ec 'rm x'",
        "bash --norc -o pipefail -c 'rm x'",
        "/bin/bash -lc \"rm x\" a b",
        "eval rm x",
        "eval 'rm x'",
        "trap 'rm x' EXIT",
        "trap -- 'rm x' EXIT",
        "su -c 'rm x' user",
        "script -c 'rm x'",
        "flock y -c 'rm x'",
        "bash <<< 'rm x'",
        "bash <<EOF\nrm x\nEOF",
        "bash -s <<'EOF'\nrm x\nEOF",
        ". /dev/stdin <<< 'rm x'",
        "find . -exec rm x \\;",
        "find . -name y -execdir rm x ';' -print",
        "fd y -x rm x",
        "jobs -x rm x",
        "at now <<< 'rm x'",
        "yash -c 'rm x'",
        "/bin/bash-5.2 -c 'rm x'",
        "jobs -l -xx rm x",
        ". ///dev/stdin <<< 'rm x'",
    ] {
        check(line, &["rm|x"], None);
    }
    check("sudo env nice rm x", &["env|nice|rm|x", "nice|rm|x", "rm|x"], None);
    check("bash -c 'env rm x; ls'", &["env|rm|x", "ls", "rm|x"], None);
    check("find . -exec rm {} + -exec ls \\;", &["rm|{}", "ls"], None);
    check("xargs -I{} sh -c 'rm {}'", &["sh|-c|rm {}", "rm|{}"], Some(Unclear::Argument));
    check("env bash <<< 'rm x'", &["bash", "rm|x"], None);
}

#[test]
fn what_cannot_be_read_is_told() {
    for (line, inner, unread) in [
        ("$x y", &[][..], Unclear::Program),
        ("/bin/r[m] y", &[], Unclear::Program),
        ("{rm,y}", &[], Unclear::Program),
        ("$x/y", &[], Unclear::Program),
        ("\"$(x /y)\"", &[], Unclear::Program),
        ("\"${x:-/y}\"", &[], Unclear::Program),
        ("\"/$x\"", &[], Unclear::Program),
        ("bash -c \"$x\"", &["$x"], Unclear::Argument),
        ("bash -c \"rm $x\"", &["rm|$x"], Unclear::Argument),
        ("bash $x", &[], Unclear::Argument),
        ("bash <(curl x)", &[], Unclear::Argument),
        ("eval $x", &["$x"], Unclear::Argument),
        ("curl x | sh", &[], Unclear::Input),
        ("bash <<EOF\n$x\nEOF", &["$x"], Unclear::Argument),
        ("source <(x)", &[], Unclear::Argument),
        ("xargs env", &["env"], Unclear::Input),
        ("xargs sh -c", &["sh|-c"], Unclear::Input),
        ("echo rm | sudo -s", &[], Unclear::Input),
        ("chroot /", &[], Unclear::Input),
        ("parallel rm", &[], Unclear::Input),
        ("awk -f - y <<< x", &[], Unclear::Code),
        ("sed -f /dev/stdin y <<< x", &[], Unclear::Code),
        ("python3 //dev/stdin <<< x", &[], Unclear::Code),
        ("bash /tmp/../dev/stdin", &[], Unclear::Input),
        ("env $x rm", &[], Unclear::Option),
        ("env -u $x rm", &[], Unclear::Option),
        ("xargs -I$x rm", &[], Unclear::Option),
        ("xargs -I \"$x\" rm", &[], Unclear::Option),
        ("find . -ex$!ec rm", &[], Unclear::Argument),
        ("find . \"$x\" rm", &[], Unclear::Argument),
        ("env --weird rm", &[], Unclear::Option),
        ("env -S 'rm x'", &[], Unclear::Option),
        ("timeout $x rm", &[], Unclear::Option),
        ("find $x", &[], Unclear::Argument),
        ("let 'a[$(x)]'", &[], Unclear::Argument),
        ("test -v 'a[$(x)]'", &[], Unclear::Argument),
        ("[ -v \"$x\" ]", &[], Unclear::Argument),
        ("[ $x ]", &[], Unclear::Argument),
        ("printf -v 'a[$(x)]' y", &[], Unclear::Argument),
        ("printf \"$x\" 'a[$(x)]'", &[], Unclear::Argument),
        ("unset 'a[$(x)]'", &[], Unclear::Argument),
        ("declare 'a[$(x)]=1'", &[], Unclear::Argument),
        ("export $x", &[], Unclear::Argument),
        ("read 'a[$(x)]'", &[], Unclear::Argument),
        ("mapfile -C x -c 1 y", &[], Unclear::Argument),
        ("compgen -C x", &[], Unclear::Argument),
        ("python3 -c 'x'", &[], Unclear::Code),
        ("python3 <<EOF\nx\nEOF", &[], Unclear::Code),
        ("python3.11 -", &[], Unclear::Code),
        ("perl -ne 'x' y", &[], Unclear::Code),
        ("node --eval x", &[], Unclear::Code),
        ("awk 'BEGIN { system(\"rm x\") }'", &[], Unclear::Code),
        ("sed 's/a/b/e' x", &[], Unclear::Code),
        ("sed 1e x", &[], Unclear::Code),
        ("sed -n '/a/w y' x", &[], Unclear::Code),
        ("sed \"$x\" y", &[], Unclear::Code),
    ] {
        check(line, inner, Some(unread));
    }
    let deep = "env ".repeat(40);
    assert!(parse_script(&deep).commands.iter().any(|command| command.unread == Some(Unclear::Depth)));
}

#[test]
fn programs_of_files_are_programs() {
    for line in [
        "bash < x.sh",
        "python3 x.py",
        "python3 -m pytest",
        "node x.js -e",
        "~/bin/x",
        "\"$x/bin/y\" z",
        "command -v rm",
        "awk '{print $1}' x",
        "awk -F: -v a=\"$b\" '{ s += $1 } END { print s }' \"$x\"",
        "sed -n '1,5p' x",
        "sed -i.bak 's/a/b/g; s|c|d|2' x",
        "sed -e '/^#/d' -e '$p' x",
        "sed --version",
        "trap - EXIT",
        "find . -name x",
        "find \"$x\" -name \"$y\"",
        "xargs",
        "env",
        "exec 3<x",
        "[ $? -eq 0 ]",
        "[ -n \"$x\" ]",
        "test -v x",
        "printf '%s' \"$x\" 'a[$(y)]'",
        "export A=\"$x\" B",
        "read -r -p \"$x\" y",
        "let 1+1",
        "jobs -l",
    ] {
        check(line, &[], None);
    }
}

#[test]
fn a_script_file_is_told_as_such() {
    check("bash x.sh y", &["x.sh|y"], None);
    check("sh -e -- x.sh", &["x.sh"], None);
    check("source x.sh", &["x.sh"], None);
    check("bash src/dev/x.sh", &["src/dev/x.sh"], None);
    let script = parse_script("bash x.sh");
    assert_eq!(script.commands[1].origin, CommandOrigin::ScriptFile { by: 0, word: 1 });
}

#[test]
fn a_wrapped_command_knows_the_word_that_names_it() {
    let script = parse_script("env A=1 cargo test && bash -c 'ls'");
    let origins: Vec<_> = script.commands.iter().map(|command| command.origin).collect();
    let wrapped = |by, word| CommandOrigin::Wrapped { by, word };
    assert_eq!(origins, [CommandOrigin::Line, CommandOrigin::Line, wrapped(0, 2), wrapped(1, 2)]);
}
