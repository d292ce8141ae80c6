//! The laws of SKILL.md on texts that nearly are one.

mod laws;

use proptest::prelude::*;

proptest! {
    #[test]
    fn any_text_keeps_the_laws(
        text in "(---\n|\u{feff}?---\r\n|name: ?|description: ?|</instructions>|<activated_skill|</available_skills>|[a-z\"'>|\\-:#&*!%@\\[{\n\t é]{0,12}|\n---\n){0,16}",
    ) {
        laws::check_manifest(&text);
    }

    #[test]
    fn any_skill_keeps_the_laws(name in "\\PC{0,20}", description in "(.|\n|</?[a-z_]+>){0,40}", body in "(.|\n|</?instructions|>){0,40}") {
        laws::check_manifest(&format!("---\nname: {name}\ndescription: {description}\n---\n{body}"));
    }
}
