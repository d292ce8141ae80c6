//! Models beside that of a conversation: for small questions, and to choose from for each prompt.

use std::path::PathBuf;

use longhaul_agent::{AgentDeps, LoopJudges, ModelProfile, Route, Router, SideModel};
use longhaul_wire::WireFormat;

use crate::models::{ChosenModel, Models};
use crate::settings::Settings;

/// The name that leaves the choice of the model open.
pub const OPEN_CHOICE: &str = "auto";

/// Models beside that of a conversation, and the editor's file.
pub struct HelperModels {
    /// The model for small questions, where it is another one than that of the conversation.
    helper: Option<ChosenModel>,
    routes: Option<Routes>,
    pro_from: Option<u8>,
    judges_loops: bool,
    ide: Option<PathBuf>,
}

struct Routes {
    flash: (ChosenModel, ModelProfile),
    pro: (ChosenModel, ModelProfile),
}

impl HelperModels {
    /// Chooses the models that the settings want besides this one. `named` is the name the user gave it, if any.
    pub fn load(
        models: &Models<'_>,
        settings: &Settings,
        chosen: &ChosenModel,
        named: Option<&str>,
        warn: impl Fn(&str),
    ) -> Self {
        let helper = helper(models, settings, chosen, &warn).filter(|helper| helper.name != chosen.name);
        let is_open = named == Some(OPEN_CHOICE) && settings.routes();
        let routes = is_open.then(|| {
            let choose = |name: &str| models.choose(name).map(|chosen| (chosen.profile(), chosen));
            let (flash, pro) = settings.route_names();
            match (choose(flash), choose(pro)) {
                (Ok(flash), Ok(pro)) => Some(Routes { flash: (flash.1, flash.0), pro: (pro.1, pro.0) }),
                (Err(error), _) | (_, Err(error)) => {
                    warn(&format!("no routing, {} answers every prompt: {error}", chosen.name));
                    None
                }
            }
        });
        let ide = settings.ide_file().and_then(|file| std::path::absolute(file).ok());
        let pro_from = settings.score_for_pro();
        Self { helper, routes: routes.flatten(), pro_from, judges_loops: settings.judges_loops(), ide }
    }

    /// The dependencies with these models added.
    pub(crate) fn join<'a>(&'a self, chosen: &'a ChosenModel, host: AgentDeps<'a>) -> AgentDeps<'a> {
        let helper = self.helper(chosen);
        let own = SideModel { model: &chosen.http, name: &chosen.name };
        let route =
            |(chosen, profile): &'a (ChosenModel, ModelProfile)| Route { model: &chosen.http, profile };
        AgentDeps {
            side_model: Some(helper),
            judges: self
                .judges_loops
                .then_some(LoopJudges { quick: helper, thorough: self.helper.is_some().then_some(own) }),
            router: self.routes.as_ref().map(|Routes { flash, pro }| Router {
                classifier: helper,
                pro_from: self.pro_from,
                flash: route(flash),
                pro: route(pro),
            }),
            editor: self.ide.as_deref(),
            memory_use: &memory_use,
            ..host
        }
    }

    /// The model for small questions in a conversation with this one.
    pub(crate) fn helper<'a>(&'a self, chosen: &'a ChosenModel) -> SideModel<'a> {
        let helper = self.helper.as_ref().unwrap_or(chosen);
        SideModel { model: &helper.http, name: &helper.name }
    }

    /// The model for small questions, if that is another one than the conversation's.
    pub(crate) fn own(&self) -> Option<&ChosenModel> {
        self.helper.as_ref()
    }

    /// The model that summarises a conversation with this one: from the same provider, which has seen it already.
    pub fn summariser<'a>(&'a self, chosen: &'a ChosenModel) -> SideModel<'a> {
        let own = self.helper.as_ref().filter(|helper| helper.provider() == chosen.provider());
        let summariser = own.unwrap_or(chosen);
        SideModel { model: &summariser.http, name: &summariser.name }
    }

    /// The model of this name that small questions went to in a conversation with this one.
    pub fn asked<'a>(&'a self, name: &str, chosen: &'a ChosenModel) -> Option<&'a ChosenModel> {
        self.helper.iter().chain([chosen]).find(|known| known.name == name)
    }

    /// True if a model is chosen for each prompt.
    pub fn are_routing(&self) -> bool {
        self.routes.is_some()
    }

    /// The one of the models to choose from that sessions record under this name.
    pub fn routed(&self, full_name: &str) -> Option<&ChosenModel> {
        let Routes { flash, pro } = self.routes.as_ref()?;
        [flash, pro].into_iter().map(|(chosen, _)| chosen).find(|chosen| chosen.full_name == full_name)
    }
}

/// The model for small questions, unless that is the one of the conversation.
fn helper(
    models: &Models<'_>,
    settings: &Settings,
    chosen: &ChosenModel,
    warn: impl Fn(&str),
) -> Option<ChosenModel> {
    let Some(named) = settings.helper_model() else {
        let is_gemini = chosen.http.provider().format == WireFormat::Gemini;
        // Another provider under the same wire format is still another provider.
        let smaller = is_gemini.then(|| models.choose("flash-lite").ok()).flatten();
        return smaller.filter(|smaller| smaller.provider() == chosen.provider());
    };
    match models.choose(named) {
        Ok(helper) => Some(helper),
        Err(error) => {
            warn(&format!("{} answers small questions: {error}", chosen.name));
            None
        }
    }
}

/// The memory that this program takes, in bytes, where the system tells.
fn memory_use() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kibibytes| kibibytes << 10)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn this_program_takes_some_memory() {
        assert!(memory_use().is_some_and(|bytes| bytes > 1 << 20));
    }
}
