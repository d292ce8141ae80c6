//! Tells the lines of plain words from those that may name something, sixteen bytes at once.

const AT_ONCE: usize = 16;

/// Whether a line consists of plain words, of signs between them and of nothing else, so that there is no name, path, number
/// or address in it, nor a tab or a line break. Of most sentences this is true; short ones are not worth the look.
pub(crate) fn is_plain(line: &str) -> bool {
    let bytes = line.as_bytes();
    let Some(inner) = bytes.len().checked_sub(2).filter(|inner| *inner >= AT_ONCE) else { return false };
    // Each byte beside the one before it and the one behind it.
    let sides = [&bytes[..inner], &bytes[1..=inner], &bytes[2..]];
    let [befores, middles, behinds] = sides.map(|side| side.as_chunks::<AT_ONCE>().0);
    let mut naming = [0; AT_ONCE];
    for ((before, byte), behind) in befores.iter().zip(middles).zip(behinds) {
        note_naming(&mut naming, [before, byte, behind]);
    }
    if let [Some(before), Some(byte), Some(behind)] = sides.map(|side| side.last_chunk()) {
        note_naming(&mut naming, [before, byte, behind]);
    }
    naming == [0; AT_ONCE]
        && !is_naming(b' ', bytes[0], bytes[1])
        && !is_naming(bytes[inner], bytes[inner + 1], b' ')
}

/// Where the first byte stands, from `from` on, that may make a name of what stands around it; nothing stands before `from`.
pub(crate) fn find_naming(text: &str, from: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let byte = |at: usize| bytes.get(at).copied().unwrap_or(b' ');
    let is_naming_at = |at: &usize| is_naming(byte(at - 1), byte(*at), byte(at + 1));
    if is_naming(b' ', byte(from), byte(from + 1)) {
        return Some(from).filter(|from| *from < bytes.len());
    }
    // Each byte beside the one before it and the one behind it, as long as there are both.
    let mut at = from + 1;
    while let Some(around) = bytes.get(at - 1..).and_then(<[u8]>::first_chunk::<{ AT_ONCE + 2 }>) {
        let naming: [u8; AT_ONCE] = std::array::from_fn(|place| {
            u8::from(is_naming(around[place], around[place + 1], around[place + 2]))
        });
        if naming != [0; AT_ONCE] {
            return naming.iter().position(|naming| *naming != 0).map(|place| at + place);
        }
        at += AT_ONCE;
    }
    (at..bytes.len()).find(is_naming_at)
}

/// Whether a plain line has so many words of two letters at least near its beginning, the first one aside.
pub(crate) fn begins_with_words(line: &str, count: usize) -> bool {
    let Some(beginning) = line.as_bytes().first_chunk::<{ 3 * AT_ONCE + 2 }>() else { return false };
    let is_letter = |byte: u8| (byte | 0x20).wrapping_sub(b'a') <= b'z' - b'a';
    let begins_word = |around: &[u8; 3]| (around[0] == b' ') & is_letter(around[1]) & is_letter(around[2]);
    let words: u8 = beginning.array_windows().map(|around| u8::from(begins_word(around))).sum();
    usize::from(words) >= count
}

/// Notes of each byte whether it may make a name. There are no branches, so that all are told at once.
#[inline(always)]
fn note_naming(naming: &mut [u8; AT_ONCE], [before, byte, behind]: [&[u8; AT_ONCE]; 3]) {
    for (at, naming) in naming.iter_mut().enumerate() {
        *naming |= u8::from(is_naming(before[at], byte[at], behind[at]));
    }
}

/// Whether a byte may make a name of what stands around it. All that does is told, and little else.
#[inline(always)]
fn is_naming(before: u8, byte: u8, behind: u8) -> bool {
    // A capital behind a space only begins a word.
    let small = byte | if before == b' ' { 0x20 } else { 0 };
    let is_letter = small.wrapping_sub(b'a') <= b'z' - b'a';
    // Signs below this one stand in no name, but for one; nor does what is not ASCII, which is less than zero.
    let is_apart = (small as i8) < b'+' as i8;
    let is_stop = ((byte as i8) < b'/' as i8) | (byte.wrapping_sub(b':') <= b'?' - b':');
    !(is_letter | is_apart | is_stop & (behind == b' ')) | (byte == b'$') | (byte < b' ')
}

#[cfg(test)]
mod tests {
    use super::super::chart::Chart;
    use super::super::lines::count_plain_words;
    use super::super::tokens::scan_tokens;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_sentences_name_nothing() {
        for line in [
            "However, a stale lock counts twice until Tuesday (or so); \"why\"?",
            "Das überrascht niemanden, und it's fine - the rest: wait!",
            "日本語 is written here, と言った。",
        ] {
            assert!(is_plain(line), "{line}");
        }
        for name in ["a_name", "/etc", "camelCase", "a.rs", "404", "`x`", "$HOME", "@you", "~me", "x-y", "E5"]
        {
            for line in [format!("{name} and what stands behind it"), format!("what stands before {name}")] {
                assert!(!is_plain(&line), "{line}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_found_in_plain_lines(line in "([a-c]{1,6}|[AB ]|[ .,:;+'!?(\n\t-]|[_/~@$`1<é]){0,30}") {
            let mut chart = Chart::default();
            chart.draw(&line, 0..line.len());
            let mut found = false;
            scan_tokens(&line, &chart, &mut |_| found = true);
            prop_assert!(!is_plain(&line) || !found && !line.contains(['\n', '\t']));
        }

        #[test]
        fn naming_bytes_are_found_in_every_place(text in "([a-z]{1,9} |[A-C]|[.,:_/é1]){0,30}", from in 0usize..90) {
            let byte = |at: usize| text.as_bytes().get(at).copied().unwrap_or(b' ');
            let before = |at: usize| if at == from { b' ' } else { byte(at - 1) };
            let is_naming = |at: &usize| is_naming(before(*at), byte(*at), byte(at + 1));
            prop_assert_eq!(find_naming(&text, from), (from..text.len()).find(is_naming));
            prop_assert!(!is_plain(&text) || find_naming(&text, 0).is_none());
        }

        #[test]
        fn words_are_plain_where_the_line_is(line in "[A-C]?[a-c]{1,3}( [a-cA-C.é]{0,4}){8,30}", count in 1usize..8) {
            let is_told = is_plain(&line) && begins_with_words(&line, count);
            prop_assert!(!is_told || count_plain_words(&line, count) == count);
        }

        #[test]
        fn every_byte_of_a_line_is_looked_at(length in 18usize..80, at in 0usize..80) {
            let mut line = "a".repeat(length);
            line.replace_range(at % length..=at % length, "_");
            prop_assert!(!is_plain(&line) && is_plain(&"a".repeat(length)));
        }
    }
}
