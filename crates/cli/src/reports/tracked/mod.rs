//! What was tracked in a session, as `inspect` and `compress` both show it: pins, asks and the ledger.

pub(crate) mod json;
pub(crate) mod text;
