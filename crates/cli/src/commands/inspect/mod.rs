//! `longhaul inspect FILE`: where a session's tokens went.

mod json;
mod report;

use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use longhaul_app::kept_rules::kept_rules;
use longhaul_app::models::{ContextWindow, known_scale};
use longhaul_app::sessions::SeenParts;
use longhaul_app::settings::Settings;
use longhaul_compaction::{Breakdown, Survey, Threshold};
use longhaul_conversation::{Change, Message, TokenCount};
use longhaul_directives::{UserRequests, UserRules};
use longhaul_formats::{Event, SessionInfo, Warning, read};
use longhaul_ledger::Ledger;

use crate::input;
use crate::options::parse_tokens;
use crate::output::{Screen, print, print_json};

#[derive(Debug, Args)]
pub(crate) struct InspectOptions {
    /// Session file (format detected automatically), - for standard input, or a session of this folder, of any agent: latest, its
    /// number in `sessions list`, or its id [default: latest].
    #[arg(value_name = "SESSION", default_value = longhaul_app::found::UNNAMED, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Context window in tokens, such as 200000, 200k or 1m [default: the model's].
    #[arg(long, value_name = "N", value_parser = parse_tokens)]
    pub(crate) window: Option<TokenCount>,
    /// Include what the agent compacted away or undid.
    #[arg(long)]
    pub(crate) all: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    pub(crate) json: bool,
}

/// Everything that is shown about a session, as text or JSON.
struct Inspection {
    name: String,
    info: SessionInfo,
    breakdown: Breakdown,
    work: TrackedWork,
    side: SideChains,
    warnings: Vec<Warning>,
    window: ContextWindow,
    threshold: CompactionThreshold,
}

/// The size at which the session would be compacted.
struct CompactionThreshold {
    /// `None` if compaction is off.
    tokens: Option<TokenCount>,
    /// The place where it was set, if anywhere.
    set_by: Option<String>,
}

impl CompactionThreshold {
    fn find(settings: &Settings, model: Option<&str>, window: TokenCount) -> Self {
        let (threshold, set_by) = settings.threshold(model).unzip();
        let set_by = set_by.map(|provenance| provenance.to_string());
        Self { tokens: Threshold::resolve(threshold, None).tokens(window), set_by }
    }
}

/// Conversations of sub-agents, in figures.
#[derive(Default)]
struct SideChains {
    chains: std::collections::BTreeSet<String>,
    messages: usize,
}

/// Rules, requests and work of the whole session, including what was compacted away or undone.
#[derive(Default)]
struct TrackedWork {
    rules: UserRules,
    requests: UserRequests,
    ledger: Ledger,
}

impl TrackedWork {
    fn observe(&mut self, message: &Message) {
        self.rules.observe(message);
        self.requests.observe(message);
        self.ledger.observe(message);
    }
}

/// Reads the session and prints what is in it.
pub(crate) fn run(options: &InspectOptions, settings: &Settings, screen: &Screen) -> anyhow::Result<()> {
    let inspection = inspect(options, settings)?;
    match options.json {
        true => print_json(&json::object(&inspection)),
        false => print(&report::text(&inspection, screen)),
    }
}

fn inspect(options: &InspectOptions, settings: &Settings) -> anyhow::Result<Inspection> {
    let name = input::display_name(&options.file);
    let source = input::open(&options.file)?;
    let mut survey = Survey::new(settings.estimator());
    let (mut seen, mut work) = (SeenParts::default(), TrackedWork::default());
    work.rules.expect_quoted(kept_rules(&options.file)?);
    let mut side = SideChains::default();
    let mut warnings = Vec::new();
    let info = read(source, &mut |event| match event {
        Event::Change(change) => {
            if let Some(message) = seen.new_parts(&change) {
                work.observe(&message);
            }
            if !(options.all && matches!(change, Change::Restart | Change::RewindTo(_))) {
                survey.apply(&change);
            }
        }
        Event::Side { chain, .. } => {
            side.messages += 1;
            side.chains.insert(chain);
        }
        Event::Warning(warning) => warnings.push(warning),
        Event::Call(_) | Event::CompactionStart | Event::CompactionEnd => {}
    })
    .with_context(|| format!("could not read {name}"))?;
    let scale = known_scale(settings, info.model());
    // With what was compacted away the transcript is none that a provider counted.
    let breakdown = match options.all {
        true => survey.breakdown(&info.system, &info.tools),
        false => survey.counted_breakdown(&info.system, &info.tools, scale),
    };
    work.ledger.learn_root(info.directory.as_deref().unwrap_or_default());
    let counted = breakdown.counted.map(|counted| counted.highest);
    let window = ContextWindow::find(options.window, settings, &info, counted);
    let threshold = CompactionThreshold::find(settings, info.model(), window.size);
    Ok(Inspection { name, info, breakdown, work, side, warnings, window, threshold })
}
