//! A session that an address names, with the frame of its pages.

use std::path::PathBuf;
use std::sync::Arc;

use longhaul_app::{archive, clock};
use longhaul_conversation::{grouped, plural};
use maud::{Markup, html};

use crate::chronicle::{Chronicle, ReadSession, ReadState};
use crate::found_list::{FoundList, ListedSession, child_named};
use crate::layout::{self, Section};
use crate::pages::sessions::{copy, deletion, share};
use crate::reply::Reply;
use crate::request::encode;
use crate::site::Site;
use crate::words::{ago, cut, first_line};

/// A session that an address names.
pub(crate) struct Opened {
    /// Its name in addresses.
    pub(crate) key: String,
    pub(crate) path: PathBuf,
    list: Arc<FoundList>,
    /// The sub-agent of the listed session that it is.
    child: Option<String>,
    /// The session in the list, or the one whose sub-agent it is.
    parent: Option<String>,
    /// True if its agent deleted it: a copy is shown.
    is_only_archived: bool,
}

/// The views of a session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tab {
    Timeline,
    Context,
    Compactions,
    Rules,
}

impl Tab {
    const ALL: [Self; 4] = [Self::Timeline, Self::Context, Self::Compactions, Self::Rules];

    fn name(self) -> &'static str {
        match self {
            Self::Timeline => "Timeline",
            Self::Context => "Context over time",
            Self::Compactions => "Compactions",
            Self::Rules => "Rules and requests",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Timeline => "",
            Self::Context => "/context",
            Self::Compactions => "/compactions",
            Self::Rules => "/rules",
        }
    }
}

impl Opened {
    /// The session of a key; the answer for an unknown one.
    pub(crate) fn find(site: &Arc<Site>, key: &str) -> Result<Self, Reply> {
        let list = site.found();
        let open = |path, child: Option<&str>, parent: Option<&str>, is_only_archived| Self {
            key: key.to_string(),
            path,
            list: Arc::clone(&list),
            child: child.map(str::to_string),
            parent: parent.map(str::to_string),
            is_only_archived,
        };
        if let Some(listed) = list.by_id(key) {
            return Ok(open(listed.session.path.clone(), None, Some(&listed.key), false));
        }
        if let Some((parent, child)) = key.rsplit_once('/')
            && let Some(listed) = list.by_id(parent)
            && let Some(path) = child_named(listed, child)
        {
            return Ok(open(path, Some(child), Some(&listed.key), false));
        }
        let archived = archive::find().and_then(|archive| {
            let Some(archive) = archive else { return Ok(None) };
            archive.find(key).map(|session| archive::session_file(&archive, session)).transpose()
        });
        match archived {
            Ok(Some(path)) => Ok(open(path, None, None, true)),
            Ok(None) => Err(not_found(key)),
            Err(error) => Err(Reply::page(layout::failure(Section::Sessions, &error))),
        }
    }

    pub(crate) fn read(&self, site: &Site) -> Arc<ReadSession> {
        site.readings.get(&self.path, &site.settings)
    }

    /// The address of the session, or of something below it.
    pub(crate) fn address(&self, below: &str) -> String {
        format!("/s/{}{below}", encode(&self.key))
    }

    pub(crate) fn listed(&self) -> Option<&ListedSession> {
        self.list.get(self.parent.as_deref()?)
    }

    fn title(&self, chronicle: &Chronicle) -> String {
        if let Some(child) = &self.child {
            return format!("Sub-agent {child}");
        }
        if let Some(listed) = self.listed() {
            return listed.title().to_string();
        }
        let named = chronicle.whole.as_ref().and_then(|whole| whole.info.title.clone());
        let typed =
            || chronicle.entries.iter().find_map(|entry| entry.typed()).map(|text| first_line(text, 100));
        named.or_else(typed).unwrap_or_else(|| self.key.clone())
    }

    /// A page of the session.
    pub(crate) fn page(
        &self,
        site: &Site,
        state: &ReadState,
        tab: Tab,
        said: Option<&str>,
        content: &Markup,
    ) -> Reply {
        let title = self.title(&state.chronicle);
        let framed = html! {
            h1 dir="auto" { (cut(&title, 110)) }
            (self.facts(&state.chronicle))
            @if let Some(said) = said { p.notice role="status" { (said) } }
            @if let Some(problem) = &state.problem { p.problem role="alert" { "The session could not be read: " (problem) } }
            (self.actions(site))
            (figures(state))
            nav.tabs aria-label="Views of this session" {
                @for known in Tab::ALL {
                    a href=(self.address(known.path())) aria-current=[(known == tab).then_some("page")] { (known.name())
                        @if known == Tab::Compactions && !state.chronicle.cuts.is_empty() { " (" (state.chronicle.cuts.len()) ")" }
                    }
                }
            }
            (content)
        };
        Reply::page(layout::page(&title, Section::Sessions, &framed))
    }

