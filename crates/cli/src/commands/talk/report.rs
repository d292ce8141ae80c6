//! Reports a turn as it runs: the answer on standard output, everything else on standard error.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use longhaul_agent::{Event, Spending, Statistics, TurnEnd};
use longhaul_app::failure::hint_for;
use longhaul_app::models::ChosenModel;
use longhaul_app::sessions::OpenSession;
use longhaul_conversation::{Consumption, FinishReason, ModelError, Usage};
use longhaul_engine::Event as Compacting;
use longhaul_sessions::load_metadata;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{event_lines, json};
use crate::options::OutputFormat;
use crate::output::{Color, Screen, escape_json, note, print_aside, thousands, visible, visible_text};

/// Reports a turn in one of three formats.
#[derive(Debug)]
pub(super) struct Reporter {
    format: OutputFormat,
    color: Color,
    /// True if the answer is shown on a terminal, so that control characters must be made visible.
    on_terminal: bool,
    record: Mutex<TurnRecord>,
}

/// The turn so far.
#[derive(Debug, Default)]
struct TurnRecord {
    session: Value,
    file: Value,
    provider: Value,
    model: Value,
    /// The model that was chosen for the prompt, if one was.
    routed: Option<String>,
    text: String,
    /// The tokens of the conversation's model, every request that was sent included.
    consumed: Consumption,
    /// The tokens of sub-agents, by their names.
    delegated: BTreeMap<String, Consumption>,
    steps: u32,
    tool_calls: Vec<Value>,
    statistics: Value,
    /// Small questions beside the conversation.
    asides: Value,
    /// The routed models, with the reasons.
    routing: Vec<Value>,
    compactions: Vec<Value>,
    /// The cost of compactions, in dollars.
    compaction_cost: f64,
    overflow: Value,
    is_taken_back: bool,
    warnings: Vec<String>,
    is_concluded: bool,
    /// The error after which nothing more can be printed.
    broken: Option<io::Error>,
    cancel: Option<CancellationToken>,
}

impl Reporter {
    pub(super) fn new(format: OutputFormat, color: Color) -> Self {
        let on_terminal = io::stdout().is_terminal();
        Self { format, color, on_terminal, record: Mutex::default() }
    }

    /// When colours are used.
    pub(super) fn color(&self) -> Color {
        self.color
    }

    /// The end of a hint after a request that was too long: what became of the prompt.
    pub(super) fn after_refusal(&self) -> String {
        let record = self.record();
        let metadata = record.file.as_str().and_then(|file| load_metadata(Path::new(file)).ok().flatten());
        match metadata.filter(|known| known.has_resumable_content).map(|known| visible(&known.id)) {
            Some(session) if record.is_taken_back => {
                format!("; the message was taken back, and --resume {session} continues without it")
            }
            Some(session) => format!("; what was done is kept in session {session}"),
            None => String::new(),
        }
    }

    /// The hint for a failure; says whether a partial answer is kept.
    pub(super) fn hint(&self, error: &ModelError) -> String {
        self.record().hint(error)
    }

    /// Cancels this once the output has no reader.
    pub(super) fn stop_with(&self, cancel: &CancellationToken) {
        self.record().cancel = Some(cancel.clone());
    }

    /// A note on standard error.
    pub(super) fn note(&self, text: &str) {
        note(text, self.color);
    }

    /// A warning on standard error, and in the JSON.
    pub(super) fn warn(&self, text: &str) {
        let label = Screen::of_stderr(self.color).warning("warning:");
        print_aside(&format!("{label} {}\n", visible(text)));
        let mut record = self.record();
        record.warnings.push(text.to_string());
        self.line(&mut record, &json!({"type": "warning", "message": text}));
    }

    /// The session and the model are known.
    pub(super) fn begin(&self, opened: &OpenSession, chosen: &ChosenModel) -> io::Result<()> {
        let mut record = self.record();
        record.session = opened.id.as_str().into();
        record.file = opened.log.path().display().to_string().into();
        record.provider = chosen.provider().into();
        record.model = chosen.name.as_str().into();
        let line = json!({
            "type": "init",
            "schema": 1,
            "session_id": record.session,
            "file": record.file,
            "provider": record.provider,
            "model": record.model,
            "window": chosen.window,
        });
        self.line(&mut record, &line);
        record.broken.take().map_or(Ok(()), Err)
    }

