//! Notices a model that goes round in circles: the same calls again and again, or the same words.

use std::collections::{HashMap, VecDeque};

use longhaul_conversation::ToolCall;

/// A cycle of calls this often is a loop.
const REPETITIONS: usize = 5;
/// The longest cycle of calls that is looked for.
const LONGEST_CYCLE: usize = 5;
/// A piece of text this often is a loop.
const CHANTS: usize = 10;
/// The length of a piece of text, in characters.
const CHUNK: usize = 50;
/// The same piece counts only if it comes at least this often, on average, in characters.
const FARTHEST: usize = 5 * CHUNK;
/// More different texts than this between the repetitions make a list, and not a loop.
const MOST_FILLINGS: usize = 5;
/// So many characters are remembered.
const REMEMBERED: usize = 5_000;

/// A way in which a model goes round in circles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loop {
    /// The last calls repeat.
    Calls {
        /// The tools in one round, in order.
        tools: Vec<String>,
    },
    /// A piece of text repeats.
    Words {
        /// The piece.
        text: String,
    },
}

/// Watches one prompt's answers as they arrive.
#[derive(Clone, Debug, Default)]
pub struct LoopDetector {
    calls: VecDeque<(blake3::Hash, String)>,
    words: Words,
}

impl LoopDetector {
    /// Takes note of a call. The same one five times in a row is a loop, as are five rounds of up to five calls.
    pub fn observe_call(&mut self, call: &ToolCall) -> Option<Loop> {
        self.words.forget();
        let key = blake3::hash(format!("{}:{}", call.name, call.args).as_bytes());
        self.calls.push_back((key, call.name.clone()));
        if self.calls.len() > REPETITIONS * LONGEST_CYCLE {
            self.calls.pop_front();
        }
        let cycle = (1..=LONGEST_CYCLE).find(|cycle| self.repeats(*cycle))?;
        let round = self.calls.iter().skip(self.calls.len() - cycle);
        Some(Loop::Calls { tools: round.map(|(_, name)| name.clone()).collect() })
    }

    /// Takes note of a piece of the answer's text as it was streamed.
    pub fn observe_text(&mut self, piece: &str) -> Option<Loop> {
        self.words.observe(piece).map(|text| Loop::Words { text })
    }

    /// Starts over, for a new prompt.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Tells whether the last calls are one round of `cycle` calls, over and over.
    fn repeats(&self, cycle: usize) -> bool {
        let Some(start) = self.calls.len().checked_sub(REPETITIONS * cycle) else { return false };
        (start + cycle..self.calls.len()).all(|at| self.calls[at].0 == self.calls[at - cycle].0)
    }
}

/// Looks for text that repeats itself closely.
#[derive(Clone, Debug, Default)]
struct Words {
    in_code: bool,
    /// The newest characters.
    text: VecDeque<char>,
    /// Number of characters that were dropped before them: places count from the beginning.
    dropped: usize,
    /// The place of the next chunk to look at.
    next: usize,
    /// Starts of chunks of the same hash, in order.
    seen: HashMap<u64, Vec<usize>>,
}

impl Words {
    /// Forgets the text, but not whether a code block is open.
    fn forget(&mut self) {
        *self = Self { in_code: self.in_code, ..Self::default() };
    }

    fn observe(&mut self, piece: &str) -> Option<String> {
        let fences = piece.matches("```").count();
        let divider = is_divider(piece);
        if fences > 0 || divider || piece.lines().any(is_structure) {
            // Lists, tables and code repeat themselves for good reasons.
            self.forget();
        }
        let was_in_code = self.in_code;
        self.in_code ^= fences % 2 == 1;
        if was_in_code || self.in_code || divider {
            return None;
        }
        self.remember(piece);
        while self.next + CHUNK <= self.dropped + self.text.len() {
            let start = self.next;
            self.next += 1;
            if self.is_chant(start) {
                return Some(self.slice(start, start + CHUNK).collect());
            }
        }
        None
    }

