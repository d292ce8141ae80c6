//! Words are found where they stand, and what is found without them is what they tell.

use proptest::prelude::*;

use super::*;

#[track_caller]
fn check(text: &str, words: &[&str], openers: &[&str], quoted: &[&str]) {
    let found = Words::of(text);
    assert_eq!(found.texts().collect::<Vec<_>>(), words, "{text}");
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
    let has = |word: &str| SET.has(word);
    assert!(has("one") && has("two") && !has("three"));
}

proptest! {
    #[test]
    fn a_print_tells_numbers(text in "([a-c]|[A-B]|[1-2]|[ \n'._-]|é){0,24}|[a-c 1' ]{0,24}") {
        let words = Words::of(&text);
        let numbers = words.texts().filter(|word| word.contains(['1', '2']));
        let expected = numbers.fold(0, |print, word| mix(print, hash_text(word)));
        prop_assert_eq!(print_numbers(&text), expected);
    }
}
