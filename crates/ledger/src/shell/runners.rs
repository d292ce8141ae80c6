//! Knows the programs that test, build and check.

use super::wrappers::base_name;
use crate::entries::CommandPurpose;
use crate::entries::CommandPurpose::{Build, Check, Test};

/// A program that tests, builds or checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Runner {
    /// Its name with the subcommand that decides, such as `cargo test`.
    pub(super) name: String,
    pub(super) purpose: CommandPurpose,
}

/// Words by what they are for.
type Purposes = &'static [(CommandPurpose, &'static [&'static str])];

/// Programs that always do the same.
const PLAIN: Purposes = &[
    (
        Test,
        &[
            "pytest",
            "py.test",
            "unittest",
            "tox",
            "nox",
            "nose2",
            "nosetests",
            "jest",
            "vitest",
            "mocha",
            "ava",
            "tap",
            "karma",
            "rspec",
            "phpunit",
            "pest",
            "ctest",
            "bats",
            "gotestsum",
            "busted",
        ],
    ),
    (
        Build,
        &[
            "ninja", "gcc", "g++", "cc", "clang", "clang++", "rustc", "javac", "webpack", "rollup",
            "esbuild", "tsup", "msbuild",
        ],
    ),
    (
        Check,
        &[
            "tsc",
            "tsgo",
            "eslint",
            "ruff",
            "mypy",
            "pyright",
            "flake8",
            "pylint",
            "black",
            "isort",
            "biome",
            "prettier",
            "golangci-lint",
            "gofmt",
            "goimports",
            "rubocop",
            "shellcheck",
            "stylelint",
            "knip",
            "oxlint",
            "py_compile",
            "vue-tsc",
            "svelte-check",
            "staticcheck",
            "rustfmt",
            "hadolint",
            "ktlint",
            "phpstan",
            "psalm",
        ],
    ),
];

/// Programs whose first words decide.
const BY_SUBCOMMAND: &[(&str, Purposes)] = &[
    (
        "cargo",
        &[
            (Test, &["test", "t", "nextest", "miri"]),
            (Build, &["build", "b"]),
            (Check, &["check", "c", "clippy", "fmt", "doc"]),
        ],
    ),
    ("go", &[(Test, &["test"]), (Build, &["build", "install"]), (Check, &["vet", "fmt"])]),
    ("dotnet", &[(Test, &["test"]), (Build, &["build", "publish"]), (Check, &["format"])]),
    ("swift", &[(Test, &["test"]), (Build, &["build"])]),
    ("zig", &[(Test, &["test"]), (Build, &["build"])]),
    ("mix", &[(Test, &["test"]), (Build, &["compile"]), (Check, &["format", "credo", "dialyzer"])]),
    ("deno", &[(Test, &["test"]), (Check, &["check", "lint", "fmt"])]),
    ("bazel", &[(Test, &["test"]), (Build, &["build"])]),
    ("playwright", &[(Test, &["test"])]),
    ("cypress", &[(Test, &["run"])]),
    ("vite", &[(Build, &["build"])]),
    ("next", &[(Build, &["build"]), (Check, &["lint"])]),
    ("flutter", &[(Test, &["test"]), (Build, &["build"]), (Check, &["analyze"])]),
    ("rails", &[(Test, &["test"])]),
    ("docker", &[(Build, &["build"])]),
    ("cmake", &[(Build, &["--build"])]),
    ("react-router", &[(Check, &["typegen"]), (Build, &["build"])]),
];

/// Programs that start what a project calls by a name of its own; `run` and the like may stand between.
const BY_SCRIPT: &[&str] = &[
    "npm", "pnpm", "yarn", "bun", "make", "gmake", "just", "task", "mise", "rake", "composer", "invoke",
    "pdm", "hatch", "turbo", "nx",
];

/// Programs that start another program, with the words that stand between.
const LAUNCHERS: &[(&str, &[&str])] = &[
    ("npx", &[]),
    ("pnpx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("pnpm", &["exec"]),
    ("pnpm", &["dlx"]),
    ("npm", &["exec"]),
    ("yarn", &["dlx"]),
    ("yarn", &["exec"]),
    ("uv", &["run"]),
    ("poetry", &["run"]),
    ("pipenv", &["run"]),
    ("rye", &["run"]),
    ("pdm", &["run"]),
    ("hatch", &["run"]),
    ("bundle", &["exec"]),
    ("mise", &["exec"]),
    ("python", &["-m"]),
    ("python3", &["-m"]),
    ("coverage", &["run", "-m"]),
];

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
        for (launcher, between) in LAUNCHERS {
            if program == *launcher && starts_with_words(arguments, between) {
                let rest = &arguments[between.len()..];
                let skipped = rest.iter().take_while(|word| word.starts_with('-')).count();
                if let Some(found) = find(&rest[skipped..], depth + 1) {
                    return Some(found);
                }
            }
        }
    }
    let plain = PLAIN.iter().find(|(_, names)| names.contains(&program));
    if let Some((purpose, _)) = plain {
        let asks_only = arguments.iter().any(|word| matches!(*word, "--version" | "--help" | "-V"));
        return (!asks_only).then(|| Runner { name: program.to_string(), purpose: *purpose });
    }
    if let Some((_, subcommands)) = BY_SUBCOMMAND.iter().find(|(name, _)| *name == program) {
        let subcommand =
            arguments.iter().find(|word| !word.starts_with(['-', '+']) || **word == "--build")?;
        let (purpose, _) = subcommands.iter().find(|(_, names)| names.contains(subcommand))?;
        return Some(Runner { name: format!("{program} {subcommand}"), purpose: *purpose });
    }
    match program {
        "mvn" | "mvnw" | "gradle" | "gradlew" | "sbt" | "xcodebuild" => {
            let goals = arguments.iter().filter(|word| !word.starts_with('-'));
            let (goal, purpose) =
                goals.filter_map(|goal| Some((goal, purpose_of_name(goal)?))).max_by_key(|(_, p)| *p)?;
            Some(Runner { name: format!("{program} {goal}"), purpose })
        }
        "node" if arguments.contains(&"--test") => {
            Some(Runner { name: "node --test".to_string(), purpose: Test })
        }
        "make" | "gmake" if !arguments.iter().any(|word| !word.starts_with('-')) => {
            Some(Runner { name: program.to_string(), purpose: Build })
        }
        _ if BY_SCRIPT.contains(&program) => by_script(program, arguments),
        _ => None,
    }
}

fn starts_with_words(words: &[&str], start: &[&str]) -> bool {
    words.len() >= start.len() && words.iter().zip(start).all(|(word, start)| word == start)
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

/// What a project's own name for a task says.
fn purpose_of_name(name: &str) -> Option<CommandPurpose> {
    let name = name.to_ascii_lowercase();
    let says = |words: &[&str]| {
        name.split(['-', ':', '_', '.', '/']).any(|piece| words.iter().any(|word| piece.starts_with(word)))
    };
    if says(&["test", "spec", "e2e", "verify", "integration", "unittest"])
        || name.ends_with("test")
        || name.ends_with("tests")
    {
        Some(Test)
    } else if says(&[
        "lint",
        "check",
        "typecheck",
        "fmt",
        "format",
        "clippy",
        "vet",
        "tsc",
        "types",
        "validate",
    ]) {
        Some(Check)
    } else if says(&["build", "compile", "bundle", "dist", "package", "assemble"]) && name != "packages" {
        Some(Build)
    } else {
        None
    }
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
