//! Words about rules that may contradict each other, for every command that shows rules.

/// The words about two rules that may exclude each other.
pub(crate) fn doubt_text(older: &str, newer: &str) -> String {
    format!("these two rules may contradict each other, both are kept: {older:?} and, newer, {newer:?}")
}
