//! Tools that the agent itself brings: those about the session and the user, the one that activates skills, and the
//! declarations of tools in few words.

mod activate_skill;
mod declarations;
mod own;
mod search_skills;
mod skill_text;

pub use activate_skill::{ActivateSkill, ActiveSkills};
pub(crate) use declarations::{size_of, within_share};
pub(crate) use own::{AskArguments, CompactArguments, CompleteArguments, OwnTool, RecallArguments};
pub use search_skills::SearchSkills;
pub(crate) use skill_text::{FoundActivation, find_activation, render_again, tells_skill};
