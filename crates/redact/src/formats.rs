//! Formats of tokens: prefix, alphabet and length, as issuers make them public; the data file `formats.txt` lists them.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use crate::SecretKind;
use crate::alphabet::{Alphabet, MeasuredRuns, ends_word, starts_word};
use crate::{data, gate};

/// The form of a token, from left to right.
pub(crate) struct TokenFormat {
    pub(crate) kind: SecretKind,
    parts: Vec<TokenPart>,
    /// Set where the prefix is so short or so common that the rest must also look random.
    is_weak: bool,
}

/// A part of a token.
enum TokenPart {
    /// This very text.
    Text(String),
    /// This very text, which is no secret and stays.
    Keep(String),
    /// From so many to so many characters of an alphabet, as many as there are.
    Run(Alphabet, usize, usize),
}

use TokenPart::{Keep, Run, Text};

/// Longer than any token.
const MOST: usize = 8 * 1024;

/// Every format there is.
pub(crate) static FORMATS: LazyLock<Vec<TokenFormat>> = LazyLock::new(|| {
    let mut alphabets = HashMap::new();
    let mut formats = Vec::new();
    for (kind, rest) in data::items(include_str!("../data/formats.txt")) {
        if kind == "alphabet" {
            let (name, set) = rest.split_once(' ').expect("an alphabet has a name and characters");
            alphabets.insert(name, Alphabet::of(set.as_bytes()));
        } else {
            let format = TokenFormat::parse(kind, rest, &alphabets);
            formats.push(format.unwrap_or_else(|| panic!("malformed format: {kind} {rest}")));
        }
    }
    formats
});

