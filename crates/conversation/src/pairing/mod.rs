//! Pairing, the law that every provider enforces: each call is answered, once, right after it was made.
//!
//! One check serves every wire format, and it is as strict as the strictest of them. Adjacent messages of one role
//! count as one turn, as encoders merge them.

mod analysis;
mod check;
mod fault;
mod repair;
mod shape;
mod sound;

pub use check::{find_faults, find_faults_in};
pub use fault::{FaultKind, PairingFault, RequestForm};
pub use repair::{Repair, Repaired, repair};
pub use shape::MessageShape;
