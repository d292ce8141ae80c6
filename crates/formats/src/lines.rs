//! Splits input into lines without holding more than one of them.

use std::io::{self, BufRead, BufReader, Read};

use longhaul_wire::Json;

/// The lines of an input, counted from 1.
pub(crate) struct Lines<I> {
    input: I,
    /// A line that the input does not have ready whole.
    buffer: Vec<u8>,
    /// The number of ready bytes that were handed out and are not needed from the next line on.
    handed_out: usize,
    number: usize,
    /// A line is not read on when it has so many bytes.
    most: usize,
}

/// An input that has bytes ready.
pub(crate) trait Input: BufRead {
    /// The bytes that can be looked at without reading any.
    fn ready(&self) -> &[u8];
}

impl<R: Read> Input for BufReader<R> {
    fn ready(&self) -> &[u8] {
        self.buffer()
    }
}

/// Memory has everything ready.
impl Input for &[u8] {
    fn ready(&self) -> &[u8] {
        self
    }
}

/// One line, without its end.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) bytes: &'a [u8],
    /// True if the line is closed; the last line of a torn file is not.
    pub(crate) closed: bool,
}

/// The start of an input that is all there.
pub(crate) struct Start<'a> {
    /// The first line that is not blank.
    pub(crate) line: Line<'a>,
    /// That line and everything behind it.
    pub(crate) whole: &'a [u8],
    /// True if nothing stands behind it.
    pub(crate) is_only: bool,
}

impl<'a> Start<'a> {
    /// The start of `bytes`, unless they are blank.
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let mut whole = bytes.strip_prefix(BOM).unwrap_or(bytes);
        let mut number = 1;
        loop {
            let end = memchr::memchr(b'\n', whole);
            let (line, behind) = whole.split_at(end.map_or(whole.len(), |end| end + 1));
            if !line.trim_ascii().is_empty() {
                let line = Line { number, bytes: line.trim_ascii_end(), closed: end.is_some() };
                return Some(Self { line, whole, is_only: behind.is_empty() });
            }
            if behind.is_empty() {
                return None;
            }
            (whole, number) = (behind, number + 1);
        }
    }
}

/// A line that was looked at and will be read again.
pub(crate) struct OwnedLine {
    pub(crate) number: usize,
    pub(crate) bytes: Vec<u8>,
    pub(crate) closed: bool,
    /// True if this is only the beginning of it.
    pub(crate) goes_on: bool,
}

impl OwnedLine {
    /// The only line of an input; it may well be torn.
    pub(crate) fn only(bytes: &[u8], number: usize) -> Self {
        Self { number, bytes: bytes.to_vec(), closed: false, goes_on: false }
    }

    pub(crate) fn as_line(&self) -> Line<'_> {
        Line { number: self.number, bytes: &self.bytes, closed: self.closed }
    }

    /// The line with its end, to put the rest of the input behind it.
    pub(crate) fn into_bytes(mut self) -> Vec<u8> {
        if self.closed {
            self.bytes.push(b'\n');
        }
        self.bytes
    }
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A line that is longer than this is a long one.
const LONG: usize = 1 << 18;

impl<R: Read> Lines<BufReader<R>> {
    /// The lines that can be read from a file or a pipe.
    pub(crate) fn of(reader: R) -> Self {
        Self::new(BufReader::with_capacity(1 << 18, reader))
    }
}

impl<I: Input> Lines<I> {
    pub(crate) fn new(input: I) -> Self {
        Self::from_line(input, 1)
    }

    /// The lines of a rest of an input; `first` is the number of its first line.
    pub(crate) fn from_line(input: I, first: usize) -> Self {
        Self { input, buffer: Vec::new(), handed_out: 0, number: first - 1, most: usize::MAX }
    }

