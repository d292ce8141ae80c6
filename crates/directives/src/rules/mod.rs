//! Standing instructions that a person typed, kept verbatim with the messages they came from.

mod classes;
mod cues;
mod features;
mod index;
mod instructions;
mod recognise;
mod topic;
mod vocabulary;

use std::fmt;

use longhaul_conversation::{Message, Ordinal};
use longhaul_snapshot::{FOUND, Section, Snapshot, USER_SAID, own_snapshot};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub(crate) use self::cues::{Substrings, WIDE_RELIEFS};
use self::index::RuleIndex;
use self::instructions::Standing;
pub(crate) use self::instructions::tell_rules;
pub use self::instructions::{Instruction, RuleFeatures, instructions_of, rule_features};
pub(crate) use self::recognise::{asks_a_question, is_question, is_rule};
use self::topic::Topic;
use crate::{AnnotatedPart, typed_texts};

/// The standing instructions of a session so far.
///
/// Only text a person typed makes a rule, and only a later message of theirs, or their hand, retires one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserRules {
    /// In the order in which they were last said: where two disagree, the later holds.
    rules: RuleIndex,
    /// Pairs, the older first, that may exclude each other and both stayed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<(RuleId, RuleId)>,
    /// Sentences that are rules though nothing in them says so; each is one from its message on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    quoted: Vec<QuotedRule>,
    last: u32,
}

/// A sentence of the user's that somebody else recognised as a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotedRule {
    /// The sentence, verbatim.
    pub text: String,
    /// The message that says it.
    pub message: Ordinal,
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
        for instruction in instructions {
            let topic = Topic::of(instruction.text());
            if instruction.lifts() {
                self.lift(instruction.text(), &topic, ordinal);
            }
            let has_replaced = match instruction.standing() {
                Standing::None => continue,
                Standing::Rule => {
                    self.replace(instruction, &topic, ordinal);
                    true
                }
                Standing::IfContradicting => self.replace(instruction, &topic, ordinal),
            };
            if has_replaced {
                self.put(instruction.text(), Some(ordinal));
            }
        }
        let said: Vec<String> = self.quoted_in(ordinal).map(|quoted| quoted.text.clone()).collect();
        for text in said {
            self.add_quoted(&text, ordinal);
        }
    }

    /// Takes sentences for rules as soon as the messages that say them are observed, so that later ones can lift them.
    pub fn expect_quoted(&mut self, quoted: impl IntoIterator<Item = QuotedRule>) {
        for quoted in quoted {
            if quoted.message.0 <= self.last {
                self.add_quoted(&quoted.text, quoted.message);
            } else {
                self.quoted.push(quoted);
            }
        }
    }

    fn quoted_in(&self, message: Ordinal) -> impl Iterator<Item = &QuotedRule> {
        self.quoted.iter().filter(move |quoted| quoted.message == message)
    }

    /// Retires the earlier rules that a sentence names and lifts: of those, the ones it shares most words with.
    fn lift(&mut self, text: &str, topic: &Topic, message: Ordinal) {
        let named = self.rules.about(topic, message).into_iter().filter(|(_, rule)| rule.is_named_by(topic));
        let named: Vec<_> = named.map(|(id, rule)| (rule.count_shared(topic), id)).collect();
        let most = named.iter().map(|(shared, _)| *shared).max();
        for (_, id) in named.into_iter().filter(|(shared, _)| Some(*shared) == most) {
            self.retire(id, text, message);
        }
    }

    /// Retires the earlier rules that a sentence contradicts, or says anew where it is a rule and says that something changes;
    /// tells whether there were any.
    fn replace(&mut self, instruction: &Instruction, topic: &Topic, message: Ordinal) -> bool {
        let own = RuleId::of(instruction.text());
        let mut doubts = Vec::new();
        let is_rule = instruction.standing() == Standing::Rule;
        let is_replaced = |rule: &Topic| {
            let is_said_anew = || rule.has_same_subject(topic) && !rule.is_restated_by(topic);
            match is_rule {
                true => rule.is_contradicted_by(topic) || instruction.changes() && is_said_anew(),
                false => rule.is_corrected_by(topic),
            }
        };
        let about = self.rules.about(topic, message).into_iter().filter(|(id, _)| *id != own);
        let mut replaced = Vec::new();
        for (id, rule) in about {
            if is_replaced(rule) {
                replaced.push(id);
            } else if is_rule && rule.may_be_contradicted_by(topic) {
                doubts.push((id, own));
            }
        }
        for id in &replaced {
            self.retire(*id, instruction.text(), message);
        }
        for doubt in doubts {
            if !self.doubts.contains(&doubt) {
                self.doubts.push(doubt);
            }
        }
        !replaced.is_empty()
    }

    fn retire(&mut self, id: RuleId, words: &str, message: Ordinal) {
        if let Some(rule) = self.rules.get_mut(id)
            && id != RuleId::of(words)
        {
            rule.retired_by = Some(Retirement::Message { message, words: words.to_string() });
        }
    }

    /// Pairs of rules in force that may exclude each other, the older first.
    pub fn doubts(&self) -> impl Iterator<Item = (&UserRule, &UserRule)> {
        let active = |id: &RuleId| self.rules.get(*id).filter(|rule| rule.retired_by.is_none());
        self.doubts.iter().filter_map(move |(older, newer)| Some((active(older)?, active(newer)?)))
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
