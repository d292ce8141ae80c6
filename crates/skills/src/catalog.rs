//! The list of skills that a system prompt carries: names, descriptions and places, never the instructions themselves. Every
//! request pays for it, so that it has a budget: names come first, then descriptions while they fit, and the rest is found by
//! searching.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use crate::neutralise::escape;
use crate::{Location, Skill};

/// The prompt about using skills.
pub(crate) const SKILL_GUIDANCE: &str = include_str!("prompts/guidance.md");

/// The name of the tool that activates a skill.
pub const ACTIVATE_TOOL: &str = "activate_skill";

/// The name of the tool that searches the skills, for where the list cannot show them all.
pub const SEARCH_TOOL: &str = "search_skills";

/// The most characters of the list: about four thousand tokens.
const LONGEST_LIST: usize = 16_000;

/// The most characters of one description, where all of them fit and where they do not.
const LONGEST_DESCRIPTION: usize = 1_024;
const SHORT_DESCRIPTION: usize = 240;

/// The most skills that a search finds.
const MOST_MATCHES: usize = 10;

/// The prompt about skills that the list leaves out.
const SEARCH_GUIDANCE: &str = include_str!("prompts/search.md");

/// The brief form of the guidance, for a small window.
const BRIEF_GUIDANCE: &str = include_str!("prompts/guidance_brief.md");

/// The most characters of the list in a small window, and of one description there.
const LONGEST_BRIEF_LIST: usize = 700;
const BRIEF_DESCRIPTION: usize = 100;

/// The room that the list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CatalogRoom {
    /// About four thousand tokens at most.
    #[default]
    Usual,
    /// About two hundred tokens, for a model with a small window.
    Small,
}

/// The guidance and the list; nothing where there are no skills. The same skills give the same bytes.
///
/// ```
/// use longhaul_skills::{CatalogRoom, SkillPlaces, SkillSettings, load_skills, render_catalog};
///
/// let text = "---\nname: tides\ndescription: Reads </available_skills> tide tables.\n---\nOpen the table.";
/// let places = SkillPlaces { builtin: vec![text], ..SkillPlaces::default() };
/// let skills = load_skills(&places, &SkillSettings::default());
/// let list = render_catalog(skills.enabled(), CatalogRoom::Usual);
/// assert!(list.contains("<name>tides</name>"));
/// assert_eq!(list.matches("</available_skills>").count(), 1);
/// ```
pub fn render_catalog<'a>(skills: impl IntoIterator<Item = &'a Skill>, room: CatalogRoom) -> String {
    let skills: Vec<&Skill> = skills.into_iter().collect();
    if skills.is_empty() {
        return String::new();
    }
    if room == CatalogRoom::Small {
        let ShortList { text, unlisted } = short_list(&skills, LONGEST_BRIEF_LIST, BRIEF_DESCRIPTION);
        let more = match unlisted {
            0 => String::new(),
            unlisted => format!("  {unlisted} more are not listed; a wrong name is answered with others.\n"),
        };
        let guidance = BRIEF_GUIDANCE.trim_end();
        return format!("{guidance}\n<available_skills>\n{text}{more}</available_skills>\n");
    }
    let guidance = SKILL_GUIDANCE.trim_end();
    if let Some(list) = whole_list(&skills) {
        return format!("{guidance}\n<available_skills>\n{list}</available_skills>\n");
    }
    let ShortList { text, unlisted } = short_list(&skills, LONGEST_LIST, SHORT_DESCRIPTION);
    let search = SEARCH_GUIDANCE.trim_end();
    let more = match unlisted {
        0 => String::new(),
        unlisted => format!("  {unlisted} more are not listed.\n"),
    };
    format!("{guidance}\n\n{search}\n<available_skills>\n{text}{more}</available_skills>\n")
}

/// True if the list cannot show every skill with its description, so that they have to be searched.
pub fn needs_search<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> bool {
    whole_list(&skills.into_iter().collect::<Vec<_>>()).is_none()
}