    fn remember(&mut self, piece: &str) {
        self.text.extend(piece.chars());
        let excess = self.text.len().saturating_sub(REMEMBERED);
        if excess == 0 {
            return;
        }
        self.text.drain(..excess);
        self.dropped += excess;
        self.next = self.next.max(self.dropped);
        // Places that were dropped are left out when their chunk comes up; the rest is cleared now and then.
        if self.seen.len() > 2 * REMEMBERED {
            let dropped = self.dropped;
            self.seen.retain(|_, starts| starts.last().is_some_and(|last| *last >= dropped));
        }
    }

    /// Takes note of the chunk at `place` and tells whether it has come too often.
    fn is_chant(&mut self, start: usize) -> bool {
        let hash = self.slice(start, start + CHUNK).fold(0xcbf2_9ce4_8422_2325_u64, |hash, c| {
            (hash ^ u64::from(u32::from(c))).wrapping_mul(0x0000_0100_0000_01b3)
        });
        let mut starts = self.seen.remove(&hash).unwrap_or_default();
        starts.retain(|seen| *seen >= self.dropped);
        let is_same = starts
            .first()
            .is_none_or(|first| self.slice(*first, first + CHUNK).eq(self.slice(start, start + CHUNK)));
        if is_same {
            starts.push(start);
        }
        let found = is_same && starts.len() >= CHANTS && {
            let last = &starts[starts.len() - CHANTS..];
            self.is_close(last) && self.says_something(start) && !self.is_table(last[0], start + CHUNK)
        };
        self.seen.insert(hash, starts);
        found
    }

    /// Returns true if the chunk has a letter: blank lines and rows of figures repeat themselves for good reasons.
    fn says_something(&self, start: usize) -> bool {
        self.slice(start, start + CHUNK).any(char::is_alphabetic)
    }

    /// Returns true if these are rows with as many fields each: a table without frames, or comma-separated values.
    fn is_table(&self, from: usize, to: usize) -> bool {
        let text: String = self.slice(from, to).collect();
        // The first and the last row may be in part.
        let rows: Vec<&str> = text.lines().skip(1).filter(|row| !row.trim().is_empty()).collect();
        let Some((_, rows)) = rows.split_last().filter(|(_, rows)| rows.len() >= 2) else { return false };
        ['|', ',', ';', '\t'].iter().any(|separator| {
            let fields = |row: &&str| row.matches(*separator).count();
            fields(&rows[0]) >= 2 && rows.iter().all(|row| fields(row) == fields(&rows[0]))
        })
    }

    /// Tells whether the repetitions are near each other, with much the same between them.
    fn is_close(&self, starts: &[usize]) -> bool {
        let [first, .., last] = starts else { return false };
        if last - first > FARTHEST * (starts.len() - 1) {
            return false;
        }
        let mut fillings: Vec<String> =
            starts.windows(2).map(|pair| self.slice(pair[0], pair[1]).collect()).collect();
        fillings.sort_unstable();
        fillings.dedup();
        fillings.len() <= MOST_FILLINGS
    }

    fn slice(&self, from: usize, to: usize) -> impl Iterator<Item = char> {
        self.text.range(from - self.dropped..to - self.dropped).copied()
    }
}

/// Tells whether a piece is nothing but a line drawn across the page.
fn is_divider(piece: &str) -> bool {
    let drawn = |c| matches!(c, '+' | '-' | '_' | '=' | '*' | '\u{2500}'..='\u{257F}');
    let piece = piece.trim_end_matches(['\n', '\r']);
    !piece.is_empty() && piece.chars().all(drawn)
}

