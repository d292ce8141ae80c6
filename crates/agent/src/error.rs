//! Errors that keep a turn from being carried out at all.

use longhaul_engine::EngineError;
use longhaul_sessions::LogError;

/// An error that keeps a turn from being carried out. Failures of a model or the network are none: they end a turn.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The session could not be recorded. Nothing was sent that is not on the disk.
    #[error("could not save the session")]
    Session(#[source] EngineError),
}

impl From<EngineError> for AgentError {
    fn from(error: EngineError) -> Self {
        Self::Session(error)
    }
}

impl From<LogError> for AgentError {
    fn from(error: LogError) -> Self {
        Self::Session(error.into())
    }
}
