//! Keeps the lines of a conversation that may be quoted later, and what is known about their anchors.
//!
//! The pool is bounded: of each message its best lines, and in all no more characters than [`MOST_CHARACTERS`], which are
//! exceeded for a while so that pruning is seldom. What was said once therefore stays available, in its own words, to every
//! later compaction.

use std::ops::Range;
use std::sync::Arc;

use longhaul_conversation::Ordinal;
use serde::{Deserialize, Serialize};

use super::anchors::{AnchorKind, scan_anchors};
use super::gather::{Gathered, Source};
use super::memo::{Memo, seen_from};
use super::names::{Anchor, Names};
use super::slice::Slice;
use super::table::hash_text;
use super::weigh::{USUAL_BUDGET, weigh_anchors};

/// A line that may be quoted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Candidate {
    pub(crate) at: Ordinal,
    pub(crate) source: Source,
    pub(crate) text: Slice<String>,
    /// Its anchors, by number, each once.
    pub(crate) anchors: Slice<Vec<u32>>,
}

/// Lines and anchors of everything that was said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Pool {
    candidates: Vec<Candidate>,
    names: Names,
    /// Characters of all candidates.
    size: usize,
    /// The working folder, which paths are seen from.
    root: Option<String>,
}

/// Of one message no more lines than this are kept.
pub(super) const MOST_LINES: usize = 400;
/// In all about so many characters are kept: twenty times a large snapshot.
const MOST_CHARACTERS: usize = 20 * 8_000 * 4;
/// The pool is pruned when it has grown to so many times that.
const SLACK: usize = 4;

impl Pool {
    /// Paths inside `root` are seen from there.
    pub(crate) fn set_root(&mut self, root: &str) {
        self.root = Some(root.trim_end_matches('/').to_string()).filter(|root| root.len() > 1);
    }

    pub(crate) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    pub(crate) fn anchors(&self) -> &[Anchor] {
        self.names.all()
    }

    /// The working folder, which paths are seen from.
    pub(crate) fn root(&self) -> Option<&str> {
        self.root.as_deref()
    }

    /// Takes in one message.
    #[cfg(test)]
    pub(crate) fn observe(&mut self, message: &longhaul_conversation::Message, at: Ordinal) {
        let parts: Vec<_> = message.parts.iter().map(crate::hearing::Heard::of).collect();
        self.take_in(&mut Gathered::of(&parts, Gathered::default()), at);
    }

    /// Takes in the lines of one message.
    pub(crate) fn take_in(&mut self, lines: &mut Gathered, at: Ordinal) {
        // What an earlier snapshot says is little.
        let may_prune = !lines.is_quoted;
        self.keep(lines, at);
        if may_prune && self.size > SLACK * MOST_CHARACTERS {
            self.prune();
        }
    }

    /// Keeps the lines of a message that name most for their length.
    fn keep(&mut self, gathered: &mut Gathered, at: Ordinal) {
        gathered.find_anchors(self.root.as_deref(), &mut Memo::default());
        self.names.begin_message();
        // Most are known, and memory answers sooner when it is asked for many of them at once.
        gathered.number(|hash| self.names.find_hash(hash));
        let mut lines: Vec<Weighed> = Vec::with_capacity(gathered.len());
        let mut anchors: Vec<u32> = Vec::with_capacity(gathered.mentioned());
        for line in gathered.lines() {
            let from = anchors.len();
            for mention in line.mentions {
                let new = || {
                    let anchor = &gathered.text()[mention.place.clone()];
                    self.names.number(mention.kind, anchor, mention.hash, at)
                };
                add_once(&mut anchors, from, mention.number.unwrap_or_else(new));
            }
            for (_, command) in line.commands {
                let number = self.names.number(AnchorKind::Command, command, hash_text(command), at);
                add_once(&mut anchors, from, number);
            }
            let source = line.source;
            if anchors.len() == from && source == Source::Output {
                continue;
            }
            let new = anchors[from..].iter().filter(|number| self.names.note(**number, source, at)).count();
            let weight = new as f32 / (20.0 + line.place.len() as f32);
            lines.push(Weighed { weight, source, text: line.place, anchors: from..anchors.len() });
        }
        let least = least_of_best(lines.iter().map(|line| line.weight), MOST_LINES);
        let best = || lines.iter().filter(|line| line.weight >= least).take(MOST_LINES);
        let mut pack = Pack::for_lines(best().map(|line| (line.text.len(), line.anchors.len())));
        for line in best() {
            pack.add(&gathered.text()[line.text.clone()], anchors[line.anchors.clone()].iter().copied());
        }
        self.size += pack.text.len();
        let packed = pack.slices().zip(best());
        self.candidates.extend(packed.map(|((text, anchors), line)| Candidate {
            at,
            source: line.source,
            text,
            anchors,
        }));
    }

