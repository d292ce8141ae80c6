//! The texts of a message that the model reads.

use serde_json::Value;

use crate::{Body, Message};

/// Calls `found` with every text of a message that the model reads.
pub fn each_text(message: &Message, found: &mut impl FnMut(&str)) {
    for part in &message.parts {
        match &part.body {
            Body::Text(text) => found(text),
            Body::Thought(thought) => found(&thought.text),
            Body::Call(call) => {
                found(&call.name);
                each_string(&call.args, found);
            }
            Body::Result(result) => found(&result.readable()),
            Body::Media(_) | Body::File(_) | Body::Opaque(_) => {}
        }
    }
}

fn each_string(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| each_string(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| each_string(value, found)),
        _ => {}
    }
}
