//! Background sub-agents of a turn: they work while the agent that started them continues, and report when done.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use futures_util::stream::{FuturesUnordered, StreamExt};
use longhaul_compaction::HostJob;
use longhaul_conversation::CallId;
use longhaul_tools::BoxFuture;
use tokio_util::sync::CancellationToken;

use super::task::{SubagentResult, SubagentTask};
use crate::deps::AgentDeps;

/// The sub-agents that an agent started in the background of this turn. Clones share one list.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackgroundAgents(Arc<Mutex<Members>>);

#[derive(Debug, Default)]
struct Members {
    /// Tasks that have yet to begin.
    waiting: Vec<SubagentTask>,
    /// Sub-agents that have yet to report.
    out: Vec<HostJob>,
    results: Vec<BackgroundResult>,
}

/// The result of a sub-agent in the background.
#[derive(Debug)]
pub(crate) struct BackgroundResult {
    pub(crate) call: CallId,
    pub(crate) job: HostJob,
    pub(crate) result: SubagentResult,
}

impl BackgroundAgents {
    /// Starts a sub-agent, which begins as soon as the agent waits for anything.
    pub(crate) fn send(&self, task: SubagentTask) {
        let mut members = self.lock();
        members.out.push(task.job());
        members.waiting.push(task);
    }

    /// The sub-agents that have yet to report.
    pub(crate) fn jobs(&self) -> Vec<HostJob> {
        self.lock().out.clone()
    }

    /// Carries out a turn, and beside it the sub-agents that it starts. Those that still work when it is over are stopped.
    pub(crate) async fn beside<T>(
        &self,
        turn: impl Future<Output = T>,
        deps: &AgentDeps<'_>,
        cancel: &CancellationToken,
    ) -> T {
        let own = cancel.child_token();
        let mut turn = pin!(turn);
        let mut running: FuturesUnordered<BoxFuture<'_, BackgroundResult>> = FuturesUnordered::new();
        let end = poll_fn(|context| {
            loop {
                if let Poll::Ready(end) = turn.as_mut().poll(context) {
                    return Poll::Ready(end);
                }
                for task in self.take_waiting() {
                    running.push(run(task, deps, &own));
                }
                match running.poll_next_unpin(context) {
                    // The turn may have waited for just this.
                    Poll::Ready(Some(result)) => self.keep(result),
                    Poll::Ready(None) | Poll::Pending => return Poll::Pending,
                }
            }
        })
        .await;
        own.cancel();
        while let Some(result) = running.next().await {
            self.keep(result);
        }
        for task in self.take_waiting() {
            let (call, job) = (task.call().clone(), task.job());
            self.keep(BackgroundResult { call, job, result: task.give_up() });
        }
        end
    }

    /// `true` while a sub-agent works, or has a result that nobody took.
    pub(crate) fn is_busy(&self) -> bool {
        let members = self.lock();
        !members.out.is_empty() || !members.results.is_empty()
    }

    /// Waits for a result. Only [`Self::beside`] wakes whoever waits.
    pub(crate) async fn wait(&self) {
        poll_fn(|_| if self.lock().results.is_empty() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    fn take_waiting(&self) -> Vec<SubagentTask> {
        std::mem::take(&mut self.lock().waiting)
    }

    pub(crate) fn take_results(&self) -> Vec<BackgroundResult> {
        std::mem::take(&mut self.lock().results)
    }

    fn keep(&self, result: BackgroundResult) {
        let mut members = self.lock();
        members.out.retain(|job| *job != result.job);
        members.results.push(result);
    }

    fn lock(&self) -> MutexGuard<'_, Members> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn run<'a>(
    task: SubagentTask,
    deps: &'a AgentDeps<'a>,
    cancel: &'a CancellationToken,
) -> BoxFuture<'a, BackgroundResult> {
    let (call, job) = (task.call().clone(), task.job());
    Box::pin(async move { BackgroundResult { call, job, result: task.run(deps, cancel).await } })
}
