//! Folds a session, event by event, into what its pages show. At any moment what was read so far can be shown.

use std::collections::{BTreeMap, HashMap};

use longhaul_app::models::{ContextWindow, known_scale};
use longhaul_app::sessions::SeenParts;
use longhaul_app::settings::Settings;
use longhaul_compaction::{Breakdown, Survey};
use longhaul_companion::{AgentCompaction, Directive, GUARD_TAG};
use longhaul_conversation::{
    Body, CallId, Change, Estimator, Message, MessageId, Ordinal, Origin, Part, TokenCount,
};
use longhaul_directives::{UserRequests, UserRules};
use longhaul_formats::{Event, SessionInfo, Warning};
use longhaul_ledger::Ledger;

use super::context::{ContextSample, Cut, KindCounts, Samples, counts};
use super::entry::{Entry, EntryPart, Room};

/// The most bytes of what a compaction left that are kept to tell what it lost.
const MOST_KEPT: usize = 4 << 20;

/// A session as its pages show it.
#[derive(Debug, Default)]
pub(crate) struct Chronicle {
    /// Everything that was said, each thing once.
    pub(crate) entries: Vec<Entry>,
    /// The compactions, oldest first.
    pub(crate) cuts: Vec<Cut>,
    /// The conversations of sub-agents, by name.
    pub(crate) side: BTreeMap<String, Vec<Entry>>,
    pub(crate) warnings: Vec<Warning>,
    pub(crate) rules: UserRules,
    pub(crate) requests: UserRequests,
    /// Facts that are known only when all was read.
    pub(crate) whole: Option<Whole>,
    results: HashMap<CallId, (usize, usize)>,
    calls: HashMap<CallId, usize>,
    places: HashMap<MessageId, usize>,
    numbers: HashMap<Ordinal, usize>,
    ledger: Ledger,
    survey: Survey,
    seen: SeenParts,
    samples: Samples,
    estimator: Estimator,
    pending: Option<PendingCut>,
    is_compacting: bool,
    is_unsampled: bool,
}

/// Facts of a session that was read to its end.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) info: SessionInfo,
    pub(crate) breakdown: Breakdown,
    pub(crate) window: ContextWindow,
    pub(crate) samples: Vec<ContextSample>,
    /// Counted tokens for each estimated one.
    pub(crate) scale: f64,
}

/// A transcript that is being written anew.
#[derive(Debug)]
struct PendingCut {
    place: usize,
    before: KindCounts,
    kept: Vec<usize>,
    brought: Vec<usize>,
    held: AgentCompaction,
    /// The bytes of the texts in `held`.
    bytes: usize,
}

impl Chronicle {
    pub(crate) fn new(settings: &Settings) -> Self {
        let estimator = settings.estimator();
        Self { survey: Survey::new(estimator), estimator, ..Self::default() }
    }

    /// The conversation of a sub-agent by itself.
    pub(crate) fn of_entries(entries: Vec<Entry>) -> Self {
        let mut chronicle = Self { entries, ..Self::default() };
        (0..chronicle.entries.len()).for_each(|place| chronicle.join(place, 0));
        chronicle
    }

    /// Takes what was read next.
    pub(crate) fn take(&mut self, event: Event) {
        match event {
            Event::Change(change) => self.change(&change),
            Event::CompactionStart => {
                self.settle();
                self.is_compacting = true;
            }
            Event::CompactionEnd => self.is_compacting = false,
            Event::Side { chain, message } => {
                let mut entry = Entry::new(&message);
                entry.tokens = self.estimator.message(&message).tokens().0;
                entry.add(&message.parts, Room::Usual);
                self.side.entry(chain).or_default().push(entry);
            }
            Event::Warning(warning) => self.warnings.push(warning),
            Event::Call(_) => {}
        }
    }

    /// Everything was read.
    pub(crate) fn finish(&mut self, info: SessionInfo, settings: &Settings) {
        self.is_compacting = false;
        self.settle();
        let scale = known_scale(settings, info.model());
        let breakdown = self.survey.counted_breakdown(&info.system, &info.tools, scale);
        let counted = breakdown.counted.map(|counted| counted.highest);
        let window = ContextWindow::find(None, settings, &info, counted);
        let last = (!self.entries.is_empty()).then(|| self.sample());
        let samples = self.samples.with_cuts(&self.cuts, last);
        let scale = breakdown.counted.map_or(scale, |counted| counted.scale);
        self.whole = Some(Whole { info, breakdown, window, samples, scale });
    }

    fn change(&mut self, change: &Change) {
        match change {
            Change::Put(message) | Change::PutAfter { message, .. } => {
                if self.is_said(message) {
                    self.settle();
                }
                self.note_for_cut(message);
            }
            Change::Extend { .. } => self.settle(),
            Change::RewindTo(id) => {
                self.settle();
                self.take_back(id);
            }
            Change::Restart => self.begin_cut(),
            Change::Counted(_) => {}
        }
        if let Some(message) = self.seen.new_parts(change) {
            self.say(&message);
        }
        self.survey.apply(change);
    }

    /// True if a message was said now: not known, and not brought by a transcript that is written anew.
    fn is_said(&self, message: &Message) -> bool {
        let is_brought = || {
            let is_summary = message.parts.iter().any(|part| part.origin == Origin::Summary);
            self.pending.is_some() && (message.ordinal.is_none() || is_summary)
        };
        !self.is_compacting && !self.places.contains_key(&message.id) && !is_brought()
    }

