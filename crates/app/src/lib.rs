//! The composition root of Longhaul: what the terminal, a gateway, a server or a page are all made of.
//!
//! It reads the environment, the settings files and the home, and composes the libraries by them: which models can be asked,
//! which folders are trusted, what an agent may use, which session goes on. It prints nothing and asks nobody: what a user
//! should know is a value, and every error comes with its causes and, where there is one, a [hint](failure::hint_for).
//!
//! ```
//! use std::path::Path;
//!
//! use longhaul_app::models::Models;
//! use longhaul_app::settings::Settings;
//! use longhaul_workspace::Environment;
//!
//! # fn main() -> anyhow::Result<()> {
//! // No home and no folder: everything is at its default.
//! let settings = Settings::load(None, Path::new(""), &Environment::default())?.settings;
//! let models = Models::load(&settings, None, std::sync::Arc::new(|_| {}), |_| {})?;
//! assert!(models.choose("no-such-model").is_err());
//! # Ok(())
//! # }
//! ```

#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod agent;
pub mod archive;
pub mod blame;
pub mod clock;
pub mod commands;
pub mod companion;
pub mod compression;
pub mod environment;
pub mod extraction;
pub mod failure;
pub mod found;
pub mod gateway;
pub mod handoff;
pub mod kept_rules;
pub mod mcp;
pub mod memory;
pub mod models;
pub mod network;
pub mod project;
mod project_servers;
pub mod purge;
pub mod recall;
pub mod runtime;
pub mod sessions;
pub mod settings;
pub mod settings_files;
pub mod skills;
pub mod strays;
pub mod team;
pub mod trust;
pub mod usage;
pub mod variables;
pub mod withheld;
pub mod workspace;
