//! Finds out by content what kind of session an input is.

use std::borrow::Cow;
use std::io::Read;

use longhaul_wire::{Json, Object, mend, text_of};
use serde::de::IgnoredAny;

use crate::Format;
use crate::ReadError;
use crate::lines::{Input, Lines, OwnedLine, Start, describe};
use crate::read::{KNOWN, KNOWN_TEXTS, Known, KnownText};
use crate::sketch::{Sketch, Sketcher};

/// The detected kind of an input.
pub(crate) enum Found<'t> {
    /// Records line by line; `head` are the lines that were looked at.
    Lines { known: &'static Known, head: Vec<OwnedLine> },
    /// One JSON value.
    Document { known: &'static Known, document: Json<'t>, lossy: bool, mended: bool },
    /// Text that is no JSON.
    Text { known: &'static KnownText, text: &'t str, lossy: bool },
}

impl Found<'_> {
    pub(crate) fn format(&self) -> Format {
        match self {
            Self::Lines { known, .. } | Self::Document { known, .. } => known.format,
            Self::Text { known, .. } => known.format,
        }
    }
}

/// So many bytes of the first line tell whether it opens a text.
const SAYS_ENOUGH: usize = 1_000;
/// The most lines without a hint about the format before detection gives up.
const LOOK_AT: usize = 200;

