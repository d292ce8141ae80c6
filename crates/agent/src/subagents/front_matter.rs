//! Reads the lines between `---` and `---` at the head of a file: as much of YAML as people write there, and no more.

use super::DefinitionProblem;

/// What a file says of itself, and what stands below.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct FrontMatter<'t> {
    pub(super) fields: Vec<Field>,
    pub(super) body: &'t str,
    /// Lines that mean nothing, which cost only themselves.
    pub(super) problems: Vec<DefinitionProblem>,
}

/// A key and its value.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    pub(super) key: String,
    pub(super) value: Value,
    /// The line of the key, from 1.
    pub(super) line: usize,
}

/// What a key is said to be.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    List(Vec<String>),
}

const FENCE: &str = "---";

impl<'t> FrontMatter<'t> {
    /// Takes a file apart.
    pub(super) fn parse(text: &'t str) -> Result<Self, DefinitionProblem> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut rest = text;
        let mut lines = Vec::new();
        let first = take_line(&mut rest).unwrap_or_default();
        if first.trim_end() != FENCE {
            return Err(DefinitionProblem::at(
                1,
                "it does not begin with front matter between two lines of \"---\"",
            ));
        }
        loop {
            match take_line(&mut rest) {
                None => {
                    return Err(DefinitionProblem::at(1, "its front matter has no second line of \"---\""));
                }
                Some(line) if line.trim_end() == FENCE => break,
                Some(line) => lines.push(line.trim_end()),
            }
        }
        let mut found = Self { body: rest, ..Self::default() };
        let mut reader = Lines { lines: &lines, next: 0 };
        while let Some((line, text)) = reader.take() {
            match read_field(line, text, &mut reader) {
                Ok(Some(field)) => found.fields.push(field),
                Ok(None) => {}
                Err(problem) => found.problems.push(problem),
            }
        }
        Ok(found)
    }
}

/// The next line without its end, which is cut off the text.
fn take_line<'t>(text: &mut &'t str) -> Option<&'t str> {
    if text.is_empty() {
        return None;
    }
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    *text = rest;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

/// The lines of the front matter, taken one by one.
struct Lines<'l, 't> {
    lines: &'l [&'t str],
    next: usize,
}

impl<'t> Lines<'_, 't> {
    /// The next line, with its number in the file.
    fn take(&mut self) -> Option<(usize, &'t str)> {
        let line = *self.lines.get(self.next)?;
        self.next += 1;
        // The fence is line 1.
        Some((self.next + 1, line))
    }

    fn take_if(&mut self, wanted: impl Fn(&str) -> bool) -> Option<&'t str> {
        let line = *self.lines.get(self.next)?;
        wanted(line).then(|| {
            self.next += 1;
            line
        })
    }

    /// The lines that belong to the key before them: those that are indented, and empty ones among them.
    fn take_indented(&mut self) -> Vec<&'t str> {
        let mut taken = Vec::new();
        while let Some(line) = self.take_if(|line| line.is_empty() || is_indented(line)) {
            taken.push(line);
        }
        let used = taken.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        taken.truncate(used);
        taken
    }
}

fn is_indented(line: &str) -> bool {
    line.starts_with([' ', '\t'])
}

fn read_field(
    line: usize,
    text: &str,
    lines: &mut Lines<'_, '_>,
) -> Result<Option<Field>, DefinitionProblem> {
    if text.is_empty() || text.starts_with('#') {
        return Ok(None);
    }
    let split = text.split_once(':').filter(|(_, value)| value.is_empty() || is_indented(value));
    let Some((key, value)) = split.filter(|(key, _)| is_key(key)) else {
        // What belongs to a line that means nothing means nothing, either.
        lines.take_indented();
        return Err(DefinitionProblem::at(line, "it is not of the form \"key: value\""));
    };
    let problem = |reason: &str| DefinitionProblem::at(line, format!("\"{key}\" {reason}"));
    let value = match without_comment(value.trim()) {
        "" => read_below(lines).map_err(problem)?,
        "|" | "|-" | "|+" => Value::Text(outdented(&lines.take_indented()).join("\n")),
        ">" | ">-" | ">+" => Value::Text(folded(&outdented(&lines.take_indented()))),
        list if list.starts_with('[') => {
            let mut list = list.to_string();
            while !list.ends_with(']')
                && let Some(more) = lines.take_if(|line| is_indented(line) || line == "]")
            {
                list.push(' ');
                list.push_str(without_comment(more.trim()));
            }
            Value::List(read_list(&list).map_err(problem)?)
        }
        start => {
            let more = lines.take_indented();
            let whole = std::iter::once(start).chain(more.iter().map(|line| without_comment(line.trim())));
            Value::Text(read_scalar(&whole.collect::<Vec<_>>().join(" ")).map_err(problem)?)
        }
    };
    Ok(Some(Field { key: key.to_string(), value, line }))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
}

