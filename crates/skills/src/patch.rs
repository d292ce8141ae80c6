//! Unified diffs that propose changes to memory and skills: read, checked against where they may write, and tried.

use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use longhaul_redact::has_secret;
use longhaul_workspace::unified_diff;

use crate::SkillError;
use crate::discover::SKILL_FILE;
use crate::manifest::parse_manifest;
use crate::read::read_text;

/// Stands for a file that does not exist.
const NOTHING: &str = "/dev/null";

/// So many lines around a change are shown with it.
const CONTEXT: usize = 3;

/// A proposed change to some files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    /// The changes, one for each file and block of the diff, in order.
    pub files: Vec<FilePatch>,
    /// Oddities that did not matter.
    pub warnings: Vec<String>,
}

/// A proposed change to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePatch {
    /// The file.
    pub target: PathBuf,
    /// True if the file is new.
    pub is_new: bool,
    hunks: Vec<Hunk>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hunk {
    /// The line where it should apply, from 1.
    start: usize,
    old: Vec<String>,
    new: Vec<String>,
}

/// The files that a patch may write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchTargets {
    /// The notes directly in this folder: Markdown files whose names do not begin with a dot.
    NotesIn(PathBuf),
    /// This file alone.
    Only(PathBuf),
    /// Files of skills that are there.
    Skills {
        /// The folders of skills that may be changed.
        roots: Vec<PathBuf>,
        /// Those that may not, as the workspace is not trusted.
        untrusted: Vec<PathBuf>,
    },
}

/// The change that a patch makes to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedWrite {
    /// The file.
    pub path: PathBuf,
    /// The present contents; `None` if it does not exist.
    pub before: Option<String>,
    /// The new contents.
    pub after: String,
}

impl PlannedWrite {
    /// The change as a unified diff.
    pub fn diff(&self) -> String {
        let name = self.path.display().to_string();
        let old = if self.before.is_some() { name.as_str() } else { NOTHING };
        let before = self.before.as_deref().unwrap_or_default();
        unified_diff((old, before), (&name, &self.after)).text
    }
}

fn refused(reason: impl Into<String>) -> SkillError {
    SkillError::Patch { reason: reason.into() }
}

/// Reads a unified diff whose paths are absolute.
///
/// # Errors
/// [`SkillError::Patch`] with what is wrong with it.
pub(crate) fn parse_patch(text: &str) -> Result<Patch, SkillError> {
    let mut patch = Patch { files: Vec::new(), warnings: Vec::new() };
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(from) = line.strip_prefix("--- ") {
            let to = lines.next().and_then(|line| line.strip_prefix("+++ "));
            let to = to.ok_or_else(|| refused("a --- line is not followed by a +++ line"))?;
            let (from, to) =
                (path_of(from, "a/", &mut patch.warnings), path_of(to, "b/", &mut patch.warnings));
            let is_new = from == Path::new(NOTHING);
            if !is_new && from != to {
                return Err(refused("the paths after --- and +++ differ"));
            }
            if !to.is_absolute() || to == Path::new(NOTHING) {
                return Err(refused(format!("{} is not an absolute path to write to", to.display())));
            }
            patch.files.push(FilePatch { target: to, is_new, hunks: Vec::new() });
        } else if let Some(header) = line.strip_prefix("@@ ") {
            let file = patch.files.last_mut().ok_or_else(|| refused("a hunk precedes the first file"))?;
            let ((start, old), (_, new)) =
                parse_header(header).ok_or_else(|| refused(format!("malformed hunk header: @@ {header}")))?;
            let mut hunk = Hunk { start, old: Vec::new(), new: Vec::new() };
            while hunk.old.len() < old || hunk.new.len() < new {
                let line = lines.next().ok_or_else(|| refused("the last hunk is truncated"))?;
                let rest = || line[1..].to_string();
                match line.as_bytes().first() {
                    Some(b' ') => {
                        hunk.old.push(rest());
                        hunk.new.push(rest());
                    }
                    Some(b'-') => hunk.old.push(rest()),
                    Some(b'+') => hunk.new.push(rest()),
                    // Some programs leave out the space of an empty line.
                    None => {
                        hunk.old.push(String::new());
                        hunk.new.push(String::new());
                    }
                    Some(b'\\') => {}
                    Some(_) => return Err(refused("a hunk line must start with a space, + or -")),
                }
            }
            let goes_on = |line: &&str| {
                line.starts_with(['+', ' ']) || (line.starts_with('-') && !line.starts_with("--"))
            };
            if hunk.old.len() != old || hunk.new.len() != new || lines.peek().is_some_and(goes_on) {
                return Err(refused("a hunk does not match the line counts in its header"));
            }
            file.hunks.push(hunk);
        }
    }
    match patch.files.iter().find(|file| file.hunks.is_empty()) {
        Some(file) => Err(refused(format!("no changes in {}", file.target.display()))),
        None if patch.files.is_empty() => Err(refused("it names no file")),
        None => Ok(patch),
    }
}

