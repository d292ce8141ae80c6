//! Takes off what stands before a command and only changes how it runs.

/// A command without its wrappers.
pub(super) struct Peeled<'w> {
    pub(super) words: &'w [String],
    /// Whether a wrapper lets it go on by itself.
    pub(super) is_detached: bool,
}

/// Takes off assignments and wrappers such as `sudo`, `env`, `timeout 60` and `nohup`.
pub(super) fn peel(words: &[String]) -> Peeled<'_> {
    let mut rest = words;
    let mut is_detached = false;
    while let Some(program) = rest.first() {
        rest = match base_name(program) {
            _ if is_assignment(program) => &rest[1..],
            "nohup" | "setsid" => {
                is_detached = true;
                &rest[1..]
            }
            "sudo" | "doas" | "env" | "nice" | "ionice" | "stdbuf" | "exec" | "command" | "builtin"
            | "time" | "unbuffer" | "xvfb-run" => without_options(&rest[1..]),
            "timeout" | "gtimeout" => {
                let rest = without_options(&rest[1..]);
                rest.get(1..).unwrap_or_default()
            }
            _ => break,
        };
    }
    Peeled { words: rest, is_detached }
}

/// Leading options, with the values of those that take one.
fn without_options(words: &[String]) -> &[String] {
    const TAKE_VALUE: &[&str] = &["-u", "-g", "-n", "-s", "-k", "-S", "--signal", "--kill-after", "-o"];
    let mut rest = words;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-') || is_assignment(word)) {
        let taken = if TAKE_VALUE.contains(&option.as_str()) { 2 } else { 1 };
        rest = rest.get(taken..).unwrap_or_default();
    }
    rest
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The script in `bash -lc '…'` and its relatives.
pub(super) fn inner_script(words: &[String]) -> Option<&str> {
    let program = words.first()?;
    if !matches!(base_name(program), "bash" | "sh" | "zsh" | "dash" | "ksh" | "fish") {
        return None;
    }
    let option = words[1..]
        .iter()
        .position(|word| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c'))?;
    words.get(option + 2).map(String::as_str)
}

/// A program's name without the folder it is in.
pub(super) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let words: Vec<String> = command.split(' ').map(str::to_string).collect();
        assert_eq!(peel(&words).words.join(" "), expected);
    }

    #[test]
    fn wrappers_come_off() {
        check("RUST_LOG=debug A=1 cargo test", "cargo test");
        check("sudo -u www timeout -k 5 60s npm test", "npm test");
        check("env -i PATH=/bin ls", "ls");
        check("nohup node server.js", "node server.js");
        check("timeout", "");
        check("make CC=gcc", "make CC=gcc");
        check("/usr/bin/time -p ls", "ls");
    }

    #[test]
    fn inner_scripts_are_found() {
        let words = |words: &[&str]| words.iter().map(|word| word.to_string()).collect::<Vec<_>>();
        assert_eq!(inner_script(&words(&["bash", "-lc", "ls && pwd"])), Some("ls && pwd"));
        assert_eq!(inner_script(&words(&["/bin/sh", "-e", "-c", "ls"])), Some("ls"));
        assert_eq!(inner_script(&words(&["bash", "run.sh"])), None);
        assert_eq!(inner_script(&words(&["bash", "-c"])), None);
    }
}
