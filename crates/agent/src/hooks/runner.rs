//! Where the user's hooks take part in a turn.

use std::path::PathBuf;

use longhaul_conversation::Timestamp;
use longhaul_hooks::{Event as HookEvent, EventName, Occasion, Outcome, run_hooks};
use tokio_util::sync::CancellationToken;

use crate::turn::Agent;
use crate::{Event, HookPoints, Host};

/// Runs hooks and hands on what they say to the user.
pub(crate) struct HookRunner<'a> {
    points: HookPoints<'a>,
    session_id: String,
    transcript_path: PathBuf,
    cwd: PathBuf,
    events: &'a (dyn Fn(Event) + Send + Sync),
    now: &'a (dyn Fn() -> Timestamp + Send + Sync),
}

impl Agent {
    /// What runs the user's hooks, if there are any.
    pub(crate) fn hook_runner<'a>(&self, host: &Host<'a>) -> Option<HookRunner<'a>> {
        let points = host.hooks?;
        Some(HookRunner {
            points,
            session_id: self.session_id(),
            transcript_path: self.conversation.log().path().to_path_buf(),
            cwd: self.settings.surroundings.directory.clone(),
            events: host.events,
            now: host.now,
        })
    }

    /// Runs the hooks of an event, if there are any.
    pub(crate) async fn run_hooks(
        &self,
        event: HookEvent,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> Option<Outcome> {
        let runner = self.hook_runner(host)?;
        // What another agent says to a sub-agent is no prompt, and the result of its work is that of a tool.
        let is_of_turns = matches!(event.name(), EventName::BeforeAgent | EventName::AfterAgent);
        if is_of_turns && self.is_subagent() {
            return None;
        }
        if !runner.has(event.name()) {
            return None;
        }
        Some(runner.run(event, cancel).await)
    }
}

impl HookRunner<'_> {
    /// Whether any hook is meant for an event.
    pub(crate) fn has(&self, event: EventName) -> bool {
        self.points.hooks.has(event)
    }

    /// Runs the hooks of an event.
    pub(crate) async fn run(&self, event: HookEvent, cancel: &CancellationToken) -> Outcome {
        let occasion = Occasion {
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
