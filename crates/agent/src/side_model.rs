//! Small questions to a model beside the conversation.

use std::future::poll_fn;
use std::time::Duration;

use longhaul_conversation::{
    Consumption, Estimator, FinishReason, Message, MessageId, Model, Origin, Part, Request, ResponseEvent,
    Role, SpendMeter,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// A model that answers small questions beside the conversation.
#[derive(Clone, Copy)]
pub struct SideModel<'a> {
    /// Answers.
    pub model: &'a dyn Model,
    /// Its name, as its provider knows it.
    pub name: &'a str,
}

/// A longer answer is no answer to a small question, in bytes.
const LONGEST_ANSWER: usize = 64 << 10;

/// In an answer with more text than JSON, so many beginnings are tried.
const MOST_BEGINNINGS: usize = 32;

/// The answer of a side model.
#[derive(Debug, Default)]
pub(crate) struct SideAnswer {
    /// The whole answer; nothing where it failed, was withheld or says nothing.
    pub(crate) text: Option<String>,
    pub(crate) consumed: Consumption,
}

impl SideModel<'_> {
    /// Asks one question and waits for the answer, not longer than `wait`. What goes wrong is no answer.
    pub(crate) async fn ask(
        &self,
        task: &str,
        question: &str,
        wait: Duration,
        cancel: &CancellationToken,
    ) -> SideAnswer {
        let asked = Message::new(MessageId::made_up("aside"), Role::User, vec![Part::user_text(question)]);
        let estimate = Estimator::default();
        let meter = SpendMeter::expecting((estimate.text(task) + estimate.text(question)).tokens());
        let request = Request {
            model: self.name.to_string(),
            system: vec![Part::text(Origin::Hook, task.trim())],
            messages: vec![asked],
            meter: meter.clone(),
            ..Request::default()
        };
        let read = tokio::time::timeout(wait, self.read(request));
        let text = cancel.run_until_cancelled(read).await.and_then(Result::ok).flatten();
        SideAnswer { text, consumed: meter.total() }
    }

    async fn read(&self, request: Request) -> Option<String> {
        let mut stream = self.model.stream(request);
        let mut text = String::new();
        while let Some(event) = poll_fn(|context| stream.as_mut().poll_next(context)).await {
            match event {
                Ok(ResponseEvent::TextDelta(delta)) => text.push_str(&delta),
                Ok(ResponseEvent::Finished(FinishReason::Filtered)) | Err(_) => return None,
                Ok(_) => {}
            }
            if text.len() > LONGEST_ANSWER {
                return None;
            }
        }
        Some(text).filter(|text| !text.trim().is_empty())
    }
}

/// The first value of this type in an answer, whatever a model wrote around it.
pub(crate) fn find_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    let beginnings = text.match_indices('{').take(MOST_BEGINNINGS);
    beginnings
        .map(|(index, _)| &text[index..])
        .find_map(|rest| serde_json::Deserializer::from_str(rest).into_iter::<T>().next()?.ok())
}

/// A number, also where a model writes it as a text.
pub(crate) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = value.as_f64().or_else(|| value.as_str()?.trim().parse().ok());
    number.ok_or_else(|| serde::de::Error::custom("no number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Deserialize)]
    struct Wanted {
        a: u32,
    }

    #[track_caller]
    fn check(text: &str, expected: Option<u32>) {
        assert_eq!(find_json::<Wanted>(text).map(|found| found.a), expected, "{text}");
    }

    #[test]
    fn json_is_found_in_whatever_stands_around_it() {
        check(r#"{"a": 1}"#, Some(1));
        check("Here you are:\n```json\n{\"b\": [], \"a\": 2}\n```\nThat is all. {", Some(2));
        check(r#"{not json} {"b": 1} {"a": 3} {"a": 4}"#, Some(3));
        check(r#"{"outer": {"a": 5}}"#, Some(5));
        check(r#"{"a": "#, None);
        check("", None);
        check(&"{".repeat(100_000), None);
    }
}
