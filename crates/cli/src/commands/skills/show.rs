//! `longhaul skills show NAME`: a skill, as a model would read it.

use clap::Args;
use longhaul_app::skills::{SkillLibrary, failure, unknown};
use longhaul_skills::load_activation;

use super::list::skill_json;
use crate::output::{print, print_json, visible_text};

#[derive(Debug, Args)]
pub(crate) struct ShowOptions {
    /// Skill name; case does not matter.
    name: String,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ShowOptions, library: &SkillLibrary) -> anyhow::Result<()> {
    let skills = library.skills();
    let skill = skills.get(&options.name).ok_or_else(|| unknown(&options.name))?;
    let activation = load_activation(skill).map_err(failure)?;
    if options.json {
        let mut object = skill_json(skill);
        object["schema"] = 1.into();
        object["instructions"] = activation.instructions.into();
        object["resources"] = activation.resources.into();
        return print_json(&object);
    }
    print(&format!("{}\n", visible_text(&activation.render())))
}
