//! Private keys as text: PEM, OpenSSH and PGP blocks, also inside a JSON string.

use std::ops::Range;

use memchr::memmem;

use crate::alphabet::Alphabet;

/// The beginning of every block; the words that follow name its contents.
pub(crate) const ANCHOR: &str = "-----BEGIN ";

/// Longer than any key; the search for a block's end goes no further.
const MOST: usize = 128 * 1024;

/// The whole block that begins at `at`, if it holds a private key. A block cut off before its end goes as
/// far as its text does.
pub(crate) fn find(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let label_start = at + ANCHOR.len();
    let label = Alphabet::of(b"A-Z0-9 ").run(&bytes[label_start..], 48);
    let dashes = label_start + label;
    let label = &text[label_start..dashes];
    if !label.contains("PRIVATE KEY") || !bytes[dashes..].starts_with(b"-----") {
        return None;
    }

    let body_start = dashes + 5;
    let reach = bytes.len().min(body_start + MOST);
    // The dashes of the next block stop the search, so no text is searched twice.
    let body_end = memmem::find(&bytes[body_start..reach], b"-----").map(|found| body_start + found);
    // In a diff a line that was removed has one dash more.
    let body_end = body_end.map(|end| if bytes[end..].starts_with(b"------E") { end + 1 } else { end });
    if let Some(body_end) = body_end
        && let closing = format!("-----END {label}-----")
        && bytes[body_end..].starts_with(closing.as_bytes())
    {
        return holds_key(&bytes[body_start..body_end]).then_some(at..body_end + closing.len());
    }
    let end = body_start + block_length(&bytes[body_start..body_end.unwrap_or(reach)]);
    holds_key(&bytes[body_start..end]).then_some(at..end)
}

/// True if a line of key material is among these bytes. Programs that only look for the header, and
/// examples with dots in place of the key, have none.
fn holds_key(body: &[u8]) -> bool {
    let mut rest = body;
    while !rest.is_empty() {
        let run = Alphabet::BASE64.run(rest, rest.len());
        if run >= 40 {
            return true;
        }
        rest = &rest[(run + 1).min(rest.len())..];
    }
    false
}

/// The length of the lines of key material at the start of `bytes`, line ends included when more follows.
fn block_length(bytes: &[u8]) -> usize {
    const BODY: Alphabet = Alphabet::of(b"A-Za-z0-9+/= \t\r\n\\");
    let length = BODY.run(bytes, bytes.len());
    length - bytes[..length].iter().rev().take_while(|byte| byte.is_ascii_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(label: &str, line_end: &str) -> String {
        let line = "q83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJq83vEjRWeJ+/";
        [
            "-----BEGIN ",
            label,
            "-----",
            line_end,
            line,
            line_end,
            line,
            "==",
            line_end,
            "-----END ",
            label,
            "-----",
        ]
        .concat()
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let at = text.find(ANCHOR).expect("the case has a header");
        assert_eq!(find(text, at).map(|range| &text[range]), expected, "{text}");
    }

    #[test]
    fn whole_blocks() {
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK"] {
            for line_end in ["\n", "\r\n", r"\n", r"\\n", "\n    ", "\n-", "\n+", "\n> "] {
                let block = block(label, line_end);
                check(&format!("key = \"{block}\" # end"), Some(&block));
            }
        }
    }

    #[test]
    fn a_block_cut_off() {
        let block = block("EC PRIVATE KEY", "\n");
        let cut = &block[..block.len() - 40];
        check(&format!("{cut}\n[truncated]"), Some(cut));
        check(cut, Some(cut));
    }

    #[test]
    fn no_key() {
        check(&block("CERTIFICATE", "\n"), None);
        check(&block("PUBLIC KEY", "\n"), None);
        check("if text.startswith('-----BEGIN PRIVATE KEY-----'):", None);
        check("-----BEGIN RSA PRIVATE KEY-----\n...\n-----END RSA PRIVATE KEY-----", None);
        check("-----BEGIN PRIVATE KEY", None);
        check("-----BEGIN ", None);
    }
}
