//! Finds what of a conversation is worth quoting: lines ranked by the anchors that later work is likely to need.

mod anchors;
mod lines;
mod pool;
mod select;

pub use anchors::AnchorKind;
pub(crate) use pool::{Pool, Source};
pub(crate) use select::{Choice, choose_lines};
