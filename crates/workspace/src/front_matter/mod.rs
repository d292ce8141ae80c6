//! Front matter: the lines between `---` and `---` at the head of a Markdown file, read as YAML, or line by line where they
//! are no YAML.

mod lines;
mod yaml;

use std::fmt;

/// The front matter of a text, and the body below it.
///
/// ```
/// use longhaul_workspace::{FrontMatter, FrontMatterValue};
///
/// let front = FrontMatter::parse("---\nname: reviewer\ntools: [grep, glob]\n---\nYou review changes.\n")?;
/// let tools = &front.fields[1];
/// assert_eq!((tools.key.as_str(), tools.line), ("tools", 3));
/// assert_eq!(tools.value, Ok(FrontMatterValue::List(vec!["grep".into(), "glob".into()])));
/// assert_eq!(front.body, "You review changes.\n");
/// # Ok::<(), longhaul_workspace::FrontMatterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatter<'t> {
    /// The text between the two lines of dashes.
    pub source: &'t str,
    /// The text below the second line of dashes.
    pub body: &'t str,
    /// The keys and their values in the order of the file; a repeated key stands here twice.
    pub fields: Vec<FrontMatterField>,
    /// The lines, from 1 in the file, that are not of the form `key: value`. They cost only themselves.
    pub unread_lines: Vec<usize>,
    /// Set where the source is valid YAML; otherwise the fields were made out line by line.
    pub is_yaml: bool,
}

/// A key of the front matter and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontMatterField {
    /// The key.
    pub key: String,
    /// The line of the key, from 1 in the file.
    pub line: usize,
    /// The value, or the mistake in it.
    pub value: Result<FrontMatterValue, MalformedValue>,
    /// The value as it is written, on one line, comments included and without the quotes around all of it: a reader that
    /// wants some text rather than none takes this.
    pub written: String,
}

/// A value of the front matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FrontMatterValue {
    /// A text; numbers and truth values are texts, too.
    Text(String),
    /// A list of texts. A key with nothing behind it has an empty one.
    List(Vec<String>),
    /// Keys with values of their own.
    Mapping(Vec<FrontMatterField>),
}

/// A mistake in a value. Its text continues a sentence that begins with the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedValue {
    /// A list in brackets has no end.
    UnclosedList,
    /// A quotation has no end.
    UnclosedQuote,
    /// Lists or mappings stand inside a list.
    Nested,
}

impl fmt::Display for MalformedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UnclosedList => "has a \"[\" without a closing \"]\"",
            Self::UnclosedQuote => "has an unclosed quote",
            Self::Nested => "has nested values, which are ignored",
        })
    }
}

/// A text without front matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    /// The first line is no line of dashes.
    #[error("the first line is not ---")]
    Missing,
    /// There is no second line of dashes.
    #[error("the closing --- line is missing")]
    Unclosed,
}

impl<'t> FrontMatter<'t> {
    /// Reads the front matter of a text, behind a byte order mark if there is one.
    ///
    /// # Errors
    /// [`FrontMatterError`] where the text has none. Mistakes inside it cost only the line or the value they are in.
    pub fn parse(text: &'t str) -> Result<Self, FrontMatterError> {
        let (source, body) = split(text)?;
        let by_lines = lines::read(source);
        let as_yaml = yaml::read(source, &by_lines.fields);
        let is_yaml = as_yaml.is_some();
        let ReadFields { fields, unread_lines } = as_yaml.unwrap_or(by_lines);
        Ok(Self { source, body, fields, unread_lines, is_yaml })
    }
}

/// The fields of front matter, and the lines that are none.
#[derive(Debug, Default)]
struct ReadFields {
    fields: Vec<FrontMatterField>,
    unread_lines: Vec<usize>,
}

/// The text between the two lines of dashes, and the text below them.
fn split(text: &str) -> Result<(&str, &str), FrontMatterError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| is_fence(line)).ok_or(FrontMatterError::Missing)?;
    let start = first.len();
    let mut end = start;
    for line in lines {
        if is_fence(line) {
            return Ok((&text[start..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    Err(FrontMatterError::Unclosed)
}

fn is_fence(line: &str) -> bool {
    line.trim_end() == "---"
}

#[cfg(test)]
mod tests;
