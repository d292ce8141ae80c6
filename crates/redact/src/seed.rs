//! The words from which the keys of a wallet are derived: twelve to twenty-four of a public list of 2,048 (BIP 39).
//!
//! Behind a name for such words a run of them is enough. Without one, the run has to stand alone, and its last bits have
//! to be the checksum of the others, which one run of twelve in sixteen has by chance.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use sha2::{Digest, Sha256};

/// The list in the order that gives each word its eleven bits.
static LIST: LazyLock<HashMap<&'static str, u16>> = LazyLock::new(|| {
    (0..)
        .zip(include_str!("../data/bip39-english.txt").lines())
        .map(|(number, word)| (word, number))
        .collect()
});

/// The numbers of words of a phrase, the longest first.
const LENGTHS: &[usize] = &[24, 21, 18, 15, 12];
/// The distance from its name within which a phrase begins, in bytes.
const REACH: usize = 200;
/// The shortest phrase in bytes: twelve words of three letters.
const SHORTEST: usize = 12 * 4 - 1;

/// The phrase behind a name that ends at `at`.
pub(crate) fn find_labelled(text: &str, at: usize) -> Option<Range<usize>> {
    let mut from = at;
    while from < at + REACH {
        let run = SeedRun::read(text, from)?;
        // More words than any phrase has are a list of words.
        if run.words.len() > LENGTHS[0] {
            return None;
        }
        let length =
            run.checked().or_else(|| LENGTHS.iter().copied().find(|length| *length <= run.words.len()));
        if let Some(length) = length {
            return Some(run.range(length));
        }
        from = run.end;
    }
    None
}

/// The phrases that stand alone, without a name.
pub(crate) fn find_bare(text: &str, mut add: impl FnMut(Range<usize>)) {
    // Every byte of a phrase is a lower-case letter or a blank. One so long holds a whole block that begins at a step,
    // wherever itself begins, and a block is compared at once.
    const BLOCK: usize = 16;
    const STEP: usize = SHORTEST - BLOCK + 1;
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
        if !block.iter().fold(true, |is_all, byte| is_all & is_plain(*byte)) {
            at += STEP;
            continue;
        }
        let start = at - bytes[..at].iter().rev().take_while(|byte| is_plain(**byte)).count();
        let end = at + bytes[at..].iter().take_while(|byte| is_plain(**byte)).count();
        if end - start >= SHORTEST {
            bare_within(text, start..end, &mut add);
        }
        at = end.next_multiple_of(STEP);
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte == b' ' || byte == b'\n'
}

/// The phrases among lower-case words.
fn bare_within(text: &str, range: Range<usize>, add: &mut impl FnMut(Range<usize>)) {
    let mut places: Vec<Range<usize>> = Vec::new();
    let mut at = range.start;
    // The lengths of the words rule out nearly all sentences, before any is looked up.
    for word in text.as_bytes()[range].split(|byte| !byte.is_ascii_lowercase()) {
        let place = at..at + word.len();
        at = place.end + 1;
        match word.len() {
            0 => {}
            3..=8 => places.push(place),
            _ => bare_among(text, &mut places, add),
        }
    }
    bare_among(text, &mut places, add);
}

/// The phrases among words as long as those of the list.
fn bare_among(text: &str, places: &mut Vec<Range<usize>>, add: &mut impl FnMut(Range<usize>)) {
    if places.len() >= 12 {
        let words = places.iter().map(|place| (place.clone(), number(&text[place.clone()])));
        let words: Vec<(Range<usize>, Option<u16>)> = words.collect();
        for run in words.split(|(_, number)| number.is_none()) {
            let run: Vec<_> =
                run.iter().filter_map(|(place, number)| Some((place.clone(), (*number)?))).collect();
            if LENGTHS.contains(&run.len()) && has_checksum(&run) {
                add(run[0].0.start..run[run.len() - 1].0.end);
            }
        }
    }
    places.clear();
}

fn number(word: &str) -> Option<u16> {
    (3..=8).contains(&word.len()).then(|| LIST.get(word).copied())?
}

/// Words of the list one behind the other, parted alike.
struct SeedRun {
    words: Vec<(Range<usize>, u16)>,
    /// The place where the search goes on.
    end: usize,
}

impl SeedRun {
    /// The run that begins with the first word at or behind `from`, perhaps empty; `None` if no word follows.
    fn read(text: &str, from: usize) -> Option<Self> {
        let mut run = Self { words: Vec::new(), end: from };
        let mut parted: Option<String> = None;
        while run.words.len() <= LENGTHS[0] {
            let rest = &text[run.end..];
            let Some(gap) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
                return (!run.words.is_empty()).then_some(run);
            };
            let start = run.end + gap;
            let length =
                text[start..].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len() - start);
            let word = start..start + length;
            let known = number(&text[word.clone()].to_lowercase());
            let signs = signs(&text[run.end..start]);
            let goes_on = match (&parted, run.words.len()) {
                (_, 0) => true,
                (None, _) => signs.len() <= 6,
                (Some(parted), _) => *parted == signs,
            };
            match known {
                Some(number) if goes_on => {
                    if !run.words.is_empty() {
                        parted = Some(signs);
                    }
                    run.words.push((word.clone(), number));
                    run.end = word.end;
                }
                // A word that begins another run is read again.
                Some(_) => return Some(run),
                None => {
                    run.end = word.end;
                    return Some(run);
                }
            }
        }
        Some(run)
    }

    /// The number of words that are a phrase with the right checksum.
    fn checked(&self) -> Option<usize> {
        LENGTHS.iter().copied().find(|length| self.words.get(..*length).is_some_and(has_checksum))
    }

    fn range(&self, length: usize) -> Range<usize> {
        self.words[0].0.start..self.words[length - 1].0.end
    }
}

