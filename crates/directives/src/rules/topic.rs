//! What a rule is about, word by word: what it wants, what it rejects, and with which values.

use std::collections::HashMap;
use std::sync::LazyLock;

use longhaul_text::{WordSet, Words, hash_text};

use super::cues::{has_pieces, is_hangul};
use crate::languages::{substrings, words};

/// The content words of a rule or of a sentence about one, by clauses.
#[derive(Clone, Debug, Default)]
pub(super) struct Topic {
    clauses: Vec<Clause>,
    /// The first content word.
    head: Option<u64>,
    /// Words of which others of the same group say the opposite: languages, tabs and spaces.
    values: Vec<(usize, u64)>,
    /// Numbers with what they count.
    numbers: Vec<(u64, u64)>,
}

/// The content words of a clause.
#[derive(Clone, Debug, Default)]
struct Clause {
    wanted: Vec<u64>,
    rejected: Vec<u64>,
}

static EMPTY: WordSet = WordSet::new(|| words("empty-words").chain(substrings("empty-words")).collect());
static NEGATIONS: WordSet = WordSet::new(|| words("negations").collect());
static WIDE_NEGATIONS: LazyLock<Vec<&str>> = LazyLock::new(|| substrings("negations"));

/// The group of each value.
static VALUES: LazyLock<HashMap<&'static str, usize>> = LazyLock::new(|| {
    let groups = words("values").chain(substrings("values")).enumerate();
    groups.flat_map(|(group, values)| values.split('|').map(move |value| (value, group))).collect()
});
static WIDE_VALUES: LazyLock<Vec<&str>> =
    LazyLock::new(|| substrings("values").into_iter().flat_map(|group| group.split('|')).collect());

/// Words behind which one is rejected, if the second follows the first: "instead of", "au lieu de".
const INSTEAD: &[(&str, &str)] = &[
    ("instead", "of"),
    ("rather", "than"),
    ("lugar", "de"),
    ("vez", "de"),
    ("lieu", "de"),
    ("lieu", "d"),
    ("invés", "de"),
];

/// Words before which one is rejected.
const INSTEAD_BEFORE: &[&str] = &["대신", "말고"];

/// Han that carry grammar rather than content.
const EMPTY_HAN: &str = "的了在是我你他她它们这那请用不要再都也就和与或把被会能可以时每次后前必须应该现所有没很还先吗呢吧为对从到给让做使里放写一律统只";

impl Topic {
    pub(super) fn of(text: &str) -> Self {
        let mut topic = Self::default();
        if text.contains(|c| !char::is_ascii(&c)) && has_pieces(text, &Words::of(text)) {
            for clause in text.split(['，', ',', '。', '；', ';', '、', '：', ':', '！']) {
                topic.add_pieces(clause);
            }
        } else {
            topic.add_words(&Words::of(text), false);
        }
        topic.clauses.retain(|clause| !clause.wanted.is_empty() || !clause.rejected.is_empty());
        for clause in &mut topic.clauses {
            for set in [&mut clause.wanted, &mut clause.rejected] {
                set.sort_unstable();
                set.dedup();
            }
        }
        topic
    }

