//! Required content of every snapshot: the user's standing instructions and, at the least, their newest words.

use std::collections::HashMap;

use longhaul_conversation::{Estimator, Message, Ordinal, Origin, Part, Role, TokenCount, grouped};
use longhaul_directives::UserRule;
use longhaul_snapshot::{Entry, Section, Snapshot, own_snapshot};
use longhaul_text::{Ends, ends};

use crate::phrase_search::find_phrases;
use crate::tracker::Tracker;

/// The newest message that a person typed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewestWords<'m> {
    pub(crate) index: usize,
    pub(crate) message: &'m Message,
    pub(crate) at: Ordinal,
}

/// Characters of the newest words that stay whatever happens.
pub(crate) const SHORTEST_WORDS: usize = 200;

/// Finds the newest message that a person typed.
pub(crate) fn newest_words<'m>(messages: &'m [Message], ordinals: &[Ordinal]) -> Option<NewestWords<'m>> {
    let index = messages.iter().rposition(|message| typed(message).next().is_some())?;
    Some(NewestWords { index, message: &messages[index], at: ordinals[index] })
}

/// The texts of a message that a person typed.
pub(crate) fn typed(message: &Message) -> impl Iterator<Item = &str> {
    let parts = message.parts.iter().filter(|part| part.origin == Origin::User);
    let texts = parts.filter_map(Part::as_text).map(str::trim);
    texts.filter(|text| !text.is_empty() && message.role == Role::User)
}

/// The smallest snapshot: the instructions that the tail does not say, and the beginning and end of the newest words if
/// they stand before it.
pub(crate) fn minimal_snapshot(
    tracker: &Tracker,
    through: Option<Ordinal>,
    tail: &[Message],
    words_before: Option<NewestWords<'_>>,
) -> Snapshot {
    let mut snapshot = with_rules(&Snapshot::new(through), &rules_not_in(tracker, tail));
    if let Some(words) = words_before {
        let text = typed(words.message).collect::<Vec<_>>().join("\n");
        let Ends { head, tail, omitted } = ends(&text, SHORTEST_WORDS);
        let text = match omitted {
            0 => format!("{head}{tail}"),
            _ => format!("{head}\n… {} characters more, {}\n{tail}", grouped(omitted), words.at),
        };
        snapshot.push(Section::UserSaid, Entry::new([words.at], text.lines()));
    }
    snapshot
}

/// Size of a snapshot that says only the instructions that the tail does not say; nothing if it says them all.
pub(crate) fn rules_size(tracker: &Tracker, tail: &[Message], estimator: &Estimator) -> TokenCount {
    let snapshot = minimal_snapshot(tracker, Some(tracker.last()), tail, None);
    if snapshot.is_empty() { TokenCount::ZERO } else { snapshot.estimate(estimator).tokens() }
}

/// The snapshot with every instruction that neither it nor the tail says in front.
pub(crate) fn keep_rules(snapshot: Snapshot, tracker: &Tracker, tail: &[Message]) -> Snapshot {
    let constraints = Constraints::of([&snapshot]);
    let missing: Vec<&UserRule> =
        rules_not_in(tracker, tail).into_iter().filter(|rule| !constraints.say(rule)).collect();
    if missing.is_empty() { snapshot } else { with_rules(&snapshot, &missing) }
}

/// Counts the instructions in force that the messages say, typed or in a snapshot, and all that are in force.
pub(crate) fn count_kept_rules(tracker: &Tracker, messages: &[Message]) -> (usize, usize) {
    let all = tracker.rules().active().count();
    (all - unsaid_rules(tracker, messages).len(), all)
}

/// The active rules that the messages do not say, neither typed nor in a snapshot.
pub fn unsaid_rules<'t>(tracker: &'t Tracker, messages: &[Message]) -> Vec<&'t UserRule> {
    let snapshots: Vec<Snapshot> = messages.iter().filter_map(own_snapshot).collect();
    let constraints = Constraints::of(&snapshots);
    rules_not_in(tracker, messages).into_iter().filter(|rule| !constraints.say(rule)).collect()
}

/// The instructions that hold and that nobody says in the tail.
fn rules_not_in<'t>(tracker: &'t Tracker, tail: &[Message]) -> Vec<&'t UserRule> {
    let rules: Vec<&UserRule> = tracker.rules().active().collect();
    let texts: Vec<&str> = rules.iter().map(|rule| rule.text.as_str()).collect();
    let said = find_phrases(&texts, tail.iter().flat_map(typed));
    rules.into_iter().zip(said).filter_map(|(rule, is_said)| (!is_said).then_some(rule)).collect()
}

