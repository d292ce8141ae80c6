//! Names of steps and procedures: what is done, in a few words.

use crate::commands::without_folder;
use crate::data::MINING_WORDS;

/// The longest name of a procedure, in characters, and the most steps in it.
const LONGEST: usize = 48;
const MOST_STEPS: usize = 5;

/// The name of a procedure: the names of its steps, without what is said already. `fmt-lint-test` for example.
pub(crate) fn procedure_name(commands: &[String]) -> String {
    let mut name = String::new();
    for step in commands.iter().take(MOST_STEPS).map(|command| step_name(command)) {
        let said: Vec<&str> = name.split('-').collect();
        let is_new = step.split('-').any(|word| !said.contains(&word));
        if !step.is_empty() && is_new && name.len() + step.len() < LONGEST {
            if !name.is_empty() {
                name.push('-');
            }
            name.push_str(&step);
        }
    }
    name
}

/// The act of a command: the task that a runner is given, the script, or the program and its verb.
fn step_name(command: &str) -> String {
    let words = without_folder(command).split_whitespace();
    let mut words = words.skip_while(|word| word.contains('=') && !word.starts_with('-')).peekable();
    let Some(program) = words.next() else { return String::new() };
    let program = stem(program);
    let mut verbs: Vec<String> = Vec::new();
    while let Some(word) = words.next() {
        if word.starts_with('-') {
            // A package or a folder behind an option is no verb.
            if MINING_WORDS.valued_options.contains(&word) {
                words.next();
            }
            continue;
        }
        let is_task = word.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_:".contains(letter));
        let is_script =
            MINING_WORDS.launchers.contains(&program.as_str()) && !word.contains(['"', '\'', '$', '…', '*']);
        if !is_task && !is_script {
            break;
        }
        if !MINING_WORDS.connectors.contains(&word) {
            verbs.push(stem(word));
            let is_group = MINING_WORDS.groups.contains(&word) && words.peek().is_some();
            if !is_group {
                break;
            }
        }
    }
    let is_launcher = MINING_WORDS.launchers.contains(&program.as_str());
    let is_script = command.contains(&format!("{program}.")) || without_folder(command).starts_with("./");
    match verbs.is_empty() {
        true => program,
        false if is_launcher => verbs.join("-"),
        // What a script is given may differ the next time.
        false if is_script => program,
        false => format!("{program}-{}", verbs.join("-")),
    }
}

/// A word without folders and ending, in small letters, with hyphens.
fn stem(word: &str) -> String {
    let word = word.trim_end_matches('/').rsplit('/').next().unwrap_or(word).trim_start_matches('.');
    let word = word.split('.').next().unwrap_or(word);
    let plain: String = word
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' })
        .collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(commands: &[&str], expected: &str) {
        let commands: Vec<String> = commands.iter().map(|command| command.to_string()).collect();
        assert_eq!(procedure_name(&commands), expected);
    }

    #[test]
    fn procedures_are_named_by_what_is_done() {
        check(&["mise run fmt", "mise run lint", "mise run test"], "fmt-lint-test");
        check(
            &["bun run lint:fix", "bun run lint", "bun run test", "bun run typecheck"],
            "lint-fix-test-typecheck",
        );
        check(&["./bump.sh minor", "docker compose up -d", "make test"], "bump-compose-up-test");
        check(&["cargo fmt --all", "cargo clippy -- -D warnings", "cargo test -p x"], "fmt-clippy-test");
        check(&["pnpm --filter @a/b test", "cd web && npm run build"], "test-build");
        check(&["node scripts/audit-all.mjs", "python -m pytest -q"], "audit-all-pytest");
        check(
            &["A=1 terraform apply", "git tag v1", "gh release create v1"],
            "terraform-apply-git-tag-gh-release-create",
        );
        check(&["ruff check .", "pytest tests/a.py", "tsc -p x"], "ruff-check-pytest-tsc");
        check(&["make", "\""], "make");
    }
}
