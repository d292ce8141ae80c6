//! The commands, one file each.

pub(crate) mod agents;
pub(crate) mod archive;
pub(crate) mod completions;
pub(crate) mod compress;
pub(crate) mod demo;
pub(crate) mod directives;
pub(crate) mod doctor;
pub(crate) mod eval;
pub(crate) mod guard;
pub(crate) mod inspect;
pub(crate) mod install;
pub(crate) mod interactive;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod memory;
pub(crate) mod models;
pub(crate) mod policy;
pub(crate) mod purge;
pub(crate) mod recall;
pub(crate) mod report;
pub(crate) mod sessions;
pub(crate) mod skills;
pub(crate) mod talk;
pub(crate) mod trust;
pub(crate) mod usage;
pub(crate) mod web;