/// Looks at as much of the input as it takes to tell its format, and calls `open` with what was found.
///
/// The unread rest is handed over with it.
pub(crate) fn find_format<I: Input, T>(
    mut lines: Lines<I>,
    open: impl FnOnce(Found<'_>, Option<Lines<I>>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let first = lines.next_start()?.ok_or(ReadError::Empty)?;
    if first.goes_on && starts_json(&first.bytes) {
        return find_in_long_line(lines, &first, open);
    }
    let first = lines.finish(first)?;
    let (number, is_only) = (first.number, lines.is_at_end()?);
    match Shape::of(&first.bytes, is_only)? {
        Shape::Text(known) => open_text(known, &lines.rest(first.into_bytes())?, open),
        Shape::Document if is_only => {
            find_in_document(Sketch::of(&first.bytes), number, is_only, |found| open(found, None))
        }
        Shape::Document => {
            let mut sketcher = Sketcher::default();
            sketcher.feed(&first.into_bytes());
            lines.for_rest(|bytes| sketcher.feed(bytes))?;
            find_in_document(sketcher.finish(), number, is_only, |found| open(found, None))
        }
        Shape::Lines => find_in_lines(lines, first, open),
    }
}

/// Looks at an input whose first line is too long to hold before it is known what it is. It is one JSON value, or begins
/// with one.
fn find_in_long_line<I: Input, T>(
    mut lines: Lines<I>,
    first: &OwnedLine,
    open: impl FnOnce(Found<'_>, Option<Lines<I>>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    check_binary(&first.bytes)?;
    let mut sketcher = Sketcher::default();
    sketcher.feed(&first.bytes);
    let closed = lines.for_rest_of_line(|bytes| sketcher.feed(bytes))?;
    let is_only = lines.is_at_end()?;
    if !is_only && sketcher.is_complete() {
        let bytes = sketcher.finish().whole().into_owned();
        let line = OwnedLine { number: first.number, bytes, closed, goes_on: false };
        return find_in_lines(lines, line, open);
    }
    lines.for_rest(|bytes| sketcher.feed(bytes))?;
    find_in_document(sketcher.finish(), first.number, is_only, |found| open(found, None))
}

/// The format of a session, as its first lines tell it.
///
/// # Errors
/// If the input cannot be read, or is no session of a known format.
pub fn detect_format(input: impl Read) -> Result<Format, ReadError> {
    find_format(Lines::of(input), |found, _| Ok(found.format()))
}

/// As [`find_format`], of bytes that are all there: those of a text or of one JSON value are not copied.
pub(crate) fn find_format_in<'b, T>(
    bytes: &'b [u8],
    open: impl FnOnce(Found<'_>, Option<Lines<&'b [u8]>>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let Start { line, whole, is_only } = Start::of(bytes).ok_or(ReadError::Empty)?;
    match Shape::of(line.bytes, is_only)? {
        Shape::Text(known) => open_text(known, whole, open),
        Shape::Document => {
            let document = Sketch::of(if is_only { line.bytes } else { whole });
            find_in_document(document, line.number, is_only, |found| open(found, None))
        }
        Shape::Lines => find_format(Lines::new(bytes), open),
    }
}

/// The kind of an input, judged by its first line.
enum Shape {
    Text(&'static KnownText),
    /// One JSON value. Where it goes over many lines, or the first line is broken, only the whole can tell.
    Document,
    Lines,
}

impl Shape {
    fn of(first: &[u8], is_only: bool) -> Result<Self, ReadError> {
        check_binary(first)?;
        let start = text_of(&first[..first.len().min(SAYS_ENOUGH)]).0;
        Ok(match KNOWN_TEXTS.iter().find(|known| (known.is_first_line)(&start)) {
            Some(known) => Self::Text(known),
            None if starts_json(first) && (is_only || !is_json(first)) => Self::Document,
            None => Self::Lines,
        })
    }
}

fn open_text<I, T>(
    known: &'static KnownText,
    bytes: &[u8],
    open: impl FnOnce(Found<'_>, Option<Lines<I>>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let (text, lossy) = text_of(bytes);
    open(Found::Text { known, text: &text, lossy }, None)
}

fn find_in_lines<I: Input, T>(
    mut lines: Lines<I>,
    first: OwnedLine,
    open: impl FnOnce(Found<'_>, Option<Lines<I>>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let mut head = vec![first];
    loop {
        let newest = head.last().expect("the first line is there");
        if let Some(known) = known_record(&newest.bytes) {
            return open(Found::Lines { known, head }, Some(lines));
        }
        if head.len() == LOOK_AT {
            break;
        }
        match lines.next_owned()? {
            Some(line) => head.push(line),
            None => break,
        }
    }
    if head.len() > 1 {
        return Err(ReadError::Unknown { found: describe_lines(&head) });
    }
    let only = head.pop().expect("the first line is there");
    find_in_document(Sketch::of(&only.bytes), only.number, false, |found| open(found, None))
}

/// Looks at an input that is one JSON value, or should be; `number` is that of its first line. A value on one line
/// (`is_only`) may also be the only record of a log.
fn find_in_document<T>(
    sketch: Sketch<'_>,
    number: usize,
    is_only: bool,
    open: impl FnOnce(Found<'_>) -> Result<T, ReadError>,
) -> Result<T, ReadError> {
    let (text, lossy) = text_of(&sketch.head);
    if let Ok(mut document) = Json::parse(&text) {
        let only_line = (is_only && sketch.cuts.is_empty()).then_some((&*sketch.head, number));
        sketch.cuts.into_iter().for_each(|cut| cut.put_back(&mut document));
        return open(find_in_value(document, only_line, lossy, false)?);
    }
    let whole = sketch.whole();
    let (text, lossy) = text_of(&whole);
    let mended;
    let only_line = is_only.then_some((&*whole, number));
    open(match Json::parse(&text) {
        Ok(document) => find_in_value(document, only_line, lossy, false)?,
        Err(error) => {
            mended = mend(&text);
            match mended.as_deref().and_then(|mended| Json::parse(mended).ok()) {
                Some(document) => find_in_value(document, only_line, lossy, true)?,
                None => find_in_broken_document(&whole, number, &error)?,
            }
        }
    })
}

fn find_in_value<'t>(
    document: Json<'t>,
    only_line: Option<(&[u8], usize)>,
    lossy: bool,
    mended: bool,
) -> Result<Found<'t>, ReadError> {
    if let Some((bytes, number)) = only_line
        && let Some(known) = document.as_object().and_then(known_object)
    {
        return Ok(Found::Lines { known, head: vec![OwnedLine::only(bytes, number)] });
    }
    Ok(Found::Document { known: known_document(&document)?, document, lossy, mended })
}

/// The whole is no JSON; perhaps its lines are, and only the first is broken.
fn find_in_broken_document<'t>(
    bytes: &[u8],
    number: usize,
    error: &serde_json::Error,
) -> Result<Found<'t>, ReadError> {
    let mut lines = Lines::from_line(bytes, number);
    let mut head: Vec<OwnedLine> = Vec::new();
    let mut found = None;
    while let Some(line) = lines.next_owned()? {
        if found.is_none() && head.len() < LOOK_AT {
            found = known_record(&line.bytes);
        }
        head.push(line);
    }
    match found {
        Some(known) => Ok(Found::Lines { known, head }),
        None if starts_json(bytes) => Err(ReadError::BrokenJson { reason: error.to_string() }),
        None => Err(ReadError::Unknown { found: describe_lines(&head) }),
    }
}

/// True if this is JSON that could be read, found out without reading it. Broken characters are not looked for.
fn is_json(bytes: &[u8]) -> bool {
    serde_json::from_slice::<IgnoredAny>(bytes).is_ok()
}

fn starts_json(bytes: &[u8]) -> bool {
    matches!(bytes.trim_ascii_start().first(), Some(b'{' | b'['))
}

fn known_record(bytes: &[u8]) -> Option<&'static Known> {
    if bytes.trim_ascii_start().first() != Some(&b'{') {
        return None;
    }
    let (text, _) = text_of(bytes);
    known_object(Json::parse(&text).ok()?.as_object()?)
}

fn known_object(object: &Object<'_>) -> Option<&'static Known> {
    KNOWN.iter().find(|known| (known.is_record)(object))
}

fn known_document(value: &Json<'_>) -> Result<&'static Known, ReadError> {
    let known = KNOWN.iter().find(|known| (known.is_document)(value));
    known.ok_or_else(|| ReadError::Unknown { found: describe(value) })
}

fn describe_lines(head: &[OwnedLine]) -> String {
    let (text, _) = text_of(&head[0].bytes);
    match Json::parse(&text) {
        Ok(value) => format!("JSON lines, the first {}", describe(&value)),
        Err(_) => {
            let start: String = text.trim().chars().take(60).collect();
            let more = if text.trim().chars().count() > 60 { "…" } else { "" };
            format!("text starting with \"{start}{more}\"")
        }
    }
}

/// First bytes that give away what a file is.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x89PNG", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"%PDF", "PDF"),
    (b"\x7fELF", "ELF program"),
    (b"SQLite format 3", "SQLite database"),
    (b"\xff\xfe", "UTF-16 text"),
    (b"\xfe\xff", "UTF-16 text"),
];

fn check_binary(first: &[u8]) -> Result<(), ReadError> {
    let looks_like = MAGIC.iter().find(|(magic, _)| first.starts_with(magic)).map(|(_, what)| *what);
    let start = &first[..first.len().min(8192)];
    // What starts as JSON is text also where some of it is broken, unless every other byte of it is zero.
    let is_text = starts_json(first) && first.trim_ascii_start().get(1) != Some(&0)
        || !start.contains(&0) && (matches!(text_of(start).0, Cow::Borrowed(_)) || first.len() > start.len());
    if looks_like.is_some() || !is_text { Err(ReadError::Binary { looks_like }) } else { Ok(()) }
}
