//! Sub-agents: other agents that an agent can hand a task to, each with a prompt, tools, a model and limits of its own.

mod behalf;
mod definition;
mod front_matter;
mod load;
mod run;
mod tool;

pub use definition::{
    AgentModel, AgentName, AgentSource, AgentTools, Definition, DefinitionProblem, parse_definition,
};
pub use load::{AgentPlaces, LoadedSubagents, load_subagents};
pub(crate) use run::{Aside, Desk, Errand};

/// The sub-agents that can be started, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagents(Vec<Definition>);

impl Subagents {
    /// None.
    pub const NONE: &'static Self = &Self(Vec::new());

    /// These; of two with one name, the later one counts.
    pub fn new(definitions: impl IntoIterator<Item = Definition>) -> Self {
        let mut known: Vec<Definition> = Vec::new();
        for definition in definitions {
            known.retain(|other| other.name != definition.name);
            known.push(definition);
        }
        known.sort_by(|one, other| one.name.cmp(&other.name));
        Self(known)
    }

    /// Those that come with Longhaul.
    pub fn built_in() -> Self {
        Self::new(load::built_in())
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&Definition> {
        self.0.iter().find(|definition| definition.name.as_str() == name)
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
