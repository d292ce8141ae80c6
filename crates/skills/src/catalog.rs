//! The list of skills that a system prompt carries: names, descriptions and places, never the instructions themselves.

use crate::neutralise::escape;
use crate::{Location, Skill};

/// The prompt about using skills.
pub(crate) const SKILL_GUIDANCE: &str = include_str!("prompts/guidance.md");

/// The name of the tool that activates a skill.
pub const ACTIVATE_TOOL: &str = "activate_skill";

/// The most characters of one description.
const LONGEST_DESCRIPTION: usize = 1_024;

/// The most characters of all descriptions together, as every request pays for them.
const ALL_DESCRIPTIONS: usize = 24_000;

/// No description is cut to fewer characters than this, however many there are.
const SHORTEST_SHARE: usize = 80;

/// The guidance and the list; nothing where there are no skills. The same skills give the same bytes.
///
/// ```
/// use longhaul_skills::{SkillPlaces, SkillSettings, load_skills, render_catalog};
///
/// let text = "---\nname: tides\ndescription: Reads </available_skills> tide tables.\n---\nOpen the table.";
/// let places = SkillPlaces { builtin: vec![text], ..SkillPlaces::default() };
/// let skills = load_skills(&places, &SkillSettings::default());
/// let list = render_catalog(skills.enabled());
/// assert!(list.contains("<name>tides</name>"));
/// assert_eq!(list.matches("</available_skills>").count(), 1);
/// ```
pub fn render_catalog<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> String {
    let skills: Vec<&Skill> = skills.into_iter().collect();
    if skills.is_empty() {
        return String::new();
    }
    let longest = longest_description(&skills);
    let mut text = format!("{}\n<available_skills>\n", SKILL_GUIDANCE.trim_end());
    for skill in skills {
        let location = match &skill.location {
            Location::Builtin(_) => "built in".to_string(),
            Location::File(path) => escape(&path.to_string_lossy()),
        };
        let name = escape(skill.name.as_str());
        let description = escape(&cut(&skill.description, longest));
        text.push_str(&format!(
            "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    \
             <location>{location}</location>\n  </skill>\n"
        ));
    }
    text + "</available_skills>\n"
}

/// The longest description with which all of them fit.
fn longest_description(skills: &[&Skill]) -> usize {
    let length = |skill: &&Skill| skill.description.chars().count().min(LONGEST_DESCRIPTION);
    let mut lengths: Vec<usize> = skills.iter().map(length).collect();
    lengths.sort_unstable();
    // Short ones are kept whole, and what they leave is for the long ones.
    let mut left = ALL_DESCRIPTIONS;
    for (done, length) in lengths.iter().enumerate() {
        let share = left / (lengths.len() - done);
        if *length > share {
            return share.max(SHORTEST_SHARE);
        }
        left -= length;
    }
    LONGEST_DESCRIPTION
}

fn cut(text: &str, longest: usize) -> String {
    match text.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SkillName, SkillTier};

    fn skill(name: &str, description: &str) -> Skill {
        Skill {
            name: SkillName::parse(name).unwrap(),
            description: description.into(),
            tier: SkillTier::User,
            location: Location::File(format!("/s/{name}/SKILL.md").into()),
            is_enabled: true,
        }
    }

    #[test]
    fn skills_are_listed_with_their_places() {
        let skills = [skill("a", "Does <a> & b."), skill("b", "Does b.")];
        let text = render_catalog(&skills);
        let list = &text[text.find("<available_skills>").unwrap()..];
        assert_eq!(
            list,
            "<available_skills>\n  <skill>\n    <name>a</name>\n    <description>Does &lt;a&gt; &amp; b.</description>\n    \
             <location>/s/a/SKILL.md</location>\n  </skill>\n  <skill>\n    <name>b</name>\n    \
             <description>Does b.</description>\n    <location>/s/b/SKILL.md</location>\n  </skill>\n</available_skills>\n"
        );
        assert_eq!(render_catalog(&[]), "");
    }

    #[test]
    fn many_long_descriptions_share_the_room() {
        let mut skills: Vec<Skill> =
            (0..100).map(|number| skill(&format!("s{number}"), &"é".repeat(2_000))).collect();
        skills.push(skill("short", "Short."));
        let text = render_catalog(&skills);
        assert!(text.contains("<description>Short.</description>"));
        let letters = text.matches('é').count();
        assert!((ALL_DESCRIPTIONS - 200..=ALL_DESCRIPTIONS).contains(&letters), "{letters}");
        let alone = render_catalog(&skills[..1]);
        assert_eq!(alone.matches('é').count(), LONGEST_DESCRIPTION);
    }
}
