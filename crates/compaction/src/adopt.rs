//! Adopts a model's summary and the state of the host into a snapshot, beside what is known for certain.
//!
//! A model's summary is prose of unknown worth. Its lines are kept within a share of the budget, the heaviest first, and get
//! the mark of the message that shares their anchors; what no message shares is told to be without a source. A rule that
//! the user did not say and a task that they did not give are marked as *found*, a goal that they did not set is dropped. Rules, the user's words, requests and the record of work are written as always, and
//! what room is left goes to lines that hold what the summary misses.

mod sources;

use longhaul_conversation::{Message, MessageId, Ordinal, Origin, Part, Role, TokenCount};
use longhaul_extract::measure_coverage;
use longhaul_snapshot::{Entry, FOUND, Section, Snapshot, without_state};
use longhaul_text::split_units;
use serde::Serialize;

use self::sources::Sources;
use crate::analysis::Analysis;
use crate::compose::{ComposeOptions, Composed, compose, compose_standing};
use crate::last_resort::minimal_snapshot_before;
use crate::plan::Compaction;
use crate::required::{keep_rules, rules_size};

/// Completion of a snapshot with lines that hold what a summary misses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Repairing {
    /// It is, as far as the budget goes.
    #[default]
    Missing,
    /// It stays as it is.
    Nothing,
}

/// Account of the lines of a model's summary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SummaryNotes {
    /// Number of lines that were kept.
    pub kept: usize,
    /// Number of lines that were left out because they were too many.
    pub cut: usize,
    /// Sentences of the user's that the model took for rules.
    pub quoted: Vec<Quote>,
    /// Rules that the model found and the user did not say in these words.
    pub found: Vec<String>,
    /// Lines that no message is known to have said.
    pub unsourced: Vec<String>,
}

/// A sentence that the user said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Quote {
    /// The sentence, whole and verbatim.
    pub text: String,
    /// The message it stands in.
    pub message: Ordinal,
}

/// The share of a snapshot that a model is asked for.
const MODEL_SHARE: f64 = 0.6;

impl Compaction {
    /// Number of tokens that a model is asked for. More is cut.
    pub fn asked_of_model(&self) -> TokenCount {
        TokenCount((self.snapshot_budget.0 as f64 * MODEL_SHARE) as u64)
    }
}

/// Writes the snapshot of a compaction without a model.
pub(crate) fn write_offline(analysis: &Analysis<'_>, compaction: &Compaction) -> Composed {
    let writer = SnapshotWriter::new(analysis, compaction);
    writer.write(&writer.host_lines(), Repairing::Missing)
}

/// Writes the snapshot of a compaction from a model's summary. One of which nothing can be kept leaves no line in the
/// notes.
pub(crate) fn adopt_summary(
    analysis: &Analysis<'_>,
    compaction: &Compaction,
    summary: &Snapshot,
    repairing: Repairing,
) -> (Composed, SummaryNotes) {
    let writer = SnapshotWriter::new(analysis, compaction);
    let mut notes = SummaryNotes::default();
    let lines = writer.choose(summary, compaction.asked_of_model(), &mut notes);
    let mut own = writer.host_lines();
    lines.into_iter().for_each(|line| own.push(line.section, Entry::new(line.mark, &line.lines)));
    (writer.write(&own, repairing), notes)
}

/// Everything a snapshot is written from.
struct SnapshotWriter<'a> {
    analysis: &'a Analysis<'a>,
    compaction: &'a Compaction,
    tail: Vec<Message>,
    before: Ordinal,
}

/// A line of a summary, with the lines that are indented below it.
#[derive(Clone, Debug)]
struct Line {
    section: Section,
    mark: Option<Ordinal>,
    lines: Vec<String>,
    weight: f64,
}

impl<'a> SnapshotWriter<'a> {
    fn new(analysis: &'a Analysis<'a>, compaction: &'a Compaction) -> Self {
        let next = Ordinal(analysis.tracker().last().0 + 1);
        let before = analysis.ordinals.get(compaction.tail_from).copied().unwrap_or(next);
        Self { analysis, compaction, tail: compaction.shortened_tail(analysis.messages()), before }
    }

    /// Lines that tell the state of the host.
    fn host_lines(&self) -> Snapshot {
        let options = self.analysis.options();
        self.analysis.input.host.snapshot(self.compaction.snapshot_budget, &options.estimator)
    }

