//! The effects of common programs on the files among their arguments.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::git;
use super::operands::{WorkingDirectory, append, operands, sed_range, write};
use crate::data::{DataError, DataFile, loaded};
use crate::effect::{FileEffect, FileOperation, written};
use crate::entries::{FileChange, LineRange};
use crate::paths::{base_name, file_name, join};

/// The effects of one program.
#[derive(Default)]
pub(super) struct ProgramEffects {
    pub(super) effects: Vec<FileEffect>,
    /// The first line of the message of the commit that it makes.
    pub(super) commit: Option<String>,
}

/// Programs by their effect on files: `data/programs.txt`.
#[derive(Default)]
pub(crate) struct Programs {
    /// Programs that change nothing.
    looking: HashSet<&'static str>,
    /// Programs that change nothing if one of these is among their arguments.
    looking_with: HashMap<&'static str, Vec<&'static str>>,
    /// Programs that do the same to each file among their arguments.
    acting: HashMap<&'static str, (ProgramAction, Vec<&'static str>)>,
    /// Programs that may drop lines of what they are fed.
    filtering: HashSet<&'static str>,
}

/// The action of a program on the files among its arguments.
#[derive(Clone, Copy)]
enum ProgramAction {
    Read,
    Delete,
    Write,
    Touch,
    Move,
    Copy,
    Patch,
}

static PROGRAMS: LazyLock<Programs> = LazyLock::new(|| loaded(parse(&FILE)));

pub(crate) const FILE: DataFile =
    DataFile { name: "programs.txt", text: include_str!("../../data/programs.txt") };

pub(crate) fn parse(file: &DataFile) -> Result<Programs, DataError> {
    let mut all = Programs::default();
    for line in file.lines() {
        let line = line?;
        let mut words = line.value.split_whitespace();
        let program = words.next().unwrap_or_default();
        let rest: Vec<&str> = words.collect();
        let action = match (line.key, &rest[..]) {
            ("looks", []) => {
                all.looking.insert(program);
                continue;
            }
            ("looks", [argument]) => {
                all.looking_with.entry(program).or_default().push(argument);
                continue;
            }
            ("filters", []) => {
                all.filtering.insert(program);
                continue;
            }
            ("looks" | "filters", _) => return Err(line.error("too many words")),
            ("reads", _) => ProgramAction::Read,
            ("deletes", _) => ProgramAction::Delete,
            ("writes", _) => ProgramAction::Write,
            ("touches", _) => ProgramAction::Touch,
            ("moves", _) => ProgramAction::Move,
            ("copies", _) => ProgramAction::Copy,
            ("patches", _) => ProgramAction::Patch,
            _ => return Err(line.unknown_key()),
        };
        if let Some(word) = rest.iter().find(|word| !word.starts_with('-')) {
            return Err(line.error(format!("unknown option `{word}`")));
        }
        if all.acting.insert(program, (action, rest)).is_some() {
            return Err(line.error(format!("`{program}` already has an action")));
        }
    }
    Ok(all)
}

/// True if a command changes nothing.
pub(super) fn only_looks(words: &[String]) -> bool {
    let Some(program) = words.first().map(|program| base_name(program)) else { return true };
    let has = |start: &str| words.iter().any(|word| word.starts_with(start));
    let is_listed =
        |argument: &str| PROGRAMS.looking_with.get(program).is_some_and(|listed| listed.contains(&argument));
    match program {
        "git" => git::only_looks(words, is_listed),
        "sed" => !has("-i") && !has("--in-place"),
        // What it runs is looked at by itself.
        "find" => !has("-delete"),
        // It asks for a page unless it sends or writes something.
        "curl" => {
            !["-X", "-d", "--data", "--json", "-F", "-T", "-o", "-O", "--request", "--output", "--upload"]
                .into_iter()
                .any(has)
        }
        _ => PROGRAMS.looking.contains(program) || words.iter().any(|word| is_listed(word)),
    }
}

