//! Finds what of a conversation is worth quoting: lines ranked by the anchors that later work is likely to need.

mod anchors;
mod candidates;
mod chart;
mod gather;
mod lines;
mod names;
mod pool;
mod select;
mod tokens;
mod weigh;

pub use anchors::AnchorKind;
pub(crate) use gather::Gathered;
pub(crate) use lines::count_plain_words;
pub(crate) use pool::Pool;
pub(crate) use select::{Choice, choose_lines};
pub(crate) use weigh::{USUAL_BUDGET, weigh_anchors};
