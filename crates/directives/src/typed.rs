//! Tells what a person typed from what they pasted: logs, code, reviews, tickets, documents.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use longhaul_text::{Unit, UnitKind, WordSet, Words, is_wide, split_units, starts_with_any};

use crate::elements::{is_tag, quoting_elements};
use crate::languages::{substrings, words};

/// A unit of a user's text, its words, and whose they are.
#[derive(Clone, Debug)]
pub struct Said<'t> {
    /// The sentence or list item.
    pub unit: Unit<'t>,
    pub(crate) words: Words,
    /// Its author.
    pub voice: Voice,
    /// It stands in an element such as `<issue>`: whoever wrote it, it describes something and instructs nobody.
    pub(crate) is_inside: bool,
}

/// Whose words a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The person's own.
    Typed,
    /// Handed on by the person: a review, a ticket, a plan.
    Handed,
}

/// Past this many bytes a text in which nobody says "I" was pasted; only its first and last paragraph may be typed.
const LONG_TEXT: usize = 8_000;

/// Who types a long text says "I" at least once in so many bytes.
const BYTES_PER_SELF: usize = 2_000;

/// A long text of so many headings is a document.
const DOCUMENT_HEADINGS: usize = 4;

/// The longest paragraph that a person types around a long paste.
const LONG_PARAGRAPH: usize = 1_000;

/// A line that names what is pasted below it is no longer than this.
const LONGEST_LEAD: usize = 200;

/// After this many machine-written lines the rest of a text belongs to the log, but for a last paragraph.
const LOG_LINES: usize = 3;

