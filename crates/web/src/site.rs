//! State that pages share: the settings, the sessions that were found, and what is being read.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use longhaul_app::found::{self, Reach};
use longhaul_app::settings::Settings;

use crate::chronicle::Readings;
use crate::found_list::FoundList;
use crate::gateway::GatewaySource;
use crate::syncing::{Syncing, lock};

/// The settings of the page.
#[derive(Debug)]
pub struct SiteOptions {
    /// The user's settings.
    pub settings: Settings,
    /// True if no page may change anything.
    pub is_read_only: bool,
    /// Figures of the gateway, if there is one.
    pub gateway: Option<GatewaySource>,
}

/// State that pages share.
pub(crate) struct Site {
    pub(crate) settings: Arc<Settings>,
    pub(crate) is_read_only: bool,
    pub(crate) gateway: Option<GatewaySource>,
    pub(crate) readings: Readings,
    pub(crate) syncing: Syncing,
    found: Mutex<Option<FoundState>>,
}

struct FoundState {
    list: Arc<FoundList>,
    at: Instant,
    /// The time that the look took.
    took: Duration,
    is_refreshing: bool,
}

/// A list as old as this is shown, and found anew behind it.
const FRESH: Duration = Duration::from_secs(2);
/// A look that takes long is taken that much less often.
const SELDOM: u32 = 30;

impl Site {
    pub(crate) fn new(options: SiteOptions) -> Self {
        let SiteOptions { settings, is_read_only, gateway } = options;
        let (settings, readings) = (Arc::new(settings), Readings::default());
        Self {
            settings,
            is_read_only,
            gateway,
            readings,
            syncing: Syncing::default(),
            found: Mutex::new(None),
        }
    }

    /// The sessions of all agents. Only the first look waits until they are found.
    pub(crate) fn found(self: &Arc<Self>) -> Arc<FoundList> {
        let mut found = lock(&self.found);
        let Some(state) = &mut *found else {
            // Whoever asks meanwhile waits for this look instead of making another.
            let state = self.look(None);
            let list = Arc::clone(&state.list);
            *found = Some(state);
            return list;
        };
        if state.at.elapsed() > FRESH.max(state.took * SELDOM) && !state.is_refreshing {
            state.is_refreshing = true;
            let site = Arc::clone(self);
            std::thread::spawn(move || site.refresh());
        }
        Arc::clone(&state.list)
    }

    /// Finds the sessions anew, now.
    pub(crate) fn refresh(&self) -> Arc<FoundList> {
        let before = lock(&self.found).as_ref().map(|state| Arc::clone(&state.list));
        let state = self.look(before.as_deref());
        let list = Arc::clone(&state.list);
        *lock(&self.found) = Some(state);
        list
    }

    fn look(&self, before: Option<&FoundList>) -> FoundState {
        let begun = Instant::now();
        let list = Arc::new(FoundList::new(found::find(Reach::Everything), before, &self.settings));
        FoundState { list, at: Instant::now(), took: begun.elapsed(), is_refreshing: false }
    }
}
