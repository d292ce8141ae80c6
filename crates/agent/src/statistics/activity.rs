//! Latest activity: a bounded record of events, with a measurement now and then.

use std::collections::{BTreeMap, VecDeque};

use longhaul_conversation::Timestamp;

/// The most events that are remembered.
const REMEMBERED: usize = 100;

/// The least time between two measurements, in milliseconds.
const BETWEEN_MEASUREMENTS: i64 = 1_000;

/// A kind of event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Activity {
    /// The record was begun.
    Started,
    /// The user said something.
    UserInput,
    /// A message was added to the conversation.
    MessageAdded,
    /// A tool is to run.
    ToolScheduled,
    /// A tool has answered.
    ToolCompleted,
    /// The model was asked.
    StreamStarted,
}

impl Activity {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Started => "manual_trigger",
            Self::UserInput => "user_input_start",
            Self::MessageAdded => "message_added",
            Self::ToolScheduled => "tool_call_scheduled",
            Self::ToolCompleted => "tool_call_completed",
            Self::StreamStarted => "stream_start",
        }
    }
}

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ActivityEvent {
    /// The kind of event.
    pub what: Activity,
    /// The time.
    pub at: Timestamp,
}

/// The latest events. It remembers 100 events, and nothing while it is not switched on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityLog {
    is_active: bool,
    events: VecDeque<ActivityEvent>,
    measured: Option<Timestamp>,
    memory: MemoryUse,
}

/// Memory that the program took, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// The latest measurement.
    pub latest: Option<u64>,
    /// The largest one.
    pub peak: Option<u64>,
}

/// The events that are remembered, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ActivityStatistics {
    /// The number of events of each kind.
    pub counts: BTreeMap<Activity, usize>,
    /// The times of the first and the last, if there are any.
    pub range: Option<(Timestamp, Timestamp)>,
}

impl ActivityLog {
    /// `true` while it is switched on.
    pub(crate) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Switches it on, which is itself an event; returns `true` if a measurement is due.
    pub(crate) fn start(&mut self, at: Timestamp) -> bool {
        if self.is_active {
            return false;
        }
        self.is_active = true;
        self.record(Activity::Started, at)
    }

    /// Switches it off and forgets the events.
    pub(crate) fn stop(&mut self) {
        *self = Self { memory: self.memory, ..Self::default() };
    }

    /// Notes an event; returns `true` if a measurement is due.
    pub(crate) fn record(&mut self, what: Activity, at: Timestamp) -> bool {
        if !self.is_active {
            return false;
        }
        if self.events.len() == REMEMBERED {
            self.events.pop_front();
        }
        self.events.push_back(ActivityEvent { what, at });
        let since = self.measured.map(|measured| at.as_millis().saturating_sub(measured.as_millis()));
        let is_due = since.is_none_or(|since| since >= BETWEEN_MEASUREMENTS);
        if is_due {
            self.measured = Some(at);
        }
        is_due
    }

    pub(crate) fn measure(&mut self, bytes: u64) {
        self.memory = MemoryUse { latest: Some(bytes), peak: self.memory.peak.max(Some(bytes)) };
    }

    /// The last events, at most so many; all of them for 0.
    #[cfg(test)]
    pub(crate) fn recent(&self, most: usize) -> impl Iterator<Item = &ActivityEvent> {
        let skipped = if most == 0 { 0 } else { self.events.len().saturating_sub(most) };
        self.events.iter().skip(skipped)
    }

    /// Memory that the program took, where that can be measured.
    pub fn memory(&self) -> MemoryUse {
        self.memory
    }

    /// The events that are remembered, counted.
    pub fn statistics(&self) -> ActivityStatistics {
        let mut counts = BTreeMap::new();
        for event in &self.events {
            *counts.entry(event.what).or_default() += 1;
        }
        let times = || self.events.iter().map(|event| event.at);
        ActivityStatistics { counts, range: times().min().zip(times().max()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millis(millis)
    }

    fn started() -> ActivityLog {
        let mut log = ActivityLog::default();
        assert!(log.start(at(0)));
        log
    }

    #[test]
    fn nothing_is_remembered_before_the_start_and_after_the_end() {
        let mut log = ActivityLog::default();
        assert!(!log.record(Activity::UserInput, at(1)));
        assert_eq!(log.statistics(), ActivityStatistics::default());
        log.start(at(2));
        assert!(!log.start(at(3)));
        let kinds: Vec<_> = log.recent(0).map(|event| event.what).collect();
        assert_eq!(kinds, [Activity::Started]);
        log.stop();
        assert!(!log.record(Activity::UserInput, at(4)) && log.recent(0).next().is_none());
    }

    #[test]
    fn the_oldest_event_makes_room() {
        let mut log = started();
        for number in 1..=250 {
            log.record(Activity::MessageAdded, at(number));
        }
        let times: Vec<i64> = log.recent(0).map(|event| event.at.as_millis()).collect();
        assert_eq!(times, (151..=250).collect::<Vec<_>>());
        let last: Vec<i64> = log.recent(2).map(|event| event.at.as_millis()).collect();
        assert_eq!(last, [249, 250]);
        assert_eq!(log.recent(1_000).count(), 100);
    }

    #[test]
    fn measurements_are_not_taken_too_often() {
        let mut log = started();
        let due: Vec<bool> =
            [1, 999, 1_000, 1_001, 1_999, 2_000].map(|time| log.record(Activity::UserInput, at(time))).into();
        assert_eq!(due, [false, false, true, false, false, true]);
        log.measure(5);
        log.measure(3);
        assert_eq!(log.memory(), MemoryUse { latest: Some(3), peak: Some(5) });
    }

    #[test]
    fn events_are_counted_by_kind() {
        let mut log = started();
        log.record(Activity::ToolScheduled, at(9));
        log.record(Activity::ToolScheduled, at(7));
        let statistics = log.statistics();
        assert_eq!(statistics.counts[&Activity::ToolScheduled], 2);
        assert_eq!(statistics.counts[&Activity::Started], 1);
        assert_eq!(statistics.range, Some((at(0), at(9))));
    }
}
