//! Runs methods over a session and collects their figures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use longhaul_conversation::{FaultKind, Message, TokenCount, find_faults};

use crate::anchors::AnchorCollector;
use crate::chain_measures::{ChainMeasures, ChainMemory};
use crate::figures::{Cell, Figures, Measure, SessionReport, mean};
use crate::index::TextIndex;
use crate::junk::{JunkCount, JunkDetector, JunkKind};
use crate::method::{Claim, CompactionTask, Method};
use crate::planted::{RULES, plant};
use crate::replay::{CompactionStep, chain, cut_points, tail_start};
use crate::rereads::rereads;
use crate::score::{KeptShare, KeptShares, Needs};
use crate::session::EvalSession;
use crate::text::{Rendering, count_characters, count_tokens, readable_text};

/// The settings of an evaluation.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The budgets to test.
    pub budgets: Vec<TokenCount>,
    /// The shares of a session's tokens at which it is cut.
    pub cuts: Vec<f64>,
    /// The fewest needed names at a cut point that count for recall.
    pub min_anchors: usize,
    /// The number of compactions in a chain.
    pub chain: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budgets: [1_000, 2_000, 4_000, 8_000].map(TokenCount).to_vec(),
            cuts: vec![0.4, 0.6, 0.8],
            min_anchors: 5,
            chain: 5,
        }
    }
}

/// Evaluates `methods` on one session.
pub fn evaluate(session: &EvalSession, methods: &[Method], settings: &Settings) -> SessionReport {
    let replay = PreparedSession::prepare(session, settings);
    let runs = methods.iter().flat_map(|method| settings.budgets.iter().map(move |budget| (method, *budget)));
    let cells = runs.map(|(method, budget)| {
        let figures = MethodRun { replay: &replay, method, budget, figures: Figures::default() }.figures();
        Cell { method: method.name.clone(), budget, figures }
    });
    SessionReport {
        name: session.name.clone(),
        tokens: session.tokens,
        class: session.class(),
        cells: cells.collect(),
        rereads: rereads(&session.messages),
        needed: replay.points.iter().map(|point| point.needs.anchor_count()).collect(),
    }
}

/// A session with everything precomputed that does not depend on a method.
struct PreparedSession<'s> {
    messages: &'s [Message],
    directory: Option<&'s str>,
    points: Vec<CutPoint>,
    min_anchors: usize,
    /// The chain that ends at the last cut point.
    chain: Vec<CompactionStep>,
    /// What the first compaction of the chain evicts.
    first_head: TextIndex,
    /// The session up to the last cut point, with planted rules.
    planted: Vec<Message>,
    planted_chain: Vec<CompactionStep>,
    /// The rules in its compacted part, and those of them without a cue word.
    planted_rules: [Vec<&'static str>; 2],
    /// Expected answers that occur in the session, in lower case.
    answers: Vec<String>,
}

/// A cut point, at which the session is compacted once.
struct CutPoint {
    step: CompactionStep,
    needs: Needs,
    /// Recall by the length of what is compacted.
    recall_by_length: Measure,
    junk: JunkDetector,
}

impl<'s> PreparedSession<'s> {
    fn prepare(session: &'s EvalSession, settings: &Settings) -> Self {
        let messages = session.messages.as_slice();
        let points: Vec<CutPoint> = cut_points(messages, &settings.cuts)
            .into_iter()
            .map(|step| {
                let (head, tail) = messages[..step.at].split_at(step.tail_from);
                let needs = Needs::of(head, tail, &messages[step.at..], session.directory.as_deref());
                let recall_by_length = Measure::recall_by_length(count_tokens(head));
                CutPoint { step, needs, recall_by_length, junk: JunkDetector::new(head) }
            })
            .collect();
        let before = points.last().map_or(&[][..], |last| &messages[..last.step.at]);
        let chain_steps = chain(before, settings.chain);
        let first_head = chain_steps.first().map_or(&[][..], |first| &messages[..first.tail_from]);
        let planted = plant(before);
        let planted_chain = chain(&planted, settings.chain);
        let planted_head = planted_chain.last().map_or(&[][..], |last| &planted[..last.tail_from]);
        let planted_head = Rendering::of(planted_head).text;
        let planted_in_head = |rules: &[&'static str]| {
            rules.iter().copied().filter(|rule| planted_head.contains(rule)).collect::<Vec<_>>()
        };
        let text = Rendering::of(messages).text.to_lowercase();
        let mut answers: Vec<String> =
            session.questions.iter().map(|asked| asked.expected.to_lowercase()).collect();
        answers.retain(|answer| text.contains(answer.as_str()));
        Self {
            messages,
            directory: session.directory.as_deref(),
            min_anchors: settings.min_anchors,
            first_head: TextIndex::new(Rendering::of(first_head)),
            chain: chain_steps,
            planted_rules: [planted_in_head(&RULES), planted_in_head(&RULES[RULES.len() / 2..])],
            planted_chain,
            planted,
            points,
            answers,
        }
    }
}

