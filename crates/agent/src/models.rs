//! The models that an application brings: what must be known of each, and those beside the main one.

use longhaul_conversation::{Model, TokenCount};
use serde::Deserialize;

use crate::side_model::SideModel;

/// The facts about a model that an agent needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelProfile {
    /// Its name, as its provider knows it.
    pub name: String,
    /// The name that sessions record, by which it is found again.
    pub recorded_as: String,
    /// The context window, in tokens.
    pub window: TokenCount,
    /// The share of the window that is kept for the answer.
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

    /// The most tokens of a request, with room left for the answer.
    pub(crate) fn input_limit(&self) -> TokenCount {
        // No reserve may leave less than half of the window.
        self.window - self.output_reserve.unwrap_or_default().min(TokenCount(self.window.0 / 2))
    }
}

/// A source of models by name: the providers of the program, or a script in tests.
pub trait ModelSource: Send + Sync {
    /// The model of this name.
    ///
    /// # Errors
    /// The reason why it cannot be asked, in words for the user.
    fn find(&self, name: &str) -> Result<NamedModel<'_>, String>;

    /// The model for small questions, if that is another one than the conversation's.
    fn helper(&self) -> Option<NamedModel<'_>> {
        None
    }
}

/// A model that was found by its name.
#[derive(Clone)]
pub struct NamedModel<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Its profile.
    pub profile: ModelProfile,
}

/// The models that judge whether a long turn makes progress.
#[derive(Clone, Copy)]
pub struct LoopJudges<'a> {
    /// Judges first.
    pub quick: SideModel<'a>,
    /// Judges once more where the first one is sure.
    pub thorough: Option<SideModel<'a>>,
}

/// Two models to choose from for each prompt, and the classifier that chooses.
#[derive(Clone, Copy)]
pub struct Router<'a> {
    /// The score, of 1 to 100 for difficulty, from which on a prompt goes to the model for hard ones; where it is not set,
    /// the classifier names the model instead.
    pub pro_from: Option<u8>,
    /// Chooses.
    pub classifier: SideModel<'a>,
    /// Answers simple prompts.
    pub flash: Route<'a>,
    /// Answers hard prompts.
    pub pro: Route<'a>,
}

/// A model that may be chosen.
#[derive(Clone, Copy)]
pub struct Route<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Its profile.
    pub profile: &'a ModelProfile,
}

/// The choice between the two models of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ModelTier {
    Flash,
    Pro,
}

impl<'a> Router<'a> {
    /// The model of a tier.
    pub(crate) fn route(&self, tier: ModelTier) -> Route<'a> {
        match tier {
            ModelTier::Flash => self.flash,
            ModelTier::Pro => self.pro,
        }
    }
}
