//! Runs methods over a session and collects their figures.

use std::time::{Duration, Instant};

use longhaul_conversation::{FaultKind, Message, TokenCount, find_faults};

use crate::figures::{Cell, Figures, Measure, SessionReport, mean};
use crate::index::TextIndex;
use crate::method::{CompactionTask, Method};
use crate::planted::{RULES, plant};
use crate::replay::{CompactionStep, chain, cut_points, tail_start};
use crate::rereads::rereads;
use crate::score::{KeptShare, KeptShares, Needs};
use crate::session::EvalSession;
use crate::text::{Rendering, count_characters};

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
    points: Vec<CutPoint>,
    min_anchors: usize,
    /// The chain that ends at the last cut point.
    chain: Vec<CompactionStep>,
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
}

impl<'s> PreparedSession<'s> {
    fn prepare(session: &'s EvalSession, settings: &Settings) -> Self {
        let messages = session.messages.as_slice();
        let points: Vec<CutPoint> = cut_points(messages, &settings.cuts)
            .into_iter()
            .map(|step| {
                let (head, tail) = messages[..step.at].split_at(step.tail_from);
                let needs = Needs::of(head, tail, &messages[step.at..], session.directory.as_deref());
                CutPoint { step, needs }
            })
            .collect();
        let before = points.last().map_or(&[][..], |last| &messages[..last.step.at]);
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
            min_anchors: settings.min_anchors,
            chain: chain(before, settings.chain),
            planted_rules: [planted_in_head(&RULES), planted_in_head(&RULES[RULES.len() / 2..])],
            planted_chain,
            planted,
            points,
            answers,
        }
    }
}

/// The memory of a compactor in a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChainMemory {
    /// The session's log: all messages ever.
    Log,
    /// Only the result of the compaction before.
    Files,
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
        let log = [Measure::LogRecall, Measure::LogGrounded, Measure::LogSentences, Measure::LogRules];
        self.chained_compactions(ChainMemory::Log, log, Measure::LogPlanted);
        let files =
            [Measure::FilesRecall, Measure::FilesGrounded, Measure::FilesSentences, Measure::FilesRules];
        self.chained_compactions(ChainMemory::Files, files, Measure::FilesPlanted);
        self.planted_rules();
        self.answers();
        self.figures
    }

    fn single_compactions(&mut self) {
        let (mut recall, mut grounded) = (Vec::new(), Vec::new());
        let mut all = KeptShares::default();
        let (mut time, mut added) = (Duration::ZERO, 0);
        for point in &self.replay.points {
            let start = Instant::now();
            let result = self.compact_once(&self.replay.messages[..point.step.at], point.step.tail_from);
            time += start.elapsed();
            let kept = point.needs.measure(&result.index());
            added += result.added;
            if kept.anchors.of >= self.replay.min_anchors {
                recall.extend(kept.anchors.value());
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
        self.figures.set(Measure::Recall, mean(recall));
        self.figures.set(Measure::Grounded, mean(grounded));
        self.figures.set(Measure::Paths, all.paths.value());
        self.figures.set(Measure::Remembered, all.remembered.value());
        self.figures.set(Measure::Sentences, all.sentences.value());
        self.figures.set(Measure::Rules, all.rules.value());
    }

    /// Sets the four measures of a chain, and the share of planted rules it keeps.
    fn chained_compactions(&mut self, memory: ChainMemory, measures: [Measure; 4], planted: Measure) {
        let replay = self.replay;
        if let Some(point) = replay.points.last() {
            let result = self.compact_chain(replay.messages, &replay.chain, memory);
            let kept = point.needs.measure(&result.index());
            let enough = kept.anchors.of >= replay.min_anchors;
            let shares = [
                kept.anchors.value().filter(|_| enough),
                kept.grounded.value().filter(|_| enough),
                kept.sentences.value(),
                kept.rules.value(),
            ];
            measures.into_iter().zip(shares).for_each(|(measure, share)| self.figures.set(measure, share));
        }
        let result = self.compact_chain(&replay.planted, &replay.planted_chain, memory);
        if !replay.planted_chain.is_empty() {
            self.figures.set(planted, rules_in(&result.index(), &replay.planted_rules[0]).value());
        }
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
        self.count_defects(messages, &task)
    }

    /// Follows a session through all compactions of a chain; returns the last result.
    fn compact_chain(&mut self, log: &[Message], steps: &[CompactionStep], memory: ChainMemory) -> Compacted {
        let mut compactor = self.method.open();
        let mut seen = 0;
        let mut last = Compacted::default();
        for step in steps {
            let new = &log[seen..step.at];
            seen = step.at;
            let mut context = last.messages;
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
            last = self.count_defects(messages, &task);
        }
        last
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
        Compacted { messages, added, tail_len: tail_len.unwrap_or(0) }
    }
}

/// The result of a compaction.
#[derive(Default)]
struct Compacted {
    messages: Vec<Message>,
    /// The tokens besides the tail.
    added: u64,
    /// The number of messages at the end that are the unchanged tail.
    tail_len: usize,
}

impl Compacted {
    /// An index of the part that can hold needed names: the unchanged tail holds none.
    fn index(&self) -> TextIndex {
        TextIndex::new(Rendering::of(&self.messages[..self.messages.len() - self.tail_len]))
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

    /// A session in which every turn names things from earlier turns.
    fn session(turns: usize) -> EvalSession {
        let name = |nth: usize| format!("handleCase{nth}");
        let messages = (0..turns).flat_map(|nth| {
            let old = name(nth.saturating_sub(turns / 2));
            let ask =
                format!("Please look at {} in src/case{nth}.rs next. Never rename {old} again.", name(nth));
            let paths = [nth, nth.saturating_sub(turns / 2)].map(|nth| format!("src/case{nth}.rs"));
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
        let shares: Vec<(Measure, f64)> =
            Measure::ALL.into_iter().filter_map(|m| Some((m, figures.share(m)?))).collect();
        assert_eq!(shares.len(), Measure::ALL.len() - 1, "all but answers: {shares:?}");
        assert!(shares.iter().all(|(_, share)| *share == expected), "{shares:?}");
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