    /// A transcript that was written anew is complete, and what it came to can be measured.
    fn settle(&mut self) {
        if self.is_compacting {
            return;
        }
        if let Some(pending) = self.pending.take() {
            let after = counts(self.survey.tokens_by_kind());
            let PendingCut { place, before, mut kept, brought, held, .. } = pending;
            kept.sort_unstable();
            kept.dedup();
            // Resuming and undoing write a transcript anew, too, and take nothing away.
            if after.iter().sum::<u64>() < before.iter().sum::<u64>() {
                self.cuts.push(Cut { place, before, after, kept, brought, held });
            }
        } else if std::mem::take(&mut self.is_unsampled) {
            let sample = self.sample();
            self.samples.push(sample);
        }
    }

    fn sample(&self) -> ContextSample {
        let kinds = counts(self.survey.tokens_by_kind());
        ContextSample { number: self.last_number(), place: self.entries.len(), kinds }
    }

    fn last_number(&self) -> Option<Ordinal> {
        self.entries.iter().rev().find_map(|entry| entry.number)
    }

    fn begin_cut(&mut self) {
        self.settle();
        // Two in a row are one.
        if self.pending.is_some() {
            return;
        }
        let before = counts(self.survey.tokens_by_kind());
        let directive = |messages: &[Ordinal], text: &str| Directive {
            message: messages.first().copied(),
            text: text.to_string(),
        };
        let changed = self.ledger.files().filter(|(_, file)| file.state.is_change());
        let held = AgentCompaction {
            at: self.last_number(),
            before: TokenCount(before.iter().sum()),
            rules: self.rules.active().map(|rule| directive(&rule.messages, &rule.text)).collect(),
            requests: self
                .requests
                .open_requests()
                .map(|open| directive(&open.messages, &open.text))
                .collect(),
            files: changed.map(|(path, _)| path.to_string()).collect(),
            kept: Vec::new(),
        };
        let (kept, brought) = (Vec::new(), Vec::new());
        self.pending = Some(PendingCut { place: self.entries.len(), before, kept, brought, held, bytes: 0 });
        self.is_unsampled = false;
    }

    /// Notes a message of a transcript that is written anew.
    fn note_for_cut(&mut self, message: &Message) {
        let Some(pending) = &mut self.pending else { return };
        match self.places.get(&message.id) {
            Some(place) => pending.kept.push(*place),
            None => pending.brought.push(self.entries.len()),
        }
        for text in message.parts.iter().filter_map(kept_text) {
            if pending.bytes < MOST_KEPT {
                pending.bytes += text.len();
                pending.held.kept.push(text);
            }
        }
    }

    fn say(&mut self, message: &Message) {
        self.rules.observe(message);
        self.requests.observe(message);
        self.ledger.observe(message);
        let place = *self.places.entry(message.id.clone()).or_insert_with(|| {
            self.entries.push(Entry::new(message));
            self.entries.len() - 1
        });
        if let Some(number) = message.ordinal {
            self.numbers.insert(number, place);
        }
        let entry = &mut self.entries[place];
        let first = entry.parts.len();
        entry.tokens += self.estimator.message(message).tokens().0;
        entry.add(&message.parts, Room::Usual);
        self.join(place, first);
        self.is_unsampled = true;
    }

    /// Notes calls and results among the parts of a message from this one on.
    fn join(&mut self, place: usize, first: usize) {
        for (part, found) in self.entries[place].parts.iter().enumerate().skip(first) {
            match found {
                EntryPart::Call { id, .. } => {
                    self.calls.insert(id.clone(), place);
                }
                EntryPart::Result { call, .. } => {
                    self.results.insert(call.clone(), (place, part));
                }
                _ => {}
            }
        }
    }

    fn take_back(&mut self, id: &MessageId) {
        let Some(first) = self.places.get(id).copied() else { return };
        self.places.retain(|_, place| *place < first);
        self.entries[first..].iter_mut().for_each(|entry| entry.is_taken_back = true);
    }

    /// The place of a message, by its number (`m73`) or its id.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        let number = longhaul_recall::parse_message_number(name);
        let numbered = number.and_then(|number| self.numbers.get(&number));
        let id = name.strip_prefix("id-").unwrap_or(name);
        numbered.copied().or_else(|| self.places.get(&MessageId::new(id)).copied())
    }

    /// The result of a call: its place, and the part.
    pub(crate) fn result_of(&self, call: &CallId) -> Option<(usize, &EntryPart)> {
        let (place, part) = *self.results.get(call)?;
        Some((place, self.entries.get(place)?.parts.get(part)?))
    }

    /// The place of the message that made a call.
    pub(crate) fn caller_of(&self, call: &CallId) -> Option<usize> {
        self.calls.get(call).copied()
    }
}

/// A text that stayed, as the guard compares them.
fn kept_text(part: &Part) -> Option<String> {
    match &part.body {
        Body::Text(text) if text.contains(&format!("<{GUARD_TAG}")) => None,
        Body::Text(text) => Some(text.clone()),
        Body::Result(result) => Some(result.readable().into_owned()),
        Body::Call(call) => Some(call.args.to_string()),
        _ => None,
    }
}
