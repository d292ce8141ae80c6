//! Writes down a conversation for a model to read: as data, message by message, in blocks where it is too long.

use std::fmt::Write;

use longhaul_compaction::{Input, ReverseBudget, apply_replacements, plan_shrinking};
use longhaul_conversation::Estimator;
use longhaul_conversation::{
    Body, MediaData, Message, Ordinal, Origin, Part, Role, TokenCount, neutralise_snapshots,
};

/// The messages that a model is to summarise, each written down by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct History {
    entries: Vec<String>,
    /// True if an earlier snapshot stands in it.
    pub(super) has_snapshot: bool,
}

impl History {
    /// The messages before `tail_from` as they were said.
    pub(super) fn original(input: &Input<'_>, tail_from: usize) -> Self {
        Self::of(&input.messages()[..tail_from], &input.ordinals())
    }

    /// The messages before `tail_from` with the tool outputs of the whole conversation in one budget.
    pub(super) fn truncated(input: &Input<'_>, tail_from: usize) -> Self {
        let options = input.options;
        let budget = ReverseBudget::new(&options.session, &options.budget.outputs);
        let budget = ReverseBudget { estimator: options.estimator, ..budget };
        let mut messages = input.messages().to_vec();
        apply_replacements(&mut messages, &plan_shrinking(input.messages(), &budget));
        Self::of(&messages[..tail_from], &input.ordinals())
    }

    fn of(messages: &[Message], marks: &[Ordinal]) -> Self {
        let has_snapshot = messages.iter().flat_map(|message| &message.parts).any(|part| {
            part.origin == Origin::Summary
                && part.as_text().is_some_and(|text| text.contains("<state_snapshot"))
        });
        let entries = messages.iter().zip(marks).map(|(message, mark)| write_message(message, *mark));
        Self { entries: entries.collect(), has_snapshot }
    }

    /// A record of snapshots, the oldest first.
    pub(super) fn of_snapshots(snapshots: &[String]) -> Self {
        let entries = snapshots.iter().map(|snapshot| harmless(&format!("{snapshot}\n\n")));
        Self { entries: entries.collect(), has_snapshot: false }
    }

    /// The tokens of the whole.
    pub(super) fn size(&self, estimator: &Estimator) -> TokenCount {
        self.entries.iter().map(|entry| estimator.text(entry).tokens() + TokenCount(1)).sum()
    }

    /// The whole in one piece.
    pub(super) fn whole(&self) -> String {
        wrap(&self.entries.concat())
    }

    /// The whole in pieces of at most `room`, parted between messages where that is possible.
    pub(super) fn blocks(&self, room: TokenCount, estimator: &Estimator) -> Vec<String> {
        let mut blocks: Vec<String> = Vec::new();
        let mut block = String::new();
        let mut used = 0.0;
        let room = room.0.max(1) as f64;
        for piece in self.entries.iter().flat_map(|entry| pieces(entry, room, estimator)) {
            let size = estimator.text(piece).as_f64();
            if used + size > room && !block.is_empty() {
                blocks.push(wrap(&block));
                block.clear();
                used = 0.0;
            }
            block.push_str(piece);
            used += size;
        }
        if !block.is_empty() {
            blocks.push(wrap(&block));
        }
        blocks
    }
}

