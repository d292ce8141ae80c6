//! Marks at the beginning of lines: the state of a request, and whose words a line is.

/// The mark of an open request.
pub const TODO: &str = "[TODO]";
/// It may be done, but the user has not spoken since.
pub const IN_PROGRESS: &str = "[IN PROGRESS]";
/// It is done.
pub const DONE: &str = "[DONE]";

/// The mark of the user's own words in older snapshots, where they stand among the rules.
pub const USER_SAID: &str = "User: ";

/// The mark of a rule that a model found.
pub const FOUND: &str = "Found: ";

/// A line of the task state without the mark of its state.
pub fn without_state(line: &str) -> &str {
    [TODO, IN_PROGRESS, DONE].iter().find_map(|state| line.strip_prefix(state)).map_or(line, str::trim_start)
}