/// Constraints of snapshots by their lines; there may be thousands.
struct Constraints<'s>(HashMap<&'s str, Vec<&'s [String]>>);

impl<'s> Constraints<'s> {
    fn of(snapshots: impl IntoIterator<Item = &'s Snapshot>) -> Self {
        let mut by_line: HashMap<&str, Vec<&[String]>> = HashMap::new();
        for entry in snapshots.into_iter().flat_map(|snapshot| snapshot.entries(Section::ActiveConstraints)) {
            for (at, line) in entry.lines().iter().enumerate() {
                by_line.entry(line.as_str()).or_default().push(&entry.lines()[at..]);
            }
        }
        Self(by_line)
    }

    fn say(&self, rule: &UserRule) -> bool {
        let own = entry_of(rule);
        let Some(first) = own.lines().first() else { return true };
        self.0
            .get(first.as_str())
            .is_some_and(|by_line| by_line.iter().any(|lines| lines.starts_with(own.lines())))
    }
}

fn entry_of(rule: &UserRule) -> Entry {
    Entry::new(rule.messages.last().copied(), rule.lines())
}

/// The snapshot with these instructions before all other constraints.
fn with_rules(snapshot: &Snapshot, rules: &[&UserRule]) -> Snapshot {
    let mut complete = Snapshot::new(snapshot.through());
    rules.iter().for_each(|rule| complete.push(Section::ActiveConstraints, entry_of(rule)));
    for (section, entries) in snapshot.sections() {
        entries.iter().for_each(|entry| complete.push(section, entry.clone()));
    }
    snapshot.others().iter().for_each(|other| complete.push_other(other.clone()));
    complete
}

#[cfg(test)]
mod tests {
    use longhaul_snapshot::{FRAME, parse_snapshot};

    use super::*;

    fn user(text: &str) -> Message {
        Message::new("m", Role::User, vec![Part::user_text(text)])
    }

    fn tracker(texts: &[&str]) -> Tracker {
        let mut tracker = Tracker::default();
        texts.iter().for_each(|text| tracker.observe(&user(text)));
        tracker
    }

    #[test]
    fn instructions_come_before_what_was_there() {
        let tracker = tracker(&["Never commit to main.", "Always run the tests first."]);
        let mut snapshot = Snapshot::new(Some(Ordinal(2)));
        snapshot.push(Section::UserSaid, Entry::new([Ordinal(2)], ["hello"]));
        snapshot.push(Section::TaskState, Entry::unmarked("a task"));
        let kept = keep_rules(snapshot, &tracker, &[user("Well. Always run the tests first.")]);
        assert_eq!(
            kept.render(),
            format!(
                "<state_snapshot through=\"m2\">\n{FRAME}\n<active_constraints>\n[m1] Never commit to main.\n\
                 </active_constraints>\n<user_said>\n[m2] hello\n</user_said>\n<task_state>\na task\n</task_state>\n\
                 </state_snapshot>"
            )
        );
        assert_eq!(keep_rules(kept.clone(), &tracker, &[user("Always run the tests first.")]), kept);
        let summary = Part::text(Origin::Summary, kept.render());
        let message = Message::new("s", Role::User, vec![summary]);
        assert_eq!(count_kept_rules(&tracker, &[message]), (1, 2));
        assert_eq!(count_kept_rules(&tracker, &[user("Always run the tests first.")]), (1, 2));
    }

    #[test]
    fn long_words_keep_their_beginning_and_end() {
        let tracker = tracker(&["Never commit to main."]);
        let message = user(&format!("Fix the parser. {} Thanks!", "word ".repeat(400)));
        let words = NewestWords { index: 0, message: &message, at: Ordinal(7) };
        let snapshot = minimal_snapshot(&tracker, Some(Ordinal(9)), &[], Some(words));
        let text = snapshot.render();
        assert!(text.contains("[m7] Fix the parser.") && text.contains("Thanks!"), "{text}");
        assert!(text.contains("characters more, m7") && text.len() < 800, "{text}");
        assert_eq!(parse_snapshot(&text), Some(snapshot));
    }
}
