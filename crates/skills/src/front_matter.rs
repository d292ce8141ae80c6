//! The front matter of a SKILL.md: found between its two lines of dashes, read as YAML, or as well as can be where it is none.

use saphyr_parser::{Event, Parser, ScalarStyle, Tag};

use crate::ManifestError;

/// Front matter beyond this is none.
const LONGEST: usize = 64 * 1024;

/// What the front matter must say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
}

/// The front matter and the text behind it.
pub(crate) fn split(text: &str) -> Result<(&str, &str), ManifestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line)).ok_or(ManifestError::NoFrontMatter)?;
    let start = first.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            let (front, body) = (&text[start..end], &text[end + line.len()..]);
            return if front.len() > LONGEST { Err(ManifestError::TooLong) } else { Ok((front, body)) };
        }
        end += line.len();
    }
    Err(ManifestError::Unclosed)
}

fn is_fence(line: &str) -> bool {
    line.starts_with("---") && line.trim_end() == "---"
}

/// Reads front matter: as YAML, and what that does not give from line to line.
pub(crate) fn read(front: &str) -> Fields {
    let strict = read_yaml(front).unwrap_or_default();
    if let Fields { name: Some(_), description: Some(_) } = strict {
        return strict;
    }
    let tolerant = read_lines(front);
    Fields { name: strict.name.or(tolerant.name), description: strict.description.or(tolerant.description) }
}

/// What a mapping in YAML says; nothing if it is none, is broken, or says something twice.
fn read_yaml(front: &str) -> Option<Fields> {
    let mut fields = Fields::default();
    let mut depth = 0_usize;
    let mut key: Option<String> = None;
    for event in Parser::new_from_str(front) {
        match event.ok()?.0 {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                if depth == 1 && key.take().is_none() {
                    // A key that is no text: what follows is none either.
                    key = Some(String::new());
                }
                depth += 1;
            }
            Event::MappingEnd | Event::SequenceEnd => depth = depth.saturating_sub(1),
            Event::Alias(_) if depth == 1 && key.take().is_none() => key = Some(String::new()),
            Event::Scalar(text, style, _, tag) if depth == 1 => match key.take() {
                None => key = Some(text.into_owned()),
                Some(key) => {
                    let slot = match key.as_str() {
                        "name" => &mut fields.name,
                        "description" => &mut fields.description,
                        _ => continue,
                    };
                    if slot.is_some() {
                        return None;
                    }
                    *slot = is_string(&text, style, tag.as_deref()).then(|| text.into_owned());
                }
            },
            _ => {}
        }
    }
    Some(fields)
}

/// Whether a scalar is a text, rather than a number, a truth or nothing.
fn is_string(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> bool {
    if let Some(tag) = tag {
        return tag.suffix == "str";
    }
    style != ScalarStyle::Plain
        || !matches!(
            text,
            "" | "~" | "null" | "Null" | "NULL" | "true" | "True" | "TRUE" | "false" | "False" | "FALSE"
        ) && text.parse::<f64>().is_err()
}

/// What single lines say, in any order, indented or not, with or without a space behind the colon. A description goes on in
/// the indented lines below it.
fn read_lines(front: &str) -> Fields {
    let mut fields = Fields::default();
    let mut lines = front.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(value) = value_of(line, "name") {
            fields.name.get_or_insert_with(|| unquoted(value).to_string());
        } else if let Some(value) = value_of(line, "description") {
            let mut words = vec![if is_block_mark(value) { "" } else { value }];
            let goes_on = |line: &&str| {
                line.starts_with([' ', '\t'])
                    && !line.trim().is_empty()
                    && value_of(line, "name").is_none()
                    && value_of(line, "description").is_none()
            };
            while let Some(more) = lines.next_if(goes_on) {
                words.push(more.trim());
            }
            let whole = words.join(" ");
            fields.description.get_or_insert_with(|| unquoted(whole.trim()).to_string());
        }
    }
    fields
}

fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    Some(line.trim_start().strip_prefix(key)?.trim_start().strip_prefix(':')?.trim())
}

/// Whether this only says that a block of text follows.
fn is_block_mark(value: &str) -> bool {
    matches!(value.trim_end_matches(['-', '+']), ">" | "|")
}

fn unquoted(text: &str) -> &str {
    let inner =
        |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(front: &str, name: Option<&str>, description: Option<&str>) {
        let fields = read(front);
        assert_eq!((fields.name.as_deref(), fields.description.as_deref()), (name, description), "{front}");
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
        check("name: 12\ndescription: true", Some("12"), Some("true"));
        check("name: a\nname: b\ndescription: d", Some("a"), Some("d"));
        check("name: n\ndescription:\n", Some("n"), Some(""));
        check("names: n\n", None, None);
        check("- name\n", None, None);
        check("", None, None);
    }

    #[track_caller]
    fn check_split(text: &str, expected: &Result<(&str, &str), ManifestError>) {
        assert_eq!(&split(text), expected, "{text:?}");
    }

    #[test]
    fn the_dashes_are_found() {
        check_split("---\na: b\n---\nbody\n", &Ok(("a: b\n", "body\n")));
        check_split("---\r\na: b\r\n---\r\nbody", &Ok(("a: b\r\n", "body")));
        check_split("\u{feff}---\n---", &Ok(("", "")));
        check_split("--- \nx\n---  \n---\n", &Ok(("x\n", "---\n")));
        check_split("# Title\n---\n---\n", &Err(ManifestError::NoFrontMatter));
        check_split("", &Err(ManifestError::NoFrontMatter));
        check_split(" ---\nx\n---\n", &Err(ManifestError::NoFrontMatter));
        check_split("---\nname: n\n ---\n----\n", &Err(ManifestError::Unclosed));
        check_split(&format!("---\n{}\n---\n", "x".repeat(LONGEST)), &Err(ManifestError::TooLong));
    }
}
