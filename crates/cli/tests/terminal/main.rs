//! The interactive agent, driven through a terminal as a person would.
#![cfg(unix)]

mod approvals;
mod choosing;
mod commands;
mod conversation;
mod demo;
mod endings;
mod learning;
mod recording;
mod skills;
mod starting;
mod support;
mod trust;