/// Every skill with its description and its place, if that fits.
fn whole_list(skills: &[&Skill]) -> Option<String> {
    let mut text = String::new();
    for skill in skills {
        let location = match &skill.location {
            Location::Builtin(_) => "built in".to_string(),
            Location::File(path) => escape(&path.to_string_lossy()),
        };
        text.push_str(&format!(
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    \
             <location>{location}</location>\n  </skill>\n",
            escape(skill.name.as_str()),
            escape(&cut(&skill.description, LONGEST_DESCRIPTION)),
        ));
        if text.chars().count() > LONGEST_LIST {
            return None;
        }
    }
    Some(text)
}

/// A list that leaves something out.
struct ShortList {
    text: String,
    /// The number of skills that are not even named.
    unlisted: usize,
}

/// The names that fit, then their descriptions while those fit. What is nearest to the work comes first: the workspace's, the
/// user's, then the others, each by name.
fn short_list(skills: &[&Skill], longest: usize, longest_description: usize) -> ShortList {
    let mut order: Vec<&Skill> = skills.to_vec();
    order.sort_by_key(|skill| (Reverse(skill.tier), skill.name.key()));
    let mut left = longest;
    let mut listed: Vec<&Skill> = Vec::new();
    for skill in &order {
        match left.checked_sub(entry(skill, None).chars().count()) {
            Some(rest) => left = rest,
            None => break,
        }
        listed.push(skill);
    }
    let mut described: BTreeSet<String> = BTreeSet::new();
    for skill in &listed {
        let longer =
            entry(skill, Some(longest_description)).chars().count() - entry(skill, None).chars().count();
        match left.checked_sub(longer) {
            Some(rest) => left = rest,
            None => break,
        }
        described.insert(skill.name.key());
    }
    let unlisted = order.len() - listed.len();
    listed.sort_by_key(|skill| (!described.contains(&skill.name.key()), skill.name.key()));
    let text = listed
        .iter()
        .map(|skill| entry(skill, described.contains(&skill.name.key()).then_some(longest_description)))
        .collect();
    ShortList { text, unlisted }
}

/// A skill on one line: its name and, up to so many characters, its description.
fn entry(skill: &Skill, description: Option<usize>) -> String {
    let description = description
        .map(|longest| format!("<description>{}</description>", escape(&cut(&skill.description, longest))));
    let name = escape(skill.name.as_str());
    format!("  <skill><name>{name}</name>{}</skill>\n", description.unwrap_or_default())
}

/// The skills whose names or descriptions have words of a query, the best first; at most ten.
pub fn search_skills<'a>(skills: impl IntoIterator<Item = &'a Skill>, query: &str) -> Vec<&'a Skill> {
    let query = query.to_lowercase();
    let words: BTreeSet<&str> =
        query.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut found: Vec<(usize, &Skill)> = Vec::new();
    for skill in skills {
        let (name, description) = (skill.name.key(), skill.description.to_lowercase());
        // A name says most; short words hide in longer ones and count only where one begins.
        let count = |text: &str, word: &str| {
            let starts =
                text.split(|letter: char| !letter.is_alphanumeric()).any(|part| part.starts_with(word));
            usize::from(starts) + usize::from(starts || word.chars().count() > 3 && text.contains(word))
        };
        let score: usize = words.iter().map(|word| 3 * count(&name, word) + count(&description, word)).sum();
        if score > 0 {
            found.push((score, skill));
        }
    }
    found.sort_by_key(|(score, skill)| (Reverse(*score), skill.name.key()));
    found.into_iter().take(MOST_MATCHES).map(|(_, skill)| skill).collect()
}

