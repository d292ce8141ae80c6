//! Laws of text changes, called by property tests and fuzzers.

use longhaul_tools::{ExpectedCount, ReplaceMismatch, replace_text};
use longhaul_workspace::{decode_text, encode_text};

/// The longest text that is checked completely.
const MOST: usize = 4096;

/// A piece that occurs once is replaced and nothing else changes; a mismatch is explained in words.
pub(crate) fn check_replace(text: &str, old: &str, new: &str) {
    if text.len().max(old.len()).max(new.len()) > MOST {
        return;
    }
    for expected in [ExpectedCount::Times(1), ExpectedCount::Times(2), ExpectedCount::Any] {
        let result = replace_text(text, old, new, expected);
        assert_eq!(result, replace_text(text, old, new, expected), "the same, each time");
        let has_returns = text.contains('\r') || old.contains('\r');
        match (&result, expected) {
            (Err(mismatch), _) => assert!(!mismatch.to_string().is_empty()),
            (Ok(replaced), ExpectedCount::Times(times)) => assert_eq!(replaced.lines.len(), times),
            (Ok(_), ExpectedCount::Any) => {}
        }
        if let Ok(replaced) = &result {
            assert!(!old.is_empty() && replaced.text != text);
            let last = text.matches('\n').count() + 1;
            assert!(
                replaced.lines.is_sorted() && replaced.lines.iter().all(|line| (1..=last).contains(line))
            );
        }
        match (&result, expected) {
            (Ok(replaced), ExpectedCount::Times(1)) => check_one_change(text, &replaced.text, old, new),
            (Ok(replaced), ExpectedCount::Any) if !has_returns => {
                assert_eq!(replaced.text, text.replace(old, new));
            }
            _ => {}
        }
        if !has_returns && !old.is_empty() && expected == ExpectedCount::Times(1) {
            let starts = text.char_indices().filter(|(start, _)| text[*start..].starts_with(old)).count();
            match result {
                Ok(_) => assert_eq!(starts, 1),
                Err(ReplaceMismatch::Unchanged) => assert_eq!((starts, old), (1, new)),
                Err(ReplaceMismatch::Count { found, .. }) => assert!(starts > 1 && found <= starts),
                Err(_) => assert_eq!(starts, 0),
            }
        }
    }
}

/// Checks that `old`, with any line endings, became `new`, with any line endings, and everything else stayed the same.
fn check_one_change(before: &str, after: &str, old: &str, new: &str) {
    let plain = |text: &str| text.replace("\r\n", "\n");
    let forms = [new.to_string(), plain(new).replace('\n', "\r\n")];
    let is_change_at = |start: usize| {
        forms.iter().any(|new| {
            let rest = after.strip_prefix(&before[..start]).and_then(|rest| rest.strip_prefix(new.as_str()));
            rest.and_then(|rest| before[start..].strip_suffix(rest))
                .is_some_and(|gone| gone == old || plain(gone) == plain(old))
        })
    };
    assert!(before.char_indices().any(|(start, _)| is_change_at(start)), "{before:?} {after:?}");
}

/// Bytes that decode exactly encode back, and decoded text survives a round trip.
pub(crate) fn check_decode(bytes: &[u8]) {
    let decoded = decode_text(bytes);
    let encoded = encode_text(&decoded.text, decoded.encoding);
    assert!(!decoded.is_exact || encoded == bytes);
    assert_eq!(decode_text(&encoded).text, decoded.text);
}
