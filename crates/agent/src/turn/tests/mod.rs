//! Whole turns against scripted models, each in a folder of its own.

mod background_tests;
mod basic_tests;
mod helper_tests;
#[cfg(unix)]
mod hook_tests;
mod instruction_tests;
mod long_tests;
mod memory_tests;
mod protected_tests;
mod recording_tests;
mod subagent_tests;
mod tool_tests;
mod trial;

use super::*;
