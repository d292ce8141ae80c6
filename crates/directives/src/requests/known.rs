//! The features that requests are compared by, computed only for those that may be the same.

use std::collections::VecDeque;

use longhaul_text::{Subject, Words, print_numbers};

use super::UserRequest;
use super::wishes::asks_question;
use crate::rules::normalise;

/// Only this many of the newest requests are compared with a new one: a message costs the same late in a session.
const COMPARED: usize = 32;

/// The subjects of the newest requests, which new ones are compared with.
#[derive(Clone, Debug, Default)]
pub(super) struct Compared {
    /// The newest requests, in order.
    known: VecDeque<Known>,
    /// The number of requests when the last of these came.
    through: usize,
}

impl Compared {
    /// Makes up for requests that it has not seen, as after reading them from a file.
    pub(super) fn catch_up(&mut self, requests: &[UserRequest]) {
        if self.through != requests.len() {
            let from = requests.len().saturating_sub(COMPARED);
            self.known = requests[from..].iter().map(|request| Known::of(&request.text)).collect();
            self.through = requests.len();
        }
    }

    /// The request at `place`, if it is one of the newest.
    pub(super) fn known(&mut self, place: usize) -> Option<&mut Known> {
        let place = (place + self.known.len()).checked_sub(self.through)?;
        self.known.get_mut(place)
    }

    pub(super) fn newest(&mut self) -> impl Iterator<Item = &mut Known> {
        self.known.iter_mut()
    }

    /// The number of the newest requests that it knows.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Forgets the request at `place`, which is taken out.
    pub(super) fn take_out(&mut self, place: usize) {
        if let Some(place) = (place + self.known.len()).checked_sub(self.through) {
            self.known.remove(place);
        }
        self.through -= 1;
    }

    pub(super) fn add(&mut self, known: Known) {
        self.known.push_back(known);
        self.through += 1;
        if self.known.len() > COMPARED {
            self.known.pop_front();
        }
    }
}

impl PartialEq for Compared {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Compared {}

/// A request as others are compared with it. Its text is passed in again and must be the one it was made of.
#[derive(Clone, Debug)]
pub(super) struct Known {
    /// The same for all texts that are equal when they are normalised: the weight of all letters.
    weight: u64,
    /// Tells the words with digits: "part 1" and "part 2" are two things, however alike.
    numbers: u64,
    /// Its subject, made when it is first needed.
    subject: Option<Subject>,
    /// True if it is a question, once somebody asked.
    is_question: Option<bool>,
}

impl Known {
    pub(super) fn of(text: &str) -> Self {
        // Normalising takes nothing from ASCII that weighs anything; from other texts it may.
        let weight = if text.is_ascii() { weigh(text) } else { weigh(&normalise(text)) };
        Self { weight, numbers: print_numbers(text), subject: None, is_question: None }
    }

    /// Returns true if two texts are equal but for case, white space and punctuation.
    pub(super) fn is_equal(&self, text: &str, other: &Self, other_text: &str) -> bool {
        self.weight == other.weight && normalise(text) == normalise(other_text)
    }

    /// Returns true if two texts ask for nearly the same, of the same things.
    pub(super) fn restates(&mut self, text: &str, other: &mut Self, other_text: &str) -> bool {
        self.numbers == other.numbers && self.subject(text).restates(other.subject(other_text))
    }

    /// Returns true if two texts are about the same.
    pub(super) fn is_about(&mut self, text: &str, other: &mut Self, other_text: &str) -> bool {
        self.subject(text).is_same(other.subject(other_text))
    }

    fn subject(&mut self, text: &str) -> &Subject {
        self.subject.get_or_insert_with(|| Subject::of_words(text, &Words::of(text)))
    }

    pub(super) fn is_question(&mut self, text: &str) -> bool {
        *self.is_question.get_or_insert_with(|| asks_question(text))
    }
}

/// The weight of each byte: letters in both cases alike, signs and spaces of ASCII nothing.
static WEIGHTS: [u32; 256] = {
    let mut weights = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let letter = (byte as u8).to_ascii_lowercase();
        if letter.is_ascii_alphanumeric() || !letter.is_ascii() {
            weights[byte] = (letter as u32 + 1).wrapping_mul(0x9e37_79b9);
        }
        byte += 1;
    }
    weights
};

/// The weight of all letters of a text together, in whichever order.
fn weigh(text: &str) -> u64 {
    text.bytes().map(|byte| u64::from(WEIGHTS[usize::from(byte)])).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_equal_but_for_its_looks_is_equal() {
        let check = |one: &str, other: &str, expected: bool| {
            let (first, second) = (Known::of(one), Known::of(other));
            assert_eq!(first.is_equal(one, &second, other), expected, "{one} / {other}");
        };
        check("Fix it, please!", "fix  it\nplease", true);
        check("Fix a.rs", "fix a rs", false);
        check("Größe ändern", "größe ÄNDERN!", true);
        // The sign of the unit Kelvin becomes a letter of ASCII.
        check("300 \u{212a}", "300 k", true);
        check("İ", "i\u{307}", true);
    }

    proptest! {
        #[test]
        fn texts_that_are_equal_have_equal_prints(
            one in "([ab]|[AB]|1|[ \n'_*\".,!-]|é|É|İ|\u{212a}|「){0,8}",
            other in "([ab]|[AB]|1|[ \n'_*\".,!-]|é|É|İ|\u{212a}|「){0,8}",
        ) {
            for (one, other) in [(&one, &other), (&one, &one.to_uppercase()), (&one, &normalise(&one))] {
                let is_equal = normalise(one) == normalise(other);
                prop_assert_eq!(Known::of(one).is_equal(one, &Known::of(other), other), is_equal);
            }
        }
    }
}
