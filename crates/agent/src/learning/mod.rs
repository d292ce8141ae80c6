//! Learning from sessions: notes and a summary of one, and an agent that extracts skills and facts from many.

mod extractor;
mod session_notes;
mod session_summary;

pub use extractor::{ExtractorEnd, ExtractorReport, ExtractorTask, FactTargets, ReadSession, run_extractor};
pub use session_notes::{SessionNotes, Validation};
pub use session_summary::summarise_session;
