//! Messages as they are shown: texts up to a length, calls and results to be joined.

use longhaul_conversation::{
    Body, CallId, Media, MediaData, Message, MessageId, Ordinal, Origin, Part, Role, Timestamp, ToolCall,
    ToolStatus,
};
use serde_json::Value;

use crate::words::{cut, first_line};

/// The most characters of a text that are shown at once.
const MOST_TEXT: usize = 12_000;
/// The most characters of an output that are shown at once.
const MOST_OUTPUT: usize = 4_000;
/// The most characters of the line that tells what a call is about.
const MOST_LINE: usize = 160;

/// A message.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) number: Option<Ordinal>,
    pub(crate) id: MessageId,
    pub(crate) role: Role,
    pub(crate) at: Option<Timestamp>,
    pub(crate) model: Option<String>,
    pub(crate) parts: Vec<EntryPart>,
    /// Its size by estimate.
    pub(crate) tokens: u64,
    /// True if the user took it back.
    pub(crate) is_taken_back: bool,
}

/// A part of a message.
#[derive(Clone, Debug)]
pub(crate) enum EntryPart {
    Text { origin: Origin, text: Clip },
    Thought(Clip),
    Call { id: CallId, name: String, line: String, args: Clip },
    Result { call: CallId, name: Option<String>, status: ToolStatus, text: Clip, media: Vec<MediaPlace> },
    Media(MediaPlace),
    File(String),
    Other,
}

/// An image or another medium, which is read again when it is shown.
#[derive(Clone, Debug)]
pub(crate) struct MediaPlace {
    pub(crate) mime: String,
    /// Its place among the media of its message; none if the session left it out.
    pub(crate) place: Option<usize>,
}

/// The beginning of a text.
#[derive(Clone, Debug)]
pub(crate) struct Clip {
    pub(crate) text: String,
    /// The characters that are left out.
    pub(crate) missing: usize,
}

impl Clip {
    /// All of a text.
    pub(crate) fn whole(text: &str) -> Self {
        Self { text: text.to_string(), missing: 0 }
    }

    fn of(text: &str, most: usize) -> Self {
        match text.char_indices().nth(most) {
            Some((end, _)) => Self { text: text[..end].to_string(), missing: text[end..].chars().count() },
            None => Self::whole(text),
        }
    }
}

/// The share of texts that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    Usual,
    Everything,
}

impl Entry {
    pub(crate) fn new(message: &Message) -> Self {
        Self {
            number: message.ordinal,
            id: message.id.clone(),
            role: message.role,
            at: message.at,
            model: message.model.clone(),
            parts: Vec::new(),
            tokens: 0,
            is_taken_back: false,
        }
    }

    /// Adds parts, with media numbered on.
    pub(crate) fn add(&mut self, parts: &[Part], room: Room) {
        let mut media = self.media().count();
        for part in parts {
            let part = EntryPart::of(part, room, &mut media);
            self.parts.extend(part);
        }
    }

    fn media(&self) -> impl Iterator<Item = &MediaPlace> {
        self.parts.iter().flat_map(|part| match part {
            EntryPart::Media(media) => std::slice::from_ref(media),
            EntryPart::Result { media, .. } => media,
            _ => &[],
        })
    }

    /// Its name in addresses.
    pub(crate) fn anchor(&self) -> String {
        self.number.map_or_else(|| format!("id-{}", self.id), |number| number.to_string())
    }

    /// The words that a person typed, if any.
    pub(crate) fn typed(&self) -> Option<&str> {
        self.parts.iter().find_map(|part| match part {
            EntryPart::Text { origin: Origin::User, text } if !text.text.trim().is_empty() => {
                Some(text.text.as_str())
            }
            _ => None,
        })
    }

    /// True if it says nothing but what tools answered.
    pub(crate) fn is_results(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| matches!(part, EntryPart::Result { .. }))
    }

    pub(crate) fn calls(&self) -> usize {
        self.parts.iter().filter(|part| matches!(part, EntryPart::Call { .. })).count()
    }

    /// One line of what it says.
    pub(crate) fn line(&self, most: usize) -> String {
        let lines = self.parts.iter().map(|part| match part {
            EntryPart::Text { text, .. } => first_line(&text.text, most),
            EntryPart::Thought(text) => first_line(&text.text, most),
            EntryPart::Call { name, line, .. } => cut(&format!("→ {name} {line}"), most),
            EntryPart::Result { name, text, .. } => cut(
                &format!("← {} {}", name.as_deref().unwrap_or("tool"), first_line(&text.text, most)),
                most,
            ),
            EntryPart::Media(media) => media.mime.clone(),
            EntryPart::File(uri) => cut(uri, most),
            EntryPart::Other => String::new(),
        });
        lines.into_iter().find(|line| !line.is_empty()).unwrap_or_default()
    }
}

