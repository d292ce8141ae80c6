//! A summary of a session in one line, written by a side model.

use std::time::Duration;

use longhaul_conversation::{Message, Origin, Part, Role};
use tokio_util::sync::CancellationToken;

use crate::excerpt::escape_closing_tags;
use crate::side_model::SideModel;
use crate::statistics::SideCalls;

/// The longest wait for a summary.
const LIMIT: Duration = Duration::from_secs(5);
/// The messages that are read from each end of a long session.
const FROM_EACH_END: usize = 10;
/// The longest text of a message that is read, in characters.
const LONGEST: usize = 500;
/// The longest line that counts as one, in characters.
const LONGEST_LINE: usize = 200;

/// One line on what the user wanted in a session; nothing where there is nothing to say, or nobody says it in five seconds. What
/// that takes is added to `side_calls`.
pub async fn summarise_session(
    messages: &[Message],
    model: SideModel<'_>,
    cancel: &CancellationToken,
    side_calls: &mut SideCalls,
) -> Option<String> {
    let excerpt = excerpt(messages)?;
    let question = format!("<conversation>\n{excerpt}\n</conversation>");
    let answer = model.ask(include_str!("../prompts/session_summary.md"), &question, LIMIT, cancel).await;
    side_calls.note(model.name, answer.consumed);
    clean(&answer.text?)
}

/// The beginning and the end of what people and the model said.
fn excerpt(messages: &[Message]) -> Option<String> {
    let said: Vec<String> = messages.iter().filter_map(line).collect();
    if said.is_empty() {
        return None;
    }
    let middle = FROM_EACH_END..said.len().saturating_sub(FROM_EACH_END);
    let kept = said.iter().enumerate().filter(|(index, _)| !middle.contains(index));
    Some(kept.map(|(_, line)| line.as_str()).collect::<Vec<_>>().join("\n\n"))
}

/// The words of a message that are its author's own.
fn line(message: &Message) -> Option<String> {
    let (who, origin) = match message.role {
        Role::User => ("User", Origin::User),
        Role::Model => ("Assistant", Origin::Model),
    };
    let own = message.parts.iter().filter(|part| part.origin == origin);
    let text = own.filter_map(Part::as_text).collect::<Vec<_>>().join("\n");
    let text = text.trim();
    let shown: String = text.chars().take(LONGEST).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    (!text.is_empty()).then(|| format!("{who}: {}{more}", escape_closing_tags(&shown)))
}

/// An answer as one clean line.
fn clean(answer: &str) -> Option<String> {
    let plain: String = answer.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = line.trim_matches(['"', '\'', '`', '“', '”', '‘', '’', '«', '»']).trim();
    (!line.is_empty()).then(|| line.chars().take(LONGEST_LINE).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ModelError, ScriptedModel, ScriptedReply};

    #[track_caller]
    fn check_clean(answer: &str, expected: Option<&str>) {
        assert_eq!(clean(answer).as_deref(), expected);
    }

    #[test]
    fn answers_become_one_line() {
        check_clean(" \"Fix the\n  parser\u{7}\" \n", Some("Fix the parser"));
        check_clean("«Größe messen»", Some("Größe messen"));
        check_clean("Don't panic", Some("Don't panic"));
        check_clean("\"\"", None);
        check_clean(" \n", None);
        assert_eq!(clean(&"x".repeat(900)).map(|line| line.len()), Some(LONGEST_LINE));
    }

    fn say(role: Role, text: impl Into<String>) -> Message {
        let origin = if role == Role::User { Origin::User } else { Origin::Model };
        Message::new("m", role, vec![Part::text(origin, text.into())])
    }

    #[test]
    fn long_sessions_are_read_from_both_ends() {
        let messages: Vec<Message> =
            (0..25).map(|number| say([Role::User, Role::Model][number % 2], format!("{number}."))).collect();
        let text = excerpt(&messages).expect("something");
        let numbers: Vec<&str> = text.split("\n\n").collect();
        assert_eq!(numbers.len(), 20);
        assert_eq!(
            (numbers[0], numbers[9], numbers[10], numbers[19]),
            ("User: 0.", "Assistant: 9.", "Assistant: 15.", "User: 24.")
        );
        let twenty = excerpt(&messages[..20]).expect("something");
        assert_eq!(twenty.split("\n\n").count(), 20);
    }

    #[test]
    fn only_what_somebody_said_counts_and_not_too_much_of_it() {
        let added = Message::new("m", Role::User, vec![Part::text(Origin::Hook, "<session_context>")]);
        assert_eq!(excerpt(std::slice::from_ref(&added)), None);
        let text = excerpt(&[added, say(Role::User, "ä".repeat(501))]).expect("something");
        assert_eq!(text, format!("User: {}...", "ä".repeat(500)));
    }

    #[tokio::test]
    async fn a_session_is_summarised_or_not() {
        let model = ScriptedModel::new([
            ScriptedReply::text("\"Rename the crate\"\n"),
            ScriptedReply::error(ModelError::TooLong),
        ]);
        let model_beside = SideModel { model: &model, name: "small" };
        let messages = [say(Role::User, "Call it oak."), say(Role::Model, "Done.")];
        let cancel = CancellationToken::new();
        let mut side_calls = SideCalls::default();
        let summary = summarise_session(&messages, model_beside, &cancel, &mut side_calls).await;
        assert_eq!(summary.as_deref(), Some("Rename the crate"));
        assert_eq!(summarise_session(&messages, model_beside, &cancel, &mut side_calls).await, None);
        assert_eq!(summarise_session(&[], model_beside, &cancel, &mut side_calls).await, None);
        assert_eq!(side_calls.requests(), 2);
        assert_eq!((model.requests().len(), model.requests()[0].model.as_str()), (2, "small"));
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_longer_than_five_seconds() {
        struct Silent;
        impl longhaul_conversation::Model for Silent {
            fn stream(
                &self,
                request: longhaul_conversation::Request,
            ) -> longhaul_conversation::ModelStream<'_> {
                request.meter.sent();
                Box::pin(futures_util::stream::pending())
            }
        }
        let model_beside = SideModel { model: &Silent, name: "small" };
        let messages = [say(Role::User, "Hello.")];
        let started = tokio::time::Instant::now();
        let mut side_calls = SideCalls::default();
        let summary =
            summarise_session(&messages, model_beside, &CancellationToken::new(), &mut side_calls).await;
        assert_eq!((summary, side_calls.requests()), (None, 1));
        assert_eq!(started.elapsed(), LIMIT);
    }
}
