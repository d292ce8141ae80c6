//! Settings of an agent: model, prompt, permissions, limits.

use longhaul_compaction::{BudgetSettings, TruncateMode};
use longhaul_conversation::Estimator;
use longhaul_conversation::TokenCount;
use longhaul_policy::{
    Call, LoadedPolicies, Policy, PolicyError, PolicyExplanation, ReadingVerdicts, Rule, Ruling, SavedFiles,
    Situation, default_rules, load_saved, revoke_saved,
};
use longhaul_tools::PermittedEffects;
use longhaul_workspace::LockTimeout;
use serde_json::Value;

use crate::models::ModelProfile;
use crate::prompt::SessionContext;
use crate::reading::ReadingScope;

/// Settings of an agent.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model that answers.
    pub model: ModelProfile,
    /// The system prompt, without memory.
    pub system: String,
    /// The time, system and folders of the session.
    pub context: SessionContext,
    /// The budget of compactions, as far as the user set it.
    pub budget: BudgetSettings,
    /// The largest share of the conversation that a compaction leaves as it is; the usual one if not set.
    pub keep: Option<f64>,
    /// Settings of the engine that compacts.
    pub compaction: longhaul_engine::Settings,
    /// Measures everything.
    pub estimator: Estimator,
    /// The rules about tool calls.
    pub permissions: Permissions,
    /// The tools that the model can call.
    pub tools: ToolSelection,
    /// Limits of tool output.
    pub outputs: OutputSettings,
    /// Limits of steps.
    pub limits: StepLimits,
    /// `true` to watch for a model that is stuck in a loop.
    pub watches_loops: bool,
    /// `true` if the user is asked before an automatic compaction.
    pub asks_before_compaction: bool,
    /// Tokens of a command's output above which a side model summarises it; never if not set.
    pub shell_summary: Option<TokenCount>,
    /// `true` to keep the latest activity.
    pub records_activity: bool,
}

impl Settings {
    /// The usual settings for this model in this place, with no user to ask.
    pub fn new(model: ModelProfile, context: SessionContext) -> Self {
        Self {
            model,
            system: String::new(),
            context,
            budget: BudgetSettings::default(),
            keep: None,
            compaction: longhaul_engine::Settings::default(),
            estimator: Estimator::default(),
            permissions: Permissions::default(),
            tools: ToolSelection::All,
            outputs: OutputSettings::default(),
            limits: StepLimits::default(),
            watches_loops: true,
            asks_before_compaction: false,
            shell_summary: None,
            records_activity: true,
        }
    }
}

/// The rules about tool calls, and the files that keep the user's answers.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// The rules.
    pub policy: Policy,
    /// The circumstances in which they are asked.
    pub situation: Situation,
    /// The files of what the user always allows, as far as that can be kept.
    pub saved: SavedFiles,
    /// `true` if the user may allow something for good.
    pub offers_always: bool,
    /// The setting that forbids the mode `yolo`.
    pub yolo_forbidden_by: Option<String>,
    /// The sub-agent that makes the calls, if it is one.
    pub subagent: Option<String>,
    /// The places that commands may read without approval, in a trusted folder.
    pub reading: Option<ReadingScope>,
}

impl Permissions {
    /// Explains the decision about a call, as [`Policy::explain`] does.
    pub fn explain(&self, call: &Call<'_>) -> PolicyExplanation<'_> {
        let verdicts = self.reading_verdicts(call);
        let call = verdicts.as_ref().map_or(*call, |verdicts| call.reading(verdicts));
        self.policy.explain(&call, self.situation)
    }

    /// Decides about a call, as [`Policy::decide`] does.
    pub(crate) fn decide(&self, call: &Call<'_>) -> Ruling<'_> {
        let verdicts = self.reading_verdicts(call);
        let call = verdicts.as_ref().map_or(*call, |verdicts| call.reading(verdicts));
        self.policy.decide(&call, self.situation)
    }

    /// The effects that a call is confined to: a command line that only reads cannot be made to do more.
    pub(crate) fn permitted_effects(&self, tool: &str, args: &Value) -> PermittedEffects {
        match self.reading_verdicts(&Call::new(tool, args)) {
            Some(verdicts) if verdicts.are_all_reading() => PermittedEffects::ReadingOnly,
            Some(_) | None => PermittedEffects::Any,
        }
    }

    /// The commands of a call's line that only read, in a trusted folder.
    fn reading_verdicts(&self, call: &Call<'_>) -> Option<ReadingVerdicts> {
        let scope = self.reading.as_ref().filter(|_| self.situation.is_trusted)?;
        Some(scope.verdicts(call.command()?, call.args?))
    }

    /// Reads again what the user always allows; what was allowed for the session alone is over. What is wrong with the
    /// files was said when they were first read.
    pub fn reload_saved(&mut self) {
        let LoadedPolicies { rules, .. } = load_saved(&self.saved);
        let kept = self.policy.rules().iter().filter(|rule| rule.reach().is_none()).cloned();
        self.policy =
            Policy::new(kept.chain(rules.into_iter().filter(|rule| rule.reach().is_some())).collect());
    }

    /// Takes back an "always" of the user's, in its file and for the rest of this session; returns it. It is named by its
    /// number in [`Policy::saved`], from 1, or by words of its description.
    ///
    /// # Errors
    /// If none or several are meant, or its file cannot be changed. Then nothing has changed.
    pub fn revoke(&mut self, given: &str) -> Result<Rule, PolicyError> {
        let rule = self.policy.find_saved(given)?.clone();
        revoke_saved(&rule, LockTimeout::default())?;
        if let Some(reach) = rule.reach() {
            self.policy = std::mem::take(&mut self.policy).without_saved(reach, &rule.describe());
        }
        Ok(rule)
    }
}

impl Default for Permissions {
    /// The rules that come with Longhaul, and no user to ask.
    fn default() -> Self {
        Self {
            policy: Policy::new(default_rules()),
            situation: Situation { is_interactive: false, ..Situation::default() },
            saved: SavedFiles::default(),
            offers_always: true,
            yolo_forbidden_by: None,
            subagent: None,
            reading: None,
        }
    }
}

/// A selection of the tools that the model can call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolSelection {
    /// All tools.
    #[default]
    All,
    /// The tools of these names.
    Only(Vec<String>),
}

impl ToolSelection {
    pub(crate) fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// Limits of tool output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSettings {
    /// The most characters, fewer where the window is nearly full; 0 or less for no limit.
    pub threshold: i64,
    /// The part of a longer output that is shown.
    pub mode: TruncateMode,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { threshold: 40_000, mode: TruncateMode::Characters }
    }
}

/// Limits of steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepLimits {
    /// Maximum model calls per session; no limit if not set.
    pub session: Option<u32>,
    /// Maximum model calls per turn.
    pub turn: u32,
}

impl Default for StepLimits {
    fn default() -> Self {
        Self { session: None, turn: 100 }
    }
}
