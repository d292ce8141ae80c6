//! Keeps the lines of a conversation that may be quoted later, and what is known about their anchors.
//!
//! The pool is bounded: of each message its best lines, and in all no more than [`PoolSettings::most`]. What was said once
//! therefore stays available, in its own words, to every later compaction.

use std::collections::HashMap;

use longhaul_conversation::{Message, Ordinal};
use serde::{Deserialize, Serialize};

use super::anchors::{AnchorKind, scan_anchors};
use super::gather::{Gathered, Source};
use super::weigh::weigh_anchors;

/// A line that may be quoted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) at: Ordinal,
    pub(crate) source: Source,
    pub(crate) text: Box<str>,
    /// Its anchors, by number, each once.
    pub(crate) anchors: Box<[u32]>,
}

/// What is known about an anchor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    pub(crate) text: Box<str>,
    pub(crate) kind: AnchorKind,
    /// In how many messages the model wrote or passed it.
    pub(crate) used: u16,
    /// In how many results it stood.
    pub(crate) shown: u16,
    /// In how many messages a person typed it.
    pub(crate) typed: u16,
    /// Whether the model wrote it in prose.
    pub(crate) in_prose: bool,
    /// The first message that had it.
    pub(crate) first: Ordinal,
    /// The last message that had it.
    pub(crate) last: Ordinal,
}

/// Lines and anchors of everything that was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pool {
    candidates: Vec<Candidate>,
    anchors: Vec<Anchor>,
    #[serde(skip)]
    numbers: HashMap<Box<str>, u32>,
    /// Characters of all candidates.
    size: usize,
    /// The working folder, which paths are seen from.
    root: Option<String>,
}

/// Of one message no more lines than this are kept.
pub(super) const MOST_LINES: usize = 400;
/// In all no more characters than this are kept: twenty times a large snapshot.
const MOST_CHARACTERS: usize = 20 * 8_000 * 4;

impl Pool {
    /// Paths inside `root` are seen from there.
    pub(crate) fn set_root(&mut self, root: &str) {
        self.root = Some(root.trim_end_matches('/').to_string()).filter(|root| root.len() > 1);
    }

    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    pub(crate) fn anchors(&self) -> &[Anchor] {
        &self.anchors
    }

    /// Takes in one message.
    pub(crate) fn observe(&mut self, message: &Message, at: Ordinal) {
        self.keep(&Gathered::of(message), at);
        if self.size > 2 * MOST_CHARACTERS {
            self.prune();
        }
    }

    /// Takes in a line that is known only from an earlier snapshot.
    pub(crate) fn observe_line(&mut self, text: &str, at: Ordinal) {
        let mut lines = Gathered::default();
        lines.add(Source::Model, text);
        self.keep(&lines, at);
    }

    fn keep(&mut self, gathered: &Gathered, at: Ordinal) {
        let mut lines: Vec<(f32, Candidate)> = Vec::new();
        let mut seen: HashMap<u32, Source> = HashMap::new();
        for (source, text, commands) in gathered.lines() {
            let mut anchors: Vec<u32> = Vec::new();
            let mut gain = 0.0;
            let mut numbers = self.anchors_of(text, at);
            for (_, command) in commands {
                numbers.push(self.number(AnchorKind::Command, command, at));
            }
            for number in numbers {
                if anchors.contains(&number) {
                    continue;
                }
                anchors.push(number);
                if seen.insert(number, source).is_none() {
                    gain += 1.0;
                    self.count(number, source, at);
                }
                if matches!(source, Source::Model | Source::User) {
                    self.anchors[number as usize].in_prose |= source == Source::Model;
                }
            }
            if anchors.is_empty() && source == Source::Output {
                continue;
            }
            let weight = gain / (20.0 + text.len() as f32);
            lines.push((weight, Candidate { at, source, text: text.into(), anchors: anchors.into() }));
        }
        if lines.len() > MOST_LINES {
            let mut weights: Vec<f32> = lines.iter().map(|(weight, _)| *weight).collect();
            weights.sort_by(|a, b| b.total_cmp(a));
            let least = weights[MOST_LINES - 1];
            let mut room = MOST_LINES;
            lines.retain(|(weight, _)| {
                let keep = *weight >= least && room > 0;
                room -= usize::from(keep);
                keep
            });
        }
        for (_, line) in lines {
            self.size += line.text.len();
            self.candidates.push(line);
        }
    }

