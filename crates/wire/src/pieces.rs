//! Puts the texts of a user message together again, as far as its reader will take them apart the same way.
//!
//! A reader splits a text by who produced which piece of it. Written each on its own, some pieces would be taken for
//! something else: an opening tag says nothing without the closing one.

use longhaul_conversation::{Body, Extra, Origin, Part, Role, wrap_by_origin};

use crate::origins::{OriginRules, split_user_text};

/// A run of parts written as one block.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A text, made of one part or several.
    Text {
        /// The text itself.
        text: String,
        /// The fields of the last part; the others have none.
        extra: &'a Option<Box<Extra>>,
        /// The origin of its first part.
        origin: Origin,
        /// The number of parts.
        parts: usize,
        /// True if the reader will find the same parts with the same origins.
        reads_back: bool,
    },
    /// Anything else.
    Other(&'a Part),
}

impl Piece<'_> {
    /// The text, between tags that tell who produced it where a reader would not find that out; empty if this is none.
    pub fn told_text(&self) -> String {
        match self {
            Self::Text { text, reads_back: true, .. } => text.clone(),
            Self::Text { text, origin, .. } => wrap_by_origin(*origin, text).into_owned(),
            Self::Other(_) => String::new(),
        }
    }
}

/// The most parts joined into one text.
const JOINED: usize = 16;

/// The blocks of a user message whose reader follows `rules`. Empty texts are left out.
pub fn pieces<'a>(parts: &'a [Part], rules: &OriginRules) -> Vec<Piece<'a>> {
    let mut pieces = Vec::new();
    let mut rest = parts;
    while let Some(first) = rest.first() {
        let Some(text) = first.as_text() else {
            pieces.push(Piece::Other(first));
            rest = &rest[1..];
            continue;
        };
        if !says_something(first) {
            rest = &rest[1..];
            continue;
        }
        let longest = joinable(rest);
        let joined = (1..=longest).rev().find_map(|count| Some((count, join(&rest[..count], rules)?)));
        let (count, text, reads_back) = match joined {
            Some((count, text)) => (count, text, true),
            None => (1, text.to_string(), false),
        };
        let extra = &rest[count - 1].extra;
        pieces.push(Piece::Text { text, extra, origin: first.origin, parts: count, reads_back });
        rest = &rest[count..];
    }
    pieces
}

/// The number of leading parts that could be one text: fields can only stand behind its end.
fn joinable(parts: &[Part]) -> usize {
    let texts = parts.iter().take(JOINED).take_while(|part| matches!(part.body, Body::Text(_))).count();
    parts[..texts].iter().position(|part| part.extra.is_some()).map_or(texts, |place| place + 1)
}

/// The parts as one text, if the reader takes it apart into the same.
fn join(parts: &[Part], rules: &OriginRules) -> Option<String> {
    let text: String = parts.iter().filter_map(Part::as_text).collect();
    let read = split_user_text(text.clone(), rules);
    let same = |(read, part): (&Part, &Part)| read.origin == part.origin && read.as_text() == part.as_text();
    (read.len() == parts.len() && read.iter().zip(parts).all(same)).then_some(text)
}

/// True if a part has anything to be written.
pub fn says_something(part: &Part) -> bool {
    !part.is_empty() || part.extra.is_some()
}

/// The origin that readers give a part that is no text of the user's side.
pub fn plain_origin(part: &Part, role: Role) -> Origin {
    match (&part.body, role) {
        (Body::Result(_), _) => Origin::Tool,
        (_, Role::User) => Origin::User,
        (_, Role::Model) => Origin::Model,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origins::PLAIN;
    use longhaul_conversation::{ToolResult, Vendor};
    use serde_json::json;

    const USER: Origin = Origin::User;
    const HOOK: Origin = Origin::Hook;

    #[track_caller]
    fn check(parts: &[Part], expected: &[(&str, bool)]) {
        let seen: Vec<(String, bool)> = pieces(parts, &PLAIN)
            .into_iter()
            .map(|piece| match piece {
                Piece::Text { text, reads_back, .. } => (text, reads_back),
                Piece::Other(_) => ("other".into(), true),
            })
            .collect();
        let expected: Vec<_> = expected.iter().map(|(text, same)| (text.to_string(), *same)).collect();
        assert_eq!(seen, expected);
    }

    #[test]
    fn pieces_of_one_text_come_together() {
        check(&[], &[]);
        check(&[Part::text(USER, "")], &[]);
        check(&[Part::text(USER, "a"), Part::text(USER, "b")], &[("a", true), ("b", true)]);
        let reminder = "<system-reminder>x</system-reminder>";
        check(
            &[Part::text(USER, "go "), Part::text(HOOK, reminder)],
            &[("go <system-reminder>x</system-reminder>", true)],
        );
        let typed = ["<command-args>", "chart", "</command-args>"];
        check(
            &[Part::text(HOOK, typed[0]), Part::text(USER, typed[1]), Part::text(HOOK, typed[2])],
            &[("<command-args>chart</command-args>", true)],
        );
    }

    #[test]
    fn what_cannot_come_back_is_told() {
        check(&[Part::text(HOOK, "plain"), Part::text(USER, "go")], &[("plain", false), ("go", true)]);
        let quoted = "what is <system-reminder>x</system-reminder>?";
        check(&[Part::text(USER, quoted)], &[(quoted, false)]);
    }

    #[test]
    fn fields_and_other_parts_end_a_text() {
        let fields = json!({"cache_control": {}}).as_object().cloned().unwrap_or_default();
        let marked = Part::text(USER, "go ").with_extra(Vendor::Anthropic, fields);
        let reminder = Part::text(HOOK, "<system-reminder>x</system-reminder>");
        let result = Part::result(ToolResult::text("c", "x"));
        check(
            &[marked, reminder.clone(), result, reminder],
            &[
                ("go ", true),
                ("<system-reminder>x</system-reminder>", true),
                ("other", true),
                ("<system-reminder>x</system-reminder>", true),
            ],
        );
    }
}
