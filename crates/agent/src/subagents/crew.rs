//! Sub-agents in the background of a turn: they work while the agent that sent them goes on, and report when they are done.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt};
use longhaul_compaction::HostJob;
use longhaul_conversation::{CallId, Origin, Part, Role, ToolCall};
use longhaul_policy::AGENT_TOOL;
use longhaul_tools::{BoxFuture, Outcome};
use tokio_util::sync::CancellationToken;

use super::run::{Errand, Returned};
use crate::turn::Agent;
use crate::{AgentError, Host, TurnEnd};

/// Those that an agent has sent out in this turn. All clones are one crew.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crew(Arc<Mutex<Members>>);

#[derive(Debug, Default)]
struct Members {
    /// Those that have yet to begin.
    waiting: Vec<Errand>,
    /// Those that have yet to report.
    out: Vec<HostJob>,
    reports: Vec<Report>,
}

/// What comes back from one of them.
#[derive(Debug)]
struct Report {
    call: CallId,
    job: HostJob,
    returned: Returned,
}

impl Crew {
    /// Sends one out, which begins as soon as the agent waits for anything.
    pub(crate) fn send(&self, errand: Errand) {
        let mut members = self.lock();
        members.out.push(errand.job());
        members.waiting.push(errand);
    }

    /// Those that have yet to report.
    pub(crate) fn jobs(&self) -> Vec<HostJob> {
        self.lock().out.clone()
    }

    /// Carries out a turn, and beside it what it sends out. Whatever is still out when the turn is over is stopped.
    pub(crate) async fn beside<T>(
        &self,
        turn: impl Future<Output = T>,
        host: &Host<'_>,
        cancel: &CancellationToken,
    ) -> T {
        let own = cancel.child_token();
        let mut turn = pin!(turn);
        let mut running: FuturesUnordered<BoxFuture<'_, Report>> = FuturesUnordered::new();
        let end = poll_fn(|context| {
            loop {
                if let Poll::Ready(end) = turn.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                for errand in self.take_waiting() {
                    running.push(run(errand, host, &own));
                }
                match running.poll_next_unpin(context) {
                    // The turn may have waited for just this.
                    Poll::Ready(Some(report)) => self.take_in(report),
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        own.cancel();
        while let Some(report) = running.next().await {
            self.take_in(report);
        }
        for errand in self.take_waiting() {
            let (call, job) = (errand.call().clone(), errand.job());
            self.take_in(Report { call, job, returned: errand.give_up() });
        }
        end
    }

    /// Whether somebody is out, or has come back unheard.
    pub(crate) fn is_out(&self) -> bool {
        let members = self.lock();
        !members.out.is_empty() || !members.reports.is_empty()
    }

    /// Waits until somebody has reported. Nothing else wakes who waits than that the turn is carried out beside the crew.
    async fn wait(&self) {
        poll_fn(|_| if self.lock().reports.is_empty() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    fn take_waiting(&self) -> Vec<Errand> {
        std::mem::take(&mut self.lock().waiting)
    }

    fn take_reports(&self) -> Vec<Report> {
        std::mem::take(&mut self.lock().reports)
    }

    fn take_in(&self, report: Report) {
        let mut members = self.lock();
        members.out.retain(|job| *job != report.job);
        members.reports.push(report);
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run<'a>(errand: Errand, host: &'a Host<'a>, cancel: &'a CancellationToken) -> BoxFuture<'a, Report> {
    let (call, job) = (errand.call().clone(), errand.job());
    Box::pin(async move { Report { call, job, returned: errand.run(host, cancel).await } })
}

impl Agent {
    /// Waits for somebody who is out to report; nothing where it is cancelled before.
    pub(crate) async fn wait_for_crew(&self, cancel: &CancellationToken) -> Option<()> {
        cancel.run_until_cancelled(self.crew.wait()).await
    }

    /// Records what those in the background have reported since; tells the end of the turn where one of them brought it.
    pub(crate) fn hear_crew(&mut self, host: &Host<'_>) -> Result<Option<TurnEnd>, AgentError> {
        let reports = self.crew.take_reports();
        if reports.is_empty() {
            return Ok(None);
        }
        let mut parts = Vec::new();
        for Report { call, job, returned } in reports {
            let call = ToolCall::new(call, AGENT_TOOL);
            let (text, _) =
                self.shorten(&call, returned.answer.outcome.text(), returned.answer.left_out, host);
            let status = match returned.answer.outcome {
                Outcome::Succeeded(_) => "completed",
                Outcome::Failed(_) => "failed",
                Outcome::Cancelled(_) => "stopped",
            };
            // No result ends the block it stands in.
            let text = text.replace("</subagent_result", "<\u{2215}subagent_result");
            let name = job.name;
            let text =
                format!("<subagent_result name=\"{name}\" status=\"{status}\">\n{text}\n</subagent_result>");
            parts.push(Part::text(Origin::Tool, text));
            self.take_over(returned.aside, host);
        }
        self.append(&host.message(Role::User, parts), host)?;
        Ok(self.ending.clone())
    }
}
