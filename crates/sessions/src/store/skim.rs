//! Finds the fields of a record one by one, for as long as somebody wants to know more of it.
//!
//! Almost all of a session's bytes are outputs of tools, which stand at the end of their records and which nobody asks for
//! when sessions are listed. Whatever is unusual is left to a parser that knows it all.

/// Deeper values are left to the parser.
const DEEPEST: u32 = 64;

/// The interest of a caller in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wanted {
    More,
    Enough,
}

/// Hands over the fields of an object: the name of each, and the bytes of its value, which are valid JSON.
///
/// `None` if `take` says so, or if this is no object, or broken, or written in an unusual way: with control characters, as
/// between lines, or with names that have escapes or letters beyond ASCII. Behind the last field that was wanted only the
/// end is looked at. Some fields may have been handed over by the time that anything is found to be wrong.
pub(super) fn each_field<'a>(
    record: &'a [u8],
    mut take: impl FnMut(&'a [u8], &'a [u8]) -> Option<Wanted>,
) -> Option<()> {
    let mut skim = Skim { bytes: record, at: 0 };
    let wanted = skim.members(0, |key, value| {
        let is_plain = key.is_ascii() && !key.contains(&b'\\');
        is_plain.then(|| take(key, value)).flatten()
    })?;
    skim.spaces();
    let is_whole = match wanted {
        Wanted::More => skim.at == record.len(),
        Wanted::Enough => record.last() == Some(&b'}'),
    };
    is_whole.then_some(())
}

/// The text of a string, if it is one and has no escapes.
pub(super) fn plain_string(value: &[u8]) -> Option<&str> {
    match value {
        [b'"', text @ .., b'"'] if memchr::memchr(b'\\', text).is_none() => std::str::from_utf8(text).ok(),
        _ => None,
    }
}

/// Goes through JSON.
struct Skim<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Skim<'a> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn spaces(&mut self) {
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
    }

    /// Passes over a byte, and spaces before it, if it is there.
    fn has(&mut self, byte: u8) -> bool {
        self.spaces();
        let is_there = self.peek() == Some(byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn value(&mut self, depth: u32) -> Option<&'a [u8]> {
        self.spaces();
        let start = self.at;
        match self.peek()? {
            b'"' => self.string()?,
            b'{' => {
                self.members(depth + 1, |_, _| Some(Wanted::More))?;
            }
            b'[' => self.items(depth + 1)?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => self.number()?,
        }
        self.bytes.get(start..self.at)
    }

    fn members(
        &mut self,
        depth: u32,
        mut take: impl FnMut(&'a [u8], &'a [u8]) -> Option<Wanted>,
    ) -> Option<Wanted> {
        if depth > DEEPEST || !self.has(b'{') {
            return None;
        }
        if self.has(b'}') {
            return Some(Wanted::More);
        }
        loop {
            self.spaces();
            let start = self.at;
            self.string()?;
            let key = self.bytes.get(start + 1..self.at - 1)?;
            if !self.has(b':') {
                return None;
            }
            if take(key, self.value(depth)?)? == Wanted::Enough {
                return Some(Wanted::Enough);
            }
            if !self.has(b',') {
                return self.has(b'}').then_some(Wanted::More);
            }
        }
    }

    fn items(&mut self, depth: u32) -> Option<()> {
        if depth > DEEPEST || !self.has(b'[') {
            return None;
        }
        if self.has(b']') {
            return Some(());
        }
        loop {
            self.value(depth)?;
            if !self.has(b',') {
                return self.has(b']').then_some(());
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        self.at += 1;
        loop {
            self.at += length_of_plain(self.bytes.get(self.at..)?);
            match self.bytes.get(self.at)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {}
                _ => return None,
            }
            match self.bytes.get(self.at + 1)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 2,
                b'u' => {
                    let digits = self.bytes.get(self.at + 2..self.at + 6)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return None;
                    }
                    self.at += 6;
                }
                _ => return None,
            }
        }
    }

    fn word(&mut self, word: &[u8]) -> Option<()> {
        let is_there = self.bytes[self.at..].starts_with(word);
        self.at += word.len();
        is_there.then_some(())
    }

    fn number(&mut self) -> Option<()> {
        self.at += usize::from(self.peek() == Some(b'-'));
        let start = self.at;
        if self.digits()? > 1 && self.bytes[start] == b'0' {
            return None;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Some(())
    }

    /// At least one digit.
    fn digits(&mut self) -> Option<usize> {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(count)
    }
}