/// One method with one budget on one session.
struct MethodRun<'r> {
    replay: &'r PreparedSession<'r>,
    method: &'r Method,
    budget: TokenCount,
    figures: Figures,
}

impl MethodRun<'_> {
    fn figures(mut self) -> Figures {
        self.single_compactions();
        self.chained_compactions(ChainMemory::Log);
        self.chained_compactions(ChainMemory::Files);
        self.planted_rules();
        self.answers();
        self.figures
    }

    fn single_compactions(&mut self) {
        let (mut recall, mut grounded) = (Vec::new(), Vec::new());
        let mut claims: Vec<Claim> = Vec::new();
        let mut by_length: BTreeMap<Measure, Vec<f64>> = BTreeMap::new();
        let mut all = KeptShares::default();
        let mut junk = JunkCount::default();
        let (mut time, mut added, mut names) = (Duration::ZERO, 0, 0);
        for point in &self.replay.points {
            let start = Instant::now();
            let result = self.compact_once(&self.replay.messages[..point.step.at], point.step.tail_from);
            time += start.elapsed();
            let kept = point.needs.measure(&result.index());
            added += result.added;
            let text = result.added_text();
            names += self.names_in(&text).len();
            junk += point.junk.count(&text);
            if kept.anchors.of >= self.replay.min_anchors {
                recall.extend(kept.anchors.value());
                claims.extend(result.claim);
                by_length.entry(point.recall_by_length).or_default().extend(kept.anchors.value());
                all.quarters.iter_mut().zip(kept.quarters).for_each(|(sum, quarter)| *sum += quarter);
                grounded.extend(kept.grounded.value());
                all.paths += kept.paths;
                all.remembered += kept.remembered;
            }
            all.sentences += kept.sentences;
            all.rules += kept.rules;
        }
        let count = self.replay.points.len().max(1);
        self.figures.time = time / count as u32;
        self.figures.added = added as f64 / count as f64;
        self.figures.names = names as f64 / count as f64;
        for (measure, shares) in by_length {
            self.figures.set(measure, mean(shares));
        }
        for (measure, share) in Measure::RECALL_BY_QUARTER.into_iter().zip(all.quarters) {
            self.figures.set(measure, share.value().filter(|_| share.of >= self.replay.min_anchors));
        }
        self.figures.set(Measure::Junk, junk.all().value());
        for (measure, kind) in Measure::JUNK.into_iter().zip(JunkKind::ALL) {
            self.figures.set(measure, junk.of_kind(kind).value());
        }
        self.figures.set(Measure::Recall, mean(recall));
        self.figures.set(Measure::ClaimedByWeight, mean(claims.iter().map(|claim| claim.by_weight)));
        self.figures.set(Measure::ClaimedByCount, mean(claims.iter().map(|claim| claim.by_count)));
        self.figures.set(Measure::Grounded, mean(grounded));
        self.figures.set(Measure::Paths, all.paths.value());
        self.figures.set(Measure::Remembered, all.remembered.value());
        self.figures.set(Measure::Sentences, all.sentences.value());
        self.figures.set(Measure::Rules, all.rules.value());
    }

    /// Sets the measures of a chain.
    fn chained_compactions(&mut self, memory: ChainMemory) {
        let replay = self.replay;
        let measures = ChainMeasures::of(memory);
        if let Some(point) = replay.points.last() {
            let chain = self.compact_chain(replay.messages, &replay.chain, memory);
            let kept = point.needs.measure(&chain.last.index());
            let enough = |share: &KeptShare| share.of >= replay.min_anchors;
            self.figures.set(measures.recall, Some(kept.anchors).filter(enough).and_then(KeptShare::value));
            let grounded = kept.grounded.value().filter(|_| enough(&kept.anchors));
            self.figures.set(measures.grounded, grounded);
            self.figures.set(measures.sentences, kept.sentences.value());
            self.figures.set(measures.rules, kept.rules.value());
            if replay.chain.len() > 1 {
                let [all, needed] = self.kept_since_first(&chain, &point.needs);
                self.figures.set(measures.kept, Some(all).filter(enough).and_then(KeptShare::value));
                self.figures
                    .set(measures.kept_needed, Some(needed).filter(enough).and_then(KeptShare::value));
            }
        }
        let chain = self.compact_chain(&replay.planted, &replay.planted_chain, memory);
        if !replay.planted_chain.is_empty() {
            let planted = rules_in(&chain.last.index(), &replay.planted_rules[0]);
            self.figures.set(measures.planted, planted.value());
        }
    }

    /// The share of names in the first snapshot of a chain that the last conversation still has: of all that stood in the
    /// history, and of those that the rest of the session needed.
    fn kept_since_first(&self, chain: &ChainEnds, needs: &Needs) -> [KeptShare; 2] {
        let last = TextIndex::new(Rendering::of(&chain.last.messages));
        let mut all = KeptShare::default();
        let names = self.names_in(&chain.first.added_text());
        let names = names.iter().filter(|name| self.replay.first_head.contains(name));
        names.for_each(|name| all.count(last.contains(name)));
        let first = chain.first.index();
        let mut needed = KeptShare::default();
        let names = needs.names().filter(|name| first.contains(name));
        names.for_each(|name| needed.count(last.contains(name)));
        [all, needed]
    }

    /// The distinct names in the text of a snapshot.
    fn names_in(&self, text: &str) -> Vec<String> {
        let mut names = AnchorCollector::new(self.replay.directory);
        names.scan_snapshot(text);
        names.into_vec().into_iter().map(|anchor| anchor.text).collect()
    }

    fn planted_rules(&mut self) {
        if let Some(step) = self.replay.planted_chain.last() {
            let index = self.compact_once(&self.replay.planted, step.tail_from).index();
            let [all, uncued] = &self.replay.planted_rules;
            self.figures.set(Measure::Planted, rules_in(&index, all).value());
            self.figures.set(Measure::PlantedUncued, rules_in(&index, uncued).value());
        }
    }

    fn answers(&mut self) {
        if self.replay.answers.is_empty() {
            return;
        }
        let messages = self.replay.messages;
        let result = self.compact_once(messages, tail_start(messages));
        let text = Rendering::of(&result.messages).text.to_lowercase();
        let mut share = KeptShare::default();
        self.replay.answers.iter().for_each(|answer| share.count(text.contains(answer.as_str())));
        self.figures.set(Measure::Answers, share.value());
    }

    /// Follows a session from its start and compacts it once, at its end.
    fn compact_once(&mut self, context: &[Message], tail_from: usize) -> Compacted {
        let mut compactor = self.method.open();
        context.iter().for_each(|message| compactor.observe(message));
        let task = CompactionTask { context, tail_from, budget: self.budget };
        let messages = compactor.compact(&task);
        Compacted { claim: compactor.claim(), ..self.count_defects(messages, &task) }
    }

    /// Follows a session through all compactions of a chain; returns the first and the last result.
    fn compact_chain(&mut self, log: &[Message], steps: &[CompactionStep], memory: ChainMemory) -> ChainEnds {
        let mut compactor = self.method.open();
        let mut seen = 0;
        let mut ends = ChainEnds::default();
        for (nth, step) in steps.iter().enumerate() {
            let new = &log[seen..step.at];
            seen = step.at;
            let mut context = std::mem::take(&mut ends.last.messages);
            context.extend_from_slice(new);
            match memory {
                ChainMemory::Log => new.iter().for_each(|message| compactor.observe(message)),
                ChainMemory::Files => {
                    compactor = self.method.open();
                    context.iter().for_each(|message| compactor.observe(message));
                }
            }
            let tail = &log[step.tail_from].id;
            let kept = context.iter().position(|message| message.id == *tail);
            let tail_from = kept.unwrap_or_else(|| context.len().saturating_sub(step.at - step.tail_from));
            let task = CompactionTask { context: &context, tail_from, budget: self.budget };
            let messages = compactor.compact(&task);
            ends.last = self.count_defects(messages, &task);
            if nth == 0 {
                ends.first = ends.last.clone();
            }
        }
        ends
    }

    /// Counts the defects of a result.
    fn count_defects(&mut self, messages: Vec<Message>, task: &CompactionTask<'_>) -> Compacted {
        let added = count_characters(&messages).saturating_sub(count_characters(task.tail())).div_ceil(4);
        let tail_len = messages.ends_with(task.tail()).then_some(task.tail().len());
        let defects = &mut self.figures.defects;
        for fault in find_faults(&messages) {
            match fault.kind {
                FaultKind::WrongFirstRole => defects.bad_starts += 1,
                _ => defects.pairing += 1,
            }
        }
        // If nothing can be cut off, nothing was added either.
        defects.over_budget += usize::from(task.tail_from > 0 && TokenCount(added) > task.budget);
        defects.changed_tails += usize::from(tail_len.is_none());
        Compacted { messages, added, tail_len: tail_len.unwrap_or(0), claim: None }
    }
}

