//! When to try a failed call again.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use longhaul_conversation::{ModelError, Timestamp};

/// Limits of the attempts to reach a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetrySettings {
    /// The maximum number of attempts.
    pub attempts: u32,
    /// The longest first wait; each further one may be twice as long.
    pub base: Duration,
    /// The longest wait, unless the provider asks for more.
    pub longest: Duration,
    /// The longest time for all attempts together.
    pub budget: Duration,
}

/// The clock and the dice, passed in so that tests can hold them.
#[derive(Clone)]
pub struct Surroundings {
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    random: Arc<dyn Fn() -> u64 + Send + Sync>,
}

/// A call has failed and will be made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// The error.
    pub error: &'a ModelError,
    /// The time until the next attempt.
    pub wait: Duration,
}

/// Is told of each wait before it begins, so that nobody wonders why nothing happens.
#[derive(Clone)]
pub(crate) struct Listener(pub(crate) Arc<dyn Fn(Waiting<'_>) + Send + Sync>);

impl Default for Listener {
    fn default() -> Self {
        Self(Arc::new(|_| {}))
    }
}

impl fmt::Debug for Listener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Listener")
    }
}

/// A failed call, and whether to make it again.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) error: ModelError,
    pub(crate) again: Again,
}

/// The kind of retry that a failed call is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Again {
    Never,
    Soon,
    /// A few times only: a network that is down seldom comes back while someone waits.
    Briefly,
    /// Once only: an answer that says nothing twice will not say anything the third time.
    Once,
    /// Not before this time has passed.
    After(Duration),
}

/// Counts the attempts of one call.
#[derive(Debug)]
pub(crate) struct RetryBudget {
    settings: RetrySettings,
    failures: u32,
    /// Those of them after which the call is made again only once.
    final_failures: u32,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 6,
            base: Duration::from_secs(1),
            longest: Duration::from_secs(30),
            budget: Duration::from_secs(120),
        }
    }
}

impl Surroundings {
    /// Takes the time and random numbers from these functions.
    pub fn new(
        now: impl Fn() -> Timestamp + Send + Sync + 'static,
        random: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Self {
        Self { now: Arc::new(now), random: Arc::new(random) }
    }

    /// Takes them from the operating system.
    pub fn system() -> Self {
        let now = || {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
        };
        // The standard library seeds its hash maps with random numbers; each state is another one.
        Self::new(now, || RandomState::new().hash_one(0))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.now)()
    }

    pub(crate) fn random(&self) -> u64 {
        (self.random)()
    }
}

impl fmt::Debug for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Surroundings")
    }
}

impl Failure {
    pub(crate) fn lasting(error: ModelError) -> Self {
        Self { error, again: Again::Never }
    }

    /// One after which the call is made once more, and not again.
    pub(crate) fn once(error: ModelError) -> Self {
        Self { error, again: Again::Once }
    }

    pub(crate) fn passing(error: ModelError) -> Self {
        Self { error, again: Again::Soon }
    }
}

impl RetryBudget {
    pub(crate) fn new(settings: RetrySettings) -> Self {
        Self { settings, failures: 0, final_failures: 0 }
    }

    /// The wait before the next attempt, `elapsed` after the first one began; `None` to give up.
    ///
    /// The wait is random between nothing and a bound that doubles, so that many clients do not come back at once; a
    /// wait that the provider asks for is kept, with a little more.
    pub(crate) fn next_wait(&mut self, again: Again, elapsed: Duration, random: u64) -> Option<Duration> {
        let RetrySettings { attempts, base, longest, budget } = self.settings;
        const BRIEFLY: u32 = 3;
        self.failures += 1;
        self.final_failures += u32::from(again == Again::Once);
        if self.failures >= attempts
            || (again == Again::Briefly && self.failures >= BRIEFLY)
            || (again == Again::Once && self.final_failures > 1)
        {
            return None;
        }
        let bound = base.saturating_mul(1 << (self.failures - 1).min(20)).min(longest);
        let share = random as f64 / u64::MAX as f64;
        let wait = match again {
            Again::Never => return None,
            Again::Soon | Again::Briefly | Again::Once => bound.mul_f64(share),
            Again::After(asked) => asked.saturating_add(base.mul_f64(share)),
        };
        (elapsed.saturating_add(wait) <= budget).then_some(wait)
    }
}

