//! The laws of SKILL.md, which tests and fuzzers check alike.

use longhaul_skills::{
    Activation, CatalogRoom, Location, Skill, SkillTier, parse_manifest, render_catalog, render_manifest,
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

    let skill = Skill {
        name: manifest.name.clone(),
        description: manifest.description,
        tier: SkillTier::User,
        location: Location::File("/skills/a/SKILL.md".into()),
        is_enabled: true,
    };
    assert_eq!(render_catalog([&skill], CatalogRoom::Usual).matches("</available_skills>").count(), 1);
    let activation = Activation {
        name: manifest.name.to_string(),
        folder: None,
        instructions: manifest.body,
        resources: Vec::new(),
        is_cut_short: false,
    };
    let activated = activation.render();
    for tag in ["</instructions>", "</activated_skill>"] {
        assert_eq!(activated.to_ascii_lowercase().matches(tag).count(), 1, "{activated}");
    }
}
