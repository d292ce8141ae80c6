//! Decides who may write a snapshot: after too many failures, or too much spent, no model is asked any more.

use longhaul_compaction::{Rung, Trigger};
use longhaul_conversation::TokenCount;

use crate::{Fallback, Latch, Settings, State, SummariserKind};

/// Writer of the snapshot of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The summariser that was given.
    Given,
    /// The offline summariser, and why the given one may not.
    Offline {
        /// In words.
        why: String,
    },
    /// Nobody: the given one may not, and no other is wanted.
    Nobody {
        /// In words.
        why: String,
    },
}

/// A model is not asked for fewer tokens than these: it would not say more in them than is certain without it.
const LEAST_ASKED: TokenCount = TokenCount(200);

/// Decides who writes the snapshot of a pass.
pub(crate) fn choose_writer(
    given: SummariserKind,
    rung: &Rung,
    trigger: Trigger,
    state: &State,
    settings: &Settings,
) -> Writer {
    if given == SummariserKind::Offline {
        return Writer::Given;
    }
    if matches!(rung, Rung::LastResort(_)) {
        return Writer::Offline { why: "the last resort uses no model".into() };
    }
    let asked = match rung {
        Rung::Compact(compaction) => compaction.asked_of_model(),
        _ => TokenCount::ZERO,
    };
    let no_room = || format!("there is room for only {asked} tokens of a model's summary");
    let why = why_not(trigger, state, settings).or_else(|| (asked < LEAST_ASKED).then(no_room));
    let Some(why) = why else { return Writer::Given };
    match settings.fallback {
        Fallback::Offline => Writer::Offline { why },
        Fallback::Off => Writer::Nobody { why },
    }
}

/// The reason why no model may be asked.
fn why_not(trigger: Trigger, state: &State, settings: &Settings) -> Option<String> {
    if state.is_broken(settings) {
        let failures = state.failures;
        return Some(format!(
            "{failures} compactions failed in a row; run `longhaul sessions reset` to let a model write summaries again"
        ));
    }
    let is_latched = trigger == Trigger::Automatic && state.latch == Latch::Set;
    settings
        .caps
        .why_spent(state.spend)
        .or_else(|| is_latched.then(|| "the model's last summary failed".to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Spend, SpendCaps};
    use longhaul_compaction::{Compaction, CutReason};

    fn compaction() -> Compaction {
        Compaction {
            tail_from: 1,
            cut: CutReason::LastGroup,
            snapshot_budget: TokenCount(4_000),
            tail: TokenCount(1),
            replacements: Vec::new(),
            shortenings: Vec::new(),
        }
    }

    #[track_caller]
    fn check(state: &State, trigger: Trigger, expected: &str) {
        let settings = Settings {
            caps: SpendCaps { tokens: Some(TokenCount(100)), money: None },
            ..Settings::default()
        };
        let rung = Rung::Compact(compaction());
        let writer = choose_writer(SummariserKind::Model, &rung, trigger, state, &settings);
        let without = Settings { fallback: Fallback::Off, ..settings };
        let nobody = choose_writer(SummariserKind::Model, &rung, trigger, state, &without);
        match writer {
            Writer::Given => assert_eq!((expected, nobody), ("", Writer::Given)),
            Writer::Offline { why } => {
                assert!(!expected.is_empty() && why.contains(expected), "{why}");
                assert_eq!(nobody, Writer::Nobody { why });
            }
            Writer::Nobody { why } => panic!("{why}"),
        }
        let offline = choose_writer(SummariserKind::Offline, &rung, trigger, state, &without);
        assert_eq!(offline, Writer::Given);
    }

    #[test]
    fn a_latch_stops_only_what_nobody_asked_for() {
        let latched = State { latch: Latch::Set, ..State::default() };
        check(&State::default(), Trigger::Automatic, "");
        check(&latched, Trigger::Automatic, "last summary failed");
        check(&latched, Trigger::Forced, "");
    }

    #[test]
    fn a_breaker_and_a_cap_stop_every_call() {
        for trigger in [Trigger::Automatic, Trigger::Forced] {
            check(&State { failures: 2, ..State::default() }, trigger, "");
            check(&State { failures: 3, ..State::default() }, trigger, "run `longhaul sessions reset`");
            let spend = Spend { tokens: TokenCount(100), ..Spend::default() };
            check(&State { spend, ..State::default() }, trigger, "used its 100 tokens");
        }
    }

    #[test]
    fn the_last_resort_asks_no_model() {
        let rung = Rung::LastResort(compaction());
        let settings = Settings { fallback: Fallback::Off, ..Settings::default() };
        let state = State::default();
        let writer = choose_writer(SummariserKind::Model, &rung, Trigger::Forced, &state, &settings);
        assert!(matches!(writer, Writer::Offline { .. }));
    }

    #[test]
    fn no_model_is_asked_for_a_few_tokens() {
        let writer = |budget: u64| {
            let rung = Rung::Compact(Compaction { snapshot_budget: TokenCount(budget), ..compaction() });
            let (state, settings) = (State::default(), Settings::default());
            choose_writer(SummariserKind::Model, &rung, Trigger::Forced, &state, &settings)
        };
        for budget in [0, 2, 100, 330] {
            assert!(matches!(writer(budget), Writer::Offline { why } if why.contains("room for only")));
        }
        for budget in [340, 1_000] {
            assert_eq!(writer(budget), Writer::Given);
        }
    }
}
