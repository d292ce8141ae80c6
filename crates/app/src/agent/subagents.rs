//! The sub-agents that can be started, and the models that they ask for.

use std::collections::BTreeMap;
use std::path::Path;

use longhaul_agent::{
    LoadedSubagents, ModelSource, NamedModel, SubagentDefinition, SubagentModel, SubagentPlaces, Subagents,
    load_subagents,
};
use longhaul_conversation::Usage;
use longhaul_policy::{Rule, SettingVerdict, rule_from_setting};
use longhaul_workspace::{Home, WorkspaceFolder};

use crate::models::{ChosenModel, Models};
use crate::settings::Settings;
use crate::trust::GrantKind;

/// The sub-agents that can be started in a folder: those of its own only if it is trusted, and they are as they were then.
pub fn load(settings: &Settings, home: &Home, cwd: &Path, is_trusted: bool) -> LoadedSubagents {
    let workspace = WorkspaceFolder::of(cwd);
    // In the user's own folder both are one, and what stands there is the user's.
    let is_projects =
        is_trusted && !settings.is_suspended(GrantKind::Agents) && !home.is_folder_of(&workspace);
    let mut loaded = load_subagents(&SubagentPlaces {
        user: Some(home.agents()),
        project: is_projects.then(|| workspace.agents()),
    });
    let names: Vec<String> = loaded.subagents.iter().map(|definition| definition.name.to_string()).collect();
    for name in names.iter().filter(|name| !settings.offers_agent(name)) {
        loaded.subagents.take(name);
    }
    loaded
}

/// Rules by which starting a sub-agent needs no approval: each of its own calls is decided when it comes.
pub(super) fn rules(subagents: &Subagents) -> impl Iterator<Item = Rule> {
    let rule = |name: &str| rule_from_setting(SettingVerdict::SubagentTool, name, "agents");
    subagents.iter().filter_map(move |definition| rule(definition.name.as_str()).ok())
}

/// The models that sub-agents ask for by name.
pub struct SubagentModels {
    /// By the name that a definition states.
    models: BTreeMap<String, Result<ChosenModel, String>>,
    /// By the name of the sub-agent, the name that its definition states.
    stated: BTreeMap<String, String>,
    /// The model for small questions, if a sub-agent wants it.
    helper: Option<ChosenModel>,
    /// The names of the sub-agents that want it.
    helped: Vec<String>,
}

impl SubagentModels {
    /// Chooses every model that a definition names; `helper` is the one for small questions. Nothing is connected yet.
    pub(crate) fn choose<'d>(
        models: &Models<'_>,
        helper: Option<&ChosenModel>,
        definitions: impl IntoIterator<Item = &'d SubagentDefinition>,
    ) -> Self {
        let mut stated = BTreeMap::new();
        let mut helped = Vec::new();
        for SubagentDefinition { name, model, .. } in definitions {
            match model {
                SubagentModel::Named(model) => drop(stated.insert(name.to_string(), model.clone())),
                SubagentModel::Helper => helped.push(name.to_string()),
                SubagentModel::Inherited => {}
            }
        }
        let helper = helper.filter(|_| !helped.is_empty());
        let helper = helper.and_then(|helper| models.choose(&helper.full_name).ok());
        let choose = |name: &String| {
            let chosen = models.choose(name).map_err(|error| format!("{error} ({})", error.hint()));
            (name.clone(), chosen)
        };
        let models = stated.values().map(choose).collect();
        Self { models, stated, helper, helped }
    }

    /// The cost of a sub-agent's calls of its model, in dollars; `usual` is the model of the conversation.
    pub fn cost(&self, subagent: &str, usage: &Usage, usual: &ChosenModel) -> Option<f64> {
        let own = self.stated.get(subagent).and_then(|name| self.models.get(name)?.as_ref().ok());
        let helper = || self.helper.as_ref().filter(|_| self.helped.iter().any(|name| name == subagent));
        own.or_else(helper).unwrap_or(usual).cost(usage)
    }
}

impl ModelSource for SubagentModels {
    fn find(&self, name: &str) -> Result<NamedModel<'_>, String> {
        match self.models.get(name) {
            Some(Ok(chosen)) => Ok(NamedModel { model: &chosen.http, profile: chosen.profile() }),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err("no definition named it when the session began".to_string()),
        }
    }

    fn helper(&self) -> Option<NamedModel<'_>> {
        let helper = self.helper.as_ref()?;
        Some(NamedModel { model: &helper.http, profile: helper.profile() })
    }
}
