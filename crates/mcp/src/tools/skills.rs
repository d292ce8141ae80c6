//! `skills`: the procedures available here.

use longhaul_app::settings::load_here;
use longhaul_app::skills::SkillLibrary;
use longhaul_skills::load_activation;

use super::Request;
use crate::arguments::Arguments;
use crate::quote::{one_line, shown};

pub(super) fn answer(_: &Request, arguments: &mut Arguments) -> Result<String, String> {
    let name = arguments.text("name")?;
    let settings = load_here().map_err(|error| format!("{error:#}"))?.settings;
    let skills = SkillLibrary::find(settings).map_err(|error| format!("{error:#}"))?.skills();
    let Some(name) = name else {
        let lines = skills
            .enabled()
            .map(|skill| format!("- {}: {}\n", skill.name, one_line(&skill.description, 300)));
        let lines: String = lines.collect();
        return Ok(match lines.is_empty() {
            true => "No skills are available here.".into(),
            false => format!("{lines}\nRead one with its name."),
        });
    };
    let skill = skills.get(&name).filter(|skill| skill.is_enabled);
    let skill = skill
        .ok_or_else(|| format!("no skill is named {name:?}: call skills without a name to list them"))?;
    load_activation(skill).map(|activation| shown(&activation.render())).map_err(|error| error.to_string())
}
