//! Sub-agents: other agents that an agent can hand a task to, each with a prompt, tools, a model and limits of its own.

mod definition;
mod load;
mod tool;

pub(crate) use definition::{DefinitionProblem, parse_definition};
pub use definition::{SubagentDefinition, SubagentModel, SubagentName, SubagentSource, SubagentTools};
pub use load::{LoadedSubagents, SubagentPlaces, load_subagents};
pub(crate) use tool::SubagentWait;

use longhaul_policy::AGENT_TOOL;
use longhaul_tools::ALIASES;

use crate::tools::OwnTool;

/// The most bytes of descriptions that a prompt lists.
const MOST_LISTED: usize = 8_000;

/// The sub-agents that can be started, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagents(Vec<SubagentDefinition>);

impl Subagents {
    /// No sub-agents.
    pub(crate) const NONE: &'static Self = &Self(Vec::new());

    /// A list of these; of two with the same name, the later one wins.
    pub fn new(definitions: impl IntoIterator<Item = SubagentDefinition>) -> Self {
        let mut known: Vec<SubagentDefinition> = Vec::new();
        for definition in definitions {
            known.retain(|other| other.name != definition.name);
            known.push(definition);
        }
        known.sort_by(|one, other| one.name.cmp(&other.name));
        Self(known)
    }

    /// The sub-agents that come with Longhaul.
    #[cfg(test)]
    pub(crate) fn built_in() -> Self {
        Self::new(load::built_in())
    }

    /// The one of this name.
    pub fn get(&self, name: &str) -> Option<&SubagentDefinition> {
        self.0.iter().find(|definition| definition.name.as_str() == name)
    }

    /// Takes the one of this name out, for a use of its own.
    pub fn take(&mut self, name: &str) -> Option<SubagentDefinition> {
        let index = self.0.iter().position(|definition| definition.name.as_str() == name)?;
        Some(self.0.remove(index))
    }

    /// Iterates over all of them, by name.
    pub fn iter(&self) -> impl Iterator<Item = &SubagentDefinition> {
        self.0.iter()
    }

    /// A line for each, as prompts list them. Where they become too many, the rest is only named.
    pub fn list(&self) -> String {
        let mut left = MOST_LISTED;
        let lines = self.0.iter().map(|SubagentDefinition { name, description, .. }| {
            left = left.saturating_sub(description.len());
            if left == 0 { format!("- {name}") } else { format!("- {name}: {description}") }
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Problems with the tools that definitions name: those that do not exist. `tools` are those that work on the workspace.
    pub fn unknown_tools(&self, tools: &[String]) -> Vec<String> {
        let is_own = |tool: &str| OwnTool::named(tool).is_some() || tool == AGENT_TOOL;
        let is_older = |tool: &str| ALIASES.iter().any(|(old, _)| *old == tool);
        let is_known = |tool: &String| tools.contains(tool) || is_own(tool) || is_older(tool);
        let mut unknown = Vec::new();
        for SubagentDefinition { name, tools, source, .. } in &self.0 {
            let SubagentTools::Only(named) = tools else { continue };
            let place = source.file().map(|file| format!("{}: ", file.display())).unwrap_or_default();
            let describe = |tool| format!("{place}sub-agent \"{name}\" lists an unknown tool: {tool:?}");
            unknown.extend(named.iter().filter(|tool| !is_known(tool)).map(describe));
        }
        unknown
    }

    /// `true` if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(name: &str, description: &str, tools: &str) -> SubagentDefinition {
        let text = format!("---\nname: {name}\ndescription: {description}\ntools: {tools}\n---\nx");
        let source = SubagentSource::User(format!("/agents/{name}.md").into());
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
        let expected = "/agents/b.md: sub-agent \"b\" lists an unknown tool: \"telepathy\"".to_string();
        assert_eq!(unknown, [expected]);
    }
}