    /// Writes the snapshot with `own` in it.
    fn write(&self, own: &Snapshot, repairing: Repairing) -> Composed {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let tail_from = self.compaction.tail_from;
        let rules_exceed_budget =
            rules_size(tracker, &self.tail, &options.estimator) > options.budget.snapshot;
        if tail_from > self.analysis.environment.len {
            let composed = self.compose_around(own, repairing);
            let snapshot = keep_rules(composed.snapshot, tracker, &self.tail);
            if self.analysis.total(tail_from, &self.tail, &snapshot) <= options.budget.window {
                return Composed { snapshot, rules_exceed_budget, ..composed };
            }
        }
        let snapshot = minimal_snapshot_before(self.analysis, tail_from, &self.tail);
        let coverage = measure_coverage(&tracker.pool, &snapshot.render(), &self.tail, self.before);
        Composed { snapshot, coverage, rules_exceed_budget }
    }

    /// Composes what stands beside `own`, which counts as known already, and puts both together.
    fn compose_around(&self, own: &Snapshot, repairing: Repairing) -> Composed {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let composed_beside = |budget: TokenCount, tail: &[Message]| {
            let options = ComposeOptions {
                budget,
                tail,
                before: self.before,
                focus: options.focus.as_deref(),
                estimator: options.estimator,
            };
            match repairing {
                Repairing::Missing => compose(tracker, &options),
                Repairing::Nothing => compose_standing(tracker, &options),
            }
        };
        if own.is_empty() {
            return composed_beside(self.compaction.snapshot_budget, &self.tail);
        }
        let text = own.render();
        let budget = self.compaction.snapshot_budget - options.estimator.text(&text).tokens() - TokenCount(1);
        let said = Part::text(Origin::Summary, text);
        let mut known = self.tail.clone();
        known.push(Message::new(MessageId::made_up("summary"), Role::User, vec![said]));
        let beside = composed_beside(budget, &known);
        let snapshot = merge(&beside.snapshot, own);
        let coverage = measure_coverage(&tracker.pool, &snapshot.render(), &self.tail, self.before);
        Composed { snapshot, coverage, ..beside }
    }

