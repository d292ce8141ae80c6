//! The tools of an extractor. All of them go through the [review](super::review::DraftReview), which knows the sessions of
//! the index, the skills and the inbox, and no paths.

use std::sync::Arc;

use longhaul_conversation::ToolDeclaration;
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolInvocation, parse_arguments, schema_of};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::review::DraftReview;

/// Something that an extractor can call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtractorToolKind {
    ReadSession,
    SearchSessions,
    ReadSkill,
    WriteSkill,
    ProposeFact,
}

/// Arguments of `read_session`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadSessionArguments {
    /// The session, by its path or id as the index has it.
    pub(super) session: String,
    /// The mark of the message to begin with, such as m57; from the first on if not given.
    #[serde(default)]
    pub(super) from: Option<String>,
}

/// Arguments of `search_sessions`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct SearchArguments {
    /// Words or a piece of a command, as they stand there; capitals do not matter.
    pub(super) text: String,
}

/// Arguments of `read_skill`.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ReadSkillArguments {
    /// The name of the skill.
    pub(super) name: String,
    /// A file of the skill, such as scripts/up.sh; its SKILL.md if not given.
    #[serde(default)]
    pub(super) file: Option<String>,
}

/// A skill to write.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct WriteSkillArguments {
    /// The whole SKILL.md, front matter included.
    pub(super) content: String,
    /// Scripts that the procedure needs.
    #[serde(default)]
    pub(super) scripts: Vec<ScriptArguments>,
    /// How sure it is that this will be of use again.
    pub(super) confidence: Confidence,
    /// Why it is, in a sentence for the user.
    pub(super) reason: String,
    /// Where what it says was seen. Each session has to be read before.
    pub(super) evidence: Vec<EvidenceArguments>,
}

/// A script of a skill.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct ScriptArguments {
    /// The name of its file, such as check.sh.
    pub(super) name: String,
    /// The whole script, with its usage in a comment.
    pub(super) content: String,
}

/// Where something was seen.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct EvidenceArguments {
    /// The session, by its path or id as the index has it.
    pub(super) session: String,
    /// The marks of the messages, such as m12.
    pub(super) marks: Vec<String>,
}

/// How sure a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Confidence {
    /// Seen in several sessions, or validated.
    High,
    /// A procedure, an order or a verified fix of this project.
    Medium,
    /// A single incident, or something generic.
    Low,
}

impl Confidence {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// A fact to propose.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct FactArguments {
    /// private: for this project on this machine; global: for all that the user does.
    pub(super) kind: FactKind,
    /// What to remember, in one sentence.
    pub(super) fact: String,
    /// The user's own words that say so, exactly as they stand in the session.
    pub(super) quote: String,
    /// The session in which they stand, by its path or id as the index has it.
    pub(super) session: String,
    /// The mark of the message, such as m12.
    #[serde(default)]
    pub(super) mark: Option<String>,
}

/// Whose memory a fact belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum FactKind {
    /// The user's, in this project.
    Private,
    /// The user's, everywhere.
    Global,
}

impl ExtractorToolKind {
    pub(super) const ALL: [Self; 5] =
        [Self::ReadSession, Self::SearchSessions, Self::ReadSkill, Self::WriteSkill, Self::ProposeFact];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ReadSession => "read_session",
            Self::SearchSessions => "search_sessions",
            Self::ReadSkill => "read_skill",
            Self::WriteSkill => "write_skill",
            Self::ProposeFact => "propose_fact",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::ReadSession => {
                "Shows a session of the index, page by page. Each line begins with the mark of its message."
            }
            Self::SearchSessions => {
                "Finds the messages of all sessions in the index that say something. Use it to see whether a thing happened \
                 more than once, before you read."
            }
            Self::ReadSkill => "Shows a skill that is there already.",
            Self::WriteSkill => {
                "Puts a whole skill into the user's inbox. Under the name of a skill that is there already it proposes to \
                 change that one. It is checked first; what is refused can be mended once."
            }
            Self::ProposeFact => {
                "Proposes to remember something that the user said. Only the user's own words count as its source."
            }
        }
    }

    fn parameters(self) -> Value {
        match self {
            Self::ReadSession => schema_of::<ReadSessionArguments>(),
            Self::SearchSessions => schema_of::<SearchArguments>(),
            Self::ReadSkill => schema_of::<ReadSkillArguments>(),
            Self::WriteSkill => schema_of::<WriteSkillArguments>(),
            Self::ProposeFact => schema_of::<FactArguments>(),
        }
    }

    fn parse<T: DeserializeOwned>(self, args: &Value) -> Result<T, String> {
        parse_arguments(self.name(), args)
    }
}

/// A tool of an extractor.
pub(super) struct ExtractorTool {
    pub(super) kind: ExtractorToolKind,
    pub(super) review: Arc<DraftReview>,
}

impl Tool for ExtractorTool {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: self.kind.name().to_string(),
            description: self.kind.description().to_string(),
            parameters: self.kind.parameters(),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let kind = self.kind;
        Ok(match kind {
            ExtractorToolKind::ReadSession => {
                Preview::Look(kind.parse::<ReadSessionArguments>(args)?.session)
            }
            ExtractorToolKind::SearchSessions => Preview::Look(kind.parse::<SearchArguments>(args)?.text),
            ExtractorToolKind::ReadSkill => Preview::Look(kind.parse::<ReadSkillArguments>(args)?.name),
            ExtractorToolKind::WriteSkill => {
                kind.parse::<WriteSkillArguments>(args)?;
                Preview::Other("propose a skill".into())
            }
            ExtractorToolKind::ProposeFact => {
                kind.parse::<FactArguments>(args)?;
                Preview::Other("propose a fact".into())
            }
        })
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        let (kind, review, args) = (self.kind, Arc::clone(&self.review), call.args.clone());
        let work = move || match kind {
            ExtractorToolKind::ReadSession => review.read_session(&kind.parse(&args)?),
            ExtractorToolKind::SearchSessions => review.search_sessions(&kind.parse(&args)?),
            ExtractorToolKind::ReadSkill => review.read_skill(&kind.parse(&args)?),
            ExtractorToolKind::WriteSkill => review.write_skill(&kind.parse(&args)?),
            ExtractorToolKind::ProposeFact => review.propose_fact(&kind.parse(&args)?),
        };
        Box::pin(async move {
            match tokio::task::spawn_blocking(work).await {
                Ok(Ok(text)) => ToolAnswer::succeeded(text),
                Ok(Err(reason)) => ToolAnswer::failed(reason),
                Err(error) => ToolAnswer::failed(format!("The tool broke off: {error}.")),
            }
        })
    }
}
