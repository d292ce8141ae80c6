//! The tracked parts of a session, as `inspect` and `compress` both show them: rules, requests and the ledger.

pub(crate) mod json;
pub(crate) mod text;
