//! Judges what a statement is worth for what it says, beside the names in it.

use std::sync::LazyLock;

use longhaul_text::{AnyOf, data_lines};

use super::anchors::AnchorKind;
use super::candidates::Candidate;
use super::outputs::is_summary;
use super::pool::Pool;
use super::statements::{Form, is_finding, is_intention, is_progress};

/// The place of a statement among the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position {
    /// The first statement of its message.
    pub(crate) opens: bool,
    /// The message follows a result that tells of trouble.
    pub(crate) after_trouble: bool,
}

/// A statement that says less is not quoted while others or names want the room.
pub const LEAST_WORTH: f32 = 0.2;
/// A statement that says less is not quoted, whatever the room.
pub const LEAST_SPARE_WORTH: f32 = 0.004;
/// The worth of what stands in a file or was shown in passing: it is only for room to spare.
const SHOWN: f32 = 0.02;
/// The worth of an offer that an answer ends with.
const OFFER: f32 = 0.3;
/// A statement of so many bytes has the worth of its form.
const USUAL: f32 = 90.0;
/// A shorter statement says less for its length than one of so many bytes.
const FULL: f32 = 110.0;
const LEAST_FULL: f32 = 0.3;
/// A statement counts no more than once where a longer one says the same.
const LONGEST: f32 = 400.0;
/// So many backticks stand around three names.
const MANY_NAMES: usize = 6;

/// The measure of what a text can say, by its bytes: 1 for a usual statement. By what readers asked of recorded sessions, statements of
/// 100 to 200 bytes answer twice as much for their length as those below.
fn size(text: &str) -> f32 {
    let length = (text.len() as f32).min(LONGEST);
    length / USUAL * (length / FULL).clamp(LEAST_FULL, 1.0)
}

/// The worth of a statement for what it says.
pub(crate) fn statement_worth(
    pool: &Pool,
    line: &Candidate<'_>,
    position: Position,
    focus: &[String],
) -> f32 {
    let is_quote = matches!(line.form, Form::Change | Form::Shown);
    let lower = line.text.to_lowercase();
    if line.form == Form::Conclusion && is_offer(&lower) {
        return OFFER * size(line.text);
    }
    if !is_quote && is_for_the_moment(line.text) {
        return 0.0;
    }
    let by_form = match line.form {
        Form::Answer => 2.0,
        Form::Conclusion => 1.0,
        Form::Remark => 1.2,
        Form::Thought => 0.9,
        Form::Kept | Form::Written | Form::Delegated => 0.9,
        Form::Typed => 1.2,
        Form::Row => 0.8,
        Form::Change => 0.5,
        Form::Report => 0.5,
        // How a run ended is told again and again; a single error is mostly mended right behind it.
        Form::Notice if is_summary(&lower) => 1.5,
        Form::Notice => 0.4,
        Form::Shown if names_a_value(line.text) || is_finding(&lower) => {
            return 1.5 * SHOWN * size(line.text);
        }
        Form::Shown => return SHOWN * size(line.text),
        Form::Code => return 0.0,
    };
    let kinds = line.anchors.iter().map(|number| pool.anchors()[*number as usize].kind);
    let has_name = kinds.clone().any(|kind| kind != AnchorKind::Number);
    let has_value = names_a_value(line.text)
        || kinds.clone().any(|kind| matches!(kind, AnchorKind::Url | AnchorKind::Hash));
    let is_finding = is_finding(&lower);
    let mut worth = by_form * size(line.text);
    if has_value {
        worth *= 1.4;
    } else if line.text.bytes().any(|byte| byte.is_ascii_digit()) {
        worth *= 1.25;
    }
    if is_quote {
        return worth;
    }
    if line.text.contains('→') || line.text.matches('`').count() >= MANY_NAMES {
        worth *= 1.2;
    }
    if is_finding {
        worth *= 1.25;
    }
    // Answers open with what they come to.
    if position.opens && line.form == Form::Conclusion {
        worth *= 1.1;
    }
    // What is said of trouble right behind it is its cause or its remedy.
    if position.after_trouble && matches!(line.form, Form::Remark | Form::Thought | Form::Conclusion) {
        worth *= 1.2;
    }
    // Beside calls and in thought much is said for the moment.
    if matches!(line.form, Form::Remark | Form::Thought) && !is_finding && !has_value && !has_name {
        worth *= 0.5;
    }
    if is_hedged(&lower) {
        worth *= if line.form == Form::Thought { 0.4 } else { 0.7 };
    }
    let about = focus.iter().filter(|word| lower.contains(word.as_str())).count();
    worth * (1.0 + 1.5 * about as f32)
}

