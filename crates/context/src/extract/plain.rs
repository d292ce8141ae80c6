//! Tells the lines of plain words from those that may name something, sixteen bytes at once.

const AT_ONCE: usize = 16;

/// Whether anything in a line may be a name, a path, a number or an address; of most sentences nothing is. Short lines are
/// not worth the look.
pub(crate) fn may_name(line: &str) -> bool {
    let bytes = line.as_bytes();
    let Some(inner) = bytes.len().checked_sub(2).filter(|inner| *inner >= AT_ONCE) else { return true };
    // Each byte beside the one before it and the one behind it.
    let sides = [&bytes[..inner], &bytes[1..=inner], &bytes[2..]];
    let [befores, middles, behinds] = sides.map(|side| side.as_chunks::<AT_ONCE>().0);
    let mut naming = [false; AT_ONCE];
    for ((before, byte), behind) in befores.iter().zip(middles).zip(behinds) {
        note_naming(&mut naming, [before, byte, behind]);
    }
    if let [Some(before), Some(byte), Some(behind)] = sides.map(|side| side.last_chunk()) {
        note_naming(&mut naming, [before, byte, behind]);
    }
    naming != [false; AT_ONCE]
        || is_naming(b' ', bytes[0], bytes[1])
        || is_naming(bytes[inner], bytes[inner + 1], b' ')
}

#[inline]
fn note_naming(naming: &mut [bool; AT_ONCE], [before, byte, behind]: [&[u8; AT_ONCE]; 3]) {
    *naming = std::array::from_fn(|at| naming[at] | is_naming(before[at], byte[at], behind[at]));
}

/// Whether a byte may make a name of what stands around it. All that does is told, and little else. There are no branches,
/// so that many are told at once.
#[inline]
fn is_naming(before: u8, byte: u8, behind: u8) -> bool {
    // A capital behind a space only begins a word.
    let small = byte | if before == b' ' { 0x20 } else { 0 };
    let is_letter = small.wrapping_sub(b'a') <= b'z' - b'a';
    // Signs below this one stand in no name, but for one; nor does what is not ASCII, which is less than zero.
    let is_apart = (small as i8) < b'+' as i8;
    let is_stop = ((byte as i8) < b'/' as i8) | (byte.wrapping_sub(b':') <= b'?' - b':');
    !(is_letter | is_apart | is_stop & (behind == b' ')) | (byte == b'$')
}

#[cfg(test)]
mod tests {
    use super::super::chart::Chart;
    use super::super::tokens::scan_tokens;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_sentences_name_nothing() {
        for line in [
            "However, a stale lock counts twice until Tuesday (or so); \"why?\"",
            "Das überrascht niemanden, und it's fine - the rest: wait...",
            "日本語 is written here, と言った。",
        ] {
            assert!(!may_name(line), "{line}");
        }
        for name in ["a_name", "/etc", "camelCase", "a.rs", "404", "`x`", "$HOME", "@you", "~me", "x-y", "E5"]
        {
            for line in [format!("{name} and what stands behind it"), format!("what stands before {name}")] {
                assert!(may_name(&line), "{line}");
            }
        }
    }

    proptest! {
        #[test]
        fn nothing_is_found_in_plain_lines(line in "([a-c]{1,6}|[AB ]|[ .,:;+'!?(-]|[_/~@$`1<é]){0,30}") {
            let mut chart = Chart::default();
            chart.draw(&line, 0..line.len());
            let mut found = false;
            scan_tokens(&line, &chart, &mut |_| found = true);
            prop_assert!(may_name(&line) || !found);
        }

        #[test]
        fn every_byte_of_a_line_is_looked_at(length in 18usize..80, at in 0usize..80) {
            let mut line = "a".repeat(length);
            line.replace_range(at % length..=at % length, "_");
            prop_assert!(may_name(&line) && !may_name(&"a".repeat(length)));
        }
    }
}
