//! Prefixes to save when a user answers that a command line is always allowed.

use longhaul_shell::{SimpleCommand, parse_script};
use serde_json::Value;

use crate::programs::{is_runner, risky_options, without_version};

/// Programs whose first argument says what they do.
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "brew",
    "bun",
    "bundle",
    "cargo",
    "composer",
    "conda",
    "deno",
    "docker",
    "dotnet",
    "gcloud",
    "gh",
    "git",
    "glab",
    "go",
    "gradle",
    "helm",
    "jj",
    "kubectl",
    "mvn",
    "nix",
    "npm",
    "pip",
    "pnpm",
    "podman",
    "poetry",
    "rails",
    "rustup",
    "swift",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];

/// The prefixes to save when a user answers that a command line is always allowed: the program of each command with, where
/// it has some, its sub-command. `None` if the line is unclear, writes to files, or runs a program that could run any other.
/// The suggestion allows the line.
pub fn suggest_prefixes(line: &str) -> Option<Vec<String>> {
    let script = parse_script(line);
    if script.unclear.is_some() || script.commands.is_empty() {
        return None;
    }
    let mut prefixes = Vec::new();
    for command in &script.commands {
        // `done < file` runs nothing.
        if command.words.is_empty() && !command.has_file_redirect() {
            continue;
        }
        let prefix = suggest_prefix(command)?;
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    Some(prefixes).filter(|prefixes| !prefixes.is_empty())
}

/// The expression for the arguments to save when a user answers that pages of this host are always fetched; none if the
/// arguments name no host. A port belongs to the host, and so does the scheme.
pub fn suggest_host(args: &Value) -> Option<String> {
    let url = args.get("url")?.as_str()?.trim();
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-.:[]".contains(c);
    let is_host = !host.is_empty() && host.chars().all(is_plain);
    let is_web = scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http");
    let (scheme, host) = (scheme.to_ascii_lowercase(), regex::escape(&host.to_ascii_lowercase()));
    // The host ends where a path, a query or the text does: `example.org.evil.net` and `example.org@evil.net` are others.
    (is_host && is_web).then(|| format!(r#"\0"url":"{scheme}://{host}(?:[/?\#][^"]*)?"\0"#))
}

fn suggest_prefix(command: &SimpleCommand) -> Option<String> {
    let program = command.words.first().filter(|program| program.is_literal() && is_plain(&program.text))?;
    let is_refused = command.has_file_redirect()
        || command.assignments > 0
        || command.unread.is_some()
        || command.origin.wrapper().is_some()
        || is_runner(command)
        || !risky_options(command).is_empty();
    if is_refused {
        return None;
    }
    let program = program.text.as_str();
    match command.words.get(1) {
        Some(sub)
            if WITH_SUBCOMMANDS.contains(&program)
                || WITH_SUBCOMMANDS.contains(&without_version(program)) =>
        {
            let is_word = sub.is_literal() && is_plain(&sub.text) && !sub.text.starts_with(['-', '+']);
            is_word.then(|| format!("{program} {}", sub.text))
        }
        _ => Some(program.to_owned()),
    }
}

/// True if a word stands for itself, with or without quotes.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+:".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        let expected = (!expected.is_empty()).then(|| expected.iter().map(ToString::to_string).collect());
        assert_eq!(suggest_prefixes(line), expected, "{line}");
    }

    #[test]
    fn suggestions_are_as_narrow_as_the_program_allows() {
        check("git status -s", &["git status"]);
        check("ls -la | wc -l", &["ls", "wc"]);
        check("cargo test && cargo test -p x", &["cargo test"]);
        check("pip3.12 list", &["pip3.12 list"]);
        check("rg x src", &["rg"]);
        check("git log --oneline | sort | uniq -c", &["git log", "sort", "uniq"]);
    }

    #[track_caller]
    fn check_host(url: &str, other: &str, is_allowed: bool) {
        let pattern = suggest_host(&serde_json::json!({"url": url})).expect("a host");
        let pattern = crate::pattern::compile(&pattern).expect("an expression");
        let arguments = crate::stable_json(&serde_json::json!({"url": other}));
        assert_eq!(pattern.is_match(&arguments), is_allowed, "{url} and {other}");
    }

    #[test]
    fn an_approval_to_fetch_is_for_one_host() {
        check_host("https://docs.example.org/a?b", "https://docs.example.org/c", true);
        check_host("https://docs.example.org/a", "https://docs.example.org", true);
        check_host("HTTPS://Docs.Example.org/a", "https://docs.example.org?x=1", true);
        check_host("https://docs.example.org/a", "http://docs.example.org/a", false);
        check_host("https://docs.example.org/a", "https://docs.example.org:8443/a", false);
        check_host("https://docs.example.org/a", "https://docs.example.org.evil.net/a", false);
        check_host("https://docs.example.org/a", "https://docs.example.org@evil.net/a", false);
        check_host("https://docs.example.org/a", "https://docs.example.org\\@evil.net/a", false);
        check_host("https://docs.example.org/a", "https://docsXexample.org/a", false);
        check_host("https://docs.example.org/a", "https://evil.net/?u=https://docs.example.org/", false);
        check_host("http://127.0.0.1:8080/a", "http://127.0.0.1:8080/b", true);
        for none in ["ftp://x.org/", "x.org", "https://", "https://u@x.org/", "https://x y/"] {
            assert_eq!(suggest_host(&serde_json::json!({"url": none})), None, "{none}");
        }
    }

    #[test]
    fn nothing_is_suggested_that_would_allow_everything() {
        for line in [
            "sudo rm x",
            "bash -c x",
            "git -C x status",
            "A=1 ls",
            "ls > x",
            "echo 'a",
            "$X y",
            "",
            "# x",
            "python3.11 x.py",
            "gawk '{print}' x",
            "uvx ruff",
            "strace ls",
            "flock x ls",
            "tar cf x y",
            "sed -n 1p x",
            "rg --pre cat x",
            "git log --output=x",
            "git log --outp x",
            "git -c a=b log",
            "git config a b",
            "find . -name x",
            "sort -o x y",
            "gcc-13 x.c",
            "env ls",
            "xargs ls",
            "tee x",
            "npm exec x",
            "uv run x",
            "docker run x",
            "git log \"$x\"",
        ] {
            check(line, &[]);
        }
    }
}
