//! Compaction by a model, measured like any other method.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use longhaul_app::models::{ChosenModel, Models, SessionModels, compaction_model, priced};
use longhaul_app::runtime::runtime;
use longhaul_app::settings::Settings;
use longhaul_compaction::{
    Compaction, CutReason, Input, Plan, PlanOptions, PreparedMessages, Rung, Tracker, preview,
};
use longhaul_conversation::{Estimator, Message, Origin, Part, Role, SpendMeter, TokenCount, Weights};
use longhaul_engine::{Spend, SpendCaps, Summariser, SummaryTask, Verify};
use longhaul_eval::{CompactionTask, Compactor, Method, offline};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

use crate::options::ModelOptions;
use crate::output::{Color, Screen, plural, print_aside, tell_notes, thousands, visible};
use crate::running::{Interrupted, watch};

/// A model called again and again, with its running cost.
pub(super) struct ModelUnderTest(Arc<Shared>);

struct Shared {
    runtime: Runtime,
    chosen: ChosenModel,
    verify: Verify,
    cancel: CancellationToken,
    account: Mutex<Account>,
    color: Color,
}

/// Cost and failures of the model's calls.
#[derive(Default)]
struct Account {
    spend: Spend,
    /// The number of missing summaries, with the reason for the last.
    failures: usize,
    reason: String,
}

impl ModelUnderTest {
    pub(super) fn new(options: &ModelOptions, settings: &Settings, color: Color) -> anyhow::Result<Self> {
        let warn = |text: &str| {
            let label = Screen::of_stderr(color).warning("warning:");
            print_aside(&format!("{label} {}\n", visible(text)));
        };
        let models = Models::load(settings, options.ca_file.as_deref(), tell_notes(color), warn)?;
        let chosen = compaction_model(&models, options.model.as_deref(), &SessionModels::default())?;
        let (runtime, cancel) = (runtime()?, CancellationToken::new());
        {
            let _within = runtime.enter();
            watch(&cancel)?;
        }
        let account = Mutex::default();
        let verify = settings.engine().verify;
        Ok(Self(Arc::new(Shared { runtime, chosen, verify, cancel, account, color })))
    }

    /// The method under test.
    pub(super) fn method(&self) -> Method {
        let shared = self.0.clone();
        Method::new("longhaul-model", move || ModelCompactor {
            shared: shared.clone(),
            tracker: Tracker::default(),
            offline: offline().open(),
        })
    }

    pub(super) fn is_cancelled(&self) -> bool {
        self.0.cancel.is_cancelled()
    }

    /// The spend so far, in a few words.
    pub(super) fn spent(&self) -> String {
        let Account { spend, .. } = *self.0.account();
        let calls = plural(spend.calls as usize, "call", "calls");
        let money =
            if self.0.chosen.prices.is_some() { format!(", ${:.4}", spend.money) } else { String::new() };
        format!("{calls}, {} tokens{money}", thousands(spend.tokens.0))
    }

    /// Reports cost and failures. After an interruption there is nothing more to show.
    pub(super) fn conclude(&self) -> anyhow::Result<()> {
        let screen = Screen::of_stderr(self.0.color);
        let name = &self.0.chosen.full_name;
        print_aside(&format!("{} {}: {}\n", screen.faint("note:"), visible(name), self.spent()));
        if self.is_cancelled() {
            return Err(Interrupted.into());
        }
        let account = self.0.account();
        if account.failures > 0 {
            let times = plural(account.failures, "snapshot was", "snapshots were");
            let reason = visible(&account.reason);
            print_aside(&format!("{} {times} written offline: {reason}\n", screen.warning("warning:")));
        }
        Ok(())
    }
}

impl Shared {
    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Follows one session.
struct ModelCompactor {
    shared: Arc<Shared>,
    tracker: Tracker,
    /// The fallback where the model fails.
    offline: Box<dyn Compactor>,
}

/// The model's answer to a snapshot where the tail goes on with the user.
const ACKNOWLEDGED: &str = "Understood; I will go on from this state.";

impl Compactor for ModelCompactor {
    fn observe(&mut self, message: &Message) {
        self.tracker.observe(message);
        self.offline.observe(message);
    }

    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let Some(snapshot) = self.snapshot(task) else { return self.offline.compact(task) };
        let tail = task.tail();
        let mut messages =
            vec![Message::new("snapshot", Role::User, vec![Part::text(Origin::Summary, snapshot)])];
        if tail.first().is_some_and(|first| first.role == Role::User) {
            messages.push(Message::new("acknowledged", Role::Model, vec![Part::model_text(ACKNOWLEDGED)]));
        }
        messages.extend_from_slice(tail);
        messages
    }
}

impl ModelCompactor {
    /// The snapshot that the model writes, if it does.
    fn snapshot(&self, task: &CompactionTask<'_>) -> Option<String> {
        let shared = &*self.shared;
        // Tokens are characters / 4 here, whatever the characters are.
        let estimator =
            Estimator { weights: Weights { chars_per_token: 4.0, non_ascii: 0.25 }, ..Estimator::default() };
        let options = PlanOptions { estimator, ..PlanOptions::new(shared.chosen.window) };
        let prepared = PreparedMessages::as_given(task.context);
        let input = Input::new(&self.tracker, &prepared, &options);
        let compaction = Compaction {
            tail_from: task.tail_from,
            cut: CutReason::GroupBoundary,
            snapshot_budget: task.budget - TokenCount(12),
            tail: TokenCount::ZERO,
            replacements: Vec::new(),
            shortenings: Vec::new(),
        };
        let plan = Plan { rung: Rung::Compact(compaction), reason: String::new(), before: input.size() };
        let (meter, started) = (SpendMeter::default(), Instant::now());
        let summary_task = SummaryTask {
            input: &input,
            plan: &plan,
            verify: shared.verify,
            left: SpendCaps::default(),
            meter: &meter,
            clock: &|| started.elapsed(),
            events: &|_| {},
        };
        let summariser = priced(&shared.chosen);
        let summarised = shared.cancel.run_until_cancelled(summariser.summarise(&summary_task));
        let written = shared.runtime.block_on(summarised);
        let mut account = shared.account();
        account.spend = account.spend.plus(summariser.spend(&meter.total()));
        let refused = match written? {
            Ok(draft) => match preview(&input, &plan, &draft) {
                Ok(preview) => return Some(preview.snapshot.render()),
                Err(refusal) => refusal.to_string(),
            },
            Err(error) => error.to_string(),
        };
        account.failures += 1;
        account.reason = refused;
        None
    }
}
