//! A recorded session made ready for compaction: what stands in it, all that ever happened in it, and the options of a pass.

use std::io::Read;
use std::path::Path;

use anyhow::Context;
use longhaul_compaction::{
    Budget, BudgetSettings, CountHistory, CountedSize, Fixed, MaskWhen, MeasuredMessage, PlanOptions,
    Tracker, Trigger,
};
use longhaul_conversation::{Estimate, Estimator, Message, TokenCount};
use longhaul_formats::{SeenParts, Session, SessionInfo, read_session_watched};

use crate::kept_rules::kept_rules;
use crate::models::{ContextWindow, known_scale};
use crate::sessions::{Redaction, display_name};
use crate::settings::Settings;

/// A session to be compacted.
#[derive(Debug)]
pub struct LoadedSession {
    /// The session as it stands.
    pub session: Session,
    /// Has observed the whole log, including what its agent compacted away.
    pub tracker: Tracker,
    /// The provider's count.
    pub counts: CountHistory,
}

impl LoadedSession {
    /// Reads a session. Secrets are redacted before anything else sees it. `source` is the content of `file`.
    ///
    /// # Errors
    /// If it cannot be read, or is no session of a known format.
    pub fn read(
        file: &Path,
        source: impl Read,
        estimator: &Estimator,
        mut redaction: Option<&mut Redaction>,
    ) -> anyhow::Result<Self> {
        let mut seen = SeenParts::default();
        let mut tracker = Tracker::default();
        tracker.rules_mut().expect_quoted(kept_rules(file)?);
        let mut counts = CountHistory::default();
        let session = read_session_watched(source, &mut |change, transcript| {
            counts.observe(change, |counts| {
                let messages = transcript.messages().iter();
                let measured = |message: &Message| (message.id.clone(), measured(message, counts, estimator));
                messages.map(measured).collect::<Vec<_>>()
            });
            if let Some(redaction) = &mut redaction {
                redaction.change(change);
            }
            if let Some(message) = seen.new_parts(change) {
                tracker.observe(&message);
            }
        });
        let mut session = session.with_context(|| format!("could not read {}", display_name(file)))?;
        if let Some(redaction) = redaction {
            redaction.surroundings(&mut session);
        }
        if let Some(directory) = &session.info.directory {
            tracker.learn_directory(directory);
        }
        Ok(Self { session, tracker, counts })
    }

    /// The size of the session, if its provider counted any of it.
    pub fn counted_size(&self, estimator: &Estimator) -> Option<CountedSize> {
        let messages = self.session.transcript.messages().iter();
        let messages: Vec<_> = messages.map(|message| measured(message, &self.counts, estimator)).collect();
        self.counts.size(&messages, fixed(&self.session, estimator).total().into())
    }
}

/// A message as it is measured.
fn measured(message: &Message, counts: &CountHistory, estimator: &Estimator) -> MeasuredMessage {
    MeasuredMessage { size: estimator.message(message), counted: counts.count_of(message) }
}

/// Orders for one pass, beyond the settings.
#[derive(Clone, Debug)]
pub struct PassRequest {
    /// Compact when it is due, or at once.
    pub trigger: Trigger,
    /// A topic to keep more about.
    pub focus: Option<String>,
    /// A name for a session that has none of its own.
    pub name: String,
}

/// The options of one pass over a session.
pub fn plan_options(
    request: PassRequest,
    settings: &Settings,
    session: &Session,
    window: ContextWindow,
    counted: Option<CountedSize>,
) -> PlanOptions {
    let budget = BudgetSettings {
        threshold: settings.threshold(session.info.model()).map(|(threshold, _)| threshold),
        target: settings.target(),
        snapshot: settings.snapshot_budget(),
        outputs: settings.output_limits(),
        ..BudgetSettings::default()
    };
    let usual = PlanOptions::new(window.size);
    let scale = counted.map_or_else(|| known_scale(settings, session.info.model()), |size| size.scale);
    let estimator = settings.estimator().scaled(scale);
    let mut fixed = fixed(session, &estimator);
    if let Some(size) = counted.filter(|size| is_carried(size, window)) {
        let recorded = fixed.total() + estimator.messages(session.transcript.messages());
        fixed.system += size.total - recorded;
    }
    PlanOptions {
        budget: Budget::new(window.size, &budget),
        keep: settings.keep().unwrap_or(usual.keep),
        fixed,
        trigger: request.trigger,
        mask_when: if caches_nothing(&session.info) { MaskWhen::Always } else { usual.mask_when },
        focus: request.focus.filter(|focus| !focus.trim().is_empty()),
        session: session.info.session_id.clone().unwrap_or(request.name),
        empty: usual.empty,
        estimator,
    }
}

/// True if a window holds what the provider counted beside the file. A smaller one is that of another agent, whose own system
/// prompt and tools nobody knows.
pub fn is_carried(size: &CountedSize, window: ContextWindow) -> bool {
    size.unrecorded.0 <= window.size.0 / 2
}

fn fixed(session: &Session, estimator: &Estimator) -> Fixed {
    let tools = &session.transcript.tools;
    Fixed {
        system: estimator.parts(&session.transcript.system),
        tools: tools.iter().map(|tool| estimator.tool(tool)).sum::<Estimate>().tokens(),
        memory: TokenCount::ZERO,
    }
}

/// True if the provider counted tokens and took none of them from a cache.
fn caches_nothing(info: &SessionInfo) -> bool {
    info.last_usage.is_some_and(|usage| usage.input.is_some() && usage.cached == Some(TokenCount::ZERO))
}
