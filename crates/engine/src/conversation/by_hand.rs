//! Decisions of the user: whether a compaction that is due may run, outputs that are dropped, the model.

use longhaul_compaction::{Input, Plan, PlanOptions, Trigger, plan, prepare, with_output};
use longhaul_conversation::{Body, Message, Ordinal, Origin, Role, ToolResult};
use longhaul_formats::{Entry, EntryKind, Mask, Masking};

use super::Conversation;
use crate::settings::Settings;
use crate::{EngineError, RecordId};

/// The start of the text in the place of an output that the user dropped.
const DROPPED: &str = "[Dropped by the user: ";

impl Conversation {
    /// The plan of the automatic pass that would run now; nothing if none is due.
    pub fn due(&self, options: &PlanOptions, settings: &Settings) -> Option<Plan> {
        let options =
            PlanOptions { trigger: Trigger::Automatic, estimator: self.estimator, ..options.clone() };
        if self.gauge.plan_to_wait(&options).is_some() {
            return None;
        }
        let prepared = prepare(self.transcript.messages(), options.empty);
        let due = plan(&Input { host: &self.host, ..Input::new(&self.tracker, &prepared, &options) });
        let waits =
            self.state.why_wait(&due.rung, due.before, options.budget.window, settings.growth).is_some();
        Some(due).filter(|due| due.rung.is_change() && !waits)
    }

    /// Records the model that the user chose for this session, so that it is resumed with it; `auto` leaves the choice open.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn choose_model(&mut self, name: &str, record_id: RecordId) -> Result<(), EngineError> {
        if self.log.replay().info().chosen_model.as_deref() != Some(name) {
            self.record(EntryKind::ModelChoice(name.to_string()), record_id)?;
        }
        Ok(())
    }

    /// Drops the tool outputs of a message or, if it is one that the user typed, of its whole turn: the model sees a line in
    /// their place. Returns how many were dropped. The log keeps them, and [`Conversation::undo`] brings them back.
    ///
    /// # Errors
    /// [`EngineError::Log`]; then nothing has changed.
    pub fn drop_outputs(&mut self, message: Ordinal, record_id: RecordId) -> Result<usize, EngineError> {
        let mut masks = Vec::new();
        let mut changed = Vec::new();
        for message in meant(self.transcript.messages(), message) {
            let mut dropped = message.clone();
            for part in &mut dropped.parts {
                let Body::Result(result) = &mut part.body else { continue };
                let Some(text) = line_in_place(result) else { continue };
                **result = with_output(result, &text);
                let (call, message) = (result.call.clone(), message.id.clone());
                masks.push(Mask { message, call, file: None, preview: text });
            }
            if dropped != *message {
                changed.push(dropped);
            }
        }
        let count = masks.len();
        if count > 0 {
            let kind = EntryKind::Mask(Masking { masks, changed });
            self.log.record(&Entry { id: record_id.id, at: Some(record_id.at), kind })?;
            let synced = self.log.sync();
            self.rebuild_transcript();
            synced?;
        }
        Ok(count)
    }
}

/// The messages whose outputs are dropped with this one.
fn meant(messages: &[Message], ordinal: Ordinal) -> &[Message] {
    let Some(start) = messages.iter().position(|message| message.ordinal == Some(ordinal)) else {
        return &[];
    };
    let end = match is_typed(&messages[start]) {
        true => {
            messages[start + 1..].iter().position(is_typed).map_or(messages.len(), |next| start + 1 + next)
        }
        false => start + 1,
    };
    &messages[start..end]
}

fn is_typed(message: &Message) -> bool {
    message.role == Role::User && message.parts.iter().any(|part| part.origin == Origin::User)
}

/// The line in the place of an output, if it is shorter.
fn line_in_place(result: &ToolResult) -> Option<String> {
    let whole = result.readable();
    let tool = result.name.as_deref().unwrap_or("a tool");
    let count = whole.chars().count();
    let line = format!("{DROPPED}{count} characters of {tool}. recall_history finds them.]");
    (line.len() < whole.len() && !whole.starts_with(DROPPED)).then_some(line)
}
