//! A model request, before vendor encoding.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Extra, Message, Part, SpendMeter, TokenCount};

/// A model request.
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
    /// Permission to call tools.
    pub tool_choice: ToolChoice,
    /// The sampling parameters, if given.
    pub sampling: Sampling,
    /// Further provider settings, passed through unchanged.
    pub extra: Map<String, Value>,
    /// Fields of a request that was read which Longhaul does not model; they are written back to their vendor only.
    pub fields: Option<Box<Extra>>,
    /// Tighter limits than the model's own.
    pub limits: CallLimits,
    /// Counts the consumption of the call.
    pub meter: SpendMeter,
}

/// Limits for one call that are tighter than the model's own; unset ones keep the model's value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// The longest silence. A call that ends like this is not repeated.
    pub idle: Option<Duration>,
    /// The longest total time.
    pub time: Option<Duration>,
}

/// The permission to call tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Free,
    /// The model must call one.
    Required,
    /// The model must not call any; they are still declared, because calls in the conversation need their declarations.
    Forbidden,
}

/// The sampling parameters; unset ones are left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// The randomness.
    pub temperature: Option<f64>,
    /// The share of the likeliest tokens considered.
    pub top_p: Option<f64>,
    /// The number of the likeliest tokens considered, for providers that support it.
    pub top_k: Option<u64>,
    /// The longest answer.
    pub max_output: Option<TokenCount>,
    /// Texts that end the answer.
    pub stop: Vec<String>,
}

/// The declaration of a tool for the model.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The tool's name.
    pub name: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}
