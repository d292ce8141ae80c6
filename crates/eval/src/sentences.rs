//! Sentences that a person typed, and the rules among them.

use crate::index::is_unspaced;
use crate::text::collapse;

/// A sentence of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The text, with white space collapsed.
    pub(crate) text: String,
    /// True if it is a rule about how to work.
    pub(crate) is_rule: bool,
}

/// The longest sentence; anything longer is data.
const LONGEST: usize = 600;

/// The longest typed text; anything longer was pasted, and its wording binds no one.
const LONGEST_TYPED: usize = 8_000;

/// The sentences in a typed text. Code and other material is skipped: its wording binds no one.
pub(crate) fn sentences(text: &str) -> Vec<Sentence> {
    if text.len() > LONGEST_TYPED {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut fenced = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            let line = without_list_mark(line);
            found.extend(split_sentences(line).map(collapse).filter(|text| is_sentence(text)));
        }
    }
    found.into_iter().map(|text| Sentence { is_rule: is_rule(&text), text }).collect()
}

fn without_list_mark(line: &str) -> &str {
    let line = line.trim_start_matches(['>', '#', ' ']);
    let unnumbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    if unnumbered.len() < line.len()
        && let Some(item) = unnumbered.strip_prefix(". ").or_else(|| unnumbered.strip_prefix(") "))
    {
        return item.trim_start();
    }
    ["- ", "* ", "+ ", "• "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line).trim_start()
}

/// Splits after full stops; a Latin one only before a space, as it also occurs inside names.
fn split_sentences(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = rest.char_indices().find_map(|(place, c)| {
            let behind = &rest[place + c.len_utf8()..];
            let ends = match c {
                '。' | '！' | '？' => true,
                '.' | '!' | '?' => behind.starts_with(' ') && !is_abbreviation(&rest[..place]),
                _ => false,
            };
            ends.then_some(place + c.len_utf8())
        });
        let (sentence, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind.trim_start();
        Some(sentence)
    })
}

fn is_abbreviation(before: &str) -> bool {
    ["e.g", "i.e", "etc", "vs", "cf"].iter().any(|short| before.ends_with(short))
}

/// True if a line reads as language: enough words, and hardly anything but letters.
fn is_sentence(text: &str) -> bool {
    let unspaced = text.chars().filter(|c| is_unspaced(*c)).count();
    let words = text.split(' ').filter(|word| word.chars().filter(|c| c.is_alphabetic()).count() > 1).count();
    let letters = text.chars().filter(|c| c.is_alphabetic() || *c == ' ').count();
    let starts = text.starts_with(|c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '`' | '“' | '@'));
    starts
        && text.len() <= LONGEST
        && (words >= 4 || unspaced >= 6)
        && letters * 100 >= text.chars().count() * 80
        && !text.ends_with(['{', '}', ';', ','])
}

fn is_rule(text: &str) -> bool {
    const WORDS: [&str; 16] = [
        "never",
        "always",
        "must",
        "don't",
        "dont",
        "don’t",
        "avoid",
        "prefer",
        "only",
        "ensure",
        "shouldn't",
        "forbidden",
        "mustn't",
        "required",
        "without",
        "cannot",
    ];
    const PHRASES: [&str; 18] = [
        "do not",
        "make sure",
        "should not",
        "from now on",
        "no longer",
        "instead of",
        "rather than",
        "必须",
        "不要",
        "禁止",
        "务必",
        "一定要",
        "请勿",
        "不能",
        "ないで",
        "必ず",
        "てください",
        "禁じ",
    ];
    if text.ends_with(['?', '？']) {
        return false;
    }
    let lower = text.to_lowercase();
    let mut words = lower.split(|c: char| !(c.is_alphanumeric() || matches!(c, '\'' | '’')));
    words.any(|word| WORDS.contains(&word)) || PHRASES.iter().any(|phrase| lower.contains(phrase))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let found: Vec<String> = sentences(text).into_iter().map(|sentence| sentence.text).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sentences_and_list_items_are_found() {
        check(
            "Fix the login page. Then run   the tests!\nThanks",
            &["Fix the login page.", "Then run the tests!"],
        );
        check(
            "1. Use the new parser\n- keep src/a.rs as it is\n> quoted words stay too",
            &["Use the new parser", "keep src/a.rs as it is", "quoted words stay too"],
        );
        check("Use small files, e.g. one per type.", &["Use small files, e.g. one per type."]);
        check(
            "请修改这个文件的名字。然后运行所有测试！好",
            &["请修改这个文件的名字。", "然后运行所有测试！"],
        );
    }

    #[test]
    fn code_and_data_are_no_sentences() {
        check("```\nThis is inside a fence here\n```", &[]);
        check("let x = foo(bar, baz, qux);\n{\"a\": 1, \"b\": 2}\nif (a && b) {", &[]);
        check("2024-01-01 12:00:00 INFO [main] started 1 2 3", &[]);
        check("ok\nyes please\n", &[]);
        check(&"A pasted page has many such lines.\n".repeat(300), &[]);
    }

    #[track_caller]
    fn check_rule(text: &str, expected: bool) {
        assert_eq!(
            sentences(text).iter().map(|sentence| sentence.is_rule).collect::<Vec<_>>(),
            [expected],
            "{text}"
        );
    }

    #[test]
    fn rules_lay_down_how_to_work() {
        check_rule("Never touch the vendor folder.", true);
        check_rule("Please don't add new dependencies", true);
        check_rule("不要修改公共接口的名字。", true);
        check_rule("Why must it be so slow?", false);
        check_rule("Add a button to the page.", false);
    }
}