    /// The anchors of a text that are known already.
    pub(crate) fn known_anchors(&self, text: &str, found: &mut impl FnMut(u32)) {
        scan_anchors(text, &mut |_, anchor| {
            if let Some(number) = self.names.find(seen_from(self.root.as_deref(), anchor)) {
                found(number);
            }
        });
    }

    /// Drops the lines that are least likely to be chosen ever again, and the anchors that only they had.
    fn prune(&mut self) {
        let newest = self.candidates.last().map_or(0, |line| line.at.0);
        let weights = weigh_anchors(self, Ordinal(newest + 1), USUAL_BUDGET);
        let weight = |line: &Candidate| {
            let anchors = line.anchors.iter().map(|number| weights[*number as usize]);
            anchors.sum::<f32>() / (20.0 + line.text.len() as f32)
        };
        let weighed = self.candidates.iter().map(weight);
        let mut order: Vec<u64> =
            weighed.zip(0u64..).map(|(weight, place)| u64::from(descending(weight)) << 32 | place).collect();
        let place_of = |key: u64| (key & u64::from(u32::MAX)) as usize;
        // Those that are dropped need no order among themselves, and most are.
        let half = order.len() / 2;
        let (better, _, _) = order.select_nth_unstable(half);
        let length: usize = better.iter().map(|key| self.candidates[place_of(*key)].text.len()).sum();
        let best = if length > MOST_CHARACTERS { better } else { &mut order[..] };
        best.sort_unstable();
        let mut keep = vec![false; self.candidates.len()];
        self.size = 0;
        for place in best.iter().map(|key| place_of(*key)) {
            let length = self.candidates[place].text.len();
            if self.size + length > MOST_CHARACTERS {
                break;
            }
            self.size += length;
            keep[place] = true;
        }
        let mut kept = keep.into_iter();
        self.candidates.retain(|_| kept.next().is_some_and(|kept| kept));
        self.forget_anchors();
    }

    /// Forgets the anchors that no line has any more and that were seen only once.
    fn forget_anchors(&mut self) {
        let mut needed = vec![false; self.names.all().len()];
        for line in &self.candidates {
            line.anchors.iter().for_each(|number| needed[*number as usize] = true);
        }
        let renumbered = self.names.retain(|place, anchor| needed[place] || anchor.used + anchor.typed > 1);
        let renumber = |number: &u32| renumbered[*number as usize].expect("anchors of kept lines are kept");
        let mut pack =
            Pack::for_lines(self.candidates.iter().map(|line| (line.text.len(), line.anchors.len())));
        for line in &self.candidates {
            pack.add(&line.text, line.anchors.iter().map(renumber));
        }
        for (line, (text, anchors)) in self.candidates.iter_mut().zip(pack.slices()) {
            (line.text, line.anchors) = (text, anchors);
        }
    }
}

/// A line on its way into the pool; its text and its anchors are ranges of all that the message has.
struct Weighed {
    weight: f32,
    source: Source,
    text: Range<usize>,
    anchors: Range<usize>,
}

/// Lines on their way into one text and one list of anchors, which they share and which hold nothing else.
struct Pack {
    text: String,
    anchors: Vec<u32>,
    /// Where each line ends, and its anchors.
    ends: Vec<(usize, usize)>,
}

impl Pack {
    /// Room for lines of these lengths, with so many anchors each.
    fn for_lines(sizes: impl Iterator<Item = (usize, usize)>) -> Self {
        let (mut count, mut length, mut anchors) = (0, 0, 0);
        for (line, named) in sizes {
            count += 1;
            length += line;
            anchors += named;
        }
        Self {
            text: String::with_capacity(length),
            anchors: Vec::with_capacity(anchors),
            ends: Vec::with_capacity(count),
        }
    }

    fn add(&mut self, text: &str, anchors: impl Iterator<Item = u32>) {
        self.text.push_str(text);
        self.anchors.extend(anchors);
        self.ends.push((self.text.len(), self.anchors.len()));
    }

