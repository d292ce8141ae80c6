//! Whole turns against scripted models, each in a folder of its own.

mod ahead_tests;
mod asking_tests;
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
mod small_window_tests;
mod subagent_tests;
mod tool_tests;
mod trial;

use std::path::Path;

use longhaul_conversation::TokenCount;
use longhaul_formats::FragmentContent;

use self::trial::estimate;
use super::ask_model::calibrate;
use super::*;
use crate::prompt::is_session_context;
use crate::{Agent, Settings};
