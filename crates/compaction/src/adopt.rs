//! Adopts a model's summary and the state of the host into a snapshot, beside what is known for certain.
//!
//! A model's summary is prose of an untrusted writer. Its lines are kept within a share of the budget, the heaviest first, and
//! get the mark of the message that says the same; a line that no message supports is reported. A goal that no message of the
//! user's supports is dropped, a rule that they did not say and a task that they did not give are marked as *found*. What is
//! certain and missing is added: rules, requests, the record of work, and values that were seen once. Nothing is quoted to
//! fill the room that is left.

mod sources;

use longhaul_conversation::{
    Estimate, Estimator, Message, MessageId, Ordinal, Origin, Part, Role, TokenCount,
};
use longhaul_extract::measure_coverage;
use longhaul_snapshot::{DONE, Entry, FOUND, Section, Snapshot, without_state};
use longhaul_text::{Subject, is_wide, split_units};
use serde::Serialize;

use self::sources::Sources;
use crate::analysis::Analysis;
use crate::compose::{ComposeOptions, Composed, Repairing, compose, compose_beside};
use crate::last_resort::minimal_snapshot_before;
use crate::plan::Compaction;
use crate::required::{keep_rules, rules_size};

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
    pub rules_found: Vec<String>,
    /// Open tasks that the user did not give.
    pub tasks_found: Vec<String>,
    /// Goals that no message of the user's supports, which were dropped.
    pub goals_dropped: Vec<String>,
    /// Lines that no message supports.
    pub unsupported: Vec<String>,
    /// True if enough of it is about this conversation to stand for it.
    pub has_substance: bool,
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
    writer.write(&writer.host_lines(), Author::Longhaul)
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
    (writer.write(&own, Author::Model(repairing)), notes)
}