impl TokenFormat {
    /// Reads a line of the data file.
    fn parse(kind: &str, rest: &str, alphabets: &HashMap<&str, Alphabet>) -> Option<Self> {
        let kind = *SecretKind::ALL.iter().find(|known| known.name() == kind)?;
        let (is_weak, mut rest) = match rest.strip_prefix("weak ") {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let mut parts = Vec::new();
        while !rest.is_empty() {
            let (part, behind) = parse_part(rest, alphabets)?;
            parts.push(part);
            rest = behind.trim_start_matches(' ');
        }
        Some(Self { kind, parts, is_weak })
    }

    /// The text whose presence makes a look worthwhile.
    pub(crate) fn anchor(&self) -> &str {
        let mut texts = self.parts.iter().filter_map(|part| match part {
            Text(text) | Keep(text) => Some(text.as_str()),
            Run(..) => None,
        });
        texts.next().expect("every format has a text, as a test holds")
    }

    /// The token around the anchor at `at`, if there is one.
    pub(crate) fn find(&self, text: &str, at: usize, runs: &mut MeasuredRuns) -> Option<Range<usize>> {
        let bytes = text.as_bytes();
        let mut parts = self.parts.as_slice();
        let mut start = at;
        if let [Run(alphabet, least, most), rest @ ..] = parts {
            let lead = alphabet.run_back(&bytes[..at], *most);
            if lead < *least {
                return None;
            }
            start -= lead;
            parts = rest;
        }
        // A Telegram token follows `bot` in the paths of its API.
        let is_free = matches!(self.parts.as_slice(), [Keep(_), ..])
            || starts_word(bytes, start)
            || (self.kind == SecretKind::Telegram && bytes[..start].ends_with(b"bot"));
        if !is_free || self.is_in_blob(&bytes[..start]) {
            return None;
        }

        let mut end = at;
        // A token may begin with its longest run.
        let mut longest = start..at;
        for part in parts {
            let from = end;
            match part {
                Text(text) => end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?,
                Keep(text) => {
                    end += bytes[end..].starts_with(text.as_bytes()).then_some(text.len())?;
                    start = end;
                }
                Run(alphabet, least, most) => {
                    let (least, most) = (*least, *most);
                    let run = runs.measure(*alphabet, bytes, end);
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
        let is_open = matches!(self.parts.as_slice(), [.., Run(_, _, MOST)]);
        let is_over = is_open || ends_word(bytes, end);
        let is_real = is_over && (!self.is_weak || gate::looks_random(body)) && !gate::is_filler(body);
        is_real.then_some(start..end)
    }

    /// True if a token with a short prefix of letters and digits is rather a stretch of a long base64 text, in which a
    /// slash or a plus sign is no boundary.
    fn is_in_blob(&self, before: &[u8]) -> bool {
        const LONG: usize = 40;
        let anchor = self.anchor();
        anchor.len() <= 4
            && anchor.bytes().all(|byte| Alphabet::ALNUM.has(byte))
            && Alphabet::BASE64.run_back(before, LONG) == LONG
    }
}

/// The first part of a format, and the rest.
fn parse_part<'l>(line: &'l str, alphabets: &HashMap<&str, Alphabet>) -> Option<(TokenPart, &'l str)> {
    let (is_kept, line) = match line.strip_prefix("keep ") {
        Some(line) => (true, line),
        None => (false, line),
    };
    if let Some((text, rest)) = data::quoted(line) {
        return Some((if is_kept { Keep(text) } else { Text(text) }, rest));
    }
    let (alphabet, rest) = line.split_once('{')?;
    let (count, rest) = rest.split_once('}')?;
    let alphabet = match alphabet.strip_prefix('[').and_then(|set| set.strip_suffix(']')) {
        Some(set) => Alphabet::of(set.as_bytes()),
        None => *alphabets.get(alphabet)?,
    };
    let (least, most) = count.split_once(',').unwrap_or((count, count));
    let most = if most.is_empty() { MOST } else { most.parse().ok()? };
    Some((Run(alphabet, least.parse().ok()?, most), rest))
}

#[cfg(test)]
pub(crate) mod samples {
    //! Random tokens of every format, made from its own description.

    use super::*;

    impl TokenFormat {
        /// True if a token may hold this character at its end, so that it does not end before one.
        pub(crate) fn may_go_on_with(&self, next: Option<char>) -> bool {
            let ends_with = self.parts.last();
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
                if !gate::is_filler(&rest) && (!self.is_weak || gate::looks_random(&rest)) {
                    return (token, kept);
                }
            }
        }

        fn make(&self, next: &mut impl FnMut() -> u32) -> (String, usize) {
            let mut token = String::new();
            let mut kept = 0;
            for part in &self.parts {
                match part {
                    Text(text) => token.push_str(text),
                    Keep(text) => {
                        token.push_str(text);
                        kept = token.len();
                    }
                    Run(alphabet, least, most) => {
                        let (least, most) = (*least, *most);
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
    use crate::find_secrets;

    #[test]
    fn every_format_has_an_anchor_after_at_most_one_run() {
        for format in FORMATS.iter() {
            let texts = format.parts.iter().take(2).filter(|part| matches!(part, Text(_) | Keep(_)));
            assert!(texts.count() >= 1, "{}", format.kind);
            assert!(format.anchor().len() >= 2, "{}", format.kind);
        }
    }

    #[track_caller]
    fn check(text: &str, hash: Option<&str>) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        let expected: Vec<_> = hash.map(|hash| (SecretKind::PasswordHash, hash)).into_iter().collect();
        assert_eq!(found, expected, "{text}");
    }

    const BCRYPT: &str = "$2y$12$Qk3vLw8ZpR1xTn5YbHd7MeUa9Sc2Fg4Ji6Ko0Np8Qr1St3Uv5Wx7y";

    #[test]
    fn hashes_in_their_files() {
        let long = "Zq3.7LmX/0pRk9TyBw".repeat(5);
        let sha512 = format!("$6$kW3.pQz9$7{}", &long[..85]);
        check(&format!("ann:{sha512}:19788:0:99999:7:::"), Some(&sha512));
        let rounds = format!("$6$rounds=5000$kW3.pQz9$7{}", &long[..85]);
        check(&format!("ann:{rounds}:19788::::::"), Some(&rounds));
        let yescrypt = format!("$y$j9T$Ab3.dEf7/hIjKl9mNoPq1.$5{}", &long[..42]);
        check(&format!("ann:{yescrypt}:19788:0:99999:7:::"), Some(&yescrypt));
        check(&format!("ann:{BCRYPT}\nbob:"), Some(BCRYPT));
        check("ann:$apr1$x9Lm2kQz$7dKp0Rt5Yb1Wn3Hc8Jf6V/", Some("$apr1$x9Lm2kQz$7dKp0Rt5Yb1Wn3Hc8Jf6V/"));
        check("ann:{SHA}7dKp0Rt5Yb1Wn3Hc8Jf6Vg2Ls4Q=", Some("{SHA}7dKp0Rt5Yb1Wn3Hc8Jf6Vg2Ls4Q="));
        let doubled = BCRYPT.replace('$', "$$");
        check(&format!("basicauth.users=ann:{doubled}\""), Some(&doubled));
        check("PASSWORD 'md50f1e2d3c4b5a49788695a4b3c2d1e0f9'", Some("0f1e2d3c4b5a49788695a4b3c2d1e0f9"));
        check(
            "root:500:aad3b435b51404eeaad3b435b51404ee:0F1E2D3C4B5A49788695A4B3C2D1E0F9:::",
            Some("0F1E2D3C4B5A49788695A4B3C2D1E0F9"),
        );
    }

    #[test]
    fn other_hashes_and_what_only_begins_alike() {
        for text in [
            "$2y$12$ is the prefix of bcrypt",
            "$2b$10$xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "echo $1$2 and $6$x",
            "md5 '0f1e2d3c4b5a49788695a4b3c2d1e0f9'",
            "ETag: \"md5-0f1e2d3c\"",
            "{SHA}",
            "/* *0F1E2D3C */",
            "s/$5$/x/",
            "{SSHA} is salted",
            "SCRAM-SHA-256$4096:salt$stored:server",
        ] {
            check(text, None);
        }
    }
}
