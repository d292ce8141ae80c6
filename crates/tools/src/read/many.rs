//! The tool `read_many_files`: reads all files that match some patterns.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use longhaul_conversation::{Body, Media, MediaData, Origin, Part, ToolDeclaration};
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::load::{FileContent, load_place};
use super::slice::ReadRange;
use crate::blocking::blocking;
use crate::folder::{FolderEntryKind, OpenFolder};
use crate::{
    BoxFuture, IgnoreFiles, Preview, Roots, Tool, ToolAnswer, ToolDisplay, ToolInvocation, ToolOutcome,
    parse_arguments, schema_of,
};

/// The tool's name.
const NAME: &str = "read_many_files";

/// The most bytes of text in one answer.
const MAX_TEXT: usize = 1_000_000;

/// The most bytes of media in one answer, as base64.
const MAX_MEDIA: usize = 20 * 1024 * 1024;

/// The most files in one answer.
const MAX_FILES: usize = 1_000;

/// The most folder entries examined.
const MAX_ENTRIES: usize = 100_000;

/// The most skipped files named in the answer.
const MAX_NAMED: usize = 10;

/// Folders that are skipped unless a pattern names them.
const SKIPPED_FOLDERS: [&str; 5] = [".git", "node_modules", "__pycache__", ".venv", "bower_components"];

/// The tool `read_many_files`.
#[derive(Clone, Debug)]
pub struct ReadManyFiles {
    roots: Roots,
    ignoring: Ignoring,
}

/// The arguments of `read_many_files`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadManyFilesArguments {
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

/// A pattern relative to the first workspace folder.
struct FilePattern {
    text: String,
    matcher: GlobMatcher,
}

/// The answer being collected.
#[derive(Default)]
struct ReadBatch {
    text: String,
    media: Vec<Part>,
    media_bytes: usize,
    read: Vec<PathBuf>,
    /// The skipped files, each with the reason.
    left_out: Vec<String>,
    left_out_count: usize,
    beyond_limit: usize,
}

impl FilePattern {
    fn parse(text: &str) -> Result<Self, String> {
        let glob = GlobBuilder::new(text)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("{text:?} is no pattern: {error}."))?;
        Ok(Self { text: text.to_lowercase(), matcher: glob.compile_matcher() })
    }

    /// The innermost folder that contains all possible matches.
    fn folder(&self) -> PathBuf {
        let path = Path::new(self.matcher.glob().glob());
        let has_wildcard =
            |part: &Component<'_>| part.as_os_str().to_string_lossy().contains(['*', '?', '[', '{', '\\']);
        let plain: PathBuf = path.components().take_while(|part| !has_wildcard(part)).collect();
        if plain == path { plain.parent().map(Path::to_path_buf).unwrap_or_default() } else { plain }
    }

    /// True if the pattern names this file, by name or extension, rather than matching anything.
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
    /// Reads files inside `roots` that are not ignored.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots, ignoring }
    }

    /// The patterns of a call; a folder matches its content.
    fn patterns(&self, asked: &ReadManyFilesArguments) -> Result<Vec<FilePattern>, String> {
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
                Ok(place) if place.is_dir() && text.is_empty() => FilePattern::parse(below),
                Ok(place) if place.is_dir() => {
                    FilePattern::parse(&format!("{}/{below}", globset::escape(&text)))
                }
                // A name may look like a pattern: `app/[page]/view.tsx`.
                Ok(place) if place.is_file() => FilePattern::parse(&globset::escape(&text)),
                _ => FilePattern::parse(&text),
            }
        });
        parsed.collect()
    }

    fn answer(&self, args: &Value, cancel: &CancellationToken) -> ToolAnswer {
        let found = parse_arguments::<ReadManyFilesArguments>(NAME, args).and_then(|asked| {
            let include = self.patterns(&asked)?;
            let exclude = asked.exclude.iter().map(|text| match text.trim_end_matches('/') {
                name if name.contains('/') => FilePattern::parse(name),
                name => FilePattern::parse(&format!("**/{name}")),
            });
            Ok((include, exclude.collect::<Result<Vec<_>, _>>()?))
        });
        let (include, exclude) = match found {
            Ok(patterns) => patterns,
            Err(why) => return ToolAnswer::failed(why),
        };
        let ignored = IgnoreFiles::load(&self.roots, &self.ignoring);
        let (files, is_complete) = self.find(&include, &exclude, &ignored, cancel);
        let mut batch = ReadBatch::default();
        for path in &files {
            if cancel.is_cancelled() {
                let text = format!("Stopped after {} of {} files.", batch.read.len(), files.len());
                return ToolAnswer::new(ToolOutcome::Cancelled(text)).touching(batch.read);
            }
            let is_named =
                include.iter().any(|pattern| pattern.matcher.is_match(path) && pattern.names(path));
            batch.add(&self.roots, &ignored, path, is_named);
        }
        if cancel.is_cancelled() {
            return ToolAnswer::new(ToolOutcome::Cancelled("Stopped while looking for files.".to_string()));
        }
        batch.answer(is_complete)
    }

    /// The folders at which the search starts, as written and without links. None is below another.
    fn start_folders(&self, include: &[FilePattern]) -> Vec<(PathBuf, PathBuf)> {
        let written: BTreeSet<PathBuf> = include.iter().map(FilePattern::folder).collect();
        let is_outermost = |path: &&PathBuf| path.ancestors().skip(1).all(|above| !written.contains(above));
        let outermost = written.iter().filter(is_outermost);
        outermost
            .filter_map(|path| {
                let text = if path.as_os_str().is_empty() { ".".into() } else { path.to_string_lossy() };
                Some((path.clone(), self.roots.resolve(&text).ok()?))
            })
            .collect()
    }

    /// The matching files, sorted and relative to the first folder, and false if the search hit its limit.
    fn find(
        &self,
        include: &[FilePattern],
        exclude: &[FilePattern],
        ignored: &IgnoreFiles,
        cancel: &CancellationToken,
    ) -> (BTreeSet<PathBuf>, bool) {
        let matches = |patterns: &[FilePattern], path: &Path| {
            patterns.iter().any(|pattern| pattern.matcher.is_match(path))
        };
        let is_named =
            |name: &str| include.iter().any(|pattern| pattern.text.split('/').any(|part| part == name));
        let mut files = BTreeSet::new();
        let mut folders = self.start_folders(include);
        let mut seen = 0;
        while let Some((here, place)) = folders.pop() {
            // A folder that cannot be opened has no files to read.
            let Ok(entries) = OpenFolder::open(&self.roots, &place).and_then(|folder| folder.entries())
            else {
                continue;
            };
            for entry in entries {
                seen += 1;
                if seen > MAX_ENTRIES || cancel.is_cancelled() {
                    return (files, false);
                }
                let path = here.join(&entry.name);
                let is_folder = entry.kind == FolderEntryKind::Folder;
                if matches(exclude, &path)
                    || ignored.is_ignored(&place.join(&entry.name), is_folder).is_some()
                {
                    continue;
                }
                match entry.kind {
                    FolderEntryKind::Folder => {
                        let is_passed =
                            SKIPPED_FOLDERS.iter().any(|name| entry.name == **name && !is_named(name));
                        if !is_passed {
                            folders.push((path, place.join(&entry.name)));
                        }
                    }
                    FolderEntryKind::File | FolderEntryKind::Link if matches(include, &path) => {
                        files.insert(path);
                    }
                    _ => {}
                }
            }
        }
        (files, true)
    }
}

