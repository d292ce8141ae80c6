//! Command lines as they are compared: without what differs from one time to the next and does not matter.

use longhaul_shell::{CommandOrigin, RedirectOperator, SimpleCommand, parse_script};

use crate::data::MINING_WORDS;
use crate::portable::ProjectRoots;

/// Longer commands are too particular to be part of a procedure.
const LONGEST: usize = 200;

/// The commands of a line that do something, one by one, in the form in which they are compared: each with the folder of the
/// project that the line entered before it, and none that only one machine can run.
pub(crate) fn normalise(line: &str, roots: &ProjectRoots) -> Vec<String> {
    if line.trim().lines().count() > 1 || line.contains("<<") {
        // A script of its own.
        return Vec::new();
    }
    // The folder of the commands that follow; nothing where it is none of the project's.
    let mut folder = Some(String::new());
    let mut found = Vec::new();
    for command in own_commands(line) {
        if command.words.first().is_some_and(|word| word.text == "cd") {
            let target = command.words.get(1).map(|word| word.text.as_str());
            folder = folder.and_then(|folder| enter(&folder, target?, roots));
            continue;
        }
        let Some(folder) = &folder else { continue };
        let Some(clean) = clean(&command, roots).filter(|clean| !only_looks(clean)) else { continue };
        let whole = match folder.is_empty() {
            true => clean,
            false => format!("{ENTER}{folder}{THEN}{clean}"),
        };
        if whole.chars().count() <= LONGEST {
            found.push(whole);
        }
    }
    found
}

/// The words around the folder in front of a command.
const ENTER: &str = "cd ";
const THEN: &str = " && ";

/// The folder in which a target is entered.
fn enter(folder: &str, target: &str, roots: &ProjectRoots) -> Option<String> {
    let inside = roots.localise(target).filter(|_| !target.starts_with('-'))?;
    let is_from_root = target.starts_with('/');
    match inside.trim_end_matches('/') {
        "." if is_from_root => Some(String::new()),
        "." => Some(folder.to_string()),
        inside if is_from_root || folder.is_empty() => Some(inside.to_string()),
        inside => Some(format!("{folder}/{inside}")),
    }
}

/// A command without the folder in front of it.
pub(crate) fn without_folder(command: &str) -> &str {
    command.strip_prefix(ENTER).and_then(|rest| rest.split_once(THEN)).map_or(command, |(_, command)| command)
}

/// True if any competent agent would run this unasked.
pub(crate) fn is_common(command: &str) -> bool {
    let command = without_folder(command);
    let plain: String;
    let command = match command.strip_prefix("git ").filter(|rest| rest.starts_with('-')) {
        // The folder or a setting for this once stands before the verb.
        Some(rest) => {
            let mut words = rest.split(' ').peekable();
            while let Some(option) = words.next_if(|word| word.starts_with('-')) {
                if matches!(option, "-C" | "-c") {
                    words.next();
                }
            }
            plain = std::iter::once("git").chain(words).collect::<Vec<_>>().join(" ");
            plain.as_str()
        }
        None => command,
    };
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

/// The words of a command as they are written, without what is done with its output, and without the message of a commit;
/// nothing if they name a place of one machine.
fn clean(command: &SimpleCommand, roots: &ProjectRoots) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    // Variables that are set only for this command are kept: they may be the point of it.
    for word in &command.words {
        let is_message = words.last().is_some_and(|last| matches!(last.as_str(), "-m" | "--message" | "-am"));
        words.push(match is_message {
            true => "\"…\"".to_string(),
            false => roots.localise_word(&command.text[word.span.clone()])?,
        });
    }
    for redirect in command.redirects.iter().filter(|redirect| redirect.operator == RedirectOperator::Read) {
        words.extend(["<".to_string(), roots.localise(&redirect.target.text)?]);
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
        assert_eq!(normalise(line, &ProjectRoots::default()), expected, "{line}");
    }

    #[test]
    fn lines_come_apart_into_commands_that_do_something() {
        check("cd app && npm run build 2>&1 | tail -20", &["cd app && npm run build"]);
        check("cd app && cd ../web && make; cd - && make", &["cd app/../web && make"]);
        check("cd /tmp/x && make; cd /home/me/x && make", &[]);
        check("go build -o /tmp/x ./cmd && make", &["make"]);
        check("cargo  fmt; cargo test -p x > out.txt", &["cargo fmt", "cargo test -p x"]);
        check("git add -A && git commit -m \"fix: it && more\"", &["git add -A", "git commit -m \"…\""]);
        check("DB=test make migrate || true", &["DB=test make migrate"]);
        check("ls -la; git status; git -C x log; sed -n 1,2p a", &[]);
        check("psql -c 'a; b'", &["psql -c 'a; b'"]);
        check("python - <<EOF\nprint()\nEOF", &[]);
        check("for f in a b; do make $f; done; (cd x && npm ci) | tee out", &["make $f", "cd x && npm ci"]);
        check("COUNT=$(find . | wc -l) && psql shop < dump.sql & make", &["psql shop < dump.sql"]);
        check("", &[]);
        check("\"", &["\""]);
    }

    #[test]
    fn what_everybody_knows_is_known() {
        assert!(is_common("git push") && is_common("git add -A") && !is_common("git subtree add"));
        assert!(!is_common("rmdir x") && !is_common("make release") && is_common("cd app && git push"));
        assert!(is_common("git -C web -c a=b --no-pager commit -m x") && !is_common("git -C web tag x"));
    }

    proptest::proptest! {
        #[test]
        fn nothing_panics_and_once_is_enough(line in "[a-z&;|\"' <>=\\-]{0,40}") {
            for command in normalise(&line, &ProjectRoots::default()) {
                let again = normalise(&command, &ProjectRoots::default());
                proptest::prop_assert!(again.len() <= 1 || command.contains(['"', '\'', '<']), "{:?} {:?}", command, again);
            }
        }
    }
}
