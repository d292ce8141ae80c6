//! Motions: where a key moves the cursor, and the text that an operator before it covers.

use std::ops::Range;

use longhaul_display::text::char_width;

/// A motion with its count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Motion {
    Left {
        count: usize,
    },
    Right {
        count: usize,
    },
    Word {
        count: usize,
    },
    WordBack {
        count: usize,
    },
    /// To the end of a word; `from_end` counts the word under the cursor even at its last character.
    WordEnd {
        count: usize,
        from_end: bool,
    },
    LineStart,
    FirstCharacter,
    LineEnd {
        count: usize,
    },
    /// To a line by its number, from 1; none is the last.
    ToLine(Option<usize>),
    /// This line and so many below it.
    Lines {
        count: usize,
    },
    /// This line and so many above it.
    LinesAbove {
        count: usize,
    },
}

/// The kind of text that an operator covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Up to the target.
    Exclusive,
    /// With the character at the target.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// The class of a character; words are runs of one class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Space,
    Word,
    Mark,
}

impl Motion {
    /// The motion of a key; `j` and `k` are for operators only.
    pub(super) fn of(letter: char, count: usize, is_counted: bool) -> Option<Self> {
        Some(match letter {
            'h' => Self::Left { count },
            'l' | ' ' => Self::Right { count },
            'w' => Self::Word { count },
            'b' => Self::WordBack { count },
            'e' => Self::WordEnd { count, from_end: false },
            '0' => Self::LineStart,
            '^' => Self::FirstCharacter,
            '$' => Self::LineEnd { count },
            'g' => Self::ToLine(Some(count)),
            'G' => Self::ToLine(is_counted.then_some(count)),
            'j' => Self::Lines { count },
            'k' => Self::LinesAbove { count },
            _ => return None,
        })
    }

    pub(super) fn reach(self) -> Reach {
        match self {
            Self::WordEnd { .. } | Self::LineEnd { .. } => Reach::Inclusive,
            Self::ToLine(_) | Self::Lines { .. } | Self::LinesAbove { .. } => Reach::Lines,
            _ => Reach::Exclusive,
        }
    }

    /// The byte offset that the motion leads to.
    pub(super) fn target(self, text: &str, cursor: usize) -> usize {
        let repeat = |count: usize, step: fn(&str, usize) -> usize| {
            let mut place = cursor;
            for _ in 0..count {
                let next = step(text, place);
                if next == place {
                    break;
                }
                place = next;
            }
            place
        };
        match self {
            Self::Left { count } => before(text, cursor, count),
            Self::Right { count } => after(text, cursor, count),
            Self::Word { count } => repeat(count, next_word),
            Self::WordBack { count } => repeat(count, word_start),
            Self::WordEnd { count, from_end: false } => repeat(count, word_end),
            Self::WordEnd { count, from_end: true } => {
                let mut place = run_end(text, cursor);
                for _ in 1..count {
                    place = word_end(text, place);
                }
                place
            }
            Self::LineStart => line_start(text, cursor),
            Self::FirstCharacter => first_character(text, cursor),
            Self::LineEnd { count } => line_end(text, lines_on(text, cursor, count - 1)),
            Self::ToLine(number) => {
                let last = text.matches('\n').count();
                let line = number.map_or(last, |number| number.saturating_sub(1).min(last));
                first_character(text, lines_on(text, 0, line))
            }
            Self::Lines { count } => lines_on(text, cursor, count),
            Self::LinesAbove { count } => {
                let mut place = line_start(text, cursor);
                for _ in 0..count {
                    place = line_start(text, place.saturating_sub(1));
                }
                place
            }
        }
    }

    /// The text that an operator covers; none if there is nothing.
    pub(super) fn covers(self, text: &str, cursor: usize) -> Option<Range<usize>> {
        let target = self.target(text, cursor);
        let (start, end) = (cursor.min(target), cursor.max(target));
        let range = match self.reach() {
            Reach::Lines => return Some(line_start(text, start)..line_end(text, end)),
            Reach::Inclusive => start..after(text, end, 1),
            // A word at the end of a line does not take the line end with it.
            Reach::Exclusive if matches!(self, Self::Word { .. }) => start..within_line(text, start, end),
            Reach::Exclusive => start..end,
        };
        (!range.is_empty()).then_some(range)
    }
}

