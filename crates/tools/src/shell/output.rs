//! Command output: the start and the end of it are kept, whatever its length.

use std::collections::VecDeque;

use longhaul_conversation::grouped;

use super::screen::TerminalText;

/// The size of the pieces in which the tail is evicted.
const PIECE: usize = 64 << 10;

/// The output of a command so far, as plain text, of which about `limit` bytes are kept.
#[derive(Debug)]
pub(super) struct CommandOutput {
    screen: TerminalText,
    kept: HeadAndTail,
}

/// The kept text of an output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptText {
    pub(super) text: String,
    /// The number of omitted bytes.
    pub(super) left_out: u64,
}

#[derive(Debug)]
struct HeadAndTail {
    limit: usize,
    head: String,
    /// The output after the head; the oldest piece is evicted when there are too many.
    tail: VecDeque<String>,
    tail_len: usize,
    /// The number of evicted bytes.
    left_out: u64,
}

impl CommandOutput {
    /// Keeps about `limit` bytes, a quarter of them from the start.
    pub(super) fn new(limit: usize) -> Self {
        let kept =
            HeadAndTail { limit, head: String::new(), tail: VecDeque::new(), tail_len: 0, left_out: 0 };
        Self { screen: TerminalText::default(), kept }
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.screen.show(bytes, |text| self.kept.push(text));
    }

    /// Ends the output.
    pub(super) fn finish(&mut self) {
        self.screen.finish(|text| self.kept.push(text));
    }

    /// The kept text, with a line in place of the omitted part.
    pub(super) fn text(&self) -> KeptText {
        let kept = &self.kept;
        let mut text = String::with_capacity(kept.head.len() + kept.tail_len + 100);
        text.push_str(&kept.head);
        let tail = kept.tail.iter().map(String::as_str).chain([self.screen.line()]);
        if kept.left_out == 0 {
            text.extend(tail);
            return KeptText { text, left_out: 0 };
        }
        // Both sides end with complete lines, unless a line is too long for that.
        let end = whole_lines_end(&kept.head);
        text.truncate(end);
        let tail: String = tail.collect();
        let start = whole_lines_start(&tail);
        let left_out = kept.left_out + (kept.head.len() - end + start) as u64;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{} bytes of output left out]\n", grouped(left_out)));
        text.push_str(&tail[start..]);
        KeptText { text, left_out }
    }

    /// The last lines, of which at most `limit` bytes.
    pub(super) fn last_lines(&self, lines: usize, limit: usize) -> String {
        let mut pieces = vec![self.screen.line()];
        let mut have = self.screen.line().len();
        for piece in self.kept.tail.iter().map(String::as_str).rev().chain([self.kept.head.as_str()]) {
            if have >= limit {
                break;
            }
            pieces.push(piece);
            have += piece.len();
        }
        let text: String = pieces.into_iter().rev().collect();
        let text = text.trim_end_matches('\n');
        let within = &text[text.ceil_char_boundary(text.len().saturating_sub(limit))..];
        let mut ends = within.rmatch_indices('\n').map(|(at, _)| at + 1);
        let start = lines.checked_sub(1).map_or(Some(within.len()), |before| ends.nth(before)).unwrap_or(0);
        within[start..].to_string()
    }
}

impl HeadAndTail {
    fn push(&mut self, text: &str) {
        let room = (self.limit / 4).saturating_sub(self.head.len());
        let at = if self.tail.is_empty() { text.floor_char_boundary(room) } else { 0 };
        let (head, rest) = text.split_at(at);
        self.head.push_str(head);
        if rest.is_empty() {
            return;
        }
        match self.tail.back_mut() {
            Some(piece) if piece.len() + rest.len() <= PIECE => piece.push_str(rest),
            _ => {
                let mut piece = String::with_capacity(rest.len().max(PIECE.min(self.limit)));
                piece.push_str(rest);
                self.tail.push_back(piece);
            }
        }
        self.tail_len += rest.len();
        while self.tail_len > self.limit - self.limit / 4
            && self.tail.len() > 1
            && let Some(piece) = self.tail.pop_front()
        {
            self.tail_len -= piece.len();
            self.left_out += piece.len() as u64;
        }
    }
}

/// The end of the last complete line, if it is near the end.
fn whole_lines_end(text: &str) -> usize {
    text.rfind('\n').map(|at| at + 1).filter(|end| text.len() - end <= PIECE / 8).unwrap_or(text.len())
}

/// The start of the first complete line, if it is near the start.
fn whole_lines_start(text: &str) -> usize {
    text.find('\n').map(|at| at + 1).filter(|start| *start <= PIECE / 8).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output_of(text: &str, limit: usize) -> CommandOutput {
        let mut output = CommandOutput::new(limit);
        text.as_bytes().chunks(1000).for_each(|chunk| output.push(chunk));
        output.finish();
        output
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let text: String = (0..50_000).map(|line| format!("line {line}\n")).collect();
        assert_eq!(output_of(&text, 1 << 20).text().text, text);
        assert_eq!(output_of("", 100).text().text, "");
    }

    #[test]
    fn of_a_flood_the_ends_are_kept_in_whole_lines_and_the_rest_is_counted() {
        let text: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
        let shown = output_of(&text, 300_000).text().text;
        let (head, rest) = shown.split_once('[').unwrap();
        let (count, tail) = rest.split_once(" bytes of output left out]\n").unwrap();
        assert!(text.starts_with(head) && head.ends_with('\n') && head.len() > 70_000);
        assert!(text.ends_with(tail) && tail.starts_with("line ") && tail.len() > 150_000);
        let count: usize = count.replace(',', "").parse().unwrap();
        assert_eq!(count, text.len() - head.len() - tail.len());
    }

    #[test]
    fn memory_does_not_grow() {
        let mut output = CommandOutput::new(200_000);
        for _ in 0..1_000 {
            output.push(&[b'y'; 10_000]);
            let held: usize = output.kept.tail.iter().map(String::capacity).sum();
            assert!(held + output.kept.head.capacity() < 600_000);
        }
        assert!(output.text().text.contains(" bytes of output left out]"));
    }

    #[test]
    fn the_line_that_is_not_finished_is_shown() {
        let mut output = CommandOutput::new(1000);
        output.push(b"one\ntwo\nthr");
        assert_eq!(output.text().text, "one\ntwo\nthr");
        for (lines, expected) in
            [(0, ""), (1, "thr"), (2, "two\nthr"), (3, "one\ntwo\nthr"), (9, "one\ntwo\nthr")]
        {
            assert_eq!(output.last_lines(lines, 100), expected);
        }
        assert_eq!(output.last_lines(9, 5), "o\nthr");
        output.push(b"ee\n");
        assert_eq!(output.last_lines(1, 100), "three");
    }
}
