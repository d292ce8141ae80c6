//! Makes effects of the files among the arguments of a program.

use crate::effect::{FileEffect, FileOperation, hash_text, written};
use crate::entries::{FileChange, LineRange};
use crate::patch::read_patch;
use crate::paths::{base_name, file_name, join};

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

/// The directory from which relative paths are seen.
pub(super) struct WorkingDirectory<'d> {
    pub(super) directory: &'d str,
}

impl WorkingDirectory<'_> {
    pub(super) fn each(&self, paths: &[&str], act: impl Fn(&str) -> FileOperation) -> Vec<FileEffect> {
        let paths = paths.iter().filter_map(|path| file_name(path));
        paths.map(|path| FileEffect::new(join(self.directory, path), act(path))).collect()
    }

    pub(super) fn reads(
        &self,
        arguments: &[String],
        with_value: &[&str],
        range: Option<LineRange>,
    ) -> Vec<FileEffect> {
        self.each(&operands(arguments, with_value), |_| FileOperation::Read { range })
    }

    pub(super) fn edits(&self, paths: &[&str]) -> Vec<FileEffect> {
        // The first operand may be the script; a script is no file name.
        let is_file = |path: &&&str| !path.is_empty() && !is_script(path);
        let paths: Vec<&str> = paths.iter().filter(is_file).copied().collect();
        self.each(&paths, |_| FileOperation::Edit {
            change: FileChange { edits: 1, ..FileChange::default() },
        })
    }

    pub(super) fn sed(&self, arguments: &[String]) -> Vec<FileEffect> {
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
            self.each(files, |_| FileOperation::Read { range })
        } else {
            self.each(files, |_| FileOperation::Read { range: None })
        }
    }

    pub(super) fn moves(&self, paths: &[&str]) -> Vec<FileEffect> {
        self.pairs(paths, |from, to| FileEffect::new(from, FileOperation::Move { to }))
    }

    pub(super) fn copies(&self, paths: &[&str]) -> Vec<FileEffect> {
        self.pairs(paths, |_, to| FileEffect::new(to, write(None)))
    }

    /// Each path but the last with where it goes: the last path, or below it where that is a folder.
    fn pairs(&self, paths: &[&str], effect: impl Fn(String, String) -> FileEffect) -> Vec<FileEffect> {
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

    pub(super) fn patch(&self, patch: &str) -> Vec<FileEffect> {
        let mut effects = read_patch(patch);
        for effect in &mut effects {
            effect.path = join(self.directory, &effect.path);
            if let FileOperation::Move { to } = &mut effect.act {
                *to = join(self.directory, to);
            }
        }
        effects
    }

    /// The editor of agents that edit through their shell.
    pub(super) fn editor(&self, arguments: &[String]) -> Vec<FileEffect> {
        let [verb, path, ..] = arguments else { return Vec::new() };
        let value = |option: &str| {
            arguments.iter().skip_while(|word| *word != option).nth(1).map(String::as_str).unwrap_or_default()
        };
        let Some(path) = file_name(path).map(|path| join(self.directory, path)) else { return Vec::new() };
        match verb.as_str() {
            "view" => vec![FileEffect::read(path, None)],
            "create" => vec![FileEffect::write(path, Some(value("--file_text")))],
            "str_replace" => vec![FileEffect::replace(path, value("--old_str"), value("--new_str"))],
            "insert" => vec![FileEffect::replace(path, "", value("--new_str"))],
            _ => Vec::new(),
        }
    }
}

/// True if a word looks like a substitution and not like a path.
fn is_script(word: &str) -> bool {
    let mut chars = word.chars();
    matches!((chars.next(), chars.next()), (Some('s' | 'y'), Some('/' | '|' | '#' | ',' | '@')))
}

/// `10,40p`, `7p` and `10,$p`.
pub(super) fn sed_range(script: &str) -> Option<LineRange> {
    let lines = script.split(';').next()?.trim().strip_suffix('p')?;
    let (first, last) = lines.split_once(',').unwrap_or((lines, lines));
    Some(LineRange { first: first.trim().parse().ok()?, last: last.trim().parse().ok() })
}

/// The operation of writing this text, or one that is not known.
pub(super) fn write(text: Option<&str>) -> FileOperation {
    let change =
        if text.is_some() { written(text) } else { FileChange { edits: 1, ..FileChange::default() } };
    FileOperation::Write { change, hash: text.map(hash_text) }
}

/// The operation of putting something behind a file.
pub(super) fn append() -> FileOperation {
    FileOperation::Append { change: FileChange { edits: 1, ..FileChange::default() } }
}