    /// Adds the words of a text; all are rejected if it `denies`.
    fn add_words(&mut self, words: &Words, denies: bool) {
        let openers: Vec<usize> = words.openers().collect();
        let mut openers = openers.into_iter().peekable();
        let mut rejects = denies;
        let mut number = None;
        self.clauses.push(Clause::default());
        for (place, word) in words.texts().enumerate() {
            if openers.next_if_eq(&place).is_some() && place > 0 {
                rejects = denies;
                self.clauses.push(Clause::default());
            }
            let before = place.checked_sub(1).and_then(|before| words.get(before));
            if NEGATIONS.has(word) || before.is_some_and(|before| INSTEAD.contains(&(before, word))) {
                rejects = true;
                continue;
            }
            let word = ["d'", "l'", "n'", "s'", "j'", "c'", "m'", "qu'"]
                .iter()
                .find_map(|elided| word.strip_prefix(elided))
                .unwrap_or(word);
            if INSTEAD_BEFORE.contains(&word) {
                self.reject_last();
                continue;
            }
            if word.bytes().all(|byte| byte.is_ascii_digit()) {
                number = Some(hash_text(word));
                continue;
            }
            let counted = number.take();
            if word.chars().nth(1).is_none() || EMPTY.has(word) {
                continue;
            }
            let stem = stem(word);
            // What is forbidden of one number may be forbidden of another, too.
            if let Some(number) = counted.filter(|_| !rejects) {
                self.numbers.push((stem, number));
            }
            self.push(stem, rejects);
            if !rejects && let Some(group) = VALUES.get(word) {
                self.values.push((*group, stem));
            }
        }
    }

    fn push(&mut self, stem: u64, rejects: bool) {
        self.head.get_or_insert(stem);
        let Some(clause) = self.clauses.last_mut() else { return };
        if rejects { clause.rejected.push(stem) } else { clause.wanted.push(stem) }
    }

    /// Rejects the word that was added last.
    fn reject_last(&mut self) {
        let Some(clause) = self.clauses.last_mut() else { return };
        if let Some(stem) = clause.wanted.pop() {
            clause.rejected.push(stem);
            self.values.retain(|(_, value)| *value != stem);
        }
    }

    /// Adds a clause of a text without spaces between words, or with endings on them.
    fn add_pieces(&mut self, clause: &str) {
        let denies = WIDE_NEGATIONS.iter().any(|negation| clause.contains(negation))
            && !INSTEAD_BEFORE.iter().any(|word| clause.contains(word));
        self.clauses.push(Clause::default());
        for value in WIDE_VALUES.iter().filter(|value| !denies && clause.contains(*value)) {
            self.values.push((VALUES[*value], hash_text(value)));
        }
        let mut katakana = String::new();
        let mut last: Option<char> = None;
        for c in clause.chars().chain(std::iter::once(' ')) {
            if matches!(c, '\u{30a1}'..='\u{30ff}') {
                katakana.push(c);
            } else {
                if katakana.chars().nth(1).is_some() {
                    self.push(hash_text(&katakana), denies);
                }
                katakana.clear();
            }
            let is_han = matches!(c, '\u{3400}'..='\u{9fff}') && !EMPTY_HAN.contains(c);
            if is_han && let Some(before) = last {
                self.push(hash_text(&String::from_iter([before, c])), denies);
            }
            last = is_han.then_some(c);
        }
        self.add_words(&Words::of(clause), denies);
    }

    /// All content words.
    pub(super) fn stems(&self) -> impl Iterator<Item = u64> {
        self.clauses.iter().flat_map(|clause| clause.wanted.iter().chain(&clause.rejected)).copied()
    }

    fn has(&self, stem: u64) -> bool {
        self.stems().any(|own| own == stem)
    }

    fn wanted(&self) -> impl Iterator<Item = u64> {
        self.clauses.iter().flat_map(|clause| &clause.wanted).copied()
    }

    fn wants(&self, stem: u64) -> bool {
        self.clauses.iter().any(|clause| clause.wanted.contains(&stem))
    }

    /// The number of content words that two share.
    pub(super) fn count_shared(&self, other: &Self) -> usize {
        self.distinct().filter(|stem| other.has(*stem)).count()
    }

    fn distinct(&self) -> impl Iterator<Item = u64> {
        let mut all: Vec<u64> = self.stems().collect();
        all.sort_unstable();
        all.dedup();
        all.into_iter()
    }

    fn len(&self) -> usize {
        self.distinct().count()
    }

    /// Returns true if half of the words of a clause of this rule stand in the other text.
    pub(super) fn is_named_by(&self, other: &Self) -> bool {
        self.clauses.iter().any(|clause| {
            let all = clause.wanted.iter().chain(&clause.rejected);
            let shared = all.clone().filter(|stem| other.has(**stem)).count();
            shared > 0 && shared * 2 >= all.count()
        })
    }

