//! The tool `read_file`: reads one file within limits, with a note on how to read the rest.

mod kind;
mod load;
mod many;
mod slice;

use std::path::PathBuf;

use longhaul_conversation::{Body, Origin, Part, ToolDeclaration};
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use kind::looks_binary;
pub(crate) use load::read_whole;
pub use load::{FileContent, FileReadError, LoadedFile, load_file};
pub use many::ReadManyFiles;
pub use slice::{ReadRange, Slice};

use crate::blocking::blocking;
use crate::readable::ReadableRoots;
use crate::{
    BoxFuture, IgnoreFiles, Preview, Roots, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments,
    schema_of,
};

/// The tool's name.
const NAME: &str = "read_file";

/// The tool `read_file`.
#[derive(Clone, Debug)]
pub struct ReadFile {
    roots: ReadableRoots,
    ignoring: Ignoring,
}

/// The arguments of `read_file`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReadFileArguments {
    /// The file, relative to the workspace or in full.
    #[serde(alias = "absolute_path", alias = "path")]
    file_path: String,
    /// The first line to show, counted from 1.
    #[serde(default)]
    #[schemars(range(min = 1))]
    start_line: Option<usize>,
    /// The last line to show. Without it, 2000 lines are shown at most.
    #[serde(default)]
    #[schemars(range(min = 1))]
    end_line: Option<usize>,
    /// How older sessions say where to start, counted from 0.
    #[serde(default)]
    #[schemars(skip)]
    offset: Option<usize>,
    /// How older sessions say how many lines.
    #[serde(default)]
    #[schemars(skip)]
    limit: Option<usize>,
}

impl ReadFileArguments {
    fn parse(args: &Value) -> Result<(String, ReadRange), String> {
        let asked: Self = parse_arguments(NAME, args)?;
        let range = asked.range()?;
        Ok((asked.file_path, range))
    }

    fn range(&self) -> Result<ReadRange, String> {
        let start = self.start_line.or(self.offset.map(|offset| offset.saturating_add(1)));
        let by_limit = |limit: usize| (start.unwrap_or(1) - 1).saturating_add(limit);
        if start == Some(0) || self.end_line == Some(0) {
            return Err("Lines are counted from 1.".to_string());
        }
        let end = self.end_line.or(self.limit.map(by_limit));
        match (start.unwrap_or(1), end) {
            (start, Some(end)) if start > end => {
                Err(format!("There are no lines from {start} to {end}: start_line comes first."))
            }
            _ => Ok(ReadRange { start, end }),
        }
    }
}

impl ReadFile {
    /// Reads files inside `roots` that are not ignored.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots: ReadableRoots::new(roots), ignoring }
    }

    /// Also allows the folder of complete outputs as soon as it exists, because the model is told of files in it.
    #[must_use]
    pub fn with_outputs(self, outputs: fn() -> Option<PathBuf>) -> Self {
        Self { roots: self.roots.with_outputs(outputs), ..self }
    }

    /// Also allows the Markdown files of this folder as soon as it exists, and nothing below it: the notes that memory
    /// points to.
    #[must_use]
    pub fn with_notes(self, notes: fn() -> Option<PathBuf>) -> Self {
        Self { roots: self.roots.with_notes(notes), ..self }
    }

    fn answer(&self, args: &Value) -> ToolAnswer {
        let (path, range) = match ReadFileArguments::parse(args) {
            Ok(asked) => asked,
            Err(why) => return ToolAnswer::failed(why),
        };
        let roots = self.roots.roots_for(&path);
        let ignored = IgnoreFiles::load(&roots, &self.ignoring);
        let LoadedFile { place, content } = match load_file(&roots, &ignored, &path, range) {
            Ok(loaded) => loaded,
            Err(error) => return ToolAnswer::failed(format!("{error}.")),
        };
        let name = self.roots.workspace().shorten(&place).display().to_string();
        let answer = match content {
            FileContent::Lines(slice) if slice.first > slice.total => ToolAnswer::failed(format!(
                "{name} has {} lines: there is none from line {} on.",
                slice.total,
                range.start.unwrap_or(slice.first)
            )),
            FileContent::Lines(slice) => {
                let answer = ToolAnswer::succeeded(slice.to_text()).shown(ToolDisplay::Line(slice.summary()));
                ToolAnswer { lines: Some(Box::new(slice)), ..answer }
            }
            FileContent::Media(media) => {
                let answer = ToolAnswer::succeeded(format!("{name} is attached ({}).", media.mime));
                ToolAnswer { media: vec![Part::new(Origin::Tool, Body::Media(Box::new(media)))], ..answer }
            }
            FileContent::Nothing(why) => ToolAnswer::succeeded(why),
        };
        answer.touching([place])
    }
}

impl Tool for ReadFile {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("../prompts/read_file.md").trim_end().to_string(),
            parameters: schema_of::<ReadFileArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let (path, range) = ReadFileArguments::parse(args)?;
        let place = self.roots.roots_for(&path).resolve(&path).map_err(|refusal| format!("{refusal}."))?;
        let name = self.roots.workspace().shorten(&place).display();
        Ok(Preview::Look(match (range.start, range.end) {
            (None, None) => name.to_string(),
            (start, Some(end)) => format!("{name}, lines {} to {end}", start.unwrap_or(1)),
            (Some(start), None) => format!("{name}, from line {start}"),
        }))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (tool, args) = (self.clone(), call.args.clone());
        blocking(move || tool.answer(&args))
    }
}
