//! Finds what of a conversation is worth quoting: lines ranked by the anchors that later work is likely to need.

mod anchors;
mod candidates;
mod chart;
mod gather;
mod lines;
mod memo;
mod names;
mod plain;
mod pool;
mod repeats;
mod select;
mod table;
mod tokens;
mod weigh;

pub use anchors::AnchorKind;
pub(crate) use anchors::Telling;
pub(crate) use gather::{Gathered, quoted_len};
pub(crate) use lines::count_plain_words;
pub(crate) use memo::Memo;
pub(crate) use pool::Pool;
pub(crate) use select::{Choice, choose_lines};
pub(crate) use table::{hash_short, hash_text, hash_word, mix};
pub(crate) use weigh::{USUAL_BUDGET, weigh_anchors};
