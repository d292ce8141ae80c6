//! Reads front matter as YAML, from the events of its parser: aliases are not expanded, so that no file can make itself large.

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{FrontMatterField, FrontMatterValue, MalformedValue, ReadFields};

/// Mappings further down are no values of front matter.
const DEEPEST: usize = 16;

/// The fields of a mapping; nothing where the source is something else, or is no YAML. `by_lines` are the fields as they
/// were made out line by line: they know what is written where.
pub(super) fn read(source: &str, by_lines: &[FrontMatterField]) -> Option<ReadFields> {
    let events: Vec<(Event<'_>, Span)> = Parser::new_from_str(source).collect::<Result<_, _>>().ok()?;
    let mut reader = EventReader { events: events.into_iter(), by_lines };
    loop {
        match reader.events.next()?.0 {
            Event::StreamStart | Event::DocumentStart(_) => {}
            Event::MappingStart(..) => break,
            _ => return None,
        }
    }
    let contents = reader.mapping(0)?;
    let is_last = reader.events.all(|(event, _)| matches!(event, Event::DocumentEnd | Event::StreamEnd));
    is_last.then_some(contents)
}

struct EventReader<'l, E> {
    events: E,
    by_lines: &'l [FrontMatterField],
}

impl<'s, E: Iterator<Item = (Event<'s>, Span)>> EventReader<'_, E> {
    /// The fields of a mapping that has begun. A key that is no text goes unread, with its value.
    fn mapping(&mut self, depth: usize) -> Option<ReadFields> {
        let mut contents = ReadFields::default();
        loop {
            let (event, span) = self.events.next()?;
            // The line of dashes is line 1.
            let line = span.start.line() + 1;
            match event {
                Event::MappingEnd => return Some(contents),
                Event::Scalar(key, ..) => {
                    let key = key.into_owned();
                    let written = written_at(self.by_lines, &key, line).map(str::to_string);
                    let value = self.value(depth, written.as_deref())?;
                    let written = written.unwrap_or_else(|| match &value {
                        Ok(FrontMatterValue::Text(text)) => text.clone(),
                        _ => String::new(),
                    });
                    contents.fields.push(FrontMatterField { key, line, value, written });
                }
                other => {
                    contents.unread_lines.push(line);
                    self.skip(&other)?;
                    let (value, _) = self.events.next()?;
                    self.skip(&value)?;
                }
            }
        }
    }

    /// The next value.
    fn value(
        &mut self,
        depth: usize,
        written: Option<&str>,
    ) -> Option<Result<FrontMatterValue, MalformedValue>> {
        let (event, _) = self.events.next()?;
        Some(match event {
            Event::Scalar(text, style, ..) => Ok(scalar(&text, style)),
            Event::Alias(_) => Ok(FrontMatterValue::Text(written.unwrap_or_default().to_string())),
            Event::SequenceStart(..) => self.list()?.map(FrontMatterValue::List),
            Event::MappingStart(..) if depth < DEEPEST => {
                Ok(FrontMatterValue::Mapping(self.mapping(depth + 1)?.fields))
            }
            other => {
                self.skip(&other)?;
                Err(MalformedValue::Nested)
            }
        })
    }

    /// The texts of a list that has begun.
    fn list(&mut self) -> Option<Result<Vec<String>, MalformedValue>> {
        let mut items = Ok(Vec::new());
        loop {
            match self.events.next()?.0 {
                Event::SequenceEnd => return Some(items),
                Event::Scalar(text, ..) => {
                    if let Ok(items) = &mut items {
                        items.push(text.into_owned());
                    }
                }
                other => {
                    self.skip(&other)?;
                    items = Err(MalformedValue::Nested);
                }
            }
        }
    }

    /// Passes over the rest of whatever began with this event.
    fn skip(&mut self, first: &Event<'_>) -> Option<()> {
        let opens = |event: &Event<'_>| matches!(event, Event::MappingStart(..) | Event::SequenceStart(..));
        let mut depth = usize::from(opens(first));
        while depth > 0 {
            match self.events.next()?.0 {
                Event::MappingEnd | Event::SequenceEnd => depth -= 1,
                event => depth += usize::from(opens(&event)),
            }
        }
        Some(())
    }
}

fn scalar(text: &str, style: ScalarStyle) -> FrontMatterValue {
    match style {
        // The parser writes a tilde where nothing is.
        ScalarStyle::Plain if matches!(text, "" | "~") => FrontMatterValue::List(Vec::new()),
        // The line breaks at the end of a block are there for the next key.
        ScalarStyle::Literal | ScalarStyle::Folded => {
            FrontMatterValue::Text(text.trim_end_matches('\n').to_string())
        }
        _ => FrontMatterValue::Text(text.to_string()),
    }
}

/// The value of the key on this line as it is written.
fn written_at<'f>(fields: &'f [FrontMatterField], key: &str, line: usize) -> Option<&'f str> {
    fields.iter().find_map(|field| match &field.value {
        _ if field.line == line && field.key == key => Some(field.written.as_str()),
        Ok(FrontMatterValue::Mapping(inner)) => written_at(inner, key, line),
        _ => None,
    })
}
