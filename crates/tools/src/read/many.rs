//! `read_many_files`: all files that match some patterns, one below the other.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use longhaul_conversation::{Body, Media, MediaData, Origin, Part, ToolDeclaration};
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::load::{Content, load_place};
use super::slice::LineRange;
use crate::blocking::blocking;
use crate::folder::{Folder, Kind};
use crate::{
    Answer, BoxFuture, Call, IgnoreFiles, Outcome, Preview, Roots, Shown, Tool, parse_arguments, schema_of,
};

/// What models call it.
const NAME: &str = "read_many_files";

/// How many bytes of text are given in one answer.
const MOST_TEXT: usize = 1_000_000;

/// How many bytes of images and the like, as base64, are given in one answer.
const MOST_MEDIA: usize = 20 * 1024 * 1024;

/// How many files are given in one answer.
const MOST_FILES: usize = 1_000;

/// How many entries of folders are looked at.
const MOST_ENTRIES: usize = 100_000;

/// How many files are named among those left out.
const MOST_NAMED: usize = 10;

/// Folders that hold the work of others; none is entered unless a pattern names it.
const PASSED_OVER: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "bower_components"];

/// Reads all files that match.
#[derive(Clone, Debug)]
pub struct ReadManyFiles {
    roots: Roots,
    ignoring: Ignoring,
}

/// What is asked for.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Paths, folders or patterns such as `src/**/*.rs`, relative to the workspace.
    #[serde(alias = "paths")]
    include: Vec<String>,
    /// Patterns of what to leave out.
    #[serde(default)]
    exclude: Vec<String>,
    /// Whether a folder in `include` means all that is below it, too. True unless given.
    #[serde(default)]
    recursive: Option<bool>,
}

/// A pattern, relative to the first folder of the workspace.
struct Pattern {
    text: String,
    matcher: GlobMatcher,
}

/// What is gathered for an answer.
#[derive(Default)]
struct Gathered {
    text: String,
    media: Vec<Part>,
    media_bytes: usize,
    read: Vec<PathBuf>,
    /// Files that are not given, each with the reason.
    left_out: Vec<String>,
    left_out_count: usize,
    beyond_limit: usize,
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("{text:?} is no pattern: {error}."))?;
        Ok(Self { text: text.to_lowercase(), matcher: glob.compile_matcher() })
    }

    /// The folder in which everything is that it may match.
    fn folder(&self) -> PathBuf {
        let path = Path::new(self.matcher.glob().glob());
        let has_wildcard =
            |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        let plain: PathBuf = path.components().take_while(|part| !has_wildcard(part)).collect();
        if plain == path { plain.parent().map(Path::to_path_buf).unwrap_or_default() } else { plain }
    }

    /// Whether it names the file rather than taking in whatever is there: by its name or by how the name ends.
    fn names(&self, path: &Path) -> bool {
        let last = self.text.rsplit('/').next().unwrap_or_default();
        let lower = |part: Option<&std::ffi::OsStr>| part.map(|part| part.to_string_lossy().to_lowercase());
        let stem = lower(path.file_stem()).unwrap_or_default();
        let end = lower(path.extension()).unwrap_or_default();
        let mut words = last.split(|character: char| !character.is_alphanumeric());
        last.contains(&stem) || words.any(|word| word == end)
    }
}

