//! Drives `longhaul -p` as a user would, against servers that answer as providers do.

#[cfg(unix)]
mod aids;
mod answers;
#[cfg(unix)]
mod attachments;
#[cfg(unix)]
mod env_files;
mod failures;
mod keeping;
mod learning;
mod limits;
#[cfg(unix)]
mod memory;
#[cfg(unix)]
mod policy;
mod recording;
mod restricted;
mod resuming;
mod room;
mod secrets;
mod secure;
#[cfg(unix)]
mod servers;
mod stopping;
mod subagents;
mod support;
#[cfg(unix)]
mod tools;
mod trust;
