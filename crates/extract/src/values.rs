//! Finds values that were seen once, with the words that say what they are: no file and no search brings them back.

use longhaul_conversation::Ordinal;

use crate::anchors::AnchorKind;
use crate::gather::Source;
use crate::names::Anchor;
use crate::pool::Pool;
use crate::{USUAL_BUDGET, weigh_anchors};

/// A value with the words around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OnceSeenValue {
    /// The message that has it.
    pub at: Ordinal,
    /// The value among the words that say what it is: `the staging database listens on 54329`.
    pub text: String,
}

/// What was named in more messages than this is found again.
const MOST_MESSAGES: u16 = 2;
/// An anchor that is covered by so much is told elsewhere.
const TOLD: f32 = 0.5;
/// Words before a value that may say what it is, and words behind it where those are too few.
const WORDS_BEFORE: usize = 6;
const WORDS_BEHIND: usize = 6;
/// So many words say what a value is.
const ENOUGH_WORDS: usize = 2;
/// So many values are looked at, the heaviest first.
const MOST_VALUES: usize = 40;

/// Values before `before` that are not covered, the likeliest to be needed first: addresses, hashes, numbers, and variables of
/// the environment that the user or the model named in prose.
pub fn once_seen_values(pool: &Pool, before: Ordinal, covered: &[f32]) -> Vec<OnceSeenValue> {
    let anchors = pool.anchors();
    let weights = weigh_anchors(pool, before, USUAL_BUDGET);
    let is_wanted = |number: u32| {
        let place = number as usize;
        is_value(&anchors[place]) && covered.get(place).is_none_or(|covered| *covered < TOLD)
    };
    let mut found: Vec<(f32, usize, u32)> = Vec::new();
    for (index, line) in pool.candidates().iter().enumerate().filter(|(_, line)| line.at < before) {
        let is_prose = matches!(line.source, Source::User | Source::Model) && line.file.is_none();
        if is_prose && line.form.is_quotable() {
            let values = line.anchors.iter().filter(|number| is_wanted(**number));
            found.extend(values.map(|number| (weights[*number as usize], index, *number)));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut values: Vec<OnceSeenValue> = Vec::new();
    for (_, index, number) in found.into_iter().take(MOST_VALUES) {
        let (line, value) = (pool.candidates().get(index), &*anchors[number as usize].text);
        if values.iter().any(|told| told.text.contains(value)) {
            continue;
        }
        values.extend(with_words(line.text, value).map(|text| OnceSeenValue { at: line.at, text }));
    }
    values
}

fn is_value(anchor: &Anchor) -> bool {
    let is_rare = anchor.typed + anchor.used + anchor.shown <= MOST_MESSAGES;
    is_rare
        && match anchor.kind {
            AnchorKind::Url | AnchorKind::Hash | AnchorKind::Number => true,
            AnchorKind::Identifier => is_variable(&anchor.text),
            AnchorKind::Path | AnchorKind::Command | AnchorKind::Error | AnchorKind::Quoted => false,
        }
}

/// `DATABASE_URL`
fn is_variable(text: &str) -> bool {
    text.contains('_')
        && text.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// A value with the words of its clause, unless nothing in it says what the value is.
fn with_words(line: &str, value: &str) -> Option<String> {
    let start = line.find(value)?;
    let end = start + value.len();
    let before: Vec<&str> = line[..start].split_whitespace().collect();
    let from = before.iter().rposition(|word| ends_clause(word)).map_or(0, |place| place + 1);
    let before = &before[from.max(before.len().saturating_sub(WORDS_BEFORE))..];
    // What is written together with the value belongs to it: `#212`, `(v1.4.2)`.
    let is_joined = line[..start].ends_with(|c: char| !c.is_whitespace());
    let own_end = line[end..].find(char::is_whitespace).map_or(line.len(), |space| end + space);
    let mut text = before.join(" ");
    if !text.is_empty() && !is_joined {
        text.push(' ');
    }
    text.push_str(&line[start..own_end]);
    let mut words = before.iter().filter(|word| word.chars().any(char::is_alphabetic)).count();
    if words < ENOUGH_WORDS && !ends_clause(&text) {
        for word in line[own_end..].split_whitespace().take(WORDS_BEHIND) {
            text.push(' ');
            text.push_str(word);
            words += 1;
            if ends_clause(word) {
                break;
            }
        }
    }
    let text = text.trim_matches(|c: char| c.is_whitespace() || "-*.,;:()[]>".contains(c)).to_string();
    (words >= ENOUGH_WORDS && text.contains(value)).then_some(text)
}

fn ends_clause(word: &str) -> bool {
    word.ends_with(['.', ';', ':', '!', '?', '。', '：', '；'])
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Message, Part, Role, ToolResult};

    use super::*;

    #[track_caller]
    fn check_words(line: &str, value: &str, expected: Option<&str>) {
        assert_eq!(with_words(line, value).as_deref(), expected, "{line}");
    }

    #[test]
    fn a_value_comes_with_the_words_that_say_what_it_is() {
        check_words(
            "Done. The staging database listens on 54329, not on 5432.",
            "54329",
            Some("The staging database listens on 54329"),
        );
        check_words("- I opened pull request #212 for it.", "212", Some("I opened pull request #212"));
        check_words("54329 is the port of staging.", "54329", Some("54329 is the port of staging"));
        check_words("54329", "54329", None);
        check_words("Result: 54329.", "54329", None);
        check_words(
            "Set `UPLOAD_TIMEOUT_MS` to 1500 in the deployment.",
            "1500",
            Some("Set `UPLOAD_TIMEOUT_MS` to 1500"),
        );
        check_words("it", "nothing", None);
    }

    fn texts(messages: &[Message], told: &str) -> Vec<String> {
        let mut pool = Pool::default();
        messages.iter().zip(1..).for_each(|(message, at)| pool.observe(message, Ordinal(at)));
        let mut covered = vec![0.0; pool.anchors().len()];
        pool.known_anchors(told, &mut |number| covered[number as usize] = 1.0);
        let before = Ordinal(messages.len() as u32 + 1);
        let mut texts: Vec<String> =
            once_seen_values(&pool, before, &covered).into_iter().map(|value| value.text).collect();
        texts.sort_unstable();
        texts
    }

    #[test]
    fn values_of_prose_are_found_unless_they_are_told() {
        let model = |text: &str| Message::new("a", Role::Model, vec![Part::model_text(text)]);
        let talk = [
            model("The staging database listens on port 54329 because the other one was taken."),
            Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", "took 98765 ms in all"))]),
            model("The fix failed as retry_upload was never called in src/upload.rs."),
        ];
        assert_eq!(texts(&talk, ""), ["The staging database listens on port 54329"]);
        assert_eq!(texts(&talk, "port 54329"), [""; 0]);
    }

    #[test]
    fn what_is_named_again_and_again_is_no_such_value() {
        let say =
            |_| Message::new("a", Role::Model, vec![Part::model_text("The port of staging is 54329 here.")]);
        assert_eq!(texts(&(0..3).map(say).collect::<Vec<_>>(), ""), [""; 0]);
        assert_eq!(texts(&(0..2).map(say).collect::<Vec<_>>(), "").len(), 1);
    }
}
