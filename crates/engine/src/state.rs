//! State of a session's compactions, which bounds the next ones.

use longhaul_compaction::{Rung, Status, Trigger};
use longhaul_conversation::TokenCount;

use crate::latch::{ModelPart, next_latch};
use crate::{Latch, Settings, Spend};

/// State of a session's compactions. A plain value: the owner of the session keeps it, shows it, resets it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// True if the last summary that nobody asked for failed.
    pub latch: Latch,
    /// Number of passes that failed in a row.
    pub failures: u32,
    /// Number of passes that got as far as a summary.
    pub attempts: u64,
    /// Spend on summaries by models.
    pub spend: Spend,
    /// Condition that the next automatic pass waits for.
    pub wait: Wait,
}

/// Condition that the next automatic pass waits for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// For nothing but the threshold.
    #[default]
    Nothing,
    /// For the request to grow by a share of the window.
    Growth {
        /// Size of the request after the last pass.
        since: TokenCount,
    },
    /// For the request not to fit any more: the user undid the last pass.
    Overflow,
}

/// A pass, as far as the next ones depend on it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassEnd {
    pub(crate) status: Status,
    pub(crate) trigger: Trigger,
    /// True if it got as far as a summary.
    pub(crate) has_summarised: bool,
    pub(crate) model: ModelPart,
    /// True if the summary that was used is a model's.
    pub(crate) is_by_model: bool,
    /// True if less was gained than makes a pass worth it, or what was to be counted could not be.
    pub(crate) is_vain: bool,
    pub(crate) after: TokenCount,
    pub(crate) spend: Spend,
}

impl State {
    /// Forgets failures and waits, as when a conversation starts over. What was spent stays spent.
    pub fn reset(&mut self) {
        *self = Self { attempts: self.attempts, spend: self.spend, ..Self::default() };
    }

    /// The state after the user undid a compaction: the next automatic one waits until the request would not fit.
    #[must_use]
    pub(crate) fn after_undo(&self) -> Self {
        Self { wait: Wait::Overflow, ..self.clone() }
    }

    /// True if models may still be asked for summaries.
    pub fn is_broken(&self, settings: &Settings) -> bool {
        self.failures >= settings.failure_limit
    }

    /// Reason for an automatic pass to wait, in words. One without which the request would not fit never waits.
    pub(crate) fn why_wait(
        &self,
        rung: &Rung,
        before: TokenCount,
        window: TokenCount,
        growth: f64,
    ) -> Option<String> {
        if before > window {
            return None;
        }
        match (self.wait, rung) {
            (Wait::Overflow, Rung::Mask(_) | Rung::Compact(_) | Rung::LastResort(_)) => Some(format!(
                "the last compaction was undone, and {before} tokens still fit in the window of {window}"
            )),
            (Wait::Growth { since }, Rung::Compact(_) | Rung::LastResort(_)) => {
                let next = since + TokenCount((window.0 as f64 * growth) as u64);
                (before < next)
                    .then(|| format!("waiting for {next} tokens since the last compaction, now {before}"))
            }
            _ => None,
        }
    }

