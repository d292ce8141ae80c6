//! Writes a text back with some ranges replaced: everything outside them is equal to the byte.

use std::ops::Range;

/// The replacement of a range of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes that give way; empty for an insertion.
    pub range: Range<usize>,
    /// The text in their place.
    pub with: String,
}

impl Edit {
    /// A text put in at a place.
    pub fn insert(at: usize, with: String) -> Self {
        Self { range: at..at, with }
    }

    /// A range that is left out.
    pub fn delete(range: Range<usize>) -> Self {
        Self { range, with: String::new() }
    }
}

/// The text with these edits, which must be in order and must not overlap.
///
/// ```
/// use longhaul_wire::{Edit, apply_edits};
/// let edits = [Edit::delete(1..3), Edit::insert(4, "-".into())];
/// assert_eq!(apply_edits("abcdef", &edits), "ad-ef");
/// ```
///
/// # Panics
/// If the edits are out of order, overlap or lie outside the text.
pub fn apply_edits(text: &str, edits: &[Edit]) -> String {
    let added: usize = edits.iter().map(|edit| edit.with.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut from = 0;
    for Edit { range, with } in edits {
        out.push_str(&text[from..range.start]);
        out.push_str(with);
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever is put in and taken out, the rest is the same bytes in the same order.
        #[test]
        fn the_rest_stays(text in "[a-zé🦀]{0,40}", places in prop::collection::vec(0usize..60, 0..8)) {
            let mut places: Vec<usize> = places.into_iter().filter(|at| text.is_char_boundary(*at)).collect();
            places.sort_unstable();
            let edits: Vec<Edit> = places
                .chunks_exact(2)
                .map(|pair| Edit { range: pair[0]..pair[1], with: "#".into() })
                .collect();
            let kept: String = {
                let gone = |at: usize| edits.iter().any(|edit| edit.range.contains(&at));
                text.char_indices().filter(|(at, _)| !gone(*at)).map(|(_, c)| c).collect()
            };
            let edited = apply_edits(&text, &edits);
            prop_assert_eq!(edited.matches('#').count(), edits.len());
            prop_assert_eq!(edited.replace('#', ""), kept);
        }
    }
}
