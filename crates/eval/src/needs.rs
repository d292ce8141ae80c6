//! What each cut point of a session needed later, for those who fit weights to it.

use std::collections::HashSet;

use longhaul_conversation::Message;

use crate::evaluate::Settings;
use crate::index::TextIndex;
use crate::replay::cut_points;
use crate::score::Needs;
use crate::session::EvalSession;
use crate::text::Rendering;

/// A cut point of a session, and what the rest of the session needed of the part before it.
pub struct CutNeeds<'s> {
    /// The messages that a compaction at this point evicts.
    pub head: &'s [Message],
    needed: HashSet<String>,
    tail: TextIndex,
}

/// The cut points of a session at which enough was needed to count for recall.
pub fn needs_at_cuts<'s>(session: &'s EvalSession, settings: &Settings) -> Vec<CutNeeds<'s>> {
    let messages = session.messages.as_slice();
    let cuts = cut_points(messages, &settings.cuts).into_iter().map(|step| {
        let (head, tail) = messages[..step.at].split_at(step.tail_from);
        let needs = Needs::of(head, tail, &messages[step.at..], session.directory.as_deref());
        let needed = needs.names().map(str::to_string).collect();
        CutNeeds { head, needed, tail: TextIndex::new(Rendering::of(tail)) }
    });
    cuts.filter(|cut| cut.needed.len() >= settings.min_anchors).collect()
}

impl CutNeeds<'_> {
    /// Whether the rest of the session needed a name; none if the name stays in the conversation anyway.
    pub fn is_needed(&self, name: &str) -> Option<bool> {
        let is_needed = self.needed.contains(name);
        (is_needed || !self.tail.contains(name)).then_some(is_needed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Part, Role};

    #[test]
    fn names_are_needed_not_needed_or_at_hand() {
        let user = |text: String| Message::new("u", Role::User, vec![Part::user_text(text)]);
        let pad = "plain words ".repeat(40);
        let mut messages = vec![user(format!("first_name and second_name and third_name {pad}"))];
        messages.extend((0..6).map(|nth| user(format!("{pad} {nth}"))));
        messages.push(user(format!("third_name {pad}")));
        messages.push(user("Back to first_name and third_name.".into()));
        let tokens = crate::count_tokens(&messages);
        let session =
            EvalSession { name: "made".into(), messages, directory: None, questions: Vec::new(), tokens };
        let settings = Settings { cuts: vec![0.9], min_anchors: 1, ..Settings::default() };
        let cuts = needs_at_cuts(&session, &settings);
        let answers = ["first_name", "second_name", "third_name"].map(|name| cuts[0].is_needed(name));
        assert_eq!(answers, [Some(true), Some(false), None]);
        let settings = Settings { min_anchors: 2, ..settings };
        assert!(needs_at_cuts(&session, &settings).is_empty(), "one name is too little to tell");
    }
}
