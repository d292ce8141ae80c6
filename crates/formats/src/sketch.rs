//! Takes one JSON value apart without parsing it: into a head, which is small and tells what it is, and the items of its
//! conversation, which may be as large as a file can be.

use std::borrow::Cow;

use longhaul_wire::{Json, List, Rest};
use memchr::memchr2;

/// A JSON value whose long lists are cut short.
#[derive(Debug, Default)]
pub(crate) struct Sketch<'a> {
    /// The value without what was cut out.
    pub(crate) head: Cow<'a, [u8]>,
    pub(crate) cuts: Vec<Cut<'a>>,
}

/// The pieces cut out of a list.
#[derive(Debug)]
pub(crate) struct Cut<'a> {
    /// Its position in the head.
    at: usize,
    /// The place of the field that holds the list; none if the value itself is the list.
    field: Option<usize>,
    items: Rest<'a>,
}

/// The fields that hold the conversation in files that are one JSON value.
const CONVERSATIONS: &[&[u8]] = &[b"contents", b"messages", b"history", b"input", b"trajectory", b"events"];

/// A piece is closed when it has so many bytes: it is held until its last item is parsed.
const PIECE: usize = 1 << 16;

impl<'a> Sketch<'a> {
    /// A sketch of a value that is in memory; only its head is copied, and only if something was cut out.
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        let mut scan = Scan::default();
        let (mut head, mut cuts) = (Vec::new(), Vec::new());
        let (mut at, mut done, mut commas, mut from) = (0, 0, 0, None);
        while at < bytes.len() {
            let (length, mark) = scan.advance(&bytes[at..]);
            at += length;
            match mark {
                Mark::None => {}
                Mark::Comma => {
                    commas += 1;
                    if commas == List::READY {
                        from = Some(at - 1);
                    }
                }
                Mark::End => {
                    if let Some(from) = from.take() {
                        head.extend_from_slice(&bytes[done..from]);
                        done = at - 1;
                        let pieces = vec![Cow::Borrowed(&bytes[from..done])];
                        let items = Rest { count: commas + 1 - List::READY, pieces };
                        cuts.push(Cut { at: head.len(), field: scan.field(), items });
                    }
                    commas = 0;
                }
            }
        }
        if cuts.is_empty() {
            return Self { head: Cow::Borrowed(bytes), cuts };
        }
        head.extend_from_slice(&bytes[done..]);
        Self { head: Cow::Owned(head), cuts }
    }

    /// The value as it was.
    pub(crate) fn whole(&self) -> Cow<'_, [u8]> {
        if self.cuts.is_empty() {
            return Cow::Borrowed(&self.head);
        }
        let (mut whole, mut done) = (Vec::new(), 0);
        for cut in &self.cuts {
            whole.extend_from_slice(&self.head[done..cut.at]);
            cut.items.pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            done = cut.at;
        }
        whole.extend_from_slice(&self.head[done..]);
        Cow::Owned(whole)
    }
}

impl<'a> Cut<'a> {
    /// Puts the items back behind the first ones of their list, in the head as it was parsed.
    pub(crate) fn put_back(self, head: &mut Json<'a>) {
        let list = match (head, self.field) {
            (Json::Object(fields), Some(place)) => fields.at_mut(place),
            (list, _) => Some(list),
        };
        if let Some(list) = list
            && let Json::Array(ready) = list
        {
            *list = Json::List(List::new(std::mem::take(ready), self.items));
        }
    }
}

/// Makes a sketch of a value that comes bit by bit.
#[derive(Debug, Default)]
pub(crate) struct Sketcher {
    scan: Scan,
    sketch: Sketch<'static>,
    /// The number of finished items of the current list.
    commas: usize,
    is_cutting: bool,
}

