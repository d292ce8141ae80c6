//! The prompt beside past sessions for a model that learns from them: the skills that are there already, and the findings without
//! a model.

use std::fmt::Write as _;

use crate::index::told;
use crate::mining::{MinedPattern, SkillCandidate};
use crate::{Skill, SkillTier, Skills, WaitingSkill};

/// So many places are named for a finding.
const MOST_PLACES: usize = 6;

/// The skills that are there already, by where they come from. `waiting` are those that wait for the user.
pub fn render_known_skills(skills: &Skills, waiting: &[WaitingSkill]) -> String {
    let of = |tiers: &[SkillTier]| -> Vec<&Skill> {
        skills.found.iter().filter(|skill| tiers.contains(&skill.tier)).collect()
    };
    let mut text = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = writeln!(text, "{title}:\n{}", lines.concat());
        }
    };
    let is_waiting = |waiting: &WaitingSkill| {
        let description = waiting.manifest.as_ref().map(|manifest| manifest.description.as_str());
        line(&waiting.name, description.unwrap_or("it is no skill"))
    };
    section(
        "Learned before, waiting for the user; write one again under its name to improve it",
        waiting.iter().map(is_waiting).collect(),
    );
    let own = |skill: &&Skill| line(skill.name.as_str(), &skill.description);
    for (title, tiers) in [
        (
            "The user's; write one under its name to propose a change",
            &[SkillTier::User, SkillTier::UserShared][..],
        ),
        (
            "The workspace's; write one under its name to propose a change",
            &[SkillTier::Workspace, SkillTier::WorkspaceShared],
        ),
        ("Of extensions; they cannot be changed", &[SkillTier::Extension]),
        ("Coming with the program; they cannot be changed", &[SkillTier::Builtin]),
    ] {
        section(title, of(tiers).iter().map(own).collect());
    }
    if text.is_empty() { "There are none.\n".into() } else { text }
}

fn line(name: &str, description: &str) -> String {
    format!("- {}: {}\n", told(name), told(description))
}

/// Renders the findings without a model, the most promising first, at most so many.
pub fn render_candidates(found: &[SkillCandidate], most: usize) -> String {
    let mut text = String::new();
    for candidate in found.iter().take(most) {
        let SkillCandidate { finding, evidence, .. } = candidate;
        let _ = writeln!(
            text,
            "- {}, {} times in {} sessions: {}",
            finding.kind(),
            candidate.times(),
            candidate.sessions(),
            told(&finding.title())
        );
        if let MinedPattern::Repair { symptom: Some(symptom), .. } = finding {
            let _ = writeln!(text, "  it failed with: {}", told(symptom));
        }
        for seen in evidence.iter().take(MOST_PLACES) {
            let marks: Vec<String> = seen.marks.iter().map(ToString::to_string).collect();
            let _ = writeln!(text, "  in session {} at {}", told(&seen.session), marks.join(", "));
        }
    }
    if text.is_empty() { "Nothing.\n".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mine;
    use crate::mining::trial::session;
    use crate::{Location, SkillName};

    fn skill(name: &str, tier: SkillTier) -> Skill {
        Skill {
            name: SkillName::parse(name).expect("a name"),
            description: "Use <it>\nfor this.".into(),
            tier,
            location: Location::File(format!("/skills/{name}/SKILL.md").into()),
            is_enabled: true,
        }
    }

    #[test]
    fn skills_are_told_by_where_they_come_from() {
        assert_eq!(render_known_skills(&Skills::default(), &[]), "There are none.\n");
        let found = vec![skill("a", SkillTier::Extension), skill("b", SkillTier::User)];
        let waiting = WaitingSkill {
            name: "w".into(),
            folder: "/w".into(),
            manifest: Err("broken".into()),
            at: None,
            evidence: Vec::new(),
        };
        let expected = "Learned before, waiting for the user; write one again under its name to improve it:\n- w: it is no skill\n\n\
                        The user's; write one under its name to propose a change:\n- b: Use &lt;it&gt; for this.\n\n\
                        Of extensions; they cannot be changed:\n- a: Use &lt;it&gt; for this.\n\n";
        assert_eq!(render_known_skills(&Skills { found, ..Skills::default() }, &[waiting]), expected);
    }

    #[test]
    fn findings_are_told_with_their_places() {
        assert_eq!(render_candidates(&[], 9), "Nothing.\n");
        let lines = ["! make test", "$ docker compose up -d", "$ make test"];
        let found = mine(&[session("a", &lines), session("b", &lines)]);
        let text = render_candidates(&found, 9);
        let expected = "- repair, 2 times in 2 sessions: make test fails; docker compose up -d; make test passes\n  \
                        it failed with: error: it broke\n  in session a at m1, m2, m3\n  in session b at m1, m2, m3\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.len() > render_candidates(&found, 1).len());
    }
}
