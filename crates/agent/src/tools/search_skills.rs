//! The tool `search_skills`: finds skills by words, where there are more than the prompt can show.

use longhaul_conversation::ToolDeclaration;
use longhaul_skills::{SEARCH_TOOL, Skill, render_matches, search_skills};
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool `search_skills`. It only reads what was found at the start.
pub struct SearchSkills {
    skills: Vec<Skill>,
}

#[derive(Debug, Deserialize)]
struct SearchSkillsArguments {
    query: String,
}

impl SearchSkills {
    /// Searches these skills.
    pub fn new(skills: Vec<Skill>) -> Self {
        Self { skills }
    }
}

impl Tool for SearchSkills {
    fn declaration(&self) -> ToolDeclaration {
        ToolDeclaration {
            name: SEARCH_TOOL.to_string(),
            description: "Finds skills by words of their names and descriptions, also those that the list of available skills \
                          leaves out. Activate one with activate_skill."
                .to_string(),
            parameters: json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": "A few words of the task."}},
                "required": ["query"],
            }),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let SearchSkillsArguments { query } = parse_arguments(SEARCH_TOOL, args)?;
        Ok(Preview::Other(format!("search skills for {query}")))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            let query = match parse_arguments::<SearchSkillsArguments>(SEARCH_TOOL, call.args) {
                Ok(SearchSkillsArguments { query }) => query,
                Err(reason) => return ToolAnswer::failed(reason),
            };
            let found = search_skills(&self.skills, &query);
            let line = ToolDisplay::Line(format!("{} of {} skills match", found.len(), self.skills.len()));
            match found.is_empty() {
                true => ToolAnswer::succeeded("No skill has any of these words.".to_string()).shown(line),
                false => ToolAnswer::succeeded(render_matches(&found)).shown(line),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActivateSkill, ActiveSkills};
    use longhaul_conversation::CallId;
    use longhaul_skills::{Location, SkillName, SkillTier};
    use longhaul_tools::ToolOutcome;
    use tokio_util::sync::CancellationToken;

    fn skills() -> Vec<Skill> {
        let skill = |number: usize| Skill {
            name: SkillName::parse(&format!("skill-{number}")).expect("a name"),
            description: if number == 777 { "Reads tide tables.".into() } else { "Does it.".into() },
            tier: SkillTier::User,
            location: Location::File(format!("/s/{number}/SKILL.md").into()),
            is_enabled: true,
        };
        (0..1_000).map(skill).collect()
    }

    async fn run(tool: &dyn Tool, args: Value) -> ToolOutcome {
        let (id, cancel) = (CallId::from("c1"), CancellationToken::new());
        tool.run(ToolInvocation {
            id: &id,
            args: &args,
            progress: &|_| {},
            cancel: &cancel,
            permitted: longhaul_tools::PermittedEffects::Any,
        })
        .await
        .outcome
    }

    #[tokio::test]
    async fn a_skill_that_is_not_listed_is_found() {
        let tool = SearchSkills::new(skills());
        let ToolOutcome::Succeeded(text) = run(&tool, json!({"query": "tide"})).await else {
            panic!("it is there")
        };
        assert!(
            text.contains("<name>skill-777</name><description>Reads tide tables.</description>"),
            "{text}"
        );
        let ToolOutcome::Succeeded(text) = run(&tool, json!({"query": "winds"})).await else {
            panic!("an answer")
        };
        assert_eq!(text, "No skill has any of these words.");
        assert!(matches!(run(&tool, json!({})).await, ToolOutcome::Failed(_)));
    }

    #[tokio::test]
    async fn a_thousand_names_stay_out_of_schema_and_answers() {
        let tool = ActivateSkill::new(skills(), ActiveSkills::default());
        assert!(tool.declaration().parameters.to_string().len() < 400);
        let ToolOutcome::Failed(text) = run(&tool, json!({"name": "skill-77x"})).await else {
            panic!("none")
        };
        assert!(
            text.starts_with("There is no skill \"skill-77x\". Similar ones: skill-0,") && text.len() < 400,
            "{text}"
        );
    }
}
