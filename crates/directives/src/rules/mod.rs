//! Standing instructions that a person typed, kept verbatim with the messages they came from.

mod cues;
mod index;
mod recognise;

use std::fmt;

use longhaul_conversation::{Message, Ordinal};
use longhaul_snapshot::{FOUND, Section, Snapshot, USER_SAID, own_snapshot};
use longhaul_text::{Subject, UnitKind};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use self::cues::{Substrings, WIDE_RELIEFS};
use self::index::RuleIndex;
use self::recognise::{Effect, can_be_listed_rule, effect_of, introduces_rules};
pub(crate) use self::recognise::{asks_a_question, is_question, is_rule};
use crate::typed::{Said, Voice};
use crate::{AnnotatedPart, typed_texts};

/// The standing instructions of a session so far.
///
/// Only text a person typed makes a rule, and only a later message of theirs, or their hand, retires one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRules {
    /// In the order in which they were last said: where two disagree, the later holds.
    rules: RuleIndex,
    last: u32,
}

/// One standing instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRule {
    /// Names it for as long as its words stay the same.
    pub id: RuleId,
    /// The sentence or list item, verbatim as it was first said.
    pub text: String,
    /// The messages that say it; none if it was added by hand.
    pub messages: Vec<Ordinal>,
    /// The retirement that took it back.
    pub retired_by: Option<Retirement>,
}

/// Names a rule: a hash of its words, without regard to case, white space and punctuation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(u64);

/// The reason why an instruction no longer holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Retirement {
    /// A later message lifted or changed it.
    Message {
        /// The message.
        message: Ordinal,
        /// Its words.
        words: String,
    },
    /// The user removed it.
    Hand,
}

impl UserRules {
    /// Takes the next message into account. Costs that message and the rules, whatever came before.
    pub fn observe(&mut self, message: &Message) {
        let ordinal = self.marked(message.ordinal);
        if self.rules.iter().next().is_none()
            && let Some(snapshot) = own_snapshot(message)
        {
            self.take_over(&snapshot);
        }
        let parts: Vec<AnnotatedPart<'_>> = message.parts.iter().map(AnnotatedPart::of).collect();
        let typed = typed_texts(&parts);
        let instructions: Vec<_> = typed.iter().flat_map(|(_, said)| instructions_of(said)).collect();
        self.follow(Some(ordinal), &instructions);
    }

    /// The mark of the next message: its own, or the next one.
    fn marked(&mut self, own_mark: Option<Ordinal>) -> Ordinal {
        let ordinal = own_mark.unwrap_or(Ordinal(self.last.saturating_add(1)));
        self.last = self.last.max(ordinal.0);
        ordinal
    }

    /// Takes the next message into account, which says this; `own_mark` is the mark that it carries.
    pub fn follow(&mut self, own_mark: Option<Ordinal>, instructions: &[Instruction]) {
        let ordinal = self.marked(own_mark);
        for Instruction { text, retires, is_pinned } in instructions {
            if *retires {
                self.retire_by(text, ordinal);
            }
            if *is_pinned {
                self.put(text, Some(ordinal));
            }
        }
    }

    /// Retires the earlier rules on the subject of a sentence that lifts or changes.
    fn retire_by(&mut self, text: &str, message: Ordinal) {
        let id = RuleId::of(text);
        self.rules.each_about(&Subject::of(text), message, |rule| {
            if rule.id != id {
                rule.retired_by = Some(Retirement::Message { message, words: text.to_string() });
            }
        });
    }

    /// Adds a rule at the end; one that is known already moves there and holds again.
    fn put(&mut self, text: &str, message: Option<Ordinal>) -> RuleId {
        let id = RuleId::of(text);
        let new = || UserRule { id, text: text.to_string(), messages: Vec::new(), retired_by: None };
        self.rules.put_last(id, message, new).retired_by = None;
        id
    }

    /// The instructions that hold, the newest last.
    pub fn active(&self) -> impl Iterator<Item = &UserRule> {
        self.rules.iter().filter(|rule| rule.retired_by.is_none())
    }

    /// The instructions that were taken back.
    pub fn retired(&self) -> impl Iterator<Item = &UserRule> {
        self.rules.iter().filter(|rule| rule.retired_by.is_some())
    }

    /// Adds `text` as a rule because the user says so; nothing if it says nothing.
    pub fn add_by_hand(&mut self, text: &str) -> Option<RuleId> {
        let text = text.trim();
        (!text.is_empty()).then(|| self.put(text, None))
    }

    /// Adds a sentence of the user's that a model recognised as a rule; nothing if it was one before, even where it was
    /// taken back since: a model does not speak for the user.
    pub fn add_quoted(&mut self, text: &str, message: Ordinal) -> Option<RuleId> {
        let is_new = !text.trim().is_empty() && self.rules.get(RuleId::of(text)).is_none();
        is_new.then(|| self.put(text.trim(), Some(message)))
    }

