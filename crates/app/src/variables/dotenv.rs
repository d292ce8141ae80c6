//! The format of `.env` files: `NAME=value` lines, with comments, quotes and values over several lines.

/// The variables of a text, the last of each name, and the lines that are none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ParsedEnv {
    /// In the order of the text; a later one of the same name counts.
    pub(super) variables: Vec<(String, String)>,
    /// The numbers of lines that are neither blank, nor a comment, nor a variable.
    pub(super) faulty_lines: Vec<usize>,
}

/// Reads a text.
pub(super) fn parse_env(text: &str) -> ParsedEnv {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut parsed = ParsedEnv::default();
    let mut rest = text;
    let mut number = 1;
    while !rest.is_empty() {
        let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let mut end = rest.len() - after.len();
        let trimmed = line.trim();
        if !trimmed.is_empty() && !trimmed.starts_with('#') {
            match assignment(line) {
                Some((name, value_at)) => {
                    let (value, length) = value_of(&rest[value_at..]);
                    parsed.variables.push((name.to_string(), value));
                    // A quoted value may go on over several lines; what follows its end in the last one is a comment.
                    let value_end = value_at + length;
                    if value_end > end {
                        let tail = rest[value_end..].find('\n').map_or(rest.len(), |at| value_end + at + 1);
                        end = tail;
                    }
                }
                None => parsed.faulty_lines.push(number),
            }
        }
        number += rest[..end].matches('\n').count();
        rest = &rest[end..];
    }
    parsed
}

/// The name in a line, and where its value begins.
fn assignment(line: &str) -> Option<(&str, usize)> {
    let at = line.find('=')?;
    let name = line[..at].trim();
    let name = match name.split_once(char::is_whitespace) {
        Some(("export", name)) => name.trim(),
        Some(_) => return None,
        None => name,
    };
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    is_name.then_some((name, at + 1))
}

/// The value at the start of a text, and its length there.
fn value_of(text: &str) -> (String, usize) {
    let line_end = text.find('\n').unwrap_or(text.len());
    let start = line_end.min(text.len() - text.trim_start_matches([' ', '\t', '\r']).len());
    let quote = text[start..].chars().next().filter(|c| "\"'`".contains(*c) && start < line_end);
    if let Some(quote) = quote
        && let Some(length) = closing_quote(&text[start + 1..], quote)
    {
        let inside = &text[start + 1..start + 1 + length];
        let value = match quote {
            '"' => inside.replace("\\n", "\n").replace("\\r", "\r"),
            _ => inside.to_string(),
        };
        return (value, start + length + 2);
    }
    let line = &text[..line_end];
    let value = line.split('#').next().unwrap_or_default().trim();
    (value.to_string(), line_end)
}

/// The position of the quote that ends a value; one behind a backslash does not.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        if letter == quote && !is_escaped {
            return Some(at);
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(&str, &str)], faulty_lines: &[usize]) {
        let parsed = parse_env(text);
        let found: Vec<(&str, &str)> =
            parsed.variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((found.as_slice(), parsed.faulty_lines.as_slice()), (expected, faulty_lines), "{text:?}");
    }

    #[test]
    fn variables_are_read_as_shells_and_dotenv_write_them() {
        check("A=1\nB = two words \n\n# C=3\nexport D=4", &[("A", "1"), ("B", "two words"), ("D", "4")], &[]);
        check("A=x # comment\r\nB=\r\nC='#no'", &[("A", "x"), ("B", ""), ("C", "#no")], &[]);
        check("\u{feff}A=\"a\\nb\" # c\nB='a\\nb'\nC=`q`", &[("A", "a\nb"), ("B", "a\\nb"), ("C", "q")], &[]);
        check("A=\"one\ntwo\" rest\nB=2", &[("A", "one\ntwo"), ("B", "2")], &[]);
        check("A=\"open\nB=2", &[("A", "\"open"), ("B", "2")], &[]);
        check("URL=https://x/?a=b", &[("URL", "https://x/?a=b")], &[]);
        check("A=\n  \"b\"\nC=3", &[("A", ""), ("C", "3")], &[2]);
    }

    #[test]
    fn lines_that_are_no_variables_are_counted() {
        check("nonsense\nA=1\n\n= x\nset B=2\na b=3", &[("A", "1")], &[1, 4, 5, 6]);
        check("A='1\n2'\nnonsense", &[("A", "1\n2")], &[3]);
        check("", &[], &[]);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[A-B= #\"'`\\\\\n\rü]{0,40}") {
            let parsed = parse_env(&text);
            prop_assert!(parsed.variables.len() + parsed.faulty_lines.len() <= text.lines().count());
        }
    }
}
