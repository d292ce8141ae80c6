//! The active skills of the current folder.

use longhaul_policy::{Rule, SettingVerdict, rule_from_setting};
use longhaul_skills::{SkillTier, Skills, load_skills};
use longhaul_workspace::Home;

use crate::settings::Settings;
use crate::skills::places;
use crate::workspace::WorkspaceContext;

/// The skills, and notices about those that are ignored.
pub(super) fn load(settings: &Settings, home: &Home, context: &WorkspaceContext) -> (Skills, Vec<String>) {
    let skills = load_skills(&places(home, context), &settings.skills());
    let refused = skills
        .refused
        .iter()
        .map(|refused| format!("{} is not a valid skill: {}", refused.path.display(), refused.reason));
    // Whoever replaces what comes with Longhaul knows that.
    let overridden =
        skills.overridden.iter().filter(|overridden| overridden.skill.tier != SkillTier::Builtin);
    let overridden = overridden.map(|overridden| {
        let name = &overridden.skill.name;
        format!("there are two skills named {name}; using the one that is {}", overridden.by.describe())
    });
    let notices = skills.notices.iter().cloned().chain(refused).chain(overridden).collect();
    (skills, notices)
}

/// Rules by which built-in skills need no approval.
pub(crate) fn rules(skills: &Skills) -> impl Iterator<Item = Rule> {
    let own = skills.enabled().filter(|skill| skill.tier == SkillTier::Builtin);
    own.filter_map(|skill| {
        rule_from_setting(SettingVerdict::BuiltinSkill, skill.name.as_str(), "skills").ok()
    })
}
