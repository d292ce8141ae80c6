//! A message as HTML: typed and injected text told apart, calls with their results, thoughts, media.

use longhaul_conversation::{CallId, Origin, Role, ToolStatus, grouped};
use maud::{Markup, html};

use crate::chronicle::{Chronicle, Clip, Entry, EntryPart, MediaPlace};
use crate::request::encode;
use crate::words::short;

/// Renders messages of one session.
pub(crate) struct Renderer<'c> {
    pub(crate) chronicle: &'c Chronicle,
    /// The address of the session; without one nothing links to it, and media stay where they are.
    pub(crate) address: Option<&'c str>,
    /// The places of the messages on this page: what they answer is shown with the call.
    pub(crate) shown: std::ops::Range<usize>,
}

/// Kinds of images that browsers show.
pub(crate) const IMAGES: &[&str] = &["image/png", "image/jpeg", "image/gif", "image/webp"];

impl Renderer<'_> {
    /// A message; nothing but an anchor where its results stand with their calls.
    pub(crate) fn entry(&self, entry: &Entry) -> Markup {
        let anchor = entry.anchor();
        if entry.is_results() && self.stands_with_calls(entry) {
            return html! {};
        }
        let typed = entry.typed().is_some();
        html! {
            article.message #(anchor) .from-user[typed] .gone[entry.is_taken_back] aria-label=(label(entry)) {
                (self.header(entry, &anchor))
                @for part in &entry.parts { (self.part(part, &anchor)) }
                @if entry.parts.is_empty() { p.soft { "(empty)" } }
            }
        }
    }

    fn stands_with_calls(&self, entry: &Entry) -> bool {
        entry.parts.iter().all(|part| match part {
            EntryPart::Result { call, .. } => {
                self.chronicle.caller_of(call).is_some_and(|caller| self.shown.contains(&caller))
            }
            _ => false,
        })
    }

    fn header(&self, entry: &Entry, anchor: &str) -> Markup {
        html! {
            header {
                @match (entry.number, self.address) {
                    (Some(number), Some(address)) => a href=(format!("{address}?at={anchor}#{anchor}")) title="Link to this message" { (number) },
                    (Some(number), None) => a href=(format!("#{anchor}")) { (number) },
                    (None, _) => span {},
                }
                span { (who(entry)) }
                @if entry.typed().is_some() { span.badge.typed { "typed" } }
                @if entry.is_taken_back { span.badge { "taken back" } }
                @if let Some(model) = &entry.model { span { (model) } }
                @if let Some(at) = entry.at { time datetime=(at) title=(at) { (at.to_minute()) } }
                span title=(format!("about {} tokens", grouped(entry.tokens))) { (short(entry.tokens)) " tokens" }
            }
        }
    }

    fn part(&self, part: &EntryPart, anchor: &str) -> Markup {
        match part {
            EntryPart::Text { origin: Origin::User | Origin::Model, text } => self.text(text, anchor),
            EntryPart::Text { origin, text } => html! {
                details.injected open[text.text.len() < 400] {
                    summary { (injected(*origin)) ", not typed · " (short_size(text)) }
                    (self.text(text, anchor))
                }
            },
            EntryPart::Thought(text) => html! {
                details.thought { summary { "Thought · " (short_size(text)) } (self.text(text, anchor)) }
            },
            EntryPart::Call { id, name, line, args } => self.call(id, name, line, args, anchor),
            EntryPart::Result { call, name, status, text, media } => {
                // Of a call on another page, or one that nothing records.
                let caller =
                    self.chronicle.caller_of(call).and_then(|place| self.chronicle.entries.get(place));
                if caller.is_some_and(|caller| self.is_shown(caller)) {
                    return html! {};
                }
                html! {
                    details.call .failed[*status == ToolStatus::Failed] {
                        summary { "Result of " b { (name.as_deref().unwrap_or("a tool")) }
                            @if let (Some(caller), Some(address)) = (caller, self.address) {
                                " called in " a href=(link(address, caller)) { (caller.anchor()) }
                            }
                        }
                        (self.result(text, media, anchor))
                    }
                }
            }
            EntryPart::Media(media) => self.media(media, anchor),
            EntryPart::File(uri) => html! { p.soft { "File: " code { (uri) } } },
            EntryPart::Other => html! { p.soft { "(an item that only its vendor can read)" } },
        }
    }

    fn is_shown(&self, entry: &Entry) -> bool {
        self.chronicle
            .entries
            .get(self.shown.clone())
            .is_some_and(|shown| shown.iter().any(|e| e.id == entry.id))
    }

    fn call(&self, id: &CallId, name: &str, line: &str, args: &Clip, anchor: &str) -> Markup {
        let result = self.chronicle.result_of(id);
        let status = match result {
            Some((_, EntryPart::Result { status, .. })) => Some(*status),
            _ => None,
        };
        html! {
            details.call .failed[status == Some(ToolStatus::Failed)] {
                summary {
                    b { (name) } " " span.mono { (line) }
                    @match status {
                        Some(ToolStatus::Failed) => span.badge.bad { "failed" },
                        Some(ToolStatus::Cancelled) => span.badge { "cancelled" },
                        Some(_) => {},
                        None => span.badge { "no result" },
                    }
                }
                div.label { "Called with" }
                pre { (args.text) (self.rest(args, anchor)) }
                @if let Some((place, EntryPart::Result { text, media, .. })) = result
                    && let Some(answer) = self.chronicle.entries.get(place) {
                    @let own = answer.anchor();
                    div.label {
                        @if answer.is_results() && self.shown.contains(&place) { span #(own) {} }
                        "Result" @if let Some(number) = answer.number { " (" (number) ")" }
                    }
                    (self.result(text, media, &own))
                }
            }
        }
    }

    fn result(&self, text: &Clip, media: &[MediaPlace], anchor: &str) -> Markup {
        html! {
            @if text.text.trim().is_empty() && media.is_empty() { p.soft { "(no output)" } }
            @else if !text.text.is_empty() { pre { (text.text) (self.rest(text, anchor)) } }
            @for media in media { (self.media(media, anchor)) }
        }
    }

    fn text(&self, text: &Clip, anchor: &str) -> Markup {
        html! { div.said dir="auto" { (text.text) (self.rest(text, anchor)) } }
    }

    fn rest(&self, text: &Clip, anchor: &str) -> Markup {
        html! {
            @if text.missing > 0 {
                "\n… "
                @match self.address {
                    Some(address) => a href=(format!("{address}/m/{}", encode(anchor))) {
                        (grouped(text.missing)) " more characters"
                    },
                    None => (format!("{} more characters left out", grouped(text.missing))),
                }
            }
        }
    }

    fn media(&self, media: &MediaPlace, anchor: &str) -> Markup {
        let is_image = IMAGES.contains(&media.mime.as_str());
        html! {
            div.media {
                @match (self.address, media.place) {
                    (Some(address), Some(place)) if is_image => img loading="lazy" alt=(format!("{} in {anchor}", media.mime))
                        src=(format!("{address}/m/{}/{place}", encode(anchor)));,
                    (_, Some(_)) => p.soft { "(" (media.mime) ")" },
                    (_, None) => p.soft { "(" (media.mime) ", left out by the session)" },
                }
            }
        }
    }
}

/// The address of a message.
pub(crate) fn link(address: &str, entry: &Entry) -> String {
    let anchor = encode(&entry.anchor());
    format!("{address}?at={anchor}#{anchor}")
}

fn who(entry: &Entry) -> &'static str {
    if entry.role == Role::Model {
        return "model";
    }
    if entry.typed().is_some() {
        return "user";
    }
    let first = entry.parts.iter().find_map(|part| match part {
        EntryPart::Text { origin, .. } => Some(*origin),
        EntryPart::Result { .. } => Some(Origin::Tool),
        _ => None,
    });
    first.map_or("user", injected)
}

/// The words for text that nobody typed.
fn injected(origin: Origin) -> &'static str {
    match origin {
        Origin::User => "user",
        Origin::Model => "model",
        Origin::Tool => "tool",
        Origin::Memory => "memory",
        Origin::Hook => "added by the agent",
        Origin::Summary => "summary",
    }
}

fn label(entry: &Entry) -> String {
    entry.number.map_or_else(|| who(entry).to_string(), |number| format!("{number}, {}", who(entry)))
}

fn short_size(text: &Clip) -> String {
    format!("{} characters", grouped(text.text.chars().count() + text.missing))
}
