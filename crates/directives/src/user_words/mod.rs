//! Keeps what people typed, in their own words: the net under the rules, as rules seldom carry a cue word.

mod acknowledge;
mod paragraphs;
mod told;

use longhaul_conversation::{Estimator, Ordinal, Origin, TokenCount};
use longhaul_text::Unit;
use serde::{Deserialize, Serialize};

use self::acknowledge::is_acknowledgement;
use self::paragraphs::{Omission, Shortened, cut_long, shorten, without_note};
use self::told::Told;
use crate::AnnotatedPart;

/// The words that people typed, message by message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserWords {
    /// In the order of the conversation, each message once.
    said: Vec<SaidWords>,
}

/// The words that were typed in one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct SaidWords {
    /// The message that said them.
    at: Ordinal,
    text: String,
    /// Left out when a very long text was taken in.
    omitted: Omission,
}

/// Words that are kept: a message whole, or the part of it that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWords {
    /// The message that said them.
    pub at: Ordinal,
    /// The words, line by line.
    pub lines: Vec<String>,
}

/// The cost of naming a message, in tokens.
const MARK: f64 = 3.0;
/// The share of the room that the newest message may take.
const NEWEST: f64 = 0.45;
/// The share of the room that is kept for the first message, which mostly says what all is about.
const FIRST: f64 = 0.25;
/// The share of the room that any other message may take before the older ones had their turn.
const OTHERS: f64 = 0.15;

impl UserWords {
    /// Takes in words that are known only from an earlier snapshot.
    pub fn add(&mut self, at: Ordinal, text: &str) {
        let (text, before) = without_note(text);
        let mut words = TypedWords::of_text(&text);
        words.omitted.add(before);
        self.take_in(at, words);
    }

    /// Takes in what was typed in a message.
    pub fn take_in(&mut self, at: Ordinal, words: TypedWords) {
        let TypedWords { text, omitted } = words;
        // Messages nearly always come in their order.
        let place = if self.said.last().is_none_or(|last| last.at < at) {
            Err(self.said.len())
        } else {
            self.said.binary_search_by_key(&at, |said| said.at)
        };
        match place {
            Ok(place) => {
                let said = &mut self.said[place];
                said.text.push('\n');
                said.text.push_str(&text);
                said.omitted.add(omitted);
            }
            Err(place) => self.said.insert(place, SaidWords { at, text, omitted }),
        }
    }

    /// Returns true if nobody typed anything yet.
    pub fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// The words that were typed in each message before `before`.
    pub fn texts(&self, before: Ordinal) -> impl Iterator<Item = (Ordinal, &str)> {
        let earlier = self.said.iter().filter(move |said| said.at < before);
        earlier.map(|said| (said.at, said.text.as_str()))
    }

    /// The words of messages before `before` that fit in `room`, in the order of the conversation.
    ///
    /// Acknowledgements are left out, and sentences that stand in `told` or that a newer message repeats. The newest
    /// message is chosen first; a part of the room stays for the very first one. A message that is too long is shortened by
    /// whole paragraphs, and a note tells what was left out.
    pub fn choose(
        &self,
        before: Ordinal,
        room: TokenCount,
        told: &[String],
        estimator: &Estimator,
    ) -> Vec<KeptWords> {
        let room = room.0 as f64;
        let said = self.said.iter().filter(|said| said.at < before && !is_acknowledgement(&said.text));
        let newest_first: Vec<&SaidWords> = said.rev().collect();
        let mut told = Told::new(told);
        let mut left = room;
        let mut chosen: Vec<Chosen<'_>> = Vec::new();
        for (nth, said) in newest_first.iter().enumerate() {
            let is_first = nth + 1 == newest_first.len();
            let most = match nth {
                _ if is_first => left,
                0 => room * NEWEST,
                _ => (room * OTHERS).min(left - room * FIRST),
            };
            // Where even a short sentence has no room, only the first message may still have its own.
            if most < 2.0 * MARK {
                continue;
            }
            let units = told.untold_units(&said.text);
            let words = Chosen::new(said, units, most.min(left), estimator);
            told.add(&said.text);
            left -= words.cost;
            chosen.push(words);
        }
        // What the others left over goes to those that were shortened, the newest first.
        for words in chosen.iter_mut().filter(|words| words.is_shortened()) {
            let more =
                Chosen::new(words.said, std::mem::take(&mut words.units), words.cost + left, estimator);
            left += words.cost - more.cost;
            *words = more;
        }
        let mut kept: Vec<KeptWords> = chosen.into_iter().filter_map(Chosen::into_kept).collect();
        kept.reverse();
        kept
    }
}

/// A message of which something was chosen.
struct Chosen<'s> {
    said: &'s SaidWords,
    /// The units of it that nobody else says.
    units: Vec<Unit<'s>>,
    shortened: Shortened,
    /// Tokens, with the mark and the note; none if nothing was kept.
    cost: f64,
}

impl<'s> Chosen<'s> {
    fn new(said: &'s SaidWords, units: Vec<Unit<'s>>, room: f64, estimator: &Estimator) -> Self {
        let measure = |text: &str| estimator.text(text).as_f64() + 0.25;
        let shortened = shorten(&said.text, &units, said.omitted, room - MARK, &measure);
        let cost: f64 = shortened.lines.iter().map(|line| measure(line)).sum();
        let cost = if shortened.lines.is_empty() { 0.0 } else { cost + MARK };
        Self { said, units, shortened, cost }
    }

    fn is_shortened(&self) -> bool {
        self.shortened.is_shortened
    }

    fn into_kept(self) -> Option<KeptWords> {
        let Self { said, shortened, .. } = self;
        (!shortened.lines.is_empty()).then_some(KeptWords { at: said.at, lines: shortened.lines })
    }
}

/// The words that a person typed in one message, as they are kept.
pub struct TypedWords {
    text: String,
    /// Left out of a very long text.
    omitted: Omission,
}

impl TypedWords {
    /// The words that were typed in a message of these parts, if there are any.
    pub fn of(parts: &[AnnotatedPart<'_>]) -> Option<Self> {
        let typed = parts.iter().filter(|heard| heard.part.origin == Origin::User);
        let texts = typed.filter_map(|heard| heard.part.as_text()).map(str::trim);
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        match texts.as_slice() {
            [] => None,
            [text] => Some(Self::of_text(text)),
            texts => Some(Self::of_text(&texts.join("\n"))),
        }
    }

    fn of_text(text: &str) -> Self {
        let (text, omitted) = cut_long(text);
        Self { text, omitted }
    }
}

#[cfg(test)]
mod tests;
