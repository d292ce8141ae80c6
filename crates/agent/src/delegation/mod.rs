//! Delegation: runs sub-agents on tasks that another agent hands over, in its place or in the background of its turn.

mod background;
mod on_behalf;
mod task;

pub(crate) use background::Crew;
pub(crate) use task::{Aside, Desk, Ended, Errand, run_alone};
