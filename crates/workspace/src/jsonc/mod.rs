//! JSON with comments and trailing commas, as settings and trust rules are kept: read with the line of every key, and edited
//! so that comments, order, layout and line endings stay.

mod blank;
mod edit;
mod tree;

pub use blank::{Unclosed, blank_comments};
pub use edit::{JsoncDocument, NewKey};
pub use tree::{JsoncContent, JsoncError, JsoncFault, JsoncNode, parse_jsonc};
