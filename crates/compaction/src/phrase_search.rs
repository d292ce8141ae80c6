//! Search for many phrases in some texts, in one pass over them.

/// Tells for each phrase whether one of the texts contains it.
pub(crate) fn find_phrases<'t>(phrases: &[&str], texts: impl IntoIterator<Item = &'t str>) -> Vec<bool> {
    let mut found = vec![false; phrases.len()];
    let mut texts = texts.into_iter().peekable();
    // Mostly there is nothing to look for, or nowhere.
    if phrases.is_empty() || texts.peek().is_none() {
        return found;
    }
    let search = PhraseSearch::new(phrases);
    for text in texts {
        search.find_in(text.as_bytes(), &mut found);
    }
    found
}

/// Phrases in their order. One that begins another stands before it, so that all with which a text may begin are
/// found from the last that does not stand behind the text.
struct PhraseSearch<'p> {
    /// Each phrase with its index among those given.
    sorted: Vec<(&'p [u8], usize)>,
    /// Index of the longest other phrase that each begins with.
    shorter: Vec<Option<usize>>,
    /// First two bytes of all phrases; most positions of most texts need no further look.
    beginnings: Vec<bool>,
}

impl<'p> PhraseSearch<'p> {
    fn new(phrases: &[&'p str]) -> Self {
        let mut sorted: Vec<_> =
            phrases.iter().enumerate().map(|(index, text)| (text.as_bytes(), index)).collect();
        sorted.sort_unstable();
        let mut shorter = Vec::with_capacity(sorted.len());
        let mut begun: Vec<usize> = Vec::new();
        for (at, (phrase, _)) in sorted.iter().enumerate() {
            while begun.last().is_some_and(|last| !phrase.starts_with(sorted[*last].0)) {
                begun.pop();
            }
            shorter.push(begun.last().copied());
            begun.push(at);
        }
        let mut beginnings = vec![false; 1 << 16];
        for (phrase, _) in &sorted {
            match phrase {
                [first, second, ..] => beginnings[pair(*first, *second)] = true,
                [first] => beginnings[pair(*first, 0)..=pair(*first, u8::MAX)].fill(true),
                [] => {}
            }
        }
        Self { sorted, shorter, beginnings }
    }

    fn find_in(&self, text: &[u8], found: &mut [bool]) {
        for (at, first) in text.iter().enumerate() {
            let second = text.get(at + 1).copied().unwrap_or_default();
            if self.beginnings[pair(*first, second)] {
                self.find_at(&text[at..], found);
            }
        }
        self.find_at(&[], found);
    }

    /// Notes all phrases that the rest of a text begins with.
    fn find_at(&self, rest: &[u8], found: &mut [bool]) {
        let mut next = self.sorted.partition_point(|(phrase, _)| *phrase <= rest).checked_sub(1);
        while let Some(at) = next {
            let (phrase, index) = self.sorted[at];
            if rest.starts_with(phrase) {
                if found[index] {
                    break;
                }
                found[index] = true;
            }
            next = self.shorter[at];
        }
    }
}

fn pair(first: u8, second: u8) -> usize {
    usize::from(first) << 8 | usize::from(second)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn phrases_within_phrases_are_found() {
        let phrases = ["run", "run the tests", "run the tests twice", "tests", "", "規則", "x", "run"];
        let found = find_phrases(&phrases, ["Please run the tests.", "規則 x"]);
        assert_eq!(found, [true, true, false, true, true, true, true, true]);
        assert_eq!(find_phrases(&phrases, []), [false; 8]);
        assert_eq!(find_phrases(&[], ["text"]), [false; 0]);
    }

    proptest! {
        #[test]
        fn what_contains_finds_is_found(
            phrases in prop::collection::vec("[ab規]{0,4}", 0..12),
            texts in prop::collection::vec("[ab規]{0,12}", 0..4),
        ) {
            let phrases: Vec<&str> = phrases.iter().map(String::as_str).collect();
            let expected: Vec<bool> =
                phrases.iter().map(|phrase| texts.iter().any(|text| text.contains(phrase))).collect();
            prop_assert_eq!(find_phrases(&phrases, texts.iter().map(String::as_str)), expected);
        }
    }
}
