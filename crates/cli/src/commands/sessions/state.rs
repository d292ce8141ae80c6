//! The state of a session's compactions, for people and machines.

use longhaul_engine::{Latch, Settings, State, Wait};
use serde_json::{Value, json};

use crate::output::{plural, thousands};

/// Its notable parts, a sentence each; none for a fresh session.
pub(super) fn in_words(state: &State) -> Vec<String> {
    let limit = Settings::default().failure_limit;
    let failed = plural(state.failures as usize, "snapshot", "snapshots");
    let mut told = Vec::new();
    if is_broken(state) {
        told.push(format!(
            "models no longer write snapshots: {failed} failed in a row; run `longhaul sessions reset` to let \
             them try again"
        ));
    } else if state.latch == Latch::Set {
        told.push(format!(
            "the last snapshot by a model failed ({} of {limit}); the next automatic one is written offline",
            state.failures
        ));
    } else if state.failures > 0 {
        told.push(format!("{failed} by models failed in a row; after {limit}, models are no longer asked"));
    }
    let spend = state.spend;
    if spend.calls > 0 {
        let money = if spend.money > 0.0 { format!(", ${:.4}", spend.money) } else { String::new() };
        let (calls, tokens) = (plural(spend.calls as usize, "call", "calls"), thousands(spend.tokens.0));
        told.push(format!("model calls for snapshots: {calls}, {tokens} tokens{money}"));
    }
    told
}

/// All of it.
pub(super) fn json(state: &State) -> Value {
    let (wait, since) = match state.wait {
        Wait::Nothing => ("nothing", None),
        Wait::Growth { since } => ("growth", Some(since)),
        Wait::Overflow => ("overflow", None),
    };
    json!({
        "breaker": if is_broken(state) { "open" } else { "closed" },
        "latch": if state.latch == Latch::Set { "set" } else { "clear" },
        "failures": state.failures,
        "attempts": state.attempts,
        "spend": state.spend,
        "wait": {"for": wait, "since": since},
    })
}

/// Returns true if models are no longer asked. The number of failures that takes is not a user setting.
fn is_broken(state: &State) -> bool {
    state.is_broken(&Settings::default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::TokenCount;
    use longhaul_engine::Spend;

    #[track_caller]
    fn check(state: &State, expected: &[&str]) {
        let told = in_words(state);
        assert_eq!(told.len(), expected.len(), "{told:?}");
        for (told, expected) in told.iter().zip(expected) {
            assert!(told.contains(expected), "no {expected:?} in {told:?}");
        }
    }

    #[test]
    fn only_what_is_unusual_is_told() {
        check(&State::default(), &[]);
        check(&State { attempts: 4, wait: Wait::Overflow, ..State::default() }, &[]);
        check(&State { failures: 1, ..State::default() }, &["1 snapshot by models failed"]);
        let latched = State { failures: 2, latch: Latch::Set, ..State::default() };
        check(&latched, &["failed (2 of 3); the next automatic one is written offline"]);
        check(
            &State { failures: 3, ..latched },
            &["3 snapshots failed in a row; run `longhaul sessions reset`"],
        );
        let spend = Spend { calls: 2, tokens: TokenCount(12_345), money: 0.5, ..Spend::default() };
        check(&State { spend, ..State::default() }, &["2 calls, 12,345 tokens, $0.5000"]);
        let spend = Spend { money: 0.0, calls: 1, ..spend };
        check(&State { spend, ..State::default() }, &["1 call, 12,345 tokens"]);
    }
}
