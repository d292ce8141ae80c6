//! Words are found where they stand, and what is found without them is what they tell.

use super::*;
use proptest::prelude::*;

#[track_caller]
fn check(text: &str, words: &[&str], openers: &[&str], quoted: &[&str]) {
    let found = Words::of(text);
    assert_eq!(found.iter().collect::<Vec<_>>(), words, "{text}");
    let opening: Vec<_> = found.openers().filter_map(|place| found.get(place)).collect();
    assert_eq!(opening, openers, "{text}");
    let in_quotes = found.all().iter().filter(|word| word.is_quoted()).map(|word| found.text(word));
    assert_eq!(in_quotes.collect::<Vec<_>>(), quoted, "{text}");
}

#[test]
fn words_and_where_they_stand() {
    check(
        "Please Fix it, then it's done.",
        &["please", "fix", "it", "then", "it's", "done"],
        &["fix", "it's"],
        &[],
    );
    check("Don’t do ‘that’", &["don't", "do", "that"], &["don't"], &[]);
    check(
        "fix `this one` or \"that\" - and \"so",
        &["fix", "this", "one", "or", "that", "and", "so"],
        &["fix"],
        &["this", "one", "that"],
    );
    check("Größe ändern，然后 push", &["größe", "ändern", "push"], &["größe", "push"], &[]);
    check("' 'a' b'c", &["a", "b'c"], &["a"], &[]);
    check("", &[], &[], &[]);
}

#[test]
fn kinds_of_words() {
    let words = Words::of("Run the tests, never push");
    assert_eq!(words.orders().collect::<Vec<_>>(), [0]);
    assert_eq!(words.all().iter().filter(|word| word.is_verb()).count(), 2);
    assert!(!words.has_wide() && Words::of("用 tabs").has_wide());
}

#[test]
fn sets_have_their_words() {
    static SET: WordSet = word_set!["one", "two", "two"];
    let has = |word: &str| SET.has(&Words::of(word).all()[0]);
    assert!(has("one") && has("Two") && !has("three"));
}

#[test]
fn a_cue_alone_says_nothing() {
    let may_report = |text: &str| may_say(text, Often::Completed);
    assert!(may_report("So I fixed it.") && may_report("I have FIXED it.") && may_report("It is done"));
    assert!(!may_report("So I think.") && !may_report("I") && !may_report("It has been so."));
}

/// Sentences of words that lists look for, of others, and of signs.
pub(crate) fn any_sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "I", "i've", "fixed", "Done", "now", "works", "all", "tests", "pass", "never", "push", "always",
        "use", "that", "you", "must", "please", "Can", "and", "no", "longer", "instead", "of", "without",
        "asking", "still", "stop", "it", "forget", "want", "is", "been", "updated", "the", "Parser",
        "module_7", "Größe", "’s", "用", "why", "ok",
    ]);
    let sign = prop::sample::select(vec![" ", " ", " ", ", ", ". ", ": ", " - ", "\"", "`", "'", "  "]);
    let end = prop::sample::select(vec!["", ".", "?", "!", ":", "\")", "？"]);
    (prop::collection::vec((word, sign), 0..14), end).prop_map(|(words, end)| {
        words.into_iter().flat_map(|(word, sign)| [word, sign]).chain([end]).collect::<String>()
    })
}

proptest! {
    #[test]
    fn what_fits_may_be_said(text in any_sentence()) {
        let words = Words::of(&text);
        for list in Often::ALL {
            let may_say = may_say(&text, list);
            prop_assert!(may_say || !list.phrases().fit(&words));
            prop_assert!(!may_say || !text.is_ascii() || words.may_have(list));
        }
    }

    #[test]
    fn few_words_are_counted(text in any_sentence(), than in 0usize..6) {
        prop_assert_eq!(has_fewer_words(&text, than), Words::of(&text).len() < than);
    }

    #[test]
    fn an_opening_is_the_beginning_of_all_words(text in any_sentence()) {
        let (some, all) = (Words::of_opening(&text), Words::of(&text));
        let first = all.openers().next();
        prop_assert_eq!(some.openers().next(), first);
        prop_assert!(first.is_none_or(|first| some.len() >= all.len().min(first + 2)));
        let shown = |words: &Words<'_>| words.all().iter().map(|word| (word.hash, word.flags)).collect::<Vec<_>>();
        prop_assert!(shown(&all).starts_with(&shown(&some)));
    }

    #[test]
    fn a_print_tells_numbers(text in "([a-c]|[A-B]|[1-2]|[ \n'._-]|é){0,24}|[a-c 1' ]{0,24}") {
        let words = Words::of(&text);
        let numbers = words.all().iter().filter(|word| words.text(word).contains(['1', '2']));
        let expected = numbers.fold(0, |print, word| mix(print, word.hash));
        prop_assert_eq!(print_numbers(&text), expected);
    }

    #[test]
    fn ascii_is_read_as_any_text_is(text in "([a-c]|[A-C]|[1-2]|[ '`\",.;:!?(\\-_])*|but and fix") {
        let fast = Words::of(&text);
        let mut slow = Words { words: Vec::new(), lower: OnceCell::new(), ..fast.clone() };
        slow.find_in_any();
        prop_assert_eq!(fast.iter().collect::<Vec<_>>(), slow.iter().collect::<Vec<_>>());
        let flags = |words: &Words<'_>| words.all().iter().map(|word| word.flags).collect::<Vec<_>>();
        prop_assert_eq!(flags(&fast), flags(&slow));
    }
}