    fn facts(&self, chronicle: &Chronicle) -> Markup {
        let listed = self.listed();
        let info = chronicle.whole.as_ref().map(|whole| &whole.info);
        let now = clock::now();
        html! {
            div.facts {
                @if let Some(listed) = listed {
                    @if listed.is_running(now) && self.child.is_none() { span.badge.live { "running" } }
                    span.badge { (listed.session.agent.name()) }
                }
                @if self.is_only_archived { span.badge.injected { "only in the archive" } }
                @if let Some(parent) = self.parent.as_ref().filter(|_| self.child.is_some()) {
                    a href=(format!("/s/{}", encode(parent))) { "started by this session" }
                }
                @if let Some(folder) = info.and_then(|info| info.directory.as_deref()) { span { (folder) } }
                @if let Some(model) = info.and_then(|info| info.model()) { span { (model) } }
                @if let Some(ended) = info.and_then(|info| info.ended) {
                    time datetime=(ended) title=(ended) { "last entry " (ago(ended, now)) }
                }
                @if let Some(listed) = listed.filter(|_| self.child.is_none()) { (deletion(listed)) }
                span.mono title="The file" { (self.path.display()) }
            }
        }
    }

    fn actions(&self, site: &Site) -> Markup {
        let own = self.listed().filter(|_| self.child.is_none());
        html! {
            div.actions {
                @if let Some(listed) = own {
                    (copy(&listed.resume_line(), "Copy the command that resumes this session", "copy"))
                    @if !site.is_read_only {
                        form method="post" action="/archive" {
                            input type="hidden" name="session" value=(listed.key);
                            button { "Archive now" }
                        }
                    }
                    details.handoff {
                        summary.button { "Hand over…" }
                        p.soft { "Run the line of the agent that goes on: the session is compacted for it, and stays as it is." }
                        ul.lines { @for (agent, line) in listed.handoff_lines() {
                            li { (agent.name()) ": " (copy(&line, &format!("Copy the command that continues this session in {}", agent.name()), "copy")) }
                        } }
                    }
                }
            }
        }
    }

    /// The sub-agents that have files of their own.
    pub(crate) fn children(&self) -> Vec<(String, String)> {
        let own = self.listed().filter(|_| self.child.is_none());
        let children = own.map(|listed| listed.session.children.as_slice()).unwrap_or_default();
        let named = children.iter().map(|path| {
            let name = crate::found_list::child_name(path);
            let address = format!("/s/{}", encode(&format!("{}/{name}", self.key)));
            (name, address)
        });
        named.collect()
    }
}

/// The figures of a session, as far as they are known.
fn figures(state: &ReadState) -> Markup {
    let chronicle = &state.chronicle;
    let turns = chronicle.entries.iter().filter(|entry| entry.typed().is_some()).count();
    let calls: usize = chronicle.entries.iter().map(|entry| entry.calls()).sum();
    html! {
        ul.figures data-reading=[(!state.is_done).then_some("true")] {
            @if let Some(whole) = &chronicle.whole {
                @let total = whole.breakdown.total;
                li {
                    b { (total) }
                    @match whole.breakdown.counted.and_then(|counted| counted.counted) {
                        Some(_) => span { "tokens in context, by the provider's count" },
                        None => span { "tokens in context, estimated" },
                    }
                    div.size { (share(total.share_of(whole.window.size), "of the window")) span.share { "of " (whole.window.size) } }
                }
            } @else if !state.is_done {
                li { b { "…" } span { "still reading" } }
            }
            li { b { (grouped(chronicle.entries.len())) } span { (if chronicle.entries.len() == 1 { "message" } else { "messages" }) } }
            li { b { (grouped(turns)) } span { (if turns == 1 { "turn" } else { "turns" }) } }
            li { b { (grouped(calls)) } span { (if calls == 1 { "tool call" } else { "tool calls" }) } }
            li { b { (chronicle.cuts.len()) } span { (if chronicle.cuts.len() == 1 { "compaction" } else { "compactions" }) } }
        }
        @if !chronicle.warnings.is_empty() {
            details.notices {
                summary { (plural(chronicle.warnings.len(), "record", "records")) " could not be read as they should" }
                ul { @for warning in chronicle.warnings.iter().take(50) { li { (warning) } } }
            }
        }
    }
}

fn not_found(key: &str) -> Reply {
    let text = format!("No session {key} is on this machine, and none in the archive.");
    Reply::Page(hyper::StatusCode::NOT_FOUND, layout::not_found(&text))
}
