//! A piece of something that many pieces share, such as a line of a message's text: made and dropped without a copy.

use std::fmt;
use std::ops::{Deref, Index, Range};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A range of a text or a list. It reads as if it stood alone, and holds the whole for as long as it lives.
#[derive(Clone)]
pub(crate) struct Slice<W> {
    whole: Arc<W>,
    range: Range<usize>,
}

impl<W> Slice<W> {
    /// The part of `whole` that `range` spans.
    pub(crate) fn of(whole: &Arc<W>, range: Range<usize>) -> Self {
        Self { whole: Arc::clone(whole), range }
    }
}

#[cfg(test)]
impl Slice<String> {
    /// How long the text is that this holds a piece of.
    pub(crate) fn whole_len(&self) -> usize {
        self.whole.len()
    }
}

impl<W: Index<Range<usize>>> Deref for Slice<W> {
    type Target = W::Output;

    fn deref(&self) -> &W::Output {
        &self.whole[self.range.clone()]
    }
}

impl From<String> for Slice<String> {
    fn from(text: String) -> Self {
        Self { range: 0..text.len(), whole: Arc::new(text) }
    }
}

impl<T> From<Vec<T>> for Slice<Vec<T>> {
    fn from(items: Vec<T>) -> Self {
        Self { range: 0..items.len(), whole: Arc::new(items) }
    }
}

impl<'s, T> IntoIterator for &'s Slice<Vec<T>> {
    type Item = &'s T;
    type IntoIter = std::slice::Iter<'s, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<W: Index<Range<usize>, Output: PartialEq>> PartialEq for Slice<W> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<W: Index<Range<usize>, Output: fmt::Debug>> fmt::Debug for Slice<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<W: Index<Range<usize>, Output: Serialize>> Serialize for Slice<W> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de, W: Deserialize<'de> + Into<Self>> Deserialize<'de> for Slice<W> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        W::deserialize(deserializer).map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slice_reads_as_if_it_stood_alone() {
        let whole = Arc::new("one two".to_string());
        let word = Slice::of(&whole, 4..7);
        assert_eq!(&*word, "two");
        assert_eq!(word, Slice::from("two".to_string()));
        let text = serde_json::to_string(&word).expect("a text can be written");
        assert_eq!(text, "\"two\"");
        assert_eq!(serde_json::from_str::<Slice<String>>(&text).expect("a text can be read"), word);
    }

    #[test]
    fn a_slice_of_a_list_is_a_list() {
        let some = Slice::of(&Arc::new(vec![1, 2, 3]), 1..3);
        assert_eq!(some.into_iter().copied().collect::<Vec<u32>>(), [2, 3]);
        assert_eq!(format!("{some:?}"), "[2, 3]");
        assert_eq!(some, Slice::from(vec![2, 3]));
    }
}
