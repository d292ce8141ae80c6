//! Programs that test, build and check.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::data::{DataError, DataFile, loaded};
use crate::entries::CommandPurpose;
use crate::entries::CommandPurpose::{Build, Check, Test};
use crate::paths::base_name;

/// A program that tests, builds or checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runner {
    /// Its name with the subcommand that decides, such as `cargo test`.
    pub(super) name: String,
    pub(super) purpose: CommandPurpose,
}

/// Programs that test, build and check: `data/runners.txt` and `data/task-names.txt`.
#[derive(Default)]
pub(crate) struct Runners {
    /// Programs that always do the same.
    programs: HashMap<&'static str, CommandPurpose>,
    /// Programs whose subcommand or option decides.
    by_argument: HashMap<&'static str, Vec<(&'static str, CommandPurpose)>>,
    /// Programs that run tasks which a project names itself.
    tasks: HashSet<&'static str>,
    /// Programs that run several of them at once.
    goals: HashSet<&'static str>,
    /// Programs that start another one, with the words between them.
    launchers: Vec<(&'static str, Vec<&'static str>)>,
    task_names: Vec<(&'static str, CommandPurpose)>,
}

static RUNNERS: LazyLock<Runners> = LazyLock::new(|| loaded(parse(&FILE, &TASK_NAMES_FILE)));

pub(crate) const FILE: DataFile =
    DataFile { name: "runners.txt", text: include_str!("../../data/runners.txt") };
pub(crate) const TASK_NAMES_FILE: DataFile =
    DataFile { name: "task-names.txt", text: include_str!("../../data/task-names.txt") };

pub(crate) fn parse(runners: &DataFile, task_names: &DataFile) -> Result<Runners, DataError> {
    let mut all = Runners::default();
    for line in runners.lines() {
        let line = line?;
        let words: Vec<&str> = line.value.split_whitespace().collect();
        let is_new = match (purpose_of_key(line.key), line.key, &words[..]) {
            (Some(purpose), _, [program]) => all.programs.insert(program, purpose).is_none(),
            (Some(purpose), _, [program, argument]) => {
                let known = all.by_argument.entry(program).or_default();
                let is_new = known.iter().all(|(known, _)| known != argument);
                known.push((argument, purpose));
                is_new
            }
            (_, "tasks", [program]) => all.tasks.insert(program),
            (_, "goals", [program]) => all.goals.insert(program),
            (_, "launches", [program, between @ ..]) => {
                all.launchers.push((program, between.to_vec()));
                true
            }
            (None, key, _) if !["tasks", "goals", "launches"].contains(&key) => {
                return Err(line.unknown_key());
            }
            _ => return Err(line.error("too many words")),
        };
        if !is_new {
            return Err(line.error(format!("`{}` is already in the file", line.value)));
        }
    }
    for line in task_names.lines() {
        let line = line?;
        let purpose = purpose_of_key(line.key).ok_or_else(|| line.unknown_key())?;
        all.task_names.push((line.value, purpose));
    }
    Ok(all)
}

fn purpose_of_key(key: &str) -> Option<CommandPurpose> {
    match key {
        "test" => Some(Test),
        "build" => Some(Build),
        "check" => Some(Check),
        _ => None,
    }
}

/// The runner that these words start, if they start one.
pub(super) fn find_runner(words: &[String]) -> Option<Runner> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    find(&words, 0)
}

fn find(words: &[&str], depth: usize) -> Option<Runner> {
    let program = base_name(words.first()?);
    let program = program.strip_suffix(".exe").or_else(|| program.strip_suffix(".cmd")).unwrap_or(program);
    let program = if program.starts_with("python3.") { "python3" } else { program };
    let arguments = &words[1..];
    if depth < 4 {
        for (launcher, between) in &RUNNERS.launchers {
            if program == *launcher && arguments.starts_with(between) {
                let rest = &arguments[between.len()..];
                let skipped = rest.iter().take_while(|word| word.starts_with('-')).count();
                if let Some(found) = find(&rest[skipped..], depth + 1) {
                    return Some(found);
                }
            }
        }
    }
    if let Some(purpose) = RUNNERS.programs.get(program) {
        let asks_only = arguments.iter().any(|word| matches!(*word, "--version" | "--help" | "-V"));
        return (!asks_only).then(|| Runner { name: program.to_string(), purpose: *purpose });
    }
    if let Some(listed) = RUNNERS.by_argument.get(program) {
        let subcommand = arguments.iter().find(|word| !word.starts_with(['-', '+']));
        let is_given = |argument: &&'static str| {
            if argument.starts_with('-') {
                arguments.contains(argument)
            } else {
                subcommand == Some(argument)
            }
        };
        let (argument, purpose) = listed.iter().find(|(argument, _)| is_given(argument))?;
        return Some(Runner { name: format!("{program} {argument}"), purpose: *purpose });
    }
    match program {
        _ if RUNNERS.goals.contains(program) => {
            let goals = arguments.iter().filter(|word| !word.starts_with('-'));
            let (goal, purpose) =
                goals.filter_map(|goal| Some((goal, purpose_of_name(goal)?))).max_by_key(|(_, p)| *p)?;
            Some(Runner { name: format!("{program} {goal}"), purpose })
        }
        "make" | "gmake" if !arguments.iter().any(|word| !word.starts_with('-')) => {
            Some(Runner { name: program.to_string(), purpose: Build })
        }
        _ if RUNNERS.tasks.contains(program) => by_script(program, arguments),
        _ => None,
    }
}