impl ReadManyFiles {
    /// Reads files below these folders that are not ignored.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots, ignoring }
    }

    /// The patterns for what is asked for: a folder means what is in it.
    fn patterns(&self, asked: &Arguments) -> Result<Vec<Pattern>, String> {
        if asked.include.iter().all(|text| text.trim().is_empty()) {
            return Err("include names no file.".to_string());
        }
        let below = if asked.recursive == Some(false) { "*" } else { "**" };
        let written = asked.include.iter().map(|text| text.trim()).filter(|text| !text.is_empty());
        let parsed = written.map(|text| {
            if text.split('/').any(|part| part == "..") {
                return Err(format!("{text:?} has \"..\" in it; write the path without."));
            }
            let path = Path::new(text).strip_prefix(self.roots.first()).unwrap_or(Path::new(text));
            let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
            let text = path.to_string_lossy();
            let named = if text.is_empty() { "." } else { &*text };
            match self.roots.resolve(named) {
                Ok(place) if place.is_dir() && text.is_empty() => Pattern::parse(below),
                Ok(place) if place.is_dir() => Pattern::parse(&format!("{}/{below}", globset::escape(&text))),
                // A name may look like a pattern: `app/[page]/view.tsx`.
                Ok(place) if place.is_file() => Pattern::parse(&globset::escape(&text)),
                _ => Pattern::parse(&text),
            }
        });
        parsed.collect()
    }

    fn answer(&self, args: &Value, cancel: &CancellationToken) -> Answer {
        let found = parse_arguments::<Arguments>(NAME, args).and_then(|asked| {
            let include = self.patterns(&asked)?;
            let exclude = asked.exclude.iter().map(|text| match text.trim_end_matches('/') {
                name if name.contains('/') => Pattern::parse(name),
                name => Pattern::parse(&format!("**/{name}")),
            });
            Ok((include, exclude.collect::<Result<Vec<_>, _>>()?))
        });
        let (include, exclude) = match found {
            Ok(patterns) => patterns,
            Err(why) => return Answer::failed(why),
        };
        let ignored = IgnoreFiles::load(&self.roots, &self.ignoring);
        let (files, is_complete) = self.find(&include, &exclude, &ignored, cancel);
        let mut gathered = Gathered::default();
        for path in &files {
            if cancel.is_cancelled() {
                let text = format!("Stopped after {} of {} files.", gathered.read.len(), files.len());
                return Answer::new(Outcome::Cancelled(text)).touching(gathered.read);
            }
            let is_named =
                include.iter().any(|pattern| pattern.matcher.is_match(path) && pattern.names(path));
            gathered.take(&self.roots, &ignored, path, is_named);
        }
        if cancel.is_cancelled() {
            return Answer::new(Outcome::Cancelled("Stopped while looking for files.".to_string()));
        }
        gathered.answer(is_complete)
    }

    /// Where the search begins: as the pattern writes it, and without links. No folder is below another.
    fn beginnings(&self, include: &[Pattern]) -> Vec<(PathBuf, PathBuf)> {
        let written: BTreeSet<PathBuf> = include.iter().map(Pattern::folder).collect();
        let is_outermost = |path: &&PathBuf| path.ancestors().skip(1).all(|above| !written.contains(above));
        let outermost = written.iter().filter(is_outermost);
        outermost
            .filter_map(|path| {
                let text = if path.as_os_str().is_empty() { ".".into() } else { path.to_string_lossy() };
                Some((path.clone(), self.roots.resolve(&text).ok()?))
            })
            .collect()
    }

    /// The files that match, sorted, relative to the first folder; and whether all of it was looked at.
    fn find(
        &self,
        include: &[Pattern],
        exclude: &[Pattern],
        ignored: &IgnoreFiles,
        cancel: &CancellationToken,
    ) -> (BTreeSet<PathBuf>, bool) {
        let matches =
            |patterns: &[Pattern], path: &Path| patterns.iter().any(|pattern| pattern.matcher.is_match(path));
        let is_named =
            |name: &str| include.iter().any(|pattern| pattern.text.split('/').any(|part| part == name));
        let mut files = BTreeSet::new();
        let mut folders = self.beginnings(include);
        let mut seen = 0;
        while let Some((here, place)) = folders.pop() {
            // What cannot be opened has no files to read.
            let Ok(entries) = Folder::open(&self.roots, &place).and_then(|folder| folder.entries()) else {
                continue;
            };
            for entry in entries {
                seen += 1;
                if seen > MOST_ENTRIES || cancel.is_cancelled() {
                    return (files, false);
                }
                let path = here.join(&entry.name);
                let is_folder = entry.kind == Kind::Folder;
                if matches(exclude, &path)
                    || ignored.is_ignored(&place.join(&entry.name), is_folder).is_some()
                {
                    continue;
                }
                match entry.kind {
                    Kind::Folder => {
                        let is_passed =
                            PASSED_OVER.iter().any(|name| entry.name == **name && !is_named(name));
                        if !is_passed {
                            folders.push((path, place.join(&entry.name)));
                        }
                    }
                    Kind::File | Kind::Link if matches(include, &path) => {
                        files.insert(path);
                    }
                    _ => {}
                }
            }
        }
        (files, true)
    }
}

