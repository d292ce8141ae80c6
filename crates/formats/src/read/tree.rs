//! Follows a conversation that is kept as a tree to its newest leaf.
//!
//! Some agents let a user go back and take another way without deleting the first: every record names the one it
//! follows. The conversation is the path from the root to the newest record. A compaction on that path hides what
//! came before it, but for a tail that was kept. Since a later record may return to anything, all messages are held.

use std::collections::HashMap;
use std::iter::successors;

use longhaul_conversation::Message;

use crate::out::Out;

/// The records so far and the messages that are shown.
#[derive(Default)]
pub(super) struct Tree {
    nodes: Vec<Node>,
    by_id: HashMap<String, usize>,
    leaf: Option<usize>,
    /// The messages that are in the transcript now, by the places of their records.
    shown: Vec<usize>,
}

struct Node {
    parent: Option<usize>,
    holds: Holds,
}

/// The messages that a record adds to the conversation.
pub(super) enum Holds {
    Nothing,
    Message(Message),
    /// All before it is replaced by a summary; what follows from `first_kept` on stays.
    Compaction {
        summary: Message,
        first_kept: Option<usize>,
    },
}

/// The parent that a record names.
pub(super) enum Follows<'a> {
    /// Nothing is said: the record before it.
    Newest,
    /// It starts over.
    Nothing,
    Record(&'a str),
}

impl Tree {
    /// The place of the record with this id.
    pub(super) fn place_of(&self, id: &str) -> Option<usize> {
        self.by_id.get(id).copied()
    }

    /// Adds a record and brings the transcript to where it stands.
    pub(super) fn add(&mut self, id: Option<String>, follows: &Follows<'_>, holds: Holds, out: &mut Out<'_>) {
        let parent = match follows {
            Follows::Newest => self.leaf,
            Follows::Nothing => None,
            Follows::Record(id) => self.place_of(id).or_else(|| {
                out.warn(format!("unknown parent {id}; attached to the previous record"));
                self.leaf
            }),
        };
        if parent != self.leaf {
            let wanted = self.visible(parent);
            self.show(wanted, out);
        }
        let place = self.nodes.len();
        self.nodes.push(Node { parent, holds });
        self.leaf = Some(place);
        if let Some(id) = id {
            self.by_id.insert(id, place);
        }
        match &self.nodes[place].holds {
            Holds::Nothing => {}
            Holds::Message(message) => {
                out.put(message.clone());
                self.shown.push(place);
            }
            Holds::Compaction { .. } => {
                out.restart();
                self.shown.clear();
                let wanted = self.visible(Some(place));
                self.show(wanted, out);
                out.end_compaction();
            }
        }
    }

    /// The messages a model sees behind the record at `leaf`, oldest first.
    fn visible(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut path = successors(leaf, |place| self.nodes[*place].parent);
        let mut newest_first = Vec::new();
        let mut compaction = None;
        for place in path.by_ref() {
            if let Holds::Compaction { first_kept, .. } = self.nodes[place].holds {
                compaction = Some((place, first_kept));
                break;
            }
            newest_first.push(place);
        }
        if let Some((_, Some(first_kept))) = compaction {
            // A record stands behind the one it follows, so nothing before the tail need be looked at.
            let tail: Vec<usize> = path.take_while(|place| *place >= first_kept).collect();
            if tail.last() == Some(&first_kept) {
                newest_first.extend(tail);
            }
        }
        newest_first.retain(|place| matches!(self.nodes[*place].holds, Holds::Message(_)));
        newest_first.extend(compaction.map(|(place, _)| place));
        newest_first.reverse();
        newest_first
    }

    /// Takes back what is shown too much and puts what is missing.
    fn show(&mut self, wanted: Vec<usize>, out: &mut Out<'_>) {
        let common = self.shown.iter().zip(&wanted).take_while(|(shown, wanted)| shown == wanted).count();
        if let Some(message) = self.shown.get(common).and_then(|place| self.message(*place)) {
            out.rewind_to(message.id.clone());
        }
        for place in &wanted[common..] {
            if let Some(message) = self.message(*place) {
                out.put(message.clone());
            }
        }
        self.shown = wanted;
    }

    fn message(&self, place: usize) -> Option<&Message> {
        match &self.nodes[place].holds {
            Holds::Nothing => None,
            Holds::Message(message) | Holds::Compaction { summary: message, .. } => Some(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, Format};
    use longhaul_conversation::{Part, Role, Transcript};

    /// Each word adds a record: `b<a` is a message that follows `a`, `b` follows the newest, `b<` nothing, `b-` holds
    /// no message, `b!a` is a compaction that keeps what follows from `a` on.
    #[track_caller]
    fn check(records: &str, expected: &str) {
        let mut transcript = Transcript::default();
        let mut warnings = 0;
        let mut sink = |event| match event {
            Event::Change(change) => transcript.apply(change),
            Event::Warning(_) => warnings += 1,
            _ => {}
        };
        let mut out = Out::new(Format::Pi, &mut sink);
        let mut tree = Tree::default();
        for word in records.split_whitespace() {
            let (word, follows) = match word.split_once('<') {
                Some((word, "")) => (word, Follows::Nothing),
                Some((word, parent)) => (word, Follows::Record(parent)),
                None => (word, Follows::Newest),
            };
            let message = |id: &str| Message::new(id, Role::User, vec![Part::user_text(id)]);
            let (id, holds) = if let Some(id) = word.strip_suffix('-') {
                (id, Holds::Nothing)
            } else if let Some((id, kept)) = word.split_once('!') {
                let first_kept = tree.place_of(kept);
                (id, Holds::Compaction { summary: message(id), first_kept })
            } else {
                (word, Holds::Message(message(word)))
            };
            tree.add(Some(id.to_string()), &follows, holds, &mut out);
        }
        let seen: Vec<&str> = transcript.messages().iter().map(|message| message.id.as_str()).collect();
        assert_eq!(seen.join(" "), expected);
        assert_eq!(warnings, records.matches("<?").count());
    }

    #[test]
    fn a_line_stays_a_line() {
        check("a b c-  d", "a b d");
        check("a b<a c<b", "a b c");
    }

    #[test]
    fn a_branch_takes_back_the_other() {
        check("a b c x<a y", "a x y");
        check("a b m- c x<m", "a b x");
        check("a b x< y", "x y");
        check("a b c x-<a", "a");
    }

    #[test]
    fn one_can_return_to_a_branch() {
        check("a b c x<a y d<c", "a b c d");
    }

    #[test]
    fn an_unknown_parent_loses_nothing() {
        check("a b x<? y", "a b x y");
    }

    #[test]
    fn a_compaction_keeps_a_tail() {
        check("a b c d s!c e", "s c d e");
        check("a b s! e", "s e");
        check("a b c s!b d t!c e", "t c d e");
    }

    #[test]
    fn a_branch_from_before_a_compaction_shows_the_past_again() {
        check("a b c s!c d x<b y", "a b x y");
        check("a b c s!c d x<b y<d", "s c d y");
    }
}
