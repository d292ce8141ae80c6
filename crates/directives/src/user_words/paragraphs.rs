//! Shortens what a person typed by whole paragraphs, and tells what was left out.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use longhaul_conversation::grouped;
use longhaul_text::{Unit, UnitKind, count_plain_words};
use serde::{Deserialize, Serialize};

/// The part of a text that is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Omission {
    paragraphs: usize,
    characters: usize,
}

/// A text as far as it fits.
#[derive(Clone, Debug, Default)]
pub(super) struct Shortened {
    pub(super) lines: Vec<String>,
    /// True if more of it would be kept in more room.
    pub(super) is_shortened: bool,
}

/// A text longer than this, in bytes, is cut when it is taken in: it was pasted for the most part.
const LONGEST: usize = 24_000;

/// A text without its middle if it is very long: people comment on a paste before it or behind it.
pub(super) fn cut_long(text: &str) -> (String, Omission) {
    if text.len() <= LONGEST {
        return (text.to_string(), Omission::default());
    }
    let head = text.floor_char_boundary(LONGEST / 2);
    let head = text[..head].rfind("\n\n").or_else(|| text[..head].rfind('\n')).unwrap_or(head);
    let tail = text.ceil_char_boundary(text.len() - LONGEST / 2);
    let tail =
        text[tail..].find("\n\n").or_else(|| text[tail..].find('\n')).map_or(tail, |length| tail + length);
    let middle = &text[head..tail];
    let paragraphs = middle.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()).count();
    let omitted = Omission { paragraphs, characters: middle.chars().count() };
    (format!("{}\n\n{}", text[..head].trim_end(), text[tail..].trim_start()), omitted)
}

