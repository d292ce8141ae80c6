//! The tools that read and change files, as an agent calls them.

#[path = "../laws/mod.rs"]
mod laws;
mod world;

mod change;
mod list;
mod paths;
mod read;
mod read_many;
