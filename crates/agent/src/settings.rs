//! How an agent works, whatever is said.

use longhaul_compaction::{BudgetSettings, TruncateMode};
use longhaul_conversation::Estimator;
use longhaul_conversation::TokenCount;
use longhaul_policy::{
    LoadedPolicies, Policy, PolicyError, Rule, SavedFiles, Situation, default_rules, load_saved, revoke_saved,
};
use longhaul_workspace::Patience;

use crate::Surroundings;

/// How an agent works, whatever is said.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The model that answers.
    pub model: ModelProfile,
    /// The system prompt, without memory.
    pub system: String,
    /// What the model is told about where the session takes place.
    pub surroundings: Surroundings,
    /// What the user set of the budget for compactions.
    pub budget: BudgetSettings,
    /// The largest share of the conversation that a compaction leaves as it is; the usual one if not set.
    pub keep: Option<f64>,
    /// How compactions are carried out.
    pub compaction: longhaul_engine::Settings,
    /// Measures everything.
    pub estimator: Estimator,
    /// Which calls run, and who is asked.
    pub permissions: Permissions,
    /// Which of the tools the model is told of.
    pub tools: ToolChoice,
    /// How much of a tool's output the model sees.
    pub outputs: OutputSettings,
    /// Where it all ends.
    pub limits: Limits,
    /// Whether somebody watches for a model that goes round in circles.
    pub watches_loops: bool,
    /// What a command's output may take before a helper summarises it; never if not set.
    pub shell_summary: Option<TokenCount>,
    /// Whether it is remembered what happened lately.
    pub records_activity: bool,
}

impl Settings {
    /// The usual settings for this model in this place, with nobody to ask.
    pub fn new(model: ModelProfile, surroundings: Surroundings) -> Self {
        Self {
            model,
            system: String::new(),
            surroundings,
            budget: BudgetSettings::default(),
            keep: None,
            compaction: longhaul_engine::Settings::default(),
            estimator: Estimator::default(),
            permissions: Permissions::default(),
            tools: ToolChoice::All,
            outputs: OutputSettings::default(),
            limits: Limits::default(),
            watches_loops: true,
            shell_summary: None,
            records_activity: true,
        }
    }
}

/// What must be known of a model to talk to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProfile {
    /// Its name, as its provider knows it.
    pub name: String,
    /// The name that sessions record, by which it is found again.
    pub recorded_as: String,
    /// What it can take.
    pub window: TokenCount,
    /// How much of that must be left for the answer.
    pub output_reserve: Option<TokenCount>,
}

impl ModelProfile {
    /// The name that sessions record for another model of the same provider.
    pub(crate) fn recorded_as_other(&self, name: &str) -> String {
        match self.recorded_as.strip_suffix(&self.name) {
            Some(provider) => format!("{provider}{name}"),
            None if name == self.name => self.recorded_as.clone(),
            None => name.to_string(),
        }
    }
}

/// Which calls run, which are asked for, and where answers are kept.
#[derive(Clone, Debug)]
pub struct Permissions {
    /// The rules.
    pub policy: Policy,
    /// The circumstances in which they are asked.
    pub situation: Situation,
    /// The files of what the user always allows, as far as that can be kept.
    pub saved: SavedFiles,
    /// Whether the user may allow something for good.
    pub offers_always: bool,
    /// What forbids the mode `yolo`, in words such as the name of a setting.
    pub yolo_forbidden_by: Option<String>,
    /// The sub-agent that makes the calls, if it is one.
    pub subagent: Option<String>,
}

impl Permissions {
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
        revoke_saved(&rule, Patience::default())?;
        if let Some(reach) = rule.reach() {
            self.policy = std::mem::take(&mut self.policy).without_saved(reach, &rule.describe());
        }
        Ok(rule)
    }
}

impl Default for Permissions {
    /// The rules that come with Longhaul, and nobody to ask.
    fn default() -> Self {
        Self {
            policy: Policy::new(default_rules()),
            situation: Situation { is_interactive: false, ..Situation::default() },
            saved: SavedFiles::default(),
            offers_always: true,
            yolo_forbidden_by: None,
            subagent: None,
        }
    }
}

/// Which of the tools the model is told of, and can call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// All of them.
    #[default]
    All,
    /// Those of these names.
    Only(Vec<String>),
}

impl ToolChoice {
    pub(crate) fn includes(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.iter().any(|known| known == name),
        }
    }
}

/// How much of a tool's output the model sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutputSettings {
    /// So many characters, or fewer where the window is nearly full; 0 or less for all of them.
    pub threshold: i64,
    /// Which part of a longer output is shown.
    pub mode: TruncateMode,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { threshold: 40_000, mode: TruncateMode::Characters }
    }
}

/// Where it all ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often the model may be asked in one session; without end if not set.
    pub session: Option<u32>,
    /// How often it may be asked in one turn.
    pub turn: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { session: None, turn: 100 }
    }
}
