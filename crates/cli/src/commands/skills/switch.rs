//! `longhaul skills enable NAME` and `disable NAME`.

use clap::Args;
use longhaul_app::skills::{SkillLibrary, Switched};
use serde_json::json;

use crate::options::SkillScopeArgument;
use crate::output::{path_json, print, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct SwitchOptions {
    /// Skill name; case does not matter.
    name: String,
    /// Settings to change [default: the workspace's if it has a .gemini folder and is trusted, else yours; `enable` checks
    /// both].
    #[arg(long)]
    scope: Option<SkillScopeArgument>,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn disable(options: &SwitchOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    tell(options, &library.switch_off(&options.name, options.scope.map(Into::into))?)
}

pub(super) fn enable(options: &SwitchOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    tell(options, &library.switch_on(&options.name, options.scope.map(Into::into))?)
}

fn tell(options: &SwitchOptions, switched: &Switched) -> anyhow::Result<()> {
    if options.json {
        let changed: Vec<_> = switched.changed.iter().map(|file| path_json(file)).collect();
        let (name, is_enabled) = (&switched.name, switched.is_enabled);
        return print_json(&json!({"schema": 1, "name": name, "enabled": is_enabled, "changed": changed}));
    }
    print(&format!("{}\n", visible(&switched.in_words())))
}
