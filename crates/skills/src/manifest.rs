//! SKILL.md: the name and description of a skill, and the instructions behind them.

use std::fmt;

use longhaul_workspace::{FrontMatter, FrontMatterError, FrontMatterField, FrontMatterValue};

/// The name of a skill. It is never empty, never a path, and has no control characters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SkillName(String);

/// Front matter of more bytes is none.
const LONGEST_FRONT_MATTER: usize = 64 * 1024;

/// The most characters that a name has.
const LONGEST_NAME: usize = 128;

/// Characters that no name has, because some system or shell gives them a meaning.
const FORBIDDEN: [char; 9] = [':', '\\', '/', '<', '>', '*', '?', '"', '|'];

impl SkillName {
    /// Makes a name of what is written: characters that no file name should have become dashes.
    ///
    /// # Errors
    /// [`ManifestError::NoName`] where nothing remains that could be one.
    pub fn parse(written: &str) -> Result<Self, ManifestError> {
        let dash =
            |letter: char| if FORBIDDEN.contains(&letter) || letter.is_control() { '-' } else { letter };
        let name: String = written.trim().chars().map(dash).collect();
        let name = one_line(&name);
        let refused = |reason| Err(ManifestError::NoName { written: written.to_string(), reason });
        match name.as_str() {
            "" => refused("empty"),
            "." | ".." => refused("names a folder"),
            name if name.starts_with('.') => refused("starts with a dot"),
            name if name.chars().count() > LONGEST_NAME => refused("longer than 128 characters"),
            _ => Ok(Self(name)),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True if this is the name that somebody means, who need not care for capitals.
    pub fn is_meant_by(&self, given: &str) -> bool {
        self.key() == given.trim().to_lowercase()
    }

    /// The key that two names share if they differ only in capitals.
    pub(crate) fn key(&self) -> String {
        self.0.to_lowercase()
    }
}

impl fmt::Display for SkillName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A SKILL.md, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The name of the skill.
    pub name: SkillName,
    /// When to use it, on one line.
    pub description: String,
    /// The instructions.
    pub body: String,
}

/// The reason why a text is no SKILL.md.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It begins with something else.
    #[error("no front matter: the first line is not ---")]
    NoFrontMatter,
    /// The front matter has no second line of dashes.
    #[error("unclosed front matter: the closing --- line is missing")]
    Unclosed,
    /// The front matter is no front matter any more.
    #[error("front matter is longer than 64 KiB")]
    TooLong,
    /// A key is not there, or has no value.
    #[error("{key:?} is missing from the front matter")]
    Missing {
        /// The key.
        key: &'static str,
    },
    /// The name cannot be one.
    #[error("invalid skill name {written:?}: {reason}")]
    NoName {
        /// The text as it is written.
        written: String,
        /// The fault.
        reason: &'static str,
    },
}

impl From<FrontMatterError> for ManifestError {
    fn from(error: FrontMatterError) -> Self {
        match error {
            FrontMatterError::Missing => Self::NoFrontMatter,
            FrontMatterError::Unclosed => Self::Unclosed,
        }
    }
}

/// Reads a SKILL.md. Its front matter need not be valid YAML, as long as a name and a description can be made out.
///
/// # Errors
/// [`ManifestError`], which says in a sentence what is missing.
///
/// ```
/// use longhaul_skills::parse_manifest;
///
/// let skill = parse_manifest("---\nname: release\ndescription: Use: before a release\n---\n# Steps\n")?;
/// assert_eq!((skill.name.as_str(), skill.description.as_str()), ("release", "Use: before a release"));
/// assert_eq!(skill.body, "# Steps");
/// # Ok::<(), longhaul_skills::ManifestError>(())
/// ```
pub fn parse_manifest(text: &str) -> Result<Manifest, ManifestError> {
    let front = FrontMatter::parse(text)?;
    if front.source.len() > LONGEST_FRONT_MATTER {
        return Err(ManifestError::TooLong);
    }
    let missing = |key| ManifestError::Missing { key };
    let name = find_text(&front, "name").ok_or(missing("name"))?;
    let description = find_text(&front, "description").ok_or(missing("description"));
    let (name, description) = (SkillName::parse(name)?, one_line(description?));
    Ok(Manifest { name, description, body: front.body.trim().to_string() })
}

/// The first text that is not empty under this key: of the outermost keys, else of those below others.
fn find_text<'f>(front: &'f FrontMatter<'_>, key: &str) -> Option<&'f str> {
    fn among<'f>(fields: &'f [FrontMatterField], key: &str, is_yaml: bool) -> Option<&'f str> {
        let own = fields.iter().filter(|field| field.key == key).map(|field| match &field.value {
            Ok(FrontMatterValue::Text(text)) if is_yaml => text,
            _ => &field.written,
        });
        let below = fields.iter().filter_map(|field| match &field.value {
            Ok(FrontMatterValue::Mapping(inner)) => among(inner, key, is_yaml),
            _ => None,
        });
        own.map(String::as_str).chain(below).find(|text| !one_line(text).is_empty())
    }
    among(&front.fields, key, front.is_yaml)
}

/// Writes a SKILL.md that reads back as it is.
pub fn render_manifest(manifest: &Manifest) -> String {
    // A text of JSON is one of YAML, too.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let Manifest { name, description, body } = manifest;
    let (name, description) = (quoted(name.as_str()), quoted(&one_line(description)));
    format!("---\nname: {name}\ndescription: {description}\n---\n\n{}\n", body.trim())
}