    /// One thing happened.
    pub(super) fn observe(&self, event: Event) {
        match event {
            Event::Warning(text) => return self.warn(&text),
            Event::Compaction(event) => return self.hear_compaction(&event),
            Event::Subagent { name, event, .. } => return self.hear_subagent(&name, &event),
            _ => {}
        }
        let mut record = self.record();
        match event {
            Event::TextDelta(text) => {
                if self.format == OutputFormat::Text {
                    match self.on_terminal {
                        true => record.print(&visible_text(&text)),
                        false => record.print(&text),
                    }
                }
                self.line(&mut record, &json!({"type": "text", "text": text}));
                record.text.push_str(&text);
            }
            Event::ThoughtDelta(text) => self.line(&mut record, &json!({"type": "thought", "text": text})),
            Event::Overflow(overflow) => {
                record.overflow = json::overflow(&overflow);
                let line = json::typed("overflow", record.overflow.clone());
                self.line(&mut record, &line);
            }
            Event::PromptTakenBack => {
                record.is_taken_back = true;
                self.line(&mut record, &json!({"type": "prompt_taken_back"}));
            }
            Event::AskedAgain => {
                self.note("the request was too long for the model; retrying with less");
                self.line(&mut record, &json!({"type": "asked_again"}));
            }
            Event::Usage(usage) => self.line(&mut record, &json::typed("usage", json!(usage))),
            Event::Spent { on: Spending::Answer, consumed } => {
                record.consumed = record.consumed + consumed;
                self.line(&mut record, &json::spent(&consumed));
            }
            // These are told all together at the end.
            Event::Spent { on: Spending::SideCall { .. }, .. } => {}
            Event::ToolBegan { call, preview } => {
                self.note(&event_lines::beginning(&call, &preview));
                self.line(&mut record, &json::tool_call(&call));
            }
            Event::ToolEnded(end) => {
                if let Some(text) = event_lines::ending(&end) {
                    self.note(&text);
                }
                let line = json::tool_result(&end);
                self.line(&mut record, &line);
                record.tool_calls.push(line);
            }
            Event::Routed { model, reason } => {
                self.note(&format!("routed to {model}: {reason}"));
                let line = json!({"model": model, "reason": reason});
                self.line(&mut record, &json::typed("routed", line.clone()));
                record.routing.push(line);
                record.routed = Some(model);
            }
            Event::Looping { detail } => {
                self.note(&format!("the model is looping: {detail}"));
                self.line(&mut record, &json!({"type": "loop", "detail": detail}));
            }
            Event::Memory { files, why } => {
                self.note(&event_lines::memory(&files, why));
                let line = json::memory(&files, why);
                self.line(&mut record, &line);
            }
            Event::Instructions(sources) => {
                if let Some(text) = event_lines::instructions(&sources) {
                    self.note(&text);
                }
                let sources = json::instructions(&sources);
                // It is told right behind the compaction that it belongs to.
                if let Some(compaction) = record.compactions.last_mut() {
                    compaction["instructions"] = sources.clone();
                }
                self.line(&mut record, &json!({"type": "instructions", "sources": sources}));
            }
            Event::HookMessage(text) => {
                self.note(&text);
                self.line(&mut record, &json!({"type": "hook", "message": text}));
            }
            Event::StepBegan { step } => {
                record.steps = step;
                // What was said before tools ran is a paragraph of its own.
                if step > 1 && !record.text.is_empty() && !record.text.ends_with('\n') {
                    record.text.push('\n');
                    if self.format == OutputFormat::Text {
                        record.print("\n");
                    }
                }
                self.line(&mut record, &json!({"type": "step", "step": step}));
            }
            Event::ToolProgress { .. } | Event::Ended(_) => {}
            // These were observed above.
            Event::Warning(_) | Event::Compaction(_) | Event::Subagent { .. } => {}
        }
    }

