//! Reads front matter line by line: as much of YAML as people write there, and what is almost YAML.

use super::{FrontMatterField, FrontMatterValue, MalformedValue, ReadFields};

/// Reads every field of the source. The indentation of a key decides which lines belong to it.
pub(super) fn read(source: &str) -> ReadFields {
    // The line of dashes is line 1.
    let lines = source
        .lines()
        .enumerate()
        .map(|(index, text)| SourceLine { number: index + 2, text: text.trim_end() });
    read_fields(&lines.collect::<Vec<_>>())
}

/// A line without its end, and its number in the file.
#[derive(Clone, Copy)]
struct SourceLine<'t> {
    number: usize,
    text: &'t str,
}

impl<'t> SourceLine<'t> {
    fn indent(self) -> usize {
        self.text.len() - self.text.trim_start().len()
    }

    fn is_blank(self) -> bool {
        self.text.is_empty()
    }

    /// The text without its indentation.
    fn words(self) -> &'t str {
        self.text.trim_start()
    }

    fn is_item(self) -> bool {
        self.words() == "-" || self.words().starts_with("- ")
    }
}

fn read_fields(lines: &[SourceLine<'_>]) -> ReadFields {
    let mut contents = ReadFields::default();
    let mut rest = lines;
    while let Some((line, below)) = rest.split_first() {
        if line.is_blank() || line.words().starts_with('#') {
            rest = below;
            continue;
        }
        let Some((key, value)) = split_key(line.words()) else {
            contents.unread_lines.push(line.number);
            // What belongs to a line that means nothing means nothing, either.
            rest = &below[indented_below(*line, below)..];
            continue;
        };
        let length = lines_of_value(*line, value, below);
        let (own, others) = below.split_at(length);
        contents.fields.push(FrontMatterField {
            key: key.to_string(),
            line: line.number,
            value: read_value(value, own),
            written: written(value, own),
        });
        rest = others;
    }
    contents
}

/// A key and the text behind its colon, which need not be followed by a space.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let key = key.trim_end();
    is_key(key).then_some((key, value.trim()))
}

fn is_key(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-'))
}

/// The number of lines that are indented deeper than this one, up to the last that is not blank.
fn indented_below(line: SourceLine<'_>, below: &[SourceLine<'_>]) -> usize {
    let belongs = |other: &&SourceLine<'_>| other.is_blank() || other.indent() > line.indent();
    let belonging = below.iter().take_while(belongs).count();
    below[..belonging].iter().rposition(|line| !line.is_blank()).map_or(0, |last| last + 1)
}

/// The number of lines below a key that belong to its value.
fn lines_of_value(line: SourceLine<'_>, value: &str, below: &[SourceLine<'_>]) -> usize {
    let indented = indented_below(line, below);
    match without_comment(value) {
        // Items may stand as far left as their key.
        "" => {
            let belongs = |other: &&SourceLine<'_>| {
                other.is_blank()
                    || other.indent() > line.indent()
                    || other.indent() == line.indent() && other.is_item()
            };
            below.iter().take_while(belongs).count()
        }
        // As may the end of a list in brackets.
        list if list.starts_with('[') && below.get(indented).is_some_and(|line| line.text == "]") => {
            indented + 1
        }
        _ => indented,
    }
}

fn read_value(value: &str, below: &[SourceLine<'_>]) -> Result<FrontMatterValue, MalformedValue> {
    let texts = || below.iter().map(|line| line.text).collect::<Vec<_>>();
    let joined = |start: &str| {
        let more = below.iter().map(|line| without_comment(line.words()));
        std::iter::once(start).chain(more).collect::<Vec<_>>().join(" ")
    };
    Ok(match without_comment(value) {
        "" => read_below(below)?,
        "|" | "|-" | "|+" => FrontMatterValue::Text(outdented(&texts()).join("\n")),
        ">" | ">-" | ">+" => FrontMatterValue::Text(folded(&outdented(&texts()))),
        list if list.starts_with('[') => FrontMatterValue::List(read_list(&joined(list))?),
        start => FrontMatterValue::Text(read_scalar(&joined(start))?),
    })
}

/// The value below a key that has nothing beside it: items with dashes, a text, or keys.
fn read_below(below: &[SourceLine<'_>]) -> Result<FrontMatterValue, MalformedValue> {
    let said = below.iter().filter(|line| !line.is_blank() && !line.words().starts_with('#'));
    let (items, others): (Vec<SourceLine<'_>>, Vec<SourceLine<'_>>) = said.partition(|line| line.is_item());
    if others.is_empty() {
        let texts = items.iter().map(|item| read_scalar(without_comment(item.words()[1..].trim())));
        return Ok(FrontMatterValue::List(texts.collect::<Result<_, _>>()?));
    }
    if !items.is_empty() {
        return Err(MalformedValue::Nested);
    }
    if others.iter().any(|line| split_key(line.words()).is_some()) {
        return Ok(FrontMatterValue::Mapping(read_fields(below).fields));
    }
    let text = others.iter().map(|line| line.words()).collect::<Vec<_>>().join(" ");
    Ok(FrontMatterValue::Text(read_scalar(&text)?))
}

/// A value as it is written, on one line.
fn written(value: &str, below: &[SourceLine<'_>]) -> String {
    let is_block_mark = matches!(value.trim_end_matches(['-', '+']), ">" | "|");
    let first = if is_block_mark { "" } else { value };
    let words = std::iter::once(first).chain(below.iter().map(|line| line.words()));
    let whole = words.filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ");
    unquoted(whole.trim()).to_string()
}

/// A text without the quotes around all of it.
fn unquoted(text: &str) -> &str {
    let inner =
        |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|text| !text.contains(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
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

/// The lines with each paragraph on one of its own.
fn folded(lines: &[&str]) -> String {
    let paragraphs = lines.split(|line| line.is_empty()).map(|paragraph| paragraph.join(" "));
    paragraphs.collect::<Vec<_>>().join("\n")
}

fn read_list(text: &str) -> Result<Vec<String>, MalformedValue> {
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let inner = inner.ok_or(MalformedValue::UnclosedList)?;
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

fn read_scalar(text: &str) -> Result<String, MalformedValue> {
    if let Some(rest) = text.strip_prefix('\'') {
        let end = closing_single(rest).ok_or(MalformedValue::UnclosedQuote)?;
        return Ok(rest[..end].replace("''", "'"));
    }
    let Some(rest) = text.strip_prefix('"') else { return Ok(text.to_string()) };
    let mut value = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => return Ok(value),
            '\\' => value.push(match letters.next().ok_or(MalformedValue::UnclosedQuote)? {
                'n' => '\n',
                't' => '\t',
                other => other,
            }),
            letter => value.push(letter),
        }
    }
    Err(MalformedValue::UnclosedQuote)
}

/// The end of a single-quoted text: the first quote that is not doubled.
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
