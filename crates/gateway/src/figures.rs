//! Figures of a running gateway: counters and the time that it adds, for Prometheus and for the store.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::time::Duration;

use crate::trunks::locked;

/// Counters by name, and how long requests were held.
#[derive(Debug, Default)]
pub(crate) struct RunningFigures(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    counters: BTreeMap<String, i64>,
    /// Changes that the store has not got yet.
    unsaved: BTreeMap<String, i64>,
    held: Histogram,
}

/// Upper bounds of the classes of a histogram, in seconds.
const BOUNDS: [f64; 10] = [0.000_1, 0.000_3, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0];

/// A request that was held as long as this counts as slow.
const SLOW: Duration = Duration::from_millis(10);

#[derive(Debug, Default)]
struct Histogram {
    classes: [u64; BOUNDS.len()],
    count: u64,
    sum: f64,
}

impl RunningFigures {
    /// Adds one to a counter.
    pub(crate) fn count(&self, name: &str) {
        self.add(name, 1);
    }

    /// Adds to a counter.
    pub(crate) fn add(&self, name: &str, by: i64) {
        let state = &mut *locked(&self.0);
        for counters in [&mut state.counters, &mut state.unsaved] {
            match counters.get_mut(name) {
                Some(value) => *value += by,
                None => drop(counters.insert(name.to_string(), by)),
            }
        }
    }

    /// The value of a counter.
    pub(crate) fn get(&self, name: &str) -> i64 {
        locked(&self.0).counters.get(name).copied().unwrap_or_default()
    }

    /// Notes how long a request was held before it was passed on. The store gets the sum and the number of slow ones.
    pub(crate) fn hold(&self, time: Duration) {
        let State { unsaved, held, .. } = &mut *locked(&self.0);
        let microseconds = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        for (name, by) in
            [("held:calls", 1), ("held:microseconds", microseconds), ("held:slow", i64::from(time >= SLOW))]
        {
            let value = unsaved.entry(name.to_string()).or_default();
            *value = value.saturating_add(by);
        }
        let seconds = time.as_secs_f64();
        held.count += 1;
        held.sum += seconds;
        for (class, bound) in held.classes.iter_mut().zip(BOUNDS) {
            *class += u64::from(seconds <= bound);
        }
    }

    /// The count since this was asked last.
    pub(crate) fn take_unsaved(&self) -> Vec<(String, i64)> {
        std::mem::take(&mut locked(&self.0).unsaved).into_iter().collect()
    }

    /// The figures as Prometheus reads them. Names with a colon have a label behind it.
    pub(crate) fn render(&self) -> String {
        let state = &*locked(&self.0);
        let mut text = String::new();
        let mut last = "";
        for (name, value) in &state.counters {
            let (name, label) = name.split_once(':').unwrap_or((name, ""));
            if name != last {
                let _ = writeln!(text, "# TYPE longhaul_gateway_{name}_total counter");
                last = name;
            }
            let label = if label.is_empty() { String::new() } else { format!("{{kind=\"{label}\"}}") };
            let _ = writeln!(text, "longhaul_gateway_{name}_total{label} {value}");
        }
        let held = &state.held;
        let name = "longhaul_gateway_held_seconds";
        let _ = writeln!(text, "# TYPE {name} histogram");
        for (class, bound) in held.classes.iter().zip(BOUNDS) {
            let _ = writeln!(text, "{name}_bucket{{le=\"{bound}\"}} {class}");
        }
        let _ = writeln!(text, "{name}_bucket{{le=\"+Inf\"}} {}", held.count);
        let _ = writeln!(text, "{name}_sum {:.6}\n{name}_count {}", held.sum, held.count);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_told_once_to_the_store_and_always_to_prometheus() {
        let figures = RunningFigures::default();
        figures.count("requests:rewritten");
        figures.add("requests:passed", 2);
        figures.hold(Duration::from_micros(200));
        let saved = [("held:calls", 1), ("held:microseconds", 200), ("held:slow", 0)];
        let saved = saved.into_iter().chain([("requests:passed", 2), ("requests:rewritten", 1)]);
        assert_eq!(
            figures.take_unsaved(),
            saved.map(|(name, value)| (name.to_string(), value)).collect::<Vec<_>>()
        );
        figures.hold(Duration::from_millis(10));
        assert!(figures.take_unsaved().contains(&("held:slow".into(), 1)));
        assert_eq!(figures.take_unsaved(), []);
        assert_eq!(figures.get("requests:passed"), 2);
        let text = figures.render();
        for line in [
            "# TYPE longhaul_gateway_requests_total counter\nlonghaul_gateway_requests_total{kind=\"passed\"} 2\n",
            "longhaul_gateway_held_seconds_bucket{le=\"0.0001\"} 0\n",
            "longhaul_gateway_held_seconds_bucket{le=\"0.0003\"} 1\n",
            "longhaul_gateway_held_seconds_count 2\n",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
