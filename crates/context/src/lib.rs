//! Longhaul's context engine.

mod asks;
mod pins;
mod sentences;
mod typed;
mod words;

pub use asks::{Ask, AskState, Asks, Evidence, EvidenceKind};
pub use pins::{Pin, PinId, Pins, Retirement};
pub use sentences::{Unit, UnitKind, split_units};
