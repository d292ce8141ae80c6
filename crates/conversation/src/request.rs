//! One call to a model, before any vendor's encoding.

use std::time::Duration;

use serde_json::{Map, Value};

use crate::{Extra, Message, Part, SpendMeter, TokenCount};

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
    /// Whether the model may, must or must not call tools.
    pub tool_choice: ToolChoice,
    /// How the answer is drawn, where that is said.
    pub sampling: Sampling,
    /// Further settings for the provider, passed through as they are.
    pub extra: Map<String, Value>,
    /// Fields of a request that was read which Longhaul does not model; they are written back to their vendor only.
    pub fields: Option<Box<Extra>>,
    /// Tighter limits than the model has by itself.
    pub limits: CallLimits,
    /// Counts what the call consumes.
    pub meter: SpendMeter,
}

/// Tighter limits for one call than its model has by itself; what is not set stays as it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallLimits {
    /// How long nothing of the answer may arrive. A call that ends like this is not made again.
    pub idle: Option<Duration>,
    /// How long the call may take in all.
    pub time: Option<Duration>,
}

/// Whether a model may call the tools of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Free,
    /// It must call one.
    Required,
    /// It must not call any; it is still told of them, as calls in the conversation need their declarations.
    Forbidden,
}

/// How an answer is drawn; what is not set is left to the provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    /// How much chance there is in it.
    pub temperature: Option<f64>,
    /// Only the likeliest tokens that make up this share.
    pub top_p: Option<f64>,
    /// Only so many of the likeliest tokens, where the provider knows that.
    pub top_k: Option<u64>,
    /// The longest answer.
    pub max_output: Option<TokenCount>,
    /// Texts at which it ends.
    pub stop: Vec<String>,
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
