//! `longhaul skills enable NAME` and `disable NAME`.

use clap::Args;
use longhaul_app::skills::{SkillLibrary, Switched};
use serde_json::json;

use crate::options::SkillScopeArgument;
use crate::output::{path_json, print, print_json, visible};

#[derive(Debug, Args)]
pub(crate) struct SwitchOptions {
    /// The skill; capitals do not matter.
    name: String,
    /// Whose settings say so [default: the workspace's if it has a folder .gemini and is trusted, else yours; `enable` looks
    /// in both].
    #[arg(long)]
    scope: Option<SkillScopeArgument>,
    /// Prints one JSON object instead, as docs/json.md describes it.
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