/// Skills that a search found, for the model.
pub fn render_matches(found: &[&Skill]) -> String {
    let entries: String = found.iter().map(|skill| entry(skill, Some(LONGEST_DESCRIPTION))).collect();
    format!("<available_skills>\n{entries}</available_skills>")
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
        let text = render_catalog(&skills, CatalogRoom::Usual);
        let list = &text[text.find("<available_skills>").unwrap()..];
        assert_eq!(
            list,
            "<available_skills>\n  <skill>\n    <name>a</name>\n    <description>Does &lt;a&gt; &amp; b.</description>\n    \
             <location>/s/a/SKILL.md</location>\n  </skill>\n  <skill>\n    <name>b</name>\n    \
             <description>Does b.</description>\n    <location>/s/b/SKILL.md</location>\n  </skill>\n</available_skills>\n"
        );
        assert_eq!(render_catalog(&[], CatalogRoom::Usual), "");
    }

    fn list_of(text: &str) -> &str {
        &text[text.find("<available_skills>\n").unwrap()..]
    }

    #[test]
    fn a_long_list_names_all_and_describes_what_fits() {
        let mut skills: Vec<Skill> =
            (0..100).map(|number| skill(&format!("s{number:03}"), &"é".repeat(2_000))).collect();
        skills.push(Skill { tier: SkillTier::Workspace, ..skill("zz", "Of this workspace.") });
        let text = render_catalog(&skills, CatalogRoom::Usual);
        assert!(needs_search(&skills) && !needs_search(&skills[..1]));
        assert!(
            text.contains(SEARCH_TOOL)
                && !render_catalog(&skills[..1], CatalogRoom::Usual).contains(SEARCH_TOOL)
        );
        assert!(list_of(&text).chars().count() < LONGEST_LIST + 100);
        assert!(skills.iter().all(|skill| text.contains(&format!("<name>{}</name>", skill.name))));
        let described = text.matches("<description>").count();
        assert!((30..101).contains(&described), "{described}");
        assert!(
            text.contains("<description>Of this workspace.</description>"),
            "what is nearest comes first"
        );
        assert!(text.contains("<skill><name>s099</name></skill>") && !text.contains("are not listed"));
        let mut turned: Vec<&Skill> = skills.iter().collect();
        turned.reverse();
        assert_eq!(render_catalog(turned, CatalogRoom::Usual), text, "their order does not matter");
        assert_eq!(
            render_catalog(&skills[..1], CatalogRoom::Usual).matches('é').count(),
            LONGEST_DESCRIPTION
        );
    }

    #[test]
    fn more_names_than_fit_are_counted() {
        let skills: Vec<Skill> =
            (0..2_000).map(|number| skill(&format!("skill-{number:04}"), "Does it.")).collect();
        let text = render_catalog(&skills, CatalogRoom::Usual);
        let named = text.matches("<name>").count();
        assert!(
            text.contains(&format!("  {} more are not listed.\n</available_skills>\n", 2_000 - named)),
            "{named}"
        );
        assert!(list_of(&text).chars().count() < LONGEST_LIST + 100);
    }

    #[track_caller]
    fn check_search(query: &str, expected: &[&str]) {
        let skills = [
            skill("release", "Use when a version is to be tagged and published."),
            skill("tides", "Reads tide tables. 潮汐表を読む。"),
            skill("publish-docs", "Builds the site <and> uploads it."),
        ];
        let found = search_skills(&skills, query);
        assert_eq!(found.iter().map(|skill| skill.name.as_str()).collect::<Vec<_>>(), expected, "{query}");
    }

    #[test]
    fn skills_are_found_by_words() {
        check_search("Publish a VERSION", &["publish-docs", "release"]);
        check_search("tide", &["tides"]);
        check_search("潮汐表", &["tides"]);
        check_search("it", &["publish-docs"]);
        check_search("nothing at all?", &[]);
        check_search("  ", &[]);
        let docs = skill("publish-docs", "Builds <and> uploads.");
        assert_eq!(
            render_matches(&[&docs]),
            "<available_skills>\n  <skill><name>publish-docs</name><description>Builds &lt;and&gt; uploads.</description></skill>\n</available_skills>"
        );
    }

    #[test]
    fn a_small_window_gets_a_short_list() {
        let skills: Vec<Skill> =
            (0..200).map(|index| skill(&format!("skill-{index}"), &"Reads tides. ".repeat(30))).collect();
        let text = render_catalog(&skills, CatalogRoom::Small);
        assert!(text.len() < LONGEST_BRIEF_LIST + 400, "{}", text.len());
        assert!(text.contains("skill-0") && text.contains("more are not listed"), "{text}");
        let one = render_catalog(&skills[..1], CatalogRoom::Small);
        assert!(one.contains("Reads tides") && !one.contains("not listed"), "{one}");
        assert_eq!(render_catalog(&[], CatalogRoom::Small), "");
    }
}