    /// An event of a sub-agent; `name` is its path, from the one that the conversation started.
    fn hear_subagent(&self, name: &str, event: &Event) {
        match event {
            Event::Subagent { name: inner, event, .. } => {
                return self.hear_subagent(&format!("{name}/{inner}"), event);
            }
            Event::Warning(text) => return self.warn(&format!("{name}: {text}")),
            Event::ToolBegan { call, preview } => {
                self.note(&format!("{name}: {}", event_lines::beginning(call, preview)));
            }
            Event::ToolEnded(end) => {
                if let Some(text) = event_lines::ending(end) {
                    self.note(&format!("{name}: {text}"));
                }
            }
            _ => {}
        }
        let mut record = self.record();
        if let Event::Spent { on: Spending::Answer, consumed } = event {
            let own = name.rsplit('/').next().unwrap_or(name);
            let sum = record.delegated.entry(own.to_string()).or_default();
            *sum = *sum + *consumed;
        }
        if let Event::Compaction(event) = event {
            record.compaction_cost += cost_of_compaction(event);
        }
        if let Some(told) = json::in_subagent(event) {
            self.line(&mut record, &json!({"type": "subagent", "name": name, "event": told}));
        }
    }

    fn hear_compaction(&self, event: &Compacting) {
        if let Some(text) = in_words(event) {
            self.note(&text);
        }
        let mut record = self.record();
        let told = json::compaction(event);
        record.compaction_cost += cost_of_compaction(event);
        if matches!(
            event,
            Compacting::Applied { .. }
                | Compacting::Masked { .. }
                | Compacting::Refused { .. }
                | Compacting::Cancelled { .. }
        ) {
            record.compactions.push(told.clone());
        }
        self.line(&mut record, &json::typed("compaction", told));
    }

    /// Takes the statistics of the turn, and the calls beside it.
    pub(super) fn count(&self, statistics: &Statistics, asides: Value) {
        let mut record = self.record();
        (record.statistics, record.asides) = (json::statistics(statistics), asides);
    }

    /// The turn is over. `chosen` answered; `cost_of` tells what usage costs, a sub-agent's or that of the conversation.
    pub(super) fn conclude(
        &self,
        end: &TurnEnd,
        chosen: &ChosenModel,
        cost_of: impl Fn(Option<&str>, &Usage) -> Option<f64>,
        took: Duration,
    ) -> io::Result<()> {
        if *end == TurnEnd::Finished(FinishReason::Length) {
            self.warn("the answer was cut off at the model's output limit");
        }
        let mut record = self.record();
        if self.format == OutputFormat::Text {
            let is_open = !record.text.is_empty() && !record.text.ends_with('\n');
            record.print(if is_open { "\n" } else { "" });
        } else {
            let cost = record.cost(cost_of);
            (record.provider, record.model) = (chosen.provider().into(), chosen.name.as_str().into());
            let mut result = self.result(&record, end_word(end), took);
            result["finish_reason"] = json::finish_reason(end);
            result["cost"] = json!({"answer": cost, "compactions": record.compaction_cost});
            if let TurnEnd::Failed(error) = end {
                result["error"] = json!({"message": error.to_string(), "hint": record.hint(error)});
            }
            self.print_result(&mut record, result);
        }
        record.is_concluded = true;
        record.broken.take().map_or(Ok(()), Err)
    }

    /// The model that was chosen for the prompt, by the name that sessions record, if one was.
    pub(super) fn routed(&self) -> Option<String> {
        self.record().routed.clone()
    }

    /// Nothing could begin, or the session could not be recorded.
    pub(super) fn conclude_failed(&self, error: &anyhow::Error) {
        let mut record = self.record();
        if record.is_concluded {
            return;
        }
        if self.format == OutputFormat::Text {
            // What has arrived is a line of its own.
            let is_open = !record.text.is_empty() && !record.text.ends_with('\n');
            return record.print(if is_open { "\n" } else { "" });
        }
        let mut result = self.result(&record, "failed", Duration::ZERO);
        result["error"] = json!({"message": format!("{error:#}"), "hint": hint_for(error)});
        self.print_result(&mut record, result);
        record.is_concluded = true;
    }