/// The units of a user's text without code, quotations, tables and log lines; `units` are all of them.
pub fn said_units<'t>(text: &'t str, units: &[Unit<'t>]) -> Vec<Said<'t>> {
    if is_document(text, units) {
        let mut said = walk(text, units, 0, true);
        said.iter_mut().for_each(|said| said.voice = Voice::Handed);
        return said;
    }
    if text.len() <= LONG_TEXT || is_in_first_person(text) {
        return walk(text, units, 0, true);
    }
    let first = text.find("\n\n").filter(|end| *end <= LONG_PARAGRAPH);
    let trimmed = text.trim_end();
    let last = trimmed.rfind("\n\n").filter(|start| trimmed.len() - start <= LONG_PARAGRAPH);
    let walk_piece =
        |piece: &'t str, offset, from_start| walk(piece, &split_units(piece), offset, from_start);
    let mut said = first.map_or_else(Vec::new, |end| walk_piece(&text[..end], 0, true));
    let handed_over = said.last().is_some_and(|last| hands_over(&last.unit, &last.words, said.len() == 1));
    if let Some(start) = last.filter(|start| Some(*start) != first && !handed_over) {
        said.extend(walk_piece(&text[start..], start, false));
    }
    said
}

/// Returns true if a text is a document with headings, and was pasted whole.
fn is_document(text: &str, units: &[Unit<'_>]) -> bool {
    let headings = units.iter().filter(|unit| unit.kind == UnitKind::Heading);
    text.len() > LONG_TEXT && headings.count() >= DOCUMENT_HEADINGS
}

/// Returns true if whoever wrote a text speaks of themselves in it.
fn is_in_first_person(text: &str) -> bool {
    let enough = text.len() / BYTES_PER_SELF;
    let spaced = text.split(|c: char| !c.is_alphanumeric()).filter(|word| SELF_WORDS.contains(word));
    let unspaced =
        || text.matches(['我', '私', '僕']).chain(text.matches("저는")).chain(text.matches("제가"));
    spaced.take(enough).count() >= enough || unspaced().take(enough).count() >= enough
}

/// Words for oneself, in all languages.
#[rustfmt::skip]
const SELF_WORDS: &[&str] = &[
    "I", "me", "my", "i", "ich", "mir", "mich", "je", "j", "moi", "mon", "yo", "mi", "mí", "eu", "meu", "minha", "mim", "я", "мне",
    "меня", "мной", "Ich", "Mir", "Je", "J", "Yo", "Eu", "Я", "Мне",
];

fn walk<'t>(text: &'t str, units: &[Unit<'t>], offset: usize, from_start: bool) -> Vec<Said<'t>> {
    let last_paragraph = text.trim_end().rfind("\n\n").unwrap_or(0);
    let mut machine_blocks = machine_blocks(text).into_iter().peekable();
    let mut quoted = quoted_units(text, units).into_iter();
    let mut elements = quoting_elements(text).into_iter().peekable();
    let mut said = Vec::with_capacity(units.len());
    let mut voice = Voice::Typed;
    let mut log_lines = 0;
    // The rest of the line behind the mark of a log belongs to it, too.
    let mut log_end = 0;
    for unit in units.iter().copied() {
        let is_quoted = quoted.next().unwrap_or_default();
        // Lines that are padded to a width were copied from a screen.
        let is_padded = || unit.text.contains("  \n");
        let is_block = matches!(unit.kind, UnitKind::Code | UnitKind::Quote | UnitKind::Row);
        if is_block || unit.start < log_end || is_padded() {
            continue;
        }
        while machine_blocks.next_if(|block| block.end <= unit.start).is_some() {}
        if machine_blocks.peek().is_some_and(|block| block.contains(&unit.start)) {
            continue;
        }
        while elements.next_if(|element| element.end <= unit.start).is_some() {
            voice = Voice::Typed;
        }
        let is_inside = elements.peek().is_some_and(|element| element.contains(&unit.start));
        if is_tag(unit.text) {
            continue;
        }
        if is_marked_as_machines(unit.text) {
            log_lines += 1;
            log_end = text[unit.start..].find('\n').map_or(text.len(), |length| unit.start + length);
            continue;
        }
        let words = Words::of(unit.text);
        if is_mostly_signs(unit.text) {
            log_lines += 1;
            continue;
        }
        if log_lines >= LOG_LINES && unit.start < last_paragraph {
            continue;
        }
        if opens_instructions(&unit) {
            voice = Voice::Typed;
        }
        let is_first = from_start && said.is_empty();
        let hands_over = hands_over(&unit, &words, is_first);
        let own = if is_quoted { Voice::Handed } else { voice };
        said.push(Said { unit: Unit { start: unit.start + offset, ..unit }, words, voice: own, is_inside });
        if hands_over {
            voice = Voice::Handed;
        }
    }
    said
}

/// The ranges of paragraphs that a program wrote: most of their lines look like it, or all are indented as code is.
fn machine_blocks(text: &str) -> Vec<Range<usize>> {
    let mut blocks = Vec::new();
    let mut block = Block::default();
    let mut start = 0;
    for line in text.split_inclusive('\n').chain(["\n"]) {
        if line.trim().is_empty() {
            if block.is_of_a_machine() {
                blocks.push(block.start..start);
            }
            block = Block::default();
        } else {
            let is_indented = line.starts_with("    ") || line.starts_with('\t');
            let is_marked = is_marked_as_machines(line.trim());
            // Words may stand right above a log.
            if block.lines == 0 && (is_indented || is_marked) {
                block.start = start;
            }
            if block.lines > 0 || is_indented || is_marked {
                block.lines += 1;
                block.indented += usize::from(is_indented);
                block.marked += usize::from(is_marked);
            }
        }
        start += line.len();
    }
    blocks
}

/// A paragraph, by the number of its lines.
#[derive(Default)]
struct Block {
    start: usize,
    lines: usize,
    indented: usize,
    marked: usize,
}

impl Block {
    fn is_of_a_machine(&self) -> bool {
        let is_code = self.lines > 0 && self.indented == self.lines;
        is_code || self.lines > 1 && self.marked * 2 >= self.lines
    }
}

/// Nouns that announce a pasted text in a line that ends in a colon.
static HANDED: WordSet = WordSet::new(|| words("pasted-nouns").collect());
static WIDE_HANDED: LazyLock<Vec<&str>> = LazyLock::new(|| substrings("pasted-nouns"));

/// Nouns that announce a pasted text before a colon on the same line.
static HANDED_AT_ONCE: WordSet = WordSet::new(|| words("pasted-at-once").collect());

/// Returns true if somebody else's text follows: "pr feedback:", "Here is the issue:", "Implement the following plan:".
fn hands_over(unit: &Unit<'_>, words: &Words, is_first: bool) -> bool {
    let names = |text: &str, words: &Words, known: &WordSet| {
        text.len() <= LONGEST_LEAD && words.len() <= 16 && words.texts().any(|word| known.has(word))
    };
    if let Some(lead) = unit.text.strip_suffix([':', '：']) {
        return names(lead, words, &HANDED)
            || words.has_wide() && WIDE_HANDED.iter().any(|known| lead.contains(known));
    }
    let lead = if is_first { unit.text.split_once(": ") } else { None };
    let Some((lead, _)) = lead else { return false };
    lead.len() <= LONGEST_LEAD
        && names(lead, &Words::of(lead), &HANDED_AT_ONCE)
        && lead.split(' ').count() <= 8
}

/// Returns true if the person speaks again behind a pasted text: a heading such as "Instructions".
fn opens_instructions(unit: &Unit<'_>) -> bool {
    let label = match unit.kind {
        UnitKind::Heading => unit.text,
        _ => unit.text.find(':').map_or(unit.text, |end| &unit.text[..end]),
    };
    let label = label.trim();
    let known = [
        "instructions",
        "rules",
        "requirements",
        "constraints",
        "guidelines",
        "important rules",
        "conventions",
    ];
    known.iter().any(|known| label.eq_ignore_ascii_case(known))
}

/// Beginnings that only programs write.
const MACHINE_STARTS: &[&str] = &[
    "File \"",
    "Traceback",
    "➜",
    "❯",
    "$ ",
    "% ",
    "✔",
    "✓",
    "✗",
    "├",
    "└",
    "│",
    "┌",
    "─",
    "npm ERR",
    "error:",
    "warning:",
    "Error:",
    "error[",
    "warning[",
    "diff --git",
    "@@",
    "+++",
    "---",
    "===",
    "<",
    "{",
    "}",
    "import ",
    "const ",
    "#include",
    "//",
    "/*",
    "at async ",
    "Caused by:",
    "panicked at",
    "thread '",
];

/// The bytes that [`MACHINE_STARTS`] begin with: hardly any sentence does.
static MACHINE_FIRST: [bool; 256] = {
    let mut table = [false; 256];
    let mut place = 0;
    while place < MACHINE_STARTS.len() {
        table[MACHINE_STARTS[place].as_bytes()[0] as usize] = true;
        place += 1;
    }
    table
};

/// Returns true if a line was written by a program, by how it begins and ends: a log, a stack frame, code. There is no space around
/// it.
fn is_marked_as_machines(text: &str) -> bool {
    let Some(first) = text.as_bytes().first() else { return false };
    if MACHINE_FIRST[*first as usize] && starts_with_any(text, MACHINE_STARTS)
        || text.ends_with(['{', '}', ';'])
    {
        return true;
    }
    let stack_frame = text.starts_with("at ") && text.contains(['(', ':']) && text.contains(['/', '.']);
    let stamped = text.len() > 10
        && text.as_bytes()[..4].iter().all(u8::is_ascii_digit)
        && matches!(text.as_bytes()[4], b'-' | b'/');
    let stamped = stamped || is_stamped(text);
    let tagged = text.starts_with('[')
        && text[1..].split(']').next().is_some_and(|tag| {
            let is_level = || LEVELS.iter().any(|level| level.eq_ignore_ascii_case(tag));
            tag.len() < 40
                && (tag.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b':') || is_level())
        });
    stack_frame || stamped || tagged || is_placed(text)
}

/// Returns true if a line begins with a place in a file, as compilers and linters write it: `src/a.py:12:9: F841 …`.
fn is_placed(text: &str) -> bool {
    let first = text.split_ascii_whitespace().next().unwrap_or_default();
    let mut fields = first.trim_end_matches(':').rsplit(':');
    let is_number = |field: Option<&str>| {
        field.is_some_and(|field| !field.is_empty() && field.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_number(fields.next())
        && fields.next().is_some_and(|field| field.contains(['.', '/']) || is_number(Some(field)))
}

/// Words with which programs say how bad a line of a log is.
#[rustfmt::skip]
const LEVELS: &[&str] = &[
    "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "CRIT", "CRITICAL", "FATAL", "ERRO", "AVISO", "ERREUR",
    "AVERTISSEMENT", "FEHLER", "WARNUNG", "ADVERTENCIA", "ОШИБКА", "ПРЕДУПРЕЖДЕНИЕ", "错误", "警告", "エラー", "오류", "경고",
];

/// The months as system logs write them.
const MONTHS: &[&str] = &["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Returns true if a line begins with a time or a level, as the lines of a log do: `12:03:44.120 INFO …`, `Nov 18 06:36:05 host …`,
/// `level=info …`, `I1118 06:36:05.1 …`.
fn is_stamped(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let Some(first) = words.next() else { return false };
    let level = first.trim_end_matches([':', '|', ']', '-']);
    // "CRITICAL RULE: …" is typed, "CRITICAL …" in a log is followed by a place or a colon.
    let is_level =
        LEVELS.contains(&level) && level.len() < text.len() && !(level == "CRITICAL" && first == level);
    let is_field = ["level=", "time=", "ts=", "lvl="].iter().any(|field| first.starts_with(field));
    let is_glog = first.len() == 5
        && first.starts_with(['I', 'W', 'E', 'F'])
        && first[1..].bytes().all(|byte| byte.is_ascii_digit())
        && words.clone().next().is_some_and(is_clock);
    let is_system = MONTHS.contains(&first) && words.clone().nth(1).is_some_and(is_clock);
    is_level || is_field || is_glog || is_system || is_clock(first)
}

/// Returns true if a word is a time of the day with seconds: `06:36:05`, `6:36:05.123`.
fn is_clock(word: &str) -> bool {
    let is_number =
        |text: &str| (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let mut fields = word.splitn(3, ':');
    let (hour, minute, second) = (fields.next(), fields.next(), fields.next());
    let second = second.map(|second| second.split(['.', ',', 'Z', '+']).next().unwrap_or_default());
    [hour, minute, second].into_iter().all(|field| field.is_some_and(is_number))
}

/// Pairs of quotation marks.
const QUOTATIONS: [(char, char); 6] =
    [('"', '"'), ('“', '”'), ('„', '“'), ('«', '»'), ('「', '」'), ('『', '』')];

/// For each unit whether it belongs to a quotation of several sentences: somebody else said them.
fn quoted_units(text: &str, units: &[Unit<'_>]) -> Vec<bool> {
    let mut quoted = vec![false; units.len()];
    if units.len() < 2 {
        return quoted;
    }
    let mut from = 0;
    for (start, end) in quotations(text) {
        while from < units.len() && units[from].start + units[from].text.len() <= start {
            from += 1;
        }
        let behind = units[from..].iter().take_while(|unit| unit.start < end).count();
        // A few words between marks are no quotation, but a name or an example.
        if behind > 1 {
            quoted[from..from + behind].fill(true);
        }
    }
    quoted
}

/// The ranges of quotations, in order. One ends in the paragraph that it began in.
fn quotations(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    // Most texts quote nobody.
    if text.is_ascii() && !text.contains('"') {
        return found;
    }
    let mut open: Option<(usize, char)> = None;
    let mut before = None;
    let mut signs = text.char_indices().peekable();
    while let Some((at, sign)) = signs.next() {
        let next = signs.peek().map(|(_, next)| *next);
        let is_inside = |next: Option<char>| next.is_some_and(|next| !next.is_whitespace());
        match open {
            Some((start, close))
                if sign == close && is_inside(before) && !next.is_some_and(char::is_alphanumeric) =>
            {
                found.push((start, at));
                open = None;
            }
            // A blank line ends the paragraph.
            Some(_) if sign == '\n' && before == Some('\n') => open = None,
            None => {
                let pair = QUOTATIONS.iter().find(|(opens, _)| *opens == sign);
                let begins = is_inside(next) && !before.is_some_and(char::is_alphanumeric);
                open = pair.filter(|(opens, _)| begins || *opens != '"').map(|(_, close)| (at, *close));
            }
            Some(_) => {}
        }
        before = Some(sign);
    }
    found
}

/// The text without quotations and code.
pub(crate) fn without_quotations(text: &str) -> Cow<'_, str> {
    let mut quoted = quotations(text);
    let mut codes = text.match_indices('`').map(|(at, _)| at);
    while let (Some(start), Some(end)) = (codes.next(), codes.next()) {
        quoted.push((start, end));
    }
    if quoted.is_empty() {
        return Cow::Borrowed(text);
    }
    quoted.sort_unstable();
    let (mut kept, mut done) = (String::with_capacity(text.len()), 0);
    for (start, end) in quoted.into_iter().filter(|(start, end)| start < end) {
        if start >= done {
            kept.push_str(&text[done..start]);
        }
        // The closing sign stays and parts what stands around it.
        done = done.max(end);
    }
    kept.push_str(&text[done..]);
    Cow::Owned(kept)
}

fn is_mostly_signs(text: &str) -> bool {
    if text.is_ascii() && !text.contains('`') {
        let odd = &*ODD_SIGNS;
        let signs = text.bytes().filter(|byte| odd[*byte as usize]).count();
        return text.len() > 12 && signs * 5 > text.len();
    }
    let (mut signs, mut all) = (0, 0);
    let mut in_code = false;
    for c in text.chars() {
        if c == '`' {
            in_code = !in_code;
        } else if !in_code {
            all += 1;
            signs += usize::from(is_odd_sign(c));
        }
    }
    all > 12 && signs * 5 > all
}

fn is_odd_sign(c: char) -> bool {
    !c.is_alphanumeric() && !c.is_whitespace() && !is_plain_sign(c)
}

/// The answers of [`is_odd_sign`] for ASCII.
static ODD_SIGNS: LazyLock<[bool; 256]> =
    LazyLock::new(|| std::array::from_fn(|byte| byte < 128 && is_odd_sign(char::from(byte as u8))));

fn is_plain_sign(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | '\''
            | '"'
            | '!'
            | '?'
            | '-'
            | ':'
            | '('
            | ')'
            | '*'
            | '/'
            | '_'
            | '`'
            | '’'
            | '“'
            | '”'
            | '…'
    ) || is_wide(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let said = said_units(text, &split_units(text));
        let typed = said.iter().filter(|said| said.voice == Voice::Typed).map(|said| said.unit.text);
        assert_eq!(typed.collect::<Vec<_>>(), expected);
        assert!(said.iter().all(|said| &text[said.unit.range()] == said.unit.text));
    }

    #[test]
    fn logs_and_code_are_not_typed() {
        check(
            "why?\n$ cargo test\nerror: no\n    at main (a.js:1:2)\nnever used\n\nfix it",
            &["why?", "fix it"],
        );
        check("look:\n```\nnever do this\n```\nok", &["look:", "ok"]);
        check("let x = foo(&bar);\nfn main() {\n[INFO] always on\n2025-01-02 10:00 never", &[]);
    }

    #[test]
    fn reviews_and_tickets_are_not_typed() {
        check("pr feedback:\n\n1. Never do that.\n2. Always that.", &["pr feedback:"]);
        check("more reviewer feedback: app/a.ts (1)\nAvoid it.", &["more reviewer feedback: app/a.ts (1)"]);
        check(
            "Here's the issue:\nIt never works.\nRULES:\nNever push.",
            &["Here's the issue:", "RULES:", "Never push."],
        );
        check("Note: never push.\nOk.", &["Note: never push.", "Ok."]);
    }

    #[test]
    fn long_texts_are_pasted() {
        let paste = "Never trust this line. ".repeat(500);
        check(&format!("Read this.\n\n{paste}\n\nThen sum it up."), &["Read this.", "Then sum it up."]);
        check(&paste, &[]);
    }
}
