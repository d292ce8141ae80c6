//! Finds what is written as names, paths, numbers and addresses are: all that may be an anchor, or hold some.

use super::chart::Chart;

/// A token that may be an anchor, or hold some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// A text in backticks.
    Quoted(&'t str),
    /// A web address.
    Address(&'t str),
    /// Something written as names, paths and numbers are, without a position behind it.
    Name(&'t str),
}

/// Finds what may be anchors in one line, or hold some; the chart is that of the line.
pub(crate) fn scan_tokens<'t>(line: &'t str, chart: &Chart, found: &mut impl FnMut(Token<'t>)) {
    let bytes = line.as_bytes();
    let class = |at: usize| bytes.get(at).map_or(0, |byte| CLASS[*byte as usize]);
    let has_addresses = line.contains(SCHEME);
    let mut at = 0;
    let mut quoted_to = 0;
    while let Some(mark) = chart.next_telling(at) {
        if bytes[mark] == b'`' {
            // The backtick that ends a quotation begins no other.
            if mark >= quoted_to {
                quoted_to = scan_quoted(line, mark, found);
            }
            at = mark + 1;
            continue;
        }
        let run = chart.run_around(mark);
        at = run.end;
        let Some(start) = run.clone().find(|at| class(*at) & START != 0) else { continue };
        if has_addresses && line[start..run.end].contains(SCHEME) {
            while class(at) & ADDRESS != 0 {
                at += 1;
            }
            let address = line[start..at].trim_end_matches(BEHIND);
            if address.len() >= SHORTEST_ADDRESS {
                found(Token::Address(address));
            }
        } else if run.end - start >= 3 {
            let length = bytes[start..run.end].iter().rposition(|byte| !BEHIND_NAMES.contains(byte));
            let end = length.map_or(start, |last| start + last + 1);
            // A capital at the beginning does not make a name of a word, nor does a sign behind it.
            let telling = if mark > start { Some(mark) } else { chart.next_telling(start + 1) };
            let is_name = class(start) & NAMING & !UPPER != 0 || telling.is_some_and(|telling| telling < end);
            if is_name && end > start {
                found(Token::Name(strip_position(&line[start..end])));
            }
        }
    }
}

/// Signs that belong to the sentence rather than to what stands before them.
const BEHIND: [char; 10] = ['.', ':', '-', '+', ',', ';', '?', '!', '&', '='];
/// Those of them that can stand in a name.
const BEHIND_NAMES: [u8; 4] = *b".:-+";
/// Shorter addresses lead nowhere.
const SHORTEST_ADDRESS: usize = 10;

/// The signs that every address has.
const SCHEME: &str = "://";

/// A text in backticks on the same line, if it is short and more than one plain word.
///
/// Returns where it ends.
fn scan_quoted<'t>(line: &'t str, open: usize, found: &mut impl FnMut(Token<'t>)) -> usize {
    let inner = &line[open + 1..];
    let Some(length) = inner.bytes().take(64).position(|byte| byte == b'`') else { return open };
    let quoted = inner[..length].trim();
    let is_phrase = quoted.contains(' ') || quoted.contains('(') || quoted.len() >= 6;
    if (3..=60).contains(&quoted.len()) && is_phrase && quoted.bytes().any(|byte| byte.is_ascii_alphabetic())
    {
        found(Token::Quoted(quoted));
    }
    open + length + 2
}

/// Takes `:12` and `:12:5` off the end.
pub(crate) fn strip_position(token: &str) -> &str {
    let mut token = token;
    for _ in 0..2 {
        // Nothing else ends with one.
        if !token.ends_with(|last: char| last.is_ascii_digit() || last == '-') {
            break;
        }
        let colon = token.bytes().rposition(|byte| !byte.is_ascii_digit() && byte != b'-');
        match colon {
            Some(colon) if colon > 0 && token.as_bytes()[colon] == b':' => token = &token[..colon],
            _ => break,
        }
    }
    token
}

/// Bytes that can begin an anchor.
pub(super) const START: u16 = 1;
/// Bytes that can stand in one.
pub(super) const INSIDE: u16 = 2;
/// Bytes that can stand in a web address.
const ADDRESS: u16 = 4;
const DIGIT: u16 = 8;
const UPPER: u16 = 16;
pub(super) const SLASH: u16 = 32;
pub(super) const COLON: u16 = 64;
/// Other bytes that can stand in an anchor and in no plain word.
const MARK: u16 = 128;
/// Bytes of which an anchor has at least one.
pub(super) const NAMING: u16 = DIGIT | UPPER | SLASH | COLON | MARK;
/// The byte around code.
pub(super) const BACKTICK: u16 = 256;

/// The classes of every byte: the one table that this lexer and its chart go by.
pub(super) static CLASS: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'a'..=b'z' => START | INSIDE | ADDRESS,
            b'A'..=b'Z' => START | INSIDE | ADDRESS | UPPER,
            b'0'..=b'9' => START | INSIDE | ADDRESS | DIGIT,
            b'_' => START | INSIDE | ADDRESS | MARK,
            b'.' => START | INSIDE | ADDRESS | MARK,
            b'/' => START | INSIDE | ADDRESS | MARK | SLASH,
            b'~' | b'@' | b'$' => START | INSIDE | ADDRESS | MARK,
            b':' => INSIDE | ADDRESS | MARK | COLON,
            b'-' | b'+' => INSIDE | ADDRESS | MARK,
            b'?' | b'=' | b'&' | b'%' | b'#' | b'!' | b'*' | b',' | b';' => ADDRESS,
            b'`' => BACKTICK,
            _ => 0,
        };
        byte += 1;
    }
    table
};