/// The effects of a program that runs in `directory`.
pub(super) fn effects_of(words: &[String], input: Option<&str>, directory: &str) -> ProgramEffects {
    let Some((program, arguments)) = words.split_first() else { return ProgramEffects::default() };
    let place = WorkingDirectory { directory };
    let mut commit = None;
    let effects = match base_name(program) {
        "head" => place.reads(arguments, &["-n", "-c"], Some(head_range(arguments))),
        "tail" => place.reads(arguments, &["-n", "-c"], tail_range(arguments)),
        "sed" => place.sed(arguments),
        "perl" if arguments.iter().any(|word| word.starts_with('-') && word.contains('i')) => {
            place.edits(&operands(arguments, &["-e"]))
        }
        "tee" => {
            let appends = arguments.iter().any(|word| word == "-a" || word == "--append");
            place.each(&operands(arguments, &[]), |_| if appends { append() } else { write(None) })
        }
        "git" => {
            let (effects, message) = git::effects_of(words, input, &place);
            commit = message;
            effects
        }
        "apply_patch" | "applypatch" => {
            place.patch(input.or(arguments.first().map(String::as_str)).unwrap_or_default())
        }
        "create" => place.each(&operands(arguments, &[])[..1.min(arguments.len())], |_| {
            FileOperation::Create { change: FileChange { edits: 1, ..FileChange::default() }, hash: None }
        }),
        "open" => {
            let line = arguments.get(1).is_none_or(|word| word.parse::<u32>().is_ok());
            arguments
                .first()
                .filter(|_| line)
                .map(|path| place.reads(std::slice::from_ref(path), &[], None))
                .unwrap_or_default()
        }
        "str_replace_editor" => place.editor(arguments),
        program => {
            let Some((action, with_value)) = PROGRAMS.acting.get(program) else {
                return ProgramEffects::default();
            };
            let files = operands(arguments, with_value);
            match action {
                ProgramAction::Read => place.each(&files, |_| FileOperation::Read { range: None }),
                ProgramAction::Delete => place.each(&files, |_| FileOperation::Delete),
                ProgramAction::Write => place.each(&files, |_| write(None)),
                ProgramAction::Touch => place.each(&files, |_| append()),
                ProgramAction::Move => place.moves(&files),
                ProgramAction::Copy => place.copies(&files),
                ProgramAction::Patch => place.patch(input.unwrap_or_default()),
            }
        }
    };
    ProgramEffects { effects, commit }
}

/// The lines that a program lets through of what it is fed.
pub(super) fn filtered_lines(words: &[String]) -> Option<LineRange> {
    let (program, arguments) = words.split_first()?;
    match base_name(program) {
        "head" if operands(arguments, &["-n", "-c"]).is_empty() => Some(head_range(arguments)),
        "tail" if operands(arguments, &["-n", "-c"]).is_empty() => tail_range(arguments),
        "sed" if arguments.first().is_some_and(|word| word == "-n") => match operands(arguments, &[])[..] {
            [script] => sed_range(script),
            _ => None,
        },
        _ => None,
    }
}

/// True if a program may drop lines of its input that tell of a failure.
pub(super) fn drops_lines(words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    let seeks_failures = words
        .iter()
        .any(|word| ["error", "Error", "ERROR", "fail", "FAIL"].iter().any(|sought| word.contains(sought)));
    PROGRAMS.filtering.contains(base_name(program)) && !seeks_failures
}

/// A file that output goes to.
pub(super) struct OutputFile<'w> {
    pub(super) path: &'w str,
    pub(super) appends: bool,
    /// True if only messages go there and not the output itself.
    pub(super) is_stderr: bool,
}

/// The effect of sending output to a file; `text` is what goes there, where it is known.
pub(super) fn redirect(output: &OutputFile<'_>, text: Option<&str>, directory: &str) -> Option<FileEffect> {
    let path = file_name(output.path)?;
    let act = if output.appends { FileOperation::Append { change: written(text) } } else { write(text) };
    // A file of messages only is seldom part of the work, yet it is one that was written.
    let act = if output.is_stderr { write(None) } else { act };
    Some(FileEffect::new(join(directory, path), act))
}

/// The text that a command prints, where its words or its input tell.
pub(super) fn printed_text(words: &[String], input: Option<&str>) -> Option<String> {
    match base_name(words.first()?) {
        "cat" => input.map(str::to_string),
        "echo" => Some(operands(&words[1..], &[]).join(" ")),
        _ => None,
    }
}

/// The value of `-n 20`, `-n20`, `-20` and `--lines=20`.
fn line_count(arguments: &[String]) -> Option<&str> {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == "-n" {
            return words.next().map(String::as_str);
        }
        let value = word
            .strip_prefix("--lines=")
            .or_else(|| word.strip_prefix("-n"))
            .or_else(|| word.strip_prefix('-'));
        if let Some(value) = value.filter(|value| value.trim_start_matches('+').parse::<u32>().is_ok()) {
            return Some(value);
        }
    }
    None
}

fn head_range(arguments: &[String]) -> LineRange {
    let counts_bytes = arguments.iter().any(|word| word.starts_with("-c") || word.starts_with("--bytes"));
    let lines = line_count(arguments).and_then(|lines| lines.parse().ok());
    LineRange { first: 1, last: (!counts_bytes).then(|| lines.unwrap_or(10)) }
}

/// `tail -n +30` reads from a line on; otherwise nobody knows which lines the last ones are.
fn tail_range(arguments: &[String]) -> Option<LineRange> {
    let first = line_count(arguments)?.strip_prefix('+')?.parse().ok()?;
    Some(LineRange { first, last: None })
}