/// Author of a snapshot's prose.
#[derive(Clone, Copy)]
enum Author {
    /// Statements and names are chosen from the conversation.
    Longhaul,
    /// A model; only what is certain stands beside its lines.
    Model(Repairing),
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
    fn write(&self, own: &Snapshot, author: Author) -> Composed {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let tail_from = self.compaction.tail_from;
        let rules_exceed_budget =
            rules_size(tracker, &self.tail, &options.estimator) > options.budget.snapshot;
        if tail_from > self.analysis.environment.len {
            let composed = self.compose_around(own, author);
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
    fn compose_around(&self, own: &Snapshot, author: Author) -> Composed {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let composed_beside = |budget: TokenCount, tail: &[Message]| {
            let options = ComposeOptions {
                budget,
                tail,
                before: self.before,
                focus: options.focus.as_deref(),
                estimator: options.estimator,
            };
            match author {
                Author::Longhaul => compose(tracker, &options),
                Author::Model(repairing) => {
                    compose_beside(tracker, &options, self.compaction.snapshot_budget, repairing)
                }
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
        let snapshot = merge(&beside.snapshot, own, self.before);
        let coverage = measure_coverage(&tracker.pool, &snapshot.render(), &self.tail, self.before);
        Composed { snapshot, coverage, ..beside }
    }

    /// The lines of a summary that fit in `room`, the heaviest first chosen, in their order.
    fn choose(&self, summary: &Snapshot, room: TokenCount, notes: &mut SummaryNotes) -> Vec<Line> {
        let (tracker, options) = (self.analysis.tracker(), self.analysis.options());
        let messages = &self.analysis.messages()[..self.compaction.tail_from];
        let sources = Sources::new(tracker, messages, &self.analysis.ordinals, self.before);
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
        let mut substance = Substance::of(messages, &options.estimator);
        let lines = lines.into_iter().filter_map(|line| {
            let words = line.lines.join(" ");
            let attributed = self.attribute(line, &sources, notes);
            if attributed.is_supported {
                substance.add(&words);
            }
            attributed.line
        });
        let lines = lines.collect();
        notes.has_substance = substance.is_enough();
        lines
    }

    /// Gives a line its mark, and what a model says of the user its place: a goal that the user did not set is dropped, a task
    /// that they did not give is told as found.
    fn attribute(&self, line: Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Attributed {
        match line.section {
            Section::ActiveConstraints => self.attribute_rule(&line, sources, notes),
            Section::OverallGoal => attribute_goal(&line, sources, notes),
            Section::TaskState => attribute_task(line, sources, notes),
            _ => attribute_fact(line, sources, notes),
        }
    }

    fn attribute_rule(&self, line: &Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Attributed {
        let text = line.lines.join(" ");
        let rule = without_bullet(&text);
        // What the tracker knows as a rule, or already counts among the user's words, is written from there.
        if self.analysis.tracker().rules().active().any(|known| sources::says(rule, &known.text)) {
            return Attributed::told_elsewhere();
        }
        if let Some(quote) = sources.quote(rule) {
            let is_retired =
                self.analysis.tracker().rules().retired().any(|rule| sources::says(&quote.text, &rule.text));
            if is_retired || notes.quoted.contains(&quote) {
                return Attributed::told_elsewhere();
            }
            notes.quoted.push(quote.clone());
            let mut rules = self.analysis.tracker().rules().active();
            if rules.any(|rule| sources::says(&rule.text, &quote.text)) {
                return Attributed::told_elsewhere();
            }
            let line = Line { mark: Some(quote.message), lines: vec![quote.text], ..line.clone() };
            return Attributed { line: Some(line), is_supported: true };
        }
        let rule = rule.trim_start_matches(FOUND.trim_end()).trim_start();
        if rule.is_empty() || notes.rules_found.iter().any(|known| known == rule) {
            return Attributed { line: None, is_supported: false };
        }
        notes.rules_found.push(rule.to_string());
        let mark = sources.mark(line.mark, &line.lines);
        let line = Line { lines: vec![format!("{FOUND}{rule}")], mark, ..line.clone() };
        Attributed { line: Some(line), is_supported: mark.is_some() }
    }
}

/// A line with the place it gets.
struct Attributed {
    /// None if it is told elsewhere or nowhere.
    line: Option<Line>,
    /// True if a message supports it.
    is_supported: bool,
}

impl Attributed {
    fn told_elsewhere() -> Self {
        Self { line: None, is_supported: true }
    }
}

/// Keeps the sentences of a goal that the user's messages support; the others are dropped, so that ours stand.
fn attribute_goal(line: &Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Attributed {
    let text = line.lines.join(" ");
    let mut mark = None;
    let mut kept: Vec<String> = Vec::new();
    for unit in split_units(without_bullet(&text)) {
        match sources.asked_in(unit.text) {
            Some(at) => {
                mark = mark.or(Some(at));
                kept.push(unit.text.to_string());
            }
            None => notes.goals_dropped.push(unit.text.to_string()),
        }
    }
    let is_supported = !kept.is_empty();
    let line = is_supported.then(|| Line { mark, lines: vec![kept.join(" ")], ..line.clone() });
    Attributed { line, is_supported }
}

/// Keeps a task that the user gave. Any other is told as what was done, or as found.
fn attribute_task(line: Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Attributed {
    let text = line.lines.join(" ");
    let text = without_bullet(&text);
    let task = without_state(text);
    if let Some(at) = sources.asked_in(task) {
        let mark = sources.mark(line.mark, &line.lines).or(Some(at));
        return Attributed { line: Some(Line { mark, ..line }), is_supported: true };
    }
    let section = Section::RecentActions;
    if text.starts_with(DONE) {
        let line = Line { section, lines: vec![format!("Done: {task}")], ..line };
        return attribute_fact(line, sources, notes);
    }
    notes.tasks_found.push(text.to_string());
    let mark = sources.mark(line.mark, &line.lines);
    let line = Line { section, mark, lines: vec![format!("{FOUND}{text}")], ..line };
    Attributed { line: Some(line), is_supported: mark.is_some() }
}

fn attribute_fact(line: Line, sources: &Sources<'_>, notes: &mut SummaryNotes) -> Attributed {
    let mark = sources.mark(line.mark, &line.lines);
    if mark.is_none() {
        notes.unsupported.extend(line.lines.first().cloned());
    }
    Attributed { line: Some(Line { mark, ..line }), is_supported: mark.is_some() }
}

/// Measures how much of a summary is about the conversation.
struct Substance {
    words: usize,
    least: usize,
}

/// A conversation of this size is not told in fewer words than these, whatever it was about.
const LARGE: TokenCount = TokenCount(2_000);
const LEAST_WORDS: usize = 10;

impl Substance {
    fn of(messages: &[Message], estimator: &Estimator) -> Self {
        let size: Estimate = messages.iter().map(|message| estimator.message(message)).sum();
        Self { words: 0, least: if size.tokens() < LARGE { 1 } else { LEAST_WORDS } }
    }

    fn add(&mut self, text: &str) {
        // Chinese and Japanese are written without spaces: two characters make about one word.
        let wide = text.chars().filter(|c| is_wide(*c)).count();
        let words = text.split(|c: char| c.is_whitespace() || is_wide(c));
        let words = words.filter(|word| word.contains(char::is_alphanumeric));
        self.words += words.count() + wide.div_ceil(2);
    }

    fn is_enough(&self) -> bool {
        self.words >= self.least
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

/// The tasks of a model's and our own, each told once. Where a model calls done what is open, it is open: we know what
/// happened since.
fn merge_tasks(own: &[Entry], entries: &[Entry]) -> (Vec<Entry>, Vec<Entry>) {
    let tasks = |entries: &[Entry]| entries.iter().cloned().map(Task::of).collect::<Vec<_>>();
    let (mut own, mut entries) = (tasks(own), tasks(entries));
    let is_open_in = |entries: &[Task], task: &Task| {
        entries.iter().any(|ours| !ours.is_done && ours.subject.stands_in(&task.subject))
    };
    own.retain(|task| !task.is_done || !is_open_in(&entries, task));
    entries.retain(|ours| !own.iter().any(|task| ours.subject.stands_in(&task.subject)));
    let plain = |tasks: Vec<Task>| tasks.into_iter().map(|task| task.entry).collect();
    (plain(own), plain(entries))
}

/// A line of the task state and what it is about.
struct Task {
    subject: Subject,
    is_done: bool,
    entry: Entry,
}

impl Task {
    fn of(entry: Entry) -> Self {
        let lines: Vec<&str> = entry.lines().iter().map(|line| without_bullet(line)).collect();
        let text: Vec<&str> = lines.iter().map(|line| without_state(line)).collect();
        let is_done = lines.first().is_some_and(|line| line.starts_with(DONE));
        Self { subject: Subject::of(&text.join(" ")), is_done, entry }
    }
}

fn without_bullet(text: &str) -> &str {
    let text = text.trim();
    let number = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_numbered = number.len() < text.len() && number.starts_with(['.', ')']);
    let text = if is_numbered { &number[1..] } else { text };
    text.trim_start_matches(['-', '*', '+', '•']).trim()
}

/// Puts two snapshots together. A goal is said once, and so is a task; the record of work stands before what else is said
/// about files, and the user's rules before those that a model found. What the user wants since `before`, no summary of what
/// stands before it can say.
fn merge(beside: &Snapshot, own: &Snapshot, before: Ordinal) -> Snapshot {
    let mut merged = Snapshot::new(beside.through());
    for section in Section::ALL {
        let own = own.entries(section);
        let entries = beside.entries(section);
        let (before, behind) = match section {
            Section::OverallGoal if !own.is_empty() => {
                let is_new = |entry: &&Entry| entry.marks().iter().any(|mark| *mark >= before);
                (Vec::new(), entries.iter().filter(is_new).cloned().collect())
            }
            Section::TaskState if !own.is_empty() => {
                let (own, entries) = merge_tasks(own, entries);
                own.into_iter().chain(entries).for_each(|entry| merged.push(section, entry));
                continue;
            }
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