    /// The state after a pass.
    pub(crate) fn after(&self, pass: &PassEnd, settings: &Settings) -> Self {
        let PassEnd { status, trigger, model, .. } = *pass;
        if status == Status::Cancelled {
            return Self { spend: self.spend.plus(pass.spend), ..self.clone() };
        }
        // What changed nothing and cost nothing is no failure: there was nothing to gain.
        let is_vain = pass.is_vain && (status != Status::Noop || pass.spend.calls > 0);
        let has_failed = model == ModelPart::Failed || is_vain;
        let has_succeeded = pass.is_by_model && status.is_change();
        let wait = match status {
            _ if pass.has_summarised => Wait::Growth { since: pass.after },
            Status::ContentTruncated => Wait::Growth { since: pass.after },
            _ => self.wait,
        };
        Self {
            latch: next_latch(self.latch, settings.caller, trigger, status, model),
            failures: match (has_failed, has_succeeded) {
                (true, _) => self.failures.saturating_add(1),
                (false, true) => 0,
                (false, false) => self.failures,
            },
            attempts: self.attempts.saturating_add(u64::from(pass.has_summarised)),
            spend: self.spend.plus(pass.spend),
            wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(status: Status) -> PassEnd {
        PassEnd {
            status,
            trigger: Trigger::Automatic,
            has_summarised: true,
            model: ModelPart::Fine,
            is_by_model: true,
            is_vain: false,
            after: TokenCount(100),
            spend: Spend { calls: 1, tokens: TokenCount(10), money: 0.5, ..Spend::default() },
        }
    }

    #[track_caller]
    fn check_failures(passes: &[PassEnd], expected: u32) {
        let settings = Settings::default();
        let state = passes.iter().fold(State::default(), |state, pass| state.after(pass, &settings));
        assert_eq!(state.failures, expected);
        assert_eq!(state.is_broken(&settings), expected >= 3);
    }

    #[test]
    fn failures_add_up_until_a_model_succeeds() {
        let good = end(Status::Compressed);
        let failed = PassEnd { model: ModelPart::Failed, is_by_model: false, ..good };
        let vain = PassEnd { is_vain: true, ..end(Status::Noop) };
        let offline = PassEnd { is_by_model: false, ..good };
        check_failures(&[good], 0);
        check_failures(&[failed, vain], 2);
        check_failures(&[failed, failed, good], 0);
        check_failures(&[failed, failed, vain], 3);
        check_failures(&[failed, failed, offline], 2);
        check_failures(&[PassEnd { is_vain: true, ..failed }], 1);
        // Nobody was asked, and nothing was changed.
        check_failures(&[PassEnd { spend: Spend::default(), ..vain }], 0);
    }

    #[test]
    fn of_a_cancelled_pass_only_what_it_spent_counts() {
        let state = State { failures: 2, ..State::default() }.after_undo();
        let pass = end(Status::Cancelled);
        let after = state.after(&pass, &Settings::default());
        assert_eq!(after, State { spend: pass.spend, ..state });
    }

    #[test]
    fn a_reset_forgets_all_but_what_was_spent() {
        let failed = PassEnd { model: ModelPart::Failed, ..end(Status::FailedInflated) };
        let mut state = State::default().after(&failed, &Settings::default());
        assert_eq!((state.latch, state.failures, state.attempts), (Latch::Set, 1, 1));
        state.reset();
        assert_eq!((state.latch, state.failures, state.wait), (Latch::Clear, 0, Wait::Nothing));
        assert_eq!((state.attempts, state.spend.tokens), (1, TokenCount(10)));
    }

    #[track_caller]
    fn check_wait(wait: Wait, rung: &Rung, before: u64, waits: bool) {
        let state = State { wait, ..State::default() };
        let why = state.why_wait(rung, TokenCount(before), TokenCount(1_000), 0.1);
        assert_eq!(why.is_some(), waits, "{wait:?} {before}: {why:?}");
    }

    #[test]
    fn a_pass_waits_for_growth_or_for_need() {
        let compact = Rung::LastResort(longhaul_compaction::Compaction {
            tail_from: 1,
            cut: longhaul_compaction::CutReason::LastGroup,
            snapshot_budget: TokenCount(1),
            tail: TokenCount(1),
            replacements: Vec::new(),
            shortenings: Vec::new(),
        });
        let (mask, growth) = (Rung::Mask(Vec::new()), Wait::Growth { since: TokenCount(500) });
        check_wait(Wait::Nothing, &compact, 900, false);
        check_wait(growth, &compact, 599, true);
        check_wait(growth, &compact, 600, false);
        check_wait(growth, &mask, 510, false);
        check_wait(Wait::Overflow, &compact, 1_000, true);
        check_wait(Wait::Overflow, &mask, 1_000, true);
        check_wait(Wait::Overflow, &compact, 1_001, false);
        check_wait(Wait::Growth { since: TokenCount(990) }, &compact, 1_001, false);
    }
}