/// The end of what a word motion covers: not beyond the last line that it empties.
fn within_line(text: &str, start: usize, end: usize) -> usize {
    match text[start..end].rfind('\n') {
        Some(at) if at > 0 && text[start + at..end].trim().is_empty() => start + at,
        _ => end,
    }
}

/// So many characters to the left, within the line.
pub(super) fn before(text: &str, place: usize, count: usize) -> usize {
    let start = line_start(text, place);
    let mut at = place;
    for _ in 0..count {
        let Some(previous) =
            starts(&text[start..place]).rev().map(|found| start + found).find(|found| *found < at)
        else {
            break;
        };
        at = previous;
    }
    at
}

/// So many characters to the right, at most to the end of the line.
pub(super) fn after(text: &str, place: usize, count: usize) -> usize {
    let end = line_end(text, place);
    let later = starts(&text[place..end]).map(|found| place + found).filter(|found| *found > place);
    later.chain([end]).nth(count.saturating_sub(1)).unwrap_or(end)
}

/// The starts of the characters as people count them: marks belong to the one before.
fn starts(text: &str) -> impl DoubleEndedIterator<Item = usize> + '_ {
    text.char_indices()
        .filter(|(at, character)| {
            *at == 0
                || *character == '\t'
                || (char_width(*character) > 0 && !text[..*at].ends_with('\u{200d}'))
        })
        .map(|(at, _)| at)
}

pub(super) fn line_start(text: &str, place: usize) -> usize {
    text[..place].rfind('\n').map_or(0, |end| end + 1)
}

pub(super) fn line_end(text: &str, place: usize) -> usize {
    text[place..].find('\n').map_or(text.len(), |end| place + end)
}

/// The first character of a line that is no space.
pub(super) fn first_character(text: &str, place: usize) -> usize {
    let (start, end) = (line_start(text, place), line_end(text, place));
    text[start..end].find(|c: char| !c.is_whitespace()).map_or(end, |at| start + at)
}

/// The start of the line so many lines below, or this place itself.
fn lines_on(text: &str, place: usize, count: usize) -> usize {
    let mut at = place;
    for _ in 0..count {
        let end = line_end(text, at);
        if end == text.len() {
            break;
        }
        at = end + 1;
    }
    at
}

fn class(character: char) -> Class {
    match character {
        c if c.is_whitespace() => Class::Space,
        c if c.is_alphanumeric() || c == '_' || char_width(c) == 0 => Class::Word,
        _ => Class::Mark,
    }
}

/// The start of the next word; an empty line is one, too.
fn next_word(text: &str, place: usize) -> usize {
    let mut letters = text[place..].char_indices().peekable();
    let Some(first) = letters.peek().map(|(_, letter)| class(*letter)) else { return place };
    if first != Class::Space {
        while letters.next_if(|(_, letter)| class(*letter) == first).is_some() {}
    }
    let mut last = if first == Class::Space && text[place..].starts_with('\n') { ' ' } else { 'x' };
    while let Some((at, letter)) = letters.next_if(|(_, letter)| class(*letter) == Class::Space) {
        if letter == '\n' && last == '\n' {
            return place + at;
        }
        last = letter;
    }
    letters.peek().map_or(text.len(), |(at, _)| place + at)
}

/// The start of the word before.
fn word_start(text: &str, place: usize) -> usize {
    let trimmed = text[..place].trim_end();
    let Some(last) = trimmed.chars().next_back().map(class) else { return 0 };
    trimmed.trim_end_matches(|letter| class(letter) == last).len()
}

/// The last character of the next word end.
fn word_end(text: &str, place: usize) -> usize {
    let Some(first) = text[place..].chars().next() else { return place };
    let next = place + first.len_utf8();
    let rest = text[next..].trim_start();
    if rest.is_empty() {
        return before(text, text.trim_end().len().max(place), 1).max(place);
    }
    run_end(text, text.len() - rest.len())
}

/// The last character of the run of one class that begins here.
fn run_end(text: &str, place: usize) -> usize {
    let Some(first) = text[place..].chars().next() else { return place };
    let end = text[place..]
        .find(|letter| class(letter) != class(first))
        .map_or(text.len(), |length| place + length);
    before(text, end, 1)
}
