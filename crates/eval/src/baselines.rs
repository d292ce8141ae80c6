//! Simple baselines to compare methods with.

use longhaul_conversation::{Body, Message, Output};

use crate::excerpt::{NOTE, room, with_excerpt};
use crate::ledger_names::LedgerAndNames;
use crate::method::{CompactionTask, Compactor, Method};
use crate::replay::boundaries;
use crate::text::{cumulative_characters, readable_text};
use crate::tfidf::TfIdf;

/// All baselines, simplest first.
pub fn baselines() -> Vec<Method> {
    vec![
        Method::new("tail-only", || ExcerptBaseline(|_, _| String::new())),
        Method::new("longer-tail", || LongerTail),
        Method::new("first-plus-tail", || {
            ExcerptBaseline(|head, room| start_of(&text_of(head), room).to_string())
        }),
        Method::new("masking-only", || {
            ExcerptBaseline(|head, room| {
                let masked: Vec<Message> = head.iter().map(mask).collect();
                end_of(&text_of(&masked), room).to_string()
            })
        }),
        Method::new("tf-idf", TfIdf::default),
        Method::new("ledger+names", LedgerAndNames::default),
    ]
}

/// Keeps a part of the head's text, chosen by a function of the head and the available characters.
struct ExcerptBaseline(fn(&[Message], usize) -> String);

impl Compactor for ExcerptBaseline {
    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let kept = (self.0)(task.head(), room(task));
        with_excerpt(task, &kept)
    }
}

/// Spends the budget on a longer tail of whole messages, with calls and results kept together.
struct LongerTail;

impl Compactor for LongerTail {
    fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
        let before = cumulative_characters(&task.context[..task.tail_from]);
        let fits = |from: &usize| before[task.tail_from] - before[*from] <= room(task) as u64;
        let earlier = boundaries(task.context).into_iter().filter(|place| *place < task.tail_from);
        let tail_from = std::iter::once(0).chain(earlier).find(fits).unwrap_or(task.tail_from);
        with_excerpt(&CompactionTask { tail_from, ..*task }, "")
    }
}

/// The head as plain text, without the note of an earlier excerpt.
fn text_of(head: &[Message]) -> String {
    let text: String = head.iter().map(readable_text).collect();
    text.strip_prefix(NOTE).map_or(text.clone(), str::to_string)
}

/// The last `room` characters of a text, from the start of a line if possible.
fn end_of(text: &str, room: usize) -> &str {
    let Some(skipped) = text.chars().count().checked_sub(room).filter(|skipped| *skipped > 0) else {
        return text;
    };
    let from = text.char_indices().nth(skipped).map_or(text.len(), |(place, _)| place);
    let cut = &text[from..];
    if text[..from].ends_with('\n') {
        return cut;
    }
    cut.split_once('\n').map_or(cut, |(_, rest)| rest)
}

/// The first `room` characters of a text, to the end of a line if possible.
fn start_of(text: &str, room: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(room) else { return text };
    let cut = &text[..end];
    cut.rfind('\n').map_or(cut, |line_end| &cut[..=line_end])
}

/// The message with tool outputs cut to a preview and without thoughts.
fn mask(message: &Message) -> Message {
    let mut masked = message.clone();
    masked.parts.retain(|part| !matches!(part.body, Body::Thought(_)));
    for part in &mut masked.parts {
        if let Body::Result(result) = &mut part.body {
            let preview = preview(&result.readable());
            result.output = Output::Text(preview);
            result.nested.clear();
        }
    }
    masked
}

/// The start and the end of a tool output, as most masks show them.
fn preview(output: &str) -> String {
    const SHOWN: usize = 120;
    let length = output.chars().count();
    if length <= 3 * SHOWN {
        return output.to_string();
    }
    let left_out = length - 2 * SHOWN;
    let start: String = output.chars().take(SHOWN).collect();
    let end: String = output.chars().skip(length - SHOWN).collect();
    format!("{start}\n[… {left_out} characters left out …]\n{end}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::count_tokens;
    use longhaul_conversation::{Part, Role, TokenCount, ToolCall, ToolResult, find_faults};
    use proptest::prelude::*;
    use serde_json::json;

    #[track_caller]
    fn check_end(text: &str, room: usize, expected: &str) {
        assert_eq!(end_of(text, room), expected);
    }

    #[test]
    fn ends_start_with_a_line() {
        check_end("one\ntwo\nthree", 100, "one\ntwo\nthree");
        check_end("one\ntwo\nthree", 9, "two\nthree");
        check_end("one\ntwo\nthree", 8, "three");
        check_end("one", 2, "ne");
        check_end("ä\nö", 1, "ö");
        check_end("one", 0, "");
    }

    #[test]
    fn starts_end_with_a_line() {
        assert_eq!(start_of("one\ntwo", 100), "one\ntwo");
        assert_eq!(start_of("one\ntwo", 5), "one\n");
        assert_eq!(start_of("äöü", 2), "äö");
    }

    #[test]
    fn masks_keep_both_ends() {
        assert_eq!(preview("short"), "short");
        let long = format!("{}{}", "a".repeat(500), "z".repeat(500));
        let masked = preview(&long);
        assert!(masked.starts_with("aaa") && masked.ends_with("zzz") && masked.contains("760 characters"));
    }

    fn session(lines: &[String]) -> Vec<Message> {
        let turns = lines.iter().enumerate().flat_map(|(place, line)| {
            [
                Message::new(format!("u{place}"), Role::User, vec![Part::user_text(line)]),
                Message::new(
                    format!("c{place}"),
                    Role::Model,
                    vec![Part::call(
                        ToolCall::new(format!("{place}"), "bash").with_args(json!({"command": line})),
                    )],
                ),
                Message::new(
                    format!("r{place}"),
                    Role::User,
                    vec![Part::result(ToolResult::text(format!("{place}"), line.repeat(9)))],
                ),
            ]
        });
        turns.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn baselines_keep_to_their_budget_and_the_tail(
            lines in proptest::collection::vec("[a-z äöü\n]{0,60}", 1..20), budget in 10u64..400, tail in 0usize..60
        ) {
            let messages = session(&lines);
            let tail_from = tail.min(messages.len() - 1) / 3 * 3;
            let task = CompactionTask { context: &messages, tail_from, budget: TokenCount(budget) };
            for method in baselines() {
                let mut compactor = method.open();
                messages.iter().for_each(|message| compactor.observe(message));
                let result = compactor.compact(&task);
                prop_assert!(result.ends_with(task.tail()), "{}", method.name);
                let added = count_tokens(&result[..result.len() - task.tail().len()]);
                prop_assert!(tail_from == 0 || added <= task.budget, "{}: {added}", method.name);
                let empty = find_faults(&messages).len();
                prop_assert!(find_faults(&result).len() <= empty, "{}", method.name);
                prop_assert_eq!(result, { let mut again = method.open(); messages.iter().for_each(|m| again.observe(m)); again.compact(&task) });
            }
        }
    }
}
