//! The tool `list_directory`: lists the entries of a folder.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use longhaul_conversation::ToolDeclaration;
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::blocking::blocking;
use crate::folder::{FolderEntry, FolderEntryKind, OpenFolder};
use crate::readable::ReadableRoots;
use crate::{
    BoxFuture, IgnoreFiles, Preview, Roots, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments,
    schema_of,
};

/// The tool's name.
const NAME: &str = "list_directory";

/// The most entries listed.
const MAX_ENTRIES: usize = 1_000;

/// The tool `list_directory`.
#[derive(Clone, Debug)]
pub struct ListDirectory {
    roots: ReadableRoots,
    ignoring: Ignoring,
}

/// The arguments of `list_directory`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ListDirectoryArguments {
    /// The folder, relative to the workspace or in full.
    #[serde(alias = "path")]
    dir_path: String,
    /// Patterns of names to leave out, such as `*.lock`.
    #[serde(default)]
    ignore: Vec<String>,
}

impl ListDirectory {
    /// Lists folders inside `roots`, subject to ignore files.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots: ReadableRoots::new(roots), ignoring }
    }

    /// Also allows the folder of complete outputs as soon as it exists, because the model is told of files in it.
    #[must_use]
    pub fn with_outputs(self, outputs: fn() -> Option<PathBuf>) -> Self {
        Self { roots: self.roots.with_outputs(outputs), ..self }
    }

    fn list(&self, args: &Value) -> Result<ToolAnswer, String> {
        let asked: ListDirectoryArguments = parse_arguments(NAME, args)?;
        let unwanted = patterns(&asked.ignore)?;
        let roots = self.roots.roots_for(&asked.dir_path);
        let place = roots.resolve_visible(&asked.dir_path).map_err(|refusal| format!("{refusal}."))?;
        let name = self.roots.workspace().shorten(&place).display();
        let ignored = IgnoreFiles::load(&roots, &self.ignoring);
        if let Some(reason) = ignored.is_ignored(&place, true) {
            return Err(format!("{name} is not listed: {reason}."));
        }
        let opened = OpenFolder::open(&roots, &place).and_then(|folder| Ok((folder.entries()?, folder)));
        let (entries, folder) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{name} does not exist."),
            ErrorKind::NotADirectory => format!("{name} is not a folder; read_file shows a file."),
            _ => format!("Could not list {name}: {error}."),
        })?;
        let is_visible = |entry: &FolderEntry| {
            roots.shows(&place.join(&entry.name), entry.kind == FolderEntryKind::Folder)
        };
        let entries: Vec<FolderEntry> = entries.into_iter().filter(is_visible).collect();
        let all = entries.len();
        let is_wanted = |entry: &FolderEntry| !unwanted.is_match(Path::new(&entry.name));
        let is_shown = |entry: &FolderEntry| {
            ignored.is_ignored(&place.join(&entry.name), entry.kind == FolderEntryKind::Folder).is_none()
        };
        let wanted: Vec<FolderEntry> = entries.into_iter().filter(is_wanted).collect();
        let unwanted = all - wanted.len();
        let wanted_count = wanted.len();
        let mut shown: Vec<FolderEntry> = wanted.into_iter().filter(is_shown).collect();
        let hidden = wanted_count - shown.len();
        shown.sort_by(|one, other| {
            (one.kind != FolderEntryKind::Folder, &one.name)
                .cmp(&(other.kind != FolderEntryKind::Folder, &other.name))
        });

        let mut text = match shown.len() {
            0 if hidden + unwanted == 0 => format!("{name} is empty."),
            0 => format!("Nothing in {name} is shown."),
            _ => format!("{name}:"),
        };
        for entry in shown.iter().take(MAX_ENTRIES) {
            text.push('\n');
            text.push_str(&line(&folder, entry));
        }
        if let Some(more @ 1..) = shown.len().checked_sub(MAX_ENTRIES) {
            text.push_str(&format!("\n… and {more} more"));
        }
        if hidden > 0 {
            text.push_str(&format!("\n({hidden} left out by ignore files)"));
        }
        if unwanted > 0 {
            text.push_str(&format!("\n({unwanted} left out by your patterns)"));
        }
        let summary = match shown.len() {
            1 => "1 entry".to_string(),
            count => format!("{count} entries"),
        };
        Ok(ToolAnswer::succeeded(text).shown(ToolDisplay::Line(summary)).touching([place]))
    }
}

fn patterns(written: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for text in written {
        let glob = GlobBuilder::new(text.trim_end_matches('/')).build();
        set.add(glob.map_err(|error| format!("{text:?} is no pattern: {error}."))?);
    }
    set.build().map_err(|error| format!("The patterns in ignore are too much: {error}."))
}

fn line(folder: &OpenFolder, entry: &FolderEntry) -> String {
    let name = visible(&entry.name);
    match entry.kind {
        FolderEntryKind::Folder => format!("{name}/"),
        // A file that vanished meanwhile has no size.
        FolderEntryKind::File => match folder.size(&entry.name) {
            Ok(bytes) => format!("{name} ({})", size(bytes)),
            Err(_) => name,
        },
        FolderEntryKind::Link => format!("{name} (link)"),
        FolderEntryKind::Other => format!("{name} (no regular file)"),
    }
}

/// Escapes a name, so that it stays on one line.
fn visible(name: &OsStr) -> String {
    let name = name.to_string_lossy();
    match name.contains(char::is_control) {
        true => name.escape_debug().to_string(),
        false => name.into_owned(),
    }
}

fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for larger in UNITS {
        if value < 1024.0 {
            break;
        }
        value /= 1024.0;
        unit = larger;
    }
    match unit {
        "bytes" if bytes == 1 => "1 byte".to_string(),
        "bytes" => format!("{bytes} bytes"),
        unit => format!("{value:.1} {unit}"),
    }
}

impl Tool for ListDirectory {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/list_directory.md").trim_end().to_string(),
            parameters: schema_of::<ListDirectoryArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let asked: ListDirectoryArguments = parse_arguments(NAME, args)?;
        patterns(&asked.ignore)?;
        let roots = self.roots.roots_for(&asked.dir_path);
        let place = roots.resolve_visible(&asked.dir_path).map_err(|refusal| format!("{refusal}."))?;
        Ok(Preview::Look(self.roots.workspace().shorten(&place).display().to_string()))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (tool, args) = (self.clone(), call.args.clone());
        blocking(move || tool.list(&args).unwrap_or_else(ToolAnswer::failed))
    }
}
