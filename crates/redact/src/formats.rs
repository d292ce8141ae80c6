//! Formats of tokens: prefix, alphabet and length; [`issuers`](crate::issuers) and [`hashes`](crate::hashes) list them.

use std::ops::Range;

use crate::Kind;
use crate::alphabet::{Alphabet, Runs, ends_word, starts_word};
use crate::gate;
use crate::hashes::HASHES;
use crate::issuers::ISSUERS;

/// A token's look, from left to right.
pub(crate) struct Format {
    pub(crate) kind: Kind,
    pieces: &'static [TokenPart],
    /// The prefix is so short or so common that the rest must also look random.
    weak: bool,
}

/// A part of a token.
#[derive(Clone, Copy)]
pub(crate) enum TokenPart {
    /// This very text.
    Text(&'static str),
    /// This very text, which is no secret and stays.
    Keep(&'static str),
    /// So many characters of an alphabet, as many as there are.
    Run(Alphabet, usize, usize),
}

use TokenPart::{Keep, Run, Text};

/// Every format there is.
pub(crate) fn all() -> impl Iterator<Item = &'static Format> {
    ISSUERS.iter().chain(HASHES)
}

/// Longer than any token.
const MOST: usize = 8 * 1024;

pub(crate) const fn exactly(alphabet: Alphabet, count: usize) -> TokenPart {
    Run(alphabet, count, count)
}

pub(crate) const fn at_least(alphabet: Alphabet, count: usize) -> TokenPart {
    Run(alphabet, count, MOST)
}

pub(crate) const fn strong(kind: Kind, pieces: &'static [TokenPart]) -> Format {
    Format { kind, pieces, weak: false }
}

pub(crate) const fn weak(kind: Kind, pieces: &'static [TokenPart]) -> Format {
    Format { kind, pieces, weak: true }
}

impl Format {
    /// The text whose presence makes a look worthwhile.
    pub(crate) fn anchor(&self) -> &'static str {
        self.pieces
            .iter()
            .find_map(|piece| match piece {
                Text(text) | Keep(text) => Some(*text),
                Run(..) => None,
            })
            .expect("every format has a text, as a test holds")
    }

    /// The token around the anchor at `at`, if there is one.
    pub(crate) fn find(&self, text: &str, at: usize, runs: &mut Runs) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let mut pieces = self.pieces;
        let mut start = at;
        if let [Run(alphabet, least, most), rest @ ..] = pieces {
            let lead = alphabet.run_back(&bytes[..at], *most);
            if lead < *least {
                return None;
            }
            start -= lead;
            pieces = rest;
        }
        // A Telegram token follows `bot` in the paths of its API.
        let is_free = matches!(self.pieces, [Keep(_), ..])
            || starts_word(bytes, start)
            || (self.kind == Kind::Telegram && bytes[..start].ends_with(b"bot"));
        if !is_free || self.is_in_blob(&bytes[..start]) {
            return None;
        }

        let mut end = at;
        // A token may begin with its longest run.
        let mut longest = start..at;
        for piece in pieces {
            let from = end;
            match *piece {
                Text(text) => end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?,
                Keep(text) => {
                    end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?;
                    start = end;
                }
                Run(alphabet, least, most) => {
                    let run = runs.measure(alphabet, bytes, end);
                    let is_blob = run > MOST && most == MOST;
                    let run = run.min(most);
                    end += (run >= least && !is_blob).then_some(run)?;
                    if run > longest.len() {
                        longest = from..end;
                    }
                }
            }
        }
        let body = &text[longest];
        // A run without a limit ends where its alphabet does.
        let is_open = matches!(self.pieces, [.., Run(_, _, MOST)]);
        let is_over = is_open || ends_word(bytes, end);
        let is_real = is_over && (!self.weak || gate::looks_random(body)) && !gate::is_filler(body);
        is_real.then_some(start..end)
    }

    /// Whether a token with a short prefix of letters and digits is rather a stretch of a long base64 text, in which a
    /// slash or a plus sign is no boundary.
    fn is_in_blob(&self, before: &[u8]) -> bool {
        const LONG: usize = 40;
        let anchor = self.anchor();
        anchor.len() <= 4
            && anchor.bytes().all(|byte| Alphabet::ALNUM.has(byte))
            && Alphabet::BASE64.run_back(before, LONG) == LONG
    }
}

#[cfg(test)]
pub(crate) mod samples {
    //! Random tokens of every format, made from its own description.

    use super::*;

    impl Format {
        /// Whether a token may hold this character at its end, so that it does not end before one.
        pub(crate) fn may_go_on_with(&self, next: Option<char>) -> bool {
            let ends_with = self.pieces.last();
            next.is_some_and(|next| {
                matches!(ends_with, Some(Run(alphabet, least, most)) if most > least && next.is_ascii() && alphabet.has(next as u8))
            })
        }

        /// A token made with `next`, a source of random numbers, and how much of its start is kept. By chance a token
        /// may look made up; such are thrown away.
        pub(crate) fn sample(&self, next: &mut impl FnMut() -> u32) -> (String, usize) {
            loop {
                let (token, kept) = self.make(next);
                let rest = token.replace(self.anchor(), "");
                if !gate::is_filler(&rest) && (!self.weak || gate::looks_random(&rest)) {
                    return (token, kept);
                }
            }
        }

        fn make(&self, next: &mut impl FnMut() -> u32) -> (String, usize) {
            let mut token = String::new();
            let mut kept = 0;
            for piece in self.pieces {
                match *piece {
                    Text(text) => token.push_str(text),
                    Keep(text) => {
                        token.push_str(text);
                        kept = token.len();
                    }
                    Run(alphabet, least, most) => {
                        let length = least + next() as usize % (most.min(least + 40) - least + 1);
                        let all: Vec<char> =
                            (0..128u8).filter(|byte| alphabet.has(*byte)).map(char::from).collect();
                        // Punctuation at the ends would leave the length open to interpretation.
                        let plain: Vec<char> =
                            all.iter().copied().filter(char::is_ascii_alphanumeric).collect();
                        for at in 0..length {
                            let from = if at == 0 || at + 1 == length { &plain } else { &all };
                            token.push(from[next() as usize % from.len()]);
                        }
                    }
                }
            }
            (token, kept)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_has_an_anchor_after_at_most_one_run() {
        for format in all() {
            let texts = format.pieces.iter().take(2).filter(|piece| matches!(piece, Text(_) | Keep(_)));
            assert!(texts.count() >= 1, "{}", format.kind);
            assert!(format.anchor().len() >= 2, "{}", format.kind);
        }
    }
}
