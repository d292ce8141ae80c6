//! The tool `grep_search`: searches the contents of files.

mod collect;

use std::path::PathBuf;

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use longhaul_conversation::{ToolDeclaration, grouped};
use longhaul_workspace::Ignoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::folder::FolderEntryKind;
use crate::readable::ReadableRoots;
use crate::walk::{SearchArea, search};
use crate::{
    BoxFuture, Preview, Roots, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments, schema_of,
};
use collect::{GrepLine, GrepResult, MatchCollector};

const NAME: &str = "grep_search";

/// The default and the most matches shown.
const MATCHES: usize = 100;
const MAX_MATCHES: usize = 1000;

/// The most context lines around a match.
const MAX_CONTEXT: usize = 20;

/// The tool `grep_search`.
#[derive(Clone, Debug)]
pub struct GrepSearch {
    roots: ReadableRoots,
    ignoring: Ignoring,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct GrepArguments {
    /// The regular expression, which is held against each line.
    pattern: String,
    /// The folder, or the file, to search: in the workspace or among the saved outputs. Without it, the whole workspace.
    #[serde(default, alias = "path")]
    dir_path: Option<String>,
    /// Only files like this are searched: `*.rs` by their names, `src/**/*.rs` by their paths.
    #[serde(default, alias = "include_pattern")]
    include: Option<String>,
    /// How many lines are shown before and after each match.
    #[serde(default)]
    #[schemars(range(max = 20))]
    context: Option<usize>,
    /// Whether upper and lower case differ. Without it they do not.
    #[serde(default)]
    case_sensitive: Option<bool>,
    /// Whether the pattern is searched for as it stands, and is no regular expression.
    #[serde(default)]
    fixed_strings: Option<bool>,
    /// How many matches are shown. Without it, 100.
    #[serde(default, alias = "total_max_matches")]
    #[schemars(range(min = 1, max = 1000))]
    max_matches: Option<usize>,
}

/// A validated call.
struct GrepTask {
    pattern: String,
    area: SearchArea,
    include: Option<IncludeFilter>,
    matcher: RegexMatcher,
    context: usize,
    max_matches: usize,
}

/// The filter on searched files.
#[derive(Clone, Debug)]
enum IncludeFilter {
    Name(GlobMatcher),
    Path(GlobMatcher),
}

impl GrepSearch {
    /// Searches files inside `roots`, subject to ignore files.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots: ReadableRoots::new(roots), ignoring }
    }

    /// Also allows the folder of complete outputs, where a call names it or something in it.
    #[must_use]
    pub fn with_outputs(self, outputs: fn() -> Option<PathBuf>) -> Self {
        Self { roots: self.roots.with_outputs(outputs), ..self }
    }

    fn task(&self, args: &Value) -> Result<GrepTask, String> {
        let arguments: GrepArguments = parse_arguments(NAME, args)?;
        if arguments.pattern.is_empty() {
            return Err("The pattern is empty.".to_string());
        }
        let matcher = RegexMatcherBuilder::new()
            .multi_line(true)
            .case_insensitive(!arguments.case_sensitive.unwrap_or_default())
            .fixed_strings(arguments.fixed_strings.unwrap_or_default())
            .line_terminator(Some(b'\n'))
            .build(&arguments.pattern)
            .map_err(|error| {
                format!(
                    "The pattern is not a regular expression that can be searched for: {error}\nEscape what is meant \
                     literally, or set fixed_strings."
                )
            })?;
        let roots = self.roots.roots_for(arguments.dir_path.as_deref().unwrap_or("."));
        let area = SearchArea::find(&roots, arguments.dir_path.as_deref(), &self.ignoring)?;
        let include = arguments.include.as_deref().filter(|include| !include.is_empty());
        Ok(GrepTask {
            pattern: arguments.pattern,
            area,
            include: include.map(IncludeFilter::parse).transpose()?,
            matcher,
            context: arguments.context.unwrap_or(0).min(MAX_CONTEXT),
            max_matches: arguments.max_matches.unwrap_or(MATCHES).clamp(1, MAX_MATCHES),
        })
    }

    async fn answer(&self, call: ToolInvocation<'_>) -> ToolAnswer {
        let task = match self.task(call.args) {
            Ok(task) => task,
            Err(problem) => return ToolAnswer::failed(problem),
        };
        let pattern = task.pattern.clone();
        match search(call.cancel, move |cancel| task.run(cancel)).await {
            Ok(collected) => self.describe(&pattern, &collected),
            Err(stopped) => stopped,
        }
    }

    fn describe(&self, pattern: &str, collected: &GrepResult) -> ToolAnswer {
        let matches = counted(collected.matches, "match", "matches");
        let files = counted(collected.files, "file", "files");
        let summary = match collected.matches {
            0 => "no matches".to_string(),
            _ => format!("{matches} in {files}"),
        };
        let mut text = match collected.matches {
            0 => format!("No matches for {pattern:?}."),
            count if count > collected.shown() => {
                format!("Showing {} of {matches} in {files} for {pattern:?}:", grouped(collected.shown()))
            }
            _ => format!("{summary} for {pattern:?}:"),
        };
        for (path, lines) in collected.lines() {
            text.push_str(&format!("\n\n{}", self.roots.workspace().shorten(path).display()));
            let mut next = None;
            for GrepLine { number, is_match, text: line } in lines {
                if next.is_some_and(|next| next != *number) && collected.has_context {
                    text.push_str("\n--");
                }
                next = Some(number + 1);
                text.push_str(&format!("\n{number}{} {line}", if *is_match { ':' } else { '-' }));
            }
        }
        if collected.unread > 0 {
            text.push_str(&format!("\n\n{} could not be read.", counted(collected.unread, "file", "files")));
        }
        ToolAnswer::succeeded(text).shown(ToolDisplay::Line(summary))
    }
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{} {}", grouped(count), if count == 1 { one } else { many })
}

impl IncludeFilter {
    fn parse(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let matcher = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| format!("The pattern in include is not valid: {error}."))?
            .compile_matcher();
        Ok(if pattern.contains('/') { Self::Path(matcher) } else { Self::Name(matcher) })
    }
}

impl GrepTask {
    fn run(&self, cancel: &CancellationToken) -> GrepResult {
        let collector = MatchCollector::new(&self.matcher, self.context, self.max_matches);
        self.area.visit(cancel, || {
            let mut searcher = collector.searcher();
            let collector = &collector;
            move |visited| {
                // A linked file is searched at its own path, if it is in the workspace.
                if visited.kind == FolderEntryKind::File && self.includes(&visited.path) {
                    collector.search(&mut searcher, visited.open(), visited.path, cancel);
                }
            }
        });
        collector.finish()
    }

    fn includes(&self, path: &std::path::Path) -> bool {
        match &self.include {
            None => true,
            Some(IncludeFilter::Name(matcher)) => path.file_name().is_some_and(|name| matcher.is_match(name)),
            Some(IncludeFilter::Path(matcher)) => matcher.is_match(self.area.relative(path)),
        }
    }
}

impl Tool for GrepSearch {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/grep_search.md").trim_end().to_string(),
            parameters: schema_of::<GrepArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let arguments: GrepArguments = parse_arguments(NAME, args)?;
        self.task(args)?;
        let places: Vec<&str> =
            arguments.dir_path.iter().chain(&arguments.include).map(String::as_str).collect();
        Ok(Preview::Look(match places.is_empty() {
            true => format!("lines matching {}", arguments.pattern),
            false => format!("lines matching {} in {}", arguments.pattern, places.join(", ")),
        }))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(self.answer(call))
    }
}

#[cfg(test)]
mod tests;
