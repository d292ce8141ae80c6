//! The output of the demonstration.

use longhaul_conversation::{Message, Ordinal, Part, Role, TokenCount};
use longhaul_directives::RequestState;
use longhaul_engine::{Conversation, Event, PassOutcome, SummariserKind};
use longhaul_ledger::FileState;
use longhaul_recall::Hit;
use longhaul_snapshot::find_snapshot;

use crate::output::{Page, Screen, fit, pad_left, percent, plural, print, thousands, visible, wrapped};

/// The meter is shown again after this many messages.
const METER_EVERY: usize = 30;
/// The most lines of each section of the snapshot that are shown.
const SECTION_LINES: usize = 4;
/// The width of the column for message numbers and words.
const MARKS: usize = 9;

pub(super) struct Show {
    screen: Screen,
    window: TokenCount,
    chapter: usize,
}

impl Show {
    pub(super) fn new(screen: Screen, window: TokenCount) -> Self {
        Self { screen, window, chapter: 0 }
    }

    /// The introduction.
    pub(super) fn opening(&mut self, story: &[Message], size: TokenCount) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        page.line(&self.screen.strong("longhaul demo"));
        paragraph(
            &mut page,
            &format!(
                "A scripted afternoon of work runs through the real engine: {}, {} tokens in all, in a window of {}. \
                 No key, no network, nothing saved.",
                plural(story.len(), "message", "messages"),
                thousands(size.0),
                thousands(self.window.0),
            ),
        );
        self.title(&mut page, "The work");
        print(&page.into_text())
    }

    /// A message was appended.
    pub(super) fn said(&mut self, place: usize, message: &Message, size: TokenCount) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        let mark = Ordinal(place as u32 + 1).to_string();
        let text = message.parts.iter().find_map(Part::as_text);
        match (message.role, text) {
            (Role::User, Some(text)) => {
                for (nth, line) in
                    wrapped(text, self.screen.width.saturating_sub(MARKS + 8)).iter().enumerate()
                {
                    let (mark, who) = if nth == 0 { (mark.as_str(), "you") } else { ("", "") };
                    page.item(mark, 5, &format!("{} {line}", self.screen.good(&format!("{who:<4}"))));
                }
            }
            _ if place.is_multiple_of(METER_EVERY) => self.meter(&mut page, &mark, size),
            _ => return Ok(()),
        }
        print(&page.into_text())
    }

    /// The conversation was shortened.
    pub(super) fn compacted(
        &mut self,
        pass: usize,
        outcome: &PassOutcome,
        events: &[Event],
        forgotten: usize,
    ) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        let report = &outcome.result.report;
        page.gap();
        self.meter(&mut page, "before", report.before);
        let title = self.screen.warning(&format!("compaction {pass}"));
        page.line(&format!("  {title}"));
        for line in wrapped(&report.reason, self.screen.width.saturating_sub(6)) {
            page.line(&format!("    {line}"));
        }
        for event in events {
            if let Some(told) = told(event) {
                for line in wrapped(&told, self.screen.width.saturating_sub(6)) {
                    page.line(&format!("    {line}"));
                }
            }
        }
        let is_by_model =
            |event: &Event| matches!(event, Event::Summarised { by: SummariserKind::Model, .. });
        if events.iter().any(is_by_model) {
            let rules = plural(report.rules, "rule", "rules");
            page.line(&format!("    it left out {forgotten} of {rules}; restored word for word"));
        }
        let mut kept = format!("{} of {} kept", report.rules_kept, plural(report.rules, "rule", "rules"));
        if let Some(names) = report.names {
            kept.push_str(&format!("; {} of {} kept", names.kept, plural(names.of, "name", "names")));
        }
        page.line(&format!("    {kept}"));
        self.meter(&mut page, "after", report.after);
        page.line("");
        print(&page.into_text())
    }

    /// The state of the conversation.
    pub(super) fn now(&mut self, messages: &[Message], all: TokenCount) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        paragraph(
            &mut page,
            &format!(
                "All {} tokens went through; the model now sees {}, and never saw more than its window.",
                thousands(all.0),
                plural(messages.len(), "message", "messages"),
            ),
        );
        print(&page.into_text())
    }

    /// The things that survived, and where they came from.
    pub(super) fn survived(&mut self, conversation: &Conversation) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        self.title(&mut page, "What survived, and where it came from");
        let tracker = conversation.tracker();
        for rule in tracker.rules().active() {
            page.item("rule", MARKS, &format!("{}  {}", marks(&rule.messages), rule.text));
        }
        for request in tracker.requests().all() {
            let state = match request.state {
                RequestState::Open { .. } => "open",
                RequestState::Done(_) => "done",
                RequestState::Replaced { .. } => "replaced",
            };
            page.item(
                &format!("request {state}"),
                MARKS,
                &format!("{}  {}", marks(&request.messages), request.text),
            );
        }
        let ledger = tracker.ledger();
        for (path, file) in ledger.files().filter(|(_, file)| file.state.is_change()) {
            let what = if file.state == FileState::Created { "created" } else { "changed" };
            page.item(what, MARKS, &format!("{}  {path}", file.last));
        }
        if let Some(run) = ledger.runs().last() {
            let counts = format!("{} passed, {} failed", run.passed.unwrap_or(0), run.failed.unwrap_or(0));
            page.item("last run", MARKS, &format!("{}  {}: {counts}", run.at, run.command));
        }
        print(&page.into_text())
    }

    /// The snapshot that the model sees.
    pub(super) fn snapshot(&mut self, messages: &[Message]) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        self.title(&mut page, "The snapshot, as the model reads it");
        let texts = messages.iter().flat_map(|message| &message.parts).filter_map(Part::as_text);
        let text = texts.into_iter().find(|text| find_snapshot(text).is_some()).unwrap_or_default();
        // Each section by its beginning.
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            page.line(&format!("  {}", fit(&visible(line), self.screen.width.saturating_sub(2))));
            let section: Vec<&str> =
                std::iter::from_fn(|| lines.next_if(|line| !line.starts_with('<'))).collect();
            for line in section.iter().take(SECTION_LINES) {
                page.line(&format!("  {}", fit(&visible(line), self.screen.width.saturating_sub(2))));
            }
            if section.len() > SECTION_LINES {
                let more = plural(section.len() - SECTION_LINES, "more line", "more lines");
                page.line(&self.screen.faint(&format!("  … {more}")));
            }
        }
        print(&page.into_text())
    }

    /// A detail that was searched for.
    pub(super) fn recalled(&mut self, query: &str, is_gone: bool, hits: &[Hit]) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        self.title(&mut page, "A detail that was compacted away");
        let gone = if is_gone {
            "The model no longer sees the message that held it."
        } else {
            "The model still sees it."
        };
        paragraph(&mut page, gone);
        page.line(&format!("  $ longhaul recall {query:?}"));
        for hit in hits {
            let mark = hit.number.map(|mark| mark.to_string()).unwrap_or_default();
            page.item(&mark, 5, hit.tool.as_deref().unwrap_or(hit.origin.as_str()));
            for line in hit.excerpt.text.lines() {
                page.line(&format!("        {}", fit(&visible(line), self.screen.width.saturating_sub(8))));
            }
        }
        print(&page.into_text())
    }

    /// A compaction was undone.
    pub(super) fn undone(
        &mut self,
        name: &str,
        before: (usize, TokenCount),
        after: (usize, TokenCount),
        is_same: bool,
    ) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        self.title(&mut page, "Undo");
        let proof = if is_same { "matches the session file" } else { "does not match the session file" };
        paragraph(
            &mut page,
            &format!(
                "Undid {name}: {} with {} tokens → {} with {}; {proof}. The log only grows, so every compaction can \
                 be undone, even after later messages.",
                plural(before.0, "message", "messages"),
                thousands(before.1.0),
                thousands(after.0 as u64),
                thousands(after.1.0),
            ),
        );
        print(&page.into_text())
    }

    /// Next steps, printed at the end.
    pub(super) fn ending(&mut self) -> anyhow::Result<()> {
        let mut page = Page::new(self.screen);
        self.title(&mut page, "Try it on your own sessions");
        page.line("  longhaul inspect FILE              show where the tokens went");
        page.line("  longhaul compress FILE -o OUT      shorten it offline");
        page.line("  longhaul eval FILE...              measure what a compaction would have kept");
        print(&page.into_text())
    }

    fn title(&mut self, page: &mut Page, title: &str) {
        self.chapter += 1;
        page.line("");
        page.line(&self.screen.strong(&format!("{}  {title}", self.chapter)));
    }

    fn meter(&self, page: &mut Page, mark: &str, size: TokenCount) {
        let share = size.share_of(self.window);
        let width = self.screen.width.saturating_sub(MARKS + 26).min(40);
        let line = format!(
            "  {} {} {} {}",
            self.screen.faint(&format!("{mark:<7}")),
            pad_left(&thousands(size.0), 7),
            page.gauge(share, width),
            pad_left(&percent(share), 5),
        );
        page.line(&line);
    }
}