    fn result(&self, record: &TurnRecord, status: &str, took: Duration) -> Value {
        json!({
            "schema": 1,
            "status": status,
            "session_id": record.session,
            "file": record.file,
            "provider": record.provider,
            "model": record.model,
            "finish_reason": null,
            "text": record.text,
            "usage": record.all_consumed().usage,
            "requests": record.all_consumed().requests,
            "estimated": json::estimated(&record.all_consumed()),
            "steps": record.steps,
            "tool_calls": record.tool_calls,
            "statistics": record.statistics,
            "asides": record.asides,
            "routing": record.routing,
            "cost": {"answer": null, "compactions": 0.0},
            "compactions": record.compactions,
            "overflow": record.overflow,
            "error": null,
            "warnings": record.warnings,
            "milliseconds": took.as_millis() as u64,
        })
    }

    fn print_result(&self, record: &mut TurnRecord, result: Value) {
        match self.format {
            OutputFormat::Text => {}
            OutputFormat::Json => {
                let text = serde_json::to_string_pretty(&result).expect("JSON values can be written");
                record.print(&(escape_json(&text) + "\n"));
            }
            OutputFormat::StreamJson => self.line(record, &json::typed("result", result)),
        }
    }

    /// A line of the stream, if there is one.
    fn line(&self, record: &mut TurnRecord, value: &Value) {
        if self.format == OutputFormat::StreamJson {
            record.print(&(escape_json(&value.to_string()) + "\n"));
        }
    }

    fn record(&self) -> MutexGuard<'_, TurnRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TurnRecord {
    fn hint(&self, error: &ModelError) -> String {
        let kept = if self.text.is_empty() { "" } else { "; what arrived is kept in the session" };
        format!("{}{kept}", error.hint())
    }

    /// The tokens of all models.
    fn all_consumed(&self) -> Consumption {
        self.delegated.values().fold(self.consumed, |sum, consumed| sum + *consumed)
    }

    /// The cost of all models, if every price is known.
    fn cost(&self, cost_of: impl Fn(Option<&str>, &Usage) -> Option<f64>) -> Option<f64> {
        let own = cost_of(None, &self.consumed.usage_with_estimates()?)?;
        let delegated = self.delegated.iter().map(|(name, consumed)| {
            cost_of(Some(name), &consumed.usage_with_estimates().unwrap_or_default())
        });
        Some(own + delegated.sum::<Option<f64>>()?)
    }

    /// Prints at once; the first failure is kept and ends the turn.
    fn print(&mut self, text: &str) {
        if self.broken.is_some() {
            return;
        }
        let mut out = io::stdout().lock();
        if let Err(error) = out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
            self.broken = Some(error);
            self.cancel.iter().for_each(CancellationToken::cancel);
        }
    }
}

/// The cost of a compaction, in dollars, where this is its last event.
fn cost_of_compaction(event: &Compacting) -> f64 {
    match event {
        Compacting::Applied { spend, .. }
        | Compacting::Refused { spend, .. }
        | Compacting::Cancelled { spend, .. }
        | Compacting::DraftWritten { spend, .. }
        | Compacting::DraftDropped { spend, .. } => spend.money,
        _ => 0.0,
    }
}

/// The stable word for how a turn ended.
fn end_word(end: &TurnEnd) -> &'static str {
    match end {
        TurnEnd::Finished(_) => "finished",
        TurnEnd::Overflow(_) => "overflow",
        TurnEnd::Failed(_) => "failed",
        TurnEnd::Cancelled => "cancelled",
        TurnEnd::Stopped { .. } => "stopped",
        TurnEnd::Blocked { .. } => "blocked",
        TurnEnd::Looped { .. } => "looped",
        TurnEnd::LimitReached { .. } => "limit_reached",
    }
}

/// The line for an event of a compaction, if it is worth one.
fn in_words(event: &Compacting) -> Option<String> {
    Some(match event {
        Compacting::Started { before, .. } => {
            format!("compacting: the conversation has about {} tokens", thousands(before.0))
        }
        Compacting::Masked { outputs, before, after, .. } => format!(
            "masked {} old outputs: {} → {} tokens",
            thousands(*outputs as u64),
            thousands(before.0),
            thousands(after.0)
        ),
        Compacting::Applied { before, after, spend, .. } => {
            let cost = if spend.money > 0.0 { format!(", ${:.4}", spend.money) } else { String::new() };
            format!("compacted: {} → {} tokens{cost}", thousands(before.0), thousands(after.0))
        }
        Compacting::Refused { reason, .. } => format!("not compacted: {reason}"),
        // What went less well than it should is told by a warning when all is done.
        _ => return None,
    })
}
