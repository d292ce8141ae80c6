//! The rules in a text that a person typed, and what its sentences do to earlier ones.

use longhaul_text::UnitKind;

use super::cues::Cue;
use super::recognise::{Listed, Sentence, Setting, announces};
use crate::typed::{Said, Voice};

/// A sentence or list item of a person's that has a say about rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    text: String,
    effect: Effect,
    standing: Standing,
}

/// Tells whether a sentence is a standing instruction itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is.
    Rule,
    /// It is if it contradicts one: "Actually, spaces, not tabs".
    IfContradicting,
    /// It is not.
    None,
}

/// The effect of a sentence on earlier instructions that it shares a subject with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// It takes them back.
    Lifts,
    /// It puts itself in their place.
    Changes,
    /// Only what it contradicts goes.
    None,
}

impl Instruction {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn lifts(&self) -> bool {
        self.effect == Effect::Lifts
    }

    pub(super) fn changes(&self) -> bool {
        self.effect != Effect::None
    }

    pub(super) fn standing(&self) -> Standing {
        self.standing
    }
}

/// The longest sentence that takes a rule back, in characters; longer ones that share words with a rule are about something else.
const LONGEST_EFFECT: usize = 200;

/// The words of the longest correction that is a rule because it contradicts one.
const LONGEST_CORRECTION: usize = 20;

/// A text of more sentences describes what is to be built.
const MANY_SENTENCES: usize = 25;

/// So does one of more bytes.
const LONG_TEXT: usize = 2_400;

/// The rules in a text that a person typed, and what it does to earlier ones.
pub fn instructions_of(said: &[Said<'_>]) -> Vec<Instruction> {
    let typed: Vec<&Said<'_>> = said.iter().filter(|said| said.voice == Voice::Typed).collect();
    let length: usize = typed.iter().map(|said| said.unit.text.len()).sum();
    let is_long = typed.len() > MANY_SENTENCES || length > LONG_TEXT;
    let mut instructions = Vec::new();
    let mut listed = None;
    let mut changed_before = false;
    for (place, Said { unit, words, .. }) in typed.iter().enumerate() {
        let sentence = Sentence::of(unit.text, words);
        let is_item = matches!(unit.kind, UnitKind::Item { .. });
        let is_lead = unit.kind == UnitKind::Heading || unit.text.ends_with([':', '：']);
        listed = listed.filter(|_| is_item);
        let setting = match listed {
            Some(Listed::Tasks) => Setting::Tasks,
            _ if is_long => Setting::Long,
            _ => Setting::Short,
        };
        let is_rule = !is_lead && sentence.is_rule(setting)
            || listed == Some(Listed::Rules) && sentence.can_be_listed_rule();
        let changes = sentence.cues.has(Cue::Change);
        let changes_rule = changes || changed_before || is_rule && sentence.cues.has(Cue::ChangeNow);
        let effect = effect_of(&sentence, changes_rule);
        // What only seems to be a norm is none where it takes one back.
        let is_pinned = is_rule
            && (effect != Effect::Lifts || sentence.cues.has(Cue::Strong) || sentence.cues.has(Cue::Rule));
        let standing = match effect {
            _ if is_pinned => Standing::Rule,
            Effect::Changes if changes && words.len() <= LONGEST_CORRECTION => Standing::IfContradicting,
            _ => Standing::None,
        };
        if effect == Effect::Lifts || standing != Standing::None {
            instructions.push(Instruction { text: unit.text.to_string(), effect, standing });
        }
        changed_before = changes || effect == Effect::Lifts;
        if !is_item {
            let next = typed.get(place + 1);
            let before_items = next.is_some_and(|next| matches!(next.unit.kind, UnitKind::Item { .. }));
            listed = announces(unit, &sentence, before_items);
        }
    }
    instructions
}

/// Tells whether a sentence lifts or changes earlier instructions; `changes` if it, or the one before it, says that something
/// changes.
fn effect_of(sentence: &Sentence<'_>, changes: bool) -> Effect {
    let has = |cue| sentence.cues.has(cue);
    let is_long = sentence.text.len() > LONGEST_EFFECT && sentence.text.chars().count() > LONGEST_EFFECT;
    if is_long || sentence.is_question() || has(Cue::Moment) {
        return Effect::None;
    }
    if has(Cue::Lift) || has(Cue::Relief) {
        Effect::Lifts
    } else if changes && !has(Cue::Restated) {
        Effect::Changes
    } else {
        Effect::None
    }
}
