//! A local log of what compactions did: JSON lines with figures, never with text of the conversation.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use longhaul_compaction::Status;
use longhaul_conversation::Timestamp;
use longhaul_workspace::create_private_folder;
use serde_json::{Value, json};

use crate::{EngineError, PassOutcome};

/// The records of a pass: one for a compaction that was tried, one for each output that was shortened.
pub fn telemetry_records(outcome: &PassOutcome, at: Timestamp) -> Vec<Value> {
    let PassOutcome { result, account, .. } = outcome;
    let is_tried = matches!(
        result.status,
        Status::Compressed | Status::LastResort | Status::FailedInflated | Status::FailedEmptySummary
    );
    let compression = is_tried.then(|| {
        json!({
            "event": "chat_compression",
            "at": at.to_string(),
            "tokens_before": result.before,
            "tokens_after": result.after,
            "status": result.status,
            "summariser": result.report.summariser,
            "calls": account.spend.calls,
            "tokens_spent": account.spend.tokens,
            "cost": account.spend.money,
            "names": result.report.names,
            "ms": result.report.duration.map(|duration| duration.as_millis() as u64),
        })
    });
    let outputs = account.shortened.iter().map(|output| {
        json!({
            "event": "tool_output_truncated",
            "at": at.to_string(),
            "tool": output.tool,
            "original_length": output.before,
            "truncated_length": output.after,
            "threshold": output.limit,
        })
    });
    compression.into_iter().chain(outputs).collect()
}

/// Puts records at the end of a private file, each on a line of its own.
///
/// # Errors
/// [`EngineError::Telemetry`], with the file and the cause.
pub fn append_telemetry(path: &Path, records: &[Value]) -> Result<(), EngineError> {
    if records.is_empty() {
        return Ok(());
    }
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    let failed = |cause| EngineError::Telemetry { path: path.to_path_buf(), cause };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_private_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    // One write for all lines, so that those of two programs do not mix.
    options.open(path).and_then(|mut file| file.write_all(lines.as_bytes())).map_err(failed)
}
