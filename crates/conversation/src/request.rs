//! One call to a model, before any vendor's encoding.

use serde_json::{Map, Value};

use crate::{Message, Part};

/// Everything one call to a model is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The model's name, as its provider knows it.
    pub model: String,
    /// The system instruction.
    pub system: Vec<Part>,
    /// The tools the model may call.
    pub tools: Vec<ToolDeclaration>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// Further settings for the provider, passed through as they are.
    pub extra: Map<String, Value>,
}

/// A tool as the model sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The name to call it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}