/// A line for an event, if it is worth one.
fn told(event: &Event) -> Option<String> {
    Some(match event {
        Event::Summarised { by: SummariserKind::Model, tokens, spend, .. } => format!(
            "written by the scripted model, completed from the record: {tokens} tokens ({} read and written, \
             ${:.4})",
            spend.tokens, spend.money
        ),
        Event::Summarised { by: SummariserKind::Offline, tokens, duration, .. } => {
            format!("written offline: {tokens} tokens in {:.1} ms, no model", duration.as_secs_f64() * 1e3)
        }
        Event::Verified { unsupported, cut, .. } if unsupported + cut > 0 => {
            format!("model lines: {unsupported} that no message supports, {cut} over the limit")
        }
        Event::FellBack { reason, .. } => {
            format!("model summary not usable ({reason}); using the offline summariser")
        }
        Event::NotSaved { file, reason } => format!("could not save {file}: {reason}"),
        Event::Masked { outputs, .. } => {
            format!("replaced {} with previews", plural(*outputs, "old tool output", "old tool outputs"))
        }
        _ => return None,
    })
}

fn paragraph(page: &mut Page, text: &str) {
    let lines = wrapped(text, page.screen.width.saturating_sub(2));
    lines.iter().for_each(|line| page.line(&format!("  {line}")));
}

fn marks(messages: &[Ordinal]) -> String {
    messages.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}
