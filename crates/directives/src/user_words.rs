//! Keeps what people typed, in their own words: the net under the rules, as rules seldom carry a cue word.

use std::cmp::Reverse;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use longhaul_conversation::{Estimator, Ordinal, Origin, TokenCount, grouped};
use longhaul_text::{Unit, UnitKind, count_plain_words, split_units};
use serde::{Deserialize, Serialize};

use crate::AnnotatedPart;

/// The words that people typed, message by message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserWords {
    /// In the order of the conversation, each message once.
    said: Vec<Said>,
}

/// The words that were typed in one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Said {
    /// The message that said them.
    pub at: Ordinal,
    pub text: String,
    /// Characters that were left out when a very long text was taken in.
    left_out: usize,
}

/// Words that are kept: a message whole, or the part of it that fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptWords {
    /// The message that said them.
    pub at: Ordinal,
    /// The words, line by line.
    pub lines: Vec<String>,
}

/// A text longer than this is folded when it is taken in: it was pasted for the most part.
const LONGEST: usize = 8_000;

/// The cost of naming a message and the user, in tokens.
const MARK: f64 = 4.0;
/// The newest message and the first one lead.
const LEADING: usize = 2;
/// The share of the room that a leading message may take whole.
const WHOLE: f64 = 0.45;
/// The share of the room that is left for each leading message that must be folded.
const RESERVE: f64 = 0.2;
/// The share of what is left in the end that the first folded message may take.
const FIRST_FOLD: f64 = 0.6;

impl UserWords {
    /// Takes in words that are known only from an earlier snapshot.
    pub fn add(&mut self, at: Ordinal, text: &str) {
        self.take_in(at, TypedWords::of_text(text));
    }

    /// Takes in what was typed in a message.
    pub fn take_in(&mut self, at: Ordinal, words: TypedWords) {
        let TypedWords { text, left_out } = words;
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
            }
            Err(place) => self.said.insert(place, Said { at, text, left_out }),
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

    /// The words of messages before `before` that fit in `room`.
    ///
    /// The newest and the first come before the rest, which are taken shortest first: rules are short. Those two are folded
    /// where they are too long, into what the others leave, and so is what does not fit whole.
    pub fn choose(&self, before: Ordinal, room: TokenCount, estimator: &Estimator) -> Vec<KeptWords> {
        // The keys stand together, so that ordering a long conversation does not look everywhere for them.
        let earlier = self.said.iter().filter(|said| said.at < before);
        let mut order: Vec<(usize, Reverse<Ordinal>, &Said)> =
            earlier.map(|said| (said.text.len(), Reverse(said.at), said)).collect();
        let Some(newest) = order.pop() else { return Vec::new() };
        let rest = usize::from(!order.is_empty());
        order[rest..].sort_unstable_by_key(|(length, at, _)| (*length, *at));
        order.insert(0, newest);

        let mut left = room.0 as f64;
        let mut kept: Vec<KeptWords> = Vec::new();
        let mut too_long: Vec<&Said> = Vec::new();
        for (nth, (length, _, said)) in order.into_iter().enumerate() {
            // While a leading message waits to be folded, the others leave it its reserve.
            let reserve = room.0 as f64 * RESERVE * too_long.len().min(LEADING) as f64;
            let most = if nth < LEADING { room.0 as f64 * WHOLE } else { left - reserve };
            let fits = |tokens: &f64| tokens + MARK <= most.min(left);
            // Most of a long conversation is too long by its length alone.
            let tokens = Some(estimator.at_least(length)).filter(fits);
            match tokens.map(|_| estimator.text(&said.text).as_f64()).filter(fits) {
                Some(tokens) => {
                    left -= tokens + MARK;
                    kept.push(said.whole());
                }
                None => too_long.push(said),
            }
        }
        for (nth, said) in too_long.iter().enumerate() {
            let share = if nth == 0 && too_long.len() > 1 { left * FIRST_FOLD } else { left };
            if left <= 3.0 * MARK {
                break;
            }
            let tokens = estimator.text(&said.text).as_f64();
            if let Some(folded) = said.folded(share - 3.0 * MARK, tokens) {
                left -= estimator.text(&folded.lines.join("\n")).as_f64() + 3.0 * MARK;
                kept.push(folded);
            }
        }
        kept.sort_by_key(|words| words.at);
        kept
    }
}

/// The words that a person typed in one message, as they are kept.
pub struct TypedWords {
    text: String,
    /// Characters that were left out of a very long text.
    left_out: usize,
}

