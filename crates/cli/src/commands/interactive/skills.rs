//! The skills of a session, as the terminal shows them.

use anyhow::anyhow;
use longhaul_app::agent::Toolkit;
use longhaul_app::failure::hinted;
use longhaul_skills::{OverriddenSkill, Skill, SkillTier, load_activation};
use longhaul_terminal::{Page, Row, SkillChoice};

use crate::output::plural;

/// The skills that were found.
pub(super) fn choices(toolkit: &Toolkit) -> Vec<SkillChoice> {
    let choice = |skill: &Skill| SkillChoice {
        name: skill.name.to_string(),
        description: skill.description.clone(),
        is_enabled: skill.is_enabled,
        is_builtin: skill.tier == SkillTier::Builtin,
    };
    toolkit.skills().found.iter().map(choice).collect()
}

/// The names of active skills, without built-in ones.
pub(super) fn names(toolkit: &Toolkit) -> Vec<String> {
    let others = toolkit.skills().enabled().filter(|skill| skill.tier != SkillTier::Builtin);
    others.map(|skill| skill.name.to_string()).collect()
}

/// A sentence on what a reload changed.
pub(super) fn difference(before: &[String], after: &[String]) -> String {
    let missing = |some: &[String], others: &[String]| {
        some.iter().filter(|name| !others.contains(name)).cloned().collect::<Vec<_>>().join(", ")
    };
    let (new, gone) = (missing(after, before), missing(before, after));
    let count = plural(after.len(), "skill", "skills");
    let mut text = format!("{count} active");
    if !new.is_empty() {
        text.push_str(&format!("; new: {new}"));
    }
    if !gone.is_empty() {
        text.push_str(&format!("; removed: {gone}"));
    }
    text + "."
}

/// The active skills; or all that were found, with problems.
pub(super) fn list(toolkit: &Toolkit, all: bool) -> Page {
    let skills = toolkit.skills();
    let shown: Vec<&Skill> =
        skills.found.iter().filter(|skill| all || skill.tier != SkillTier::Builtin).collect();
    let mut page = match shown.len() {
        0 => Page::new("No skills found."),
        count => Page::new(plural(count, "skill", "skills")),
    };
    let active = toolkit.active_skills.names();
    for skill in shown {
        let mut marks = vec![skill.tier.describe()];
        marks.extend((!skill.is_enabled).then_some("off"));
        marks.extend(active.iter().any(|name| skill.name.is_meant_by(name)).then_some("active"));
        page.fact(skill.name.as_str(), format!("{} ({})", skill.description, marks.join(", ")));
    }
    if all && !(skills.overridden.is_empty() && skills.refused.is_empty()) {
        page.heading("Inactive");
        for OverriddenSkill { skill, by } in &skills.overridden {
            let place = skill.path().map_or("built in".to_string(), |path| path.display().to_string());
            page.fact(skill.name.as_str(), format!("{place}: overridden by another ({})", by.describe()));
        }
        for refused in &skills.refused {
            page.item(format!("{}: {}", refused.path.display(), refused.reason));
        }
    }
    for folder in &skills.untrusted {
        page.aside(format!("{} is ignored: its folder is not trusted.", folder.display()));
    }
    skills.notices.iter().for_each(|notice| page.aside(notice.as_str()));
    page.aside(
        "Use one with /NAME, view it with /skills show NAME, review proposed ones with /skills inbox.",
    );
    page
}

/// A skill as a model reads it.
pub(super) fn show(toolkit: &Toolkit, name: &str) -> anyhow::Result<Page> {
    let unknown = || hinted(anyhow!("no skill named {name:?}"), "run /skills to list them");
    let skill = toolkit.skills().get(name).ok_or_else(unknown)?;
    let activation = load_activation(skill)?;
    let mut page = Page::new(skill.name.as_str());
    page.text(skill.description.as_str());
    let place = skill.path().map_or("built in".to_string(), |path| path.display().to_string());
    page.fact("from", format!("{place}, {}", skill.tier.describe()));
    if !skill.is_enabled {
        page.fact("off", "turn it on with /skills enable");
    }
    page.heading("Instructions");
    page.rows.push(Row::Markdown(activation.instructions));
    if !activation.resources.is_empty() {
        page.heading("Files");
        activation.resources.into_iter().for_each(|file| page.item(file));
    }
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reload_tells_what_is_new_and_gone() {
        let names = |text: &str| text.split_whitespace().map(str::to_string).collect::<Vec<_>>();
        assert_eq!(difference(&names("a b"), &names("b c d")), "3 skills active; new: c, d; removed: a.");
        assert_eq!(difference(&names("a"), &names("a")), "1 skill active.");
    }
}