/// Returns true if a statement announces, reports progress or asks: it says nothing once the step is taken.
pub(crate) fn is_for_the_moment(text: &str) -> bool {
    let lower = text.to_lowercase();
    is_intention(&lower) || is_progress(&lower) || lower.ends_with(['?', '？'])
}

/// Returns true if a statement offers to go on: what the user may still come back to.
fn is_offer(lower: &str) -> bool {
    const OFFERS: [&str; 12] = [
        "if you want, i",
        "if you'd like, i",
        "if you’d like, i",
        "if you like, i",
        "would you like me to",
        "do you want me to",
        "want me to",
        "shall i",
        "should i",
        "如果需要",
        "需要我",
        "要我",
    ];
    OFFERS.iter().any(|offer| lower.starts_with(offer))
}

/// Returns true if a statement only supposes what it says.
fn is_hedged(lower: &str) -> bool {
    static HEDGES: LazyLock<AnyOf> =
        LazyLock::new(|| AnyOf::new(&data_lines(include_str!("../data/hedges.txt")).collect::<Vec<_>>()));
    HEDGES.is_in(lower)
}

/// Returns true if a text names something that cannot be found again by reading a file: an address, an issue, a variable of the
/// environment, a flag, a version, a port.
pub(crate) fn names_a_value(text: &str) -> bool {
    text.contains("://") || text.split_whitespace().any(is_value)
}

fn is_value(word: &str) -> bool {
    let word =
        word.trim_matches(|sign: char| !sign.is_alphanumeric() && !matches!(sign, '#' | '-' | '$' | '_'));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_issue = word.strip_prefix('#').is_some_and(all_digits);
    let is_flag = word
        .strip_prefix("--")
        .is_some_and(|flag| flag.len() >= 3 && flag.starts_with(|first: char| first.is_ascii_lowercase()));
    let bare = word.trim_start_matches('$').split('=').next().unwrap_or_default();
    let is_variable = bare.len() >= 5
        && bare.contains('_')
        && bare.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_');
    let number = word.strip_prefix('v').unwrap_or(word);
    let is_version = number.split('.').count() >= 3 && number.split('.').all(all_digits);
    let is_port = word.rsplit_once(':').is_some_and(|(host, port)| {
        (3..=5).contains(&port.len())
            && all_digits(port)
            && matches!(host, "localhost" | "127.0.0.1" | "0.0.0.0")
    });
    is_issue || is_flag || is_variable || is_version || is_port
}

/// Returns true if a statement speaks of what stands before it and says little alone.
pub(crate) fn leans_on_another(text: &str) -> bool {
    static LEANING: LazyLock<Vec<&str>> =
        LazyLock::new(|| data_lines(include_str!("../data/leaning.txt")).collect());
    let lower: String = text.chars().take(24).flat_map(char::to_lowercase).collect();
    LEANING.iter().any(|start| {
        let rest = lower.strip_prefix(start);
        rest.is_some_and(|rest| !start.is_ascii() || !rest.starts_with(|next: char| next.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_by_their_form() {
        for text in [
            "It is tracked as #950.",
            "Set `OPENAI_BASE_URL` first.",
            "Run it with --no-cache.",
            "It needs version 2.14.1 or later.",
            "The server listens on localhost:5173.",
            "See https://example.org/pull/12.",
        ] {
            assert!(names_a_value(text), "{text}");
        }
        for text in
            ["The parser reads each file twice.", "It has 12 rows, e.g. the first.", "a -- b", "A.B.C."]
        {
            assert!(!names_a_value(text), "{text}");
        }
    }

    #[test]
    fn longer_statements_say_more_for_their_length() {
        let worth_of_byte = |bytes: usize| size(&"x".repeat(bytes)) / bytes as f32;
        assert!(worth_of_byte(150) > 1.5 * worth_of_byte(60));
        assert_eq!(size(&"x".repeat(400)), size(&"x".repeat(4_000)));
        assert!(is_offer("if you want, i can send the ranking.") && !is_offer("if you want speed, use it."));
    }

    #[test]
    fn statements_that_lean_on_others_are_told() {
        for text in
            ["This fails for empty files.", "They are never closed.", "But the tests pass.", "这会导致错误。"]
        {
            assert!(leans_on_another(text), "{text}");
        }
        for text in ["Thistle is the new name.", "The parser fails.", "Items are sorted."] {
            assert!(!leans_on_another(text), "{text}");
        }
    }
}
