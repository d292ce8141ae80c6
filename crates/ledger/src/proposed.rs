//! Edits that a model wrote into its answer and nobody has applied yet.

use longhaul_conversation::Ordinal;
use serde::{Deserialize, Serialize};

use crate::entries::FileChange;

/// The edits that the newest message of the model proposes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ProposedEdits {
    pub(super) at: Option<Ordinal>,
    /// By file, as it is named before a block.
    pub(super) edits: Vec<(String, FileChange)>,
}

/// The line that an agent's output begins with where a transcript has no other way to say so.
pub(super) const TOOL_OUTPUT: &str = "[tool output]";
