//! Keeps the lines of a conversation that may be quoted later, and what is known about their anchors.
//!
//! The pool is bounded: of each message its best lines, and in all no more than [`PoolSettings::most`]. What was said once
//! therefore stays available, in its own words, to every later compaction.

use std::collections::HashMap;

use longhaul_conversation::{Body, Message, Ordinal, Origin, Part, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::anchors::{AnchorKind, scan_anchors};
use super::lines::{output_lines, prose_lines};

/// Who said a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Source {
    User,
    Model,
    Thought,
    Call,
    Output,
}

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
const MOST_LINES: usize = 400;
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
        let mut lines = Gathered::default();
        for part in &message.parts {
            gather(part, &mut lines);
        }
        self.keep(lines, at);
        if self.size > 2 * MOST_CHARACTERS {
            self.prune();
        }
    }

    /// Takes in a line that is known only from an earlier snapshot.
    pub(crate) fn observe_line(&mut self, text: &str, at: Ordinal) {
        let mut lines = Gathered::default();
        lines.add(Source::Model, text);
        self.keep(lines, at);
    }

    fn keep(&mut self, gathered: Gathered, at: Ordinal) {
        let mut lines: Vec<(f32, Candidate)> = Vec::with_capacity(gathered.lines.len());
        let mut seen: HashMap<u32, Source> = HashMap::new();
        for (source, range) in gathered.lines {
            let text = &gathered.text[range];
            let mut anchors: Vec<u32> = Vec::new();
            let mut gain = 0.0;
            let mut numbers = self.anchors_of(text, at);
            if source == Source::Call {
                each_command(text, &mut |command| {
                    numbers.push(self.number(AnchorKind::Command, command, at));
                });
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
        let weight = |line: &Candidate| {
            let anchors = line.anchors.iter().map(|number| self.anchors[*number as usize].weight());
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

impl Anchor {
    /// How likely it is that later work refers to this anchor, on a scale of its own.
    ///
    /// The shape is that of a logistic regression over what real sessions referred back to: what the model itself used
    /// counts most, then what the user typed; what only stood in an output is seldom needed again.
    pub(crate) fn weight(&self) -> f32 {
        let log = |count: u16| (1.0 + f32::from(count)).ln();
        let mut sum =
            -3.0 + 1.13 * log(self.used) + 0.29 * log(self.shown) + 0.66 * f32::from(self.typed.min(2));
        if self.in_prose {
            sum += 0.72;
        }
        if self.used == 0 && self.typed == 0 {
            sum -= 0.88;
        }
        sum += match self.kind {
            AnchorKind::Number => -0.85,
            AnchorKind::Error => -0.4,
            AnchorKind::Hash => -0.3,
            AnchorKind::Path | AnchorKind::Command => 0.2,
            _ => 0.0,
        };
        sum -= 0.47 * (self.text.len().min(40) as f32 / 40.0);
        1.0 / (1.0 + (-sum).exp())
    }
}

/// Calls `found` with the first two words of each command in a line that a shell was given.
fn each_command(line: &str, found: &mut impl FnMut(&str)) {
    let Some((tool, command)) = line.split_once(' ') else { return };
    if !is_shell(tool) {
        return;
    }
    for piece in command.split(['|', ';', '&', '\n']) {
        let piece = piece.trim_start_matches(['(', ' ']);
        let mut words = piece.split_whitespace();
        if let (Some(first), Some(second)) = (words.next(), words.next()) {
            let end = second.as_ptr() as usize - piece.as_ptr() as usize + second.len();
            if first.len() + second.len() <= 60 && first.bytes().all(|byte| byte.is_ascii_graphic()) {
                found(&piece[..end]);
            }
        }
    }
}

/// Whether a tool runs shell commands, by its name.
fn is_shell(tool: &str) -> bool {
    let tool = tool.to_ascii_lowercase();
    ["bash", "shell", "exec", "command", "terminal", "run"].iter().any(|word| tool.contains(word))
}

fn seen_from<'t>(root: Option<&str>, path: &'t str) -> &'t str {
    let inside = root.and_then(|root| path.strip_prefix(root));
    inside.and_then(|rest| rest.strip_prefix('/')).unwrap_or(path)
}

/// The lines of one message, all in one text.
#[derive(Default)]
struct Gathered {
    text: String,
    lines: Vec<(Source, std::ops::Range<usize>)>,
}

impl Gathered {
    fn add(&mut self, source: Source, line: &str) {
        let start = self.text.len();
        self.text.push_str(line);
        self.lines.push((source, start..self.text.len()));
    }
}

fn gather(part: &Part, lines: &mut Gathered) {
    match (&part.body, part.origin) {
        (Body::Text(text), Origin::User) => prose_lines(text, &mut |line| lines.add(Source::User, line)),
        (Body::Text(text), Origin::Model | Origin::Summary) => {
            prose_lines(text, &mut |line| lines.add(Source::Model, line));
        }
        (Body::Text(text), Origin::Tool) => output_lines(text, &mut |line| lines.add(Source::Output, line)),
        // Memory is loaded again, and what the program said was for the moment.
        (Body::Text(_), Origin::Memory | Origin::Hook) => {}
        (Body::Thought(thought), _) => {
            prose_lines(&thought.text, &mut |line| lines.add(Source::Thought, line));
        }
        (Body::Call(call), _) => gather_call(call, lines),
        (Body::Result(result), _) => gather_output(&result.readable(), lines),
        (Body::Media(_) | Body::File(_) | Body::Opaque(_), _) => {}
    }
}

/// An output that is JSON is read by its texts.
fn gather_output(text: &str, lines: &mut Gathered) {
    let mut add = |text: &str| output_lines(text, &mut |line| lines.add(Source::Output, line));
    if text.starts_with(['{', '['])
        && text.ends_with(['}', ']'])
        && let Ok(value) = serde_json::from_str::<Value>(text)
    {
        return each_text(&value, &mut add);
    }
    add(text);
}

/// Short arguments stand beside the tool's name; long ones are lines of their own.
fn gather_call(call: &ToolCall, lines: &mut Gathered) {
    let mut short = call.name.clone();
    each_text(&call.args, &mut |text| {
        if text.len() <= 160 && !text.contains('\n') {
            if short.len() + text.len() > 300 {
                lines.add(Source::Call, &short);
                short.clone_from(&call.name);
            }
            short.push(' ');
            short.push_str(text);
        } else {
            output_lines(text, &mut |line| lines.add(Source::Call, line));
        }
    });
    if short.len() > call.name.len() {
        lines.add(Source::Call, &short);
    }
}

fn each_text(value: &Value, found: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, found)),
        Value::Object(fields) => fields.values().for_each(|value| each_text(value, found)),
        _ => {}
    }
}
