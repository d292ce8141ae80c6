//! Whole sentences of a text, chosen within a limit: a request or a goal is never cut in the middle of one.

use longhaul_text::{Unit, UnitKind, is_wide};

/// A request is quoted up to about this many words.
pub(super) const LONGEST_REQUEST: usize = 90;

/// A sentence of more words than this is cut behind them: it is a list of data, or has no end.
const LONGEST_SENTENCE: usize = 150;

/// The words of a text; two Han or kana count as one.
pub(super) fn count_words(text: &str) -> usize {
    let wide = if text.is_ascii() { 0 } else { text.chars().filter(|c| is_wide(*c)).count() };
    text.split_whitespace().filter(|word| !word.chars().all(is_wide)).count() + wide.div_ceil(2)
}

/// A sentence and how much it is worth to keep; the least rank is the most worth.
pub(super) struct RankedSentence<'t> {
    pub(super) unit: Unit<'t>,
    pub(super) rank: u8,
}

/// The sentences of the best ranks that have no more than `most` words together, in their order. The best one is always taken.
pub(super) fn choose_sentences(sentences: &[RankedSentence<'_>], most: usize) -> String {
    let mut order: Vec<usize> = (0..sentences.len()).collect();
    order.sort_by_key(|index| sentences[*index].rank);
    let mut left = most;
    let mut is_chosen = vec![false; sentences.len()];
    for (nth, index) in order.into_iter().enumerate() {
        let words = count_words(sentences[index].unit.text);
        if words <= left || nth == 0 {
            left = left.saturating_sub(words);
            is_chosen[index] = true;
        }
    }
    let chosen = sentences.iter().zip(is_chosen).filter(|(_, is_chosen)| *is_chosen);
    join(chosen.map(|(sentence, _)| &sentence.unit))
}

/// Sentences and list items as one line.
fn join<'u, 't: 'u>(units: impl Iterator<Item = &'u Unit<'t>>) -> String {
    let mut joined = String::new();
    let mut last = None;
    for unit in units {
        let is_item = |kind: UnitKind| matches!(kind, UnitKind::Item { .. });
        match last {
            None => {}
            Some(UnitKind::Heading) if !ends_sentence(&joined) => joined.push_str(" — "),
            Some(kind) if is_item(kind) && is_item(unit.kind) && !ends_sentence(&joined) => {
                joined.push_str("; ");
            }
            Some(_) => joined.push(' '),
        }
        joined.push_str(&one_line(unit.text));
        last = Some(unit.kind);
    }
    joined
}

fn ends_sentence(text: &str) -> bool {
    text.ends_with(['.', '!', '?', ':', ';', '。', '！', '？', '：', '；'])
}

/// A sentence on one line.
fn one_line(text: &str) -> String {
    let mut words = text.split_whitespace();
    let mut line = words.by_ref().take(LONGEST_SENTENCE).collect::<Vec<_>>().join(" ");
    if words.next().is_some() {
        line.push('…');
    }
    match line.char_indices().nth(LONGEST_SENTENCE * 8) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// The beginning of `text`, at most `most` bytes long.
pub(super) fn shorten(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}
