//! Twelve rules planted into a session, to see whether they survive.

use longhaul_conversation::{Message, MessageId, Ordinal, Part, Role};

use crate::replay::boundaries;
use crate::text::cumulative_characters;

/// The rules: the first half have a cue word, the second half do not.
pub(crate) const RULES: [&str; 12] = [
    "Never write to the staging database from a test.",
    "Always run the formatter before you show me a diff.",
    "You must not add a dependency until I have agreed to it.",
    "Don't touch anything under third_party/legacy.",
    "Only use UTC in log lines.",
    "Make sure that every public function has a doc comment.",
    "Commit subjects are in lower case here.",
    "We write dates as year, month, day.",
    "The customer calls it a parcel, so the code says parcel too.",
    "British spelling in everything that users can read.",
    "Error texts end with no full stop in this project.",
    "I review on a phone, and lines past 90 columns are lost on me.",
];

/// Text around a planted rule, in turn: mostly none.
const AROUND: [(&str, &str); 4] = [
    ("", ""),
    ("Good, that looks right so far. ", ""),
    ("", " Go on with the next step."),
    ("By the way: ", ""),
];

/// The share of a session's characters before the last planted rule; after that it might be in the tail.
const PLANTED_SHARE: f64 = 0.6;

/// Plants the rules, each in a user message of its own, evenly over the first part of the session and in mixed order;
/// all messages are renumbered.
pub(crate) fn plant(messages: &[Message]) -> Vec<Message> {
    let before = cumulative_characters(messages);
    let room = before[messages.len()] as f64 * PLANTED_SHARE;
    let mut places = boundaries(messages);
    let first = places.first().copied();
    places.retain(|place| Some(*place) == first || before[*place] as f64 <= room);
    let Some(spread) = places.len().checked_sub(1) else { return messages.to_vec() };
    let mut planted = Vec::with_capacity(messages.len() + RULES.len());
    let mut next = 0;
    for (place, message) in messages.iter().enumerate() {
        planted.push(message.clone());
        while next < RULES.len() && places[next * spread / (RULES.len() - 1)] == place + 1 {
            planted.push(rule_message(next));
            next += 1;
        }
    }
    for (ordinal, message) in (1..).map(Ordinal).zip(&mut planted) {
        message.ordinal = Some(ordinal);
    }
    planted
}

/// The `nth` message with a rule; rules with and without a cue word alternate.
fn rule_message(nth: usize) -> Message {
    let rule = RULES[nth / 2 + nth % 2 * RULES.len() / 2];
    let (before, behind) = AROUND[nth % AROUND.len()];
    let id = MessageId::made_up(format_args!("planted-{nth}"));
    Message::new(id, Role::User, vec![Part::user_text(format!("{before}{rule}{behind}"))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentences::sentences;
    use crate::text::Rendering;

    fn talk(count: usize) -> Vec<Message> {
        let role = |place: usize| if place.is_multiple_of(2) { Role::User } else { Role::Model };
        (0..count)
            .map(|place| Message::new(format!("{place}"), role(place), vec![Part::user_text("x")]))
            .collect()
    }

    #[test]
    fn every_rule_is_planted_once_in_the_first_part() {
        for count in [1, 2, 5, 40] {
            let planted = plant(&talk(count));
            assert_eq!(planted.len(), count + RULES.len());
            let text = Rendering::of(&planted).text;
            assert!(RULES.iter().all(|rule| text.matches(rule).count() == 1));
            let last = planted.iter().rposition(|message| message.id.is_made_up()).expect("rules are there");
            assert!(planted.len() - last >= count * 2 / 5, "{count}: {last}");
            assert_eq!(planted[0].id.as_str(), "0", "a session starts as it did");
        }
        assert!(plant(&[]).is_empty());
    }

    #[test]
    fn half_of_the_rules_have_a_cue() {
        let cued: Vec<bool> =
            RULES.iter().flat_map(|rule| sentences(rule)).map(|sentence| sentence.is_rule).collect();
        assert_eq!(cued, [[true; 6], [false; 6]].concat());
    }
}
