//! The pages, one file each.

pub(crate) mod compactions;
pub(crate) mod context;
pub(crate) mod directives;
pub(crate) mod gateway;
pub(crate) mod inbox;
pub(crate) mod memory;
mod message;
mod opened;
pub(crate) mod search;
pub(crate) mod session;
pub(crate) mod sessions;
mod timeline;

pub(crate) use opened::Opened;
pub(crate) use timeline::messages;
