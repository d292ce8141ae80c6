//! Longhaul's context engine.

mod sentences;

pub use sentences::{Unit, UnitKind, split_units};
