//! The interactive agent, driven through a terminal as a person would.
#![cfg(unix)]

mod commands;
mod conversation;
mod endings;
mod skills;
mod support;
