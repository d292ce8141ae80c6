//! Sub-agents: other agents that an agent can hand a task to, each with a prompt, tools, a model and limits of its own.

mod behalf;
mod crew;
mod definition;
mod load;
mod run;
mod tool;

pub(crate) use crew::Crew;
pub use definition::{
    AgentModel, AgentName, AgentSource, AgentTools, Definition, DefinitionProblem, parse_definition,
};
pub use load::{AgentPlaces, LoadedSubagents, load_subagents};
pub(crate) use run::{Aside, Desk, Ended, Errand, run_alone};
pub(crate) use tool::Wait;

use longhaul_policy::AGENT_TOOL;
use longhaul_tools::ALIASES;

use crate::own_tools::OwnTool;

/// The most bytes of descriptions that a prompt lists.
const MOST_LISTED: usize = 8_000;

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

    /// Takes the one of this name out, for a use of its own.
    pub fn take(&mut self, name: &str) -> Option<Definition> {
        let place = self.0.iter().position(|definition| definition.name.as_str() == name)?;
        Some(self.0.remove(place))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &Definition> {
        self.0.iter()
    }

    /// A line for each, as prompts list them. Where they become too many, the rest is only named.
    pub fn list(&self) -> String {
        let mut left = MOST_LISTED;
        let lines = self.0.iter().map(|Definition { name, description, .. }| {
            left = left.saturating_sub(description.len());
            if left == 0 { format!("- {name}") } else { format!("- {name}: {description}") }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// What definitions name among their tools that is none, in words; `tools` are those that work on the workspace.
    pub fn unknown_tools(&self, tools: &[String]) -> Vec<String> {
        let is_own = |tool: &str| OwnTool::named(tool).is_some() || tool == AGENT_TOOL;
        let is_older = |tool: &str| ALIASES.iter().any(|(old, _)| *old == tool);
        let is_known = |tool: &String| tools.contains(tool) || is_own(tool) || is_older(tool);
        let mut unknown = Vec::new();
        for Definition { name, tools, source, .. } in &self.0 {
            let AgentTools::Only(named) = tools else { continue };
            let place = source.file().map(|file| format!("{}: ", file.display())).unwrap_or_default();
            let told = |tool| {
                format!("{place}the sub-agent \"{name}\" is to use {tool:?}, and there is no such tool")
            };
            unknown.extend(named.iter().filter(|tool| !is_known(tool)).map(told));
        }
        unknown
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, description: &str, tools: &str) -> Definition {
        let text = format!("---\nname: {name}\ndescription: {description}\ntools: {tools}\n---\nx");
        let source = AgentSource::User(format!("/agents/{name}.md").into());
        parse_definition(&text, source).0.expect("a definition")
    }

    #[test]
    fn a_list_is_never_long() {
        let few = Subagents::new([definition("b", "Second.", "x"), definition("a", "First.", "x")]);
        assert_eq!(few.list(), "- a: First.\n- b: Second.");
        let many = (0..99).map(|number| definition(&format!("a{number:02}"), &"x".repeat(500), "x"));
        let list = Subagents::new(many).list();
        assert!(list.len() < MOST_LISTED + 2_000, "{}", list.len());
        assert!(list.starts_with("- a00: xxx") && list.ends_with("\n- a98"), "{list}");
    }

    #[test]
    fn tools_that_are_none_are_told() {
        let subagents = Subagents::new([
            definition("a", "x", "[glob, search_file_content, invoke_agent, ask_user]"),
            definition("b", "x", "[glob, telepathy]"),
            definition("c", "x", "'*'"),
        ]);
        let unknown = subagents.unknown_tools(&["glob".into()]);
        let expected = "/agents/b.md: the sub-agent \"b\" is to use \"telepathy\", and there is no such tool"
            .to_string();
        assert_eq!(unknown, [expected]);
    }
}
