//! Knows what common programs do to the files they are given.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::git;
use super::split::{Redirect, Simple};
use super::wrappers::base_name;
use crate::data::{DataError, DataFile, loaded};
use crate::effect::{Act, Effect, hash_text, written};
use crate::entries::{FileChange, LineRange};
use crate::patch::read_patch;
use crate::paths::{file_name, join};

/// What one program does.
#[derive(Default)]
pub(super) struct Found {
    pub(super) effects: Vec<Effect>,
    /// The first line of the message of the commit that it makes.
    pub(super) commit: Option<String>,
}

/// What programs do to files: `data/programs.txt`.
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
            return Err(line.error(format!("`{word}` is no option")));
        }
        if all.acting.insert(program, (action, rest)).is_some() {
            return Err(line.error(format!("`{program}` has an action already")));
        }
    }
    Ok(all)
}

/// True if a subcommand of a program changes nothing.
pub(super) fn is_looking_subcommand(program: &str, subcommand: &str) -> bool {
    PROGRAMS.looking_with.get(program).is_some_and(|listed| listed.contains(&subcommand))
}

/// Whether a command only looks at something.
pub(super) fn only_looks(words: &[String]) -> bool {
    let Some(program) = words.first().map(|program| base_name(program)) else { return true };
    let has = |start: &str| words.iter().any(|word| word.starts_with(start));
    match program {
        "git" => git::only_looks(words),
        "sed" => !has("-i") && !has("--in-place"),
        "find" => !has("-delete") && !has("-exec"),
        _ => {
            let listed = PROGRAMS.looking_with.get(program);
            let looks = |word: &String| listed.is_some_and(|listed| listed.contains(&word.as_str()));
            PROGRAMS.looking.contains(program) || words.iter().any(looks)
        }
    }
}

/// What a program does to files, run in `directory`.
pub(super) fn effects_of(words: &[String], heredoc: Option<&str>, directory: &str) -> Found {
    let Some((program, arguments)) = words.split_first() else { return Found::default() };
    let place = Place { directory };
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
            let (effects, message) = git::effects_of(words, heredoc, &place);
            commit = message;
            effects
        }
        "apply_patch" | "applypatch" => {
            place.patch(heredoc.or(arguments.first().map(String::as_str)).unwrap_or_default())
        }
        "create" => place.each(&operands(arguments, &[])[..1.min(arguments.len())], |_| Act::Create {
            change: FileChange { edits: 1, ..FileChange::default() },
            hash: None,
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
            let Some((action, with_value)) = PROGRAMS.acting.get(program) else { return Found::default() };
            let files = operands(arguments, with_value);
            match action {
                ProgramAction::Read => place.each(&files, |_| Act::Read { range: None }),
                ProgramAction::Delete => place.each(&files, |_| Act::Delete),
                ProgramAction::Write => place.each(&files, |_| write(None)),
                ProgramAction::Touch => place.each(&files, |_| append()),
                ProgramAction::Move => place.moves(&files),
                ProgramAction::Copy => place.copies(&files),
                ProgramAction::Patch => place.patch(heredoc.unwrap_or_default()),
            }
        }
    };
    Found { effects, commit }
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

/// Whether a program may drop lines of what it is fed that tell of a failure.
pub(super) fn drops_lines(words: &[String]) -> bool {
    let Some(program) = words.first() else { return false };
    let seeks_failures = words
        .iter()
        .any(|word| ["error", "Error", "ERROR", "fail", "FAIL"].iter().any(|sought| word.contains(sought)));
    PROGRAMS.filtering.contains(base_name(program)) && !seeks_failures
}

/// The effect of sending output to a file; `text` is what goes there, where it is known.
pub(super) fn redirect(output: &Redirect, text: Option<&str>, directory: &str) -> Option<Effect> {
    let path = file_name(&output.path)?;
    let act = if output.appends { Act::Append { change: written(text) } } else { write(text) };
    // A file of messages only is seldom part of the work, yet it is one that was written.
    let act = if output.is_stderr { write(None) } else { act };
    Some(Effect::new(join(directory, path), act))
}

/// What a command prints, where its words or its heredoc tell.
pub(super) fn printed_text(simple: &Simple<'_>) -> Option<String> {
    let program = simple.words.first().map(|program| base_name(program))?;
    match program {
        "cat" => simple.heredoc.map(str::to_string),
        "echo" => Some(operands(&simple.words[1..], &[]).join(" ")),
        _ => None,
    }
}

fn write(text: Option<&str>) -> Act {
    let change =
        if text.is_some() { written(text) } else { FileChange { edits: 1, ..FileChange::default() } };
    Act::Write { change, hash: text.map(hash_text) }
}

fn append() -> Act {
    Act::Append { change: FileChange { edits: 1, ..FileChange::default() } }
}