/// The paragraphs of a text that fit in `room`: those that ask for something before the others, code and tables last.
///
/// Only `units` are kept; they are those of the text that nobody else says. `measure` tells the cost of a line.
pub(super) fn shorten(
    text: &str,
    units: &[Unit<'_>],
    omitted: Omission,
    room: f64,
    measure: &dyn Fn(&str) -> f64,
) -> Shortened {
    let paragraphs: Vec<Paragraph> = paragraphs_of(text, units);
    let whole: Vec<String> = paragraphs.iter().flat_map(|paragraph| paragraph.lines.clone()).collect();
    let note = omitted.note();
    let cost = |lines: &[String]| lines.iter().map(|line| measure(line)).sum::<f64>();
    if whole.is_empty() {
        return Shortened::default();
    }
    if cost(&whole) + note.as_deref().map_or(0.0, measure) <= room {
        return Shortened { lines: whole.into_iter().chain(note).collect(), is_shortened: false };
    }
    // The longest note that there can be.
    let all = whole.iter().map(|line| line.chars().count() + 1).sum::<usize>();
    let mut left_out = omitted;
    left_out.add(Omission { paragraphs: paragraphs.len(), characters: all });
    let mut left = room - left_out.note().as_deref().map_or(0.0, measure);
    let mut order: Vec<usize> = (0..paragraphs.len()).collect();
    order.sort_by_key(|place| (paragraphs[*place].rank, *place));
    let mut is_kept = vec![false; paragraphs.len()];
    let (mut code_room, mut log_room) = (room * CODE_SHARE, room * LOG_SHARE);
    for place in order {
        let cost = cost(&paragraphs[place].lines);
        let rank = paragraphs[place].rank;
        let fits = cost <= left && (rank < FAULT || cost <= code_room) && (rank < LOG || cost <= log_room);
        if fits {
            left -= cost;
            code_room -= if rank >= FAULT { cost } else { 0.0 };
            log_room -= if rank >= LOG { cost } else { 0.0 };
            is_kept[place] = true;
        }
    }
    if !is_kept.contains(&true) {
        return shorten_sentences(units, omitted, room, measure);
    }
    let (mut lines, mut left_out) = (Vec::new(), omitted);
    for (paragraph, is_kept) in paragraphs.into_iter().zip(is_kept) {
        if is_kept {
            lines.extend(paragraph.lines);
        } else {
            let characters = paragraph.lines.iter().map(|line| line.chars().count() + 1).sum();
            left_out.add(Omission { paragraphs: 1, characters });
        }
    }
    lines.extend(left_out.note());
    Shortened { lines, is_shortened: true }
}

/// The first sentences of a text of which no paragraph fits.
fn shorten_sentences(
    units: &[Unit<'_>],
    omitted: Omission,
    room: f64,
    measure: &dyn Fn(&str) -> f64,
) -> Shortened {
    let is_sentence = |unit: &&Unit<'_>| !matches!(unit.kind, UnitKind::Code | UnitKind::Row);
    let note = |left_out: &Omission| {
        left_out.note().map(|note| note.replace("paragraphs", "sentences").replace("paragraph", "sentence"))
    };
    let mut left_out = omitted;
    let mut left = room;
    let mut lines: Vec<String> = Vec::new();
    // Its own note takes about so much.
    left -= measure("… 10 sentences left out (10,000 characters)");
    for unit in units.iter().filter(is_sentence) {
        let line = unit.text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cost = measure(&line);
        if left_out == omitted && cost <= left {
            left -= cost;
            lines.push(line);
        } else {
            left_out.add(Omission { paragraphs: 1, characters: unit.text.chars().count() });
        }
    }
    if !lines.is_empty() {
        lines.extend(note(&left_out));
    }
    Shortened { lines, is_shortened: true }
}

/// Lines between blank ones, or a list, as they are shown.
struct Paragraph {
    lines: Vec<String>,
    rank: u8,
}

/// From this rank on paragraphs are code, tables and logs: nobody is bound by their wording. Those that tell of a fault come
/// first, as they are what the rest was pasted for.
const FAULT: u8 = 2;
const CODE: u8 = 3;
/// Lines of a log that tell of none.
const LOG: u8 = 4;

/// Code, logs and tables take at most this share of the room, behind what is said.
const CODE_SHARE: f64 = 0.3;
/// The share of a log's ordinary lines: a few show what it is.
const LOG_SHARE: f64 = 0.05;

/// The paragraphs of a text, made of these units of it.
fn paragraphs_of(text: &str, units: &[Unit<'_>]) -> Vec<Paragraph> {
    let mut paragraphs: Vec<(Vec<String>, Vec<Unit<'_>>)> = Vec::new();
    let mut end = 0;
    for unit in units {
        let between = &text[end.min(unit.start)..unit.start];
        end = unit.range().end;
        let marker = between.rsplit('\n').next().unwrap_or(between).trim_start();
        // Where a unit is left out, what stood around it is no mark of the next one.
        let marker = if marker.len() <= 5 { marker } else { "" };
        let breaks = between.matches('\n').count();
        // A heading stands with what it is the heading of.
        let behind_heading = paragraphs
            .last()
            .is_some_and(|(lines, units)| units.last().is_some_and(|unit| is_heading(unit, lines)));
        let first = unit.text.lines().next().unwrap_or_default();
        let first = format!("{marker}{first}");
        let more =
            unit.text.lines().skip(1).map(|line| line.trim_end().to_string()).filter(|line| !line.is_empty());
        match paragraphs.last_mut() {
            Some((lines, units)) if breaks < 2 || behind_heading => {
                match lines.last_mut() {
                    Some(line) if breaks == 0 => *line = format!("{line} {}", first.trim_start()),
                    _ => lines.push(first),
                }
                lines.extend(more);
                units.push(*unit);
            }
            _ => paragraphs.push((std::iter::once(first).chain(more).collect(), vec![*unit])),
        }
    }
    let ranked = paragraphs.into_iter().enumerate().flat_map(|(place, (lines, units))| {
        if lines.len() > 2 && lines.iter().filter(|line| is_log_line(line)).count() * 2 > lines.len() {
            return split_log(lines, place == 0);
        }
        let rank = if place == 0 { 0 } else { rank_of(&units, &lines) };
        vec![Paragraph { lines, rank }]
    });
    ranked.collect()
}

/// Returns true for the last unit of a paragraph that leads to the next: a heading, a bold line or words before a colon.
fn is_heading(unit: &Unit<'_>, lines: &[String]) -> bool {
    let line = unit.text.trim();
    let is_bold =
        ["**", "__", "_"].iter().any(|sign| line.len() > 4 && line.starts_with(sign) && line.ends_with(sign));
    let leads = line.ends_with([':', '：']) || line.ends_with(":**") || line.ends_with(":_");
    unit.kind == UnitKind::Heading || lines.len() == 1 && line.len() < 100 && (is_bold || leads)
}

/// A paragraph for each line of a log. What the user said before it, in the first one, comes first.
fn split_log(lines: Vec<String>, is_first: bool) -> Vec<Paragraph> {
    let rank_of_line = |(place, line): (usize, &String)| match line {
        _ if place == 0 && is_first => 0,
        line if place == 0 && is_language(line) => 1,
        line if tells_of_fault(line) => FAULT,
        line if is_log_line(line) => LOG,
        _ => CODE,
    };
    let ranks: Vec<u8> = lines.iter().enumerate().map(rank_of_line).collect();
    lines.into_iter().zip(ranks).map(|(line, rank)| Paragraph { lines: vec![line], rank }).collect()
}

/// Returns true for a line as programs log: it begins with a time, a name in brackets or a level.
fn is_log_line(line: &str) -> bool {
    let line = line.trim_start();
    if let Some((tag, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        // A link or a box to tick of a list is neither.
        return tag.len() > 1 && tag.len() < 40 && rest.starts_with([' ', '[', ':']);
    }
    let first = line.split_whitespace().next().unwrap_or_default();
    let has_time = first.len() >= 8
        && first.starts_with(|sign: char| sign.is_ascii_digit())
        && first.matches([':', '-']).count() >= 2
        && first.chars().all(|sign| sign.is_ascii_digit() || ":-.,TZ+/".contains(sign));
    let is_level = ["INFO", "DEBUG", "TRACE", "WARN", "WARNING", "ERROR", "FATAL"]
        .iter()
        .any(|level| first.trim_end_matches(':') == *level);
    has_time || is_level
}

/// Returns true for a line that tells what went wrong.
fn tells_of_fault(line: &str) -> bool {
    FAULT_SEARCH.is_match(line)
}

fn rank_of(units: &[Unit<'_>], lines: &[String]) -> u8 {
    // What leads to code is left out with it.
    let units = match units {
        [first, rest @ ..] if !rest.is_empty() && is_heading(first, &[String::new()]) => rest,
        units => units,
    };
    let is_said = |unit: &&Unit<'_>| {
        !matches!(unit.kind, UnitKind::Code | UnitKind::Row | UnitKind::Quote) && is_language(unit.text)
    };
    let said: Vec<&Unit<'_>> = units.iter().filter(is_said).collect();
    if said.len() * 2 < units.len() || said.is_empty() {
        match lines {
            lines if lines.iter().any(|line| tells_of_fault(line)) => FAULT,
            lines if lines.iter().all(|line| is_log_line(line)) => LOG,
            _ => CODE,
        }
    } else if said.iter().any(|unit| count_plain_words(unit.text, 3) >= 3 && asks_for_something(unit.text)) {
        0
    } else {
        1
    }
}

impl Omission {
    pub(super) fn add(&mut self, more: Self) {
        self.paragraphs += more.paragraphs;
        self.characters += more.characters;
    }

    /// `… 3 paragraphs left out (1,240 characters)`
    fn note(&self) -> Option<String> {
        let thing = if self.paragraphs == 1 { "paragraph" } else { "paragraphs" };
        (self.characters > 0).then(|| {
            format!(
                "… {} {thing} left out ({} characters)",
                grouped(self.paragraphs),
                grouped(self.characters)
            )
        })
    }
}

/// A text of an earlier snapshot without the notes of what was left out of it, and what that was.
pub(super) fn without_note(text: &str) -> (String, Omission) {
    let mut omitted = Omission::default();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| {
            let note = read_note(line);
            note.into_iter().for_each(|note| omitted.add(note));
            note.is_none()
        })
        .collect();
    (lines.join("\n"), omitted)
}

/// Reads what [`Omission::note`] writes, and `… 1,240 characters more, m3` of older snapshots.
fn read_note(line: &str) -> Option<Omission> {
    let number = |text: &str| text.replace(',', "").trim().parse().ok();
    let note = line.strip_prefix("… ")?;
    if let Some((characters, _)) = note.split_once(" characters more, m") {
        return Some(Omission { paragraphs: 1, characters: number(characters)? });
    }
    let (count, rest) = note.split_once(' ')?;
    let (_, characters) = rest.split_once(" left out (")?;
    let characters = characters.strip_suffix(" characters)")?;
    Some(Omission { paragraphs: number(count)?, characters: number(characters)? })
}

/// Words with which people ask for something.
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "must", "should", "please", "don't", "do not", "never", "always", "need", "make sure", "ensure", "only", "use ",
    "add ", "fix ", "keep ", "avoid", "remove", "implement", "write", "run ", "create", "change", "update", "instead",
    "want", "不要", "必须", "请", "需要", "ください", "しない",
];

/// Looks for all of [`ASKING`] at once, in small letters and capitals.
static ASKING_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut search = AhoCorasick::builder();
    search.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    search.build(ASKING).expect("a few short words can be looked for")
});

/// Words with which programs tell what went wrong.
#[rustfmt::skip]
const FAULTS: &[&str] = &[
    "error", "failed", "failure", "fatal", "exception", "panicked", "traceback", "cannot ", "can't ", "could not", "denied", "not found", "undefined", "refused",
    "timed out", "unexpected",
];

static FAULT_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut search = AhoCorasick::builder();
    search.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    search.build(FAULTS).expect("a few short words can be looked for")
});