    /// The next line that is not blank.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        loop {
            self.find_line()?;
            if self.held().is_empty() {
                return Ok(None);
            }
            self.number += 1;
            if !self.without_mark().trim_ascii().is_empty() {
                break;
            }
        }
        let closed = self.held().last() == Some(&b'\n');
        // The space at the end of a beginning may belong to a string.
        let is_beginning = !closed && self.buffer.len() >= self.most;
        let bytes = self.without_mark();
        let bytes = if is_beginning { bytes } else { bytes.trim_ascii_end() };
        Ok(Some(Line { number: self.number, bytes, closed }))
    }

    /// The line that was found, with its end.
    fn held(&self) -> &[u8] {
        if self.handed_out > 0 { &self.input.ready()[..self.handed_out] } else { &self.buffer }
    }

    /// The same without the mark that a file may begin with.
    fn without_mark(&self) -> &[u8] {
        let line = self.held();
        if self.number == 1 { line.strip_prefix(BOM).unwrap_or(line) } else { line }
    }

    /// Looks for the next line with its end; nothing at the end of the input. It is copied only where it has to be.
    fn find_line(&mut self) -> io::Result<()> {
        self.let_go();
        self.buffer.clear();
        loop {
            let ready = fill(&mut self.input)?;
            let end = memchr::memchr(b'\n', ready);
            let length = end.map_or(ready.len(), |end| end + 1);
            if end.is_some() && self.buffer.is_empty() {
                self.handed_out = length;
                return Ok(());
            }
            self.buffer.extend_from_slice(&ready[..length]);
            self.input.consume(length);
            if end.is_some() || length == 0 || self.buffer.len() >= self.most {
                return Ok(());
            }
        }
    }

    /// Nobody looks at the last line any more.
    fn let_go(&mut self) {
        self.input.consume(std::mem::take(&mut self.handed_out));
    }

    /// The next line that is not blank, given away: a line may be as large as its file.
    pub(crate) fn next_owned(&mut self) -> io::Result<Option<OwnedLine>> {
        let Some(Line { number, bytes, closed }) = self.next()? else { return Ok(None) };
        let length = bytes.len();
        let mut bytes =
            if self.handed_out > 0 { self.held().to_vec() } else { std::mem::take(&mut self.buffer) };
        self.let_go();
        if number == 1 && bytes.starts_with(BOM) {
            bytes.drain(..BOM.len());
        }
        bytes.truncate(length);
        Ok(Some(OwnedLine { number, bytes, closed, goes_on: false }))
    }

    /// The next line that is not blank, or the beginning of it if it is a long one: it may be better not to hold it whole.
    pub(crate) fn next_start(&mut self) -> io::Result<Option<OwnedLine>> {
        self.most = LONG;
        let line = self.next_owned();
        self.most = usize::MAX;
        let Some(mut line) = line? else { return Ok(None) };
        line.goes_on = !line.closed && !self.is_at_end()?;
        Ok(Some(line))
    }

    /// The whole line of which this is the beginning.
    pub(crate) fn finish(&mut self, mut line: OwnedLine) -> io::Result<OwnedLine> {
        if std::mem::take(&mut line.goes_on) {
            line.closed = self.for_rest_of_line(|bytes| line.bytes.extend_from_slice(bytes))?;
            line.bytes.truncate(line.bytes.trim_ascii_end().len());
        }
        Ok(line)
    }

    /// Hands over what is left of a line that goes on, bit by bit, and tells whether it is closed.
    pub(crate) fn for_rest_of_line(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<bool> {
        loop {
            let ready = fill(&mut self.input)?;
            let end = memchr::memchr(b'\n', ready);
            let length = end.map_or(ready.len(), |end| end + 1);
            take(&ready[..length]);
            self.input.consume(length);
            if end.is_some() || length == 0 {
                return Ok(end.is_some());
            }
        }
    }

    /// Hands over everything that has not been read yet, bit by bit.
    pub(crate) fn for_rest(&mut self, mut take: impl FnMut(&[u8])) -> io::Result<()> {
        self.let_go();
        loop {
            let ready = fill(&mut self.input)?;
            let length = ready.len();
            if length == 0 {
                return Ok(());
            }
            take(ready);
            self.input.consume(length);
        }
    }

    /// True if everything has been read.
    pub(crate) fn is_at_end(&mut self) -> io::Result<bool> {
        self.let_go();
        Ok(fill(&mut self.input)?.is_empty())
    }

    /// Everything that has not been read yet, behind `start`.
    pub(crate) fn rest(mut self, mut start: Vec<u8>) -> io::Result<Vec<u8>> {
        self.let_go();
        self.input.read_to_end(&mut start)?;
        Ok(start)
    }
}

/// The bytes that can be read without waiting; none at the end of the input.
fn fill(input: &mut impl Input) -> io::Result<&[u8]> {
    loop {
        match input.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => break,
        }
    }
    Ok(input.ready())
}