/// The words that are no options; `with_value` are options that take the next word.
pub(super) fn operands<'w>(arguments: &'w [String], with_value: &[&str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = arguments.iter().map(String::as_str);
    let mut only_operands = false;
    while let Some(word) = words.next() {
        match word {
            "--" if !only_operands => only_operands = true,
            option if !only_operands && with_value.contains(&option) => {
                words.next();
            }
            option if !only_operands && option.starts_with('-') && option.len() > 1 => {}
            operand => found.push(operand),
        }
    }
    found
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

/// `10,40p`, `7p` and `10,$p`.
fn sed_range(script: &str) -> Option<LineRange> {
    let lines = script.split(';').next()?.trim().strip_suffix('p')?;
    let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
    Some(LineRange { first: first.trim().parse().ok()?, last: last.trim().parse().ok() })
}

/// The folder that words are seen from.
pub(super) struct Place<'d> {
    directory: &'d str,
}

impl Place<'_> {
    pub(super) fn each(&self, paths: &[&str], act: impl Fn(&str) -> Act) -> Vec<Effect> {
        let paths = paths.iter().filter_map(|path| file_name(path));
        paths.map(|path| Effect::new(join(self.directory, path), act(path))).collect()
    }

    fn reads(&self, arguments: &[String], with_value: &[&str], range: Option<LineRange>) -> Vec<Effect> {
        self.each(&operands(arguments, with_value), |_| Act::Read { range })
    }

    fn edits(&self, paths: &[&str]) -> Vec<Effect> {
        // The first operand may be the script; a script is no file name.
        let is_file = |path: &&&str| !path.is_empty() && !is_script(path);
        let paths: Vec<&str> = paths.iter().filter(is_file).copied().collect();
        self.each(&paths, |_| Act::Edit { change: FileChange { edits: 1, ..FileChange::default() } })
    }

    fn sed(&self, arguments: &[String]) -> Vec<Effect> {
        let in_place = arguments.iter().any(|word| word.starts_with("-i") || word.starts_with("--in-place"));
        let has_script_option =
            arguments.iter().any(|word| word == "-e" || word == "--expression" || word == "-f");
        let words = operands(arguments, &["-e", "--expression", "-f"]);
        if in_place {
            let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
            let skipped = usize::from(!has_script_option && !words.is_empty());
            return self.edits(&words[skipped..]);
        }
        let prints = arguments.iter().any(|word| word.starts_with("-n"));
        let (script, files) = match words.split_first() {
            Some((script, files)) if !has_script_option => (Some(*script), files),
            _ => (None, words.as_slice()),
        };
        let range = script.and_then(sed_range);
        if prints {
            self.each(files, |_| Act::Read { range })
        } else {
            self.each(files, |_| Act::Read { range: None })
        }
    }

    pub(super) fn moves(&self, paths: &[&str]) -> Vec<Effect> {
        self.pairs(paths, |from, to| Effect::new(from, Act::Move { to }))
    }

    fn copies(&self, paths: &[&str]) -> Vec<Effect> {
        self.pairs(paths, |_, to| Effect::new(to, write(None)))
    }

    /// Each path but the last with where it goes: the last path, or below it where that is a folder.
    fn pairs(&self, paths: &[&str], effect: impl Fn(String, String) -> Effect) -> Vec<Effect> {
        let Some((target, sources)) = paths.split_last() else { return Vec::new() };
        let Some(target_name) = file_name(target) else { return Vec::new() };
        let is_folder = sources.len() > 1 || target.ends_with('/');
        let sources = sources.iter().filter_map(|source| file_name(source));
        sources
            .map(|source| {
                let to = if is_folder {
                    format!("{target_name}/{}", base_name(source))
                } else {
                    target_name.to_string()
                };
                effect(join(self.directory, source), join(self.directory, &to))
            })
            .collect()
    }

    pub(super) fn patch(&self, patch: &str) -> Vec<Effect> {
        let mut effects = read_patch(patch);
        for effect in &mut effects {
            effect.path = join(self.directory, &effect.path);
            if let Act::Move { to } = &mut effect.act {
                *to = join(self.directory, to);
            }
        }
        effects
    }

    /// The editor of agents that edit through their shell.
    fn editor(&self, arguments: &[String]) -> Vec<Effect> {
        let [verb, path, ..] = arguments else { return Vec::new() };
        let value = |option: &str| {
            arguments.iter().skip_while(|word| *word != option).nth(1).map(String::as_str).unwrap_or_default()
        };
        let Some(path) = file_name(path).map(|path| join(self.directory, path)) else { return Vec::new() };
        match verb.as_str() {
            "view" => vec![Effect::read(path, None)],
            "create" => vec![Effect::write(path, Some(value("--file_text")))],
            "str_replace" => vec![Effect::replace(path, value("--old_str"), value("--new_str"))],
            "insert" => vec![Effect::replace(path, "", value("--new_str"))],
            _ => Vec::new(),
        }
    }
}

/// Whether a word looks like a substitution and not like a path.
fn is_script(word: &str) -> bool {
    let mut chars = word.chars();
    matches!((chars.next(), chars.next()), (Some('s' | 'y'), Some('/' | '|' | '#' | ',' | '@')))
}
