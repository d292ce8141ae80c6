//! Tests of the choice of the user's words.

use proptest::prelude::*;

use super::*;

fn words(texts: &[&str]) -> UserWords {
    let mut words = UserWords::default();
    texts.iter().zip(1..).for_each(|(text, at)| words.add(Ordinal(at), text));
    words
}

fn kept_beside(words: &UserWords, room: u64, told: &[&str]) -> Vec<(u32, String)> {
    let told: Vec<String> = told.iter().map(|text| text.to_string()).collect();
    let chosen = words.choose(Ordinal(u32::MAX), TokenCount(room), &told, &Estimator::default());
    chosen.into_iter().map(|words| (words.at.0, words.lines.join("\n"))).collect()
}

fn kept(words: &UserWords, room: u64) -> Vec<(u32, String)> {
    kept_beside(words, room, &[])
}

#[test]
fn short_messages_stay_beside_long_ones() {
    let long = |word: &str| {
        (0..40).map(|nth| format!("Please look at {word} {nth} of mine again.\n\n")).collect::<String>()
    };
    let rules = ["We write dates with dashes.", "British spelling, as ever."];
    let words = words(&[&long("text"), rules[0], rules[1], &long("page")]);
    let kept = kept(&words, 300);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!((kept[1].1.as_str(), kept[2].1.as_str()), (rules[0], rules[1]));
    assert!(
        kept[0].1.contains("paragraphs left out") && kept[3].1.contains("paragraphs left out"),
        "{kept:?}"
    );
    for (_, text) in [&kept[0], &kept[3]] {
        assert!(text.lines().all(|line| line.ends_with("again.") || line.starts_with("… ")), "{text}");
    }
}

#[test]
fn what_fits_stays_whole_and_in_order() {
    let words = words(&["First one.", "Second one.\n\n```\nlet x = 1;\n```", "Third one."]);
    let texts: Vec<String> = kept(&words, 100).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["First one.", "Second one.\n```\nlet x = 1;\n```", "Third one."]);
}

#[test]
fn the_newest_are_chosen_first() {
    let texts: Vec<String> =
        (0..60).map(|nth| format!("The colour of box number {nth} is rather odd.")).collect();
    let words = words(&texts.iter().map(String::as_str).collect::<Vec<_>>());
    let kept: Vec<u32> = kept(&words, 150).into_iter().map(|(at, _)| at).collect();
    assert!(kept.is_sorted() && kept.len() > 4, "{kept:?}");
    assert_eq!((kept[0], kept.last()), (1, Some(&60)));
    // Behind the first one there is no gap.
    assert_eq!(kept[1..], (61 - (kept.len() as u32 - 1)..61).collect::<Vec<_>>());
}

#[test]
fn nothing_is_said_twice_and_nods_are_left_out() {
    let words = words(&[
        "Fix the upload of large files. Never push to main. It is slow.",
        "yes",
        "It is slow. Use a buffer.",
        "Wow, thanks!",
        "use a buffer!",
    ]);
    let kept = kept_beside(
        &words,
        400,
        &["Never push to main.", "Fix the upload of large files", "The goal is cut…"],
    );
    assert_eq!(kept, [(3, "It is slow.".to_string()), (5, "use a buffer!".to_string())]);
}

#[test]
fn lists_keep_their_markers_and_headings_their_text() {
    let text = "Do this:\n1. Rename the parser.\n2. Add a test.\n\n## Later\n\nWrite the docs. Ask me first.";
    assert_eq!(
        kept(&words(&[text]), 400),
        [(
            1,
            "Do this:\n1. Rename the parser.\n2. Add a test.\n## Later\nWrite the docs. Ask me first."
                .to_string()
        )]
    );
}

#[test]
fn pasted_code_is_left_out_before_what_was_asked() {
    let code: String = (0..200).map(|nth| format!("const {{ x{nth} }} = read(y);\n")).collect();
    let words = words(&[&format!("Move the button.\n\n{code}\n\nPlease keep the old name of it.")]);
    let kept = kept(&words, 60);
    assert!(
        kept[0].1.starts_with("Move the button.\nPlease keep the old name of it.\n… 1 paragraph left out"),
        "{kept:?}"
    );
}

#[test]
fn what_only_leads_to_something_goes_with_it() {
    let code: String = (0..200).map(|nth| format!("const {{ x{nth} }} = read(y);\n")).collect();
    let text =
        format!("The build breaks.\n\n**Example**\n\n```\n{code}```\n\n**Expected:**\n\nIt should build.");
    let kept = kept(&words(&[&text]), 80);
    assert!(kept[0].1.starts_with("The build breaks.\n**Expected:**\nIt should build.\n… 1 "), "{kept:?}");
}

#[test]
fn paths_of_screenshots_are_left_out() {
    let text = "'/var/folders/49/x/T/Screenshot 1.png'\n\nWhy do the colours differ?";
    assert_eq!(kept(&words(&[text]), 80), [(1, "Why do the colours differ?".to_string())]);
}

#[test]
fn of_one_long_paragraph_whole_sentences_stay() {
    let text: String = (0..200).map(|nth| format!("Sentence {nth} says a thing. ")).collect();
    let kept = kept(&words(&[&text]), 60);
    let lines: Vec<&str> = kept[0].1.lines().collect();
    assert_eq!(lines[0], "Sentence 0 says a thing.");
    assert!(lines[1..lines.len() - 1].iter().all(|line| line.ends_with("says a thing.")), "{kept:?}");
    assert!(lines.last().is_some_and(|note| note.contains("sentences left out")), "{kept:?}");
}

#[test]
fn of_a_very_long_paste_both_ends_are_kept() {
    let paste = "A line of it says nothing.\n\n".repeat(9_000);
    let words = words(&[&format!("Please read this.\n\n{paste}Now fix the parser.")]);
    let kept = kept(&words, 4_000);
    assert!(
        kept[0].1.starts_with("Please read this.") && kept[0].1.contains("Now fix the parser."),
        "{kept:?}"
    );
    assert!(
        kept[0].1.contains("left out") && words.said[0].text.len() <= 24_100,
        "{}",
        words.said[0].text.len()
    );
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
fn notes_add_up_over_chains() {
    let text: String = (0..60).map(|nth| format!("Please look at page {nth} of mine again.\n\n")).collect();
    let mut chained = text;
    for room in [300, 200, 120] {
        chained = kept(&words(&[&chained]), room)[0].1.clone();
    }
    assert_eq!(chained.matches("left out").count(), 1, "{chained}");
}

proptest! {
    #[test]
    fn the_room_is_kept(texts in proptest::collection::vec("([a-z]{1,9}( |\\. |\n|\n\n|```\n|- )){1,120}", 0..12), room in 0u64..2_000) {
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let chosen = words(&texts).choose(Ordinal(u32::MAX), TokenCount(room), &[], &Estimator::default());
        let used: f64 = chosen.iter().map(|words| Estimator::default().text(&words.lines.join("\n")).as_f64()).sum();
        prop_assert!(used <= room as f64 + 1e-6, "{used} of {room}");
        prop_assert!(chosen.is_sorted_by_key(|words| words.at));
    }
}
