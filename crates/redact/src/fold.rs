//! A text without what parts a secret but does not belong to it: invisible characters, the end of a line that a backslash
//! continues, the signs between two strings that are joined.

use std::ops::Range;

use crate::SecretKind;
use crate::alphabet::Alphabet;

/// The texts that make a look worthwhile. Each stands where a word may be broken.
pub(crate) const ANCHORS: &[&str] = &[
    // Zero-width spaces and joiners, marks of direction, the byte order mark, the soft hyphen.
    "\u{200B}", "\u{200C}", "\u{200D}", "\u{200E}", "\u{200F}", "\u{2060}", "\u{2061}", "\u{2062}",
    "\u{2063}", "\u{2064}", "\u{FEFF}", "\u{AD}", "\u{180E}", "\u{202A}", "\u{202C}", "\u{202D}", "\u{2066}",
    "\u{2068}", "\u{2069}", // The end of a line that goes on.
    "\\\n", "\\\r\n", "\\\\\\n", // Strings that are joined.
    "\" +", "' +", "` +", "\"+", "'+", "`+", "\" .", "' .", "\" &", "' &", "\" \"", "' '", "\"\n", "'\n",
    "\" \\", "' \\",
];

/// The characters that a secret may have on both sides of a break.
const INNER: Alphabet = Alphabet::of(b"A-Za-z0-9_+/=.$-");
const BLANK: Alphabet = Alphabet::of(b" \t\r\n");
/// More blanks than an editor indents by.
const MOST_BLANKS: usize = 120;

/// A break inside a word: the bytes between two pieces that belong together.
pub(crate) struct WordBreak {
    pub(crate) range: Range<usize>,
    /// Set where nothing else can be meant. Two strings beside each other are one in some languages, and two in others.
    is_sure: bool,
}

/// The break inside a word around the anchor at `at`.
pub(crate) fn word_break(text: &str, at: &Range<usize>) -> Option<WordBreak> {
    let bytes = text.as_bytes();
    let before = *bytes[..at.start].last()?;
    // A command goes on behind a blank as well, and its value may begin there.
    let is_blank = before == b' ' && bytes[at.start] == b'\\';
    if !is_blank && !INNER.has(before) {
        return None;
    }
    let mut is_sure = true;
    let end = match &bytes[at.clone()] {
        [b'\\', ..] => at.end + BLANK.run(&bytes[at.end..], MOST_BLANKS),
        [quote @ (b'"' | b'\'' | b'`'), ..] => {
            let end = joined_string(bytes, at.start, *quote)?;
            is_sure = bytes[at.start..end].iter().any(|byte| b"+.&".contains(byte));
            end
        }
        _ => at.end + invisible(&bytes[at.end..]),
    };
    // What follows a line's end may be a flag rather than the rest of a word.
    let is_flag = !is_blank && bytes[at.start] == b'\\' && bytes[end..].starts_with(b"-");
    let goes_on = !is_flag && bytes.get(end).is_some_and(|byte| INNER.has(*byte));
    goes_on.then_some(WordBreak { range: at.start..end, is_sure })
}

/// The start of the second of two joined strings, whose first ends with the quote at `at`.
fn joined_string(bytes: &[u8], at: usize, quote: u8) -> Option<usize> {
    let blanks = |at: usize| at + BLANK.run(&bytes[at..], MOST_BLANKS);
    let before = blanks(at + 1);
    let operator = match &bytes[before..] {
        [b'.', b'.', ..] => 2,
        [b'+' | b'.' | b'&' | b'\\', ..] => 1,
        [next, ..] if *next == quote => 0,
        _ => return None,
    };
    let start = blanks(before + operator);
    (bytes.get(start) == Some(&quote)).then_some(start + 1)
}

/// The bytes of further invisible characters that follow.
fn invisible(bytes: &[u8]) -> usize {
    let mut length = 0;
    while let Some(anchor) =
        ANCHORS.iter().find(|anchor| !anchor.is_ascii() && bytes[length..].starts_with(anchor.as_bytes()))
    {
        length += anchor.len();
    }
    length
}

/// The bytes before a value within which its name begins.
const AROUND_NAME: usize = 80;
/// The bytes around a break that may belong to the same secret.
const AROUND: usize = 1024;

/// A stretch of a text without its breaks, and the places of its spans.
pub(crate) struct FoldedText {
    pub(crate) text: String,
    spans: Vec<FoldedSpan>,
}

/// The text between two breaks.
struct FoldedSpan {
    /// The start in the folded text.
    start: usize,
    /// The bytes by which its place in the text lies further on.
    shift: usize,
    /// Set where it surely continues what stands before it.
    is_sure: bool,
}