    /// Each line with its anchors, in order.
    fn slices(self) -> impl Iterator<Item = (Slice<String>, Slice<Vec<u32>>)> {
        let (text, anchors) = (Arc::new(self.text), Arc::new(self.anchors));
        let (mut text_from, mut anchors_from) = (0, 0);
        self.ends.into_iter().map(move |(text_to, anchors_to)| {
            let slices =
                (Slice::of(&text, text_from..text_to), Slice::of(&anchors, anchors_from..anchors_to));
            (text_from, anchors_from) = (text_to, anchors_to);
            slices
        })
    }
}

/// A number that is the smaller the larger the weight, in the order of [`f32::total_cmp`].
fn descending(weight: f32) -> u32 {
    let bits = weight.to_bits();
    if weight.is_sign_negative() { bits } else { !bits & i32::MAX as u32 }
}

fn add_once(anchors: &mut Vec<u32>, from: usize, number: u32) {
    if !anchors[from..].contains(&number) {
        anchors.push(number);
    }
}

/// The least weight among the `most` best ones.
fn least_of_best(weights: impl ExactSizeIterator<Item = f32>, most: usize) -> f32 {
    if weights.len() <= most {
        return 0.0;
    }
    let mut weights: Vec<f32> = weights.collect();
    let (_, least, _) = weights.select_nth_unstable_by(most - 1, |a, b| b.total_cmp(a));
    *least
}

#[cfg(test)]
mod tests {
    use super::*;
    use longhaul_conversation::{Message, Part, Role, ToolResult};

    fn output(text: &str) -> Message {
        Message::new("r", Role::User, vec![Part::result(ToolResult::text("c", text))])
    }

    fn pool(messages: &[Message]) -> Pool {
        let mut pool = Pool::default();
        pool.set_root("/home/me/app/");
        messages.iter().zip(1..).for_each(|(message, at)| pool.observe(message, Ordinal(at)));
        pool
    }

    fn many_lines(count: usize, salt: usize) -> String {
        let line =
            |nth: usize| format!("let value_{salt}_{nth} is what the reader of these lines gets for it\n");
        (0..count).map(line).collect()
    }

    #[test]
    fn a_message_keeps_its_best_lines() {
        let pool = pool(&[output(&many_lines(1_000, 0))]);
        assert_eq!(pool.candidates().len(), MOST_LINES);
    }

    #[test]
    fn the_pool_is_bounded_and_its_numbers_hold() {
        let messages: Vec<Message> = (0..200).map(|salt| output(&many_lines(400, salt))).collect();
        let pool = pool(&messages);
        let size: usize = pool.candidates().iter().map(|line| line.text.len()).sum();
        assert!(size <= SLACK * MOST_CHARACTERS && pool.size == size, "{size}");
        for line in pool.candidates() {
            let names: Vec<&str> =
                line.anchors.iter().map(|number| &*pool.anchors()[*number as usize].text).collect();
            assert!(!names.is_empty() && names.iter().all(|name| line.text.contains(name)), "{names:?}");
        }
    }

    #[test]
    fn a_few_lines_of_a_long_message_hold_nothing_else() {
        let pool =
            pool(&[output(&format!("fn first_name of all\n{}", "nothing named here\n".repeat(9_000)))]);
        let line = &pool.candidates()[0];
        assert!(line.text.starts_with("fn first_name") && line.text.whole_len() < 400, "{line:?}");
    }

    #[test]
    fn weights_are_ordered_from_large_to_small() {
        let weights = [f32::INFINITY, 2.5, 1.0, f32::MIN_POSITIVE, 0.0, -0.0, -1.0, f32::NEG_INFINITY];
        assert!(weights.map(descending).is_sorted());
        assert!(descending(1.0) < descending(0.5) && descending(0.0) < descending(-0.0));
    }

    #[test]
    fn what_was_written_down_goes_on_as_before() {
        let messages = [output("fn first_name of all"), output("fn second_name calls first_name")];
        let mut pool = pool(&messages[..1]);
        let text = serde_json::to_string(&pool).expect("a pool can be written");
        let mut read: Pool = serde_json::from_str(&text).expect("a pool can be read");
        assert_eq!(read, pool);
        pool.observe(&messages[1], Ordinal(2));
        read.observe(&messages[1], Ordinal(2));
        assert_eq!(read, pool);
    }

    #[test]
    fn paths_are_seen_from_the_working_folder() {
        let pool = pool(&[output("in /home/me/app/src/main.rs and /home/me/app/")]);
        let mut known = Vec::new();
        pool.known_anchors("src/main.rs", &mut |number| known.push(&*pool.anchors()[number as usize].text));
        assert_eq!(known, ["src/main.rs", "main.rs"]);
    }
}