/// Tells whether a line belongs to a table, a list, a heading or a quotation.
fn is_structure(line: &str) -> bool {
    let text = line.trim_start();
    let is_row = text.strip_prefix('|').is_some_and(|rest| rest.contains('|'));
    let is_table_divider = text.chars().take_while(|c| matches!(c, '|' | '+' | '-')).count() >= 3;
    let is_bullet =
        text.strip_prefix(['*', '-', '+']).is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < text.len()
        && after_digits.strip_prefix('.').is_some_and(|rest| rest.starts_with(char::is_whitespace));
    let after_marks = line.trim_start_matches('#');
    let is_heading = after_marks.len() < line.len() && after_marks.starts_with(char::is_whitespace);
    let is_quotation = line.strip_prefix('>').is_some_and(|rest| rest.starts_with(char::is_whitespace));
    is_row || is_table_divider || is_bullet || is_numbered || is_heading || is_quotation
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn call(name: &str, value: usize) -> ToolCall {
        ToolCall::new("c", name).with_args(json!({ "value": value }))
    }

    /// Checks at which calls, counted from 1, a loop is reported. Every letter is another call.
    #[track_caller]
    fn check_calls(letters: &str, expected: &[usize]) {
        let mut detector = LoopDetector::default();
        let found: Vec<usize> = letters
            .char_indices()
            .filter(|(_, letter)| detector.observe_call(&call("tool", *letter as usize)).is_some())
            .map(|(at, _)| at + 1)
            .collect();
        assert_eq!(found, expected, "{letters}");
    }

    #[test]
    fn the_fifth_identical_call_is_a_loop_and_so_are_the_next() {
        check_calls("aaaa", &[]);
        check_calls("aaaaaaa", &[5, 6, 7]);
        check_calls("aaaabaaaa", &[]);
        check_calls("abcdefghij", &[]);
    }

    #[test]
    fn rounds_of_up_to_five_calls_are_loops() {
        check_calls(&"ab".repeat(5), &[10]);
        check_calls(&"abc".repeat(5), &[15]);
        check_calls(&("xyz".to_string() + &"abcde".repeat(5)), &[28]);
        check_calls(&"abcdef".repeat(6), &[]);
        check_calls("abacadaeafagahai", &[]);
    }

    #[test]
    fn text_between_the_calls_does_not_matter_and_the_round_is_named() {
        let mut detector = LoopDetector::default();
        let mut found = None;
        for _ in 0..5 {
            assert_eq!(detector.observe_text("Let me try again."), None);
            detector.observe_call(&call("read", 1));
            found = detector.observe_call(&call("write", 2));
        }
        assert_eq!(found, Some(Loop::Calls { tools: vec!["read".into(), "write".into()] }));
        detector.reset();
        assert_eq!(detector.observe_call(&call("write", 2)), None);
    }

    /// Text without repetitions.
    fn varied(seed: usize, len: usize) -> String {
        let mut state = seed as u64 + 1;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            char::from(b'a' + ((state >> 33) % 26) as u8)
        };
        std::iter::repeat_with(next).take(len).collect()
    }

    /// Checks at which piece, counted from 1, a loop is reported first.
    #[track_caller]
    fn check_text<S: AsRef<str>>(pieces: &[S], expected: Option<usize>) {
        let mut detector = LoopDetector::default();
        let found = pieces.iter().position(|piece| detector.observe_text(piece.as_ref()).is_some());
        assert_eq!(found.map(|at| at + 1), expected);
    }

    #[test]
    fn blank_lines_rows_of_tables_and_values_are_no_loops() {
        check_text(&["\n"; 800], None);
        check_text(&["   \n\n"; 300], None);
        check_text(&["0, 1, 0, 1, 0\n"; 200], None);
        check_text(&["alpha,beta,gamma,delta,epsilon,zeta,eta,theta\n"; 60], None);
        check_text(&["name", " | kind | ", "state of it, which is", " ready\n"].repeat(60), None);
        check_text(&["Let me look at the file again and then I will check it once more. "; 30], Some(10));
    }

    #[test]
    fn the_tenth_repetition_is_a_loop() {
        check_text(&vec![varied(1, 50); 9], None);
        check_text(&vec![varied(1, 50); 20], Some(10));
        check_text(&vec![varied(1, 150); 20], Some(10));
        check_text(&[varied(1, 50).repeat(12)], Some(1));
    }

    #[test]
    fn varied_text_and_distant_repetitions_are_none() {
        check_text(&(0..200).map(|n| varied(n, 60)).collect::<Vec<_>>(), None);
        let distant: Vec<_> = (0..30).flat_map(|n| [varied(0, 50), varied(n + 1, 500)]).collect();
        check_text(&distant, None);
        check_text(&[""; 50], None);
    }

    #[test]
    fn a_list_with_a_shared_beginning_is_none() {
        let prefix = varied(0, 60);
        let entries: Vec<_> = (1..40).map(|n| format!("{prefix}{}", varied(n, 30))).collect();
        check_text(&entries, None);
    }

    #[test]
    fn code_may_repeat_itself() {
        let line = varied(1, 50);
        let mut pieces = vec!["```rust\n".to_string()];
        pieces.extend(vec![line.clone(); 30]);
        check_text(&pieces, None);
        pieces.push("\n```\n".to_string());
        pieces.extend(vec![line; 30]);
        check_text(&pieces, Some(42));
    }

    #[test]
    fn markdown_starts_the_count_again() {
        let line = varied(1, 50);
        let marks = [
            "| a | b |",
            "|---|---|",
            "* item",
            "- item",
            "+ item",
            "12. item",
            "## Title",
            "> quoted",
            "-----",
            "═══════",
            "text\n  - item",
            "```\n```",
        ];
        for mark in marks {
            let mut pieces = vec![line.clone(); 9];
            pieces.push(mark.to_string());
            pieces.extend(vec![line.clone(); 9]);
            check_text(&pieces, None);
        }
        for plain in ["a - b", "3.14 is pi", "#hash", "a > b", "*emphasis*"] {
            let mut pieces = vec![line.clone(); 9];
            pieces.push(plain.to_string());
            pieces.extend(vec![line.clone(); 9]);
            check_text(&pieces, Some(11));
        }
    }

    #[test]
    fn endless_dividers_are_none() {
        for divider in ["-".repeat(80), "═".repeat(400), "+-=_*".repeat(60)] {
            check_text(&vec![divider; 30], None);
        }
    }

    #[test]
    fn a_call_starts_the_count_again() {
        let mut detector = LoopDetector::default();
        for n in 0..5 {
            for _ in 0..9 {
                assert_eq!(detector.observe_text(&varied(1, 50)), None);
            }
            detector.observe_call(&call("tool", n));
        }
    }

    #[test]
    fn repetitions_beyond_what_is_remembered_do_not_count() {
        let mut detector = LoopDetector::default();
        for n in 0..400 {
            assert_eq!(detector.observe_text(&varied(n, 700)), None);
            assert_eq!(detector.observe_text(&varied(0, 50)), None);
        }
        assert!(detector.words.seen.len() <= 3 * REMEMBERED && detector.words.text.len() <= REMEMBERED);
    }

    proptest! {
        #[test]
        fn any_stream_is_taken(pieces in prop::collection::vec("(?s).{0,80}", 0..20)) {
            let mut detector = LoopDetector::default();
            for piece in &pieces {
                detector.observe_text(piece);
            }
        }

        #[test]
        fn how_text_is_cut_does_not_hide_a_loop(piece in 1usize..300) {
            let text: Vec<char> = (varied(3, 700) + &varied(1, 100).repeat(14)).chars().collect();
            let mut detector = LoopDetector::default();
            let found = text.chunks(piece).any(|piece| {
                detector.observe_text(&piece.iter().collect::<String>()).is_some()
            });
            prop_assert!(found);
        }
    }
}
