//! Leaves out the middle of a long text on the user's side and names the file that holds the whole.

use longhaul_conversation::{Body, Estimator, Message, Ordinal, Role, TokenCount, grouped};
use longhaul_text::{Ends, ends};
use serde::Serialize;

use crate::replace::{NOT_SAVED, content_hash, sanitised};

/// A text in a message that is to be shown in a shorter form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Shortening {
    /// Index of the message among those that were planned for.
    pub message: usize,
    /// Index of the text in the message.
    pub part: usize,
    /// File for the whole text, relative to the folder for temporary files.
    pub file: String,
    /// The text in its place.
    pub text: String,
    /// Size of the text before.
    pub before: TokenCount,
    /// Size of the text now.
    pub after: TokenCount,
}

impl Shortening {
    /// The whole text, as it belongs in the file.
    pub fn full_text<'m>(&self, messages: &'m [Message]) -> Option<&'m str> {
        messages.get(self.message)?.parts.get(self.part)?.as_text()
    }

    /// The same without a pointer to a file, for a text that could not be saved but cannot stay.
    #[must_use]
    pub fn unsaved(mut self) -> Self {
        self.text = self.text.replace(&self.file, NOT_SAVED);
        self
    }
}

/// Plans to leave only `characters` of every text on the user's side from message `from` on that becomes shorter by it.
pub(crate) fn plan_shortenings(
    messages: &[Message],
    from: usize,
    characters: usize,
    session: &str,
    ordinals: &[Ordinal],
    estimator: &Estimator,
) -> Vec<Shortening> {
    let mut shortenings = Vec::new();
    for (index, message) in messages.iter().enumerate().skip(from).filter(|(_, m)| m.role == Role::User) {
        for (part, text) in
            message.parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.as_text()?)))
        {
            let Ends { head, tail, omitted } = ends(text, characters);
            if omitted == 0 {
                continue;
            }
            let file = format!(
                "tool-outputs/session-{}/message_{}_{}.txt",
                sanitised(session),
                ordinals[index],
                content_hash(text)
            );
            let omitted = grouped(omitted);
            let shorter = format!(
                "{head}\n[{omitted} characters left out to save room. The whole message: {file}]\n{tail}"
            );
            let (before, after) = (estimator.text(text).tokens(), estimator.text(&shorter).tokens());
            if after < before {
                shortenings.push(Shortening { message: index, part, file, text: shorter, before, after });
            }
        }
    }
    shortenings
}

/// Carries out the shortenings in messages of which the first is the one at `from`.
pub(crate) fn apply_shortenings(messages: &mut [Message], from: usize, shortenings: &[Shortening]) {
    for shortening in shortenings {
        let message = shortening.message.checked_sub(from).and_then(|index| messages.get_mut(index));
        let part = message.and_then(|message| message.parts.get_mut(shortening.part));
        if let Some(Body::Text(text)) = part.map(|part| &mut part.body) {
            text.clone_from(&shortening.text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::conversation;

    #[track_caller]
    fn check(shape: &str, characters: usize, expected: &[usize]) {
        let messages = conversation(shape);
        let ordinals: Vec<Ordinal> = (1..=messages.len() as u32).map(Ordinal).collect();
        let plan = plan_shortenings(&messages, 1, characters, "s/1", &ordinals, &Estimator::default());
        assert_eq!(plan.iter().map(|shortening| shortening.message).collect::<Vec<_>>(), expected);
        let mut shorter = messages[1..].to_vec();
        apply_shortenings(&mut shorter, 1, &plan);
        for shortening in &plan {
            let full = shortening.full_text(&messages).expect("it is there");
            let now = shorter[shortening.message - 1].parts[0].as_text().expect("a text");
            assert!(now.len() < full.len() && now.contains(&shortening.file) && now.contains("session-s_1"));
        }
    }

    #[test]
    fn only_long_texts_of_the_users_side_are_shortened() {
        check("user*9000 user*9000 reply*9000 call result*9000 hook*9000 user*90", 200, &[1, 5]);
        check("user user*220", 200, &[]);
        check("user user*9000", 9_000, &[]);
    }
}
