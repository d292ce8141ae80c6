//! The tools that read and change files, called as an agent calls them.

#[path = "../laws/mod.rs"]
mod laws;
mod world;

mod allowed;
mod change;
mod list;
mod outputs;
mod paths;
mod read;
mod read_many;