    /// Returns true if the other rule, a newer one, says of this rule's subject that it is otherwise now.
    pub(super) fn has_same_subject(&self, newer: &Self) -> bool {
        let shared = self.count_shared(newer);
        shared >= 2 && shared * 3 >= self.len() || self.head.is_some_and(|head| newer.has(head))
    }

    /// Returns true if both say the same: nothing that the newer says is new.
    pub(super) fn is_restated_by(&self, newer: &Self) -> bool {
        newer.distinct().all(|stem| self.has(stem))
    }

    /// Returns true if the two may exclude each other, but need not: one word stands in the place of another, or one rejects what the
    /// other wants.
    pub(super) fn may_be_contradicted_by(&self, newer: &Self) -> bool {
        let shared = self.count_shared(newer);
        let has_other_word = self.len() == shared + 1 && newer.len() == shared + 1;
        let is_rejected = |one: &Self, other: &Self| {
            one.clauses.iter().flat_map(|clause| &clause.rejected).any(|stem| other.wants(*stem))
        };
        shared >= 2 && (has_other_word || is_rejected(self, newer) || is_rejected(newer, self))
    }

    /// Returns true if both cannot hold: as [`Self::is_corrected_by`], or the newer wants what this one rejects.
    pub(super) fn is_contradicted_by(&self, newer: &Self) -> bool {
        let wants_rejected = self.clauses.iter().any(|clause| {
            !clause.rejected.is_empty()
                && clause.rejected.iter().all(|stem| newer.wants(*stem))
                && newer.len() <= 2 * clause.rejected.len() + 1
        });
        wants_rejected || self.is_corrected_by(newer)
    }

    /// Returns true if a newer sentence rejects what this rule wants, or puts another value or number in its place.
    pub(super) fn is_corrected_by(&self, newer: &Self) -> bool {
        let shared = self.count_shared(newer);
        let rejects_ours = newer.clauses.iter().any(|clause| {
            !clause.rejected.is_empty()
                && clause.rejected.iter().all(|stem| self.wants(*stem))
                && shared * 2 >= self.wanted().count()
        });
        rejects_ours || self.has_other_value(newer)
    }

    /// Returns true if a value or number of the same thing is another one.
    fn has_other_value(&self, newer: &Self) -> bool {
        let shares_besides = |one: u64, other: u64| {
            self.distinct().any(|stem| stem != one && stem != other && newer.has(stem))
        };
        let other_value = self.values.iter().any(|(group, value)| {
            newer.values.iter().any(|(theirs, other)| {
                theirs == group
                    && other != value
                    && !newer.wants(*value)
                    && !self.wants(*other)
                    && shares_besides(*value, *other)
            })
        });
        let other_number = self.numbers.iter().any(|(unit, number)| {
            let theirs = || newer.numbers.iter().filter(|(counted, _)| counted == unit);
            theirs().next().is_some()
                && theirs().all(|(_, other)| other != number)
                && shares_besides(*unit, *unit)
        });
        other_value || other_number
    }
}

/// Endings that are taken off words in Latin script, the longest first.
const ENDINGS: &[&str] = &["ing", "ed", "es", "en", "em", "er", "os", "as", "s", "e", "o", "a"];

/// Endings that are taken off Russian words, the longest first.
#[rustfmt::skip]
const CYRILLIC_ENDINGS: &[&str] = &[
    "иями", "ями", "ами", "ией", "иях", "ого", "его", "ому", "ему", "ыми", "ими", "ать", "ять", "ить", "ешь", "ишь", "аем", "яем", "ием",
    "ов", "ев", "ей", "ой", "ый", "ий", "ая", "яя", "ое", "ее", "ые", "ие", "ую", "юю", "ам", "ям", "ах", "ях", "ом", "ем", "ых", "их",
    "ия", "ии", "ью", "ть", "ай", "а", "я", "о", "е", "ё", "ы", "и", "у", "ю", "ь", "й",
];

