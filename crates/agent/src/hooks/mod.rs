//! The user's hooks in a turn: running them, and the form in which they see requests and answers.

mod model_form;

use std::path::PathBuf;

use longhaul_conversation::Timestamp;
use longhaul_hooks::{EventName, HookContext, HookEnvironment, HookEvent, HookOutcome, Hooks, run_hooks};
use tokio_util::sync::CancellationToken;

use crate::event::Event;

pub(crate) use model_form::{
    apply_request, choose_tools, decode_response, encode_request, encode_response, rewrite, text_of,
};

/// The user's commands that take part in turns, and the environment they run in.
#[derive(Clone, Copy, Debug)]
pub struct HookPoints<'a> {
    /// The commands.
    pub hooks: &'a Hooks,
    /// Their environment.
    pub environment: &'a HookEnvironment,
}

/// Runs hooks on behalf of one session.
pub(crate) struct HookRunner<'a> {
    pub(crate) points: HookPoints<'a>,
    pub(crate) session_id: String,
    pub(crate) transcript_path: PathBuf,
    pub(crate) cwd: PathBuf,
    pub(crate) events: &'a (dyn Fn(Event) + Send + Sync),
    pub(crate) now: &'a (dyn Fn() -> Timestamp + Send + Sync),
}

impl HookRunner<'_> {
    /// `true` if any hook is configured for an event.
    pub(crate) fn has(&self, event: EventName) -> bool {
        self.points.hooks.has(event)
    }

    /// Runs the hooks of an event.
    pub(crate) async fn run(&self, event: HookEvent, cancel: &CancellationToken) -> HookOutcome {
        let occasion = HookContext {
            session_id: self.session_id.clone(),
            transcript_path: self.transcript_path.clone(),
            cwd: self.cwd.clone(),
            timestamp: (self.now)(),
        };
        let HookPoints { hooks, environment } = self.points;
        let outcome = run_hooks(hooks, &event, &occasion, environment, cancel).await;
        for failure in outcome.failures() {
            (self.events)(Event::Warning(failure));
        }
        if let Some(message) = outcome.system_message().filter(|_| !outcome.suppresses_output()) {
            (self.events)(Event::HookMessage(message.to_string()));
        }
        outcome
    }
}
