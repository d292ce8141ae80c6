//! Command lines as they are compared: without what differs from one time to the next and does not matter.

use longhaul_shell::{CommandOrigin, RedirectOperator, SimpleCommand, parse_script};

use crate::data::MINING_WORDS;

/// Longer commands are too particular to be part of a procedure.
const LONGEST: usize = 200;

/// The commands of a line that do something, one by one, in the form in which they are compared.
pub(crate) fn normalise(line: &str) -> Vec<String> {
    if line.trim().lines().count() > 1 || line.contains("<<") {
        // A script of its own.
        return Vec::new();
    }
    let commands = own_commands(line).filter_map(|command| clean(&command));
    commands.filter(|command| command.chars().count() <= LONGEST && !only_looks(command)).collect()
}

/// True if any competent agent would run this unasked.
pub(crate) fn is_common(command: &str) -> bool {
    let is_it = |known: &&str| {
        command.strip_prefix(*known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    };
    MINING_WORDS.common.iter().any(is_it)
}

/// The commands of the line itself, each up to what its output or its failure is given to.
fn own_commands(line: &str) -> impl Iterator<Item = SimpleCommand> {
    let (mut end, mut is_given) = (0, false);
    parse_script(line).commands.into_iter().filter(move |command| {
        let Some(span) = command.span.as_ref().filter(|_| command.origin == CommandOrigin::Line) else {
            return false;
        };
        let operator = line.get(end..span.start).unwrap_or_default();
        end = span.end;
        if operator.contains(';') || operator.contains("&&") {
            is_given = false;
        } else if operator.contains(['|', '&']) {
            is_given = true;
        }
        !is_given
    })
}

/// The words of a command as they are written, without what is done with its output, and without the message of a commit.
fn clean(command: &SimpleCommand) -> Option<String> {
    let mut words: Vec<&str> = Vec::new();
    // Variables that are set only for this command are kept: they may be the point of it.
    for word in &command.words {
        let is_message = words.last().is_some_and(|last| matches!(*last, "-m" | "--message" | "-am"));
        words.push(if is_message { "\"…\"" } else { &command.text[word.span.clone()] });
    }
    for redirect in command.redirects.iter().filter(|redirect| redirect.operator == RedirectOperator::Read) {
        words.extend(["<", &redirect.target.text]);
    }
    (!words.is_empty()).then(|| words.join(" "))
}

fn only_looks(command: &str) -> bool {
    let mut words = command.split(' ').skip_while(|word| word.contains('=') && !word.starts_with('-'));
    let program = words.next().unwrap_or_default();
    match program {
        "git" => {
            let mut verb = words.next();
            while let Some(option) = verb.filter(|word| word.starts_with('-')) {
                // These have a value behind them.
                if matches!(option, "-C" | "-c") {
                    words.next();
                }
                verb = words.next();
            }
            verb.is_none_or(|verb| MINING_WORDS.git_looking.contains(&verb))
        }
        "sed" | "awk" => words.next() == Some("-n"),
        "" => true,
        program => MINING_WORDS.looking.contains(&program),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        assert_eq!(normalise(line), expected, "{line}");
    }

    #[test]
    fn lines_come_apart_into_commands_that_do_something() {
        check("cd app && npm run build 2>&1 | tail -20", &["npm run build"]);
        check("cargo  fmt; cargo test -p x > out.txt", &["cargo fmt", "cargo test -p x"]);
        check("git add -A && git commit -m \"fix: it && more\"", &["git add -A", "git commit -m \"…\""]);
        check("DB=test make migrate || true", &["DB=test make migrate"]);
        check("ls -la; git status; git -C x log; sed -n 1,2p a", &[]);
        check("psql -c 'a; b'", &["psql -c 'a; b'"]);
        check("python - <<EOF\nprint()\nEOF", &[]);
        check("for f in a b; do make $f; done; (cd x && npm ci) | tee out", &["make $f", "npm ci"]);
        check(
            "COUNT=$(find . | wc -l) && psql shop < dump.sql & make",
            &["COUNT=$(find . | wc -l)", "psql shop < dump.sql"],
        );
        check("", &[]);
        check("\"", &["\""]);
    }

    #[test]
    fn what_everybody_knows_is_known() {
        assert!(is_common("git push") && is_common("git add -A") && !is_common("git subtree add"));
        assert!(!is_common("rmdir x") && !is_common("make release"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_once_is_enough(line in "[a-z&;|\"' <>=\\-]{0,40}") {
            for command in normalise(&line) {
                let again = normalise(&command);
                proptest::prop_assert!(again.len() <= 1 || command.contains(['"', '\'']), "{:?} {:?}", command, again);
            }
        }
    }
}
