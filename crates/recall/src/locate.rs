//! Finds the matches of a query in the text of a passage.

use std::ops::Range;

use crate::query::Query;
use crate::tokens::Tokenizer;

/// A match of one term.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermMatch {
    pub(crate) term: usize,
    /// From 0 to 1.
    pub(crate) quality: f32,
    pub(crate) range: Range<usize>,
}

/// The matches in a range of a text, in order.
pub(crate) fn find_matches(
    query: &Query,
    tokenizer: &mut Tokenizer,
    text: &str,
    range: Range<usize>,
) -> Vec<TermMatch> {
    let mut found = Vec::new();
    tokenizer.each(&text[range.clone()], &mut |token, place| {
        for (term, quality) in query.spellings(token) {
            let range = range.start + place.start..range.start + place.end;
            found.push(TermMatch { term, quality: quality as f32, range });
        }
    });
    found.sort_by_key(|found| (found.range.start, found.range.end, found.term));
    found
}

/// Splits matches by the lines they start in.
pub(crate) fn by_line<'m>(text: &str, found: &'m [TermMatch]) -> Vec<&'m [TermMatch]> {
    found.chunk_by(|a, b| !text[a.range.start..b.range.start.max(a.range.start)].contains('\n')).collect()
}
