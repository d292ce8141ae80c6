//! The options and operands of a command that only reads.

use super::table::{Operand, OptionValue, ReadingEntry, ReadingOption};
use super::{NotReading, ReadPath, ReadPathKind};

/// Checks a command's words by its entry; returns the paths that they name, and whether operands name any.
pub(super) fn read(entry: &ReadingEntry, words: &[&str]) -> Result<(Vec<ReadPath>, bool), NotReading> {
    let mut reader = Reader { entry, words: words.iter(), operands: Vec::new(), has_pattern: false };
    while let Some(word) = reader.words.next() {
        reader.take(word)?;
    }
    let Reader { operands, has_pattern, .. } = reader;
    let mut kinds = entry.operands.as_slice();
    if has_pattern {
        kinds = kinds.strip_prefix(&[Operand::Pattern]).unwrap_or(kinds);
    }
    let mut paths = Vec::new();
    for operand in operands {
        let Some(kind) = kinds.first() else { return Err(NotReading::Argument(operand.to_owned())) };
        if kinds.len() > 1 {
            kinds = &kinds[1..];
        }
        paths.extend(named_path(*kind, operand)?);
    }
    let names_some = !paths.is_empty();
    Ok((paths, names_some))
}

struct Reader<'w> {
    entry: &'w ReadingEntry,
    words: std::slice::Iter<'w, &'w str>,
    operands: Vec<&'w str>,
    has_pattern: bool,
}

impl<'w> Reader<'w> {
    fn take(&mut self, word: &'w str) -> Result<(), NotReading> {
        let is_text = self.entry.operands == [Operand::Word];
        if is_text || word == "-" || !word.starts_with('-') {
            self.operands.push(word);
            return Ok(());
        }
        if word == "--" && !self.entry.has_tests() {
            self.operands.extend(self.words.by_ref());
            return Ok(());
        }
        if self.entry.takes_number() && is_number(&word[1..]) {
            return Ok(());
        }
        if self.entry.has_tests() || word.starts_with("--") {
            self.take_long(word)
        } else {
            self.take_letters(word)
        }
    }

    fn take_long(&mut self, word: &'w str) -> Result<(), NotReading> {
        let is_test = self.entry.has_tests();
        let (name, attached) = match word.split_once('=').filter(|_| !is_test) {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let option = self.entry.long(name).ok_or_else(|| NotReading::Option(name.to_owned()))?;
        self.take_value(word, option, attached)
    }

    /// Letters in one word, up to the first that takes a value.
    fn take_letters(&mut self, word: &'w str) -> Result<(), NotReading> {
        for (index, letter) in word.char_indices().skip(1) {
            let unknown = || NotReading::Option(format!("-{letter}"));
            let option = self.entry.letter(letter).ok_or_else(unknown)?;
            if option.value != OptionValue::None {
                let rest = &word[index + letter.len_utf8()..];
                return self.take_value(word, option, Some(rest).filter(|rest| !rest.is_empty()));
            }
            self.has_pattern |= option.gives_pattern;
        }
        Ok(())
    }

    fn take_value(
        &mut self,
        word: &str,
        option: ReadingOption,
        attached: Option<&'w str>,
    ) -> Result<(), NotReading> {
        self.has_pattern |= option.gives_pattern;
        let refused = || NotReading::Option(word.to_owned());
        match option.value {
            OptionValue::None if attached.is_some() => Err(refused()),
            OptionValue::None | OptionValue::Attached => Ok(()),
            OptionValue::Text => {
                attached.or_else(|| self.words.next().copied()).map(drop).ok_or_else(refused)
            }
            OptionValue::Number => {
                let value = attached.or_else(|| self.words.next().copied());
                value.filter(|value| is_count(value)).map(drop).ok_or_else(refused)
            }
        }
    }
}

/// `20`
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `20`, `+20`, `-20` or `20k`
fn is_count(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    is_number(text.strip_suffix(['b', 'k', 'K', 'M']).unwrap_or(text))
}

/// The path that an operand names, if it names one.
fn named_path(kind: Operand, operand: &str) -> Result<Option<ReadPath>, NotReading> {
    let path = |kind| Some(ReadPath { text: operand.to_owned(), kind });
    Ok(match kind {
        Operand::Text | Operand::Word | Operand::Pattern => None,
        Operand::Lines if is_line_script(operand) => None,
        Operand::Lines => return Err(NotReading::Argument(operand.to_owned())),
        // Standard input.
        Operand::File | Operand::Path if operand == "-" => None,
        Operand::File => path(ReadPathKind::File),
        Operand::Expression if matches!(operand, "!" | "(" | ")") => None,
        Operand::Path | Operand::Expression => path(ReadPathKind::Any),
        Operand::Revision => Some(named_revision(operand)?),
    })
}

/// The path in what git takes for a revision or a path: `HEAD:src/lib.rs` is a file of the repository, and `main` may be a
/// file, too.
fn named_revision(operand: &str) -> Result<ReadPath, NotReading> {
    match operand.split_once(':') {
        None => Ok(ReadPath { text: operand.to_owned(), kind: ReadPathKind::Any }),
        Some((revision, path)) if !revision.is_empty() && !path.is_empty() => {
            let is_relative = path.starts_with("./") || path.starts_with("../");
            let kind = if is_relative { ReadPathKind::Any } else { ReadPathKind::InRepository };
            Ok(ReadPath { text: path.to_owned(), kind })
        }
        // `:path`, `:/text`, `:(magic)`, and the whole tree of a revision.
        Some(_) => Err(NotReading::Argument(operand.to_owned())),
    }
}

/// True if a script of `sed` only prints lines by their numbers: `1,20p`, `5p;9,$p`, `10q`.
fn is_line_script(script: &str) -> bool {
    script.split(';').all(|part| {
        let part = part.trim();
        let Some(range) = part.strip_suffix(['p', 'q']) else { return false };
        let (first, last) = range.split_once(',').map_or((range, None), |(first, last)| (first, Some(last)));
        let is_line = |text: &str| text == "$" || is_number(text);
        is_line(first) && last.is_none_or(|last| is_line(last.strip_prefix('+').unwrap_or(last)))
    })
}
