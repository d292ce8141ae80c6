//! The interactive agent, driven through a terminal as a person would.
#![cfg(unix)]

mod commands;
mod conversation;
mod demo;
mod endings;
mod learning;
mod skills;
mod support;
mod trust;
