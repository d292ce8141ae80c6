//! Command lines as they are compared: without what differs from one time to the next and does not matter.

/// Longer commands are too particular to be part of a procedure.
const LONGEST: usize = 200;

/// Programs that only look, move about or print.
const LOOKING: [&str; 26] = [
    "ls", "cat", "head", "tail", "grep", "rg", "find", "echo", "pwd", "cd", "which", "wc", "tree", "less",
    "sleep", "true", "printf", "file", "stat", "du", "df", "env", "date", "whoami", "ps", "fd",
];

/// What everybody knows how to do.
const COMMON: [&str; 14] = [
    "git add",
    "git commit",
    "git push",
    "git pull",
    "git checkout",
    "git switch",
    "git stash",
    "git fetch",
    "git branch",
    "git rm",
    "mkdir",
    "touch",
    "rm",
    "chmod",
];

/// Words of git that only look.
const GIT_LOOKS: [&str; 7] = ["status", "log", "diff", "show", "blame", "remote", "rev-parse"];

/// The commands of a line that do something, one by one, in the form in which they are compared.
pub(crate) fn normalise(line: &str) -> Vec<String> {
    if line.trim().lines().count() > 1 || line.contains("<<") {
        // A script of its own.
        return Vec::new();
    }
    let parts = split(line).into_iter().filter_map(|part| clean(&part));
    parts.filter(|part| part.chars().count() <= LONGEST && !only_looks(part)).collect()
}

/// Whether any competent agent would run this unasked.
pub(crate) fn is_common(command: &str) -> bool {
    COMMON
        .iter()
        .any(|known| command.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')))
}

/// Splits a line where one command follows another. What is in quotes stays together.
fn split(line: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quote: Option<char> = None;
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, ';') => {
                parts.push(String::new());
                continue;
            }
            (None, '&') if letters.next_if_eq(&'&').is_some() => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().expect("there is always a part").push(letter);
    }
    parts
}

/// A command without what is done with its output, and without the words of a commit.
fn clean(part: &str) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for word in words_of(part) {
        let is_redirection = |word: &str| word.contains('>') && !word.starts_with(['"', '\'']);
        match word.as_str() {
            "|" | "||" | "&" => break,
            word if is_redirection(word) => break,
            _ => {
                let is_message =
                    words.last().is_some_and(|last| last == "-m" || last == "--message" || last == "-am");
                words.push(if is_message { "\"…\"".into() } else { word });
            }
        }
    }
    // Variables that are set only for this command are kept: they may be the point of it.
    (!words.is_empty()).then(|| words.join(" "))
}

/// The words of a command, quotes included.
fn words_of(part: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut quote: Option<char> = None;
    let mut is_in_word = false;
    for letter in part.chars() {
        if quote.is_none() && letter.is_whitespace() {
            is_in_word = false;
            continue;
        }
        match quote {
            Some(open) if open == letter => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
        if !is_in_word {
            words.push(String::new());
            is_in_word = true;
        }
        words.last_mut().expect("a word was begun").push(letter);
    }
    words
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
            verb.is_none_or(|verb| GIT_LOOKS.contains(&verb))
        }
        "sed" | "awk" => words.next() == Some("-n"),
        "" => true,
        program => LOOKING.contains(&program),
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
