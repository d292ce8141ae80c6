//! The tool that hands a task to a sub-agent, as the model sees it.

use longhaul_conversation::ToolDeclaration;
use longhaul_policy::AGENT_TOOL;
use longhaul_tools::{Preview, parse_arguments, schema_of};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{SubagentDefinition, Subagents};

/// A sub-agent is to do something.
#[derive(Debug, Deserialize, JsonSchema)]
struct InvokeArguments {
    /// The sub-agent.
    agent_name: String,
    /// What it is to do or to find out, with everything it needs to know, and what its result has to tell.
    task: String,
    /// Whether to go on meanwhile: the call is answered at once, and the result is told when it is there.
    #[serde(default)]
    background: bool,
}

/// The way in which an agent waits for the result of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SubagentWait {
    /// The call is answered with the result.
    ForResult,
    /// The call is answered at once, and the result follows in a later message.
    InBackground,
}

impl Subagents {
    /// The tool as the model sees it.
    pub(crate) fn declaration(&self) -> ToolDeclaration {
        let names: Vec<&str> = self.iter().map(|definition| definition.name.as_str()).collect();
        let mut parameters = schema_of::<InvokeArguments>();
        parameters["properties"]["agent_name"]["enum"] = json!(names);
        ToolDeclaration {
            name: AGENT_TOOL.to_string(),
            description: "Hands a task to a sub-agent, which works on it by itself and answers with its result. Several calls \
                          in one step run beside each other."
                .to_string(),
            parameters,
        }
    }

    /// A preview of a call.
    pub(crate) fn preview(&self, args: &Value) -> Result<Preview, String> {
        let (definition, task, wait) = self.find(args)?;
        let suffix = if wait == SubagentWait::InBackground { " (in the background)" } else { "" };
        Ok(Preview::Other(format!("{}{suffix}: {task}", definition.name)))
    }

    /// The sub-agent that a call names, and its task.
    pub(crate) fn find(&self, args: &Value) -> Result<(&SubagentDefinition, String, SubagentWait), String> {
        let InvokeArguments { agent_name, task, background } = parse_arguments(AGENT_TOOL, args)?;
        let Some(definition) = self.get(&agent_name) else {
            let names: Vec<&str> = self.iter().map(|definition| definition.name.as_str()).collect();
            return Err(format!(
                "There is no sub-agent {agent_name:?}. These are there: {}.",
                names.join(", ")
            ));
        };
        match task.trim() {
            "" => Err("The task is empty.".to_string()),
            task => {
                let wait = if background { SubagentWait::InBackground } else { SubagentWait::ForResult };
                Ok((definition, task.to_string(), wait))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(args: &Value, expected: Result<&str, &str>) {
        let shown = Subagents::built_in().preview(args);
        let expected = expected.map(|line| Preview::Other(line.to_string())).map_err(str::to_string);
        assert_eq!(shown, expected);
    }

    #[test]
    fn calls_are_shown_or_refused_in_a_sentence() {
        check(&json!({"agent_name": "explorer", "task": " Find it.\n"}), Ok("explorer: Find it."));
        check(
            &json!({"agent_name": "explorer", "task": "Find it.", "background": true}),
            Ok("explorer (in the background): Find it."),
        );
        check(&json!({"agent_name": "explorer", "task": " "}), Err("The task is empty."));
        check(
            &json!({"agent_name": "nobody", "task": "x"}),
            Err("There is no sub-agent \"nobody\". These are there: explorer, generalist."),
        );
        check(
            &json!({"agent_name": "explorer"}),
            Err("The arguments of invoke_agent are not valid: missing field `task`."),
        );
    }

    #[test]
    fn the_model_can_only_choose_from_those_that_are_there() {
        let declared = Subagents::built_in().declaration();
        assert_eq!(
            declared.parameters["properties"]["agent_name"]["enum"],
            json!(["explorer", "generalist"])
        );
    }
}
