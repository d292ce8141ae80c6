//! The goal and the state of the task as a snapshot states them, from the user's requests.

use longhaul_conversation::Ordinal;
use longhaul_directives::{RequestState, UserRequest, UserRequests};
use longhaul_snapshot::{DONE, IN_PROGRESS, TODO};
use longhaul_text::split_units;

/// A line of the task state: the message that asks for it, and its text.
pub(crate) struct TaskLine {
    pub(crate) at: Ordinal,
    pub(crate) text: String,
    /// True if it is still to be done.
    pub(crate) is_open: bool,
}

/// So many requests are told, the newest first.
const MOST_LINES: usize = 12;

/// What is done is told in no more characters than this: it only explains the rest.
const LONGEST_DONE: usize = 110;

/// What the user works towards now, in whole sentences.
pub(crate) fn goal_lines(requests: &UserRequests) -> Vec<(Ordinal, String)> {
    let goal = requests.goal().into_iter();
    goal.map(|request| (request.messages.first().copied().unwrap_or(Ordinal(1)), request.text.clone()))
        .collect()
}

/// The requests with their state, the newest first: it says what to do now. `is_told` knows those that stand elsewhere.
pub(crate) fn task_lines(
    requests: &UserRequests,
    before: Ordinal,
    is_told: impl Fn(&str) -> bool,
) -> Vec<TaskLine> {
    let goal = requests.goal();
    let newest_open = requests.open_requests().next_back();
    let is =
        |one: &UserRequest, other: Option<&UserRequest>| other.is_some_and(|other| std::ptr::eq(one, other));
    let newest = requests.all().iter().rev().filter(|request| !is_told(&request.text));
    let lines = newest.take(MOST_LINES).filter_map(|request| {
        let is_goal = goal.iter().any(|goal| std::ptr::eq(*goal, request));
        let at = request.messages.last().copied().unwrap_or(Ordinal(1));
        let (state, text) = match &request.state {
            // That a goal is still to be reached goes without saying, unless it is what is being done.
            RequestState::Open { .. } if is_goal && !is(request, newest_open) => return None,
            RequestState::Open { reason: None } if is(request, newest_open) => {
                (IN_PROGRESS, request.text.clone())
            }
            RequestState::Open { .. } => (TODO, request.text.clone()),
            RequestState::Done(_) => (DONE, first_sentence(&request.text, LONGEST_DONE)),
            RequestState::Replaced { .. } => return None,
        };
        let text = if is_goal { first_sentence(&text, LONGEST_DONE) } else { text };
        let is_open = state != DONE;
        (at < before).then(|| TaskLine { at, text: format!("{state} {text}"), is_open })
    });
    lines.collect()
}

/// The first sentence of a text, cut behind `most` characters.
fn first_sentence(text: &str, most: usize) -> String {
    let sentence = split_units(text).first().map_or(text, |unit| unit.text);
    let line = sentence.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
