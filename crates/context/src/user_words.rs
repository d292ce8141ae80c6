//! Keeps what people typed, in their own words: the net under the pins, as rules seldom carry a cue word.

use longhaul_conversation::{Body, Message, Ordinal, Origin, TokenCount};
use serde::{Deserialize, Serialize};

use crate::Estimator;
use crate::sentences::{UnitKind, split_units};

/// What people typed, message by message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct UserWords {
    said: Vec<Said>,
}

/// What was typed in one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    pub(crate) at: Ordinal,
    pub(crate) text: String,
    /// Characters that were left out when a very long text was taken in.
    left_out: usize,
}

/// Words that are kept: a message whole, or the part of it that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptWords {
    pub(crate) at: Ordinal,
    pub(crate) lines: Vec<String>,
}

/// A text longer than this is folded when it is taken in: it was pasted for the most part.
const LONGEST: usize = 8_000;

impl UserWords {
    pub(crate) fn observe(&mut self, message: &Message, at: Ordinal) {
        let typed = message.parts.iter().filter(|part| part.origin == Origin::User);
        let texts: Vec<&str> = typed
            .filter_map(|part| match &part.body {
                Body::Text(text) => Some(text.trim()).filter(|text| !text.is_empty()),
                _ => None,
            })
            .collect();
        if !texts.is_empty() {
            self.add(at, texts.join("\n"));
        }
    }

    /// Takes in words that are known only from an earlier snapshot.
    pub(crate) fn add(&mut self, at: Ordinal, text: String) {
        let (text, left_out) = if text.len() > LONGEST {
            let kept = fold(&text, LONGEST / 2);
            let left_out = text.chars().count().saturating_sub(kept.chars().count());
            (kept, left_out)
        } else {
            (text, 0)
        };
        match self.said.iter_mut().find(|said| said.at == at) {
            Some(said) => {
                said.text.push('\n');
                said.text.push_str(&text);
            }
            None => self.said.push(Said { at, text, left_out }),
        }
    }

    /// The words of messages before `before` that fit in `room`: the newest, the first, then the rest, shortest first.
    pub(crate) fn choose(&self, before: Ordinal, room: TokenCount, estimator: &Estimator) -> Vec<KeptWords> {
        let said: Vec<&Said> = self.said.iter().filter(|said| said.at < before).collect();
        let mut order: Vec<&Said> = Vec::with_capacity(said.len());
        order.extend(said.last());
        order.extend(said.first().filter(|_| said.len() > 1));
        let mut rest: Vec<&Said> = said.get(1..said.len().saturating_sub(1)).unwrap_or_default().to_vec();
        rest.sort_by_key(|said| (said.text.len(), std::cmp::Reverse(said.at)));
        order.extend(rest);
        let mut left = room.0 as f64;
        let mut kept: Vec<KeptWords> = Vec::new();
        for (nth, said) in order.iter().enumerate() {
            let cost = estimator.text(&said.text).as_f64() + 4.0;
            if cost <= left {
                left -= cost;
                kept.push(said.whole());
            } else if nth < 2 || left > 60.0 {
                // What is too long to be kept whole is folded into what is left, but for a reserve for the others.
                let share = if nth == 0 && order.len() > 1 { left * 0.6 } else { left };
                if let Some(folded) = said.folded(share - 12.0, estimator) {
                    left -= estimator.text(&folded.lines.join("\n")).as_f64() + 12.0;
                    kept.push(folded);
                }
            }
        }
        kept.sort_by_key(|words| words.at);
        kept
    }
}

impl Said {
    fn whole(&self) -> KeptWords {
        let mut lines: Vec<String> = self.text.lines().map(str::to_string).collect();
        lines.extend(self.omission(self.left_out));
        KeptWords { at: self.at, lines }
    }

    fn folded(&self, room: f64, estimator: &Estimator) -> Option<KeptWords> {
        // Characters that certainly fit, whatever they are.
        let whole = estimator.text(&self.text).as_f64().max(1.0);
        let most = (self.text.len() as f64 * (room / whole)).floor();
        if most < 40.0 {
            return None;
        }
        let kept = fold(&self.text, most as usize);
        if kept.is_empty() {
            return None;
        }
        let left_out = self.text.chars().count().saturating_sub(kept.chars().count()) + self.left_out;
        let mut lines: Vec<String> = kept.lines().map(str::to_string).collect();
        lines.extend(self.omission(left_out));
        Some(KeptWords { at: self.at, lines })
    }

    fn omission(&self, characters: usize) -> Option<String> {
        (characters > 0).then(|| format!("… {characters} characters more, {}", self.at))
    }
}

/// The sentences and list items of a text that ask for something, then the others, as far as `most` bytes go, in order.
fn fold(text: &str, most: usize) -> String {
    let units = split_units(text);
    let rank = |place: usize| -> u8 {
        let unit = &units[place];
        match unit.kind {
            UnitKind::Code | UnitKind::Quote | UnitKind::Row => 3,
            _ if place == 0 || asks(unit.text) => 0,
            UnitKind::Item { .. } => 1,
            _ => 2,
        }
    };
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|place| (rank(*place), *place));
    let mut keep = vec![false; units.len()];
    let mut left = most;
    for place in order {
        let cost = units[place].text.len() + 1;
        if cost <= left {
            left -= cost;
            keep[place] = true;
        }
    }
    let kept = units.iter().zip(keep).filter(|(_, keep)| *keep).map(|(unit, _)| unit.text);
    kept.collect::<Vec<_>>().join("\n")
}

/// Words with which people ask for something.
const ASKING: &[&str] = &[
    "must",
    "should",
    "please",
    "don't",
    "do not",
    "never",
    "always",
    "need",
    "make sure",
    "ensure",
    "only",
    "use ",
    "add ",
    "fix ",
    "keep ",
    "avoid",
    "remove",
    "implement",
    "write",
    "run ",
    "create",
    "change",
    "update",
    "instead",
    "want",
    "不要",
    "必须",
    "请",
    "需要",
    "ください",
    "しない",
];

fn asks(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    ASKING.iter().any(|word| lower.contains(word)) || lower.trim_end().ends_with('?')
}
