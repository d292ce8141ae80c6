//! The state of one turn: counters, the tools it declared, the chosen model, what runs, and how it is about to end.

use longhaul_compaction::HostJob;
use longhaul_compaction::LoopDetector;

use super::loop_check::JudgeSchedule;
use super::routing::ChosenRoute;
use super::toolbox::DeclaredTools;
use crate::approval::ApprovalLock;
use crate::delegation::BackgroundAgents;
use crate::event::TurnEnd;
use crate::models::ModelProfile;
use crate::settings::Settings;

/// The state of the turn under way; between two turns, what the last one left.
#[derive(Debug, Default)]
pub(crate) struct TurnState {
    /// The prompt, as the user typed it.
    pub(super) prompt: String,
    /// Steps taken so far.
    pub(super) steps: u32,
    /// The tools declared to the model.
    pub(super) tools: DeclaredTools,
    /// The model that was chosen for the prompt, where that is not the usual one.
    pub(super) route: Option<ChosenRoute>,
    /// Finds repeated calls and words.
    pub(super) loops: LoopDetector,
    /// The schedule of judges who look for a loop.
    pub(super) judges: JudgeSchedule,
    /// Warnings about a loop that the model was given.
    pub(super) loop_warnings: u32,
    /// The sub-agents that a step waits for.
    pub(super) running: Vec<HostJob>,
    /// The sub-agents in the background.
    pub(super) background: BackgroundAgents,
    /// The approval lock, which the sub-agents of this turn share.
    pub(super) approvals: ApprovalLock,
    /// The end of the turn after the call that runs now, where that call ends it.
    pub(super) ending: Option<TurnEnd>,
    /// The result that a sub-agent hands over.
    result: Option<String>,
}

impl TurnState {
    /// Begins to count anew. The choice of a model and a result stay until they are replaced.
    pub(super) fn restart(&mut self) {
        (self.loops, self.judges) = (LoopDetector::default(), JudgeSchedule::default());
        (self.steps, self.loop_warnings, self.ending) = (0, 0, None);
    }

    /// The profile of the model that answers.
    pub(super) fn model<'s>(&'s self, settings: &'s Settings) -> &'s ModelProfile {
        self.route.as_ref().map_or(&settings.model, |route| &route.profile)
    }

    /// The sub-agents that run.
    pub(super) fn jobs(&self) -> Vec<HostJob> {
        self.running.iter().cloned().chain(self.background.jobs()).collect()
    }

    /// The approval lock.
    pub(crate) fn approvals(&self) -> &ApprovalLock {
        &self.approvals
    }

    /// Ends the turn after the call that runs now.
    pub(crate) fn end_with(&mut self, end: TurnEnd) {
        self.ending = Some(end);
    }

    /// Keeps the result that a sub-agent hands over.
    pub(super) fn set_result(&mut self, result: String) {
        self.result = Some(result);
    }

    /// `true` once a sub-agent has handed over its result.
    pub(crate) fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Takes the result that a sub-agent handed over.
    pub(crate) fn take_result(&mut self) -> Option<String> {
        self.result.take()
    }
}