    /// Takes over the rules of an earlier snapshot, whose messages may be lost.
    pub fn take_over(&mut self, snapshot: &Snapshot) {
        let through = snapshot.through().unwrap_or(Ordinal(self.last));
        let sections = snapshot.sections().filter(|(section, _)| *section == Section::ActiveConstraints);
        for entry in sections.flat_map(|(_, entries)| entries) {
            let at = entry.marks().last().copied().unwrap_or(through);
            for rule in read_rules(entry.lines()) {
                self.put(&rule, Some(at));
            }
        }
    }

    /// Retires a rule because the user says so; tells whether it held until now.
    pub fn remove_by_hand(&mut self, id: RuleId) -> bool {
        match self.rules.get_mut(id) {
            Some(rule) if rule.retired_by.is_none() => {
                rule.retired_by = Some(Retirement::Hand);
                true
            }
            _ => false,
        }
    }
}

/// The mark of a rule in a snapshot that would otherwise be taken for something else.
const RULE: &str = "Rule: ";
/// The indentation of the further lines of a rule.
const INDENT: &str = "  ";

impl UserRule {
    /// The lines of a snapshot that say it: `read_rules` finds it in them again.
    pub fn lines(&self) -> Vec<String> {
        let is_unclear = [USER_SAID, FOUND, RULE].iter().any(|start| self.text.starts_with(start));
        let first = if is_unclear { RULE } else { "" };
        let starts = std::iter::once(first).chain(std::iter::repeat(INDENT));
        starts.zip(self.text.lines()).map(|(start, line)| format!("{start}{line}")).collect()
    }
}

/// The rules in an entry of a snapshot: what stands before the user's words, but for what a model only believes to be one.
fn read_rules(lines: &[String]) -> Vec<String> {
    let mut rules: Vec<String> = Vec::new();
    let mut is_rule = false;
    for line in lines.iter().take_while(|line| !line.starts_with(USER_SAID)) {
        match line.strip_prefix(INDENT) {
            Some(more) if !rules.is_empty() && is_rule => {
                let rule = rules.last_mut().expect("there is one");
                rule.push('\n');
                rule.push_str(more);
            }
            Some(_) if !rules.is_empty() => {}
            _ => {
                is_rule = !line.starts_with(FOUND);
                let rule = line.trim();
                let rule = rule.strip_prefix(RULE).unwrap_or(rule);
                rules.extend((is_rule && !rule.is_empty()).then(|| rule.to_string()));
            }
        }
    }
    rules
}

/// A sentence or list item of a person's that has a say about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    text: String,
    /// True if earlier rules on its subject hold no longer.
    retires: bool,
    /// True if it is a standing instruction itself.
    is_pinned: bool,
}

/// The rules in a text that a person typed, and what it does to earlier ones.
pub fn instructions_of(said: &[Said<'_>]) -> Vec<Instruction> {
    let mut instructions = Vec::new();
    let mut in_rules = false;
    for Said { unit, words, .. } in said.iter().filter(|said| said.voice == Voice::Typed) {
        let is_item = matches!(unit.kind, UnitKind::Item { .. });
        let is_rule = unit.kind != UnitKind::Heading
            && !unit.text.ends_with([':', '：'])
            && recognise::is_rule(unit.text, words);
        let effect = effect_of(unit.text, words, is_rule);
        let retires = effect != Effect::None;
        let is_pinned = effect != Effect::Lifts
            && (is_rule || in_rules && is_item && can_be_listed_rule(unit.text, words));
        if retires || is_pinned {
            instructions.push(Instruction { text: unit.text.to_string(), retires, is_pinned });
        }
        in_rules = is_item && in_rules || introduces_rules(unit, words);
    }
    instructions
}

impl RuleId {
    /// The id of a rule with these words.
    pub fn of(text: &str) -> Self {
        // FNV-1a: stable over versions and platforms, and short enough to type.
        Self(normalise(text).bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// Reads an id as it is displayed.
    pub fn parse(text: &str) -> Option<Self> {
        let is_hex = text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex.then(|| u64::from_str_radix(text, 16).ok().map(Self)).flatten()
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuleId({self})")
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RuleId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a rule's id is 16 hexadecimal digits"))
    }
}

/// The words in small letters with single spaces, without the punctuation around them. Signs that are words of their
/// own, such as `==`, stay.
pub(crate) fn normalise(text: &str) -> String {
    let is_edge = |c: char| {
        matches!(
            c,
            '.' | ','
                | ';'
                | ':'
                | '!'
                | '?'
                | '"'
                | '\''
                | '`'
                | '('
                | ')'
                | '*'
                | '_'
                | '…'
                | '—'
                | '–'
                | '“'
                | '”'
                | '‘'
                | '’'
        ) || matches!(
            c,
            '。' | '，' | '、' | '；' | '：' | '！' | '？' | '「' | '」' | '『' | '』' | '（' | '）'
        )
    };
    let is_ascii = text.is_ascii();
    let mut normal = String::with_capacity(text.len());
    for word in text.split(char::is_whitespace) {
        let word = word.trim_matches(is_edge);
        if !word.is_empty() {
            if !normal.is_empty() {
                normal.push(' ');
            }
            if is_ascii {
                normal.push_str(word);
            } else {
                normal.extend(word.chars().flat_map(char::to_lowercase));
            }
        }
    }
    if is_ascii {
        normal.make_ascii_lowercase();
    }
    normal
}

#[cfg(test)]
mod tests;
