//! Shortens what tools answer, and keeps the whole.

use longhaul_compaction::{FullOutput, output_file, output_limit, truncate_output};
use longhaul_conversation::ToolCall;
use serde_json::json;

use super::Agent;
use crate::Host;

impl Agent {
    /// What the model reads of an output, and where it was saved if that is not all of it. The tool itself left out so many
    /// bytes, which are in no file.
    pub fn shorten(
        &self,
        call: &ToolCall,
        text: &str,
        left_out: u64,
        host: &Host<'_>,
    ) -> (String, Option<String>) {
        let settings = self.settings.outputs;
        let Some(limit) = output_limit(settings.threshold, self.room(), self.used()) else {
            return (text.to_string(), None);
        };
        // However large the setting, one output never fills the window.
        let limit = limit.min(self.settings.budget.outputs.capped_to(self.room()).characters);
        let file = output_file(&self.session_id(), &call.name, &call.id, text);
        let place = host.files.shown_as(&file);
        let full = match left_out {
            0 => FullOutput::SavedAs(&place),
            _ => FullOutput::PartSavedAs { file: &place, left_out },
        };
        let Some(shortened) = truncate_output(text, limit, settings.mode, full) else {
            return (text.to_string(), None);
        };
        let saved = match host.files.save(&file, &shortened.full) {
            Ok(_) => Some((shortened.text, place)),
            Err(error) => {
                host.warn(format!("the whole output of {} could not be saved: {error}", call.name));
                None
            }
        };
        let (shown, saved_as) = match saved {
            Some((shown, place)) => (shown, Some(place)),
            None => {
                let shortened = truncate_output(text, limit, settings.mode, FullOutput::NotSaved);
                (shortened.map_or_else(|| text.to_string(), |shortened| shortened.text), None)
            }
        };
        let record = json!({
            "event": "tool_output_truncated",
            "at": (host.now)().to_string(),
            "tool": call.name,
            "original_length": text.encode_utf16().count(),
            "truncated_length": shown.encode_utf16().count(),
            "threshold": limit,
        });
        self.write_telemetry(&[record], host);
        (shown, saved_as)
    }
}