/// The first and the last result of a chain.
#[derive(Default)]
struct ChainEnds {
    first: Compacted,
    last: Compacted,
}

/// The result of a compaction.
#[derive(Clone, Default)]
struct Compacted {
    messages: Vec<Message>,
    /// The tokens besides the tail.
    added: u64,
    /// The number of messages at the end that are the unchanged tail.
    tail_len: usize,
    /// The coverage that the method claims.
    claim: Option<Claim>,
}

impl Compacted {
    /// An index of the part that can hold needed names: the unchanged tail holds none.
    fn index(&self) -> TextIndex {
        TextIndex::new(Rendering::of(self.added_messages()))
    }

    /// The text of what stands before the unchanged tail.
    fn added_text(&self) -> String {
        self.added_messages().iter().map(readable_text).collect()
    }

    fn added_messages(&self) -> &[Message] {
        &self.messages[..self.messages.len() - self.tail_len]
    }
}

fn rules_in(index: &TextIndex, rules: &[&str]) -> KeptShare {
    let mut share = KeptShare::default();
    rules.iter().for_each(|rule| share.count(index.text().contains(rule)));
    share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::method::Compactor;
    use crate::session::Class;
    use longhaul_conversation::{Origin, Part, Role, ToolCall, ToolResult};
    use serde_json::json;

    /// A session in which every turn names things of half the session ago.
    fn session(turns: usize) -> EvalSession {
        session_naming(turns, turns / 2)
    }

    /// A session in which every turn names things of `back` turns ago.
    fn session_naming(turns: usize, back: usize) -> EvalSession {
        let name = |nth: usize| format!("handleCase{nth}");
        let messages = (0..turns).flat_map(|nth| {
            let old = name(nth.saturating_sub(back));
            let ask =
                format!("Please look at {} in src/case{nth}.rs next. Never rename {old} again.", name(nth));
            let paths = [nth, nth.saturating_sub(back)].map(|nth| format!("src/case{nth}.rs"));
            let call = ToolCall::new(nth.to_string(), "read").with_args(json!({"paths": paths}));
            let output = format!("fn {}() calls the helper that {old} uses for its table", name(nth));
            [
                Message::new(format!("u{nth}"), Role::User, vec![Part::user_text(ask)]),
                Message::new(format!("c{nth}"), Role::Model, vec![Part::call(call)]),
                Message::new(
                    format!("r{nth}"),
                    Role::User,
                    vec![Part::result(ToolResult::text(nth.to_string(), output))],
                ),
            ]
        });
        let messages: Vec<Message> = messages.collect();
        let tokens = crate::count_tokens(&messages);
        EvalSession { name: "made".into(), messages, directory: None, questions: Vec::new(), tokens }
    }

    /// Keeps every message it was ever shown, or none of the head.
    struct Keep(bool, Vec<Message>);

    impl Compactor for Keep {
        fn observe(&mut self, message: &Message) {
            self.1.push(message.clone());
        }

        fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
            if self.0 {
                return task.context.to_vec();
            }
            let note = Message::new("note", Role::User, vec![Part::text(Origin::Summary, "Cut.")]);
            std::iter::once(note).chain(task.tail().iter().cloned()).collect()
        }
    }

    #[track_caller]
    fn check_all(keep: bool, expected: f64) -> Figures {
        let session = session(60);
        let method = Method::new("keep", move || Keep(keep, Vec::new()));
        let report = evaluate(
            &session,
            &[method],
            &Settings { budgets: vec![TokenCount(100)], ..Settings::default() },
        );
        assert_eq!(report.class, Class::Small);
        assert!(report.needed.iter().all(|needed| *needed >= 5), "{:?}", report.needed);
        let figures = report.cells.into_iter().next().expect("one method, one budget").figures;
        let is_junk = |measure: Measure| measure.as_str().starts_with("junk");
        let missing: Vec<&'static str> = Measure::ALL
            .into_iter()
            .filter(|measure| figures.share(*measure).is_none())
            .map(Measure::as_str)
            .collect();
        // There are no questions, little is compacted, little of the first fifth is needed in the end, and a method that
        // keeps nothing has nothing to lose in a chain.
        let mut expected_missing =
            vec!["answers", "recall_20k_to_80k", "recall_over_80k", "log_kept_needed", "files_kept_needed"];
        // This method makes no claim of what it kept.
        expected_missing.extend(["claimed_by_weight", "claimed_by_count"]);
        if !keep {
            expected_missing.extend(["log_kept", "files_kept"]);
        }
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        assert_eq!(sorted(missing), sorted(expected_missing));
        let wrong: Vec<_> = figures
            .shares
            .iter()
            .filter(|(measure, share)| !is_junk(**measure) && **share != expected)
            .collect();
        assert!(wrong.is_empty(), "{wrong:?}");
        figures
    }

    #[test]
    fn who_keeps_everything_reaches_everything_over_budget() {
        let figures = check_all(true, 1.0);
        assert!(figures.defects.over_budget > 0);
        assert_eq!((figures.defects.pairing, figures.defects.changed_tails), (0, 0));
    }

    #[test]
    fn who_keeps_nothing_reaches_nothing_within_budget() {
        let figures = check_all(false, 0.0);
        assert_eq!(figures.defects, crate::Defects::default());
    }

    /// Keeps the names `handleCase…` of the newest messages of the head that fit, and a line of junk.
    struct Newest(usize);

    impl Compactor for Newest {
        fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
            let text: String = task.head().iter().map(readable_text).collect();
            let mut names: Vec<&str> = text
                .split(|c: char| !c.is_alphanumeric())
                .filter(|word| word.starts_with("handleCase"))
                .collect();
            names.reverse();
            let mut known = std::collections::HashSet::new();
            names.retain(|name| known.insert(*name));
            names.truncate(self.0);
            let note = format!("Names: {}\nread paths [\n", names.join(" and "));
            let note = Message::new("note", Role::User, vec![Part::text(Origin::Summary, note)]);
            std::iter::once(note).chain(task.tail().iter().cloned()).collect()
        }
    }

    #[test]
    fn chains_and_junk_are_told_apart_from_recall() {
        let settings = Settings { budgets: vec![TokenCount(100)], ..Settings::default() };
        let share = |kept: usize, measure: Measure| {
            let report =
                evaluate(&session_naming(60, 1), &[Method::new("newest", move || Newest(kept))], &settings);
            report.cells[0].figures.share(measure)
        };
        assert_eq!(share(1_000, Measure::FilesKept), Some(1.0), "each note has all of the one before");
        let few = share(10, Measure::FilesKept).expect("the first note has names");
        assert!(few < 0.5, "newer names take their place: {few}");
        assert_eq!(share(10, Measure::JunkEcho), Some(0.5));
        assert_eq!(share(10, Measure::Junk), Some(0.5), "a line counts for one kind");
        let report = evaluate(&session_naming(60, 1), &[Method::new("newest", || Newest(10))], &settings);
        assert_eq!(report.cells[0].figures.names, 10.0);
    }

    #[test]
    fn faults_are_the_methods_own() {
        struct Torn;
        impl Compactor for Torn {
            fn compact(&mut self, task: &CompactionTask<'_>) -> Vec<Message> {
                task.tail().iter().skip(2).cloned().collect()
            }
        }
        let settings = Settings { budgets: vec![TokenCount(100)], ..Settings::default() };
        let report = evaluate(&session(60), &[Method::new("torn", || Torn)], &settings);
        let defects = report.cells[0].figures.defects;
        assert!(defects.pairing > 0 && defects.changed_tails > 0, "{defects:?}");
    }
}