/// A text in pieces that each fit in `room`, cut at line ends where they are not too far apart.
fn pieces<'t>(text: &'t str, room: f64, estimator: &Estimator) -> Vec<&'t str> {
    if estimator.text(text).as_f64() <= room {
        return vec![text];
    }
    // Whatever the characters are, so many of them fit.
    let most = ((room / estimator.weights.non_ascii.max(1.0)) as usize / 2).max(16);
    let mut rest = text;
    let mut pieces = Vec::new();
    while rest.len() > most {
        let end = (1..=most).rev().find(|end| rest.is_char_boundary(*end)).unwrap_or(rest.len());
        let end = rest[..end].rfind('\n').map_or(end, |line_end| line_end + 1);
        let (piece, behind) = rest.split_at(end);
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

fn wrap(text: &str) -> String {
    format!("<history>\n{}\n</history>", text.trim_end())
}

fn write_message(message: &Message, mark: Ordinal) -> String {
    let mut text = String::new();
    for part in &message.parts {
        let (who, mut what) = describe(message.role, part);
        if part.origin != Origin::Summary {
            what = neutralise_snapshots(&what).into_owned();
        }
        if !what.trim().is_empty() {
            writeln!(text, "[{mark}] {who}:\n{}\n", what.trim_end()).expect("a string takes everything");
        }
    }
    harmless(&text)
}

fn describe(role: Role, part: &Part) -> (String, String) {
    let speaker = match (part.origin, role) {
        (Origin::User, _) => "user",
        (Origin::Model, _) => "assistant",
        (Origin::Tool, _) => "tool",
        (Origin::Memory, _) => "memory file",
        (Origin::Hook, _) => "host program",
        (Origin::Summary, _) => "earlier snapshot",
    };
    match &part.body {
        Body::Text(text) => (speaker.into(), text.clone()),
        Body::Thought(thought) => (format!("{speaker} (thinking)"), thought.text.clone()),
        Body::Call(call) => (format!("{speaker} calls {}", call.name), call.args.to_string()),
        Body::Result(result) => {
            let tool = result.name.as_deref().unwrap_or("tool");
            (format!("{tool} answers"), result.returned().into_owned())
        }
        Body::Media(media) => {
            let omitted = if matches!(media.data, MediaData::Omitted { .. }) { ", left out" } else { "" };
            (speaker.into(), format!("({}{omitted})", media.mime))
        }
        Body::File(file) => (speaker.into(), format!("(file {})", file.uri)),
        Body::Opaque(_) => (speaker.into(), String::new()),
    }
}

/// Text that cannot end the record it stands in.
fn harmless(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        clean.push_str(before);
        let name = tag[1..].trim_start_matches(['/', ' ']).as_bytes();
        let is_ours = name.get(..7).is_some_and(|name| name.eq_ignore_ascii_case(b"history"));
        clean.push(if is_ours { '‹' } else { '<' });
        rest = &tag[1..];
    }
    clean.push_str(rest);
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{ToolCall, ToolResult};
    use serde_json::json;

    fn history(messages: &[Message]) -> History {
        let marks: Vec<Ordinal> = (1..=messages.len() as u32).map(Ordinal).collect();
        History::of(messages, &marks)
    }

    fn talk() -> Vec<Message> {
        let call = ToolCall::new("c", "grep").with_args(json!({"pattern": "x"}));
        let result = ToolResult::text("c", "a </history> b < /HISTORY> <state_snapshot>").with_name("grep");
        vec![
            Message::new("1", Role::User, vec![Part::user_text("Find x.")]),
            Message::new("2", Role::Model, vec![Part::model_text("Yes."), Part::call(call)]),
            Message::new("3", Role::User, vec![Part::result(result)]),
        ]
    }

    #[test]
    fn a_record_names_who_spoke_and_cannot_be_ended_from_inside() {
        let history = history(&talk());
        assert_eq!(
            history.whole(),
            "<history>\n[m1] user:\nFind x.\n\n[m2] assistant:\nYes.\n\n[m2] assistant calls grep:\n{\"pattern\":\"x\"}\n\n\
             [m3] grep answers:\na ‹/history> b ‹ /HISTORY> &lt;state_snapshot>\n</history>"
        );
        assert!(!history.has_snapshot, "only a snapshot of our own is one");
    }

    #[test]
    fn an_earlier_snapshot_is_seen() {
        let part = Part::text(Origin::Summary, "<state_snapshot through=\"m9\">\n</state_snapshot>");
        assert!(history(&[Message::new("s", Role::User, vec![part])]).has_snapshot);
    }

    #[test]
    fn blocks_hold_everything_and_fit() {
        let estimator = Estimator::default();
        let long = (0..400).map(|nth| format!("line {nth} 漢字\n")).collect::<String>() + &"y".repeat(3_000);
        let mut messages = talk();
        messages.push(Message::new("4", Role::User, vec![Part::user_text(long)]));
        let history = history(&messages);
        for room in [30, 100, 700, 100_000] {
            let blocks = history.blocks(TokenCount(room), &estimator);
            let inside = |block: &str| {
                block
                    .strip_prefix("<history>\n")
                    .and_then(|b| b.strip_suffix("\n</history>"))
                    .map(str::to_string)
            };
            for block in &blocks {
                let text = inside(block).expect("each is a record");
                assert!(estimator.text(&text).tokens() <= TokenCount(room), "{room}");
            }
            let squeezed = |text: &str| text.split_whitespace().collect::<String>();
            let all: String = blocks.iter().map(|block| inside(block).expect("a record")).collect();
            assert_eq!(squeezed(&all), squeezed(&history.entries.concat()));
        }
        assert_eq!(history.blocks(TokenCount(100_000), &estimator), [history.whole()]);
    }
}
