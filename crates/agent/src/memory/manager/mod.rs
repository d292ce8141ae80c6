//! The memory manager: a sub-agent in the place of the tool `save_memory`. It decides what belongs into which memory file,
//! and can touch nothing but those.

mod store;
#[cfg(test)]
mod tests;
mod write;

use std::path::PathBuf;

use longhaul_conversation::{Timestamp, ToolDeclaration};
use longhaul_memory::{MemorySettings, Places, SAVE_TOOL};
use longhaul_tools::{Preview, parse_arguments, schema_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

pub(crate) use store::ManagedFiles;

use crate::subagents::{SubagentDefinition, SubagentSource, parse_definition};

/// The sub-agent that keeps memory files.
#[derive(Clone, Debug)]
pub struct MemoryManager {
    definition: SubagentDefinition,
    places: Places,
    settings: MemorySettings,
    private: fn() -> Option<PathBuf>,
}

/// Something is to be remembered, corrected or forgotten.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// What to remember, to correct or to forget, in whole sentences that can be understood without this conversation.
    #[serde(alias = "fact")]
    request: String,
}

impl MemoryManager {
    /// Its tools, beside the one that ends its work.
    pub(crate) const TOOLS: [&str; 7] =
        ["read_file", "list_directory", "glob", "grep_search", "replace", "write_file", "ask_user"];

    /// Keeps the files of these places. The folder of private memory is asked for when it is needed: a project has none
    /// before its first session is begun.
    pub fn new(places: Places, settings: MemorySettings, private: fn() -> Option<PathBuf>) -> Self {
        let text = include_str!("../../prompts/agents/save_memory.md");
        let (definition, _) = parse_definition(text, SubagentSource::BuiltIn);
        let definition = definition.expect("a test reads it");
        Self { definition, places, settings, private }
    }

    /// The same with a definition of the user's or of the project's: its prompt, its model and its limits count. Of its
    /// tools only those do that the manager has, and they reach no further.
    #[must_use]
    pub fn defined_by(self, definition: SubagentDefinition) -> Self {
        Self { definition, ..self }
    }

    /// Its definition.
    pub fn definition(&self) -> &SubagentDefinition {
        &self.definition
    }

    /// The tool as the main agent sees it.
    pub(crate) fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: SAVE_TOOL.to_string(),
            description: "Hands something to the keeper of memory, which adds it to the memory file that it belongs to, corrects \
                          what it contradicts or removes what is to be forgotten, and answers with what it did."
                .to_string(),
            parameters: schema_of::<Arguments>(),
        }
    }

    /// A preview of a call.
    pub(crate) fn preview(&self, args: &Value) -> Result<Preview, String> {
        self.request(args).map(Preview::Other)
    }

    /// The request in the arguments of a call.
    pub(crate) fn request(&self, args: &Value) -> Result<String, String> {
        let Arguments { request } = parse_arguments(SAVE_TOOL, args)?;
        match request.trim() {
            "" => Err("The request is empty.".to_string()),
            request => Ok(request.to_string()),
        }
    }

    /// The files as they are now, to work on them.
    pub(crate) fn open(&self, now: Timestamp) -> Result<ManagedFiles, String> {
        let private = self.places.private.clone().or_else(self.private);
        let places = Places { private, ..self.places.clone() };
        ManagedFiles::open(&places, &self.settings, now)
    }
}
