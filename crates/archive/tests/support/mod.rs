//! Helpers that the tests share.
#![allow(dead_code, reason = "each test uses a part")]

pub(crate) mod place;
#[cfg(all(unix, feature = "postgres"))]
pub(crate) mod server;
