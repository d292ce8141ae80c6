//! Watches one answer while it arrives: it must not pass its limits, and it must not stop saying something.

use std::time::Duration;

use longhaul_conversation::{AnswerLimit, Body, ModelError, ResponseEvent, Usage};
use longhaul_wire::AnswerSize;
use tokio::time::Instant;

use crate::limits::AnswerBudget;
use crate::retry::Failure;

/// The overhead counted for a part: a great many empty ones take room, too.
const PART: u64 = 256;

/// Watches one answer. Comments, pings and deltas without content do not count as a sign of life.
#[derive(Debug)]
pub(crate) struct Watch {
    budget: AnswerBudget,
    idle: Duration,
    /// When the call must be over.
    deadline: Instant,
    /// When something of the answer last arrived; at first, when the request was sent.
    last_content: Instant,
    /// Bytes of the stream.
    stream: u64,
    /// The size handed on.
    told: AnswerSize,
    /// The size the decoder took in besides.
    held: AnswerSize,
    usage: Option<Usage>,
}

impl Watch {
    /// Watches the answer to a request that was sent at `sent`, in a call that began at `started`.
    pub(crate) fn new(budget: AnswerBudget, idle: Duration, started: Instant, sent: Instant) -> Self {
        Self {
            budget,
            idle,
            deadline: started + budget.time,
            last_content: sent,
            stream: 0,
            told: AnswerSize::default(),
            held: AnswerSize::default(),
            usage: None,
        }
    }

    /// The longest that may be waited.
    pub(crate) fn wait_until(&self) -> Instant {
        self.deadline.min(self.last_content + self.idle)
    }

    /// The reason to stop waiting, once the time is over.
    pub(crate) fn expiry(&self, now: Instant) -> Option<Failure> {
        if now >= self.deadline {
            return Some(over(AnswerLimit::Time(self.budget.time)));
        }
        (now >= self.last_content + self.idle).then(|| Failure::passing(stalled(self.idle)))
    }

    /// Counts bytes of the stream, whatever they hold.
    pub(crate) fn take_bytes(&mut self, bytes: usize) -> Result<(), Failure> {
        self.stream = self.stream.saturating_add(bytes as u64);
        if self.stream > self.budget.stream {
            return Err(over(AnswerLimit::Stream(self.budget.stream)));
        }
        Ok(())
    }

    /// Counts what was read from them: `events`, and what the decoder has taken in beside them. What passes a limit is cut
    /// off.
    pub(crate) fn take(
        &mut self,
        events: &mut Vec<ResponseEvent>,
        held: AnswerSize,
        now: Instant,
    ) -> Result<(), Failure> {
        let mut is_alive = held != self.held;
        self.held = held;
        let mut kept = 0;
        while self.limit_passed().is_none() && kept < events.len() {
            match &mut events[kept] {
                ResponseEvent::TextDelta(text) => {
                    is_alive |= !text.is_empty();
                    cut(text, self.budget.text, &mut self.told.text);
                }
                ResponseEvent::ThoughtDelta(text) => {
                    is_alive |= !text.is_empty();
                    cut(text, self.budget.thoughts, &mut self.told.thoughts);
                }
                ResponseEvent::Part(part) => {
                    is_alive |= !part.is_empty();
                    // Calls have a limit of their own.
                    if !matches!(part.body, Body::Call(_)) {
                        self.told.media = self.told.media.saturating_add(PART);
                    }
                }
                ResponseEvent::Usage(usage) => is_alive |= self.usage.replace(*usage) != Some(*usage),
                ResponseEvent::Finished(_) => is_alive = true,
            }
            kept += 1;
        }
        if is_alive {
            self.last_content = now;
        }
        let Some(limit) = self.limit_passed() else { return Ok(()) };
        events.truncate(kept);
        // Nothing that stands for something whole may follow what was cut off.
        events.retain(|event| !matches!(event, ResponseEvent::Part(_) | ResponseEvent::Finished(_)));
        Err(over(limit))
    }

    /// The bytes of the answer so far.
    pub(crate) fn content(&self) -> u64 {
        self.size().bytes()
    }

    fn limit_passed(&self) -> Option<AnswerLimit> {
        self.budget.passed_by(&self.size())
    }

    fn size(&self) -> AnswerSize {
        let AnswerSize { arguments, calls, .. } = self.held;
        let media = self.held.media.saturating_add(self.told.media);
        AnswerSize { arguments, calls, media, ..self.told }
    }
}