/// The number of bytes before the first quote, backslash or control character. In texts of several lines there is one
/// every few words, too near for a search that has to get ready first.
fn length_of_plain(bytes: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = ONES << 7;
    // The top bit of each byte that is zero, and perhaps of some behind the first one.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let (words, rest) = bytes.as_chunks::<8>();
    for (place, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let controls = zeros(word & (ONES * 0xE0));
        let found =
            controls | zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return place * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..b' ');
    words.len() * 8 + rest.iter().position(is_special).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields as `key=value`; none if the record is left to the parser.
    #[track_caller]
    fn check(record: &str, expected: Option<&str>) {
        let mut fields = Vec::new();
        let found = each_field(record.as_bytes(), |key, value| {
            let text = String::from_utf8_lossy;
            fields.push(format!("{}={}", text(key), text(value)));
            Some(if key == b"enough" { Wanted::Enough } else { Wanted::More })
        });
        assert_eq!(found.map(|()| fields.join(" ")).as_deref(), expected, "{record}");
        if record.contains("enough") {
            return;
        }
        let is_json = serde_json::from_str::<serde_json::Value>(record).is_ok();
        assert!(is_json || expected.is_none(), "{record} is no JSON");
    }

    #[test]
    fn fields_are_found_with_their_values() {
        check("{}", Some(""));
        check(r#" { "a" : 1 , "b":"x" } "#, Some(r#"a=1 b="x""#));
        check(r#"{"a":{"b":[1,{"c":"}]\""}]},"d":[]}"#, Some(r#"a={"b":[1,{"c":"}]\""}]} d=[]"#));
        check(r#"{"a":"\\","b":"\u00e9\/","":null}"#, Some(r#"a="\\" b="\u00e9\/" =null"#));
        check(r#"{"a":-0.5e+10,"b":true,"c":false,"a":0}"#, Some("a=-0.5e+10 b=true c=false a=0"));
        check(r#"{"a":"日本\ud83d"}"#.replace("\\ud83d", "").as_str(), Some(r#"a="日本""#));
    }

    #[test]
    fn what_is_broken_or_unusual_is_left() {
        for record in [
            "",
            "[]",
            "3",
            "{",
            "}",
            "{}x",
            "{} {}",
            r#"{"a"}"#,
            r#"{"a":}"#,
            r#"{"a":1,}"#,
            r#"{,"a":1}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[1}}"#,
            r#"{"a":{]}"#,
            r#"{"a":"x}"#,
            r#"{"a":"\"}"#,
            r#"{"a":"\x"}"#,
            r#"{"a":"\u12g4"}"#,
            r#"{"a":"\u12"}"#,
            r#"{"a":01}"#,
            r#"{"a":-}"#,
            r#"{"a":1.}"#,
            r#"{"a":1e}"#,
            r#"{"a":.5}"#,
            r#"{"a":+1}"#,
            r#"{"a":tru}"#,
            r#"{"a":nulll}"#,
            r#"{a:1}"#,
            r#"{1:1}"#,
            r#"{"\u0061":1}"#,
            r#"{"é":1}"#,
            "{\"a\":\t1}",
            "{\"a\":\"\u{1}\"}",
            r#"{"a":"#,
            r#"{"a":t"#,
        ] {
            check(record, None);
        }
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
        check(&deep(64), Some(&deep(64)[1..133].replace("\"a\":", "a=")));
        check(&deep(65), None);
    }

    #[test]
    fn behind_what_is_wanted_only_the_end_counts() {
        check(r#"{"a":1,"enough":2,"b":3}"#, Some("a=1 enough=2"));
        check(r#"{"enough":"x","b":{"c":[]}}"#, Some(r#"enough="x""#));
        check(r#"{"enough":"x","b":{"c":"#, None);
    }

    #[test]
    fn quotes_and_backslashes_are_found_wherever_they_are() {
        for length in 0..40 {
            for filling in [b"a", b"#", b"!", b"]", b"[", b"\xA2", b"\xDC", b" "] {
                let mut bytes = filling.repeat(length);
                assert_eq!(length_of_plain(&bytes), length);
                bytes.extend_from_slice(b"\\xxxxxxxxx\"");
                assert_eq!(length_of_plain(&bytes), length);
                for special in [b'"', b'\n', b'\0', 0x1F] {
                    bytes[length] = special;
                    assert_eq!(length_of_plain(&bytes), length);
                }
            }
        }
    }

    #[test]
    fn a_plain_string_stands_as_it_is_meant() {
        assert_eq!(plain_string(br#""abc""#), Some("abc"));
        assert_eq!(plain_string("\"é\"".as_bytes()), Some("é"));
        assert_eq!(plain_string(br#""""#), Some(""));
        for other in [&br#""a\n""#[..], b"\"\xFF\"", b"null", b"1", b"{}", b"[]", b"", b"\""] {
            assert_eq!(plain_string(other), None, "{other:?}");
        }
    }
}
