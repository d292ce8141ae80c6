//! Marks at the beginning of lines: the state of a request, and whose words a line is.

/// How the state of an ask is written in a snapshot.
pub const TODO: &str = "[TODO]";
/// It may be done, but the user has not spoken since.
pub const IN_PROGRESS: &str = "[IN PROGRESS]";
/// It is done.
pub const DONE: &str = "[DONE]";

/// How the user's words begin in a snapshot.
pub const USER_SAID: &str = "User: ";

/// How a rule begins that a model found.
pub const FOUND: &str = "Found: ";

/// What a line of the state of the task says, whatever its state.
pub fn without_state(line: &str) -> &str {
    [TODO, IN_PROGRESS, DONE].iter().find_map(|state| line.strip_prefix(state)).map_or(line, str::trim_start)
}
