//! Learns from the counts that providers report how far the estimates are off, for each model by itself.

use std::collections::BTreeMap;

use longhaul_conversation::{Estimate, Estimator, TokenCount, Weights};
use serde::{Deserialize, Serialize};

/// Multipliers of each model's estimates. A model that was never observed has 1.
///
/// Learning compares reports with the *uncorrected* estimate; otherwise each correction would move the yardstick that
/// the next one is measured with.
///
/// ```
/// use longhaul_compaction::{Calibration, CalibrationSettings, Observation};
/// use longhaul_conversation::TokenCount;
///
/// let mut calibration = Calibration::default();
/// let seen = Observation { base: TokenCount(100), reported: TokenCount(150), overhead: TokenCount(40) };
/// calibration.observe("some-model", seen, &CalibrationSettings::default());
/// assert_eq!(calibration.corrected("some-model", TokenCount(1_000)), TokenCount(1_020));
/// assert_eq!(calibration.corrected("another-model", TokenCount(1_000)), TokenCount(1_000));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Calibration {
    multipliers: BTreeMap<String, f64>,
}

/// One request, as it was estimated and as the provider counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The uncorrected estimate of the conversation, as by [`base_units`].
    pub base: TokenCount,
    /// The prompt tokens that the provider reported.
    pub reported: TokenCount,
    /// Tokens of the system prompt and tool declarations among them, which the estimate leaves out.
    pub overhead: TokenCount,
}

/// Limits on how fast and how far a multiplier moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationSettings {
    /// The share of the way to what was observed that one observation moves the multiplier.
    pub rate: f64,
    /// The most that one observation moves it.
    pub largest_step: f64,
    /// Lower bound of an observation, in present multipliers.
    pub lowest_target: f64,
    /// Upper bound of an observation, in present multipliers.
    pub highest_target: f64,
    /// The multiplier never falls below this.
    pub lowest: f64,
    /// The multiplier never rises above this.
    pub highest: f64,
}

impl Default for CalibrationSettings {
    fn default() -> Self {
        Self {
            rate: 0.2,
            largest_step: 0.15,
            lowest_target: 0.5,
            highest_target: 2.0,
            lowest: 0.5,
            highest: 2.0,
        }
    }
}

/// The weights of the estimate that learning starts from: three characters to a token.
pub const BASE_WEIGHTS: Weights = Weights { chars_per_token: 3.0, non_ascii: Weights::STANDARD.non_ascii };

/// Cost of every turn beside its content.
const TOKENS_PER_TURN: u64 = 5;

/// The uncorrected estimate of a conversation: its content, estimated with [`BASE_WEIGHTS`], and a fixed cost for each
/// of its turns.
pub fn base_units(content: Estimate, turns: usize) -> TokenCount {
    content.tokens() + TokenCount((turns as u64).saturating_mul(TOKENS_PER_TURN))
}

impl Calibration {
    /// Multiplier of this model's estimates.
    pub fn multiplier(&self, model: &str) -> f64 {
        self.multipliers.get(model).copied().unwrap_or(1.0)
    }

    /// Tells whether this model was ever observed.
    pub fn knows(&self, model: &str) -> bool {
        self.multipliers.contains_key(model)
    }

    /// Estimates as this model counts: with the usual weights until it was observed.
    pub fn estimator(&self, model: &str) -> Estimator {
        if !self.knows(model) {
            return Estimator::default();
        }
        Estimator { weights: BASE_WEIGHTS, ..Estimator::default() }.scaled(self.multiplier(model))
    }

    /// An uncorrected estimate, as this model would count it.
    pub fn corrected(&self, model: &str, base: TokenCount) -> TokenCount {
        TokenCount((base.0 as f64 * self.multiplier(model)).round() as u64)
    }

    /// Learns from one request.
    ///
    /// An estimate of nothing teaches nothing, nor does a report that the overhead alone would explain.
    pub fn observe(&mut self, model: &str, seen: Observation, settings: &CalibrationSettings) {
        let actual = seen.reported - seen.overhead;
        if seen.base == TokenCount::ZERO || actual == TokenCount::ZERO {
            return;
        }
        let present = self.multiplier(model);
        let target = within(
            actual.0 as f64 / seen.base.0 as f64,
            settings.lowest_target * present,
            settings.highest_target * present,
        );
        let step = within(settings.rate * (target - present), -settings.largest_step, settings.largest_step);
        let learned = within(present + step, settings.lowest, settings.highest);
        self.multipliers.insert(model.to_string(), learned);
    }
}

