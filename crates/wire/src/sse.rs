//! Reads server-sent events from bytes that arrive in pieces of any size.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SseEvent<'a> {
    /// The sender's name for it; empty where it gives none.
    pub name: Cow<'a, str>,
    /// Its content; several lines are joined by line feeds. Bytes that are no UTF-8 are replaced.
    pub data: Cow<'a, str>,
}

/// A line or an event is longer than allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a stream event exceeds {limit} bytes")]
pub struct SseTooLong {
    /// The most that is allowed.
    pub limit: usize,
}

/// Puts events together from the bytes of a stream.
///
/// Lines may end with CR, LF or both; a byte order mark, comments and fields that mean nothing here are skipped; an
/// event at the very end counts even if no blank line follows it.
///
/// ```
/// use longhaul_wire::SseDecoder;
///
/// let mut seen = Vec::new();
/// let mut decoder = SseDecoder::default();
/// for chunk in ["data: {\"a\":", "1}\n", "\n: still here\n\nevent: end\ndata:\n\n"] {
///     decoder.feed(chunk.as_bytes(), |event| seen.push((event.name.to_string(), event.data.to_string())))?;
/// }
/// assert_eq!(seen, [("".into(), "{\"a\":1}".into()), ("end".into(), "".into())]);
/// # Ok::<(), longhaul_wire::SseTooLong>(())
/// ```
#[derive(Debug)]
pub struct SseDecoder {
    limit: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    name: Vec<u8>,
    data: Vec<u8>,
    has_data: bool,
    is_first_line: bool,
    /// The last byte was a CR, so that a LF now belongs to the same line end.
    after_cr: bool,
}

/// Large enough for an image in one event.
const LIMIT: usize = 64 << 20;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

impl Default for SseDecoder {
    fn default() -> Self {
        Self::with_limit(LIMIT)
    }
}