impl EntryPart {
    fn of(part: &Part, room: Room, media: &mut usize) -> Option<Self> {
        let clip = |text: &str, most| match room {
            Room::Usual => Clip::of(text, most),
            Room::Everything => Clip::whole(text),
        };
        if part.is_empty() {
            return None;
        }
        Some(match &part.body {
            Body::Text(text) => Self::Text { origin: part.origin, text: clip(text, MOST_TEXT) },
            // A signature without words tells nobody anything.
            Body::Thought(thought) if thought.text.trim().is_empty() => return None,
            Body::Thought(thought) => Self::Thought(clip(&thought.text, MOST_TEXT)),
            Body::Call(call) => Self::Call {
                id: call.id.clone(),
                name: call.name.clone(),
                line: line_of(call),
                args: clip(&in_full(&call.args), MOST_OUTPUT),
            },
            Body::Result(result) => {
                let nested = result.nested.iter().filter_map(|part| match &part.body {
                    Body::Media(found) => Some(MediaPlace::of(found, media)),
                    _ => None,
                });
                Self::Result {
                    call: result.call.clone(),
                    name: result.name.clone(),
                    status: result.status,
                    media: nested.collect(),
                    text: clip(&result.readable(), MOST_OUTPUT),
                }
            }
            Body::Media(found) => Self::Media(MediaPlace::of(found, media)),
            Body::File(file) => Self::File(file.uri.clone()),
            Body::Opaque(_) => Self::Other,
        })
    }
}

impl MediaPlace {
    fn of(media: &Media, next: &mut usize) -> Self {
        let is_there = matches!(media.data, MediaData::Base64(_));
        *next += 1;
        Self { mime: media.mime.clone(), place: is_there.then_some(*next - 1) }
    }
}

/// The media of a message, in the order in which [`Entry::add`] numbers them.
pub(crate) fn media_of(parts: &[Part]) -> Vec<&Media> {
    let mut found = Vec::new();
    for part in parts {
        match &part.body {
            Body::Media(media) => found.push(&**media),
            Body::Result(result) => found.extend(result.nested.iter().filter_map(|part| match &part.body {
                Body::Media(media) => Some(&**media),
                _ => None,
            })),
            _ => {}
        }
    }
    found
}

/// Argument names that tell what a call is about, the most telling first.
const TELLING: &[&str] = &[
    "command",
    "cmd",
    "file_path",
    "absolute_path",
    "filePath",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
];

/// The subject of a call, in a line.
fn line_of(call: &ToolCall) -> String {
    let told = TELLING.iter().find_map(|key| match call.args.get(*key)? {
        Value::String(text) => Some(first_line(text, MOST_LINE)),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            Some(cut(&words.join(" "), MOST_LINE))
        }
        _ => None,
    });
    told.unwrap_or_else(|| match &call.args {
        Value::Object(fields) if fields.is_empty() => String::new(),
        Value::String(text) => first_line(text, MOST_LINE),
        args => cut(&args.to_string(), MOST_LINE),
    })
}

/// The arguments of a call, one below the other; texts of several lines as they are.
fn in_full(args: &Value) -> String {
    let Value::Object(fields) = args else {
        return args.as_str().map_or_else(|| format!("{args:#}"), str::to_string);
    };
    let mut text = String::new();
    for (key, value) in fields {
        let value = value.as_str().map_or_else(|| format!("{value:#}"), str::to_string);
        match value.contains('\n') {
            false => text.push_str(&format!("{key}: {value}\n")),
            true => text.push_str(&format!("{key}:\n{}\n", value.trim_end_matches('\n'))),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use longhaul_conversation::ToolResult;
    use serde_json::json;

    use super::*;

    #[test]
    fn long_texts_are_clipped_and_say_by_how_much() {
        let clip = Clip::of(&"é".repeat(MOST_OUTPUT + 7), MOST_OUTPUT);
        assert_eq!((clip.text.chars().count(), clip.missing), (MOST_OUTPUT, 7));
        assert_eq!(Clip::of("short", 9).missing, 0);
    }

    #[test]
    fn calls_tell_what_they_are_about() {
        let line = |args| line_of(&ToolCall::new("c", "t").with_args(args));
        assert_eq!(line(json!({"timeout": 5, "command": "cargo test\n-p x"})), "cargo test");
        assert_eq!(line(json!({"command": ["bash", "-lc", "ls"]})), "bash -lc ls");
        assert_eq!(line(json!({"n": 1})), r#"{"n":1}"#);
        assert_eq!(line(json!({})), "");
        assert_eq!(in_full(&json!({"a": 1, "text": "x\ny\n"})), "a: 1\ntext:\nx\ny\n");
    }

    #[test]
    fn media_keep_their_places_across_additions() {
        let media =
            |data| Part::new(Origin::User, Body::Media(Box::new(Media { mime: "image/png".into(), data })));
        let there = || MediaData::Base64("aGk=".into());
        let mut result = ToolResult::text("c", "x");
        result.nested.push(media(there()));
        let parts = [media(MediaData::Omitted { bytes: 9 }), Part::result(result)];
        let mut entry = Entry::new(&Message::new("m", Role::User, Vec::new()));
        entry.add(&parts, Room::Usual);
        entry.add(&[media(there())], Room::Usual);
        let places: Vec<Option<usize>> = entry.media().map(|media| media.place).collect();
        assert_eq!(places, [None, Some(1), Some(2)]);
        assert_eq!(media_of(&parts).len(), 2);
    }
}