/// The fewest letters of a stem.
const SHORTEST_STEM: usize = 3;

/// The letters of a Russian stem: prefixes and suffixes of aspect stand behind them.
const CYRILLIC_STEM: usize = 7;

/// A number for a word without its endings.
fn stem(word: &str) -> u64 {
    if word.chars().any(is_hangul) {
        // Particles follow a noun without a space.
        let end = word.char_indices().nth(2).map_or(word.len(), |(at, _)| at);
        return hash_text(&word[..end]);
    }
    let is_cyrillic = word.chars().next().is_some_and(|c| matches!(c, '\u{400}'..='\u{4ff}'));
    let mut stem = word;
    if is_cyrillic {
        let cut =
            |ending: &&str| stem.strip_suffix(*ending).filter(|rest| rest.chars().count() >= SHORTEST_STEM);
        stem = CYRILLIC_ENDINGS.iter().find_map(cut).unwrap_or(stem);
        let end = stem.char_indices().nth(CYRILLIC_STEM).map_or(stem.len(), |(at, _)| at);
        return hash_text(&stem[..end]);
    }
    for _ in 0..2 {
        let cut = |ending: &&str| stem.strip_suffix(*ending).filter(|rest| rest.len() >= SHORTEST_STEM);
        match ENDINGS.iter().find_map(cut) {
            Some(rest) => stem = rest,
            None => break,
        }
    }
    let mut letters = stem.chars().rev();
    if let (Some(last), Some(before)) = (letters.next(), letters.next())
        && last == before
        && last.is_ascii()
        && stem.len() > SHORTEST_STEM
    {
        stem = &stem[..stem.len() - 1];
    }
    hash_text(stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_contradiction(old: &str, new: &str, expected: bool) {
        assert_eq!(Topic::of(old).is_contradicted_by(&Topic::of(new)), expected, "{old} / {new}");
    }

    #[test]
    fn contradictions() {
        check_contradiction("Install things with npm, not yarn.", "pnpm instead of npm.", true);
        check_contradiction("Indent with tabs please.", "Actually, spaces, not tabs.", true);
        check_contradiction("Never use emojis.", "Use emojis in titles.", true);
        check_contradiction("Keep every function under 30 lines.", "Functions may have 60 lines.", true);
        check_contradiction("Comments are in English.", "Comments are in German.", true);
        check_contradiction(
            "接口文档用 Swagger 注解写。",
            "接口文档写在 Apifox 里，不再用 Swagger 注解。",
            true,
        );
        check_contradiction(
            "상태 관리는 Redux 로 통일합니다.",
            "상태 관리는 Redux 대신 Zustand 로 합니다.",
            true,
        );
    }

    #[test]
    fn rules_beside_each_other() {
        check_contradiction("Never log the request body.", "Log the request id of every call.", false);
        check_contradiction("Commit messages are in English.", "Don't commit.", false);
        check_contradiction("Commit messages are in English.", "The UI is in German.", false);
        check_contradiction("Never push to main.", "Never push to develop.", false);
        check_contradiction("Use tabs.", "Use tabs, not spaces.", false);
        check_contradiction(
            "Never touch the folder old_1 here.",
            "Never touch the folder old_2 here.",
            false,
        );
    }

    #[test]
    fn words_are_known_by_their_stems() {
        for words in [
            &["commit", "commits", "committed", "committing"][..],
            &["kommentar", "kommentare", "kommentaren"],
            &["библиотека", "библиотеки", "библиотек"],
            &["주석은", "주석을", "주석"],
            &["variable", "variables"],
        ] {
            let stems: Vec<u64> = words.iter().map(|word| stem(word)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]), "{words:?}");
        }
        assert_ne!(stem("commit"), stem("comment"));
    }
}