impl TypedWords {
    /// The words that were typed in a message of these parts, if there are any.
    pub fn of(parts: &[AnnotatedPart<'_>]) -> Option<Self> {
        let typed = parts.iter().filter(|heard| heard.part.origin == Origin::User);
        let texts = typed.filter_map(|heard| Some((heard.part.as_text()?.trim(), heard.units.as_slice())));
        let texts: Vec<(&str, &[Unit<'_>])> = texts.filter(|(text, _)| !text.is_empty()).collect();
        let size = texts.iter().map(|(text, _)| text.len() + 1).sum::<usize>().checked_sub(1)?;
        if size <= LONGEST {
            let texts: Vec<&str> = texts.into_iter().map(|(text, _)| text).collect();
            return Some(Self { text: texts.join("\n"), left_out: 0 });
        }
        let size = texts.iter().map(|(text, _)| text.chars().count() + 1).sum::<usize>() - 1;
        Some(match texts.as_slice() {
            [(_, units)] => Self::of_paste(size, units),
            texts => {
                Self::of_paste(size, &texts.iter().flat_map(|(_, units)| *units).copied().collect::<Vec<_>>())
            }
        })
    }

    fn of_text(text: &str) -> Self {
        if text.len() <= LONGEST {
            return Self { text: text.to_string(), left_out: 0 };
        }
        Self::of_paste(text.chars().count(), &split_units(text))
    }

    /// The kept part of a text of so many characters that was pasted for the most part.
    fn of_paste(size: usize, units: &[Unit<'_>]) -> Self {
        let kept = fold_paste(units, LONGEST / 2);
        let left_out = size.saturating_sub(kept.chars().count());
        Self { text: kept, left_out }
    }
}

impl Said {
    fn whole(&self) -> KeptWords {
        let mut lines: Vec<String> = self.text.lines().map(str::to_string).collect();
        lines.extend(self.omission(self.left_out));
        KeptWords { at: self.at, lines }
    }

    /// The part of it that fits in `room`; whole it takes `tokens`.
    fn folded(&self, room: f64, tokens: f64) -> Option<KeptWords> {
        // Characters that certainly fit, whatever they are.
        let most = (self.text.len() as f64 * (room / tokens.max(1.0))).floor();
        if most < 40.0 {
            return None;
        }
        let kept = fold(&split_units(&self.text), most as usize);
        if kept.is_empty() {
            return None;
        }
        let left_out = self.text.chars().count().saturating_sub(kept.chars().count()) + self.left_out;
        let mut lines: Vec<String> = kept.lines().map(str::to_string).collect();
        lines.extend(self.omission(left_out));
        Some(KeptWords { at: self.at, lines })
    }

    fn omission(&self, characters: usize) -> Option<String> {
        (characters > 0).then(|| format!("… {} characters more, {}", grouped(characters), self.at))
    }
}

/// The bytes at each end of a long paste that are looked at: people comment on one before or behind it.
const PASTE_END: usize = 32_000;

/// Folds a text that was pasted for the most part, by its beginning and its end if it is very long.
fn fold_paste(units: &[Unit<'_>], most: usize) -> String {
    let head = count_within(units.iter(), PASTE_END);
    let tail = count_within(units[head..].iter().rev(), PASTE_END);
    if head + tail == units.len() {
        return fold(units, most);
    }
    let head = fold(&units[..head], most / 2);
    let tail = fold(&units[units.len() - tail..], most.saturating_sub(head.len() + 1));
    [head, tail].into_iter().filter(|end| !end.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The number of these units that have no more than `most` bytes together.
fn count_within<'u, 't: 'u>(units: impl Iterator<Item = &'u Unit<'t>>, most: usize) -> usize {
    let mut size = 0;
    let fits = |unit: &&Unit<'_>| {
        size += unit.text.len();
        size <= most
    };
    units.take_while(fits).count()
}

/// The sentences and list items of a text that ask for something, then the others, as far as `most` bytes go, in order.
///
/// Code and tables are left out: nobody is bound by their wording, and what they name is quoted where it is needed.
fn fold(units: &[Unit<'_>], most: usize) -> String {
    let rank = |place: usize| -> Option<u8> {
        let unit = &units[place];
        match unit.kind {
            _ if place == 0 => Some(0),
            UnitKind::Code | UnitKind::Row => None,
            _ if !is_language(unit.text) => None,
            UnitKind::Quote => Some(3),
            _ if count_plain_words(unit.text, 3) < 3 => Some(3),
            _ if asks_for_something(unit.text) => Some(0),
            UnitKind::Item { .. } => Some(1),
            _ => Some(2),
        }
    };
    let mut keep = vec![false; units.len()];
    let mut left = most;
    let mut later: Vec<(u8, usize)> = Vec::new();
    for place in 0..units.len() {
        let cost = units[place].text.len() + 1;
        // There is never more room than now, so what does not fit need not be looked at.
        if cost <= left
            && let Some(rank) = rank(place)
        {
            if rank == 0 {
                left -= cost;
                keep[place] = true;
            } else {
                later.push((rank, place));
            }
        }
    }
    later.sort_unstable();
    for (_, place) in later {
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
#[rustfmt::skip]
const ASKING: &[&str] = &[
    "must", "should", "please", "don't", "do not", "never", "always", "need", "make sure", "ensure", "only", "use ",
    "add ", "fix ", "keep ", "avoid", "remove", "implement", "write", "run ", "create", "change", "update", "instead",
    "want", "不要", "必须", "请", "需要", "ください", "しない",
];

/// Looks for all of [`ASKING`] at once, in small letters and capitals.
static ASKING_SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
    let mut search = AhoCorasick::builder();
    search.ascii_case_insensitive(true).kind(Some(AhoCorasickKind::DFA));
    search.build(ASKING).expect("a few short words can be looked for")
});

/// Returns true if a text is something said rather than code: letters for the most part, and no open end.
fn is_language(text: &str) -> bool {
    let (letters, all) = if text.is_ascii() {
        let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || *byte == b' ';
        (text.bytes().filter(is_letter).count(), text.len())
    } else {
        let is_letter = |sign: &char| sign.is_alphabetic() || *sign == ' ';
        (text.chars().filter(is_letter).count(), text.chars().count())
    };
    letters * 4 >= all * 3 && !text.trim_end().ends_with(['{', '}', ';', ','])
}

fn asks_for_something(sentence: &str) -> bool {
    ASKING_SEARCH.is_match(sentence) || sentence.trim_end().ends_with('?')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(texts: &[&str]) -> UserWords {
        let mut words = UserWords::default();
        texts.iter().zip(1..).for_each(|(text, at)| words.add(Ordinal(at), text));
        words
    }

    fn kept(words: &UserWords, room: u64) -> Vec<(u32, String)> {
        let chosen = words.choose(Ordinal(u32::MAX), TokenCount(room), &Estimator::default());
        chosen.into_iter().map(|words| (words.at.0, words.lines.join("\n"))).collect()
    }

    #[test]
    fn short_messages_stay_beside_long_ones() {
        let long = "Please look at this long text of mine again. ".repeat(100);
        let rules = ["We write dates with dashes.", "British spelling, as ever."];
        let words = words(&[&long, rules[0], rules[1], &long]);
        let kept = kept(&words, 300);
        assert_eq!(kept.len(), 4, "{kept:?}");
        assert_eq!((kept[1].1.as_str(), kept[2].1.as_str()), (rules[0], rules[1]));
        assert!(kept[0].1.contains("characters more, m1") && kept[3].1.contains("characters more, m4"));
    }

    #[test]
    fn what_fits_stays_whole_and_in_order() {
        let words = words(&["First one.", "Second one.", "Third one."]);
        let kept = kept(&words, 100);
        let texts: Vec<&str> = kept.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts, ["First one.", "Second one.", "Third one."]);
    }

    #[test]
    fn pasted_code_is_folded_before_what_was_asked() {
        let code = "const { x } = read(y);\n".repeat(200);
        let words = words(&[&format!("Move the button.\n{code}\nPlease keep the old name of it.")]);
        let kept = kept(&words, 60);
        assert!(
            kept[0].1.starts_with("Move the button.") && kept[0].1.contains("keep the old name"),
            "{kept:?}"
        );
        assert!(!kept[0].1.contains("const {"), "{kept:?}");
    }

    #[test]
    fn of_a_very_long_paste_both_ends_are_kept() {
        let words =
            words(&[&format!("Please read this.\n{}\nNow fix the parser.", "A line of it. ".repeat(9_000))]);
        let kept = kept(&words, 4_000);
        assert!(
            kept[0].1.starts_with("Please read this.") && kept[0].1.contains("Now fix the parser."),
            "{kept:?}"
        );
        assert!(words.said[0].text.len() <= LONGEST / 2, "{}", words.said[0].text.len());
    }

    #[test]
    fn asking_is_heard_in_small_letters_and_capitals() {
        for said in ["You MUST do it", "Never.", "Is it?", "请看", "We Need it"] {
            assert!(asks_for_something(said), "{said}");
        }
        assert!(!asks_for_something("It is fine."));
    }

    #[test]
    fn messages_stand_in_order_whenever_they_were_heard() {
        let mut words = words(&["one", "two"]);
        words.add(Ordinal(7), "seven");
        words.add(Ordinal(5), "five");
        words.add(Ordinal(7), "more");
        let said: Vec<_> = words.texts(Ordinal(9)).map(|(at, text)| (at.0, text)).collect();
        assert_eq!(said, [(1, "one"), (2, "two"), (5, "five"), (7, "seven\nmore")]);
    }

    #[test]
    fn code_is_told_from_language() {
        for said in ["Please keep the old name of it.", "请不要改这个文件的名字。", "It's done, isn't it?"]
        {
            assert!(is_language(said), "{said}");
        }
        for code in ["onChange={(e) => setQuery(e.target.value)}", "thread, title,", "] as const;", "{"] {
            assert!(!is_language(code), "{code}");
        }
    }

    proptest! {
        #[test]
        fn the_room_is_kept(texts in proptest::collection::vec("([a-z]{1,9}[ .\n]){1,200}", 0..12), room in 0u64..2_000) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let chosen = words(&texts).choose(Ordinal(u32::MAX), TokenCount(room), &Estimator::default());
            let used: f64 = chosen.iter().map(|words| Estimator::default().text(&words.lines.join("\n")).as_f64()).sum();
            prop_assert!(used <= room as f64 + 1e-6, "{used} of {room}");
            prop_assert!(chosen.is_sorted_by_key(|words| words.at));
        }
    }
}
