//! Pieces of output that several commands print.

pub(crate) mod found;
pub(crate) mod inbox;
pub(crate) mod losses;
pub(crate) mod redaction;
pub(crate) mod repairs;
pub(crate) mod tracked;
pub(crate) mod trust;
pub(crate) mod written;
