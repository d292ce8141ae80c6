//! The cause of a compaction, in the one enum that planner, engine and hooks share.

use serde::Serialize;

/// The cause of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Trigger {
    /// The size of the request: nobody asked for it.
    #[default]
    Automatic,
    /// The user, whatever the size of the request.
    Forced,
}
