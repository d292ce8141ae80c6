//! `longhaul skills list`: the active skills.

use clap::Args;
use longhaul_app::skills::SkillLibrary;
use longhaul_skills::{OverriddenSkill, Skill, SkillTier, Skills};
use serde_json::{Value, json};

use crate::output::{Color, Page, Screen, path_json, plural, print_json, visible, wrapped};

#[derive(Debug, Args)]
pub(crate) struct ListOptions {
    /// Include built-in, overridden and invalid skills.
    #[arg(long)]
    all: bool,
    /// Print one JSON object (see docs/json.md).
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: &ListOptions, library: &SkillLibrary, color: Color) -> anyhow::Result<()> {
    let skills = library.skills();
    if options.json {
        return print_json(&to_json(&skills, library));
    }
    let mut page = Page::new(Screen::of_stdout(color));
    text(&mut page, &skills, library, options.all);
    crate::output::print(&page.into_text())
}

fn text(page: &mut Page, skills: &Skills, library: &SkillLibrary, all: bool) {
    let shown: Vec<&Skill> =
        skills.found.iter().filter(|skill| all || skill.tier != SkillTier::Builtin).collect();
    if !library.settings.skills().is_enabled {
        page.line("Skills are disabled in the settings.");
    } else if shown.is_empty() {
        page.line("No skills found.");
    }
    for skill in shown {
        let off = if skill.is_enabled { String::new() } else { page.screen.warning(" (off)") };
        let name = page.screen.strong(&visible(skill.name.as_str()));
        page.line(&format!("{name}{off}  {}", page.screen.faint(skill.tier.describe())));
        for line in wrapped(&visible(&skill.description), page.screen.width.saturating_sub(2)) {
            page.line(&format!("  {line}"));
        }
        if let Some(path) = skill.path() {
            page.line(&page.screen.faint(&format!("  {}", visible(&path.display().to_string()))));
        }
    }
    if all {
        rest(page, skills);
    }
    if !skills.refused.is_empty() && !all {
        page.gap();
        let count = plural(skills.refused.len(), "invalid skill", "invalid skills");
        page.line(&page.screen.faint(&format!("{count}; --all shows why")));
    }
    let untrusted = skills.untrusted.iter().map(|path| {
        format!(
            "note: {} is ignored: its folder is not trusted; run `longhaul trust add` to trust it",
            path.display()
        )
    });
    let notices: Vec<String> =
        skills.notices.iter().map(|notice| format!("note: {notice}")).chain(untrusted).collect();
    if !notices.is_empty() {
        page.gap();
    }
    for notice in notices {
        page.line(&page.screen.warning(&visible(&notice)));
    }
}

fn rest(page: &mut Page, skills: &Skills) {
    if !skills.overridden.is_empty() {
        page.gap();
        page.line(&page.screen.strong("Overridden by another of the same name:"));
    }
    for OverriddenSkill { skill, by } in &skills.overridden {
        let place = skill.path().map_or("built in".to_string(), |path| path.display().to_string());
        page.line(&visible(&format!("  {}: {place} (overridden by {})", skill.name, by.describe())));
    }
    if !skills.refused.is_empty() {
        page.gap();
        page.line(&page.screen.strong("Invalid:"));
    }
    for refused in &skills.refused {
        page.line(&visible(&format!("  {}: {}", refused.path.display(), refused.reason)));
    }
}

/// A skill as JSON.
pub(super) fn skill_json(skill: &Skill) -> Value {
    json!({
        "name": skill.name.as_str(),
        "description": skill.description,
        "tier": skill.tier.name(),
        "enabled": skill.is_enabled,
        "path": skill.path().map(path_json),
    })
}

fn to_json(skills: &Skills, library: &SkillLibrary) -> Value {
    let overridden = skills.overridden.iter().map(|OverriddenSkill { skill, by }| {
        json!({
            "name": skill.name.as_str(),
            "tier": skill.tier.name(),
            "path": skill.path().map(path_json),
            "by": by.name(),
        })
    });
    let refused = skills
        .refused
        .iter()
        .map(|refused| json!({"path": path_json(&refused.path), "reason": refused.reason}));
    json!({
        "schema": 1,
        "folder": path_json(&library.context.cwd),
        "enabled": library.settings.skills().is_enabled,
        "skills": skills.found.iter().map(skill_json).collect::<Vec<_>>(),
        "overridden": overridden.collect::<Vec<_>>(),
        "refused": refused.collect::<Vec<_>>(),
        "untrusted": skills.untrusted.iter().map(|path| path_json(path)).collect::<Vec<_>>(),
        "notices": skills.notices,
    })
}
