//! The laws of SKILL.md, which tests and fuzzers check alike.

use longhaul_skills::{
    Skill, SkillPlaces, SkillSettings, load_activation, load_skills, parse_manifest, render_manifest,
};

/// Any text is a skill or is refused with a reason; a skill can be written and read again, and nothing in it ends what it
/// stands in.
pub(crate) fn check_manifest(text: &str) {
    let manifest = match parse_manifest(text) {
        Ok(manifest) => manifest,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let name = manifest.name.as_str();
    assert!(
        !name.is_empty() && name != ".." && !name.contains(['/', '\\']) && !name.contains(char::is_control)
    );
    assert!(!manifest.description.is_empty() && !manifest.description.contains(['\n', '\r']));
    assert_eq!(parse_manifest(&render_manifest(&manifest)).as_ref(), Ok(&manifest));

    // The program's own skills live as long as it does; a fuzzer's are few enough to be left.
    let places = SkillPlaces { builtin: vec![String::leak(text.to_string())], ..SkillPlaces::default() };
    let skills = load_skills(&places, &SkillSettings::default());
    let skill: &Skill = &skills.found[0];
    let catalog = longhaul_skills::render_catalog([skill]);
    assert_eq!(catalog.matches("</available_skills>").count(), 1);
    let activated = load_activation(skill).expect("it was read before").render();
    for tag in ["</instructions>", "</activated_skill>"] {
        assert_eq!(activated.to_ascii_lowercase().matches(tag).count(), 1, "{activated}");
    }
}