/// Returns true if a text is something said rather than code: letters for the most part, and no open end.
fn is_language(text: &str) -> bool {
    let (letters, all) = if text.is_ascii() {
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b' ';
        (text.bytes().filter(is_letter).count(), text.len())
    } else {
        let is_letter = |sign: &char| sign.is_alphabetic() || *sign == ' ';
        (text.chars().filter(is_letter).count(), text.chars().count())
    };
    letters * 4 >= all * 3 && !text.trim_end().ends_with(['{', '}', ';', ','])
}

fn asks_for_something(sentence: &str) -> bool {
    ASKING_SEARCH.is_match(sentence) || sentence.trim_end().ends_with('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn asking_is_heard_in_small_letters_and_capitals() {
        for said in ["You MUST do it", "Never.", "Is it?", "请看", "We Need it"] {
            assert!(asks_for_something(said), "{said}");
        }
        assert!(!asks_for_something("It is fine."));
    }

    #[test]
    fn code_is_told_from_language() {
        for said in ["Please keep the old name of it.", "请不要改这个文件的名字。", "It's done, isn't it?"]
        {
            assert!(is_language(said), "{said}");
        }
        for code in ["onChange={(e) => setQuery(e.target.value)}", "thread, title,", "] as const;", "{"] {
            assert!(!is_language(code), "{code}");
        }
    }

    #[test]
    fn of_a_pasted_log_the_fault_is_kept() {
        for line in
            ["[11:34:48.865] [API] GET /a", "[Proxy] GET /api", "2026-01-02T03:04:05Z start", "INFO: ready"]
        {
            assert!(is_log_line(line), "{line}");
        }
        for line in
            ["[x] done", "[link](https://a.example)", "3 items", "In 2026-01 we moved", "Info about it"]
        {
            assert!(!is_log_line(line), "{line}");
        }
        let log: String = (0..40).map(|n| format!("[11:34:{n:02}] [API] GET /items/{n}\n")).collect();
        let text =
            format!("It fails, here is the log:\n\n{log}[11:35:00] [Job] failed: no such branch\n{log}");
        let units = longhaul_text::split_units(&text);
        let kept = shorten(&text, &units, Omission::default(), 60.0, &|line| line.len() as f64 / 4.0);
        assert!(kept.lines.iter().any(|line| line.contains("no such branch")), "{:?}", kept.lines);
        assert!(kept.lines[0].starts_with("It fails") && kept.lines.len() < 6, "{:?}", kept.lines);
    }

    #[test]
    fn notes_are_read_as_they_are_written() {
        for omission in
            [Omission { paragraphs: 1, characters: 7 }, Omission { paragraphs: 1_200, characters: 34_567 }]
        {
            let note = omission.note().expect("something was left out");
            assert_eq!(without_note(&format!("a\n{note}\nb")), ("a\nb".to_string(), omission));
        }
        assert_eq!(without_note("a\n… 1,240 characters more, m3").1.characters, 1_240);
        assert_eq!(without_note("… and so on").0, "… and so on");
    }
}