/// As `f64::clamp`, but settings that contradict each other are no reason to panic.
fn within(value: f64, lowest: f64, highest: f64) -> f64 {
    value.max(lowest).min(highest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(reported: u64, base: u64, overhead: u64) -> Observation {
        Observation { base: TokenCount(base), reported: TokenCount(reported), overhead: TokenCount(overhead) }
    }

    #[track_caller]
    fn check_with(settings: &CalibrationSettings, observations: &[Observation], expected: f64) {
        let mut calibration = Calibration::default();
        for observation in observations {
            calibration.observe("m", *observation, settings);
        }
        let learned = calibration.multiplier("m");
        assert!((learned - expected).abs() < 1e-9, "learned {learned} instead of {expected}");
    }

    #[track_caller]
    fn check(observations: &[Observation], expected: f64) {
        check_with(&CalibrationSettings::default(), observations, expected);
    }

    #[test]
    fn each_report_moves_the_multiplier_a_little() {
        check(&[], 1.0);
        check(&[seen(50, 100, 0)], 0.9);
        check(&[seen(50, 100, 0), seen(150, 100, 0)], 1.02);
        check(&[seen(100, 100, 0)], 1.0);
    }

    #[test]
    fn the_overhead_is_not_the_conversations() {
        check(&[seen(100, 100, 40)], 0.92);
        check(&[seen(140, 100, 40)], 1.0);
    }

    #[test]
    fn it_converges_to_its_bounds_and_stays_there() {
        check(&[seen(1_000, 100, 0); 100], 2.0);
        check(&[seen(1, 100, 0); 100], 0.5);
    }

    #[test]
    fn one_report_moves_it_by_the_largest_step_at_most() {
        check(&[seen(1_000_000, 1, 0)], 1.15);
        let settings = CalibrationSettings { largest_step: 0.05, ..CalibrationSettings::default() };
        check_with(&settings, &[seen(1_000, 100, 0)], 1.05);
        check_with(&settings, &[seen(1, 100, 0)], 0.95);
        let settings = CalibrationSettings { largest_step: 9.0, ..CalibrationSettings::default() };
        check_with(&settings, &[seen(1_000, 100, 0)], 1.2);
    }

    #[test]
    fn rate_and_bounds_are_settings() {
        let settings = CalibrationSettings { rate: 0.1, ..CalibrationSettings::default() };
        check_with(&settings, &[seen(50, 100, 0)], 0.95);
        let settings = CalibrationSettings { highest: 1.1, lowest: 0.95, ..CalibrationSettings::default() };
        check_with(&settings, &[seen(500, 100, 0); 9], 1.1);
        check_with(&settings, &[seen(5, 100, 0); 9], 0.95);
    }

    #[test]
    fn what_says_nothing_teaches_nothing() {
        check(&[seen(50, 0, 0)], 1.0);
        check(&[seen(0, 100, 0)], 1.0);
        check(&[seen(30, 100, 40)], 1.0);
    }

    #[test]
    fn models_learn_apart() {
        let mut calibration = Calibration::default();
        calibration.observe("a", seen(50, 100, 0), &CalibrationSettings::default());
        assert_eq!(calibration.corrected("a", TokenCount(1_000)), TokenCount(900));
        assert_eq!(calibration.corrected("b", TokenCount(1_000)), TokenCount(1_000));
    }

    #[test]
    fn a_model_that_was_observed_has_an_estimator_of_its_own() {
        let mut calibration = Calibration::default();
        assert_eq!(calibration.estimator("a"), Estimator::default());
        calibration.observe("a", seen(50, 100, 0), &CalibrationSettings::default());
        assert_eq!(calibration.estimator("b"), Estimator::default());
        let text = "x".repeat(3_000);
        assert_eq!(calibration.estimator("a").text(&text).tokens(), TokenCount(900));
    }

    #[test]
    fn what_was_learned_can_be_stored() {
        let mut calibration = Calibration::default();
        calibration.observe("a", seen(50, 100, 0), &CalibrationSettings::default());
        let stored = serde_json::to_string(&calibration).unwrap();
        assert_eq!(stored, r#"{"a":0.9}"#);
        assert_eq!(serde_json::from_str::<Calibration>(&stored).unwrap(), calibration);
    }

    #[test]
    fn turns_cost_something_by_themselves() {
        let estimator = Estimator { weights: BASE_WEIGHTS, ..Estimator::default() };
        assert_eq!(base_units(estimator.text("Hello world!"), 2), TokenCount(14));
        assert_eq!(base_units(Estimate::ZERO, 0), TokenCount(0));
    }

    proptest! {
        #[test]
        fn no_report_drives_it_out_of_its_bounds(
            reports in proptest::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..20),
        ) {
            let mut calibration = Calibration::default();
            let mut before = 1.0;
            for (reported, base, overhead) in reports {
                calibration.observe("m", seen(reported, base, overhead), &CalibrationSettings::default());
                let after = calibration.multiplier("m");
                prop_assert!((0.5..=2.0).contains(&after) && (after - before).abs() < 0.15 + 1e-9);
                before = after;
            }
        }
    }
}
