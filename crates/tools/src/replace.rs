//! The tool `replace`: replaces a piece of text in a file.

use longhaul_conversation::ToolDeclaration;
use longhaul_workspace::{FolderRecorder, Ignoring};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::blocking::blocking;
use crate::change::{ChangeRecords, PlannedChange, find_existing, resolve_for_change};
use crate::replace_text::{ExpectedCount, replace_text};
use crate::{
    BoxFuture, Checkpoints, IgnoreFiles, Preview, Proposal, Roots, Tool, ToolAnswer, ToolInvocation,
    ToolOutcome, parse_arguments, schema_of,
};

/// The tool's name.
const NAME: &str = "replace";

/// The most replaced lines listed in the answer.
const MAX_TOLD: usize = 10;

/// The tool `replace`.
#[derive(Clone, Debug)]
pub struct Replace {
    roots: Roots,
    ignoring: Ignoring,
    records: ChangeRecords,
}

/// The arguments of `replace`.
#[derive(Debug, Deserialize, JsonSchema)]
struct ReplaceArguments {
    /// The file, relative to the workspace or in full.
    #[serde(alias = "absolute_path", alias = "path")]
    file_path: String,
    /// The piece that is there now, exactly. Empty to make a new file.
    old_string: String,
    /// What is to be there instead.
    new_string: String,
    /// How often old_string is there, if it is not once; all are replaced.
    #[serde(default)]
    #[schemars(range(min = 1))]
    expected_replacements: Option<usize>,
    /// Whether to replace old_string wherever it is, however often that may be.
    #[serde(default, alias = "replace_all")]
    allow_multiple: Option<bool>,
}

impl ReplaceArguments {
    fn expected(&self) -> Result<ExpectedCount, String> {
        match (self.expected_replacements, self.allow_multiple) {
            (Some(0), _) => Err("expected_replacements is at least 1.".to_string()),
            (None, Some(true)) => Ok(ExpectedCount::Any),
            (times, _) => Ok(ExpectedCount::Times(times.unwrap_or(1))),
        }
    }
}

impl Replace {
    /// Changes files inside `roots` that are not ignored: without reading a file, a model cannot know its text.
    pub fn new(roots: Roots, ignoring: Ignoring) -> Self {
        Self { roots, ignoring, records: ChangeRecords::default() }
    }

    /// Notes each folder before it writes there.
    #[must_use]
    pub fn with_recorder(self, recorder: FolderRecorder) -> Self {
        Self { records: ChangeRecords { folders: recorder, ..self.records }, ..self }
    }

    /// Keeps what stood in a file before it changes it.
    #[must_use]
    pub fn with_checkpoints(self, checkpoints: Checkpoints) -> Self {
        Self { records: ChangeRecords { checkpoints, ..self.records }, ..self }
    }

    /// Plans the change, and lists the lines it replaces. The file is read again for each call, so that the approved
    /// change applies to its current content.
    fn plan(&self, args: &Value) -> Result<(PlannedChange, Vec<usize>), String> {
        let asked: ReplaceArguments = parse_arguments(NAME, args)?;
        let expected = asked.expected()?;
        let place = resolve_for_change(&self.roots, &asked.file_path)?;
        let name = self.roots.shorten(&place).display();
        if let Some(reason) = IgnoreFiles::load(&self.roots, &self.ignoring).is_ignored(&place, false) {
            return Err(format!("{name} is not changed: {reason}."));
        }
        if asked.old_string == asked.new_string {
            return Err("old_string and new_string are the same.".to_string());
        }
        let existing = find_existing(&self.roots, &place)?;
        let Some(was) = &existing else {
            return match asked.old_string.is_empty() {
                true => Ok((PlannedChange::new(&self.roots, place, None, asked.new_string), Vec::new())),
                false => Err(format!("{name} does not exist. To make it, leave old_string empty.")),
            };
        };
        if asked.old_string.is_empty() {
            return Err(format!(
                "{name} exists: say in old_string what to replace, or use write_file to replace all of it."
            ));
        }
        if was.is_binary || !was.decoded.is_exact {
            return Err(format!(
                "{name} has bytes in it that are no text, which a change here would destroy. Use a command that knows its encoding."
            ));
        }
        let replaced = replace_text(&was.decoded.text, &asked.old_string, &asked.new_string, expected)
            .map_err(|mismatch| format!("{name} is as it was: {mismatch}."))?;
        Ok((PlannedChange::new(&self.roots, place, existing, replaced.text), replaced.lines))
    }

    fn answer(&self, args: &Value, cancel: &CancellationToken) -> ToolAnswer {
        let (change, lines) = match self.plan(args) {
            Ok(planned) => planned,
            Err(why) => return ToolAnswer::failed(why),
        };
        if cancel.is_cancelled() {
            return ToolAnswer::new(ToolOutcome::Cancelled(format!("{} is as it was.", change.name)));
        }
        let note = match lines.as_slice() {
            [] => change.describe(),
            [line] => format!("Changed {} at line {line}.", change.name),
            lines => {
                let told = lines.iter().take(MAX_TOLD).map(usize::to_string).collect::<Vec<_>>().join(", ");
                let more = if lines.len() > MAX_TOLD { " and more" } else { "" };
                format!("Changed {} in {} places, at lines {told}{more}.", change.name, lines.len())
            }
        };
        change.write(&self.roots, &self.records, note)
    }
}

impl Tool for Replace {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/replace.md").trim_end().to_string(),
            parameters: schema_of::<ReplaceArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        self.plan(args).map(|(change, _)| change.preview())
    }

    fn proposal(&self, args: &Value) -> Option<Proposal> {
        self.plan(args).ok()?.0.proposal()
    }

    fn with_text(&self, args: &Value, text: &str) -> Option<Value> {
        let (change, _) = self.plan(args).ok()?;
        let asked: ReplaceArguments = parse_arguments(NAME, args).ok()?;
        // The whole file is replaced: the edit may be anywhere in it.
        Some(json!({"file_path": asked.file_path, "old_string": change.old_text(), "new_string": text}))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (tool, args, cancel) = (self.clone(), call.args.clone(), call.cancel.clone());
        blocking(move || tool.answer(&args, &cancel))
    }
}
