//! Guards the sessions of other coding agents.
//!
//! An agent that compacts its conversation forgets rules and work. Its hooks call `longhaul guard`: a [`HookCall`] tells what
//! happened, a [`SessionRecord`] what was said and done until then, and [`answer`] brings back what the compaction may have
//! lost, in the form the agent expects. [`loss_report`] tells afterwards what the agent's own summaries had lost.
//!
//! ```
//! use longhaul_companion::{GuardRoom, SessionRecord, guard_texts};
//!
//! let session = concat!(
//!     r#"{"type":"user","uuid":"u1","sessionId":"s","cwd":"/app","timestamp":"2026-01-02T03:04:05Z","#,
//!     r#""message":{"role":"user","content":"Fix the upload. Never push to main."}}"#, "\n",
//! );
//! let record = SessionRecord::read(session.as_bytes())?;
//! let texts = guard_texts(&record, "s.jsonl", GuardRoom::CLAUDE);
//! assert!(texts[0].contains("- [m1] Never push to main."));
//! # Ok::<(), longhaul_companion::GuardError>(())
//! ```

mod answer;
mod handoff;
mod hook;
mod install;
mod loss;
mod record;
mod state;
mod text;

pub use answer::{GuardMemory, answer, take_note};
pub use handoff::{
    Handoff, HandoffChange, HandoffError, HandoffNote, HandoffTarget, UndoneHandoff, apply_handoff,
    handoff_notes, plan_append, plan_handoff, session_place, undo_handoff,
};
pub use hook::{HookCall, HookDialect, HookMoment};
pub use install::{
    AgentPlaces, FileChange, FileOwner, GuardedAgent, InstallError, InstallPlan, InstallScope, InstallState,
    apply_install, install_state, plan_install, plan_uninstall,
};
pub use loss::{CompactionLoss, Fate, Remembered, loss_report};
pub use record::{AgentCompaction, Directive, GuardError, SessionRecord};
pub use text::{GUARD_TAG, GuardRoom, guard_texts};
