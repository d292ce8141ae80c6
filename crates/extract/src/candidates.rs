//! The lines that may be quoted, one right behind the other: many thousands, which come and go together.

use longhaul_conversation::Ordinal;
use serde::{Deserialize, Serialize};

use super::gather::Source;
use super::statements::Form;

/// A line that may be quoted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Candidate<'c> {
    /// The message that has it.
    pub at: Ordinal,
    /// The author of it.
    pub source: Source,
    pub(crate) form: Form,
    /// The file it is from, by number.
    pub(crate) file: Option<u32>,
    /// The line itself.
    pub text: &'c str,
    /// Its anchors, by number, each once.
    pub anchors: &'c [u32],
}

impl Candidate<'_> {
    /// Returns true if it stands in a file.
    pub fn is_of_file(&self) -> bool {
        self.file.is_some()
    }

    /// Returns true if it tells how a file was changed.
    pub fn is_change(&self) -> bool {
        self.form == Form::Change
    }
}

/// Lines in the order in which they came. Written down as a list of them.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(from = "Vec<Written>")]
pub struct Candidates {
    heads: Vec<Head>,
    /// The texts of all lines.
    text: String,
    /// The anchors of all lines.
    anchors: Vec<u32>,
}

/// A line beside its text and its anchors, and the ends of these.
#[derive(Clone, Copy, PartialEq)]
struct Head {
    at: Ordinal,
    source: Source,
    form: Form,
    file: Option<u32>,
    text: u32,
    anchors: u32,
}

impl Candidates {
    /// The number of lines.
    pub fn len(&self) -> usize {
        self.heads.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.heads.is_empty()
    }

    /// The bytes of all lines.
    pub(crate) fn size(&self) -> usize {
        self.text.len()
    }

    /// The line at a place, of which there is one.
    pub fn get(&self, place: usize) -> Candidate<'_> {
        let Head { at, source, form, file, text, anchors } = self.heads[place];
        let (text_from, anchors_from) = self.end_before(place);
        Candidate {
            at,
            source,
            form,
            file,
            text: &self.text[text_from..text as usize],
            anchors: &self.anchors[anchors_from..anchors as usize],
        }
    }

    /// All lines, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Candidate<'_>> + Clone {
        (0..self.len()).map(|place| self.get(place))
    }

    pub(crate) fn last(&self) -> Option<Candidate<'_>> {
        Some(self.get(self.len().checked_sub(1)?))
    }

    /// Each message, and the anchors of all its lines, which stand together.
    pub(crate) fn messages(&self) -> impl Iterator<Item = (Ordinal, &[u32])> {
        let mut from = 0;
        self.heads.chunk_by(|one, other| one.at == other.at).map(move |message| {
            let to = message.last().map_or(from, |last| last.anchors as usize);
            let anchors = &self.anchors[from..to];
            from = to;
            (message[0].at, anchors)
        })
    }

    pub(crate) fn push(&mut self, line: Candidate<'_>) {
        let Candidate { at, source, form, file, text, anchors } = line;
        self.text.push_str(text);
        self.anchors.extend_from_slice(anchors);
        let (text, anchors) = (end(self.text.len()), end(self.anchors.len()));
        self.heads.push(Head { at, source, form, file, text, anchors });
    }

    /// Drops the lines whose place is not to be kept.
    pub(crate) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        let kept = || (0..self.len()).filter(|place| keep(*place)).map(|place| self.get(place));
        let mut all = Self {
            heads: Vec::with_capacity(kept().count()),
            text: String::with_capacity(kept().map(|line| line.text.len()).sum()),
            anchors: Vec::with_capacity(kept().map(|line| line.anchors.len()).sum()),
        };
        kept().for_each(|line| all.push(line));
        *self = all;
    }

    /// Gives each anchor another number.
    pub(crate) fn renumber(&mut self, number: impl Fn(u32) -> u32) {
        self.anchors.iter_mut().for_each(|anchor| *anchor = number(*anchor));
    }

    /// The ends of the text and of the anchors before a place.
    fn end_before(&self, place: usize) -> (usize, usize) {
        let before = place.checked_sub(1).map(|place| &self.heads[place]);
        before.map_or((0, 0), |head| (head.text as usize, head.anchors as usize))
    }
}

/// All lines together are a few megabytes.
fn end(place: usize) -> u32 {
    u32::try_from(place).expect("the lines are pruned long before they have so many bytes")
}

impl std::fmt::Debug for Candidates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl Serialize for Candidates {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A line as it is written down.
#[derive(Deserialize)]
struct Written {
    at: Ordinal,
    source: Source,
    form: Form,
    file: Option<u32>,
    text: String,
    anchors: Vec<u32>,
}

impl From<Vec<Written>> for Candidates {
    fn from(lines: Vec<Written>) -> Self {
        let mut candidates = Self::default();
        for Written { at, source, form, file, text, anchors } in &lines {
            candidates.push(Candidate { at: *at, source: *source, form: *form, file: *file, text, anchors });
        }
        candidates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates() -> Candidates {
        let mut candidates = Candidates::default();
        for (at, text, anchors) in
            [(1, "one two", &[7, 8][..]), (1, "", &[]), (2, "three", &[8]), (4, "four", &[9, 7, 5])]
        {
            let (source, form) = (Source::Output, Form::Code);
            candidates.push(Candidate { at: Ordinal(at), source, form, file: None, text, anchors });
        }
        candidates
    }

    fn texts(candidates: &Candidates) -> Vec<&str> {
        candidates.iter().map(|line| line.text).collect()
    }

    #[test]
    fn lines_read_as_if_they_stood_alone() {
        let candidates = candidates();
        assert_eq!(texts(&candidates), ["one two", "", "three", "four"]);
        assert_eq!(candidates.get(3).anchors, [9, 7, 5]);
        assert_eq!(candidates.last(), Some(candidates.get(3)));
        assert_eq!((candidates.len(), candidates.size()), (4, 16));
        let messages: Vec<_> = candidates.messages().map(|(at, anchors)| (at.0, anchors)).collect();
        assert_eq!(messages, [(1, &[7, 8][..]), (2, &[8]), (4, &[9, 7, 5])]);
        assert_eq!(Candidates::default().messages().count(), 0);
        assert_eq!(Candidates::default().last(), None);
    }

    #[test]
    fn what_is_kept_stays_as_it_was() {
        let mut candidates = candidates();
        candidates.retain(|place| place % 2 == 0);
        candidates.renumber(|number| number * 10);
        assert_eq!(texts(&candidates), ["one two", "three"]);
        assert_eq!((candidates.get(0).anchors, candidates.get(1).anchors), (&[70, 80][..], &[80][..]));
        assert_eq!(candidates.size(), 12);
    }

    #[test]
    fn what_was_written_down_is_the_same_again() {
        let text = serde_json::to_string(&candidates()).expect("lines can be written");
        assert!(
            text.starts_with(
                r#"[{"at":1,"source":"output","form":"code","file":null,"text":"one two","anchors":[7,8]},"#
            ),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Candidates>(&text).expect("lines can be read"), candidates());
    }
}