impl Sketcher {
    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (length, mark) = self.scan.advance(bytes);
            let (now, later) = bytes.split_at(length);
            match mark {
                Mark::None => self.put(now),
                Mark::Comma => {
                    self.put(&now[..length - 1]);
                    self.begin_item();
                    self.put(b",");
                }
                Mark::End => {
                    self.put(&now[..length - 1]);
                    (self.commas, self.is_cutting) = (0, false);
                    self.put(&now[length - 1..]);
                }
            }
            bytes = later;
        }
    }

    /// True if the value is complete, and nothing but space came behind it.
    pub(crate) fn is_complete(&self) -> bool {
        self.scan.is_complete()
    }

    pub(crate) fn finish(self) -> Sketch<'static> {
        self.sketch
    }

    /// Decides where the next item belongs.
    fn begin_item(&mut self) {
        self.commas += 1;
        if self.commas < List::READY {
            return;
        }
        let Sketch { head, cuts } = &mut self.sketch;
        if !self.is_cutting {
            self.is_cutting = true;
            cuts.push(Cut { at: head.len(), field: self.scan.field(), items: Rest::default() });
        }
        if let Some(Cut { items, .. }) = cuts.last_mut() {
            items.count += 1;
            if items.pieces.last().is_none_or(|piece| piece.len() >= PIECE) {
                items.pieces.push(Cow::Owned(Vec::with_capacity(PIECE)));
            }
        }
    }

    fn put(&mut self, bytes: &[u8]) {
        let Sketch { head, cuts } = &mut self.sketch;
        let piece = cuts.last_mut().filter(|_| self.is_cutting).and_then(|cut| cut.items.pieces.last_mut());
        piece.unwrap_or(head).to_mut().extend_from_slice(bytes);
    }
}

/// The ends of the items of conversations, found without parsing them. It takes JSON for granted: what is none is found out
/// when it is parsed.
#[derive(Debug, Default)]
struct Scan {
    depth: usize,
    is_in_string: bool,
    /// True if the next character of a string is escaped.
    is_escaped: bool,
    /// True if the value is an object.
    is_object: bool,
    /// The field of the object at hand.
    field: usize,
    key: Vec<u8>,
    is_in_key: bool,
    awaits_key: bool,
    /// The depth of the current list, if it is a conversation.
    list: Option<usize>,
    has_begun: bool,
    has_more: bool,
}

/// The last byte examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    None,
    /// The comma behind an item of a conversation.
    Comma,
    /// The bracket at the end of a conversation.
    End,
}

impl Scan {
    /// Looks at the next bytes until there is something to tell: how many these were, and what the last one is.
    fn advance(&mut self, bytes: &[u8]) -> (usize, Mark) {
        let mut at = 0;
        while at < bytes.len() {
            if self.is_in_string {
                at += self.advance_in_string(&bytes[at..]);
                continue;
            }
            let mark = self.look_at(bytes[at]);
            at += 1;
            if mark != Mark::None {
                return (at, mark);
            }
        }
        (at, Mark::None)
    }

    /// Goes on to the end of the string or of its next escape.
    fn advance_in_string(&mut self, bytes: &[u8]) -> usize {
        if std::mem::take(&mut self.is_escaped) {
            return 1;
        }
        let end = memchr2(b'"', b'\\', bytes);
        if self.is_in_key {
            self.key.extend_from_slice(&bytes[..end.unwrap_or(bytes.len())]);
        }
        let Some(end) = end else { return bytes.len() };
        self.is_in_string = bytes[end] == b'\\';
        self.is_escaped = self.is_in_string;
        end + 1
    }