    /// The lines of a summary that fit in `room`, the heaviest first chosen, in their order.
    fn choose(&self, summary: &Snapshot, room: TokenCount, notes: &mut SummaryNotes) -> Vec<Line> {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let sources = Sources::new(tracker, self.before);
        let room = room.0 as f64;
        let cost = |line: &Line| {
            let texts = line.lines.iter().map(|text| options.estimator.text(text).as_f64() + 0.25);
            texts.sum::<f64>() + 2.0
        };
        let mut lines = Vec::new();
        for line in read_lines(summary) {
            // A line that is longer than all the room may still have sentences that fit.
            let pieces = if cost(&line) > room { line.into_sentences() } else { vec![line] };
            lines.extend(pieces);
        }
        let tags: f64 = Section::ALL
            .iter()
            .filter(|section| lines.iter().any(|line| line.section == **section))
            .map(|section| (2 * section.name().len() + 7) as f64 / options.estimator.weights.chars_per_token)
            .sum();
        for line in &mut lines {
            line.weigh(&sources, cost(line));
        }
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|a, b| lines[*b].weight.total_cmp(&lines[*a].weight).then(a.cmp(b)));
        let mut left = room - tags;
        let mut is_kept = vec![false; lines.len()];
        for index in order {
            let cost = cost(&lines[index]);
            if cost <= left {
                left -= cost;
                is_kept[index] = true;
            }
        }
        let all = lines.len();
        let mut kept = is_kept.into_iter();
        lines.retain(|_| kept.next().is_some_and(|kept| kept));
        notes.kept = lines.len();
        notes.cut = all - lines.len();
        lines.into_iter().filter_map(|line| self.attribute(line, &sources, notes)).collect()
    }

    /// Gives a line its mark, and what a model says of the user its place: a goal that the user did not set is dropped, a task
    /// that they did not give is told as found.
    fn attribute(&self, mut line: Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Option<Line> {
        if line.section == Section::ActiveConstraints {
            return self.attribute_rule(&line, sources, notes);
        }
        if matches!(line.section, Section::OverallGoal | Section::TaskState) {
            let text = line.lines.join(" ");
            let text = without_bullet(&text);
            if !sources.is_asked_for(without_state(text)) {
                if line.section == Section::OverallGoal {
                    notes.unsourced.push(text.to_string());
                    return None;
                }
                line =
                    Line { section: Section::RecentActions, lines: vec![format!("{FOUND}{text}")], ..line };
            }
        }
        let mark = sources.mark(line.mark, &line.lines);
        if mark.is_none() {
            notes.unsourced.extend(line.lines.first().cloned());
        }
        Some(Line { mark, ..line })
    }

    fn attribute_rule(&self, line: &Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Option<Line> {
        let text = line.lines.join(" ");
        let rule = without_bullet(&text);
        // What the tracker knows as a rule, or already counts among the user's words, is written from there.
        if self.analysis.tracker().rules().active().any(|known| sources::says(rule, &known.text)) {
            return None;
        }
        if let Some(quote) = sources.quote(rule) {
            let is_retired =
                self.analysis.tracker().rules().retired().any(|rule| sources::says(&quote.text, &rule.text));
            if is_retired || notes.quoted.contains(&quote) {
                return None;
            }
            notes.quoted.push(quote.clone());
            let mut rules = self.analysis.tracker().rules().active();
            if rules.any(|rule| sources::says(&rule.text, &quote.text)) {
                return None;
            }
            return Some(Line { mark: Some(quote.message), lines: vec![quote.text], ..line.clone() });
        }
        let rule = rule.trim_start_matches(FOUND.trim_end()).trim_start();
        if rule.is_empty() || notes.found.iter().any(|known| known == rule) {
            return None;
        }
        notes.found.push(rule.to_string());
        let mark = sources.mark(line.mark, &line.lines);
        Some(Line { mark, lines: vec![format!("{FOUND}{rule}")], ..line.clone() })
    }
}

impl Line {
    fn into_sentences(self) -> Vec<Self> {
        let text = self.lines.join("\n");
        let pieces = split_units(&text).into_iter();
        pieces.map(|unit| Self { lines: vec![unit.text.to_string()], ..self.clone() }).collect()
    }

    /// Weighs a line by what it names and what its section is for, for what it costs.
    fn weigh(&mut self, sources: &Sources<'_>, cost: f64) {
        let section = match self.section {
            Section::OverallGoal => 3.0,
            Section::ActiveConstraints | Section::UserSaid => 2.0,
            Section::TaskState => 1.5,
            Section::KeyKnowledge | Section::RecentActions => 0.5,
            // The record of work knows these for certain.
            Section::ArtifactTrail | Section::FileSystemState => 0.2,
        };
        self.weight = (section + sources.weight(&self.lines)) / cost;
    }
}

/// The lines of a summary, each with those indented below it. Text in sections of its own counts as knowledge; the user's
/// words are known better than a model could tell them.
fn read_lines(summary: &Snapshot) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for (section, entries) in summary.sections().filter(|(section, _)| *section != Section::UserSaid) {
        for entry in entries {
            let mark = entry.marks().last().copied();
            for (nth, text) in entry.lines().iter().enumerate() {
                let is_more = nth > 0 && text.starts_with([' ', '\t']);
                match lines.last_mut().filter(|_| is_more) {
                    Some(line) => line.lines.push(text.clone()),
                    None => lines.push(Line { section, mark, lines: vec![text.clone()], weight: 0.0 }),
                }
            }
        }
    }
    for text in summary.others().iter().flat_map(|other| other.text().lines()).filter(|text| !text.is_empty())
    {
        let lines_of = vec![text.to_string()];
        lines.push(Line { section: Section::KeyKnowledge, mark: None, lines: lines_of, weight: 0.0 });
    }
    lines
}

fn without_bullet(text: &str) -> &str {
    let text = text.trim();
    let number = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = number.len() < text.len() && number.starts_with(['.', ')']);
    let text = if is_numbered { &number[1..] } else { text };
    text.trim_start_matches(['-', '*', '+', '•']).trim()
}

/// Puts two snapshots together. The goal is said once; the record of work stands before what else is said about files, and
/// the user's rules before those that a model found.
fn merge(beside: &Snapshot, own: &Snapshot) -> Snapshot {
    let mut merged = Snapshot::new(beside.through());
    for section in Section::ALL {
        let own = own.entries(section);
        let entries = beside.entries(section);
        let (before, behind) = match section {
            Section::OverallGoal if !own.is_empty() => Default::default(),
            Section::ActiveConstraints | Section::ArtifactTrail | Section::FileSystemState => {
                (entries.to_vec(), Vec::new())
            }
            _ => (Vec::new(), entries.to_vec()),
        };
        let all = before.into_iter().chain(own.iter().cloned()).chain(behind);
        all.for_each(|entry| merged.push(section, entry));
    }
    merged
}

#[cfg(test)]
mod tests;