/// The words of a text, on one line.
pub(crate) fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split(|letter: char| letter.is_whitespace() || letter.is_control()).collect();
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check_name(written: &str, expected: Option<&str>) {
        assert_eq!(SkillName::parse(written).ok().as_ref().map(SkillName::as_str), expected, "{written:?}");
    }

    #[test]
    fn names_are_made_harmless() {
        check_name("notes", Some("notes"));
        check_name(" Confidence Check ", Some("Confidence Check"));
        check_name("a/../b", Some("a-..-b"));
        check_name(r#"a:b\c<d>e*f?g"h|i"#, Some("a-b-c-d-e-f-g-h-i"));
        check_name("a\u{1b}[2Jb\n", Some("a-[2Jb"));
        check_name("返品", Some("返品"));
        for wrong in ["", "  ", ".", "..", ".hidden", &"x".repeat(129)] {
            check_name(wrong, None);
        }
        check_name("/", Some("-"));
    }

    #[test]
    fn capitals_do_not_matter() {
        let name = SkillName::parse("Release Notes").unwrap();
        assert!(name.is_meant_by("release notes ") && !name.is_meant_by("release-notes"));
    }

    #[track_caller]
    fn check(front: &str, name: Option<&str>, description: Option<&str>) {
        let text = format!("---\n{front}\n---\n");
        let front = FrontMatter::parse(&text).expect("front matter");
        assert_eq!(
            (find_text(&front, "name"), find_text(&front, "description")),
            (name, description),
            "{text}"
        );
    }

    #[test]
    fn yaml_is_read() {
        check("name: notes\ndescription: Takes notes.\n", Some("notes"), Some("Takes notes."));
        check("name: 'a b'\ndescription: \"x: y # z\"\n", Some("a b"), Some("x: y # z"));
        check("description: >-\n  Folded\n  text.\nname: n\n", Some("n"), Some("Folded text."));
        check(
            "metadata:\n  name: inner\n  tags: [a, b]\nname: n # why\ndescription: d",
            Some("n"),
            Some("d"),
        );
        check("? [name]\n: x\nname: n\ndescription: d", Some("n"), Some("d"));
        check("a: &x y\nb: *x\nname: n\ndescription: d", Some("n"), Some("d"));
        check("{name: n, description: d}", Some("n"), Some("d"));
        check("skill:\n  name: n\n  description: [a, b]", Some("n"), Some("[a, b]"));
    }

    #[test]
    fn what_is_no_yaml_is_read_by_lines() {
        check("name:notes\ndescription:Use: when it rains\n", Some("notes"), Some("Use: when it rains"));
        check(
            "name: n\ndescription: Use when: a: b\n  and more\n\nx: y",
            Some("n"),
            Some("Use when: a: b and more"),
        );
        check("  name: n\n description: \"a\" or: b", Some("n"), Some("\"a\" or: b"));
        check("\tname: n\ndescription: |\n\tblock: x: y\n", Some("n"), Some("block: x: y"));
        check("name: n\ndescription: Use: for #1, see #2", Some("n"), Some("Use: for #1, see #2"));
        check("name: 12\ndescription: true", Some("12"), Some("true"));
        check("name: a\nname: b\ndescription: d", Some("a"), Some("d"));
        check("name: n\ndescription: \"open", Some("n"), Some("\"open"));
        check("name: n\ndescription:\n", Some("n"), None);
        check("names: n\n", None, None);
        check("- name\n", None, None);
        check("", None, None);
    }

    #[track_caller]
    fn check_refused(text: &str, sentence: &str) {
        assert_eq!(parse_manifest(text).unwrap_err().to_string(), sentence);
    }

    #[test]
    fn what_is_missing_is_said() {
        check_refused("# Notes", "no front matter: the first line is not ---");
        check_refused("---\nname: x\n", "unclosed front matter: the closing --- line is missing");
        check_refused(
            &format!("---\n{}\n---\n", "x".repeat(LONGEST_FRONT_MATTER)),
            "front matter is longer than 64 KiB",
        );
        check_refused("---\ndescription: d\n---\n", r#""name" is missing from the front matter"#);
        check_refused(
            "---\nname: n\ndescription: ' '\n---\n",
            r#""description" is missing from the front matter"#,
        );
        check_refused("---\nname: ..\ndescription: d\n---\n", r#"invalid skill name "..": names a folder"#);
    }

    proptest! {
        #[test]
        fn no_text_panics_and_what_is_read_can_be_written(text in "(---\n|name: ?|description:|[a-z\"'>|\\-:#&*\\[{\n\t é]{0,12}|\n---\n){0,12}") {
            if let Ok(manifest) = parse_manifest(&text) {
                prop_assert_eq!(parse_manifest(&render_manifest(&manifest)).expect("it was written"), manifest);
            }
        }

        #[test]
        fn any_words_survive_writing(name in "[^\\pC.][^\\pC]{0,40}", description in "\\PC{0,60}x", body in "\\PC{0,40}") {
            if let Ok(name) = SkillName::parse(&name) {
                let manifest = Manifest { name, description: one_line(&description), body: body.trim().to_string() };
                prop_assert_eq!(parse_manifest(&render_manifest(&manifest)), Ok(manifest));
            }
        }
    }
}
