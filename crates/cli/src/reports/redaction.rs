//! Secrets redacted from a session.

use longhaul_app::sessions::Redaction;
use serde_json::{Value, json};

use crate::output::{Screen, fit, plural, thousands, visible};

/// The most places of a kind that are named in text for people.
const EXAMPLES: usize = 5;

/// The redacted secrets as text: a line for each kind, with its count and first places.
pub(crate) fn redaction_text(redaction: &Redaction, screen: &Screen) -> String {
    let mut text = match redaction.count() {
        0 => format!("{}\n", screen.strong("No secrets found")),
        count => {
            format!("{}\n", screen.strong(&format!("{} redacted:", plural(count, "secret", "secrets"))))
        }
    };
    for (kind, (count, places)) in redaction.kinds() {
        let more = if places.len() > EXAMPLES { ", …" } else { "" };
        let places = places.iter().take(EXAMPLES).map(|place| visible(place)).collect::<Vec<_>>().join(", ");
        let line = format!("  {} × {kind}: {places}{more}", thousands(count as u64));
        text.push_str(&screen.warning(&fit(&line, screen.width)));
        text.push('\n');
    }
    text
}

/// The redacted secrets as JSON.
pub(crate) fn redaction_json(redaction: &Redaction) -> Value {
    let kinds = redaction.kinds().into_iter().map(|(kind, (count, places))| {
        let places: Vec<String> = places.into_iter().map(visible).collect();
        json!({"kind": kind, "count": count, "messages": places})
    });
    json!({"count": redaction.count(), "kinds": kinds.collect::<Vec<_>>()})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Color;
    use longhaul_conversation::{Change, Message, Ordinal, Part, Role};

    /// Messages of two secrets each.
    fn redacted(messages: u32) -> Redaction {
        let token = ["ghp", "_", "Zb3kQ9xT1vLm7Rw2Np8Ys4Hd6Jc0Fg5Ua1Ee"].concat();
        let mut redaction = Redaction::default();
        for number in 1..=messages {
            let part = Part::user_text(format!("{token} {token}"));
            let message = Message::new(number.to_string(), Role::User, vec![part]);
            redaction.change(&mut Change::Put(Message { ordinal: Some(Ordinal(number)), ..message }));
        }
        redaction
    }

    #[test]
    fn the_text_names_kinds_and_messages() {
        let screen = Screen::of_stdout(Color::Never);
        assert_eq!(redaction_text(&Redaction::default(), &screen), "No secrets found\n");
        assert_eq!(
            redaction_text(&redacted(8), &screen),
            "16 secrets redacted:\n  16 × github: m1, m2, m3, m4, m5, …\n"
        );
    }

    #[test]
    fn json_names_every_message() {
        assert_eq!(
            redaction_json(&redacted(2)),
            json!({"count": 4, "kinds": [{"kind": "github", "count": 4, "messages": ["m1", "m2"]}]})
        );
    }
}