/// Counts a delta, and cuts off what is beyond the limit.
fn cut(text: &mut String, limit: u64, size: &mut u64) {
    let left = usize::try_from(limit.saturating_sub(*size)).unwrap_or(usize::MAX);
    *size = size.saturating_add(text.len() as u64);
    if text.len() > left {
        text.truncate(text.floor_char_boundary(left));
    }
}

fn over(limit: AnswerLimit) -> Failure {
    Failure::lasting(ModelError::OverLimit { limit })
}

/// Nothing of an answer arrived for so long.
pub(crate) fn stalled(idle: Duration) -> ModelError {
    ModelError::Interrupted { reason: format!("no data for {} s", idle.as_secs()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::AnswerLimits;
    use ResponseEvent::{Finished, TextDelta, ThoughtDelta};
    use longhaul_conversation::{FinishReason, Part, Thought, TokenCount};

    const SECOND: Duration = Duration::from_secs(1);

    fn watch(now: Instant) -> Watch {
        let limits = AnswerLimits {
            text: Some(10),
            thoughts: Some(20),
            arguments: Some(30),
            time: Some(100 * SECOND),
            stream: Some(1_000),
            ..AnswerLimits::default()
        };
        Watch::new(limits.budget(None), 5 * SECOND, now, now)
    }

    #[track_caller]
    fn check_cut(events: Vec<ResponseEvent>, held: AnswerSize, kept: &[ResponseEvent], limit: AnswerLimit) {
        let mut events = events;
        let now = Instant::now();
        let failure = watch(now).take(&mut events, held, now).expect_err("too much");
        assert_eq!((failure.error, events.as_slice()), (ModelError::OverLimit { limit }, kept));
    }

    #[test]
    fn what_passes_a_limit_is_cut_off() {
        let (text, thought) = (|text: &str| TextDelta(text.into()), |text: &str| ThoughtDelta(text.into()));
        let nothing = AnswerSize::default();
        let end = Finished(FinishReason::Stop);
        check_cut(
            vec![text("12345678"), text("ééé"), end.clone()],
            nothing,
            &[text("12345678"), text("é")],
            AnswerLimit::Text(10),
        );
        check_cut(
            vec![text("a"), thought(&"x".repeat(21)), end.clone()],
            nothing,
            &[text("a"), thought(&"x".repeat(20))],
            AnswerLimit::Thoughts(20),
        );
        let arguments = AnswerSize { arguments: 31, ..nothing };
        check_cut(vec![text("a"), end], arguments, &[], AnswerLimit::Arguments(30));
    }

    #[track_caller]
    fn check_alive(event: Option<ResponseEvent>, held: u64, is_alive: bool) {
        let start = Instant::now();
        let mut watch = watch(start);
        watch.usage = Some(Usage::default());
        let mut events: Vec<_> = event.into_iter().collect();
        let held = AnswerSize { arguments: held, ..AnswerSize::default() };
        watch.take(&mut events, held, start + 4 * SECOND).expect("within its limits");
        assert_eq!(watch.expiry(start + 5 * SECOND).is_none(), is_alive, "{events:?}");
        assert!(watch.expiry(start + 9 * SECOND).is_some());
    }

    #[test]
    fn only_content_is_a_sign_of_life() {
        check_alive(None, 0, false);
        check_alive(Some(TextDelta(String::new())), 0, false);
        check_alive(Some(ResponseEvent::Usage(Usage::default())), 0, false);
        check_alive(Some(ResponseEvent::Part(Part::thought(Thought::default()))), 0, false);
        check_alive(Some(TextDelta("a".into())), 0, true);
        check_alive(Some(ThoughtDelta("a".into())), 0, true);
        let usage = Usage { output: Some(TokenCount(3)), ..Usage::default() };
        check_alive(Some(ResponseEvent::Usage(usage)), 0, true);
        check_alive(None, 1, true);
    }

    #[test]
    fn time_and_bytes_of_the_stream_end() {
        let start = Instant::now();
        let mut watch = watch(start);
        assert!(watch.take_bytes(1_000).is_ok());
        let failure = watch.take_bytes(1).expect_err("too much");
        assert_eq!(failure.error, ModelError::OverLimit { limit: AnswerLimit::Stream(1_000) });
        watch.last_content = start + 99 * SECOND;
        assert_eq!(watch.wait_until(), start + 100 * SECOND);
        let failure = watch.expiry(start + 100 * SECOND).expect("too long");
        assert_eq!(failure.error, ModelError::OverLimit { limit: AnswerLimit::Time(100 * SECOND) });
    }
}