impl SseDecoder {
    /// A decoder that refuses lines and events of more than `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            name: Vec::new(),
            data: Vec::new(),
            has_data: false,
            is_first_line: true,
            after_cr: false,
        }
    }

    /// Takes the next bytes and hands on each event that is complete.
    pub fn feed(
        &mut self,
        mut bytes: &[u8],
        mut on_event: impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseTooLong> {
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', bytes) else {
                self.check(self.line.len() + bytes.len())?;
                self.line.extend_from_slice(bytes);
                return Ok(());
            };
            let (piece, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.after_cr = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.take_line(piece, &mut on_event)?;
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(piece);
                self.take_line(&line, &mut on_event)?;
                line.clear();
                self.line = line;
            }
            bytes = rest;
        }
        Ok(())
    }

    /// The stream has ended: hands on an event that still waited for its blank line.
    pub fn finish(&mut self, mut on_event: impl FnMut(SseEvent<'_>)) -> Result<(), SseTooLong> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take_line(&line, &mut on_event)?;
        }
        self.dispatch(&mut on_event);
        Ok(())
    }

    fn take_line(
        &mut self,
        mut line: &[u8],
        on_event: &mut impl FnMut(SseEvent<'_>),
    ) -> Result<(), SseTooLong> {
        self.check(line.len())?;
        if std::mem::take(&mut self.is_first_line) {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
        }
        if line.is_empty() {
            self.dispatch(on_event);
            return Ok(());
        }
        let (field, value) = match memchr(b':', line) {
            Some(colon) => {
                let value = &line[colon + 1..];
                (&line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (line, &b""[..]),
        };
        self.check(self.data.len() + value.len())?;
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" => {
                self.name.clear();
                self.name.extend_from_slice(value);
            }
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, on_event: &mut impl FnMut(SseEvent<'_>)) {
        if self.has_data {
            on_event(SseEvent {
                name: String::from_utf8_lossy(&self.name),
                data: String::from_utf8_lossy(&self.data),
            });
        }
        self.has_data = false;
        self.name.clear();
        self.data.clear();
    }

    fn check(&self, length: usize) -> Result<(), SseTooLong> {
        if length > self.limit { Err(SseTooLong { limit: self.limit }) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Each event as `name|data`, from chunks that end at `cuts`.
    fn decode(stream: &[u8], cuts: &[usize]) -> Result<Vec<String>, SseTooLong> {
        let mut decoder = SseDecoder::with_limit(1_000);
        let mut events = Vec::new();
        let mut start = 0;
        for end in cuts.iter().copied().chain([stream.len()]) {
            decoder
                .feed(&stream[start..end], |event| events.push(format!("{}|{}", event.name, event.data)))?;
            start = end;
        }
        decoder.finish(|event| events.push(format!("{}|{}", event.name, event.data)))?;
        Ok(events)
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str]) {
        assert_eq!(decode(stream.as_bytes(), &[]).as_deref(), Ok(&expected.map_string()[..]), "{stream:?}");
        let every: Vec<usize> = (1..stream.len()).collect();
        assert_eq!(
            decode(stream.as_bytes(), &every).as_deref(),
            Ok(&expected.map_string()[..]),
            "{stream:?}"
        );
    }

    trait MapString {
        fn map_string(&self) -> Vec<String>;
    }

    impl MapString for &[&str] {
        fn map_string(&self) -> Vec<String> {
            self.iter().map(|text| text.to_string()).collect()
        }
    }

    #[test]
    fn lines_end_in_three_ways() {
        check("data: a\n\ndata: b\n\n", &["|a", "|b"]);
        check("data: a\r\n\r\ndata: b\r\n\r\n", &["|a", "|b"]);
        check("data: a\r\rdata: b\r\r", &["|a", "|b"]);
        check("data: a\r\n\ndata: b\n\r", &["|a", "|b"]);
    }

    #[test]
    fn several_lines_are_one_content() {
        check("data: a\ndata:\ndata: b\n\n", &["|a\n\nb"]);
        check("event: x\ndata: a\n\ndata: b\n\n", &["x|a", "|b"]);
        check("data\n\n", &["|"]);
        check("data:  two spaces\n\n", &["| two spaces"]);
    }

    #[test]
    fn what_says_nothing_is_skipped() {
        check("", &[]);
        check("\n\n\n", &[]);
        check(": ping\n\n:\n\nevent: only a name\n\nid: 3\nretry: 10\nunknown: x\n\n", &[]);
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &["|a"]);
    }

    #[test]
    fn the_last_blank_line_may_be_missing() {
        check("data: a\n\ndata: [DONE]", &["|a", "|[DONE]"]);
        check("data: a\n", &["|a"]);
        check("da", &[]);
    }

    #[test]
    fn letters_of_several_bytes_may_be_cut() {
        check("data: é 漢 🦀\n\n", &["|é 漢 🦀"]);
        assert_eq!(decode(b"data: \xff\n\n", &[]), Ok(vec!["|\u{fffd}".to_string()]));
    }

    #[test]
    fn length_is_limited() {
        let limit = SseTooLong { limit: 1_000 };
        assert_eq!(decode(&[b'x'; 1_001], &[]), Err(limit));
        assert_eq!(decode(&[b'x'; 1_001], &(1..1_000).collect::<Vec<_>>()), Err(limit));
        assert_eq!(decode(&b"data: 0123456789\n".repeat(101), &[]), Err(limit));
        assert!(decode(&b"data: 0123456789\n\n".repeat(1_000), &[]).is_ok());
    }

    proptest! {
        #[test]
        fn chunks_make_no_difference(
            lines in prop::collection::vec("(data|event|id|:|)(: ?)?[a-zé🦀: ]{0,6}(\r\n|\r|\n)(\r\n|\r|\n)?", 0..12),
            cuts in prop::collection::vec(0usize..200, 0..12),
        ) {
            let stream = lines.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < stream.len()).collect();
            cuts.sort_unstable();
            prop_assert_eq!(decode(&stream, &cuts), decode(&stream, &[]));
        }
    }
}