impl Gathered {
    fn take(&mut self, roots: &Roots, ignored: &IgnoreFiles, path: &Path, is_named: bool) {
        if self.read.len() >= MOST_FILES || self.text.len() >= MOST_TEXT {
            self.beyond_limit += 1;
            return;
        }
        let name = path.display();
        // A link is followed here, and must lead to a file that may be read.
        let place = match roots.resolve(&path.to_string_lossy()) {
            Ok(place) => place,
            Err(refusal) => return self.leave_out(refusal.to_string()),
        };
        if self.read.contains(&place) {
            return;
        }
        let loaded = match load_place(roots, ignored, place, LineRange::default()) {
            Ok(loaded) => loaded,
            Err(error) => return self.leave_out(error.to_string()),
        };
        match loaded.content {
            Content::Lines(slice) => {
                let notice = match slice.notice() {
                    Some(notice) => format!("[{notice} Use read_file for the rest of {name}.]\n"),
                    None => String::new(),
                };
                let piece = format!("--- {name} ---\n\n{notice}{}\n\n", slice.text);
                if self.text.len() + piece.len() > MOST_TEXT && !self.read.is_empty() {
                    self.beyond_limit += 1;
                    return;
                }
                self.text.push_str(&piece);
            }
            Content::Media(media) if is_named => {
                let Media { data: MediaData::Base64(data), .. } = &media else { return };
                if self.media_bytes + data.len() > MOST_MEDIA && !self.media.is_empty() {
                    self.beyond_limit += 1;
                    return;
                }
                self.media_bytes += data.len();
                self.text.push_str(&format!("--- {name} ---\n\n[Attached as {}.]\n\n", media.mime));
                self.media.push(Part::new(Origin::Tool, Body::Media(Box::new(media))));
            }
            Content::Media(media) => {
                return self.leave_out(format!("{name} is {} and no pattern names it", media.mime));
            }
            Content::Nothing(why) => return self.leave_out(why.trim_end_matches('.').to_string()),
        }
        self.read.push(loaded.place);
    }

    fn leave_out(&mut self, why: String) {
        self.left_out_count += 1;
        if self.left_out.len() < MOST_NAMED {
            self.left_out.push(why);
        }
    }

    fn answer(mut self, is_complete: bool) -> Answer {
        let mut notes = Vec::new();
        if self.left_out_count > 0 {
            let more = self.left_out_count - self.left_out.len();
            let more = if more > 0 { format!("; and {more} more") } else { String::new() };
            notes.push(format!("Left out: {}{more}.", self.left_out.join("; ")));
        }
        if self.beyond_limit > 0 {
            notes.push(format!(
                "{} more files match and are not shown, as the answer would be too long; use narrower patterns or read_file.",
                self.beyond_limit
            ));
        }
        if !is_complete {
            notes.push(format!(
                "Only the first {MOST_ENTRIES} entries of the workspace were looked at; use narrower patterns."
            ));
        }
        if self.read.is_empty() {
            notes.insert(0, "No file that can be shown matches.".to_string());
            return Answer::failed(notes.join("\n"));
        }
        let count = self.read.len();
        let summary = format!("{count} {}", if count == 1 { "file" } else { "files" });
        self.text.push_str("--- end ---");
        if !notes.is_empty() {
            self.text.push_str(&format!("\n{}", notes.join("\n")));
        }
        let answer = Answer::succeeded(self.text).shown(Shown::Line(summary)).touching(self.read);
        Answer { media: self.media, ..answer }
    }
}

impl Tool for ReadManyFiles {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("../prompts/read_many_files.md").trim_end().to_string(),
            parameters: schema_of::<Arguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let asked: Arguments = parse_arguments(NAME, args)?;
        self.patterns(&asked)?;
        Ok(Preview::Look(asked.include.join(", ")))
    }

    fn run<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Answer> {
        let (tool, args, cancel) = (self.clone(), call.args.clone(), call.cancel.clone());
        blocking(move || tool.answer(&args, &cancel))
    }
}
