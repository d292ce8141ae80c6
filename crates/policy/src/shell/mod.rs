//! Takes a command line apart, so that each command in it can be judged by itself.
//!
//! This is no shell: nothing is expanded or run. Whatever it does not follow to the end (functions, arrays, `case`,
//! unclosed quotes) makes the line unclear, and an unclear line is never allowed without asking.

mod scan;

/// A command line in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// Every simple command, those inside substitutions included. Never empty.
    pub(crate) parts: Vec<Part>,
    /// Whether the parts are certainly all that would run.
    pub(crate) is_clear: bool,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Part {
    /// As it stands in the line.
    pub(crate) text: String,
    /// Its words, without quotes; expansions stay as they are written.
    pub(crate) words: Vec<String>,
    /// How many of the words, at the beginning, set variables.
    pub(crate) assignments: usize,
    /// Whether its output goes to a file, or its input comes from the network.
    pub(crate) redirects: bool,
}

impl Part {
    /// Its words without those that set variables.
    pub(crate) fn bare(&self) -> &[String] {
        &self.words[self.assignments..]
    }

    /// The name of the program, without its folder.
    pub(crate) fn program(&self) -> Option<&str> {
        self.bare().first().map(|word| word.rsplit('/').next().unwrap_or(word))
    }
}

/// Takes a command line apart.
pub(crate) fn parse_line(line: &str) -> Line {
    let mut parsed = scan::scan(line);
    if parsed.parts.is_empty() {
        parsed.parts.push(Part { text: line.trim().to_owned(), ..Part::default() });
    }
    parsed
}

/// The words at the beginning of a command that a rule names, or the reason why they name none.
pub(crate) fn parse_prefix(prefix: &str) -> Result<Vec<String>, &'static str> {
    let line = parse_line(prefix);
    match line.parts.as_slice() {
        [part] if line.is_clear && !part.redirects && !part.words.is_empty() => Ok(part.words.clone()),
        [part] if part.words.is_empty() => Err("the prefix is empty"),
        _ => Err("the prefix must be the beginning of one command"),
    }
}

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
    "pip3",
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

/// Programs that run whatever their arguments say: to allow them is to allow everything.
const RUNNERS: &[&str] = &[
    "ash",
    "awk",
    "bash",
    "busybox",
    "command",
    "csh",
    "dash",
    "doas",
    "env",
    "eval",
    "exec",
    "find",
    "fish",
    "ksh",
    "lua",
    "nice",
    "node",
    "nohup",
    "npx",
    "osascript",
    "parallel",
    "perl",
    "php",
    "powershell",
    "pwsh",
    "python",
    "python2",
    "python3",
    "ruby",
    "setsid",
    "sh",
    "source",
    "ssh",
    "stdbuf",
    "su",
    "sudo",
    "tclsh",
    "time",
    "timeout",
    "watch",
    "xargs",
    "zsh",
    ".",
];

/// The prefixes to save when a user answers that a command line is always allowed: the program of each command with, where
/// it has some, its sub-command. `None` if the line is unclear, writes to files, or runs a program that could run any other.
pub fn suggest_prefixes(line: &str) -> Option<Vec<String>> {
    let line = parse_line(line);
    if !line.is_clear {
        return None;
    }
    let mut prefixes = Vec::new();
    for part in &line.parts {
        let prefix = suggest_prefix(part)?;
        if !prefixes.contains(&prefix) {
            prefixes.push(prefix);
        }
    }
    Some(prefixes)
}

fn suggest_prefix(part: &Part) -> Option<String> {
    let program = part.words.first()?;
    if part.redirects || part.assignments > 0 || !is_plain(program) || RUNNERS.contains(&part.program()?) {
        return None;
    }
    match part.words.get(1) {
        Some(sub) if WITH_SUBCOMMANDS.contains(&program.as_str()) => {
            (is_plain(sub) && !sub.starts_with('-')).then(|| format!("{program} {sub}"))
        }
        _ => Some(program.clone()),
    }
}

/// Whether a word stands for itself, with or without quotes.
fn is_plain(word: &str) -> bool {
    !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./+:".contains(c))
}

#[cfg(test)]
mod tests;