/// The separator of two words without blanks and numbers: `,` or `","` or the full stop of `2.`.
fn signs(gap: &str) -> String {
    gap.chars().filter(|c| !c.is_whitespace() && !c.is_ascii_digit()).take(8).collect()
}

/// True if the last bits are the first of the hash of the others.
fn has_checksum(words: &[(Range<usize>, u16)]) -> bool {
    let mut bits = words.iter().flat_map(|(_, number)| (0..11).rev().map(move |bit| number >> bit & 1 == 1));
    let checksum = words.len() / 3;
    let mut take = |count: usize| bits.by_ref().take(count).fold(0u8, |byte, bit| byte << 1 | u8::from(bit));
    let entropy: Vec<u8> = (0..words.len() * 11 / 33 * 4).map(|_| take(8)).collect();
    let expected = Sha256::digest(&entropy)[0] >> (8 - checksum);
    take(checksum) == expected
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretKind, find_secrets};

    /// A phrase with the right checksum, made from entropy that nobody uses.
    fn phrase(words: usize, seed: u8) -> Vec<&'static str> {
        let list: Vec<&str> = include_str!("../data/bip39-english.txt").lines().collect();
        let entropy: Vec<u8> = (0..words * 4 / 3).map(|at| Sha256::digest([seed, at as u8])[0]).collect();
        let mut bytes = entropy.clone();
        bytes.push(Sha256::digest(&entropy)[0]);
        let bit = |at: usize| u16::from(bytes[at / 8] >> (7 - at % 8) & 1);
        (0..words)
            .map(|word| list[usize::from((0..11).fold(0, |number, at| number << 1 | bit(word * 11 + at)))])
            .collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> =
            find_secrets(text).into_iter().map(|found| (found.kind, &text[found.range])).collect();
        let expected: Vec<_> = expected.iter().map(|phrase| (SecretKind::SeedPhrase, *phrase)).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn the_list_is_whole() {
        assert_eq!(LIST.len(), 2048);
        assert_eq!((LIST["abandon"], LIST["zoo"]), (0, 2047));
    }

    #[test]
    fn phrases_with_a_checksum_need_no_name() {
        for words in [12, 15, 18, 21, 24] {
            let phrase = phrase(words, 7).join(" ");
            check(&phrase, &[&phrase]);
            check(&format!("I wrote this down:\n{phrase}\nAnd more."), &[&phrase]);
            check(&format!("{{\"content\":\"{phrase}\"}}"), &[&phrase]);
            let wrapped = phrase.replacen(' ', "\n", 6).replacen('\n', " ", 5);
            check(&format!("Words:\n{wrapped}\n"), &[&wrapped]);
        }
    }

    #[test]
    fn a_name_needs_no_checksum() {
        let mut words = phrase(12, 9);
        words.swap(0, 1);
        words.swap(2, 5);
        let plain = words.join(" ");
        for before in [
            "my seed phrase is ",
            "Recovery phrase: ",
            "mnemonic=\"",
            "MNEMONIC=",
            "Seed-Phrase: ",
            "la frase semilla es ",
            "phrase de récupération : ",
            "a frase de recuperação é ",
            "сид-фраза: ",
            "助记词：",
            "シードフレーズは",
            "시드 문구: ",
        ] {
            check(&format!("{before}{plain} , can you check it"), &[&plain]);
        }
        let commas = words.join(", ");
        check(&format!("seed words: {commas}."), &[&commas]);
        let quoted = words.join("\", \"");
        check(&format!("\"mnemonic\": [\"{quoted}\"]"), &[&quoted]);
        let numbered = words
            .iter()
            .enumerate()
            .map(|(at, word)| format!("{}. {word}", at + 1))
            .collect::<Vec<_>>()
            .join("\n");
        check(&format!("Recovery phrase\n{numbered}\n"), &[&numbered[3..]]);
        check(&format!("SEED PHRASE: {}", plain.to_uppercase()), &[&plain.to_uppercase()]);
    }

    #[test]
    fn sentences_and_lists_of_words() {
        let all = include_str!("../data/bip39-english.txt");
        check(all, &[]);
        check(&all.replace('\n', " "), &[]);
        let mut wrong = phrase(12, 3);
        wrong.swap(0, 1);
        check(&wrong.join(" "), &[]);
        check(&format!("{} zoo", phrase(12, 3).join(" ")), &[]);
        check("Write down your seed phrase and never share it with anyone you do not trust at all.", &[]);
        check("The mnemonic is a list of twelve words that you can write on paper and keep in a safe.", &[]);
        check(
            "table, chair, window, garden, kitchen, bottle, orange, pencil, monkey, rocket, guitar, doctor",
            &[],
        );
        check("seed phrase", &[]);
    }
}
