//! The commands, one file each.

pub(crate) mod completions;
pub(crate) mod inspect;
pub(crate) mod sessions;
