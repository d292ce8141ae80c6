//! Long lists of files that are one JSON value: their items are parsed one by one, and never held all at once.

use std::borrow::Cow;

use memchr::memchr2;

use crate::json::Json;
use crate::mend::{mend, text_of};

/// An array of which only the first items are parsed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct List<'a> {
    ready: Vec<Json<'a>>,
    rest: Rest<'a>,
}

/// The texts of items that are not parsed yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rest<'a> {
    /// The number of items.
    pub count: usize,
    /// Each is some of the items, with a comma before each.
    pub pieces: Vec<Cow<'a, [u8]>>,
}

/// One item of a list.
#[derive(Debug)]
pub enum Item<'a> {
    /// It is as it should be.
    Whole(Json<'a>),
    /// Broken characters in it were replaced.
    Mended(Json<'a>),
    /// It cannot be read.
    Broken(serde_json::Error),
}

impl<'a> List<'a> {
    /// So many items are parsed at once: enough to tell what they are items of.
    pub const READY: usize = 200;

    /// A list of items that are parsed and of others behind them.
    pub fn new(ready: Vec<Json<'a>>, rest: Rest<'a>) -> Self {
        Self { ready, rest }
    }

    /// The first items.
    pub fn ready(&self) -> &[Json<'a>] {
        &self.ready
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.ready.len() + self.rest.count
    }

    /// True if there are no items.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Hands over the items in order. What was handed over is given up before the next is parsed.
    pub fn for_each(self, mut read: impl FnMut(Item<'_>)) {
        self.ready.into_iter().map(Item::Whole).for_each(&mut read);
        for piece in self.rest.pieces {
            match std::str::from_utf8(&piece) {
                Ok(text) => read_texts(text, &mut read),
                Err(_) => read_bytes(&piece, &mut read),
            }
        }
    }

    /// All items; what cannot be read is null.
    pub(crate) fn into_array(self) -> Vec<Json<'a>> {
        let Self { mut ready, rest } = self;
        List::new(Vec::new(), rest).for_each(|item| match item {
            Item::Whole(item) | Item::Mended(item) => ready.push(item.into_owned()),
            Item::Broken(_) => ready.push(Json::Null),
        });
        ready
    }
}

impl<'a> From<Vec<Json<'a>>> for List<'a> {
    fn from(items: Vec<Json<'a>>) -> Self {
        Self::new(items, Rest::default())
    }
}

/// Reads the items of a piece. Where the parser gets through an item, it has found its end as well.
fn read_texts(mut text: &str, read: &mut impl FnMut(Item<'_>)) {
    while let Some(item) = text.strip_prefix(',') {
        let mut stream = serde_json::Deserializer::from_str(item).into_iter::<Json<'_>>();
        let parsed = stream.next();
        let behind = item[stream.byte_offset()..].trim_ascii_start();
        text = match parsed {
            Some(Ok(parsed)) if behind.is_empty() || behind.starts_with(',') => {
                read(Item::Whole(parsed));
                behind
            }
            _ => {
                let (item, behind) = item.split_at(end_of_item(item.as_bytes()));
                read_one(item.as_bytes(), read);
                behind
            }
        }
    }
}

/// Reads the items of a piece in which characters are broken.
fn read_bytes(mut bytes: &[u8], read: &mut impl FnMut(Item<'_>)) {
    while let Some(item) = bytes.strip_prefix(b",") {
        let (item, behind) = item.split_at(end_of_item(item));
        read_one(item, read);
        bytes = behind;
    }
}

/// Reads one item, as well as it can be.
fn read_one(bytes: &[u8], read: &mut impl FnMut(Item<'_>)) {
    let (text, lossy) = text_of(bytes);
    match Json::parse(&text) {
        Ok(item) if lossy => read(Item::Mended(item)),
        Ok(item) => read(Item::Whole(item)),
        Err(error) => {
            let mended = mend(&text);
            let item = mended.as_deref().and_then(|mended| Json::parse(mended).ok());
            read(item.map_or(Item::Broken(error), Item::Mended));
        }
    }
}

/// The end of the first of several items that commas separate, found without parsing it. It takes JSON for granted: what is
/// none is found out when it is parsed.
fn end_of_item(bytes: &[u8]) -> usize {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'"' => at += end_of_string(&bytes[at + 1..]),
            b'[' | b'{' => depth += 1,
            b',' if depth == 0 => return at,
            b']' | b'}' if depth == 0 => return at,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

/// The number of bytes through the quote that closes a string; all of them where none does.
fn end_of_string(bytes: &[u8]) -> usize {
    let mut at = 0;
    while let Some(found) = memchr2(b'"', b'\\', &bytes[at..]) {
        if bytes[at + found] == b'"' {
            return at + found + 1;
        }
        at = (at + found + 2).min(bytes.len());
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_end_at_their_comma() {
        for (text, expected) in
            [("1,2", "1"), (r#"{"a":[1,2],"b":","},3"#, r#"{"a":[1,2],"b":","}"#), ("", ""), ("\"a", "\"a")]
        {
            assert_eq!(&text[..end_of_item(text.as_bytes())], expected);
        }
    }

    #[test]
    fn an_array_of_all_items_can_still_be_had() {
        let rest = Rest { count: 4, pieces: vec![b", 2,\"\\ud83d\",\"\xff\"".into(), b",{]".into()] };
        let list = List::new(vec![Json::Bool(true)], rest);
        assert_eq!((list.len(), list.ready().len()), (5, 1));
        let array = Json::List(list).into_value();
        assert_eq!(array, json!([true, 2, "\u{fffd}", "\u{fffd}", null]));
    }
}
