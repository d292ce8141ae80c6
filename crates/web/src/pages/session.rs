//! The pages of a session: its timeline, single messages, media.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::StatusCode;
use longhaul_app::sessions::SeenParts;
use longhaul_conversation::{MediaData, Message, plural};
use longhaul_formats::{Event, read};
use maud::{Markup, html};

use crate::chronicle::{Chronicle, Entry, Room, media_of};
use crate::layout::{self, Section};
use crate::pages::message::{IMAGES, Renderer};
use crate::pages::opened::{Opened, Tab};
use crate::pages::timeline::{ON_PAGE, messages as timeline, range_of};
use crate::reply::Reply;
use crate::request::PageRequest;
use crate::site::Site;

/// So long a page waits for the whole session before it shows what was read of it.
pub(crate) const PATIENCE: Duration = Duration::from_millis(120);

/// The timeline.
pub(crate) fn page(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let reading = opened.read(site);
    let at = request.query.get("at");
    let page = request.query.number("page").map(|page| page.saturating_sub(1));
    let has_enough = |chronicle: &Chronicle| match (at, page) {
        (Some(at), _) => chronicle.find(at).is_some_and(|place| chronicle.entries.len() > place + ON_PAGE),
        (None, page) => chronicle.entries.len() > (page.unwrap_or_default() + 1) * ON_PAGE,
    };
    let state = reading.wait(PATIENCE, has_enough);
    let chronicle = &state.chronicle;
    if let Some(chain) = request.query.get("chain") {
        let content = side_chain(chronicle, chain);
        return opened.page(site, &state, Tab::Timeline, None, &content);
    }
    let place = at.and_then(|at| chronicle.find(at));
    let last = chronicle.entries.len().saturating_sub(1) / ON_PAGE;
    let page = place.map(|place| place / ON_PAGE).or(page).unwrap_or(0).min(last);
    let range = range_of(page, chronicle.entries.len());
    let address = opened.address("");
    let content = html! {
        @if let Some(at) = at.filter(|_| place.is_none()) { p.notice { "There is no message " (at) " in this session." } }
        (sub_agents(&opened, chronicle, &address))
        @if state.is_done && chronicle.entries.is_empty() { p.empty { "Nothing was said in this session." } }
        div #timeline data-address=(address) data-page=(page) data-last=(last) data-on-page=(ON_PAGE)
            data-version=(reading.stamp().version()) data-done=(state.is_done) {
            section.chunk data-page=(page) { (timeline(chronicle, Some(&address), range, place)) }
        }
        (pages(&address, page, last))
    };
    opened.page(site, &state, Tab::Timeline, request.query.get("said"), &content)
}

/// The messages of one page alone, for the script.
pub(crate) fn messages(site: &Arc<Site>, key: &str, request: &PageRequest) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let reading = opened.read(site);
    let page = request.query.number("page").unwrap_or_default().saturating_sub(1);
    let state = reading.wait(PATIENCE, |chronicle| chronicle.entries.len() > (page + 1) * ON_PAGE);
    let range = range_of(page, state.chronicle.entries.len());
    if range.is_empty() {
        return Reply::Page(StatusCode::NOT_FOUND, html! {});
    }
    Reply::page(timeline(&state.chronicle, Some(&opened.address("")), range, None))
}

fn pages(address: &str, page: usize, last: usize) -> Markup {
    let to = |page: usize| format!("{address}?page={}", page + 1);
    html! {
        @if last > 0 {
            nav #pages .pages aria-label="Pages of this timeline" {
                @if page > 0 { a href=(to(0)) { "First" } a rel="prev" href=(to(page - 1)) { "Earlier" } }
                span { "Page " (page + 1) " of " (last + 1) }
                @if page < last { a rel="next" href=(to(page + 1)) { "Later" } a href=(to(last)) { "Last" } }
            }
        }
    }
}