    /// The anchors of a text, known ones and new ones, in order.
    fn anchors_of(&mut self, text: &str, at: Ordinal) -> Vec<u32> {
        let mut numbers = Vec::new();
        let root = self.root.clone();
        scan_anchors(text, &mut |kind, anchor| {
            let anchor = seen_from(root.as_deref(), anchor);
            if !anchor.is_empty() {
                numbers.push(self.number(kind, anchor, at));
            }
        });
        numbers
    }

    /// The anchors of a text that are known already.
    pub(crate) fn known_anchors(&self, text: &str, found: &mut impl FnMut(u32)) {
        scan_anchors(text, &mut |_, anchor| {
            if let Some(number) = self.numbers.get(seen_from(self.root.as_deref(), anchor)) {
                found(*number);
            }
        });
    }

    fn number(&mut self, kind: AnchorKind, text: &str, at: Ordinal) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.anchors.len() as u32;
        self.numbers.insert(text.into(), number);
        self.anchors.push(Anchor {
            text: text.into(),
            kind,
            used: 0,
            shown: 0,
            typed: 0,
            in_prose: false,
            first: at,
            last: at,
        });
        number
    }

    fn count(&mut self, number: u32, source: Source, at: Ordinal) {
        let anchor = &mut self.anchors[number as usize];
        anchor.last = at;
        let count = match source {
            Source::User => &mut anchor.typed,
            Source::Model | Source::Thought | Source::Call => &mut anchor.used,
            Source::Output => &mut anchor.shown,
        };
        *count = count.saturating_add(1);
    }

    /// Drops the lines that are least likely to be chosen ever again.
    fn prune(&mut self) {
        let weights = weigh_anchors(self, Ordinal(u32::MAX));
        let weight = |line: &Candidate| {
            let anchors = line.anchors.iter().map(|number| weights[*number as usize]);
            anchors.sum::<f32>() / (20.0 + line.text.len() as f32)
        };
        let mut order: Vec<(f32, usize)> =
            self.candidates.iter().enumerate().map(|(place, line)| (weight(line), place)).collect();
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut keep = vec![false; self.candidates.len()];
        let mut size = 0;
        for (_, place) in order {
            size += self.candidates[place].text.len();
            if size > MOST_CHARACTERS {
                break;
            }
            keep[place] = true;
        }
        let mut place = 0;
        self.candidates.retain(|_| {
            place += 1;
            keep[place - 1]
        });
        self.size = self.candidates.iter().map(|line| line.text.len()).sum();
        self.drop_unused_anchors();
    }

    /// Forgets the anchors that no line has any more and that were seen only once.
    fn drop_unused_anchors(&mut self) {
        let mut needed = vec![false; self.anchors.len()];
        for line in &self.candidates {
            line.anchors.iter().for_each(|number| needed[*number as usize] = true);
        }
        let mut renumbered: Vec<u32> = Vec::with_capacity(needed.len());
        let mut next = 0;
        for (anchor, needed) in self.anchors.iter().zip(&needed) {
            let keep = *needed || anchor.used + anchor.typed > 1;
            renumbered.push(if keep { next } else { u32::MAX });
            next += u32::from(keep);
        }
        let mut place = 0;
        self.anchors.retain(|_| {
            place += 1;
            renumbered[place - 1] != u32::MAX
        });
        for line in &mut self.candidates {
            line.anchors.iter_mut().for_each(|number| *number = renumbered[*number as usize]);
        }
        self.index();
    }

    /// Builds the numbers again, after reading from disk or dropping anchors.
    pub(crate) fn index(&mut self) {
        self.numbers =
            (0..).zip(&self.anchors).map(|(number, anchor)| (anchor.text.clone(), number)).collect();
    }
}

fn seen_from<'t>(root: Option<&str>, path: &'t str) -> &'t str {
    let inside = root.and_then(|root| path.strip_prefix(root));
    inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}