/// What stands below a key that has nothing beside it: items with dashes, or a text.
fn read_below(lines: &mut Lines<'_, '_>) -> Result<Value, &'static str> {
    let is_item = |line: &str| line.trim_start() == "-" || line.trim_start().starts_with("- ");
    let mut items = Vec::new();
    let mut others = Vec::new();
    while let Some(line) = lines.take_if(|line| line.is_empty() || is_indented(line) || is_item(line)) {
        match line.trim_start() {
            line if line.is_empty() || line.starts_with('#') => {}
            line if is_item(line) => items.push(read_scalar(without_comment(line[1..].trim()))?),
            line => others.push(line),
        }
    }
    match (items.is_empty(), others.is_empty()) {
        (_, true) => Ok(Value::List(items)),
        (true, false)
            if !others.iter().any(|line| line.split_once(':').is_some_and(|(key, _)| is_key(key))) =>
        {
            Ok(Value::Text(read_scalar(&others.join(" "))?))
        }
        _ => Err("holds more than a text or a list, which does not count"),
    }
}

/// A value without the comment behind it.
fn without_comment(value: &str) -> &str {
    if value.starts_with(['"', '\'']) {
        return value;
    }
    value.find(" #").map_or(value, |start| value[..start].trim_end())
}

/// The lines without what they are all indented by.
fn outdented<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let indent = |line: &&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(indent).min().unwrap_or_default();
    // Lines may be indented by different characters of different lengths.
    lines.iter().map(|line| line.get(common..).unwrap_or(line.trim_start())).collect()
}

/// One paragraph to a line.
fn folded(lines: &[&str]) -> String {
    let paragraphs = lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" "));
    paragraphs.collect::<Vec<_>>().join("\n")
}

fn read_list(text: &str) -> Result<Vec<String>, &'static str> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or("begins a list with \"[\" that no \"]\" ends")?;
    let mut items = Vec::new();
    let mut item = String::new();
    let mut quote = None;
    for letter in inner.chars() {
        match (letter, quote) {
            (',', None) => items.push(std::mem::take(&mut item)),
            ('"' | '\'', None) if item.trim().is_empty() => {
                quote = Some(letter);
                item.push(letter);
            }
            (letter, Some(open)) if letter == open && !item.ends_with('\\') => {
                quote = None;
                item.push(letter);
            }
            (letter, _) => item.push(letter),
        }
    }
    items.push(item);
    // A comma behind the last item begins none.
    let items = items.iter().map(|item| item.trim()).filter(|item| !item.is_empty());
    items.map(read_scalar).collect()
}

fn read_scalar(text: &str) -> Result<String, &'static str> {
    let unclosed = "opens a quotation that it does not close";
    if let Some(rest) = text.strip_prefix('\'') {
        let end = closing_single(rest).ok_or(unclosed)?;
        return Ok(rest[..end].replace("''", "'"));
    }
    let Some(rest) = text.strip_prefix('"') else { return Ok(text.to_string()) };
    let mut value = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(value),
            '\\' => value.push(match letters.next().ok_or(unclosed)? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            letter => value.push(letter),
        }
    }
    Err(unclosed)
}

