//! The tool `write_file`: writes a whole file, new or existing.

use longhaul_conversation::ToolDeclaration;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::blocking::blocking;
use crate::change::{ChangeRecords, PlannedChange, find_existing, resolve_for_change};
use crate::line_endings::with_endings_of;
use crate::{
    BoxFuture, Checkpoints, Preview, Proposal, Roots, Tool, ToolAnswer, ToolInvocation, ToolOutcome,
    parse_arguments, schema_of,
};
use longhaul_workspace::{Encoding, FolderRecorder};

/// The tool's name.
const NAME: &str = "write_file";

/// The tool `write_file`.
#[derive(Clone, Debug)]
pub struct WriteFile {
    roots: Roots,
    records: ChangeRecords,
}

/// The arguments of `write_file`.
#[derive(Debug, Deserialize, JsonSchema)]
struct WriteFileArguments {
    /// The file, relative to the workspace or in full.
    #[serde(alias = "absolute_path", alias = "path")]
    file_path: String,
    /// All that is to be in it.
    content: String,
}

impl WriteFile {
    /// Writes files inside `roots`.
    pub fn new(roots: Roots) -> Self {
        Self { roots, records: ChangeRecords::default() }
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

    fn plan(&self, args: &Value) -> Result<PlannedChange, String> {
        let asked: WriteFileArguments = parse_arguments(NAME, args)?;
        let place = resolve_for_change(&self.roots, &asked.file_path)?;
        let existing = find_existing(&self.roots, &place)?;
        let text = match &existing {
            Some(was) => {
                let content = match was.decoded.encoding {
                    Encoding::Utf8 => asked.content.as_str(),
                    // The file keeps its own BOM.
                    _ => asked.content.strip_prefix('\u{FEFF}').unwrap_or(&asked.content),
                };
                with_endings_of(&was.decoded.text, content)
            }
            None => asked.content,
        };
        Ok(PlannedChange::new(&self.roots, place, existing, text))
    }

    fn answer(&self, args: &Value, cancel: &CancellationToken) -> ToolAnswer {
        let change = match self.plan(args) {
            Ok(change) => change,
            Err(why) => return ToolAnswer::failed(why),
        };
        if cancel.is_cancelled() {
            return ToolAnswer::new(ToolOutcome::Cancelled(format!("{} is as it was.", change.name)));
        }
        if change.is_unchanged() {
            return ToolAnswer::succeeded(format!("{} already has exactly this content.", change.name));
        }
        let note = change.describe();
        change.write(&self.roots, &self.records, note)
    }
}

impl Tool for WriteFile {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: NAME.to_string(),
            description: include_str!("prompts/write_file.md").trim_end().to_string(),
            parameters: schema_of::<WriteFileArguments>(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        self.plan(args).map(PlannedChange::preview)
    }

    fn proposal(&self, args: &Value) -> Option<Proposal> {
        self.plan(args).ok()?.proposal()
    }

    fn with_text(&self, args: &Value, text: &str) -> Option<Value> {
        let mut args = args.clone();
        args.as_object_mut()?.insert("content".to_string(), text.into());
        Some(args)
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (tool, args, cancel) = (self.clone(), call.args.clone(), call.cancel.clone());
        blocking(move || tool.answer(&args, &cancel))
    }
}
