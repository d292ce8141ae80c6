//! Drives `longhaul -p` as a user would, against servers that answer as providers do.

mod answers;
mod failures;
mod resuming;
mod room;
mod stopping;
mod support;
#[cfg(unix)]
mod tools;
