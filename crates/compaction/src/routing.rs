//! Chooses what a model must see of a conversation to tell how hard the next request is.

use longhaul_conversation::{Message, Role};

/// So many of the last messages are looked at.
const LOOKED_AT: usize = 20;
/// So many of them are shown.
const SHOWN: usize = 4;

/// The last few messages in which somebody says something: neither mere calls of tools nor their answers.
///
/// `history` is what was said before the request, curated.
pub fn routing_window(history: &[Message]) -> Vec<&Message> {
    let recent = &history[history.len().saturating_sub(LOOKED_AT)..];
    let mut said: Vec<&Message> = recent.iter().filter(|message| !is_tool_work(message)).collect();
    said.split_off(said.len().saturating_sub(SHOWN))
}

/// So many of the last messages are shown to whoever gives a score.
const SCORED: usize = 8;

/// The last few messages for whoever scores how hard the next request is: the work of tools, too, but not the end of work
/// whose beginning is not shown.
///
/// `history` is what was said before the request, curated.
pub fn scoring_window(history: &[Message]) -> Vec<&Message> {
    let recent = history[history.len().saturating_sub(SCORED)..].iter();
    recent.skip_while(|message| is_tool_work(message)).collect()
}

fn is_tool_work(message: &Message) -> bool {
    match message.role {
        Role::Model => !message.parts.is_empty() && message.parts.iter().all(|part| part.as_call().is_some()),
        Role::User => message.results().next().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::{Part, ToolCall, ToolResult};

    use super::*;

    #[track_caller]
    fn check(shape: &str, expected: &[usize]) {
        check_window(shape, routing_window, expected);
    }

    #[test]
    fn a_score_rests_on_the_last_eight_without_an_end_of_earlier_work() {
        let check = |shape: &str, expected: &[usize]| check_window(shape, scoring_window, expected);
        check("", &[]);
        check("umcrm", &[0, 1, 2, 3, 4]);
        check("crum", &[2, 3]);
        check("ummmcrcrumcr", &[8, 9, 10, 11]);
        check("uuuuuuuuuu", &[2, 3, 4, 5, 6, 7, 8, 9]);
        check("crcrcrcr", &[]);
    }

    /// Messages from letters: `u`ser, `m`odel, `c`all, `r`esult, `b`oth words and a call.
    #[track_caller]
    fn check_window(shape: &str, window: fn(&[Message]) -> Vec<&Message>, expected: &[usize]) {
        let call = || Part::call(ToolCall::new("c", "ls"));
        let result = || Part::result(ToolResult::text("c", "r"));
        let messages: Vec<Message> = shape
            .chars()
            .enumerate()
            .map(|(index, letter)| {
                let (role, parts) = match letter {
                    'u' => (Role::User, vec![Part::user_text("u")]),
                    'm' => (Role::Model, vec![Part::model_text("m")]),
                    'c' => (Role::Model, vec![call(), call()]),
                    'b' => (Role::Model, vec![Part::model_text("m"), call()]),
                    _ => (Role::User, vec![result(), Part::user_text("and")]),
                };
                Message::new(index.to_string(), role, parts)
            })
            .collect();
        let indexes: Vec<usize> =
            window(&messages).iter().map(|message| message.id.as_str().parse().expect("a index")).collect();
        assert_eq!(indexes, expected, "{shape}");
    }

    #[test]
    fn the_last_four_that_say_something_are_shown() {
        check("", &[]);
        check("um", &[0, 1]);
        check("umumum", &[2, 3, 4, 5]);
        check("ucrcrm", &[0, 5]);
        check("ubrm", &[0, 1, 3]);
        check(&"crcr".repeat(3), &[]);
        check(&format!("{}crcr", "u".repeat(30)), &[26, 27, 28, 29]);
    }

    #[test]
    fn older_ones_do_not_count() {
        check(&format!("umum{}", "cr".repeat(10)), &[]);
        check(&format!("umum{}", "cr".repeat(9)), &[2, 3]);
    }
}