/// The wait that a provider asks for in its headers: in milliseconds, in seconds, or until a date.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(millis) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(millis / 1e3).ok();
    }
    let text = text("retry-after")?;
    if let Ok(seconds) = text.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let wait = parse_http_date(text)?.as_millis().saturating_sub(now.as_millis());
    Some(Duration::from_millis(u64::try_from(wait).unwrap_or(0)))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_http_date(text: &str) -> Option<Timestamp> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = text.split_once(", ")?.1.split(' ');
    let (day, month, year, time) = (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_month = month.len() == 3 && month.is_ascii();
    let month = MONTHS.find(month).filter(|place| is_month && place % 3 == 0)? / 3 + 1;
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{time}Z"))
}

/// Reads Google's durations, such as `34.074824224s`.
pub(crate) fn parse_google_delay(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[track_caller]
    fn check_waits(settings: RetrySettings, again: Again, random: u64, expected: &[f64]) {
        let mut retries = RetryBudget::new(settings);
        let mut elapsed = Duration::ZERO;
        let mut waits = Vec::new();
        while let Some(wait) = retries.next_wait(again, elapsed, random) {
            elapsed += wait;
            waits.push((wait.as_secs_f64() * 100.0).round() / 100.0);
        }
        assert_eq!(waits, expected);
    }

    #[test]
    fn waits_double_up_to_their_bound() {
        let settings = RetrySettings::default();
        check_waits(settings, Again::Soon, u64::MAX, &[1.0, 2.0, 4.0, 8.0, 16.0]);
        check_waits(settings, Again::Soon, u64::MAX / 2, &[0.5, 1.0, 2.0, 4.0, 8.0]);
        check_waits(settings, Again::Soon, 0, &[0.0; 5]);
        let short = RetrySettings { longest: 3 * SECOND, ..settings };
        check_waits(short, Again::Soon, u64::MAX, &[1.0, 2.0, 3.0, 3.0, 3.0]);
        check_waits(settings, Again::Briefly, u64::MAX, &[1.0, 2.0]);
        check_waits(settings, Again::Once, u64::MAX, &[1.0]);
        check_waits(settings, Again::Never, u64::MAX, &[]);
    }

    #[test]
    fn all_waits_keep_within_the_budget() {
        let settings = RetrySettings { budget: 10 * SECOND, ..RetrySettings::default() };
        check_waits(settings, Again::Soon, u64::MAX, &[1.0, 2.0, 4.0]);
        check_waits(settings, Again::After(4 * SECOND), 0, &[4.0, 4.0]);
        check_waits(settings, Again::After(11 * SECOND), 0, &[]);
        check_waits(settings, Again::After(Duration::MAX), u64::MAX, &[]);
    }

    #[track_caller]
    fn check_header(name: &'static str, value: &str, expected: Option<f64>) {
        let now = Timestamp::parse("1994-11-06T08:49:07Z").expect("a time");
        let headers = HeaderMap::from_iter([(
            hyper::header::HeaderName::from_static(name),
            value.parse().expect("a header"),
        )]);
        assert_eq!(retry_after(&headers, now).map(|wait| wait.as_secs_f64()), expected, "{value}");
    }

    #[test]
    fn providers_say_in_many_ways_how_long_to_wait() {
        check_header("retry-after", "7", Some(7.0));
        check_header("retry-after", "0.5", Some(0.5));
        check_header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT", Some(30.0));
        check_header("retry-after", "Sun, 06 Nov 1994 08:00:00 GMT", Some(0.0));
        check_header("retry-after-ms", "1500", Some(1.5));
        for odd in ["", "soon", "-3", "NaN", "inf", "Sun, 06 anF 1994 08:49:37 GMT", "Sun, 06 Nov"] {
            check_header("retry-after", odd, None);
        }
        assert_eq!(parse_google_delay("34.5s"), Some(Duration::from_millis(34_500)));
        assert_eq!(parse_google_delay("34.5"), None);
        assert_eq!(parse_google_delay("-1s"), None);
    }

    #[test]
    fn the_system_rolls_other_dice_each_time() {
        let system = Surroundings::system();
        assert!((0..20).any(|_| system.random() != system.random()));
        assert!(system.now() > Timestamp::parse("2026-01-01").expect("a date"));
    }
}