    /// Looks at a byte outside of strings.
    fn look_at(&mut self, byte: u8) -> Mark {
        match byte {
            b'"' => {
                self.is_in_string = true;
                self.is_in_key = std::mem::take(&mut self.awaits_key);
            }
            b'[' | b'{' => self.open(byte == b'{'),
            b']' | b'}' => return self.close(),
            b',' if self.list == Some(self.depth) => return Mark::Comma,
            b',' if self.depth == 1 && self.is_object => {
                self.field += 1;
                self.await_key();
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            _ => self.has_more |= self.has_begun && self.depth == 0,
        }
        Mark::None
    }

    fn open(&mut self, is_object: bool) {
        self.has_more |= self.has_begun && self.depth == 0;
        self.depth += 1;
        let is_conversation = match self.depth {
            1 => {
                (self.has_begun, self.is_object) = (true, is_object);
                !is_object
            }
            2 => self.is_object && !is_object && CONVERSATIONS.contains(&self.key.as_slice()),
            _ => false,
        };
        if is_conversation {
            self.list = Some(self.depth);
        } else if self.depth == 1 {
            self.await_key();
        }
    }

    fn close(&mut self) -> Mark {
        let is_end = self.list == Some(self.depth);
        self.depth = self.depth.saturating_sub(1);
        if !is_end {
            return Mark::None;
        }
        self.list = None;
        Mark::End
    }

    fn await_key(&mut self) {
        self.key.clear();
        self.awaits_key = true;
    }

    /// The place of the field at hand; none if the value is no object.
    fn field(&self) -> Option<usize> {
        self.is_object.then_some(self.field)
    }

    fn is_complete(&self) -> bool {
        self.has_begun && self.depth == 0 && !self.is_in_string && !self.has_more
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(length: usize) -> String {
        (0..length)
            .map(|nth| format!(r#"{{"text":"a \"[,{nth}\\","x":[1,{{"messages":[2,3]}}]}}"#))
            .collect::<Vec<_>>()
            .join(", ")
    }

    fn fed(text: &str, size: usize) -> Sketch<'static> {
        let mut sketcher = Sketcher::default();
        text.as_bytes().chunks(size).for_each(|chunk| sketcher.feed(chunk));
        assert!(sketcher.is_complete(), "{text}");
        sketcher.finish()
    }

    /// Checks that `cuts` lists are cut short, that nothing is lost, and that both ways of sketching give the same.
    #[track_caller]
    fn check(text: &str, cuts: &[(Option<usize>, usize)]) {
        for sketch in [Sketch::of(text.as_bytes()), fed(text, 7), fed(text, 100_000)] {
            let found: Vec<_> = sketch.cuts.iter().map(|cut| (cut.field, cut.items.count)).collect();
            assert_eq!(found, cuts);
            assert_eq!(sketch.whole(), text.as_bytes());
            let mut parsed = Json::parse(std::str::from_utf8(&sketch.head).expect("text")).expect("JSON");
            sketch.cuts.into_iter().for_each(|cut| cut.put_back(&mut parsed));
            let expected: serde_json::Value = serde_json::from_str(text).expect("JSON");
            assert_eq!(parsed.into_value(), expected);
        }
    }

    #[test]
    fn long_conversations_are_cut_short() {
        let (short, long) = (list(List::READY), list(List::READY + 700));
        check(&format!("[{short}]"), &[]);
        check(&format!(" [{short}, 7 ]\n"), &[(None, 1)]);
        check(&format!("[{long}]"), &[(None, 700)]);
        check(&format!(r#"{{"a":{{"b":[1,2]}},"messages":[{long}],"z":[{long}]}}"#), &[(Some(1), 700)]);
        let two = format!(r#"{{ "history" : [{short}], "history":[{long}], "k\"":1,"events":[{long} ] }}"#);
        check(&two.replace(r#""history" "#, r#""other" "#), &[(Some(1), 700), (Some(3), 700)]);
        check(&format!(r#"{{"deep":{{"messages":[{long}]}}}}"#), &[]);
        check("{}", &[]);
        check("[]", &[]);
        check(r#"{"messages":[]}"#, &[]);
    }

    #[test]
    fn what_breaks_off_is_given_back_whole() {
        let long = format!(r#"{{"messages":[{}"#, list(List::READY + 50));
        let mut sketcher = Sketcher::default();
        sketcher.feed(long.as_bytes());
        assert!(!sketcher.is_complete());
        assert_eq!(sketcher.finish().whole(), long.as_bytes());
        assert_eq!(Sketch::of(long.as_bytes()).whole(), long.as_bytes());
    }

    #[test]
    fn more_than_one_value_is_not_complete() {
        for (text, expected) in [("{} ", true), ("{", false), ("[]]", true), ("{}{}", false), ("{} x", false)]
        {
            let mut sketcher = Sketcher::default();
            sketcher.feed(text.as_bytes());
            assert_eq!(sketcher.is_complete(), expected, "{text}");
        }
    }
}