impl ReadBatch {
    fn add(&mut self, roots: &Roots, ignored: &IgnoreFiles, path: &Path, is_named: bool) {
        if self.read.len() >= MAX_FILES || self.text.len() >= MAX_TEXT {
            self.beyond_limit += 1;
            return;
        }
        let name = path.display();
        // A link is followed here, and must lead to a readable file inside the workspace.
        let place = match roots.resolve(&path.to_string_lossy()) {
            Ok(place) => place,
            Err(refusal) => return self.skip(refusal.to_string()),
        };
        if self.read.contains(&place) {
            return;
        }
        let loaded = match load_place(roots, ignored, place, ReadRange::default()) {
            Ok(loaded) => loaded,
            Err(error) => return self.skip(error.to_string()),
        };
        match loaded.content {
            FileContent::Lines(slice) => {
                let notice = match slice.notice() {
                    Some(notice) => format!("[{notice} Use read_file for the rest of {name}.]\n"),
                    None => String::new(),
                };
                let piece = format!("--- {name} ---\n\n{notice}{}\n\n", slice.text);
                if self.text.len() + piece.len() > MAX_TEXT && !self.read.is_empty() {
                    self.beyond_limit += 1;
                    return;
                }
                self.text.push_str(&piece);
            }
            FileContent::Media(media) if is_named => {
                let Media { data: MediaData::Base64(data), .. } = &media else { return };
                if self.media_bytes + data.len() > MAX_MEDIA && !self.media.is_empty() {
                    self.beyond_limit += 1;
                    return;
                }
                self.media_bytes += data.len();
                self.text.push_str(&format!("--- {name} ---\n\n[Attached as {}.]\n\n", media.mime));
                self.media.push(Part::new(Origin::Tool, Body::Media(Box::new(media))));
            }
            FileContent::Media(media) => {
                return self.skip(format!("{name} is {} and no pattern names it", media.mime));
            }
            FileContent::Nothing(why) => return self.skip(why.trim_end_matches('.').to_string()),
        }
        self.read.push(loaded.place);
    }

    fn skip(&mut self, why: String) {
        self.left_out_count += 1;
        if self.left_out.len() < MAX_NAMED {
            self.left_out.push(why);
        }
    }

    fn answer(mut self, is_complete: bool) -> ToolAnswer {
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
                "Only the first {MAX_ENTRIES} entries of the workspace were looked at; use narrower patterns."
            ));
        }
        if self.read.is_empty() {
            notes.insert(0, "No file that can be shown matches.".to_string());
            return ToolAnswer::failed(notes.join("\n"));
        }
        let count = self.read.len();
        let summary = format!("{count} {}", if count == 1 { "file" } else { "files" });
        self.text.push_str("--- end ---");
        if !notes.is_empty() {
            self.text.push_str(&format!("\n{}", notes.join("\n")));
        }
        let answer = ToolAnswer::succeeded(self.text).shown(ToolDisplay::Line(summary)).touching(self.read);
        ToolAnswer { media: self.media, ..answer }
    }
}

impl Tool for ReadManyFiles {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("../prompts/read_many_files.md").trim_end().to_string(),
            parameters: schema_of::<ReadManyFilesArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let asked: ReadManyFilesArguments = parse_arguments(NAME, args)?;
        self.patterns(&asked)?;
        Ok(Preview::Look(asked.include.join(", ")))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (tool, args, cancel) = (self.clone(), call.args.clone(), call.cancel.clone());
        blocking(move || tool.answer(&args, &cancel))
    }
}
