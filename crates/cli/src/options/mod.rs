//! Arguments that several commands share.

mod model;
mod skill_scope;
mod talk;
mod values;
mod work;

pub(crate) use model::ModelOptions;
pub(crate) use skill_scope::SkillScopeArgument;
pub(crate) use talk::{OutputFormat, TalkOptions};
pub(crate) use values::{Summariser, parse_share, parse_tokens};
pub(crate) use work::WorkOptions;
