//! `list_directory`: what is in a folder.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use longhaul_conversation::ToolDeclaration;
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::blocking::blocking;
use crate::folder::{Entry, Folder, Kind};
use crate::{Answer, BoxFuture, Call, IgnoreFiles, Preview, Roots, Shown, Tool, parse_arguments, schema_of};

/// What models call it.
const NAME: &str = "list_directory";

/// How many entries are listed.
const MOST_ENTRIES: usize = 1_000;

/// Lists a folder.
#[derive(Clone, Debug)]
pub struct ListDirectory {
    roots: Roots,
    ignoring: Ignoring,
}

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The folder, relative to the workspace or in full.
    #[serde(alias = "path")]
    dir_path: String,
    /// Patterns of names to leave out, such as `*.lock`.
    #[serde(default)]
    ignore: Vec<String>,
}

impl ListDirectory {
    /// Lists folders below these, without what is ignored.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots, ignoring }
    }

    fn list(&self, args: &Value) -> Result<Answer, String> {
        let asked: Arguments = parse_arguments(NAME, args)?;
        let unwanted = patterns(&asked.ignore)?;
        let place = self.roots.resolve(&asked.dir_path).map_err(|refusal| format!("{refusal}."))?;
        let name = self.roots.shorten(&place).display();
        let ignored = IgnoreFiles::load(&self.roots, &self.ignoring);
        if let Some(reason) = ignored.is_ignored(&place, true) {
            return Err(format!("{name} is not listed: {reason}."));
        }
        let opened = Folder::open(&self.roots, &place).and_then(|folder| Ok((folder.entries()?, folder)));
        let (entries, folder) = opened.map_err(|error| match error.kind() {
            ErrorKind::NotFound => format!("{name} does not exist."),
            ErrorKind::NotADirectory => format!("{name} is not a folder; read_file shows a file."),
            _ => format!("Could not list {name}: {error}."),
        })?;
        let all = entries.len();
        let is_wanted = |entry: &Entry| !unwanted.is_match(Path::new(&entry.name));
        let is_shown = |entry: &Entry| {
            ignored.is_ignored(&place.join(&entry.name), entry.kind == Kind::Folder).is_none()
        };
        let wanted: Vec<Entry> = entries.into_iter().filter(is_wanted).collect();
        let unwanted = all - wanted.len();
        let wanted_count = wanted.len();
        let mut shown: Vec<Entry> = wanted.into_iter().filter(is_shown).collect();
        let hidden = wanted_count - shown.len();
        shown.sort_by(|one, other| {
            (one.kind != Kind::Folder, &one.name).cmp(&(other.kind != Kind::Folder, &other.name))
        });

        let mut text = match shown.len() {
            0 if hidden + unwanted == 0 => format!("{name} is empty."),
            0 => format!("Nothing in {name} is shown."),
            _ => format!("{name}:"),
        };
        for entry in shown.iter().take(MOST_ENTRIES) {
            text.push('\n');
            text.push_str(&line(&folder, entry));
        }
        if let Some(more @ 1..) = shown.len().checked_sub(MOST_ENTRIES) {
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
        Ok(Answer::succeeded(text).shown(Shown::Line(summary)).touching([place]))
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

fn line(folder: &Folder, entry: &Entry) -> String {
    let name = visible(&entry.name);
    match entry.kind {
        Kind::Folder => format!("{name}/"),
        // What vanishes meanwhile has no size.
        Kind::File => match folder.size(&entry.name) {
            Ok(bytes) => format!("{name} ({})", size(bytes)),
            Err(_) => name,
        },
        Kind::Link => format!("{name} (link)"),
        Kind::Other => format!("{name} (no regular file)"),
    }
}

/// A name may hold anything, and stays in its line.
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
            parameters: schema_of::<Arguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let asked: Arguments = parse_arguments(NAME, args)?;
        patterns(&asked.ignore)?;
        let place = self.roots.resolve(&asked.dir_path).map_err(|refusal| format!("{refusal}."))?;
        Ok(Preview::Look(self.roots.shorten(&place).display().to_string()))
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let (tool, args) = (self.clone(), call.args.clone());
        blocking(move || tool.list(&args).unwrap_or_else(Answer::failed))
    }
}
