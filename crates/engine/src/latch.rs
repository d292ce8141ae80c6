//! Remembers that a summary failed, so that the next automatic pass does not try the same again.

use longhaul_compaction::{Status, Trigger};

use crate::Caller;

/// Latch: set when the last summary that nobody asked for failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Latch {
    /// It did not.
    #[default]
    Clear,
    /// It did: until a pass succeeds, no model is asked unless the user wants it.
    Set,
}

/// Part of the model in a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ModelPart {
    /// It was not asked, or its summary is the one that was used.
    Fine,
    /// Its summary failed, was empty or made the request larger.
    Failed,
}

/// The latch after a pass.
///
/// - A pass that succeeds clears it, unless another summariser had to finish what the model failed at.
/// - A failure of the model sets it, but not where a user forced the pass: a forced failure neither sets nor clears.
/// - A sub-agent never forces, so each of its failures sets it.
/// - Everything else leaves it as it was.
pub(crate) fn next_latch(
    latch: Latch,
    caller: Caller,
    trigger: Trigger,
    status: Status,
    model: ModelPart,
) -> Latch {
    let is_forced = trigger == Trigger::Forced && caller == Caller::Interactive;
    let has_failed = model == ModelPart::Failed || status == Status::FailedInflated;
    match status {
        _ if has_failed && !is_forced => Latch::Set,
        Status::Compressed | Status::LastResort if !has_failed => Latch::Clear,
        _ => latch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Latch::{Clear, Set};
    use ModelPart::{Failed, Fine};
    use Trigger::{Automatic, Forced};

    const ALL: [Status; 10] = [
        Status::Compressed,
        Status::Masked,
        Status::FailedInflated,
        Status::FailedTokenCount,
        Status::FailedEmptySummary,
        Status::Noop,
        Status::ContentTruncated,
        Status::LastResort,
        Status::Cancelled,
        Status::DoesNotFit,
    ];

    #[track_caller]
    fn check(latch: Latch, trigger: Trigger, status: Status, model: ModelPart, expected: Latch) {
        let next = next_latch(latch, Caller::Interactive, trigger, status, model);
        assert_eq!(next, expected, "{latch:?} {trigger:?} {status} {model:?}");
    }

    #[test]
    fn success_clears_it_however_it_came_about() {
        for status in [Status::Compressed, Status::LastResort] {
            for (latch, trigger) in [(Clear, Automatic), (Set, Automatic), (Clear, Forced), (Set, Forced)] {
                check(latch, trigger, status, Fine, Clear);
            }
        }
    }

    #[test]
    fn an_inflated_result_sets_it_unless_it_was_forced() {
        check(Clear, Automatic, Status::FailedInflated, Failed, Set);
        check(Clear, Automatic, Status::FailedInflated, Fine, Set);
        check(Set, Automatic, Status::FailedInflated, Failed, Set);
        check(Clear, Forced, Status::FailedInflated, Failed, Clear);
        check(Set, Forced, Status::FailedInflated, Failed, Set);
    }

    #[test]
    fn an_empty_summary_sets_it_so_that_not_every_turn_pays_for_another() {
        check(Clear, Automatic, Status::FailedEmptySummary, Failed, Set);
        check(Clear, Forced, Status::FailedEmptySummary, Failed, Clear);
        check(Set, Forced, Status::FailedEmptySummary, Failed, Set);
    }

    #[test]
    fn where_another_summariser_finished_it_is_set() {
        for status in [Status::Compressed, Status::LastResort, Status::Noop] {
            check(Clear, Automatic, status, Failed, Set);
            check(Clear, Forced, status, Failed, Clear);
            check(Set, Forced, status, Failed, Set);
        }
    }

    #[test]
    fn everything_else_leaves_it() {
        for status in [
            Status::Masked,
            Status::FailedTokenCount,
            Status::FailedEmptySummary,
            Status::Noop,
            Status::ContentTruncated,
            Status::Cancelled,
            Status::DoesNotFit,
        ] {
            for (latch, trigger) in [(Clear, Automatic), (Set, Automatic), (Clear, Forced), (Set, Forced)] {
                check(latch, trigger, status, Fine, latch);
            }
        }
    }

    #[test]
    fn a_sub_agent_is_latched_by_each_failure_and_freed_by_success() {
        for status in ALL {
            for latch in [Clear, Set] {
                for model in [Fine, Failed] {
                    let agent = next_latch(latch, Caller::Agent, Forced, status, model);
                    let automatic = next_latch(latch, Caller::Interactive, Automatic, status, model);
                    assert_eq!(agent, automatic, "{status}");
                }
            }
        }
        assert_eq!(next_latch(Clear, Caller::Agent, Automatic, Status::FailedInflated, Failed), Set);
        assert_eq!(next_latch(Set, Caller::Agent, Automatic, Status::Compressed, Fine), Clear);
        assert_eq!(next_latch(Set, Caller::Agent, Automatic, Status::ContentTruncated, Fine), Set);
    }
}
