//! Brings the archive up to date behind the pages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use longhaul_app::archive;
use longhaul_app::settings::Settings;

/// So long a search waits for new sessions to be copied.
const PATIENCE: Duration = Duration::from_millis(1_500);

/// The copying of new sessions: one at a time.
#[derive(Clone, Default)]
pub(crate) struct Syncing(Arc<AtomicBool>);

impl Syncing {
    /// Copies what is new; false if that goes on.
    pub(crate) fn bring_up_to_date(&self, settings: &Arc<Settings>) -> bool {
        if !self.0.swap(true, Ordering::AcqRel) {
            let (syncing, settings) = (self.clone(), Arc::clone(settings));
            std::thread::spawn(move || {
                let _ends = EndGuard(syncing);
                // What was copied before can still be searched.
                let _ = sync(&settings);
            });
        }
        let begun = Instant::now();
        while self.0.load(Ordering::Acquire) {
            if begun.elapsed() > PATIENCE {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }
}

/// The next search tries again, however this one ended.
struct EndGuard(Syncing);

impl Drop for EndGuard {
    fn drop(&mut self) {
        self.0.0.store(false, Ordering::Release);
    }
}

fn sync(settings: &Settings) -> anyhow::Result<()> {
    archive::sync(&mut archive::open()?, settings, |_| true)??;
    Ok(())
}

/// The guard of a lock; what a thread that panicked left is still a value.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
