//! Bodies as they stand: split into borrowed pieces, and written back with only some ranges changed.

mod edit;
mod split;

pub use edit::{Edit, apply_edits};
pub use split::{RawField, is_object, range_in, raw_fields, raw_items};