/// Puts the numbers of lines in the headers of a patch right, for somebody has changed its lines by hand.
pub(crate) fn recount(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let is_header = |at: usize| {
        lines[at].starts_with("@@ ")
            || (lines[at].starts_with("--- ")
                && lines.get(at + 1).is_some_and(|next| next.starts_with("+++ ")))
    };
    let mut made = String::new();
    for (at, line) in lines.iter().enumerate() {
        let header = line.strip_prefix("@@ ").and_then(parse_header);
        match header {
            None => made.push_str(line),
            Some((old_start, new_start)) => {
                let end = (at + 1..lines.len()).find(|at| is_header(*at)).unwrap_or(lines.len());
                // An empty line at the very end belongs to nobody.
                let end = if end == lines.len() && lines[end - 1].is_empty() { end - 1 } else { end };
                let count = |sign: char| {
                    let counts = |line: &&&str| line.is_empty() || line.starts_with([' ', sign]);
                    lines[at + 1..end.max(at + 1)].iter().filter(counts).count()
                };
                let (old, new) = (count('-'), count('+'));
                made.push_str(&format!("@@ -{},{old} +{},{new} @@", old_start.0, new_start.0));
            }
        }
        made.push('\n');
    }
    made
}

/// The path of a header, without the prefix that some programs put before it and without the time behind it.
fn path_of(written: &str, prefix: &str, warnings: &mut Vec<String>) -> PathBuf {
    let written = written.split('\t').next().unwrap_or(written).trim_end();
    match written.strip_prefix(prefix) {
        Some(rest) => {
            warnings.push(format!("ignored the prefix {prefix} of {rest}"));
            Path::new("/").join(rest)
        }
        None => PathBuf::from(written),
    }
}

