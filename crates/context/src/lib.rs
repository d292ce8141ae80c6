//! Longhaul's context engine.

mod cut;
mod groups;
mod json_size;
mod rough;
#[cfg(test)]
mod shapes;

pub use cut::{Cut, CutReason, CutSettings, InvalidFraction, plan_cut, reference_split};
pub use groups::complete_groups;