/// `npm test`, `npm --prefix x run build`, `mise run lint`, `make -j4 check`.
fn by_script(program: &str, arguments: &[&str]) -> Option<Runner> {
    const TAKE_VALUE: &[&str] =
        &["-C", "-f", "--prefix", "-w", "--workspace", "--filter", "-F", "--cwd", "-j"];
    let mut rest = arguments.iter();
    let mut names = Vec::new();
    while let Some(word) = rest.next() {
        match *word {
            "--" => break,
            option if TAKE_VALUE.contains(&option) => {
                rest.next();
            }
            option if option.starts_with('-') || option.contains('=') => {}
            name => names.push(name),
        }
    }
    let is_verb = |name: &&str| matches!(*name, "run" | "run-script" | "workspace" | "workspaces");
    let verb = names.first().copied().filter(is_verb);
    let name = names.iter().copied().find(|name| !is_verb(name))?;
    let name = if program == "npm" && name == "t" { "test" } else { name };
    let full = verb.map_or_else(|| format!("{program} {name}"), |verb| format!("{program} {verb} {name}"));
    Some(Runner { name: full, purpose: purpose_of_name(name)? })
}

/// The purpose of a task, by the name that a project gives it.
fn purpose_of_name(name: &str) -> Option<CommandPurpose> {
    let name = name.to_ascii_lowercase();
    let pieces: Vec<&str> = name.split(['-', ':', '_', '.', '/']).collect();
    let says = |word: &str| match word.strip_prefix('*') {
        Some(end) => name.ends_with(end),
        None => pieces.iter().any(|piece| piece.starts_with(word)),
    };
    let (_, purpose) = RUNNERS.task_names.iter().find(|(word, _)| says(word))?;
    // `npm packages` makes none.
    (name != "packages").then_some(*purpose)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: Option<(&str, CommandPurpose)>) {
        let words: Vec<String> = command.split(' ').map(str::to_string).collect();
        let found = find_runner(&words);
        assert_eq!(
            found.as_ref().map(|runner| (runner.name.as_str(), runner.purpose)),
            expected,
            "{command}"
        );
    }

    #[test]
    fn runners_are_known_by_their_words() {
        check("cargo test --workspace", Some(("cargo test", Test)));
        check("cargo +nightly clippy --all", Some(("cargo clippy", Check)));
        check("cargo run --example x", None);
        check("go test ./...", Some(("go test", Test)));
        check("go mod tidy", None);
        check("python -m pytest -q", Some(("pytest", Test)));
        check("python3 -m unittest discover", Some(("unittest", Test)));
        check("python -m json.tool", None);
        check("uv run --quiet pytest tests", Some(("pytest", Test)));
        check("npx -y vitest run", Some(("vitest", Test)));
        check("npx biome check src", Some(("biome", Check)));
        check("./node_modules/.bin/jest", Some(("jest", Test)));
        check("npm test", Some(("npm test", Test)));
        check("npm t", Some(("npm test", Test)));
        check("npm run typecheck", Some(("npm run typecheck", Check)));
        check("npm --prefix web run build", Some(("npm run build", Build)));
        check("pnpm --filter web test", Some(("pnpm test", Test)));
        check("npm install", None);
        check("npm run dev", None);
        check("yarn build", Some(("yarn build", Build)));
        check("make", Some(("make", Build)));
        check("make -j4 check", Some(("make check", Check)));
        check("make gen-changelog", None);
        check("mise run test:ci", Some(("mise run test:ci", Test)));
        check("./gradlew clean test", Some(("gradlew test", Test)));
        check("mvn -q package", Some(("mvn package", Build)));
        check("dotnet test", Some(("dotnet test", Test)));
        check("bundle exec rspec spec", Some(("rspec", Test)));
        check("vendor/bin/phpunit", Some(("phpunit", Test)));
        check("node --test test", Some(("node --test", Test)));
        check("node server.js", None);
        check("cmake --build build", Some(("cmake --build", Build)));
        check("tsc --version", None);
        check("ls test", None);
    }
}