/// The stretches around the breaks, which are in order, each without its breaks.
pub(crate) fn fold(text: &str, breaks: &[WordBreak]) -> Vec<FoldedText> {
    let mut folded: Vec<FoldedText> = Vec::new();
    let mut rest = breaks;
    while let [first, ..] = rest {
        let is_near = |pair: &&[WordBreak]| pair[1].range.start < pair[0].range.end + AROUND;
        let (near, far) = rest.split_at(rest.windows(2).take_while(is_near).count() + 1);
        rest = far;
        let start = text.ceil_char_boundary(first.range.start.saturating_sub(AROUND));
        let end = text.floor_char_boundary(near[near.len() - 1].range.end + AROUND);
        folded.push(FoldedText::new(text, start..end, near));
    }
    folded
}

impl FoldedText {
    /// Of two breaks that overlap, the second stays.
    fn new(text: &str, stretch: Range<usize>, breaks: &[WordBreak]) -> Self {
        let mut folded = String::with_capacity(stretch.len());
        let mut spans = vec![FoldedSpan { start: 0, shift: stretch.start, is_sure: true }];
        let mut kept = stretch.start;
        for WordBreak { range, is_sure } in breaks {
            if range.start < kept || range.end > stretch.end {
                continue;
            }
            folded.push_str(&text[kept..range.start]);
            kept = range.end;
            spans.push(FoldedSpan { start: folded.len(), shift: kept - folded.len(), is_sure: *is_sure });
        }
        folded.push_str(&text[kept..stretch.end]);
        Self { text: folded, spans }
    }

    /// The place in the text of a finding in the folded text; `None` if no break is within it, so that the text itself shows it,
    /// or if it takes more than a name to join its pieces.
    pub(crate) fn unfold(&self, kind: SecretKind, range: &Range<usize>) -> Option<Range<usize>> {
        // A break may also part a name from its value.
        let named = range.start.saturating_sub(AROUND_NAME);
        let before = self.spans.partition_point(|span| span.start <= named);
        let first = self.spans.partition_point(|span| span.start <= range.start);
        let last = self.spans.partition_point(|span| span.start < range.end);
        let is_sure = !kind.is_generic() || self.spans[before..last].iter().all(|span| span.is_sure);
        (last > before && is_sure)
            .then(|| range.start + self.spans[first - 1].shift..range.end + self.spans[last - 1].shift)
    }
}

#[cfg(test)]
mod tests {
    use crate::redact;

    const HEAD: &str = "Zb3kQ9xT1vLm7Rw2";
    const TAIL: &str = "Np8Ys4Hd6Jc0Fg5Ua1Ee";

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(redact(text).text, expected, "{text}");
        assert_eq!(redact(expected).text, expected);
    }

    fn token(joint: &str) -> String {
        ["ghp", "_", HEAD, joint, TAIL].concat()
    }

    #[test]
    fn a_token_in_pieces() {
        for joint in [
            "\u{200B}",
            "\u{200B}\u{200D}",
            "\u{FEFF}",
            "\u{AD}",
            "\u{2060}",
            "\\\n",
            "\\\r\n",
            "\\\n    ",
            "\" +\n        \"",
            "\" + \"",
            "\"+\"",
            "\" . \"",
            "\" .. \"",
            "\" & \"",
            "\"\n  \"",
            "\" \\\n  \"",
            "\" \"",
        ] {
            let token = token(joint);
            check(&format!("x = \"{token}\"; y"), "x = \"[REDACTED]\"; y");
        }
        check(&format!("x = '{}'", token("' + '")), "x = '[REDACTED]'");
        check(&format!("export GH={} \\\n  --flag", token("\\\n")), "export GH=[REDACTED] \\\n  --flag");
    }

    #[test]
    fn a_value_on_the_line_below_its_name() {
        check(&format!("export API_KEY=\\\n{HEAD}{TAIL}\n"), "export API_KEY=\\\n[REDACTED]\n");
        check(
            &format!("curl -H \"Authorization: Bearer \\\n  {HEAD}{TAIL}\" h"),
            "curl -H \"Authorization: Bearer \\\n  [REDACTED]\" h",
        );
        check(
            "mysql -u root \\\n  --password \\\n  S3cr3t9xQ",
            "mysql -u root \\\n  --password \\\n  [REDACTED]",
        );
    }

    #[test]
    fn what_is_around_a_joint_stays() {
        check(&format!("a\u{200B}b {} c\u{AD}d", token("\u{200B}")), "a\u{200B}b [REDACTED] c\u{AD}d");
        check("DB_PASSWORD=Zep\\\npelin!77 x", "DB_PASSWORD=[REDACTED] x");
        for text in [
            "run \\\n  --flag value \\\n  --other",
            "\"a\" + \"b\"",
            "the password is wrong\u{200B}ly set",
            "👩\u{200D}💻 token",
            "['a' , 'b']",
            "echo one\\\ntwo",
            "msg = \"abc\"\n  \"def\"",
            "curl -u \"$USER:$PASSWORD\" \\\n  \"$URL/api/v1/x9\"",
        ] {
            check(text, text);
        }
    }
}
