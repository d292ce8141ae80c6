//! The tool `activate_skill`: gives the model the instructions of a skill, and remembers that it follows them.

use std::sync::{Arc, Mutex, PoisonError};

use longhaul_conversation::ToolDeclaration;
use longhaul_skills::{ACTIVATE_TOOL, Activation, Skill, load_activation, needs_search, search_skills};
use longhaul_tools::{BoxFuture, Preview, Tool, ToolAnswer, ToolDisplay, ToolInvocation, parse_arguments};
use serde::Deserialize;
use serde_json::{Value, json};

/// The names of the skills that were activated in a session. Clones share one list.
#[derive(Clone, Debug, Default)]
pub struct ActiveSkills(Arc<Mutex<Vec<String>>>);

impl ActiveSkills {
    /// The names, the first activated first.
    pub fn names(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Begins anew, as with another conversation.
    pub fn forget(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn add(&self, name: &str) {
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !names.iter().any(|known| known == name) {
            names.push(name.to_string());
        }
    }
}

/// The tool `activate_skill`. A skill can be activated again, for instance when a compaction took its instructions away.
pub struct ActivateSkill {
    skills: Vec<Skill>,
    active: ActiveSkills,
}

#[derive(Debug, Deserialize)]
struct ActivateArguments {
    name: String,
}

impl ActivateSkill {
    /// Offers these skills, and notes in `active` which of them were taken up.
    pub fn new(skills: Vec<Skill>, active: ActiveSkills) -> Self {
        Self { skills, active }
    }

    fn load(&self, args: &Value) -> Result<(&Skill, Activation), String> {
        let ActivateArguments { name } = parse_arguments(ACTIVATE_TOOL, args)?;
        let found = self.skills.iter().find(|skill| skill.name.is_meant_by(&name));
        let skill = found.ok_or_else(|| {
            let names = |skills: Vec<&Skill>| {
                skills.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>().join(", ")
            };
            match (needs_search(&self.skills), search_skills(&self.skills, &name)) {
                (false, _) => {
                    format!("There is no skill {name:?}. There are: {}.", names(self.skills.iter().collect()))
                }
                (true, found) if found.is_empty() => format!("There is no skill {name:?}."),
                (true, found) => format!("There is no skill {name:?}. Similar ones: {}.", names(found)),
            }
        })?;
        let activation = load_activation(skill).map_err(|error| {
            let cause =
                std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("The skill cannot be activated, as {error}{cause}.")
        })?;
        Ok((skill, activation))
    }
}

impl Tool for ActivateSkill {
    fn declaration(&self) -> ToolDeclaration {
        let mut name = json!({"type": "string", "description": "The name of the skill."});
        // Too many names for the prompt are too many for a schema, too.
        if !needs_search(&self.skills) {
            name["enum"] = self.skills.iter().map(|skill| skill.name.as_str()).collect();
        }
        ToolDeclaration {
            name: ACTIVATE_TOOL.to_string(),
            description: "Gives you the instructions of a skill, and the list of its files. Call it before you begin a task that \
                          one of the available skills describes."
                .to_string(),
            parameters: json!({
                "type": "object",
                "properties": {"name": name},
                "required": ["name"],
            }),
        }
    }

    fn preview(&self, args: &Value) -> Result<Preview, String> {
        let (skill, activation) = self.load(args)?;
        let files = match activation.resources.len() {
            0 => String::new(),
            1 => ", with a file".to_string(),
            files => format!(", with {files} files and folders"),
        };
        let folder =
            activation.folder.map(|folder| format!(", from {}", folder.display())).unwrap_or_default();
        Ok(Preview::Other(format!("activate the skill {}{folder}{files}: {}", skill.name, skill.description)))
    }

    fn run<'a>(&'a self, call: ToolInvocation<'a>) -> BoxFuture<'a, ToolAnswer> {
        Box::pin(async move {
            match self.load(call.args) {
                Ok((skill, activation)) => {
                    self.active.add(skill.name.as_str());
                    let line = format!("skill {} is active", skill.name);
                    ToolAnswer::succeeded(activation.render()).shown(ToolDisplay::Line(line))
                }
                Err(reason) => ToolAnswer::failed(reason),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::CallId;
    use longhaul_skills::{SkillPlaces, SkillSettings, load_skills};
    use longhaul_tools::ToolOutcome;
    use tokio_util::sync::CancellationToken;

    fn tool() -> (ActivateSkill, ActiveSkills) {
        let builtin = vec![
            "---\nname: Tides\ndescription: Reads tide tables.\n---\nOpen the table.",
            "---\nname: winds\ndescription: Reads the wind.\n---\nLook up.",
        ];
        let places = SkillPlaces { builtin, ..SkillPlaces::default() };
        let active = ActiveSkills::default();
        (ActivateSkill::new(load_skills(&places, &SkillSettings::default()).found, active.clone()), active)
    }

    async fn run(tool: &ActivateSkill, name: &str) -> ToolOutcome {
        let (id, cancel, args) = (CallId::from("c1"), CancellationToken::new(), json!({"name": name}));
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
    async fn a_skill_is_given_and_noted_once() {
        let (tool, active) = tool();
        assert_eq!(tool.declaration().parameters["properties"]["name"]["enum"], json!(["Tides", "winds"]));
        for name in ["winds", "TIDES", "tides"] {
            let ToolOutcome::Succeeded(text) = run(&tool, name).await else { panic!("it is there") };
            assert!(text.starts_with("<activated_skill name=\"") && text.contains("<instructions>\n"));
        }
        assert_eq!(active.names(), ["winds", "Tides"]);
        active.forget();
        assert!(active.names().is_empty());
    }

    #[tokio::test]
    async fn an_unknown_skill_is_answered_with_those_there_are() {
        let (tool, active) = tool();
        let ToolOutcome::Failed(text) = run(&tool, "waves").await else { panic!("there is none") };
        assert_eq!(text, "There is no skill \"waves\". There are: Tides, winds.");
        assert!(active.names().is_empty() && tool.preview(&json!({"name": "waves"})).is_err());
        let preview = tool.preview(&json!({"name": "tides"}));
        assert_eq!(preview, Ok(Preview::Other("activate the skill Tides: Reads tide tables.".into())));
    }
}
