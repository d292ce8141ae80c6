//! The effects of git on files.

use super::operands::{WorkingDirectory, operands};
use crate::effect::{FileEffect, FileOperation};

/// True if a git command changes nothing; `is_listed` knows the subcommands.
pub(super) fn only_looks(words: &[String], is_listed: impl Fn(&str) -> bool) -> bool {
    git_subcommand(words).is_none_or(|(subcommand, rest)| {
        is_listed(subcommand)
            || subcommand == "stash" && rest.first().is_some_and(|word| word == "list" || word == "show")
            || subcommand == "tag" && rest.iter().any(|word| word == "-l" || word == "--list")
    })
}

fn git_subcommand(words: &[String]) -> Option<(&str, &[String])> {
    let mut rest = words.get(1..)?;
    while let Some(option) = rest.first().filter(|word| word.starts_with('-')) {
        let taken = if matches!(option.as_str(), "-C" | "-c" | "--git-dir" | "--work-tree") { 2 } else { 1 };
        rest = rest.get(taken..)?;
    }
    let (subcommand, rest) = rest.split_first()?;
    Some((subcommand, rest))
}

/// The effects of a git command on files, and the message of the commit that it makes.
pub(super) fn effects_of(
    words: &[String],
    input: Option<&str>,
    place: &WorkingDirectory<'_>,
) -> (Vec<FileEffect>, Option<String>) {
    let Some((subcommand, arguments)) = git_subcommand(words) else { return Default::default() };
    let says = |option: &str| arguments.iter().any(|word| word == option);
    let effects = match subcommand {
        "mv" => place.moves(&operands(arguments, &[])),
        "rm" if !says("--cached") => place.each(&operands(arguments, &[]), |_| FileOperation::Delete),
        "checkout" if says("--") => {
            let files = arguments
                .iter()
                .skip_while(|word| *word != "--")
                .skip(1)
                .map(String::as_str)
                .collect::<Vec<_>>();
            place.each(&files, |_| FileOperation::Restore)
        }
        "restore" if !says("--staged") && !says("-S") => {
            place.each(&operands(arguments, &["-s", "--source"]), |_| FileOperation::Restore)
        }
        "apply" | "am" => place.patch(input.unwrap_or_default()),
        "commit" => return (Vec::new(), commit_message(arguments, input)),
        _ => Vec::new(),
    };
    (effects, None)
}

/// The first line of the message that `git commit` is given.
fn commit_message(arguments: &[String], input: Option<&str>) -> Option<String> {
    let mut words = arguments.iter();
    let mut message = None;
    while let Some(word) = words.next() {
        let is_short = word.starts_with('-') && !word.starts_with("--") && word.ends_with('m');
        if is_short || word == "--message" {
            message = words.next().map(String::as_str);
            break;
        }
        if let Some(value) = word.strip_prefix("--message=") {
            message = Some(value);
            break;
        }
    }
    let text = message.or(input)?;
    // `$(cat <<'EOF' … EOF)`: the message begins on the line behind the input's sign.
    let text = if text.starts_with("$(") && text.contains("<<") { text.split_once('\n')?.1 } else { text };
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_string)
}
