//! The goal: what the user works towards now, in their own sentences.

use super::sentences::count_words;
use super::wishes::asks_question;
use super::{RequestState, UserRequest, UserRequests};

/// A goal has no more words than this, unless one request has.
const LONGEST_GOAL: usize = 120;

/// An opening of fewer words than this is a question or a report in passing.
const FEW_WORDS: usize = 8;

impl UserRequests {
    /// The requests that say what the user works towards now, in order: the one that opened the present stretch of work, the very
    /// first if it is still open, and the newest of this stretch.
    pub fn goal(&self) -> Vec<&UserRequest> {
        let is_wanted = |request: &&UserRequest| !matches!(request.state, RequestState::Replaced { .. });
        let Some(start) = self.requests.iter().rposition(|request| request.opens_stretch) else {
            return self.requests.iter().rfind(is_wanted).into_iter().collect();
        };
        let stretch = &self.requests[start..];
        // One that was put differently is told by the new words.
        let Some(opener) = stretch.iter().find(is_wanted).or(stretch.first()) else { return Vec::new() };
        let is_open = |request: &&UserRequest| matches!(request.state, RequestState::Open { .. });
        let first = self.requests[..start].iter().find(|request| request.opens_stretch).filter(is_open);
        // What was asked in passing may still be about what was opened before.
        let is_weak = count_words(&opener.text) < FEW_WORDS || asks_question(&opener.text);
        let before =
            self.requests[..start].iter().rfind(|request| request.opens_stretch && is_wanted(request));
        let before = before.filter(|_| is_weak);
        let newest =
            stretch.iter().rfind(|request| is_wanted(request) && (request.is_telling || is_open(request)));
        let mut goal = vec![opener];
        let mut left = LONGEST_GOAL.saturating_sub(count_words(&opener.text));
        for more in [newest, before, first].into_iter().flatten() {
            let words = count_words(&more.text);
            if words <= left && !goal.iter().any(|known| std::ptr::eq(*known, more)) {
                left -= words;
                goal.push(more);
            }
        }
        goal.sort_by_key(|request| request.messages.first().copied());
        goal
    }
}