fn sub_agents(opened: &Opened, chronicle: &Chronicle, address: &str) -> Markup {
    let children = opened.children();
    html! {
        @if !children.is_empty() || !chronicle.side.is_empty() {
            details.notices {
                summary { (plural(children.len() + chronicle.side.len(), "sub-agent", "sub-agents")) }
                ul {
                    @for (name, address) in children { li { a href=(address) { (name) } } }
                    @for (name, entries) in &chronicle.side {
                        li { a href=(format!("{address}?chain={}", crate::request::encode(name))) { (name) }
                            " · " (plural(entries.len(), "message", "messages")) }
                    }
                }
            }
        }
    }
}

/// The most messages of a sub-agent that are shown.
const MOST_SIDE: usize = 1_000;

/// The conversation of a sub-agent that stands in the file of the session.
fn side_chain(chronicle: &Chronicle, chain: &str) -> Markup {
    let entries = chronicle.side.get(chain).map(Vec::as_slice).unwrap_or_default();
    let own = Chronicle::of_entries(entries[..entries.len().min(MOST_SIDE)].to_vec());
    let renderer = Renderer { chronicle: &own, address: None, shown: 0..own.entries.len() };
    html! {
        h2 { "Sub-agent " (chain) }
        @if entries.is_empty() { p.empty { "There is no such sub-agent in this session." } }
        @for entry in &own.entries { (renderer.entry(entry)) }
        @if entries.len() > MOST_SIDE { p.soft { "The first " (MOST_SIDE) " messages are shown." } }
    }
}

/// One message in full.
pub(crate) fn message(site: &Arc<Site>, key: &str, name: &str) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let Some(message) = whole_message(&opened, name) else { return no_message(name) };
    let mut entry = Entry::new(&message);
    entry.add(&message.parts, Room::Everything);
    let chronicle = Chronicle::default();
    let address = opened.address("");
    let renderer = Renderer { chronicle: &chronicle, address: Some(&address), shown: 0..0 };
    let content = html! {
        p { a href=(format!("{address}?at={name}#{name}")) { "Back to the timeline" } }
        h1 { "Message " (name) }
        div.whole { (renderer.entry(&entry)) }
    };
    Reply::page(layout::page(name, Section::Sessions, &content))
}

/// An image of a message.
pub(crate) fn media(site: &Arc<Site>, key: &str, name: &str, place: &str) -> Reply {
    let opened = match Opened::find(site, key) {
        Ok(opened) => opened,
        Err(reply) => return reply,
    };
    let found = whole_message(&opened, name).and_then(|message| {
        let media = media_of(&message.parts).get(place.parse::<usize>().ok()?).copied()?.clone();
        let kind = IMAGES.iter().find(|known| **known == media.mime)?;
        let MediaData::Base64(text) = media.data else { return None };
        Some(Reply::File { kind, bytes: Bytes::from(STANDARD.decode(text.trim()).ok()?) })
    });
    found.unwrap_or_else(|| no_message(name))
}

fn no_message(name: &str) -> Reply {
    Reply::Page(
        StatusCode::NOT_FOUND,
        layout::not_found(&format!("There is no message {name} in this session.")),
    )
}

/// A message with all that was ever added to it, read from the file again.
fn whole_message(opened: &Opened, name: &str) -> Option<Message> {
    let number = longhaul_recall::parse_message_number(name);
    let id = name.strip_prefix("id-").unwrap_or(name);
    let is_it = |message: &Message| match number {
        Some(number) => message.ordinal == Some(number),
        None => message.id.as_str() == id,
    };
    let mut seen = SeenParts::default();
    let mut found: Option<Message> = None;
    let file = longhaul_app::sessions::open(&opened.path).ok()?;
    let mut sink = |event| {
        let Event::Change(change) = event else { return };
        if let Some(message) = seen.new_parts(&change).filter(|message| is_it(message)) {
            match &mut found {
                Some(found) => found.parts.extend(message.parts.iter().cloned()),
                None => found = Some(message.into_owned()),
            }
        }
    };
    read(file, &mut sink).ok()?;
    found
}