/// The first line and the number of lines of a hunk, before and after.
fn parse_header(header: &str) -> Option<((usize, usize), (usize, usize))> {
    let (ranges, _) = header.split_once(" @@").or_else(|| Some((header.strip_suffix("@@")?, "")))?;
    let (old, new) = ranges.trim().split_once(' ')?;
    let range = |text: &str, sign: char| -> Option<(usize, usize)> {
        let text = text.strip_prefix(sign)?;
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    Some((range(old, '-')?, range(new.trim(), '+')?))
}

/// Tries a patch: what each of its files would hold. Nothing is written. What was applied before, for instance by a process that
/// was killed before it could say so, is passed over.
///
/// # Errors
/// [`SkillError::Patch`] where it may not write there, where it does not fit any more, where it would write a secret, or where a
/// skill would be none any more.
pub(crate) fn plan_patch(patch: &Patch, targets: &PatchTargets) -> Result<Vec<PlannedWrite>, SkillError> {
    plan_onto(Vec::new(), patch, targets)
}

/// Tries a patch on top of what is planned already.
pub(crate) fn plan_onto(
    mut writes: Vec<PlannedWrite>,
    patch: &Patch,
    targets: &PatchTargets,
) -> Result<Vec<PlannedWrite>, SkillError> {
    for file in &patch.files {
        let path = check_target(&file.target, targets)?;
        let place = writes.iter().position(|write| write.path == path);
        let now = match place {
            Some(place) => Some(writes[place].after.clone()),
            None => read_target(&path)?,
        };
        let after = match (&now, file.is_new) {
            (Some(text), true) if apply(&[], &file.hunks, "").is_some_and(|made| made == *text) => continue,
            (Some(_), true) => return Err(refused(format!("{} already exists", path.display()))),
            (None, true) => apply(&[], &file.hunks, ""),
            (None, false) => return Err(refused(format!("{} does not exist", path.display()))),
            (Some(text), false) => {
                let lines: Vec<&str> = text.lines().collect();
                match apply(&lines, &file.hunks, text) {
                    None if is_applied(&lines, &file.hunks) => continue,
                    applied => applied,
                }
            }
        };
        let after = after.ok_or_else(|| {
            refused(format!("it does not match the current contents of {}", path.display()))
        })?;
        let added = file.hunks.iter().flat_map(|hunk| &hunk.new).find_map(|line| has_secret(line));
        if let Some(kind) = added.or_else(|| {
            has_secret(&after).filter(|_| now.as_deref().is_none_or(|now| has_secret(now).is_none()))
        }) {
            return Err(refused(format!("it would write a secret ({})", kind.name())));
        }
        match place {
            Some(place) => writes[place].after = after,
            None => writes.push(PlannedWrite { path, before: now, after }),
        }
    }
    if matches!(targets, PatchTargets::Skills { .. }) {
        writes.iter().try_for_each(check_skill)?;
    }
    Ok(writes)
}

/// Checks that a skill stays one, under its name.
fn check_skill(write: &PlannedWrite) -> Result<(), SkillError> {
    if write.path.file_name().is_none_or(|name| name != SKILL_FILE) {
        return Ok(());
    }
    let shown = write.path.display();
    let after = parse_manifest(&write.after)
        .map_err(|error| refused(format!("{shown} would no longer be a valid skill: {error}")))?;
    match write.before.as_deref().map(parse_manifest) {
        Some(Ok(before)) if before.name != after.name => {
            Err(refused(format!("{shown} would be renamed to {}", after.name)))
        }
        _ => Ok(()),
    }
}

/// The patch that makes one text of another in this file: one hunk, with a few lines around it. None where both are the same.
pub(crate) fn whole_file_patch(file: &Path, before: &str, after: &str) -> Option<String> {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let same = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    if same == old.len() && same == new.len() {
        return None;
    }
    let rest = old[same..].iter().rev().zip(new[same..].iter().rev());
    let tail = rest.take_while(|(old, new)| old == new).count();
    let from = same.saturating_sub(CONTEXT);
    let to = |lines: &[&str]| (lines.len() - tail + CONTEXT).min(lines.len());
    let line = |sign: char| move |line: &&str| format!("{sign}{line}\n");
    let hunk: String = old[from..same]
        .iter()
        .map(line(' '))
        .chain(old[same..old.len() - tail].iter().map(line('-')))
        .chain(new[same..new.len() - tail].iter().map(line('+')))
        .chain(old[old.len() - tail..to(&old)].iter().map(line(' ')))
        .collect();
    let start = |count: usize| if count == 0 { 0 } else { from + 1 };
    let (before, after) = (to(&old) - from, to(&new) - from);
    let (name, first, second) = (file.display(), start(before), start(after));
    Some(format!("--- {name}\n+++ {name}\n@@ -{first},{before} +{second},{after} @@\n{hunk}"))
}

/// The file without links, if the patch may write there.
fn check_target(target: &Path, targets: &PatchTargets) -> Result<PathBuf, SkillError> {
    let outside = || refused(format!("it must not write to {}", target.display()));
    if target.components().any(|part| matches!(part, Component::ParentDir)) {
        return Err(outside());
    }
    // Its name is noted before it is written, as text.
    let real = real_path(target).filter(|real| real.to_str().is_some()).ok_or_else(outside)?;
    let is_allowed = match targets {
        PatchTargets::Only(file) => real_path(file).is_some_and(|file| file == real),
        PatchTargets::NotesIn(folder) => {
            let is_note = real.extension().is_some_and(|end| end == "md")
                && real.file_name().is_some_and(|name| !name.to_string_lossy().starts_with('.'));
            is_note && real_path(folder).is_some_and(|folder| real.parent() == Some(&folder))
        }
        PatchTargets::Skills { roots, untrusted } => {
            if untrusted.iter().any(|root| is_in_skill(&real, root)) {
                let shown = target.display();
                return Err(refused(format!("{shown} belongs to an untrusted workspace")));
            }
            roots.iter().any(|root| is_in_skill(&real, root))
        }
    };
    if is_allowed { Ok(real) } else { Err(outside()) }
}

/// True if a path is in the folder of a skill that is there, in this folder of skills.
fn is_in_skill(path: &Path, root: &Path) -> bool {
    let Some(root) = real_path(root) else { return false };
    let Ok(inside) = path.strip_prefix(&root) else { return false };
    let mut parts = inside.components();
    let folder = parts.next().map(|folder| root.join(folder));
    parts.next().is_some() && folder.is_some_and(|folder| folder.join(SKILL_FILE).is_file())
}

/// A path without links, of which only the end need not exist.
fn real_path(path: &Path) -> Option<PathBuf> {
    let mut missing = Vec::new();
    for ancestor in path.ancestors() {
        match ancestor.canonicalize() {
            Ok(real) => return Some(missing.iter().rev().fold(real, |path, name| path.join(name))),
            // A link that leads nowhere may lead anywhere later.
            Err(_) if ancestor.symlink_metadata().is_ok() => return None,
            Err(_) => missing.push(ancestor.file_name()?),
        }
    }
    None
}

/// The contents of a file; `None` if it does not exist.
pub(crate) fn read_target(path: &Path) -> Result<Option<String>, SkillError> {
    match read_text(path) {
        Ok(Ok(text)) => Ok(Some(text)),
        Ok(Err(reason)) => Err(refused(format!("{}: {reason}", path.display()))),
        Err(SkillError::Files { cause, .. }) if cause.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The text with all hunks in it; nothing if one does not fit.
fn apply(lines: &[&str], hunks: &[Hunk], text: &str) -> Option<String> {
    let mut made: Vec<String> = Vec::new();
    let mut done = 0;
    for hunk in hunks {
        let at = find(lines, hunk, done)?;
        made.extend(lines[done..at].iter().map(|line| line.to_string()));
        made.extend(hunk.new.iter().cloned());
        done = at + hunk.old.len();
    }
    made.extend(lines[done..].iter().map(|line| line.to_string()));
    // Files keep their line ends, and end in one.
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(made.iter().map(|line| format!("{}{end}", line.trim_end_matches('\r'))).collect())
}

/// The place of the old lines of a hunk, as near as can be to where they should be, and not before `from`.
fn find(lines: &[&str], hunk: &Hunk, from: usize) -> Option<usize> {
    // A hunk without old lines applies behind the line that it names.
    let wanted = if hunk.old.is_empty() { hunk.start } else { hunk.start.saturating_sub(1) };
    let last = lines.len().checked_sub(hunk.old.len())?;
    if hunk.old.is_empty() {
        return Some(wanted.clamp(from.min(lines.len()), lines.len()));
    }
    let fits =
        |at: &usize| lines[*at..*at + hunk.old.len()].iter().zip(&hunk.old).all(|(line, old)| line == old);
    (from..=last).filter(fits).min_by_key(|at| at.abs_diff(wanted))
}

/// True if the new lines of every hunk are there.
fn is_applied(lines: &[&str], hunks: &[Hunk]) -> bool {
    hunks.iter().all(|hunk| {
        !hunk.new.is_empty()
            && lines
                .windows(hunk.new.len())
                .any(|window| window.iter().zip(&hunk.new).all(|(line, new)| line == new))
    })
}

#[cfg(test)]
mod tests;