/// The kind of a value that is not a session, for messages.
pub(crate) fn describe(value: &Json<'_>) -> String {
    match value {
        Json::Object(object) if object.is_empty() => "an empty JSON object".into(),
        Json::Object(object) => {
            let short = |key: &str| key.chars().take(40).collect::<String>();
            let keys: Vec<String> = object.keys().take(6).map(short).collect();
            let more = if object.keys().count() > keys.len() { ", …" } else { "" };
            format!("a JSON object with the keys {}{more}", keys.join(", "))
        }
        other => match other.as_array().map(<[_]>::first) {
            None => format!("{} in JSON", other.kind()),
            Some(None) => "an empty JSON array".into(),
            Some(Some(first @ Json::Object(_))) => {
                format!("a JSON array whose first item is {}", describe(first))
            }
            Some(Some(first)) => format!("a JSON array whose first item is {}", first.kind()),
        },
    }
}

#[cfg(test)]
mod tests {
    use longhaul_wire::text_of;

    use super::*;

    #[track_caller]
    fn check_lines(input: &[u8], expected: &[(usize, &str, bool)]) {
        let expected: Vec<_> =
            expected.iter().map(|(n, text, closed)| (*n, text.to_string(), *closed)).collect();
        assert_eq!(all_of(Lines::new(input)), expected);
        assert_eq!(all_of(Lines::of(input)), expected);
    }

    fn all_of(mut lines: Lines<impl Input>) -> Vec<(usize, String, bool)> {
        let mut seen = Vec::new();
        while let Some(line) = lines.next().expect("memory does not fail") {
            seen.push((line.number, text_of(line.bytes).0.into_owned(), line.closed));
        }
        seen
    }

    #[test]
    fn ends_of_lines_and_marks_are_stripped() {
        check_lines(b"\xEF\xBB\xBF{}\r\n\r\n  \n[]\n", &[(1, "{}", true), (4, "[]", true)]);
        check_lines(b"\xEF\xBB\xBF\n{}", &[(2, "{}", false)]);
        check_lines(b"a\nb", &[(1, "a", true), (2, "b", false)]);
        check_lines(b"", &[]);
    }

    #[test]
    fn lines_of_any_length_come_whole() {
        // Some end exactly where the reader's buffer does, some are longer than it is.
        let lengths = [1, (1 << 18) - 3, 5, 1 << 18, (1 << 19) + 7, 2];
        let line = |length: &usize| "x".repeat(*length);
        let input = lengths.iter().map(line).collect::<Vec<_>>().join("\n");
        check_lengths(Lines::of(input.as_bytes()), &lengths);
        check_lengths(Lines::new(input.as_bytes()), &lengths);
        let mut lines = Lines::of(input.as_bytes());
        let first = lines.next_owned().expect("memory does not fail").expect("there are lines");
        assert_eq!(lines.rest(first.into_bytes()).expect("memory does not fail"), input.as_bytes());
    }

    #[track_caller]
    fn check_lengths(mut lines: Lines<impl Input>, lengths: &[usize]) {
        for (nth, length) in lengths.iter().enumerate() {
            let read = if nth % 2 == 0 {
                lines.next().map(|line| line.map(|line| line.bytes.len()))
            } else {
                lines.next_owned().map(|line| line.map(|line| line.bytes.len()))
            };
            assert_eq!(read.expect("memory does not fail"), Some(*length));
            assert_eq!(lines.is_at_end().expect("memory does not fail"), nth + 1 == lengths.len());
        }
    }

    #[test]
    fn a_long_line_may_be_read_bit_by_bit() {
        let long = format!("{} {}", "x".repeat(LONG - 1), "y".repeat(LONG));
        let input = format!("{long} \r\nshort\nlast");
        let start = |lines: &mut Lines<BufReader<&[u8]>>| {
            lines.next_start().expect("memory does not fail").expect("there are lines")
        };
        let mut lines = Lines::of(input.as_bytes());
        let first = start(&mut lines);
        assert_eq!(
            (first.number, first.bytes.as_slice(), first.goes_on),
            (1, &long.as_bytes()[..LONG], true)
        );
        let first = lines.finish(first).expect("memory does not fail");
        assert_eq!((first.bytes.as_slice(), first.closed, first.goes_on), (long.as_bytes(), true, false));
        let second = start(&mut lines);
        assert_eq!((second.bytes.as_slice(), second.closed, second.goes_on), (&b"short"[..], true, false));
        let last = start(&mut lines);
        assert_eq!((last.bytes.as_slice(), last.closed, last.goes_on), (&b"last"[..], false, false));
    }
}