/// Where the quotation ends: at a quote that is not doubled.
fn closing_single(text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let end = from + text[from..].find('\'')?;
        if !text[end + 1..].starts_with('\'') {
            return Some(end);
        }
        from = end + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every field on a line of its own: a text as it is, a list with bars.
    fn fields(text: &str) -> Vec<String> {
        let text = format!("---\n{text}\n---\nbody");
        let found = FrontMatter::parse(&text).expect("front matter");
        assert_eq!(found.body, "body");
        let problems = found.problems.iter().map(|problem| format!("! {problem}"));
        let fields = found.fields.iter().map(|field| match &field.value {
            Value::Text(text) => format!("{} {}={text}", field.line, field.key),
            Value::List(items) => format!("{} {}=[{}]", field.line, field.key, items.join("|")),
        });
        fields.chain(problems).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(fields(text), expected, "{text}");
    }

    #[test]
    fn texts_are_plain_or_quoted() {
        check("name: explorer", &["2 name=explorer"]);
        check("# said\n\nname:  a b # why\nurl: http://x#y", &["4 name=a b", "5 url=http://x#y"]);
        check(r#"a: "x: \"y\" # z\n" # more"#, &["2 a=x: \"y\" # z\n"]);
        check("a: 'it''s'\nb: ''", &["2 a=it's", "3 b="]);
        check("a: one\n  two\n  three\nb: c", &["2 a=one two three", "5 b=c"]);
        check("a:\n  one\n  two", &["2 a=one two"]);
    }

    #[test]
    fn blocks_keep_or_fold_their_lines() {
        check("a: |\n  one\n    two\n\n  three\nb: c", &["2 a=one\n  two\n\nthree", "7 b=c"]);
        check("a: >-\n  one\n  two\n\n  three", &["2 a=one two\nthree"]);
        check("a: |\nb: c", &["2 a=", "3 b=c"]);
    }

    #[test]
    fn lists_are_inline_or_dashed() {
        check("a: [x, 'y, z', \"q\"]", &["2 a=[x|y, z|q]"]);
        check("a: []\nb: [x,]", &["2 a=[]", "3 b=[x]"]);
        check("a: [\n  x,\n  y # why\n]\nb: c", &["2 a=[x|y]", "6 b=c"]);
        check("a:\n  - x # why\n  # not this\n  - 'y'\nb: c", &["2 a=[x|y]", "6 b=c"]);
        check("a:\n- x\n- y\nb:", &["2 a=[x|y]", "5 b=[]"]);
    }

    #[test]
    fn what_means_nothing_costs_only_itself() {
        check(
            "nonsense\na: x\n{b: c}\n  d: e\nf: g",
            &[
                "3 a=x",
                "6 f=g",
                "! line 2: it is not of the form \"key: value\"",
                "! line 4: it is not of the form \"key: value\"",
            ],
        );
        check(
            "a: [x\nb: \"y\nc: 'z\nd: q",
            &[
                "5 d=q",
                "! line 2: \"a\" begins a list with \"[\" that no \"]\" ends",
                "! line 3: \"b\" opens a quotation that it does not close",
                "! line 4: \"c\" opens a quotation that it does not close",
            ],
        );
        check(
            "a:\n  b: c\nd: e",
            &["4 d=e", "! line 2: \"a\" holds more than a text or a list, which does not count"],
        );
    }

    #[test]
    fn a_file_needs_two_fences() {
        for text in ["", "name: x", "---", "---\nname: x\n", "\n---\n---\n"] {
            assert!(FrontMatter::parse(text).is_err(), "{text:?}");
        }
        let found = FrontMatter::parse("\u{feff}---\r\na: b\r\n---\r\n\r\nBody.\r\n").expect("front matter");
        assert_eq!((found.fields.len(), found.body), (1, "\r\nBody.\r\n"));
    }

    #[test]
    fn no_letter_is_split() {
        for hostile in
            ["a: |\n é\n\u{a0}\u{2003}é\n é", "a: 'é''", "a: [\"é\\", "é: é", "a:\n\u{2003}- é", "-\n- "]
        {
            FrontMatter::parse(&format!("---\n{hostile}\n---\n")).expect("front matter");
        }
    }
}
